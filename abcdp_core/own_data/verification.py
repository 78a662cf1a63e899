"""Whether a released document is what follows from what it says was released.

All that is public is computed again from the settings, the number of values and what was paid for:
noise scales, cost, words, parameters of a public pool, posterior. What cannot be: the data, the
noise, and with them whether the mechanism drew what the document says it did. So a document that
somebody made up as a whole, posterior and all, is not told from one that was released.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from abcdp_core.output.settings import params_from_json
from abcdp_core.own_data import releasable, release
from abcdp_core.own_data.budget_ledger import Reservation, reservation_in
from abcdp_core.own_data.document import KEYS, LARGEST_FILE, Document
from abcdp_core.own_data.request import ReleaseRequest, own_sizes, scenarios
from abcdp_core.parameters import ParameterError, shown
from abcdp_core.posterior.rounds import Each, one_by_one

ROUNDING = 1e-9
"""Relative difference up to which two numbers agree: other processors round in other ways."""

FLOATING = 2.0**-48
"""The same of numbers that a few operations make; or of those whose axis is far from 0."""

PARTS = {
    "mode": "that it is a release",
    "mechanism": "mechanism",
    "statement": "privacy statement, from the event",
    "remains": "what the guarantee leaves unprotected",
    "protected": "what is protected",
    "n": "number of values, one that is allowed",
    "public": "settings, all allowed",
    "model": "file of the model or the pool, by its digest",
    "format": "format of the document",
    "release": "what was released, in a form that the mechanism gives",
    "own_units": "the same in your units",
    "series": "shares of the series, from the counts",
    "posterior": "posterior with means, intervals and draws, from the release and the public seed",
    "event": "noise scales, from the settings and the number of values",
    "cost": "cost, from the event",
}
"""Key of a document -> what it is, in words."""

UNKNOWABLE = (
    "the data, the noise, and whether this was drawn from them: nobody can, which protects them",
    "settings from which nothing else here follows, as a threshold: they are allowed, no more",
    "how many releases there were from the same data",
)
"""What no document can show."""

NO_FORM = (KeyError, TypeError, ValueError, OverflowError, AttributeError, RecursionError)
"""What a content raises that no release has."""


@dataclass(frozen=True)
class Finding:
    """What was compared.

    Attributes:
        key: of the document.
        what: in words.
        agrees: whether the document has what was computed.
    """

    key: str
    what: str
    agrees: bool


def read_file(file: Path) -> tuple[bytes, Any]:
    """The bytes of a document's file, and what is in it.

    Raises:
        ParameterError: it cannot be read, is no JSON, or has a key twice.
    """
    try:
        with file.open("rb") as opened:
            text = opened.read(LARGEST_FILE + 1)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ParameterError(f"{file}: cannot be read ({reason}).") from error
    if len(text) > LARGEST_FILE:
        raise ParameterError(f"{file}: is larger than any document of a release.")
    try:
        return text, json.loads(text, parse_constant=_refuse, object_pairs_hook=_each_once)
    except (ValueError, RecursionError) as error:
        raise ParameterError(f"{file}: is no JSON, or has a key twice.") from error


def _refuse(name: str) -> None:
    raise ValueError(name)


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a key that stands twice: people and programs would read different ones."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key twice")
    return found


def verify(content: Any, each: Each = one_by_one) -> list[Finding]:
    """Compare a document with what is computed again, key by key.

    Args:
        content: what is in its file.
        each: does simulations.

    Raises:
        ParameterError: it is no document of a release, or says what cannot be.
    """
    document = document_in(content)
    return compared(content, document if is_bare(content) else release.complete(document, each))


def is_before(content: Mapping[str, Any]) -> bool:
    """Whether a document was made by a version whose posteriors of released numbers were others."""
    return "format" not in content


def is_bare(content: Mapping[str, Any]) -> bool:
    """Whether a document has no posterior that is computed again."""
    return is_before(content) or content.get("posterior", content) is None


def document_in(content: Any) -> Document:
    """The document that follows from settings, size and what was released, without its posterior.

    Args:
        content: what is in its file.

    Raises:
        ParameterError: it is no document of a release, or says what cannot be.
    """
    if not isinstance(content, dict) or not content.keys() >= set(KEYS):
        raise ParameterError("document: is none of a release.")
    try:
        return _again(content)
    except NO_FORM as error:
        if isinstance(error, ParameterError):
            raise
        by = " by the model or the pool that --plugin names" if "model" in content else ""
        raise ParameterError(f"document: is not of the form that a release{by} has.") from error


def compared(content: Mapping[str, Any], document: Document) -> list[Finding]:
    """What a file says beside the document that follows from it, key by key.

    Raises:
        ParameterError: what the file says of a ledger is not of its form.
    """
    try:
        again = json.loads(document.to_json())
    except NO_FORM as error:
        raise ParameterError("document: is not of the form that a release has.") from error
    if "mechanism" not in content:
        del again["mechanism"]
    skipped = {"versions", "ledger"}
    if is_before(content):
        del again["format"]
        if not document.is_complete:
            skipped.add("posterior")
            content = {**content, "remains": content["remains"][:-1]}
            again["remains"].pop()
            again["public"] = {name: again["public"][name] for name in content["public"]}
    keys = [key for key in (*again, *(content.keys() - again.keys())) if key not in skipped]
    return [
        Finding(
            key,
            PARTS.get(key, f"{shown(key)}: nothing of this name follows from a release"),
            key in content and key in again and _agrees(key, content[key], again[key], document),
        )
        for key in keys
    ]


def _agrees(key: str, one: Any, other: Any, document: Document) -> bool:
    """Whether a part of a document is what was computed.

    A parameter's numbers are compared by its axis. By themselves draws at a bound of 0 would differ
    from one processor to the next, and beside those of another unit changes would not be seen.
    """
    if not (isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys()):
        return same(one, other)
    if key == "model":
        # The same file may have another name here.
        return isinstance(one["file"], str) and same(one["sha256"], other["sha256"])
    if key in ("posterior", "own_units"):
        near = [
            max(ROUNDING * (high - low), FLOATING * max(abs(low), abs(high)))
            for low, high in document.axes()
        ]
    elif key == "release" and "in_their_units" in other:
        near = [FLOATING * abs(number) for number in other["in_their_units"]]
    else:
        return same(one, other)
    return all(_in_units(name, one[name], again, near) for name, again in other.items())


DRAWS = ("draws", "values")
"""Lists of draws, each of which is a list of those."""

OF_PARAMETERS = ("in_their_units", "means", "intervals", "prior_means", "prior_intervals")
"""Lists with another unit at each place, of numbers or of pairs of numbers."""


def _in_units(name: str, one: Any, other: Any, near: Sequence[float]) -> bool:
    """Whether one of these lists agrees, or draws; each place by a difference of its own."""
    if name in DRAWS:
        return _same_size(one, other) and all(
            _in_units("means", a, b, near) for a, b in zip(one, other, strict=True)
        )
    if name not in OF_PARAMETERS:
        return _same_at(name, one, other)
    return _same_size(one, other) and all(map(_close, one, other, near))


def _close(one: Any, other: Any, near: float) -> bool:
    """Whether two numbers, or two pairs, agree to a difference."""
    if isinstance(other, list):
        return _same_size(one, other) and all(
            _close(a, b, near) for a, b in zip(one, other, strict=True)
        )
    return same(one, other, near, relative=0.0)


def _same_size(one: Any, other: list[Any]) -> bool:
    return isinstance(one, list) and len(one) == len(other)


def check(findings: Sequence[Finding]) -> None:
    """Refuse a document in which something does not follow from the rest.

    Raises:
        ParameterError: it differs; the sentence names the keys.
    """
    wrong = [each.key for each in findings if not each.agrees]
    if wrong == ["model"]:
        raise ParameterError(
            "was made with another file of the model, or with the same one with other line ends; "
            "all else follows from the one given here, too."
        )
    if "model" in wrong:
        others = ", ".join(key for key in wrong if key != "model")
        raise ParameterError(
            "was made with another file of the model than the one given here, from which "
            f"{others} {'do' if ',' in others else 'does'} not follow: give the file that it was "
            "made with."
        )
    if wrong:
        raise ParameterError(
            "was changed, or made by a version that computes otherwise; "
            f"{', '.join(wrong)} {'differs' if len(wrong) == 1 else 'differ'} from what follows."
        )


def _again(content: Mapping[str, Any]) -> Document:
    public = dict(content["public"])
    public.pop("scenario_domain", None)
    name = content.get("mechanism", releasable.BEFORE_MECHANISMS)
    scenario = public["scenario"]
    if scenario not in scenarios() or not isinstance(name, str):
        raise ParameterError(
            f"scenario = {shown(scenario)}: is none that is known here; a model or a pool of one's "
            "own is named by --plugin FILE."
        )
    found = releasable.chosen(scenario, name)
    request = params_from_json(found.request, public)
    assert isinstance(request, ReleaseRequest)
    # Where the number is private there is none in a document, and the same one for all data.
    n = content["n"] if request.tells_size else own_sizes(scenario)[1]
    if type(n) is not int:
        raise ParameterError(f"number of values = {shown(n)}: must be a whole number.")
    request.check_size(n)
    return found.read(request, n, content, _reservation(content))


def _reservation(content: Mapping[str, Any]) -> Reservation | None:
    if "ledger" not in content:
        return None
    return reservation_in(content)


def same(one: Any, other: Any, near: float = 0.0, relative: float = ROUNDING) -> bool:
    """Whether two contents of JSON agree; numbers, to rounding.

    Args:
        one: of a document.
        other: what was computed.
        near: difference up to which two numbers agree also if both are small. In a list it follows
            from the largest that was computed; in a list of lists, from that of the column, as each
            has a unit of its own.
    """
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(
            _same_at(key, one[key], other[key]) for key in one
        )
    if isinstance(one, list) and isinstance(other, list):
        if len(one) != len(other):
            return False
        if _width(one) == _width(other) >= 0:
            one, other = (
                [list(column) for column in zip(*each, strict=True)] for each in (one, other)
            )
        largest = max((abs(each) for each in other if isinstance(each, int | float)), default=0.0)
        return all(same(a, b, ROUNDING * largest) for a, b in zip(one, other, strict=True))
    if isinstance(one, bool) or isinstance(other, bool) or isinstance(one, str):
        return type(one) is type(other) and bool(one == other)
    if isinstance(other, int):
        # Nobody rounds whole numbers.
        return isinstance(one, int | float) and one == other
    if isinstance(one, int | float) and isinstance(other, float):
        try:
            return math.isclose(one, other, rel_tol=relative, abs_tol=near)
        except OverflowError:
            # A whole number beyond all of floating point.
            return False
    return bool(one == other)


OF_UNITS = ("divided_by", "whole")
"""Lists of factors: small ones beside large ones, each of which counts for itself."""


def _same_at(name: str, one: Any, other: Any) -> bool:
    if name in OF_UNITS and isinstance(other, list):
        return _same_size(one, other) and all(map(same, one, other))
    return same(one, other)


def _width(rows: list[Any]) -> int:
    """How many columns a list of lists has; below 0 for another list."""
    found = {len(row) if isinstance(row, list) else -1 for row in rows}
    return found.pop() if len(found) == 1 else -1


def cannot_be_known(content: Mapping[str, Any]) -> list[str]:
    """What is not recomputed, in words."""
    more = ["the versions of what it was made by"]
    if is_before(content) and content.get("mechanism") == "private-summary":
        more.append("the posterior, which was computed in another way by this document's version")
    if "model" in content:
        more.append("the name that the file of the model or the pool had: its digest says which")
        more.append("what the file of a model imports or reads: the digest is of its own text")
    if "ledger" in content:
        more.append("the budget it was taken from: `budget show` with the ledger compares that")
    return [*UNKNOWABLE, *more]
