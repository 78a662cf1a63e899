r"""Numbers with Gaussian noise, one after the other: three accountants (MATH W2, W3).

$T$ numbers of sensitivity $\Delta$ with noise of standard deviation $\sigma$ are *one* Gaussian
mechanism: a data point moves the vector of all by at most $\sqrt T \Delta$. So everything hangs on

$$\mu = \sqrt T\, \Delta / \sigma.$$

All three turn $\mu$ and $\delta$ into $\epsilon$, and none claims too little:

- ``rdp-classic`` ([P22] Proposition 1): Rényi divergence $\alpha\mu^2/2$ of order $\alpha$ and the
  conversion of Mironov (2017), whose best order is known:
  $\epsilon = \mu^2/2 + \mu\sqrt{2 \ln(1/\delta)}$ (MATH W2);
- ``rdp``: the same divergence by autodp, which converts more tightly (Balle et al., 2020, Theorem
  21);
- ``exact``: $\delta = \Phi(\mu/2 - \epsilon/\mu) - e^\epsilon\,\Phi(-\mu/2 - \epsilon/\mu)$
  (MATH W3), what the noise really costs.

autodp, version 0.2.3.1. Slow: importing it takes four seconds, so that is put off until ``rdp`` is
asked for; a conversion takes half a millisecond. Right: over μ from 1e-5 to 1e4 and δ from 1e-12
to 0.9 its ε lies between the exact and the classic one. Wrong elsewhere, and so not used here: its
``ExactGaussianMechanism`` in a ``Composition`` silently becomes RDP, ``GaussianMechanism`` with
``phi_off=False`` returns a negative ε, and its calibrator can end with slightly too little noise.
"""

from __future__ import annotations

import functools
import math
import sys
from fractions import Fraction

import numpy as np

from abcdp_core.privacy import local
from abcdp_core.privacy.accounting import Gaussian, GaussianSeries
from abcdp_core.privacy.calibration import (
    PRECISION,
    check_between_0_and_1,
    check_positive,
    smallest_satisfying,
)

ACCOUNTANTS = ("rdp-classic", "rdp", "exact")

ROUNDING = 1e-12
"""Relative error allowed for in a conversion."""


def epsilon(event: GaussianSeries, delta: float, accountant: str = "exact") -> float:
    """ε of all numbers together at a given δ, rounded up.

    Args:
        event: what was done.
        delta: δ; ``inf`` comes back if it is not positive, as there is no pure guarantee.
        accountant: one of :data:`ACCOUNTANTS`.

    Raises:
        ValueError: the accountant is none of these.
    """
    if event.scale == 0:
        return math.inf
    return _convert(joint_mu(event), delta, accountant)


def joint_mu(event: GaussianSeries) -> float:
    """μ = √T Δ / σ, rounded up."""
    squared = event.steps * Fraction(event.sensitivity) ** 2 / Fraction(event.scale) ** 2
    mu = math.sqrt(event.steps) * (event.sensitivity / event.scale)
    while Fraction(mu) ** 2 < squared:
        mu = math.nextafter(mu, math.inf)
    return mu


def _convert(mu: float, delta: float, accountant: str) -> float:
    if accountant not in ACCOUNTANTS:
        raise ValueError(f"accountant = {accountant}: must be one of {', '.join(ACCOUNTANTS)}.")
    if not delta > 0:
        return math.inf
    if delta >= 1:
        return 0.0
    if accountant == "exact":
        return local.gaussian_epsilon(Gaussian(mu, 1.0), delta)
    if accountant == "rdp":
        return _autodp(mu, delta) * (1.0 + ROUNDING)
    # The order α = 1 + √(2 ln(1/δ)) / μ is the best one.
    return (mu**2 / 2.0 + mu * math.sqrt(-2.0 * math.log(delta))) * (1.0 + ROUNDING)


def _autodp(mu: float, delta: float) -> float:
    # Imported here: it takes four seconds, and most sessions never ask for this. It puts the folder
    # above this one on the path, whose other folders would then be importable.
    path = list(sys.path)
    from autodp.mechanism_zoo import GaussianMechanism
    from autodp.transformer_zoo import Composition

    sys.path[:] = path
    composed = Composition()([GaussianMechanism(sigma=1.0 / mu)], [1])
    # Its search for the best order may begin with 0/0; any order gives a true bound.
    with np.errstate(invalid="ignore"):
        return float(composed.get_approxDP(delta))


@functools.lru_cache(maxsize=1024)
def calibrate(
    epsilon_total: float, delta: float, steps: int, sensitivity: float, accountant: str = "exact"
) -> GaussianSeries:
    """The least noise whose cost is at most ``epsilon_total`` at δ, rounded to the safe side.

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
    if steps < 1:
        raise ValueError(f"steps = {steps}: must be at least 1.")
    scale = math.sqrt(steps) * sensitivity * _unit_scale(epsilon_total, delta, accountant)
    event = GaussianSeries(sensitivity, scale, steps)
    while epsilon(event, delta, accountant) > epsilon_total:
        event = GaussianSeries(sensitivity, event.scale * (1.0 + PRECISION), steps)
    return event


@functools.lru_cache(maxsize=1024)
def _unit_scale(epsilon_total: float, delta: float, accountant: str) -> float:
    """1/μ for a budget: the same for all numbers of steps and sensitivities."""
    return smallest_satisfying(
        lambda scale: _convert(1.0 / scale, delta, accountant) <= epsilon_total, start=1.0
    )
