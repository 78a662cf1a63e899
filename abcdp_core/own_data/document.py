"""What comes out of a release, and what may be made of it without spending more."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import figures as fig
from abcdp_core import simulators
from abcdp_core.mechanisms import Release
from abcdp_core.output.settings import event_in_json
from abcdp_core.own_data.budget_ledger import Reservation
from abcdp_core.own_data.discrete_sparse_vector import FINENESS
from abcdp_core.own_data.request import (
    PROTECTED,
    OwnParameter,
    ReleaseRequest,
    own_parameters,
    source_of,
)
from abcdp_core.own_data.series import to_domain
from abcdp_core.privacy import cost, statement
from abcdp_core.results import versions

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Document:
    """All that comes out, and all of it may be published.

    Attributes:
        request: the settings.
        n: number of values in the series.
        release: the decisions and their event.
        theta: accepted parameters ``(k, d)``.
        reservation: what it was taken from, if from a budget.
    """

    request: ReleaseRequest
    n: int
    release: Release
    theta: Array = field(repr=False)
    reservation: Reservation | None = None

    @property
    def statement(self) -> str:
        """What is protected, and how much."""
        return statement(self.release.event, PROTECTED)

    @property
    def summary(self) -> str:
        """What came out, in one sentence."""
        were = "was" if len(self.theta) == 1 else "were"
        return (
            f"{len(self.theta)} of {self.request.c} samples {were} accepted after looking at "
            f"{self.release.stopped_at:,} of {self.request.pool_size:,} draws."
        )

    @property
    def parameters(self) -> tuple[OwnParameter, ...]:
        """The parameters in the person's own terms."""
        return own_parameters(self.request, self.n)

    @property
    def values(self) -> Array:
        """The accepted parameters ``(k, d)`` in the person's own scale."""
        return in_scale(self.parameters, self.theta)

    @property
    def in_own_words(self) -> str:
        """The mean of what was accepted, or the prior's, in the person's own terms."""
        source, some = source_of(self.request), len(self.theta) > 0
        mean = self.theta.mean(axis=0) if some else source.PRIOR_MEAN
        means = in_scale(self.parameters, mean)
        each = "; ".join(
            f"{parameter.name}: {value:.2g}{_unit(parameter)}".replace("-", "\u2212")
            for parameter, value in zip(self.parameters, means, strict=True)
        )
        whose = "Mean of what was accepted" if some else "The prior's mean, as nothing was accepted"
        return f"{whose}: {each}."

    def content(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        source = source_of(self.request)
        spent = cost(self.release.event)
        return {
            "mode": "release",
            "statement": self.statement,
            "remains": remains(self.n),
            "protected": PROTECTED,
            "n": self.n,
            "public": dataclasses.asdict(self.request) | {"scenario_domain": list(source.DOMAIN)},
            "release": {
                "indices": self.release.indices.tolist(),
                "stopped_at": self.release.stopped_at,
                "parameters": list(source.AXES),
                "values": self.theta.tolist(),
            },
            "own_units": {
                "parameters": [each.name for each in self.parameters],
                "units": [each.unit for each in self.parameters],
                "values": self.values.tolist(),
            },
            "event": event_in_json(self.release.event),
            "cost": {"epsilon": spent.epsilon, "delta": spent.delta},
            "versions": versions(),
        } | self._taken_from()

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


def _unit(parameter: OwnParameter) -> str:
    return f" {parameter.unit}" if parameter.unit else ""


def largest_file(request: ReleaseRequest) -> int:
    """Bytes that a document's file has at most: to know before the release that there is room."""
    numbers = request.c * (3 + 2 * len(source_of(request).AXES))
    return LARGEST_REST + LARGEST_NUMBER * numbers


KEYS = ("mode", "statement", "public", "release", "event", "cost", "versions")
"""What a document's file holds among other things, by which it is known."""

LARGEST_REST = 20_000
"""Bytes of a file without its numbers, at most."""

LARGEST_NUMBER = 50
"""Bytes of a number with its line, at most."""


def remains(n: int) -> list[str]:
    """What the guarantee leaves unprotected."""
    return [
        f"The number of values, {n}, is public, and so is every setting. A setting that was chosen "
        "by looking at the data, the domain above all, tells something that is not accounted for.",
        "Whoever has several values in the series is protected less: k values together are "
        "protected with k times ε_total.",
        "Every further release from the same data adds its ε_total to this one.",
        "How long the run took is not protected, nor are the file with the data and the memory of "
        "the computer.",
        "Distances are computed in floating point; the noise has a margin for rounding of "
        f"2^-{FINENESS} of the sensitivity. Noise and comparison are exact, in whole numbers.",
    ]


def synthetic(document: Document, sets: int, rng: np.random.Generator) -> pd.DataFrame:
    """Series simulated at accepted parameters, taken in turn: post-processing, costs nothing.

    Args:
        document: what was released.
        sets: how many series of the size of the data.
        rng: source of all chance.

    Returns:
        Columns ``data_set``, ``point`` and ``value``, in the unit of the data and within their
        domain; no row if nothing was accepted.
    """
    request, source = document.request, source_of(document.request)
    chosen, data = simulators.simulate_round_robin(source, document.theta, document.n, sets, rng)
    series = to_domain(data[..., -1], source.DOMAIN, (request.low, request.high))
    return pd.DataFrame(
        {
            "data_set": np.repeat(np.arange(len(chosen)), document.n),
            "point": np.tile(np.arange(document.n), len(chosen)),
            "value": series.ravel(),
        }
    )


def figure(document: Document) -> go.Figure:
    """The accepted values of every parameter in the person's own scale, and their means."""
    parameters, source = document.parameters, source_of(document.request)
    axes = [
        tuple(in_scale([each], np.array(ends)[:, None])[:, 0].tolist())
        for each, ends in zip(parameters, source.AXES.values(), strict=True)
    ]
    drawn = fig.stack(
        [""] * len(parameters),
        _finding(document),
        f"share of the values, {parameters[0].unit}" if len(set(axes)) == 1 else "",
        axes,
        row_height=44 if len(set(axes)) == 1 else 80,
    )
    drawn.update_layout(title={"subtitle": {"text": _settings(document)}}, showlegend=False)
    prior = in_scale(parameters, source.PRIOR_MEAN)
    for row, each in enumerate(parameters):
        values = document.values[:, row]
        for style, x in (
            (_KEPT, values),
            (_MEAN, values.mean(keepdims=True) if len(values) else values),
            (_PRIOR, prior[row : row + 1]),
        ):
            trace = fig.points(x, np.full(len(x), 0.5), style)
            size, width = _SIZES[style.name]
            trace.update(marker={"size": size, "line": {"width": width}}, **fig.panel(row))
            drawn.add_trace(trace)
        drawn.layout["yaxis" + fig.panel(row)["yaxis"][1:]].update(
            tickvals=[0.5], ticktext=[f"<b>{each.name}</b>{_said(document, row)}"]
        )
    return drawn.update_yaxes(showline=False, ticks="", showgrid=False)


_KEPT = fig.Style("accepted", fig.PRIVATE.color, marker="line-ns-open")
_MEAN = fig.Style("their mean", fig.PRIVATE.color, marker="diamond")
_PRIOR = fig.Style("mean of the prior", fig.PRIOR.color, marker="line-ns-open")
_SIZES = {_KEPT.name: (18, 2), _MEAN.name: (13, 0), _PRIOR.name: (30, 2)}


def _said(document: Document, row: int) -> str:
    if not len(document.theta):
        return ""
    mean = float(document.values[:, row].mean())
    # In a line of its own: a telephone has no room for both in one.
    return f"<br>{mean:.2g}{_unit(document.parameters[row])}".replace("-", "\u2212")


def _finding(document: Document) -> str:
    """What was learnt, in a line."""
    if not len(document.theta):
        return "Nothing was accepted: no more is known than before"
    means = document.values.mean(axis=0)
    if len({each.unit for each in document.parameters}) > 1:
        return "The curve through your series, in your units"
    most = int(means.argmax())
    return f"The largest share lies in {document.parameters[most].name}: about {means[most]:.0f} %"


def _settings(document: Document) -> str:
    request = document.request
    return (
        f"ε_total = {request.epsilon_total:g}, ε_abc = {request.epsilon_abc:g}, "
        f"c = {request.c:,}, N = {document.n:,}"
    )
