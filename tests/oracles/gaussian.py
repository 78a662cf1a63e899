"""δ of a Gaussian mechanism to 30 digits and more, in decimal arithmetic (MATH W3)."""

from __future__ import annotations

import decimal
import math
from decimal import Decimal

DIGITS = 40


def delta(epsilon: float, sensitivity: float, scale: float = 1.0) -> Decimal:
    """Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ), μ = sensitivity / scale, of floating-point numbers."""
    largest = sensitivity / scale / 2.0 + epsilon * scale / sensitivity
    with decimal.localcontext() as context:
        context.prec = DIGITS + math.ceil((largest**2 / 2.0 + epsilon) / math.log(10.0))
        mu = Decimal(sensitivity) / Decimal(scale)
        half, moved = mu / 2, Decimal(epsilon) / mu
        return _ndtr(half - moved) - Decimal(epsilon).exp() * _ndtr(-half - moved)


def _ndtr(x: Decimal) -> Decimal:
    """Φ(x) = 1/2 + φ(x) Σ x^(2k+1) / (1·3·5···(2k+1)), of which no two terms cancel."""
    context = decimal.getcontext()
    term, total, k = x, x, 0
    smallest = Decimal(10) ** -(context.prec + 2)
    while abs(term) > smallest * abs(total):
        k += 1
        term *= x * x / (2 * k + 1)
        total += term
    return Decimal("0.5") + total * (-x * x / 2).exp() / (2 * _pi()).sqrt()


def _pi() -> Decimal:
    """π = 16 arctan(1/5) − 4 arctan(1/239)."""

    def arctan_of_inverse(n: int) -> Decimal:
        power = total = Decimal(1) / n
        k, smallest = 1, Decimal(10) ** -(decimal.getcontext().prec + 2)
        while power > smallest:
            power /= n * n
            total += (-1) ** k * power / (2 * k + 1)
            k += 1
        return total

    return 16 * arctan_of_inverse(5) - 4 * arctan_of_inverse(239)
