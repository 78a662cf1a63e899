r"""Laplace noise on whole numbers, drawn exactly, from the operating system's generator.

$$P(X = k) = \frac{1 - e^{-1/t}}{1 + e^{-1/t}}\, e^{-|k|/t}, \qquad k \in \mathbb{Z}.$$

Noise in floating point has gaps and uneven steps that tell data sets apart which it should hide. So
a release of somebody's own data uses whole numbers, and no floating point touches the noise: the
sampler is Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential Privacy" (2020),
Algorithms 1 and 2. It needs nothing but uniform whole numbers below a given one.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable

RandBelow = Callable[[int], int]
"""m -> a uniform whole number from 0 up to, not including, m >= 1."""


def laplace(scale: int, randbelow: RandBelow = secrets.randbelow, parts: int = 1) -> int:
    """One draw of discrete Laplace noise of scale t = ``scale / parts`` ([CKS20] Algorithm 2).

    Args:
        scale: at least 1.
        randbelow: where chance comes from; tests give a seeded one.
        parts: at least 1.

    Raises:
        ValueError: one of the two is not a whole number from 1 up.
    """
    for name, value in (("scale", scale), ("parts", parts)):
        if not isinstance(value, int) or value < 1:
            raise ValueError(f"{name} = {value}: must be a whole number, at least 1.")
    while True:
        remainder = randbelow(scale)
        if not bernoulli_exp(remainder, scale, randbelow):
            continue
        quotient = 0
        while bernoulli_exp(1, 1, randbelow):
            quotient += 1
        # At least i · parts with probability exp(−i · parts / scale) = exp(−i / t).
        magnitude = (remainder + scale * quotient) // parts
        negative = randbelow(2) == 1
        # Zero has no sign: kept with either, it would come twice as often as it should.
        if not (negative and magnitude == 0):
            return -magnitude if negative else magnitude


def deviation(scale: float) -> float:
    """Standard deviation of the noise of scale t: √(2q)/(1 − q) with q = e^(−1/t).

    Args:
        scale: t, above 0.
    """
    ratio = math.exp(-1.0 / scale)
    return math.sqrt(2.0 * ratio) / -math.expm1(-1.0 / scale)


def bernoulli_exp(numerator: int, denominator: int, randbelow: RandBelow) -> bool:
    """True with probability exp(−γ), γ = numerator/denominator in [0, 1] ([CKS20] Algorithm 1).

    The first k that fails with probability 1 − γ/k is beyond j with probability γʲ/j!, so it is odd
    with probability 1 − γ + γ²/2! − γ³/3! + ... = exp(−γ).
    """
    k = 1
    while randbelow(denominator * k) < numerator:
        k += 1
    return k % 2 == 1
