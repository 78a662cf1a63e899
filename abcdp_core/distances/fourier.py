"""The MMD in linear time, exact to rounding, for points in a bounded interval (MATH M3).

The Gaussian kernel is the Fourier integral of a Gaussian. Its trapezoid rule

k(r) ≈ Σ_{k=−K..K} w_k cos(k h r),  w_k = (hℓ/√(2π)) exp(−(k h ℓ)²/2),
h = 2π/(R + τℓ),  K = ⌊τ/(hℓ)⌋

has aliasing error at most 2 exp(−τ²/2) for |r| ≤ R, the length of the interval: below rounding at
τ = 8.6. So each data set becomes 2K+1 numbers, the weighted means of cos(k h x) and sin(k h x), and
the MMD is the Euclidean distance between such vectors: O(N·K) once per data set, O(K) per pair.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numba
import numpy as np
from numpy.typing import NDArray

from abcdp_core.distances import kernel

Array = NDArray[np.float64]

TAU = 8.6
"""How many standard deviations of the kernel's spectrum are kept, and of its aliases kept away."""

BLOCK = 64
"""Points worked on at once: their powers stay in the nearest cache and fill vector registers."""


@dataclass(frozen=True)
class FourierMMD:
    """MMD of data sets of single numbers in ``[low, high]``; points outside are clipped.

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
        # Frequencies k and -k give the same cosine; the constant comes once.
        weights[1:] *= 2.0
        object.__setattr__(self, "step", step)
        object.__setattr__(self, "weights", weights)

    @property
    def frequencies(self) -> int:
        """Number K of frequencies beside the constant."""
        return len(self.weights) - 1

    @property
    def kernel_error(self) -> float:
        """Bound on |k(r) − the kernel as computed| over the domain: aliasing, cut and rounding.

        The k-th cosine and sine are off by at most 4 k² roundings (see :func:`_power_sums`), and
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
        """Bound on the error of MMD², four times the kernel's."""
        return 4.0 * self.kernel_error

    def statistic(self, data: Array) -> Array:
        """Weighted means of cos and sin: ``(..., n, 1)`` to ``(..., 2K+1)``, constant first."""
        points = np.ascontiguousarray(data[..., 0])
        shape = points.shape[:-1]
        sums = _power_sums(
            points.reshape(-1, points.shape[-1]),
            self.low,
            self.high,
            self.step,
            self.frequencies,
        )
        return (sums * (self._scale() / points.shape[-1])).reshape(*shape, -1)

    def _scale(self) -> Array:
        root = np.sqrt(self.weights)
        return np.concatenate([root, root[1:]])

    def combine(self, first: Array, n_first: int, second: Array, n_second: int) -> Array:
        """Weighted mean of the two parts' statistics."""
        total = n_first + n_second
        return first * (n_first / total) + second * (n_second / total)

    def moments(self, low: float, high: float) -> tuple[Array, Array]:
        """Mean ``(2K+1,)`` and covariance of the statistic of one point, uniform on an interval.

        In closed form: a product of two of its numbers is a sum of cosines or of sines of twice as
        many frequencies, whose means are differences of sines and cosines at the ends.

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
        products = 0.5 * np.block(
            [[both_cos, sin_cos[1:].T], [sin_cos[1:], both_sin[1:, 1:]]],
        )
        mean = np.concatenate([cos[: highest + 1], sin[1 : highest + 1]])
        scale = self._scale()
        return scale * mean, np.outer(scale, scale) * (products - np.outer(mean, mean))

    def compare(self, statistics: Array, statistic: Array) -> Array:
        """Euclidean distances ``(T,)`` between statistics ``(T, 2K+1)`` and ``(2K+1,)``."""
        difference = statistics - statistic
        return np.sqrt(np.einsum("td,td->t", difference, difference))

    def sensitivity(self, n: int, which: str = "sharp") -> float:
        """Sensitivity to one of ``n`` points (MATH M2), of the distance as it is computed.

        The kernel's error and what the sums round are the margin of the sharp value: a billionth
        of it. The published value is larger anyway.
        """
        sensitivity = kernel.mmd_sensitivity(n, which, self.kernel_error)
        return sensitivity + self._rounding(n) if which == "sharp" else sensitivity

    def _rounding(self, n: int) -> float:
        """Bound on how far the sums over ``n`` points, then over features, can move a change.

        Two means over n numbers in [-1, 1], added up in blocks, and two sums of 2K+1 squares.
        """
        roundings = 2.0 * BLOCK + 2.0 * n / BLOCK + 3.0 * self.frequencies + 6.0
        return roundings * float(np.finfo(float).eps)

    def statistic_sensitivity(self, n: int) -> float:
        """The same: the MMD is the Euclidean distance between statistics."""
        return self.sensitivity(n)


@numba.njit(cache=True, nogil=True, fastmath=True)
def _power_sums(points: Array, low: float, high: float, step: float, highest: int) -> Array:
    """Sums over points of (1, cos k h x, sin k h x), k = 1..highest: ``(T, n)`` to ``(T, 2K+1)``.

    The angle a is measured from the middle of the domain, which leaves all distances as they are
    and keeps it within ±π. cos and sin of a come from Taylor's series at a/2 (to degree 23, so to
    rounding), their multiples from cos((k+1)a) = 2 cos a · cos ka − cos((k−1)a), and sin alike,
    with an error of at most 4 k² roundings. Everything is done for a block of points at once: the
    compiler turns these loops into vector instructions, unlike calls of the system's cos and sin.
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
