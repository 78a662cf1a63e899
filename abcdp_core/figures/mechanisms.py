"""The colours that families of mechanisms and ways of asking one person keep, on every page."""

from __future__ import annotations

import zlib

from abcdp_core.figures.looks import CATEGORIES, DASHES, MARKERS, NON_PRIVATE, Style

FAMILIES = (
    (
        *("sparse-vector", "sparse-vector-approximate", "gaussian-sparse-vector"),
        *("nearest-selection", "nearest-selection-approximate"),
    ),
    ("gaussian-rejection",),
    (
        *("private-embedding", "embedding-estimate", "embedding-noise-aware"),
        "embedding-noise-ignored",
    ),
    ("noisy-counts", "private-summary", "private-summary-large-unit"),
    ("soft-weights",),
)
"""Mechanisms that do nearly the same."""


def mechanism(name: str) -> Style:
    """How a mechanism looks on every page.

    Args:
        name: its code name, or ``non-private``. One that no family has gets the look that its
            name stands for.
    """
    if name == NON_PRIVATE.name:
        return NON_PRIVATE
    for color, family in zip(CATEGORIES, FAMILIES, strict=True):
        if name in family:
            place = family.index(name)
            return Style(called(name), color, DASHES[place], MARKERS[place])
    number = zlib.crc32(name.encode())
    return Style(called(name), CATEGORIES[number % len(CATEGORIES)], DASHES[-1], MARKERS[-1])


def called(name: str) -> str:
    """A mechanism's code name as words."""
    return name.replace("-", " ")


def code_name(words: str) -> str:
    """What :func:`called` made words of."""
    return words.replace(" ", "-")


_LOOKS = {
    "truncation": Style("truncation", CATEGORIES[0], "solid", "circle"),
    "fixed": Style("fixed", CATEGORIES[1], "dash", "square"),
    "optimal": Style("optimal", CATEGORIES[2], "solid", "diamond"),
    "sign": Style("sign", CATEGORIES[4], "dash", "square"),
    "placed right": Style("placed right", CATEGORIES[4], "dot", "triangle-up"),
}
"""A sign is never seen beside an interval that is placed right; the fourth colour is too close to
that of optimal symbols on a dark ground."""


def way_of_asking(name: str) -> Style:
    """How a way of asking looks.

    Args:
        name: ``truncation`` in an interval that follows the answers, in a ``fixed`` one or in one
            that was ``placed right``; a ``sign`` or ``optimal`` symbols.
    """
    return _LOOKS[name]
