"""Describe a release: its record, and figures and synthetic data at no further cost."""

from __future__ import annotations

import dataclasses
import json
import shlex
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from abcdp_core import figures as fig
from abcdp_core.base.arrays import Array
from abcdp_core.base.parameters import ParameterError
from abcdp_core.models import simulators
from abcdp_core.privacy import Event, cost, statement
from abcdp_core.publish.output.settings import event_in_json
from abcdp_core.release import picture
from abcdp_core.release.budget_file import Reservation
from abcdp_core.release.picture import Marks, Row
from abcdp_core.release.request import OwnParameter, ReleaseRequest, SeriesRequest, to_domain
from abcdp_core.run.results import versions

FORMAT = 2
"""Version of the record. Records of 0.2.0 have none, and their private summaries had another
posterior."""

KEYS = ("mode", "statement", "public", "release", "event", "cost", "versions")
"""Keys that every record has."""

LEVEL = 0.9
"""Probability of all intervals."""

FARTHEST = 2**53
"""Whole numbers up to this are exact in floating point."""


class ReleaseRecord(ABC):
    """A release; all of it may be published. Each mechanism has its own subclass.

    Attributes:
        request: the settings.
        n: number of values; if that is private, number of rows of a table that hides it.
        reservation: in the ledger, if a budget paid for the release.
    """

    request: ReleaseRequest
    n: int
    reservation: Reservation | None

    @property
    @abstractmethod
    def sample(self) -> Array:
        """Parameters ``(k, d)`` of equal weight, in the scenario's scale; k may be 0."""

    @property
    @abstractmethod
    def summary(self) -> str:
        """What was released, in one sentence."""

    @property
    @abstractmethod
    def finding(self) -> str:
        """The main result, in a line."""

    @property
    @abstractmethod
    def settings(self) -> str:
        """The settings, in a line."""

    @property
    @abstractmethod
    def marks_in_words(self) -> str:
        """Legend of the figure, in words."""

    @property
    def remarks(self) -> str:
        """How far the estimates can be trusted, in words; may be empty."""
        return ""

    @abstractmethod
    def table(self) -> pd.DataFrame:
        """Return the estimates as texts, one row per parameter."""

    @abstractmethod
    def exactness(self) -> str:
        """Return which parts of the computation are exact, in words; `verify` compares them."""

    @abstractmethod
    def contents(self) -> dict[str, Any]:
        """Return what was released and what follows from it, ready for JSON."""

    @abstractmethod
    def marks(self, row: int) -> Marks:
        """Return the marks of a parameter in the units of the data: styles and places ``(m,)``."""

    @abstractmethod
    def value_text(self, row: int) -> str:
        """Return a parameter's estimate in words; empty if there is none."""

    @property
    def event(self) -> Event:
        """What was done, for the accountant."""
        return self.request.event(self.n)

    def event_in_json(self) -> dict[str, Any] | None:
        """Return the event as the record states it."""
        return event_in_json(self.event)

    @property
    def is_complete(self) -> bool:
        """Whether the posterior is computed."""
        return True

    @property
    def misfit(self) -> tuple[str, ...]:
        """Warnings to show before the result if the model does not fit."""
        return ()

    def pictures(self) -> dict[str, fig.CaptionedFigure]:
        """Return further figures by name."""
        return {}

    def fit_rows(self) -> tuple[list[Row], str]:
        """Return rows of released numbers beside the model's, and a caption; may be empty."""
        return [], ""

    def taken_from(self, reservation: Reservation) -> Self:
        """Return the same record with a reservation."""
        made: Any = self
        return dataclasses.replace(made, reservation=reservation)

    @property
    def statement(self) -> str:
        """The privacy statement."""
        request = self.request
        return statement(self.event, request.protected, neighbours=request.stated_neighbours)

    @property
    def parameters(self) -> tuple[OwnParameter, ...]:
        """The parameters in the units of the data."""
        return self.request.own_parameters(self.n)

    def axes(self) -> list[tuple[float, float]]:
        """Return the ends of each parameter's axis, in the units of the data."""
        ends = np.array([*self.request.source.axes.values()]).T
        low, high = in_scale(self.parameters, ends).tolist()
        return [*zip(low, high, strict=True)]

    @property
    def values(self) -> Array:
        """The sample ``(k, d)`` in the units of the data."""
        return in_scale(self.parameters, self.sample)

    def content(self) -> dict[str, Any]:
        """Return the whole record, ready for JSON."""
        spent, request = cost(self.event), self.request
        public = request.public()
        if isinstance(request, SeriesRequest):
            public["scenario_domain"] = list(request.source.domain)
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
            "event": self.event_in_json(),
            "cost": {"epsilon": spent.epsilon, "delta": spent.delta},
            "versions": versions(),
            **taken,
        }

    def to_json(self) -> str:
        """Return the text of the record's file."""
        return json.dumps(self.content(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def in_scale(parameters: Sequence[OwnParameter], theta: Array) -> Array:
    """Return parameters ``(..., d)`` of the scenario in the units of the data."""
    offset, factor = np.array([(each.offset, each.factor) for each in parameters]).T
    return offset + factor * theta


def place_of_draws(content: Mapping[str, Any]) -> tuple[str, str]:
    """Return the part of a record, and the key in it, that hold the draws and their parameters."""
    # The sparse vector's draws are those it kept.
    return ("own_units", "values") if "own_units" in content else ("posterior", "draws")


def unit_of(parameter: OwnParameter) -> str:
    """Return a parameter's unit with the space before it."""
    return f" {parameter.unit}" if parameter.unit else ""


def verifying(file: str, document: ReleaseRecord) -> str:
    """Return the command that verifies a record in a file."""
    table = document.request.source.own_table
    plugin = "" if table is None else f" --plugin {shlex.quote(table.file)}"
    return f"abcdp verify {file}{plugin}"


def whole_numbers(stated: Sequence[Any], size: int, what: str) -> list[int]:
    """Return released numbers from a file, after checks of their size and type.

    Raises:
        ParameterError: there are more or fewer than ``size``, or one is not a whole number.
    """
    whole = all(type(number) is int and abs(number) < FARTHEST for number in stated)
    if len(stated) != size or not whole:
        raise ParameterError(f"release: these are not {what}.")
    return list(stated)


def remains(document: ReleaseRecord) -> list[str]:
    """Return sentences on what the guarantee does not protect; `verify` compares them."""
    return [
        *document.request.unprotected(document.n),
        "Every further release from the same data adds its ε_total to this one.",
        "How long the run took is not protected, nor are the file with the data and the memory of "
        "the computer.",
        document.exactness(),
    ]


def synthetic(document: ReleaseRecord, sets: int, rng: np.random.Generator) -> pd.DataFrame:
    """Simulate series as long as the data at the released parameters in turn; spends nothing.

    Returns:
        Columns ``data_set``, ``point`` and ``value``, in the unit of the data and within their
        domain; no row if nothing was kept.
    """
    request, source = document.request, document.request.source
    assert isinstance(request, SeriesRequest)
    chosen, data = simulators.simulate_round_robin(source, document.sample, document.n, sets, rng)
    series = to_domain(data[..., -1], source.domain, (request.low, request.high))
    return pd.DataFrame(
        {
            "data_set": np.repeat(np.arange(len(chosen)), document.n),
            "point": np.tile(np.arange(document.n), len(chosen)),
            "value": series.ravel(),
        }
    )


def picture_rows(document: ReleaseRecord) -> list[Row]:
    """Return one row per parameter, in the units of the data."""
    axes = enumerate(zip(document.parameters, document.axes(), strict=True))
    return [
        Row(each.name, document.value_text(place), *ends, document.marks(place))
        for place, (each, ends) in axes
    ]


def axis_of(document: ReleaseRecord) -> str:
    """Return the title of the axis; empty unless all parameters are shares."""
    share = isinstance(document.request, SeriesRequest) and len(set(document.axes())) == 1
    return f"share of the values, {document.parameters[0].unit}" if share else ""


def figure(document: ReleaseRecord) -> go.Figure:
    """Return the estimates as a figure, one row per parameter."""
    rows = picture_rows(document)
    return picture.figure(rows, document.finding, document.settings, axis_of(document))
