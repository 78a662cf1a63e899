"""Numbers of records: what they are, and that no record moves them by more than is stated."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from abcdp_core.own_model import count, declared, histogram, mean, total
from abcdp_core.own_model.statistics import ROUNDING, OwnStatistic

RECORDS = np.array([[1.0, 0.0], [3.0, 5.0], [9.0, -5.0]])


def first(records: np.ndarray) -> np.ndarray:
    return records[..., 0]


KINDS = {
    "count": count("large", lambda records: records[..., 0] > 2.0),
    "histogram": histogram("first", first, (0.0, 2.0, 4.0, 10.0)),
    "mean": mean("first", first, 1.0, 5.0),
    "sum": total("first", first, -2.0, 5.0),
}


@pytest.mark.parametrize(
    ("kind", "replace", "add_remove"),
    [
        ("count", [2.0], [2.0]),
        ("histogram", [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]),
        # (0 + 2 + 4) / 4: above the lower bound, in ranges.
        ("mean", [1.5], None),
        # (3 + 5 + 7) / 7 and (1 + 3 + 5) / 5.
        ("sum", [15.0 / 7.0], [9.0 / 5.0]),
    ],
)
def test_a_number_is_in_units_of_what_a_record_moves(
    kind: str, replace: list[float], add_remove: list[float] | None
) -> None:
    statistic = KINDS[kind]
    assert statistic.numbers(RECORDS, "replace") == pytest.approx(replace)
    if add_remove is not None:
        assert statistic.numbers(RECORDS, "add-remove") == pytest.approx(add_remove)
    stacked = np.stack([RECORDS, RECORDS[::-1]])
    assert statistic.numbers(stacked, "replace") == pytest.approx(np.array([replace, replace]))


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_worst_record_moves_it_by_what_is_stated_and_none_by_more(
    kind: str, neighbours: str
) -> None:
    statistic = KINDS[kind]
    places = [-100.0, 0.0, 1.0, 3.0, 5.0, 9.0, 100.0]
    candidates = [np.array([place, 0.0]) for place in places]
    if neighbours == "add-remove":
        candidates.append(np.full(2, np.nan))
    data = [np.concatenate([RECORDS, one[None]]) for one in candidates]
    numbers = statistic.numbers(np.stack(data), neighbours)
    pairs = numbers[:, None] - numbers[None]
    if neighbours == "add-remove":
        pairs = pairs[-1:]
    l1, l2 = statistic.moves(neighbours)
    assert np.abs(pairs).sum(axis=-1).max() == pytest.approx(l1)
    assert np.abs(pairs).sum(axis=-1).max() <= l1
    assert np.linalg.norm(pairs, axis=-1).max() == pytest.approx(l2)
    assert np.linalg.norm(pairs, axis=-1).max() <= l2


@pytest.mark.parametrize(
    ("kind", "replace", "add_remove"),
    [
        ("count", (1.0, 1.0), (1.0, 1.0)),
        ("histogram", (2.0, math.nextafter(math.sqrt(2.0), math.inf)), (1.0, 1.0)),
        ("mean", (1.0 + ROUNDING, 1.0 + ROUNDING), (1.0 + ROUNDING, 1.0 + ROUNDING)),
        ("sum", (1.0 + ROUNDING, 1.0 + ROUNDING), (1.0 + ROUNDING, 1.0 + ROUNDING)),
    ],
)
def test_what_is_stated_has_room_for_rounding_where_something_is_rounded(
    kind: str, replace: tuple[float, float], add_remove: tuple[float, float]
) -> None:
    assert KINDS[kind].moves("replace") == replace
    assert KINDS[kind].moves("add-remove") == add_remove


def test_cells_stay_as_they_are_named_where_the_array_of_edges_changes() -> None:
    edges = np.array([0.0, 1.0, 2.0])
    cells = histogram("x", first, edges.view())  # type: ignore[arg-type]
    edges += 1.0
    assert cells.names == ("x 0 to 1", "x 1 to 2")
    assert cells.contributions(np.array([[0.5], [2.5]])).tolist() == [[1.0, 0.0], [0.0, 0.0]]


def test_cells_are_named_by_their_edges_however_long_these_are() -> None:
    names = histogram("x", first, (0.5, 1e7 + 1, 1e7 + 2, 1e9)).names
    assert names == ("x 0.5 to 10000001", "x 10000001 to 10000002", "x 10000002 to 1e+09")


def test_the_last_cell_of_a_histogram_holds_its_upper_edge_and_none_a_place_outside() -> None:
    cells = histogram("x", first, (0.0, 1.0, 2.0))
    records = np.array([[0.0], [1.0], [2.0], [2.1], [-0.1]])
    assert cells.numbers(records, "replace").tolist() == [1.0, 2.0]
    assert cells.names == ("x 0 to 1", "x 1 to 2")
    single = histogram("x", first, (0.0, 1.0))
    assert single.moves("replace") == (1.0, 1.0)


def test_a_declared_one_is_in_units_of_its_l1_sensitivity() -> None:
    largest = declared("largest", lambda records: records[..., 0].max(axis=-1), ["largest"], 20.0)
    assert largest.numbers(RECORDS, "replace").tolist() == [9.0 / 20.0]
    assert largest.moves("replace") == (1.0 + ROUNDING, 1.0 + ROUNDING)
    two = declared("ends", lambda records: records[..., 0, :], ["a", "b"], 3.0, math.sqrt(5.0))
    assert two.moves("replace")[1] == pytest.approx(math.sqrt(5.0) / 3.0)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: mean("x", first, 2.0, 2.0), "lower = 2 must be below upper = 2"),
        (lambda: mean("x", first, 0.0, math.inf), "statistic x: upper = inf: must be a finite"),
        (lambda: mean("x", first, -1e308, 1e308), r"lower = -1e\+308: .* within ±1e\+60"),
        (lambda: declared("x", first, ["a"], 1e308), r"l1 = 1e\+308: must be a finite number"),
        (lambda: histogram("x", first, (1.0, 1.0)), "edges must be two or more rising"),
        (lambda: histogram("y", first, (1.0,)), "statistic y: edges must be two"),
        (lambda: declared("x", first, ["a"], 1.0, 2.0), "l1 = 1, l2 = 2: .* 1e-60 <= l2 <= l1"),
        (lambda: declared("x", first, ["a"], 0.0), "1e-60 <= l2 <= l1"),
        (lambda: declared("x", first, ["a"], math.inf), "l1 = inf: must be a finite"),
        (lambda: mean("z", first, -math.inf, 0.0), "statistic z: lower = -inf: must be a finite"),
        (lambda: histogram("z", first, (0.0, 1.0, 0.5)), "statistic z: edges must be two"),
        (lambda: histogram("x", first, [[0.0, 1.0], [2.0, 3.0]]), "edges must be two or more"),  # type: ignore[list-item]
    ],
)
def test_what_cannot_be_is_refused(make: object, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        make()  # type: ignore[operator]


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64, np.float16, np.float32])
def test_bounds_of_any_kind_of_number_are_subtracted_without_overflow_or_rounding(
    kind: type[np.number[Any]],
) -> None:
    info = np.iinfo(kind) if np.issubdtype(kind, np.integer) else None
    low, high = (kind(info.min), kind(info.max)) if info else (kind(-0.1), kind(0.3))
    found = total("x", first, low, high)  # type: ignore[arg-type]
    assert type(found.lower) is type(found.upper) is float
    assert found.unit("replace") == float(high) - float(low)
    assert found.unit("add-remove") == max(abs(float(low)), abs(float(high)))


@pytest.mark.parametrize(
    "statistic",
    [
        mean("x", lambda records: records[..., 0].mean(axis=-1), 0.0, 1.0),
        declared("x", lambda records: records, ["a"], 1.0),
    ],
)
def test_arrays_of_another_shape_are_refused(statistic: OwnStatistic) -> None:
    with pytest.raises(ValueError, match=r"statistic x: .* it must be"):
        statistic.numbers(RECORDS, "replace")
