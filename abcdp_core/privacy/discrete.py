r"""Discrete Laplace noise, drawn exactly with the operating system's generator.

$$P(X = k) = \frac{1 - e^{-1/t}}{1 + e^{-1/t}}\, e^{-|k|/t}, \qquad k \in \mathbb{Z}.$$

Floating-point noise has gaps and uneven steps that can reveal data. So releases of real data use
whole numbers only: the sampler is Canonne, Kamath and Steinke, "The Discrete Gaussian for
Differential Privacy" (2020), Algorithms 1 and 2. It needs only uniform whole numbers.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable

RandBelow = Callable[[int], int]
"""m -> a uniform whole number from 0 to m − 1, for m >= 1."""


def laplace(scale: int, randbelow: RandBelow = secrets.randbelow, parts: int = 1) -> int:
    """Draw discrete Laplace noise of scale t = ``scale / parts`` ([CKS20] Algorithm 2).

    Args:
        scale: at least 1.
        randbelow: source of randomness; tests pass a seeded one.
        parts: at least 1.

    Raises:
        ValueError: scale or parts is not a whole number of at least 1.
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
        # Zero has no sign: with either one it would come twice too often.
        if not (negative and magnitude == 0):
            return -magnitude if negative else magnitude


def deviation(scale: float) -> float:
    """Return the standard deviation of noise of scale t > 0: √(2q)/(1 − q) with q = e^(−1/t)."""
    ratio = math.exp(-1.0 / scale)
    return math.sqrt(2.0 * ratio) / -math.expm1(-1.0 / scale)


def bernoulli_exp(numerator: int, denominator: int, randbelow: RandBelow) -> bool:
    """Return True with probability exp(−γ), γ = numerator/denominator ([CKS20] Algorithm 1).

    γ is in [0, 1]. Trial k fails with probability 1 − γ/k. The first failure comes after trial j
    with probability γʲ/j!, so its number is odd with probability 1 − γ + γ²/2! − ... = exp(−γ).
    """
    k = 1
    while randbelow(denominator * k) < numerator:
        k += 1
    return k % 2 == 1
