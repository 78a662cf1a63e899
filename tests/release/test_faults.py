"""Ordinary faults lose nothing that was paid for: a kill, a full disk, many processes."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import time
from decimal import Decimal
from pathlib import Path

import pytest

from abcdp_core.parameters import ParameterError
from abcdp_core.release import budget_file, output_file
from abcdp_core.release.budget import Budget, pure
from abcdp_core.release.budget_file import Reservation

pytestmark = pytest.mark.skipif(os.name != "posix", reason="processes are made by fork")

TEXT = b'{"paid": "for"}\n'


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
    """Processes are killed at several moments of a reservation, and while a file is written."""
    context = multiprocessing.get_context("fork")
    for number in range(4):
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
    # A line without an end does not count and is overwritten.
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
    # The partial file may hold a record that was paid for; it is not overwritten.
    with (
        pytest.raises(FileExistsError, match="a killed one left"),
        output_file.reserved(tmp_path / "out.json"),
    ):
        raise AssertionError("must not be reached")


def test_processes_at_the_same_time_never_overspend_or_overwrite_a_file(
    file: Path, tmp_path: Path
) -> None:
    context = multiprocessing.get_context("fork")
    counts = context.SimpleQueue()

    def spend() -> None:
        made = 0
        for _ in range(4):
            with contextlib.suppress(ParameterError):
                reserve(file)
                made += 1
        counts.put(made)

    processes = [context.Process(target=spend) for _ in range(10)]
    for process in processes:
        process.start()
    assert sum(counts.get() for _ in processes) == 20
    for process in processes:
        process.join()
    assert budget_file.account(file, "income").left() == 0
    out = tmp_path / "out.json"
    with output_file.reserved(out) as keep:
        assert not out.exists()
        with pytest.raises(FileExistsError, match="another process"), output_file.reserved(out):
            raise AssertionError("must not be reached")
        keep(TEXT)
    assert out.read_bytes() == TEXT
    with pytest.raises(FileExistsError, match="already exists"), output_file.reserved(out):
        raise AssertionError("must not be reached")
    with output_file.reserved(tmp_path / "other.json") as keep:
        (tmp_path / "other.json").write_text("mine")
        with pytest.raises(FileExistsError):
            keep(TEXT)
    assert (tmp_path / "other.json").read_text() == "mine"
    assert not [name for name in names_in(tmp_path) if name.endswith(".part")]
