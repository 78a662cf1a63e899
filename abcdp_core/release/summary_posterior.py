"""Summarize the posterior of released numbers, from public simulations (MATH E8, E9)."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import NamedTuple, cast

import numpy as np

from abcdp_core.base.arrays import Array
from abcdp_core.base.sentences import counted, decimals
from abcdp_core.base.summaries import weighted_mean, weighted_quantile
from abcdp_core.posterior.fit import Fit, in_proportion
from abcdp_core.posterior.outcome import Posterior, Summary
from abcdp_core.release.document import LEVEL
from abcdp_core.release.summary_request import PrivateSummaryRequest

TAILS = (0.5 * (1.0 - LEVEL), 0.5, 0.5 * (1.0 + LEVEL))
"""Lower end, median, upper end."""


FINEST = 1e-3
"""Least width that is resolved in words, as a share of the prior's interval."""


@dataclass(frozen=True)
class PosteriorSummary:
    """Means ``(d,)``, quantiles ``(3, d)`` at :data:`TAILS`, and a probability per question."""

    mean: Array
    quantiles: Array
    probabilities: tuple[float, ...]

    @classmethod
    def of(
        cls, values: Array, request: PrivateSummaryRequest, weights: Array | None = None
    ) -> PosteriorSummary:
        """Summarize values ``(m, d)`` with weights ``(m,)``, by default equal ones."""
        if weights is None:
            # As other programs compute them.
            quantiles = np.quantile(values, TAILS, axis=0)
            weights = np.full(len(values), 1.0 / len(values))
        else:
            quantiles = weighted_quantile(values, weights, TAILS)
        source = request.source
        axes, probabilities = [*source.axes], []
        for each in source.own_questions:
            chosen = values[:, axes.index(each.parameter)] < each.below
            # Exactly 1 if all draws are chosen.
            probabilities.append(1.0 if chosen.all() else float(weights @ chosen))
        return cls(weighted_mean(values, weights), quantiles, tuple(probabilities))


@dataclass(frozen=True)
class Inferred:
    """What follows from released numbers and public settings.

    Attributes:
        posterior: from the draws.
        prior: the prior, exact where it is known.
        summary: how the posterior was computed, and its fit.
        rounds: number of draws in each round; for a pool, its size.
        draws: of equal weight ``(m, d)``.
    """

    posterior: PosteriorSummary
    prior: PosteriorSummary
    summary: Summary
    rounds: tuple[int, ...]
    draws: Array = field(repr=False)

    @classmethod
    def of(
        cls,
        computed: Posterior,
        values: Array,
        prior: Array,
        request: PrivateSummaryRequest,
        exact: Array | None = None,
        *,
        as_in_0_3_0: bool = False,
    ) -> Inferred:
        """Summarize a posterior and its prior, given the values of their draws ``(m, d)``.

        The first p may have exact quantiles ``(3, p)`` under the prior. Draws have equal weight,
        except as in 0.3.0.
        """
        summary, draws, weights, of_prior = computed.summary, values, None, None
        if as_in_0_3_0:
            weights, of_prior = computed.weights, np.full(len(prior), 1.0 / len(prior))
            draws = values[in_proportion(weights, request.draws)]
            fit = dataclasses.replace(cast(Fit, summary.fit), is_blind=False)
            summary = dataclasses.replace(summary, fit=fit)
        posterior = PosteriorSummary.of(values, request, weights)
        before = PosteriorSummary.of(prior, request, of_prior)
        if exact is not None:
            known = exact.shape[1]
            before.mean[:known], before.quantiles[:, :known] = summary.prior.mean, exact
        return cls(posterior, before, summary, tuple(size for size, _ in computed.rounds), draws)

    @property
    def fit(self) -> Fit:
        """How well the model fits the numbers."""
        return cast(Fit, self.summary.fit)

    @property
    def how(self) -> str:
        """How the posterior was computed, and from how many draws."""
        summary, draws = self.summary, counted(sum(self.rounds), "draw")
        size = f"{summary.effective:,.0f}"
        few = f"because too few draws carry weight (effective sample size {size})"
        way = {
            "weights": f"Computed by importance sampling (effective sample size {size} from "
            f"{draws}).",
            "regression": f"Computed by regression adjustment of the nearest of {draws}, which is "
            f"approximate, {few}.",
            "nearest": f"Computed from the nearest of {draws}, which is approximate, {few} and "
            "there are too few draws for regression adjustment.",
        }[summary.way]
        wider = " Two regressions differ; the wider result is shown." if summary.differ else ""
        failed = f" {counted(summary.failed, 'draw')} failed." if summary.failed else ""
        return f"{way}{wider}{failed}"


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
        ends = (factor / each if each > 0.0 else None for each in quantiles[::-1].tolist())
        return cls(*ends)

    def in_words(self, unit: str) -> tuple[str, str]:
        """Return median and interval."""
        middle = "none" if self.median is None else f"{self.median:.2g} {unit}"
        if self.shortest is None:
            return middle, "none"
        if self.longest is None:
            return middle, f"from {self.shortest:.2g} {unit} to none"
        return middle, f"{self.shortest:.2g} to {self.longest:.2g} {unit}"


def decimals_of(width: float, prior: Array, high: float) -> int:
    """Return the decimals of an interval, given its width and quantiles ``(3,)`` of its prior.

    The narrower half of the prior counts, which has the smallest values of a prior over decades. If
    the interval is a single value, that half or the value counts.
    """
    halves = np.diff(prior)
    half = float(min(halves[halves > 0.0], default=0.0))
    finest = 2.0 * FINEST * half
    if width > 0.0:
        return decimals(max(width, finest))
    return max(decimals(half), decimals(max(abs(high), finest)) if high else 0)
