"""Figures: the only place where one gets its looks.

:mod:`looks` has the template, the colors and what a screen or paper asks for; :mod:`builders` the
empty figures and traces that studies share; :mod:`statistics` what they draw alike: means over
runs, errors, mechanisms and ways of asking; :mod:`mirrored` histograms with and without noise;
:mod:`ranked` rows of marks with names. What few need is imported by itself: :mod:`projected` what
a lecture hall needs; :mod:`joined` two figures on the same axes; :mod:`replicates` released numbers
over what a model makes; :mod:`lines` curves. A study gives each figure as :class:`CaptionedFigure`,
and writes its caption.
"""

from __future__ import annotations

from dataclasses import dataclass

import plotly.graph_objects as go

from abcdp_core.figures.builders import *
from abcdp_core.figures.looks import *
from abcdp_core.figures.mirrored import *
from abcdp_core.figures.statistics import *


@dataclass(frozen=True)
class CaptionedFigure:
    """A figure and what it shows: page, alternative text and exported file say the same.

    Attributes:
        figure: with the shared template.
        sentence: one sentence or a few, without any markup.
    """

    figure: go.Figure
    sentence: str

    def on_paper(self) -> go.Figure:
        """The figure as it stands by itself, in a notebook or a file: title, letters, ground.

        ``figure`` alone is for a page, which says the title above it.
        """
        return dressed(self.figure, PAPER).update_layout(width=WIDTH)
