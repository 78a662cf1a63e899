r"""Add noise to a person's own data: whole numbers, from the operating system (MATH E5, E7, S1).

A release is exact if its noise has the distribution that the proof names; floating point gives
another one. So every mechanism here adds noise to whole numbers. The sampler compares uniform whole
numbers (:func:`~abcdp_core.privacy.discrete.laplace`), and Python's whole numbers do not overflow.

**Numbers.** Number j of a summary s is a multiple of $1/w_j$. The release is
$z_j = (w_j s_j + \nu_j)/w_j$ with independent $P(\nu_j = k) \propto e^{-|k|/t_j}$, $t_j = w_j b$.
For neighbors y, y' and every z

$$\log \frac{P(z \mid y)}{P(z \mid y')} \le \sum_j \frac{w_j |s_j(y) - s_j(y')|}{t_j}
= \frac{1}{b} \sum_j |s_j(y) - s_j(y')| \le \frac{\Delta_1}{b} .$$

* *Sensitivity.* The scenario states in fractions how far one unit moves each number
  (:mod:`~abcdp_core.base.statistic`); the float for $\Delta_1$ is rounded up. If units are added or
  removed, their number is in none of the formulas, and is read only as one of the noisy numbers.
* *Counts.* Each value is clipped and compared with the edges by itself, and is in exactly one of K
  cells, however floating point rounds. Another value in its place moves two counts by 1, or none:
  $\Delta_1$ = 2.
* *Rounding.* $b = \lceil \Delta_1 G / \epsilon \rceil / G$ with $G$ = :data:`PARTS`, by exact
  arithmetic from the smaller of the float ε and the decimal number that it is written as. So
  $\Delta_1 / b \le \epsilon$; as G is a power of two, floating point holds b and all $t_j$ exactly.
  $w_j s_j$ is rounded from sums of whole numbers far below $2^{53}$, which are exact.

**Sparse vector.** The proof of [P21] Theorem 1 holds in units of a grid:

* *Grid.* The unit g is a power of two in $[\Delta 2^{-20}, \Delta 2^{-19})$. A distance becomes
  $k(\rho) = \lfloor \rho/g \rfloor$; dividing by a power of two loses nothing.
* *Sensitivity.* If $|\rho - \rho'| \le D$, then $|k(\rho) - k(\rho')| \le \lceil D/g \rceil$.
  $\lceil\Delta/g\rceil + 1$ covers $D = \Delta + g$: distances that rounding has moved apart.
* *Noise.* The scales of :func:`calibrate` for that sensitivity, rounded up. A shift by j changes a
  probability of the discrete Laplace distribution by at most $e^{j/t}$, and every shift is a whole
  number.
* *Decision.* Keep a draw if $k(\rho_t) + \nu_t \le k(\epsilon_{abc}) + m$; a tie is kept.

Everything else depends only on the release and on public settings, and spends nothing.
"""

from __future__ import annotations

import functools
import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np

from abcdp_core.base.statistic import Statistic
from abcdp_core.mechanisms import Distances, Release
from abcdp_core.mechanisms.private_summary import SummaryNoise
from abcdp_core.mechanisms.sparse_vector import SparseVector, calibrate
from abcdp_core.privacy.discrete import RandBelow, laplace

PARTS = 2**20
"""Noise scales are multiples of 1 over this."""

FINENESS = 20
"""The unit of the grid is from the sensitivity times 2 to the minus this to below twice that."""


def least_scale(epsilon_total: float, sensitivity: float) -> float:
    """Return the least noise scale, a multiple of 1 / :data:`PARTS`, that keeps a budget.

    Raises:
        ValueError: the budget is not positive and finite.
    """
    if not 0.0 < epsilon_total < math.inf:
        raise ValueError(f"epsilon_total = {epsilon_total}: must be positive and finite.")
    exact = min(Fraction(epsilon_total), Fraction(Decimal(repr(float(epsilon_total)))))
    return math.ceil(Fraction(sensitivity) * PARTS / exact) / PARTS


def with_noise(
    numbers: Sequence[int], scales: Sequence[float], randbelow: RandBelow = secrets.randbelow
) -> list[int]:
    """Add noise to each whole number, with its own scale, a multiple of 1 / :data:`PARTS`.

    Raises:
        ValueError: there are more or fewer numbers than scales.
    """
    if len(numbers) != len(scales):
        raise ValueError(f"{len(numbers)} numbers: must be {len(scales)}.")
    return [
        int(number) + laplace(int(scale * PARTS), randbelow, PARTS)
        for number, scale in zip(numbers, scales, strict=True)
    ]


@functools.lru_cache(maxsize=16)
def summary_noise(statistic: Statistic, n: int, k: int, epsilon_total: float) -> SummaryNoise:
    """Return the least noise for the k numbers of n rows that keeps a budget; n and k are public.

    Raises:
        ValueError: the budget is not positive and finite, or the numbers are real.
    """
    sensitivity = statistic.l1(n)
    scale = least_scale(epsilon_total, sensitivity)
    return SummaryNoise(
        statistic.unit, statistic.neighbours, sensitivity, scale, statistic.steps(k)
    )


def grid(sensitivity: float) -> float:
    """Return the smallest power of two that is at least ``sensitivity`` · 2⁻²⁰."""
    mantissa, exponent = math.frexp(sensitivity)
    # sensitivity = mantissa · 2^exponent with 1/2 <= mantissa < 1.
    return math.ldexp(1.0, exponent - FINENESS - (mantissa == 0.5))


@dataclass(frozen=True)
class IntegerNoise:
    """The noise of a run, in units of its grid; fields as in :class:`SparseVector`."""

    sensitivity: int
    threshold_scale: int
    query_scale: int
    c: int
    resample: bool
    unit: float

    @property
    def event(self) -> SparseVector:
        """The event in the unit of the distance; exact, as ``unit`` is a power of two."""
        return SparseVector(
            self.sensitivity * self.unit,
            self.threshold_scale * self.unit,
            self.query_scale * self.unit,
            self.c,
            self.resample,
        )


def integer_noise(
    epsilon_total: float, sensitivity: float, c: int, unit: float, *, resample: bool
) -> IntegerNoise:
    """Return the noise for a budget on a grid; every rounding errs on the side of privacy.

    Raises:
        ValueError: budget or sensitivity is not positive and finite, or c is below 1.
    """
    # The first call checks the range of the request; the second has the sensitivity on the grid.
    calibrate(epsilon_total, sensitivity, c, resample=resample)
    units = math.ceil(sensitivity / unit) + 1
    least = calibrate(epsilon_total, units, c, resample=resample)
    return IntegerNoise(
        units, math.ceil(least.threshold_scale), math.ceil(least.query_scale), c, resample, unit
    )


def release_exactly(
    comparison: Distances,
    epsilon_abc: float,
    noise: IntegerNoise,
    randbelow: RandBelow = secrets.randbelow,
) -> Release:
    """Run the sparse vector once, with pure differential privacy at the budget of the noise.

    Raises:
        ValueError: a distance is not finite.
    """
    distances = np.floor(comparison.rho / noise.unit)
    if not np.isfinite(distances).all():
        raise ValueError("a release needs finite distances.")
    threshold = math.floor(epsilon_abc / noise.unit)
    kept, stopped_at = decide(distances.tolist(), threshold, noise, randbelow)
    indices = np.array(kept, dtype=np.int64)
    weights = np.ones(len(indices)) / len(indices)
    return Release(indices, weights, stopped_at, noise.event)


def decide(
    distances: Sequence[float], threshold: int, noise: IntegerNoise, randbelow: RandBelow
) -> tuple[list[int], int]:
    """Return the kept draws and the number of draws compared, for whole distances ``(T,)``."""
    kept: list[int] = []
    noisy_threshold = threshold + laplace(noise.threshold_scale, randbelow)
    for t, distance in enumerate(distances):
        if int(distance) + laplace(noise.query_scale, randbelow) <= noisy_threshold:
            kept.append(t)
            if len(kept) == noise.c:
                return kept, t + 1
            if noise.resample:
                noisy_threshold = threshold + laplace(noise.threshold_scale, randbelow)
    return kept, len(distances)
