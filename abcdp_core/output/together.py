"""Several files written together: all of them take their places, or none does.

They are written in a folder beside their places and synced. Renaming that folder is the moment from
which they count; then each is moved to its place, over an earlier one. Whoever next writes or reads
there finishes the moves of a program that was killed between two of them, and removes what it left
half written. Where one cannot be moved, as over a file of somebody else, the folder is renamed
again, from when on the files do not count: the earlier ones, which have a second name until then,
take their places again, by this program or the next. So a full disk or a kill at any moment leaves
all files as they were, or all new ones.
"""

from __future__ import annotations

import contextlib
import errno
import filecmp
import json
import logging
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from abcdp_core.interruption import held

log = logging.getLogger(__name__)

BEGUN = ".files-being-written"
READY = ".files-to-be-moved"
UNDONE = ".files-to-be-removed"
BEFORE = ".files-as-they-were"

OURS = (BEGUN, READY, UNDONE, BEFORE)

MARK = "made-in-the-folder"
"""A file with the number of the folder that it is in: what somebody else has packed, and others
unpack, has another one, and nothing of theirs is moved or removed for it. So has one on a drive
that numbers its folders anew whenever it is mounted, as some network drives do."""

NEW = "names-that-were-not-there.json"
"""In the last one: which of the files are no earlier ones'."""


class MixedError(OSError):
    """Files that may be of two results: whoever next can write there makes them all of one."""


class CopiedError(FileExistsError):
    """Files that may be of two results, in a folder with another number: nobody can tell whose."""


COPIED = (
    "was left by a command that was ended between two files, and the folder was copied since, or "
    "its drive mounted anew: files here may be of two results; make them again in another folder"
)


@contextlib.contextmanager
def together(directory: Path) -> Iterator[Path]:
    """A folder whose files take their places in ``directory`` if the block ends without an error.

    Args:
        directory: made if it is not there. One process at a time writes to it like this, where the
            system has locks for folders.

    Raises:
        MixedError: some took their places, now or before, and cannot be put back.
        OSError: they cannot be written; nothing has changed.
    """
    directory.mkdir(parents=True, exist_ok=True)
    with _alone(directory):
        _clear(directory)
        folder, before = directory / BEGUN, directory / BEFORE
        folder.mkdir()
        try:
            yield folder
            for file in sorted(folder.iterdir()):
                sync(file)
                try:
                    check_place(directory / file.name)
                except PermissionError:
                    # Of somebody else may be what all studies share: the library of their figures.
                    if not _is_there(file, directory / file.name):
                        raise
                    file.unlink()
            sync(folder)
            with held():
                _remember(directory, {file.name for file in folder.iterdir()})
                _mark(folder)
                folder.rename(directory / READY)
                sync(directory)
                try:
                    _finish(directory)
                except BaseException:
                    _undo(directory)
                    raise
        except MixedError:
            raise
        except BaseException:
            for left in (folder, before):
                shutil.rmtree(left, ignore_errors=True)
            raise


def clear(directory: Path) -> None:
    """Finish or remove what programs that were killed left, before there is anything to lose.

    Where the system has no locks for folders nothing is touched, only looked at.

    Raises:
        MixedError: files there may be of two results, and somebody else's are in the way.
        CopiedError: they may be, and nobody here can tell.
        OSError: it cannot be done.
    """
    with _alone(directory) as is_alone:
        # Otherwise what another one is writing looks like what one has left.
        if is_alone:
            _clear(directory)
        else:
            # Of another one that is at work there may be gone, the next moment, what was there.
            with contextlib.suppress(FileNotFoundError):
                check_ours(directory)


def _clear(directory: Path) -> None:
    with _theirs_said(directory):
        check_ours(directory)
        _finish(directory)
        for left in (directory / BEGUN, directory / BEFORE):
            if left.exists():
                shutil.rmtree(left)


def finish(directory: Path) -> None:
    """Finish the moves of a program that was killed between two of them."""
    if _is_between(directory):
        with _alone(directory), _theirs_said(directory):
            check_ours(directory)
            _finish(directory)


@contextlib.contextmanager
def _theirs_said(directory: Path) -> Iterator[None]:
    """Say what is in the way where somebody else's command was killed in a folder of many."""
    try:
        yield
    except PermissionError as error:
        left = [name for name in OURS if _is_of_somebody_else(directory / name)]
        if not left:
            raise
        why = f"{left[0]} there is of a command that was ended, of somebody else"
        kind = MixedError if _is_between(directory) else PermissionError
        raise kind(error.errno, why) from error


def _is_of_somebody_else(place: Path) -> bool:
    is_there = os.name == "posix" and os.path.lexists(place)
    return is_there and place.lstat().st_uid != os.geteuid()


@contextlib.contextmanager
def unchanged(directory: Path) -> Iterator[None]:
    """Files that belong together can be read: all are there, and no other process moves any.

    Raises:
        OSError: there is no such folder, or files that a killed program left cannot be moved.
    """
    while True:
        finish(directory)
        with _alone(directory, reading=True):
            # A program may have been killed just before that.
            if not _is_between(directory):
                yield
                return


def _is_between(directory: Path) -> bool:
    """Whether some files may have their places, and others not."""
    return any((directory / name).exists() for name in (READY, UNDONE))


def _finish(directory: Path) -> None:
    ready, before = directory / READY, directory / BEFORE
    if ready.exists():
        for file in sorted(ready.iterdir()):
            if file.name != MARK:
                file.replace(directory / file.name)
        sync(directory)
        _remove(ready)
        shutil.rmtree(before, ignore_errors=True)
    if (directory / UNDONE).exists():
        _put_back(directory)


def _remember(directory: Path, names: set[str]) -> None:
    """Give the files that are in places a second name."""
    before = directory / BEFORE
    before.mkdir()
    there = {name for name in names if os.path.lexists(directory / name)}
    for name in there:
        try:
            os.link(directory / name, before / name, follow_symlinks=False)
        except OSError:
            # Not every drive knows files of two names.
            shutil.copy2(directory / name, before / name, follow_symlinks=False)
            sync(before / name)
    (before / NEW).write_text(json.dumps(sorted(names - there)), encoding="utf-8")
    sync(before / NEW)
    _mark(before)


def _undo(directory: Path) -> None:
    """Have all files as they were.

    Raises:
        MixedError: they cannot be put back now.
    """
    try:
        if (directory / READY).exists():
            (directory / READY).rename(directory / UNDONE)
            sync(directory)
            _put_back(directory)
    except OSError as error:
        raise MixedError(error.errno, error.strerror) from error


def _put_back(directory: Path) -> None:
    """Have the earlier files in their places, and none where there was none; again if need be."""
    before, undone = directory / BEFORE, directory / UNDONE
    # Without its mark it is somebody else's, or all that was in it has been put back.
    if _is_marked(before):
        for name in _names(before / NEW):
            (directory / name).unlink(missing_ok=True)
        for file in before.iterdir():
            if file.name not in (NEW, MARK):
                file.replace(directory / file.name)
        sync(directory)
    if before.exists():
        (before / MARK).unlink(missing_ok=True)
        shutil.rmtree(before)
    _remove(undone)


def _mark(folder: Path) -> None:
    """Say that a folder was made where it is, with all that is in it."""
    (folder / MARK).write_text(_number(folder), encoding="utf-8")
    sync(folder / MARK)
    sync(folder)


def _is_marked(folder: Path) -> bool:
    try:
        return _read(folder / MARK) == _number(folder).encode()
    except (FileNotFoundError, NotADirectoryError):
        return False


def _names(file: Path) -> list[str]:
    """The names in a list: of files in one folder, whatever somebody else wrote there.

    Raises:
        OSError: it cannot be read, or is no such list.
    """
    try:
        return [Path(name).name for name in json.loads(_read(file))]
    except (ValueError, TypeError, RecursionError) as error:
        raise FileExistsError(errno.EEXIST, f"{file.name} was made by somebody else") from error


LONGEST = 1 << 20
"""Bytes of a file of ours that is read."""


def _read(file: Path) -> bytes:
    """A short file; of what is none, or is longer, nothing that would be ours.

    Raises:
        OSError: it cannot be read.
    """
    # Behind a name that was handed over there may be a pipe that nobody writes to.
    handle = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        is_file = stat.S_ISREG(os.fstat(handle).st_mode)
        return os.read(handle, LONGEST) if is_file else b""
    finally:
        os.close(handle)


def _number(folder: Path) -> str:
    return str(folder.stat().st_ino)


def _remove(folder: Path) -> None:
    """Remove a folder, its mark last: without it nobody would."""
    for file in folder.iterdir():
        if file.name != MARK:
            file.unlink()
    (folder / MARK).unlink(missing_ok=True)
    folder.rmdir()


def check_ours(directory: Path) -> None:
    """Find out that what goes by our names is ours: behind a link are others' files.

    Raises:
        FileExistsError: there is such a thing; it stays as it is. A :class:`CopiedError` if others'
            or not, files beside it may not belong together.
    """
    for name in OURS:
        place = directory / name
        if os.path.lexists(place) and not _is_ours(place):
            if name in (READY, UNDONE) and (place / MARK).is_file():
                raise CopiedError(errno.EEXIST, f"{name} there {COPIED}")
            raise FileExistsError(errno.EEXIST, f"{name} there was made by somebody else")


def _is_ours(place: Path) -> bool:
    if not stat.S_ISDIR(place.lstat().st_mode):
        return False
    if any(stat.S_ISDIR(file.lstat().st_mode) for file in place.iterdir()):
        return False
    # Nothing is moved from the first; from the second only what is marked.
    return place.name in (BEGUN, BEFORE) or not any(place.iterdir()) or _is_marked(place)


def _is_there(file: Path, place: Path) -> bool:
    """Whether a file with the same content has the place already."""
    with contextlib.suppress(PermissionError):
        return not place.is_symlink() and filecmp.cmp(file, place, shallow=False)
    return False


def check_place(place: Path) -> None:
    """Find out before the first move that a later one would fail.

    Raises:
        OSError: it would.
    """
    if place.is_dir():
        raise IsADirectoryError(errno.EISDIR, f"{place.name} is a folder there")
    folder = place.parent.stat()
    if folder.st_mode & stat.S_ISVTX and os.path.lexists(place):
        # In such a folder, as that for temporary files, all write and each replaces their own.
        may = {0, folder.st_uid, place.lstat().st_uid}
        if os.name == "posix" and os.geteuid() not in may:
            raise PermissionError(errno.EPERM, f"{place.name} there is somebody else's")


@contextlib.contextmanager
def _alone(directory: Path, *, reading: bool = False) -> Iterator[bool]:
    """Wait until no other process writes there; the lock ends with the process that has it.

    Gives whether there is a lock.

    Args:
        directory: there.
        reading: whether others may read meanwhile.
    """
    try:
        import fcntl
    except ImportError:
        yield False
        return
    lock = fcntl.LOCK_SH if reading else fcntl.LOCK_EX
    try:
        handle = os.open(directory, os.O_RDONLY)
    except PermissionError:
        if not reading:
            raise
        # Files can be read in a folder whose names cannot be.
        yield False
        return
    is_alone = False
    try:
        # Some network drives have no locks for folders.
        with contextlib.suppress(OSError):
            try:
                fcntl.flock(handle, lock | fcntl.LOCK_NB)
            except BlockingIOError:
                log.warning("waiting: another program is using %s", directory)
                fcntl.flock(handle, lock)
            is_alone = True
        yield is_alone
    finally:
        os.close(handle)


def sync(path: Path) -> None:
    """Have a file, or the names in a folder, on the disk before anything that comes after.

    Raises:
        OSError: the disk did not take a file.
    """
    if path.is_dir():
        # Not every system can do this for folders, and those that cannot need it less.
        with contextlib.suppress(OSError):
            _sync(path, os.O_RDONLY)
    else:
        _sync(path, os.O_RDWR)


def _sync(path: Path, flags: int) -> None:
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def replace(file: Path, text: str) -> None:
    """Write one file in one step.

    Raises:
        OSError: it cannot be written; an earlier one is as it was.
    """
    part = file.with_name(f".{file.name}.part")
    try:
        part.write_text(text, encoding="utf-8", newline="\n")
        sync(part)
        part.replace(file)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise
