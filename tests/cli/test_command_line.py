from __future__ import annotations

import errno
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from abcdp_core import runner, studies, workers
from abcdp_core.__main__ import COMMANDS, INTERRUPTED, main, parser_of
from abcdp_core.cli import arguments
from abcdp_core.cli.run import chosen_params
from abcdp_core.output import files
from abcdp_core.output.page import LIBRARY
from abcdp_core.output.settings import command_of
from abcdp_core.results import Result
from tests import toy_experiment

ROOT = Path(__file__).resolve().parents[2]
TOY_FILE = toy_experiment.__file__
POSTERIOR = ["--set", "pool_size=50", "--set", "n=10", "--set", "c=3"]
pytestmark = pytest.mark.usefixtures("no_plug_ins_left")


def run(*arguments: str, out: Path) -> int:
    return main(["run", *arguments, "--workers", "1", "--out", str(out)])


def settings_in(folder: Path, experiment: str) -> dict[str, Any]:
    text = (folder / f"{experiment}.json").read_text(encoding="utf-8")
    settings: dict[str, Any] = json.loads(text)
    return settings


# ----------------------------------------------------------------------- list


@pytest.mark.parametrize("name", studies.names())
def test_list_says_all_that_can_be_set(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", name]) == 0
    printed = capsys.readouterr().out
    words = " ".join(printed.split())
    experiment = studies.load(name)
    for key, text in experiment.Params().to_text().items():
        assert f" {key} = {text}\n" in printed
    for parameter in experiment.Params.specification().values():
        assert " ".join(parameter.allowed().split()) in words
        assert " ".join(parameter.help.split()) in words
    for preset in experiment.PRESETS:
        assert f"  {preset}: " in printed
    for columns in experiment.COLUMNS.values():
        assert ", ".join(columns) in words
    assert all(len(line) <= 200 for line in printed.splitlines())


# ------------------------------------------------------------------------ run


def test_run_writes_what_it_says_and_says_what_it_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("posterior", *POSTERIOR, "--seed", "7", out=tmp_path / "new" / "folder") == 0
    folder = tmp_path / "new" / "folder"
    printed = capsys.readouterr().out
    settings = settings_in(folder, "posterior")
    assert settings["summary"] in printed
    assert settings["privacy"] in printed
    written = sorted(str(file) for file in folder.iterdir())
    assert sorted(line.strip() for line in printed.splitlines() if str(folder) in line) == written
    assert {Path(file).name for file in written} == {
        "posterior.csv", "posterior.decisions.csv", "posterior.errors.csv", "posterior.json",
        "posterior.posterior.html", "posterior.decisions.html", LIBRARY,
    }  # fmt: skip
    assert (settings["seed"], settings["partial"]) == (7, False)


def test_the_command_of_a_result_makes_the_same_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("posterior", *POSTERIOR, "--seed", "3", out=tmp_path) == 0
    first = files.read(tmp_path, "posterior")
    monkeypatch.chdir(tmp_path)
    program, *arguments = shlex.split(command_of("posterior", first.params, first.seed))
    assert program == "abcdp"
    assert main([*arguments, "--workers", "1"]) == 0
    again = files.read(tmp_path / "results" / "posterior", "posterior")
    for name in first.tables:
        pd.testing.assert_frame_equal(again.tables[name], first.tables[name], check_exact=True)


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


@pytest.mark.parametrize("text", PLUG_INS)
def test_a_plug_in_that_does_not_load_is_an_error(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "plug.py"
    file.write_text(text, encoding="utf-8")
    assert run("posterior", "--plugin", str(file), out=tmp_path / "out") == 2
    said = capsys.readouterr().err
    assert said.startswith(f"error: plugin = {file}: ")
    assert said.count("\n") == 1
    assert PLUG_INS[text] in said


def test_several_plug_ins_are_listed_by_names_of_their_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = Path(TOY_FILE).read_text(encoding="utf-8")
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


# ----------------------------------------------------------------- interrupts


def interrupted_after(count: int) -> Any:
    original = runner.run

    def run_some(*arguments: Any) -> Iterator[Result]:
        results = original(*arguments)
        for _ in range(count):
            yield next(results)
        raise KeyboardInterrupt

    return run_some


def test_ctrl_c_writes_what_is_done_and_marks_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(runner, "YIELD_EVERY", 0.0)
    monkeypatch.setattr(runner, "YIELD_SHARE", float("inf"))
    monkeypatch.setattr(runner, "run", interrupted_after(2))
    assert run("toy", "--plugin", TOY_FILE, out=tmp_path) == INTERRUPTED
    settings = settings_in(tmp_path, "toy")
    assert (settings["partial"], settings["done"], settings["total"]) == (True, 2, 5)
    assert len(files.read(tmp_path, "toy").tables["main"]) == 2
    assert "Partial result: 2 of 5 tasks done." in capsys.readouterr().out


def test_ctrl_c_before_anything_is_done_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(runner, "run", interrupted_after(0))
    assert run("toy", "--plugin", TOY_FILE, out=tmp_path) == INTERRUPTED
    said = capsys.readouterr().err
    assert said == "Interrupted; no file was left half-written.\n"
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_other_signals_write_what_is_done_too(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    original, number = runner._link, signal.SIGTERM

    def stopped(outcome: Any) -> Any:
        if outcome["main"]["index"].iloc[0] == 3:
            signal.raise_signal(number)
        return original(outcome)

    monkeypatch.setattr(runner, "_link", stopped)
    before = signal.signal(number, signal.SIG_DFL)
    try:
        # So fast that the last partial result before the signal is the first one.
        assert run("toy", "--plugin", TOY_FILE, out=tmp_path) == 128 + number
    finally:
        signal.signal(number, before)
    settings = settings_in(tmp_path, "toy")
    assert (settings["partial"], settings["done"], settings["total"]) == (True, 3, 5)
    assert settings["run_time_seconds"] > 0
    printed, said = capsys.readouterr()
    assert "Partial result: 3 of 5 tasks done." in printed
    assert said == ""


@pytest.mark.parametrize(
    ("stop", "sentence"),
    [
        (MemoryError(), "not enough memory; try smaller sizes or fewer workers."),
        (workers.LostWorkersError("a worker process was lost"), "a worker process was lost"),
    ],
)
def test_what_gives_out_is_said_in_one_line_after_what_is_done_is_written(
    stop: Exception,
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def give_out(task: Any) -> Any:
        if task.index == 3:
            raise stop
        return toy_experiment.work(task)

    toy = SimpleNamespace(**vars(toy_experiment) | {"work": give_out})
    monkeypatch.setattr(studies, "load", lambda _: toy)
    assert run("toy", out=tmp_path) == 1
    printed, said = capsys.readouterr()
    assert said.startswith("error: ")
    assert sentence in said
    assert said.count("\n") == 1
    assert "Partial result: 3 of 5 tasks done." in printed
    assert settings_in(tmp_path, "toy")["done"] == 3


def test_a_full_disk_is_one_line_and_an_earlier_result_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    assert run("toy", "--plugin", TOY_FILE, "--set", "size=3", out=tmp_path) == 0
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    capsys.readouterr()
    monkeypatch.setattr(os, "fsync", full)
    assert run("toy", "--plugin", TOY_FILE, "--set", "size=4", out=tmp_path) == 2
    assert capsys.readouterr().err == (
        f"error: out = {tmp_path}: must be a folder that can be written (No space left on "
        "device); earlier results there are unchanged.\n"
    )
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no disk that is always full")
@pytest.mark.parametrize(
    ("arguments", "code"), [(["list", "posterior", "--help"], 1), (["list"], 141)]
)
def test_standard_output_that_takes_no_more_is_one_line(arguments: list[str], code: int) -> None:
    if code == 141:
        ours, theirs = os.pipe()
        os.close(ours)
    else:
        theirs = os.open("/dev/full", os.O_WRONLY)
    process = started(*arguments, stdout=theirs, stderr=subprocess.PIPE)
    os.close(theirs)
    _, said = process.communicate(timeout=300)
    assert process.returncode == code
    reason = "Broken pipe" if code == 141 else "No space left on device"
    assert said == f"error: cannot write to standard output ({reason}).\n"


# ------------------------------------------------------------ a real terminal


def started(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "abcdp_core", *arguments]
    return subprocess.Popen(command, cwd=ROOT, text=True, encoding="utf-8", **options)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_with_two_workers_ends_at_once_and_leaves_a_partial_result(tmp_path: Path) -> None:
    store, out = tmp_path / "store", tmp_path / "out"
    process = started(
        "run", "toy", "--plugin", TOY_FILE, "--set", "size=1000", "--set", "pause=0.2",
        "--workers", "2", "--store", str(store), "--out", str(out),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        # Tests started in the background inherit that Ctrl-C is ignored; a terminal's do not.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    deadline = time.monotonic() + 300
    while len(list(store.glob("*.npz"))) < 4:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    # As a terminal does: the workers get it too.
    os.killpg(process.pid, signal.SIGINT)
    printed, said = process.communicate(timeout=60)
    assert process.returncode == INTERRUPTED
    assert "Traceback" not in printed + said
    settings = settings_in(out, "toy")
    assert settings["partial"]
    assert settings["done"] == len(pd.read_csv(out / "toy.csv")) >= 1
    assert f"Partial result: {settings['done']} of 1000" in printed


# -------------------------------------------------------- settings there and back


@pytest.mark.parametrize("name", studies.names())
def test_every_result_s_command_asks_for_its_parameters(name: str) -> None:
    experiment = studies.load(name)
    for params in (experiment.Params(), *experiment.PRESETS.values()):
        command = shlex.split(command_of(name, params, 2**63 - 1))[1:]
        options = parser_of("run").parse_args(command)
        assert options.experiment == name
        assert chosen_params(experiment, options.preset, options.settings) == params
        assert arguments.seed(options.seed) == 2**63 - 1
