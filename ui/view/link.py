"""The link: what an address asks for, what of it is allowed, and the address of a view."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from abcdp_core import __version__, studies
from abcdp_core.base.parameters import ParameterError, Scalar, text_of
from ui.verbatim import verbatim
from ui.view import controls_spec
from ui.view.controls_spec import Knob
from ui.view.page import Page

Query = dict[str, str]


@dataclass(frozen=True)
class Reading:
    """What came of a link: what it asked for in vain in Markdown, and that numbers may differ."""

    query: Query
    notices: tuple[str, ...]
    note: str = ""


VERSION = "version"
"""Key of what made a link."""

SAME_NUMBERS = ("0.4.0",)
"""Versions that give the same numbers as this one."""


@dataclass(frozen=True)
class Change:
    """What a version made of keys that a link may leave out.

    Attributes:
        version: the first one in which it is so.
        former: key -> what it started from before.
        split_from: key that has been there since -> the one that spoke for it before.
    """

    version: str
    former: Mapping[str, str]
    split_from: Mapping[str, str]


CHANGES = (
    Change(
        "0.2.0",
        former={"epsilon_total": "1", "adaptive-truncation.n": "5000"},
        split_from={
            "adaptive-truncation.epsilon_total": "epsilon_total",
            "adaptive-truncation.n": "n",
        },
    ),
)
"""In order. Thanks to them a link shows what it showed when it was made."""


def of_today(query: Mapping[str, str], known: Collection[str], own: Collection[str]) -> Query:
    """Return what a link of an earlier version asks for, with today's keys and former defaults.

    One without a version is of the first, unless it asks for nothing, as a typed address does.
    """
    values = dict(query)
    # What concerns the screen alone asks for no numbers.
    if not values.keys() & ({*known, VERSION} - {*controls_spec.EVERYWHERE}):
        return values
    made = _number(query.get(VERSION, ""))
    for change in CHANGES:
        if made < _number(change.version):
            # A page's own keys are nothing to the others.
            here = {
                key for key in (*change.former, *change.split_from) if "." not in key or key in own
            }
            former = {key: change.former[key] for key in change.former.keys() & here}
            split_from = {key: change.split_from[key] for key in change.split_from.keys() & here}
            moved = {new: values[old] for new, old in split_from.items() if old in values}
            values = former | moved | values
    return values


def _number(version: str) -> tuple[int, ...]:
    """A version as numbers; of what is none, one before all."""
    parts = version.split(".")
    plain = all(part.isascii() and part.isdigit() and len(part) <= 9 for part in parts)
    return tuple(int(part) for part in parts) if plain else ()


def owner(preset: str, pages: Iterable[Page]) -> Page | None:
    """The first page that has a preset or its successor, if any has."""
    name = studies.RETIRED.get(preset, preset)
    having = (page for page in pages for each in page.every if name in studies.load(each).PRESETS)
    return next(having, None)


def read(query: Mapping[str, str], known: Mapping[str, Knob]) -> Reading:
    """Keep what is allowed, bring numbers into their range, drop the rest, and say so."""
    kept: Query = {}
    notices: list[str] = []
    note = ""
    for key, text in query.items():
        if key == VERSION:
            # Another one is not an error; the address says this version from now on.
            kept[key] = __version__
            if text not in SAME_NUMBERS:
                note = (
                    f"This link was made with {verbatim(f'version = {text}')}; this is version "
                    f"{__version__}. Numbers may differ."
                )
            continue
        value, notice = _value(key, text, known)
        if value is not None:
            kept[key] = text_of(value)
        if notice:
            notices.append(notice)
    return Reading(kept, tuple(notices), note)


def _value(key: str, text: str, known: Mapping[str, Knob]) -> tuple[Scalar | None, str]:
    asked = verbatim(f"{key} = {text}")
    if key not in known:
        return None, f"{asked}: unknown, so left out."
    parameter = known[key].parameter
    if key == "preset" and (successor := studies.RETIRED.get(text)) in parameter.options:
        return successor, f"{asked}: retired. Shown instead: {verbatim(successor)}."
    try:
        return parameter.parse(key, text), ""
    except ParameterError as error:
        value = controls_spec.nearest(parameter, text)
        used = known[key].default if value is None else value
        return value, f"{verbatim(error)} Used instead: {verbatim(text_of(used))}."


def read_names(
    key: str, text: str, known: Collection[str], never: Collection[str] = ()
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the knobs that the list ``lock`` or ``hide`` names, and notices in Markdown."""
    asked = dict.fromkeys(name for each in text.split(",") if (name := each.strip()))
    names = tuple(name for name in asked if name in known and name not in never)
    notices = (
        f"{verbatim(f'{key} = {name}')}: "
        + ("cannot be in this list, so left out." if name in known else "unknown, so left out.")
        for name in asked
        if name not in names
    )
    return names, tuple(notices)


def read_pairs(
    key: str, text: str, known: Mapping[str, Knob]
) -> tuple[dict[str, Scalar], tuple[str, ...]]:
    """Return the values that a list of ``knob:value`` sets, and notices in Markdown."""
    pairs = [each.partition(":") for each in text.split(",") if each.strip()]
    values: dict[str, Scalar] = {}
    notices: list[str] = []
    for before, _, after in dict.fromkeys(pairs):
        name = before.strip()
        value, notice = _value(name, after.strip(), known)
        if name in known:
            values[name] = known[name].default if value is None else value
        if notice:
            notices.append(f"In {key}: {notice}")
    return values, tuple(notices)


def pairs(values: Mapping[str, Scalar]) -> str:
    """The inverse of :func:`read_pairs`."""
    return ",".join(f"{key}:{text_of(value)}" for key, value in values.items())


def address(page_url: str, values: Mapping[str, Scalar]) -> str:
    """The full address of a view: every value, and the version that shows it."""
    query = {key: text_of(value) for key, value in values.items()} | {VERSION: __version__}
    return f"{page_url}?{urlencode(query)}"
