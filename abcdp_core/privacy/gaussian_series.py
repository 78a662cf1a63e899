r"""Gaussian noise: one answer, and a sequence of them by three accountants (MATH A12, W2, W3).

$T$ numbers of sensitivity $\Delta$ with noise of standard deviation $\sigma$ are *one* Gaussian
mechanism: one person moves the vector of all by at most $\sqrt T \Delta$. So only this matters:

$$\mu = \sqrt T\, \Delta / \sigma.$$

All accountants turn $\mu$ and $\delta$ into a valid $\epsilon$:

- ``rdp-classic`` ([P22] Proposition 1): Rényi divergence $\alpha\mu^2/2$ of order $\alpha$ and the
  conversion of Mironov (2017), whose best order gives
  $\epsilon = \mu^2/2 + \mu\sqrt{2 \ln(1/\delta)}$ (MATH W2);
- ``rdp``: the same divergence by autodp, which converts more tightly (Balle et al., 2020, Theorem
  21);
- ``exact``: $\delta = \Phi(\mu/2 - \epsilon/\mu) - e^\epsilon\,\Phi(-\mu/2 - \epsilon/\mu)$
  (MATH W3), the true cost.

autodp 0.2.3.1 takes four seconds to import. Over μ from 1e-5 to 1e4 and δ from 1e-12 to 0.9 its ε
is between the exact and the classic one. We do not use what is wrong in it: its
``ExactGaussianMechanism`` in a ``Composition`` silently becomes RDP, ``GaussianMechanism`` with
``phi_off=False`` returns a negative ε, and its calibrator can end with slightly too little noise.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from abcdp_core.privacy.calibration import (
    PRECISION,
    check_between_0_and_1,
    check_counts,
    check_one_of,
    check_positive,
    smallest_satisfying,
)
from abcdp_core.privacy.events import Gaussian, GaussianSeries

ACCOUNTANTS = ("rdp-classic", "rdp", "exact")

ROUNDING = 1e-12
"""Relative error allowed for in a conversion."""

TERM_ROUNDING = 2.0**-51
"""Relative error allowed for in a term of W3 at the argument z of Φ, in units of (1 + |z|)².

Four roundings: of z itself (and of a μ that is a quotient), each worth z² in the logarithm of Φ; of
that logarithm, about z²/2; and of its sum with ε, which is no larger.
"""

# ---------------------------------------------------------------------------------- one answer


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Return δ of a Gaussian mechanism, μ = sensitivity / standard deviation (W3), rounded up."""
    # Imported here, so that starting needs no SciPy.
    from scipy import special

    near, far = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
    first = math.exp(special.log_ndtr(near))
    second = math.exp(epsilon + special.log_ndtr(far))
    return first * (1.0 + _rounding(near)) - second * (1.0 - _rounding(far))


def _rounding(z: float) -> float:
    # Above 0, Φ hardly depends on its argument.
    depth = 1.0 + max(-z, 0.0)
    return min(TERM_ROUNDING * depth * depth, 1.0)


def gaussian_epsilon(event: Gaussian, delta: float) -> float:
    """Return ε of an answer with Gaussian noise at a given δ, rounded up; ``inf`` if none fits."""
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
    """Return the standard deviation per unit of sensitivity for a budget, rounded safely (W3).

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
    """Return the smallest number that fits, between one that does not and one that does."""
    while high - low > PRECISION * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


# ------------------------------------------------------------------------- many answers together


def epsilon(event: GaussianSeries, delta: float, accountant: str = "exact") -> float:
    """Return ε of all numbers together at a given δ, rounded up.

    Args:
        event: what was done.
        delta: δ; if it is not positive, ε is ``inf``.
        accountant: one of :data:`ACCOUNTANTS`.

    Raises:
        ValueError: the accountant is none of these.
    """
    if event.scale == 0:
        return math.inf
    return _convert(joint_mu(event), delta, accountant)


def joint_mu(event: GaussianSeries) -> float:
    """Return μ = √T Δ / σ, rounded up."""
    squared = event.steps * Fraction(event.sensitivity) ** 2 / Fraction(event.scale) ** 2
    mu = math.sqrt(event.steps) * (event.sensitivity / event.scale)
    while Fraction(mu) ** 2 < squared:
        mu = math.nextafter(mu, math.inf)
    return mu


def _convert(mu: float, delta: float, accountant: str) -> float:
    check_one_of(ACCOUNTANTS, accountant=accountant)
    if not delta > 0:
        return math.inf
    if delta >= 1:
        return 0.0
    if accountant == "exact":
        return gaussian_epsilon(Gaussian(mu, 1.0), delta)
    if accountant == "rdp":
        return _autodp(mu, delta) * (1.0 + ROUNDING)
    # The order α = 1 + √(2 ln(1/δ)) / μ is the best one.
    return (mu**2 / 2.0 + mu * math.sqrt(-2.0 * math.log(delta))) * (1.0 + ROUNDING)


def _autodp(mu: float, delta: float) -> float:
    # Imported here: it takes four seconds, and it adds the folder above this one to the path.
    path = list(sys.path)
    from autodp.mechanism_zoo import GaussianMechanism
    from autodp.transformer_zoo import Composition

    sys.path[:] = path
    composed = Composition()([GaussianMechanism(sigma=1.0 / mu)], [1])
    # Its search for the best order may begin with 0/0; any order gives a valid bound.
    with np.errstate(invalid="ignore"):
        return float(composed.get_approxDP(delta))


@functools.lru_cache(maxsize=1024)
def calibrate(
    epsilon_total: float, delta: float, steps: int, sensitivity: float, accountant: str = "exact"
) -> GaussianSeries:
    """Return the least noise whose cost is at most ``epsilon_total`` at δ, rounded safely.

    Args:
        epsilon_total: privacy budget of all numbers, above 0.
        delta: δ, between 0 and 1.
        steps: T, numbers, at least 1.
        sensitivity: Δ of each number, above 0.
        accountant: one of :data:`ACCOUNTANTS`; the exact one needs the least noise.

    Raises:
        ValueError: an argument is out of range.
    """
    check_positive(epsilon_total=epsilon_total, sensitivity=sensitivity)
    check_between_0_and_1(delta=delta)
    check_counts(steps=steps)
    scale = math.sqrt(steps) * sensitivity * _unit_scale(epsilon_total, delta, accountant)
    event = GaussianSeries(sensitivity, scale, steps)
    while epsilon(event, delta, accountant) > epsilon_total:
        event = GaussianSeries(sensitivity, event.scale * (1.0 + PRECISION), steps)
    return event


@functools.lru_cache(maxsize=1024)
def _unit_scale(epsilon_total: float, delta: float, accountant: str) -> float:
    """Return 1/μ for a budget, whatever the number of steps and the sensitivity."""
    return smallest_satisfying(
        lambda scale: _convert(1.0 / scale, delta, accountant) <= epsilon_total, start=1.0
    )
