"""What comes out of a release, and what may be made of it without spending more."""

from __future__ import annotations

import dataclasses
import json
import shlex
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import figures as fig
from abcdp_core import simulators
from abcdp_core.output.settings import event_in_json
from abcdp_core.own_data.budget_ledger import Reservation
from abcdp_core.own_data.request import OwnParameter, ReleaseRequest, SeriesRequest, source_of
from abcdp_core.own_data.series import to_domain
from abcdp_core.parameters import ParameterError
from abcdp_core.privacy import Event, cost, statement
from abcdp_core.results import versions

Array = NDArray[np.float64]


class Document(ABC):
    """All that comes out, and all of it may be published. Each mechanism has its own below it.

    Attributes:
        request: the settings.
        n: number of values; where that is private, of rows of a table that says nothing of it.
        reservation: what it was taken from, if from a budget.
    """

    request: ReleaseRequest
    n: int
    reservation: Reservation | None

    @property
    @abstractmethod
    def event(self) -> Event:
        """What was done, for the accountant."""

    @property
    @abstractmethod
    def sample(self) -> Array:
        """Parameters ``(k, d)`` of equal weight, in the scenario's scale; there may be none."""

    @property
    @abstractmethod
    def summary(self) -> str:
        """What came out, in one sentence."""

    @property
    @abstractmethod
    def in_own_words(self) -> str:
        """What is known of the parameters now, in the person's own terms."""

    @property
    @abstractmethod
    def finding(self) -> str:
        """What was learnt, in a line."""

    @property
    @abstractmethod
    def settings(self) -> str:
        """What was asked for, in a line."""

    @property
    @abstractmethod
    def marks_in_words(self) -> str:
        """What the marks of the figure are, in a line."""

    @abstractmethod
    def table(self) -> pd.DataFrame:
        """What is known of every parameter, a row each, in words."""

    @abstractmethod
    def exactness(self) -> str:
        """What of the computation is exact, and what the guarantee does not cover."""

    @abstractmethod
    def contents(self) -> dict[str, Any]:
        """What was released and what follows from it, ready for JSON."""

    @abstractmethod
    def marks(self, row: int) -> list[tuple[fig.Style, Array]]:
        """Marks of a parameter in the person's own scale: style -> places ``(m,)``."""

    @abstractmethod
    def said(self, row: int) -> str:
        """A parameter's value in words; empty if nothing is known of it."""

    @property
    def is_complete(self) -> bool:
        """Whether what follows from what was released is computed."""
        return True

    @property
    def misfit(self) -> tuple[str, ...]:
        """Sentences to be said before the result where the model does not fit."""
        return ()

    def pictures(self) -> dict[str, fig.Drawn]:
        """Further figures, by name."""
        return {}

    def fit_rows(self) -> fig.Drawn | None:
        """Released numbers over what the model makes, a row each; ``None`` without a fit."""
        return None

    @property
    def statement(self) -> str:
        """What is protected, and how much."""
        request = self.request
        return statement(self.event, request.protected, neighbours=request.neighbours)

    @property
    def parameters(self) -> tuple[OwnParameter, ...]:
        """The parameters in the person's own terms."""
        return self.request.own_parameters(self.n)

    def axes(self) -> list[tuple[float, float]]:
        """Lowest and highest value shown of each parameter, in the person's own scale."""
        ends = np.array([*source_of(self.request).AXES.values()]).T
        low, high = in_scale(self.parameters, ends).tolist()
        return [*zip(low, high, strict=True)]

    @property
    def values(self) -> Array:
        """The sample ``(k, d)`` in the person's own scale."""
        return in_scale(self.parameters, self.sample)

    def content(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        spent = cost(self.event)
        return {
            "mode": "release",
            "format": FORMAT,
            "mechanism": self.request.mechanism,
            "statement": self.statement,
            "remains": remains(self),
            "protected": self.request.protected,
            **({"n": self.n} if self.request.tells_size else {}),
            "public": self._public(),
            **self.contents(),
            "event": event_in_json(self.event),
            "cost": {"epsilon": spent.epsilon, "delta": spent.delta},
            "versions": versions(),
        } | self._taken_from()

    def _public(self) -> dict[str, Any]:
        settings = dataclasses.asdict(self.request)
        if isinstance(self.request, SeriesRequest):
            settings["scenario_domain"] = list(source_of(self.request).DOMAIN)
        return settings

    def _taken_from(self) -> dict[str, Any]:
        if self.reservation is None:
            return {}
        return {"ledger": dataclasses.asdict(self.reservation)}

    def to_json(self) -> str:
        """The file that a person takes away."""
        return json.dumps(self.content(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def in_scale(parameters: Sequence[OwnParameter], theta: Array) -> Array:
    """Parameters ``(..., d)`` of the scenario in the scale of a person's own values."""
    offset, factor = (np.array([getattr(p, name) for p in parameters]) for name in SCALE)
    return offset + factor * theta


SCALE = ("offset", "factor")


def unit_of(parameter: OwnParameter) -> str:
    """Its unit after a number, with the space between them."""
    return f" {parameter.unit}" if parameter.unit else ""


def verifying(file: str, document: Document) -> str:
    """The command that computes again what follows from a document in a file."""
    table = getattr(source_of(document.request), "OWN_TABLE", None)
    plugin = "" if table is None else f" --plugin {shlex.quote(table.file)}"
    return f"abcdp verify {file}{plugin}"


FORMAT = 2
"""Of a document. Those of version 0.2.0 have none; posteriors of private summaries were others."""

KEYS = ("mode", "statement", "public", "release", "event", "cost", "versions")
"""What a document's file holds among other things, by which it is known."""

LEVEL = 0.9
"""Of the intervals of what is inferred."""

FARTHEST = 2**53
"""Whole numbers up to this are floating-point numbers."""

LARGEST_FILE = 2**26
"""Bytes of a file that is read again, at most."""

LARGEST_REST = 20_000
"""Bytes of a file without its numbers, at most."""

LARGEST_NUMBER = 36
"""Bytes of a number with its line, at most: ten before it, 24 of its own, a comma, an end."""


def whole_numbers(found: Sequence[Any], size: int, what: str) -> list[int]:
    """Numbers that a file says were released, as many as they have to be.

    Raises:
        ParameterError: they are none of what they have to be.
    """
    whole = all(type(number) is int and abs(number) < FARTHEST for number in found)
    if len(found) != size or not whole:
        raise ParameterError(f"release: these are no {what}.")
    return list(found)


def remains(document: Document) -> list[str]:
    """What the guarantee leaves unprotected."""
    return [
        *document.request.unprotected(document.n),
        "Every further release from the same data adds its ε_total to this one.",
        "How long the run took is not protected, nor are the file with the data and the memory of "
        "the computer.",
        document.exactness(),
    ]


def synthetic(document: Document, sets: int, rng: np.random.Generator) -> pd.DataFrame:
    """Series simulated at released parameters, taken in turn: post-processing, costs nothing.

    Args:
        document: what was released from a series of values.
        sets: how many series of the size of the data.
        rng: source of all chance.

    Returns:
        Columns ``data_set``, ``point`` and ``value``, in the unit of the data and within their
        domain; no row if nothing was accepted.
    """
    request, source = document.request, source_of(document.request)
    assert isinstance(request, SeriesRequest)
    chosen, data = simulators.simulate_round_robin(source, document.sample, document.n, sets, rng)
    series = to_domain(data[..., -1], source.DOMAIN, (request.low, request.high))
    return pd.DataFrame(
        {
            "data_set": np.repeat(np.arange(len(chosen)), document.n),
            "point": np.tile(np.arange(document.n), len(chosen)),
            "value": series.ravel(),
        }
    )


def figure(document: Document) -> go.Figure:
    """What is known of every parameter now, a row each, in the person's own scale."""
    parameters, axes = document.parameters, document.axes()
    share = isinstance(document.request, SeriesRequest) and len(set(axes)) == 1
    drawn = fig.stack(
        [""] * len(parameters),
        document.finding,
        f"share of the values, {parameters[0].unit}" if share else "",
        axes,
        row_height=44 if len(set(axes)) == 1 else 80,
    )
    drawn.update_layout(title={"subtitle": {"text": document.settings}}, showlegend=False)
    rows = [
        (each.name, document.said(row), document.marks(row)) for row, each in enumerate(parameters)
    ]
    return filled(drawn, rows)


def filled(
    stack: go.Figure, rows: Sequence[tuple[str, str, Sequence[tuple[fig.Style, Array]]]]
) -> go.Figure:
    """A stack of empty rows with a name, a value in words, and marks in each."""
    for row, (name, said, marks) in enumerate(rows):
        for style, x in marks:
            stack.add_trace(_mark(style, x).update(**fig.panel(row)))
        stack.layout["yaxis" + fig.panel(row)["yaxis"][1:]].update(
            tickvals=[0.5], ticktext=[f"<b>{_wrapped(name)}</b>{_below(said)}"]
        )
    return stack.update_yaxes(showline=False, ticks="", showgrid=False)


INTERVAL = fig.Style("90 % interval", fig.PRIVATE.color)
KEPT = fig.Style("accepted", fig.PRIVATE.color, marker="line-ns-open")
MEAN = fig.Style("their mean", fig.PRIVATE.color, marker="diamond")
ESTIMATE = fig.Style("mean", fig.PRIVATE.color, marker="diamond")
PRIOR_INTERVAL = fig.Style("90 % interval of the prior", fig.PRIOR.color)
PRIOR = fig.Style("mean of the prior", fig.PRIOR.color, marker="line-ns-open")
MADE = fig.Style("90 % of what the model makes", fig.THEORY.color)
RELEASED = fig.Style("released", fig.PRIVATE.color)
SIZES = {
    **{KEPT.name: (18, 2), MEAN.name: (13, 0), ESTIMATE.name: (13, 0), PRIOR.name: (30, 2)},
    RELEASED.name: (11, 0),
}
"""Name of a style -> size of its marks, and width of their lines."""

WIDTHS = {INTERVAL.name: 6, PRIOR_INTERVAL.name: 2, MADE.name: 6}
"""Name of a style -> width of a line."""


def _mark(style: fig.Style, x: Array) -> go.Scatter:
    height = np.full(len(x), 0.5)
    if style.name in WIDTHS:
        return fig.line(x, height, style).update(line={"width": WIDTHS[style.name]})
    size, width = SIZES[style.name]
    return fig.points(x, height, style).update(marker={"size": size, "line": {"width": width}})


def _wrapped(name: str) -> str:
    """In lines that leave room for the marks on a telephone."""
    return "<br>".join(textwrap.wrap(name, LONGEST_LINE))


LONGEST_LINE = 27
"""Characters of a name beside its marks."""


def _below(words: str) -> str:
    """In a line of its own: a telephone has no room for both in one."""
    return f"<br>{words}" if words else ""
