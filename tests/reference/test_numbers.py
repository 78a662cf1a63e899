"""No number and no word of a study moves: the commands of ``commands.txt`` give what is kept."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

from abcdp_core import studies
from abcdp_core.models import simulators
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
    assert {command.experiment for command in COMMANDS.values()} == set(studies.names())
    for part in kept.PARTS:
        assert {file.stem for file in (kept.KEPT / part).iterdir()} == set(COMMANDS)
    scenarios = {command.settings.get("scenario") for command in COMMANDS.values()}
    assert set(simulators.names()) - {"uniform-mixture"} <= scenarios


# ------------------------------------------------------ what would be noticed

SIZE = 3 * kept.ROWS
"""Rows of a table longer than what is kept of one."""

VALUES = np.array([np.nan, *(1.0 / (1 + row) - 0.03 for row in range(1, SIZE))])
MORE = 1e-8 * np.nansum(np.abs(VALUES))
TABLE = pd.DataFrame(
    {"mechanism": ["ours", "theirs"] * (SIZE // 2), "value": VALUES, "count": range(SIZE)}
)
TRACE = {"x": list(range(SIZE)), "hovertext": [f"at {row}" for row in range(SIZE)], "name": "a"}


def made(table: pd.DataFrame = TABLE, words: str = "All is well.", **trace: Any) -> Made:
    layout = {"title": {"text": "A title"}, "xaxis": {"range": [0.0, 2.5], "type": "log"}}
    figure = json.dumps({"data": [TRACE | trace], "layout": layout})
    return Made({"main": table}, {"summary": words}, {"main": figure})


def found(now: Made, then: Kept | None = None) -> list[str]:
    return list(kept.differences("accounting", then or kept.thinned(made()), kept.thinned(now)))


def with_cell(row: int, column: str, value: Any) -> Made:
    """Return results in which one cell differs: seen in its row if that is kept, or in sums."""
    table = TABLE.copy()
    table.loc[row, column] = value
    return made(table)


def test_what_is_kept_reads_back_and_the_last_bits_may_differ() -> None:
    assert found(made()) == []
    assert found(made(TABLE.assign(value=VALUES * (1 + 1e-11)))) == []
    then = kept.thinned(made())
    then["tables"]["main.value"]["some"][-1] *= 1 + 3e-9
    assert len(found(made(), then)) == 1


@pytest.mark.parametrize(
    "other",
    [
        *(with_cell(row, "value", VALUES[row] + MORE) for row in (1, 2, 59)),
        *(with_cell(row, "count", 1000) for row in (1, 2)),
        *(with_cell(row, "mechanism", "nobody's") for row in (1, 2)),
        made(TABLE.drop(columns="count")),
        made(TABLE[:-1]),
        made(TABLE.assign(count="many")),
        made(TABLE.assign(extra=1)),
        made(TABLE[::-1].reset_index(drop=True)),
        made(words="All is not well."),
        Made({"other": TABLE}, made().words, made().figures),
        Made(made().tables, made().words, {}),
        made(name="b"),
        made(x=list(range(1, 1 + SIZE))),
        made(hovertext=["at last"] * SIZE),
        made(color="#000000"),
    ],
)
def test_every_change_is_noticed(other: Made) -> None:
    assert found(other)
