"""Does a model keep what it states? Each question is put to public simulations only.

The search for neighbours that move a statistic by more than is claimed has three parts, each at the
size of the data that is asked about:

* *random*: records of simulated data sets are replaced by simulated, uniform and extreme ones;
* *adversarial*: data sets of two extreme records in all shares, where medians and ratios jump, and
  from the worst ones found a climb that changes a record, a block of records or the new record
  whenever that moves the numbers by more;
* *exhaustive*: all data sets, but for the order of their records, of as few records that there are
  at most :data:`MOST_PAIRS` pairs of neighbours, where columns are whole numbers and few.

What is found is a lower bound on the sensitivity. A search that finds nothing shows nothing more
than that; one that finds something shows the pair.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from abcdp_core.own_model.model import Model
from abcdp_core.own_model.model_table import check_alone
from abcdp_core.own_model.statistics import OwnStatistic
from abcdp_core.own_model.user_errors import TWICE, OwnError, call, check_again, place_of
from abcdp_core.posterior.rounds import FIRST as FIRST_DRAWS
from abcdp_core.streams import generator

Array = NDArray[np.float64]
Progress = Callable[[float], None]

DRAWS = 20
"""Parameter draws at which data sets are simulated."""

PATIENCE = 1.0
"""Seconds for all of them up to which they are simulated at once, without a word."""

LONGEST = 60.0
"""Seconds for which as many draws as a release begins with are tried."""

AT_BOUNDS = 0.1
"""Share of values at the bounds of a column from which it is worth a word."""

MOST_VALUES = 1_000_000
"""Numbers of records that are looked at together."""

BATCH = 200
"""Most pairs of neighbors that are looked at together."""

ROUNDS = 10
"""Batches of random pairs."""

STEPS = 60
"""Of the climb."""

MOST_PAIRS = 50_000
"""Pairs of neighbors up to which all are looked at."""


@dataclass(frozen=True)
class Failures:
    """Where simulations fail.

    Attributes:
        draws: from the prior that were simulated.
        failed: how many of them did.
        said: how the first of them did, at which parameters; empty if none did.
    """

    draws: int
    failed: int
    said: str

    @classmethod
    def among(cls, parts: list[Failures]) -> Failures:
        """Those of several parts."""
        said = next((part.said for part in parts if part.said), "")
        return cls(sum(part.draws for part in parts), sum(part.failed for part in parts), said)


@dataclass(frozen=True)
class Simulated:
    """Data sets at draws from the prior; public.

    Attributes:
        records: of those that did not fail ``(k, n, d)``.
        numbers: of their statistics ``(k, m)``; m is 0 without any.
        seconds: that one of them took.
        failures: those that failed.
        by_chance: whether the first of them differ under another seed.
    """

    records: Array
    numbers: Array
    seconds: float
    failures: Failures
    by_chance: bool = True


def simulated(model: Model, n: int, seed: int, progress: Progress | None = None) -> Simulated:
    """Simulate some data sets, the first of them twice.

    Args:
        model: whose.
        n: records of each.
        seed: of all chance.
        progress: called with the fraction done.

    Raises:
        OwnError: the model makes something else of the same generator, or of a record alone; or
            one of its functions raises, its simulator at every draw.
    """
    theta, other = (model.draw(generator(seed, "check-prior"), DRAWS) for _ in range(2))
    check_again(model.file, "prior is", theta, other)
    first, second = (
        _simulated(model, theta[:TWICE], n, generator(seed, "check-data", 0)) for _ in range(2)
    )
    check_again(model.file, "simulate is", first.records, second.records)
    check_again(model.file, "the statistics are", first.numbers, second.numbers)
    another = _simulated(model, theta[:TWICE], n, generator(seed, "check-another-seed"))
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
        raise OwnError(f"{failures.said} All of {DRAWS} draws fail.")
    check_alone(model, records)
    numbers = np.concatenate([part.numbers for part in parts])
    same = np.array_equal(first.records, another.records, equal_nan=True)
    by_chance = not same or not len(first.records)
    return Simulated(records, numbers, parts[-1].seconds, failures, by_chance)


def _simulated(model: Model, theta: Array, n: int, rng: np.random.Generator) -> Simulated:
    begun = time.perf_counter()
    records, said = model.tried(rng, theta, n)
    left = records[~model.failed(records)]
    k = sum(len(each.names) for each in model.statistics)
    numbers = model.numbers(left) if k and len(left) else np.empty((len(left), k))
    seconds = (time.perf_counter() - begun) / len(theta)
    return Simulated(left, numbers, seconds, Failures(len(theta), len(theta) - len(left), said))


def first_draws(
    model: Model, found: Simulated, seed: int, progress: Progress | None = None
) -> Failures:
    """Simulate as many draws as a release begins with, or fewer where that takes too long.

    Args:
        model: whose.
        found: the first of them.
        seed: of all chance.
        progress: called with the fraction done.
    """
    theta = model.draw(generator(seed, "check-first"), FIRST_DRAWS)
    possible = min(FIRST_DRAWS, int(LONGEST / max(found.seconds, 1e-9)))
    parts = [found.failures]
    for start in range(DRAWS, possible, DRAWS):
        rng = generator(seed, "check-first-data", start)
        records, said = model.tried(rng, theta[start : start + DRAWS], found.records.shape[1])
        parts.append(Failures(len(records), int(model.failed(records).sum()), said))
        if progress is not None:
            progress(min((start + DRAWS) / possible, 1.0))
    return Failures.among(parts)


def warnings(model: Model, found: Simulated) -> list[str]:
    """What is not wrong but will disappoint, a sentence each."""
    words = []
    if not found.by_chance:
        words.append(
            "Simulated data are the same under another seed: simulate takes no chance from rng."
        )
    for place, column in enumerate(model.columns):
        values = found.records[..., place]
        values = values[~np.isnan(values)]
        share = np.isin(values, [column.low, column.high]).mean()
        if share > AT_BOUNDS and not column.whole:
            words.append(
                f"{100 * share:.0f} % of simulated values of column {column.name} are at its "
                f"public bounds or beyond, {column.low:g} to {column.high:g}."
            )
        if column.whole and not np.array_equal(values, np.rint(values)):
            words.append(f"Column {column.name} is stated to be whole, and is not in simulations.")
    names = [name for each in model.statistics for name in each.names]
    for name, spread in zip(names, np.ptp(found.numbers, axis=0), strict=True):
        if spread == 0.0:
            words.append(
                f"Statistic {name} is the same in all of {DRAWS} simulated data sets: it says "
                f"nothing and costs noise."
            )
    counts = (each for each in model.statistics if each.kind == "count")
    return words + [note for each in counts if (note := _of_count(model, each, found.records))]


def _of_count(model: Model, each: OwnStatistic, records: Array) -> str:
    """What a count makes of simulated records that is neither true nor false, in a sentence."""
    first = records[:TWICE]
    made = call(model.file, f"statistic {each.name}", each.contributions, first.copy())
    values = made[~np.isnan(first).all(axis=-1)]
    odd = values[~np.isin(values, (0.0, 1.0))]
    if not odd.size:
        return ""
    return (
        f"Count {each.name}{place_of(each.of, model.file)} makes {odd[0]:g} of a record, neither "
        f"true nor false; all but 0 counts as true."
    )


# ------------------------------------------------------------------------- neighbors


@dataclass(frozen=True)
class Move:
    """The largest move of some numbers that was found, each number in its unit.

    Attributes:
        name: of the statistic, or of all together.
        claimed: L1 and L2 sensitivity that are stated.
        found: the largest L1 and L2 move.
        by: which part of the search found the largest L1 move.
    """

    name: str
    claimed: tuple[float, float]
    found: tuple[float, float]
    by: str

    @property
    def holds(self) -> bool:
        """Whether nothing larger than what is stated was found."""
        return all(most <= least for most, least in zip(self.found, self.claimed, strict=True))


@dataclass(frozen=True)
class Search:
    """What a search for neighbors found.

    Attributes:
        moves: of each statistic, and last of all together where there are several.
        pairs: of neighbors that were looked at.
        exhaustive: records of the data sets of which all were looked at; 0 if of none.
    """

    moves: tuple[Move, ...]
    pairs: int
    exhaustive: int


ALL = "all together"


def search(model: Model, found: Simulated, seed: int) -> Search:
    """Look for neighbors that move the statistics by more than is claimed.

    Args:
        model: with at least one statistic.
        found: data sets of the size that is asked about.
        seed: of all chance.

    Raises:
        OwnError: a statistic raises on some records within the public bounds.
    """
    state = _Searching(model, found.records, generator(seed, "check-neighbours"))
    state.at_random()
    state.climb(*state.shares())
    exhaustive = state.exhaust()
    moves = tuple(
        Move(name, state.claimed[name], state.found[name], state.by[name]) for name in state.parts
    )
    return Search(moves, state.pairs, exhaustive)


class _Searching:
    """Data sets to begin with, and the largest moves of pairs that were looked at so far."""

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
        """Note pairs of neighbors ``(B, n, d)`` each; how near each comes to a claim ``(B,)``."""
        change = self.model.numbers(first) - self.model.numbers(second)
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
        """Records ``(size, d)`` to replace another: simulated, uniform and extreme ones, none."""
        model, rng, whole = self.model, self.rng, [column.whole for column in self.model.columns]
        uniform = model.low + rng.random((size, len(whole))) * (model.high - model.low)
        uniform = np.where(whole, np.rint(uniform), uniform)
        kinds = [self.corners[rng.integers(len(self.corners), size=size)], uniform]
        if len(self.present):
            kinds.append(self.present[rng.integers(len(self.present), size=size)])
        if self.adds:
            kinds.append(np.full_like(uniform, np.nan))
        records: Array = np.stack(kinds)[rng.integers(len(kinds), size=size), np.arange(size)]
        return records

    def at_random(self) -> None:
        """Replace records of simulated data sets; where they are added, one goes or comes."""
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
        """Pairs whose record 0 differs; where records are added, one of two is none."""
        if self.adds:
            both = ~np.isnan(first[:, 0]).all(axis=-1) & ~np.isnan(second[:, 0]).all(axis=-1)
            second = second.copy()
            second[both, 0] = np.nan
        return first, second

    def shares(self) -> tuple[Array, Array, Array]:
        """Data sets of two extreme records in all shares: the pairs that come nearest to a claim.

        Returns:
            Both data sets ``(B, n, d)`` of each pair, and how near it comes ``(B,)``.
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
            found = [first, second, self.look(first, second, "adversarial")]
            kept = [np.concatenate(both) for both in zip(kept, found, strict=True)]
            best = np.argsort(-kept[2], kind="stable")[: max(2, self.size // 4)]
            kept = [each[best] for each in kept]
        return kept[0], kept[1], kept[2]

    def climb(self, first: Array, second: Array, near: Array) -> None:
        """Change pairs of neighbors, record 0 of which differs, where that moves numbers more."""
        size, n, rng = len(first), self.n, self.rng
        for step in range(STEPS):
            new_first, new_second = first.copy(), second.copy()
            records = self.candidates(size)
            if step % 3 == 0:
                new_second[:, 0] = records
            elif step % 3 == 1:
                new_first[:, 0] = records
            else:
                # A block of the records that both have: from one of them to all.
                length = np.minimum(n - 1, np.exp(rng.random(size) * math.log(n)).astype(int))
                begin = 1 + (rng.random(size) * (n - length)).astype(int)
                place = np.arange(n)
                inside = (begin[:, None] <= place) & (place < (begin + length)[:, None])
                for each in (new_first, new_second):
                    each[inside] = np.repeat(records, inside.sum(axis=1), axis=0)
            new_first, new_second = self.neighbours(new_first, new_second)
            found = self.look(new_first, new_second, "adversarial")
            better = found > near
            first[better], second[better] = new_first[better], new_second[better]
            near = np.where(better, found, near)

    def exhaust(self) -> int:
        """Look at all pairs of neighbors of few kinds of records; return how many records.

        Their order does not matter, so the first one differs. Where records depend on each other
        or a sensitivity is declared, only the size that is asked about is looked at.
        """
        model = self.model
        if not all(column.whole for column in model.columns):
            return 0
        ranges = [np.arange(np.ceil(c.low), np.floor(c.high) + 1.0) for c in model.columns]
        kinds = math.prod(len(each) for each in ranges)
        if kinds < 2:
            return 0

        def pairs(shared: int) -> int:
            """Pairs of neighbors that have so many records in common."""
            return math.comb(kinds + shared - 1, shared) * kinds**2

        fixed = not model.independent or any(each.kind == "declared" for each in model.statistics)
        most = next(m for m in itertools.count(2) if pairs(m) > MOST_PAIRS)
        records = self.n if fixed else min(self.n, most)
        if pairs(records - 1) > MOST_PAIRS:
            return 0
        values = np.array(list(itertools.product(*ranges)))
        differing = list(itertools.combinations(range(len(values)), 2))
        if self.adds:
            values = np.concatenate([values, np.full((1, len(ranges)), np.nan)])
            differing = [(kind, kinds) for kind in range(kinds)]
        shared = itertools.combinations_with_replacement(range(len(values)), records - 1)
        everything = (
            ((one, *rest), (other, *rest))
            for rest, (one, other) in itertools.product(shared, differing)
        )
        while batch := list(itertools.islice(everything, max(self.size, 1000))):
            both = values[np.array(batch)]
            self.look(both[:, 0], both[:, 1], "exhaustive")
        return records


def corners(model: Model) -> Array:
    """Records with every number at a public bound, the middle or 0: ``(m, d)``, at most 256."""
    values = []
    for column in model.columns:
        middle = (column.low + column.high) / 2.0
        inside = [0.0] if column.low < 0.0 < column.high else []
        all_of = [column.low, column.high, np.rint(middle) if column.whole else middle, *inside]
        values.append(list(dict.fromkeys(all_of)))
    return np.array(list(itertools.islice(itertools.product(*values), 256)))
