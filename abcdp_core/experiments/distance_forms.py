r"""Which form of the distance, and with which bandwidth?

The maximum mean discrepancy (MMD) compares two data sets by the Gaussian kernel
$k(x, y) = \exp(-(x - y)^2 / 2\ell^2)$ of bandwidth $\ell$ (MATH M1). By its definition every pair
of points is visited; there are cheaper forms.

* *exact*: the trapezoid rule in frequency reduces each data set to $2K + 1$ numbers, once;
  distances between them are those of the definition up to rounding (MATH M3).
* *random features*: $F$ random frequencies instead (MATH M4), as *paired* sines and cosines, the
  form of the published code (there $F = 50$), or *shifted*, as [P22] writes it. Their kernel is
  off, and so is the distance that is compared with $\epsilon_{abc}$. Here each pair of data sets
  has its own frequencies.
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
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from abcdp_core import figures as fig
from abcdp_core import pool
from abcdp_core.distances import Distance, linear_time
from abcdp_core.distances.quadratic import QuadraticMMD
from abcdp_core.distances.random_features import RandomFeatures
from abcdp_core.sentences import amount, counted, plain
from abcdp_core.simulators import uniform_mixture
from abcdp_core.streams import generator
from abcdp_core.study import BaseParams, Lines, Parameter, Result, Tables
from abcdp_core.tasks import Link, Onward, SingleTask

Array = NDArray[np.float64]
Measure = Callable[[Array, Array], tuple[int, float]]

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

DATA_SETS, DRAWS, NEAREST = 20, 500, 20
"""Data sets that each bandwidth is tried on, prior draws for them, and how many of these are kept.
"""

PART = 20
"""Pairs in a part of the task, which take about a second."""

SMALLEST_ERROR = 1e-5
"""Smaller errors are drawn here: the axis has no 0, and a threshold is far larger."""

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


@dataclass(frozen=True)
class Task(SingleTask[Params]):
    """All pairs, in one process, so that times can be compared."""

    @property
    def links(self) -> int:
        """Parts they are done in."""
        return -(-self.params.pairs // PART)


def tasks(params: Params, seed: int) -> list[Task]:
    """Return the single task."""
    return [Task(params, seed)]


def work(task: Task | Onward[Task]) -> Link:
    """Compare all forms on the next pairs; before the first, sensitivities and bandwidths."""
    here = Onward.of(task)
    params, seed, first = here.task.params, here.task.seed, here.done * PART
    rows: dict[str, Any] = dict.fromkeys(COLUMNS, ())
    rows["main"] = _compared(params, seed, range(first, min(first + PART, params.pairs)))
    if first == 0:
        rows |= {"sensitivity": _sensitivities(params), "bandwidth": _bandwidths(params, seed)}
    return here.link({name: pd.DataFrame(rows[name], columns=COLUMNS[name]) for name in COLUMNS})


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


def _forms(bandwidth: float, seed: int) -> dict[str, Measure]:
    """Form -> how many numbers it makes of each of two data sets, and their distance."""
    forms: dict[str, Distance] = {
        "definition": QuadraticMMD(bandwidth),
        "exact": uniform_mixture.distance(bandwidth),
    }
    for count in FEATURES:
        for name, paired in (("paired features", True), ("shifted features", False)):
            forms[f"{name}, {count}"] = RandomFeatures(bandwidth, 1, count, paired, seed)
    measures: dict[str, Measure] = {
        name: partial(_by_statistics, distance) for name, distance in forms.items()
    }
    return measures | {"linear-time": partial(_linear_time, bandwidth)}


def _by_statistics(distance: Distance, x: Array, y: Array) -> tuple[int, float]:
    statistic = distance.statistic(x)
    return statistic.size, float(distance.compare(statistic[None], distance.statistic(y))[0])


def _linear_time(bandwidth: float, x: Array, y: Array) -> tuple[int, float]:
    squared, _ = linear_time.linear_time_squared_mmd(x, y, bandwidth)
    return 0, math.sqrt(max(squared, 0.0))


def _compared(params: Params, seed: int, numbers: range) -> list[tuple[Any, ...]]:
    """Value and time of every form on some of the pairs."""
    pairs = _pairs(params, seed)
    rows = []
    for number in numbers:
        forms = _forms(params.bandwidth, number)
        # Its first call compiles, so that is not timed.
        _, known = forms["definition"](*pairs[number])
        for form, measure in forms.items():
            start = time.perf_counter()
            size, value = measure(*pairs[number])
            seconds = time.perf_counter() - start
            rows.append((form, size, number, known, value, abs(value - known), seconds))
    return rows


def _sensitivities(params: Params) -> list[tuple[Any, ...]]:
    """The most that one point can change, by form and size."""
    exact = uniform_mixture.distance(params.bandwidth)
    forms: dict[str, Callable[[int], float]] = {
        "exact, sharp": exact.sensitivity,
        "exact, as published": partial(exact.sensitivity, which="published"),
        "shifted features": RandomFeatures(params.bandwidth, paired=False).sensitivity,
        "linear-time (square)": linear_time.sensitivity,
    }
    sizes = [int(size) for size in uniform_mixture.N.options]
    return [(form, n, bound(n)) for form, bound in forms.items() for n in sizes]


def _bandwidths(params: Params, seed: int) -> list[tuple[Any, ...]]:
    """For every bandwidth, how far bad draws are from good ones, and how good the nearest are."""
    scenario = uniform_mixture.SCENARIO
    median = pool.key_for(scenario, params.n, DRAWS, seed, bandwidth="median").bandwidth
    rng = generator(seed, "bandwidths")
    theta = uniform_mixture.prior(rng, DATA_SETS)
    points = uniform_mixture.simulate(rng, theta, params.points)
    rows = []
    for bandwidth in sorted({*BANDWIDTHS, cast(float, median)}):
        public = pool.build(pool.PoolKey(scenario, bandwidth, DRAWS, params.points, seed))
        spreads, errors = [], []
        for data, truth in zip(points, theta, strict=True):
            rho = pool.compare(public, data, synthetic=True).rho
            spreads.append(np.median(rho) - np.quantile(rho, 0.01))
            nearest = public.theta[np.argsort(rho)[:NEAREST]].mean(axis=0)
            errors.append(np.abs(nearest - truth).mean())
        rows.append((bandwidth, np.mean(spreads), np.mean(errors), bandwidth == median))
    return rows


def sensitivities(result: Result) -> pd.DataFrame:
    """Tabulate what one point can change: forms down, the size in force and three others across."""
    table, n = result.tables["sensitivity"], cast(Params, result.params).n
    sizes = sorted(set(table.n))
    here = min(sizes, key=lambda size: abs(size - n))
    shown = sorted({sizes[0], sizes[len(sizes) // 2], here, sizes[-1]})
    return table.pivot_table(index="form", columns="n", values="sensitivity", sort=False)[shown]


def _quickest(result: Result) -> tuple[str, str]:
    """How much faster than the definition the exact form is, and how far off others are."""
    forms = result.tables["main"].groupby("form")
    seconds, error = forms.seconds.median(), forms.error.mean()
    times = float(seconds["definition"] / seconds["exact"])
    speed = f"{plain(times, 2)} times faster" if times >= 1.5 else "but is no faster"
    return f"The exact form matches the definition to rounding, {speed}", (
        f"At N = {cast(Params, result.params).points:,} the mean error of the distance is "
        f"{amount(error['paired features, 50'], 2)} with 50 random frequencies, as in the "
        f"published code, and {amount(error['linear-time'], 2)} with the linear-time form."
    )


def _best_bandwidth(result: Result) -> tuple[str, str]:
    """How the median heuristic compares with the best bandwidths."""
    table = result.tables["bandwidth"]
    median, least = table[table.chosen].iloc[0], table.iloc[table.error.argmin()]
    widest = table.iloc[table.spread.argmax()]
    times = median.error / least.error
    title = f"The median heuristic's error is {plain(times, 2)} times the least error"
    if times <= 1.1:
        title = "The median heuristic is about as good as the best bandwidth"
    spread, error, chosen = (amount(row.bandwidth, 2) for row in (widest, least, median))
    return title, (
        f"Over {DATA_SETS} simulated data sets the spread of the distances is largest at bandwidth "
        f"{spread} and the error of the nearest draws smallest at {error}; the median heuristic "
        f"gives {chosen}."
    )


def _errors(result: Result) -> fig.Drawn:
    """Error against time, a mark for each form and number of frequencies."""
    params, main = cast(Params, result.params), result.tables["main"]
    title, caption = _quickest(result)
    pairs = counted(main.pair.nunique(), "pair")
    figure = fig.figure(
        title,
        "milliseconds for a pair of data sets",
        "mean error of the distance",
        settings=f"N = {params.points:,}, bandwidth {params.bandwidth:g}, {pairs}",
    )
    forms = main.groupby("form", sort=False)
    x, y = 1e3 * forms.seconds.median(), forms.error.mean().clip(lower=SMALLEST_ERROR)
    figure.update_xaxes(fig.plain_ticks(x.min() / 2.0, 2.0 * x.max()))
    figure.update_yaxes(fig.plain_ticks(SMALLEST_ERROR, 1.0, most=6))
    lowest, *others = figure.layout.yaxis.ticktext
    figure.update_yaxes(ticktext=[f"≤ {lowest}", *others])
    families = y.index.str.split(",").str[0]
    for style in fig.styles(list(families.unique())):
        here = families == style.name
        marks = fig.line(x[here].to_numpy(), y[here].to_numpy(), style, cliponaxis=False)
        marks.update(mode="lines+markers", marker={"symbol": style.marker, "size": 11})
        hover = "%{text}: error %{y:.2g}, %{x:.3g} ms<extra></extra>"
        figure.add_trace(marks.update(text=y.index[here].to_numpy(), hovertemplate=hover))
    return fig.Drawn(figure, caption)


SPREAD, ERROR = fig.styles(["spread (high is good)", "error (low is good)"])
MEDIAN = fig.GUIDE.called("median heuristic")

_by_bandwidth = Lines(
    {"spread": SPREAD, "error": ERROR},
    "bandwidth",
    says=_best_bandwidth,
    table="bandwidth",
    y_title="spread, or error",
    guide=(MEDIAN, lambda part: part.bandwidth[part.chosen].iloc[0]),
)


def collect(params: Params, rows: Tables) -> Result:
    """Return the result of the pairs so far."""
    privacy = "Uses public simulations only; costs no privacy."
    result = Result(EXPERIMENT, params, rows, "", privacy)
    return replace(result, summary=f"{_quickest(result)[1]} {_best_bandwidth(result)[1]}")


def figures(result: Result) -> dict[str, fig.Drawn]:
    """Draw errors against time, and the choice of the bandwidth."""
    return {"error": _errors(result), "bandwidth": _by_bandwidth(result)}
