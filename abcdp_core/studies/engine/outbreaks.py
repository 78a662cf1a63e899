"""Parts that the studies of tuberculosis share: errors, sentences about them, and two figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import figures as fig
from abcdp_core.base.arrays import Array
from abcdp_core.base.sentences import amount, noise_cost, setting
from abcdp_core.figures import ranked
from abcdp_core.models.simulators import tuberculosis
from abcdp_core.models.simulators.tuberculosis import SCENARIO as TUBERCULOSIS
from abcdp_core.privacy import UNPROTECTED, Event, statement

INTERVAL = (0.05, 0.95)  # Quantiles between which an interval of a parameter lies


def errors(means: Array, burden: str) -> dict[str, Array]:
    """Return mean absolute errors of means ``(k, 4)``, also in prior standard deviations."""
    off = np.abs(means - tuberculosis.TRUTH)
    scaled = off / tuberculosis.PRIORS[burden].deviation
    return {"mae": off.mean(axis=1), "mae_scaled": scaled.mean(axis=1)}


def prior_error(burden: str) -> float:
    """Return the mean absolute error of the prior mean, which uses no data."""
    return float(errors(tuberculosis.PRIORS[burden].mean[None], burden)["mae"][0])


def by_parameter(values: Array, **columns: NDArray[Any]) -> pd.DataFrame:
    """Tabulate ``values (k, 4)`` with a row for each parameter, after columns ``(k,)``."""
    names = np.array(list(TUBERCULOSIS.axes))
    repeated = {name: np.repeat(column, len(names)) for name, column in columns.items()}
    each = {"parameter": np.tile(names, len(values)), "value": values.ravel()}
    return pd.DataFrame(repeated | each)


def guarantee(event: Event, whose: str, delta: float = 0.0) -> str:
    """State the guarantee; ``whose`` begins the definition of an outbreak."""
    return (
        f"{statement(event, TUBERCULOSIS.protected, delta)} {whose} a whole city over two years; "
        f"single patients are not protected. {UNPROTECTED}"
    )


def error_words(
    private: pd.DataFrame, plain: pd.DataFrame, key: str, beside: str = ""
) -> tuple[str, str]:
    """Report the effect of the noise at the first value of a parameter, and the errors.

    Args:
        private, plain: tables of errors with noise and without noise.
        key: the parameter.
        beside: further settings of the errors with noise, after a space.
    """
    value, prior = private[key].iloc[0], float(private.prior_mae.iloc[0])
    error, without = (float(table.mae[table[key] == value].mean()) for table in (private, plain))
    at = f"At {setting(key, value)}{beside}"
    return f"{at}, {noise_cost(error, without, prior)}", (
        f"{at}, the mean absolute error is {amount(error)} with noise and {amount(without)} "
        f"without noise; the error of the prior mean is {amount(prior)}."
    )


Values = tuple[str, fig.Style, pd.DataFrame]
"""A row of the figure: name, style, and a table with columns ``parameter`` and ``value``."""


def error_figure(
    words: tuple[str, str],
    places: Sequence[str],
    ours: Mapping[fig.Style, tuple[Sequence[str], pd.Series[float]]],
    reported: Mapping[fig.Style, Mapping[str, float]],
    baselines: Mapping[fig.Style, float],
) -> go.Figure:
    """Draw errors as boxes.

    Args:
        words: title and settings.
        places: the categories on the axis, in order.
        ours: style -> category of each error, and the errors.
        reported: style -> errors reported in a paper, by category.
        baselines: style -> error of an estimate that uses no data.
    """
    figure = fig.figure(words[0], "", "mean absolute error", settings=words[1])
    for style, (x, errors_there) in ours.items():
        figure.add_trace(fig.boxes(np.array(x), np.asarray(errors_there, dtype=float), style))
    for style, errors_of in reported.items():
        shown = {place: error for place, error in errors_of.items() if place in places}
        marks = fig.points(np.array(list(shown)), np.array(list(shown.values())), style)
        figure.add_traces([marks.update(marker={"size": 12})] if shown else [])
    for style, error in baselines.items():
        figure.add_trace(fig.line(np.array(places), np.full(len(places), error), style))
    figure.update_xaxes(type="category", categoryorder="array", categoryarray=places)
    return figure.update_yaxes(rangemode="tozero")


def values_figure(
    words: tuple[str, str], rows: Sequence[Values], burden: str, truth: str = "truth"
) -> go.Figure:
    """Draw a panel for each parameter, with a mean and interval for each row and the truth.

    Args:
        words: title and settings.
        rows: the rows, from the top.
        burden: name of the prior.
        truth: name of the line at the truth.
    """
    axes, marks = tuberculosis.axes(burden), []
    for index, name in enumerate(axes):
        for place, (_, style, table) in enumerate(rows):
            value = table.value[table.parameter == name]
            low, high = value.quantile(INTERVAL)
            ends = {"value": value.mean(), "low": low, "high": high}
            marks.append({"panel": index, "place": place, "style": style} | ends)
    settings = f"Mean and 90 % interval. {words[1]}"
    names = [name for name, _, _ in rows]
    figure = ranked.marked_panels(axes, names, pd.DataFrame(marks), (words[0], settings))
    for index, place in enumerate(tuberculosis.TRUTH):
        line = fig.line(np.full(2, place), np.array([-0.5, len(rows) - 0.5]), fig.TRUTH)
        figure.add_trace(line.update(fig.panel(index)))
    fig.key(figure, [(f"│ {truth}", fig.TRUTH.color)])
    return figure
