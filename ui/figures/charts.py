"""Figures on the screen, each with its sentence for those who cannot see it.

A figure that was drawn once is kept, so that running a page again costs next to nothing.
"""

from __future__ import annotations

import functools
import html
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import plotly.graph_objects as go
import streamlit as st
from plotly.basedatatypes import BaseFigure

from abcdp_core import figures as fig
from abcdp_core import studies
from abcdp_core.figures import CaptionedFigure
from abcdp_core.figures.medium import Medium
from abcdp_core.run.results import Result
from ui.jobs import progress
from ui.view.view import View

T = TypeVar("T")

Clicked = Callable[[str, float], None]
"""Takes a point that a person clicked: the name of its series, and its x."""

KEPT = 512
"""Figures that are kept: a class that moves one knob over its values asks for none twice."""

_kept: OrderedDict[tuple[int, Hashable], tuple[object, Any]] = OrderedDict()
_keeping = threading.Lock()


def memoized(owner: object, name: Hashable, make: Callable[[], T]) -> T:
    """Return what was made from an object under a name; make it if it is not there."""
    key = id(owner), name
    with _keeping:
        if key in _kept:
            _kept.move_to_end(key)
            return _kept[key][1]
    thing = make()
    with _keeping:
        _kept[key] = owner, thing
        while len(_kept) > KEPT:
            _kept.popitem(last=False)
    return thing


def drawn(found: Result) -> dict[str, CaptionedFigure]:
    """Return the figures of a result with their sentences, the main one first."""
    study = studies.load(found.experiment)
    return memoized(found, "figures", lambda: study.figures(found))


def with_run(grown: Result, this: Result) -> CaptionedFigure:
    """Return the errors that are exact over the noise, with one run on their curve."""
    # Imported here: few pages show them.
    from abcdp_core.studies import expected_error, posterior

    usual, epsilon_total = drawn(grown)["error"], float(vars(this.params)["epsilon_total"])
    error = posterior.error(this)
    return memoized(
        grown,
        ("this run", epsilon_total, error),
        lambda: expected_error.mark(usual, epsilon_total, error),
    )


def on_shared_axes(
    first: CaptionedFigure, second: CaptionedFigure
) -> tuple[CaptionedFigure, CaptionedFigure]:
    """Return two figures on the same axes, without their titles."""
    # Imported here: only what is pinned stands beside another.
    from abcdp_core.figures.joined import joined

    def both() -> tuple[CaptionedFigure, CaptionedFigure, CaptionedFigure]:
        figures = joined(first.figure, second.figure)
        for figure in figures:
            figure.layout.title = None
        # The first figure too: as long as it is there, its identity is its own.
        return (
            first,
            CaptionedFigure(figures[0], first.sentence),
            CaptionedFigure(figures[1], second.sentence),
        )

    _, left, right = memoized(second.figure, ("beside", id(first.figure)), both)
    return left, right


TOOLBAR = {False: "hover", True: False}
"""When a figure has a toolbar, off and on a projector."""


def show(
    view: View,
    key: str,
    drawn: CaptionedFigure,
    clicked: Clicked | None = None,
    *,
    is_kept: bool = True,
    titled: bool = True,
) -> None:
    """Show a figure below its title.

    Args:
        key: names the figure on the page, and its file.
        drawn: the figure, never changed once it was shown, and what it shows.
        clicked: called when a person clicks a point.
        is_kept: whether the server keeps it; not what only one session has.
        titled: whether its title is written here.
    """
    medium = fig.screen(st.context.theme.type, projector=view.projector)
    dress = functools.partial(_dress, drawn.figure, medium)
    dressed = memoized(drawn.figure, medium.name, dress) if is_kept else dress()
    names = [str(trace.get("name")) for trace in dressed.to_dict()["data"]]
    tell = functools.partial(_tell, f"chart-{key}", names, clicked)
    saved = {"format": str(view.value("figures.format")), "filename": key, "scale": 2}
    with st.container(gap=None):
        if titled:
            st.html(title(drawn.figure))
        st.plotly_chart(
            dressed,
            theme="streamlit",
            width="stretch",
            key=f"chart-{key}",
            on_select=progress.for_whole_page(tell) if clicked else "ignore",
            selection_mode="points",
            alt=drawn.sentence,
            config=fig.CONFIG
            | {"toImageButtonOptions": saved, "displayModeBar": TOOLBAR[view.projector]},
        )


def title(figure: go.Figure) -> str:
    """Return a figure's title, with its settings in a smaller second line, as HTML."""
    words, settings = (
        html.escape(text).replace(" = ", "&nbsp;=&nbsp;")
        for text in (fig.one_line(figure), fig.settings_line(figure))
    )
    return f'<p class="finding">{words}{f"<small>{settings}</small>" if settings else ""}</p>'


def _tell(key: str, names: list[str], clicked: Clicked | None) -> None:
    points = st.session_state[key].get("selection", {}).get("points", [])
    if points and clicked:
        clicked(names[points[0]["curve_number"]], float(points[0]["x"]))


def _dress(figure: go.Figure, medium: Medium) -> PlotlyDict:
    return PlotlyDict(fig.below_title(figure, medium))


class PlotlyDict(BaseFigure):  # type: ignore[misc]
    """A figure that is ready for a screen, as the dictionary that Streamlit asks for.

    Plotly makes that dictionary anew each time, which takes longer than the rest of a page.
    """

    def __init__(self, plain: dict[str, Any]) -> None:
        self._plain = plain

    def to_dict(self) -> dict[str, Any]:
        """Return itself, to be read only."""
        return self._plain
