"""Curves of a study's table: a line for each value of one parameter, panels for the others."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from abcdp_core.base import summaries
from abcdp_core.base.arrays import Array
from abcdp_core.base.sentences import AXES, setting, settings_line
from abcdp_core.figures import CaptionedFigure
from abcdp_core.figures.builders import (
    ABOVE,
    band,
    end_labels,
    figure,
    line,
    no_better,
    panel,
    panels,
    plain_ticks,
)
from abcdp_core.figures.looks import GREY, NON_PRIVATE, Style, styles
from abcdp_core.figures.statistics import (
    PRIOR_MEAN,
    RIVAL,
    RIVAL_WITHOUT_NOISE,
    in_panel,
    named_once,
    run_line,
)
from abcdp_core.run.results import Result

BEYOND = 4.0  # Times the largest budget where the results without noise are drawn

DECADES, ROOM = {"mae": 1.3, "mse": 2.6}, 1.4
"""Metric -> how far below the prior's error an axis reaches; times so far beside the rival."""

MARKED = 40  # Points of a line up to which each has a mark

Says = Callable[[Result], tuple[str, str]]
Curve = tuple[Style, Array, Array]


@dataclass(frozen=True)
class Lines:
    """A view of curves with their bands over runs, where there are runs.

    Attributes:
        y: column of the table, or several, each with its style.
        x: column along the axis, logarithmic.
        by: parameters of which each value has a line or a panel: the first that has several
            values makes the lines, unless ``y`` has several columns. If not given, all that the
            study's parameters list and the table has, but for ``x`` and ``at``.
        says: the finding, for the title, and what the figure shows in a sentence or a few.
        settings: parameters that are the same everywhere, named below the title after ``at``.
        table: that is drawn.
        prior: error of the prior mean, which fixes the range of the errors.
        rival: whether the errors of the counts with noise are in a table of that name.
        at: columns of which only the rows with the first value are drawn.
        guide: an upright line in each panel, and where: given the panel's rows.
        x_range: ends of the axis, instead of those of the data.
        y_range: the same, given the parameters.
        y_title: of the vertical axis, unless its column has a name.
        linear: whether the vertical axis is linear, from 0, instead of logarithmic.
        looks: value of the parameter that makes the lines -> style, where it keeps one.
        bands: column -> columns of the lower and upper end of its band, where there are no runs.
        curves: what is known by formula: style and points, given the result and a panel's rows.
    """

    y: str | Mapping[str, Style]
    x: str
    says: Says
    by: tuple[str, ...] | None = None
    settings: tuple[str, ...] = ()
    table: str = "main"
    prior: Callable[[Result], float] | None = None
    rival: bool = False
    at: tuple[str, ...] = ()
    guide: tuple[Style, Callable[[pd.DataFrame], float]] | None = None
    x_range: tuple[float, float] | None = None
    y_range: Callable[[Any], tuple[float, float]] | None = None
    y_title: str = ""
    linear: bool = False
    looks: Mapping[Any, Style] = dataclasses.field(default_factory=dict)
    curves: Callable[[Result, pd.DataFrame], list[Curve]] | None = None
    bands: Mapping[str, tuple[str, str]] = dataclasses.field(default_factory=dict)

    def __call__(self, result: Result) -> CaptionedFigure:
        """Draw it."""
        table = summaries.first_of(result.tables[self.table], *self.at)
        title, caption = self.says(result)
        by = self._by(result)
        several = [name for name in by if len(_values(table, name)) > 1]
        lines = "" if isinstance(self.y, Mapping) else (several or [*by[:1], ""])[0]
        # Of two, the one with fewer values goes down the page.
        others = (name for name in several if name != lines)
        facets = sorted(others, key=lambda name: len(_values(table, name)))
        places = list(itertools.product(*(_values(table, name) for name in facets)))
        each = [map(setting, facets, place) for place in places]
        drawn = self._empty(result, title, table, facets, [", ".join(texts) for texts in each])
        labels: list[tuple[float, str, str]] = []
        for index, place in enumerate(places):
            part = table
            for name, value in zip(facets, place, strict=True):
                part = part[part[name] == value]
            labels += self._draw(drawn, result, part, lines, index)
        if len(places) == 1 and labels:
            least = -math.inf if self.linear else 0.0
            known = [each for each in labels if least < each[0] < math.inf]
            end_labels(drawn, known, _ends(drawn.layout.yaxis))
            drawn.update_layout(showlegend=False)
            if self.guide is not None:
                # No legend names it here.
                style, guided = self.guide
                words = {"text": style.name, "font": {"color": style.color}}
                drawn.add_annotation(x=math.log10(guided(table)), **ABOVE, **words)
        elif self.looks:
            named_once(drawn)
        return CaptionedFigure(drawn, caption)

    def _by(self, result: Result) -> list[str]:
        if self.by is not None:
            return list(self.by)
        table = result.tables[self.table]
        listed = (name for name, value in vars(result.params).items() if isinstance(value, tuple))
        return [name for name in listed if name in table and name not in (self.x, *self.at)]

    def _empty(
        self, result: Result, title: str, table: pd.DataFrame, facets: list[str], names: list[str]
    ) -> go.Figure:
        """The axes, which follow from the settings rather than from what is found."""
        y = self.y_title or AXES[next(iter(self.y)) if isinstance(self.y, Mapping) else self.y]
        rows = -(-len(names) // 2) if len(facets) < 2 else table[facets[0]].nunique()
        if len(names) == 1:
            drawn = figure(title, AXES[self.x], y)
        else:
            drawn = panels(names, title, AXES[self.x], y, rows, 300 + 130 * rows)
        runs = table.run.nunique() if "run" in table else 0
        varying = {self.x, *(name for name in self._by(result) if len(_values(table, name)) > 1)}
        text = settings_line(result.params, (*self.at, *self.settings), varying, runs)
        drawn.layout.title.subtitle.text = text or None
        drawn.update_xaxes(**self._x_axis(table, len(names)))
        low, high = self._y_ends(result, table)
        return drawn.update_yaxes(**{"range": [0, high]} if self.linear else plain_ticks(low, high))

    def _x_axis(self, table: pd.DataFrame, count: int) -> dict[str, Any]:
        x = table[self.x]
        finite = x[np.isfinite(x)]
        low, high = self.x_range or (finite.agg(["min", "max"]) if len(finite) else (1.0, 1.0))
        low, high = (low, high) if high > low else (low / 2.0, 2.0 * high)
        axis = plain_ticks(low, high, most=4 if count > 1 else 5)
        if len(finite) and len(axis["tickvals"]) < 2:  # type: ignore[arg-type]
            axis["tickvals"] = values = sorted(finite.unique().tolist())[:4]
            axis["ticktext"] = [f"{value:,.10g}" for value in values]
        if np.isinf(x).any():
            place = _place(table, self.x)
            if not len(finite):
                axis["tickvals"] = axis["ticktext"] = []
            axis["range"] = [axis["range"][0], math.log10(1.6 * place)]  # type: ignore[index]
            axis["tickvals"] = [*axis["tickvals"], place]  # type: ignore[misc]
            axis["ticktext"] = [*axis["ticktext"], "∞"]  # type: ignore[misc]
        return axis

    def _y_ends(self, result: Result, table: pd.DataFrame) -> tuple[float, float]:
        if self.y_range is not None:
            return self.y_range(result.params)
        if self.prior is not None:
            prior = self.prior(result)
            return prior / 10.0 ** (DECADES[str(self.y)] * (ROOM if self.rival else 1.0)), 2 * prior
        columns = list(self.y) if isinstance(self.y, Mapping) else [self.y]
        rows = table[columns]
        if self.curves is not None:
            # Of means over runs and of what is known by formula, as they are drawn.
            rows = table.groupby([self.x, *self._by(result)])[columns].mean()
        known = [y for _, _, y in self.curves(result, table)] if self.curves else []
        shown = np.concatenate([rows.to_numpy(float).ravel(), *known])
        shown = shown[np.isfinite(shown) & (shown > 0.0)]
        return (float(shown.min()) / 1.2, float(shown.max()) * 1.2) if shown.size else (0.1, 1.0)

    def _draw(
        self, drawn: go.Figure, result: Result, part: pd.DataFrame, lines: str, index: int
    ) -> list[tuple[float, str, str]]:
        """Put the lines of a panel in; where each ends, its name and its color."""
        ends = tuple(10.0**end for end in drawn.layout.xaxis.range)
        labels = []
        for style, chosen, column in self._each(part, lines):
            placed = chosen.assign(**{self.x: _positions(chosen, self.x, result, self.table)})
            if "run" in part:
                shown = summaries.over_runs(placed, column, [self.x])
                drawn.add_traces(run_line(shown, self.x, style, index))
                last = shown.sort_values(self.x)["mean"]
            else:
                shown = placed.sort_values(self.x)
                marks = line(shown[self.x].to_numpy(), shown[column].to_numpy(), style).update(
                    mode="lines" if len(shown) > MARKED else "lines+markers",
                    marker={"symbol": style.marker, "size": 7},
                )
                if column in self.bands:
                    low, high = (shown[end].to_numpy() for end in self.bands[column])
                    shaded = band(shown[self.x].to_numpy(), low, high, style)
                    drawn.add_trace(shaded.update(panel(index)))
                drawn.add_trace(in_panel(marks, index))
                last = shown[column]
            labels.append((float(last.iloc[-1]), style.name, style.color))
        for style, x, y in self.curves(result, part) if self.curves else ():
            known = [place for place in np.argsort(x) if np.isfinite(y[place])]
            if known:
                drawn.add_trace(in_panel(line(x[known], y[known], style), index))
                labels.append((float(y[known[-1]]), style.name, style.color))
        if self.guide is not None:
            style, place = self.guide
            ends_of_y = np.array(_ends(drawn.layout.yaxis))
            upright = line(np.full(2, place(part)), ends_of_y, style)
            drawn.add_trace(in_panel(upright, index))
        if self.rival:
            labels += self._rival(drawn, result, part, index, ends)
        if self.prior is not None:
            labels.append(_prior(drawn, self.prior(result), index, ends))
        return labels

    def _each(self, part: pd.DataFrame, lines: str) -> list[tuple[Style, pd.DataFrame, str]]:
        """Style, rows and column of each line."""
        if isinstance(self.y, Mapping):
            return [(style, part, column) for column, style in self.y.items()]
        if not lines:
            return [(styles([self.y_title or AXES[self.y]])[0], part, self.y)]
        values = _values(part, lines)
        plain = [value for value in values if value != math.inf]
        named = dict(zip(plain, styles([setting(lines, value) for value in plain]), strict=True))
        named |= {math.inf: NON_PRIVATE} if len(plain) < len(values) else {}
        named |= {value: self.looks[value] for value in values if value in self.looks}
        return [(style, part[part[lines] == value], self.y) for value, style in named.items()]

    def _rival(
        self,
        drawn: go.Figure,
        result: Result,
        part: pd.DataFrame,
        index: int,
        ends: tuple[float, ...],
    ) -> list[tuple[float, str, str]]:
        """The errors of the counts with noise, which need no simulation."""
        rival = result.tables["rival"]
        if "n" in part:
            rival = rival[rival.n.isin(part.n)]
        if len(_values(rival, "n")) != 1:
            return []
        if self.x == "epsilon_total":
            style, rows = (
                RIVAL if np.isfinite(rival.epsilon_total).any() else RIVAL_WITHOUT_NOISE,
                rival.assign(epsilon_total=_positions(rival, self.x, result, self.table)),
            )
        else:
            budget = float(rival.epsilon_total.min())
            style = dataclasses.replace(RIVAL, name=f"{RIVAL.name}, ε_total = {budget:,g}")
            style = RIVAL_WITHOUT_NOISE if math.isinf(budget) else style
            rows = rival[rival.epsilon_total == budget]
            rows = pd.concat([rows.assign(**{self.x: end}) for end in ends])
        shown = summaries.over_runs(rows, str(self.y), [self.x])
        drawn.add_traces(run_line(shown, self.x, style, index))
        name = style.name if self.x == "epsilon_total" else RIVAL.name
        return [(float(shown["mean"].iloc[-1]), name, style.color)]


def _ends(axis: Any) -> tuple[float, float]:
    """Ends of an axis in its own units."""
    low, high = (10.0**end if axis.type == "log" else end for end in axis.range)
    return low, high


def _values(table: pd.DataFrame, name: str) -> list[Any]:
    return list(dict.fromkeys(table[name].tolist()))


def _place(table: pd.DataFrame, x: str) -> float:
    """Where what has no noise is drawn: right of all budgets."""
    finite = table[x][np.isfinite(table[x])]
    return BEYOND * float(finite.max()) if len(finite) else 1.0


def _positions(rows: pd.DataFrame, x: str, result: Result, table: str) -> pd.Series[Any]:
    """Places along the axis."""
    return rows[x].replace(math.inf, _place(result.tables[table], x))


def _prior(
    drawn: go.Figure, error: float, index: int, ends: tuple[float, ...]
) -> tuple[float, str, str]:
    """The error of the prior mean, and what lies above it: answers that are worse than none."""
    mean = line(np.array(ends), np.full(2, error), PRIOR_MEAN)
    drawn.add_trace(in_panel(mean, index))
    no_better(drawn, error, index)
    return error, PRIOR_MEAN.name, GREY
