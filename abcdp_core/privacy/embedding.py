r"""Noise of one released vector: what it costs, and the scale a budget asks for (MATH E1).

A vector that one person can move by at most $\Delta$ in the L2 norm is $\epsilon$-differentially
private with noise of density proportional to $\exp(-\|z\|_2 / s)$, $s = \Delta/\epsilon$: for any
two of its values $v, v'$ and any outcome $y$, by the triangle inequality,

$$\frac{\|y - v'\|_2 - \|y - v\|_2}{s} \le \frac{\Delta}{s} = \epsilon,$$

with equality for every $y$ on the line through both, beyond $v$. In polar coordinates of $D$
dimensions the density is that of a length $\|z\| \sim \mathrm{Gamma}(D, s)$ and, independent of
it, a direction uniform on the sphere. $(\epsilon, \delta)$: Gaussian noise (MATH W3).

Noise here is in floating point, good for studies; its last digits are not of the law that the
proof is about.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from abcdp_core.privacy.accounting import Gaussian, NormNoise
from abcdp_core.privacy.calibration import scale_for
from abcdp_core.privacy.local import gaussian_delta, gaussian_unit_scale

Array = NDArray[np.float64]


def calibrate(
    epsilon_total: float, delta: float, sensitivity: float, dimension: int
) -> NormNoise | Gaussian:
    """The least noise whose cost is at most the budget, rounded to the safe side (MATH E1, W3).

    Args:
        epsilon_total: privacy budget, above 0.
        delta: 0 for a pure guarantee, else below 1.
        sensitivity: most, in the L2 norm, that one person can change the vector; above 0.
        dimension: of the vector, at least 1.

    Raises:
        ValueError: an argument is out of range.
    """
    if not (0 < epsilon_total < math.inf and 0 < sensitivity < math.inf and dimension >= 1):
        raise ValueError(
            "calibration needs a positive finite budget and sensitivity, and dimension >= 1."
        )
    if delta == 0:
        return NormNoise(sensitivity, scale_for(epsilon_total, sensitivity), dimension)
    scale = sensitivity * gaussian_unit_scale(epsilon_total, delta)
    while gaussian_delta(sensitivity / scale, epsilon_total) > delta:
        scale = math.nextafter(scale, math.inf)
    return Gaussian(sensitivity, scale)


def draw_norm_noise(rng: np.random.Generator, dimension: int, size: tuple[int, ...] = ()) -> Array:
    """Noise ``(*size, dimension)`` of scale 1: density proportional to exp(−‖z‖₂)."""
    direction = rng.standard_normal((*size, dimension))
    direction /= np.linalg.norm(direction, axis=-1, keepdims=True)
    return rng.gamma(dimension, size=(*size, 1)) * direction


def draw(
    rng: np.random.Generator,
    event: NormNoise | Gaussian,
    dimension: int,
    size: tuple[int, ...] = (),
) -> Array:
    """Noise ``(*size, dimension)`` of an event's law, drawn at scale 1 and then scaled."""
    unit = (
        draw_norm_noise(rng, dimension, size)
        if isinstance(event, NormNoise)
        else rng.standard_normal((*size, dimension))
    )
    return event.scale * unit


def log_density(event: NormNoise | Gaussian, distance: Array) -> Array:
    """Logarithm of the noise's density at points so far from 0, up to a constant."""
    scaled = distance / event.scale
    return -scaled if isinstance(event, NormNoise) else -0.5 * scaled**2
