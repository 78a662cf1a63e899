"""A search finds planted wrong sensitivities and no others; what is not reproducible is refused."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from abcdp_core.own_model import (
    Column,
    Model,
    count,
    declared,
    examination,
    histogram,
    mean,
    total,
)
from abcdp_core.own_model.blame import OwnError
from abcdp_core.own_model.examination import ALL, Search, Simulated
from abcdp_core.own_model.statistics import OwnStatistic
from abcdp_core.streams import generator
from tests.own_model.test_contract import GAUSSIAN, SIR
from tests.own_model.test_model import MODEL, changed
from tests.statistics import assert_distribution, assert_frequencies

SMALL = {
    "gaussian": dataclasses.replace(GAUSSIAN, sizes=(60,)),
    "sir": dataclasses.replace(SIR, sizes=(60,)),
}


def searched(model: Model) -> Search:
    return examination.search(model, examination.simulated(model, model.sizes[0], 1), 1)


@pytest.mark.parametrize("name", SMALL)
def test_what_is_derived_holds_and_is_nearly_reached(name: str) -> None:
    found = searched(SMALL[name])
    assert all(move.holds for move in found.moves)
    assert [move.name for move in found.moves][-1] == ALL
    for move in found.moves[:-1]:
        assert move.found == pytest.approx(move.claimed)
    assert found.pairs > 1000


def last(records: np.ndarray) -> np.ndarray:
    return records[..., -1]


WRONG: dict[str, OwnStatistic] = {
    # A median jumps from one end to the other where half of the records are at each.
    "median": declared("m", lambda r: np.median(last(r), axis=-1), ["m"], 1.0),
    # The largest record: the search has to leave the rest far below.
    "largest": declared("m", lambda r: last(r).max(axis=-1), ["m"], 5.9),
    # A share with a number of records below the line.
    "ratio": declared(
        "m", lambda r: last(r).sum(axis=-1) / (1.0 + (last(r) > 0.0).sum(axis=-1)), ["m"], 0.5
    ),
    # In two cells at once.
    "twice": OwnStatistic(
        "m", ("a", "b", "c"), "histogram",
        lambda r: np.stack([last(r) > 0.0, last(r) > 1.0, last(r) > 1.5], axis=-1),
    ),
    # L1 is right, L2 too small.
    "length": declared(
        "m",
        lambda r: np.stack([(last(r) > 1).sum(axis=-1), (r[..., 0] > 1).sum(axis=-1)], axis=-1),
        ["a", "b"], 2.0, 1.2,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("wrong", WRONG)
def test_a_planted_wrong_sensitivity_is_found(name: str, wrong: str) -> None:
    right = count("right", lambda records: last(records) > 0.0)
    model = dataclasses.replace(SMALL[name], statistics=(right, WRONG[wrong]))
    by_name = {move.name: move for move in searched(model).moves}
    assert not by_name["m"].holds
    assert by_name["right"].holds


@pytest.mark.parametrize(
    "of",
    [
        lambda r: last(r) - last(r).max(axis=-1, keepdims=True),
        # Hardly moved by one record: a search between neighbours passes it.
        lambda r: last(r) - last(r).mean(),
        lambda r: np.cumsum(last(r), axis=-1) / 60.0,
    ],
    ids=["rank", "residual", "sum so far"],
)
def test_a_contribution_that_looks_at_other_records_is_refused_with_its_line(of: Any) -> None:
    model = dataclasses.replace(
        SMALL["gaussian"], file=Path(__file__).name, statistics=(mean("m", of, -1.0, 1.0),)
    )
    with pytest.raises(OwnError, match=r"statistic m \(line \d+\): what a record contributes"):
        examination.simulated(model, 60, 1)
    looks = dataclasses.replace(model, statistics=(declared("m", of, ["m"], 1.0),))
    with pytest.raises(OwnError, match="it makes an array"):
        examination.simulated(looks, 60, 1)


def test_chance_that_is_not_from_rng_and_counts_of_numbers_are_noted() -> None:
    def fixed(_: np.random.Generator, theta: np.ndarray, n: int) -> np.ndarray:
        return theta[:, :1, None] + generator(1, "fixed").standard_normal((len(theta), n, 1))

    value = count("value", lambda records: np.rint(records[..., 0]))
    model = changed(simulate=fixed, statistics=(value,), file=Path(__file__).name)
    words = examination.warnings(model, examination.simulated(model, 100, 1))
    assert words[0].startswith("Simulated data are the same under another seed")
    assert re.fullmatch(
        r"Count value \(line \d+\) makes -?\d of a record, neither true nor false; all but 0 "
        r"counts as true\.",
        words[-1],
    )
    right = changed(statistics=(count("value", lambda records: records[..., 0] > 0),))
    assert examination.warnings(right, examination.simulated(right, 100, 1)) == []


COIN = Model(
    name="coins",
    title="Coins",
    parameters=MODEL.parameters,
    columns=(Column("heads", 0, 1, whole=True), Column("side", 0, 2, whole=True)),
    unit="one coin",
    simulate=lambda rng, theta, n: rng.integers([2, 3], size=(len(theta), n, 2)),
    statistics=(count("heads", lambda records: records[..., 0] > 0),),
    sizes=(100,),
)


def test_where_records_are_few_and_whole_all_neighbours_are_looked_at() -> None:
    found = searched(COIN)
    # Six kinds of records, 15 pairs of them beside 1287 times 8 others.
    assert found.exhaustive >= 8
    assert found.moves[0].holds

    def rare(records: np.ndarray) -> np.ndarray:
        """Moves by 3 in a single pair of data sets: when all but one are of one inner kind."""
        inner = (records == np.array([1.0, 1.0])).all(axis=-1)
        return 3.0 * (inner.sum(axis=-1) == records.shape[-2] - 1)

    alone = dataclasses.replace(COIN, sizes=(3,), statistics=(declared("rare", rare, ["r"], 1.0),))
    assert searched(alone).exhaustive == 3
    assert searched(alone).moves[0].found[0] == 3.0
    assert searched(dataclasses.replace(alone, sizes=(100,))).exhaustive == 0


def test_where_records_are_added_a_replaced_one_is_no_neighbour() -> None:
    cells = histogram("value", lambda records: records[..., 0], (-3.0, 0.0, 3.0))
    model = changed(neighbours="add-remove", sizes=(20,), statistics=(cells,))
    (move,) = searched(model).moves
    assert move.claimed == move.found == (1.0, 1.0)
    mixed = changed(
        neighbours="add-remove",
        sizes=(20,),
        statistics=(cells,),
        simulate=lambda rng, theta, n: np.where(
            rng.random((len(theta), n, 1)) < 0.5, np.nan, theta[:, :1, None]
        ),
    )
    (move,) = searched(mixed).moves
    assert move.found == (1.0, 1.0)


_calls = np.random.default_rng(0)


def drifting(rng: np.random.Generator, theta: np.ndarray, n: int) -> np.ndarray:
    return _calls.standard_normal((len(theta), n, 1))


def overwriting(rng: np.random.Generator, theta: np.ndarray, n: int) -> np.ndarray:
    theta[:, 0] = 0.0
    return np.zeros((len(theta), n, 1))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"simulate": drifting}, "simulate is not reproducible"),
        ({"simulate": overwriting}, "simulate changes the parameters"),
        (
            {"prior": lambda _, size: _calls.random((size, 2))},
            "prior is not reproducible: the same generator",
        ),
        (
            {"statistics": (mean("x", lambda r: r[..., 0] + _calls.random(), -3.0, 3.0),)},
            "statistics are not reproducible",
        ),
    ],
)
def test_what_is_not_reproducible_or_spoils_parameters_is_refused(
    values: dict[str, Any], said: str
) -> None:
    with pytest.raises(OwnError, match=f"model: .*{said}"):
        examination.simulated(changed(**values), 10, 1)


def test_what_disappoints_is_said() -> None:
    high = changed(
        simulate=lambda rng, theta, n: 2.0 + rng.random((len(theta), n, 1)) * 2.0,
        statistics=(count("any", lambda records: records[..., 0] > -9.0),),
        columns=(Column("value", -3.0, 3.0), Column("code", 0, 2, whole=True))[:1],
    )
    at_bound, constant = examination.warnings(high, examination.simulated(high, 100, 1))
    assert "column value are at its public bounds or beyond, -3 to 3" in at_bound
    assert "Statistic any is the same in all of 20" in constant
    halves = changed(columns=(Column("code", -3, 3, whole=True),))
    (said,) = examination.warnings(halves, examination.simulated(halves, 10, 1))
    assert said == "Column code is stated to be whole, and is not in simulations."
    assert examination.warnings(GAUSSIAN, examination.simulated(GAUSSIAN, 100, 1)) == []


def test_what_is_slow_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[float] = []
    monkeypatch.setattr(examination, "PATIENCE", 0.0)
    slow = examination.simulated(MODEL, 10, 1, told.append)
    assert told == pytest.approx(np.arange(2, 20, 2) / 20)
    told.clear()
    monkeypatch.setattr(examination, "PATIENCE", 1e9)
    fast = examination.simulated(MODEL, 10, 1, told.append)
    assert told == [0.1]
    assert slow.records.shape == fast.records.shape == (20, 10, 1)
    assert slow.numbers is not None
    assert slow.numbers.shape == (20, 1)
    assert slow.seconds > 0.0
    without = examination.simulated(changed(statistics=()), 10, 1)
    assert without.numbers is None


# ------------------------------------------------------------------ the parts of a search, exactly


class _Noted(examination._Searching):
    """Notes the pairs that are looked at, and is told how near they come to a claim."""

    def __init__(self, model: Model, near: Callable[[np.ndarray], np.ndarray]) -> None:
        super().__init__(model)
        self.near = near
        self.looks: list[tuple[np.ndarray, np.ndarray]] = []

    def look(self, first: np.ndarray, second: np.ndarray, by: str) -> np.ndarray:
        self.looks.append((first.copy(), second.copy()))
        return self.near(first)

    def everything(self) -> list[tuple[Any, Any]]:
        """Pairs of data sets as lists, in the order in which they were looked at."""
        return [
            (one.tolist(), other.tolist())
            for first, second in self.looks
            for one, other in zip(first, second, strict=True)
        ]


def zeros(first: np.ndarray) -> np.ndarray:
    return np.zeros(len(first))


def test_moves_are_the_largest_of_each_statistic_and_of_all_together() -> None:
    single = declared("one", lambda r: r[..., 0, 0], ["a"], 2.0)
    double = declared("two", lambda r: r[..., 1, :], ["b", "c"], 4.0, 3.6)
    columns = (Column("x", -8.0, 8.0), Column("y", -8.0, 8.0))
    state = examination._Searching(
        changed(statistics=(single, double), columns=columns, sizes=(2,))
    )
    first, second = np.zeros((2, 3, 2, 2))
    # In units of the claims: 1/2; (−1/2, 1/2); 3/4 in one number.
    second[0, 0, 0], second[1, 1], second[2, 1, 1] = 1.0, [2.0, -2.0], 3.0
    near = state.look(first, second, "first")
    assert near == pytest.approx([0.5, 1.0, 0.75 / 0.9])
    assert state.found["one"] == (0.5, 0.5)
    assert state.found["two"] == state.found[ALL] == (1.0, 0.75)
    # Nearer by its length, and less far by its sum.
    second[:] = 0.0
    second[0, 1, 1] = 3.4
    state.look(first, second, "second")
    assert state.found["two"] == (1.0, 0.85)
    assert (state.by["one"], state.by["two"]) == ("first", "first")
    # Both together: what is claimed of them adds up.
    second[0, :, 0], second[0, 1, 1] = [2.0, 4.0], 0.0
    assert state.look(first, second, "third")[0] == pytest.approx(1.0 / 0.9)
    assert state.found[ALL] == pytest.approx((2.0, np.sqrt(2.0)))
    assert state.by == {"one": "third", "two": "first", ALL: "third"}
    assert state.claimed[ALL] == pytest.approx((2.0, np.hypot(1.0, 0.9)))
    assert state.result(7) == Search(
        tuple(examination.Move(name, state.claimed[name], state.found[name], state.by[name])
              for name in ("one", "two", ALL)), 9, 7
    )  # fmt: skip


@pytest.mark.parametrize(
    ("found", "holds"), [((1.0, 0.5), True), ((1.1, 0.5), False), ((1.0, 0.6), False)]
)
def test_a_claim_holds_while_nothing_larger_was_found(
    found: tuple[float, float], holds: bool
) -> None:
    assert examination.Move("m", (1.0, 0.5), found, "random").holds == holds


def test_corners_are_at_the_bounds_in_the_middle_and_at_0() -> None:
    columns = (Column("a", -2.0, 4.0), Column("b", 1, 4, whole=True))
    assert examination.corners(changed(columns=columns)).tolist() == [
        [a, b] for a in (-2.0, 4.0, 1.0, 0.0) for b in (1.0, 4.0, 2.0)
    ]
    for low, high, corners in ((0.0, 0.5, [0.0, 0.5, 0.25]), (-0.5, 0.0, [-0.5, 0.0, -0.25]),
                               (0.5, 1.5, [0.5, 1.5, 1.0])):  # fmt: skip
        found = examination.corners(changed(columns=(Column("a", low, high),)))
        assert found[:, 0].tolist() == corners
    many = changed(columns=tuple(Column(str(n), -2.0, 4.0) for n in range(5)))
    assert len(examination.corners(many)) == 256


def test_records_that_take_anothers_place_are_of_all_kinds_alike() -> None:
    columns = (Column("a", -2.0, 4.0), Column("b", 0, 9, whole=True))
    cells = histogram("value", lambda records: records[..., 0], (-3.0, 0.0, 3.0))
    model = changed(columns=columns, neighbours="add-remove", sizes=(20,), statistics=(cells,))
    simulated = np.array([[[0.3, 4.0], [np.nan, np.nan]]])
    found = examination._Candidates(model, simulated).draw(np.random.default_rng(1), 20_000)
    absent = np.isnan(found).all(axis=1)
    there = (found == [0.3, 4.0]).all(axis=1)
    corner = (found[:, None] == examination.corners(model)).all(axis=-1).any(axis=1)
    uniform = found[~(absent | there | corner)]
    assert_frequencies(
        np.array([absent.sum(), there.sum(), corner.sum(), len(uniform)]), np.full(4, 0.25)
    )
    assert_distribution(uniform[:, 0], stats.uniform(-2.0, 6.0).cdf)
    assert set(uniform[:, 1]) == set(range(10))


def test_one_record_is_replaced_or_where_records_are_added_goes_or_comes() -> None:
    data = np.arange(1.0, 3001.0).reshape(1000, 3, 1)
    data[500:, 1] = np.nan
    records = np.full((1000, 1), -1.0)
    for add_remove in (False, True):
        found = examination._replaced(
            data, records, np.random.default_rng(1), add_remove=add_remove
        )
        same = (found == data) | (np.isnan(found) & np.isnan(data))
        assert (same.sum(axis=1) == 2).all()
        places = np.argmin(same[..., 0], axis=1)
        assert set(places[:500]) == set(places[500:]) == {0, 1, 2}
        comes = np.isnan(data[np.arange(1000), places, 0]) | (not add_remove)
        new = found[np.arange(1000), places, 0]
        assert np.array_equal(new, np.where(comes, -1.0, np.nan), equal_nan=True)
    one, none = np.zeros((2, 1, 2, 1))
    none[0, 0] = np.nan
    added = changed(neighbours="add-remove", sizes=(2,), statistics=(COUNTED,))
    for first, second, absent in ((one, one, True), (one, none, True), (none, one, False)):
        kept, other = examination._neighbours(added, first, second)
        assert kept is first
        assert np.isnan(other[0, 0]).all() == absent
        assert other[0, 1] == 0.0
        assert examination._neighbours(MODEL, first, second) == (first, second)


COUNTED = count("heads", lambda records: records[..., 0] > 0)


def test_two_extreme_records_are_tried_in_all_shares() -> None:
    def share(first: np.ndarray) -> np.ndarray:
        """How many are not like the first one."""
        return (first != first[:, :1]).sum(axis=(1, 2)).astype(float)

    state = _Noted(MODEL, share)
    (first, second), near = examination._shares(state, MODEL, 8, 16, np.random.default_rng(1))
    # Bounds and middle of the one column, in pairs either way round.
    ends = list(itertools.permutations((-3.0, 3.0, 0.0), 2))
    expected = {
        ((a, *[b] * count, *[a] * (7 - count)), (b, *[b] * count, *[a] * (7 - count)))
        for a, b in ends
        for count in (0, 1, 2, 3, 4, 5, 7)
    }
    found = [tuple(tuple(x for (x,) in data) for data in pair) for pair in state.everything()]
    assert set(found) == expected
    assert len(found) == len(expected) == 42
    assert near.tolist() == [7.0, 7.0, 7.0, 7.0]
    assert (first[:, 1:] == second[:, 1:]).all()
    assert share(first).tolist() == near.tolist()
    # Of few at a time half are tried, and two are kept.
    state = _Noted(MODEL, share)
    _, near = examination._shares(state, MODEL, 8, 4, np.random.default_rng(1))
    assert [len(first) for first, _ in state.looks] == [3] * 7
    assert len(near) == 2


class _Numbered:
    """Candidates that can be told from each other: 10, 11, 12 and so on."""

    def draw(self, rng: np.random.Generator, size: int) -> np.ndarray:
        return 10.0 + np.arange(size, dtype=float)[:, None]


def test_a_climb_changes_the_record_that_differs_or_a_block_that_both_have() -> None:
    n, size = 6, 100
    best = np.zeros((size, n, 1)), np.zeros((size, n, 1))
    best[1][:, 0] = 1.0
    state = _Noted(MODEL, zeros)
    # None comes nearer than what was found, so each step begins anew.
    examination._climb(
        state,
        best,
        zeros(best[0]),
        _Numbered(),
        np.random.default_rng(1),  # type: ignore[arg-type]
    )
    assert len(state.looks) == examination.STEPS
    assert (best[0] == 0.0).all()
    assert (best[1][:, 0] == 1.0).all()
    new = 10.0 + np.arange(size)
    blocks = set()
    for step, (first, second) in enumerate(state.looks):
        assert np.array_equal(first[:, 1:], second[:, 1:])
        if step % 3 < 2:
            assert (first[:, 1:] == 0.0).all()
            changed_one, other = (second, first) if step % 3 == 0 else (first, second)
            assert np.array_equal(changed_one[:, 0, 0], new)
            assert (other[:, 0] == (step % 3 != 0)).all()
            continue
        assert (first[:, 0] == 0.0).all()
        assert (second[:, 0] == 1.0).all()
        for row, data in enumerate(first[..., 0]):
            (inside,) = np.nonzero(data)
            assert (data[inside] == new[row]).all()
            blocks.add((int(inside[0]), int(inside[-1])))
            assert inside[-1] - inside[0] == len(inside) - 1
    # From one record to all that both have, wherever there is room for them.
    assert blocks == {(begin, end) for begin in range(1, n) for end in range(begin, n)}


def test_a_step_of_the_climb_is_kept_where_it_comes_nearer() -> None:
    best = np.zeros((4, 3, 1)), np.ones((4, 3, 1))
    best[1][:, 1:] = 0.0
    near = np.array([0.5, 1.0, 1.5, 1.0])
    state = _Noted(MODEL, lambda _: np.array([1.0, 1.0, 1.0, 2.0]))
    candidates = examination._Candidates(MODEL, np.full((1, 1, 1), 0.5))
    examination._climb(state, best, near, candidates, np.random.default_rng(1))
    assert (best[0][1:3] == 0.0).all()
    assert (best[1][1:3, 0] == 1.0).all()
    first, second = state.looks[0]
    for place in (0, 3):
        # The first step was nearer than what was known; all later ones only as near.
        assert np.array_equal(best[0][place], first[place])
        assert np.array_equal(best[1][place], second[place])


@pytest.mark.parametrize("seconds", [0.06, 0.04])
def test_how_long_a_data_set_takes_decides_how_many_are_made_at_once(
    seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twenty of them in less than a second, or not."""
    timed, told, took = examination._timed, [], itertools.count()

    def known(*given: Any) -> Simulated:
        return dataclasses.replace(timed(*given), seconds=seconds + 1e-6 * next(took))

    monkeypatch.setattr(examination, "_timed", known)
    found = examination.simulated(MODEL, 10, 1, told.append)
    assert len(told) == (9 if seconds > 0.05 else 1)
    assert found.seconds == seconds + 1e-6 * (len(told) + 2)
    monkeypatch.setattr(examination, "_timed", timed)
    clock = iter([10.0, 16.0])
    monkeypatch.setattr(examination.time, "perf_counter", lambda: next(clock))
    assert timed(MODEL, np.zeros((2, 2)), 10, np.random.default_rng(1)).seconds == 3.0


def test_records_that_are_absent_are_the_same_as_absent_ones() -> None:
    def some(_: np.random.Generator, theta: np.ndarray, n: int) -> np.ndarray:
        """The same whatever the seed is."""
        records = np.full((len(theta), n, 1), 0.5)
        records[:, n // 2 :] = np.nan
        return records

    model = changed(
        neighbours="add-remove", sizes=(10,), simulate=some,
        statistics=(total("t", lambda r: r[..., 0], -1.0, 1.0),),
    )  # fmt: skip
    found = examination.simulated(model, 10, 1)
    assert not found.by_chance
    words = examination.warnings(model, found)
    assert [each.split(" ")[0] for each in words] == ["Simulated", "Statistic"]


@pytest.mark.parametrize(("values", "pairs"), [(1, 181), (160, 442), (10**6, 4562)])
def test_as_many_pairs_are_looked_at_as_there_is_room_for(
    values: int, pairs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batches of 4, 16 and 200, of ten records each.

    Ten at random; 7 shares of at most half a batch, or of all 6 pairs; 60 steps from a quarter of
    a batch, or from the 42 pairs that there are.
    """
    monkeypatch.setattr(examination, "MOST_VALUES", values)
    found = examination.search(MODEL, examination.simulated(MODEL, 10, 1), 1)
    assert found.pairs == pairs


TWO_KINDS = dataclasses.replace(
    COIN, columns=(Column("c", 0.5, 2.5, whole=True),), simulate=lambda *_: None
)


def test_all_neighbours_of_few_records_are_looked_at_once() -> None:
    """Records 1 and 2, and none: the first of three differs."""
    state = _Noted(TWO_KINDS, zeros)
    assert examination._exhaust(state, TWO_KINDS, 3, 4) == 3
    shared = ([[1.0], [1.0]], [[1.0], [2.0]], [[2.0], [2.0]])
    assert state.everything() == [([[1.0], *rest], [[2.0], *rest]) for rest in shared]
    added = dataclasses.replace(TWO_KINDS, neighbours="add-remove", sizes=(2,))
    state = _Noted(added, zeros)
    assert examination._exhaust(state, added, 2, 4) == 2
    found = [(one[0][0], other[0][0], one[1][0], other[1][0]) for one, other in state.everything()]
    none = np.nan
    np.testing.assert_array_equal(
        found,
        [(one, none, rest, rest) for rest in (1.0, 2.0, none) for one in (1.0, 2.0)],
    )


def test_where_no_record_differs_from_another_there_are_no_neighbours() -> None:
    column = Column("c", 0.5, 1.5, whole=True)
    lone = dataclasses.replace(COIN, columns=(column,))
    assert examination._exhaust(_Noted(lone, zeros), lone, 3, 4) == 0


@pytest.mark.parametrize(
    ("most", "n", "records"),
    [
        # Six kinds of records, 36 pairs; beside 1, 6, 21 or 56 times the other records.
        (35, 1, 0),
        (36, 1, 1),
        (100, 2, 0),
        (215, 2, 0),
        (216, 2, 2),
        (216, 100, 2),
        (755, 100, 2),
        (756, 100, 3),
        (2015, 100, 3),
        (2016, 100, 4),
        (2016, 3, 3),
    ],
)
def test_all_neighbours_are_looked_at_for_as_many_records_as_there_is_room_for(
    most: int, n: int, records: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examination, "MOST_PAIRS", most)
    assert examination._exhaust(_Noted(COIN, zeros), COIN, n, 4) == records
    any_real = dataclasses.replace(COIN, columns=(COIN.columns[0], Column("x", 0.0, 1.0)))
    assert examination._exhaust(_Noted(any_real, zeros), any_real, n, 4) == 0
    # Who declares a sensitivity declares it for one size.
    of_all = declared("any", lambda r: r[..., 0].max(axis=-1), ["any"], 1.0)
    fixed = dataclasses.replace(COIN, statistics=(*COIN.statistics, of_all))
    enough = examination._multisets(6, n - 1) * 36 <= most
    assert examination._exhaust(_Noted(fixed, zeros), fixed, n, 4) == (n if enough else 0)
