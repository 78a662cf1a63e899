r"""Proposals: the prior mixed with a fit to weighted draws from the posterior (MATH E8).

$q = \alpha\, \pi + (1 - \alpha) \sum_j \beta_j\, t_\nu(\mu_j, \Sigma_j)$: the components of
:mod:`~abcdp_core.models.mixtures`, and the prior $\pi$ for what they miss.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from abcdp_core.base.arrays import Array
from abcdp_core.base.summaries import effective_sample_size
from abcdp_core.models.mixtures import FREEDOM, Component
from abcdp_core.models.priors import Prior

PRIOR_SHARE = 0.1
"""α of every fitted proposal."""

FIT = 300.0
"""Smallest effective sample size to which a proposal is fitted."""

HALVINGS = 40
"""Bisection steps for τ."""


@dataclass(frozen=True)
class Proposal:
    """A mixture of the prior and components; just the prior if there are none."""

    components: tuple[Component, ...] = ()

    def draw(self, prior: Prior, rng: np.random.Generator, size: int) -> Array:
        """Draw ``(size, d)``; some may be outside the prior's support."""
        x = prior.draw(rng, size)
        if not self.components:
            return x
        normal, longer = rng.standard_normal(x.shape), FREEDOM / rng.chisquare(FREEDOM, size)
        steps = np.sqrt(longer)[:, None] * normal
        shares = np.array([PRIOR_SHARE, *self._shares()])
        chosen = np.searchsorted(np.cumsum(shares / shares.sum()), rng.random(size), side="right")
        for place, each in enumerate(self.components, start=1):
            mine = chosen == place
            x[mine] = np.array(each.mean) + steps[mine] @ np.array(each.root).T
        return x

    def log_density(self, x: Array, log_prior: Array) -> Array:
        """Return the log density ``(m,)`` at ``x (m, d)``, given that of the prior."""
        if not self.components:
            return log_prior
        log_density: Array = math.log(PRIOR_SHARE) + log_prior
        for share, each in zip(self._shares(), self.components, strict=True):
            log_density = np.logaddexp(log_density, math.log(share) + each.log_density(x))
        return log_density

    def _shares(self) -> list[float]:
        total = sum(each.share for each in self.components)
        return [(1.0 - PRIOR_SHARE) * each.share / total for each in self.components]


def together(*proposals: Proposal) -> Proposal:
    """Mix proposals in equal parts."""
    return Proposal(tuple(each for one in proposals for each in one.components))


def tempered(log_base: Array, log_noise: Array) -> tuple[float, Array]:
    """Return the largest τ in [0, 1] with :data:`FIT` effective draws, and its weights ``(m,)``.

    Args:
        log_base: log of prior over proposal density ``(m,)``.
        log_noise: log density of the release given each draw ``(m,)``; some are finite.
    """
    # Impossible draws count as the most unlikely possible one, so that τ = 0 forgets the noise.
    floored = np.maximum(log_noise, log_noise[np.isfinite(log_noise)].min())
    if _size(log_base + log_noise) >= FIT:
        return 1.0, normalised(log_base + log_noise)
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        enough = _size(log_base + middle * floored) >= FIT
        low, high = (middle, high) if enough else (low, middle)
    return low, normalised(log_base + low * floored)


def _size(log_weights: Array) -> float:
    return effective_sample_size(normalised(log_weights))


def normalised(log_weights: Array) -> Array:
    """Return weights ``(m,)`` that sum to 1; some of the logarithms are finite."""
    weights: Array = np.exp(log_weights - logsumexp(log_weights))
    return weights / weights.sum()
