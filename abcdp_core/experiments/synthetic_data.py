r"""Data sets that nobody's data are in.

The parameters that a private run accepts are released; to simulate data from them costs no further
privacy, however often it is done (post-processing). The papers name such *synthetic data* as the
natural by-product of ABCDP: they may be published and shared. They are draws of the model at what
was accepted, so they show nothing of the real data that the model does not have, and intervals
computed from them as if they were real leave out the noise. Each set here is simulated at one
accepted draw, private or non-private, and stands beside the observed data, which are synthetic or
published themselves, so the comparison can be shown. With one's own data it could not: to look at
it would be a release.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import experiments, pool, releases, simulators
from abcdp_core import figures as fig
from abcdp_core.mechanisms import sparse_vector
from abcdp_core.parameters import Parameter
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.privacy import UNPROTECTED
from abcdp_core.results import Result, Tables
from abcdp_core.sentences import counted
from abcdp_core.streams import generator

Array = NDArray[np.float64]

EXPERIMENT = "synthetic-data"
TITLE = "Synthetic data from a private posterior"
COLUMNS = {
    "main": ("source", "data_set", "sample", "point", "coordinate", "value"),
    "compared": ("source", "coordinate", "mean", "standard_deviation", "data_sets"),
}

SOURCES = ("private", "non-private")
OBSERVED = fig.Style("observed", fig.GREEN, "dashdot", "x")

SETS = Parameter(
    kind="integer",
    label="Data sets",
    help="How many are simulated, each at one of the accepted draws, in their order.",
    low=1,
    high=20,
    steps=(1, 2, 3, 5, 10, 20),
)


@dataclass(frozen=True)
class Params(releases.ReleaseParams):
    """A release's parameters, and how many data sets are simulated from it."""

    data_sets: int = SETS.field(3)


PRESETS: dict[str, BaseParams] = {}

prepare = releases.prepare

tasks = experiments.single_task


def table(scenario: str, data: Array, source: str, samples: NDArray[np.int64]) -> pd.DataFrame:
    """Data sets ``(s, n, p)`` with one row per number; ``samples (s,)`` are their draws."""
    names = simulators.load(scenario).COORDINATES
    sets, n, p = data.shape
    return pd.DataFrame(
        {
            "source": source,
            "data_set": np.repeat(np.arange(sets), n * p),
            "sample": np.repeat(samples, n * p),
            "point": np.tile(np.repeat(np.arange(n), p), sets),
            "coordinate": np.tile(np.array(names), sets * n),
            "value": data.ravel(),
        }
    )


def work(task: experiments.SingleTask[Params]) -> Tables:
    """Release, simulate at what was accepted, and put the observed data beside it."""
    params = task.params
    scenario = simulators.load(params.scenario)
    comparison = releases.comparison_of(params, task.seed)
    rng = generator(task.seed, "noise", 0, params.noise_draw)
    private, _ = releases.release(params, comparison, rng)
    plain, _ = sparse_vector.non_private(comparison.rho, params.epsilon_abc, params.c)
    observed = pool.observed_data(releases.pool_key(params, task.seed), params.n)
    tables = [table(params.scenario, observed[None], "observed", np.array([-1]))]
    for number, (source, release) in enumerate(zip(SOURCES, (private, plain), strict=True)):
        chance = generator(task.seed, "synthetic", params.noise_draw, number)
        theta = comparison.theta[release.indices]
        chosen, data = simulators.simulate_round_robin(
            scenario, theta, params.n, params.data_sets, chance
        )
        tables.append(table(params.scenario, data, source, release.indices[chosen]))
    main = pd.concat(tables, ignore_index=True)
    return {"main": main, "compared": _compared(main)}


def _compared(main: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation of every coordinate, all data sets of a source together."""
    groups = main.groupby(["source", "coordinate"], sort=False)
    found = groups.agg(
        mean=("value", "mean"),
        standard_deviation=("value", lambda values: values.std(ddof=0)),
        data_sets=("data_set", "nunique"),
    )
    return found.reset_index()


def collect(params: Params, rows: Tables) -> Result:
    """The result of the one task."""
    compared = rows["compared"]
    shown = compared[compared.coordinate == simulators.load(params.scenario).COORDINATES[-1]]
    columns = (shown[name] for name in ("source", "mean", "standard_deviation"))
    each = "; ".join(
        f"{source} {_number(mean)} ± {_number(deviation)}"
        for source, mean, deviation in zip(*columns, strict=True)
    )
    return Result(
        experiment=EXPERIMENT,
        params=params,
        tables=rows,
        summary=f"{_simulated(params, set(compared.source))} "
        f"{shown.coordinate.iloc[0].capitalize()}, mean ± standard deviation: {each}.",
        privacy=f"{releases.privacy_of(params)} Simulating from it adds nothing to that. "
        f"{UNPROTECTED}",
        event=releases.event_of(params),
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000.0 else f"{value:.3g}"


def _simulated(params: Params, sources: set[str]) -> str:
    """How many data sets, and from which runs."""
    sets = counted(params.data_sets, "data set")
    runs = [source for source in SOURCES if source in sources]
    if not runs:
        return "Neither run accepted a draw, so there is no synthetic data set."
    if len(runs) == len(SOURCES):
        return f"{sets} of N = {params.n:,} from each run."
    (missing,) = set(SOURCES) - sources
    return f"{sets} of N = {params.n:,} from the {runs[0]} run; the {missing} one accepted no draw."


# --------------------------------------------------------------------------------------- figures

BINS = 40


def figures(result: Result) -> dict[str, fig.Drawn]:
    """Every coordinate's distribution, or the series where the order of points matters."""
    params = cast(Params, result.params)
    main = result.tables["main"]
    series = simulators.load(params.scenario).COORDINATES[0] == "day"
    figure = _series(params, main) if series else _distributions(params, main)
    return {EXPERIMENT: fig.Drawn(figure, result.summary)}


def _title(params: Params) -> str:
    return (
        f"Synthetic data sets beside the observed one (c = {params.c}, N = {params.n:,}, "
        f"ε_total = {params.epsilon_total:g})"
    )


STYLES = (fig.NON_PRIVATE, fig.PRIVATE, OBSERVED)


def _series(params: Params, main: pd.DataFrame) -> go.Figure:
    figure = fig.figure(_title(params), "day", "value")
    for style in STYLES:
        part = main[main.source == style.name]
        for number, one in part.groupby("data_set"):
            days, values = (one.value[one.coordinate == name] for name in ("day", "value"))
            draw = fig.points if style is OBSERVED else fig.line
            trace = draw(days.to_numpy(), values.to_numpy(), style)
            figure.add_trace(trace.update(showlegend=number == 0, legendgroup=style.name))
    return figure


def _distributions(params: Params, main: pd.DataFrame) -> go.Figure:
    """Stepped outlines: one for each data set, a row for each coordinate."""
    names = simulators.load(params.scenario).COORDINATES
    values = {name: main[main.coordinate == name] for name in names}
    ranges = [(float(part.value.min()), float(part.value.max())) for part in values.values()]
    figure = fig.rows(names, _title(params), "value", 150 if len(names) > 1 else 330, shared=False)
    for row, (name, (low, high)) in enumerate(zip(names, ranges, strict=True)):
        edges = np.linspace(low, high if high > low else low + 1.0, BINS + 1)
        for style in STYLES:
            part = values[name][values[name].source == style.name]
            for number, one in part.groupby("data_set"):
                shares = np.histogram(one.value, edges)[0] / len(one)
                trace = fig.outline(edges, shares, style, row).update(line={"width": 1.5})
                figure.add_trace(trace.update(showlegend=row == 0 and number == 0))
    return figure.update_yaxes(rangemode="tozero")
