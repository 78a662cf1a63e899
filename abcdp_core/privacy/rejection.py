r"""Decisions about clipped distances with Gaussian noise: cost and calibration (MATH R1, R2).

A decision accepts if $\rho + N(0, \sigma^2) \le \epsilon_{abc}$, with $\rho$ clipped to
$[0, B_\rho]$ and moved by at most $\Delta$ by one data point. No decision is rarer than

$$p = \Phi(x/\sigma), \qquad x = \min(\epsilon_{abc} - B_\rho,\; -\epsilon_{abc}) \le -B_\rho/2,$$

the first if an acceptance at $\rho = B_\rho$ is the rarest, the second if a rejection at 0 is.

*Published* ([P22] Theorem 3.1): one decision is $\epsilon$-differentially private with

$$\epsilon = h(\sigma) = \min\bigl(1, \Delta / \sqrt{2\pi\sigma^2}\bigr) \,/\, \Phi(x/\sigma).
\tag{R1}$$

*Exact:* with $\Delta' = \min(\Delta, B_\rho)$, which is all that two clipped distances can differ
by,

$$\epsilon = \ln \Phi((x + \Delta')/\sigma) - \ln \Phi(x/\sigma). \tag{R2}$$

For $\ln\Phi$ is concave, so a shift by $\Delta'$ changes it most where its argument is smallest,
and that is $x/\sigma$, whichever decision it belongs to. Both are strictly decreasing in $\sigma$
and reach every positive value; neither minds $\epsilon_{abc} > B_\rho$, where it is the rejections
that are rare. All $T$ decisions are released, and at worst every one of them loses as much, so
their costs add up: $\epsilon_{total} = T \epsilon$.
"""

from __future__ import annotations

import functools
import math

from abcdp_core.privacy.calibration import smallest_satisfying
from abcdp_core.privacy.events import GaussianRejection

ACCOUNTANTS = ("published", "exact")

ROUNDING = 1e-14
"""Relative error allowed for in a logarithm of Φ."""


def decision_epsilon(event: GaussianRejection, accountant: str = "exact") -> float:
    """ε of one decision, rounded up; ``inf`` without noise.

    Args:
        event: what was done.
        accountant: ``published`` for R1, ``exact`` for R2.

    Raises:
        ValueError: the accountant is none of these.
    """
    if accountant not in ACCOUNTANTS:
        raise ValueError(f"accountant = {accountant}: must be one of {', '.join(ACCOUNTANTS)}.")
    if event.scale == 0:
        return math.inf
    return _published(event) if accountant == "published" else _exact(event)


def _rarest(event: GaussianRejection) -> float:
    """x: −x/σ standard deviations of luck make the rarest decision."""
    return min(event.epsilon_abc - event.bound, -event.epsilon_abc)


def _published(event: GaussianRejection) -> float:
    # Inside the function: what needs none of these functions starts without SciPy.
    from scipy import special

    rarest = float(special.log_ndtr(_rarest(event) / event.scale))
    change = math.log(event.sensitivity) - math.log(event.scale) - 0.5 * math.log(2.0 * math.pi)
    logarithm = min(0.0, change) - rarest * (1.0 + ROUNDING) + ROUNDING * (1.0 + abs(change))
    # Beyond, the exponential has no floating-point number.
    return math.exp(logarithm) if logarithm < 709.0 else math.inf


def _exact(event: GaussianRejection) -> float:
    from scipy import special

    shift = min(event.sensitivity, event.bound)
    moved = float(special.log_ndtr((_rarest(event) + shift) / event.scale))
    rarest = float(special.log_ndtr(_rarest(event) / event.scale))
    # Where both logarithms are nearly one, their difference says less than the bound.
    return min(moved * (1.0 - ROUNDING) - rarest * (1.0 + ROUNDING), _published(event))


def pure_epsilon(event: GaussianRejection, accountant: str = "exact") -> float:
    """ε_total of all decisions together, rounded up; arguments as in :func:`decision_epsilon`."""
    return math.nextafter(event.steps * decision_epsilon(event, accountant), math.inf)


@functools.lru_cache(maxsize=1024)
def calibrate(
    epsilon_total: float,
    sensitivity: float,
    bound: float,
    epsilon_abc: float,
    steps: int,
    accountant: str = "exact",
) -> GaussianRejection:
    """The least noise whose cost is at most ``epsilon_total``, rounded to the safe side.

    Args:
        epsilon_total: privacy budget of all decisions, above 0.
        sensitivity: Δ of a distance before it is clipped, above 0.
        bound: B_ρ, distances are clipped to ``[0, bound]``; above 0.
        epsilon_abc: similarity threshold, above 0; may be larger than the bound.
        steps: T, decisions, at least 1.
        accountant: ``published`` for R1, ``exact`` for R2, which needs less noise.

    Raises:
        ValueError: an argument is out of range.
    """
    named = {
        "epsilon_total": epsilon_total,
        "sensitivity": sensitivity,
        "bound": bound,
        "epsilon_abc": epsilon_abc,
    }
    for name, value in named.items():
        if not 0.0 < value < math.inf:
            raise ValueError(f"{name} = {value}: must be positive and finite.")
    if steps < 1:
        raise ValueError(f"steps = {steps}: must be at least 1.")

    def event(scale: float) -> GaussianRejection:
        return GaussianRejection(sensitivity, bound, epsilon_abc, scale, steps)

    def private(scale: float) -> bool:
        return pure_epsilon(event(scale), accountant) <= epsilon_total

    # Much noise makes every decision a fair coin: ε = 2 Δ / √(2π σ²).
    return event(smallest_satisfying(private, steps * sensitivity / epsilon_total))
