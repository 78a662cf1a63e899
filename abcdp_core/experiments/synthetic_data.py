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

import dataclasses
import math
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
from abcdp_core.sentences import amount, counted
from abcdp_core.streams import generator

Array = NDArray[np.float64]

EXPERIMENT = "synthetic-data"
TITLE = "Synthetic data from a private posterior"
COLUMNS = {
    "main": ("source", "data_set", "sample", "point", "coordinate", "value"),
    "compared": ("source", "coordinate", "mean", "standard_deviation", "data_sets"),
}

SOURCES = ("private", "non-private")
OBSERVED = dataclasses.replace(fig.TRUTH, name="observed", marker="circle")

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
        f"{source} {amount(mean)} ± {amount(deviation)}"
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

BINS = 25
"""Bars of a histogram, which are not drawn: only their outline is."""

SHOWN = 0.99
"""Part of all values that an axis without ends of its own shows."""

NEARLY = 1.1
"""Times as far up to which two distances are about the same."""


def figures(result: Result) -> dict[str, fig.Drawn]:
    """Every coordinate's distribution, or the series where the order of points matters."""
    params, main = cast(Params, result.params), result.tables["main"]
    panels = _panels(params, main)
    names, title = list(panels), finding(panels, params.data_sets)
    series = _is_series(params)
    first = names[0]
    x = simulators.load(params.scenario).COORDINATES[0] if series else "value"
    figure = fig.rows(names, title, x, 150 if len(names) > 1 else 300, shared=False)
    figure.layout.title.subtitle.text = (
        f"ε_total = {params.epsilon_total:g}, ε_abc = {params.epsilon_abc:g}, c = {params.c:,}, "
        f"N = {params.n:,}"
    )
    for index, each in enumerate(panels.values()):
        figure.add_traces([trace.update(fig.panel(index)) for trace in _lines(each)])
    if series:
        figure.update_xaxes(title={"text": x}).update_yaxes(title={"text": first})
    else:
        figure.update_yaxes(rangemode="tozero")
    words = [
        (f"{style.name} data sets", style.color)
        for style in _STYLES
        if style.name in main.source.unique()
    ]
    fig.key(figure, [*words, (OBSERVED.name, OBSERVED.color)])
    figure.update_layout(showlegend=False)
    return {EXPERIMENT: fig.Drawn(figure, result.summary)}


_STYLES = (fig.NON_PRIVATE, fig.PRIVATE)


@dataclass(frozen=True)
class _Panel:
    """What is drawn of one coordinate.

    Attributes:
        x: ends of bars ``(k + 1,)``, or the places of a series ``(k,)``.
        sets: source -> shares of the points or values of the series, ``(data sets, k)``.
    """

    x: Array
    sets: dict[str, Array]

    def distance(self, source: str) -> float:
        """How far the data sets are from the observed one on average.

        Of histograms half of the sum of differences, the share of points that is elsewhere; of
        series the root mean squared difference.
        """
        gaps = self.sets[source] - self.sets[OBSERVED.name]
        if self.is_series:
            return float(np.sqrt((gaps**2).mean(axis=1)).mean())
        return float(np.abs(gaps).sum(axis=1).mean() / 2.0)

    @property
    def is_series(self) -> bool:
        """Whether the points have places of their own."""
        return len(self.x) == self.sets[OBSERVED.name].shape[1]


def _is_series(params: Params) -> bool:
    source = simulators.load(params.scenario)
    # Records of a model of one's own may each have a day of their own, and more than one number.
    return source.COORDINATES[0] == "day" and not hasattr(source, "MODEL")


def _panels(params: Params, main: pd.DataFrame) -> dict[str, _Panel]:
    """What is drawn, by the coordinate."""
    names = simulators.load(params.scenario).COORDINATES
    values = {name: _of_coordinate(main, name, params.n) for name in names}
    if _is_series(params):
        place = values[names[0]][OBSERVED.name][0]
        return {names[-1]: _Panel(place, values[names[-1]])}
    return {name: _histograms(params, sets) for name, sets in values.items()}


def _of_coordinate(main: pd.DataFrame, name: str, n: int) -> dict[str, Array]:
    """Source -> values ``(data sets, n)`` in the order of the points."""
    part = main[main.coordinate == name]
    return {
        str(source): each.value.to_numpy(float).reshape(-1, n)
        for source, each in part.groupby("source", sort=False)
    }


def _histograms(params: Params, sets: dict[str, Array]) -> _Panel:
    """Shares of the points between the same ends; points beyond count in the outermost bar."""
    every = np.concatenate([each.ravel() for each in sets.values()])
    low, high = simulators.load(params.scenario).DOMAIN
    if not math.isfinite(high):
        low, high = float(every.min()), float(np.quantile(every, SHOWN))
    step = (high - low) / BINS or 1.0
    if (every == np.round(every)).all():
        # Whole numbers stand in the middle of their bar.
        step = float(math.ceil(step))
        low -= 0.5
    count = max(1, math.ceil((high - low) / step - 1e-9))
    edges = np.asarray(low + step * np.arange(count + 1), dtype=np.float64)
    shares = {
        source: np.stack([_shares(one, edges) for one in each]) for source, each in sets.items()
    }
    return _Panel(edges, shares)


def _shares(values: Array, edges: Array) -> Array:
    """Share of the values in each bar."""
    return np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0] / len(values)


def _lines(panel: _Panel) -> list[go.Scatter]:
    """Each source's data sets as thin lines, their mean as a thick one; the observed data."""
    drawn = []
    for style in _STYLES:
        if (sets := panel.sets.get(style.name)) is None:
            continue
        x, y = (
            np.stack(part) for part in zip(*(_outline(panel, each) for each in sets), strict=True)
        )
        # A gap after each, so that one trace has them all.
        x, y = (np.pad(part, ((0, 0), (0, 1)), constant_values=np.nan) for part in (x, y))
        thin = fig.line(x.ravel(), y.ravel(), style)
        drawn.append(thin.update(line={"width": 1, "dash": "solid"}, opacity=0.6))
        mean = fig.line(*_outline(panel, sets.mean(axis=0)), style)
        drawn.append(mean.update(name=f"{style.name}, mean", line={"width": 3}))
    observed = panel.sets[OBSERVED.name][0]
    draw = fig.points if panel.is_series else fig.line
    return [*drawn, draw(*_outline(panel, observed), OBSERVED)]


def _outline(panel: _Panel, heights: Array) -> tuple[Array, Array]:
    """A series as it is, a histogram in steps."""
    if panel.is_series:
        return panel.x, heights
    return np.repeat(panel.x, 2)[1:-1], np.repeat(heights, 2)


def finding(panels: dict[str, _Panel], data_sets: int) -> str:
    """How far private data sets are from the observed one beside others, as they are drawn."""
    found = next(iter(panels.values())).sets
    runs = [source for source in SOURCES if source in found]
    if not runs:
        return "Neither run accepted a draw, so nothing is simulated"
    if len(runs) < len(SOURCES):
        return f"Only the {runs[0]} run accepted a draw"
    private, plain = (
        float(np.mean([panel.distance(source) for panel in panels.values()])) for source in SOURCES
    )
    what = "The private data set is" if data_sets == 1 else "Private data sets are"
    other = "the one" if data_sets == 1 else "those"
    if plain == 0.0 or private / plain > MANY:
        return f"{what} farther from the observed one than {other} without noise"
    times = private / plain
    if times >= LARGE:
        return f"{what} {times:.1f} times as far from the observed one as {other} without noise"
    if times > NEARLY:
        said = f"{times:.1f} times as far from the observed one as"
    elif times < 1.0 / NEARLY:
        said = "nearer to the observed one than"
    else:
        said = "about as far from the observed one as"
    # Why it is no more: they would differ without any noise.
    return f"{what} {said} {other} without noise: each shows one kept draw"


LARGE = 1.5
"""Times as far from which on the noise makes a plain difference."""

MANY = 100.0
"""Times as far from which on a number says nothing."""
