"""The commands that list, run and plan: what they print and write, and plug-ins."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pandas as pd
import pytest

from abcdp_core import studies
from abcdp_core.__main__ import COMMANDS, main, parser_of
from abcdp_core.cli import arguments
from abcdp_core.cli.run import chosen_params
from abcdp_core.publish.output import files
from abcdp_core.publish.output.page import LIBRARY
from abcdp_core.publish.output.settings import command_of
from tests import toy_experiment

pytestmark = pytest.mark.usefixtures("no_plug_ins_left")


@pytest.mark.parametrize("name", studies.names())
def test_list_says_all_that_can_be_set_and_commands_set_it(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["list", name]) == 0
    printed = capsys.readouterr().out
    words = " ".join(printed.split())
    experiment = studies.load(name)
    for key, text in experiment.Params().to_text().items():
        assert f" {key} = {text}\n" in printed
    for parameter in experiment.Params.specification().values():
        assert " ".join(parameter.allowed().split()) in words
        assert " ".join(parameter.help.split()) in words
    for columns in experiment.COLUMNS.values():
        assert ", ".join(columns) in words
    assert all(len(line) <= 200 for line in printed.splitlines())
    for preset, params in {"": experiment.Params(), **experiment.PRESETS}.items():
        assert f"  {preset}: " in printed or not preset
        command = shlex.split(command_of(name, params, 2**63 - 1))[1:]
        options = parser_of("run").parse_args(command)
        assert options.experiment == name
        assert chosen_params(experiment, options.preset, options.settings) == params
        assert arguments.seed(options.seed) == 2**63 - 1


def test_run_writes_what_it_says_and_its_command_makes_the_same_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = Path("new", "folder")
    small = ["--set", "pool_size=50", "--set", "n=10", "--set", "c=3", "--seed", "7"]
    assert main(["run", "posterior", *small, "--workers", "1", "--out", str(folder)]) == 0
    printed = capsys.readouterr().out
    settings = json.loads((folder / "posterior.json").read_text(encoding="utf-8"))
    assert settings["summary"] in printed
    assert settings["privacy"] in printed
    written = sorted(str(file) for file in folder.iterdir())
    assert sorted(line.strip() for line in printed.splitlines() if str(folder) in line) == written
    assert {Path(file).name for file in written} == {
        "posterior.csv", "posterior.decisions.csv", "posterior.errors.csv", "posterior.json",
        "posterior.posterior.html", "posterior.decisions.html", LIBRARY,
    }  # fmt: skip
    assert (settings["seed"], settings["partial"]) == (7, False)
    first = files.read(folder, "posterior")
    program, *command = shlex.split(command_of("posterior", first.params, first.seed))
    assert program == "abcdp"
    assert main([*command, "--workers", "1"]) == 0
    again = files.read(Path("results", "posterior"), "posterior")
    for name in first.tables:
        pd.testing.assert_frame_equal(again.tables[name], first.tables[name], check_exact=True)


PLAN = (
    "plan uniform-mixture --n 120 --pool-size 60 --runs 2 --workers 1 --mechanism "
    "sparse-vector,noisy-counts --error-below 0.001 --probability 0.9 --metric mae --out out"
)


def test_it_ranks_mechanisms_judges_a_goal_and_writes_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(PLAN.split()) == 0
    printed = capsys.readouterr().out
    lines = [line.split() for line in printed.splitlines()]
    ranks = [line[0] for line in lines if line and line[-1] in ("yes", "no")]
    assert sorted(ranks) == ["noisy-counts", "sparse-vector"]
    assert "N = 120, ε_total = " in printed
    assert "Ranked by mean absolute error that 90 % of releases keep" in printed
    assert "No mechanism is predicted to meet the goal" in " ".join(printed.split())
    saved = json.loads(Path("out", "plan.json").read_text(encoding="utf-8"))
    assert saved["parameters"]["goal"] == "error-below"
    assert {file.name for file in Path("out").iterdir()} >= {"plan.csv", "plan.plan.html"}


def test_a_setting_wins_over_the_preset() -> None:
    assert chosen_params(studies.load("mse-curves"), "p21-figure-3", ["runs=7"]).to_text() == (
        studies.load("mse-curves").PRESETS["p21-figure-3"].to_text() | {"runs": "7"}
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main([command, "--help"])
    assert left.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: abcdp {command} ")


PLUG_INS = {
    "raise OSError('two\\nlines')": "OSError: two lines",
    "import sys\nsys.exit(0)": "cannot be loaded (line 2: SystemExit: 0)",
    "x = 1": "has none of SCENARIO, MECHANISMS, EXPERIMENT",
    "SCENARIO = 'covid'": "two plug-ins are called 'covid'",
    "import dataclasses as d\n"
    "from abcdp_core.mechanisms import sparse_vector as s\n"
    "MECHANISMS = (d.replace(s.MECHANISMS[0]),)": "two mechanisms are called 'sparse-vector'",
    "EXPERIMENT = 'e'; TITLE = ''; Params = 3; PRESETS = COLUMNS = {}\n"
    "tasks = work = collect = figures = print": "Params must be a subclass",
    "EXPERIMENT = 'half'; TITLE = ''": "lacks Params, PRESETS, COLUMNS, tasks, work, collect",
}


def test_a_plug_in_that_does_not_load_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, (text, words) in enumerate(PLUG_INS.items()):
        file = tmp_path / f"plug{number}.py"
        file.write_text(text, encoding="utf-8")
        assert main(["run", "posterior", f"--plugin={file}", "--out", str(tmp_path / "out")]) == 2
        said = capsys.readouterr().err
        assert said.startswith(f"error: plugin = {file}: ")
        assert said.count("\n") == 1
        assert words in said


def test_several_plug_ins_are_listed_by_names_of_their_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = Path(toy_experiment.__file__).read_text(encoding="utf-8")
    files = [tmp_path / name for name in ("one.py", "two.py", "other/one.py")]
    for file in files:
        file.parent.mkdir(exist_ok=True)
        file.write_text(text.replace('EXPERIMENT = "toy"', f'EXPERIMENT = "{file.stem}"'), "utf-8")
    added = [f"--plugin={file}" for file in files]
    assert main(["list", *added[:2]]) == 0
    assert {"one", "two"} <= {line.split()[0] for line in capsys.readouterr().out.splitlines()}
    assert main(["list", added[0], added[2]]) == 2
    said = f"error: plugin = {files[2]}: another plug-in has this file name; rename it.\n"
    assert capsys.readouterr().err == said
