"""The figures of a plan: a row for each mechanism."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from abcdp_core import figures as fig
from abcdp_core import planning, simulators
from abcdp_core.experiments.plan import words
from abcdp_core.mechanisms import noisy_counts
from abcdp_core.results import Result
from abcdp_core.sentences import amount, counted, setting, settings_line

if TYPE_CHECKING:
    from abcdp_core.experiments.plan import Params

ROOM = 1.4
"""Times the largest number to which an axis reaches."""


def figures(result: Result) -> dict[str, fig.Drawn]:
    """Draw the ranked mechanisms and, for a goal, what would be enough."""
    params = cast("Params", result.params)
    if result.tables["main"].empty:
        empty = fig.ranked([""], "Nothing is predicted yet", words.quantity(params))
        return {"plan": fig.Drawn(empty, words.NOT_YET)}
    rival = noisy_counts.rival(simulators.load(params.scenario))
    said = f"{result.summary}{words.other_units(result)} {rival}"
    drawn = {"plan": fig.Drawn(_ranked(result), said)}
    for knob, key in (("epsilon_total", "enough-budget"), ("n", "enough-people")):
        if knob in words.knobs(result):
            drawn[key] = _enough(result, knob)
    return drawn


def _ranked(result: Result) -> go.Figure:
    params, main, goal = cast("Params", result.params), result.tables["main"], result.tables["goal"]
    lines = [(params.wanted, fig.GUIDE, "wanted")] * params.has_goal
    prior = words.prior_error(params)
    if not params.wish.intervals:
        lines.append((prior, fig.PRIOR, "prior"))
    shown = [amount(each, 2) if math.isfinite(each) else "no draws" for each in goal.value]
    settings = [words.named(row) for row in main.itertuples()]
    hover = [f"{each}: {text}" for each, text in zip(settings, shown, strict=True)]
    rows = goal.assign(shown=shown, hover=hover, filled=main.meets)
    filled = "meets the goal" if params.has_goal else "clearly better than the prior"
    given = (
        f"{settings_line(params, ('n', 'epsilon_total', 'pool_size'))}, best public settings, "
        f"{counted(goal.data_sets.max(), 'data set')} with truths from the prior, 95 % intervals; "
        f"filled: {filled}"
    )
    figure = _rows(rows, "value", words.title(result), words.quantity(params), given, lines)
    if not params.wish.intervals:
        shade, end = fig.translucent(fig.PRIOR.color, 0.18), 10.0 ** figure.layout.xaxis.range[1]
        figure.add_vrect(prior, end, fillcolor=shade, line_width=0, layer="below")
    return figure


def _enough(result: Result, knob: str) -> fig.Drawn:
    params, table = cast("Params", result.params), result.tables["enough"]
    rows = table[table.knob == knob].reset_index(drop=True)
    shown = [words.enough(knob, each) for each in rows.enough]
    (other,) = {"epsilon_total", "n"} - {knob}
    given, name = setting(other, getattr(params, other)), planning.NAMES[knob]
    what = f"{params.wish.quantity} at {amount(params.wanted, 6)} or below"
    yours = [(float(getattr(params, knob)), fig.GUIDE, "yours")]
    rows = rows.assign(shown=shown, hover=rows.why, filled=True)
    title, x = words.enough_title(result, knob), f"{name} that is enough"
    figure = _rows(rows, "enough", title, x, given, yours)
    return fig.Drawn(figure, f"The smallest {name} predicted to keep the {what}, with {given}.")


def _rows(
    rows: pd.DataFrame,
    column: str,
    title: str,
    x: str,
    given: str,
    lines: list[tuple[float, fig.Style, str]],
) -> go.Figure:
    """Draw a mark with its interval in each row, and upright lines.

    Args:
        rows: with ``mechanism, shown, hover, filled``.
        column: of the values; its ends are in ``column_low`` and ``column_high``. Where the value
            is infinite there is no mark.
        title, x, given: of the figure, its axis, and below the title.
        lines: where, style and name.
    """
    names = zip(rows.mechanism, rows.shown, strict=True)
    labels = [f"{fig.called(name)} {shown}" for name, shown in names]
    # Twelve mechanisms fit on the first screen of a small laptop.
    figure = fig.ranked(labels, title, x, given, 30)
    numbers = rows[[column, f"{column}_low", f"{column}_high"]].to_numpy(float)
    known = [*numbers[np.isfinite(numbers) & (numbers > 0.0)], *(line[0] for line in lines)]
    most = ROOM * max(known)
    figure.update_xaxes(fig.plain_ticks(min(known) / ROOM, most))
    # Names of two lines are on the sides turned away from each other.
    sides = ["right", "left"] if len(lines) > 1 else ["center"]
    for side, line in zip(sides, sorted(lines, key=lambda line: line[0]), strict=True):
        fig.upright(figure, *line, side)
    for place, row in rows[np.isfinite(numbers[:, 0])].iterrows():
        style = fig.mechanism(row.mechanism)
        value, low, high = np.minimum(numbers[place], most)[:, None]
        marks = fig.row_marks(value, np.array([float(place)]), style, low, high)
        marks.update(hovertemplate=f"{row.hover}<extra>{style.name}</extra>")
        figure.add_trace(fig.hollow(marks, np.array([float(not row.filled)])))
    return figure
