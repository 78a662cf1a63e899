"""Noise of the responses: Laplace or Gaussian, in proportion to the width (MATH A1, A12).

Noise is drawn at scale 1 and then scaled, so it stays comparable between budgets and intervals.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from abcdp_core.base.arrays import Array
from abcdp_core.privacy import Gaussian, Laplace
from abcdp_core.privacy.calibration import laplace_unit_scale
from abcdp_core.privacy.gaussian_series import gaussian_unit_scale

NoiseFamily = Literal["laplace", "gaussian"]


def unit_scale(noise: NoiseFamily, epsilon_total: float, delta: float) -> float:
    """Return the noise scale per unit of width for each person's ε, and δ for Gaussian noise."""
    if noise == "laplace":
        return laplace_unit_scale(epsilon_total)
    return gaussian_unit_scale(epsilon_total, delta)


def event(noise: NoiseFamily, scale: float) -> Laplace | Gaussian:
    """Return the privacy event of one answer, per unit of the interval's width."""
    return Laplace(1.0, scale) if noise == "laplace" else Gaussian(1.0, scale)


def draw(rng: np.random.Generator, noise: NoiseFamily, size: int) -> Array:
    """Draw noise ``(size,)`` of Laplace scale 1, or of standard deviation 1."""
    return rng.laplace(size=size) if noise == "laplace" else rng.standard_normal(size)
