"""Sentences and figures for the comparison of mechanisms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import plotly.graph_objects as go

from abcdp_core import figures as fig
from abcdp_core import mechanisms
from abcdp_core.base import summaries
from abcdp_core.base.sentences import (
    ALIKE,
    amount,
    budget_name,
    counted,
    little,
    percent,
    plain,
    settings_line,
    with_budget,
)
from abcdp_core.figures import ranked
from abcdp_core.figures.lines import Lines
from abcdp_core.mechanisms import noisy_counts, private_summary
from abcdp_core.models import simulators
from abcdp_core.models.simulators.uniform_mixture import SCENARIO as MIXTURE
from abcdp_core.run.results import Result
from abcdp_core.studies.engine import mechanisms as shared

SETTING = ("mechanism", "c", "epsilon_total")  # Columns that identify a mark

UNITS = tuple(each.name for each in private_summary.MECHANISMS)
"""Mechanisms that release the same numbers and protect units of two sizes."""

ENDS = {"mse": (1e-5, 0.1), "mae": (0.002, 0.2)}
"""Fixed axes for Five shares, so that a knob moves the marks and not the axis."""


def column_of(params: Any, short: str) -> str:
    """Return the column of an error: scaled if the parameters have several units."""
    several = simulators.has_several_units(params.source)
    return f"{short}_scaled" if several else short


class Errors:
    """Describe and draw one kind of error from one table of a result.

    Attributes:
        table: the rows of all runs so far.
        column: the column of the errors.
        words: the kind of error, with an unusual unit.
        prior: error of the prior mean.
    """

    def __init__(self, result: Result, name: str, short: str) -> None:
        """Look up the errors ``short``, mae or mse, in the table ``main`` or ``common``."""
        self.result, self.name, self.short = result, name, short
        self.params: Any = result.params
        self.table, self.column = result.tables[name], column_of(self.params, short)
        self.words = f"{summaries.METRICS[short]}{shared.in_units(self.params)}"
        self.prior = float(result.tables["prior"][self.column].mean())

    @property
    def axis(self) -> tuple[float, float]:
        """Return the ends of an axis: fixed for Five shares, else around the marks."""
        if self.params.scenario == MIXTURE.name and self.column in ENDS:
            return ENDS[self.column]
        means = summaries.over_runs(self.table, self.column, SETTING)
        published = self.result.tables["published"].get(self.column, ())
        shown = np.array([*means["mean"], *means.low, *means.high, self.prior, *published], float)
        shown = shown[np.isfinite(shown) & (shown > 0.0)]
        return (shown.min() / 1.3, shown.max() * 1.3) if len(shown) else (0.1, 1.0)

    @property
    def where(self) -> str:
        """Say which thresholds the mechanisms have."""
        common = settings_line(self.params, ["epsilon_abc"])
        return f"{common} for all" if self.name == "common" else "best public settings"

    def called(self, mechanism: str) -> str:
        """Name a mechanism, by the unit it protects if units are compared."""
        if set(self.params.mechanism) != set(UNITS):
            return fig.called(mechanism)
        source = self.params.source
        return f"{mechanisms.load(mechanism).protects(source)[0]} protected"

    def says(self) -> tuple[str, str]:
        """Compare the smallest error with the error of the sparse vector, or else the largest."""
        params, table = self.params, self.table
        # The budget nearest to 1; of two equally near, the smaller.
        budget = min(sorted(table.epsilon_total.unique()), key=lambda each: abs(math.log(each)))
        first = table[(table.epsilon_total == budget) & (table.c == table.c.iloc[0])]
        means = first.groupby("mechanism")[self.column].mean().sort_values(kind="stable")
        known = "sparse-vector" in means.index[1:]
        ends = [str(means.index[0]), "sparse-vector" if known else str(means.index[-1])]
        (best, other), (least, more) = map(self.called, ends), means[ends]
        title = _title(best, other, least, more, self.prior)
        if len(set(table.epsilon_total)) > 1:
            title += f" at {budget_name(budget)}"
        if not set(params.mechanism) <= set(table.mechanism):
            # A mechanism that is not finished may be the best.
            title = f"So far, {title[0].lower()}{title[1:]}"
        low, high = amount(least, 2), amount(more, 2)
        ranking = f"is {low} with {best}, the smallest, and {high} with {other}"
        if best == other:
            ranking = f"is {low} with {best}"
        elif ends[1] == means.index[-1]:
            ranking = f"ranges from {low} ({best}) to {high} ({other})"
        return title, (
            f"Over {counted(first.run.nunique(), 'run')} {with_budget(budget)}, c = "
            f"{first.c.iloc[0]:,} and {self.where}, the {summaries.METRICS[self.short]} "
            f"{ranking}{shared.in_units(params)}; the error of the prior mean is "
            f"{amount(self.prior, 2)}.{summaries.empty_note(first.accepted.dropna())}"
        )

    def rows(self) -> fig.CaptionedFigure:
        """Draw a row for each mechanism, smallest error on top, unfinished mechanisms last."""
        title, caption = self.says()
        means = summaries.over_runs(self.table, self.column, ["mechanism"])
        means = means.sort_values("mean", kind="stable", ignore_index=True)
        names = means.mechanism.tolist()
        errors = zip(names, means["mean"], strict=True)
        labels = [f"{fig.called(name)} {amount(error, 2)}" for name, error in errors]
        labels += [f"{fig.called(name)} …" for name in self.params.mechanism if name not in names]
        marks = means.rename(columns={"mean": "value", "empty_share": "open"})
        marks = marks.assign(place=means.index, style=means.mechanism.map(fig.mechanism))
        named = ("epsilon_total", "c", "n", "pool_size")
        settings = settings_line(self.params, named, runs=self.table.run.nunique())
        words = title, self.words, f"{settings}, {self.where}"
        figure = ranked.marked(labels, marks, words, self.axis, prior=self.prior)
        for place, name in enumerate(names):
            for _, stars in self.expected(name):
                figure.add_trace(stars.update(x=stars.y, y=[place]))
        return fig.CaptionedFigure(figure, caption)

    def curves(self) -> fig.CaptionedFigure:
        """Draw the errors against the budget, with a panel for each c."""
        drawn = Lines(
            self.column,
            "epsilon_total",
            says=lambda _: self.says(),
            by=("mechanism", "c"),
            settings=("c", "n", "pool_size"),
            table=self.name,
            prior=lambda _: self.prior,
            y_range=lambda _: self.axis,
            y_title=self.words.replace(", ", ",<br>"),
            looks={name: fig.mechanism(name) for name in self.params.mechanism},
        )(self.result)
        drawn.figure.layout.title.subtitle.text += f", {self.where}"
        for name in self.params.mechanism:
            for c, stars in self.expected(name):
                index = self.params.c.index(c) if len(self.params.mechanism) > 1 else 0
                drawn.figure.add_trace(stars.update(fig.panel(index)))
        return drawn

    def expected(self, mechanism: str) -> list[tuple[int, go.Scatter]]:
        """Return for each c the stars: the errors that the posterior for published data expects."""
        table, traces = self.result.tables["published"], []
        style = fig.mechanism(mechanism).called("expected for published data", marker="star-open")
        if self.name == "main":
            for c, part in table[table.mechanism == mechanism].groupby("c"):
                errors = part.groupby("epsilon_total")[self.column].mean()
                marks = fig.points(errors.index.to_numpy(), errors.to_numpy(), style)
                traces.append((int(str(c)), marks.update(marker={"size": 14}, showlegend=False)))
        return traces


def _title(best: str, other: str, least: float, more: float, prior: float) -> str:
    """Say which mechanism has the smallest error, compared with another."""
    if little(least, prior):
        return "No mechanism is clearly better than the prior"
    if other == best:
        return f"The error with {best} is {percent(least / prior)} of the prior's error"
    if more <= ALIKE * least:
        return f"The error is about the same with {best} and {other}"
    times = plain(more / least if least else math.inf, 2)
    return f"The error is smallest with {best} and {times} times as large with {other}"


def figures(result: Result) -> dict[str, fig.CaptionedFigure]:
    """Draw each mechanism's error at its best setting and at the common setting.

    One budget and one c give rows of marks; several give lines against the budget.
    """
    params: Any = result.params
    single, source = len(params.epsilon_total) == len(params.c) == 1, params.source
    draw = Errors.rows if single else Errors.curves
    then = [noisy_counts.rival(source)]
    if len(result.tables["published"]):
        whose = f"the expected error under the posterior for {source.published}"
        then.insert(0, f"Stars mark {whose}.")
    drawn = {}
    for short in summaries.METRICS:
        best = draw(Errors(result, "main", short))
        drawn[short] = fig.CaptionedFigure(best.figure, " ".join([best.sentence, *then]))
    return drawn | {"common": draw(Errors(result, "common", "mse"))}


def choose(drawn: fig.CaptionedFigure, mechanism: str) -> fig.CaptionedFigure:
    """Return the figure with the marks of one mechanism enlarged and ringed."""
    figure = go.Figure(drawn.figure)
    ring = {"size": 16, "line": {"width": 2, "color": fig.BOTH.color}}
    figure.update_traces(marker=ring, selector={"name": fig.called(mechanism)})
    return fig.CaptionedFigure(figure, drawn.sentence)
