r"""Linear maps of a statistic, learnt from the public pool alone (MATH E2).

The statistic is a mean of features, $e(Y) = \frac1N \sum_i \varphi(x_i)$, so for a matrix $A$ one
person moves $A e$ by at most

$$\Delta = \sup_{x, x'} \|A(\varphi(x) - \varphi(x'))\|_2 / N$$

over the public domain, into which every point is clipped first. On a grid of spacing $g$ over
the interval the largest pair is found up to $g L$, because every $x$ is within $g/2$ of a node; and
$L$, a Lipschitz constant of $x \mapsto A\varphi(x)$, is the largest $\|A\varphi'\|$ on the grid
plus $\frac g2 \|A\|_2 \|\varphi''\|$, where $\|\varphi''\|^2 = \sum_k w_k (kh)^4$ everywhere for
the features of MATH M3. So the number used is above the supremum. Never is it above $\|A\|_2$ times
the sensitivity of the statistic, which serves where there is no interval.

The matrix depends on the pool's draws: prior, simulator, domain, T and N. None of them is taken
from the private data, so learning costs no privacy. ([P21] avoids learnt summaries, as they would
cost some if learnt with the data.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from abcdp_core.distances import Distance
from abcdp_core.distances.fourier import FourierMMD
from abcdp_core.mechanisms import PublicSide

Array = NDArray[np.float64]

KINDS = ("none", "axes", "regression")

NODES = 1001
"""Of the grid on which a sensitivity is computed: a margin of 0.3 to 2 %."""

RIDGE = 1e-6
"""Penalty of the regression, in units of the statistic's total variance over the pool.

From 1e-8 to 1e-5 the error of the toy problem hardly changes; without it the matrix has a norm of
7e8, and rounding alone would be a release of noise.
"""

SMALLEST = 1e-8
"""Directions of a map this much shorter than its longest are left out: they say nothing."""


@dataclass(frozen=True)
class LinearMap:
    """A public map from statistics to what is released.

    Attributes:
        kind: one of :data:`KINDS`.
        matrix: ``(k, D)``.
        images: of the pool's statistics ``(T, k)``.
        sensitivity: most, in the L2 norm, that one person can move the image.
        prediction: of a regression, centre ``(d,)`` and back ``(d, k)``: it predicts the
            parameters ``centre + back @ image``; else ``None``.
    """

    kind: str
    matrix: Array = field(repr=False)
    images: Array = field(repr=False)
    sensitivity: float
    prediction: tuple[Array, Array] | None = field(default=None, repr=False)

    @property
    def dimension(self) -> int:
        """Numbers that are released."""
        return len(self.matrix)

    def predict(self, image: Array) -> Array:
        """The regression's parameters ``(d,)`` for an image ``(k,)``.

        Raises:
            ValueError: the map is no regression.
        """
        if self.prediction is None:
            raise ValueError(f"map = {self.kind}: only a regression predicts parameters.")
        centre, back = self.prediction
        predicted: Array = centre + back @ image
        return predicted


def fit(public: PublicSide, kind: str, axes: int) -> LinearMap:
    """A map learnt from the pool; the data set's own statistic is not looked at.

    Args:
        public: parameters and statistics of the pool, n and the distance.
        kind: ``none``, all features; ``axes``, the leading principal axes; ``regression``, the
            prediction of the parameters from all features, with a ridge.
        axes: number of principal axes, at most D.

    Raises:
        ValueError: the distance has no statistic that noise can protect, the pool's statistics are
            not at hand, or an argument is none of what it may be.
    """
    if not math.isfinite(public.distance.statistic_sensitivity(public.n)):
        name = type(public.distance).__name__
        raise ValueError(f"an embedding needs a distance between mean features; {name} has none.")
    if public.statistics is None:
        raise ValueError("an embedding needs the pool's statistics, which were not kept.")
    if kind not in KINDS:
        raise ValueError(f"map = {kind}: must be one of {', '.join(KINDS)}.")
    statistics = public.statistics
    features = np.eye(statistics.shape[1])[constants(public.distance) :]
    prediction = None
    if kind == "none":
        matrix = features
    elif kind == "axes":
        matrix = _principal_axes(statistics @ features.T, axes) @ features
    else:
        centre, back, weights = _regression(statistics @ features.T, public.theta)
        matrix = weights @ features
        prediction = centre - back @ (matrix @ statistics.mean(axis=0)), back
    most = map_sensitivity(matrix, public.distance, public.n)
    return LinearMap(kind, matrix, statistics @ matrix.T, most, prediction)


def constants(distance: Distance) -> int:
    """Leading coordinates that are the same for all data, so that nobody needs them."""
    return 1 if isinstance(distance, FourierMMD) else 0


def _principal_axes(features: Array, count: int) -> Array:
    """Orthonormal rows ``(count, D)`` along which the pool's statistics ``(T, D)`` vary most.

    Raises:
        ValueError: there are not so many.
    """
    if not 1 <= count <= features.shape[1]:
        raise ValueError(f"axes = {count}: must be a whole number from 1 to {features.shape[1]}.")
    _, axes = np.linalg.eigh(np.atleast_2d(np.cov(features, rowvar=False, ddof=0)))
    return np.ascontiguousarray(axes[:, ::-1][:, :count].T)


def _regression(features: Array, theta: Array) -> tuple[Array, Array, Array]:
    """Ridge regression of ``theta (T, d)`` on features ``(T, D)``.

    Each parameter is measured in its standard deviation over the pool. The coefficients ``(d, D)``
    are ``turned @ weights`` with orthonormal columns ``turned (d, k)``: parameters that always add
    up to the same have one dimension less, which then needs no noise. Lengths of images are lengths
    of predictions.

    Returns:
        Mean ``(d,)`` of the parameters, ``back (d, k)`` and ``weights (k, D)``.
    """
    mean, unit = theta.mean(axis=0), theta.std(axis=0)
    centred = features - features.mean(axis=0)
    covariance = centred.T @ centred / len(centred)
    ridge = RIDGE * np.trace(covariance) * np.eye(len(covariance))
    joint = centred.T @ ((theta - mean) / unit) / len(centred)
    coefficients = np.linalg.solve(covariance + ridge, joint).T
    turned, lengths, _ = np.linalg.svd(coefficients, full_matrices=False)
    turned = turned[:, lengths > SMALLEST * lengths[0]]
    return mean, unit[:, None] * turned, turned.T @ coefficients


def map_sensitivity(matrix: Array, distance: Distance, n: int) -> float:
    """Most, in the L2 norm, that replacing one of ``n`` points can move ``matrix @ statistic``.

    Args:
        matrix: ``(k, D)``.
        distance: whose statistic it is.
        n: points of the private data.
    """
    product = 4.0 * matrix.shape[1] * float(np.finfo(float).eps) * float(np.linalg.norm(matrix))
    norm = float(np.linalg.norm(matrix, 2))
    most = norm * distance.sensitivity(n)
    if isinstance(distance, FourierMMD):
        most = min(most, _largest_step(matrix, distance) / n)
    else:
        # A distance that is clipped may move by less than its statistic, which is not.
        most = max(most, norm * distance.statistic_sensitivity(n))
    return most + product


def _largest_step(matrix: Array, distance: FourierMMD) -> float:
    """Upper bound on ‖A(φ(x) − φ(x'))‖ over the domain, up to rounding (module docstring)."""
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
    # at most g² bend / 4 of it, half of what is added. The other half, at least 2e-4 of the step
    # and g² bend / 4, is far more than what is rounded here and in the statistic.
    return math.sqrt(squared) + float(spacing) * lipschitz
