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

from abcdp_core.own_model.blame import OwnError, call, check_again, place_of
from abcdp_core.own_model.model import Model
from abcdp_core.own_model.statistics import OwnStatistic
from abcdp_core.posterior.rounds import FIRST as FIRST_DRAWS
from abcdp_core.streams import generator

Array = NDArray[np.float64]

DRAWS = 20
"""Parameter draws at which data sets are simulated."""

MOST_VALUES = 1_000_000
"""Numbers of records that are looked at together."""

BATCH = 200
"""Most pairs of neighbours that are looked at together."""

ROUNDS = 10
"""Batches of random pairs."""

STEPS = 60
"""Of the climb."""

MOST_PAIRS = 50_000
"""Pairs of neighbours up to which all are looked at."""


LONGEST = 60.0
"""Seconds for which that may last."""


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


@dataclass(frozen=True)
class Simulated:
    """Data sets at draws from the prior; public.

    Attributes:
        records: of those that did not fail ``(k, n, d)``.
        numbers: of their statistics ``(k, m)``; ``None`` without any.
        seconds: that one of them took.
        failures: those that failed.
        by_chance: whether the first of them differ under another seed.
    """

    records: Array
    numbers: Array | None
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
        OwnError: the model makes something else of the same generator, or changes parameters
            that it is given; or one of its functions raises, its simulator at every draw.
    """
    theta, other = (model.draw(generator(seed, "check-prior"), DRAWS) for _ in range(2))
    check_again(model.file, "prior is", theta, other)
    first = _timed(model, theta[:FIRST], n, generator(seed, "check-data", 0))
    second = _timed(model, theta[:FIRST], n, generator(seed, "check-data", 0))
    check_again(model.file, "simulate is", first.records, second.records)
    if first.numbers is not None and not np.array_equal(first.numbers, _numbers(second)):
        raise OwnError(f"{model.file}: statistics are not reproducible on the same records.")
    another = _timed(model, theta[:FIRST], n, generator(seed, "check-another-seed"))
    # What is fast is fastest all at once; what is slow says how far it is.
    step = DRAWS if first.seconds * DRAWS < PATIENCE else FIRST
    parts = [first]
    for start in range(FIRST, DRAWS, step):
        if progress is not None:
            progress(start / DRAWS)
        rng = generator(seed, "check-data", start)
        parts.append(_timed(model, theta[start : start + step], n, rng))
    left = [part for part in parts if len(part.records)]
    failures = _together([part.failures for part in parts])
    if not left:
        raise OwnError(f"{failures.said} All of {DRAWS} draws fail.")
    if model.statistics:
        _look_at_records_alone(model, left[0].records[:FIRST], generator(seed, "check-alone"))
    same = np.array_equal(first.records, another.records, equal_nan=True)
    return Simulated(
        np.concatenate([part.records for part in left]),
        np.concatenate([_numbers(part) for part in left]) if model.statistics else None,
        parts[-1].seconds,
        failures,
        not same or not len(first.records),
    )


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
    n = found.records.shape[1]
    theta = model.draw(generator(seed, "check-first"), FIRST_DRAWS)
    possible = min(FIRST_DRAWS, int(LONGEST / max(found.seconds, 1e-9)))
    parts = [found.failures]
    for start in range(DRAWS, possible, DRAWS):
        rng, some = generator(seed, "check-first-data", start), theta[start : start + DRAWS]
        parts.append(_failures(model, *model.tried(rng, some, n)))
        if progress is not None:
            progress(min((start + DRAWS) / possible, 1.0))
    return _together(parts)


def _together(parts: list[Failures]) -> Failures:
    said = next((part.said for part in parts if part.said), "")
    return Failures(sum(part.draws for part in parts), sum(part.failed for part in parts), said)


def _failures(model: Model, records: Array, said: str) -> Failures:
    return Failures(len(records), int(model.failed(records).sum()), said)


Progress = Callable[[float], None]

FIRST = 2
"""Draws that are simulated twice, and at a time where that takes long."""

PATIENCE = 1.0
"""Seconds for all draws up to which nobody has to be told how far it is."""


def _timed(model: Model, theta: Array, n: int, rng: np.random.Generator) -> Simulated:
    begun = time.perf_counter()
    records, said = model.tried(rng, theta, n)
    failures, left = _failures(model, records, said), records[~model.failed(records)]
    numbers = model.numbers(left) if model.statistics and len(left) else None
    return Simulated(left, numbers, (time.perf_counter() - begun) / len(theta), failures)


def _numbers(part: Simulated) -> Array:
    assert part.numbers is not None
    return part.numbers


def _look_at_records_alone(model: Model, records: Array, rng: np.random.Generator) -> None:
    """Refuse a contribution that changes with the other records: what is derived rests on that.

    Args:
        model: with statistics.
        records: of data sets ``(k, n, d)``.
        rng: of the other records.

    Raises:
        OwnError: one does; which, and at which line.
    """
    sets, n, _ = records.shape
    kept = rng.random((sets, n)) < KEPT
    others = _Candidates(model, records).draw(rng, sets * n).reshape(records.shape)
    mixed = np.where(kept[..., None], records, others)
    for each in model.statistics:
        if each.kind == "declared":
            continue
        before, after = (_contributions(model, each, these)[kept] for these in (records, mixed))
        if not np.allclose(before, after, rtol=SAME, atol=SAME, equal_nan=True):
            raise OwnError(
                f"{model.file}: statistic {each.name}{place_of(each.of, model.file)}: what a "
                f"record contributes changes with the other records; only what is declared may "
                f"look at several."
            )


KEPT = 0.5
"""Share of records that stay while the others change."""

SAME = 1e-9
"""Part by which what a record contributes may differ from itself, as by rounding."""


def _contributions(model: Model, each: OwnStatistic, records: Array) -> Array:
    """What each record contributes ``(k, n, m)``, before it is clipped."""
    # A copy, which it may spoil.
    made = call(model.file, f"statistic {each.name}", each.of, records.copy())
    return np.asarray(made, dtype=np.float64).reshape(*records.shape[:2], -1)


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
        at_ends = np.isin(values, [column.low, column.high]).mean()
        if at_ends > MANY and not column.whole:
            words.append(
                f"{100 * at_ends:.0f} % of simulated values of column {column.name} are at its "
                f"public bounds or beyond, {column.low:g} to {column.high:g}."
            )
        if column.whole and not np.array_equal(values, np.rint(values)):
            words.append(f"Column {column.name} is stated to be whole, and is not in simulations.")
    if found.numbers is not None:
        names = [name for each in model.statistics for name in each.names]
        words += [
            f"Statistic {name} is the same in all of {DRAWS} simulated data sets: it says nothing "
            f"and costs noise."
            for name, spread in zip(names, np.ptp(found.numbers, axis=0), strict=True)
            if spread == 0.0
        ]
    for each in model.statistics:
        if each.kind == "count":
            present = found.records[:FIRST]
            values = _contributions(model, each, present)[~np.isnan(present).all(axis=-1)]
            odd = values[~np.isin(values, (0.0, 1.0))]
            if odd.size:
                words.append(
                    f"Count {each.name}{place_of(each.of, model.file)} makes {odd[0]:g} of a "
                    f"record, neither true nor false; all but 0 counts as true."
                )
    return words


MANY = 0.1
"""Share of values at the bounds of a column from which it is worth a word."""


# ------------------------------------------------------------------------- neighbours


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
    """What a search for neighbours found.

    Attributes:
        moves: of each statistic, and last of all together where there are several.
        pairs: of neighbours that were looked at.
        exhaustive: records of the data sets of which all were looked at; 0 if of none.
    """

    moves: tuple[Move, ...]
    pairs: int
    exhaustive: int


ALL = "all together"


class _Searching:
    """The largest moves so far; numbers of pairs are handed in."""

    def __init__(self, model: Model) -> None:
        self.model = model
        ends = np.cumsum([0, *(len(each.names) for each in model.statistics)])
        self.parts = {
            each.name: slice(low, high)
            for each, (low, high) in zip(model.statistics, itertools.pairwise(ends), strict=True)
        }
        if len(self.parts) > 1:
            self.parts[ALL] = slice(None)
        self.claimed = {each.name: each.moves(model.neighbours) for each in model.statistics}
        self.claimed[ALL] = model.moves()
        self.found = dict.fromkeys(self.parts, (0.0, 0.0))
        self.by = dict.fromkeys(self.parts, "random")
        self.pairs = 0

    def look(self, first: Array, second: Array, by: str) -> Array:
        """Note pairs of neighbours ``(B, n, d)`` each; how near each comes to a claim ``(B,)``."""
        change = self.model.numbers(first) - self.model.numbers(second)
        nearest = np.zeros(len(change))
        for name, part in self.parts.items():
            l1 = np.abs(change[:, part]).sum(axis=-1)
            l2 = np.linalg.norm(change[:, part], axis=-1)
            most = float(l1.max()), float(l2.max())
            if most[0] > self.found[name][0]:
                self.by[name] = by
            self.found[name] = max(self.found[name][0], most[0]), max(self.found[name][1], most[1])
            nearest = np.maximum(nearest, l1 / self.claimed[name][0])
            nearest = np.maximum(nearest, l2 / self.claimed[name][1])
        self.pairs += len(change)
        return nearest

    def result(self, exhaustive: int) -> Search:
        moves = (
            Move(name, self.claimed[name], self.found[name], self.by[name]) for name in self.parts
        )
        return Search(tuple(moves), self.pairs, exhaustive)


def search(model: Model, found: Simulated, seed: int) -> Search:
    """Look for neighbours that move the statistics by more than is claimed.

    Args:
        model: with at least one statistic.
        found: data sets of the size that is asked about.
        seed: of all chance.

    Raises:
        OwnError: a statistic raises on some records within the public bounds.
    """
    state = _Searching(model)
    rng = generator(seed, "check-neighbours")
    records = found.records
    n = records.shape[1]
    size = max(4, min(BATCH, MOST_VALUES // (n * len(model.columns))))
    candidates = _Candidates(model, records)
    for _ in range(ROUNDS):
        data = records[rng.integers(len(records), size=size)]
        others = candidates.draw(rng, size)
        changed = _replaced(data, others, rng, add_remove=model.neighbours == "add-remove")
        state.look(data, changed, "random")
    best, near = _shares(state, model, n, size, rng)
    _climb(state, best, near, candidates, rng)
    return state.result(_exhaust(state, model, n, size))


class _Candidates:
    """Records that may take another one's place: simulated, uniform and extreme ones, and none."""

    def __init__(self, model: Model, simulated: Array) -> None:
        self.model = model
        present = simulated.reshape(-1, simulated.shape[-1])
        self.simulated = present[~np.isnan(present).any(axis=1)]
        self.corners = corners(model)

    def draw(self, rng: np.random.Generator, size: int) -> Array:
        """Records ``(size, d)``."""
        model = self.model
        uniform = model.low + rng.random((size, len(model.columns))) * (model.high - model.low)
        whole = np.array([column.whole for column in model.columns])
        uniform = np.where(whole, np.rint(uniform), uniform)
        kinds = [self.corners[rng.integers(len(self.corners), size=size)], uniform]
        if len(self.simulated):
            kinds.append(self.simulated[rng.integers(len(self.simulated), size=size)])
        if model.neighbours == "add-remove":
            kinds.append(np.full_like(uniform, np.nan))
        chosen = rng.integers(len(kinds), size=size)
        records: Array = np.stack(kinds)[chosen, np.arange(size)]
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


def _neighbours(model: Model, first: Array, second: Array) -> tuple[Array, Array]:
    """Pairs whose record 0 differs, as the model has neighbours.

    Where records are added or removed, a pair of two records is made one of a record and none.
    """
    if model.neighbours == "add-remove":
        both = ~np.isnan(first[:, 0]).all(axis=-1) & ~np.isnan(second[:, 0]).all(axis=-1)
        second = second.copy()
        second[both, 0] = np.nan
    return first, second


def _replaced(data: Array, records: Array, rng: np.random.Generator, *, add_remove: bool) -> Array:
    """The data sets ``(B, n, d)`` with one record each replaced by another ``(B, d)``.

    Where records are added or removed one that is there goes, or one comes in place of none.
    """
    found = data.copy()
    rows, place = np.arange(len(data)), rng.integers(data.shape[1], size=len(data))
    there = ~np.isnan(data[rows, place]).all(axis=-1, keepdims=True)
    found[rows, place] = np.where(there & add_remove, np.nan, records)
    return found


def _shares(
    state: _Searching, model: Model, n: int, size: int, rng: np.random.Generator
) -> tuple[tuple[Array, Array], Array]:
    """Data sets of two extreme records in all shares; the pairs that come nearest to a claim."""
    ends = corners(model)
    pairs = list(itertools.permutations(range(len(ends)), 2))
    chosen = [pairs[i] for i in rng.permutation(len(pairs))[: size // 2 + 1]]
    counts = sorted({0, 1, n // 4, n // 2 - 1, n // 2, n // 2 + 1, n - 1} & set(range(n)))
    kept_first = kept_second = np.empty((0, n, len(model.columns)))
    kept_near = np.empty(0)
    for count in counts:
        first = np.empty((len(chosen), n, len(model.columns)))
        for row, (a, b) in enumerate(chosen):
            first[row] = ends[a]
            first[row, 1 : 1 + count] = ends[b]
        second = first.copy()
        second[:, 0] = ends[[b for _, b in chosen]]
        first, second = _neighbours(model, first, second)
        near = state.look(first, second, "adversarial")
        kept_first, kept_second = (
            np.concatenate(each) for each in ((kept_first, first), (kept_second, second))
        )
        kept_near = np.concatenate([kept_near, near])
        best = np.argsort(-kept_near, kind="stable")[: max(2, size // 4)]
        kept_first, kept_second, kept_near = kept_first[best], kept_second[best], kept_near[best]
    return (kept_first, kept_second), kept_near


def _climb(
    state: _Searching,
    best: tuple[Array, Array],
    near: Array,
    candidates: _Candidates,
    rng: np.random.Generator,
) -> None:
    """Change pairs of neighbours, record 0 of which differs, where that moves the numbers more."""
    first, second = best
    size, n = first.shape[:2]
    for step in range(STEPS):
        new_first, new_second = first.copy(), second.copy()
        records = candidates.draw(rng, size)
        kind = step % 3
        if kind == 0:
            new_second[:, 0] = records
        elif kind == 1:
            new_first[:, 0] = records
        else:
            # A block of the records that both have: from one of them to all.
            length = np.minimum(n - 1, np.exp(rng.random(size) * math.log(n)).astype(int))
            begin = 1 + (rng.random(size) * (n - length)).astype(int)
            place = np.arange(n)
            inside = (begin[:, None] <= place) & (place < (begin + length)[:, None])
            for each in (new_first, new_second):
                each[inside] = np.repeat(records, inside.sum(axis=1), axis=0)
        new_first, new_second = _neighbours(state.model, new_first, new_second)
        found = state.look(new_first, new_second, "adversarial")
        better = found > near
        first[better], second[better], near = (
            new_first[better],
            new_second[better],
            np.where(better, found, near),
        )


def _exhaust(state: _Searching, model: Model, n: int, size: int) -> int:
    """All pairs of neighbours of few records, where records are few; of how many records.

    As numbers of records do not depend on their order, the first record is the one that differs.
    Only sizes that the statistics are meant for: the one asked for where records depend on each
    other or a sensitivity is declared for it, otherwise as many as there is room for.
    """
    if not all(column.whole for column in model.columns):
        return 0
    ranges = [np.arange(np.ceil(c.low), np.floor(c.high) + 1.0) for c in model.columns]
    kinds = math.prod(len(each) for each in ranges)
    if kinds < 2:
        return 0
    fixed = not model.independent or any(each.kind == "declared" for each in model.statistics)
    most = next(m for m in itertools.count(2) if _multisets(kinds, m) * kinds**2 > MOST_PAIRS)
    # m records are shared by both neighbours, and one differs.
    records = n if fixed else min(n, most)
    shared = records - 1
    if _multisets(kinds, shared) * kinds**2 > MOST_PAIRS:
        return 0
    values = np.array(list(itertools.product(*ranges)))
    if model.neighbours == "add-remove":
        values = np.concatenate([values, np.full((1, len(ranges)), np.nan)])
    pairs = list(itertools.combinations(range(len(values)), 2))
    if model.neighbours == "add-remove":
        pairs = [(a, b) for a, b in pairs if b == len(values) - 1]
    everything = itertools.product(
        itertools.combinations_with_replacement(range(len(values)), shared), pairs
    )
    while batch := list(itertools.islice(everything, max(size, 1000))):
        rest = values[np.array([kept for kept, _ in batch], dtype=int).reshape(len(batch), shared)]
        first, second = (
            np.concatenate([values[[pair[side] for _, pair in batch]][:, None], rest], axis=1)
            for side in (0, 1)
        )
        state.look(first, second, "exhaustive")
    return records


def _multisets(kinds: int, size: int) -> int:
    return math.comb(kinds + size - 1, size)
