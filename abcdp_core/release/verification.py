"""Verify a released record: compare it with what follows from its settings and its release.

Everything public is computed again from the settings, the number of values and the released
numbers: noise scales, cost, sentences, parameters of a public pool, posterior. The data and the
noise cannot be computed again, so a record that is invented as a whole looks like a real one.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from abcdp_core.base.arrays import Array
from abcdp_core.base.parameters import ParameterError, shown
from abcdp_core.posterior.rounds import TaskMap, one_by_one
from abcdp_core.privacy.accounting import NEIGHBOURS
from abcdp_core.publish.output.settings import params_from_json
from abcdp_core.release import procedure, releasable
from abcdp_core.release.budget_file import reservation_in
from abcdp_core.release.document import KEYS, ReleaseRecord
from abcdp_core.release.request import ReleaseRequest, scenarios

ROUNDING = 1e-9
"""Largest relative difference of equal numbers, as processors round differently."""

FLOATING = 2.0**-48
"""The same after a few operations, or if the axis is far from 0."""

PARTS = {
    "mode": "kind of record: a release",
    "mechanism": "mechanism",
    "statement": "privacy statement, from the event",
    "remains": "what the guarantee does not protect",
    "protected": "what is protected",
    "n": "number of values, within the allowed range",
    "public": "settings, all allowed",
    "model": "file of the model or the pool, by its digest",
    "format": "format of the record",
    "release": "the release, in the form of its mechanism",
    "own_units": "the same in your units",
    "series": "shares of the series, from the counts",
    "posterior": "posterior with means, intervals and draws, from the release and the public seed",
    "event": "noise scales, from the settings and the number of values",
    "cost": "cost, from the event",
}
"""Key of a record -> what it is, in words."""

UNKNOWABLE = (
    "the data, the noise, and whether the release came from them: privacy hides these",
    "settings that nothing else depends on, such as a threshold: only their range is checked",
    "how many releases from the same data there are",
)
"""What no record can show."""

NO_FORM = (KeyError, TypeError, ValueError, OverflowError, AttributeError, RecursionError)
"""Exceptions from content that does not have the form of a release."""


@dataclass(frozen=True)
class Finding:
    """A comparison: the record's key, its meaning in words, and whether it agrees."""

    key: str
    what: str
    agrees: bool


def read_file(file: Path) -> tuple[bytes, Any]:
    """Return the bytes of a record's file, and its content.

    Raises:
        ParameterError: the file cannot be read, or is not JSON.
    """
    try:
        text = file.read_bytes()
        return text, json.loads(text)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ParameterError(f"{file}: cannot be read ({reason}).") from error
    except (ValueError, RecursionError) as error:
        raise ParameterError(f"{file}: is not JSON.") from error


def verify(content: Any, each: TaskMap = one_by_one) -> list[Finding]:
    """Compare a record's content with what is computed again, key by key.

    Raises:
        ParameterError: the content is not a record of a release, or is impossible.
    """
    document = document_in(content)
    return compared(content, document if is_bare(content) else procedure.complete(document, each))


def is_before(content: Mapping[str, Any]) -> bool:
    """Return whether a record is older than the current posterior of released numbers."""
    return "format" not in content


def is_bare(content: Mapping[str, Any]) -> bool:
    """Return whether a record has no posterior that can be computed again."""
    return is_before(content) or content.get("posterior", content) is None


def document_in(content: Any) -> ReleaseRecord:
    """Return the record that follows from settings, size and release, without its posterior.

    Raises:
        ParameterError: the content is not a record of a release, or is impossible.
    """
    if not isinstance(content, dict) or not content.keys() >= set(KEYS):
        raise ParameterError("is not a release.")
    try:
        return _again(content)
    except NO_FORM as error:
        if isinstance(error, ParameterError):
            raise
        by = " by the model or pool of --plugin" if "model" in content else ""
        raise ParameterError(f"does not have the form of a release{by}.") from error


def _again(content: Mapping[str, Any]) -> ReleaseRecord:
    public = {**content["public"]}
    public.pop("scenario_domain", None)
    name = content.get("mechanism", releasable.BEFORE_MECHANISMS)
    scenario = public["scenario"]
    if scenario not in scenarios() or not isinstance(name, str):
        raise ParameterError(
            f"scenario = {shown(scenario)}: is unknown; name your own model or pool with --plugin "
            "FILE."
        )
    mechanism = releasable.chosen(scenario, name)
    request = params_from_json(mechanism.request, public)
    assert isinstance(request, ReleaseRequest)
    # If the number is private, the record has none, and it is the same for all data.
    n = content["n"] if request.tells_size else request.source.own_sizes[1]
    if type(n) is not int:
        raise ParameterError(f"number of values = {shown(n)}: must be a whole number.")
    request.check_size(n)
    document = mechanism.read(request, n, content)
    return document.taken_from(reservation_in(content)) if "ledger" in content else document


FORMER_WORDS = {
    "when it is replaced by any other and nothing else changes": "replace",
    "when it is left out or added and nothing else changes": "add-remove",
}
"""How statements of version 0.2.0 name neighbors."""


def _in_todays_words(statement: Any) -> Any:
    """Return a statement of version 0.2.0 as it is written today; any other as it is."""
    for words, neighbours in FORMER_WORDS.items():
        statement = str(statement).replace(words, f"(neighbors: {NEIGHBOURS[neighbours]})")
    return statement


def compared(content: Mapping[str, Any], document: ReleaseRecord) -> list[Finding]:
    """Compare a record's content with the record that follows from it, key by key."""
    again = json.loads(document.to_json())
    content = {**content, "statement": _in_todays_words(content["statement"])}
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
            PARTS.get(key, f"{shown(key)}: a release has no such key"),
            key in content and key in again and _agrees(key, content[key], again[key], document),
        )
        for key in keys
    ]


OF_PARAMETERS = ("means", "intervals", "prior_means", "prior_intervals", "draws", "values")
"""Lists whose entries have the units of different parameters: numbers, pairs or draws."""


def _agrees(key: str, one: Any, other: Any, document: ReleaseRecord) -> bool:
    """Whether a part of a record is equal to the computed one.

    Differences are relative to the parameter's axis: relative to themselves, draws near 0 would
    differ between processors; relative to another unit, changes would not be seen.
    """
    if key == "model":
        # The file may have another name here.
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
    """Whether arrays have the same shape and differ at most by ``near``, element by element."""
    try:
        first, again = np.array(one, dtype=float), np.array(other, dtype=float)
    except (TypeError, ValueError):
        return False
    if first.shape != again.shape or not first.size:
        return first.shape == again.shape
    shape = near if first.ndim > 1 else near.ravel()
    return bool((np.abs(first - again) <= shape).all())


def check(findings: Sequence[Finding]) -> None:
    """Refuse a record with a part that does not follow from the rest.

    Raises:
        ParameterError: a part differs; the sentence names the keys.
    """
    wrong = [each.key for each in findings if not each.agrees]
    others = [key for key in wrong if key != "model"]
    keys, do = ", ".join(others), "does" if len(others) == 1 else "do"
    if wrong and not others:
        raise ParameterError(
            "was made with another file of the model, perhaps only with other line endings; "
            "everything else follows from the file given here, too."
        )
    if "model" in wrong:
        raise ParameterError(
            f"was made with another file of the model, and {keys} {do} not follow from the file "
            "given here: give the original file."
        )
    if wrong:
        raise ParameterError(
            f"was changed, or made by a version with other computations: {keys} {do} not follow "
            "from the rest."
        )


def same(one: Any, other: Any, near: float = 0.0) -> bool:
    """Return whether JSON values agree with computed ones, up to rounding.

    ``near`` is the largest absolute difference of equal numbers; in a list it is relative to the
    largest computed number.
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
    """Return what is not computed again, in words."""
    more = ["the versions of the software"]
    if is_before(content) and content.get("mechanism") == "private-summary":
        more.append("the posterior, which was computed in another way by an older version")
    if "model" in content:
        more.append("the name of the file of the model or pool: its digest identifies the file")
        more.append("files that a model imports or reads: the digest covers only its own text")
    if "ledger" in content:
        more.append("the budget that paid: `budget show` compares it with the ledger")
    return [*UNKNOWABLE, *more]
