r"""Linear maps of a statistic, fitted to the public pool alone (MATH E2).

The statistic is a mean of features, $e(Y) = \frac1N \sum_i \varphi(x_i)$, so for a matrix $A$ one
person moves $A e$ by at most

$$\Delta = \sup_{x, x'} \|A(\varphi(x) - \varphi(x'))\|_2 / N$$

over the public domain, to which every value is clipped first. A grid of spacing $g$ over the
interval finds the largest pair up to $g L$, because every $x$ is within $g/2$ of a node. Here $L$,
a Lipschitz constant of $x \mapsto A\varphi(x)$, is the largest $\|A\varphi'\|$ on the grid plus
$\frac g2 \|A\|_2 \|\varphi''\|$, and $\|\varphi''\|^2 = \sum_k w_k (kh)^4$ everywhere for the
features of MATH M3. So the sensitivity used is above the supremum. It is at most $\|A\|_2$ times
the sensitivity of the statistic, which is used if there is no interval.

The matrix depends only on the pool's draws, so fitting it costs no privacy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from abcdp_core.base.arrays import Array
from abcdp_core.mechanisms import PublicSide
from abcdp_core.models.distances import Distance
from abcdp_core.models.distances.fourier import FourierMMD
from abcdp_core.privacy.calibration import check_one_of

KINDS = ("none", "axes", "regression")

NODES = 1001
"""Nodes of the grid on which a sensitivity is computed: a margin of 0.3 to 2 %."""

RIDGE = 1e-6
"""Penalty of the regression, in units of the statistic's total variance over the pool.

From 1e-8 to 1e-5 the error of the toy problem hardly changes. Without a penalty the matrix has a
norm of 7e8, and rounding alone would drown the release.
"""

SMALLEST = 1e-8
"""Directions of a map shorter than this part of its longest are left out: they are rounding."""


@dataclass(frozen=True)
class LinearMap:
    """A public map from statistics to what is released.

    Attributes:
        kind: one of :data:`KINDS`.
        matrix: ``(k, D)``.
        images: of the pool's statistics ``(T, k)``.
        sensitivity: how far one person can move the image, in the L2 norm.
        prediction: for a regression, center ``(d,)`` and back ``(d, k)``: it predicts the
            parameters ``center + back @ image``; else ``None``.
    """

    kind: str
    matrix: Array = field(repr=False)
    images: Array = field(repr=False)
    sensitivity: float
    prediction: tuple[Array, Array] | None = field(default=None, repr=False)

    @property
    def dimension(self) -> int:
        """Number of released numbers."""
        return len(self.matrix)

    def predict(self, image: Array) -> Array:
        """Return the regression's parameters ``(d,)`` for an image ``(k,)``.

        Raises:
            ValueError: the map is not a regression.
        """
        if self.prediction is None:
            raise ValueError(f"map = {self.kind}: only a regression predicts parameters.")
        center, back = self.prediction
        return center + back @ image


def fit(public: PublicSide, kind: str, axes: int) -> LinearMap:
    """Fit a map to the pool; the private data are not used.

    Args:
        public: parameters and statistics of the pool, n and the distance.
        kind: ``none``, all features; ``axes``, the leading principal axes; ``regression``, the
            prediction of the parameters from all features, with a ridge.
        axes: number of principal axes, at most D.

    Raises:
        ValueError: the distance has no statistic that noise can protect, the pool's statistics
            were not kept, or an argument is out of range.
    """
    if not math.isfinite(public.distance.statistic_sensitivity(public.n)):
        name = type(public.distance).__name__
        raise ValueError(f"an embedding needs a distance between mean features; {name} has none.")
    if public.statistics is None:
        raise ValueError("an embedding needs the pool's statistics, which were not kept.")
    check_one_of(KINDS, map=kind)
    statistics = public.statistics
    features = np.eye(statistics.shape[1])[constants(public.distance) :]
    prediction = None
    if kind == "none":
        matrix = features
    elif kind == "axes":
        matrix = _principal_axes(statistics @ features.T, axes) @ features
    else:
        center, back, weights = _regression(statistics @ features.T, public.theta)
        matrix = weights @ features
        prediction = center - back @ (matrix @ statistics.mean(axis=0)), back
    most = map_sensitivity(matrix, public.distance, public.n)
    return LinearMap(kind, matrix, statistics @ matrix.T, most, prediction)


def constants(distance: Distance) -> int:
    """Return how many leading coordinates are the same for all data and are left out."""
    return 1 if isinstance(distance, FourierMMD) else 0


def _principal_axes(features: Array, count: int) -> Array:
    """Return orthonormal rows ``(count, D)`` along which statistics ``(T, D)`` vary most.

    Raises:
        ValueError: ``count`` is not from 1 to D.
    """
    if not 1 <= count <= features.shape[1]:
        raise ValueError(f"axes = {count}: must be a whole number from 1 to {features.shape[1]}.")
    _, axes = np.linalg.eigh(np.atleast_2d(np.cov(features, rowvar=False, ddof=0)))
    return np.ascontiguousarray(axes[:, ::-1][:, :count].T)


def _regression(features: Array, theta: Array) -> tuple[Array, Array, Array]:
    """Regress ``theta (T, d)`` on features ``(T, D)``, with a ridge.

    Each parameter is in units of its standard deviation over the pool. The coefficients ``(d, D)``
    are ``turned @ weights`` with orthonormal columns ``turned (d, k)``: parameters that add up to a
    constant have one dimension less, which then needs no noise.

    Returns:
        Mean ``(d,)`` of the parameters, ``back (d, k)`` and ``weights (k, D)``.
    """
    mean, unit = theta.mean(axis=0), theta.std(axis=0)
    centered = features - features.mean(axis=0)
    covariance = centered.T @ centered / len(centered)
    ridge = RIDGE * np.trace(covariance) * np.eye(len(covariance))
    joint = centered.T @ ((theta - mean) / unit) / len(centered)
    coefficients = np.linalg.solve(covariance + ridge, joint).T
    turned, lengths, _ = np.linalg.svd(coefficients, full_matrices=False)
    turned = turned[:, lengths > SMALLEST * lengths[0]]
    return mean, unit[:, None] * turned, turned.T @ coefficients


def map_sensitivity(matrix: Array, distance: Distance, n: int) -> float:
    """Bound how far replacing one of ``n`` records can move ``matrix @ statistic``, in L2.

    Args:
        matrix: ``(k, D)``.
        distance: whose statistic it is.
        n: number of records.
    """
    product = 4.0 * matrix.shape[1] * float(np.finfo(float).eps) * float(np.linalg.norm(matrix))
    norm = float(np.linalg.norm(matrix, 2))
    most = norm * distance.sensitivity(n)
    if isinstance(distance, FourierMMD):
        most = min(most, _largest_step(matrix, distance) / n)
    else:
        # A clipped distance may move by less than its statistic, which is not clipped.
        most = max(most, norm * distance.statistic_sensitivity(n))
    return most + product


def _largest_step(matrix: Array, distance: FourierMMD) -> float:
    """Return an upper bound on ‖A(φ(x) − φ(x'))‖ over the domain (module docstring)."""
    grid, spacing = np.linspace(distance.low, distance.high, NODES, retstep=True)
    features = distance.statistic(grid[:, None, None])
    images = features @ matrix.T
    images -= images.mean(axis=0)
    lengths = np.einsum("mk,mk->m", images, images)
    squared = float((np.add.outer(lengths, lengths) - 2.0 * images @ images.T).max())
    speeds = distance.step * np.arange(1, distance.frequencies + 1)
    cos, sin = np.split(features[:, 1:], 2, axis=1)
    derivative = np.hstack([np.zeros((NODES, 1)), -speeds * sin, speeds * cos])
    slope = float(np.linalg.norm(derivative @ matrix.T, axis=1).max())
    bend = math.sqrt(float(distance.weights[1:] @ speeds**4)) * float(np.linalg.norm(matrix, 2))
    lipschitz = slope + float(spacing) / 2.0 * bend
    # At the largest pair the length is stationary, or at an end, which is a node: the grid misses
    # at most g² bend / 4 of it, half of what is added. The other half is far more than rounding.
    return math.sqrt(squared) + float(spacing) * lipschitz
