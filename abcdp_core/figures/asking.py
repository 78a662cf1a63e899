"""The colours that ways of asking one person keep, on every page."""

from __future__ import annotations

from abcdp_core.figures.looks import CATEGORIES, Style

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
