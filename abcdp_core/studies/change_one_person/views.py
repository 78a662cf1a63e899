"""Sentences and figures about one person's change."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
import plotly.graph_objects as go

from abcdp_core import figures as fig
from abcdp_core.base.sentences import (
    LARGE,
    amount,
    at_most,
    counted,
    factor,
    percent,
    settings_line,
)
from abcdp_core.figures import ranked
from abcdp_core.run.results import Result


def summary(result: Result) -> str:
    """Report how the change affects the decisions with the same noise, and the outcomes."""
    before, after = (result.tables["decisions"][name] for name in ("original", "neighbour"))
    lost, gained = int((before & ~after).sum()), int((after & ~before).sum())
    changes = "changes no decision"
    if lost:
        of = counted(int(before.sum()), "kept draw")
        changes = f"removes {lost} of {of}" + f" and adds {gained}" * (gained > 0)
    elif gained:
        changes = f"adds {counted(gained, 'kept draw')}"
    decisions = f"With the same noise, this replacement {changes}"
    return f"{decisions}. {stops_in_words(result)}. {allowed_in_words(result)}."


def stops_in_words(result: Result) -> str:
    """Report the largest factor between the chances that a run stops at a place."""
    row = result.tables["largest"].iloc[0]
    if row.at_least:
        return "With one of the two data sets, the run practically never stops at one place"
    most = f"becomes more than {factor_at_most(abs(row.log_ratio))} times as likely"
    return f"No stopping place likelier than one in a million {most}"


def allowed_in_words(result: Result) -> str:
    """Report the largest factor that the budget allows for a release."""
    allowed = factor(float(result.tables["largest"].iloc[0].epsilon_total))
    return (
        "Which draws are kept can reveal more; for the whole release, ε_total allows a factor of "
        f"{allowed}"
    )


def factor_at_most(log_ratio: float) -> str:
    """Format a factor with two digits of its excess over 1, rounded up."""
    if log_ratio > LARGE:
        return f"e^{log_ratio:g}"
    more = at_most(math.expm1(log_ratio), 2)
    return f"{1.0 + float(more):,.{len(more.partition('.')[2])}f}"


def bound_in_words(result: Result) -> str:
    """Report how much of the allowed log-ratio this change uses."""
    row = result.tables["largest"].iloc[0]
    used = "at least " * bool(row.at_least) + percent(abs(row.log_ratio) / row.epsilon_total)
    return (
        f"The bound holds for all data sets and all such changes; for this change, the largest "
        f"log-ratio is {used} of ε_total."
    )


def move_in_words(result: Result) -> str:
    """Report the old and the new value."""
    params, person = cast(Any, result.params), result.tables["person"].iloc[0]
    names = params.source.coordinates
    which, what = f"One of {params.n:,} values", "place"
    if len(names) > 1:
        which, what = f"The {names[-1]} of {names[0]} {person.place_before:g}", "amount"
    old, new = (amount(person[f"{what}_{when}"], 4) for when in ("before", "after"))
    return f"{which} changes from {old} to {new}"


DATA = fig.TRUTH.called("the data", marker="circle")
THESE = fig.TRUTH.called("original data")
OTHER = fig.styles(["one record replaced"])[0].called("one record replaced", dash="dash")
RATIO = fig.BOTH.called("exact ratio for a range of draws")
NAMED = ("epsilon_total", "epsilon_abc", "c", "n")
LOW = 265  # Pixels of a small figure: knob, point and curves fit on a telephone one above the other
MOVEMENT_BINS = 40


def outcomes(result: Result) -> fig.CaptionedFigure:
    """Draw both curves within the band that ε_total allows, and below them the ratios."""
    params, main, ratio = cast(Any, result.params), *(result.tables[n] for n in ("main", "ratio"))
    gap = at_most(100.0 * float((main.stopped - main.stopped_neighbour).abs().max()), 2)
    # The most that two curves may differ if no ratio is above e^ε_total.
    allowed = amount(100.0 * math.tanh(params.epsilon_total / 2.0), 2)
    title = f"The curve moves by at most {gap} percentage points; ε_total allows {allowed}"
    settings = settings_line(params, NAMED)
    figure = fig.rows(["has stopped", "ratio"], title, "draws looked at", 145, settings)
    x = main.looked_at.to_numpy(float)
    end = max(10.0, x[-1])
    # Steps up to the next draw; Plotly's own would be mirrored along the lower edge.
    low, high = (np.repeat(main[f"allowed_{end}"].to_numpy(), 2)[:-1] for end in ("low", "high"))
    bound_style = fig.THEORY.called(f"allowed by ε_total = {params.epsilon_total:,g}")
    band = fig.band(np.repeat(x, 2)[1:], low, high, bound_style)
    figure.add_trace(band.update(line={"width": 1, "color": fig.THEORY.color}))
    for column, style in (("stopped", THESE), ("stopped_neighbour", OTHER)):
        curve = fig.line(x, main[column].to_numpy(), style)
        figure.add_trace(curve.update(line={"width": 2, "shape": "hv"}))
    for sign in (-1.0, 1.0):
        bound = fig.line(np.array([0.9, end]), np.full(2, sign), fig.THEORY)
        figure.add_trace(bound.update(fig.panel(1)))
    known = ratio.dropna(subset="log_ratio")
    low, high = np.maximum(known.low.to_numpy() - 0.5, 0.9), known.high.to_numpy() + 0.5
    # In units of ε_total, so that no knob moves the axis.
    height = (known.log_ratio / params.epsilon_total).to_numpy()
    marks = ranked.row_marks(np.sqrt(low * high), height, RATIO, low, high)
    figure.add_trace(marks.update(fig.panel(1)))
    fig.key(figure, [(style.name, style.color) for style in (THESE, OTHER, bound_style)])
    largest = factor(params.epsilon_total)
    figure.update_xaxes(fig.plain_ticks(1.0, end))
    ticks = {"tickvals": [-1.0, 0.0, 1.0], "ticktext": [f"÷ {largest}", "same", f"× {largest}"]}
    figure.update_layout(yaxis_range=[-0.02, 1.02], yaxis2={"range": [-1.25, 1.25], **ticks})
    figure.update_layout(showlegend=False)
    return fig.CaptionedFigure(
        figure,
        f"After any number of draws, the chance that the run has stopped differs by at most {gap} "
        f"percentage points between the two data sets; ε_total = {params.epsilon_total:,g} allows "
        f"{allowed}.",
    )


def movement(result: Result) -> fig.CaptionedFigure:
    """Draw a histogram of the movements of the distances, beside the sensitivity."""
    table = result.tables["movement"]
    moved = table.movement / table.sensitivity
    largest, median = at_most(moved.abs().max()), at_most(moved.abs().median(), 2)
    axes = "change in a distance, in units of Δ", "share of the draws"
    settings = settings_line(result.params, ("epsilon_abc", "n"))
    figure = fig.figure(f"Distances change by at most {largest} Δ", *axes, LOW, settings)
    edges = np.linspace(-1.0, 1.0, MOVEMENT_BINS + 1)
    shares = np.histogram(moved.clip(-1.0, 1.0), edges)[0] / len(moved)
    bars = go.Bar(x=(edges[:-1] + edges[1:]) / 2.0, y=shares, name="draws of the pool")
    figure.add_trace(bars.update(marker={"color": OTHER.color}))
    for place, name in ((-1.0, "bound \u2212Δ"), (1.0, "bound Δ")):
        ranked.upright(figure, place, fig.THEORY, name, "center")
    figure.update_layout(bargap=0, showlegend=False).update_xaxes(range=[-1.1, 1.1])
    most = f"Over {counted(len(table), 'distance')}, the largest change is at most {largest} Δ"
    return fig.CaptionedFigure(figure, f"{most} and the median change at most {median} Δ.")


def person(result: Result) -> fig.CaptionedFigure:
    """Draw the data, with an arrow from the old value to the new one."""
    data, spot = result.tables["data"], result.tables["person"].iloc[0]
    source = cast(Any, result.params).source
    series = len(source.coordinates) > 1
    title, y_title = move_in_words(result), source.coordinates[-1] if series else "values"
    figure = fig.figure(title, source.coordinates[0], y_title, LOW)
    x, y = data.place.to_numpy(float), data.amount.to_numpy(float)
    if series:
        figure.add_trace(fig.points(x, y, DATA))
    else:
        color = fig.translucent(DATA.color, 0.45)
        figure.add_trace(go.Bar(x=x, y=y, name=DATA.name, marker={"color": color}))
    for style in (THESE.called("before"), OTHER.called("after", marker="diamond")):
        x, y = (np.array([spot[f"{name}_{style.name}"]]) for name in ("place", "amount"))
        figure.add_trace(fig.points(x, y, style).update(marker={"size": 14}))
    figure.add_annotation(
        **{"x": spot.place_after, "y": spot.amount_after, "text": ""},
        **{"ax": spot.place_before, "ay": spot.amount_before},
        **{"axref": "x", "ayref": "y", "showarrow": True, "arrowhead": 2, "arrowwidth": 2},
        **{"arrowcolor": OTHER.color, "standoff": 8, "startstandoff": 8},
    )
    named = {"the data": DATA, "● before": THESE, "◆ after": OTHER}
    fig.key(figure, [(name, style.color) for name, style in named.items()])
    figure.update_layout(bargap=0.05, showlegend=False).update_yaxes(rangemode="tozero")
    why = "No other record tried can move the distances near ε_abc more."
    return fig.CaptionedFigure(figure, f"{title}. {why}")
