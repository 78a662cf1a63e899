"""Text from outside, shown as the text it is.

What Streamlit is given as a message, label, caption or title is Markdown: an image in it would be
fetched by the visitor's browser from wherever it points to. So whatever was not written here (text
of a link, an error about it, a name that somebody chose) goes through :func:`verbatim` first.

It becomes a code span, inside which Markdown knows no images, links, formulas, HTML or emphasis and
Streamlit neither colors nor emoji. Escaping single characters would not do: addresses, emoji and
arrows are looked for after the escapes are gone.
"""

from __future__ import annotations

import re

LONGEST = 200
"""Characters of a text that are shown; more say nothing that a person reads."""

LONGEST_BLAME = 400
"""The same of what a model of one's own does wrong, in which line of which file."""

UNSHOWABLE = "\N{REPLACEMENT CHARACTER}"
"""Stands for line breaks, controls, marks that turn the direction of writing, half characters."""


def verbatim(text: object, longest: int = LONGEST, hidden: str = "") -> str:
    """Markdown that shows a text as it stands, in one line and cut to a length.

    Args:
        text: anything; an error stands for its message.
        longest: characters shown; the last of a longer text is an ellipsis.
        hidden: what is for nobody to know, as a place on the server; an ellipsis stands for it.
    """
    shown = str(text).replace(hidden, "…") if hidden else str(text)
    if len(shown) > longest:
        shown = shown[: longest - 1] + "…"
    shown = "".join(sign if sign.isprintable() else UNSHOWABLE for sign in shown)
    # A run of backticks that is longer than any inside does not end there.
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    # One blank at each end belongs to the fence.
    return f"{fence} {shown} {fence}"
