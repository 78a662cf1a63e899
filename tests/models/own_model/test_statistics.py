"""Numbers of records: their values in units, and their sensitivity to one record."""

from __future__ import annotations

import math

import numpy as np
import pytest

from abcdp_core.models.own_model import Column, count, declared, histogram, mean, model_table, total
from abcdp_core.models.own_model.statistics import ROUNDING, OwnStatistic, Summary
from tests.models.own_model.models import changed, first

RECORDS = np.array([[1.0, 0.0], [3.0, 5.0], [9.0, -5.0]])

COUNT = count("large", lambda records: records[..., 0] > 2.0)
HISTOGRAM = histogram("first", first, (0.0, 2.0, 4.0, 10.0))
MEAN, SUM = mean("first", first, 1.0, 5.0), total("first", first, -2.0, 5.0)

EVERY = [
    (COUNT, "replace", [2.0]),
    (COUNT, "add-remove", [2.0]),
    (HISTOGRAM, "replace", [1.0, 1.0, 1.0]),
    (HISTOGRAM, "add-remove", [1.0, 1.0, 1.0]),
    # (0 + 2 + 4) / 4: above the lower bound, in ranges.
    (MEAN, "replace", [1.5]),
    # (3 + 5 + 7) / 7 and (1 + 3 + 5) / 5.
    (SUM, "replace", [15.0 / 7.0]),
    (SUM, "add-remove", [9.0 / 5.0]),
]
"""Statistics, which files are neighbors, and the numbers of the records in units."""


def numbers(statistic: OwnStatistic, records: np.ndarray, neighbours: str) -> np.ndarray:
    """Numbers in units, as a model computes them."""
    columns = tuple(Column(str(j), -200.0, 200.0) for j in range(records.shape[-1]))
    given = {"neighbours": neighbours, "columns": columns, "sizes": (len(records),)}
    return model_table.numbers(changed(statistics=(statistic,), **given), records)


@pytest.mark.parametrize(("statistic", "neighbours", "expected"), EVERY)
def test_a_number_is_in_units_of_its_sensitivity_which_the_worst_record_reaches(
    statistic: OwnStatistic, neighbours: str, expected: list[float]
) -> None:
    assert numbers(statistic, RECORDS, neighbours) == pytest.approx(expected)
    stacked = np.stack([RECORDS, RECORDS[::-1]])
    assert numbers(statistic, stacked, neighbours) == pytest.approx(np.array([expected] * 2))
    candidates = [np.array([place, 0.0]) for place in (-100.0, 0.0, 1.0, 3.0, 5.0, 9.0, 100.0)]
    if neighbours == "add-remove":
        candidates.append(np.full(2, np.nan))
    data = np.stack([np.concatenate([RECORDS, one[None]]) for one in candidates])
    found = numbers(statistic, data, neighbours)
    pairs = found[:, None] - found[None]
    if neighbours == "add-remove":
        pairs = pairs[-1:]
    l1, l2 = statistic.moves(neighbours)
    moved = np.abs(pairs).sum(axis=-1).max(), np.linalg.norm(pairs, axis=-1).max()
    assert moved == pytest.approx((l1, l2))
    assert moved <= (l1, l2)
    if statistic in (MEAN, SUM):
        assert l1 > 1.0 + ROUNDING / 2.0


def test_cells_include_the_lower_edge_and_the_last_cell_both() -> None:
    edges = np.array([0.0, 1.0, 2.0])
    cells = histogram("x", first, edges.view())  # type: ignore[arg-type]
    edges += 1.0
    assert cells.names == ("x 0 to 1", "x 1 to 2")
    records = np.array([[0.0], [1.0], [2.0], [2.1], [-0.1]])
    assert numbers(cells, records, "replace").tolist() == [1.0, 2.0]
    assert histogram("x", first, (0.0, 1.0)).moves("replace") == (1.0, 1.0)
    names = histogram("x", first, (0.5, 1e7 + 1, 1e7 + 2, 1e9)).names
    assert names == ("x 0.5 to 10000001", "x 10000001 to 10000002", "x 10000002 to 1e+09")


def test_a_declared_number_is_in_units_of_its_l1_sensitivity() -> None:
    largest = declared("largest", lambda records: records[..., 0].max(axis=-1), ["largest"], 20.0)
    assert numbers(largest, RECORDS, "replace") == pytest.approx([9.0 / 20.0])
    assert largest.moves("replace") == (1.0 + ROUNDING, 1.0 + ROUNDING)
    two = declared("ends", lambda records: records[..., 0, :], ["a", "b"], 3.0, math.sqrt(5.0))
    assert two.moves("replace")[1] == pytest.approx(math.sqrt(5.0) / 3.0)
    assert declared("least", first, ["a"], 1e-60).l1 == 1e-60


def test_bounds_of_small_number_types_do_not_overflow() -> None:
    found = total("x", first, np.int8(-128), np.int8(127))  # type: ignore[arg-type]
    (summary,) = found.summaries()
    assert [summary.unit(each, 20) for each in ("replace", "add-remove")] == [255.0, 128.0]


@pytest.mark.parametrize(
    ("summary", "neighbours", "limits"),
    [
        (Summary("a", "declared", sensitivity=0.3), "replace", (-math.inf, math.inf)),
        (Summary("a", "count"), "replace", (0.0, 20.0)),
        (Summary("a", "count"), "add-remove", (0.0, math.inf)),
        (Summary("a", "mean", -1.0, 3.0), "replace", (-1.0, 3.0)),
        (Summary("a", "sum", -1.0, 3.0), "replace", (-20.0, 60.0)),
        (Summary("a", "sum", -1.0, 3.0), "add-remove", (-math.inf, math.inf)),
        (Summary("a", "sum", 0.5, 0.7), "add-remove", (0.0, math.inf)),
        (Summary("a", "sum", -0.5, 0.0), "add-remove", (-math.inf, 0.0)),
    ],
)
def test_numbers_have_limits_and_can_be_converted_to_units_and_back(
    summary: Summary, neighbours: str, limits: tuple[float, float]
) -> None:
    assert summary.limits(neighbours, 20) == limits
    values = np.array([0.5, 2.0, 7.0])
    units = summary.in_units(values, neighbours, 20)
    assert summary.natural(units, neighbours, 20) == pytest.approx(values)
    moved = summary.natural(units + 1.0, neighbours, 20) - values
    assert moved == pytest.approx(summary.unit(neighbours, 20))


def test_the_unit_of_a_mean_is_not_a_rounded_difference() -> None:
    assert Summary("a", "mean", 1e12, 1e12 + 1.0).unit("replace", 1000) == 1e-3
