r"""Which form of the distance, and with which bandwidth?

The maximum mean discrepancy (MMD) compares two data sets by the Gaussian kernel
$k(x, y) = \exp(-(x - y)^2 / 2\ell^2)$ of bandwidth $\ell$ (MATH M1). By its definition every pair
of points is visited; there are cheaper forms.

* *exact*: the trapezoid rule in frequency reduces each data set to $2K + 1$ numbers, once;
  distances between them are those of the definition up to rounding (MATH M3).
* *random features*: $F$ random frequencies instead (MATH M4), as *paired* sines and cosines, the
  form of the published code (there $F = 50$), or *shifted*, as [P22] writes it. Their kernel is
  off, and so is the distance that is held against $\epsilon_{abc}$. Each pair has its own here.
* *linear-time*: an unbiased estimate of the square from disjoint pairs (MATH M5). It may be
  negative, which counts as 0 here, and is not a distance.

Noise is calibrated to the most that one point can change. That is $\sqrt{2}/N$ for the exact form,
$2/N$ for paired and $2\sqrt{2}/N$ for shifted features; the paper's Lemma 1 has $2/N$ (MATH M2).
Replacing a point changes the *square* of the linear-time estimate by up to $4/N$, and so its root
by up to $2/\sqrt{N}$, which falls more slowly.

The bandwidth must come from public simulations (MATH M6). One point changes the distance by as much
whatever the bandwidth, so a good one is where the distances of good and of bad draws are far
apart. All data sets here are simulated from the prior; nothing is private.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import experiments, pool
from abcdp_core import figures as fig
from abcdp_core.distances import Distance, linear_time
from abcdp_core.distances.quadratic import QuadraticMMD
from abcdp_core.distances.random_features import RandomFeatures
from abcdp_core.experiments import Link, Onward
from abcdp_core.parameters import Parameter
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.results import Result, Tables
from abcdp_core.sentences import plain
from abcdp_core.simulators import uniform_mixture
from abcdp_core.streams import generator

Array = NDArray[np.float64]

EXPERIMENT = "distance-forms"
TITLE = "Forms of the distance: error, time, sensitivity, bandwidth"
MAY_BE_LONG = True
COLUMNS = {
    "main": ("form", "numbers", "pair", "definition", "value", "error", "seconds"),
    "sensitivity": ("form", "n", "sensitivity"),
    "bandwidth": ("bandwidth", "spread", "error", "chosen"),
}

FEATURES = (25, 50, 100, 200)
"""Numbers of random frequencies."""

CLOSENESS = (0.0, 0.05, 0.1, 0.2, 0.5, 1.0)
"""How far the second data set's parameters are on the way to another draw of the prior."""

LARGEST = 1000
"""Points per data set at most: the definition visits all pairs."""

BANDWIDTHS = (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0, 3.0, 5.0)

DRAWS = 500
"""Prior draws that a bandwidth is tried on, of which the nearest are kept."""

NEAREST = 20
DATA_SETS = 20

PAIRS = Parameter(
    kind="integer",
    label="Pairs of data sets",
    help="Simulated from the prior; from nearly alike to unlike.",
    low=6,
    high=200,
    steps=(6, 12, 24, 60, 120, 200),
)
BANDWIDTH = Parameter(
    kind="real",
    label="Bandwidth of the kernel",
    help="In the unit of the points, which lie between 0 and 5.",
    low=0.05,
    high=5.0,
    steps=BANDWIDTHS,
)


@dataclass(frozen=True)
class Params(BaseParams):
    """Size of the data sets, bandwidth, and how many pairs are compared."""

    n: int = uniform_mixture.N.field(1000)
    bandwidth: float = BANDWIDTH.field(uniform_mixture.BANDWIDTH)
    pairs: int = PAIRS.field(12)

    @property
    def points(self) -> int:
        """Points per data set that are compared."""
        return min(self.n, LARGEST)


PRESETS: dict[str, BaseParams] = {}

PART = 20
"""Pairs in a part of the task, which take about a second."""


@dataclass(frozen=True)
class Task(experiments.SingleTask[Params]):
    """All of it."""

    @property
    def links(self) -> int:
        """Parts it is done in."""
        return -(-self.params.pairs // PART)


def tasks(params: Params, seed: int) -> list[Task]:
    """A single task."""
    return [Task(params, seed)]


def work(task: Task | Onward[Task]) -> Link:
    """Compare all forms on the next pairs; before the first, sensitivities and bandwidths."""
    here = Onward.of(task)
    params, seed = here.task.params, here.task.seed
    first = here.done * PART
    pairs = range(first, min(first + PART, params.pairs))
    tables = {"main": _compared(params, seed, pairs)}
    if here.done == 0:
        tables["sensitivity"] = _sensitivities(params)
        tables["bandwidth"] = _bandwidths(params, seed)
    empty = {name: pd.DataFrame(columns=list(columns)) for name, columns in COLUMNS.items()}
    return here.link(empty | tables)


# ------------------------------------------------------------------------------- error and time

Measure = Callable[[Array, Array], float]


def _forms(bandwidth: float, seed: int) -> dict[str, tuple[int, Measure]]:
    """Form -> how many numbers a data set is reduced to (0 for none), and the distance."""
    exact = uniform_mixture.distance(bandwidth)
    forms = {"exact": (exact.statistic(np.zeros((1, 1))).size, _distance(exact))}
    for count in FEATURES:
        for name, paired in (("paired features", True), ("shifted features", False)):
            distance = RandomFeatures(bandwidth, 1, count, paired, seed)
            numbers = 2 * count if paired else count
            forms[f"{name}, {count}"] = (numbers, _distance(distance))
    return forms | {"linear-time": (0, lambda x, y: _linear(x, y, bandwidth))}


def _distance(distance: Distance) -> Measure:
    def measure(x: Array, y: Array) -> float:
        return float(distance.compare(distance.statistic(x)[None], distance.statistic(y))[0])

    return measure


def _linear(x: Array, y: Array, bandwidth: float) -> float:
    squared, _ = linear_time.linear_time_squared_mmd(x, y, bandwidth)
    return math.sqrt(max(squared, 0.0))


def _pairs(params: Params, seed: int) -> list[tuple[Array, Array]]:
    """Data sets ``(n, 1)`` two by two; the second's parameters are near the first's or not."""
    rng = generator(seed, "pairs")
    pairs = []
    for number in range(params.pairs):
        theta, other = uniform_mixture.prior(rng, 2)
        near = theta + CLOSENESS[number % len(CLOSENESS)] * (other - theta)
        first, second = uniform_mixture.simulate(rng, np.stack([theta, near]), params.points)
        pairs.append((first, second))
    return pairs


def _compared(params: Params, seed: int, numbers: range) -> pd.DataFrame:
    pairs = _pairs(params, seed)
    definition = _distance(QuadraticMMD(params.bandwidth))
    definition(*pairs[0])
    rows = []
    for number in numbers:
        pair = pairs[number]
        known = definition(*pair)
        forms = {"definition": (params.points, definition)} | _forms(params.bandwidth, number)
        for form, (size, measure) in forms.items():
            start = time.perf_counter()
            value = measure(*pair)
            seconds = time.perf_counter() - start
            rows.append((form, size, number, known, value, abs(value - known), seconds))
    return pd.DataFrame(rows, columns=list(COLUMNS["main"]))


# --------------------------------------------------------------------- sensitivity and bandwidth


def _sensitivities(params: Params) -> pd.DataFrame:
    exact = uniform_mixture.distance(params.bandwidth)
    forms: dict[str, Callable[[int], float]] = {
        "exact, sharp": exact.sensitivity,
        "exact, as published": lambda n: exact.sensitivity(n, "published"),
        "shifted features": RandomFeatures(params.bandwidth, paired=False).sensitivity,
        "linear-time (square)": linear_time.sensitivity,
    }
    sizes = [int(size) for size in uniform_mixture.N.options]
    rows = [(form, n, bound(n)) for form, bound in forms.items() for n in sizes]
    return pd.DataFrame(rows, columns=list(COLUMNS["sensitivity"]))


def _bandwidths(params: Params, seed: int) -> pd.DataFrame:
    """For every bandwidth, how far bad draws are from good ones, and how good the nearest are."""
    median = pool.key_for(
        uniform_mixture.SCENARIO, params.n, DRAWS, seed, bandwidth="median"
    ).bandwidth
    rng = generator(seed, "bandwidths")
    theta = uniform_mixture.prior(rng, DATA_SETS)
    points = uniform_mixture.simulate(rng, theta, params.points)
    rows = []
    for bandwidth in sorted({*BANDWIDTHS, cast(float, median)}):
        key = pool.PoolKey(uniform_mixture.SCENARIO, bandwidth, DRAWS, params.points, seed)
        public = pool.build(key)
        spreads, errors = [], []
        for data, truth in zip(points, theta, strict=True):
            rho = pool.compare(public, data, synthetic=True).rho
            spreads.append(np.median(rho) - np.quantile(rho, 0.01))
            nearest = public.theta[np.argsort(rho)[:NEAREST]].mean(axis=0)
            errors.append(np.abs(nearest - truth).mean())
        chosen = bandwidth == median
        rows.append((bandwidth, float(np.mean(spreads)), float(np.mean(errors)), chosen))
    return pd.DataFrame(rows, columns=list(COLUMNS["bandwidth"]))


# ---------------------------------------------------------------------------------------- finding


def collect(params: Params, rows: Tables) -> Result:
    """The result of the one task."""
    main = rows["main"]
    means = main.groupby("form")[["error", "numbers"]].mean()
    published = means.loc["paired features, 50"]
    exact = means.loc["exact"]
    bandwidths = rows["bandwidth"]
    best = bandwidths.iloc[int(np.argmax(bandwidths.spread.to_numpy()))]
    median = bandwidths[bandwidths.chosen].iloc[0]
    return Result(
        experiment=EXPERIMENT,
        params=params,
        tables=rows,
        summary=f"At N = {params.points:,} the exact form is {exact.error:.0e} off the definition, "
        f"from {exact.numbers:.0f} numbers for each data set; 50 random frequencies, as in the "
        f"published code, are {published.error:.2g} off on average, the linear-time estimate "
        f"{means.error['linear-time']:.2g}. On {DATA_SETS} simulated data sets good and bad draws "
        f"are farthest apart at the bandwidth {best.bandwidth:.2g}, with an error of the nearest "
        f"draws of {best.error:.2g}; the median heuristic takes {median.bandwidth:.2g}, with "
        f"{median.error:.2g}.",
        privacy="Uses public simulations only; costs no privacy.",
    )


def figures(result: Result) -> dict[str, fig.Drawn]:
    """Error against time, and the choice of the bandwidth."""
    params = cast(Params, result.params)
    return {
        "error": fig.Drawn(_error_figure(params, result.tables["main"]), result.summary),
        "bandwidth": fig.Drawn(
            _bandwidth_figure(params, result.tables["bandwidth"]), _bandwidth_sentence(result)
        ),
    }


def sensitivities(result: Result) -> pd.DataFrame:
    """What one point can change, a row for each form and a column for each of some sizes.

    The columns are the smallest size, that in force, one in between and the largest.
    """
    table = result.tables["sensitivity"]
    sizes = sorted(set(table.n))
    here = min(sizes, key=lambda size: abs(size - cast(Params, result.params).n))
    shown = sorted({sizes[0], sizes[len(sizes) // 2], here, sizes[-1]})
    wide = table.pivot_table(index="form", columns="n", values="sensitivity", sort=False)
    return wide[shown]


def _bandwidth_sentence(result: Result) -> str:
    """Where draws are told apart best, and where the median heuristic is."""
    table = result.tables["bandwidth"]
    by_error = table.iloc[int(table.error.to_numpy().argmin())]
    by_spread = table.iloc[int(table.spread.to_numpy().argmax())]
    median = table[table.chosen].iloc[0]
    return (
        f"On these data sets the widest spread is at bandwidth {by_spread.bandwidth:.2g} and the "
        f"smallest error at {by_error.bandwidth:.2g} ({by_error.error:.2g}). The median heuristic "
        f"gives {median.bandwidth:.2g}, with error {median.error:.2g}."
    )


SMALLEST_ERROR = 1e-5
"""Errors below are drawn here: an axis of powers has no 0, and a threshold is far larger."""

FAMILIES = ("definition", "exact", "paired features", "shifted features", "linear-time")


def error_finding(main: pd.DataFrame) -> str:
    """How much quicker than the definition the exact form is, and how far it is off."""
    of = main.groupby("form")
    seconds, error = of.seconds.median(), of.error.mean()
    times = float(seconds["definition"] / seconds["exact"])
    off = "up to rounding" if error["exact"] < ROUNDING else f"to {error['exact']:.1g}"
    quicker = f"{times:.0f} times as quick" if times >= 1.5 else "as right, no quicker"
    return f"The exact form is the definition {off}, {quicker}"


ROUNDING = 1e-9
"""An error below is that of rounding."""


def _error_figure(params: Params, main: pd.DataFrame) -> go.Figure:
    means = main.groupby("form", sort=False).agg(
        error=("error", "mean"), milliseconds=("seconds", lambda values: 1e3 * values.median())
    )
    figure = fig.figure(
        error_finding(main),
        "milliseconds for a pair of data sets",
        "mean error of the distance",
        settings=f"N = {params.points:,}, bandwidth {params.bandwidth:g}, "
        f"{main.pair.nunique()} pairs",
    )
    figure.update_xaxes(fig.plain_ticks(*_around(means.milliseconds.to_numpy())))
    figure.update_yaxes(fig.plain_ticks(SMALLEST_ERROR, 1.0, most=6))
    texts = list(figure.layout.yaxis.ticktext)
    figure.update_yaxes(ticktext=[f"≤ {texts[0]}", *texts[1:]])
    for style in fig.styles(FAMILIES):
        part = means[[form.split(",")[0] == style.name for form in means.index]]
        x = part.milliseconds.to_numpy()
        y = np.maximum(part.error.to_numpy(), SMALLEST_ERROR)
        trace = fig.points(x, y, style)
        trace.update(
            mode="lines+markers" if len(part) > 1 else "markers",
            marker={"size": 11},
            cliponaxis=False,
            line={"color": style.color, "dash": style.dash, "width": 1.5},
            text=part.index.to_numpy(),
            hovertemplate="%{text}: error %{y:.2g}, %{x:.3g} ms<extra></extra>",
        )
        figure.add_trace(trace)
    return figure


def _around(values: Array) -> tuple[float, float]:
    """Whole powers of ten around some values."""
    low, high = (float(end) for end in (values.min(), values.max()))
    return 10.0 ** math.floor(math.log10(low)), 10.0 ** math.ceil(math.log10(high))


def bandwidth_finding(table: pd.DataFrame) -> str:
    """How far the error at the median heuristic is above the least."""
    least, median = float(table.error.min()), float(table.error[table.chosen].iloc[0])
    if median <= 1.1 * least:
        return "The median heuristic is about as good as the best bandwidth"
    return f"At the median heuristic the error is {plain(median / least, 2)} times the least"


def _bandwidth_figure(params: Params, table: pd.DataFrame) -> go.Figure:
    figure = fig.rows(
        ["spread (high: good)", "error (low: good)"],
        bandwidth_finding(table),
        "bandwidth of the kernel",
        180,
    )
    figure.layout.title.subtitle.text = (
        f"{DATA_SETS} simulated data sets, N = {params.points:,}, {DRAWS} draws, the {NEAREST} "
        f"nearest kept"
    )
    x = table.bandwidth.to_numpy()
    chosen = table[table.chosen]
    style, mark = fig.styles(["each bandwidth", "median heuristic"])
    for row, column in enumerate(("spread", "error")):
        trace = fig.line(x, table[column].to_numpy(), style).update(mode="lines+markers")
        figure.add_trace(trace.update(**fig.panel(row)))
        points = fig.points(chosen.bandwidth.to_numpy(), chosen[column].to_numpy(), mark)
        points.update(marker={"size": 14, "symbol": "diamond"})
        figure.add_trace(points.update(**fig.panel(row)))
        axes = fig.panel(row)
        figure.add_annotation(
            **{"x": math.log10(float(chosen.bandwidth.iloc[0])), "xref": axes["xaxis"]},
            **{"y": float(chosen[column].iloc[0]), "yref": axes["yaxis"], "yshift": 10},
            **{"text": mark.name, "showarrow": False, "yanchor": "bottom"},
            font={"color": mark.color},
        )
    figure.update_layout(showlegend=False)
    figure.update_xaxes(type="log", tickvals=[0.05, 0.2, 1, 5], tickangle=0)
    return figure.update_yaxes(rangemode="tozero")
