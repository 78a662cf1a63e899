r"""Which form of the distance should you use, and which bandwidth?

The maximum mean discrepancy (MMD) compares two data sets with the Gaussian kernel
$k(x, y) = \exp(-(x - y)^2 / 2\ell^2)$ of bandwidth $\ell$ (MATH M1). Its definition visits every
pair of points. Other forms are cheaper.

* *exact*: the trapezoid rule in frequency reduces each data set to $2K + 1$ numbers, once. The
  distances between these match the definition to rounding (MATH M3).
* *random features*: $F$ random frequencies instead (MATH M4), either *paired* sines and cosines as
  in the published code (with $F = 50$) or *shifted* as in [P22]. Here each pair of data sets has
  its own frequencies.
* *linear-time*: an unbiased estimate of the squared distance from disjoint pairs (MATH M5). It can
  be negative, which counts as 0 here, so it is not a distance.

The noise is calibrated to the largest change that one record can cause: $\sqrt{2}/N$ for the exact
form, $2/N$ for paired features and $2\sqrt{2}/N$ for shifted features. The paper's Lemma 1 has
$2/N$ (MATH M2). For the root of the linear-time estimate it is up to $2/\sqrt{N}$, which falls more
slowly.

The bandwidth must come from public simulations (MATH M6). It does not affect the largest change
that one record can cause. So a good bandwidth separates the distances of good draws from the
distances of bad draws. All data sets here are simulated from the prior; nothing is private.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import cast

import numpy as np
import pandas as pd

from abcdp_core import figures as fig
from abcdp_core.base.sentences import amount, counted, plain
from abcdp_core.base.streams import generator
from abcdp_core.figures.lines import Lines
from abcdp_core.models import pool
from abcdp_core.models.distances import Distance, linear_time
from abcdp_core.models.distances.quadratic import QuadraticMMD
from abcdp_core.models.distances.random_features import RandomFeatures
from abcdp_core.models.simulators.uniform_mixture import SCENARIO as MIXTURE
from abcdp_core.studies.engine import Array, BaseParams, Chain, Continuation, Result, Study, scale

EXPERIMENT = "distance-forms"
TITLE = "Forms of the distance: error, time, sensitivity, bandwidth"
MAY_BE_LONG = True
MAIN = "form numbers pair definition value error seconds"
FEATURES = (25, 50, 100, 200)  # Numbers of random frequencies

CLOSENESS = (0.0, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Where the second data set's parameters are, from the first's (0) to another prior draw (1)."""

LARGEST = 1000  # Most points per data set, since the definition visits all pairs
BANDWIDTHS = (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0, 3.0, 5.0)

DATA_SETS, DRAWS, NEAREST = 20, 500, 20
"""Data sets to try each bandwidth on, prior draws for them, and how many of these to keep."""

PART = 20  # Pairs in a part of the task, about a second of work

SMALLEST_ERROR = 1e-5
"""Smaller errors are drawn here, since the axis has no 0 and thresholds are far larger."""

PAIRS = scale(
    "Pairs of data sets",
    "Simulated from the prior, from very similar to very different.",
    (6, 12, 24, 60, 120, 200),
)
IN_POINTS = "In the unit of the data, which lie between 0 and 5."
BANDWIDTH = scale("Bandwidth of the kernel", IN_POINTS, BANDWIDTHS)


@dataclass(frozen=True)
class Params(BaseParams):
    """Settings: size of the data sets, bandwidth, number of pairs."""

    n: int = MIXTURE.n.field(1000)
    bandwidth: float = BANDWIDTH.field(MIXTURE.bandwidth)
    pairs: int = PAIRS.field(12)

    @property
    def points(self) -> int:
        """Return the points per data set that are compared."""
        return min(self.n, LARGEST)


def link(chain: Continuation[Chain[Params]]) -> tuple[dict[str, pd.DataFrame], None]:
    """Compare all forms on the next pairs; the first link also has the other two tables."""
    params, seed, first = chain.task.params, chain.task.seed, chain.done * PART
    rows = {"main": _compared(params, seed, range(first, min(first + PART, params.pairs)))}
    if first == 0:
        rows |= {"sensitivity": _sensitivities(params), "bandwidth": _bandwidths(params, seed)}
    return rows, None


def _pairs(params: Params, seed: int) -> list[tuple[Array, Array]]:
    """Simulate pairs of data sets ``(n, 1)``, from similar to different parameters."""
    rng = generator(seed, "pairs")
    pairs = []
    for number in range(params.pairs):
        theta, other = MIXTURE.prior(rng, 2)
        near = theta + CLOSENESS[number % len(CLOSENESS)] * (other - theta)
        first, second = MIXTURE.simulate(rng, np.stack([theta, near]), params.points)
        pairs.append((first, second))
    return pairs


def _forms(bandwidth: float, seed: int) -> dict[str, Distance | None]:
    """Return form -> distance; ``None`` for the linear-time form."""
    exact = MIXTURE.distance(bandwidth)
    forms: dict[str, Distance | None] = {"definition": QuadraticMMD(bandwidth), "exact": exact}
    for count in FEATURES:
        for name, paired in (("paired features", True), ("shifted features", False)):
            forms[f"{name}, {count}"] = RandomFeatures(bandwidth, 1, count, paired, seed)
    return forms | {"linear-time": None}


def _measure(form: Distance | None, bandwidth: float, x: Array, y: Array) -> tuple[int, float]:
    """Return how many numbers a form reduces a data set to, and the distance between two."""
    if form is None:
        squared, _ = linear_time.linear_time_squared_mmd(x, y, bandwidth)
        return 0, math.sqrt(max(squared, 0.0))
    statistic = form.statistic(x)
    return statistic.size, float(form.compare(statistic[None], form.statistic(y))[0])


def _compared(params: Params, seed: int, numbers: range) -> pd.DataFrame:
    pairs = _pairs(params, seed)
    rows = []
    for number in numbers:
        forms = _forms(params.bandwidth, number)
        # Not timed, since the first call compiles.
        _, known = _measure(forms["definition"], params.bandwidth, *pairs[number])
        for name, form in forms.items():
            start = time.perf_counter()
            size, value = _measure(form, params.bandwidth, *pairs[number])
            seconds = time.perf_counter() - start
            rows.append((name, size, number, known, value, abs(value - known), seconds))
    return pd.DataFrame(rows, columns=MAIN.split())


def _sensitivities(params: Params) -> pd.DataFrame:
    exact = MIXTURE.distance(params.bandwidth)
    forms: dict[str, Callable[[int], float]] = {
        "exact, sharp": exact.sensitivity,
        "exact, as published": partial(exact.sensitivity, which="published"),
        "shifted features": RandomFeatures(params.bandwidth, paired=False).sensitivity,
        "linear-time (square)": linear_time.sensitivity,
    }
    sizes = [int(size) for size in MIXTURE.n.options]
    rows = [(form, n, bound(n)) for form, bound in forms.items() for n in sizes]
    return pd.DataFrame(rows, columns=["form", "n", "sensitivity"])


def _bandwidths(params: Params, seed: int) -> pd.DataFrame:
    """Tabulate for each bandwidth how well it separates draws, and the error of the nearest."""
    median = pool.key_for(MIXTURE, params.n, DRAWS, seed, bandwidth="median").bandwidth
    rng = generator(seed, "bandwidths")
    theta = MIXTURE.prior(rng, DATA_SETS)
    points = MIXTURE.simulate(rng, theta, params.points)
    rows = []
    for bandwidth in sorted({*BANDWIDTHS, cast(float, median)}):
        public = pool.build(pool.PoolKey(MIXTURE, bandwidth, DRAWS, params.points, seed))
        spreads, errors = [], []
        for data, truth in zip(points, theta, strict=True):
            rho = pool.compare(public, data, synthetic=True).rho
            spreads.append(np.median(rho) - np.quantile(rho, 0.01))
            nearest = public.theta[np.argsort(rho)[:NEAREST]].mean(axis=0)
            errors.append(np.abs(nearest - truth).mean())
        rows.append((bandwidth, np.mean(spreads), np.mean(errors), bandwidth == median))
    return pd.DataFrame(rows, columns=["bandwidth", "spread", "error", "chosen"])


def sensitivities(result: Result) -> pd.DataFrame:
    """Tabulate sensitivities: a row for each form, columns for the chosen size and three others."""
    table, n = result.tables["sensitivity"], cast(Params, result.params).n
    sizes = sorted(set(table.n))
    nearest = min(sizes, key=lambda size: abs(size - n))
    shown = sorted({sizes[0], sizes[len(sizes) // 2], nearest, sizes[-1]})
    return table.pivot_table(index="form", columns="n", values="sensitivity", sort=False)[shown]


def quickest(result: Result) -> tuple[str, str]:
    """Report the speed of the exact form, and the errors of the approximations."""
    forms = result.tables["main"].groupby("form")
    seconds, error = forms.seconds.median(), forms.error.mean()
    times = plain(seconds["definition"] / seconds["exact"], 2)
    return f"The exact form matches the definition to rounding, at {times} times the speed", (
        f"The mean error of the distance is {amount(error['paired features, 50'], 2)} with 50 "
        f"random frequencies, as in the published code, and {amount(error['linear-time'], 2)} with "
        f"the linear-time form."
    )


def best_bandwidth(result: Result) -> tuple[str, str]:
    """Compare the median heuristic with the best bandwidth."""
    table = result.tables["bandwidth"]
    median, least = table[table.chosen].iloc[0], table.iloc[table.error.argmin()]
    times = plain(median.error / least.error, 2)
    return f"The median heuristic's error is {times} times the smallest error", (
        f"Over {DATA_SETS} simulated data sets, the nearest draws have the smallest error at "
        f"bandwidth {amount(least.bandwidth, 2)}; the median heuristic gives "
        f"{amount(median.bandwidth, 2)}."
    )


def errors(result: Result) -> fig.CaptionedFigure:
    """Draw error against time, with a mark for each form and number of frequencies."""
    params, main = cast(Params, result.params), result.tables["main"]
    title, caption = quickest(result)
    pairs = counted(main.pair.nunique(), "pair")
    x, y = "milliseconds per pair of data sets", "mean error (below 0.00001 drawn there)"
    settings = f"N = {params.points:,}, bandwidth {params.bandwidth:g}, {pairs}"
    figure = fig.figure(title, x, y, settings=settings)
    forms = main.groupby("form", sort=False)
    times, means = 1e3 * forms.seconds.median(), forms.error.mean().clip(lower=SMALLEST_ERROR)
    figure.update_xaxes(fig.plain_ticks(times.min() / 2.0, 2.0 * times.max()))
    figure.update_yaxes(fig.plain_ticks(SMALLEST_ERROR, 1.0, most=6))
    families = times.index.str.split(",").str[0]
    for style in fig.styles(list(families.unique())):
        mine = families == style.name
        marks = fig.line(times[mine].to_numpy(), means[mine].to_numpy(), style)
        looks = {"symbol": style.marker, "size": 11}
        figure.add_trace(marks.update(mode="lines+markers", marker=looks))
    return fig.CaptionedFigure(figure, caption)


SPREAD, ERROR = fig.styles(["spread (high is good)", "error (low is good)"])
MEDIAN = fig.GUIDE.called("median heuristic")

STUDY: Study[Params, None] = Study(
    EXPERIMENT,
    Params,
    tables={
        "main": MAIN,
        "sensitivity": "form n sensitivity",
        "bandwidth": "bandwidth spread error chosen",
    },
    says=lambda result: f"{quickest(result)[1]} {best_bandwidth(result)[1]}",
    privacy="Uses public simulations only, so no budget is spent.",
    views={
        "error": errors,
        "bandwidth": Lines(
            {"spread": SPREAD, "error": ERROR},
            "bandwidth",
            says=best_bandwidth,
            table="bandwidth",
            y_title="spread, or error",
            guide=(MEDIAN, lambda part: part.bandwidth[part.chosen].iloc[0]),
        ),
    },
    # All pairs in one process, so that their times are comparable.
    links=lambda params: -(-params.pairs // PART),
    link=link,
)
COLUMNS, tasks, work, collect, figures = STUDY.contract()
