"""Noise of the responses: Laplace or Gaussian, in proportion to the width (MATH A1, A12).

Both are drawn at scale 1 and then scaled, so another budget or another interval moves the same
noise.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from abcdp_core.privacy import Gaussian, Laplace, local

Array = NDArray[np.float64]
NoiseFamily = Literal["laplace", "gaussian"]


def unit_scale(noise: NoiseFamily, epsilon_total: float, delta: float) -> float:
    """Scale of the noise per unit of width for each person's budget.

    Args:
        noise: ``laplace``, pure privacy, or ``gaussian``, with δ.
        epsilon_total: each person's budget.
        delta: each person's δ; Laplace noise does not use it.
    """
    if noise == "laplace":
        return local.laplace_unit_scale(epsilon_total)
    return local.gaussian_unit_scale(epsilon_total, delta)


def event(noise: NoiseFamily, scale: float) -> Laplace | Gaussian:
    """What happened to one person's answer, per unit of the interval's width."""
    return Laplace(1.0, scale) if noise == "laplace" else Gaussian(1.0, scale)


def draw(rng: np.random.Generator, noise: NoiseFamily, size: int) -> Array:
    """Noise ``(size,)`` of scale 1: Laplace scale, or Gaussian standard deviation."""
    return rng.laplace(size=size) if noise == "laplace" else rng.standard_normal(size)
