"""A choice of how a file is read has an effect, or is refused before anything is spent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from abcdp_core.__main__ import main
from abcdp_core.base.parameters import ParameterError
from abcdp_core.base.tabular import TableError
from abcdp_core.models.own_model.lattice import RECORDS
from abcdp_core.models.simulators.covid_people import SCENARIO
from abcdp_core.release import columns
from abcdp_core.release.columns import DAYS, LABELS, SIZES, Reading, read
from abcdp_core.release.request import SERIES
from tests.release import small

DATED = {"column": "n", "date": "day"}
CASES = [1 + number % 7 for number in range(29)]


def table(rows: list[tuple[str, Any]]) -> bytes:
    return "\n".join(["day,n", *(f"{day},{n}" for day, n in rows)]).encode()


def day(number: int) -> str:
    return str(np.datetime64("2020-03-01") + number)


def cases(content: bytes, **how: Any) -> list[float]:
    return list(read(content, SCENARIO, DAYS, Reading(**DATED, **how)))


@pytest.mark.parametrize(
    ("kind", "how", "reason"),
    [
        (RECORDS, {"missing": "zero"}, "missing = zero: has no effect on a header and a row"),
        (RECORDS, {"cumulative": True}, "cumulative = yes: has no effect on"),
        (RECORDS, {"column": "x"}, "column = x: has no effect on"),
        (LABELS, {"count": "n"}, "count = n: has no effect on strain labels"),
        (LABELS, {"thousands": ","}, "thousands = ,: has no effect on"),
        (SIZES, {"date": "day"}, "date = day: has no effect on sizes"),
        (SIZES, {"corrections": "drop"}, "corrections = drop: has no effect on"),
        (SERIES, {"corrections": "drop"}, "corrections = drop: has no effect on"),
        (DAYS, {"count": "n"}, "count = n: has no effect on new cases"),
        (DAYS, {"date_format": "%d"}, "date_format = %d: needs --date"),
        (DAYS, {"sum_days": True}, "sum_days = yes: needs --date"),
        (DAYS, {"missing": "zero"}, "missing = zero: needs --date"),
        (DAYS, {"missing": "drop"}, "missing = drop: is for strain labels"),
        (LABELS, {"missing": "zero"}, "missing = zero: is for new cases"),
        (DAYS, {"missing": "carry"}, "missing = carry: is for running totals"),
        (DAYS, DATED | {"missing": "zero", "cumulative": True}, "use --missing carry"),
        (DAYS, {"corrections": "add"}, "corrections = add: needs --sum-days yes"),
    ],
)
def test_a_choice_without_effect_is_refused(kind: str, how: dict[str, Any], reason: str) -> None:
    with pytest.raises(ParameterError, match=reason):
        columns.check_used(kind, Reading(**how))


def test_every_choice_is_used_for_some_kind() -> None:
    assert set().union(*columns.USED.values()) == vars(Reading()).keys()
    assert columns.USED.keys() == columns.WORDS.keys()


def test_the_command_refuses_before_it_opens_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = f"release covid-people --data absent.csv --epsilon-total 1 --out {tmp_path}/r.json"
    for option, said in {
        "--count n": "count = n: has no effect",
        "--unit person": "applies only with --budget",
        "--rows 30": "applies only with --rehearse",
        "--accept-declared-sensitivity": "applies only to a budget",
    }.items():
        assert main(f"{asked} --yes {option}".split()) == 2
        assert said in capsys.readouterr().err


TOTALS = np.cumsum(CASES).tolist()


def test_totals_are_carried_over_days_without_a_number() -> None:
    rows = [(day(i), total) for i, total in enumerate(TOTALS)]
    whole = cases(table(rows), cumulative=True)
    assert whole == CASES[1:]
    absent = cases(table(rows[:4] + rows[5:]), cumulative=True, missing="carry")
    blank = cases(table([*rows[:4], (day(4), ""), *rows[5:]]), cumulative=True, missing="carry")
    assert absent == blank == [*CASES[1:4], 0, CASES[4] + CASES[5], *CASES[6:]]
    with pytest.raises(TableError, match="--missing carry"):
        cases(table(rows[:4] + rows[5:]), cumulative=True)
    with pytest.raises(TableError, match="nothing to carry"):
        cases(table([(day(0), ""), *rows[1:]]), cumulative=True, missing="carry")


def test_rows_of_a_day_are_added_up_if_asked() -> None:
    rows = [(day(i), n) for i, n in enumerate(CASES)]
    with pytest.raises(TableError, match="--sum-days yes"):
        cases(table([*rows, (day(3), 10)]))
    found = cases(table([*rows, (day(3), 10)]), sum_days=True)
    assert found == [*CASES[:3], CASES[3] + 10, *CASES[4:]]


def test_corrections_are_dropped_or_added_but_never_guessed() -> None:
    rows = [*((day(i), n) for i, n in enumerate(CASES)), (day(3), -1)]
    with pytest.raises(TableError, match=r"row 31 is negative.*RKI.*ask the source"):
        cases(table(rows), sum_days=True)
    assert cases(table(rows), sum_days=True, corrections="drop") == CASES
    added = cases(table(rows), sum_days=True, corrections="add")
    assert added == [*CASES[:3], CASES[3] - 1, *CASES[4:]]
    with pytest.raises(TableError, match="Day 1 has a negative sum"):
        cases(table([*rows, (day(0), -5)]), sum_days=True, corrections="add")


@pytest.mark.parametrize(("epsilon_total", "said"), [(0.3333333, "0.3333333"), (0.1, "0.1")])
def test_what_is_spent_is_said_with_all_its_digits(epsilon_total: float, said: str) -> None:
    assert small.numbers(epsilon_total=epsilon_total).spends == f"ε_total = {said}"
