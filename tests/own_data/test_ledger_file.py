"""Lines that are on the disk before they count, whatever happens to the file, or is called it."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from abcdp_core.own_data import budget_ledger, ledger_file
from abcdp_core.own_data.budget import Budget
from abcdp_core.parameters import ParameterError

posix = pytest.mark.skipif(os.name != "posix", reason="an open file can be renamed")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    place = tmp_path / "some" / "lines"
    add(place, b"first", make=True)
    return place


def add(file: Path, line: bytes, *, make: bool = False) -> None:
    with ledger_file.opened(file, writes=True, make=make) as found:
        found.add(line)


def lines(file: Path) -> list[bytes]:
    with ledger_file.opened(file) as found:
        return found.lines


# ------------------------------------------------------------------------------- when a line counts


def test_what_has_no_end_does_not_count_and_is_written_over(file: Path) -> None:
    whole = file.read_bytes()
    left = [b"second"[:length] for length in range(1, 7)]
    for tail in (*left, b"\0", b"\0" * 5000, b"\xff" * 9, b"second" * 1000):
        file.write_bytes(whole + tail)
        assert lines(file) == [b"first"]
        add(file, b"2")
        assert file.read_bytes() == whole + b"2\n"


def test_a_line_that_is_whole_counts_without_its_end(file: Path) -> None:
    """As a crash leaves it, or a program that takes the last end of a text away."""
    whole, line = file.read_bytes(), ledger_file.line_of(2, "second")
    for length in range(1, len(line)):
        file.write_bytes(whole + line[:length])
        assert lines(file) == [b"first"]
    file.write_bytes(whole + line)
    assert lines(file) == [b"first", line]
    add(file, b"third")
    assert file.read_bytes() == whole + line + b"\nthird\n"


@pytest.mark.parametrize("tail", [b"\r", b" ", b"\0" * 600, b"\t \r"])
def test_a_line_that_is_whole_counts_before_what_may_be_its_end(tail: bytes, file: Path) -> None:
    whole, line = file.read_bytes(), ledger_file.line_of(2, 'a "]" and \\', "ä")
    file.write_bytes(whole + line + tail)
    assert lines(file) == [b"first", line]
    add(file, b"third")
    assert file.read_bytes() == whole + line + b"\nthird\n"


def test_whose_a_file_is_comes_before_what_is_wrong_with_it(file: Path) -> None:
    for header, words in (
        (ledger_file.HEADER.replace(b"2", b"3"), "newer version"),
        (b"hello", "is no ledger"),
    ):
        file.write_bytes(header + b'\n[1, "x"]%')
        with pytest.raises(ParameterError, match=words):
            lines(file)


@pytest.mark.parametrize("end", ["\v", "\f", "\x1a", "%", '"', "\x85", "\u2028", "\xa0", "\0\r%"])
def test_what_a_line_has_for_its_end_is_not_written_over(end: str, file: Path) -> None:
    whole, line, other = file.read_bytes(), *(ledger_file.line_of(n, "x") for n in (2, 3))
    odd = end.encode()
    for tail in (line + odd, line + odd + other, line + odd + b"[3", odd + line, line[1:] + odd):
        if not odd.startswith(b"\0") or line in tail:
            file.write_bytes(whole + tail)
            with pytest.raises(ParameterError, match="behind its last line is no line"):
                add(file, b"3")
            assert file.read_bytes() == whole + tail


def test_a_part_of_a_line_that_has_a_bracket_is_a_part(file: Path) -> None:
    whole, line = file.read_bytes(), ledger_file.line_of(2, '{"what": "[\\"]\\"]", "b": "]"}')
    for length in range(1, len(line)):
        holes = (b"\0" * 10 + line[10:], line[:10] + b"\0" * 9 + line[19:])
        for tail in (line[:length], *holes):
            file.write_bytes(whole + tail)
            assert lines(file) == [b"first"]


@posix
def test_a_file_without_a_name_is_not_used(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As one has that is mounted by itself, and replaced outside, where nobody says what is."""
    lock = ledger_file._lock

    def replaced(handle: int, *, writes: bool) -> bool:
        file.unlink()
        return lock(handle, writes=writes)

    monkeypatch.setattr(ledger_file, "_lock", replaced)
    monkeypatch.setattr(ledger_file, "is_at", lambda *_: True)
    with pytest.raises(ParameterError, match="mount the folder that it lies in"):
        add(file, b"second")


def test_a_file_that_is_mounted_by_itself_is_not_used(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who replaces it outside leaves the former one mounted, and both would be taken from."""
    place = file.parent / "with a\\gap"
    file.rename(place)
    add(place, b"second")
    mounts = file.parent / "mounts"
    octal = str(place.resolve()).replace("\\", "\\134").replace(" ", "\\040")
    mounts.write_text(
        f"22 1 8:1 / /a\r\fb rw - ext4 /dev/a rw\n23 22 8:1 /b {octal} rw - ext4 /dev/a rw\n"
    )
    monkeypatch.setattr(ledger_file, "MOUNTS", mounts)
    other = file.parent / "other"
    other.symlink_to(place)
    for name in (place, other):
        for use in (lines, lambda each: add(each, b"third")):
            with pytest.raises(ParameterError, match="mount the folder that it lies in"):
                use(name)
    mounts.write_text(mounts.read_text().replace(octal, str(file.parent)))
    assert lines(place) == [b"first", b"second"]
    monkeypatch.setattr(ledger_file, "MOUNTS", file.parent / "none")
    assert lines(place) == [b"first", b"second"]


def test_a_beginning_without_a_line_is_as_good_as_none(file: Path) -> None:
    for length in range(len(ledger_file.HEADER) + 1):
        for tail in (b"", b"\0\0"):
            file.write_bytes(ledger_file.HEADER[:length] + tail)
            with pytest.raises(ParameterError, match="there is none; `budget create` makes one"):
                lines(file)
            add(file, b"1", make=True)
            assert lines(file) == [b"1"]


@pytest.mark.parametrize(
    "content",
    [
        b"mine",
        b"\0mine",
        ledger_file.HEADER + b"\r\n",
        b"\0" * 20_000,
        b"mine\n",
        b"\n",
        b"{}\n" * 3,
    ],
)
def test_what_is_another_ones_stays_as_it_is(content: bytes, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(content)
    for make in (True, False):
        with pytest.raises(ParameterError, match="is no ledger"):
            add(other, b"1", make=make)
    assert other.read_bytes() == content


def watched(monkeypatch: pytest.MonkeyPatch, before: Callable[[str, bytes], None]) -> None:
    """Have something happen before each step that writes to a file."""
    monkeypatch.setattr(ledger_file, "sync", lambda _: None)
    for name in ("ftruncate", "write", "fsync"):
        step = getattr(os, name)

        def watch(handle: int, content: bytes | int = b"", step=step, name=name) -> object:  # type: ignore[no-untyped-def]
            before(name, bytes(content) if not isinstance(content, int) else b"")
            return step(handle) if name == "fsync" else step(handle, content)

        monkeypatch.setattr(os, name, watch)


def test_a_line_is_on_the_disk_before_its_end_and_its_end_before_it_is_told_of(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, bytes]] = []
    watched(monkeypatch, lambda *step: seen.append(step))
    add(file, b"second")
    assert seen == [
        ("ftruncate", b""), ("write", b"second"), ("fsync", b""), ("write", b"\n"), ("fsync", b"")
    ]  # fmt: skip


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC])
@pytest.mark.parametrize("step", range(1, 6))
@pytest.mark.parametrize("for_good", [True, False])
def test_where_the_disk_fails_a_line_does_not_count_or_it_is_said_that_it_may(
    step: int, number: int, for_good: bool, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = 0

    def fail(*_: object) -> None:
        nonlocal seen
        seen += 1
        if seen == step or (for_good and seen > step):
            raise OSError(number, os.strerror(number))

    second = ledger_file.line_of(2, "second")
    with monkeypatch.context() as patched:
        watched(patched, fail)
        with pytest.raises(ParameterError) as raised:
            add(file, second)
    is_there, is_said = lines(file) == [b"first", second], "may have been" in str(raised.value)
    assert is_there or lines(file) == [b"first"]
    assert is_said or not is_there
    assert is_said == (step == 5 or for_good)
    add(file, b"third")
    assert lines(file)[-1] == b"third"


def test_where_the_disk_fails_after_a_line_was_added_it_is_said_that_it_may_count(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    close = os.close

    def fail(handle: int) -> None:
        close(handle)
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(os, "close", fail)
        with pytest.raises(ParameterError, match="may have been"):
            add(file, b"second")
        with pytest.raises(ParameterError, match=r"cannot be used \(Input/output error\)\.$"):
            lines(file)
    assert lines(file) == [b"first", b"second"]


def test_a_file_that_is_as_large_as_one_may_be_is_read_and_not_added_to(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_file, "LARGEST", file.stat().st_size + 3)
    add(file, b"1")
    with pytest.raises(ParameterError, match="it is as large as one may be"):
        add(file, b"2")
    assert lines(file) == [b"first", b"1"]


def test_no_line_is_longer_than_one_that_is_read(file: Path) -> None:
    add(file, b"1" * ledger_file.LONGEST)
    assert len(lines(file)) == 2
    with pytest.raises(ParameterError, match="as large as one may be"):
        add(file, b"2" * (ledger_file.LONGEST + 1))
    assert len(lines(file)) == 2
    file.write_bytes(file.read_bytes() + b"2" * (ledger_file.LONGEST + 1) + b"\n")
    with pytest.raises(ParameterError, match="longer than any of a ledger"):
        lines(file)


@pytest.mark.parametrize("link", [False, True])
def test_before_a_line_is_added_the_name_of_its_file_is_on_the_disk(
    link: bool, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who saves a file by another name first may have left its new name to a disk's own time."""
    done: list[object] = []
    watched(monkeypatch, lambda name, _: done.append(name))
    monkeypatch.setattr(ledger_file, "sync", done.append)
    name = file
    if link:
        name = file.parent.parent / "link"
        name.symlink_to(file)
    lines(name)
    assert not done
    add(name, b"second")
    assert {*done[: done.index("ftruncate")]} == {name.parent, file.parent}


def test_a_disk_that_takes_a_line_in_pieces_takes_all_of_it(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda handle, content: write(handle, content[:2]))
    add(file, b"second")
    assert lines(file) == [b"first", b"second"]


def test_who_makes_a_file_and_adds_nothing_leaves_none(tmp_path: Path) -> None:
    made = tmp_path / "made"
    with pytest.raises(ZeroDivisionError), ledger_file.opened(made, writes=True, make=True):
        raise ZeroDivisionError
    assert not made.exists()
    made.touch()
    with pytest.raises(ZeroDivisionError), ledger_file.opened(made, writes=True, make=True):
        raise ZeroDivisionError
    assert made.exists(), "somebody made it ready"


@posix
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for use in (lines, lambda pipe: add(pipe, b"1", make=True)):
        with pytest.raises(ParameterError, match="cannot be opened"):
            use(pipe)


# ------------------------------------------------------------------------------------ one at a time


@contextlib.contextmanager
def used_by_another(file: Path, *, writes: bool = True) -> Iterator[None]:
    """As by another process, by whatever name."""
    handle = os.open(file, os.O_RDWR)
    assert ledger_file._lock(handle, writes=writes)
    try:
        yield
    finally:
        os.close(handle)


@posix
def test_by_whatever_name_one_adds_at_a_time(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the name, who had it by another one was not seen."""
    monkeypatch.setattr(ledger_file, "WAIT", 0.05)
    other, third = tmp_path / "other", tmp_path / "third"
    os.link(file, other)
    third.symlink_to(other)
    with used_by_another(file):
        for name in (file, other, third):
            with pytest.raises(ParameterError, match="is in use by others for more than"):
                add(name, b"second")
            with pytest.raises(ParameterError, match="is in use by others for more than"):
                lines(name)
    with used_by_another(file, writes=False):
        assert lines(third) == [b"first"]
        with pytest.raises(ParameterError, match="is in use by others for more than"):
            add(third, b"second")
    add(third, b"second")
    assert lines(file) == [b"first", b"second"]


@contextlib.contextmanager
def one_who_waits(file: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """To add a line; until the end, when it is added."""
    lock, waits = ledger_file._lock, threading.Event()

    def tell(handle: int, *, writes: bool) -> bool:
        has = lock(handle, writes=writes)
        if not has:
            waits.set()
        return has

    with used_by_another(file):
        monkeypatch.setattr(ledger_file, "_lock", tell)
        thread = threading.Thread(target=add, args=(file, b"second"))
        thread.start()
        assert waits.wait(10)
        yield
    thread.join()


@posix
def test_who_has_waited_for_a_file_that_was_replaced_takes_the_other_one(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = file.with_name("copy")
    shutil.copy(file, copy)
    with one_who_waits(file, monkeypatch):
        copy.replace(file)
    assert lines(file) == [b"first", b"second"]


@posix
@pytest.mark.parametrize("link", ["folder", "file"])
def test_where_a_link_is_switched_meanwhile_a_line_is_added_where_it_leads(
    link: str, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    second, current = tmp_path / "second", tmp_path / "current"
    shutil.copytree(file.parent, second)
    ends = (file.parent, second) if link == "folder" else (file, second / file.name)
    current.symlink_to(ends[0])
    name = current / file.name if link == "folder" else current
    with one_who_waits(name, monkeypatch):
        # In one step: who looks between two finds none.
        other = tmp_path / "other"
        other.symlink_to(ends[1])
        other.replace(current)
    assert (lines(file), lines(name)) == ([b"first"], [b"first", b"second"])


@posix
@pytest.mark.parametrize("how", ["replaced", "removed", "renamed"])
def test_what_was_added_to_a_file_that_has_the_name_no_more_does_not_count(
    how: str, file: Path
) -> None:
    """As a program does that keeps folders in step, or puts a folder away and copies it back."""
    copy = file.with_name("copy")
    shutil.copy(file, copy)
    in_use = contextlib.ExitStack()
    in_use.enter_context(ledger_file.opened(file, writes=True)).add(b"second")
    if how == "replaced":
        copy.replace(file)
    elif how == "removed":
        file.unlink()
    else:
        file.rename(file.with_name("elsewhere"))
    with pytest.raises(ParameterError, match="was replaced while it was in use; try again"):
        in_use.close()


def test_a_ledger_that_sqlite_kept_is_named_as_one(tmp_path: Path) -> None:
    """An earlier version's; what it holds is not counted here, and nothing is written to it."""
    old = tmp_path / "old.db"
    with contextlib.closing(sqlite3.connect(old)) as connection:
        connection.execute("CREATE TABLE entries (number INTEGER PRIMARY KEY, content TEXT)")
        connection.commit()
    content = old.read_bytes()
    budget = Budget("second", Decimal(1), Decimal(0), "person", "replace")
    for use in (budget_ledger.accounts, lambda file: budget_ledger.create(file, budget)):
        with pytest.raises(ParameterError, match="as ledgers of an earlier version were"):
            use(old)
    assert old.read_bytes() == content
