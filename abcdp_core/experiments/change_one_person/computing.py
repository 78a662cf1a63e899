"""The data with one point replaced, and how a run's distances and outcomes change with it."""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from abcdp_core import pool, simulators
from abcdp_core.results import Tables
from abcdp_core.theory import sparse_vector_run as theory

Array = NDArray[np.float64]

COLUMNS = {
    "main": ("looked_at", "stopped", "stopped_neighbour", "allowed_low", "allowed_high"),
    "ratio": (
        *("outcome", "low", "high", "probability", "probability_neighbour"),
        *("log_ratio", "epsilon_total"),
    ),
    "largest": (
        *("outcome", "probability", "probability_neighbour", "log_ratio", "at_least"),
        "epsilon_total",
    ),
    "movement": ("t", "rho", "rho_neighbour", "movement", "sensitivity"),
    "decisions": ("t", "original", "neighbour"),
    "data": ("place", "amount"),
    "person": ("place_before", "amount_before", "place_after", "amount_after"),
}

POINTS_TRIED, VALUES_TRIED, DRAWS_TRIED = 40, 41, 400
"""Points that are tried for the worst change, new values of each, and draws they are tried on."""

CLASSES = 10
"""Ranges of draws that outcomes fall into, about equally likely."""

CURVE = 400
"""Steps of probability between two points of a curve."""

BINS = 50
"""Bars of the histogram of the data."""

RARE = 1e-6
"""An outcome that is less probable than this from both data sets is no outcome of its own."""

SMALLEST = 1e-12
"""Probabilities below this are left out in parts, so no ratio is made of them (MATH E6)."""

POOL_ENDED = "pool ended first"

SETTINGS_KEPT = 16
"""Settings of which what does not change with the move is kept, half a megabyte each."""


@dataclass(frozen=True)
class Before:
    """The data before anybody moves, and which move changes most.

    Attributes:
        data: ``(n, p)``.
        comparison: of the data with the pool, without the pool's own numbers.
        point, value: what :func:`worst_change` finds.
    """

    data: Array
    comparison: pool.Comparison
    point: int
    value: float


@functools.lru_cache(maxsize=SETTINGS_KEPT)
def before(key: pool.PoolKey, n: int, epsilon_abc: float) -> Before:
    """Return the data and the worst change."""
    public, data = pool.open_pool(key), pool.observed_data(key, n)
    comparison = pool.compare(public, data, synthetic=True)
    domain = simulators.load(key.scenario).DOMAIN
    point, value = worst_change(comparison, public.statistics[n], data, epsilon_abc, domain)
    return Before(data, replace(comparison, statistics=None), point, value)


@functools.lru_cache(maxsize=SETTINGS_KEPT)
def stops_before(key: pool.PoolKey, n: int, run: theory.Run) -> Array:
    """Return the distribution ``(T + 1,)`` of the stopping time before anybody moves."""
    return theory.stopping_time(before(key, n, run.epsilon_abc).comparison.rho, run)


def worst_change(
    comparison: pool.Comparison,
    statistics: Array,
    data: Array,
    epsilon_abc: float,
    domain: tuple[float, float],
) -> tuple[int, float]:
    """Find the point of the data, and its new value, that move distances near ε_abc most.

    Args:
        comparison: of the data with the pool.
        statistics: of the pool ``(T, D)``, at the size of the data.
        data: ``(n, p)``, of which the last of the p numbers is replaced.
        epsilon_abc: similarity threshold.
        domain: lowest and highest value of a data point.

    Returns:
        Index of the point, and the value.
    """
    near = np.argsort(np.abs(comparison.rho - epsilon_abc))[:DRAWS_TRIED]
    order = np.argsort(data[:, -1])
    tried = order[np.linspace(0, len(order) - 1, min(POINTS_TRIED, len(order))).astype(int)]
    values = np.linspace(*domain, VALUES_TRIED)
    distance, size = comparison.distance, len(data)
    moved = []
    for point in tried:
        rest = np.delete(data, point, axis=0)
        others = distance.statistic(rest) if len(rest) else np.zeros_like(statistics[0])
        replaced = np.repeat(data[point][None], VALUES_TRIED, axis=0)
        replaced[:, -1] = values
        for one in distance.statistic(replaced[:, None]):
            statistic = distance.combine(others, size - 1, one, 1)
            rho = distance.compare(statistics[near], statistic)
            moved.append(np.abs(rho - comparison.rho[near]).mean())
    point, value = divmod(int(np.argmax(moved)), VALUES_TRIED)
    return int(tried[point]), float(values[value])


def curves(original: Array, neighbour: Array, epsilon_total: float) -> pd.DataFrame:
    """Probabilities that a run has stopped by then, and what ε_total allows the neighbour's.

    Args:
        original, neighbour: distributions of the stopping time ``(T + 1,)``.
        epsilon_total: privacy budget.
    """
    # Where either curve has risen by a step, and just before it, so that jumps stay upright.
    first, second = np.cumsum(original[:-1]), np.cumsum(neighbour[:-1])
    steps = [np.diff(np.floor(CURVE * curve), prepend=0.0) > 0 for curve in (first, second)]
    at = np.flatnonzero(steps[0] | steps[1])
    widest = int(np.argmax(np.abs(first - second)))
    shown = np.unique(np.concatenate([[0], at - 1, at, [widest, len(first) - 1]]))
    shown = shown[shown >= 0]
    first, second = np.minimum(first[shown], 1.0), np.minimum(second[shown], 1.0)
    factor = math.exp(min(epsilon_total, 700.0))
    low = np.maximum(first / factor, 1.0 - np.minimum(factor * (1.0 - first), 1))
    high = np.minimum(np.minimum(factor * first, 1), 1.0 - (1.0 - first) / factor)
    found = (shown + 1, first, second, low, high)
    return pd.DataFrame(dict(zip(COLUMNS["main"], found, strict=True)))


def ratios(original: Array, neighbour: Array, epsilon_total: float) -> pd.DataFrame:
    """Probabilities of at most :data:`CLASSES` about equally likely ranges of the stopping time.

    A pool that ended is an outcome of its own, unless that is too rare; then it counts as a run
    that looked at all draws.
    """
    both = (original + neighbour) / 2.0
    steps = len(both) - 1
    rows = []
    for start, stop in itertools.pairwise([0, *(cut + 1 for cut in _cuts(both[:-1])), steps]):
        name = f"{stop:,}" if stop == start + 1 else f"{start + 1:,} to {stop:,}"
        sums = original[start:stop].sum(), neighbour[start:stop].sum()
        rows.append((name, start + 1, stop, *sums))
    ended = (POOL_ENDED, steps, steps, float(original[-1]), float(neighbour[-1]))
    if both[:-1].sum() < RARE:
        rows = [ended]
    elif both[-1] >= RARE:
        rows.append(ended)
    table = pd.DataFrame(rows, columns=COLUMNS["ratio"][:5])
    found, known = _log_ratios(table.probability.to_numpy(), table.probability_neighbour.to_numpy())
    return table.assign(log_ratio=np.where(known, found, np.nan), epsilon_total=epsilon_total)


def _cuts(stops: Array) -> list[int]:
    """Last draws, but the very last, of about equally likely ranges of draws.

    A draw that is as likely as a whole range is one by itself, and no range is rare.
    """
    stopped = np.cumsum(stops)
    wanted = stopped[-1] * np.arange(1, CLASSES) / CLASSES
    at = np.unique(np.minimum(np.searchsorted(stopped, wanted), len(stops) - 1))
    alone = at[(stops[at] >= stopped[-1] / CLASSES) & (at > 0)] - 1
    cuts: list[int] = []
    for cut in np.union1d(at, alone).tolist():
        reached = stopped[cuts[-1]] if cuts else 0.0
        if min(stopped[cut] - reached, stopped[-1] - stopped[cut]) >= RARE:
            cuts.append(cut)
    return cuts


def _log_ratios(original: Array, neighbour: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Logarithms of ratios of probabilities, which count as at least :data:`SMALLEST`.

    Returns:
        The logarithms, and whether both probabilities are that large, so that they are right; else
        they are too near 0.
    """
    known = np.minimum(original, neighbour) >= SMALLEST
    ratio = np.maximum(original, SMALLEST) / np.maximum(neighbour, SMALLEST)
    return np.log(ratio), known


def largest(original: Array, neighbour: Array, epsilon_total: float) -> pd.DataFrame:
    """The outcome whose two probabilities differ by the largest factor, of those not too rare."""
    log_ratio, known = _log_ratios(original, neighbour)
    common = np.maximum(original, neighbour) >= RARE
    worst = int(np.argmax(np.where(common, np.abs(log_ratio), -1.0)))
    name = POOL_ENDED if worst == len(original) - 1 else f"{worst + 1:,}"
    found = original[worst], neighbour[worst], log_ratio[worst], not known[worst], epsilon_total
    return pd.DataFrame([(name, *found)], columns=COLUMNS["largest"])


def movement(first: pool.Comparison, second: pool.Comparison, sensitivity: float) -> pd.DataFrame:
    """Every distance before and after."""
    found = (np.arange(len(first.rho)), first.rho, second.rho, second.rho - first.rho, sensitivity)
    return pd.DataFrame(dict(zip(COLUMNS["movement"], found, strict=True)))


def decisions(original: NDArray[np.int64], neighbour: NDArray[np.int64]) -> pd.DataFrame:
    """Draws accepted from either side, and whether from which."""
    either = np.union1d(original, neighbour)
    found = (either, np.isin(either, original), np.isin(either, neighbour))
    return pd.DataFrame(dict(zip(COLUMNS["decisions"], found, strict=True)))


def person(data: Array, changed: Array, point: int, domain: tuple[float, float]) -> Tables:
    """The data to be drawn, and where in them a point is before and after it is replaced.

    Single numbers are counted in bins, so that the point is on top of its bar; a series has an
    amount at each place.
    """
    old, new = data[point], changed[point]
    place, amount = data[:, 0], data[:, -1]
    spots = (old[0], old[-1], new[0], new[-1])
    if data.shape[1] == 1:
        edges = np.linspace(*domain, BINS + 1)
        place = (edges[:-1] + edges[1:]) / 2.0
        amount = np.histogram(data[:, 0], edges)[0].astype(float)
        bins = np.clip(np.searchsorted(edges, [old[0], new[0]], "right") - 1, 0, BINS - 1)
        spots = (old[0], amount[bins[0]], new[0], amount[bins[1]])
    return {
        "data": pd.DataFrame({"place": place, "amount": amount}),
        "person": pd.DataFrame([spots], columns=COLUMNS["person"]),
    }
