"""Keep budgets in a file, the *ledger*: budgets, and what was taken before noise was drawn.

The order of events::

    Budget ──create──► file                     once, by the owner of the data
    Claim ──reserve──► Reservation              on the disk before any noise is drawn
    ... the release ...
    Reservation ──give_back──► file             only if no noise was drawn

A reservation counts as spent from the moment it is made, and a crash leaves it spent. Only the
process that made it gives it back, when it knows that nothing was released.

The file has one line for each entry. One process at a time adds a line, and the line is on the disk
before the process continues. A last line without an end was never confirmed to anyone: it does not
count, and the next line overwrites it. Each entry has a digest of itself and of all entries before
it; a release carries the digest of its reservation. So :func:`accounts` detects an edited entry,
and :func:`missing`, given the releases, detects an older copy of the file.

Nothing in the file depends on data: names, amounts, public settings, the day.
"""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import json
import os
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import platformdirs
from filelock import FileLock, Timeout

from abcdp_core.base.interruption import defer_signals
from abcdp_core.base.parameters import ParameterError
from abcdp_core.release.budget import NEIGHBOURS, Budget, PrivacyCharge, fits, left

PLACE = "ABCDP_LEDGER"
"""Environment variable: path of the file, if it is not the default."""

HEADER = b'{"a": "ledger of privacy budgets", "version": 2}\n'

WAIT = 30.0
"""Seconds to wait for other processes to finish with the file."""

TEXT = re.compile(r"\w[\w .,()/-]{0,99}")
"""The name of a budget or of a unit."""

EPSILONS = (Decimal("1e-6"), Decimal("1e6"))
"""Smallest and largest ε of a budget; beyond, floating point cannot compute what is left."""

SMALLEST_DELTA = Decimal("1e-30")
"""Smallest δ above 0."""


@dataclass(frozen=True)
class Reservation:
    """The reference of a release to the ledger.

    Attributes:
        budget: name of the budget.
        entry: number of the line.
        digest: of that line and all lines before it.
    """

    budget: str
    entry: int
    digest: str


@dataclass(frozen=True)
class Entry:
    """A line of the file.

    Attributes:
        number: from 1 on.
        kind: ``create``, ``reserve`` or ``return``.
        budget: its name.
        content: all else.
        digest: of this line and all lines before it.
    """

    number: int
    kind: str
    budget: str
    content: Mapping[str, Any]
    digest: str

    @property
    def reservation(self) -> Reservation:
        """The reference of a release that this entry paid for."""
        return Reservation(self.budget, self.number, self.digest)


@dataclass(frozen=True)
class Account:
    """A budget and its entries, in order."""

    budget: Budget
    entries: tuple[Entry, ...]

    @property
    def reserved(self) -> dict[int, PrivacyCharge]:
        """Number of the entry -> a claim that counts as spent."""
        return {each.number: _claim(each.content) for each in _counting(self.entries)}

    def left(self) -> Decimal:
        """Return the largest ε of one more pure release that fits."""
        return left(self.budget, [*self.reserved.values()]).normalize()


def reservation_in(document: Mapping[str, Any]) -> Reservation:
    """Return the reservation in the content of a release's file.

    Raises:
        KeyError, TypeError, ValueError: there is none, or it has another form.
    """
    reservation = Reservation(**document["ledger"])
    if [*map(type, vars(reservation).values())] != [str, int, str]:
        raise ValueError("no reservation")
    return reservation


def usual_place() -> Path:
    """Return the default path of the file."""
    given = os.environ.get(PLACE)
    return Path(given or Path(platformdirs.user_data_dir("abcdp-explorer"), "budgets.db"))


def amount(name: str, text: str) -> Decimal:
    """Return the number in a text.

    Raises:
        ParameterError: the text is not a number.
    """
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ParameterError(f"{name} = {text[:40]}: must be a number.") from None


def create(file: Path, budget: Budget) -> None:
    """Add a budget; make the file if it does not exist.

    Raises:
        ParameterError: the name is taken, an amount is out of range, or the file cannot be used.
    """
    _check(budget)
    with _changed(file, make=True) as ledger:
        if budget.name in {each.budget for each in ledger.entries}:
            raise ParameterError(
                f"budget = {budget.name}: already exists, and a budget never changes."
            )
        content = {
            "epsilon": str(budget.epsilon),
            "delta": str(budget.delta),
            "unit": budget.unit,
            "neighbours": budget.neighbours,
        }
        ledger.add("create", budget.name, content)


def _check(budget: Budget) -> None:
    low, high = EPSILONS
    epsilon, delta = budget.epsilon, budget.delta
    for name, text in (("budget", budget.name), ("unit", budget.unit)):
        if not TEXT.fullmatch(text):
            raise ParameterError(f"{name}: must be 1 to 100 letters, digits, spaces or .,()/-_.")
    if not (epsilon.is_finite() and low <= epsilon <= high):
        raise ParameterError(f"epsilon = {epsilon}: must lie between {low:f} and {high:f}.")
    if not (delta.is_finite() and (delta == 0 or SMALLEST_DELTA <= delta < 1)):
        raise ParameterError(f"delta = {delta}: must be 0, or from {SMALLEST_DELTA} to below 1.")
    if budget.neighbours not in NEIGHBOURS:
        raise ParameterError(
            f"neighbours = {budget.neighbours}: must be one of {', '.join(NEIGHBOURS)}."
        )


def accounts(file: Path) -> dict[str, Account]:
    """Return name -> budget with its history.

    Raises:
        ParameterError: the file cannot be used, or an entry was changed.
    """
    return _accounts(_read(file).entries)


def account(file: Path, name: str) -> Account:
    """Return one budget with its history.

    Raises:
        ParameterError: there is no budget of this name, or the file cannot be used.
    """
    return _one(accounts(file), name, file)


def _one(known: Mapping[str, Account], name: str, file: Path) -> Account:
    if name not in known:
        raise ParameterError(f"budget = {name}: {file} has {', '.join(known) or 'no budget yet'}.")
    return known[name]


def reserve(file: Path, name: str, claim: PrivacyCharge, unit: str, neighbours: str) -> Reservation:
    """Take a release's claim from a budget; it is on the disk when this returns.

    Raises:
        ParameterError: the claim does not fit, the budget protects something else, or the file
            cannot be used.
    """
    with _changed(file) as ledger:
        there = _one(_accounts(ledger.entries), name, file)
        budget = there.budget
        if (unit, neighbours) != (budget.unit, budget.neighbours):
            raise ParameterError(
                f"budget = {name}: is for a {budget.unit} ({budget.neighbours}), and this release "
                f"protects a {unit} ({neighbours})."
            )
        if not fits(budget, [*there.reserved.values(), claim]):
            delta = f" for a pure release; this one has δ = {claim.delta}" if claim.delta else ""
            raise ParameterError(
                f"budget = {name}: {claim.epsilon} does not fit; {there.left():f} is left of "
                f"{budget.epsilon}{delta}. Nothing was spent."
            )
        content = {
            "epsilon": str(claim.epsilon),
            "delta": str(claim.delta),
            "rho": None if claim.rho is None else claim.rho.hex(),
            "what": claim.what,
            "day": datetime.datetime.now(datetime.UTC).date().isoformat(),
            # So the same release made again has another digest.
            "random": secrets.token_hex(16),
        }
        return ledger.add("reserve", name, content).reservation


def give_back(file: Path, reservation: Reservation) -> None:
    """Undo a reservation from which nothing was released; it stays in the history.

    Raises:
        ParameterError: there is no such reservation, it was given back already, or the file cannot
            be used.
    """
    with _changed(file) as ledger:
        if reservation not in [each.reservation for each in _counting(ledger.entries)]:
            raise ParameterError(
                f"ledger = {file}: has no such reservation, or it was given back already."
            )
        ledger.add("return", reservation.budget, {"entry": reservation.entry})


def missing(file: Path, documents: Mapping[str, Reservation]) -> list[str]:
    """Return the names of releases whose reservations do not count: the file is older, or another.

    Raises:
        ParameterError: the file cannot be used, or an entry was changed.
    """
    known = {each.reservation for each in _counting(_read(file).entries)}
    return [name for name, each in documents.items() if each not in known]


@dataclass
class Taken:
    """A reservation that is given back unless it is kept."""

    reservation: Reservation
    is_kept: bool = False

    def keep(self) -> None:
        """Count the reservation as spent; call this before noise is drawn."""
        self.is_kept = True


@contextlib.contextmanager
def taken(
    file: Path, name: str, claim: PrivacyCharge, unit: str, neighbours: str
) -> Iterator[Taken]:
    """Reserve as :func:`reserve` does; give back if the block ends, however, before it is kept.

    Raises:
        ParameterError: from :func:`reserve`; or the reservation cannot be given back and counts as
            spent.
    """
    charged = None
    try:
        # A signal waits, so it is never unclear whether the file was changed.
        with defer_signals():
            charged = Taken(reserve(file, name, claim, unit, neighbours))
        yield charged
    finally:
        if charged is not None and not charged.is_kept:
            try:
                with defer_signals():
                    give_back(file, charged.reservation)
            except ParameterError as error:
                raise ParameterError(
                    f"{error} Nothing was released, and yet its cost may count as spent: see "
                    "`budget show`."
                ) from error


@dataclass(frozen=True)
class _Ledger:
    """The entries of a file, and the number of bytes they take."""

    file: Path
    entries: list[Entry]
    end: int

    def add(self, kind: str, budget: str, content: Mapping[str, Any]) -> Entry:
        """Add an entry; it is on the disk when this returns.

        Raises:
            OSError: it was not written, and does not count.
        """
        number = len(self.entries) + 1
        text = json.dumps(content, sort_keys=True, ensure_ascii=False)
        digest = _digest(self.entries, number, kind, budget, text)
        line = json.dumps([number, kind, budget, text, digest], ensure_ascii=False).encode()
        left_to_write = memoryview((b"" if self.end else HEADER) + line + b"\n")
        with self.file.open("r+b", buffering=0) as opened:
            try:
                opened.truncate(self.end)
                opened.seek(self.end)
                while left_to_write:
                    left_to_write = left_to_write[opened.write(left_to_write) :]
                os.fsync(opened.fileno())
            except BaseException:
                opened.truncate(self.end)
                raise
        return Entry(number, kind, budget, content, digest)


@contextlib.contextmanager
def _changed(file: Path, *, make: bool = False) -> Iterator[_Ledger]:
    """The file's entries, locked against other writers; with ``make``, a missing file is made."""
    try:
        if make:
            file.parent.mkdir(parents=True, exist_ok=True)
        elif not file.exists():
            raise FileNotFoundError
        # The lock is the same for every link to the file.
        with FileLock(f"{file.resolve()}.lock", timeout=WAIT):
            if make:
                file.touch()
            yield _read(file, make=make)
    except Timeout:
        raise _refused(file, f"has been in use by others for more than {WAIT:.0f} s") from None
    except FileNotFoundError as error:
        raise _refused(file, MISSING) from error
    except OSError as error:
        raise _refused(file, f"cannot be written ({error.strerror})") from error


MISSING = "does not exist; `budget create` makes it"
OTHER = "is not a file of budgets that this version reads"


def _read(file: Path, *, make: bool = False) -> _Ledger:
    """The complete entries of a file, with their digests checked."""
    try:
        content = file.read_bytes()
    except FileNotFoundError as error:
        raise _refused(file, MISSING) from error
    except OSError as error:
        raise _refused(file, f"cannot be read ({error.strerror})") from error
    if not content.startswith(HEADER):
        if HEADER.startswith(content) and make:
            return _Ledger(file, [], 0)
        raise _refused(file, OTHER if content else MISSING)
    end = content.rindex(b"\n") + 1
    entries: list[Entry] = []
    for place, line in enumerate(content[len(HEADER) : end].splitlines(), start=1):
        try:
            number, kind, budget, text, digest = json.loads(line)
            if (number, digest) != (place, _digest(entries, place, kind, budget, text)):
                raise ValueError("another digest")
            entries.append(Entry(place, kind, budget, json.loads(text), digest))
        except (ValueError, TypeError) as error:
            raise _refused(file, f"entry {place} was changed") from error
    return _Ledger(file, entries, end)


def _refused(file: Path, why: str) -> ParameterError:
    return ParameterError(f"ledger = {file}: {why}.")


def _digest(before: Sequence[Entry], number: int, kind: str, budget: str, content: str) -> str:
    last = before[-1].digest if before else "0" * 64
    line = json.dumps([last, number, kind, budget, content], ensure_ascii=False)
    return hashlib.sha256(line.encode()).hexdigest()


def _accounts(entries: list[Entry]) -> dict[str, Account]:
    histories: dict[str, list[Entry]] = {}
    for each in entries:
        histories.setdefault(each.budget, []).append(each)
    # The first entry of each budget creates it.
    return {name: Account(_budget(own[0]), tuple(own)) for name, own in histories.items()}


def _counting(entries: Sequence[Entry]) -> list[Entry]:
    """Reservations that were not given back."""
    returned = {each.content["entry"] for each in entries if each.kind == "return"}
    return [each for each in entries if each.kind == "reserve" and each.number not in returned]


def _budget(entry: Entry) -> Budget:
    content = entry.content
    epsilon, delta = Decimal(content["epsilon"]), Decimal(content["delta"])
    return Budget(entry.budget, epsilon, delta, content["unit"], content["neighbours"])


def _claim(content: Mapping[str, Any]) -> PrivacyCharge:
    rho = None if content["rho"] is None else float.fromhex(content["rho"])
    return PrivacyCharge(
        Decimal(content["epsilon"]), Decimal(content["delta"]), rho, content["what"]
    )
