"""What comes out of a release, and what may be made of it without spending more."""

from __future__ import annotations

import dataclasses
import json
import shlex
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import figures as fig
from abcdp_core import simulators
from abcdp_core.output.settings import event_in_json
from abcdp_core.parameters import ParameterError
from abcdp_core.privacy import Event, cost, statement
from abcdp_core.release import picture
from abcdp_core.release.budget_file import Reservation
from abcdp_core.release.picture import Marks, Row
from abcdp_core.release.request import (
    OwnParameter,
    ReleaseRequest,
    SeriesRequest,
    source_of,
    to_domain,
)
from abcdp_core.results import versions

Array = NDArray[np.float64]

FORMAT = 2
"""Of a document. Those of version 0.2.0 have none; posteriors of private summaries were others."""

KEYS = ("mode", "statement", "public", "release", "event", "cost", "versions")
"""What a document's file holds among other things, by which it is known."""

LEVEL = 0.9
"""Of the intervals of what is inferred."""

FARTHEST = 2**53
"""Whole numbers up to this are floating-point numbers."""


class ReleaseRecord(ABC):
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
        """The main result, in a line."""

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
    def marks(self, row: int) -> Marks:
        """Marks of a parameter in the person's own scale: style and places ``(m,)``."""

    @abstractmethod
    def said(self, row: int) -> str:
        """A parameter's value in words; empty if nothing is known of it."""

    @property
    def event(self) -> Event:
        """What was done, for the accountant."""
        return self.request.event(self.n)

    @property
    def is_complete(self) -> bool:
        """Whether what follows from what was released is computed."""
        return True

    @property
    def misfit(self) -> tuple[str, ...]:
        """Sentences to be said before the result where the model does not fit."""
        return ()

    def pictures(self) -> dict[str, fig.CaptionedFigure]:
        """Further figures, by name."""
        return {}

    def fit_rows(self) -> tuple[list[Row], str]:
        """Released numbers over what the model makes, and a caption; no rows without a fit."""
        return [], ""

    def taken_from(self, reservation: Reservation) -> Self:
        """The same document, which says what budget it was taken from."""
        made: Any = self
        return dataclasses.replace(made, reservation=reservation)

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
        spent, request = cost(self.event), self.request
        public = dataclasses.asdict(request)
        if isinstance(request, SeriesRequest):
            public["scenario_domain"] = list(source_of(request).DOMAIN)
        taken = {} if self.reservation is None else {"ledger": dataclasses.asdict(self.reservation)}
        return {
            "mode": "release",
            "format": FORMAT,
            "mechanism": request.mechanism,
            "statement": self.statement,
            "remains": remains(self),
            "protected": request.protected,
            **({"n": self.n} if request.tells_size else {}),
            "public": public,
            **self.contents(),
            "event": event_in_json(self.event),
            "cost": {"epsilon": spent.epsilon, "delta": spent.delta},
            "versions": versions(),
            **taken,
        }

    def to_json(self) -> str:
        """The file that a person takes away."""
        return json.dumps(self.content(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def in_scale(parameters: Sequence[OwnParameter], theta: Array) -> Array:
    """Parameters ``(..., d)`` of the scenario in the scale of a person's own values."""
    offset, factor = np.array([(each.offset, each.factor) for each in parameters]).T
    return offset + factor * theta


def unit_of(parameter: OwnParameter) -> str:
    """Its unit after a number, with the space between them."""
    return f" {parameter.unit}" if parameter.unit else ""


def verifying(file: str, document: ReleaseRecord) -> str:
    """The command that computes again what follows from a document in a file."""
    table = getattr(source_of(document.request), "OWN_TABLE", None)
    plugin = "" if table is None else f" --plugin {shlex.quote(table.file)}"
    return f"abcdp verify {file}{plugin}"


def whole_numbers(found: Sequence[Any], size: int, what: str) -> list[int]:
    """Numbers that a file says were released, as many as they have to be.

    Raises:
        ParameterError: they are none of what they have to be.
    """
    whole = all(type(number) is int and abs(number) < FARTHEST for number in found)
    if len(found) != size or not whole:
        raise ParameterError(f"release: these are no {what}.")
    return list(found)


def remains(document: ReleaseRecord) -> list[str]:
    """What the guarantee leaves unprotected."""
    return [
        *document.request.unprotected(document.n),
        "Every further release from the same data adds its ε_total to this one.",
        "How long the run took is not protected, nor are the file with the data and the memory of "
        "the computer.",
        document.exactness(),
    ]


def synthetic(document: ReleaseRecord, sets: int, rng: np.random.Generator) -> pd.DataFrame:
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


def picture_rows(document: ReleaseRecord) -> list[Row]:
    """What is known of every parameter now, in the person's own scale."""
    found = enumerate(zip(document.parameters, document.axes(), strict=True))
    return [
        Row(each.name, document.said(place), *ends, document.marks(place))
        for place, (each, ends) in found
    ]


def axis_of(document: ReleaseRecord) -> str:
    """The title of the axis, where all parameters are shares and have one."""
    share = isinstance(document.request, SeriesRequest) and len(set(document.axes())) == 1
    return f"share of the values, {document.parameters[0].unit}" if share else ""


def figure(document: ReleaseRecord) -> go.Figure:
    """What is known of every parameter now, a row each."""
    rows = picture_rows(document)
    return picture.figure(rows, document.finding, document.settings, axis_of(document))
