r"""Noise of one bounded answer: what it costs, and the scale a budget asks for (MATH A1, A12, W3).

An answer in $[l, r]$ has sensitivity $r - l$. With Laplace noise of scale $s$ it is
$(r-l)/s$-differentially private. With Gaussian noise of standard deviation $s$ it is
$(\epsilon, \delta)$-differentially private exactly for

$$\delta \ge \Phi(\mu/2 - \epsilon/\mu) - e^\epsilon\,\Phi(-\mu/2 - \epsilon/\mu), \qquad
\mu = (r-l)/s. \tag{W3}$$

A Laplace variable of scale $s$ has the standard deviation $\sqrt{2}\,s$; the two are never mixed.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from abcdp_core.privacy.accounting import Gaussian
from abcdp_core.privacy.calibration import (
    PRECISION,
    check_between_0_and_1,
    check_positive,
    scale_for,
)

ROUNDING = 2.0**-51
"""Relative error allowed for in a term of W3 at the argument z of Φ, in units of (1 + |z|)².

Four roundings: of z itself (and of a μ that is a quotient), each worth z² in the logarithm of Φ; of
that logarithm, about z²/2; and of its sum with ε, which is no larger.
"""


def laplace_unit_scale(epsilon_total: float) -> float:
    """Laplace scale per unit of sensitivity for a budget, rounded to the safe side (MATH A1).

    Raises:
        ValueError: the budget is not positive and finite.
    """
    check_positive(epsilon_total=epsilon_total)
    return scale_for(epsilon_total, 1.0)


def gaussian_delta(mu: float, epsilon: float) -> float:
    """δ of a Gaussian mechanism with μ = sensitivity / standard deviation (MATH W3), rounded up."""
    # Inside the function: what needs none of these functions starts without SciPy.
    from scipy import special

    near, far = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
    first = math.exp(special.log_ndtr(near))
    second = math.exp(epsilon + special.log_ndtr(far))
    return first * (1.0 + _rounding(near)) - second * (1.0 - _rounding(far))


def _rounding(z: float) -> float:
    # Above 0 Φ hardly follows its argument.
    depth = 1.0 + max(-z, 0.0)
    return min(ROUNDING * depth * depth, 1.0)


def gaussian_epsilon(event: Gaussian, delta: float) -> float:
    """ε of an answer with Gaussian noise at a given δ, rounded up; ``inf`` if there is none."""
    if event.scale == 0 or delta <= 0:
        return math.inf
    mu = event.sensitivity / event.scale
    low, high = 0.0, 1.0
    while gaussian_delta(mu, high) > delta:
        low, high = high, 2 * high
    if gaussian_delta(mu, 0.0) <= delta:
        return 0.0
    return _bisect(low, high, lambda epsilon: gaussian_delta(mu, epsilon) <= delta)


def gaussian_unit_scale(epsilon_total: float, delta: float) -> float:
    """Standard deviation per unit of sensitivity for a budget, rounded to the safe side (MATH W3).

    Raises:
        ValueError: the budget is not positive and finite, or δ does not lie between 0 and 1.
    """
    check_positive(epsilon_total=epsilon_total)
    check_between_0_and_1(delta=delta)

    def private(scale: float) -> bool:
        return gaussian_delta(1.0 / scale, epsilon_total) <= delta

    low = high = 1.0
    while not private(high):
        low, high = high, 2 * high
    while private(low):
        low, high = low / 2, low
    return _bisect(low, high, private)


def _bisect(low: float, high: float, fits: Callable[[float], bool]) -> float:
    """The smallest number that fits, between one that does not and one that does."""
    while high - low > PRECISION * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high
