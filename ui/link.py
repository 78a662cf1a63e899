"""The link: what an address asks for, what of it is allowed, and the address of a view."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from abcdp_core import __version__, experiments
from abcdp_core.parameters import ParameterError, Scalar, text_of
from ui import knobs
from ui.knobs import Knob
from ui.verbatim import verbatim


@dataclass(frozen=True)
class Reading:
    """What came of a link: the query to go on with, and what to tell the person, in Markdown."""

    query: dict[str, str]
    notices: tuple[str, ...]


def read(query: Mapping[str, str], known: Mapping[str, Knob]) -> Reading:
    """Keep what is allowed, bring numbers into their range, drop the rest, and say so.

    Args:
        query: key -> text, as it stands in the address.
        known: the knobs of all pages, by key.
    """
    kept: dict[str, str] = {}
    notices: list[str] = []
    for key, text in query.items():
        value, notice = _value(key, text, known)
        if value is not None:
            kept[key] = text_of(value)
        if notice:
            notices.append(notice)
    return Reading(kept, tuple(notices))


def _value(key: str, text: str, known: Mapping[str, Knob]) -> tuple[Scalar | None, str]:
    asked = verbatim(f"{_short(key)} = {_short(text)}")
    if key == "version":
        made = f"This link was made with {asked}; this is version {__version__}"
        return None, "" if text == __version__ else f"{made}, so numbers may differ."
    if key not in known:
        return None, f"{asked}: unknown, so left out."
    parameter = known[key].parameter
    if key == "preset" and (successor := experiments.RETIRED.get(text)) in parameter.options:
        return successor, f"{asked}: retired. Shown instead: {verbatim(successor)}."
    try:
        return parameter.parse(key, text), ""
    except ParameterError as error:
        value = knobs.nearest(parameter, text)
        used = known[key].default if value is None else value
        return value, f"{verbatim(error)} Used instead: {verbatim(text_of(used))}."


def _short(text: str) -> str:
    """A key or a value that leaves room for the other."""
    return text if len(text) <= SHOWN_OF_EACH else text[: SHOWN_OF_EACH - 1] + "…"


SHOWN_OF_EACH = 60
"""Characters of a key or of a value that a notice shows."""


def address(page_url: str, values: Mapping[str, Scalar]) -> str:
    """The full address of a view: every value, and the version that shows it."""
    query = {key: text_of(value) for key, value in values.items()} | {"version": __version__}
    return f"{page_url}?{urlencode(query)}"
