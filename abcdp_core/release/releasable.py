"""Find mechanisms that can release from a person's own data, one file of this folder each.

A file joins by ``RELEASABLE``, a :class:`ReleaseMechanism`. It holds everything that belongs to its
mechanism alone: its request, what is measured before noise, the draw, and the record. The flow::

    request, values ──measure──► what the noise is added to      private, may be stopped
    request, n, that ──draw──► record                            spends the budget
    record ──infer──► record with its posterior                  if that takes simulations
    a record's JSON ──read──► record                             from its content alone

The recommended mechanism depends on public settings only, before a file is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from abcdp_core.base import registry
from abcdp_core.base.arrays import Array
from abcdp_core.base.parameters import ParameterError, shown
from abcdp_core.models import pool, simulators
from abcdp_core.posterior.rounds import TaskMap
from abcdp_core.privacy.discrete import RandBelow
from abcdp_core.release.document import ReleaseRecord
from abcdp_core.release.request import ReleaseRequest, check_takes_series, scenarios

ROUNDING = 1e-9
"""Share of the prior's error that is mere rounding."""

BEFORE_MECHANISMS = "sparse-vector"
"""Mechanism of old records that name none."""


class Expected(NamedTuple):
    """Root mean squared errors of a share, averaged over series that follow the model.

    Attributes:
        error: of the release, against the population's shares.
        plain: the same without noise.
        prior: the same without any data.
        own: of the release, against the series' own shares; 0 without noise.
    """

    error: float
    plain: float
    prior: float
    own: float

    def in_words(self, n: int) -> str:
        """Return the errors for ``n`` values in sentences."""
        own, error, plain, prior = (
            points(each) for each in (self.own, self.error, self.plain, self.prior)
        )
        return (
            f"With {n:,} values, a share is typically off by {own} percentage points or less from "
            f"your file's own share, and by {error} or less from the population's share ({plain} "
            f"without noise, {prior} without any data). These are root mean squared errors, "
            "averaged over series that follow the model, from a formula."
        )


class Simulated(NamedTuple):
    """Root mean squared errors of posterior means, averaged over the public pool.

    Attributes:
        names: of the inferred quantities.
        units: of these.
        error: with the noise of the release.
        plain: without noise.
        prior: without the data.
        remark: on the pool; may be empty.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    error: tuple[float, ...]
    plain: tuple[float, ...]
    prior: tuple[float, ...]
    remark: str = ""

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Return each name with its three errors in words."""
        with_units = [f" {unit}" if unit else "" for unit in self.units]
        errors = [
            [
                f"{_readable(each if each > ROUNDING * most else 0.0)}{unit}"
                for each, most, unit in zip(those, self.prior, with_units, strict=True)
            ]
            for those in (self.error, self.plain, self.prior)
        ]
        return [*zip(self.names, *errors, strict=True)]

    def in_words(self, n: int) -> str:
        """Return the errors in words."""
        each = "; ".join(
            f"{name}: {error} ({plain} without noise, {prior} without the data)"
            for name, error, plain, prior in self.rows()
        )
        return (
            "Errors to expect (root mean squared errors of the means over the public simulations): "
            f"{each}.{f' {self.remark}' if self.remark else ''}"
        )


def _readable(error: float) -> str:
    """An error to two digits, or to a whole number if it is large."""
    return f"{error:,.0f}" if 100.0 <= error < 1e9 else f"{error:.2g}"


def points(share: float) -> str:
    """Return a difference of shares in percentage points, to two digits and at least 0.01."""
    value = max(100.0 * share, 0.01)
    return f"{value:.0f}" if value >= 9.95 else f"{value:.2g}"


@dataclass(frozen=True)
class ReleaseMechanism:
    """One way to release from a person's own data.

    Attributes:
        request: class of its requests; has its name.
        title: name in words.
        reason: advantages and drawbacks, in a sentence or two.
        rank: of the mechanisms that serve a scenario, the least rank is recommended.
        measure: request, values ``(n,)``, progress -> what noise is added to. Spends nothing.
        draw: request, n, what was measured, source of noise -> record. The only function that
            publishes anything.
        read: request, n, content of a record's file -> record, with everything that follows from
            the release computed again.
        infer: record, runner of simulations, seconds -> record with its posterior; unchanged if
            nothing is left to compute.
        expected: request, n -> error to expect, by a formula or the public pool; else ``None``.
    """

    request: type[ReleaseRequest]
    title: str
    reason: str
    rank: int
    measure: Callable[[Any, Array, pool.Progress | None], Any]
    draw: Callable[[Any, int, Any, RandBelow], ReleaseRecord]
    read: Callable[[Any, int, Mapping[str, Any]], ReleaseRecord]
    expected: Callable[[Any, int], Expected | Simulated | None] = lambda request, n: None  # noqa: ARG005
    infer: Callable[[Any, TaskMap, float], ReleaseRecord] = lambda document, each, seconds: document  # noqa: ARG005

    @property
    def name(self) -> str:
        """The name in commands and records."""
        return self.request.mechanism


def every() -> dict[str, ReleaseMechanism]:
    """Return all mechanisms by name, the recommended ones first."""
    offered = [each.RELEASABLE for each in registry.modules(__package__, "RELEASABLE")]
    return {each.name: each for each in sorted(offered, key=lambda each: (each.rank, each.name))}


def serving(scenario: str) -> dict[str, ReleaseMechanism]:
    """Return the mechanisms that serve a scenario, the recommended one first.

    Raises:
        ParameterError: the scenario takes no data of a person's own, or does not exist.
    """
    check_takes_series(scenario)
    if scenario not in scenarios():
        raise ParameterError(
            f"scenario = {shown(scenario)}: must be one of {', '.join(scenarios())}."
        )
    source = simulators.load(scenario)
    return {name: each for name, each in every().items() if each.request.serves(source)}


def chosen(scenario: str, name: str | None = None) -> ReleaseMechanism:
    """Return the mechanism that is named, or the recommended one.

    Raises:
        ParameterError: there is no mechanism of that name, or it does not serve the scenario.
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
    """Return the mechanism of a request."""
    return every()[request.mechanism]
