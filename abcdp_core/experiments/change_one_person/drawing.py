"""The figures of one person's change."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import plotly.graph_objects as go

from abcdp_core import figures as fig
from abcdp_core import simulators
from abcdp_core.experiments.change_one_person import words
from abcdp_core.experiments.change_one_person.computing import POOL_ENDED
from abcdp_core.results import Result
from abcdp_core.sentences import amount, factor, settings_line

DATA = fig.TRUTH.called("the data", marker="circle")
THESE = fig.PRIVATE.called("these data")
OTHER = fig.styles(["one person replaced"])[0].called("one person replaced", dash="dash")

HIGH, LOW = 420, 265
"""Pixels of a figure: knob, point and curves fit on a telephone one above the other."""

EDGE, PAST = 1.4, 1.08
"""Times the last draw where the axis ends, and where the bar for a pool that ended begins."""

MOVEMENT_BINS = 40


def outcomes(result: Result) -> fig.Drawn:
    """Both curves with what ε_total allows, and below them how many times as likely classes are."""
    params, main = cast(Any, result.params), result.tables["main"]
    title, caption = words.curves(result)
    settings = settings_line(params, ("epsilon_total", "epsilon_abc", "c", "n"))
    x_title, y_title = "draws looked at until the run stopped", "stopped by then"
    figure = fig.figure(title, x_title, y_title, HIGH, settings)
    x = main.looked_at.to_numpy(float)
    end = EDGE * max(10.0, x[-1])
    allowed = fig.THEORY.called(f"what ε_total = {params.epsilon_total:g} allows")
    # Steps up to the next draw; Plotly's own would be mirrored along the lower edge.
    low, high = (np.repeat(main[f"allowed_{end}"].to_numpy(), 2)[:-1] for end in ("low", "high"))
    band = fig.band(np.repeat(x, 2)[1:], low, high, allowed).update(name=allowed.name)
    band.update(line={"width": 1, "color": allowed.color})
    figure.add_trace(band.update(fillcolor=fig.translucent(allowed.color, 0.35)))
    for column, style in (("stopped", THESE), ("stopped_neighbour", OTHER)):
        curve = fig.line(x, main[column].to_numpy(), style)
        figure.add_trace(curve.update(line={"width": 2, "shape": "hv"}))
    for sign in (-1.0, 1.0):
        bound = fig.line(np.array([0.9, end]), np.full(2, sign), fig.THEORY)
        figure.add_trace(bound.update(name="bound ±ε_total", yaxis="y2"))
    figure.add_trace(_classes(result, end))
    named = {THESE.name: THESE, OTHER.name: OTHER, "allowed": allowed}
    fig.key(figure, [(name, style.color) for name, style in named.items()])
    figure.update_xaxes(**fig.plain_ticks(1.0, end), anchor="y2", showgrid=False)
    largest = factor(params.epsilon_total)
    figure.update_layout(
        showlegend=False,
        yaxis={"domain": [0.44, 1.0], "range": [-0.02, 1.02], "tickformat": ".0%"},
        # In units of ε_total: no knob moves the axis.
        yaxis2={"domain": [0.0, 0.32], "anchor": "x", "range": [-1.25, 1.25]},
        yaxis_tickvals=[0.0, 0.5, 1.0],
        yaxis2_tickvals=[-1.0, 0.0, 1.0],
        yaxis2_ticktext=[f"÷ {largest}", "same", f"× {largest}"],
        yaxis2_title_text="as likely",
    )
    return fig.Drawn(figure, caption)


def _classes(result: Result, end: float) -> go.Scatter:
    """A mark for each class of outcomes, with a bar from its first to its last draw."""
    ratio = result.tables["ratio"].dropna(subset="log_ratio")
    ended = (ratio.outcome == POOL_ENDED).to_numpy()
    low = np.where(ended, ratio.high * PAST, np.maximum(ratio.low - 0.5, 0.9))
    high = np.where(ended, end, ratio.high + 0.5)
    height = (ratio.log_ratio / ratio.epsilon_total).to_numpy()
    style = fig.BOTH.called("exact ratio of a class")
    marks = fig.row_marks(np.sqrt(low * high), height, style, low, high)
    factors = [words.factor_at_most(abs(each)) for each in ratio.log_ratio]
    return marks.update(
        yaxis="y2",
        marker={"size": 7},
        error_x={"thickness": 4},
        customdata=np.column_stack([ratio.outcome, factors]),
        hovertemplate="%{customdata[0]}: at most %{customdata[1]} times as likely or as unlikely",
    )


def movement(result: Result) -> fig.Drawn:
    """How many distances move how far, against the sensitivity."""
    table, n = result.tables["movement"], cast(Any, result.params).n
    title, caption = words.movement(result)
    settings = f"Δ = {amount(float(table.sensitivity.iloc[0]))}, N = {n:,}"
    x_title, y_title = "movement of a distance, in units of Δ", "share of the draws"
    figure = fig.figure(title, x_title, y_title, LOW, settings)
    edges = np.linspace(-1.0, 1.0, MOVEMENT_BINS + 1)
    moved = (table.movement / table.sensitivity).clip(-1.0, 1.0)
    shares = np.histogram(moved, edges)[0] / len(moved)
    bars = go.Bar(x=(edges[:-1] + edges[1:]) / 2.0, y=shares, width=np.diff(edges))
    figure.add_trace(bars.update(name="draws of the pool", marker={"color": OTHER.color}))
    for place, name in ((-1.0, "bound \u2212Δ"), (1.0, "bound Δ")):
        fig.upright(figure, place, fig.THEORY, name, "center")
    figure.update_layout(bargap=0, showlegend=False).update_yaxes(tickformat="~%")
    figure.update_xaxes(range=[-1.1, 1.1], tickvals=[-1.0, -0.5, 0.0, 0.5, 1.0])
    return fig.Drawn(figure, caption)


def person(result: Result) -> fig.Drawn:
    """The data, and an arrow from where the point was to where it is put."""
    data, spot = result.tables["data"], result.tables["person"].iloc[0]
    source = simulators.load(cast(Any, result.params).scenario)
    series = len(source.COORDINATES) > 1
    # Short enough for a narrow column.
    title, y_title = words.move(result).capitalize(), source.COORDINATES[-1] if series else "points"
    figure = fig.figure(title, source.COORDINATES[0], y_title, LOW, words.who(result))
    x, y = data.place.to_numpy(float), data.amount.to_numpy(float)
    if series:
        figure.add_trace(fig.points(x, y, DATA))
    else:
        color = fig.translucent(DATA.color, 0.45)
        figure.add_trace(go.Bar(x=x, y=y, name=DATA.name, marker={"color": color}))
        figure.update_xaxes(range=list(source.DOMAIN))
    old, new = ((spot[f"place_{when}"], spot[f"amount_{when}"]) for when in ("before", "after"))
    looks = THESE.called("before"), OTHER.called("after", marker="diamond")
    for (place, height), style in zip((old, new), looks, strict=True):
        mark = fig.points(np.array([place]), np.array([height]), style)
        figure.add_trace(mark.update(marker={"size": 14}))
    figure.add_annotation(
        **{"x": new[0], "y": new[1], "ax": old[0], "ay": old[1], "text": ""},
        **{"xref": "x", "axref": "x", "yref": "y", "ayref": "y", "showarrow": True},
        **{"arrowhead": 2, "arrowwidth": 2, "arrowcolor": OTHER.color},
        **{"standoff": 8, "startstandoff": 8},
    )
    named = {"the data": DATA, "● before": THESE, "◆ after": OTHER}
    fig.key(figure, [(name, style.color) for name, style in named.items()])
    figure.update_layout(bargap=0.05, showlegend=False)
    figure.update_yaxes(rangemode="tozero", tickformat=",")
    return fig.Drawn(figure, words.person(result))
