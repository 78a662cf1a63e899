"""Mechanisms that can release from a person's own series: one file of this folder each.

A file joins by ``RELEASABLE``, a :class:`ReleaseMechanism`, and has all that its mechanism alone
needs: the class of its requests, what is private before the noise, the draw, and the document. What
flows::

    request, values ──measure──► what the noise is added to      private, may be stopped
    request, n, that ──draw──► Document                          the budget is spent
    Document ──infer──► Document with its posterior              where that takes simulations
    a document's JSON ──read──► Document                         from what is in it alone

The recommended mechanism is chosen by what is public, before a file is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from abcdp_core import pool, registry
from abcdp_core.parameters import ParameterError, shown
from abcdp_core.posterior.rounds import Each
from abcdp_core.privacy.discrete import RandBelow
from abcdp_core.release.document import ReleaseRecord
from abcdp_core.release.request import ReleaseRequest, check_takes_series, scenarios

Array = NDArray[np.float64]

BEFORE_MECHANISMS = "sparse-vector"
"""What released documents of versions that name no mechanism."""


class Expected(NamedTuple):
    """Root mean squared errors of a share, on average over series that follow the model.

    Attributes:
        error: of the release, against the population's shares.
        plain: of the same without noise.
        prior: without any data.
        own: of the release, against the series' own shares, which without noise are known.
    """

    error: float
    plain: float
    prior: float
    own: float

    def in_words(self, n: int) -> str:
        """What to expect of ``n`` values, in a sentence or two."""
        own, error, plain, prior = (
            points(each) for each in (self.own, self.error, self.plain, self.prior)
        )
        return (
            f"With {n:,} values a share is expected to be off by at most {own} percentage points "
            f"from your file's own, and by at most {error} from that of the population, where "
            f"without noise it is {plain} and without any data {prior} (root mean square on "
            "average over series that follow the model, from a formula)."
        )


class Simulated(NamedTuple):
    """Root mean squared errors of means, on average over the public pool.

    Attributes:
        names: of what is inferred.
        units: of these.
        error: with the noise of the release.
        plain: without it.
        prior: without any data.
        remark: what is to be said of the pool; may be empty.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    error: tuple[float, ...]
    plain: tuple[float, ...]
    prior: tuple[float, ...]
    remark: str = ""

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Name, and the three errors in words."""
        with_units = [f" {unit}" if unit else "" for unit in self.units]
        errors = [
            [f"{_readable(each)}{unit}" for each, unit in zip(those, with_units, strict=True)]
            for those in (self.error, self.plain, self.prior)
        ]
        return [*zip(self.names, *errors, strict=True)]

    def in_words(self, n: int) -> str:
        """What to expect, in a sentence or two."""
        each = "; ".join(
            f"{name}: {error}, without noise {plain}, without the data {prior}"
            for name, error, plain, prior in self.rows()
        )
        return (
            f"Errors to expect (of means, root mean square over the public simulations): {each}."
            f"{f' {self.remark}' if self.remark else ''}"
        )


def _readable(error: float) -> str:
    """An error to two digits, or to a whole number where it is large."""
    return f"{error:,.0f}" if 100.0 <= error < 1e9 else f"{error:.2g}"


def points(share: float) -> str:
    """A difference of shares, in percentage points, to two digits; at least 0.01."""
    value = max(100.0 * share, 0.01)
    return f"{value:.0f}" if value >= 9.95 else f"{value:.2g}"


@dataclass(frozen=True)
class ReleaseMechanism:
    """One way to release from a person's own series.

    Attributes:
        request: the class of its requests; has its name.
        title: the name in words.
        reason: for it and against it, in a sentence or two.
        rank: where several serve a scenario, the one of the least rank is recommended.
        measure: request, values ``(n,)``, progress -> what noise is added to. Spends nothing.
        draw: request, n, what was measured, source of noise -> the document. The only function
            that publishes anything.
        read: request, n, content of a document's file -> the document again, with all that follows
            from what was released computed anew.
        infer: document, what does simulations, seconds -> the document with what follows from what
            was released; as it is where nothing is left to be computed.
        expected: request, n -> the error to expect, where a formula or the public pool tells; else
            ``None``.
    """

    request: type[ReleaseRequest]
    title: str
    reason: str
    rank: int
    measure: Callable[[Any, Array, pool.Progress | None], Any]
    draw: Callable[[Any, int, Any, RandBelow], ReleaseRecord]
    read: Callable[[Any, int, Mapping[str, Any]], ReleaseRecord]
    expected: Callable[[Any, int], Expected | Simulated | None] = lambda request, n: None  # noqa: ARG005
    infer: Callable[[Any, Each, float], ReleaseRecord] = lambda document, each, seconds: document  # noqa: ARG005

    @property
    def name(self) -> str:
        """By which it is chosen."""
        return self.request.mechanism


def every() -> dict[str, ReleaseMechanism]:
    """Name -> what can release, the recommended one first."""
    found = [each.RELEASABLE for each in registry.modules(__package__, "RELEASABLE")]
    return {each.name: each for each in sorted(found, key=lambda each: (each.rank, each.name))}


def serving(scenario: str) -> dict[str, ReleaseMechanism]:
    """Those that serve a scenario, the recommended one first.

    Raises:
        ParameterError: the scenario takes no series, or there is none of that name.
    """
    check_takes_series(scenario)
    if scenario not in scenarios():
        raise ParameterError(
            f"scenario = {shown(scenario)}: must be one of {', '.join(scenarios())}."
        )
    return {name: each for name, each in every().items() if each.request.serves(scenario)}


def chosen(scenario: str, name: str | None = None) -> ReleaseMechanism:
    """What releases from a series of a scenario: the recommended one, or the one that is named.

    Raises:
        ParameterError: there is none of that name, or it does not serve the scenario.
    """
    known = serving(scenario)
    if name is None:
        return next(iter(known.values()))
    if name not in known:
        raise ParameterError(
            f"mechanism = {shown(name)}: for {scenario} it must be {' or '.join(known)}."
        )
    return known[name]


def of(request: ReleaseRequest) -> ReleaseMechanism:
    """What meets a request."""
    return every()[request.mechanism]
