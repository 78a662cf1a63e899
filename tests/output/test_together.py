from __future__ import annotations

import contextlib
import dataclasses
import errno
import itertools
import os
import shutil
import signal
import stat
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from pandas.testing import assert_frame_equal
from plotly.offline import get_plotlyjs

from abcdp_core import experiments, runner
from abcdp_core.commands import arguments
from abcdp_core.output import files, together
from abcdp_core.output.page import LIBRARY
from abcdp_core.parameters import ParameterError
from abcdp_core.results import Result
from tests import toy_experiment
from tests.toy_experiment import figures

FORMATS = ("csv", "json")
NAMES = {"toy.csv", "toy.limits.csv", "toy.json"}


@pytest.fixture
def later() -> Result:
    """Another result of the same study, a little larger."""
    return runner.run_to_end(experiments.load("toy"), toy_experiment.Params(5), 12)


@pytest.fixture
def copies_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy of a folder stands for the folder itself."""
    monkeypatch.setattr(together, "_number", lambda _: "the same")


def write(result: Result, folder: Path) -> list[Path]:
    return files.write(result, figures(result), folder, FORMATS)


def names_in(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()}


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def is_there(result: Result, folder: Path) -> bool:
    """Whether this very result is in a folder, as a whole."""
    found = files.read(folder, "toy")
    if found.seed != result.seed:
        return False
    for name, table in result.tables.items():
        assert_frame_equal(found.tables[name], table, check_exact=True)
    return True


def step_by_step(monkeypatch: pytest.MonkeyPatch, before: Callable[[], None]) -> None:
    """Call a function before every step that changes a name or brings something to the disk."""

    def watched(step: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            before()
            return step(*arguments, **options)

        return call

    monkeypatch.setattr(os, "fsync", watched(os.fsync))
    for name in ("rename", "replace", "mkdir", "rmdir", "write_text", "unlink"):
        monkeypatch.setattr(Path, name, watched(getattr(Path, name)))


@pytest.mark.usefixtures("copies_count")
def test_a_kill_before_any_step_leaves_the_old_result_or_the_new_one(
    result: Result, later: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy of the folder before a step is what a program killed there leaves behind."""
    folder, copies = tmp_path / "out", tmp_path / "copies"
    write(result, folder)
    steps = 0

    def copy() -> None:
        nonlocal steps
        shutil.copytree(folder, copies / f"{steps:02}")
        steps += 1

    with monkeypatch.context() as patch:
        step_by_step(patch, copy)
        # What copies is watched too.
        patch.setattr(os, "mkdir", os.mkdir)
        write(later, folder)
    assert is_there(later, folder)
    assert steps >= 12
    found = []
    for number, left in enumerate(sorted(copies.iterdir())):
        again = tmp_path / f"again-{number}"
        shutil.copytree(left, again)
        new = is_there(later, left)
        assert new or is_there(result, left), f"step {number}"
        found.append(new)
        # The next run leaves nothing of the one that was killed.
        write(result, again)
        assert names_in(again) == NAMES
        assert is_there(result, again)
    assert found == sorted(found)
    assert len(set(found)) == 2


@pytest.mark.parametrize("reason", [errno.ENOSPC, errno.EIO])
def test_a_disk_that_fails_at_any_step_leaves_the_old_result(
    reason: int, result: Result, later: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(result, tmp_path)
    sound = contents(tmp_path)
    for fails in range(50):
        steps = 0

        def fail() -> None:
            nonlocal steps
            steps += 1
            if steps == fails + 1:  # noqa: B023 - called in this turn
                raise OSError(reason, os.strerror(reason))

        with monkeypatch.context() as patch:
            step_by_step(patch, fail)
            with contextlib.suppress(OSError):
                write(later, tmp_path)
                break
        if is_there(later, tmp_path):
            continue
        assert contents(tmp_path) == sound, f"step {fails}"
    assert fails > 6
    assert is_there(later, tmp_path)


@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
def test_a_disk_that_is_full_after_any_byte_leaves_the_old_result(
    result: Result, later: Result, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    write(result, folder)
    sound = contents(folder)
    sizes = sorted(file.stat().st_size for file in write(later, tmp_path / "later"))
    places = {0, *sizes, *(size - 1 for size in sizes), *range(0, sizes[-1], 100)}
    for size in sorted(places - {sizes[-1]}):
        with no_file_larger_than(size), pytest.raises(OSError, match="File too large"):
            write(later, folder)
        assert contents(folder) == sound, f"{size} bytes"
    with no_file_larger_than(sizes[-1]):
        write(later, folder)
    assert is_there(later, folder)


@contextlib.contextmanager
def no_file_larger_than(size: int) -> Iterator[None]:
    """As if the disk were full after so many bytes of a file; the system itself refuses more."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("links", [True, False])
def test_an_error_at_any_step_leaves_all_as_it_was(
    result: Result,
    later: Result,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_first: bool,
    links: bool,
) -> None:
    """Over a file of somebody else nothing can be moved, and other files had been moved before."""
    left = 0

    def fail() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise OSError(errno.EIO, "Input/output error")

    def no_link(*_: Any, **__: Any) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    step_by_step(monkeypatch, fail)
    if not links:
        monkeypatch.setattr(os, "link", no_link)
    for step in itertools.count(1):
        folder = tmp_path / str(step)
        folder.mkdir()
        if not is_first:
            write(result, folder)
        before, left = contents(folder), step
        try:
            write(later, folder)
        except OSError:
            assert contents(folder) == before
        else:
            assert is_there(later, folder)
            assert names_in(folder) == NAMES
            if left > 0:
                break
    assert step > 10


@pytest.mark.usefixtures("copies_count")
@pytest.mark.parametrize("for_good", [True, False])
def test_a_kill_after_an_error_leaves_the_old_result_or_the_new_one(
    result: Result,
    later: Result,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    for_good: bool,
) -> None:
    """As the program takes back what it had moved, or cannot, on a disk that is read-only now."""
    folder, copies = tmp_path / "out", tmp_path / "copies"
    seen, error_at = 0, 0

    def step() -> None:
        nonlocal seen
        seen += 1
        if seen > error_at:
            shutil.copytree(folder, copies / f"{error_at}-{seen}")
        if seen == error_at or (for_good and seen > error_at):
            raise OSError(errno.EIO, "Input/output error")

    for error_at in range(1, 40):
        shutil.rmtree(folder, ignore_errors=True)
        write(result, folder)
        seen = 0
        with monkeypatch.context() as patched:
            step_by_step(patched, step)
            with contextlib.suppress(OSError):
                write(later, folder)
        shutil.copytree(folder, copies / f"{error_at}-end")
        if seen < error_at:
            break
    else:
        pytest.fail("there are more steps")
    for left in copies.iterdir():
        assert is_there(result, left) or is_there(later, left)
        assert {name for name in names_in(left) if not name.startswith(".")} == NAMES
        write(later, left)
        assert names_in(left) == NAMES


def test_who_could_not_put_files_back_does_not_say_so(
    result: Result, later: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(result, tmp_path)
    moves = 0

    def read_only() -> None:
        nonlocal moves
        moves += (tmp_path / together.READY).exists()
        if moves > 2:
            raise OSError(errno.EROFS, "Read-only file system")

    with monkeypatch.context() as patched:
        step_by_step(patched, read_only)
        with pytest.raises(together.MixedError, match="Read-only") as raised:
            write(later, tmp_path)
    said = str(arguments.not_writable("out", tmp_path, raised.value, arguments.UNCHANGED))
    assert arguments.UNCHANGED not in said
    assert "the next command that can write there" in said
    assert is_there(later, tmp_path)


def test_a_place_that_is_a_folder_is_seen_before_the_first_move(
    result: Result, later: Result, tmp_path: Path
) -> None:
    write(result, tmp_path)
    (tmp_path / "toy.json").unlink()
    (tmp_path / "toy.json").mkdir()
    tables = {name: (tmp_path / name).read_bytes() for name in ("toy.csv", "toy.limits.csv")}
    with pytest.raises(IsADirectoryError):
        write(later, tmp_path)
    assert {name: (tmp_path / name).read_bytes() for name in tables} == tables
    assert names_in(tmp_path) == NAMES


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("name", [together.BEGUN, together.READY, together.UNDONE, together.BEFORE])
@pytest.mark.parametrize("kind", ["link", "dangling", "file"])
def test_what_others_put_at_our_places_stays_as_it_is(
    result: Result, tmp_path: Path, name: str, kind: str
) -> None:
    """Behind a link there, somebody's files would be moved here, or removed."""
    theirs, out = tmp_path / "theirs", tmp_path / "out"
    theirs.mkdir()
    (theirs / "thesis.tex").write_text("years")
    out.mkdir()
    if kind == "file":
        (out / name).write_text("years")
    else:
        (out / name).symlink_to(theirs if kind == "link" else "nowhere")
    with pytest.raises(FileExistsError, match="made by somebody else"):
        write(result, out)
    with pytest.raises(ParameterError, match=f"{name} there was made by somebody else"):
        arguments.make_ready(out, "toy")
    assert names_in(theirs) == {"thesis.tex"}
    assert names_in(out) == {name}


@pytest.mark.parametrize("marked", [True, False])
@pytest.mark.parametrize("names", ['["thesis.tex", "../thesis.tex", "{}"]', "[]"])
def test_nothing_is_moved_or_removed_for_a_folder_that_others_packed(
    names: str, marked: bool, result: Result, tmp_path: Path
) -> None:
    """Who unpacks an archive and reads a pool there lost what its sender had named."""
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    out.mkdir()
    elsewhere.mkdir()
    places = [folder / "thesis.tex" for folder in (out, tmp_path, elsewhere)]
    for place in places:
        place.write_text("years")
    (out / together.UNDONE).mkdir()
    before = out / together.BEFORE
    before.mkdir()
    (before / together.NEW).write_text(names.format(elsewhere / "thesis.tex"))
    (before / "toy.json").write_text("theirs")
    if marked:
        # Whoever may write in the folder can do this; then files in it are theirs to remove.
        together._mark(before)
        places = places[1:]
    together.finish(out)
    assert [place.read_text() for place in places] == ["years"] * len(places)
    assert (out / "toy.json").exists() == marked
    write(result, out)
    assert is_there(result, out)


def refuse(*_: object) -> None:
    raise OSError(errno.ENOLCK, "No locks available")


def test_of_a_copy_of_a_folder_it_is_said_that_files_may_be_of_two_results(
    result: Result, later: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, copy = tmp_path / "out", tmp_path / "copy"
    write(result, out)
    ready = out / together.READY
    ready.mkdir()
    (ready / "toy.json").write_text("later")
    together._mark(ready)
    shutil.copytree(out, copy)

    def clear_without_locks(folder: Path) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(pytest.importorskip("fcntl"), "flock", refuse)
            together.clear(folder)

    uses = (together.clear, clear_without_locks, lambda folder: write(later, folder))
    for use in (together.check_ours, *uses):
        with pytest.raises(
            together.CopiedError, match="files here may be of two results"
        ) as raised:
            use(copy)
        said = arguments.not_writable("out", copy, raised.value, arguments.UNCHANGED)
        assert arguments.UNCHANGED not in str(said)
    assert (copy / "toy.json").read_bytes() == (out / "toy.json").read_bytes()


@pytest.mark.skipif(os.name != "posix", reason="users of POSIX")
@pytest.mark.parametrize("name", [together.BEGUN, together.READY])
def test_what_a_killed_command_of_somebody_else_left_is_named_before_the_work(
    name: str, result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it was killed between two moves, nobody can say that an earlier result is as it was."""

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    (tmp_path / name).mkdir()
    (tmp_path / name / "toy.json").write_text("theirs")
    together._mark(tmp_path / name)
    own = os.geteuid()
    monkeypatch.setattr(shutil, "rmtree", refuse)
    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(PermissionError, match="Permission denied"):
        write(result, tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: own + 1)
    kind = together.MixedError if name == together.READY else PermissionError
    with pytest.raises(kind, match=f"{name} there is of a command that was ended") as raised:
        write(result, tmp_path)
    said = str(arguments.not_writable("out", tmp_path, raised.value, arguments.UNCHANGED))
    assert (arguments.UNCHANGED in said) == (name == together.BEGUN)
    with pytest.raises(ParameterError, match=f"^out = .*: {name} there is of a command") as refused:
        arguments.make_ready(tmp_path, "toy")
    assert (arguments.MIXED in str(refused.value)) == (name == together.READY)


@pytest.mark.skipif(os.name != "posix", reason="users of POSIX")
def test_where_each_replaces_their_own_nothing_is_begun_over_files_of_others(
    result: Result, later: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What could be neither finished nor undone kept their owner from writing and reading."""
    write(result, tmp_path)
    tmp_path.chmod(0o1777)
    there, own = names_in(tmp_path), os.geteuid()
    together.check_place(tmp_path / "toy.json")
    monkeypatch.setattr(os, "geteuid", lambda: own + 1)
    with pytest.raises(PermissionError, match="there is somebody else's"):
        write(later, tmp_path)
    with pytest.raises(ParameterError, match="there is somebody else's"):
        arguments.make_ready(tmp_path, "toy", "csv", "json")
    # Nobody will write these.
    for name in ("toy", "LICENSE", ".toy.csv"):
        (tmp_path / name).touch()
        there.add(name)
    for formats in (("svg",), ()):
        arguments.make_ready(tmp_path, "toy", *formats)
    assert is_there(result, tmp_path)
    assert names_in(tmp_path) == there
    tmp_path.chmod(0o777)
    write(later, tmp_path)


@pytest.mark.skipif(os.name != "posix", reason="users of POSIX")
def test_what_is_there_already_need_not_be_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Figures of all studies share one library, which is whoever's came first."""
    shared, own = tmp_path / "library.js", os.geteuid()
    shared.write_text("the library")
    os.utime(shared, (1.0, 1.0))
    tmp_path.chmod(0o1777)
    monkeypatch.setattr(os, "geteuid", lambda: own + 1)
    before = shared.stat()
    for content, is_same in (("the library", True), ("another", False)):
        says = contextlib.nullcontext() if is_same else pytest.raises(PermissionError)
        with says, together.together(tmp_path) as folder:
            (folder / "library.js").write_text(content)
            (folder / f"figure-{is_same}.html").write_text("figure")
    assert names_in(tmp_path) == {"figure-True.html", "library.js"}
    monkeypatch.setattr(os, "geteuid", lambda: own)
    with together.together(tmp_path) as folder:
        (folder / "library.js").write_text("the library")
    assert shared.stat().st_mtime_ns > before.st_mtime_ns, "one's own is as new as the rest"


@pytest.mark.skipif(os.name != "posix", reason="users of POSIX")
def test_another_library_of_somebody_else_is_seen_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = os.geteuid()
    tmp_path.chmod(0o1777)
    monkeypatch.setattr(os, "geteuid", lambda: own + 1)
    arguments.make_ready(tmp_path, "toy", "html")
    (tmp_path / LIBRARY).write_text(get_plotlyjs(), encoding="utf-8", newline="\n")
    arguments.make_ready(tmp_path, "toy", "html")
    (tmp_path / LIBRARY).write_text("another")
    arguments.make_ready(tmp_path, "toy", "csv")
    with pytest.raises(ParameterError, match=f"{LIBRARY} there is somebody else's"):
        arguments.make_ready(tmp_path, "toy", "html")
    # Whoever may not even read it is told so too.
    monkeypatch.setattr(together.filecmp, "cmp", Mock(side_effect=PermissionError))
    with (
        pytest.raises(PermissionError, match=f"{LIBRARY} there is somebody else's"),
        together.together(tmp_path) as folder,
    ):
        (folder / LIBRARY).write_text("the library")


def test_without_locks_nothing_is_removed_that_another_may_be_writing(
    result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fcntl = pytest.importorskip("fcntl")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with together.together(tmp_path) as folder:
        (folder / "toy.csv").write_text("being written")
        arguments.make_ready(tmp_path, "toy", "csv")
    assert (tmp_path / "toy.csv").read_text() == "being written"
    monkeypatch.undo()
    (tmp_path / together.BEGUN).mkdir()
    (tmp_path / together.BEGUN / "toy.csv").write_text("left behind")
    arguments.make_ready(tmp_path, "toy", "csv")
    assert names_in(tmp_path) == {"toy.csv"}


@pytest.mark.skipif(os.name != "posix", reason="pipes and devices")
@pytest.mark.parametrize("folder", [together.READY, together.UNDONE])
@pytest.mark.parametrize("mark", ["pipe", "device", "socket", "folder", "loop"])
def test_a_mark_that_is_no_file_is_not_waited_for(folder: str, mark: str, tmp_path: Path) -> None:
    place = tmp_path / folder / together.MARK
    place.parent.mkdir()
    if mark == "pipe":
        os.mkfifo(place)
    elif mark == "device":
        place.symlink_to("/dev/zero")
    elif mark == "folder":
        place.mkdir()
    elif mark == "loop":
        place.symlink_to(place)
    else:
        os.mknod(place, stat.S_IFSOCK | 0o600)
    with pytest.raises(OSError, match=r"made by somebody else|symbolic links|No such device"):
        together.finish(tmp_path)
    assert os.path.lexists(place)


@pytest.mark.parametrize("name", [together.BEGUN, together.BEFORE])
def test_folders_in_a_folder_of_ours_are_others(name: str, result: Result, tmp_path: Path) -> None:
    """However deep they are."""
    (tmp_path / name / "theirs").mkdir(parents=True)
    with pytest.raises(FileExistsError, match=f"{name} there was made by somebody else"):
        write(result, tmp_path)
    assert (tmp_path / name / "theirs").exists()


@pytest.mark.parametrize("names", [b"\xff", b"[1]", b"{}{", b"7", b"[" * 100_000])
def test_a_list_of_names_that_is_none_is_one_line(names: bytes, tmp_path: Path) -> None:
    (tmp_path / together.UNDONE).mkdir()
    before = tmp_path / together.BEFORE
    before.mkdir()
    (before / together.NEW).write_bytes(names)
    together._mark(before)
    with pytest.raises(FileExistsError, match="was made by somebody else"):
        together.finish(tmp_path)


def test_a_place_that_cannot_be_looked_at_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(Path, "iterdir", fail)
    with pytest.raises(ParameterError, match=r"^out = .*: Input/output error\.$"):
        arguments.make_ready(tmp_path, "toy")


def test_ctrl_c_between_two_moves_waits_for_the_last(
    result: Result, later: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(result, tmp_path)
    replace, moved = Path.replace, []

    def interrupted(file: Path, place: Path) -> Path:
        moved.append(place)
        signal.raise_signal(signal.SIGINT)
        return replace(file, place)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(Path, "replace", interrupted)
            with pytest.raises(KeyboardInterrupt):
                write(later, tmp_path)
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(moved) == len(NAMES)
    assert is_there(later, tmp_path)
    assert names_in(tmp_path) == NAMES


def test_other_files_of_the_folder_are_left_alone(result: Result, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    write(result, tmp_path)
    assert names_in(tmp_path) == {*NAMES, "notes.txt"}


@pytest.mark.skipif(os.name != "posix", reason="locks of POSIX")
@pytest.mark.skipif(os.name != "posix", reason="locks of POSIX")
def test_who_reads_waits_for_who_writes_and_gets_one_whole_result(
    result: Result, later: Result, tmp_path: Path
) -> None:
    write(result, tmp_path)
    with ThreadPoolExecutor(1) as thread:
        with together.together(tmp_path):
            reading = thread.submit(is_there, result, tmp_path)
            time.sleep(0.05)
            assert not reading.done()
        assert reading.result(30.0)
        with together.unchanged(tmp_path):
            # Others may read meanwhile, and nobody writes.
            assert is_there(result, tmp_path)
            writing = thread.submit(write, later, tmp_path)
            time.sleep(0.05)
            assert not writing.done()
        writing.result(30.0)
    assert is_there(later, tmp_path)


def test_a_pool_is_read_once_the_moves_of_a_program_that_was_killed_are_done(
    tmp_path: Path,
) -> None:
    ready = tmp_path / together.READY
    ready.mkdir()
    (tmp_path / "pool.toml").write_text("n = 'earlier'", encoding="utf-8")
    (ready / "pool.toml").write_text("n = 'later'", encoding="utf-8")
    # As in a folder that somebody else has packed.
    with pytest.raises(ParameterError, match="files-to-be-moved there was made by somebody else"):
        arguments.read_pool(tmp_path / "pool.toml")
    assert (tmp_path / "pool.toml").read_text(encoding="utf-8") == "n = 'earlier'"
    (ready / together.MARK).write_text(str(ready.stat().st_ino), encoding="utf-8")
    with pytest.raises(ParameterError, match=r"pool\.toml: .*"):
        arguments.read_pool(tmp_path / "pool.toml")
    assert not ready.exists()
    assert (tmp_path / "pool.toml").read_text(encoding="utf-8") == "n = 'later'"


def test_two_writers_take_turns(result: Result, later: Result, tmp_path: Path) -> None:
    second = threading.Thread(target=write, args=(later, tmp_path))
    with together.together(tmp_path) as folder:
        second.start()
        second.join(0.2)
        assert second.is_alive()
        (folder / "mine").touch()
    second.join(60)
    assert names_in(tmp_path) == {*NAMES, "mine"}
    assert is_there(dataclasses.replace(later), tmp_path)


def test_one_file_is_replaced_in_one_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "seconds.json"
    together.replace(file, "first")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        together.replace(file, "second")
    assert contents(tmp_path) == {"seconds.json": b"first"}


def full(*_: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.skipif(os.name != "posix", reason="locks of POSIX")
def test_who_waits_for_another_program_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    import fcntl

    asked: list[int] = []

    def taken(_: int, how: int) -> None:
        asked.append(how)
        if how & fcntl.LOCK_NB:
            raise BlockingIOError

    monkeypatch.setattr(fcntl, "flock", taken)
    with together.together(tmp_path) as folder:
        (folder / "a").write_text("b", encoding="utf-8")
    assert asked == [fcntl.LOCK_EX | fcntl.LOCK_NB, fcntl.LOCK_EX]
    assert f"waiting: another program is using {tmp_path}" in caplog.text
    assert names_in(tmp_path) == {"a"}
