"""Render documents from templates, and Markdown as HTML.

A template is a file in ``assets/templates``. In templates that end in ``.html`` every value is
escaped, unless it is :class:`markupsafe.Markup`; ``page.html`` is the frame of all pages, which
work offline. All templates know the colors and the font of figures by name, and those in HTML the
filters ``markdown`` and ``inline_markdown``.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from abcdp_core import figures as fig
from abcdp_core.base.places import ASSETS

if TYPE_CHECKING:
    from jinja2 import Environment
    from markdown_it import MarkdownIt

LOOKS = {"font": Markup(fig.FONT), "ink": fig.INK, "grey": fig.GREY, "grid": fig.GRID}
"""Name in a template -> font or color of the figures."""


def render(template: str, **values: Any) -> str:
    """Fill in a template."""
    return _environment().get_template(template).render(values)


def markdown(text: str) -> Markup:
    """Convert Markdown with tables to HTML; markup in it is shown as text."""
    return Markup(_parser().render(text))


def inline_markdown(text: str) -> Markup:
    """Convert one paragraph of Markdown to HTML without its ``<p>``."""
    return Markup(_parser().renderInline(text))


@functools.cache
def _environment() -> Environment:
    import jinja2

    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(ASSETS / "templates"),
        autoescape=jinja2.select_autoescape(["html"]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.globals |= LOOKS
    made.filters |= {"markdown": markdown, "inline_markdown": inline_markdown}
    return made


@functools.cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    made = MarkdownIt("commonmark", {"html": False}).enable("table")
    # On a phone a wide table scrolls, also with the keyboard.
    made.add_render_rule("table_open", lambda *_: '<div class="wide" tabindex="0"><table>')
    made.add_render_rule("table_close", lambda *_: "</table></div>")
    return made
