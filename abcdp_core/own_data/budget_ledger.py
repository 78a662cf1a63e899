"""The file in which budgets stand and what was taken from them, written before noise is drawn.

What flows, in this order::

    Budget ──create──► file                     once, by whoever is responsible for the data
    Claim ──reserve──► Reservation              on the disk before any noise is drawn
    ... the release ...
    Reservation ──give_back──► file             only where no noise was drawn

A reservation counts as spent from the moment it is made, and a crash leaves it spent. It is given
back only by the process that made it and knows that nothing was released.

**The file** is an SQLite database with a rollback journal. What is written is on the disk before
anything goes on (``synchronous=EXTRA``, which waits for the removal of the journal too: with
``FULL`` a power cut could undo a reservation), and one process writes at a time (``BEGIN
IMMEDIATE``). An entry has the digest of itself and, by the one before, of all before it; a released
document carries that of its reservation. So :func:`check` finds an entry that was edited and, with
documents at hand, an older copy of the file: a reservation has a random number, so that the same
release made again has another digest. It cannot find an older copy that no later document
tells of, nor a ledger that was made anew. Nor has SQLite's journal more than a name to tell whose
it is: so the file says where it was written last (:func:`_check_journals`).

Nothing is stored that depends on data: names, amounts, public settings, the day.
"""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import json
import math
import os
import re
import secrets
import sqlite3
import stat
import struct
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, NoReturn

import platformdirs

from abcdp_core.own_data.budget import NEIGHBOURS, Budget, Claim, fits, left
from abcdp_core.parameters import ParameterError

PLACE = "ABCDP_LEDGER"
"""Environment variable: the file, where it is not the usual one."""

NOWHERE = Path(os.devnull, "budgets of a user without a home folder")
"""A file that can never be."""

APPLICATION = 0x41424344
"""By which the file is known."""

VERSION = 1
"""Of what stands in it."""

WAIT = 30.0
"""Seconds that one waits for others to be done with the file."""

BETWEEN_LOOKS = 0.01
"""Seconds between two looks whether they are."""

TEXT = re.compile(r"\w[\w .,()/-]{0,99}")
"""A name, or what a unit is."""

EPSILONS = (Decimal("1e-6"), Decimal("1e6"))
"""Smallest and largest ε of a budget: beyond, floating point cannot tell what is left."""

SMALLEST_DELTA = Decimal("1e-30")
"""Of what is no pure budget."""

DIGITS = 20
"""Of an amount, at most, so that it is added without rounding."""

JOURNAL, LOG, MEMORY = "-journal", "-wal", "-shm"
"""What the names of SQLite's journals, and of what goes with them, end with."""

START = "0" * 64
"""Stands for the digest before the first entry."""

MOMENT = 2.0
"""Seconds after which a journal that stands somewhere is not that of a change going on."""

ENTRIES = (
    "CREATE TABLE entries (number INTEGER PRIMARY KEY, kind TEXT NOT NULL, budget TEXT NOT NULL, "
    "content TEXT NOT NULL, digest TEXT NOT NULL)"
)
"""The lines."""

PLACE_TABLE = "CREATE TABLE place (folder TEXT NOT NULL, path BLOB NOT NULL)"
"""Where the file was when it was written last: number of its folder, and path."""


@dataclass(frozen=True)
class Entry:
    """A line of the file.

    Attributes:
        number: from 1 on.
        kind: ``create``, ``reserve`` or ``return``.
        budget: whose.
        content: all else.
        digest: of this line and all before.
    """

    number: int
    kind: str
    budget: str
    content: Mapping[str, Any]
    digest: str


@dataclass(frozen=True)
class Account:
    """A budget and its history.

    Attributes:
        budget: which.
        entries: its lines, in order.
    """

    budget: Budget
    entries: tuple[Entry, ...]

    @property
    def reserved(self) -> dict[int, Claim]:
        """Number of the entry -> what counts as spent."""
        returned = {each.content["entry"] for each in self.entries if each.kind == "return"}
        return {
            each.number: _claim(each.content)
            for each in self.entries
            if each.kind == "reserve" and each.number not in returned
        }

    def left(self) -> Decimal:
        """The largest ε of one more pure release that fits."""
        return left(self.budget, [*self.reserved.values()])


@dataclass(frozen=True)
class Reservation:
    """What a document says of the ledger.

    Attributes:
        budget: what it was taken from.
        entry: number of the line.
        digest: of that line.
    """

    budget: str
    entry: int
    digest: str


def reservation_in(document: Mapping[str, Any]) -> Reservation:
    """What the content of a document's file says of the ledger.

    Raises:
        KeyError, TypeError, ValueError: it says nothing, or not in this form.
    """
    found = Reservation(**document["ledger"])
    kinds = (type(found.budget), type(found.entry), type(found.digest))
    if kinds != (str, int, str):
        raise ValueError("no reservation")
    return found


def usual_place() -> Path:
    """Where the file is if nobody says."""
    if given := os.environ.get(PLACE):
        return Path(given)
    try:
        return Path(platformdirs.user_data_dir("abcdp-explorer")) / "budgets.db"
    except RuntimeError:
        return NOWHERE


# ------------------------------------------------------------------------------- what can be done


def create(file: Path, budget: Budget) -> None:
    """Add a budget, and make the file if there is none.

    Raises:
        ParameterError: there is one of this name, it makes no sense, or the file cannot be used.
    """
    _check(budget)
    with _opened(file, make=True) as connection, _writing(connection, file):
        entries = _entries(connection, file)
        if any(each.budget == budget.name for each in entries):
            raise ParameterError(
                f"budget = {budget.name}: there is one already, and a budget is never changed."
            )
        content = {
            "epsilon": str(budget.epsilon),
            "delta": str(budget.delta),
            "unit": budget.unit,
            "neighbours": budget.neighbours,
        }
        _append(connection, file, entries, "create", budget.name, content)


def _check(budget: Budget) -> None:
    for name, text in (("budget", budget.name), ("unit", budget.unit)):
        if not TEXT.fullmatch(text):
            raise ParameterError(f"{name}: must be 1 to 100 letters, digits, spaces or .,()/-_.")
    low, high = EPSILONS
    if not (budget.epsilon.is_finite() and low <= budget.epsilon <= high):
        raise ParameterError(f"epsilon = {budget.epsilon}: must lie between {low:f} and {high:f}.")
    delta = budget.delta
    if not (delta.is_finite() and (delta == 0 or SMALLEST_DELTA <= delta < 1)):
        raise ParameterError(f"delta = {delta}: must be 0, or from {SMALLEST_DELTA} to below 1.")
    for name, amount in (("epsilon", budget.epsilon), ("delta", delta)):
        if len(amount.as_tuple().digits) > DIGITS:
            raise ParameterError(f"{name} = {amount:.6g}...: has more than {DIGITS} digits.")
    if budget.neighbours not in NEIGHBOURS:
        raise ParameterError(
            f"neighbours = {budget.neighbours}: must be one of {', '.join(NEIGHBOURS)}."
        )


def accounts(file: Path) -> dict[str, Account]:
    """Name -> budget with its history.

    Raises:
        ParameterError: the file cannot be used, or an entry was changed.
    """
    with _opened(file) as connection:
        entries = _reading(connection, file)
    return {
        each.budget: Account(
            _budget(each), tuple(other for other in entries if other.budget == each.budget)
        )
        for each in entries
        if each.kind == "create"
    }


def account(file: Path, name: str) -> Account:
    """One budget with its history.

    Raises:
        ParameterError: there is none of this name, or the file cannot be used.
    """
    known = accounts(file)
    if name not in known:
        _unknown(name, file, known)
    return known[name]


def _unknown(name: str, file: Path, known: Mapping[str, Any]) -> NoReturn:
    there = ", ".join(known) or "no budget yet"
    raise ParameterError(f"budget = {name}: {file} has {there}.")


def reserve(file: Path, name: str, claim: Claim, unit: str, neighbours: str) -> Reservation:
    """Take what a release costs from a budget; it is on the disk when this returns.

    Args:
        file: the ledger.
        name: of the budget.
        claim: what the release may cost.
        unit: what it protects.
        neighbours: of the data sets that it cannot tell apart.

    Raises:
        ParameterError: it does not fit, protects something else, or the file cannot be used.
    """
    with _opened(file) as connection, _writing(connection, file):
        entries = _entries(connection, file)
        made = {each.budget: each for each in entries if each.kind == "create"}
        if name not in made:
            _unknown(name, file, made)
        there = Account(_budget(made[name]), tuple(e for e in entries if e.budget == name))
        asked = (unit, neighbours)
        if asked != (there.budget.unit, there.budget.neighbours):
            raise ParameterError(
                f"budget = {name}: is for a {there.budget.unit} ({there.budget.neighbours}), and "
                f"this release protects a {unit} ({neighbours})."
            )
        if not fits(there.budget, [*there.reserved.values(), claim]):
            raise ParameterError(
                f"budget = {name}: {claim.epsilon} does not fit; {there.left()} is left of "
                f"{there.budget.epsilon}{_delta_words(there.budget, claim)}. Nothing was spent."
            )
        content = {
            "epsilon": str(claim.epsilon),
            "delta": str(claim.delta),
            "rho": None if claim.rho is None else claim.rho.hex(),
            "what": claim.what,
            "day": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "random": secrets.token_hex(16),
        }
        added = _append(connection, file, entries, "reserve", name, content)
    return Reservation(name, added.number, added.digest)


def _delta_words(budget: Budget, claim: Claim) -> str:
    if claim.delta and not budget.delta:
        return " and it has no δ"
    return f" for a pure release, of δ = {claim.delta} asked" if claim.delta else ""


def give_back(file: Path, reservation: Reservation) -> None:
    """Undo a reservation from which nothing was released; it stays in the history.

    Raises:
        ParameterError: there is no such reservation, or the file cannot be used.
    """
    with _opened(file) as connection, _writing(connection, file):
        entries = _entries(connection, file)
        made = [
            e for e in entries if (e.number, e.digest) == (reservation.entry, reservation.digest)
        ]
        if not made or made[0].kind != "reserve":
            raise ParameterError(f"ledger = {file}: has no such reservation.")
        _append(
            connection, file, entries, "return", reservation.budget, {"entry": reservation.entry}
        )


class Taken:
    """A reservation that is given back unless it is kept.

    Attributes:
        reservation: what a document says of it.
        is_kept: whether noise may have been drawn.
    """

    def __init__(self, reservation: Reservation) -> None:
        self.reservation = reservation
        self.is_kept = False

    def keep(self) -> None:
        """Noise is about to be drawn: from here on it is spent."""
        self.is_kept = True


@contextlib.contextmanager
def taken(file: Path, name: str, claim: Claim, unit: str, neighbours: str) -> Iterator[Taken]:
    """What :func:`reserve` does, given back if the block ends, however, before it is kept.

    Raises:
        ParameterError: as there; and if it cannot be given back, which leaves it spent.
    """
    found = Taken(reserve(file, name, claim, unit, neighbours))
    try:
        yield found
    finally:
        if not found.is_kept:
            _undo(file, found.reservation)


def _undo(file: Path, reservation: Reservation) -> None:
    try:
        give_back(file, reservation)
    except (ParameterError, MemoryError) as error:
        why = str(error) if isinstance(error, ParameterError) else "There is not enough memory."
        raise ParameterError(
            f"{why} Nothing was released, and yet its cost may count as spent."
        ) from error


def check_name(out: Path) -> None:
    """Refuse a name for a document that SQLite would take for a journal of its own, and remove.

    Raises:
        ParameterError: it is one.
    """
    for end in (JOURNAL, LOG, MEMORY):
        if out.name.endswith(end):
            raise ParameterError(f"out = {out}: a ledger may have files that end with {end}.")


def missing(file: Path, documents: Mapping[str, Reservation]) -> list[str]:
    """Names of documents whose reservations do not count: the file is older, or another one.

    Nor does one count that was given back, from which nothing can have been released.

    Raises:
        ParameterError: the file cannot be used, or an entry was changed.
    """
    with _opened(file) as connection:
        entries = _reading(connection, file)
    returned = {e.content["entry"] for e in entries if e.kind == "return"}
    known = {
        Reservation(e.budget, e.number, e.digest)
        for e in entries
        if e.kind == "reserve" and e.number not in returned
    }
    return [name for name, each in documents.items() if each not in known]


# ---------------------------------------------------------------------------------------- the file


@contextlib.contextmanager
def _opened(file: Path, *, make: bool = False) -> Iterator[sqlite3.Connection]:
    """A connection to the ledger.

    Raises:
        ParameterError: there is none, it is none, it is newer, or it cannot be read.
    """
    if make:
        _make_room(file)
    found = _found(file)
    if found and stat.S_ISREG(found.st_mode) and found.st_nlink > 1:
        # After a crash SQLite undoes what was begun by the name that it was begun by, and with it
        # what was reserved by the other name since.
        names = f"{found.st_nlink} names (hard links)"
        raise ParameterError(f"ledger = {file}: has {names}; leave it one.")
    # One that was begun and never made is empty.
    if not make and (not found or (stat.S_ISREG(found.st_mode) and not found.st_size)):
        raise ParameterError(f"ledger = {file}: there is none; `budget create` makes one.")
    try:
        mode = "rwc" if make else "rw"
        with (
            _alone(file) as real,
            contextlib.closing(_connected(f"{real.as_uri()}?mode={mode}")) as connection,
        ):
            connection.execute("PRAGMA synchronous = EXTRA")
            connection.execute("PRAGMA journal_mode = DELETE")
            yield connection
    except sqlite3.Error as error:
        raise ParameterError(f"ledger = {file}: {_reason(error)}.") from error
    except UnicodeDecodeError as error:
        # What SQLite says of a damaged file may hold bytes of it.
        raise ParameterError(f"ledger = {file}: is damaged.") from error


def _connected(uri: str) -> sqlite3.Connection:
    # Transactions are begun by hand, so that they are IMMEDIATE.
    return sqlite3.connect(uri, timeout=WAIT, isolation_level=None, uri=True)


def _found(file: Path) -> os.stat_result | None:
    """What the system says of a file; ``None`` if it is not there."""
    try:
        return file.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ParameterError(f"ledger = {file}: cannot be opened ({error.strerror}).") from error


@contextlib.contextmanager
def _alone(file: Path) -> Iterator[Path]:
    """Be the only one who uses a ledger, by whatever name, and no journal stands in the way.

    SQLite looks for journals by the file's name as it gets its lock, and may have waited for that:
    whoever had it by another name meanwhile may have written, or been killed. So there is a lock
    around its own, that of the file itself. Gives the file's name without links.

    Raises:
        ParameterError: others use it for too long, there is such a journal, or what is known by
            this name in the end is another file than in the beginning.
    """
    if not _threads.acquire(timeout=WAIT):
        raise ParameterError(f"ledger = {file}: {REASONS['SQLITE_BUSY']}.")
    try:
        with _locked(file) as handle:
            real = file.resolve()
            _check_journals(file, real)
            yield real
            if handle is not None and not _is_still(handle, file):
                raise ParameterError(
                    f"ledger = {file}: was replaced while it was in use; try again."
                )
    finally:
        _threads.release()


@contextlib.contextmanager
def _locked(file: Path) -> Iterator[int | None]:
    """The file, which nobody else has; ``None`` if there is none, or no such locks."""
    end = time.monotonic() + WAIT
    while (found := _found(file)) and stat.S_ISREG(found.st_mode):
        with _handle(file) as (handle, lock):
            try:
                is_locked = _lock(handle, lock)
            except BlockingIOError:
                if time.monotonic() > end:
                    raise ParameterError(f"ledger = {file}: {REASONS['SQLITE_BUSY']}.") from None
            else:
                # It may have been moved or replaced while others had it.
                if not is_locked or _is_still(handle, file):
                    yield handle if is_locked else None
                    return
        time.sleep(BETWEEN_LOOKS)
    yield None


_threads = threading.Lock()
"""One thread of this process at a time: to close a file ends all of SQLite's locks of it."""


def _lock(handle: int, lock: str) -> bool:
    """Lock a file by a byte that it will never have, which disturbs none of SQLite's locks.

    Args:
        handle: the file, whose lock ends when this is closed, and with none of SQLite's.
        lock: name of the kind of lock.

    Returns:
        Whether the system and the drive have such locks.

    Raises:
        BlockingIOError: others have locked it.
    """
    try:
        import fcntl

        of_handle = fcntl.F_OFD_SETLK
    except (ImportError, AttributeError):
        return False
    try:
        kind = getattr(fcntl, lock)
        fcntl.fcntl(handle, of_handle, struct.pack("hhqqi", kind, os.SEEK_SET, FAR, 1, 0))
    except BlockingIOError:
        raise
    except OSError:
        return False
    return True


FAR = 1 << 62
"""Place of that byte."""


def _is_still(handle: int, file: Path) -> bool:
    """Whether a file is the one that was opened."""
    now = _found(file)
    return now is not None and os.path.samestat(os.fstat(handle), now)


@contextlib.contextmanager
def _handle(file: Path) -> Iterator[tuple[int, str]]:
    """A file, opened for nothing but to lock it, and the lock that it can have."""
    try:
        try:
            handle, lock = os.open(file, os.O_RDWR), "F_WRLCK"
        except OSError:
            # Whoever may only read it only has to keep others from writing meanwhile.
            handle, lock = os.open(file, os.O_RDONLY), "F_RDLCK"
    except OSError as error:
        raise ParameterError(f"ledger = {file}: cannot be opened ({error.strerror}).") from error
    try:
        yield handle, lock
    finally:
        os.close(handle)


def _check_journals(file: Path, here: Path) -> None:
    """Refuse a ledger of which a journal would undo, or miss, what was written by another name.

    A journal goes by the name that the file had when a change was begun, and is left behind where
    the program was killed then. Whoever opens the file by that name again has SQLite put back what
    was there before, however much was written meanwhile where the journal was not seen: at a place
    to which the file had been moved, or under the name that a container has for it. A write-ahead
    log, which other programs have SQLite keep, is such a journal too, whatever the file itself
    says; this program has none.

    Args:
        file: as it was given.
        here: the same without links.

    Raises:
        ParameterError: there is such a journal.
    """
    end = time.monotonic() + MOMENT
    while why := _in_the_way(here, _written_elsewhere(here)):
        if time.monotonic() > end:
            raise ParameterError(f"ledger = {file}: {why}")
        time.sleep(MOMENT / 20)


def _in_the_way(here: Path, elsewhere: Path | None) -> str:
    """What to do about a journal that must not be there; empty if there is none.

    Args:
        here: the file.
        elsewhere: where it was written last; ``None`` if that is here.
    """
    if elsewhere is None:
        return LEFT.format(f"{here.name}{LOG}") if _journal(here, LOG) else ""
    for end in (JOURNAL, LOG):
        if _journal(here, end):
            return (
                f"was written last as {elsewhere}, in another folder or a copy of it; "
                f"{here.name}{end} beside it may undo what was written there; remove that file."
            )
        if _journal(elsewhere, end):
            return (
                f"a change was interrupted when it was {elsewhere}; open it by that name once "
                "(`budget show`), and then by this one."
            )
    return ""


LEFT = (
    "another program has left {} beside it, which would change what it holds; have that program "
    "open and close it."
)


@dataclass(frozen=True)
class _Place:
    """Where a ledger is, or was when it was written last.

    Attributes:
        folder: number of its folder, which a container's own folder has not, even at the same path.
        path: of the file.
    """

    folder: str
    path: Path

    @classmethod
    def of(cls, file: Path) -> _Place:
        """Where a file is now.

        Raises:
            ParameterError: its folder cannot be looked at.
        """
        try:
            return cls(str(file.parent.stat().st_ino), file)
        except OSError as error:
            raise ParameterError(f"ledger = {file}: {error.strerror}.") from error

    def is_now(self, file: Path) -> bool:
        """Whether a file is there: its journals go with a folder that is moved."""
        now = _Place.of(file)
        return (self.folder, self.path.name) == (now.folder, now.path.name)


def _written_elsewhere(file: Path) -> Path | None:
    """Where a ledger was written last; ``None`` if that is where it is, or it does not say."""
    there = _last_place(file)
    return None if there is None or there.is_now(file) else there.path


def _last_place(file: Path) -> _Place | None:
    """Where a ledger was written last; ``None`` if it does not say."""
    try:
        # As it stands, whatever a journal says.
        uri = f"{file.as_uri()}?mode=ro&immutable=1"
        with contextlib.closing(_connected(uri)) as connection:
            return _written_as(connection)
    except (sqlite3.Error, UnicodeError):
        return None


def _written_as(connection: sqlite3.Connection) -> _Place | None:
    """What the file says of that; ``None`` where it is nothing that this program would write."""
    found = connection.execute("SELECT folder, path FROM place").fetchone()
    if not found or not isinstance(found[0], str) or not isinstance(found[1], bytes):
        return None
    path = Path(os.fsdecode(found[1]))
    return _Place(found[0], path) if path.name and "\0" not in str(path) else None


def _journal(place: Path, end: str) -> bool:
    """Whether a change that was begun there is not ended.

    Args:
        place: the file.
        end: of the journal's name.
    """
    journal = place.with_name(f"{place.name}{end}")
    try:
        return journal.stat().st_size > 0
    except OSError:
        return False


def _make_room(file: Path) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists():
            # Where there is none SQLite would leave an empty file behind.
            with tempfile.TemporaryFile(dir=file.parent) as handle:
                handle.write(bytes(ROOM))
                handle.flush()
                os.fsync(handle.fileno())
    except OSError as error:
        raise ParameterError(f"ledger = {file}: cannot be made ({error.strerror}).") from error


ROOM = 1 << 16
"""Bytes that a new ledger and its journal need at most."""


def _reason(error: sqlite3.Error) -> str:
    """What is wrong, in words."""
    name = getattr(error, "sqlite_errorname", "")
    for begins, words in REASONS.items():
        if name.startswith(begins):
            return words
    return f"cannot be used ({error})"


REASONS = {
    "SQLITE_BUSY": f"is in use by others for more than {WAIT:.0f} s",
    "SQLITE_READONLY": "cannot be written",
    "SQLITE_CANTOPEN": "cannot be opened",
    "SQLITE_NOTADB": "is no ledger",
    "SQLITE_CORRUPT": "is damaged",
    "SQLITE_FULL": "cannot be written, as the disk is full",
    "SQLITE_PROTOCOL": "is on a file system that cannot lock files",
    "SQLITE_IOERR_LOCK": "is on a file system that cannot lock files",
    "SQLITE_NOLFS": "is on a file system that cannot hold it",
    "SQLITE_IOERR": "cannot be read or written",
}
"""Beginning of the name of SQLite's error -> what it means; more special ones first."""


@contextlib.contextmanager
def _writing(connection: sqlite3.Connection, file: Path) -> Iterator[None]:
    """One transaction that nobody else writes during; all of it, or nothing.

    Raises:
        ParameterError: it may have been written, or may not.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        _know(connection, file)
        if not _has_place(connection):
            connection.execute(PLACE_TABLE)
        here = _Place.of(file.resolve())
        if _written_as(connection) != here:
            connection.execute("DELETE FROM place")
            row = (here.folder, os.fsencode(here.path))
            connection.execute("INSERT INTO place VALUES (?, ?)", row)
        yield
        try:
            connection.execute("COMMIT")
        except sqlite3.OperationalError as error:
            if not getattr(error, "sqlite_errorname", "").startswith("SQLITE_IOERR"):
                raise
            # It was, if what failed comes after the journal's end.
            raise ParameterError(
                f"ledger = {file}: {_reason(error)}; what was to be written may have been: "
                "`budget show` tells."
            ) from error
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _reading(connection: sqlite3.Connection, file: Path) -> list[Entry]:
    _check_kind(connection, file)
    return _entries(connection, file)


def _know(connection: sqlite3.Connection, file: Path) -> None:
    """Make an empty file a ledger; refuse another one's."""
    empty = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    if empty and connection.execute("PRAGMA application_id").fetchone()[0] == 0:
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute(ENTRIES)
    _check_kind(connection, file)


def _check_kind(connection: sqlite3.Connection, file: Path) -> None:
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        raise ParameterError(f"ledger = {file}: is no ledger.")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > VERSION:
        raise ParameterError(f"ledger = {file}: was made by a newer version of this program.")
    # With a trigger, or a table of other words, SQLite writes something else than it is told to.
    if _tables(connection) not in ({ENTRIES}, {ENTRIES, PLACE_TABLE}):
        raise ParameterError(f"ledger = {file}: was changed: it has parts that no ledger has.")


def _tables(connection: sqlite3.Connection) -> set[str]:
    """What the file is made of, in SQLite's words."""
    return {str(words) for (words,) in connection.execute("SELECT sql FROM sqlite_master")}


def _has_place(connection: sqlite3.Connection) -> bool:
    """Whether it can say where it is; older ones cannot."""
    return PLACE_TABLE in _tables(connection)


def _entries(connection: sqlite3.Connection, file: Path) -> list[Entry]:
    """All lines, in order.

    Raises:
        ParameterError: one was changed, added or taken away by another hand.
    """
    rows = connection.execute(
        "SELECT number, kind, budget, content, digest FROM entries ORDER BY number"
    )
    found: list[Entry] = []
    before = START
    for place, (number, *texts, digest) in enumerate(rows, 1):
        kind, budget, content = texts
        # Of bytes, which a damaged file may hold, there is no digest.
        is_text = all(isinstance(each, str) for each in texts)
        if (
            not is_text
            or number != place
            or digest != _digest(before, number, kind, budget, content)
        ):
            raise ParameterError(f"ledger = {file}: entry {place} was changed.")
        try:
            entry = Entry(number, kind, budget, json.loads(content), digest)
            READ[kind](entry)
        except NO_SENSE as error:
            raise ParameterError(f"ledger = {file}: entry {place} makes no sense.") from error
        found.append(entry)
        before = digest
    return found


NO_SENSE = (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)
"""What an entry raises that was not written by this program."""


def _append(
    connection: sqlite3.Connection,
    file: Path,
    entries: list[Entry],
    kind: str,
    budget: str,
    content: Mapping[str, Any],
) -> Entry:
    """Add a line, and see that it is there.

    Raises:
        ParameterError: it is not, or another one is not any more.
    """
    added = _insert(connection, entries, kind, budget, content)
    if _entries(connection, file) != [*entries, added]:
        raise ParameterError(f"ledger = {file}: does not keep what is written to it.")
    return added


def _insert(
    connection: sqlite3.Connection,
    entries: list[Entry],
    kind: str,
    budget: str,
    content: Mapping[str, Any],
) -> Entry:
    number = len(entries) + 1
    before = entries[-1].digest if entries else START
    text = json.dumps(content, sort_keys=True, ensure_ascii=False)
    digest = _digest(before, number, kind, budget, text)
    row = (number, kind, budget, text, digest)
    connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?)", row)
    return Entry(number, kind, budget, content, digest)


def _digest(before: str, number: int, kind: str, budget: str, content: str) -> str:
    line = json.dumps([before, number, kind, budget, content], ensure_ascii=False)
    return hashlib.sha256(line.encode()).hexdigest()


def _budget(entry: Entry) -> Budget:
    content = entry.content
    return Budget(
        entry.budget,
        Decimal(content["epsilon"]),
        Decimal(content["delta"]),
        content["unit"],
        content["neighbours"],
    )


def _claim(content: Mapping[str, Any]) -> Claim:
    rho = None if content["rho"] is None else float.fromhex(content["rho"])
    return Claim(Decimal(content["epsilon"]), Decimal(content["delta"]), rho, content["what"])


READ: Mapping[str, Callable[[Entry], object]] = {
    "create": lambda entry: _check(_budget(entry)),
    "reserve": lambda entry: _check_claim(_claim(entry.content), entry.content["day"]),
    "return": lambda entry: hash(entry.content["entry"]),
}
"""Kind of entry -> what reads its content."""


def _check_claim(claim: Claim, day: str) -> None:
    # Of what is no number a comparison raises an error, or is false.
    most = EPSILONS[1]
    if not (
        0 <= claim.epsilon <= most and 0 <= claim.delta < 1 and 0 <= (claim.rho or 0) < math.inf
    ):
        raise ValueError(f"{day}: less than nothing was taken, or more than any budget has")
    if not (claim.what + day).isprintable():
        raise ValueError("what is printed would do something else")


def amount(name: str, text: str) -> Decimal:
    """A number as it was typed.

    Raises:
        ParameterError: it is none.
    """
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ParameterError(f"{name} = {text[:40]}: must be a number.") from None
