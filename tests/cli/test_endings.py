"""However a command ends early: one line says what is done and spent, and no file is half-written.

Ctrl-C, other signals, full disks, lost memory and workers, and an output that nobody reads, at
every step where that makes a difference. The command has a ledger, so what is said to be spent can
be compared with what is.
"""

from __future__ import annotations

import errno
import io
import itertools
import json
import os
import pkgutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from abcdp_core import studies
from abcdp_core.__main__ import INTERRUPTED, main
from abcdp_core.base.places import EXAMPLES
from abcdp_core.publish.output import files
from abcdp_core.release import budget_file, procedure
from abcdp_core.release.noisy_counts import NoisyCountsRequest
from abcdp_core.run.workers import LostWorkersError
from tests import toy_experiment

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")

ROOT = Path(__file__).resolve().parents[2]
TERMINATED = 128 + signal.SIGTERM

RUN = "run toy --workers 1 --out out"
INFER = f"infer {EXAMPLES}/linear_regression.toml --workers 1 --out out"
REPORT = "report made.json --out report.html"
CREATE = "budget create other --epsilon 1 --unit day"
ASKED = (
    "release uniform-mixture --data data.csv --domain 0,30 --mechanism sparse-vector --pool-size "
    "100 --epsilon-total 0.5 --budget income --unit person --out out.json"
)
RELEASE = f"{ASKED} --yes"

WORK = "tests.toy_experiment.work"
SYNC = "os.fsync"


def full() -> OSError:
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def lost() -> LostWorkersError:
    return LostWorkersError("a worker process was lost")


NOTHING = "nothing was released.\n"
NO_HALF = "Interrupted; no file was left half-written.\n"
SPENT = "ε_total = 0.5 is spent; the release is"
UNCHANGED = (
    "error: out = out: must be a folder that can be written (No space left on device); earlier "
    "results there are unchanged.\n"
)
LEDGER = "error: ledger = {ledger}: cannot be written (No space left on device).\n"
OUT = "error: out = {}: cannot be written (No space left on device){}"


@dataclass(frozen=True)
class Ending:
    """A command that does not end well.

    Attributes:
        command: what is typed.
        place: the function where it happens.
        what: makes an error, raised in place of that function; or a signal, raised before it.
        code: the exit code.
        said: everything on standard error.
        nth: the call of the function at which it happens; errors last from then on.
        spent: ε in the ledger when it happens, and in the end.
        done: tasks in the result that is written, or none.
        left: new files.
    """

    command: str
    place: str
    what: Callable[[], BaseException] | signal.Signals
    code: int
    said: str
    nth: int = 1
    spent: tuple[str, str] = ("0", "0")
    done: int | None = None
    left: tuple[str, ...] = ()

    def __str__(self) -> str:
        what = self.what.name if isinstance(self.what, signal.Signals) else self.what.__name__
        return f"{self.command.split()[0]}, {what} at call {self.nth} of {self.place}"


CTRL_C, TERM = KeyboardInterrupt, signal.SIGTERM
TAKEN_BACK, KEPT = ("0.5", "0"), ("0.5", "0.5")
POOL, DRAW = "abcdp_core.models.pool.build", "abcdp_core.release.sparse_vector.release_exactly"
SUMMARY = "abcdp_core.release.sparse_vector.SparseVectorRecord.summary"

ENDINGS = [
    Ending(RUN, WORK, CTRL_C, INTERRUPTED, NO_HALF),
    Ending(RUN, WORK, CTRL_C, INTERRUPTED, "", nth=3, done=2),
    Ending(RUN, WORK, TERM, TERMINATED, "", nth=4, done=3),
    Ending(RUN, WORK, MemoryError, 1,
           "error: not enough memory; try smaller sizes or fewer workers.\n", nth=4, done=3),
    Ending(RUN, WORK, lost, 1, "error: a worker process was lost\n", nth=4, done=3),
    Ending(RUN, SYNC, full, 2, UNCHANGED),
    Ending(INFER, "abcdp_core.posterior.rounds.simulate", CTRL_C, INTERRUPTED, NO_HALF),
    Ending("infer pool.toml --workers 1 --out out", SYNC, full, 2, UNCHANGED),
    Ending(REPORT, "abcdp_core.release.report.page", CTRL_C, INTERRUPTED, NO_HALF),
    Ending(REPORT, SYNC, full, 2, OUT.format("report.html", ".\n")),
    Ending(CREATE, SYNC, full, 2, LEDGER),
    # The cost is on the disk before the data are read, and given back if nothing was drawn.
    Ending(ASKED, "abcdp_core.base.tabular.content_of", CTRL_C, INTERRUPTED,
           f"Interrupted; {NOTHING}", spent=TAKEN_BACK),
    Ending(ASKED, "builtins.input", CTRL_C, INTERRUPTED, f"Interrupted; {NOTHING}",
           spent=TAKEN_BACK),
    Ending(RELEASE, POOL, TERM, TERMINATED, f"Terminated; {NOTHING}", spent=TAKEN_BACK),
    Ending(RELEASE, POOL, MemoryError, 1,
           f"error: not enough memory; try smaller sizes or fewer workers; {NOTHING}",
           spent=TAKEN_BACK),
    # A signal waits from before the noise until the file is there.
    *(
        Ending(RELEASE, place, TERM, TERMINATED, f"Terminated; {SPENT} in out.json.\n",
               spent=KEPT, left=("out.json",))
        for place in (DRAW, "os.link", SUMMARY)
    ),
    # In turn: room for the release, its cost, the release itself, the name of its file.
    Ending(RELEASE, SYNC, full, 2, OUT.format("out.json", f"; {NOTHING}")),
    Ending(RELEASE, SYNC, full, 2, LEDGER, nth=2, spent=TAKEN_BACK),
    Ending(RELEASE, SYNC, full, 2, OUT.format("out.json", f"; {SPENT} on standard output.\n"),
           nth=3, spent=KEPT),
    Ending(RELEASE, SYNC, full, 0, "", nth=4, spent=KEPT, left=("out.json",)),
]  # fmt: skip


class Terminal(io.StringIO):
    """Standard input of a person."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with data, a ledger, a release, a pool and earlier results."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(budget_file.PLACE, str(tmp_path / "budgets.db"))
    monkeypatch.setattr(studies, "load", lambda _: toy_experiment)
    monkeypatch.setattr(sys, "stdin", Terminal("yes\n"))
    Path("data.csv").write_text("\n".join(map(str, range(30))), encoding="utf-8")
    assert main(["budget", "create", "income", "--epsilon", "2", "--unit", "person"]) == 0
    request = NoisyCountsRequest("uniform-mixture", 1.0, 0.0, 30.0, draws=100)
    made = procedure.make(request, np.arange(30.0))
    Path("made.json").write_text(made.to_json(), encoding="utf-8")
    theta = np.random.default_rng(1).normal(size=200)
    pd.DataFrame({"theta.a": theta, "summary.s": theta}).to_csv("pool.csv", index=False)
    problem = 'pool = "pool.csv"\nquery = [1.0]\n[noise]\nlaw = "gaussian"\nscale = 1.0\n'
    Path("pool.toml").write_text(problem, encoding="utf-8")
    assert main([*RUN.split(), "--set", "size=2"]) == 0
    Path("out", "infer.csv").write_text("earlier", encoding="utf-8")
    # As in a program that has just started, also where tests run without a terminal.
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield tmp_path
    for each, handler in before.items():
        signal.signal(each, handler)


def contents(folder: Path) -> dict[str, bytes]:
    """The files of a folder, apart from the ledger and its lock."""
    found = [file for file in folder.rglob("*") if file.is_file()]
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in found
        if not file.name.startswith("budgets.db")
    }


def spent() -> Decimal:
    reserved = budget_file.account(budget_file.usual_place(), "income").reserved.values()
    return sum((claim.epsilon for claim in reserved), Decimal(0))


def plant(ending: Ending, monkeypatch: pytest.MonkeyPatch) -> list[Decimal]:
    """Let it happen at its place; return a list that will have what is spent by then."""
    real, calls, then = pkgutil.resolve_name(ending.place), itertools.count(1), list[Decimal]()

    def fails(*arguments: Any, **named: Any) -> Any:
        if (call := next(calls)) == ending.nth:
            then.append(spent())
        if isinstance(ending.what, signal.Signals):
            if call == ending.nth:
                signal.raise_signal(ending.what)
        elif call >= ending.nth:
            raise ending.what()
        function = real.fget if isinstance(real, property) else real
        return function(*arguments, **named)

    monkeypatch.setattr(ending.place, property(fails) if isinstance(real, property) else fails)
    return then


@pytest.mark.parametrize("ending", ENDINGS, ids=str)
def test_one_line_says_what_is_done_and_spent_and_no_file_is_half_written(
    ending: Ending,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = contents(folder)
    capsys.readouterr()
    with monkeypatch.context() as patch:
        then = plant(ending, patch)
        assert main(ending.command.split()) == ending.code
    printed, said = capsys.readouterr()
    assert said == ending.said.format(ledger=folder / "budgets.db")
    assert ([str(each) for each in then], str(spent())) == ([ending.spent[0]], ending.spent[1])
    after = contents(folder)
    if ending.done is None:
        assert after.keys() - before.keys() == set(ending.left)
        assert {name: after[name] for name in before} == before
    else:
        settings = json.loads(after["out/toy.json"])
        assert (settings["partial"], settings["done"], settings["total"]) == (True, ending.done, 5)
        assert len(files.read(folder / "out", "toy").tables["main"]) == ending.done
        assert f"Partial result: {ending.done} of 5 tasks done." in printed
    if SPENT in ending.said:
        text = after["out.json"] if ending.left else printed[printed.index("\n{") :]
        assert json.loads(text)["cost"]["epsilon"] <= 0.5


class Closed(io.StringIO):
    """Standard output that takes so many lines and no more."""

    def __init__(self, lines: int) -> None:
        super().__init__()
        self.lines = lines

    def flush(self) -> None:
        if self.getvalue().count("\n") > self.lines:
            raise BrokenPipeError(errno.EPIPE, "Broken pipe")


@pytest.mark.parametrize("lines", [0, 14])
def test_an_output_that_nobody_reads_says_what_is_spent(
    lines: int, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdout", Closed(lines))
    assert main(RELEASE.split()) == 141
    reason = "error: cannot write to standard output (Broken pipe)"
    said = f"{SPENT} in out.json.\n" if lines else NOTHING
    assert capsys.readouterr().err == f"{reason}; {said}"
    assert (folder / "out.json").exists() == (lines > 0)
    assert str(spent()) == ("0.5" if lines else "0")


def started(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "abcdp_core", *arguments]
    return subprocess.Popen(command, cwd=ROOT, text=True, encoding="utf-8", **options)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no disk that is always full")
def test_standard_output_on_a_full_disk_is_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        process = started("list", "--help", stdout=full, stderr=subprocess.PIPE)
        _, said = process.communicate(timeout=300)
    assert process.returncode == 1
    assert said == "error: cannot write to standard output (No space left on device).\n"


@pytest.mark.slow
def test_ctrl_c_with_two_workers_ends_at_once_and_leaves_a_partial_result(tmp_path: Path) -> None:
    store, out = tmp_path / "store", tmp_path / "out"
    process = started(
        "run", "toy", "--plugin", toy_experiment.__file__, "--set", "size=1000",
        "--set", "pause=0.2", "--workers", "2", "--store", str(store), "--out", str(out),
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
    settings = json.loads((out / "toy.json").read_text(encoding="utf-8"))
    assert settings["partial"]
    assert settings["done"] == len(pd.read_csv(out / "toy.csv")) >= 1
    assert f"Partial result: {settings['done']} of 1000" in printed
