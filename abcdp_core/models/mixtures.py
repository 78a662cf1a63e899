"""Mixtures of multivariate Student t distributions, fitted to weighted draws by EM.

Each component has heavier tails than the draws, and a wider copy. BIC chooses the number of
components, up to :data:`MOST`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.cluster.vq import kmeans2
from scipy.linalg import solve_triangular
from scipy.special import gammaln, logsumexp

from abcdp_core.base.arrays import Array
from abcdp_core.base.summaries import effective_sample_size

FREEDOM = 5.0
"""Degrees of freedom ν."""

DEFENSIVE, FAR = 0.2, 3.0
"""Share and scale factor of the wider copies, which find parts of the posterior with few draws."""

MOST = 4
"""Largest number of components."""

STEPS = 30
"""Most steps of the EM algorithm."""

POINTS = 2000
"""Most draws to which a mixture is fitted."""

ENOUGH = 1e-4
"""Gain in log-likelihood per draw below which EM ends."""

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
        return constant - (FREEDOM + d) / 2.0 * np.log1p(distance / FREEDOM)


def _rounded(values: Array) -> list[float]:
    return [float(f"{value:.{DIGITS}g}") for value in values.tolist()]


def mixture(
    x: Array, weights: Array, rng: np.random.Generator, *, wider: float = 1.0
) -> tuple[Component, ...]:
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
        fitted, log_likelihood = _fitted(points, mass, count, rng)
        # Each component has a mean, a symmetric matrix and a share.
        free = count * (d + d * (d + 1) / 2 + 1) - 1
        bic = free * math.log(size) - 2.0 * size * log_likelihood
        if bic >= least:
            break
        best, least = fitted, bic
    return tuple(
        Component.of(share * each.share, each.mean, factor * wider * each.scale)
        for share, factor in ((1.0 - DEFENSIVE, 1.0), (DEFENSIVE, FAR**2))
        for each in best
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
        return (away**2).sum(axis=0)


def _fitted(
    points: Array, mass: Array, count: int, rng: np.random.Generator
) -> tuple[list[Student], float]:
    """Fit ``count`` components; return the mean log-likelihood too, −∞ if one has few points."""
    d = points.shape[1]
    whole = _covariance(points - mass @ points, mass)
    least = 1e-6 * np.diag(np.diag(whole))
    belongs = _begun(points / np.sqrt(np.diag(whole) + SMALLEST_VARIANCE), mass, count, rng)
    longer, reached, students = np.ones(belongs.shape), -math.inf, list[Student]()
    for _ in range(STEPS):
        parts = mass[:, None] * belongs
        if min(map(effective_sample_size, parts.T)) < 3 * (d + 1):
            return [], -math.inf
        students = [
            _component(points, mine, far, least)
            for mine, far in zip(parts.T, longer.T, strict=True)
        ]
        components = [Component.of(one.share, one.mean, one.scale) for one in students]
        densities = [one.log_density(points) for one in components]
        each = np.stack(densities, axis=1) + np.array([math.log(one.share) for one in students])
        total = logsumexp(each, axis=1)
        before, reached = reached, float(mass @ total)
        belongs = np.exp(each - total[:, None])
        away = np.stack([one.distance(points) for one in students], axis=1)
        # A component gives less weight to distant points.
        longer = (FREEDOM + d) / (FREEDOM + away)
        if reached - before < ENOUGH:
            break
    return students, reached


def _begun(scaled: Array, mass: Array, count: int, rng: np.random.Generator) -> Array:
    """Assign each point to a component by k-means: ``(m, count)``."""
    if count == 1:
        return np.ones((len(scaled), 1))
    picked = rng.choice(len(scaled), size=len(scaled), p=mass / mass.sum())
    centers, _ = kmeans2(scaled[picked], count, minit="++", rng=rng)
    away = ((scaled[:, None] - centers) ** 2).sum(axis=2)
    return (np.argmin(away, axis=1)[:, None] == np.arange(count)).astype(float)


def _component(points: Array, parts: Array, longer: Array, least: Array) -> Student:
    """Update one component by a step of EM."""
    used = parts * longer
    mean = used @ points / used.sum()
    scale = _covariance(points - mean, used) / parts.sum() + least
    return Student(float(parts.sum()), mean, scale)


def _covariance(apart: Array, weights: Array) -> Array:
    return (apart * weights[:, None]).T @ apart
