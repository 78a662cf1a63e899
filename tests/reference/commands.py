"""The studies that are run for comparison, and what each of them gives.

``commands.txt`` has those whose results are kept, ``long.txt`` slower ones for comparing two states
of the code on one computer.
"""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from abcdp_core import studies
from abcdp_core.figures import CaptionedFigure
from abcdp_core.run import runner

FOLDER = Path(__file__).parent

SEED = 1

MEASURED = {"seconds": 0.001}
"""Column that holds a measured time -> what stands in for it wherever it appears."""


@dataclass(frozen=True)
class Command:
    """What ``abcdp run`` is asked for: a preset, if any, and settings on top of it."""

    name: str
    experiment: str
    preset: str | None
    settings: Mapping[str, str]


@dataclass(frozen=True)
class Made:
    """What a command gives: tables, summary, privacy and captions, and figures as JSON."""

    tables: Mapping[str, pd.DataFrame]
    words: Mapping[str, str]
    figures: Mapping[str, str]


def commands(file: str = "commands.txt") -> list[Command]:
    """The commands of a file in this folder."""
    lines = (FOLDER / file).read_text(encoding="utf-8").splitlines()
    found = [_command(line) for line in lines if line.strip() and not line.startswith("#")]
    if len({command.name for command in found}) < len(found):
        raise ValueError(f"{file}: two commands have the same name.")
    return found


def _command(line: str) -> Command:
    name, _, rest = line.partition(":")
    experiment, *words = shlex.split(rest)
    preset = None
    if words[:1] == ["--preset"]:
        _, preset, *words = words
    return Command(name.strip(), experiment, preset, dict(word.split("=", 1) for word in words))


def computed(command: Command) -> Made:
    """Run a command."""
    experiment = studies.load(command.experiment)
    base = None if command.preset is None else studies.preset(experiment, command.preset)
    params = experiment.Params.from_text(command.settings, base)
    result = runner.run_to_end(experiment, params, SEED)
    tables = {
        name: table.assign(**{key: MEASURED[key] for key in MEASURED.keys() & {*table.columns}})
        for name, table in result.tables.items()
    }
    drawn: dict[str, CaptionedFigure] = experiment.figures(
        dataclasses.replace(result, tables=tables)
    )
    return Made(
        tables,
        {"summary": result.summary, "privacy": result.privacy}
        | {f"caption of {name}": each.sentence for name, each in drawn.items()},
        {name: each.figure.to_json() for name, each in drawn.items()},
    )
