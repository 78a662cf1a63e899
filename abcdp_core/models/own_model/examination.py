"""Check a model's claims on public simulations.

A search looks for neighboring data sets of a given size between which a statistic changes by more
than is claimed. It has two parts:

* *random*: records of simulated data sets are replaced by simulated, uniform and extreme ones;
* *adversarial*: data sets mix two extreme records in various shares, at which medians and ratios
  jump; from the worst of them, a climb changes a record, a block of records or the new record if
  that increases the change.

If numbers are simulated without records, both use smaller tables, and a few whole ones follow.

The result is a lower bound on the sensitivity. A search without a counterexample is not a proof.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.stats import kstest

from abcdp_core.base.arrays import Array
from abcdp_core.base.streams import generator
from abcdp_core.models.own_model.model import Model
from abcdp_core.models.own_model.model_table import (
    check_alone,
    check_reproducible,
    drawn_numbers,
    numbers,
    summaries_of,
)
from abcdp_core.models.own_model.statistics import OwnStatistic
from abcdp_core.models.own_model.user_errors import TWICE, OwnError, call, place_of

Progress = Callable[[float], None]

DRAWS = 20
"""Draws at which data sets are simulated."""

PATIENCE = 1.0
"""If all draws take less than this many seconds, they are simulated at once."""

LONGEST = 60.0
"""Most seconds for simulating the first draws of a release."""

AT_BOUNDS = 0.1
"""Share of values at the bounds of a column that gives a warning."""

MOST_VALUES = 1_000_000
"""Most values of records in a batch."""

BATCH = 200
"""Most pairs of neighbors in a batch."""

ROUNDS = 10
"""Batches of random pairs."""

STEPS = 60
"""Steps of the climb."""

OTHERS = 99
"""Simulated numbers among which those of a table are ranked."""


@dataclass(frozen=True)
class Failures:
    """Simulations that failed.

    Attributes:
        draws: draws simulated.
        failed: draws that failed.
        said: a sentence on the first failure, with its parameters; empty without failures.
    """

    draws: int
    failed: int
    said: str

    @classmethod
    def among(cls, parts: list[Failures]) -> Failures:
        """Combine several parts."""
        words = next((part.said for part in parts if part.said), "")
        return cls(sum(part.draws for part in parts), sum(part.failed for part in parts), words)


@dataclass(frozen=True)
class Simulated:
    """Public data sets at draws from the prior.

    Attributes:
        records: data sets that did not fail ``(k, n, d)``.
        numbers: numbers of their statistics ``(k, m)``; m may be 0.
        seconds: time per data set.
        failures: simulations that failed.
        n: records of a data set, of which some models show fewer.
    """

    records: Array
    numbers: Array
    seconds: float
    failures: Failures
    n: int


def simulated(model: Model, n: int, seed: int, progress: Progress | None = None) -> Simulated:
    """Simulate some data sets, and check that the model is reproducible.

    Args:
        model: the model.
        n: records of each data set.
        seed: seed of all random numbers.
        progress: called with the fraction done.

    Raises:
        OwnError: the model is not reproducible, a contribution depends on other records, a function
            raises, or all simulations fail.
    """
    check_reproducible(model, n, seed)
    whole, n = n, model.rows(n)
    theta = model.draw(generator(seed, "check-prior"), DRAWS)
    first = _simulated(model, theta[:TWICE], n, generator(seed, "check-data", 0))
    step = DRAWS if first.seconds * DRAWS < PATIENCE else TWICE
    parts = [first]
    for start in range(TWICE, DRAWS, step):
        if progress is not None:
            progress(start / DRAWS)
        rng = generator(seed, "check-data", start)
        parts.append(_simulated(model, theta[start : start + step], n, rng))
    failures = Failures.among([part.failures for part in parts])
    records = np.concatenate([part.records for part in parts])
    if not len(records):
        raise OwnError(f"{failures.said} All {DRAWS} draws fail.")
    check_alone(model, records)
    joined, seconds = np.concatenate([part.numbers for part in parts]), parts[-1].seconds
    if model.simulate_numbers is not None:
        begun, many = time.perf_counter(), np.repeat(theta, OTHERS, axis=0)
        drawn_numbers(model, generator(seed, "check-numbers"), many, whole)
        seconds = (time.perf_counter() - begun) / len(many)
    return Simulated(records, joined, seconds, failures, whole)


def _simulated(model: Model, theta: Array, n: int, rng: np.random.Generator) -> Simulated:
    begun = time.perf_counter()
    records, words = model.tried(rng, theta, n)
    left = records[~model.failed(records)]
    k = sum(len(each.names) for each in model.statistics)
    reduced = numbers(model, left) if k and len(left) else np.empty((len(left), k))
    seconds = (time.perf_counter() - begun) / len(theta)
    failures = Failures(len(theta), len(theta) - len(left), words)
    return Simulated(left, reduced, seconds, failures, n)


def first_draws(
    model: Model, simulated: Simulated, count: int, seed: int, progress: Progress | None = None
) -> Failures:
    """Simulate the first draws of a release, or fewer if that takes too long.

    Args:
        model: the model.
        simulated: the first data sets.
        count: how many first draws a release has.
        seed: seed of all random numbers.
        progress: called with the fraction done.
    """
    theta = model.draw(generator(seed, "check-first"), count)
    if model.simulate_numbers is not None:
        made = drawn_numbers(model, generator(seed, "check-first-data"), theta, simulated.n)
        return Failures(count, int(np.isnan(made).any(axis=1).sum()), "")
    possible = min(count, int(LONGEST / max(simulated.seconds, 1e-9)))
    parts = [simulated.failures]
    for start in range(DRAWS, possible, DRAWS):
        rng = generator(seed, "check-first-data", start)
        records, words = model.tried(rng, theta[start : start + DRAWS], simulated.records.shape[1])
        parts.append(Failures(len(records), int(model.failed(records).sum()), words))
        if progress is not None:
            progress(min((start + DRAWS) / possible, 1.0))
    return Failures.among(parts)


def warnings(model: Model, simulated: Simulated) -> list[str]:
    """Return a sentence for each problem that makes results worse but not wrong."""
    words = []
    for place, column in enumerate(model.columns):
        values = simulated.records[..., place]
        values = values[~np.isnan(values)]
        share = np.isin(values, [column.low, column.high]).mean()
        if share > AT_BOUNDS and not column.whole:
            words.append(
                f"{100 * share:.0f} % of simulated values of column {column.name} are at or beyond "
                f"its public bounds, {column.low:g} to {column.high:g}."
            )
        if column.whole and not np.array_equal(values, np.rint(values)):
            words.append(f"Simulated values of column {column.name} are not whole numbers.")
    names = [name for each in model.statistics for name in each.names]
    for name, spread in zip(names, np.ptp(simulated.numbers, axis=0), strict=True):
        if spread == 0.0:
            words.append(
                f"Statistic {name} is the same in all simulated data sets: it carries no "
                f"information and adds noise to the others."
            )
    counts = (each for each in model.statistics if each.kind == "count")
    return words + [note for each in counts if (note := _of_count(model, each, simulated.records))]


def _of_count(model: Model, each: OwnStatistic, records: Array) -> str:
    """Describe a count that is neither true nor false; empty if there is none."""
    first = records[:TWICE]
    made = call(model.file, f"statistic {each.name}", each.values, first.copy())
    values = made[~np.isnan(first).all(axis=-1)]
    odd = values[~np.isin(values, (0.0, 1.0))]
    if not odd.size:
        return ""
    return (
        f"Count {each.name}{place_of(each.of, model.file)} returns {odd[0]:g} for a record, which "
        f"is neither true nor false; any number but 0 counts as true."
    )


# ------------------------------------------------------------------------- neighbors


@dataclass(frozen=True)
class Move:
    """The largest change of some numbers that was found, in units.

    Attributes:
        name: name of the statistic, or :data:`ALL`.
        claimed: claimed L1 and L2 sensitivity.
        found: largest L1 and L2 change.
        by: part of the search that found the largest L1 change.
    """

    name: str
    claimed: tuple[float, float]
    found: tuple[float, float]
    by: str

    @property
    def holds(self) -> bool:
        """Whether no change exceeds its claim."""
        return all(most <= least for most, least in zip(self.found, self.claimed, strict=True))


@dataclass(frozen=True)
class Search:
    """Result of a search for neighbors.

    Attributes:
        moves: changes of each statistic, and last of all together if there are several.
        pairs: number of pairs of neighbors.
    """

    moves: tuple[Move, ...]
    pairs: int


ALL = "all together"


def search(model: Model, simulated: Simulated, seed: int) -> Search:
    """Search for neighbors that change the statistics by more than is claimed.

    Args:
        model: a model with statistics.
        simulated: data sets of the given size.
        seed: seed of all random numbers.

    Raises:
        OwnError: a statistic raises for records within the public bounds, or simulated numbers
            have another distribution than those of simulated tables.
    """
    state = _Searching(model, simulated.records, generator(seed, "check-neighbours"))
    state.at_random()
    state.climb(*state.shares())
    if model.simulate_numbers is not None:
        _compare(model, state, simulated.n)
    moves = tuple(
        Move(name, state.claimed[name], state.found[name], state.by[name]) for name in state.parts
    )
    return Search(moves, state.pairs)


def _compare(model: Model, state: _Searching, n: int) -> None:
    """Rank numbers of simulated tables of n records among simulated ones; change a record of each.

    If both have one distribution, ranks are uniform, and so are their distances from the middle.
    This is tested at a level of 1e-6.
    """
    ranks = []
    # Large sums are rounded, which a release allows for.
    room = 1.0 + n / 2.0**37
    state.claimed = {name: (room * l1, room * l2) for name, (l1, l2) in state.claimed.items()}
    for theta in model.draw(state.rng, DRAWS):
        data = model.records(state.rng, theta[None], n)
        if model.failed(data).any():
            continue
        made = drawn_numbers(model, state.rng, np.repeat(theta[None], OTHERS, axis=0), n)
        made, own = made[~np.isnan(made).any(axis=1)], numbers(model, data)
        # Ties are broken at random.
        share = state.rng.random(own.shape[1]) * ((made == own).sum(axis=0) + 1)
        ranks.append(((made < own).sum(axis=0) + share) / (len(made) + 1))
        pair = np.repeat(data, 2, axis=0)
        pair[:, 0] = state.corners[state.rng.integers(len(state.corners), size=2)]
        state.look(*state.neighbours(pair[:1], pair[1:]), "adversarial")
    for each, places in zip(summaries_of(model), np.transpose(ranks), strict=True):
        if kstest(np.abs(2.0 * places - 1.0), "uniform").pvalue < 1e-6:
            raise OwnError(
                f"{model.file}: simulate_numbers and simulate disagree on {each.name} of {n:,} "
                f"records: at {len(places)} draws from the prior, its number in a table has the "
                f"ranks {', '.join(f'{place:.2f}' for place in places)} among {OTHERS} simulated "
                "ones, from 0 for the lowest to 1."
            )


class _Searching:
    """State of a search: data sets to start from, and the largest changes so far."""

    def __init__(self, model: Model, records: Array, rng: np.random.Generator) -> None:
        self.model, self.records, self.rng = model, records, rng
        self.n = records.shape[1]
        self.size = max(4, min(BATCH, MOST_VALUES // (self.n * len(model.columns))))
        self.adds = model.neighbours == "add-remove"
        present = records.reshape(-1, records.shape[-1])
        self.present = present[~np.isnan(present).any(axis=1)]
        self.corners = corners(model)
        ends = np.cumsum([0, *(len(each.names) for each in model.statistics)])
        self.parts = {
            each.name: slice(low, high)
            for each, (low, high) in zip(model.statistics, itertools.pairwise(ends), strict=True)
        }
        self.claimed = {each.name: each.moves(model.neighbours) for each in model.statistics}
        if len(self.parts) > 1:
            self.parts[ALL], self.claimed[ALL] = slice(None), model.moves()
        self.found = dict.fromkeys(self.parts, (0.0, 0.0))
        self.by = dict.fromkeys(self.parts, "random")
        self.pairs = 0

    def look(self, first: Array, second: Array, by: str) -> Array:
        """Record pairs of neighbors ``(B, n, d)``; return the share of a claim reached ``(B,)``."""
        change = numbers(self.model, first) - numbers(self.model, second)
        nearest = np.zeros(len(change))
        for name, part in self.parts.items():
            moves = np.abs(change[:, part]).sum(axis=-1), np.linalg.norm(change[:, part], axis=-1)
            most = tuple(float(each.max()) for each in moves)
            if most[0] > self.found[name][0]:
                self.by[name] = by
            self.found[name] = max(self.found[name][0], most[0]), max(self.found[name][1], most[1])
            for move, claimed in zip(moves, self.claimed[name], strict=True):
                nearest = np.maximum(nearest, move / claimed)
        self.pairs += len(change)
        return nearest

    def candidates(self, size: int) -> Array:
        """Draw new records ``(size, d)``: simulated, uniform, extreme or absent ones."""
        model, rng, whole = self.model, self.rng, [column.whole for column in self.model.columns]
        uniform = model.low + rng.random((size, len(whole))) * (model.high - model.low)
        uniform = np.where(whole, np.rint(uniform), uniform)
        kinds = [self.corners[rng.integers(len(self.corners), size=size)], uniform]
        if len(self.present):
            kinds.append(self.present[rng.integers(len(self.present), size=size)])
        if self.adds:
            kinds.append(np.full_like(uniform, np.nan))
        return np.stack(kinds)[rng.integers(len(kinds), size=size), np.arange(size)]

    def at_random(self) -> None:
        """Replace records of simulated data sets, or add or remove them."""
        rows = np.arange(self.size)
        for _ in range(ROUNDS):
            data = self.records[self.rng.integers(len(self.records), size=self.size)]
            others = self.candidates(self.size)
            place = self.rng.integers(self.n, size=self.size)
            there = ~np.isnan(data[rows, place]).all(axis=-1, keepdims=True)
            changed = data.copy()
            changed[rows, place] = np.where(there & self.adds, np.nan, others)
            self.look(data, changed, "random")

    def neighbours(self, first: Array, second: Array) -> tuple[Array, Array]:
        """Make data sets that differ in record 0 neighbors, also if records are added."""
        if self.adds:
            both = ~np.isnan(first[:, 0]).all(axis=-1) & ~np.isnan(second[:, 0]).all(axis=-1)
            second = second.copy()
            second[both, 0] = np.nan
        return first, second

    def shares(self) -> tuple[Array, Array, Array]:
        """Mix two extreme records in various shares and return the pairs closest to a claim.

        Returns:
            Both data sets ``(B, n, d)`` of each pair, and the share of a claim reached ``(B,)``.
        """
        n, ends = self.n, self.corners
        pairs = np.array(list(itertools.permutations(range(len(ends)), 2)))
        chosen = pairs[self.rng.permutation(len(pairs))[: self.size // 2 + 1]]
        empty = np.empty((0, n, ends.shape[1]))
        kept = [empty, empty, np.empty(0)]
        for count in sorted({0, 1, n // 4, n // 2 - 1, n // 2, n // 2 + 1, n - 1} & set(range(n))):
            first = np.repeat(ends[chosen[:, 0], None], n, axis=1)
            first[:, 1 : 1 + count] = ends[chosen[:, 1], None]
            second = first.copy()
            second[:, 0] = ends[chosen[:, 1]]
            first, second = self.neighbours(first, second)
            shares = [first, second, self.look(first, second, "adversarial")]
            kept = [np.concatenate(both) for both in zip(kept, shares, strict=True)]
            best = np.argsort(-kept[2], kind="stable")[: max(2, self.size // 4)]
            kept = [each[best] for each in kept]
        return kept[0], kept[1], kept[2]

    def climb(self, first: Array, second: Array, near: Array) -> None:
        """Change pairs of neighbors, which differ in record 0, if that increases the change."""
        size, n, rng = len(first), self.n, self.rng
        for step in range(STEPS):
            new_first, new_second = first.copy(), second.copy()
            records = self.candidates(size)
            if step % 3 == 0:
                new_second[:, 0] = records
            elif step % 3 == 1:
                new_first[:, 0] = records
            else:
                # A block of common records, from one to all.
                length = np.minimum(n - 1, np.exp(rng.random(size) * math.log(n)).astype(int))
                begin = 1 + (rng.random(size) * (n - length)).astype(int)
                place = np.arange(n)
                inside = (begin[:, None] <= place) & (place < (begin + length)[:, None])
                for each in (new_first, new_second):
                    each[inside] = np.repeat(records, inside.sum(axis=1), axis=0)
            new_first, new_second = self.neighbours(new_first, new_second)
            losses = self.look(new_first, new_second, "adversarial")
            better = losses > near
            first[better], second[better] = new_first[better], new_second[better]
            near = np.where(better, losses, near)


def corners(model: Model) -> Array:
    """Return up to 256 records ``(m, d)`` with each number at a bound, the middle or 0."""
    values = []
    for column in model.columns:
        middle = (column.low + column.high) / 2.0
        inside = [0.0] if column.low < 0.0 < column.high else []
        all_of = [column.low, column.high, np.rint(middle) if column.whole else middle, *inside]
        values.append(list(dict.fromkeys(all_of)))
    return np.array(list(itertools.islice(itertools.product(*values), 256)))
