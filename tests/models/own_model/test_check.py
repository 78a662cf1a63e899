"""The command ``check``: its search finds planted wrong sensitivities and no others."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from abcdp_core.__main__ import main
from abcdp_core.cli import check
from abcdp_core.models.own_model import Column, Model, count, declared, examination, histogram
from abcdp_core.models.own_model.examination import ALL, Search
from abcdp_core.models.own_model.statistics import OwnStatistic
from tests.models.own_model.models import (
    ADDED,
    GAUSSIAN,
    MODEL,
    SIR,
    changed,
    first,
    from_example,
    rewritten,
)

SMALL = {
    "gaussian": dataclasses.replace(GAUSSIAN, sizes=(60,)),
    "sir": dataclasses.replace(SIR, sizes=(60,)),
}


def searched(model: Model) -> Search:
    return examination.search(model, examination.simulated(model, model.sizes[0], 1), 1)


@pytest.mark.parametrize("name", SMALL)
def test_derived_sensitivities_hold_and_are_reached(name: str) -> None:
    found = searched(SMALL[name])
    assert all(move.holds for move in found.moves)
    assert [move.name for move in found.moves][-1] == ALL
    for move in found.moves[:-1]:
        assert move.found == pytest.approx(move.claimed)
    assert found.pairs > 1000


def last(records: np.ndarray) -> np.ndarray:
    return records[..., -1]


WRONG: dict[str, OwnStatistic] = {
    # A median jumps between the ends where half of the records are at each.
    "median": declared("m", lambda r: np.median(last(r), axis=-1), ["m"], 1.0),
    # The largest record far above the others.
    "largest": declared("m", lambda r: last(r).max(axis=-1), ["m"], 5.9),
    # A ratio with a count of records as its denominator.
    "ratio": declared(
        "m", lambda r: last(r).sum(axis=-1) / (1.0 + (last(r) > 0.0).sum(axis=-1)), ["m"], 0.5
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
    # The joint claim is exceeded by no more than the wrong one.
    assert by_name[ALL].found[0] <= by_name["m"].found[0] + 1.0


def test_where_records_are_added_a_replaced_one_is_not_a_neighbor() -> None:
    def some(rng: np.random.Generator, theta: np.ndarray, n: int) -> np.ndarray:
        there = rng.random((len(theta), n, 1)) < 0.5
        return np.where(there, theta[:, :1, None], np.nan)

    cells = histogram("value", first, (-3.0, 0.0, 3.0))
    for simulate in (MODEL.simulate, some):
        (move,) = searched(changed(**ADDED | {"statistics": (cells,), "simulate": simulate})).moves
        assert move.claimed == move.found == (1.0, 1.0)


def beyond(rng: np.random.Generator, theta: np.ndarray, n: int) -> np.ndarray:
    return 2.0 + rng.random((len(theta), n, 1)) * 2.0


ODD = count("odd", lambda records: np.rint(first(records)))
ANY = count("any", lambda records: first(records) > -9.0)
AT_BOUNDS = r"\d\d % of simulated values of column value are at or beyond its public bounds"
NO_INFORMATION = "Statistic any is the same in all simulated data sets: it carries no information"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            {"statistics": (ODD,)},
            [r"Count odd \(line \d+\) returns -?\d for a record"],
        ),
        ({"statistics": (ANY,), "simulate": beyond}, [AT_BOUNDS, NO_INFORMATION]),
        (
            {"columns": (Column("code", -3, 3, whole=True),)},
            ["Simulated values of column code are"],
        ),
        ({"statistics": ()}, []),
    ],
)
def test_warnings_name_the_problem(values: dict[str, Any], said: list[str]) -> None:
    model = changed(file=Path(__file__).name, **values)
    words = examination.warnings(model, examination.simulated(model, 10, 1))
    assert len(words) == len(said)
    for word, begins in zip(words, said, strict=True):
        assert re.match(begins, word)


@pytest.fixture
def few_first_draws(own_registry: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "FIRST", 1000)


@pytest.mark.usefixtures("few_first_draws")
def test_a_valid_model_is_reported_with_the_time_for_a_pool(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(from_example(tmp_path))
    assert main(["check", file, "--runs", "0", "--n", "100", "--workers", "2"]) == 0
    said = capsys.readouterr().out
    assert "gaussian-2d): N = 100, reproducible for a given seed." in said
    # A mean over 100 records from -8 to 8.
    assert "xy            0.16 and 0.16  0.16 and 0.16" in said
    assert "all together  5 and 2.236" in said
    assert "no change exceeds its claim. This search is not a proof." in said
    assert "A pool of 2,000 draws is large enough" in said
    assert "; 2,000 take " in said
    assert "The simulator fails at none of 1,000 draws." in said
    next_ = f"\nNext: abcdp plan gaussian-2d --plugin {file} --n 100 "
    assert said.endswith(f"{next_}--epsilon-total 0.2\n")


@pytest.mark.usefixtures("few_first_draws")
def test_the_command_refuses_a_planted_wrong_sensitivity(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    product = 'mean("xy", lambda records: records[..., 0] * records[..., 1], -8.0, 8.0)'
    median = 'declared("xy", lambda r: np.median(r[..., 1], axis=-1), ["m"], 0.1)'
    file = from_example(
        tmp_path,
        (product, median),
        ("own_model import ", "own_model import declared, "),
        ("sizes=(100, 300, 1000, 3000, 10_000)", "sizes=(100,)"),
    )
    assert main(["check", str(file), "--runs", "0"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: my_model.py: statistic xy: changes by 6 and 6 ")
    assert said.endswith("is claimed; no release would be private.\n")


@pytest.mark.usefixtures("few_first_draws")
def test_failed_simulations_are_refused_unless_excluded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fails = ("    y = cor", "    x[mean_x[:, 0] > 1.0] = np.nan\n    y = cor")
    file = from_example(tmp_path, fails)
    line = ["check", str(file), "--runs", "0", "--n", "100"]
    assert main(line) == 2
    said = capsys.readouterr().err
    assert re.search(r"my_model\.py: simulate fails at mean of x = 1\.\d+, .* \(only NaN\)", said)
    assert re.search(r"It fails at 2\d\d of 1,000 draws; failures=\"excluded\" would exclude", said)
    rewritten(file, ("    sizes=", '    failures="excluded",\n    sizes='))
    assert main(line) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert re.search(r"fails at 2\d\d of 1,000 draws; they are excluded\. my_model\.py: sim", said)
