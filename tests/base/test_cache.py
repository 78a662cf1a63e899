"""The cache of arrays: made once, never of other code, never damaged, never too large."""

from __future__ import annotations

import logging
import os
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from abcdp_core.base import cache

ARRAYS = {
    "theta": np.arange(50.0).reshape(25, 2),
    "rho 10": np.linspace(0.0, 1.0, 17),
    "names": np.array(["a", "bc"]),
}


def same(first: cache.Arrays | None, second: cache.Arrays = ARRAYS) -> bool:
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


def test_arrays_are_made_once_and_come_back_unchanged(tmp_path: Path) -> None:
    there = entry(tmp_path / "deep" / "folder")
    assert not cache.holds(there)
    assert same(cache.load_or_make(there, made))
    assert cache.holds(there)
    assert same(cache.load_or_make(there, never))
    assert kept(there.path.parent) == [there.path]
    # Any program can read it.
    with np.load(there.path) as stored:
        assert np.array_equal(stored["theta"], ARRAYS["theta"])


def test_arrays_of_another_key_or_of_other_code_are_not_taken(tmp_path: Path) -> None:
    cache.save(entry(tmp_path), ARRAYS)
    other = entry(tmp_path, code="other")
    assert other.path == entry(tmp_path).path != entry(tmp_path, n=11).path
    assert not cache.holds(other)
    assert cache.load(other) is None
    cache.save(other, ARRAYS)
    assert not cache.holds(entry(tmp_path))
    # Nor is a file under another key's name.
    moved = entry(tmp_path, n=11, code="other")
    other.path.rename(moved.path)
    assert not cache.holds(moved)
    assert cache.load(moved) is None


def test_objects_are_neither_saved_nor_loaded(tmp_path: Path) -> None:
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


def test_a_damaged_file_never_gives_other_arrays(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A flip in a byte without meaning, as in a date, leaves the arrays as they were."""
    there = entry(tmp_path)
    cache.save(there, ARRAYS)
    content = there.path.read_bytes()
    damaged = [content[:size] for size in (0, 3, len(content) // 2, len(content) - 1)]
    places = range(0, len(content), 5)
    damaged += [content[:k] + bytes([content[k] ^ 32]) + content[k + 1 :] for k in places]
    removed = 0
    with caplog.at_level(logging.CRITICAL):
        for each in damaged:
            there.path.write_bytes(each)
            found = cache.load(there)
            assert found is None or same(found)
            removed += not there.path.exists()
    assert removed > len(damaged) / 2
    there.path.write_bytes(damaged[0])
    assert same(cache.load_or_make(there, made))
    assert same(cache.load_or_make(there, never))


def test_of_two_that_ask_at_once_only_one_makes_it(tmp_path: Path) -> None:
    calls = []

    def make() -> cache.Arrays:
        calls.append(time.sleep(0.1))
        return made()

    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(lambda _: cache.load_or_make(entry(tmp_path), make), range(2)))
    assert all(map(same, found))
    assert len(calls) == len(kept(tmp_path)) == 1


def test_a_maker_that_fails_or_takes_too_long_blocks_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = entry(tmp_path)
    with pytest.raises(AssertionError):
        cache.load_or_make(there, never)
    monkeypatch.setattr(cache, "PATIENCE", 0.1)
    with cache.filelock.FileLock(there.path.with_suffix(".lock")):
        assert same(cache.load_or_make(there, made))


def test_without_a_writable_folder_or_space_nothing_is_kept_and_one_warning_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    # A file in place of the folder stops even the superuser.
    (tmp_path / "file").touch()
    for n in (1, 2, 1):
        there = entry(tmp_path / "file" / "cache", n)
        assert same(cache.load_or_make(there, made))
        assert not cache.save(there, ARRAYS)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "Not a directory" in caplog.text
    with monkeypatch.context() as patch:
        patch.setattr(np, "savez", full)
        assert same(cache.load_or_make(entry(tmp_path), made))
    assert kept(tmp_path) == list(tmp_path.glob("*part")) == []
    assert cache.save(entry(tmp_path), ARRAYS)


def test_eviction_removes_the_files_used_longest_ago_and_none_of_others(tmp_path: Path) -> None:
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
