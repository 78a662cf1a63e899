"""No number and no word of a study moves: the commands of ``commands.txt`` give what is kept."""

from __future__ import annotations

import copy
import functools
import json
from typing import Any

import pandas as pd
import pytest

from abcdp_core import experiments, simulators
from tests.reference import kept
from tests.reference.commands import Made, commands, computed
from tests.reference.kept import Kept

COMMANDS = {command.name: command for command in commands()}


@pytest.mark.parametrize("name", COMMANDS)
def test_what_a_study_gives_is_what_is_kept(name: str) -> None:
    command = COMMANDS[name]
    now = kept.thinned(computed(command))
    assert list(kept.differences(command.experiment, kept.load(command), now)) == []


def test_every_study_and_scenario_is_there_and_no_file_is_left_over() -> None:
    assert {command.experiment for command in COMMANDS.values()} == set(experiments.names())
    for part in kept.PARTS:
        assert {file.stem for file in (kept.KEPT / part).iterdir()} == set(COMMANDS)
    scenarios = {command.settings.get("scenario") for command in COMMANDS.values()}
    assert set(simulators.names()) - {"uniform-mixture"} <= scenarios


# ------------------------------------------------------ what would be noticed


@functools.cache
def made() -> Made:
    """A table longer than what is kept of one, words and a figure."""
    size = 3 * kept.ROWS
    values = [1.0 / (1 + row) - 0.03 for row in range(size)]
    values[5] = float("nan")
    names = ["ours", "theirs"] * (size // 2)
    table = pd.DataFrame({"mechanism": names, "value": values, "count": range(size)})
    shape = {"x": list(range(size)), "hovertext": [f"at {value}" for value in values], "name": "a"}
    layout = {"title": {"text": "A title"}, "xaxis": {"range": [0.0, 2.5], "type": "log"}}
    figure = json.dumps({"data": [shape], "layout": layout})
    return Made({"main": table}, {"summary": "All is well."}, {"main": figure})


def found(now: Made, then: Kept | None = None, experiment: str = "accounting") -> list[str]:
    return list(kept.differences(experiment, then or kept.thinned(made()), kept.thinned(now)))


def with_table(table: pd.DataFrame, name: str = "main") -> Made:
    return Made({name: table}, made().words, made().figures)


def with_figure(**properties: Any) -> Made:
    figure = json.loads(made().figures["main"])
    figure["data"][0] |= properties
    return Made(made().tables, made().words, {"main": json.dumps(figure)})


def changed(column: str, row: int, value: object) -> Made:
    table = made().tables["main"].copy()
    table.loc[row, column] = value
    return with_table(table)


def test_what_is_kept_reads_back_and_the_last_bits_may_differ() -> None:
    assert found(made()) == []
    table = made().tables["main"]
    assert found(with_table(table.assign(value=table["value"] * (1 + 1e-11)))) == []


@pytest.mark.parametrize("row", [0, 1, 2, 3, 59], ids="row {}".format)
def test_a_changed_digit_is_noticed_in_rows_kept_and_not_kept(row: int) -> None:
    value = made().tables["main"]["value"]
    # Seen in the row itself if that is kept, otherwise in the sum.
    step = 1e-8 * value.abs().sum()
    assert len(found(changed("value", row, value[row] + step))) == 1
    assert len(found(changed("count", row, 1000))) == 1
    assert found(changed("mechanism", row, "nobody's"))


def test_a_changed_digit_of_a_file_is_noticed() -> None:
    then = copy.deepcopy(kept.thinned(made()))
    then["tables"]["main.value"]["some"][-1] *= 1 + 3e-9
    assert len(found(made(), then)) == 1


def test_missing_new_and_reordered_things_are_noticed() -> None:
    table = made().tables["main"]
    for other in (
        with_table(table, "other"),
        with_table(table.drop(columns="count")),
        with_table(table[:-1]),
        with_table(table.assign(count="many")),
        with_table(table.assign(extra=1)),
        with_table(table[::-1].reset_index(drop=True)),
        Made(made().tables, {"summary": "All is not well."}, made().figures),
        Made(made().tables, made().words, {}),
        with_figure(name="b"),
        with_figure(x=list(range(1, 1 + 3 * kept.ROWS))),
        with_figure(hovertext=["at last"] * (3 * kept.ROWS)),
        with_figure(color="#000000"),
    ):
        assert found(other)
