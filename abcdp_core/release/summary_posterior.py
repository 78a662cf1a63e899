"""Summarize the posterior of released numbers, from public simulations (MATH E8, E9)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from abcdp_core.posterior.fit import Fit
from abcdp_core.posterior.outcome import Posterior, Summary
from abcdp_core.release.document import LEVEL
from abcdp_core.release.request import source_of
from abcdp_core.release.summary_request import PrivateSummaryRequest
from abcdp_core.summaries import weighted_mean, weighted_quantile

Array = NDArray[np.float64]

TAILS = (0.5 * (1.0 - LEVEL), 0.5, 0.5 * (1.0 + LEVEL))
"""Lower end, median, upper end."""


@dataclass(frozen=True)
class Told:
    """Means ``(d,)``, quantiles ``(3, d)`` at :data:`TAILS`, and a probability per question."""

    mean: Array
    quantiles: Array
    probabilities: tuple[float, ...]

    @classmethod
    def of(cls, values: Array, weights: Array, request: PrivateSummaryRequest) -> Told:
        """Summarize values ``(m, d)`` with weights ``(m,)``."""
        source = source_of(request)
        axes, probabilities = [*source.AXES], []
        for each in source.OWN_QUESTIONS:
            chosen = values[:, axes.index(each.parameter)] < each.below
            # Exactly 1 if all draws are chosen.
            probabilities.append(1.0 if chosen.all() else float(weights @ chosen))
        quantiles = weighted_quantile(values, weights, TAILS)
        return cls(weighted_mean(values, weights), quantiles, tuple(probabilities))


@dataclass(frozen=True)
class Inferred:
    """What follows from released numbers and public settings.

    Attributes:
        told: the posterior.
        prior: the prior.
        summary: how the posterior was computed, and its fit.
        rounds: number of draws in each round; for a pool, its size.
        draws: of equal weight ``(m, d)``.
    """

    told: Told
    prior: Told
    summary: Summary
    rounds: tuple[int, ...]
    draws: Array = field(repr=False)

    @classmethod
    def of(
        cls, found: Posterior, values: Array, prior: Array, request: PrivateSummaryRequest
    ) -> Inferred:
        """Summarize a posterior and its prior, given the values of their draws ``(m, d)``."""
        return cls(
            Told.of(values, found.weights, request),
            Told.of(prior, np.full(len(prior), 1.0 / len(prior)), request),
            found.summary,
            tuple(size for size, _ in found.rounds),
            values[found.evenly(request.draws)],
        )

    @property
    def fit(self) -> Fit:
        """How well the model fits the numbers."""
        return cast(Fit, self.summary.fit)


class Inverse(NamedTuple):
    """Lower end, median and upper end of a factor divided by a quantity.

    An end is ``None`` if the quantity is not positive there.
    """

    shortest: float | None
    median: float | None
    longest: float | None

    @classmethod
    def of(cls, quantiles: Array, factor: float) -> Inverse:
        """Convert lower end, median and upper end ``(3,)`` of the quantity."""
        found = (factor / each if each > 0.0 else None for each in quantiles[::-1].tolist())
        return cls(*found)

    def in_words(self, unit: str) -> tuple[str, str]:
        """Return median and interval."""
        middle = "none" if self.median is None else f"{self.median:.2g} {unit}"
        if self.shortest is None:
            return middle, "none"
        if self.longest is None:
            return middle, f"from {self.shortest:.2g} {unit} to none"
        return middle, f"{self.shortest:.2g} to {self.longest:.2g} {unit}"
