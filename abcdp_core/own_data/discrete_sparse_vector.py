r"""The sparse vector technique for a person's own data: whole numbers, no seed, no trace (MATH S1).

The proof of [P21] Theorem 1 needs noise from the law that it names; floating point gives another
one. So a release in earnest counts in units of a grid. It is the same algorithm with the same
proof, for these reasons:

* *Grid.* The unit $g$ is a power of two in $[\Delta 2^{-20}, \Delta 2^{-19})$. A distance becomes
  $k(\rho) = \lfloor \rho/g \rfloor$; dividing by a power of two loses nothing.
* *Sensitivity.* If $|\rho - \rho'| \le D$, then $|k(\rho) - k(\rho')| < D/g + 1$, because a floor
  takes off less than 1; it is a whole number, hence at most $\lceil D/g \rceil$. One unit more,
  $\lceil\Delta/g\rceil + 1$, covers $D = \Delta + g$: computed distances that rounding has moved
  further apart than Δ, by up to $2^{-20} \Delta$.
* *Noise.* The scales of :func:`calibrate` for that sensitivity, rounded up to whole numbers. A
  shift by $j$ changes a probability of the discrete Laplace law by at most $e^{j/t}$, as it does
  the density of the continuous one, and every shift in the proof is a whole number.
* *Decision.* Accepted if $k(\rho_t) + \nu_t \le k(\epsilon_{abc}) + m$, in Python's whole numbers,
  which do not overflow. A tie is accepted, as without noise.

The event is the same in the unit of the distance: multiples of $g$, exact as floating point.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from abcdp_core.mechanisms import Distances, Release
from abcdp_core.mechanisms.sparse_vector import SparseVector, calibrate
from abcdp_core.privacy.discrete import RandBelow, laplace

FINENESS = 20
"""The unit of the grid is at least 2 to the minus this of the sensitivity, and below twice that."""


def release_exactly(
    comparison: Distances,
    epsilon_abc: float,
    noise: IntegerNoise,
    randbelow: RandBelow = secrets.randbelow,
) -> Release:
    """Run the mechanism once; pure differential privacy at what the noise was calibrated for.

    Args:
        comparison: finite distances.
        epsilon_abc: similarity threshold.
        noise: of :func:`integer_noise`.
        randbelow: where the noise comes from: the operating system, but for tests.

    Raises:
        ValueError: a distance is not finite.
    """
    distances = np.floor(comparison.rho / noise.unit)
    if not np.isfinite(distances).all():
        raise ValueError("a release needs finite distances.")
    accepted, stopped_at = decide(
        distances.tolist(), math.floor(epsilon_abc / noise.unit), noise, randbelow
    )
    indices = np.array(accepted, dtype=np.int64)
    weights = np.ones(len(indices)) / len(indices)
    return Release(indices, weights, stopped_at, noise.event)


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
    # Once for what is asked, which must be in range, and once for what that is on the grid.
    calibrate(epsilon_total, sensitivity, c, resample=resample)
    units = math.ceil(sensitivity / unit) + 1
    least = calibrate(epsilon_total, units, c, resample=resample)
    scales = math.ceil(least.threshold_scale), math.ceil(least.query_scale)
    return IntegerNoise(units, *scales, c, resample, unit)


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
