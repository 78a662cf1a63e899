from __future__ import annotations

import itertools
import logging
import os
import subprocess
import sys
import threading
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import filelock
import numpy as np
import pytest

from abcdp_core import cache

ARRAYS = {
    "theta": np.arange(50.0).reshape(25, 2),
    "rho 10": np.linspace(0.0, 1.0, 17),
    "names": np.array(["a", "bc"]),
}


@dataclass(frozen=True)
class Key:
    scenario: str
    n: int


def same(first: cache.Arrays, second: cache.Arrays) -> bool:
    return first.keys() == second.keys() and all(
        first[name].dtype == second[name].dtype and np.array_equal(first[name], second[name])
        for name in first
    )


def made() -> cache.Arrays:
    return dict(ARRAYS)


def at(path: Path) -> cache.Entry:
    """A file with any label."""
    return cache.Entry(path, '{"made for": "a test"}')


def ours(kind: str) -> str:
    """A name of a file of the cache; other programs have such files, too."""
    return f"{kind}-{'0a' * 16}.npz"


def names_in(folder: Path) -> list[str]:
    return [file.name for file in folder.iterdir()]


def never() -> cache.Arrays:
    raise AssertionError("made although it was kept")


def test_what_is_kept_comes_back_as_it_was_and_is_not_made_again(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "folder" / "pool.npz"
    assert same(cache.load_or_make(at(path), made), ARRAYS)
    assert same(cache.load_or_make(at(path), never), ARRAYS)
    assert [file.name for file in path.parent.glob("*part")] == []


def test_what_another_thread_disturbs_is_read_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """NumPy parses the head of an array, and two threads that parse disturb each other."""
    read, times = np.lib.npyio.NpzFile.__getitem__, itertools.count()

    def disturbed(self: Any, name: str) -> Any:
        if next(times) == 0:
            raise SystemError("AST constructor recursion depth mismatch (before=54, after=72)")
        return read(self, name)

    cache.load_or_make(at(tmp_path / "pool.npz"), made)
    monkeypatch.setattr(np.lib.npyio.NpzFile, "__getitem__", disturbed)
    assert same(cache.load_or_make(at(tmp_path / "pool.npz"), never), ARRAYS)
    assert next(times) > 1


def test_any_program_can_read_the_file(tmp_path: Path) -> None:
    path = tmp_path / "pool.npz"
    cache.save(at(path), ARRAYS)
    with np.load(path) as stored:
        found = dict(stored)
    assert found.pop(cache.LABEL) == at(path).label.encode()
    assert same(found, ARRAYS)


@pytest.mark.parametrize("block", [2**20, 100])
def test_a_file_ends_with_the_checksum_of_all_before(
    block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "BLOCK", block)
    path = tmp_path / "not" / "there" / "pool.npz"
    assert cache.save(at(path), ARRAYS)
    content = path.read_bytes()
    assert content[-4:] == zlib.crc32(content[:-4]).to_bytes(4)
    found = cache.load(at(path))
    assert found is not None
    assert same(found, ARRAYS)


def test_no_object_is_kept_and_none_is_taken_from_a_file(tmp_path: Path) -> None:
    path, arrays = tmp_path / "pool.npz", {"theta": np.array([Key("x", 1)], dtype=object)}
    with pytest.raises(ValueError, match="allow_pickle"):
        cache.save(at(path), arrays)
    assert list(tmp_path.iterdir()) == []
    with path.open("w+b") as file:
        np.savez(file, allow_pickle=True, **arrays)  # type: ignore[arg-type]
        cache._seal(file, at(path).label)
    assert cache.holds(at(path))
    assert cache.load(at(path)) is None
    assert not path.exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX")
@pytest.mark.parametrize("what", ["pipe", "device", "folder", "huge"])
def test_what_is_no_file_of_ours_is_neither_waited_for_nor_read(what: str, tmp_path: Path) -> None:
    path = tmp_path / "pool.npz"
    if what == "pipe":
        os.mkfifo(path)
    elif what == "device":
        path.symlink_to("/dev/zero")
    elif what == "folder":
        path.mkdir()
    else:
        path.touch()
        os.truncate(path, cache.SIZE_LIMIT + 1)
    assert not cache.holds(at(path))
    assert same(cache.load_or_make(at(path), lambda: ARRAYS), ARRAYS)
    assert (cache.load(at(path)) is None) == (what == "folder")


def test_the_folder_is_the_one_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ABCDP_CACHE_DIR", str(tmp_path))
    assert cache.entry("pool", Key("x", 1), "code").path.parent == tmp_path
    other = tmp_path / "other"
    assert cache.entry("pool", Key("x", 1), "code", other).path.parent == other
    monkeypatch.delenv("ABCDP_CACHE_DIR")
    assert cache.folder().name == "abcdp-explorer"


def test_another_key_is_another_file_and_other_code_the_same_one() -> None:
    keys = [Key("x", 1), Key("x", 2), Key("y", 1)]
    paths = {cache.entry(kind, key, "code").path for kind in ("pool", "rho") for key in keys}
    assert len(paths) == 6
    one, same_key = cache.entry("pool", keys[0], "a"), {"n": 1, "scenario": "x"}
    assert one == cache.entry("pool", same_key, "a")
    other = cache.entry("pool", same_key, "b")
    assert one.path == other.path
    assert one.label != other.label


def kept(folder: Path) -> cache.Entry:
    """Something in the cache."""
    entry = cache.entry("pool", Key("x", 1), "code", folder)
    assert cache.save(entry, ARRAYS)
    return entry


def assert_not_there_and_made_anew(wanted: cache.Entry) -> None:
    """Other arrays are made for it, kept and found."""
    assert not cache.holds(wanted)
    assert cache.load(wanted) is None
    other = {"theta": np.zeros(3)}
    assert same(cache.load_or_make(wanted, lambda: dict(other)), other)
    assert cache.holds(wanted)
    assert same(cache.load_or_make(wanted, never), other)


@pytest.mark.parametrize("flag", ["O_NONBLOCK", "O_BINARY"])
def test_a_system_without_a_flag_will_do(
    flag: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.save(at(tmp_path / "pool.npz"), ARRAYS)
    monkeypatch.delattr(os, flag, raising=False)
    assert cache.load(at(tmp_path / "pool.npz")) is not None


def test_what_is_there_is_held(tmp_path: Path) -> None:
    assert cache.holds(kept(tmp_path))
    assert not cache.holds(cache.entry("pool", Key("x", 2), "code", tmp_path))


def test_what_other_code_made_is_made_anew(tmp_path: Path) -> None:
    kept(tmp_path)
    assert_not_there_and_made_anew(cache.entry("pool", Key("x", 1), "later code", tmp_path))
    assert len(list(tmp_path.glob("*.npz"))) == 1


def test_what_was_made_for_another_key_is_made_anew(tmp_path: Path) -> None:
    # As if two keys had one hash, or somebody had renamed a file.
    other = cache.entry("pool", Key("x", 2), "code", tmp_path)
    kept(tmp_path).path.rename(other.path)
    assert_not_there_and_made_anew(other)


@pytest.mark.parametrize("more", ["", " "])
def test_a_label_is_compared_to_its_last_character(tmp_path: Path, more: str) -> None:
    wanted = kept(tmp_path)
    label = wanted.label + more if more else wanted.label[:-1]
    assert cache.save(cache.Entry(wanted.path, label), ARRAYS)
    assert_not_there_and_made_anew(wanted)


def test_a_file_without_a_label_is_made_anew(tmp_path: Path) -> None:
    wanted = kept(tmp_path)
    with wanted.path.open("wb") as file:
        np.savez(file, allow_pickle=False, **ARRAYS)
    assert_not_there_and_made_anew(wanted)


def test_a_flipped_byte_anywhere_is_seen_and_the_file_removed(tmp_path: Path) -> None:
    path = tmp_path / "pool.npz"
    cache.save(at(path), ARRAYS)
    sound = path.read_bytes()
    for place in range(len(sound)):
        damaged = bytearray(sound)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        # By the label alone it may be either; it must not be an error.
        assert cache.holds(at(path)) in (True, False)
        assert cache.load(at(path)) is None, f"byte {place}"
        assert not path.exists()


def test_a_damaged_header_of_a_large_file_is_seen(tmp_path: Path) -> None:
    # The format's own checksum of an array is compared only when its last byte was read: here the
    # header asks for fewer rows than there are.
    path = tmp_path / "pool.npz"
    cache.save(at(path), {"theta": np.zeros((5000, 5))})
    sound = path.read_bytes()
    path.write_bytes(sound.replace(b"(5000, 5)", b"(1000, 5)"))
    assert cache.load(at(path)) is None


@pytest.mark.parametrize("part", [0, 3, 0.5, -1])
def test_a_file_cut_short_is_made_anew(tmp_path: Path, part: float) -> None:
    path = tmp_path / "pool.npz"
    cache.save(at(path), ARRAYS)
    sound = path.read_bytes()
    length = int(len(sound) * part) if isinstance(part, float) else part
    path.write_bytes(sound[:length])
    assert same(cache.load_or_make(at(path), made), ARRAYS)
    assert path.read_bytes() == sound


def test_a_flipped_byte_in_the_middle_is_made_anew(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "pool.npz"
    cache.save(at(path), ARRAYS)
    sound = path.read_bytes()
    damaged = bytearray(sound)
    damaged[len(sound) // 2] ^= 255
    path.write_bytes(damaged)
    assert same(cache.load_or_make(at(path), made), ARRAYS)
    assert path.read_bytes() == sound
    assert "does not read back" in caplog.text


PROCESS = """
import sys, time
from pathlib import Path
import numpy as np
from abcdp_core import cache

folder, name = Path(sys.argv[1]), sys.argv[2]

def make():
    with (folder / "made").open("a") as made:
        made.write("x")
    time.sleep(0.3)
    return {"values": np.arange(1000.0)}

(folder / name).touch()
while not (folder / "go").exists():
    time.sleep(0.001)
arrays = cache.load_or_make(cache.Entry(folder / "cache" / "pool.npz", "a test"), make)
sys.exit(int(not np.array_equal(arrays["values"], np.arange(1000.0))))
"""


def wait_for(*files: Path) -> None:
    deadline = time.monotonic() + 60.0
    while not all(file.exists() for file in files):
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_two_processes_that_ask_at_once_make_it_once(tmp_path: Path) -> None:
    root = str(Path(cache.__file__).parents[1])
    environment = os.environ | {"PYTHONPATH": root}
    processes = [
        subprocess.Popen([sys.executable, "-c", PROCESS, str(tmp_path), name], env=environment)
        for name in ("first", "second")
    ]
    try:
        wait_for(tmp_path / "first", tmp_path / "second")
        (tmp_path / "go").touch()
        assert [process.wait(60) for process in processes] == [0, 0]
    finally:
        for process in processes:
            process.kill()
    assert (tmp_path / "made").read_text() == "x"


def test_making_room_does_not_let_a_second_maker_in(tmp_path: Path) -> None:
    path = tmp_path / ours("pool")
    making, go = threading.Event(), threading.Event()
    makers: list[str] = []

    def make() -> cache.Arrays:
        makers.append(threading.current_thread().name)
        making.set()
        assert go.wait(60)
        return made()

    cache.save(at(path), ARRAYS)
    path.write_bytes(b"damaged")
    first = threading.Thread(target=cache.load_or_make, args=(at(path), make))
    second = threading.Thread(target=cache.load_or_make, args=(at(path), make))
    first.start()
    assert making.wait(60)
    cache.save(at(path), ARRAYS)
    cache.evict(tmp_path, limit=0)
    second.start()
    time.sleep(0.1)
    go.set()
    first.join(60)
    second.join(60)
    assert len(makers) == 1


def test_who_waits_for_one_who_stands_still_goes_on_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As one that was stopped by Ctrl-Z, which was waited for without end."""
    path = tmp_path / "pool.npz"
    monkeypatch.setattr(cache, "BEAT", 0.01)
    monkeypatch.setattr(cache, "STILL", 0.05)
    with filelock.FileLock(path.with_suffix(".lock")):
        assert same(cache.load_or_make(at(path), made), made())
    (line,) = caplog.messages
    assert line.startswith("another process was to make the same and stands still")
    assert same(cache.load_or_make(at(path), never), made())


def test_who_is_at_work_is_waited_for_however_long_it_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, looks = tmp_path / "pool.npz", threading.Semaphore(0)
    begun, go, makers, signs = threading.Event(), threading.Event(), list[int](), itertools.count()
    monkeypatch.setattr(cache, "BEAT", 0.001)
    monkeypatch.setattr(cache, "STILL", 0.0)

    def changed(_: object) -> int:
        looks.release()
        return next(signs)

    monkeypatch.setattr(cache, "_changed", changed)

    def make() -> cache.Arrays:
        makers.append(1)
        begun.set()
        assert go.wait(60)
        return ARRAYS

    with ThreadPoolExecutor(2) as there:
        first = there.submit(cache.load_or_make, at(path), make)
        assert begun.wait(60)
        second = there.submit(cache.load_or_make, at(path), never)
        assert all(looks.acquire(timeout=60) for _ in range(5))
        assert not second.done()
        go.set()
        assert same(first.result(60), second.result(60))
    assert makers == [1]


def test_who_makes_something_gives_signs_of_life(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, signs = tmp_path / "pool.npz", threading.Semaphore(0)
    touch = os.utime
    monkeypatch.setattr(cache, "BEAT", 0.001)

    def noted(file: Any, *more: Any) -> None:
        touch(file, *more)
        if str(file).endswith(".lock"):
            signs.release()

    monkeypatch.setattr(cache.os, "utime", noted)

    def make() -> cache.Arrays:
        assert all(signs.acquire(timeout=60) for _ in range(3))
        return ARRAYS

    assert same(cache.load_or_make(at(path), make), ARRAYS)


def test_a_maker_that_fails_leaves_the_way_free(tmp_path: Path) -> None:
    path = tmp_path / "pool.npz"
    with pytest.raises(AssertionError):
        cache.load_or_make(at(path), never)
    assert same(cache.load_or_make(at(path), made), ARRAYS)


def test_a_folder_that_cannot_be_made_is_said_once_and_done_without(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    # A file stands where the folder would be: that stops even the superuser.
    (tmp_path / "file").touch()
    with caplog.at_level(logging.WARNING):
        for name in ("a.npz", "b.npz", "a.npz"):
            path = tmp_path / "file" / "cache" / name
            assert same(cache.load_or_make(at(path), made), ARRAYS)
            assert not cache.save(at(path), ARRAYS)
    assert len(caplog.records) == 1
    assert "running without it" in caplog.text


def test_a_folder_that_is_read_only_still_serves_what_it_holds(tmp_path: Path) -> None:
    cache.save(at(tmp_path / "kept.npz"), ARRAYS)
    tmp_path.chmod(0o500)
    if os.access(tmp_path, os.W_OK):
        pytest.skip("the superuser may write everywhere")
    try:
        assert same(cache.load_or_make(at(tmp_path / "kept.npz"), never), ARRAYS)
        assert same(cache.load_or_make(at(tmp_path / "other.npz"), made), ARRAYS)
    finally:
        tmp_path.chmod(0o700)


def test_a_date_that_cannot_be_set_does_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError

    cache.save(at(tmp_path / "kept.npz"), ARRAYS)
    monkeypatch.setattr(os, "utime", refused)
    assert same(cache.load_or_make(at(tmp_path / "kept.npz"), never), ARRAYS)


def test_the_files_used_longest_ago_go_first(tmp_path: Path) -> None:
    names = ["oldest", "older", "newer", "newest"]
    for age, name in enumerate(names):
        cache.save(at(tmp_path / ours(name)), {"values": np.zeros(1000)})
        os.utime(tmp_path / ours(name), (1e9 + age, 1e9 + age))
    size = (tmp_path / ours("newest")).stat().st_size
    # Reading is use.
    cache.load(at(tmp_path / ours("oldest")))
    cache.evict(tmp_path, limit=2 * size)
    assert {*names_in(tmp_path)} == {ours("oldest"), ours("newest")}


def test_saving_makes_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.save(at(tmp_path / ours("first")), {"values": np.zeros(1000)})
    os.utime(tmp_path / ours("first"), (1e9, 1e9))
    size = (tmp_path / ours("first")).stat().st_size
    monkeypatch.setattr(cache.evict, "__defaults__", (size, 9))
    monkeypatch.setattr(cache, "SIZE_LIMIT", size)
    cache.save(at(tmp_path / ours("second")), {"values": np.zeros(1000)})
    assert names_in(tmp_path) == [ours("second")]


@pytest.mark.parametrize(("name", "limit"), [("COUNT_LIMIT", 400), ("SIZE_LIMIT", 4000)])
def test_a_folder_is_looked_through_at_first_and_then_seldom(
    name: str, limit: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 50,000 files in it each look took seconds, at each of them that was added."""
    looks: list[int] = []
    monkeypatch.setattr(cache, name, limit)
    monkeypatch.setattr(cache, "evict", lambda _: looks.append(added))
    for added in range(1, 13):
        # Eight bytes each.
        cache.save(at(tmp_path / ours(f"{added}")), {"values": np.zeros(1)})
    assert looks == [1, 6, 11] if name == "COUNT_LIMIT" else [1, 7]


@pytest.mark.parametrize("fails", [False, True])
def test_a_file_is_written_beside_its_place_and_moved_there_whole(
    fails: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "pool.npz"
    cache.save(at(path), ARRAYS)
    before = path.read_bytes()
    seen: list[str] = []

    def watched(file: Any, **rest: Any) -> None:
        seen.extend(other.suffix for other in tmp_path.iterdir() if other != path)
        assert path.read_bytes() == before
        write(file, **rest)
        assert path.read_bytes() == before
        if fails:
            raise OSError(28, "No space left on device")

    write = np.savez
    monkeypatch.setattr(cache.np, "savez", watched)
    later = {"theta": np.zeros(3)}
    assert cache.save(at(path), later) is not fails
    assert seen == [cache.UNFINISHED]
    assert list(tmp_path.iterdir()) == [path]
    # As files of others there: the folder may be a group's.
    (tmp_path / "other").touch()
    assert path.stat().st_mode == (tmp_path / "other").stat().st_mode
    found = cache.load(at(path))
    assert found is not None
    assert same(found, ARRAYS if fails else later)


def test_making_room_does_not_take_what_is_being_written(tmp_path: Path) -> None:
    cache.save(at(tmp_path / ours("kept")), ARRAYS)
    (tmp_path / "fresh.abcdp-part").write_bytes(b"half")
    others = {"fresh.abcdp-part", "somebody-s.txt", "thesis-2026.npz", "data.npz"}
    for name in others - {"fresh.abcdp-part"}:
        (tmp_path / name).write_bytes(b"a file")
    cache.evict(tmp_path, limit=0)
    assert {*names_in(tmp_path)} == others


def test_a_folder_holds_so_many_files_however_small(tmp_path: Path) -> None:
    """Links with other seeds make others, and all are looked at whenever one is added."""
    for age, name in enumerate(("newest", "middle", "oldest")):
        cache.save(at(tmp_path / ours(name)), ARRAYS)
        os.utime(tmp_path / ours(name), (1e9 - age, 1e9 - age))
    cache.evict(tmp_path, count=2)
    assert {*names_in(tmp_path)} == {ours("newest"), ours("middle")}


def test_a_lock_that_nobody_took_for_a_day_goes_and_no_other_program_s(tmp_path: Path) -> None:
    ours, old = f"pool-{'0a' * 16}.lock", time.time() - 2 * cache.UNUSED_LOCK
    for name in (ours, ours.replace("0a", "0b"), "poetry.lock"):
        (tmp_path / name).touch()
    for name in (ours, "poetry.lock"):
        os.utime(tmp_path / name, (old, old))
    cache.evict(tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {
        *("poetry.lock", ours.replace("0a", "0b"))
    }


def test_a_lock_in_use_is_young_whoever_took_it_first(tmp_path: Path) -> None:
    path = tmp_path / f"pool-{'0a' * 16}.npz"
    path.with_suffix(".lock").touch()
    os.utime(path.with_suffix(".lock"), (1e9, 1e9))

    def make() -> cache.Arrays:
        cache.evict(tmp_path)
        assert path.with_suffix(".lock").exists()
        return ARRAYS

    cache.load_or_make(at(path), make)


def test_what_killed_writers_left_goes_after_ten_minutes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1.5e9
    monkeypatch.setattr(cache.time, "time", lambda: now)
    for age in (-601, -600, 0, 600, 601):
        for ending in ("abcdp-part", "part"):
            (tmp_path / f"{age}.{ending}").write_bytes(b"half")
            os.utime(tmp_path / f"{age}.{ending}", (now - age, now - age))
    cache.save(at(tmp_path / "pool.npz"), ARRAYS)
    ours = {file.name for file in tmp_path.iterdir() if file.suffix != ".part"}
    assert ours == {"-600.abcdp-part", "0.abcdp-part", "600.abcdp-part", "pool.npz"}
    assert len([*tmp_path.glob("*.part")]) == 5, "another program's are left alone"


def test_a_user_without_a_home_folder_has_no_cache(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def nobody(_: str) -> str:
        raise RuntimeError("could not determine the home directory")

    monkeypatch.delenv("ABCDP_CACHE_DIR")
    monkeypatch.setattr(cache.platformdirs, "user_cache_dir", nobody)
    wanted = cache.entry("test", {"a": 1}, "code")
    assert not cache.holds(wanted)
    assert same(cache.load_or_make(wanted, lambda: ARRAYS), ARRAYS)
    assert "without a home folder" in caplog.text
    assert "running without it" in caplog.text
