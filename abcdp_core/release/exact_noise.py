r"""Noise for a person's own data: whole numbers, from the operating system (MATH E5, E7, S1).

A release is exact if its noise has the law that the proof names; floating point gives another one.
So every mechanism here adds noise to whole numbers. The noise compares uniform whole numbers
(:func:`~abcdp_core.privacy.discrete.laplace`), and Python's whole numbers do not overflow.

**Numbers.** Number j of a summary s is a multiple of $1/w_j$. Released is
$z_j = (w_j s_j + \nu_j)/w_j$ with independent $P(\nu_j = k) \propto e^{-|k|/t_j}$, $t_j = w_j b$.
For neighbors y, y' and every z

$$\log \frac{P(z \mid y)}{P(z \mid y')} \le \sum_j \frac{w_j |s_j(y) - s_j(y')|}{t_j}
= \frac{1}{b} \sum_j |s_j(y) - s_j(y')| \le \frac{\Delta_1}{b} .$$

* *Sensitivity.* The scenario states in fractions how far one unit moves each number
  (:mod:`~abcdp_core.statistic`); the float for $\Delta_1$ is rounded up. Where units are added or
  removed, their number is in none of the formulas, and is read only as one of the noisy numbers.
* *Counts.* Each value is clipped and compared with the edges by itself, and is in exactly one of K
  cells, however floating point rounds. Another value in its place moves two counts by 1, or none:
  $\Delta_1$ = :data:`SENSITIVITY` = 2.
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
  probability of the discrete Laplace law by at most $e^{j/t}$, and every shift is a whole number.
* *Decision.* Accepted if $k(\rho_t) + \nu_t \le k(\epsilon_{abc}) + m$; a tie is accepted.

All that follows looks at what was released and at what is public, and costs nothing.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np

from abcdp_core.mechanisms import Distances, Release
from abcdp_core.mechanisms.private_summary import SummaryNoise
from abcdp_core.mechanisms.sparse_vector import SparseVector, calibrate
from abcdp_core.privacy import Cost, Event, cost
from abcdp_core.privacy.calibration import round_up
from abcdp_core.privacy.discrete import RandBelow, deviation, laplace
from abcdp_core.statistic import Statistic

PARTS = 2**20
"""The scale of the noise is a multiple of 1 over this."""

SENSITIVITY = 2
"""Most by which another value in place of one moves all counts, added up."""

FINENESS = 20
"""The unit of the grid is at least 2 to the minus this of the sensitivity, and below twice that."""


def least_scale(epsilon_total: float, sensitivity: float) -> float:
    """The least scale of noise on the grid that keeps the budget.

    Args:
        epsilon_total: privacy budget, above 0 and finite.
        sensitivity: most that one unit moves the numbers, added up.

    Raises:
        ValueError: the budget is not.
    """
    if not 0.0 < epsilon_total < math.inf:
        raise ValueError(f"epsilon_total = {epsilon_total}: must be positive and finite.")
    exact = min(Fraction(epsilon_total), Fraction(Decimal(repr(float(epsilon_total)))))
    return math.ceil(Fraction(sensitivity) * PARTS / exact) / PARTS


def with_noise(
    numbers: Sequence[int], scales: Sequence[float], randbelow: RandBelow = secrets.randbelow
) -> list[int]:
    """Add to each whole number its own noise.

    Args:
        numbers: one for each scale.
        scales: multiples of ``1 / PARTS``.
        randbelow: where the noise comes from: the operating system, except in tests.

    Raises:
        ValueError: there are more or fewer numbers than scales.
    """
    if len(numbers) != len(scales):
        raise ValueError(f"{len(numbers)} numbers: must be {len(scales)}.")
    return [
        int(number) + laplace(int(scale * PARTS), randbelow, PARTS)
        for number, scale in zip(numbers, scales, strict=True)
    ]


def summary_noise(statistic: Statistic, n: int, k: int, epsilon_total: float) -> SummaryNoise:
    """The least noise on the grid of scales that keeps the budget.

    Args:
        statistic: what is released, multiples of fractions.
        n: rows of the data, public.
        k: how many numbers these have, public.
        epsilon_total: privacy budget, above 0 and finite.

    Raises:
        ValueError: the budget is not, or the numbers are real.
    """
    sensitivity = statistic.l1(n)
    scale = least_scale(epsilon_total, sensitivity)
    return SummaryNoise(
        statistic.unit, statistic.neighbours, sensitivity, scale, statistic.steps(k)
    )


# ---------------------------------------------------------------------------------------- counts


@dataclass(frozen=True)
class CountNoise(Event):
    """Counts of some cells, each with discrete Laplace noise.

    Attributes:
        sensitivity: most that one value moves the counts, added up.
        scale: t of the noise on every count, on the grid of scales.
        cells: how many counts.
    """

    sensitivity: int
    scale: float
    cells: int

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise on one count."""
        return deviation(self.scale)

    def steps(self) -> list[float]:
        """Scale of the noise on each count."""
        return [self.scale] * self.cells


@cost.register
def _(event: CountNoise, delta: float = 0.0) -> Cost:  # noqa: ARG001 - pure, so delta is 0
    return Cost(round_up(Fraction(event.sensitivity) / Fraction(event.scale)))


def count_noise(epsilon_total: float, cells: int) -> CountNoise:
    """The least noise on the grid of scales that keeps the budget.

    Args:
        epsilon_total: privacy budget, above 0 and finite.
        cells: how many counts are released.

    Raises:
        ValueError: the budget is not.
    """
    return CountNoise(SENSITIVITY, least_scale(epsilon_total, SENSITIVITY), cells)


# --------------------------------------------------------------------------------- sparse vector


def grid(sensitivity: float) -> float:
    """The smallest power of two that is at least ``sensitivity`` · 2⁻²⁰."""
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
    """The noise that a budget asks for on a grid, every rounding on the safe side.

    Args:
        epsilon_total: privacy budget, above 0.
        sensitivity: Δ of every distance, above 0.
        c: acceptances, at least 1.
        unit: of the grid.
        resample: whether the threshold's noise is redrawn after each acceptance.

    Raises:
        ValueError: an argument is out of range; there is no release without noise.
    """
    # Once to check the range of what is asked, and once for what that is on the grid.
    calibrate(epsilon_total, sensitivity, c, resample=resample)
    units = math.ceil(sensitivity / unit) + 1
    least = calibrate(epsilon_total, units, c, resample=resample)
    scales = math.ceil(least.threshold_scale), math.ceil(least.query_scale)
    return IntegerNoise(units, *scales, c, resample, unit)


def release_exactly(
    comparison: Distances,
    epsilon_abc: float,
    noise: IntegerNoise,
    randbelow: RandBelow = secrets.randbelow,
) -> Release:
    """Run the sparse vector once; pure differential privacy at what the noise was calibrated for.

    Args:
        comparison: finite distances.
        epsilon_abc: similarity threshold.
        noise: of :func:`integer_noise`.
        randbelow: where the noise comes from: the operating system, except in tests.

    Raises:
        ValueError: a distance is not finite.
    """
    distances = np.floor(comparison.rho / noise.unit)
    if not np.isfinite(distances).all():
        raise ValueError("a release needs finite distances.")
    threshold = math.floor(epsilon_abc / noise.unit)
    accepted, stopped_at = decide(distances.tolist(), threshold, noise, randbelow)
    indices = np.array(accepted, dtype=np.int64)
    weights = np.ones(len(indices)) / len(indices)
    return Release(indices, weights, stopped_at, noise.event)


def decide(
    distances: Sequence[float], threshold: int, noise: IntegerNoise, randbelow: RandBelow
) -> tuple[list[int], int]:
    """Accepted draws and the number of draws looked at; noise is drawn as it is needed.

    Args:
        distances: whole numbers ``(T,)``.
        threshold: a whole number.
        noise: its scales, c, and whether the threshold is drawn anew after each acceptance.
        randbelow: where chance comes from.
    """
    accepted: list[int] = []
    noisy_threshold = threshold + laplace(noise.threshold_scale, randbelow)
    for t, distance in enumerate(distances):
        if int(distance) + laplace(noise.query_scale, randbelow) <= noisy_threshold:
            accepted.append(t)
            if len(accepted) == noise.c:
                return accepted, t + 1
            if noise.resample:
                noisy_threshold = threshold + laplace(noise.threshold_scale, randbelow)
    return accepted, len(distances)
