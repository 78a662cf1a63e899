"""Whether a released document is what follows from what it says was released.

All that is public is computed again from the settings, the number of values and what was paid for:
noise scales, cost, words, parameters of a public pool, posterior. The data and the noise cannot be,
so a document that somebody made up as a whole, posterior and all, looks like a released one.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abcdp_core.output.settings import params_from_json
from abcdp_core.parameters import ParameterError, shown
from abcdp_core.posterior.rounds import Each, one_by_one
from abcdp_core.release import procedure, releasable
from abcdp_core.release.budget_file import reservation_in
from abcdp_core.release.document import KEYS, ReleaseRecord
from abcdp_core.release.request import ReleaseRequest, own_sizes, scenarios

Array = NDArray[np.float64]

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
        ParameterError: it cannot be read, or is no JSON.
    """
    try:
        text = file.read_bytes()
        return text, json.loads(text)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ParameterError(f"{file}: cannot be read ({reason}).") from error
    except (ValueError, RecursionError) as error:
        raise ParameterError(f"{file}: is no JSON.") from error


def verify(content: Any, each: Each = one_by_one) -> list[Finding]:
    """Compare a document with what is computed again, key by key.

    Args:
        content: what is in its file.
        each: does simulations.

    Raises:
        ParameterError: it is no document of a release, or says what cannot be.
    """
    document = document_in(content)
    return compared(content, document if is_bare(content) else procedure.complete(document, each))


def is_before(content: Mapping[str, Any]) -> bool:
    """Whether a document was made by a version whose posteriors of released numbers were others."""
    return "format" not in content


def is_bare(content: Mapping[str, Any]) -> bool:
    """Whether a document has no posterior that is computed again."""
    return is_before(content) or content.get("posterior", content) is None


def document_in(content: Any) -> ReleaseRecord:
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


def _again(content: Mapping[str, Any]) -> ReleaseRecord:
    public = {**content["public"]}
    public.pop("scenario_domain", None)
    name = content.get("mechanism", releasable.BEFORE_MECHANISMS)
    scenario = public["scenario"]
    if scenario not in scenarios() or not isinstance(name, str):
        raise ParameterError(
            f"scenario = {shown(scenario)}: is none that is known here; a model or a pool of your "
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
    document = found.read(request, n, content)
    return document.taken_from(reservation_in(content)) if "ledger" in content else document


def compared(content: Mapping[str, Any], document: ReleaseRecord) -> list[Finding]:
    """What a file says beside the document that follows from it, key by key."""
    again = json.loads(document.to_json())
    skipped = {"versions", "ledger"}
    if "mechanism" not in content:
        skipped.add("mechanism")
    if is_before(content):
        skipped.add("format")
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


OF_PARAMETERS = ("means", "intervals", "prior_means", "prior_intervals", "draws", "values")
"""Lists with another unit for each parameter: of numbers, of pairs of numbers, or of draws."""


def _agrees(key: str, one: Any, other: Any, document: ReleaseRecord) -> bool:
    """Whether a part of a document is what was computed.

    A parameter's numbers are compared by its axis. By themselves draws at a bound of 0 would differ
    from one processor to the next, and beside those of another unit changes would not be seen.
    """
    if key == "model":
        # The same file may have another name here.
        return isinstance(one, dict) and same(one.get("sha256"), other["sha256"])
    if key not in ("posterior", "own_units") or other is None:
        return same(one, other)
    if not isinstance(one, dict) or one.keys() != other.keys():
        return False
    low, high = np.array(document.axes()).T
    near = np.maximum(ROUNDING * (high - low), FLOATING * np.maximum(abs(low), abs(high)))
    return all(
        _near(one[name], again, near if name in ("draws", "values") else near[:, None])
        if name in OF_PARAMETERS
        else same(one[name], again)
        for name, again in other.items()
    )


def _near(one: Any, other: Any, near: Array) -> bool:
    """Whether numbers of the same shape differ by no more than so much, each by its own."""
    try:
        found, again = np.array(one, dtype=float), np.array(other, dtype=float)
    except (TypeError, ValueError):
        return False
    if found.shape != again.shape:
        return False
    shape = near if found.ndim > 1 else near.ravel()
    return bool((np.abs(found - again) <= shape).all())


def check(findings: Sequence[Finding]) -> None:
    """Refuse a document in which something does not follow from the rest.

    Raises:
        ParameterError: it differs; the sentence names the keys.
    """
    wrong = [each.key for each in findings if not each.agrees]
    others = [key for key in wrong if key != "model"]
    verb = "differs" if len(others) == 1 else "differ"
    if wrong and not others:
        raise ParameterError(
            "was made with another file of the model, or with the same one with other line ends; "
            "all else follows from the one given here, too."
        )
    if "model" in wrong:
        raise ParameterError(
            f"was made with another file of the model than the one given here, and "
            f"{', '.join(others)} {verb}: give the file that it was made with."
        )
    if wrong:
        raise ParameterError(
            "was changed, or made by a version that computes otherwise; "
            f"{', '.join(others)} {verb} from what follows."
        )


def same(one: Any, other: Any, near: float = 0.0) -> bool:
    """Whether two contents of JSON agree; numbers, to rounding.

    Args:
        one: of a document.
        other: what was computed.
        near: difference up to which two numbers agree also if both are small; in a list it follows
            from the largest that was computed.
    """
    if isinstance(other, dict):
        return (
            isinstance(one, dict)
            and one.keys() == other.keys()
            and all(same(one[key], again) for key, again in other.items())
        )
    if isinstance(other, list):
        if not isinstance(one, list) or len(one) != len(other):
            return False
        largest = max((abs(each) for each in other if isinstance(each, float)), default=0.0)
        return all(same(a, b, ROUNDING * largest) for a, b in zip(one, other, strict=True))
    if isinstance(other, float):
        return type(one) in (int, float) and math.isclose(
            one, other, rel_tol=ROUNDING, abs_tol=near
        )
    return type(one) is type(other) and bool(one == other)


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
