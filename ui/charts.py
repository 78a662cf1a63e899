"""A figure on the screen, with its sentence for those who cannot see it."""

from __future__ import annotations

import functools
import html
from collections.abc import Callable

import plotly.graph_objects as go
import streamlit as st

from abcdp_core import figures as fig
from abcdp_core.figures import Drawn
from abcdp_core.output.page import CONFIG
from ui import drawings, state

Clicked = Callable[[str, float], None]
"""What is told of a point that a person clicked: name of its series, and where it is."""

BAR = {False: "hover", True: False}
"""When there is a toolbar, off and on a projector."""


def show(
    key: str,
    drawn: Drawn,
    clicked: Clicked | None = None,
    *,
    kept: bool = True,
    in_card: int = 0,
    titled: bool = True,
) -> None:
    """A chart below its title, which has as many lines as its room asks for.

    Args:
        key: names the chart on the page, and its file.
        drawn: the figure, never changed once it was shown, and what it shows.
        clicked: called when a person clicks a point.
        kept: whether the server keeps it for the next who asks; not what one session only has.
        in_card: pixels of a figure in a card that has written its title; 0 elsewhere.
        titled: whether its title is written here.
    """
    with st.container(gap=None):
        if titled and not in_card:
            st.html(title(drawn.figure))
        _chart(key, drawn, clicked, kept=kept, in_card=in_card)


def title(figure: go.Figure) -> str:
    """The title of a figure with its settings in a smaller second line, as HTML."""
    words, settings = (
        html.escape(text).replace(" = ", "&nbsp;=&nbsp;")
        for text in (fig.one_line(figure), fig.settings_line(figure))
    )
    return f'<p class="finding">{words}{f"<small>{settings}</small>" if settings else ""}</p>'


def _chart(key: str, drawn: Drawn, clicked: Clicked | None, *, kept: bool, in_card: int) -> None:
    projector = bool(state.held("projector"))
    dress = drawings.dressed if kept else drawings.dress
    dressed = dress(drawn.figure, fig.screen(st.context.theme.type, projector=projector), in_card)
    names = [str(trace.get("name")) for trace in dressed.to_dict()["data"]]
    saved = {"format": str(state.current("figures.format")), "filename": key, "scale": 2}
    st.plotly_chart(
        dressed,
        theme="streamlit",
        width="stretch",
        key=f"chart-{key}",
        on_select=functools.partial(_tell, f"chart-{key}", names, clicked) if clicked else "ignore",
        selection_mode="points",
        alt=drawn.sentence,
        config=CONFIG | {"toImageButtonOptions": saved, "displayModeBar": BAR[projector]},
    )


def _tell(key: str, names: list[str], clicked: Clicked) -> None:
    """Pass the clicked point on."""
    points = st.session_state[key].get("selection", {}).get("points", [])
    if points:
        clicked(names[points[0]["curve_number"]], float(points[0]["x"]))
