"""Figures: the only place where one gets its looks.

:mod:`looks` has the template, the colours and what a screen or paper asks for; :mod:`builders` the
empty figures and traces that studies share; :mod:`statistics` what they draw alike: means over
runs and errors; :mod:`mirrored` histograms with and without noise; :mod:`joined` two figures on
the same axes; :mod:`ranked` rows of marks with names; :mod:`replicates` released numbers
over what a model makes; :mod:`mechanisms` and
:mod:`asking` the colours that mechanisms and ways of asking keep. A study gives each figure as
:class:`Drawn`.
"""

from __future__ import annotations

from dataclasses import dataclass

import plotly.graph_objects as go

from abcdp_core.figures.asking import way_of_asking
from abcdp_core.figures.builders import (
    TICKS,
    band,
    figure,
    hollow,
    key,
    layout,
    line,
    logarithmic,
    named_apart,
    no_better,
    note,
    own_mark,
    panel,
    panels,
    points,
    rows,
    stack,
    together,
    words,
)
from abcdp_core.figures.joined import joined
from abcdp_core.figures.looks import (
    BLACK,
    BLUE,
    BOTH,
    CATEGORIES,
    FONT,
    GREEN,
    GREY,
    GRID,
    GROUND,
    GUIDE,
    INK,
    NON_PRIVATE,
    ON_DARK,
    PAPER,
    PRIOR,
    PRIVATE,
    PROJECTOR,
    PROJECTORS,
    PURPLE,
    REJECTED,
    SCREEN,
    SCREENS,
    TEMPLATE,
    THEORY,
    TRUTH,
    VERMILLION,
    WIDTH,
    WORDS,
    Medium,
    Style,
    as_seen,
    below_title,
    dressed,
    in_card,
    one_line,
    screen,
    settings_line,
    styles,
    translucent,
)
from abcdp_core.figures.mechanisms import called, code_name, mechanism
from abcdp_core.figures.mirrored import mirrored, shown_ends, strips
from abcdp_core.figures.ranked import (
    AROUND,
    end_labels,
    marked,
    marked_panels,
    plain,
    plain_ticks,
    ranked,
    row_marks,
    upright,
)
from abcdp_core.figures.replicates import replicates
from abcdp_core.figures.statistics import (
    BINS,
    DECADES,
    PRIOR_MEAN,
    RIVAL,
    RIVAL_WITHOUT_NOISE,
    SYMBOLS,
    UNLEARNT,
    boxes,
    evenly,
    in_panel,
    named_once,
    outline,
    run_line,
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

    def on_paper(self) -> go.Figure:
        """The figure as it stands by itself, in a notebook or a file: title, letters, ground.

        ``figure`` alone is for a page, which says the title above it.
        """
        return dressed(self.figure, PAPER).update_layout(width=WIDTH)


__all__ = [
    "AROUND",
    "BINS",
    "BLACK",
    "BLUE",
    "BOTH",
    "CATEGORIES",
    "DECADES",
    "FONT",
    "GREEN",
    "GREY",
    "GRID",
    "GROUND",
    "GUIDE",
    "INK",
    "NON_PRIVATE",
    "ON_DARK",
    "PAPER",
    "PRIOR",
    "PRIOR_MEAN",
    "PRIVATE",
    "PROJECTOR",
    "PROJECTORS",
    "PURPLE",
    "REJECTED",
    "RIVAL",
    "RIVAL_WITHOUT_NOISE",
    "SCREEN",
    "SCREENS",
    "SYMBOLS",
    "TEMPLATE",
    "THEORY",
    "TICKS",
    "TRUTH",
    "UNLEARNT",
    "VERMILLION",
    "WIDTH",
    "WORDS",
    "Drawn",
    "Medium",
    "Style",
    "as_seen",
    "band",
    "below_title",
    "boxes",
    "called",
    "code_name",
    "dressed",
    "end_labels",
    "evenly",
    "figure",
    "hollow",
    "in_card",
    "in_panel",
    "joined",
    "key",
    "layout",
    "line",
    "logarithmic",
    "marked",
    "marked_panels",
    "mechanism",
    "mirrored",
    "named_apart",
    "named_once",
    "no_better",
    "note",
    "one_line",
    "outline",
    "own_mark",
    "panel",
    "panels",
    "plain",
    "plain_ticks",
    "points",
    "ranked",
    "replicates",
    "row_marks",
    "rows",
    "run_line",
    "screen",
    "settings_line",
    "shown_ends",
    "stack",
    "strips",
    "styles",
    "together",
    "translucent",
    "upright",
    "way_of_asking",
    "words",
]
