r"""Are these enough data? The error to expect from a release, by the number of values.

Series are simulated from the model: parameters $\theta$ from the prior, then $N$ values given
$\theta$. Each series is compared with the same public pool, as a private series would be. The error
of a release is

$$\sqrt{E\,|\hat\theta - \theta|^2 / d}$$

where $\hat\theta$ is the mean of the kept draws (the prior mean if none is kept) and $d$ is the
number of parameters, the shares for Five shares. For the cubic (``covid``) it is the error of the
curve: the root mean square over the rows, as a share of the range of possible values. Its series
come from the curves of the prior that stay within the range, as yours do. The mean over the noise
is exact (MATH E6). The mean over series is an average with a 95 % interval. A data set of $N$
values is the first $N$ of one stream (for the cubic, $N$ rows spread over the same curve). So one
series serves all sizes, and the curve is smoother than its band.

The results hold for series that follow the model, on average over its prior. No private data are
read, so you can look at them before you spend a budget. Between two sizes, the error is
interpolated linearly on logarithmic scales.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd

from abcdp_core import figures as fig
from abcdp_core.base import parameters as par
from abcdp_core.base import summaries
from abcdp_core.base.sentences import amount, counted, from_to, noise_cost
from abcdp_core.base.streams import generator
from abcdp_core.evaluation import error_curve
from abcdp_core.figures.lines import Lines
from abcdp_core.mechanisms import sparse_vector
from abcdp_core.models import pool
from abcdp_core.models.simulators import ScenarioParams, covid
from abcdp_core.models.simulators.covid import SCENARIO as COVID
from abcdp_core.models.simulators.uniform_mixture import SCENARIO as MIXTURE
from abcdp_core.studies.engine import Array, Parameter, Result, Run, RunTable, Study, choice, scale

EXPERIMENT = "error-by-size"
TITLE = "The error to expect, by the number of values"


@dataclass(frozen=True)
class Params(ScenarioParams):
    """Settings: those of the release, the largest size, and the number of simulated series."""

    scenario: str = choice(
        "Scenario",
        "The model that series are simulated from.",
        (MIXTURE.name, COVID.name),
    ).field(MIXTURE.name)
    epsilon_total: float = par.EPSILON_TOTAL.field(par.EPSILON_TOTAL_DEFAULT)
    epsilon_abc: float = MIXTURE.epsilon_abc.field(MIXTURE.epsilon_abc_default)
    c: int = par.C.field(MIXTURE.c_default)
    n: int = MIXTURE.n.field(MIXTURE.n_default)
    pool_size: int = par.POOL_SIZE.field(MIXTURE.pool_size_default)
    resample: bool = par.RESAMPLE.field(False)
    runs: int = scale(
        "Simulated series",
        "Each from its own parameters, drawn from the prior.",
        (2, 4, 8, 12, 16, 32),
        high=100,
    ).field(12)

    @classmethod
    def specification(cls, scenario: str | None = None) -> dict[str, Parameter]:
        """Return the parameters with the scenario's bounds; for the cubic, the sizes of a file."""
        known = super().specification(scenario)
        if scenario != COVID.name:
            return known
        low, high = COVID.own_sizes
        return known | {"n": dataclasses.replace(COVID.n, low=low, high=high, options=())}


def missing_pools(params: Params, seed: int) -> list[pool.PoolKey]:
    """Return the key of the public pool if it is needed and its distances are not stored."""
    key = _key(params, params.n, seed)
    needed = params.scenario == MIXTURE.name and not pool.is_ready(key)
    return [key] if needed else []


def _key(params: Params, n: int, seed: int) -> pool.PoolKey:
    return pool.key_for(MIXTURE, n, params.pool_size, seed)


def far_enough(scenario: str, planned: int, pool_size: int) -> int:
    """Return the largest size to simulate: the usual size, or enough for the planned values."""
    if scenario == COVID.name:
        return COVID.own_sizes[1]
    possible = [size for size in SIZES if size * pool_size <= par.WORK_LIMIT]
    far = [size for size in possible if size >= max(planned, MIXTURE.n_default)]
    return min(far, default=max(possible))


Compared = tuple[Array, float, Array, Array, Array]
"""A series and the pool: distances ``(T,)``, their sensitivity, and the estimated quantity of each
draw ``(T, d)``, of the truth and of the prior mean ``(d,)``."""


def errors_of(_: None, run: Run[Params]) -> list[tuple[float, ...]]:
    """Compute the errors of one series at every size, with noise and without."""
    params, model, rows = run.params, MODELS[run.params.scenario], []
    for n in (*(size for size in model.sizes if size < params.n), params.n):
        rho, sensitivity, values, truth, nothing = model.compared(run, n)
        event = sparse_vector.calibrate(
            params.epsilon_total, sensitivity, params.c, resample=params.resample
        )
        private = error_curve.averaged(event, params.epsilon_abc, rho, values, truth, nothing)
        plain, _trace = sparse_vector.non_private(rho, params.epsilon_abc, params.c)
        kept = values[plain.indices]
        mean = kept.mean(axis=0) if len(kept) else nothing
        others = (summaries.errors(each, truth)[0] for each in (mean, nothing))
        rows.append((n, run.run, private, *others))
    return rows


def _shares(run: Run[Params], n: int) -> Compared:
    public = pool.PublicSide(_key(run.params, n, run.seed), n)
    against, theta = public.simulated(run.run), public.simulated_theta(run.run)
    return against.rho, against.sensitivity(), against.theta, theta, MIXTURE.prior_mean


def _curve(run: Run[Params], n: int) -> Compared:
    metric, days, root = COVID.distance(), covid.days(n), curve_root(n)
    # Far more draws than a run looks at, as some 8 % are close at the usual threshold.
    draws = min(run.params.pool_size, max(2000, 40 * run.params.c))
    theta = COVID.prior(generator(run.seed, "curves"), draws)
    truth = within(generator(run.seed, "curve", run.run))
    statistics = metric.statistic(covid.with_days(covid.curves(theta, days)))
    series = covid.with_days(covid.curves(truth[None], days)[0])
    rho = metric.compare(statistics, metric.statistic(series))
    return rho, metric.sensitivity(n), theta @ root, truth @ root, COVID.prior_mean @ root


def within(rng: np.random.Generator) -> Array:
    """Draw parameters ``(4,)`` from the prior until the curve stays in the possible range."""
    low, high = COVID.domain
    while True:
        theta = COVID.prior(rng, 200)
        curves = covid.curves(theta, covid.days(COVID.own_sizes[1]))
        fits = ((low <= curves) & (curves <= high)).all(axis=1)
        if fits.any():
            return theta[int(fits.argmax())]


def curve_root(n: int) -> Array:
    """Return the matrix ``(4, 4)`` that maps coefficients to vectors as large as their curve.

    The size of a curve is its mean square over ``n`` rows, as a share of the possible range.
    """
    d = len(COVID.prior_mean)
    rows = np.vander(covid.days(n), d) / (COVID.domain[1] - COVID.domain[0])
    triangle: Array = np.linalg.qr(rows / math.sqrt(n)).R
    return math.sqrt(d) * triangle.T


@dataclass(frozen=True)
class Model:
    """How a scenario's error is computed and described.

    Attributes:
        compared: compares one series of a given size with the pool.
        sizes: the sizes to compute.
        typical: what the error is of, in words.
        unit: the unit of the error, a hundredth.
        top: the top of the axis.
    """

    compared: Callable[[Run[Params], int], Compared]
    sizes: tuple[int, ...]
    typical: str
    unit: str
    top: float


SIZES = tuple(int(size) for size in MIXTURE.n.options)
MODELS = {
    MIXTURE.name: Model(
        _shares, SIZES, "the typical error of each share", "percentage points", 19.5
    ),
    COVID.name: Model(
        _curve, (4, 7, 10, 18, 40, 100), "the typical error of the curve", "% of your range", 60.0
    ),
}


def curves(result: Result) -> pd.DataFrame:
    """Return root mean squared errors over noise and series in hundredths, a row for each size.

    Columns are ``error`` and its 95 % interval ``low`` to ``high`` (NaN for one series), ``plain``
    without noise, and ``prior`` without any data.
    """
    error, plain, prior = (
        100.0 * summaries.root_over_runs(result.tables["main"], column, "n").set_index("n")
        for column in ("mse", "non_private_mse", "prior_mse")
    )
    return error[["error", "low", "high"]].assign(plain=plain.error, prior=prior.error)


def at(result: Result, n: int) -> pd.Series[float] | None:
    """Return the errors at a size, interpolated if needed; ``None`` beyond the curve."""
    table = curves(result)
    known = table.index.to_numpy()
    if not known[0] <= n <= known[-1]:
        return None
    x, logs = np.log(known), table.clip(lower=1e-4).apply(np.log)
    return pd.Series({name: math.exp(np.interp(math.log(n), x, logs[name])) for name in table})


def _model(result: Result) -> Model:
    return MODELS[cast(Params, result.params).scenario]


def _average(result: Result) -> str:
    runs = result.tables["main"].run.nunique()
    return f"noise and {counted(runs, 'simulated series', 'simulated series')}"


def says(result: Result, n: int) -> tuple[str, str]:
    """Report the effect of the noise, and the error with its uncertainty."""
    expected, model = at(result, n), _model(result)
    if expected is None:
        return TITLE, f"The error to expect with {counted(n, 'value')} is not known."
    cost = noise_cost(expected.error, expected.plain, expected.prior, "no data")
    ends = f" (95 % interval {from_to((expected.low, expected.high), 2)})"
    return f"With {counted(n, 'value')}, {cost}", (
        f"Averaged over {_average(result)}, {model.typical} is {amount(expected.error, 2)} "
        f"{model.unit}{ends if math.isfinite(expected.high) else ''}; without noise it is "
        f"{amount(expected.plain, 2)}."
    )


def said(result: Result, planned: int) -> str:
    """Return what to expect with the planned number of values, in Markdown."""
    title, sentence = says(result, planned)
    return f"**{title}.** {sentence}"


def headline(result: Result, planned: int, width: float | None = None) -> tuple[str, str, str]:
    """Return a number, the sentence that it begins, and a remark; ``width`` is of the range."""
    expected, model = at(result, planned), _model(result)
    if expected is None:
        return "?", f"The error with {counted(planned, 'value')} is not known.", ""
    error, plain, prior = (amount(expected[name], 2) for name in SHOWN)
    _, sign, unit = model.unit.rpartition("% ")
    words = (
        f"{unit}: {model.typical} with {counted(planned, 'value')}. "
        f"**Without noise it is {plain}; without any data, {prior}.**"
    )
    rest = f"Average over {_average(result)} that follow the model."
    if sign and width is not None:
        rest = f"In your range, this is {amount(width * expected.error / 100.0, 2)}. {rest}"
    return f"{error} {sign}".rstrip(), words, rest


SHOWN = {
    "error": fig.PRIVATE.called("with noise"),
    "plain": fig.NON_PRIVATE.called("without noise"),
    "prior": fig.PRIOR_MEAN.called("without any data"),
}


def marked(result: Result, n: int) -> fig.CaptionedFigure:
    """Draw the curves, and mark the user's size if they reach it."""
    model, expected, (title, rest) = _model(result), at(result, n), says(result, n)
    lines = Lines(
        SHOWN,
        x="n",
        says=lambda _: (title, f"{title}. {rest}"),
        bands={"error": ("low", "high")},
        settings=("epsilon_total", "epsilon_abc", "c"),
        linear=True,
        y_range=lambda _: (0.0, model.top),
        y_title=f"error, {model.unit}",
    )
    drawn = lines(dataclasses.replace(result, tables={"main": curves(result).reset_index()}))
    # Low enough to fit on one screen with the headline and the progress.
    drawn.figure.update_layout(height=380)
    if expected is not None:
        drawn.figure.add_trace(fig.own_mark(n, expected.error, f"your {n:,} values"))
    return drawn


STUDY = Study(
    EXPERIMENT,
    Params,
    tables={"main": RunTable("n run mse non_private_mse prior_mse", errors_of)},
    says=lambda result: ". ".join(says(result, vars(result.params)["n"])),
    privacy="No data are read, so no budget is spent.",
    views={EXPERIMENT: lambda result: marked(result, vars(result.params)["n"])},
)
COLUMNS, tasks, work, collect, figures = STUDY.contract()
