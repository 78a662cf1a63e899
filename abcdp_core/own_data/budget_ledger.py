"""The file in which budgets stand and what was taken from them, written before noise is drawn.

What flows, in this order::

    Budget ──create──► file                     once, by whoever is responsible for the data
    Claim ──reserve──► Reservation              on the disk before any noise is drawn
    ... the release ...
    Reservation ──give_back──► file             only where no noise was drawn

A reservation counts as spent from the moment it is made, and a crash leaves it spent. It is given
back only by the process that made it and knows that nothing was released.

**The file** has a line for each entry, which is on the disk before anything goes on, and one
process adds to it at a time (:mod:`abcdp_core.own_data.ledger_file`). An entry has the digest of
itself and, by the one before, of all before it; a released document carries that of its
reservation. So :func:`accounts` finds an entry that was edited, and :func:`missing`, with documents
at hand, an older copy of the file: a reservation has a random number, so that the same release made
again has another digest. It cannot find an older copy that no later document tells of, nor a ledger
that was made anew.

Nothing is stored that depends on data: names, amounts, public settings, the day.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import hashlib
import json
import os
import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, NoReturn

import platformdirs

from abcdp_core.own_data import ledger_file
from abcdp_core.own_data.budget import NEIGHBOURS, Budget, Claim, fits, left
from abcdp_core.own_data.ledger_file import Lines
from abcdp_core.parameters import ParameterError

PLACE = "ABCDP_LEDGER"
"""Environment variable: the file, where it is not the usual one."""

NOWHERE = Path(os.devnull, "budgets of a user without a home folder")
"""A file that can never be."""

TEXT = re.compile(r"\w[\w .,()/-]{0,99}")
"""A name, or what a unit is."""

EPSILONS = (Decimal("1e-6"), Decimal("1e6"))
"""Smallest and largest ε of a budget: beyond, floating point cannot tell what is left."""

SMALLEST_DELTA = Decimal("1e-30")
"""Of what is no pure budget."""

DIGITS = 20
"""Of an amount, at most, so that it is added without rounding."""

LONGEST = 1000
"""Characters of what is said of a release."""

SAID = 10
"""Names of budgets that are said where one is not known."""

START = "0" * 64
"""Stands for the digest before the first entry."""


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
        return left(self.budget, [*self.reserved.values()]).normalize()


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
    with ledger_file.opened(file, writes=True, make=True) as found:
        entries = _entries(found, file)
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
        _append(found, entries, "create", budget.name, content)


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
    with ledger_file.opened(file) as found:
        entries = _entries(found, file)
    histories: dict[str, list[Entry]] = {}
    for each in entries:
        histories.setdefault(each.budget, []).append(each)
    # The first line of each says what it is.
    return {name: Account(_budget(own[0]), tuple(own)) for name, own in histories.items()}


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
    more = f" and {len(known) - SAID:,} more" if len(known) > SAID else ""
    there = f"{', '.join(list(known)[:SAID])}{more}" if known else "no budget yet"
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
    with ledger_file.opened(file, writes=True) as found:
        entries = _entries(found, file)
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
                f"budget = {name}: {claim.epsilon} does not fit; {there.left():f} is left of "
                f"{there.budget.epsilon}{_delta_words(there.budget, claim)}. Nothing was spent."
            )
        day = datetime.datetime.now(datetime.UTC).date().isoformat()
        claim = dataclasses.replace(claim, what=_in_a_line(claim.what))
        try:
            _check_claim(claim, day)
        except NO_SENSE as error:
            raise ParameterError(
                f"budget = {name}: this release cannot be written down."
            ) from error
        content = {
            "epsilon": str(claim.epsilon),
            "delta": str(claim.delta),
            "rho": None if claim.rho is None else claim.rho.hex(),
            "what": claim.what,
            "day": day,
            "random": secrets.token_hex(16),
        }
        added = _append(found, entries, "reserve", name, content)
    return Reservation(name, added.number, added.digest)


def _in_a_line(what: str) -> str:
    """What is said of a release as it can be printed, and not longer than it may be."""
    text = "".join(letter if letter.isprintable() else "?" for letter in what)
    longest = LONGEST - len("2000-01-01")
    return text if len(text) <= longest else f"{text[: longest - 2]} …"


def _delta_words(budget: Budget, claim: Claim) -> str:
    if claim.delta and not budget.delta:
        return " and it has no δ"
    return f" for a pure release, of δ = {claim.delta} asked" if claim.delta else ""


def give_back(file: Path, reservation: Reservation) -> None:
    """Undo a reservation from which nothing was released; it stays in the history.

    Raises:
        ParameterError: there is no such reservation, or the file cannot be used.
    """
    with ledger_file.opened(file, writes=True) as found:
        entries = _entries(found, file)
        made = [
            e for e in entries if (e.number, e.digest) == (reservation.entry, reservation.digest)
        ]
        if not made or made[0].kind != "reserve":
            raise ParameterError(f"ledger = {file}: has no such reservation.")
        _append(found, entries, "return", reservation.budget, {"entry": reservation.entry})


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
        KeyboardInterrupt, MemoryError: as anywhere; :func:`may_count` tells what that leaves.
    """
    with _noted():
        found = Taken(reserve(file, name, claim, unit, neighbours))
    try:
        yield found
    finally:
        if not found.is_kept:
            _undo(file, found.reservation)


def _undo(file: Path, reservation: Reservation) -> None:
    try:
        with _noted():
            give_back(file, reservation)
    except (ParameterError, MemoryError) as error:
        why = str(error) if isinstance(error, ParameterError) else "There is not enough memory."
        raise ParameterError(f"{why} Nothing was released, {MAY_COUNT}") from error


MAY_COUNT = "and yet its cost may count as spent: `budget show` tells."
"""What is said where a release did not come about, and nobody here knows of its cost."""


@contextlib.contextmanager
def _noted() -> Iterator[None]:
    """Note with what ends a change of the file that it may have been made, or not have been.

    Too often rather than not: it may not even have been begun.
    """
    try:
        yield
    except ParameterError:
        raise
    except BaseException as error:
        error.add_note(MAY_COUNT)
        raise


def may_count(error: BaseException) -> bool:
    """Whether what ended a release left its cost, or may have."""
    return MAY_COUNT in getattr(error, "__notes__", ())


def missing(file: Path, documents: Mapping[str, Reservation]) -> list[str]:
    """Names of documents whose reservations do not count: the file is older, or another one.

    Nor does one count that was given back, from which nothing can have been released.

    Raises:
        ParameterError: the file cannot be used, or an entry was changed.
    """
    with ledger_file.opened(file) as found:
        entries = _entries(found, file)
    returned = {e.content["entry"] for e in entries if e.kind == "return"}
    known = {
        Reservation(e.budget, e.number, e.digest)
        for e in entries
        if e.kind == "reserve" and e.number not in returned
    }
    return [name for name, each in documents.items() if each not in known]


# -------------------------------------------------------------------------------------- the lines


def _entries(found: Lines, file: Path) -> list[Entry]:
    """All lines, in order.

    Raises:
        ParameterError: one was changed, added or taken away by another hand.
    """
    entries: list[Entry] = []
    before = START
    known: dict[str, set[int]] = {}
    for place, line in enumerate(found.lines, 1):
        try:
            kind, budget, content, digest = _fields(line, place, before)
        except NO_SENSE as error:
            raise ledger_file.refusal(file, f"entry {place} was changed") from error
        try:
            entry = Entry(place, kind, budget, json.loads(content), digest)
            READ[kind](entry)
            _follow(entry, known)
        except NO_SENSE as error:
            raise ledger_file.refusal(file, f"entry {place} makes no sense") from error
        entries.append(entry)
        before = digest
    return entries


def _follow(entry: Entry, known: dict[str, set[int]]) -> None:
    """Know of an entry, which must follow from those before.

    Args:
        entry: the next one.
        known: budget -> its reservations that were not given back.

    Raises:
        KeyError, ValueError: it does not; as what is given back before it is taken.
    """
    if entry.kind == "create":
        if entry.budget in known:
            raise ValueError("a budget is never changed")
        known[entry.budget] = set()
    elif entry.kind == "reserve":
        known[entry.budget].add(entry.number)
    else:
        known[entry.budget].remove(entry.content["entry"])


def _fields(line: bytes, place: int, before: str) -> tuple[str, str, str, str]:
    """Kind, budget, content and digest of a line.

    Raises:
        TypeError, ValueError, RecursionError: it is not the one that was written at its place.
    """
    number, *fields = json.loads(line)
    kind, budget, content, digest = fields
    if type(number) is not int or number != place or {type(each) for each in fields} != {str}:
        raise ValueError("is no line of this place")
    if digest != _digest(before, number, kind, budget, content):
        raise ValueError("has another digest")
    return kind, budget, content, digest


NO_SENSE = (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)
"""What an entry raises that was not written by this program."""


def _append(
    found: Lines, entries: list[Entry], kind: str, budget: str, content: Mapping[str, Any]
) -> Entry:
    number = len(entries) + 1
    before = entries[-1].digest if entries else START
    text = json.dumps(content, sort_keys=True, ensure_ascii=False)
    digest = _digest(before, number, kind, budget, text)
    found.add(ledger_file.line_of(number, kind, budget, text, digest))
    return Entry(number, kind, budget, content, digest)


def _digest(before: str, number: int, kind: str, budget: str, content: str) -> str:
    line = json.dumps([before, number, kind, budget, content], ensure_ascii=False)
    return hashlib.sha256(line.encode()).hexdigest()


def _budget(entry: Entry) -> Budget:
    content = entry.content
    return Budget(
        entry.budget,
        _as_written(content["epsilon"]),
        _as_written(content["delta"]),
        content["unit"],
        content["neighbours"],
    )


def _claim(content: Mapping[str, Any]) -> Claim:
    rho = None if content["rho"] is None else float.fromhex(content["rho"])
    epsilon, delta = _as_written(content["epsilon"]), _as_written(content["delta"])
    return Claim(epsilon, delta, rho, content["what"])


def _as_written(text: object) -> Decimal:
    """An amount in the one way in which it is written: it is printed as it stands."""
    if not isinstance(text, str) or str(found := Decimal(text)) != text:
        raise ValueError("is no amount")
    return found


READ: Mapping[str, Callable[[Entry], object]] = {
    "create": lambda entry: _check(_budget(entry)),
    "reserve": lambda entry: _check_claim(_claim(entry.content), entry.content["day"]),
    "return": lambda entry: range(entry.content["entry"]),
}
"""Kind of entry -> what reads its content."""


def _check_claim(claim: Claim, day: str) -> None:
    # Of what is no number a comparison raises an error, or is false.
    most = EPSILONS[1]
    if not (
        0 <= claim.epsilon <= most and 0 <= claim.delta < 1 and 0 <= (claim.rho or 0) <= most**2
    ):
        raise ValueError(f"{day}: less than nothing was taken, or more than any budget has")
    if not (claim.what + day).isprintable() or len(claim.what + day) > LONGEST:
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
