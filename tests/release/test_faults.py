"""Ordinary faults lose nothing that was paid for: kill, full disk, two processes, dead worker."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import signal
import time
from concurrent.futures import BrokenExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from abcdp_core.__main__ import main
from abcdp_core.parameters import ParameterError
from abcdp_core.release import budget_file, output_file, procedure
from abcdp_core.release.budget import Budget, pure
from abcdp_core.release.budget_file import Reservation

pytestmark = pytest.mark.skipif(os.name != "posix", reason="processes are made by fork")

TEXT = '{"paid": "for"}\n'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "budgets.db"
    budget_file.create(made, Budget("income", Decimal(2), Decimal(0), "person", "replace"))
    return made


def reserve(file: Path, amount: str = "0.1") -> Reservation:
    claim = pure(Decimal(amount), "test")
    return budget_file.reserve(file, "income", claim, "person", "replace")


def names_in(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def test_a_kill_loses_no_reservation_and_leaves_no_half_document(
    file: Path, tmp_path: Path
) -> None:
    """Killed at moments spread over the time of some reservations, and while one is written."""
    context = multiprocessing.get_context("fork")
    for number in range(6):
        said, tell = context.Pipe(duplex=False)

        def spend(tell=tell) -> None:  # type: ignore[no-untyped-def]
            while True:
                tell.send(reserve(file, "0.001").entry)

        process = context.Process(target=spend)
        process.start()
        last = said.recv()
        time.sleep(0.002 * number)
        os.kill(process.pid or 0, signal.SIGKILL)
        process.join()
        tell.close()
        with contextlib.suppress(EOFError):
            while True:
                last = said.recv()
        there = budget_file.account(file, "income").entries[-1].number
        assert there in (last, last + 1)
    # A line without its end was told to nobody: it does not count, and is written over.
    content = file.read_bytes()
    for tail in (b"[", b'[9, "reserve", "income", "', b"\0" * 600):
        file.write_bytes(content + tail)
        assert budget_file.account(file, "income").entries[-1].number == there
    reserve(file)
    assert budget_file.account(file, "income").entries[-1].number == there + 1

    def write() -> None:
        with output_file.reserved(tmp_path / "out.json"):
            os.kill(os.getpid(), signal.SIGKILL)

    process = context.Process(target=write)
    process.start()
    process.join()
    assert ".out.json.part" in names_in(tmp_path)
    assert "out.json" not in names_in(tmp_path)
    # What may be a document that was paid for is not written over.
    with (
        pytest.raises(FileExistsError, match="killed left"),
        output_file.reserved(tmp_path / "out.json"),
    ):
        raise AssertionError("must not be reached")


def test_a_full_disk_spends_nothing_and_keeps_what_was_there(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reserve(file)
    content = file.read_bytes()
    with monkeypatch.context() as patched:

        def full(*_: Any) -> None:
            raise OSError(28, "No space left on device")

        patched.setattr(os, "fsync", full)
        with pytest.raises(ParameterError, match="No space left on device"):
            reserve(file)
        with (
            pytest.raises(OSError, match="No space left"),
            output_file.reserved(tmp_path / "out.json"),
        ):
            raise AssertionError("must not be reached")
        with pytest.raises(OSError, match="No space left"):
            output_file.write_new(tmp_path / "report.html", b"page")
    assert file.read_bytes() == content
    assert names_in(tmp_path) == ["budgets.db", "budgets.db.lock"]


def test_of_many_processes_at_once_none_overspends_and_none_writes_over_another(
    file: Path, tmp_path: Path
) -> None:
    context = multiprocessing.get_context("fork")
    counts = context.SimpleQueue()

    def spend() -> None:
        made = 0
        for _ in range(3):
            with contextlib.suppress(ParameterError):
                reserve(file)
                made += 1
        counts.put(made)

    processes = [context.Process(target=spend) for _ in range(20)]
    for process in processes:
        process.start()
    assert sum(counts.get() for _ in processes) == 20
    for process in processes:
        process.join()
    assert budget_file.account(file, "income").left() == 0
    out = tmp_path / "out.json"
    with output_file.reserved(out) as keep:
        assert not out.exists()
        with pytest.raises(FileExistsError, match="another release"), output_file.reserved(out):
            raise AssertionError("must not be reached")
        keep(TEXT)
    assert out.read_text() == TEXT
    with pytest.raises(FileExistsError, match="is there already"), output_file.reserved(out):
        raise AssertionError("must not be reached")
    with output_file.reserved(tmp_path / "other.json") as keep:
        (tmp_path / "other.json").write_text("mine")
        with pytest.raises(FileExistsError):
            keep(TEXT)
    assert (tmp_path / "other.json").read_text() == "mine"
    assert not [name for name in names_in(tmp_path) if name.endswith(".part")]


@pytest.mark.usefixtures("few_simulations")
def test_a_worker_that_dies_leaves_the_numbers_and_the_same_command_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text("7\n" * 14)
    asked = ["release", "covid-people", "--data", "data.csv", "--epsilon-total", "1", "--yes",
             "--simulations", "1000", "--workers", "1", "--out", "out.json"]  # fmt: skip

    def dies(*_: Any) -> None:
        raise BrokenExecutor("a worker ended")

    with monkeypatch.context() as patched:
        patched.setattr(procedure, "complete", dies)
        assert main(asked) != 0
    assert "ε_total = 1 is spent; what was released is in out.json; the same command adds" in (
        capsys.readouterr().err
    )
    numbers = json.loads(Path("out.json").read_text())
    assert numbers["posterior"] is None
    Path("data.csv").unlink()
    assert main(asked) == 0
    assert "nothing is read, and nothing more is spent" in capsys.readouterr().out
    complete = json.loads(Path("out.json").read_text())
    assert complete["release"] == numbers["release"]
    assert complete["posterior"]["draws"]
