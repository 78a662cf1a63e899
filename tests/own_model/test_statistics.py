"""Numbers of records: what they are, and that no record moves them by more than is stated."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from abcdp_core.own_model import count, declared, histogram, mean, total
from abcdp_core.own_model.statistics import ROUNDING, OwnStatistic, Summary

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
    moved = np.abs(pairs).sum(axis=-1).max(), np.linalg.norm(pairs, axis=-1).max()
    assert moved == pytest.approx((l1, l2))
    assert moved <= (l1, l2)
    # Where something is rounded there is room for that.
    rounded = kind in ("mean", "sum")
    assert (l1 > 1.0 + ROUNDING / 2.0) == (
        rounded or (kind, neighbours) == ("histogram", "replace")
    )


def test_cells_are_named_by_their_edges_and_hold_the_lower_one_and_the_last_both() -> None:
    edges = np.array([0.0, 1.0, 2.0])
    cells = histogram("x", first, edges.view())  # type: ignore[arg-type]
    edges += 1.0
    assert cells.names == ("x 0 to 1", "x 1 to 2")
    records = np.array([[0.0], [1.0], [2.0], [2.1], [-0.1]])
    assert cells.numbers(records, "replace").tolist() == [1.0, 2.0]
    assert histogram("x", first, (0.0, 1.0)).moves("replace") == (1.0, 1.0)
    names = histogram("x", first, (0.5, 1e7 + 1, 1e7 + 2, 1e9)).names
    assert names == ("x 0.5 to 10000001", "x 10000001 to 10000002", "x 10000002 to 1e+09")


def test_a_declared_one_is_in_units_of_its_l1_sensitivity() -> None:
    largest = declared("largest", lambda records: records[..., 0].max(axis=-1), ["largest"], 20.0)
    assert largest.numbers(RECORDS, "replace").tolist() == [9.0 / 20.0]
    assert largest.moves("replace") == (1.0 + ROUNDING, 1.0 + ROUNDING)
    two = declared("ends", lambda records: records[..., 0, :], ["a", "b"], 3.0, math.sqrt(5.0))
    assert two.moves("replace")[1] == pytest.approx(math.sqrt(5.0) / 3.0)
    assert declared("least", first, ["a"], 1e-60).l1 == 1e-60


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: mean("x", first, 2.0, 2.0), "lower = 2 must be below upper = 2"),
        (lambda: mean("x", first, 0.0, math.inf), "statistic x: upper = inf: must be a finite"),
        (lambda: declared("x", first, ["a"], 1e308), r"l1 = 1e\+308: must be a finite number"),
        (lambda: declared("x", first, ["a"], 1.0, 2.0), "l1 = 1, l2 = 2: .* 1e-60 <= l2 <= l1"),
        (lambda: declared("x", first, ["a"], 0.0), "1e-60 <= l2 <= l1"),
        (lambda: histogram("x", first, (1.0, 1.0)), "edges must be two or more rising"),
        (lambda: histogram("y", first, (1.0,)), "statistic y: edges must be two"),
        (lambda: mean("<b>x</b>", first, 0.0, 1.0), "as HTML"),
    ],
)
def test_what_cannot_be_is_refused(make: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        make()


@pytest.mark.parametrize("kind", [np.int8, np.float16])
def test_bounds_of_any_kind_of_number_are_subtracted_without_overflow_or_rounding(
    kind: type[np.number[Any]],
) -> None:
    low, high = (kind(-128), kind(127)) if kind is np.int8 else (kind(-0.1), kind(0.3))
    found = total("x", first, low, high)  # type: ignore[arg-type]
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


@pytest.mark.parametrize(
    ("summary", "neighbours", "limits"),
    [
        (Summary("a", "declared"), "replace", (-math.inf, math.inf)),
        (Summary("a", "count"), "replace", (0.0, 20.0)),
        (Summary("a", "count"), "add-remove", (0.0, math.inf)),
        (Summary("a", "mean", -1.0, 3.0), "replace", (-1.0, 3.0)),
        (Summary("a", "sum", -1.0, 3.0), "replace", (-20.0, 60.0)),
        (Summary("a", "sum", -1.0, 3.0), "add-remove", (-math.inf, math.inf)),
        (Summary("a", "sum", 0.5, 0.7), "add-remove", (0.0, math.inf)),
        (Summary("a", "sum", -0.5, 0.0), "add-remove", (-math.inf, 0.0)),
    ],
)
def test_between_which_a_number_lies_follows_from_kind_and_bounds(
    summary: Summary, neighbours: str, limits: tuple[float, float]
) -> None:
    assert summary.limits(neighbours, 20) == limits


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
@pytest.mark.parametrize(
    "each",
    [
        Summary("a", "count"),
        Summary("a", "mean", -1.0, 8.0),
        Summary("a", "sum", 2.0, 5.0),
        Summary("a", "sum", -7.0, 5.0),
        Summary("a", "declared", sensitivity=0.3),
    ],
)
def test_natural_numbers_are_the_inverse_of_units(each: Summary, neighbours: str) -> None:
    values = np.array([0.5, 2.0, 7.0])
    units = each.in_units(values, neighbours, 20)
    assert each.natural(units, neighbours, 20) == pytest.approx(values)
    moved = each.natural(units + 1.0, neighbours, 20) - values
    assert moved == pytest.approx(each.unit(neighbours, 20))
    # A difference of two means would be off by rounding.
    assert Summary("a", "mean", 1e12, 1e12 + 1.0).unit("replace", 1000) == 1e-3
