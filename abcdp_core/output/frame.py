"""What every page in HTML has around its own: one that is a file of its own and asks no network."""

from __future__ import annotations

import html

from abcdp_core import figures as fig

BEFORE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{style}
</style>
</head>
<body>
<main>
"""

AFTER = """
</main>
</body>
</html>
"""

LOOKS = {"font": fig.FONT, "ink": fig.INK, "grey": fig.GREY, "grid": fig.GRID}
"""What a style writes as ``{ink}`` -> what stands there."""


def framed(title: str, style: str, body: str, **more: str) -> str:
    """A whole page.

    Args:
        title: as text.
        style: of the page in CSS, whose braces are doubled and whose single ones name
            :data:`LOOKS`.
        body: all that is on it, in HTML.
        more: what else the style names.
    """
    head = BEFORE.format(title=html.escape(title), style=style.strip().format(**LOOKS, **more))
    return f"{head}{body.strip()}{AFTER}"
