r"""What can a private fit say about eighteen days of COVID-19 cases?

[P21] Section 6.2 fits a cubic in the day, $y(t) = a_3 + a_2 t + a_1 t^2 + a_0 t^3$ with
$a_i \sim N(0, 1)$, to the cases confirmed in the Netherlands, by ABCDP (MATH S1). Of 50 000 draws
of the prior the first $c$ are kept whose curve is near the observed series, with noise on both
sides of that comparison. The curves of the kept coefficients are simulated data sets; to simulate
them costs no further privacy.

One data point is *one day's national count*, so what is protected is a day, not a person. With
$N = 18$ days one of them moves a distance by up to $\Delta = \sqrt{2}/18$ (MATH M2). That is as
large as the threshold itself, and so is the noise: with $c = 5$ and $\epsilon_{total} = 13$ its
scale is 0.05 (with the paper's $\Delta = 2/18$) against $\epsilon_{abc} = 0.1$. The smaller the
budget and the larger $c$, the more curves are kept only because of noise, and the wider they
spread. Every run has its own noise and goes through the same pool in an order of its own; without
noise too, so that what the first $c$ draws happen to be is in both.

The distance of the paper compares the *set* of counts and ignores which day each belongs to. On
(day, count) pairs a falling curve is no longer like a rising one. The bandwidth has to come from
simulated data (MATH M6). The paper's text does not say where it comes from in this study; its
published script takes it from the private series, a release that nobody accounts for. Two more
differences: the script has $\epsilon_{abc} = 0.05$ where the text has 0.1, and scales its noise by
$2c$ although it keeps the threshold, for which $c + 1$ is enough.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import experiments, pool, sentences, summaries
from abcdp_core import figures as fig
from abcdp_core import parameters as par
from abcdp_core.experiments import Link, Onward
from abcdp_core.mechanisms import sparse_vector
from abcdp_core.parameters import Parameter
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.privacy import statement_of_largest
from abcdp_core.results import Result, Tables
from abcdp_core.simulators import covid
from abcdp_core.streams import generator

Array = NDArray[np.float64]

EXPERIMENT = "covid-fit"
TITLE = "COVID-19 in the Netherlands, fitted privately"
MAY_BE_LONG = True
COLUMNS = {
    "main": ("c", "epsilon_total", "run", "kind", "sample", "day", "value"),
    "spread": (
        "c", "epsilon_total", "run", "accepted", "flipped", "spread", "misfit",
        "prior_spread", "prior_misfit",
    ),
}  # fmt: skip
"""A run that accepted fewer than two curves has no ``spread``. One that accepted none has the
misfit of the prior's mean curve."""

DISTANCE = Parameter(
    kind="choice",
    label="Distance compares",
    help="values: the set of counts, whatever their days, as in the paper. pairs: (day, count).",
    options=covid.DISTANCES,
)
BANDWIDTH = Parameter(
    kind="real",
    label="Bandwidth of the kernel, in cases",
    help="A number; median: the median heuristic on simulated data; script: as the published "
    "script has it, from the private data, which is not private.",
    low=10.0,
    high=100_000.0,
    special=("median", "script"),
    unit="cases",
)


@dataclass(frozen=True)
class Params(BaseParams):
    """The knobs; every c and budget is run with the same noise, scaled."""

    epsilon_total: tuple[float, ...] = par.EPSILON_TOTAL_OR_INF.field(
        (13.0, 22.0, 44.0, math.inf), many=True
    )
    epsilon_abc: float = covid.EPSILON_ABC.field(covid.EPSILON_ABC_DEFAULT)
    c: tuple[int, ...] = par.C.field(covid.C_DEFAULT, many=True)
    pool_size: int = covid.POOL_SIZE.field(covid.POOL_SIZE_DEFAULT)
    resample: bool = par.RESAMPLE.field(False)
    sensitivity: str = par.SENSITIVITY.field("sharp")
    distance: str = DISTANCE.field(covid.DISTANCES[0])
    bandwidth: float | str = BANDWIDTH.field(covid.BANDWIDTH)
    runs: int = par.RUNS.field(60)
    noise_draw: int = par.NOISE_DRAW.field(0)

    def check_together(self) -> None:
        """Refuse more acceptances than draws, or too large a result."""
        par.check_accepted(max(self.c), self.pool_size)
        curves = sum(c + 1 for c in self.c) * len(self.epsilon_total)
        par.check_rows(self.runs, curves * covid.N_DEFAULT)

    def event(self, c: int, epsilon_total: float) -> sparse_vector.SparseVector:
        """What a fit with one c and a finite budget does with the data."""
        sensitivity = covid.distance().sensitivity(covid.N_DEFAULT, self.sensitivity)
        return sparse_vector.calibrate(epsilon_total, sensitivity, c, resample=self.resample)

    def settings(self) -> list[tuple[int, float]]:
        """Every c with every budget."""
        return list(itertools.product(self.c, self.epsilon_total))


PRESETS: dict[str, BaseParams] = {
    "p21-figure-4": Params(sensitivity="published", bandwidth="median"),
}

PART = 100
"""Runs in a part of the task, which take about a second."""


@dataclass(frozen=True)
class Task(experiments.SingleTask[Params]):
    """All of it."""

    @property
    def links(self) -> int:
        """Parts it is done in."""
        return -(-self.params.runs // PART)


def tasks(params: Params, seed: int) -> list[Task]:
    """A single task."""
    return [Task(params, seed)]


def pool_key(params: Params, seed: int) -> pool.PoolKey:
    """The public pool; with the script's bandwidth its comparison is not private."""
    bandwidth = params.bandwidth
    if bandwidth == "script":
        bandwidth = covid.script_bandwidth()
    return pool.key_for(
        covid.SCENARIO,
        covid.N_DEFAULT,
        params.pool_size,
        seed,
        bandwidth=bandwidth,
        distance=params.distance,
    )


def prepare(params: Params, seed: int, progress: pool.Progress) -> None:
    """Make the public pool if it is not there yet, and say how far that is."""
    pool.make_ready(pool_key(params, seed), progress)


def work(task: Task | Onward[Task]) -> Link:
    """Fit at every setting, again and again with other noise and another order of the pool."""
    here = Onward.of(task)
    params, seed = here.task.params, here.task.seed
    comparison = pool.observed_comparison(pool_key(params, seed), covid.N_DEFAULT)
    curves = covid.curves(comparison.theta, covid.days(covid.N_DEFAULT))
    runs = range(here.done * PART, min((here.done + 1) * PART, params.runs))
    orders = {run: pool.order(seed, run, params.pool_size) for run in runs}
    prior = _spread(curves), _misfit(curves)
    main, spreads = [], []
    for c, epsilon_total in params.settings():
        event = None if math.isinf(epsilon_total) else params.event(c, epsilon_total)
        observed = _curves(0, "observed", covid.CASES[None], c, epsilon_total)
        main.append(observed if here.done == 0 else observed.head(0))
        for run, order in orders.items():
            rng = generator(seed, "noise", run, params.noise_draw)
            rho = comparison.rho[order]
            release, trace = (
                sparse_vector.run(rho, params.epsilon_abc, event, rng)
                if event
                else sparse_vector.non_private(rho, params.epsilon_abc, c)
            )
            kept = curves[order[release.indices]]
            misfit = prior[1]
            if len(kept):
                main.append(_curves(run, "sample", kept, c, epsilon_total))
                main.append(_curves(run, "mean", kept.mean(axis=0)[None], c, epsilon_total))
                misfit = _misfit(kept)
            flipped = int(np.sum(trace.accepted & ~trace.non_private))
            found = (len(kept), flipped, _spread(kept), misfit)
            spreads.append((c, epsilon_total, run, *found, *prior))
    tables = {
        "main": pd.concat(main, ignore_index=True),
        "spread": pd.DataFrame(spreads, columns=list(COLUMNS["spread"])),
    }
    return here.link(tables)


def _curves(run: int, kind: str, values: Array, c: int, epsilon_total: float) -> pd.DataFrame:
    """Rows of curves ``(k, 18)``."""
    columns = {
        "c": c,
        "epsilon_total": epsilon_total,
        "run": run,
        "kind": kind,
        "sample": np.repeat(np.arange(len(values)), values.shape[1]),
        "day": np.tile(np.arange(values.shape[1]), len(values)),
        "value": values.ravel(),
    }
    return pd.DataFrame(columns)


def _spread(curves: Array) -> float:
    """Standard deviation of curves ``(k, 18)``, mean over days, in cases; NaN for fewer than two.

    With the divisor k − 1, so that it does not grow with k by itself.
    """
    return float(curves.std(axis=0, ddof=1).mean()) if len(curves) > 1 else math.nan


def _misfit(curves: Array) -> float:
    """Distance of the mean of curves ``(k, 18)`` to the data: root of the mean square, in cases."""
    return math.sqrt(np.mean((curves.mean(axis=0) - covid.CASES) ** 2))


def collect(params: Params, rows: Tables) -> Result:
    """The result of the one task."""
    return Result(EXPERIMENT, params, rows, _summary(params, rows), privacy_of(params))


def privacy_of(params: Params) -> str:
    """What one fit with the largest budget guarantees, or why it guarantees nothing."""
    if params.bandwidth == "script":
        return (
            "Not private: the bandwidth is the published script's, computed from the private "
            "series itself. Nobody accounts for that release, so ε_total is not what was spent."
        )
    return statement_of_largest(
        params.epsilon_total,
        lambda budget: params.event(params.c[0], budget),
        covid.PROTECTED,
    )


def _summary(params: Params, rows: Tables) -> str:
    table = rows["spread"]
    # A few settings are enough for a sentence: of many c the ends.
    shown = sorted({min(params.c), max(params.c)}) if len(params.c) > 2 else params.c
    each = "; ".join(
        f"{_words(params, c, budget)}: {_found(table, c, budget)}"
        for c, budget in params.settings()
        if c in shown
    )
    single = int((table.accepted == 1).sum())
    alone = sentences.counted(
        single, "run accepted a single curve", "runs accepted a single curve each"
    )
    runs = table.run.nunique()
    over = f"mean over {runs} runs" if runs > 1 else "in one run"
    return (
        f"Spread of the accepted curves in cases, {over}, and how many were kept only because of "
        f"noise. {each}. Curves of the prior spread by {table.prior_spread.iloc[0]:.0f}."
        + (f" {alone}, which has no spread." if single else "")
        + summaries.empty_note(table.accepted)
    )


def _found(table: pd.DataFrame, c: int, epsilon_total: float) -> str:
    part = at(table, c, epsilon_total)
    accepted = int(part.accepted.sum())
    if accepted == 0:
        return "nothing accepted"
    spread = "no spread" if part.spread.isna().all() else f"{part.spread.mean():.0f}"
    return f"{spread}, {100.0 * part.flipped.sum() / accepted:.0f} % kept by noise"


def at(table: pd.DataFrame, c: int, epsilon_total: float) -> pd.DataFrame:
    """Rows of one setting."""
    return table[(table.c == c) & (table.epsilon_total == epsilon_total)]


def _words(params: Params, c: int, epsilon_total: float) -> str:
    budget = "non-private" if math.isinf(epsilon_total) else f"ε_total = {epsilon_total:g}"
    return f"{budget}, c = {c}" if len(params.c) > 1 else budget


# ------------------------------------------------------------------------------------- figures

CASES_SHOWN = (0.0, 4000.0)
"""Range of the axis: fixed, so that budgets can be compared; wild curves leave it."""

SIDE_BY_SIDE = 4
"""Panels that fit into one row; of more settings the first one and the one without noise."""


def figures(result: Result) -> dict[str, fig.Drawn]:
    """Curves of one noise draw, with noise beside without, and how far they spread over all."""
    params = cast(Params, result.params)
    return {
        "curves": fig.Drawn(_curve_figure(params, result), _first_curves_sentence(params, result)),
        "spread": fig.Drawn(_spread_figure(params, result), _spread_sentence(result)),
    }


def _first_curves_sentence(params: Params, result: Result) -> str:
    """How many curves one noise draw accepts, and what holds over all."""
    first = result.tables["spread"][result.tables["spread"].run == 0]
    each = [
        f"{_words(params, *setting)}: {int(at(first, *setting).accepted.iloc[0])}"
        for setting in params.settings()
    ]
    return f"Curves accepted with one noise draw: {'; '.join(each)}. {result.summary}"


def _spread_sentence(result: Result) -> str:
    """Mean spread of accepted curves at each budget."""
    table = spread_statistics(result)
    several = len(table.c.unique()) > 1
    parts = []
    for c, budget, mean, low, high, _ in table.to_numpy():
        what = "non-private" if math.isinf(budget) else f"ε_total = {budget:g}"
        what += f", c = {c:g}" if several else ""
        found = "fewer than two accepted" if math.isnan(mean) else f"{mean:.0f}"
        interval = f" ({low:.0f} to {high:.0f})" if math.isfinite(low) else ""
        parts.append(f"{what}: {found}{interval}")
    each = "; ".join(parts)
    return f"Mean spread of the accepted curves in cases{_in_brackets(table.low)}. {each}."


def _in_brackets(low: pd.Series[float]) -> str:
    """What stands in brackets behind a mean; nothing does where there is one run only."""
    return " (95 % interval over runs)" if np.isfinite(low.to_numpy(float)).any() else ""


def shown_settings(params: Params) -> list[tuple[int, float]]:
    """The settings whose curves are drawn."""
    every = params.settings()
    if len(every) <= SIDE_BY_SIDE:
        return every
    same = [setting for setting in every if setting[0] == every[0][0]]
    plain = [setting for setting in same if math.isinf(setting[1])]
    return list(dict.fromkeys([every[0], (plain or same)[-1]]))


def finding(params: Params, spread: pd.DataFrame) -> str:
    """How many curves of one noise draw are there because of noise, at the first budget drawn."""
    finite = [setting for setting in shown_settings(params) if math.isfinite(setting[1])]
    if not finite:
        return "Curves that ABC keeps without noise"
    first = at(spread[spread.run == 0], *finite[0])
    kept, false = int(first.accepted.iloc[0]), int(first.flipped.iloc[0])
    budget = f"at ε_total = {finite[0][1]:g}"
    if kept == 0:
        return f"No curve was kept {budget}"
    if kept == 1:
        why = "only because of" if false else "in spite of"
        return f"The one curve was kept {why} noise {budget}"
    how_many = f"{false} of {kept}" if false else f"None of {kept}"
    return f"{how_many} curves were kept only because of noise {budget}"


def _curve_figure(params: Params, result: Result) -> go.Figure:
    main, spread = result.tables["main"], result.tables["spread"]
    settings = shown_settings(params)
    styles = [fig.NON_PRIVATE if math.isinf(budget) else fig.PRIVATE for _, budget in settings]
    figure = fig.panels(
        [
            f'<b><span style="color:{style.color}">{_words(params, *setting)}</span></b>'
            for style, setting in zip(styles, settings, strict=True)
        ],
        finding(params, spread),
        "day",
        "confirmed cases",
    )
    figure.layout.title.subtitle.text = (
        f"c = {_listed(params.c)}, ε_abc = {params.epsilon_abc:g}, N = 18 days, one noise draw"
    )
    first = main[main.run == 0]
    observed = dataclasses.replace(fig.TRUTH, name="observed", marker="circle")
    for index, (style, setting) in enumerate(zip(styles, settings, strict=True)):
        part = at(first, *setting)
        curves = part[part.kind == "sample"]
        if len(curves):
            thin = {"width": 1.5, "dash": "solid"}
            figure.add_trace(_together(curves, style, index).update(line=thin))
        mean = part[part.kind == "mean"]
        if len(mean):
            named = dataclasses.replace(style, name="their mean", dash="dash")
            figure.add_trace(_together(mean, named, index).update(line={"width": 4}))
        data = part[part.kind == "observed"]
        marks = fig.points(data.day.to_numpy(float), data.value.to_numpy(float), observed)
        figure.add_trace(marks.update(**fig.panel(index)))
        _note(figure, index, curves, style)
    days = [0, 5, 10, covid.N_DEFAULT - 1]
    figure.update_xaxes(range=[-0.5, covid.N_DEFAULT - 0.5], tickvals=days)
    figure.update_layout(showlegend=False)
    return figure.update_yaxes(range=list(CASES_SHOWN), tickformat=",")


def _note(figure: go.Figure, index: int, curves: pd.DataFrame, style: fig.Style) -> None:
    """How many curves a panel has, and how many of them leave it; what its black marks are."""
    ends = curves[curves.day == curves.day.max()].value
    low, high = CASES_SHOWN
    below, above = int((ends < low).sum()), int((ends > high).sum())
    lines = [
        sentences.counted(len(ends), "curve kept", "curves kept"),
        *([f"{below} ended below 0"] if below else []),
        *([f"{above} ended above {high:,.0f}"] if above else []),
        "thick: their mean" if len(ends) > 1 else "",
    ]
    place = fig.panel(index)
    where = {"xref": place["xaxis"], "yref": place["yaxis"], "showarrow": False}
    figure.add_annotation(
        text="<br>".join(line for line in lines if line),
        **{"x": 0.0, "y": high, "xanchor": "left", "yanchor": "top", "align": "left"},
        font={"color": style.color},
        **where,
    )
    figure.add_annotation(
        text="● observed",
        **{"x": covid.N_DEFAULT - 1, "y": 0.0, "xanchor": "right", "yanchor": "bottom"},
        font={"color": fig.TRUTH.color},
        **where,
    )


def _listed(values: tuple[int, ...]) -> str:
    return ", ".join(map(str, values))


def _together(curves: pd.DataFrame, style: fig.Style, index: int) -> go.Scatter:
    """All curves of a kind in one trace, with gaps between them."""
    days: list[Any] = []
    values: list[Any] = []
    for _, one in curves.groupby("sample"):
        days += [one.day.to_numpy(float), [np.nan]]
        values += [one.value.to_numpy(), [np.nan]]
    x, y = np.concatenate(days), np.concatenate(values)
    return fig.line(x, y, style).update(**fig.panel(index))


def spread_statistics(result: Result) -> pd.DataFrame:
    """Mean spread over the runs that accepted two curves or more, at every setting."""
    return summaries.over_runs(result.tables["spread"], "spread", ("c", "epsilon_total"))


def spread_finding(params: Params, result: Result) -> str:
    """How much wider the curves spread at the first budget than without noise."""
    statistics = spread_statistics(result)
    first = statistics[statistics.c == params.c[0]]
    known = dict(zip(first.epsilon_total.tolist(), first["mean"].tolist(), strict=True))
    finite = [budget for budget in params.epsilon_total if math.isfinite(budget)]
    here = known[finite[0]] if finite else math.nan
    if math.isnan(here):
        if not finite:
            return "How far curves spread without noise"
        return f"No run kept two curves at ε_total = {finite[0]:g}"
    if math.inf in known and known[math.inf] > 0.0:
        other, what = known[math.inf], "without noise"
    else:
        other, what = float(result.tables["spread"].prior_spread.iloc[0]), "the prior"
    ratio = sentences.plain(here / other, 2)
    how = "as wide" if ratio == "1" else f"{ratio} times as wide"
    return f"At ε_total = {finite[0]:g} the curves spread {how} as {what}"


def _spread_figure(params: Params, result: Result) -> go.Figure:
    table = result.tables["spread"]
    figure = fig.figure(
        spread_finding(params, result),
        "privacy budget ε_total",
        "spread of the curves, in cases",
        height=400,
        settings=f"c = {_listed(params.c)}, ε_abc = {params.epsilon_abc:g}, "
        f"{sentences.counted(table.run.nunique(), 'run')}; large: mean, 95 % interval",
    )
    # Side by side, however far apart: their labels have room on a telephone.
    places = {budget: float(place) for place, budget in enumerate(sorted(params.epsilon_total))}
    ends = np.array([-0.5, len(places) - 0.5])
    figure.update_xaxes(
        range=list(ends),
        tickvals=list(places.values()),
        ticktext=["no<br>noise" if math.isinf(value) else f"{value:g}" for value in places],
    )
    figure.update_yaxes(fig.plain_ticks(*SPREADS))
    of_role = {False: fig.PRIVATE, True: fig.NON_PRIVATE}
    for plain, style in of_role.items():
        part = table[np.isinf(table.epsilon_total) == plain]
        x = np.array([places[value] for value in part.epsilon_total])
        each = fig.points(x, part.spread.to_numpy(), style)
        figure.add_trace(each.update(name="each run", marker={"opacity": 0.3, "size": 6}))
    known = spread_statistics(result)
    several = len(params.c) > 1
    for name, c in zip(fig.styles([f"c = {c}" for c in params.c]), params.c, strict=True):
        for plain, role in of_role.items():
            part = known[(known.c == c) & (np.isinf(known.epsilon_total) == plain)]
            place = np.array([places[value] for value in part.epsilon_total])
            mean, low, high = (part[end].to_numpy() for end in ("mean", "low", "high"))
            style = dataclasses.replace(role, name=name.name, marker=name.marker)
            marks = fig.points(place, mean, style, low, high).update(
                showlegend=several and not plain, marker={"size": 12}
            )
            figure.add_trace(fig.hollow(marks, part.empty_share.to_numpy()))
    prior = float(table.prior_spread.iloc[0])
    figure.add_trace(fig.line(ends, np.full(2, prior), fig.PRIOR).update(showlegend=False))
    fig.note(figure, ends[0], math.log10(prior), " prior", fig.PRIOR.color, "bottom left")
    figure.update_traces(showlegend=False, selector={"name": "each run"})
    return figure.update_layout(showlegend=several)


SPREADS = (10.0, 10_000.0)
"""Ends of the axis of spreads, in cases."""
