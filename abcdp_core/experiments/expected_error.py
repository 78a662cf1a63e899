r"""What a privacy budget costs in error, exact over the noise.

The error of a release is $\sqrt{E\,|\hat\theta - \theta|^2 / d}$ with $\hat\theta$ the mean of the
accepted draws (the prior mean if there are none), $\theta$ the truth and $d$ the number of
parameters. For one data set the mean over all noise needs no simulation: given the noise of the
threshold the decisions are independent, one pass over the pool carries the moments of what is
accepted, and a quadrature over the threshold's noise follows (MATH E6). A few data sets, each drawn
anew and compared with the same public pool, are averaged; what is left of chance is theirs, and the
band is its 95 % interval.

How far single releases are from that average is a matter of simulation: :data:`NOISES` draws of the
noise for each data set. With ``noises`` there are releases at every budget, which check what is
computed (:mod:`abcdp_core.error_gaps`).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray
from scipy import interpolate

from abcdp_core import error_curve, error_gaps, experiments, pool, sentences, summaries
from abcdp_core import figures as fig
from abcdp_core import parameters as par
from abcdp_core.experiments import Link, Onward
from abcdp_core.mechanisms import Release, sparse_vector
from abcdp_core.parameters import Parameter
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.results import Result, Tables
from abcdp_core.simulators import uniform_mixture
from abcdp_core.streams import generator

Array = NDArray[np.float64]

EXPERIMENT = "expected-error"
TITLE = "Error against the privacy budget, exact over the noise"
COLUMNS = {
    "main": ("c", "epsilon_total", "run", "mse"),
    "releases": ("run", "noise", "private_mse", "non_private_mse", "accepted", "false"),
    "simulated": ("c", "epsilon_total", "run", "noise", "mse", "expected_mse"),
    "gaps": error_gaps.COLUMNS,
}

BUDGETS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Budgets of the curve, beside the one that is asked for and none at all."""

LINES = (10, 100)
"""Values of c, of which the one farther from the own c is drawn beside it."""

NOISES = 25
"""Simulated releases of each data set."""

PRIVACY = "Error averaged over data sets and noise: nothing is released."


@dataclass(frozen=True)
class Params(BaseParams):
    """One setting, and how many data sets are averaged."""

    epsilon_total: float = par.EPSILON_TOTAL.field(par.EPSILON_TOTAL_DEFAULT)
    epsilon_abc: float = uniform_mixture.EPSILON_ABC.field(uniform_mixture.EPSILON_ABC_DEFAULT)
    c: int = par.C.field(10)
    n: int = uniform_mixture.N.field(uniform_mixture.N_DEFAULT)
    pool_size: int = par.POOL_SIZE.field(10_000)
    resample: bool = par.RESAMPLE.field(False)
    sensitivity: str = par.SENSITIVITY.field("sharp")
    runs: int = Parameter(
        kind="integer",
        label="Data sets",
        help="Each drawn anew from the true parameters and compared with the same pool.",
        low=2,
        high=100,
        steps=(2, 4, 8, 16, 32),
    ).field(8)
    noises: int = Parameter(
        kind="integer",
        label="Simulated releases",
        help="Of each data set at every budget, to check what is computed.",
        low=0,
        high=1000,
        steps=(0, 25, 100),
    ).field(0)

    def check_together(self) -> None:
        """Refuse too much work, or more acceptances than draws."""
        par.check_work(self.n, self.pool_size)
        par.check_accepted(self.c, self.pool_size)


PRESETS: dict[str, BaseParams] = {}

USUAL = (*BUDGETS, math.inf)
"""Budgets of the curve that are the same whatever the own one is."""

PART = 10**8
"""Steps (draws times c) in a part of a task, which take about half a second; a part has a budget at
least."""

STEPS_OF_RELEASE = 8
"""A simulated release takes as long for each draw as so many steps."""


@dataclass(frozen=True)
class Task(experiments.Run[Params]):
    """One data set: its errors at some of the budgets, then at some more."""

    @property
    def links(self) -> int:
        """Parts it is done in; each has a budget at least."""
        each = sum(c + STEPS_OF_RELEASE * self.params.noises for c in lines(self.params))
        return min(-(-len(USUAL) * each * self.params.pool_size // PART), len(USUAL))


def tasks(params: Params, seed: int) -> list[Task]:
    """One task per data set."""
    return [Task(each.params, each.run, each.seed) for each in experiments.per_run(params, seed)]


def prepare(params: Params, seed: int, progress: pool.Progress) -> None:
    """Make the public pool if it is needed and not there yet, and say how far that is."""
    key = _pool_key(params, seed)
    if not all(pool.has_distances(key, params.n, run) for run in range(params.runs)):
        pool.make_kept(key, progress)


def _pool_key(params: Params, seed: int) -> pool.PoolKey:
    return pool.key_for(uniform_mixture.SCENARIO, params.n, params.pool_size, seed)


Rows = list[tuple[float, ...]]


def work(task: Task | Onward[Task]) -> Link:
    """Errors of one data set at the next budgets; the last link has the rows.

    So whatever is averaged has all budgets.
    """
    here = Onward.of(task, ([], []))
    whole, (main, simulated) = here.task, here.state
    params, run, seed = whole.params, whole.run, whole.seed
    is_last = here.done + 1 == whole.links
    for c in lines(params):
        setting = _setting(params, c, run, seed)
        usual = USUAL[here.done :: whole.links]
        errors = dict(zip(usual, error_curve.kept(setting, usual).tolist(), strict=True))
        if is_last and params.epsilon_total not in USUAL:
            # Whoever moves the own budget has the others kept.
            errors[params.epsilon_total] = error_curve.mse(setting, params.epsilon_total)
        main = main + [(c, budget, run, mse) for budget, mse in errors.items()]
        simulated = simulated + _checks(setting, errors, params.noises, seed)
    if not is_last:
        empty = {
            name: pd.DataFrame(columns=list(COLUMNS[name])) for name in COLUMNS if name != "gaps"
        }
        return here.link(empty, (main, simulated))
    tables = {
        "main": pd.DataFrame(sorted(main), columns=list(COLUMNS["main"])),
        "releases": _releases(params, run, seed),
        "simulated": pd.DataFrame(sorted(simulated), columns=list(COLUMNS["simulated"])),
    }
    return here.link(tables)


_TABLES = ("main", "releases", "simulated")


def _checks(
    setting: error_curve.Setting, errors: Mapping[float, float], noises: int, seed: int
) -> Rows:
    """Releases of one data set at each budget, beside the error that was computed."""
    return [
        (setting.c, epsilon_total, setting.run, noise, _error(release.indices, setting), mse)
        for epsilon_total, mse in errors.items()
        if math.isfinite(epsilon_total)
        for noise, release in enumerate(_simulated(setting, epsilon_total, noises, seed))
    ]


def _setting(params: Params, c: int, run: int, seed: int) -> error_curve.Setting:
    return error_curve.Setting(
        _pool_key(params, seed),
        params.n,
        run,
        params.epsilon_abc,
        c,
        params.resample,
        params.sensitivity,
    )


def lines(params: Params) -> tuple[int, ...]:
    """Values of c that have a line: the own one and another of :data:`LINES`."""
    others = [c for c in LINES if c != params.c and c <= params.pool_size]
    far = max(others, key=lambda c: abs(math.log(c / params.c)), default=params.c)
    return tuple(sorted({params.c, far}))


def _simulated(
    setting: error_curve.Setting, epsilon_total: float, noises: int, seed: int
) -> Iterator[Release]:
    """Releases of one data set; those of all budgets have the same noise, scaled."""
    event, rho = error_curve.event(setting, epsilon_total), setting.rho
    for noise in range(noises):
        rng = generator(seed, "noise", setting.run, noise)
        yield sparse_vector.run(rho, setting.epsilon_abc, event, rng)[0]


def _releases(params: Params, run: int, seed: int) -> pd.DataFrame:
    """Errors of releases with noise drawn anew, and of the one without."""
    setting = _setting(params, params.c, run, seed)
    close = setting.rho <= params.epsilon_abc
    plain = _error(np.flatnonzero(close)[: params.c], setting)
    rows = []
    for noise, release in enumerate(_simulated(setting, params.epsilon_total, NOISES, seed)):
        kept = release.indices
        false = int((~close[kept]).sum())
        rows.append((run, noise, _error(kept, setting), plain, len(kept), false))
    return pd.DataFrame(rows, columns=list(COLUMNS["releases"]))


def _error(kept: NDArray[np.int64], setting: error_curve.Setting) -> float:
    """Mean squared error of the mean of some draws, of the prior mean if there are none."""
    mean = setting.theta[kept].mean(axis=0) if len(kept) else uniform_mixture.PRIOR_MEAN
    return summaries.errors(mean, uniform_mixture.TRUTH)[0]


PRIOR_ERROR = math.sqrt(summaries.errors(uniform_mixture.PRIOR_MEAN, uniform_mixture.TRUTH)[0])
"""Of whoever looks at no data."""


# --------------------------------------------------------------------------------------- finding


def collect(params: Params, rows: Tables) -> Result:
    """The result so far."""
    tables = {**rows, "gaps": error_gaps.of(rows["simulated"])}
    return Result(EXPERIMENT, params, tables, _summary(params, rows), PRIVACY)


def curve(main: pd.DataFrame, c: int) -> pd.DataFrame:
    """The error against the budget, a row each: ``epsilon_total, error, low, high``.

    The root is taken of the mean squared error over data sets and of its 95 % interval.
    """
    statistics = summaries.over_runs(main[main.c == c], "mse", ("epsilon_total",))
    found = statistics.sort_values("epsilon_total")
    roots = np.sqrt(np.maximum(found[["mean", "low", "high"]].to_numpy(), 0.0))
    return pd.DataFrame(
        np.column_stack([found.epsilon_total, roots]),
        columns=["epsilon_total", "error", "low", "high"],
    )


def at(main: pd.DataFrame, c: int, epsilon_total: float) -> float:
    """The root mean squared error at a budget of the curve.

    Args:
        main: the result's table of that name.
        c: one of its values of c.
        epsilon_total: one of its budgets, ``inf`` for no noise; NaN is of one that is not there.
    """
    return math.sqrt(main.mse[(main.c == c) & (main.epsilon_total == epsilon_total)].mean())


def typical(result: Result) -> tuple[float, float, float]:
    """Error of single releases in units of that without noise: median, 10 % and 90 % quantile."""
    table = result.tables["releases"]
    ratio = np.sqrt(table.private_mse / table.non_private_mse)
    middle, low, high = np.quantile(ratio, (0.5, 0.1, 0.9))
    return float(middle), float(low), float(high)


def typical_counts(result: Result) -> tuple[int, tuple[int, int, int]]:
    """Draws that single releases keep, and those kept only because of noise.

    The median of the former; median, 10 % and 90 % quantile of the latter.
    """
    table = result.tables["releases"]
    middle, low, high = np.quantile(table.false, (0.5, 0.1, 0.9), method="inverted_cdf")
    kept = np.quantile(table.accepted, 0.5, method="inverted_cdf")
    return int(kept), (int(middle), int(low), int(high))


def typical_in_words(result: Result) -> str:
    """What single releases do, whatever one did; in Markdown. Empty before there are any."""
    if result.tables["releases"].empty:
        return ""
    runs = sentences.counted(len(result.tables["releases"]), "run")
    kept, counts = typical_counts(result)
    middle, low, high = typical(result)
    if kept == 0:
        return f"**Typical of {runs}:** nothing is kept."
    return (
        f"**Typical of {runs}:** {counts[0]:,} of {kept:,} (four in five: {counts[1]:,} to "
        f"{counts[2]:,}), and {middle:.1f} times as far from the truth as without noise (four in "
        f"five: {low:.1f} to {high:.1f})."
    )


def averaged_in_words(result: Result) -> str:
    """What the curve is the average of."""
    main = result.tables["main"]
    return f"{NOT_YET}." if main.empty else f"Average over noise and {_data_sets(main)}."


def _data_sets(main: pd.DataFrame) -> str:
    return sentences.counted(main.run.nunique(), "data set")


def marks_in_words(result: Result, error: float, earlier: Sequence[float] = ()) -> str:
    """What the marks of :func:`mark` are; of a budget beyond the axis, what they would show.

    Args:
        result: of this study.
        error: of the run that is shown.
        earlier: of runs that differ from it in their noise.
    """
    params, main = cast(Params, result.params), result.tables["main"]
    if not _is_on_axis(params.epsilon_total):
        side = "left" if params.epsilon_total < min(BUDGETS) else "right"
        here = at(main, params.c, params.epsilon_total)
        average = "" if main.empty else f"average {here:.3g}, "
        return f"Your budget is beyond the {side} edge: {average}this run {error:.3g}."
    setting = "" if main.empty else "Filled: your setting. "
    others = " Small: earlier noise." if earlier else ""
    high = " Triangle: above the axis." if max(error, *earlier, 0.0) > TOP else ""
    return f"{setting}Hollow: this run.{others}{high}"


def _is_on_axis(epsilon_total: float) -> bool:
    return bool(ENDS[0] <= epsilon_total <= ENDS[1])


def _summary(params: Params, rows: Tables) -> str:
    main = rows["main"]
    if main.empty:
        return f"{NOT_YET}."
    here, plain = at(main, params.c, params.epsilon_total), at(main, params.c, math.inf)
    return (
        f"At ε_total = {params.epsilon_total:g}, ε_abc = {params.epsilon_abc:g}, c = {params.c}, "
        f"N = {params.n:,} the root mean squared error is {here:.3g}, without noise {plain:.3g}, "
        f"of the prior mean {PRIOR_ERROR:.3g}: exact over the noise, averaged over "
        f"{_data_sets(main)}."
    )


LITTLE = 1.1
"""Times the error without noise up to which a budget costs little."""


NOT_YET = "No data set is finished yet"
"""Where a task has many parts, none of them ends one at first."""


def finding(params: Params, main: pd.DataFrame) -> str:
    """What the curve says of the setting, in a line."""
    if main.empty:
        return NOT_YET
    here, plain = at(main, params.c, params.epsilon_total), at(main, params.c, math.inf)
    noisy, noiseless = (sentences.little(error, PRIOR_ERROR) for error in (here, plain))
    if noisy and noiseless:
        return f"Even without noise: {noiseless}"
    if noisy:
        return f"With this budget: {noisy}"
    if noiseless:
        # A threshold that lets few draws in, or none, may do better with noise.
        part = f"{100.0 * here / PRIOR_ERROR:.0f} % of its error"
        return f"Without noise {noiseless}, with it {part}"
    if here < plain / LITTLE:
        return f"With this budget's noise the error is {100.0 * here / plain:.0f} % of that without"
    if here <= LITTLE * plain:
        return "This budget adds at most 10 % to the error"
    return f"This budget makes the error {here / plain:.1f} times as large"


# --------------------------------------------------------------------------------------- figures


def figures(result: Result) -> dict[str, fig.Drawn]:
    """The error against the budget, with the setting on it."""
    dots = " The dots are computed; the lines between them are interpolated."
    sentence = result.summary if result.tables["main"].empty else f"{result.summary}{dots}"
    table = result.tables["gaps"]
    check = "" if table.empty else f" Crosses: {error_gaps.in_words(table)}"
    return {"error": fig.Drawn(_curves(result), f"{sentence}{check}")}


TOP = 1.2 * PRIOR_ERROR
"""Where the axis of errors ends."""

ENDS = (min(BUDGETS) / 1.15, max(BUDGETS) * 1.25)
"""Of the axis of budgets."""

LAST_NAMED = 2.0
"""The largest budget that has room for the name of a line right of it, on a telephone too."""


def _curves(result: Result) -> go.Figure:
    params, main = cast(Params, result.params), result.tables["main"]
    ends, top = np.array(ENDS), TOP
    figure = fig.figure(
        finding(params, main),
        "privacy budget ε_total (more private ←)",
        "root mean squared error",
        settings=f"c = {params.c:,}, ε_abc = {params.epsilon_abc:g}, N = {params.n:,}",
    )
    figure.update_xaxes(
        type="log",
        range=np.log10(ends).tolist(),
        tickvals=BUDGETS,
        ticktext=[f"{budget:g}" for budget in BUDGETS],
        showgrid=False,
    )
    figure.update_yaxes(range=[0.0, top], tickvals=[0.0, 0.05, 0.1, 0.15])
    figure.add_hrect(
        PRIOR_ERROR, top, fillcolor=fig.translucent(fig.PRIOR.color, 0.18), line_width=0
    )
    fig.note(figure, ends[0], top, " no better than the prior", fig.PRIOR.color, "top left")
    if main.empty:
        return figure.update_layout(showlegend=False)
    plain = at(main, params.c, math.inf)
    without = fig.line(ends, np.full(2, plain), fig.NON_PRIVATE)
    figure.add_trace(without.update(name=f"without noise, c = {params.c}"))
    fig.note(figure, ends[1], plain, "without noise ", fig.NON_PRIVATE.color, "top right")
    curves = {c: _on_axis(curve(main, c)) for c in lines(params)}
    for (c, points), style in zip(curves.items(), fig.styles([*map(_keep, curves)]), strict=True):
        x, y = points.epsilon_total.to_numpy(), points.error.to_numpy()
        fine = np.geomspace(x[0], x[-1], FINE)
        error, low, high = (_smooth(points, name, fine) for name in ("error", "low", "high"))
        if np.isfinite(low).all():
            figure.add_trace(fig.band(fine, low, high, style))
        figure.add_trace(fig.line(fine, error, style, hoverinfo="skip"))
        computed = fig.points(x, y, dataclasses.replace(style, marker="circle"))
        figure.add_trace(computed.update(marker={"size": 5}))
        figure.add_trace(_crosses(result.tables["gaps"], c, style))
        others = [other.error.to_numpy() for key, other in curves.items() if key != c]
        levels = [np.full(len(y), level) for level in (0.0, plain, PRIOR_ERROR)]
        within = _within(y)
        at_label, place = _place(
            x[within], y[within], [each[within] for each in (*others, *levels)]
        )
        at_label += within.start
        fig.note(figure, x[at_label], min(y[at_label], top), _keep(c), style.color, place)
    if _is_on_axis(params.epsilon_total):
        here = fig.points(
            np.array([params.epsilon_total]),
            np.array([at(main, params.c, params.epsilon_total)]),
            fig.PRIVATE,
        )
        figure.add_trace(here.update(name="your setting", marker={"size": 14}))
    _add_people(figure, params)
    return figure.update_layout(showlegend=False)


def _crosses(gaps: pd.DataFrame, c: int, style: fig.Style) -> go.Scatter:
    """What simulated releases have for an error, with 95 % intervals for the noise."""
    shown = gaps[(gaps.c == c) & gaps.epsilon_total.between(*ENDS)]
    y, low, high = (np.sqrt(shown[name].to_numpy(float)) for name in ("mse", "low", "high"))
    marks = fig.points(shown.epsilon_total.to_numpy(float), y, style)
    return marks.update(
        name="simulated",
        error_y={"array": high - y, "arrayminus": y - low, "thickness": 1.5, "width": 5},
        marker={"symbol": "x-thin", "size": 8, "line": {"width": 2, "color": style.color}},
    )


def people(params: Params, epsilon_total: float) -> float:
    """How many points let the own budget give the noise that another gives to the own N.

    The noise is proportional to Δ/ε_total (MATH S2), and Δ to 1/N, sharp or published (MATH M2).

    Args:
        params: with the own budget and N.
        epsilon_total: the other budget.

    Returns:
        A real number, of which the next integer is enough.
    """
    return params.n * epsilon_total / params.epsilon_total


def people_in_words(params: Params) -> str:
    """What the axis of people says; nothing where there is none."""
    if not _people_ticks(params):
        return ""
    return (
        f"The axis above: how many people would have the noise of the budget below at your "
        f"ε_total = {params.epsilon_total:g}. What more people tell by themselves comes on top."
    )


def _people_ticks(params: Params) -> list[int]:
    """Round numbers of people within the axis; none where a single person would do."""
    first, last = (people(params, end) for end in ENDS)
    powers = range(max(0, math.floor(math.log10(first))), math.ceil(math.log10(last)) + 1)
    ticks = [m * 10**power for power in powers for m in (1, 3)]
    # Close to an end there is no room for a number.
    return [tick for tick in ticks if EDGE * first <= tick <= last / EDGE]


def _add_people(figure: go.Figure, params: Params) -> None:
    """An axis above the plot: how many people make up for each budget's noise at the own one."""
    ticks = _people_ticks(params)
    if not ticks:
        return
    # An axis without a series is not drawn.
    nothing = np.array([np.nan])
    figure.add_trace(
        go.Scatter(
            {"x": nothing, "y": nothing, "mode": "markers", "xaxis": "x2", "hoverinfo": "skip"},
            name="people",
            showlegend=False,
        )
    )
    figure.update_layout(
        xaxis2={
            **{"overlaying": "x", "side": "top", "type": "log", "showgrid": False},
            "range": np.log10([people(params, end) for end in ENDS]).tolist(),
            "tickvals": ticks,
            "ticktext": [_short(tick) for tick in ticks],
            "title": {"text": f"people for the same noise at ε_total = {params.epsilon_total:g}"},
        }
    )


def _short(number: int) -> str:
    return f"{number // 10**6:,} million" if number >= 10**6 else f"{number:,}"


EDGE = 1.15
"""Times an end of the axis of people that its first number is from it."""

FINE = 97
"""Points at which a line is drawn."""


def _smooth(points: pd.DataFrame, name: str, fine: Array) -> Array:
    """A column of :func:`curve` at other budgets: monotone where it is (Fritsch and Butland)."""
    values = points[name].to_numpy()
    if not np.isfinite(values).all():
        return np.full(len(fine), np.nan)
    through = interpolate.PchipInterpolator(np.log(points.epsilon_total), values)
    return np.asarray(through(np.log(fine)))


def _keep(c: int) -> str:
    return f"keep {c:,}"


def _on_axis(points: pd.DataFrame) -> pd.DataFrame:
    shown = points.epsilon_total.between(min(BUDGETS), max(BUDGETS))
    return points[shown].reset_index(drop=True)


def _within(y: Array) -> slice:
    """The part of a line that its name stands at: where it is clearly better than the prior.

    Above, it may leave the axis, and at the left the prior's name stands. Errors fall with the
    budget, so what is better is the right part; of a line without one it is the last two points.
    """
    high = np.flatnonzero(y > sentences.NEARLY * PRIOR_ERROR)
    first = int(high[-1]) + 1 if len(high) else 0
    return slice(min(first, len(y) - 2), len(y))


def _place(x: Array, y: Array, others: Sequence[Array]) -> tuple[int, str]:
    """Where there is most room for the name of a line, and which side of the name is there.

    It stands above to the right or below to the left, as lines fall to the right.

    Args:
        x: the budgets.
        y: of the line, at each budget.
        others: what else is drawn, at the same budgets.
    """
    drawn = np.array(others)

    def room(first: int, side: float) -> float:
        """Between the line and the next one above (1) or below (-1), from a budget to the next."""
        here = slice(first, first + 2)
        gaps = side * (drawn[:, here] - y[here])
        return float(np.where(gaps >= 0.0, gaps, np.inf).min())

    pairs = range(len(y) - 1)
    above, below = (np.array([room(first, side) for first in pairs]) for side in (1.0, -1.0))
    above[x[:-1] > LAST_NAMED] = 0.0
    if above.max() >= below.max():
        return int(above.argmax()), "bottom left"
    return int(below.argmax()) + 1, "top right"


def mark(
    drawn: fig.Drawn, epsilon_total: float, error: float, earlier: Sequence[float] = ()
) -> fig.Drawn:
    """The figure with the error of one run on it, hollow, and smaller those of other noise.

    Args:
        drawn: the figure.
        epsilon_total: of the runs.
        error: of the run that is shown.
        earlier: of runs that differ from it in their noise.
    """
    figure = go.Figure(drawn.figure)
    for name, errors, look in (
        ("earlier noise", earlier, {"size": 7, "line": {"width": 1.5}}),
        ("this run", [error], {"size": 13, "line": {"width": 2.5}}),
    ):
        if len(errors) and _is_on_axis(epsilon_total):
            y = np.array(errors)
            here = fig.points(np.full(len(y), epsilon_total), y.clip(max=TOP), fig.PRIVATE)
            symbol = np.where(y > TOP, "triangle-up-open", "circle-open").tolist()
            here.update(name=name, marker=look | {"symbol": symbol}, cliponaxis=False)
            figure.add_trace(here)
    others = f" Earlier noise: {min(earlier):.3g} to {max(earlier):.3g}." if earlier else ""
    return fig.Drawn(figure, f"{drawn.sentence} This run: {error:.3g}.{others}")
