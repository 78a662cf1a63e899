from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from abcdp_core import cache

ARRAYS = {
    "theta": np.arange(50.0).reshape(25, 2),
    "rho 10": np.linspace(0.0, 1.0, 17),
    "names": np.array(["a", "bc"]),
}


def same(first: cache.Arrays | None, second: cache.Arrays) -> bool:
    assert first is not None
    return first.keys() == second.keys() and all(
        first[name].dtype == second[name].dtype and np.array_equal(first[name], second[name])
        for name in first
    )


def made() -> cache.Arrays:
    return dict(ARRAYS)


def never() -> cache.Arrays:
    raise AssertionError("made although it was kept")


def entry(where: Path, n: int = 10, code: str = "this") -> cache.Entry:
    return cache.entry("pool", {"scenario": "toy", "n": n}, code, where)


def kept(where: Path) -> list[Path]:
    return sorted(where.glob("*.npz"))


def test_what_is_kept_comes_back_as_it_was_and_is_not_made_again(tmp_path: Path) -> None:
    there = entry(tmp_path / "deep" / "folder")
    assert not cache.holds(there)
    assert same(cache.load_or_make(there, made), ARRAYS)
    assert cache.holds(there)
    assert same(cache.load_or_make(there, never), ARRAYS)
    assert kept(there.path.parent) == [there.path]
    # Any program can read it.
    with np.load(there.path) as stored:
        assert np.array_equal(stored["theta"], ARRAYS["theta"])


def test_another_key_is_another_file_and_what_other_code_made_is_made_anew(tmp_path: Path) -> None:
    cache.save(entry(tmp_path), ARRAYS)
    assert entry(tmp_path, n=11).path != entry(tmp_path).path
    other = entry(tmp_path, code="other")
    assert other.path == entry(tmp_path).path
    assert not cache.holds(other)
    assert cache.load(other) is None
    cache.save(other, ARRAYS)
    assert not cache.holds(entry(tmp_path))


def test_the_folder_is_the_one_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ABCDP_CACHE_DIR", str(tmp_path))
    assert cache.entry("pool", {"n": 1}, "").path.parent == tmp_path
    monkeypatch.setenv("ABCDP_CACHE_DIR", "")
    assert cache.folder().name == "abcdp-explorer"


def test_no_object_is_kept_and_none_is_taken_from_a_file(tmp_path: Path) -> None:
    there, objects = entry(tmp_path), {"theta": np.array([{"x"}], dtype=object)}
    with pytest.raises(ValueError, match="allow_pickle"):
        cache.save(there, objects)
    assert list(tmp_path.iterdir()) == []
    with there.path.open("wb") as file:
        np.savez(file, allow_pickle=True, **objects)  # type: ignore[arg-type]
    with zipfile.ZipFile(there.path, "a") as archive:
        archive.writestr(cache.LABEL, there.label)
    assert cache.holds(there)
    assert cache.load(there) is None


def test_a_file_with_a_flipped_byte_or_cut_short_is_never_believed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Some bytes, such as dates, mean nothing: then what is read is what was kept."""
    there = entry(tmp_path)
    cache.save(there, ARRAYS)
    content = there.path.read_bytes()
    damaged = [content[:size] for size in (0, 3, len(content) // 2, len(content) - 1)]
    damaged += [
        content[:place] + bytes([content[place] ^ 32]) + content[place + 1 :]
        for place in range(len(content))
    ]
    removed = 0
    with caplog.at_level(logging.CRITICAL):
        for each in damaged:
            there.path.write_bytes(each)
            found = cache.load(there)
            assert found is None or same(found, ARRAYS)
            removed += not there.path.exists()
    assert removed > len(content) / 2
    there.path.write_bytes(damaged[0])
    assert same(cache.load_or_make(there, made), ARRAYS)
    assert same(cache.load_or_make(there, never), ARRAYS)


PROCESS = """
import sys, time
from pathlib import Path
import numpy as np
from abcdp_core import cache

folder, name = Path(sys.argv[1]), sys.argv[2]

def make():
    with (folder / "made").open("a") as file:
        file.write("x")
    time.sleep(0.3)
    return {"theta": np.ones(3)}

wanted = cache.entry("pool", {"n": 1}, "this", folder)
(folder / name).touch()
while not (folder / "go").exists():
    time.sleep(0.005)
assert cache.load_or_make(wanted, make)["theta"].sum() == 3.0
"""


def wait_for(there: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60.0
    while not there():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_two_processes_that_ask_at_once_make_it_once_and_a_killed_one_is_not_waited_for(
    tmp_path: Path,
) -> None:
    environment = os.environ | {"PYTHONPATH": str(Path(cache.__file__).parents[1])}

    def start(name: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", PROCESS, str(tmp_path), name]
        return subprocess.Popen(command, env=environment)

    processes = [start(name) for name in ("first", "second", "third")]
    try:
        names = ("first", "second", "third")
        wait_for(lambda: all((tmp_path / name).exists() for name in names))
        (tmp_path / "go").touch()
        wait_for(lambda: (tmp_path / "made").exists())
        # Whoever makes it is among these two, or waits like the third.
        processes[0].kill()
        assert [process.wait(60) for process in processes[1:]] == [0, 0]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert len((tmp_path / "made").read_text()) <= 2
    assert len(kept(tmp_path)) == 1


def test_a_maker_that_fails_or_takes_too_long_leaves_the_way_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = entry(tmp_path)
    with pytest.raises(AssertionError):
        cache.load_or_make(there, never)
    monkeypatch.setattr(cache, "PATIENCE", 0.1)
    with cache.filelock.FileLock(there.path.with_suffix(".lock")):
        assert same(cache.load_or_make(there, made), ARRAYS)
    assert same(cache.load_or_make(there, made), ARRAYS)


def test_a_folder_that_cannot_be_written_is_said_once_and_done_without(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    # A file stands where the folder would be: that stops even the superuser.
    (tmp_path / "file").touch()
    for n in (1, 2, 1):
        there = entry(tmp_path / "file" / "cache", n)
        assert same(cache.load_or_make(there, made), ARRAYS)
        assert not cache.save(there, ARRAYS)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "Not a directory" in caplog.text


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: object, **_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(np, "savez", full)
        assert same(cache.load_or_make(entry(tmp_path), made), ARRAYS)
    assert kept(tmp_path) == []
    assert not list(tmp_path.glob("*part"))
    assert cache.save(entry(tmp_path), ARRAYS)


def test_the_files_used_longest_ago_go_first_and_nothing_that_is_not_ours(tmp_path: Path) -> None:
    entries = [entry(tmp_path, n) for n in range(4)]
    for age, each in enumerate(entries):
        cache.save(each, ARRAYS)
        os.utime(each.path, (1e9 + age, 1e9 + age))
    killed = tmp_path / f"{'0a' * 8}.abcdp-part"
    others = [tmp_path / name for name in ("thesis.npz", "film.part", "mine.lock")]
    for file in (killed, *others):
        file.write_bytes(b"years")
        os.utime(file, (1e9, 1e9))
    # Reading is use.
    cache.load(entries[0])
    size = entries[0].path.stat().st_size
    cache.evict(tmp_path, limit=2 * size)
    assert kept(tmp_path) == sorted([entries[0].path, entries[3].path, tmp_path / "thesis.npz"])
    assert not killed.exists()
    assert all(file.exists() for file in others)
    cache.evict(tmp_path, count=1)
    assert cache.holds(entries[0])
    assert not cache.holds(entries[3])


def test_saving_makes_room_now_and_then_unless_all_is_to_be_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache.evict, "__defaults__", (10**9, 5))
    for folder, make_room in (("cache", True), ("store", False)):
        for n in range(cache.SELDOM + 1):
            cache.save(entry(tmp_path / folder, n), {"x": np.zeros(1)}, make_room=make_room)
    assert len(kept(tmp_path / "cache")) == 5
    assert len(kept(tmp_path / "store")) == cache.SELDOM + 1
