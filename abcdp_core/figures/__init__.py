"""Figures: the only place where one gets its looks.

:mod:`looks` has the template, the colours and what a screen or paper asks for; :mod:`builders` the
empty figures and traces that studies share. A study gives each figure as :class:`Drawn`.
"""

from __future__ import annotations

from dataclasses import dataclass

import plotly.graph_objects as go

from abcdp_core.figures.builders import (
    band,
    figure,
    hollow,
    line,
    logarithmic,
    panel,
    panels,
    points,
    rows,
    stack,
)
from abcdp_core.figures.looks import (
    BLUE,
    FONT,
    GREEN,
    GREY,
    GRID,
    INK,
    NON_PRIVATE,
    PALETTE,
    PAPER,
    PRIOR,
    PRIVATE,
    PURPLE,
    SCREEN,
    SCREENS,
    TEMPLATE,
    THEORY,
    TRUTH,
    VERMILLION,
    WIDTH,
    Medium,
    Style,
    dressed,
    one_line,
    styles,
)


@dataclass(frozen=True)
class Drawn:
    """A figure and what it shows: page, alternative text and exported file say the same.

    Attributes:
        figure: with the shared template.
        sentence: one sentence or a few, without any markup.
    """

    figure: go.Figure
    sentence: str


__all__ = [
    "BLUE",
    "FONT",
    "GREEN",
    "GREY",
    "GRID",
    "INK",
    "NON_PRIVATE",
    "PALETTE",
    "PAPER",
    "PRIOR",
    "PRIVATE",
    "PURPLE",
    "SCREEN",
    "SCREENS",
    "TEMPLATE",
    "THEORY",
    "TRUTH",
    "VERMILLION",
    "WIDTH",
    "Drawn",
    "Medium",
    "Style",
    "band",
    "dressed",
    "figure",
    "hollow",
    "line",
    "logarithmic",
    "one_line",
    "panel",
    "panels",
    "points",
    "rows",
    "stack",
    "styles",
]
