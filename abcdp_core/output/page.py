"""A figure as a page in HTML, or as a part of one."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go
import plotly.io
from markupsafe import Markup
from plotly.offline import get_plotlyjs_version

from abcdp_core import documents
from abcdp_core import figures as fig
from abcdp_core.figures import CaptionedFigure
from abcdp_core.output import citation
from abcdp_core.output.images import title_of
from abcdp_core.results import Result

LIBRARY = f"plotly-{get_plotlyjs_version()}.min.js"
"""The file that draws the figures of all pages in a folder; each version is one of its own, so that
pages of another one, be they somebody else's, keep theirs."""


def page(result: Result, name: str, drawn: CaptionedFigure, plotlyjs: bool | str = True) -> str:
    """A page that holds one figure, its caption, the privacy statement and how to cite it.

    Args:
        result: what it is from.
        name: of the figure.
        drawn: the figure and its sentence.
        plotlyjs: whether it brings the script that draws it, or the file in its folder that has it.
    """
    title = title_of(result, drawn.figure) or name
    below = (fig.settings_line(drawn.figure), drawn.sentence, result.privacy, citation.TEXT)
    return figure_page(title, part_of_page(drawn.figure, name, plotlyjs), below)


def figure_page(title: str, figure: str, below: Sequence[str]) -> str:
    """A page that holds one figure.

    Args:
        title: above it.
        figure: a part of a page.
        below: a paragraph each.
    """
    return documents.render("figure.html", title=title, figure=Markup(figure), below=below)


def part_of_page(figure: go.Figure, name: str, plotlyjs: bool | str, title: str = "") -> str:
    """A figure as a part of a page in HTML.

    Args:
        figure: left as it is.
        name: of the part, unique on its page.
        plotlyjs: as for :func:`page`; once on a page is enough.
        title: above it; empty for none.
    """
    return plotly.io.to_html(
        fig.dressed(figure, fig.PAPER, title),
        full_html=False,
        include_plotlyjs=plotlyjs,
        div_id=name,
        config=fig.CONFIG,
    )
