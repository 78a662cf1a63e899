from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from abcdp_core.own_data import place

TEXT = '{"paid": "for"}\n'


def reserved(out: Path, size: int) -> AbstractContextManager[place.Keep]:
    return place.reserved(out, size, ["paid"])


def names_in(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_a_file_appears_whole_and_alone(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    with reserved(out, 1000) as keep:
        assert not out.exists()
        (left,) = tmp_path.iterdir()
        assert left.stat().st_size == 1000
        keep(TEXT)
        assert out.read_text(encoding="utf-8") == TEXT
    assert names_in(tmp_path) == ["out.json"]
    assert out.stat().st_mode & 0o777 == 0o666 & ~_umask()


def _umask() -> int:
    before = os.umask(0)
    os.umask(before)
    return before


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError, ZeroDivisionError])
def test_nothing_is_left_if_nothing_was_kept(error: type[BaseException], tmp_path: Path) -> None:
    with pytest.raises(error), reserved(tmp_path / "out.json", 1000):
        raise error
    assert names_in(tmp_path) == []


def test_a_text_longer_than_its_room_is_kept_as_well(tmp_path: Path) -> None:
    with reserved(tmp_path / "out.json", 1) as keep:
        keep(TEXT * 1000)
    assert (tmp_path / "out.json").read_text(encoding="utf-8") == TEXT * 1000


@pytest.mark.parametrize("there", ["file", "link to nothing", "folder"])
def test_what_is_there_stays(there: str, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    if there == "file":
        out.write_text("mine", encoding="utf-8")
    elif there == "folder":
        out.mkdir()
    else:
        out.symlink_to(tmp_path / "nothing")
    with pytest.raises(FileExistsError), reserved(out, 10):
        raise AssertionError("must not be reached")
    assert names_in(tmp_path) == ["out.json"]


def test_what_is_larger_than_any_document_is_not_read(tmp_path: Path) -> None:
    """A file with nothing in it takes no room, whatever its size."""
    with (tmp_path / ".out.json.part").open("wb") as part:
        part.truncate(1 << 40)
    with (
        pytest.raises(FileExistsError, match="made by somebody else"),
        reserved(tmp_path / "out.json", 1000),
    ):
        raise AssertionError
    assert names_in(tmp_path) == [".out.json.part"]


def test_what_came_meanwhile_stays(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    with reserved(out, 10) as keep:
        out.write_text("mine", encoding="utf-8")
        with pytest.raises(FileExistsError):
            keep(TEXT)
    assert out.read_text(encoding="utf-8") == "mine"
    assert names_in(tmp_path) == ["out.json"]


@pytest.mark.skipif(os.name != "posix", reason="open files cannot be replaced elsewhere")
@pytest.mark.parametrize("another", [True, False])
def test_a_text_is_kept_where_another_file_got_the_name_that_it_had(
    another: bool, tmp_path: Path
) -> None:
    out, part = tmp_path / "out.json", tmp_path / ".out.json.part"
    with reserved(out, 10) as keep:
        content = part.read_bytes()
        part.unlink()
        if another:
            part.write_bytes(content)
        keep(TEXT)
    assert out.read_text(encoding="utf-8") == TEXT
    assert names_in(tmp_path) == [part.name] * another + ["out.json"]
    # What was put there is taken for what a killed release left.
    out.unlink()
    with reserved(out, 10) as keep:
        keep(TEXT)
    assert names_in(tmp_path) == ["out.json"]


@pytest.mark.skipif(os.name != "posix", reason="locks of POSIX")
def test_a_place_is_given_once(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    with reserved(out, 10) as keep:
        with pytest.raises(FileExistsError) as caught, reserved(out, 10):
            raise AssertionError("must not be reached")
        assert caught.value.strerror == "is being written by another release"
        keep(TEXT)
    assert out.read_text(encoding="utf-8") == TEXT


@pytest.mark.skipif(os.name != "posix", reason="locks of POSIX")
@pytest.mark.parametrize("next_one", [False, True])
def test_a_place_that_was_freed_before_it_was_locked_is_taken_anew(
    next_one: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, part = tmp_path / "out.json", tmp_path / ".out.json.part"
    lock, locked = place._lock, []

    def late(handle: int) -> None:
        if not locked:
            # Another release has ended meanwhile, and perhaps one more has begun and was killed.
            part.unlink()
            if next_one:
                part.write_bytes(b"half\0")
        locked.append(handle)
        lock(handle)

    monkeypatch.setattr(place, "_lock", late)
    with reserved(out, 10) as keep:
        keep(TEXT)
    assert len(locked) == 2
    assert out.read_text(encoding="utf-8") == TEXT
    assert names_in(tmp_path) == ["out.json"]


@pytest.mark.skipif(os.name != "posix", reason="open files cannot be removed elsewhere")
def test_a_place_is_left_while_nobody_else_can_have_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part, close, there = tmp_path / ".out.json.part", os.close, list[bool]()

    def note(handle: int) -> None:
        there.append(part.exists())
        close(handle)

    with reserved(tmp_path / "out.json", 10):
        monkeypatch.setattr(os, "close", note)
    monkeypatch.undo()
    assert there == [False]
    with reserved(tmp_path / "out.json", 10):
        # On a drive without second names the file was renamed, and another release has begun.
        part.unlink()
        part.write_bytes(b"another")
    assert part.read_bytes() == b"another"


@pytest.mark.parametrize("flag", ["O_NOFOLLOW", "O_BINARY"])
def test_a_system_without_a_flag_will_do(
    flag: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, flag, raising=False)
    with reserved(tmp_path / "out.json", 10) as keep:
        keep(TEXT)
    assert (tmp_path / "out.json").read_text(encoding="utf-8") == TEXT


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="links cannot be refused here")
def test_a_link_in_the_way_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("somebody's", encoding="utf-8")
    (tmp_path / ".out.json.part").symlink_to(tmp_path / "other")
    with pytest.raises(OSError, match="symbolic links"), reserved(tmp_path / "out.json", 10):
        raise AssertionError("must not be reached")
    assert (tmp_path / "other").read_text(encoding="utf-8") == "somebody's"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX")
def test_a_pipe_and_a_second_name_of_a_file_in_the_way_are_left_alone(tmp_path: Path) -> None:
    part, other = tmp_path / ".out.json.part", tmp_path / "other"
    other.write_text("somebody's", encoding="utf-8")
    for put in (lambda: os.mkfifo(part), lambda: os.link(other, part)):
        put()
        with pytest.raises(FileExistsError, match="somebody"), reserved(tmp_path / "out.json", 10):
            raise AssertionError("must not be reached")
        assert other.read_text(encoding="utf-8") == "somebody's"
        part.unlink()


@pytest.mark.parametrize("content", ["mine", '{"somebody": "else"}', "[" * 100_000, "[1]"])
def test_a_file_of_somebody_else_in_the_way_is_neither_adopted_nor_removed(
    content: str, tmp_path: Path
) -> None:
    part = tmp_path / ".out.json.part"
    part.write_text(content, encoding="utf-8")
    with pytest.raises(FileExistsError, match="somebody"), reserved(tmp_path / "out.json", 10):
        raise AssertionError("must not be reached")
    assert part.read_text(encoding="utf-8") == content
    assert names_in(tmp_path) == [part.name]


@pytest.mark.parametrize("out", ["/", ".", ""])
def test_a_folder_without_a_name_is_there_already(out: str) -> None:
    with pytest.raises(FileExistsError), reserved(Path(out), 10):
        raise AssertionError("must not be reached")


def test_a_disk_without_room_is_known_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"), reserved(tmp_path / "out.json", 10):
        raise AssertionError("must not be reached")
    assert names_in(tmp_path) == []


def full(*_: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_drive_without_second_names_will_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: Any) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "link", refused)
    with reserved(tmp_path / "out.json", 10) as keep:
        keep(TEXT)
    assert names_in(tmp_path) == ["out.json"]
    assert (tmp_path / "out.json").read_text(encoding="utf-8") == TEXT


def test_after_a_kill_at_any_moment_there_is_no_half_file_and_nothing_paid_for_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy of the folder before a step is what a program killed there leaves behind."""
    folder, copies = tmp_path / "out", tmp_path / "copies"
    folder.mkdir()

    def watched(step: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            shutil.copytree(folder, copies / f"{len(list(copies.glob('*'))):02}")
            return step(*arguments)

        return call

    copies.mkdir()
    with monkeypatch.context() as patch:
        for name in ("write", "ftruncate", "fsync", "link", "close"):
            patch.setattr(place.os, name, watched(getattr(os, name)))
        with reserved(folder / "out.json", 100) as keep:
            keep(TEXT)
    ends = []
    for left in sorted(copies.iterdir()):
        out = left / "out.json"
        if out.exists():
            assert out.read_text(encoding="utf-8") == TEXT
        try:
            with reserved(out, 10) as keep:
                ends.append("free")
        except FileExistsError:
            # Whole, though without its name: it takes its place now.
            assert out.read_text(encoding="utf-8") == TEXT
            ends.append("kept")
        assert names_in(left) == (["out.json"] if ends[-1] == "kept" else [])
    assert ends == sorted(ends, key=["free", "kept"].index)
    assert ends.count("free") >= 3
    assert ends.count("kept") >= 3
