"""A search finds planted wrong sensitivities and no others; what is not reproducible is refused."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

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
from abcdp_core.own_model.examination import ALL, Search
from abcdp_core.own_model.statistics import OwnStatistic
from abcdp_core.own_model.user_errors import OwnError
from abcdp_core.streams import generator
from tests.own_model.test_contract import GAUSSIAN, SIR
from tests.own_model.test_model import MODEL, changed, first

SMALL = {
    "gaussian": dataclasses.replace(GAUSSIAN, sizes=(60,)),
    "sir": dataclasses.replace(SIR, sizes=(60,)),
}


def searched(model: Model) -> Search:
    return examination.search(model, examination.simulated(model, model.sizes[0], 1), 1)


# -------------------------------------------------------------------------------- what one moves


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
    # What both claim together is broken by no more than one of them can.
    assert by_name[ALL].found[0] <= by_name["m"].found[0] + 1.0


def test_where_records_are_added_a_replaced_one_is_no_neighbor() -> None:
    def some(rng: np.random.Generator, theta: np.ndarray, n: int) -> np.ndarray:
        there = rng.random((len(theta), n, 1)) < 0.5
        return np.where(there, theta[:, :1, None], np.nan)

    cells = histogram("value", first, (-3.0, 0.0, 3.0))
    for simulate in (MODEL.simulate, some):
        model = changed(
            neighbours="add-remove", sizes=(20,), statistics=(cells,), simulate=simulate
        )
        (move,) = searched(model).moves
        assert move.claimed == move.found == (1.0, 1.0)


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


def rare(records: np.ndarray) -> np.ndarray:
    """Moves by 3 in a single pair of data sets: when all but one are of one inner kind."""
    inner = (records == np.array([1.0, 1.0])).all(axis=-1)
    return 3.0 * (inner.sum(axis=-1) == records.shape[-2] - 1)


def test_where_records_are_few_and_whole_all_neighbors_are_looked_at() -> None:
    found = searched(COIN)
    # Six kinds of records, 15 pairs of them beside 1287 times 8 others.
    assert found.exhaustive >= 8
    assert found.moves[0].holds
    alone = dataclasses.replace(COIN, sizes=(3,), statistics=(declared("rare", rare, ["r"], 1.0),))
    assert searched(alone).exhaustive == 3
    assert searched(alone).moves[0].found[0] == 3.0
    # A sensitivity is declared for one size, and of that there are too many here.
    assert searched(dataclasses.replace(alone, sizes=(100,))).exhaustive == 0


@pytest.mark.parametrize(
    ("most", "n", "records"),
    [(35, 1, 0), (36, 1, 1), (215, 2, 0), (216, 2, 2), (755, 100, 2), (756, 100, 3), (2016, 3, 3)],
)
def test_all_neighbors_are_looked_at_for_as_many_records_as_there_is_room_for(
    most: int, n: int, records: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Six kinds of records, 36 pairs; beside 1, 6, 21 or 56 times the other records."""
    monkeypatch.setattr(examination, "MOST_PAIRS", most)
    assert searched(dataclasses.replace(COIN, sizes=(n,))).exhaustive == records


def test_corners_are_at_the_bounds_in_the_middle_and_at_0() -> None:
    columns = (Column("a", -2.0, 4.0), Column("b", 1, 4, whole=True))
    assert examination.corners(changed(columns=columns)).tolist() == [
        [a, b] for a in (-2.0, 4.0, 1.0, 0.0) for b in (1.0, 4.0, 2.0)
    ]
    many = changed(columns=tuple(Column(str(n), -2.0, 4.0) for n in range(5)))
    assert len(examination.corners(many)) == 256


# ------------------------------------------------------------------------------- what is refused

_calls = np.random.default_rng(0)


def drifting(rng: np.random.Generator, theta: np.ndarray, n: int) -> np.ndarray:
    return _calls.standard_normal((len(theta), n, 1))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"simulate": drifting}, "simulate is not reproducible"),
        (
            {"prior": lambda _, size: _calls.random((size, 2))},
            "prior is not reproducible: the same generator",
        ),
        (
            {"statistics": (mean("x", lambda r: r[..., 0] + _calls.random(), -3.0, 3.0),)},
            "the statistics are not reproducible",
        ),
        (
            {"simulate": lambda _, theta, n: np.full((len(theta), n, 1), np.nan)},
            r"simulate fails at .* \(nothing but NaN\)\. All of 20 draws fail\.",
        ),
    ],
)
def test_what_is_not_reproducible_is_refused(values: dict[str, Any], said: str) -> None:
    with pytest.raises(OwnError, match=f"model: .*{said}"):
        examination.simulated(changed(**values), 10, 1)


@pytest.mark.parametrize(
    "of",
    [
        lambda r: last(r) - last(r).max(axis=-1, keepdims=True),
        # Hardly moved by one record: a search between neighbors passes it.
        lambda r: last(r) - last(r).mean(),
        lambda r: np.cumsum(last(r), axis=-1) / 60.0,
    ],
    ids=["rank", "residual", "sum so far"],
)
def test_a_contribution_that_looks_at_other_records_is_refused_with_its_line(of: Any) -> None:
    model = dataclasses.replace(
        SMALL["gaussian"], file=Path(__file__).name, statistics=(mean("m", of, -1.0, 1.0),)
    )
    with pytest.raises(OwnError, match=r"statistic m \(line \d+\) makes something else of a"):
        examination.simulated(model, 60, 1)


# ------------------------------------------------------------------------------ what disappoints


def fixed(_: np.random.Generator, theta: np.ndarray, n: int) -> np.ndarray:
    """The same whatever the seed is."""
    return theta[:, :1, None] + generator(1, "fixed").standard_normal((len(theta), n, 1))


def absent(_: np.random.Generator, theta: np.ndarray, n: int) -> np.ndarray:
    records = np.full((len(theta), n, 1), 0.5)
    records[:, n // 2 :] = np.nan
    return records


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            {"simulate": fixed, "statistics": (count("odd", lambda r: np.rint(r[..., 0])),)},
            [
                "Simulated data are the same under another seed: simulate takes no chance from",
                r"Count odd \(line \d+\) makes -?\d of a record, neither true nor false; all but",
            ],
        ),
        (
            {
                "simulate": lambda rng, theta, n: 2.0 + rng.random((len(theta), n, 1)) * 2.0,
                "statistics": (count("any", lambda records: records[..., 0] > -9.0),),
            },
            [
                r"\d\d % of simulated values of column value are at its public bounds or beyond",
                "Statistic any is the same in all of 20 simulated data sets: it says nothing and",
            ],
        ),
        (
            {"columns": (Column("code", -3, 3, whole=True),)},
            ["Column code is stated to be whole, and is not in simulations."],
        ),
        (
            {
                "neighbours": "add-remove",
                "sizes": (10,),
                "simulate": absent,
                "statistics": (total("t", first, -1.0, 1.0),),
            },
            ["Simulated data are the same", "Statistic t is the same in all of 20"],
        ),
        ({"statistics": ()}, []),
    ],
)
def test_what_disappoints_is_said(values: dict[str, Any], said: list[str]) -> None:
    model = changed(file=Path(__file__).name, **values)
    words = examination.warnings(model, examination.simulated(model, 10, 1))
    assert len(words) == len(said)
    for word, begins in zip(words, said, strict=True):
        assert re.match(begins, word)


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
    assert slow.numbers.shape == (20, 1)
    assert slow.seconds > 0.0
