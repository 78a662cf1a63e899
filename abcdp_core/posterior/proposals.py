r"""Proposals: the prior mixed with a fit to weighted draws from the posterior (MATH E8).

$q = \alpha\, \pi + (1 - \alpha) \sum_j \beta_j\, t_\nu(\mu_j, \Sigma_j)$: multivariate Student t
components with heavier tails than the posterior, each with a wider copy, and the prior $\pi$ for
what they miss. BIC chooses the number of components, up to :data:`MOST`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.vq import kmeans2
from scipy.linalg import solve_triangular
from scipy.special import gammaln, logsumexp

from abcdp_core.base.summaries import effective_sample_size
from abcdp_core.posterior.priors import Prior

Array = NDArray[np.float64]

PRIOR_SHARE = 0.1
"""α of every fitted proposal."""

FREEDOM = 5.0
"""Degrees of freedom ν."""

DEFENSIVE, FAR = 0.2, 3.0
"""Share and scale factor of the wider copies, which find parts of the posterior with few draws."""

FIT = 300.0
"""Smallest effective sample size to which a proposal is fitted."""

MOST = 4
"""Largest number of components."""

STEPS = 30
"""Most steps of the EM algorithm."""

POINTS = 2000
"""Most draws to which a mixture is fitted."""

ENOUGH = 1e-4
"""Gain in log-likelihood per draw below which EM ends."""

HALVINGS = 40
"""Bisection steps for τ."""

SMALLEST_VARIANCE = 1e-12
"""Added to variances, so that draws with equal parameters still have a density."""

DIGITS = 6
"""Significant digits of a proposal, so that machines that round differently agree."""


@dataclass(frozen=True)
class Component:
    """One Student t of a mixture: share, mean ``(d,)``, lower root of its scale ``(d, d)``."""

    share: float
    mean: tuple[float, ...]
    root: tuple[tuple[float, ...], ...]

    @classmethod
    def of(cls, share: float, mean: Array, covariance: Array) -> Component:
        """Return the component of a scale matrix ``(d, d)``."""
        root = np.linalg.cholesky(covariance + SMALLEST_VARIANCE * np.eye(len(mean)))
        rows = tuple(tuple(_rounded(row)) for row in root)
        return cls(_rounded(np.array([share]))[0], tuple(_rounded(mean)), rows)

    def log_density(self, x: Array) -> Array:
        """Return the log density ``(m,)`` at ``x (m, d)``."""
        root, d = np.array(self.root), x.shape[1]
        away = solve_triangular(root, (x - np.array(self.mean)).T, lower=True)
        constant = gammaln((FREEDOM + d) / 2.0) - gammaln(FREEDOM / 2.0)
        constant -= d / 2.0 * math.log(FREEDOM * math.pi) + np.log(np.diag(root)).sum()
        distance = (away**2).sum(axis=0)
        found: Array = constant - (FREEDOM + d) / 2.0 * np.log1p(distance / FREEDOM)
        return found


def _rounded(values: Array) -> list[float]:
    return [float(f"{value:.{DIGITS}g}") for value in values.tolist()]


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
        found: Array = math.log(PRIOR_SHARE) + log_prior
        for share, each in zip(self._shares(), self.components, strict=True):
            found = np.logaddexp(found, math.log(share) + each.log_density(x))
        return found

    def _shares(self) -> list[float]:
        total = sum(each.share for each in self.components)
        return [(1.0 - PRIOR_SHARE) * each.share / total for each in self.components]


def together(*proposals: Proposal) -> Proposal:
    """Mix proposals in equal parts."""
    return Proposal(tuple(each for one in proposals for each in one.components))


def mixture(x: Array, weights: Array, rng: np.random.Generator, *, wider: float = 1.0) -> Proposal:
    """Fit a mixture of Student t distributions by EM, with the number chosen by BIC.

    Args:
        x, weights: draws ``(m, d)`` and weights ``(m,)`` that sum to 1.
        rng: chooses the initial means.
        wider: factor of the scale matrices.
    """
    size = min(effective_sample_size(weights), POINTS)
    points, mass = _points(x, weights)
    best, least, d = list[Student](), math.inf, x.shape[1]
    for count in range(1, MOST + 1):
        found, log_likelihood = _fitted(points, mass, count, rng)
        # Each component has a mean, a symmetric matrix and a share.
        free = count * (d + d * (d + 1) / 2 + 1) - 1
        bic = free * math.log(size) - 2.0 * size * log_likelihood
        if bic >= least:
            break
        best, least = found, bic
    return Proposal(
        tuple(
            Component.of(share * each.share, each.mean, factor * wider * each.scale)
            for share, factor in ((1.0 - DEFENSIVE, 1.0), (DEFENSIVE, FAR**2))
            for each in best
        )
    )


def _points(x: Array, weights: Array) -> tuple[Array, Array]:
    """Return at most :data:`POINTS` weighted draws that represent all."""
    some = np.flatnonzero(weights)
    if len(some) <= POINTS:
        return x[some], weights[some]
    edges = np.cumsum(weights[some])
    places = np.searchsorted(edges, edges[-1] * (np.arange(POINTS) + 0.5) / POINTS)
    chosen, counts = np.unique(some[places], return_counts=True)
    return x[chosen], counts / POINTS


@dataclass(frozen=True)
class Student:
    """A component during EM: its share, mean ``(d,)`` and scale matrix ``(d, d)``."""

    share: float
    mean: Array
    scale: Array

    def distance(self, points: Array) -> Array:
        """Return the squared Mahalanobis distance ``(m,)`` of points ``(m, d)``."""
        root = np.linalg.cholesky(self.scale + SMALLEST_VARIANCE * np.eye(len(self.mean)))
        away = solve_triangular(root, (points - self.mean).T, lower=True)
        found: Array = (away**2).sum(axis=0)
        return found


def _fitted(
    points: Array, mass: Array, count: int, rng: np.random.Generator
) -> tuple[list[Student], float]:
    """Fit ``count`` components; return the mean log-likelihood too, −∞ if one has few points."""
    d = points.shape[1]
    whole = _covariance(points - mass @ points, mass)
    least = 1e-6 * np.diag(np.diag(whole))
    belongs = _begun(points / np.sqrt(np.diag(whole) + SMALLEST_VARIANCE), mass, count, rng)
    longer, reached, found = np.ones(belongs.shape), -math.inf, list[Student]()
    for _ in range(STEPS):
        parts = mass[:, None] * belongs
        if min(map(effective_sample_size, parts.T)) < 3 * (d + 1):
            return [], -math.inf
        found = [
            _component(points, mine, far, least)
            for mine, far in zip(parts.T, longer.T, strict=True)
        ]
        components = [Component.of(one.share, one.mean, one.scale) for one in found]
        densities = [one.log_density(points) for one in components]
        each = np.stack(densities, axis=1) + np.array([math.log(one.share) for one in found])
        total = logsumexp(each, axis=1)
        before, reached = reached, float(mass @ total)
        belongs = np.exp(each - total[:, None])
        away = np.stack([one.distance(points) for one in found], axis=1)
        # A component gives less weight to distant points.
        longer = (FREEDOM + d) / (FREEDOM + away)
        if reached - before < ENOUGH:
            break
    return found, reached


def _begun(scaled: Array, mass: Array, count: int, rng: np.random.Generator) -> Array:
    """Assign each point to a component by k-means: ``(m, count)``."""
    if count == 1:
        return np.ones((len(scaled), 1))
    picked = rng.choice(len(scaled), size=len(scaled), p=mass / mass.sum())
    centers, _ = kmeans2(scaled[picked], count, minit="++", rng=rng)
    away = ((scaled[:, None] - centers) ** 2).sum(axis=2)
    found: Array = (np.argmin(away, axis=1)[:, None] == np.arange(count)).astype(float)
    return found


def _component(points: Array, parts: Array, longer: Array, least: Array) -> Student:
    """Update one component by a step of EM."""
    used = parts * longer
    mean = used @ points / used.sum()
    scale = _covariance(points - mean, used) / parts.sum() + least
    return Student(float(parts.sum()), mean, scale)


def _covariance(apart: Array, weights: Array) -> Array:
    found: Array = (apart * weights[:, None]).T @ apart
    return found


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
