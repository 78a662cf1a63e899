"""What follows from released numbers: the posterior by public simulations (MATH E8, E9)."""

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
    """Mean and quantiles of each value, and probabilities of the questions.

    Attributes:
        mean: ``(d,)``.
        quantiles: lower end, median and upper end ``(3, d)``.
        probabilities: one for each question.
    """

    mean: Array
    quantiles: Array
    probabilities: tuple[float, ...]

    @classmethod
    def of(cls, values: Array, weights: Array, request: PrivateSummaryRequest) -> Told:
        """From values ``(m, d)`` with weights ``(m,)``."""
        source = source_of(request)
        axes, probabilities = [*source.AXES], []
        for each in source.OWN_QUESTIONS:
            chosen = values[:, axes.index(each.parameter)] < each.below
            # All of the weight is 1, without rounding.
            probabilities.append(1.0 if chosen.all() else float(weights @ chosen))
        quantiles = weighted_quantile(values, weights, TAILS)
        return cls(weighted_mean(values, weights), quantiles, tuple(probabilities))


@dataclass(frozen=True)
class Inferred:
    """What follows from released numbers; a function of them and of what is public.

    Attributes:
        told: with them.
        prior: without.
        summary: of the posterior: how it was computed, and its fit.
        rounds: draws of each round; of a pool, how many it has.
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
        """From a posterior, with the values of its draws ``(m, d)`` and of the prior's."""
        return cls(
            Told.of(values, found.weights, request),
            Told.of(prior, np.full(len(prior), 1.0 / len(prior)), request),
            found.summary,
            tuple(size for size, _ in found.rounds),
            values[found.evenly(request.draws)],
        )

    @property
    def fit(self) -> Fit:
        """Whether the model makes such numbers."""
        return cast(Fit, self.summary.fit)


class Inverse(NamedTuple):
    """A factor divided by a quantity; ``None`` where that is not positive.

    Attributes:
        shortest: lower end of the 90 % interval.
        median: of it.
        longest: upper end.
    """

    shortest: float | None
    median: float | None
    longest: float | None

    @classmethod
    def of(cls, quantiles: Array, factor: float) -> Inverse:
        """From lower end, median and upper end ``(3,)`` of the quantity."""
        found = (factor / each if each > 0.0 else None for each in quantiles[::-1].tolist())
        return cls(*found)

    def in_words(self, unit: str) -> tuple[str, str]:
        """Median and interval."""
        middle = "none" if self.median is None else f"{self.median:.2g} {unit}"
        if self.shortest is None:
            return middle, "none"
        if self.longest is None:
            return middle, f"from {self.shortest:.2g} {unit} to none"
        return middle, f"{self.shortest:.2g} to {self.longest:.2g} {unit}"
