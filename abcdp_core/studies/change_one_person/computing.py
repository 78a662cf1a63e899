"""Replace one record, and compute how the distances and the outcomes of a run change."""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from abcdp_core.base.streams import generator
from abcdp_core.evaluation import one_release
from abcdp_core.evaluation.theory import sparse_vector_run as theory
from abcdp_core.models import pool
from abcdp_core.studies.engine import Array, Run

POINTS_TRIED, VALUES_TRIED, DRAWS_TRIED = 40, 41, 400
"""Records tried for the worst change, new values of each, and draws they are tested on."""

CLASSES, CURVE, BINS = 10, 400, 50
"""Ranges of draws that outcomes fall into; steps of a curve; bars of the data's histogram."""

RARE = 1e-6
"""Outcomes less probable than this for both data sets are merged with others."""

SMALLEST = 1e-12
"""Smaller probabilities are computed incompletely, so they have no ratio (MATH E6)."""

POOL_ENDED = "pool ended first"


@dataclass(frozen=True)
class Before:
    """The original data ``(n, p)``, and the record and new value that change distances most."""

    data: Array
    comparison: pool.DistanceTable
    point: int
    value: float


# Independent of the new value; half a megabyte for each setting.
@functools.lru_cache(maxsize=16)
def before(key: pool.PoolKey, n: int, epsilon_abc: float) -> Before:
    """Return the data, and the tried change that moves the distances near ε_abc most."""
    public, data = pool.open_pool(key), pool.observed_data(key, n)
    comparison = pool.compare(public, data, synthetic=True)
    near = np.argsort(np.abs(comparison.rho - epsilon_abc))[:DRAWS_TRIED]
    statistics, distance, size = public.statistics[n][near], comparison.distance, len(data)
    tried = np.linspace(0, size - 1, min(POINTS_TRIED, size)).astype(int)
    tried = np.argsort(data[:, -1])[tried]
    values = np.linspace(*key.scenario.domain, VALUES_TRIED)
    moved = []
    for point in tried:
        rest = np.delete(data, point, axis=0)
        others = distance.statistic(rest) if len(rest) else np.zeros_like(statistics[0])
        replaced = np.repeat(data[point][None], VALUES_TRIED, axis=0)
        replaced[:, -1] = values
        for one in distance.statistic(replaced[:, None]):
            rho = distance.compare(statistics, distance.combine(others, size - 1, one, 1))
            moved.append(np.abs(rho - comparison.rho[near]).mean())
    point, value = divmod(int(np.argmax(moved)), VALUES_TRIED)
    kept = replace(comparison, statistics=None)
    return Before(data, kept, int(tried[point]), float(values[value]))


@functools.lru_cache(maxsize=16)
def stops_before(key: pool.PoolKey, n: int, run: theory.Run) -> Array:
    """Return the distribution ``(T + 1,)`` of the stopping time with the original data."""
    return theory.stopping_time(before(key, n, run.epsilon_abc).comparison.rho, run)


@dataclass(frozen=True)
class Pair:
    """Two neighboring data sets, compared with the same pool.

    Attributes:
        before: the original data.
        changed: the data ``(n, p)`` with one record replaced.
        after: the distances of the changed data.
        stops: distributions of the stopping time ``(T + 1,)``, before and after.
    """

    before: Before
    changed: Array
    after: pool.DistanceTable
    stops: tuple[Array, Array]

    @classmethod
    def of(cls, run: Run[Any]) -> Pair:
        """Return the scenario's data, and the same data with the record replaced."""
        params, key = run.params, one_release.pool_key(run.params, run.seed)
        first = before(key, params.n, params.epsilon_abc)
        low, high = params.source.domain
        share, changed = params.moved_to, first.data.copy()
        worst = isinstance(share, str)
        changed[first.point, -1] = first.value if worst else low + share * (high - low)
        after = pool.compare(pool.open_pool(key), changed, synthetic=True)
        rule = theory.Run.of(one_release.event_of(params), params.epsilon_abc)
        stops = stops_before(key, params.n, rule), theory.stopping_time(after.rho, rule)
        return cls(first, changed, after, stops)


def curves(pair: Pair, run: Run[Any]) -> pd.DataFrame:
    """Tabulate the probability of having stopped, and the range that ε_total allows."""
    # Each step of either curve, and the draw just before it, so that jumps stay upright.
    first, second = (np.cumsum(stops[:-1]) for stops in pair.stops)
    steps = [np.diff(np.floor(CURVE * curve), prepend=0.0) > 0 for curve in (first, second)]
    at = np.flatnonzero(steps[0] | steps[1])
    widest = int(np.argmax(np.abs(first - second)))
    shown = np.unique(np.concatenate([[0], at - 1, at, [widest, len(first) - 1]]))
    shown = shown[shown >= 0]
    first, second = np.minimum(first[shown], 1.0), np.minimum(second[shown], 1.0)
    factor = math.exp(min(run.params.epsilon_total, 700.0))
    low = np.maximum(first / factor, 1.0 - np.minimum(factor * (1.0 - first), 1))
    high = np.minimum(np.minimum(factor * first, 1), 1.0 - (1.0 - first) / factor)
    table = pd.DataFrame({"looked_at": shown + 1, "stopped": first, "stopped_neighbour": second})
    return table.assign(allowed_low=low, allowed_high=high)


def ratios(pair: Pair, run: Run[Any]) -> pd.DataFrame:
    """Tabulate the probabilities of about equally likely ranges of the stopping time.

    The end of the pool is an outcome too; if it is rare, it counts as a stop at the last draw.
    """
    original, neighbour = pair.stops
    both = (original + neighbour) / 2.0
    steps = len(both) - 1
    rows = []
    for start, stop in itertools.pairwise([0, *(cut + 1 for cut in _cuts(both[:-1])), steps]):
        name = f"{stop:,}" if stop == start + 1 else f"{start + 1:,} to {stop:,}"
        both_of = (each[start:stop].sum() for each in pair.stops)
        rows.append((name, start + 1, stop, *both_of))
    ended = (POOL_ENDED, steps, steps, float(original[-1]), float(neighbour[-1]))
    if both[:-1].sum() < RARE:
        rows = [ended]
    elif both[-1] >= RARE:
        rows.append(ended)
    names = ["outcome", "low", "high", "probability", "probability_neighbour"]
    table = pd.DataFrame(rows, columns=names)
    log_ratios, known = _log_ratios(
        table.probability.to_numpy(), table.probability_neighbour.to_numpy()
    )
    log_ratio = np.where(known, log_ratios, np.nan)
    return table.assign(log_ratio=log_ratio, epsilon_total=run.params.epsilon_total)


def _cuts(stops: Array) -> list[int]:
    """Return the last draw of each range; a draw as likely as a whole range is a range itself."""
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
    """Return log-ratios of probabilities, and whether both are large enough for a ratio."""
    known = np.minimum(original, neighbour) >= SMALLEST
    ratio = np.maximum(original, SMALLEST) / np.maximum(neighbour, SMALLEST)
    return np.log(ratio), known


def largest(pair: Pair, run: Run[Any]) -> list[tuple[Any, ...]]:
    """Return the outcome with the largest ratio between its probabilities, rare ones aside."""
    original, neighbour = pair.stops
    log_ratio, known = _log_ratios(original, neighbour)
    common = np.maximum(original, neighbour) >= RARE
    worst = int(np.argmax(np.where(common, np.abs(log_ratio), -1.0)))
    outcome = POOL_ENDED if worst == len(original) - 1 else f"{worst + 1:,}"
    row = original[worst], neighbour[worst], log_ratio[worst], not known[worst]
    return [(outcome, *row, run.params.epsilon_total)]


def movement(pair: Pair, run: Run[Any]) -> pd.DataFrame:
    """Tabulate every distance before and after the change."""
    first, second = pair.before.comparison.rho, pair.after.rho
    table = pd.DataFrame({"t": np.arange(len(first)), "rho": first, "rho_neighbour": second})
    sensitivity = one_release.event_of(run.params).sensitivity
    return table.assign(movement=second - first, sensitivity=sensitivity)


def decisions(pair: Pair, run: Run[Any]) -> pd.DataFrame:
    """Tabulate the draws kept with either data set, with the noise of the page Posterior."""
    accepted = []
    for comparison in (pair.before.comparison, pair.after):
        rng = generator(run.seed, "noise", 0, run.params.noise_draw)
        accepted.append(one_release.release(run.params, comparison, rng)[0].indices)
    either = np.union1d(*accepted)
    original, neighbour = (np.isin(either, each) for each in accepted)
    return pd.DataFrame({"t": either, "original": original, "neighbour": neighbour})


def data(pair: Pair, run: Run[Any]) -> pd.DataFrame:
    """Tabulate the data for drawing: a series as it is, single numbers as a histogram."""
    place, amount = pair.before.data[:, 0], pair.before.data[:, -1]
    if pair.changed.shape[1] == 1:
        counts, edges = _histogram(pair, run)
        place, amount = (edges[:-1] + edges[1:]) / 2.0, counts
    return pd.DataFrame({"place": place, "amount": amount})


def person(pair: Pair, run: Run[Any]) -> list[tuple[float, ...]]:
    """Return the coordinates of the record in that drawing, before and after."""
    old, new = (each[pair.before.point] for each in (pair.before.data, pair.changed))
    amounts = old[-1], new[-1]
    if len(old) == 1:
        counts, edges = _histogram(pair, run)
        bins = np.searchsorted(edges, [old[0], new[0]], "right") - 1
        amounts = tuple(counts[np.clip(bins, 0, BINS - 1)])
    return [(old[0], amounts[0], new[0], amounts[1])]


def _histogram(pair: Pair, run: Run[Any]) -> tuple[Array, Array]:
    low, high = run.params.source.domain
    edges = np.linspace(low, high, BINS + 1)
    return np.histogram(pair.before.data[:, 0], edges)[0].astype(float), edges
