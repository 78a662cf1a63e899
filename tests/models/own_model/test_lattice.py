"""Exact whole numbers of records: their sensitivity, and contributions of one record alone."""

from __future__ import annotations

import contextlib
import dataclasses
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from abcdp_core.base.arrays import Array
from abcdp_core.models.own_model import Column, Model, count, declared, histogram, mean, total
from abcdp_core.models.own_model.lattice import FARTHEST, GRID, on_lattice, sensitivity
from abcdp_core.models.own_model.model_table import of_model, summaries_of
from abcdp_core.models.own_model.pool_table import ROUNDINGS, of_pool, scenario_of
from abcdp_core.models.own_model.reading import read
from abcdp_core.models.own_model.statistics import OwnStatistic, Summary
from abcdp_core.models.own_model.user_errors import OwnError
from tests.models.own_model import pools
from tests.models.own_model.models import changed, first, simulate

LOW, HIGH = -0.1, 0.3
EXTREMES = (LOW, HIGH, np.nextafter(LOW, 1.0), np.nextafter(HIGH, -1.0), -1e300, 1e300, 5e-324,
            -0.0, 0.0, 0.1)  # fmt: skip

STATISTICS = (
    mean("m", first, LOW, HIGH),
    total("t", first, LOW, HIGH),
    count("c", lambda records: records[..., 0] > 0.0),
    histogram("h", first, (-9.0, 0.0, 1.0, 9.0)),
)


def model(*statistics: OwnStatistic, **given: Any) -> Model:
    wide = {"columns": (Column("x", -8.0, 8.0),), "sizes": (20,), "file": "test_lattice.py"}
    return changed(**wide | {"statistics": statistics or STATISTICS} | given)


ADDED = STATISTICS[1:]


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
def test_a_contribution_is_a_whole_number_within_the_proof(neighbours: str) -> None:
    """Also at the bounds, next to them and far beyond."""
    for low, high in ((LOW, HIGH), (0.1, 0.3), (-0.3, -0.1), (0.0, 5e-324), (-1e16, 1e16 + 2.0)):
        each = Summary("s", "sum", low, high)
        values = np.array([*EXTREMES, low, high])
        whole = on_lattice(each, values, neighbours)
        assert whole.dtype == np.int64
        if neighbours == "replace":
            assert whole.min() == 0
            assert whole.max() == GRID
        else:
            assert np.abs(whole).max() == GRID


def test_sensitivities_add_up_exactly() -> None:
    summaries = summaries_of(model())
    assert sensitivity(summaries, "replace", 0, 0) == 5.0
    assert sensitivity(summaries_of(model(*ADDED)), "add-remove", 0, 0) == 3.0
    # Two numbers are rounded as a whole, each by half a step on either side.
    stated = (Summary("a", "declared"), Summary("b", "declared"))
    exact = Fraction(1) + Fraction(4, GRID)
    assert Fraction(sensitivity(stated, "replace", 1, 2)) == exact
    third = sensitivity(stated, "replace", Fraction(1, 3), 0)
    assert Fraction(third) > Fraction(1, 3)
    # A record that leaves the only cell of a group enters no other.
    single = (Summary("a", "count", group="g"),)
    assert [sensitivity(single, each, 0, 0) for each in ("replace", "add-remove")] == [1.0, 1.0]


@pytest.mark.parametrize(("neighbours", "own"), [("replace", STATISTICS), ("add-remove", ADDED)])
def test_no_neighbours_differ_by_more_than_the_sensitivity(
    neighbours: Any, own: tuple[OwnStatistic, ...]
) -> None:
    found = of_model(model(*own, neighbours=neighbours)).statistic
    records = np.array(EXTREMES)[:, None]
    others = [*EXTREMES, 9.0, -9.0]
    here = np.array(found.whole_of(records))
    moved = []
    for place in range(len(records)):
        for value in others if neighbours == "replace" else (np.nan,):
            neighbour = records.copy()
            neighbour[place] = value
            change = (here - np.array(found.whole_of(neighbour))) / np.array(found.whole)
            moved.append(np.abs(change).sum())
    assert max(moved) <= found.l1(len(records))
    assert max(moved) > 0.9 * found.l1(len(records))


def test_records_are_clipped_to_the_public_bounds() -> None:
    largest = declared("largest", lambda records: first(records).max(-1), ("largest",), 16.0)
    found = of_model(model(total("t", first, -20.0, 20.0), largest)).statistic
    beyond, at = np.full((20, 1), 100.0), np.full((20, 1), 8.0)
    # In steps of 40, from -20: 20 records of 28 steps in 40; and 8 of 16.
    assert found.whole_of(beyond) == found.whole_of(at) == [20 * round(0.7 * GRID), GRID // 2]
    assert found.reduce(beyond[None]).tolist() == found.reduce(at[None]).tolist()


def test_simulated_and_private_records_have_the_same_numbers() -> None:
    """Counts exactly; the last step of a sum may depend on how many are computed at once."""
    for own, neighbours in ((STATISTICS, "replace"), (ADDED, "add-remove")):
        data = simulate(np.random.default_rng(1), np.array([[0.1], [-0.4]]), 20)
        if neighbours == "add-remove":
            data[:, 13:] = np.nan
        found = of_model(model(*own, neighbours=neighbours)).statistic
        together = found.reduce(data) * np.array(found.whole)
        alone = np.array([found.whole_of(each) for each in data])
        assert np.abs(together - alone).max() <= data.shape[1]
        assert (np.array(found.low) <= together).all()
        assert (together <= np.array(found.high)).all()


def test_a_function_of_other_records_never_sees_private_ones() -> None:
    centred = mean("m", lambda records: first(records) - first(records).mean(), LOW, HIGH)
    # The mean of a single record is the record, so all contributions are 0.
    records = np.array(EXTREMES)[:, None]
    found = of_model(model(centred)).statistic
    assert found.whole_of(records) == found.whole_of(records * 0.0)


@pytest.mark.parametrize(("steps", "refused"), [(-2, True), (-1, False), (1, False), (2, True)])
def test_a_single_record_may_differ_by_one_step(steps: int, refused: bool) -> None:
    def moved(records: Array) -> Array:
        """Change some contributions if there are other records."""
        alone = records.shape[-2] == 1
        return np.where(alone | (first(records) < 0.0), 0.25, 0.25 + steps / GRID)

    with pytest.raises(OwnError, match="depends on") if refused else contextlib.nullcontext():
        of_model(model(mean("m", moved, 0.0, 1.0))).check(20, 1)


def odd(records: Array) -> Array:
    return np.where(first(records) > 0.1, np.nan, 0.0)


def spoilt(records: Array) -> Array:
    raise ValueError(f"cannot use {records}")


def several(records: Array) -> Array:
    return np.ones((*records.shape[:-1], 2))


@pytest.mark.parametrize(
    ("own", "words"),
    [
        (mean("m", odd, LOW, HIGH), r"statistic m of record 5 is NaN or infinite; nothing was rel"),
        (
            mean("m", spoilt, LOW, HIGH),
            r"statistic m of record 1 cannot be computed \(line \d+: ValueError\); nothing was rel",
        ),
        (
            OwnStatistic("h", ("a", "b"), "histogram", several),
            "statistic h counts a record in several cells",
        ),
    ],
)
def test_an_error_on_private_records_shows_no_value(own: OwnStatistic, words: str) -> None:
    records = np.full((20, 1), -0.05)
    records[4] = 0.123
    with pytest.raises(OwnError, match=rf"^test_lattice\.py: {words}") as raised:
        of_model(model(own)).statistic.whole_of(records)
    assert "0.05" not in str(raised.value)
    assert "0.123" not in str(raised.value)
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__ == ("ValueError" in words)


def test_the_sensitivity_of_a_declared_number_includes_rounding() -> None:
    def spread(records: Array) -> Array:
        return (first(records).max(-1) - first(records).min(-1))[..., None]

    here = of_model(model(declared("spread", spread, ("spread",), 16.0)))
    assert here.declared == ("spread",)
    assert here.statistic.l1(20) == 1.0 + 2.0 / GRID
    assert "if the sensitivity declared for spread holds" in here.statistic.unit
    one, other = (np.linspace(-8.0, end, 20)[:, None] for end in (8.0, -8.0))
    (first_number,), (second,) = (here.statistic.whole_of(each) for each in (one, other))
    assert first_number - second == GRID


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_declared_numbers_are_limited_to_the_farthest_place(sign: float, tmp_path: Path) -> None:
    far = declared("far", lambda records: first(records).sum(-1), ("far",), 1.0)
    found = of_model(model(far, columns=(Column("x", -1e9, 1e9),))).statistic
    data = np.zeros((3, 20, 1))
    data[:, 0] = sign * FARTHEST
    assert found.reduce(data).tolist() == [[sign * FARTHEST]] * 3
    with pytest.raises(OwnError, match="statistic far exceeds 1,048,576 times its sensitivity"):
        found.reduce(1.5 * data)
    # Private numbers are clipped silently.
    assert found.whole_of(1.5 * data[0]) == [sign * FARTHEST * GRID]
    # Likewise in one row of a pool.
    pool = read(pools.made(tmp_path, pools.DECLARED))
    pool.numbers[3, 0] = sign * FARTHEST
    of_pool(pool)
    pool.numbers[3, 0] = sign * 1.5 * FARTHEST
    with pytest.raises(OwnError, match=r"summary\.average: exceeds"):
        of_pool(pool)


def test_contributions_to_a_pool_are_clipped_to_its_bounds(tmp_path: Path) -> None:
    average = np.linspace(-9.0, 9.0, 50)
    young, old = np.arange(50) < 10, np.arange(50) >= 40
    data = np.column_stack([average, young, old, np.full(50, 3.0)])
    found = of_pool(read(pools.made(tmp_path))).statistic
    private = np.array(found.whole_of(data)) / np.array(found.whole)
    within = np.clip(average, -4.0, 4.0)
    half_steps = 50 / 2 / GRID
    expected = [((within + 4.0) / 8.0).sum(), 10.0, 10.0, 15.0]
    assert private == pytest.approx(expected, abs=half_steps)
    # Where records are added, ten absent ones contribute nothing.
    data[:10] = np.nan
    found = of_pool(read(pools.made(tmp_path, pools.ADDED))).statistic
    private = np.array(found.whole_of(data)) / np.array(found.whole)
    expected = [within[10:].sum() / 4.0, 0.0, 10.0, 12.0]
    assert private == pytest.approx(expected, abs=half_steps)


@pytest.mark.parametrize("kind", ["mean", "sum"])
def test_rounding_moves_a_number_of_a_file_by_at_most_the_stated_margin(
    kind: str, tmp_path: Path
) -> None:
    """Far from 0, a mean is rounded by a fraction of a record, which the margin covers."""
    n, low, high = 1001, 1e10, 1e10 + 0.3
    toml = pools.TOML.replace("n = 50", f"n = {n}").replace('kind = "sum"', "sensitivity = 1.0")
    toml = toml.replace("lower = 0.0\nupper = 10.0", "").replace('"mean"', f'"{kind}"')
    toml = toml.replace("lower = -4.0\nupper = 4.0", f"lower = {low!r}\nupper = {high!r}")
    # Sums with one more record at its upper bound each, as floating-point numbers in a file.
    totals = [n * Fraction(low) + k * (Fraction(high) - Fraction(low)) for k in range(n + 1)]
    given = [float(each / n if kind == "mean" else each) for each in totals]
    table = pools.table().assign(**{"summary.average": given[:200]})
    found = of_pool(read(pools.made(tmp_path, toml, table))).statistic
    more = found.l1(n) - 4.0
    numbers = [found.whole_of(np.array([[each, 3.0, 4.0, 5.0]]))[0] for each in given]
    assert 1.002 < np.abs(np.diff(numbers)).max() / GRID <= 1.0 + more < 1.1
    far = toml.replace(repr(low), repr(1e14)).replace(repr(high), repr(1e14 + 0.3))
    table = table.assign(**{"summary.average": np.array(given[:200]) * 1e4})
    with pytest.raises(OwnError, match=r"summary\.average: the bounds are so far from 0"):
        of_pool(read(pools.made(tmp_path, far, table)))


def test_declared_numbers_are_clipped_and_rounded_as_a_whole(tmp_path: Path) -> None:
    pool = read(pools.made(tmp_path, pools.DECLARED))
    table = of_pool(pool)
    assert (table.is_of_numbers, table.sizes, table.bounds) == (True, (1, 1), "")
    # A group of two counts, two other numbers with half a step on either side, and the rounding of
    # a sum of 50 numbers from 0 to 10.
    assert Fraction(table.statistic.l1(50)) == 4 + Fraction(4, GRID) + 50 * ROUNDINGS
    row = np.array([[1e9, 99.0, -1.0, 1e9]])
    assert table.statistic.whole_of(row) == [FARTHEST * GRID, 50, 0, 50 * GRID]
    assert table.statistic.whole_of(-row)[0] == -FARTHEST * GRID
    # A sensitivity declared for all numbers replaces their units.
    single = dataclasses.replace(
        pool, summaries=pool.summaries[:1], numbers=pool.numbers[:, :1], declared=(3.0, 2.0)
    )
    assert Fraction(of_pool(single).statistic.l1(50)) == 3 + Fraction(2, GRID)
    assert scenario_of(single).own_data == "one number of 50 records"
