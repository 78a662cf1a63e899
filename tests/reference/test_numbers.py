"""No number of a seed moves: the commands of ``commands.txt`` give the tables that are kept."""

from __future__ import annotations

import copy
import functools
from pathlib import Path

import pandas as pd
import pytest

from abcdp_core import experiments
from tests.reference import tables
from tests.reference.tables import Command, Kept, Tables

COMMANDS = {command.name: command for command in tables.commands()}


@pytest.mark.parametrize("name", COMMANDS)
def test_numbers_are_those_that_are_kept(name: str) -> None:
    command = COMMANDS[name]
    assert list(tables.differences(command, tables.load(command), tables.computed(command))) == []


def test_every_experiment_is_there_and_no_file_is_left_over() -> None:
    assert {command.experiment for command in COMMANDS.values()} == set(experiments.names())
    assert {file.stem for file in tables.KEPT.iterdir()} == set(COMMANDS)


# ------------------------------------------------------ what would be noticed

EXAMPLE = Command("example", "accounting", None, {})


@functools.cache
def made() -> Tables:
    """A table longer than what is kept of one."""
    rows = 3 * tables.KEPT_ROWS
    values = [1.0 / (1 + row) - 0.03 for row in range(rows)]
    values[5] = float("nan")
    names = ["ours", "theirs"] * (rows // 2)
    return {"main": pd.DataFrame({"mechanism": names, "value": values, "count": range(rows)})}


def changed(column: str, row: int, value: object) -> Tables:
    table = made()["main"].copy()
    table.loc[row, column] = value
    return {"main": table}


def kept() -> Kept:
    return copy.deepcopy(tables.thinned(made()))


def found(now: Tables, then: Kept | None = None, experiment: str = "accounting") -> list[str]:
    command = Command("example", experiment, None, {})
    return list(tables.differences(command, then or kept(), now))


def test_what_is_kept_reads_back_and_the_last_bits_may_differ() -> None:
    assert found(made()) == []
    table = made()["main"]
    assert found({"main": table.assign(value=table["value"] * (1 + 1e-11))}) == []


@pytest.mark.parametrize("row", [0, 1, 2, 3, 59], ids="row {}".format)
def test_a_changed_digit_is_noticed_in_rows_kept_and_not_kept(row: int) -> None:
    value = made()["main"]["value"]
    # Seen in the row itself if that is kept, otherwise in the sum.
    step = 1e-8 * value.abs().sum()
    assert len(found(changed("value", row, value[row] + step))) == 1
    assert len(found(changed("count", row, 1000))) == 1
    assert found(changed("mechanism", row, "nobody's"), experiment="posterior")


def test_a_changed_digit_of_a_file_is_noticed() -> None:
    then = kept()
    then["main"]["columns"]["value"]["some"][-1] *= 1 + 3e-9
    assert len(found(made(), then)) == 1


def test_missing_things_are_noticed() -> None:
    table = made()["main"]
    assert found({"other": table})
    assert found({"main": table.drop(columns="count")})
    assert found({"main": table[:-1]})
    assert found({"main": table.assign(count="many")})
    assert found({"main": table[::-1].reset_index(drop=True)})


def test_new_columns_and_rows_of_new_mechanisms_are_no_difference() -> None:
    table = made()["main"]
    newcomer = pd.DataFrame({"mechanism": ["newcomer"], "value": [1.0], "count": [7]})
    grown = pd.concat([newcomer, table.assign(extra=1)], ignore_index=True)
    assert found({"main": grown}) == []
    assert found({"main": grown}, experiment="posterior"), "only where new rows may come"


def test_a_column_may_have_its_new_name_only() -> None:
    then = tables.thinned({"main": pd.DataFrame({"ess": [1.5]})})
    assert found({"main": pd.DataFrame({"effective_sample_size": [1.5]})}, then, "soft-abc") == []
    assert found({"main": pd.DataFrame({"effective_sample_size": [1.6]})}, then, "soft-abc")
    assert found({"main": pd.DataFrame({"size": [1.5]})}, then, "soft-abc")


def test_whole_tables_are_compared_to_the_last_bit(tmp_path: Path) -> None:
    tables.write(EXAMPLE, made(), tmp_path)
    assert tables.against(EXAMPLE, made(), tmp_path) == tables.Comparison([], [])
    value = made()["main"]["value"][3]
    assert tables.against(EXAMPLE, changed("value", 3, value * (1 + 3e-16)), tmp_path).differences
    newcomer = pd.DataFrame({"mechanism": ["newcomer"], "value": [1.0], "count": [7]})
    grown = pd.concat([made()["main"], newcomer], ignore_index=True).assign(extra=1)
    assert tables.against(EXAMPLE, {"main": grown}, tmp_path) == tables.Comparison(
        [], ["column main.extra", "1 rows of main"]
    )
