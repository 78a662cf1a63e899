r"""Is this enough data? The error to expect of a release from so many values.

Series are simulated from the model itself: parameters $\theta$ drawn from the prior, $N$ values
drawn from $\theta$. Each series is compared with the same public pool, as a private one would be.
The error of a release is

$$\sqrt{E\,|\hat\theta - \theta|^2 / d}$$

with $\hat\theta$ the mean of the accepted draws (the prior mean if there are none) and $d$ the
number of parameters. Of the uniform mixture these are shares, so the error is one of shares. Of the
cubic (``covid``) they are coefficients in units that nobody thinks in, so the error is that of the
curve, the root of its mean square over the rows, as a share of the range of possible values; the
series are then drawn from those curves of the prior that stay within the range, as a person's own
do. The mean over the noise is exact (MATH E6), over series it is an average, with a 95 % interval.
A data set of $N$ values is the first $N$ of one stream (of the cubic: $N$ rows spread over the same
curve), so one series serves all sizes: the curve is smoother than its band.

A run ends after $c$ acceptances and looks at no later draw. So the cubic, whose distances cost
$N^2$ each, is compared with the first draws of a pool only, see :func:`draws`.

This holds for series that follow the model, on average over its prior; nothing here reads any data,
so it may be looked at before a budget is spent. Between two sizes the curve is drawn straight on
the two logarithmic scales.
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

from abcdp_core import error_curve, experiments, pool, sentences, summaries
from abcdp_core import figures as fig
from abcdp_core import parameters as par
from abcdp_core.mechanisms import sparse_vector
from abcdp_core.parameters import Parameter
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.results import Result, Tables
from abcdp_core.simulators import ScenarioParams, covid, uniform_mixture
from abcdp_core.streams import generator

Array = NDArray[np.float64]

EXPERIMENT = "error-by-size"
TITLE = "The error to expect from so many values"
COLUMNS = {"main": ("n", "run", "mse", "non_private_mse", "prior_mse")}
Row = tuple[float, ...]
_MAIN = list(COLUMNS["main"])

_MEAN = uniform_mixture.PRIOR_MEAN
PRIOR_ERROR = math.sqrt(float(np.mean(_MEAN * (1.0 - _MEAN))) / (len(_MEAN) + 1))
"""Of whoever looks at no data: the standard deviation of a share under the prior."""


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
        help="Each from parameters of its own, drawn from the prior.",
        low=2,
        high=100,
        steps=(2, 4, 8, 12, 16, 32),
    ).field(12)

    @classmethod
    def specification(cls, scenario: str | None = None) -> dict[str, Parameter]:
        """The scenario's own bounds; of the cubic the sizes of a person's own series."""
        known = super().specification(scenario)
        if scenario != covid.SCENARIO:
            return known
        low, high = covid.OWN_SIZES
        return known | {"n": dataclasses.replace(covid.N, low=low, high=high, options=())}


PRESETS: dict[str, BaseParams] = {}

Task = experiments.Run[Params]


def tasks(params: Params, seed: int) -> list[Task]:
    """One task per series."""
    return experiments.per_run(params, seed)


def prepare(params: Params, seed: int, progress: pool.Progress) -> None:
    """Make the public pool if it is not there yet, and say how far that is."""
    if params.scenario == uniform_mixture.SCENARIO:
        pool.make_ready(_key(params, seed), progress)


def _key(params: Params, seed: int) -> pool.PoolKey:
    return pool.key_for(uniform_mixture.SCENARIO, params.n, params.pool_size, seed)


def sizes(params: Params) -> tuple[int, ...]:
    """The sizes of the scenario up to the one that is asked for, and that one."""
    usual = MODELS[params.scenario].sizes
    return (*(size for size in usual if size < params.n), params.n)


def far_enough(scenario: str, planned: int, pool_size: int) -> int:
    """The size that the usual pool is made for, a larger one if it is planned and can be made.

    Args:
        scenario: the model.
        planned: number of values.
        pool_size: draws of the pool.
    """
    if scenario == covid.SCENARIO:
        return covid.OWN_SIZES[1]
    every = [int(size) for size in uniform_mixture.N.options]
    possible = [size for size in every if size * pool_size <= par.WORK_LIMIT]
    far = [size for size in possible if size >= max(planned, uniform_mixture.N_DEFAULT)]
    return min(far, default=max(possible))


def work(task: Task) -> Tables:
    """The errors of one series at every size, with the noise and without."""
    return {"main": pd.DataFrame(MODELS[task.params.scenario].errors(task), columns=_MAIN)}


def _of_shares(task: Task) -> list[Row]:
    params, run, seed = task.params, task.run, task.seed
    rows = []
    for n in sizes(params):
        key = _key(dataclasses.replace(params, n=n), seed)
        public = pool.PublicSide(key, n)
        comparison, theta = public.simulated(run), public.simulated_theta(run)
        sensitivity = comparison.sensitivity()
        event = sparse_vector.calibrate(
            params.epsilon_total, sensitivity, params.c, resample=params.resample
        )
        plain, _ = sparse_vector.non_private(comparison.rho, params.epsilon_abc, params.c)
        chosen = comparison.theta[plain.indices]
        means = chosen.mean(axis=0) if len(chosen) else _MEAN, _MEAN
        others = [summaries.errors(mean, theta)[0] for mean in means]
        rho, pool_theta = comparison.rho, comparison.theta
        private = error_curve.averaged(event, params.epsilon_abc, rho, pool_theta, theta)
        rows.append((n, run, private, *others))
    return rows


def draws(params: Params) -> int:
    """Draws of the pool that a curve is compared with: far more than a run comes to look at.

    Without noise some 8 of 100 draws are accepted at the usual threshold.
    """
    return min(params.pool_size, max(FEWEST_DRAWS, DRAWS_EACH * params.c))


FEWEST_DRAWS, DRAWS_EACH = 2000, 40
"""At least so many, and so many for each acceptance."""


def _of_curves(task: Task) -> list[Row]:
    params, run, seed = task.params, task.run, task.seed
    metric, theta = covid.distance(), covid.prior(generator(seed, "curves"), draws(params))
    truth = within(generator(seed, "curve", run))
    rows = []
    for n in sizes(params):
        statistics = metric.statistic(covid.with_days(covid.curves(theta, covid.days(n))))
        series = covid.with_days(covid.curves(truth[None], covid.days(n))[0])
        rho = metric.compare(statistics, metric.statistic(series))
        event = sparse_vector.calibrate(
            params.epsilon_total, metric.sensitivity(n), params.c, resample=params.resample
        )
        root = _root(n)
        values, target, nothing = theta @ root, truth @ root, covid.PRIOR_MEAN @ root
        private = error_curve.averaged(event, params.epsilon_abc, rho, values, target, nothing)
        plain, _ = sparse_vector.non_private(rho, params.epsilon_abc, params.c)
        chosen = values[plain.indices]
        means = chosen.mean(axis=0) if len(chosen) else nothing, nothing
        others = [float(((mean - target) ** 2).sum()) for mean in means]
        rows.append((n, run, len(target) * private, *others))
    return rows


def within(rng: np.random.Generator) -> Array:
    """A draw of the prior ``(4,)`` whose curve stays within the range of possible values."""
    low, high = covid.DOMAIN
    while True:
        theta = covid.prior(rng, CANDIDATES)
        curves = covid.curves(theta, covid.days(covid.OWN_SIZES[1]))
        fits = ((low <= curves) & (curves <= high)).all(axis=1)
        if fits.any():
            return theta[int(fits.argmax())]


CANDIDATES = 200
"""Draws that are tried at a time."""


def _root(n: int) -> Array:
    """``(4, 4)``: the square of coefficients times this is the mean square of their curve.

    Over ``n`` rows, in parts of the range of possible values.
    """
    rows = np.vander(covid.days(n), len(covid.PRIOR_MEAN)) / (covid.DOMAIN[1] - covid.DOMAIN[0])
    triangle: Array = np.linalg.qr(rows / math.sqrt(n)).R
    return triangle.T


# ---------------------------------------------------------------------------------------- models


@dataclass(frozen=True)
class Model:
    """What a scenario's error is of, and how it is said and drawn.

    Attributes:
        errors: of one series at every size.
        sizes: that are looked at.
        what: is off, to begin a sentence.
        unit: of the error, in hundredths.
        typical: what the error is of, to end a sentence.
        tops: highest error drawn, and its ticks.
        axis: sizes that are drawn, and their ticks.
    """

    errors: Callable[[Task], list[Row]]
    sizes: tuple[int, ...]
    what: str
    unit: str
    typical: str
    tops: tuple[float, tuple[int, ...]]
    axis: tuple[float, float]
    ticks: tuple[int, ...]

    def across(self, n: float) -> float:
        """Where a size is on the axis, from 0 to 1."""
        low, high = self.axis
        return math.log(n / low) / math.log(high / low)


MODELS = {
    uniform_mixture.SCENARIO: Model(
        _of_shares,
        tuple(int(size) for size in uniform_mixture.N.options),
        "A share",
        "percentage points",
        "the typical error of each share",
        (100.0 * 1.2 * PRIOR_ERROR, (0, 5, 10, 15)),
        (10.0, 20_000.0),
        (10, 30, 100, 300, 1000, 3000, 10_000),
    ),
    covid.SCENARIO: Model(
        _of_curves,
        (4, 7, 10, 18, 40, 100),
        "The curve",
        "% of your range",
        "the typical error of the curve in a row",
        (60.0, (0, 20, 40, 60)),
        (3.5, 115.0),
        (4, 10, 18, 30, 60, 100),
    ),
}


def model_of(result: Result) -> Model:
    """That of a result."""
    return MODELS[cast(Params, result.params).scenario]


# --------------------------------------------------------------------------------------- finding


@dataclass(frozen=True)
class Expected:
    """The error to expect at a size.

    Attributes:
        n: the size.
        error: root mean squared error of a share, over noise and series.
        low, high: ends of its 95 % interval; not finite with fewer than two series.
        plain: the error without noise.
        prior: the error of the prior mean, without any data, for the same series.
        tenth, ninetieth: between which 80 % of the simulated series have their error.
        series: how many were simulated.
    """

    n: int
    error: float
    low: float
    high: float
    plain: float
    prior: float
    tenth: float
    ninetieth: float
    series: int


def at(result: Result, n: int) -> Expected | None:
    """The error to expect at a size, between two sizes of the curve too; ``None`` beyond it."""
    main = result.tables["main"]
    known = np.unique(main.n)
    if not known[0] <= n <= known[-1]:
        return None
    private, plain, prior = (curve(main, name) for name in ("mse", "non_private_mse", "prior_mse"))

    def here(values: Array) -> float:
        return float(np.exp(np.interp(math.log(n), np.log(known), np.log(values))))

    single = main.pivot_table(index="run", columns="n", values="mse").to_numpy()
    spread = np.quantile(np.sqrt(single), (0.1, 0.9), axis=0)
    return Expected(
        n=n,
        error=here(private.error.to_numpy()),
        low=here(np.maximum(private.low.to_numpy(), TINY)),
        high=here(private.high.to_numpy()),
        plain=here(plain.error.to_numpy()),
        prior=here(prior.error.to_numpy()),
        tenth=here(spread[0]),
        ninetieth=here(spread[1]),
        series=main.run.nunique(),
    )


TINY = 1e-6
"""Least error drawn on a logarithmic scale."""


def curve(main: pd.DataFrame, column: str) -> pd.DataFrame:
    """Root mean squared error against size, a row each: ``n, error, low, high``."""
    found = summaries.over_runs(main, column, ("n",)).sort_values("n")
    roots = np.sqrt(np.maximum(found[["mean", "low", "high"]].to_numpy(), 0.0))
    return pd.DataFrame(np.column_stack([found.n, roots]), columns=["n", "error", "low", "high"])


LITTLE = 1.1
"""Times the error without noise up to which a budget costs little."""


def answer(found: Expected) -> str:
    """Whether that is enough, in a line."""
    noisy, noiseless = (
        sentences.little(error, found.prior, "no data") for error in (found.error, found.plain)
    )
    if noiseless:
        # It may be the threshold, or few draws, and not how many values there are.
        plain = f"noise {found.n:,} values are {noiseless}"
        if noisy:
            return f"Even without {plain}"
        share = f"{100.0 * found.error / found.prior:.0f} % of that without data"
        return f"Without {plain}; with it the error is {share}"
    if noisy:
        return f"{found.n:,} values are too few: {noisy}"
    if found.error < found.plain / LITTLE:
        share = f"{100.0 * found.error / found.plain:.0f} %"
        return f"With {found.n:,} values and this noise the error is {share} of that without"
    if found.error <= LITTLE * found.plain:
        return f"With {found.n:,} values privacy adds at most 10 % to the error"
    times = found.error / found.plain
    return f"With {found.n:,} values privacy makes the error {times:.1f} times as large"


def points(share: float) -> str:
    """A difference of shares, in percentage points."""
    value = 100.0 * share
    return f"{value:.0f}" if value >= FEW else f"{value:.1f}"


FEW = 9.95
"""Percentage points below which a decimal is said."""


def in_words(found: Expected, model: Model) -> str:
    """The error to expect, with its uncertainty, in a sentence or two."""
    sure = (
        f" (95 % interval {points(found.low)} to {points(found.high)})"
        if math.isfinite(found.high)
        else ""
    )
    return (
        f"{model.what} is expected to be off by {points(found.error)} {model.unit}{sure} with "
        f"{found.n:,} values, by {points(found.plain)} without noise and by {points(found.prior)} "
        f"without any data: the average over noise and "
        f"{sentences.counted(found.series, 'simulated series', 'simulated series')}{spread(found)}."
    )


def spread(found: Expected) -> str:
    """How different the simulated series are, to end a sentence; nothing of few."""
    if found.series < FEWEST_FOR_SPREAD:
        return ""
    return f"; 80 % of them lie between {points(found.tenth)} and {points(found.ninetieth)}"


FEWEST_FOR_SPREAD = 5
"""Series from which on their middle 80 % say something."""


def said(found: Result, planned: int) -> str:
    """Return what to expect with so many values, in a sentence or two."""
    expected = at(found, planned)
    if expected is None:
        return f"What error to expect with {planned:,} values is not known."
    words = in_words(expected, model_of(found))
    return f"**{answer(expected)}.** {words}"


def headline(found: Result, planned: int, width: float | None = None) -> tuple[str, str, str]:
    """Return a number, the sentence it begins, and how sure it is, in the scale of a range."""
    expected, model = at(found, planned), model_of(found)
    if expected is None:
        return "?", f"Nothing is known for {planned:,} values.", ""
    number, sign = points(expected.error), "% "
    of_range = model.unit.startswith(sign)
    words = (
        f"{model.unit.removeprefix(sign)}: {model.typical} with {planned:,} values. "
        f"**Without noise {points(expected.plain)}, without any data {points(expected.prior)}.**"
    )
    series = sentences.counted(expected.series, "simulated series", "simulated series")
    rest = f"Average over noise and {series} that follow the model{spread(expected)}."
    if of_range and width is not None:
        rest = f"With your range that is {_in_own_scale(width * expected.error)}. {rest}"
    return f"{number} %" if of_range else number, words, rest


def _in_own_scale(value: float) -> str:
    """A number in the scale of a person's values, without an exponent where that is readable."""
    return f"{value:,.0f}" if 100.0 <= value < 1e9 else f"{value:.2g}"


def collect(params: Params, rows: Tables) -> Result:
    """The result so far."""
    result = Result(EXPERIMENT, params, rows, "", "No data are read here, so nothing is spent.")
    found = at(result, params.n)
    assert found is not None
    summary = f"{answer(found)}. {in_words(found, model_of(result))}"
    return dataclasses.replace(result, summary=summary)


# --------------------------------------------------------------------------------------- figures


HEIGHT = 380
"""Pixels: the figure, its headline and progress are on one screen."""


def figures(result: Result) -> dict[str, fig.Drawn]:
    """The error to expect against the number of values, with the largest one marked."""
    return {EXPERIMENT: marked(result, cast(Params, result.params).n)}


def marked(result: Result, n: int) -> fig.Drawn:
    """The curves with a size of the user's on them.

    Args:
        result: of this study.
        n: the size; where the curve does not reach it, none is marked.
    """
    params, main = cast(Params, result.params), result.tables["main"]
    model, found = model_of(result), at(result, n)
    figure = fig.figure(
        answer(found) if found else "The error to expect falls with the number of values",
        "number of values N",
        f"error, {model.unit}",
        height=HEIGHT,
        settings=f"ε_total = {params.epsilon_total:g}, ε_abc = {params.epsilon_abc:g}, "
        f"c = {params.c:,}",
    )
    top, levels = model.tops
    figure.update_xaxes(
        type="log",
        range=np.log10(model.axis).tolist(),
        tickvals=model.ticks,
        ticktext=[f"{size:,}" for size in model.ticks],
        showgrid=False,
    )
    figure.update_yaxes(range=[0.0, top], tickvals=levels)
    figure.add_trace(_no_better(main, model))
    fig.note(figure, model.axis[0], top, " no better than no data", fig.PRIOR.color, "top left")
    gap = curve(main, "mse").error - curve(main, "non_private_mse").error
    # Names stand within the plot, where the lines are farthest apart.
    middle = 1 + int(np.argmax(gap[1:-1])) if len(gap) > 2 else 0
    for column, style, words, place in (
        ("mse", fig.PRIVATE, "with the noise", "bottom left"),
        ("non_private_mse", fig.NON_PRIVATE, "without noise", "top right"),
    ):
        each = curve(main, column)
        x, y = each.n.to_numpy(), 100.0 * each.error.to_numpy()
        if np.isfinite(each.low).all():
            low, high = (100.0 * each[end].to_numpy() for end in ("low", "high"))
            figure.add_trace(fig.band(x, low, high, style))
        figure.add_trace(fig.line(x, y, style).update(name=words))
        if y[middle] < LITTLE_ROOM * top:
            place = "bottom left"
        elif model.across(x[middle]) < 1 / 3:
            place = place.replace("right", "left")
        fig.note(figure, x[middle], y[middle], words, style.color, place)
    if found is not None:
        here = fig.points(np.array([float(n)]), np.array([100.0 * found.error]), fig.PRIVATE)
        figure.add_trace(here.update(name=f"your {n:,} values", marker={"size": 14}))
        _upright(figure, n, top, model.across(n))
    sentence = f"{answer(found)}. {in_words(found, model)}" if found else result.summary
    return fig.Drawn(figure.update_layout(showlegend=False), sentence)


LITTLE_ROOM = 0.12
"""Part of the height below which no words fit under a line."""


def _no_better(main: pd.DataFrame, model: Model) -> go.Scatter:
    """Where an error is no better than that of the prior mean, which looks at no data."""
    prior, top = curve(main, "prior_mse"), model.tops[0]
    errors = 100.0 * np.interp(model.axis, prior.n, prior.error)
    x = np.array([model.axis[0], *prior.n, model.axis[1]])
    low = np.minimum([errors[0], *(100.0 * prior.error), errors[1]], top)
    return fig.band(x, low, np.full(len(x), top), fig.PRIOR)


def _upright(figure: go.Figure, n: int, top: float, across: float) -> None:
    """A line at the size, so far across the plot, called by it where there is room."""
    line = fig.line(np.full(2, float(n)), np.array([0.0, top]), fig.GUIDE)
    figure.add_trace(line.update(name=f"N = {n:,}", hoverinfo="skip"))
    # On the left other words stand above, on the right lines come down to the bottom.
    y, height = (0.0, "bottom") if across < 1 / 2 else (top, "top")
    side = "left" if across < 3 / 4 else "right"
    fig.note(figure, float(n), y, f" N = {n:,} ", fig.GUIDE.color, f"{height} {side}")
