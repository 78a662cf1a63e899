r"""Is this enough data? The error to expect of a release from so many values.

Series are simulated from the model itself: parameters $\theta$ drawn from the prior, then $N$
values drawn from $\theta$. Each series is compared with the same public pool, as a private one
would be. The error of a release is

$$\sqrt{E\,|\hat\theta - \theta|^2 / d}$$

with $\hat\theta$ the mean of the accepted draws (the prior mean if there are none) and $d$ the
number of parameters. For the uniform mixture the parameters are shares, and so is the error. For
the cubic (``covid``) they are coefficients in units that nobody thinks in, so the error is that of
the curve, the root of its mean square over the rows, as a share of the range of possible values;
the series are then drawn from those curves of the prior that stay within the range, as yours do.
The mean over the noise is exact (MATH E6); the mean over series is an average with a 95 % interval.
A data set of $N$ values is the first $N$ of one stream (for the cubic, $N$ rows spread over the
same curve), so one series serves all sizes and the curve is smoother than its band.

A run ends after $c$ acceptances and looks at no later draw. So the cubic, whose distances cost
$N^2$ each, is compared with the first draws of a pool only, see :func:`draws`.

This holds for series that follow the model, on average over its prior. Nothing here reads any data,
so you may look at it before you spend a budget. Between two sizes the error is taken from a
straight line on logarithmic scales.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import error_curve, experiments, pool, summaries
from abcdp_core import figures as fig
from abcdp_core import parameters as par
from abcdp_core.mechanisms import sparse_vector
from abcdp_core.parameters import Parameter
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.results import Result, Tables
from abcdp_core.sentences import amount, counted, from_to, noise_cost, settings_line
from abcdp_core.simulators import ScenarioParams, covid, uniform_mixture
from abcdp_core.streams import generator

Array = NDArray[np.float64]

EXPERIMENT = "error-by-size"
TITLE = "The error to expect from so many values"
COLUMNS = {"main": ("n", "run", "mse", "non_private_mse", "prior_mse")}


@dataclass(frozen=True)
class Params(ScenarioParams):
    """The setting, the largest size, and how many series are averaged."""

    scenario: str = Parameter(
        kind="choice",
        label="Scenario",
        help="The model that series are simulated from.",
        options=(uniform_mixture.SCENARIO, covid.SCENARIO),
    ).field(uniform_mixture.SCENARIO)
    epsilon_total: float = par.EPSILON_TOTAL.field(par.EPSILON_TOTAL_DEFAULT)
    epsilon_abc: float = uniform_mixture.EPSILON_ABC.field(uniform_mixture.EPSILON_ABC_DEFAULT)
    c: int = par.C.field(uniform_mixture.C_DEFAULT)
    n: int = uniform_mixture.N.field(uniform_mixture.N_DEFAULT)
    pool_size: int = par.POOL_SIZE.field(uniform_mixture.POOL_SIZE_DEFAULT)
    resample: bool = par.RESAMPLE.field(False)
    runs: int = Parameter(
        kind="integer",
        label="Simulated series",
        help="Each from its own parameters, drawn from the prior.",
        low=2,
        high=100,
        steps=(2, 4, 8, 12, 16, 32),
    ).field(12)

    @classmethod
    def specification(cls, scenario: str | None = None) -> dict[str, Parameter]:
        """Return the scenario's own bounds; for the cubic, the sizes that a file may have."""
        known = super().specification(scenario)
        if scenario != covid.SCENARIO:
            return known
        low, high = covid.OWN_SIZES
        return known | {"n": dataclasses.replace(covid.N, low=low, high=high, options=())}


PRESETS: dict[str, BaseParams] = {}

Task = experiments.Run[Params]
tasks = experiments.per_run


def prepare(params: Params, seed: int, progress: pool.Progress) -> None:
    """Make the public pool if it is not there yet, and report progress."""
    if params.scenario == uniform_mixture.SCENARIO:
        pool.make_ready(_key(params, params.n, seed), progress)


def _key(params: Params, n: int, seed: int) -> pool.PoolKey:
    return pool.key_for(uniform_mixture.SCENARIO, n, params.pool_size, seed)


def sizes(params: Params) -> tuple[int, ...]:
    """Return the scenario's usual sizes up to the one that is asked for, and that one."""
    usual = MODELS[params.scenario].sizes
    return (*(size for size in usual if size < params.n), params.n)


def far_enough(scenario: str, planned: int, pool_size: int) -> int:
    """Return the size of the usual pool, or a larger one that is planned and can be made.

    Args:
        scenario: the model.
        planned: number of values.
        pool_size: draws of the pool.
    """
    if scenario == covid.SCENARIO:
        return covid.OWN_SIZES[1]
    possible = [size for size in SIZES if size * pool_size <= par.WORK_LIMIT]
    far = [size for size in possible if size >= max(planned, uniform_mixture.N_DEFAULT)]
    return min(far, default=max(possible))


# -------------------------------------------------------------------------------------- computing

Compared = tuple[Array, float, Array, Array, Array]
"""A series against the pool: distances ``(T,)``, their sensitivity, and what is estimated: for each
draw ``(T, d)``, for the truth and for the prior mean ``(d,)``."""


def work(task: Task) -> Tables:
    """Compute the errors of one series at every size, with the noise and without."""
    params, rows = task.params, []
    for n in sizes(params):
        rho, sensitivity, values, truth, nothing = MODELS[params.scenario].compared(task, n)
        asked = params.epsilon_total, sensitivity, params.c
        event = sparse_vector.calibrate(*asked, resample=params.resample)
        private = error_curve.averaged(event, params.epsilon_abc, rho, values, truth, nothing)
        plain, _ = sparse_vector.non_private(rho, params.epsilon_abc, params.c)
        kept = values[plain.indices]
        mean = kept.mean(axis=0) if len(kept) else nothing
        others = (summaries.errors(each, truth)[0] for each in (mean, nothing))
        rows.append((n, task.run, private, *others))
    return {"main": pd.DataFrame(rows, columns=list(COLUMNS["main"]))}


def _shares(task: Task, n: int) -> Compared:
    public = pool.PublicSide(_key(task.params, n, task.seed), n)
    against, theta = public.simulated(task.run), public.simulated_theta(task.run)
    known = uniform_mixture.PRIOR_MEAN
    return against.rho, against.sensitivity(), against.theta, theta, known


def _curve(task: Task, n: int) -> Compared:
    metric, days, root = covid.distance(), covid.days(n), curve_root(n)
    theta = covid.prior(generator(task.seed, "curves"), draws(task.params))
    truth = within(generator(task.seed, "curve", task.run))
    statistics = metric.statistic(covid.with_days(covid.curves(theta, days)))
    series = covid.with_days(covid.curves(truth[None], days)[0])
    rho = metric.compare(statistics, metric.statistic(series))
    return rho, metric.sensitivity(n), theta @ root, truth @ root, covid.PRIOR_MEAN @ root


def draws(params: Params) -> int:
    """Return how many draws of the pool a curve is compared with: far more than a run looks at.

    Without noise some 8 of 100 draws are accepted at the usual threshold.
    """
    return min(params.pool_size, max(2000, 40 * params.c))


def within(rng: np.random.Generator) -> Array:
    """Draw parameters ``(4,)`` from the prior whose curve stays in the range of possible values."""
    low, high = covid.DOMAIN
    while True:
        theta = covid.prior(rng, 200)
        curves = covid.curves(theta, covid.days(covid.OWN_SIZES[1]))
        fits = ((low <= curves) & (curves <= high)).all(axis=1)
        if fits.any():
            return theta[int(fits.argmax())]


def curve_root(n: int) -> Array:
    """Return ``(4, 4)``: coefficients times this have the mean square of their curve.

    That is the mean over ``n`` rows, as a part of the range of possible values.
    """
    d = len(covid.PRIOR_MEAN)
    rows = np.vander(covid.days(n), d) / (covid.DOMAIN[1] - covid.DOMAIN[0])
    triangle: Array = np.linalg.qr(rows / math.sqrt(n)).R
    return math.sqrt(d) * triangle.T


@dataclass(frozen=True)
class Model:
    """What a scenario's error is of.

    Attributes:
        compared: one series of so many values, against the pool.
        sizes: that are looked at.
        typical: what the error is of.
        unit: of the error, in hundredths.
        top: the highest error that is drawn.
    """

    compared: Callable[[Task, int], Compared]
    sizes: tuple[int, ...]
    typical: str
    unit: str
    top: float


SIZES = tuple(int(size) for size in uniform_mixture.N.options)
MODELS = {
    uniform_mixture.SCENARIO: Model(
        _shares, SIZES, "the typical error of each share", "percentage points", 19.5
    ),
    covid.SCENARIO: Model(
        _curve, (4, 7, 10, 18, 40, 100), "the typical error of the curve", "% of your range", 60.0
    ),
}


# --------------------------------------------------------------------------------------- in words


@dataclass(frozen=True)
class Expected:
    """The error to expect at a size, a root mean square over noise and series in hundredths.

    Attributes:
        n: the size.
        model: what has the error.
        average: what is averaged, in words.
        error, low, high: the error and its 95 % interval, which one series does not have.
        plain, prior: the errors without noise and without any data, for the same series.
    """

    n: int
    model: Model
    average: str
    error: float
    low: float
    high: float
    plain: float
    prior: float

    @property
    def answer(self) -> str:
        """Whether that is enough, in a line."""
        cost = noise_cost(self.error, self.plain, self.prior, "no data")
        return f"With {counted(self.n, 'value')} {cost}"

    @property
    def in_words(self) -> str:
        """The error with its uncertainty, in a sentence."""
        ends = f" (95 % interval {from_to((self.low, self.high), 2)})"
        return (
            f"Averaged over {self.average}, {self.model.typical} is {amount(self.error, 2)} "
            f"{self.model.unit}{ends if math.isfinite(self.high) else ''}; without noise it is "
            f"{amount(self.plain, 2)}."
        )


def at(result: Result, n: int) -> Expected | None:
    """Return the error at a size, between two sizes of the curve too; ``None`` beyond it."""
    private, plain, prior = _curves(result)
    known = private.index.to_numpy()
    if not known[0] <= n <= known[-1]:
        return None
    curves = private.error, private.low, private.high, plain.error, prior.error
    logs = [np.log(np.maximum(curve.to_numpy(), 1e-4)) for curve in curves]
    found = [float(np.exp(np.interp(math.log(n), np.log(known), log))) for log in logs]
    runs = result.tables["main"].run.nunique()
    series = counted(runs, "simulated series", "simulated series")
    return Expected(n, _model(result), f"noise and {series}", *found)


def _curves(result: Result) -> list[pd.DataFrame]:
    """Return errors in hundredths at every size: with noise, without it, and without any data."""
    main = result.tables["main"]
    names = COLUMNS["main"][2:]
    return [100.0 * summaries.root_over_runs(main, name, "n").set_index("n") for name in names]


def _model(result: Result) -> Model:
    return MODELS[cast(Params, result.params).scenario]


def said(found: Result, planned: int) -> str:
    """Return what to expect with so many values, in Markdown."""
    expected = at(found, planned)
    if expected is None:
        return f"The error to expect with {planned:,} values is not known."
    return f"**{expected.answer}.** {expected.in_words}"


def headline(found: Result, planned: int, width: float | None = None) -> tuple[str, str, str]:
    """Return a number, the sentence it begins, and how sure it is, in the scale of a range."""
    expected = at(found, planned)
    if expected is None:
        return "?", f"Nothing is known for {planned:,} values.", ""
    error, plain, prior = (
        amount(each, 2) for each in (expected.error, expected.plain, expected.prior)
    )
    _, sign, unit = expected.model.unit.rpartition("% ")
    words = (
        f"{unit}: {expected.model.typical} with {planned:,} values. "
        f"**Without noise {plain}, without any data {prior}.**"
    )
    rest = f"Average over {expected.average} that follow the model."
    if sign and width is not None:
        rest = f"With your range that is {amount(width * expected.error / 100.0, 2)}. {rest}"
    return f"{error} {sign}".rstrip(), words, rest


def collect(params: Params, rows: Tables) -> Result:
    """Return the result so far."""
    result = Result(EXPERIMENT, params, rows, "", "No data are read here, so nothing is spent.")
    found = at(result, params.n)
    assert found is not None
    return dataclasses.replace(result, summary=f"{found.answer}. {found.in_words}")


# --------------------------------------------------------------------------------------- figures


def figures(result: Result) -> dict[str, fig.Drawn]:
    """Draw the error to expect against the number of values, with the largest one marked."""
    return {EXPERIMENT: marked(result, cast(Params, result.params).n)}


def marked(result: Result, n: int) -> fig.Drawn:
    """Draw the curves with a size of the user's on them.

    Args:
        result: of this study.
        n: the size; where the curve does not reach it, none is marked.
    """
    model, found = _model(result), at(result, n)
    title = found.answer if found else "The error to expect, by the number of values"
    given = settings_line(result.params, ("epsilon_total", "epsilon_abc", "c"))
    # Low enough for the headline and the progress to be on one screen with it.
    figure = fig.figure(title, "number of values N", f"error, {model.unit}", 380, given)
    figure.update_xaxes(**fig.plain_ticks(model.sizes[0], model.sizes[-1]), showgrid=False)
    figure.update_yaxes(range=[0.0, model.top])
    *curves, prior = _curves(result)
    _shade(figure, prior.error, model.top)
    x = prior.index.to_numpy(float)
    styles = fig.PRIVATE.called("with the noise"), fig.NON_PRIVATE.called("without noise")
    heights = [each.error.to_numpy() for each in curves]
    for each, y, style in zip(curves, heights, styles, strict=True):
        if np.isfinite(each.low).all():
            figure.add_trace(fig.band(x, each.low.to_numpy(), each.high.to_numpy(), style))
        figure.add_trace(fig.line(x, y, style))
    fig.named_apart(figure, x, *zip(heights, styles, strict=True))
    figure.update_layout(showlegend=False)
    if found is None:
        return fig.Drawn(figure, result.summary)
    here = fig.points(np.array([float(n)]), np.array([found.error]), fig.PRIVATE)
    figure.add_trace(here.update(name=f"your {n:,} values", marker={"size": 14}))
    side = "right" if n > model.sizes[-1] / 2.0 else "left"
    fig.upright(figure, n, fig.GUIDE, f"N = {n:,}", side)
    return fig.Drawn(figure, f"{found.answer}. {found.in_words}")


def _shade(figure: go.Figure, prior: pd.Series[float], top: float) -> None:
    """Shade where an error is no better than that of the prior mean, which looks at no data."""
    ends = 10.0 ** np.array(figure.layout.xaxis.range)
    x = np.sort([*ends, *prior.index])
    low = np.interp(x, prior.index, prior).clip(max=top)
    figure.add_trace(fig.band(x, low, np.full(len(x), top), fig.PRIOR))
    fig.note(figure, ends[0], top, " no better than no data", fig.PRIOR.color, "top left")
