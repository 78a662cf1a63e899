"""The MMD in linear time, exact to rounding, for points in a bounded interval (MATH M3).

The Gaussian kernel is the Fourier integral of a Gaussian. The trapezoid rule

k(r) ≈ Σ_{k=−K..K} w_k cos(k h r),  w_k = (hℓ/√(2π)) exp(−(k h ℓ)²/2),
h = 2π/(R + τℓ),  K = ⌊τ/(hℓ)⌋

has aliasing error at most 2 exp(−τ²/2) for |r| ≤ R, the length of the interval, which is below
rounding at τ = 8.6. Each data set becomes 2K+1 numbers, the weighted means of cos(k h x) and
sin(k h x). The MMD is the Euclidean distance between these vectors: O(N·K) once per data set, O(K)
per pair.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numba
import numpy as np

from abcdp_core.base.arrays import Array
from abcdp_core.models.distances import kernel

TAU = 8.6
"""Standard deviations of the spectrum kept, and separation of the aliases."""

BLOCK = 64
"""Points processed together: they stay in the cache and fill vector registers."""


@dataclass(frozen=True)
class FourierMMD(kernel.MeanEmbedding):
    """MMD between data sets of numbers in ``[low, high]``; others are clipped to it.

    Args:
        low, high: the public domain.
        bandwidth: of the Gaussian kernel, in the unit of the points.

    Raises:
        ValueError: the domain is empty or unbounded, or the bandwidth is not positive.
    """

    low: float
    high: float
    bandwidth: float
    step: float = field(init=False)
    weights: Array = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Place the frequencies."""
        bounded = -math.inf < self.low < self.high < math.inf
        if not bounded or not 0.0 < self.bandwidth < math.inf:
            raise ValueError("a Fourier MMD needs finite low < high and a positive bandwidth.")
        step = 2.0 * math.pi / (self.high - self.low + TAU * self.bandwidth)
        highest = math.floor(TAU / (step * self.bandwidth))
        k = np.arange(highest + 1)
        density = step * self.bandwidth / math.sqrt(2.0 * math.pi)
        weights = density * np.exp(-((k * step * self.bandwidth) ** 2) / 2.0)
        # Frequencies k and -k give the same cosine; the constant appears once.
        weights[1:] *= 2.0
        object.__setattr__(self, "step", step)
        object.__setattr__(self, "weights", weights)

    @property
    def frequencies(self) -> int:
        """Number K of frequencies other than 0."""
        return len(self.weights) - 1

    @property
    def kernel_error(self) -> float:
        """Bound on the error of the kernel over the domain: aliasing, truncation and rounding.

        The k-th cosine and sine have an error of at most 4 k² roundings (:func:`_power_sums`), and
        Σ w_k k² is 1/(hℓ)², about (K/τ)².
        """
        rounding = 12.0 * (1.0 + (self.frequencies / TAU) ** 2) * float(np.finfo(float).eps)
        return 2.0 * math.exp(-(TAU**2) / 2.0) + rounding

    @property
    def bound(self) -> float:
        """Largest MMD."""
        return kernel.SHARP_BOUND

    @property
    def error(self) -> float:
        """Bound on the error of MMD²: four times the kernel's."""
        return 4.0 * self.kernel_error

    def statistic(self, data: Array) -> Array:
        """Reduce ``(..., n, 1)`` to weighted means of 1, cos and sin ``(..., 2K+1)``."""
        points = np.ascontiguousarray(data[..., 0])
        *shape, n = points.shape
        flat = points.reshape(-1, n)
        sums = _power_sums(flat, self.low, self.high, self.step, self.frequencies)
        return (sums * (self._scale() / n)).reshape(*shape, -1)

    def _scale(self) -> Array:
        root = np.sqrt(self.weights)
        return np.concatenate([root, root[1:]])

    def moments(self, low: float, high: float) -> tuple[Array, Array]:
        """Return the mean ``(2K+1,)`` and covariance for one point uniform on an interval.

        A product of two features is a sum of cosines or sines at up to twice the frequency. Their
        means follow from sines and cosines at the ends.

        Args:
            low, high: ends of the interval, ``low < high``, within the domain.
        """
        highest, middle = self.frequencies, 0.5 * (self.low + self.high)
        speeds = self.step * np.arange(1, 2 * highest + 1)
        ends = np.multiply.outer(np.array([low, high]) - middle, speeds)
        length = speeds * (high - low)
        cos = np.concatenate([[1.0], np.diff(np.sin(ends), axis=0)[0] / length])
        sin = np.concatenate([[0.0], -np.diff(np.cos(ends), axis=0)[0] / length])
        of = np.arange(highest + 1)
        plus, minus = np.add.outer(of, of), np.subtract.outer(of, of)
        apart, sign = np.abs(minus), np.sign(minus)
        both_cos, both_sin = cos[apart] + cos[plus], cos[apart] - cos[plus]
        sin_cos = sin[plus] + sign * sin[apart]
        products = 0.5 * np.block([[both_cos, sin_cos[1:].T], [sin_cos[1:], both_sin[1:, 1:]]])
        mean = np.concatenate([cos[: highest + 1], sin[1 : highest + 1]])
        scale = self._scale()
        return scale * mean, np.outer(scale, scale) * (products - np.outer(mean, mean))

    def compare(self, statistics: Array, statistic: Array) -> Array:
        """Return Euclidean distances ``(T,)`` between statistics ``(T, 2K+1)`` and ``(2K+1,)``."""
        difference = statistics - statistic
        return np.sqrt(np.einsum("td,td->t", difference, difference))

    def sensitivity(self, n: int, which: str = "sharp") -> float:
        """Bound the change in the computed distance from one of ``n`` points (MATH M2).

        The sharp value includes a margin for the kernel's error and for rounding, about a
        billionth: two means of n numbers in [-1, 1] are added up in blocks, and two sums have 2K+1
        squares. The published value is larger anyway.
        """
        sensitivity = kernel.mmd_sensitivity(n, which, self.kernel_error)
        roundings = 2.0 * BLOCK + 2.0 * n / BLOCK + 3.0 * self.frequencies + 6.0
        margin = roundings * float(np.finfo(float).eps)
        return sensitivity + margin if which == "sharp" else sensitivity


@numba.njit(cache=True, nogil=True, fastmath=True)
def _power_sums(points: Array, low: float, high: float, step: float, highest: int) -> Array:
    """Sum (1, cos k h x, sin k h x), k = 1..highest, over points: ``(T, n)`` to ``(T, 2K+1)``.

    Angles are measured from the middle of the domain, which changes no distance and keeps them
    within ±π. cos a and sin a come from Taylor series at a/2 (to degree 23, exact to rounding), and
    multiples from cos((k+1)a) = 2 cos a · cos ka − cos((k−1)a), likewise for sin, with an error of
    at most 4 k² roundings. Working in blocks lets the compiler use vector instructions, which calls
    of the system's cos and sin prevent.
    """
    sets, n = points.shape
    sums = np.zeros((sets, 2 * highest + 1))
    middle = 0.5 * (low + high)
    half, square, twice = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    cos_before, cos_now = np.empty(BLOCK), np.empty(BLOCK)
    sin_before, sin_now = np.empty(BLOCK), np.empty(BLOCK)
    for t in range(sets):
        sums[t, 0] = n
        for start in range(0, n, BLOCK):
            size = min(BLOCK, n - start)
            for i in range(size):
                half[i] = 0.5 * step * (min(max(points[t, start + i], low), high) - middle)
                square[i] = half[i] * half[i]
                cos_now[i] = 1.0
                sin_now[i] = 1.0
            for j in range(11, 0, -1):
                cos_factor = 1.0 / ((2 * j - 1) * (2 * j))
                sin_factor = 1.0 / ((2 * j) * (2 * j + 1))
                for i in range(size):
                    cos_now[i] = 1.0 - cos_factor * square[i] * cos_now[i]
                    sin_now[i] = 1.0 - sin_factor * square[i] * sin_now[i]
            for i in range(size):
                c, s = cos_now[i], half[i] * sin_now[i]
                cos_before[i], sin_before[i] = 1.0, 0.0
                cos_now[i], sin_now[i] = c * c - s * s, 2.0 * c * s
                twice[i] = 2.0 * cos_now[i]
            for k in range(1, highest + 1):
                total_cos = 0.0
                total_sin = 0.0
                for i in range(size):
                    c, s = cos_now[i], sin_now[i]
                    total_cos += c
                    total_sin += s
                    cos_now[i] = twice[i] * c - cos_before[i]
                    sin_now[i] = twice[i] * s - sin_before[i]
                    cos_before[i], sin_before[i] = c, s
                sums[t, k] += total_cos
                sums[t, highest + k] += total_sin
    return sums
