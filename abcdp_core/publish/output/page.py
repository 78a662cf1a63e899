"""Write a figure as an HTML page, or as a part of one."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go
import plotly.io
from markupsafe import Markup
from plotly.offline import get_plotlyjs_version

from abcdp_core import figures as fig
from abcdp_core.figures import CaptionedFigure
from abcdp_core.publish.output import citation, documents
from abcdp_core.publish.output.images import title_of
from abcdp_core.run.results import Result

LIBRARY = f"plotly-{get_plotlyjs_version()}.min.js"
"""Script that draws the figures of all pages in a folder; its name has the version, so that older
pages there keep theirs."""


def page(result: Result, name: str, drawn: CaptionedFigure, plotlyjs: bool | str = True) -> str:
    """Return a page with a figure, its caption, the privacy statement and the citation.

    Args:
        result: the figure's result.
        name: the figure's name.
        drawn: the figure and its sentence.
        plotlyjs: whether the page includes the script, or the script's file in its folder.
    """
    title = title_of(result, drawn.figure) or name
    below = (fig.settings_line(drawn.figure), drawn.sentence, result.privacy, citation.TEXT)
    return figure_page(title, part_of_page(drawn.figure, name, plotlyjs), below)


def figure_page(title: str, figure: str, below: Sequence[str]) -> str:
    """Return a page with a figure."""
    return documents.render("figure.html", title=title, figure=Markup(figure), below=below)


def part_of_page(figure: go.Figure, name: str, plotlyjs: bool | str, title: str = "") -> str:
    """Return a figure as HTML, to be put in a page.

    Args:
        figure: not changed.
        name: unique on the page.
        plotlyjs: as for :func:`page`; one script per page is enough.
        title: heading, if any.
    """
    return plotly.io.to_html(
        fig.dressed(figure, fig.PAPER, title),
        full_html=False,
        include_plotlyjs=plotlyjs,
        div_id=name,
        config=fig.CONFIG,
    )
