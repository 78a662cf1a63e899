r"""Location-scale families: X = μ + σZ, where Z has one of these base distributions (MATH A4).

All are symmetric about 0. The normal, logistic and Student base densities are smooth; the Laplace
density has a kink at 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from abcdp_core.base.arrays import Array

Size = int | tuple[int, ...]

DEGREES = 5
"""Degrees of freedom of the Student distribution: heavy tails, finite variance."""


@dataclass(frozen=True)
class Family:
    """A base distribution of Z with location 0 and scale 1; functions act elementwise.

    Attributes:
        name: as in :data:`FAMILIES`.
        density, score: of Z at z, and its logarithm's derivative.
        cdf: P(Z <= z), accurate in the lower tail.
        draw: independent draws of a given size.
    """

    name: str
    density: Callable[[Array], Array]
    cdf: Callable[[Array], Array]
    score: Callable[[Array], Array]
    draw: Callable[[np.random.Generator, Size], Array]

    def survival(self, z: Array) -> Array:
        """Return P(Z > z), accurate in the upper tail."""
        return self.cdf(-z)


def _laplace_cdf(z: Array) -> Array:
    half = 0.5 * np.exp(-np.abs(z))
    return np.where(z < 0.0, half, 1.0 - half)


NORMAL = Family(
    name="normal",
    density=lambda z: np.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi),
    cdf=special.ndtr,
    score=lambda z: -z,
    draw=lambda rng, size: rng.standard_normal(size),
)
LAPLACE = Family(
    name="laplace",
    density=lambda z: 0.5 * np.exp(-np.abs(z)),
    cdf=_laplace_cdf,
    score=lambda z: -np.sign(z),
    draw=lambda rng, size: rng.laplace(size=size),
)
LOGISTIC = Family(
    name="logistic",
    density=lambda z: special.expit(z) * special.expit(-z),
    cdf=special.expit,
    score=lambda z: -np.tanh(0.5 * z),
    draw=lambda rng, size: rng.logistic(size=size),
)
STUDENT = Family(
    name="student-t",
    density=lambda z: 8.0 / (3.0 * math.pi * math.sqrt(5.0)) * (1.0 + z**2 / DEGREES) ** -3,
    cdf=lambda z: special.stdtr(DEGREES, z),
    score=lambda z: -(DEGREES + 1) * z / (DEGREES + z**2),
    draw=lambda rng, size: rng.standard_t(DEGREES, size),
)

FAMILIES = {family.name: family for family in (NORMAL, LAPLACE, LOGISTIC, STUDENT)}
"""Name -> base distribution."""
