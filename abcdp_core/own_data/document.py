"""What comes out of a release, and what may be made of it without spending more."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import figures as fig
from abcdp_core import simulators
from abcdp_core.mechanisms import Release
from abcdp_core.output.settings import event_as_text
from abcdp_core.own_data.discrete_sparse_vector import FINENESS
from abcdp_core.own_data.request import PROTECTED, ReleaseRequest, source_of
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
    """

    request: ReleaseRequest
    n: int
    release: Release
    theta: Array = field(repr=False)

    @property
    def statement(self) -> str:
        """What is protected, and how much."""
        return statement(self.release.event, PROTECTED)

    @property
    def summary(self) -> str:
        """What came out, in one sentence."""
        return (
            f"{len(self.theta)} of {self.request.c} samples were accepted after looking at "
            f"{self.release.stopped_at:,} of {self.request.pool_size:,} draws."
        )

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
            "event": event_as_text(self.release.event),
            "cost": {"epsilon": spent.epsilon, "delta": spent.delta},
            "versions": versions(),
        }

    def to_json(self) -> str:
        """The file that a person takes away."""
        return json.dumps(self.content(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def largest_file(request: ReleaseRequest) -> int:
    """Bytes that a document's file has at most: to know before the release that there is room."""
    numbers = request.c * (2 + len(source_of(request).AXES))
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
    """The accepted values of every parameter, each a mark, and their means."""
    axes = source_of(document.request).AXES
    drawn = fig.stack(
        list(axes),
        f"What was released: accepted parameters (c = {document.request.c}, "
        f"N = {document.n:,}, ε_total = {document.request.epsilon_total:g})",
        "value of the parameter",
        list(axes.values()),
        row_height=80,
    )
    marks = fig.Style("accepted", fig.VERMILLION, marker="line-ns-open")
    mean = fig.Style("their mean", fig.BLUE, marker="diamond")
    for row, values in enumerate(document.theta.T if len(document.theta) else ()):
        for style, x in ((marks, values), (mean, values.mean(keepdims=True))):
            trace = fig.points(x, np.full(len(x), 0.5), style)
            trace.update(marker={"size": 22 if style is marks else 12, "line": {"width": 2}})
            drawn.add_trace(trace.update(showlegend=row == 0, **fig.panel(row)))
    return drawn.update_yaxes(tickvals=[])
