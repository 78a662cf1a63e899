"""Released numbers over what the model makes: the band of its replicates (MATH E9)."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core.base.arrays import Array
from abcdp_core.figures.builders import band, figure, key, line, points
from abcdp_core.figures.looks import PRIVATE, THEORY, Style
from abcdp_core.figures.ranked import ranked, row_marks

RELEASED = Style("released", PRIVATE.color, PRIVATE.dash, PRIVATE.marker)
UNUSUAL = Style("released, and hardly ever made", PRIVATE.color, "", "x")
MADE = Style("90 % of what the model makes", THEORY.color, "solid", "diamond")

WIDE = 30.0  # Times the smallest number from which a largest one needs an axis in powers


def replicates(
    names: Sequence[str],
    z: Array,
    made: Array,
    unusual: Collection[str],
    title: str,
    settings: str = "",
    *,
    is_series: bool = False,
) -> go.Figure:
    """Released numbers, and the middle and ends of the replicates.

    Args:
        names: of the numbers.
        z: released ``(k,)``.
        made: quantiles 0.05, 0.5 and 0.95 of the replicates ``(3, k)``.
        unusual: names of numbers that are hardly ever made.
        title: what it says.
        settings: below the title.
        is_series: whether the numbers follow one another, with one unit; else each has a row of its
            own, on which the replicates reach from -1 to 1.
    """
    odd = np.isin(names, list(unusual))
    if is_series:
        return _series(z, made, odd, title, settings)
    half = np.maximum(0.5 * (made[2] - made[0]), 1e-300)
    middle = 0.5 * (made[2] + made[0])
    drawn = ranked(names, title, "half widths from the middle of what the model makes", settings)
    places = np.arange(len(names), dtype=float)
    drawn.add_trace(
        row_marks((made[1] - middle) / half, places, MADE, -np.ones(len(z)), np.ones(len(z)))
    )
    for style, chosen in ((RELEASED, ~odd), (UNUSUAL, odd)):
        drawn.add_trace(row_marks(((z - middle) / half)[chosen], places[chosen], style))
    key(drawn, [(MADE.name, MADE.color), (RELEASED.name, RELEASED.color)])
    return drawn


def _series(z: Array, made: Array, odd: NDArray[np.bool_], title: str, settings: str) -> go.Figure:
    """Over the places of the numbers."""
    drawn = figure(title, "place in the series", "number", 340, settings)
    places = np.arange(1.0, len(z) + 1.0)
    drawn.add_trace(band(places, made[0], made[2], MADE))
    drawn.add_trace(line(places, made[1], MADE))
    for style, chosen in ((RELEASED, ~odd), (UNUSUAL, odd)):
        drawn.add_trace(points(places[chosen], z[chosen], style))
    drawn.update_layout(showlegend=False)
    least, most = min(z.min(), made[0].min()), max(z.max(), made[2].max())
    if 0.0 < least < most / WIDE:
        drawn.update_yaxes(type="log")
    key(drawn, [(MADE.name, MADE.color), (RELEASED.name, RELEASED.color)])
    return drawn
