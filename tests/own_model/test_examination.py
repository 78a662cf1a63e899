"""A search finds planted wrong sensitivities and no others; what is not reproducible is refused."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from abcdp_core.own_model import Column, Model, count, declared, examination, histogram, mean
from abcdp_core.own_model.blame import OwnError
from abcdp_core.own_model.examination import ALL, Search
from abcdp_core.own_model.statistics import OwnStatistic
from abcdp_core.streams import generator
from tests.own_model.test_contract import GAUSSIAN, SIR
from tests.own_model.test_model import MODEL, changed

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
