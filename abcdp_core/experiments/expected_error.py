r"""What a privacy budget costs in error, exact over the noise.

The error of a release is $\sqrt{E\,|\hat\theta - \theta|^2 / d}$ with $\hat\theta$ the mean of the
accepted draws (the prior mean if there are none), $\theta$ the truth and $d$ the number of
parameters. For one data set the mean over all noise needs no simulation: given the noise of the
threshold the decisions are independent, one pass over the pool carries the moments of what is
accepted, and a quadrature over the threshold's noise follows (MATH E6). A few data sets, each drawn
anew and compared with the same public pool, are averaged; the only chance left is in the data sets,
and the band is its 95 % interval.

How far single releases are from that average is simulated: :data:`NOISES` draws of the noise for
each data set. With ``noises`` there are releases at every budget, which check what is computed
(:mod:`abcdp_core.error_gaps`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import error_curve, error_gaps, experiments, pool, summaries
from abcdp_core import figures as fig
from abcdp_core import parameters as par
from abcdp_core.experiments import Link, Onward
from abcdp_core.mechanisms import sparse_vector
from abcdp_core.parameters import Parameter
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.results import Result, Tables
from abcdp_core.sentences import amount, counted, from_to, noise_cost, settings_line
from abcdp_core.simulators import uniform_mixture
from abcdp_core.streams import generator

EXPERIMENT = "expected-error"
TITLE = "Error against the privacy budget, exact over the noise"
COLUMNS = {
    "main": ("c", "epsilon_total", "run", "mse"),
    "releases": ("run", "noise", "private_mse", "non_private_mse", "accepted", "false"),
    "simulated": ("c", "epsilon_total", "run", "noise", "mse", "expected_mse"),
    "gaps": error_gaps.COLUMNS,
}

BUDGETS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
USUAL = (*BUDGETS, math.inf)
"""Budgets of the curve, beside the one that is asked for."""

LINES = (10, 100)
"""Values of c, of which the one farther from the own c is drawn beside it."""

NOISES = 25
"""Simulated releases of each data set."""


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

# -------------------------------------------------------------------------------------- computing

PART, STEPS_OF_RELEASE = 10**8, 8
"""Steps (draws times c) in a part of a task, half a second of work; those that a draw of a
simulated release takes."""


@dataclass(frozen=True)
class Task(experiments.Run[Params]):
    """One data set: its errors at some of the budgets, then at some more."""

    @property
    def links(self) -> int:
        """Parts it is done in; each has a budget at least."""
        each = sum(c + STEPS_OF_RELEASE * self.params.noises for c in lines(self.params))
        return min(-(-len(USUAL) * each * self.params.pool_size // PART), len(USUAL))


def tasks(params: Params, seed: int) -> list[Task]:
    """Return one task per data set."""
    return [Task(each.params, each.run, each.seed) for each in experiments.per_run(params, seed)]


def prepare(params: Params, seed: int, progress: pool.Progress) -> None:
    """Make the public pool if it is needed and not there yet, and report progress."""
    key = _setting(params, params.c, 0, seed).key
    if not all(pool.has_distances(key, params.n, run) for run in range(params.runs)):
        pool.make_kept(key, progress)


def lines(params: Params) -> tuple[int, ...]:
    """Return the values of c that have a line: the own one and another of :data:`LINES`."""
    others = [c for c in LINES if c != params.c and c <= params.pool_size]
    far = max(others, key=lambda c: abs(math.log(c / params.c)), default=params.c)
    return tuple(sorted({params.c, far}))


Rows = list[tuple[float, ...]]


def work(task: Task | Onward[Task]) -> Link:
    """Compute errors of one data set at the next budgets.

    The last link has all rows, so that an average always has all budgets.
    """
    here = Onward.of(task, ([], []))
    whole, (main, simulated) = here.task, here.state
    params, is_last = whole.params, here.done + 1 == whole.links
    for c in lines(params):
        setting = _setting(params, c, whole.run, whole.seed)
        usual = USUAL[here.done :: whole.links]
        errors = dict(zip(usual, error_curve.kept(setting, usual).tolist(), strict=True))
        if is_last and params.epsilon_total not in USUAL:
            # Apart, so that those kept on disk serve for every own budget.
            errors[params.epsilon_total] = error_curve.mse(setting, params.epsilon_total)
        main = main + [(c, budget, whole.run, mse) for budget, mse in errors.items()]
        simulated = simulated + _checks(setting, errors, whole)
    rows: dict[str, Rows] = {"main": [], "releases": [], "simulated": []}
    if is_last:
        rows = {"main": main, "releases": _releases(whole), "simulated": simulated}
    tables = {
        name: pd.DataFrame(sorted(each), columns=list(COLUMNS[name])) for name, each in rows.items()
    }
    return here.link(tables, (main, simulated))


def _setting(params: Params, c: int, run: int, seed: int) -> error_curve.Setting:
    key = pool.key_for(uniform_mixture.SCENARIO, params.n, params.pool_size, seed)
    rest = params.epsilon_abc, c, params.resample, params.sensitivity
    return error_curve.Setting(key, params.n, run, *rest)


def _simulated(
    setting: error_curve.Setting, epsilon_total: float, noises: int, seed: int
) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Yield each noise's number and the draws kept; noise at all budgets is the same, scaled."""
    event, rho = error_curve.event(setting, epsilon_total), setting.rho
    for noise in range(noises):
        rng = generator(seed, "noise", setting.run, noise)
        yield noise, sparse_vector.run(rho, setting.epsilon_abc, event, rng)[0].indices


def _checks(setting: error_curve.Setting, errors: Mapping[float, float], task: Task) -> Rows:
    """Simulate releases of one data set at each budget, beside the error that was computed."""
    return [
        (setting.c, budget, setting.run, noise, _error(kept, setting), mse)
        for budget, mse in errors.items()
        if math.isfinite(budget)
        for noise, kept in _simulated(setting, budget, task.params.noises, task.seed)
    ]


def _releases(task: Task) -> Rows:
    """Return errors of releases with noise drawn anew, and of the one without."""
    setting = _setting(task.params, task.params.c, task.run, task.seed)
    close = setting.rho <= setting.epsilon_abc
    plain = _error(np.flatnonzero(close)[: setting.c], setting)
    return [
        (task.run, noise, _error(kept, setting), plain, len(kept), int((~close[kept]).sum()))
        for noise, kept in _simulated(setting, task.params.epsilon_total, NOISES, task.seed)
    ]


def _error(kept: NDArray[np.int64], setting: error_curve.Setting) -> float:
    """Return the mean squared error of the mean of some draws, of the prior mean if none."""
    mean = setting.theta[kept].mean(axis=0) if len(kept) else uniform_mixture.PRIOR_MEAN
    return summaries.errors(mean, uniform_mixture.TRUTH)[0]


PRIOR_ERROR = math.sqrt(summaries.errors(uniform_mixture.PRIOR_MEAN, uniform_mixture.TRUTH)[0])
"""The error without any data."""

# --------------------------------------------------------------------------------------- in words

NOT_YET = "No data set is finished yet"
"""Where a task has many parts, none of them ends one at first."""


def collect(params: Params, rows: Tables) -> Result:
    """Return the result so far."""
    main, summary = rows["main"], averaged_in_words(rows["main"])
    if not main.empty:
        here, plain = own_errors(params, main)
        summary = (
            f"At ε_total = {params.epsilon_total:g} the root mean squared error is {amount(here)}; "
            f"without noise it is {amount(plain)}, and the prior mean's is {amount(PRIOR_ERROR)}. "
            f"{summary}"
        )
    tables = {**rows, "gaps": error_gaps.of(rows["simulated"])}
    privacy = "Error averaged over data sets and noise: nothing is released."
    return Result(EXPERIMENT, params, tables, summary, privacy)


def averaged_in_words(main: pd.DataFrame) -> str:
    """Return what the curve is the average of."""
    if main.empty:
        return f"{NOT_YET}."
    return f"Average over noise and {counted(main.run.nunique(), 'data set')}."


def own_errors(params: Params, main: pd.DataFrame) -> tuple[float, float]:
    """Return the root mean squared error at the own budget and without noise."""
    errors = main[main.c == params.c].groupby("epsilon_total").mse.mean() ** 0.5
    return errors[params.epsilon_total], errors[math.inf]


def typical_in_words(result: Result) -> str:
    """Return what single releases do, in Markdown; nothing before there are any."""
    table = result.tables["releases"]
    if table.empty:
        return ""
    runs = f"**Over {counted(len(table), 'run')}:**"
    kept = table.accepted.quantile(0.5, "lower")
    if kept == 0:
        return f"{runs} typically nothing is kept."
    false, low, high = table.false.quantile([0.5, 0.1, 0.9], "lower")
    ratio = (table.private_mse / table.non_private_mse) ** 0.5
    return (
        f"{runs} typically noise picks {false:,.0f} of the {kept:,.0f} draws kept (80 % of runs: "
        f"{low:,.0f} to {high:,.0f}), and the error is {amount(ratio.median(), 2)} times the error "
        f"without noise ({from_to(ratio.quantile([0.1, 0.9]), 2)})."
    )


def marks_in_words(result: Result, error: float, earlier: Sequence[float] = ()) -> str:
    """Return what the marks of :func:`mark` are; beyond the axis, what they would show."""
    params, main = cast(Params, result.params), result.tables["main"]
    if not _is_on_axis(params.epsilon_total):
        average = "" if main.empty else f"average error {amount(own_errors(params, main)[0])}, "
        return f"Your budget is beyond the axis: {average}this run {amount(error)}."
    setting = "" if main.empty else "Filled: your setting. "
    others = " Small: earlier noise." if earlier else ""
    high = " Triangle: above the axis." if max(error, *earlier, 0.0) > TOP else ""
    return f"{setting}Hollow: this run.{others}{high}"


def people(params: Params, epsilon_total: float) -> float:
    """Return how many people, a real number, have another budget's noise at the own budget.

    The noise is proportional to Δ/ε_total (MATH S2), and Δ to 1/N, sharp or published (MATH M2).
    """
    return params.n * epsilon_total / params.epsilon_total


def people_in_words(params: Params) -> str:
    """Return what the axis of people says; nothing where there is none."""
    if not _people_axis(params):
        return ""
    return (
        f"The axis above: how many people would have the noise of the budget below at your "
        f"ε_total = {params.epsilon_total:g}. The extra information from more people is not "
        f"included."
    )


# --------------------------------------------------------------------------------------- figures

TOP = 1.2 * PRIOR_ERROR
"""Where the axis of errors ends."""

ENDS = (min(BUDGETS) / 1.15, max(BUDGETS) * 1.25)
"""Of the axis of budgets."""


def _is_on_axis(epsilon_total: float) -> bool:
    return bool(ENDS[0] <= epsilon_total <= ENDS[1])


def figures(result: Result) -> dict[str, fig.Drawn]:
    """Draw the error against the budget, with the setting on it."""
    params, main, gaps = cast(Params, result.params), result.tables["main"], result.tables["gaps"]
    title, given = NOT_YET, settings_line(params, ("c", "epsilon_abc", "n"))
    if not main.empty:
        title = noise_cost(*own_errors(params, main), PRIOR_ERROR).capitalize()
    x = "privacy budget ε_total (more private ←)"
    figure = fig.figure(title, x, "root mean squared error", settings=given)
    labels = {"tickvals": BUDGETS, "ticktext": [f"{budget:g}" for budget in BUDGETS]}
    figure.update_xaxes(type="log", range=np.log10(ENDS).tolist(), showgrid=False, **labels)
    figure.update_yaxes(range=[0.0, TOP], tickvals=[0.0, 0.05, 0.1, 0.15])
    shade = fig.translucent(fig.PRIOR.color, 0.18)
    figure.add_hrect(PRIOR_ERROR, TOP, fillcolor=shade, line_width=0)
    fig.note(figure, ENDS[0], TOP, " no better than the prior", fig.PRIOR.color, "top left")
    if not main.empty:
        _add_curves(figure, params, main, gaps)
        if axis := _people_axis(params):
            # An axis without a series is not drawn.
            nothing = {"x": np.array([np.nan]), "y": np.array([np.nan]), "xaxis": "x2"}
            figure.add_trace(go.Scatter(nothing, name="people", hoverinfo="skip"))
            figure.update_layout(xaxis2=axis)
    check = "" if gaps.empty else f" Crosses: {error_gaps.in_words(gaps)}"
    return {"error": fig.Drawn(figure.update_layout(showlegend=False), f"{result.summary}{check}")}


def _add_curves(figure: go.Figure, params: Params, main: pd.DataFrame, gaps: pd.DataFrame) -> None:
    """Draw a line for each c with what checks it, the error without noise, and the setting."""
    here, plain = own_errors(params, main)
    without = fig.NON_PRIVATE.called("without noise")
    figure.add_trace(fig.line(np.array(ENDS), np.full(2, plain), without))
    named, shown = [], main[main.epsilon_total.between(*ENDS)]
    x = np.unique(shown.epsilon_total)
    styles = fig.styles([f"keep {c:,}" for c in lines(params)])
    for c, style in zip(lines(params), styles, strict=True):
        curve = summaries.root_over_runs(shown[shown.c == c], "mse", "epsilon_total")
        y, low, high = curve[["error", "low", "high"]].to_numpy().T
        if np.isfinite(low).all():
            figure.add_trace(fig.band(x, low, high, style))
        dots = {"symbol": "circle", "size": 5}
        figure.add_trace(fig.line(x, y, style).update(mode="lines+markers", marker=dots))
        figure.add_trace(_crosses(gaps[gaps.c == c], style))
        named.append((y, style))
    if len(named) > 1:
        fig.note(figure, ENDS[1], plain, f"{without.name} ", without.color, "top right")
    fig.named_apart(figure, x, *[*named, (np.full(len(x), plain), without)][:2])
    if _is_on_axis(params.epsilon_total):
        own = fig.points(np.array([params.epsilon_total]), np.array([here]), fig.PRIVATE)
        figure.add_trace(own.update(name="your setting", marker={"size": 14}))


def _crosses(gaps: pd.DataFrame, style: fig.Style) -> go.Scatter:
    """Draw the errors of simulated releases, with 95 % intervals for the noise."""
    shown = gaps[gaps.epsilon_total.between(*ENDS)]
    y, low, high = (np.sqrt(shown[name].to_numpy(float)) for name in ("mse", "low", "high"))
    marks = fig.points(shown.epsilon_total.to_numpy(float), y, style, low, high)
    line = {"width": 2, "color": style.color}
    return marks.update(name="simulated", marker={"symbol": "x-thin", "size": 8, "line": line})


def _people_axis(params: Params) -> dict[str, object]:
    """Return an axis of how many people make up for each budget's noise at the own one.

    It is empty where a single person would do.
    """
    first, last = (people(params, end) for end in ENDS)
    # Close to an end there is no room for a number.
    ticks = cast("list[float]", fig.plain_ticks(1.15 * first, last / 1.15)["tickvals"])
    ticks = [tick for tick in ticks if tick > 0.999]
    if not ticks:
        return {}
    return {
        **{"overlaying": "x", "side": "top", "type": "log", "showgrid": False},
        "range": np.log10([first, last]).tolist(),
        "tickvals": ticks,
        "ticktext": [f"{tick:,.0f}".replace(",000,000", " million") for tick in ticks],
        "title": {"text": f"people for the same noise at ε_total = {params.epsilon_total:g}"},
    }


def mark(
    drawn: fig.Drawn, epsilon_total: float, error: float, earlier: Sequence[float] = ()
) -> fig.Drawn:
    """Draw the error of one run at its budget, hollow, and smaller those of earlier noise."""
    figure = go.Figure(drawn.figure)
    if _is_on_axis(epsilon_total):
        y = np.array([*earlier, error])
        size = np.where(np.arange(len(y)) < len(earlier), 7, 13)
        symbol = np.where(y > TOP, "triangle-up-open", "circle-open").tolist()
        runs = fig.points(np.full(len(y), epsilon_total), y.clip(max=TOP), fig.PRIVATE)
        look = {"size": size, "symbol": symbol, "line": {"width": 2}}
        figure.add_trace(runs.update(name="this run", marker=look, cliponaxis=False))
    others = f" Earlier noise: {from_to(earlier)}." if earlier else ""
    return fig.Drawn(figure, f"{drawn.sentence} This run: {amount(error)}.{others}")
