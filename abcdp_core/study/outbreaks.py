"""What the studies of tuberculosis share: errors, what is said of them, and two figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import figures as fig
from abcdp_core.privacy import UNPROTECTED, Event, statement
from abcdp_core.sentences import amount, compared, listed, little, setting
from abcdp_core.simulators import tuberculosis

Array = NDArray[np.float64]

INTERVAL = (0.05, 0.95)
"""Quantiles between which an interval of a parameter lies."""


# ----------------------------------------------------------------------------------------- tables


def errors(means: Array, burden: str) -> dict[str, Array]:
    """Return mean absolute errors of means ``(k, 4)``, and the same in prior standard deviations.

    Args:
        means: of the four parameters.
        burden: which of the priors.
    """
    off = np.abs(means - tuberculosis.TRUTH)
    scaled = off / tuberculosis.PRIORS[burden].deviation
    return {"mae": off.mean(axis=1), "mae_scaled": scaled.mean(axis=1)}


def prior_error(burden: str) -> float:
    """Return the mean absolute error of the prior mean, which looks at no data."""
    return float(errors(tuberculosis.PRIORS[burden].mean[None], burden)["mae"][0])


def by_parameter(values: Array, **columns: NDArray[Any]) -> pd.DataFrame:
    """Return a row for each parameter of ``values (k, 4)``, after columns ``(k,)``."""
    names = np.array(list(tuberculosis.AXES))
    repeated = {name: np.repeat(column, len(names)) for name, column in columns.items()}
    each = {"parameter": np.tile(names, len(values)), "value": values.ravel()}
    return pd.DataFrame(repeated | each)


# ------------------------------------------------------------------------------------------ words


def guarantee(event: Event, whose: str, delta: float = 0.0) -> str:
    """Return what is protected and how much; ``whose`` begins to say what an outbreak is."""
    return (
        f"{statement(event, tuberculosis.PROTECTED, delta)} {whose} a whole city's two years; "
        f"who fell ill in it is not protected one by one. {UNPROTECTED}"
    )


def error_words(
    private: pd.DataFrame, plain: pd.DataFrame, key: str, beside: str = ""
) -> tuple[str, str]:
    """Return what noise does to the error at both ends of a parameter, and errors at the first.

    Args:
        private, plain: tables of errors, with noise and without.
        key: the parameter.
        beside: further settings of those with noise, after a space.
    """
    prior = float(private.prior_mae.iloc[0])
    found = {
        value: [float(table.mae[table[key] == value].mean()) for table in (private, plain)]
        for value in private[key].iloc[[0, -1]].tolist()
    }
    verdicts: dict[str, list[str]] = {}
    for value, (error, without) in found.items():
        said = little(error, prior) or f"error {compared(error, without)} without noise"
        verdicts.setdefault(said, []).append(setting(key, value))
    value, (error, without) = next(iter(found.items()))
    title = "; ".join(f"{listed(places)}: {said}" for said, places in verdicts.items())
    return title, (
        f"At {setting(key, value)}{beside}, the mean absolute error is {amount(error)} with noise "
        f"and {amount(without)} without; the prior mean's is {amount(prior)}."
    )


# ---------------------------------------------------------------------------------------- figures

Values = tuple[str, fig.Style, pd.DataFrame]
"""A row of parameters: its name and style, and a table of ``parameter`` and ``value``."""


def error_figure(
    words: tuple[str, str],
    places: Sequence[str],
    ours: Mapping[fig.Style, tuple[Sequence[str], pd.Series[float]]],
    reported: Mapping[fig.Style, Mapping[str, float]],
    baselines: Mapping[fig.Style, float],
) -> go.Figure:
    """Draw errors as boxes, or as marks where there is one at each place.

    Args:
        words: title and settings.
        places: along the axis, in their order.
        ours: where each error is, and how large.
        reported: the same from a paper, drawn where ours is.
        baselines: errors of estimates that look at no data.
    """
    figure = fig.figure(words[0], "", "mean absolute error", settings=words[1])
    for style, (x, errors_there) in ours.items():
        single, y = len(set(x)) == len(x), np.asarray(errors_there, dtype=float)
        trace = (fig.points if single else fig.boxes)(np.array(x), y, style)
        figure.add_trace(trace.update(marker={"size": 12 if single else 4}))
    for style, errors_of in reported.items():
        shown = {place: error for place, error in errors_of.items() if place in places}
        marks = fig.points(np.array(list(shown)), np.array(list(shown.values())), style)
        figure.add_traces([marks.update(marker={"size": 12})] if shown else [])
    for style, error in baselines.items():
        figure.add_trace(fig.line(np.array(places), np.full(len(places), error), style))
    largest = max(float(values.max()) for _, values in ours.values())
    figure.update_xaxes(type="category", categoryorder="array", categoryarray=places)
    return figure.update_yaxes(range=[0.0, max(6.0, 1.05 * largest)])


def values_figure(
    words: tuple[str, str], rows: Sequence[Values], burden: str, truth: str = "truth"
) -> go.Figure:
    """Draw a panel for each parameter: mean and interval of each row, and a line at the truth.

    Args:
        words: title and settings.
        rows: from the top.
        burden: which of the priors.
        truth: what that line is called.
    """
    axes = tuberculosis.axes(burden)
    height = 200 + 2 * (40 + 22 * len(rows))
    figure = fig.panels(list(axes), words[0], "", "", rows=2, height=height)
    figure.layout.title.subtitle.text = f"Mean and 90 % interval. {words[1]}"
    for index, (name, ends) in enumerate(axes.items()):
        here = fig.panel(index)
        for style in dict.fromkeys(style for _, style, _ in rows):
            found = {
                place: table.value[table.parameter == name]
                for place, (_, of, table) in enumerate(rows)
                if of == style
            }
            mean = np.array([each.mean() for each in found.values()])
            low, high = np.array([each.quantile(INTERVAL) for each in found.values()]).T
            marks = fig.row_marks(mean, np.array(list(found), dtype=float), style, low, high)
            figure.add_trace(marks.update(hovertemplate="mean %{x:.4g}", **here))
        place = np.full(2, float(tuberculosis.TRUTH[index]))
        line = fig.line(place, np.array([-0.5, len(rows) - 0.5]), fig.TRUTH)
        figure.add_trace(line.update(**here))
        axis = {"range": list(ends), "nticks": 4, "tickangle": 0, "matches": None}
        figure.layout["xaxis" + here["xaxis"][1:]].update(axis | {"title": {"text": None}})
    figure.update_yaxes(
        range=[len(rows) - 0.5, -0.5],
        tickvals=list(range(len(rows))),
        ticktext=[name for name, _, _ in rows],
        **{"ticks": "", "zeroline": False, "showline": False},
    )
    fig.key(figure, [(f"│ {truth}", fig.TRUTH.color)])
    return figure.update_layout(showlegend=False)
