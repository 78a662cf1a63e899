r"""Composition: the cost of k private answers together, by four accountants.

Each answer is $\epsilon$-differentially private given the earlier ones. Together:

- ``linear``: $k\epsilon$, a pure guarantee;
- ``advanced`` ([DR14] Theorem 3.20): $(\epsilon', \delta)$-differential privacy with
  $\epsilon' = \epsilon\sqrt{2k\ln(1/\delta)} + k\epsilon(e^\epsilon - 1)$;
- ``rdp``: the Rényi divergences of order $\alpha$ add up, and the best order is converted;
- ``optimal`` (Kairouz, Oh and Viswanath, 2015, Theorem 3.3): the best rule that uses only
  $\epsilon$ and $k$. The worst answers are coins that lie with probability $1/(1+e^\epsilon)$, so

$$\delta = \sum_{l} \binom{k}{l} \frac{\bigl(e^{l\epsilon} - e^{\epsilon'}
e^{(k-l)\epsilon}\bigr)_+}{(1+e^\epsilon)^k}.$$

A Rényi divergence $R(\alpha)$ is converted as in Canonne, Kamath and Steinke (2020), Proposition
12:

$$\epsilon' = \min_{\alpha > 1}\; R(\alpha) + \ln(1 - 1/\alpha)
- \frac{\ln \delta + \ln \alpha}{\alpha - 1}.$$

Each order gives a valid bound, so a grid of orders is safe.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from abcdp_core.base.arrays import Array
from abcdp_core.privacy.calibration import (
    check_between_0_and_1,
    check_counts,
    check_one_of,
    check_positive,
    smallest_satisfying,
)

ACCOUNTANTS = ("linear", "advanced", "rdp", "optimal")

ROUNDING = 1e-10
"""Relative error allowed for in a binomial tail."""

ORDERS = (1e-4, 1e8)
"""Range of the Rényi orders tried, less 1."""

GRID = 241
"""Number of orders: first over the range, then around the best."""


def epsilon(per_query_epsilon: float, count: int, delta: float, accountant: str) -> float:
    """Return ε' of ``count`` answers that are each ``per_query_epsilon``-differentially private.

    Args:
        per_query_epsilon: ε of one answer, positive.
        count: k, answers, at least 1.
        delta: δ of all together; ``linear`` ignores it.
        accountant: one of :data:`ACCOUNTANTS`.

    Raises:
        ValueError: an argument is out of range.
    """
    _check(count, delta, accountant)
    linear = count * per_query_epsilon
    if accountant == "advanced":
        slack = math.sqrt(2.0 * count * math.log(1.0 / delta))
        return slack * per_query_epsilon + linear * (
            math.expm1(per_query_epsilon) if per_query_epsilon < 700.0 else math.inf
        )
    if accountant == "rdp":
        return min(
            linear, from_renyi(lambda alpha: count * renyi_pure(per_query_epsilon, alpha), delta)
        )
    if accountant == "linear":
        return linear
    if optimal_delta(per_query_epsilon, count, 0.0) <= delta:
        return 0.0
    optimal = smallest_satisfying(
        lambda total: optimal_delta(per_query_epsilon, count, total) <= delta, start=linear
    )
    return min(linear, optimal)


def largest_per_query_epsilon(
    epsilon_total: float, count: int, delta: float, accountant: str
) -> float:
    """Return the largest ε for each of ``count`` answers within a budget, rounded down.

    The budget is positive and finite; other arguments and errors are those of :func:`epsilon`.
    """
    check_positive(epsilon_total=epsilon_total)
    _check(count, delta, accountant)

    def fits(inverse: float) -> bool:
        if accountant == "optimal":
            return optimal_delta(1.0 / inverse, count, epsilon_total) <= delta
        return epsilon(1.0 / inverse, count, delta, accountant) <= epsilon_total

    return 1.0 / smallest_satisfying(fits, start=count / epsilon_total)


def _check(count: int, delta: float, accountant: str) -> None:
    check_one_of(ACCOUNTANTS, accountant=accountant)
    check_counts(count=count)
    if accountant != "linear":
        check_between_0_and_1(delta=delta)


def optimal_delta(per_query_epsilon: float, count: int, epsilon_total: float) -> float:
    """Return δ of ``count`` answers at ε', rounded up; the sum above as two binomial tails."""
    # Imported here, so that starting needs no SciPy.
    from scipy import special

    # Terms are positive from more than this many coins on.
    first = math.floor((count + epsilon_total / per_query_epsilon) / 2.0) + 1
    if first > count:
        return 0.0
    honest = float(special.expit(per_query_epsilon))
    gained = special.betainc(first, count - first + 1, honest)
    paid = math.exp(min(epsilon_total, 700.0)) * special.betainc(
        first, count - first + 1, special.expit(-per_query_epsilon)
    )
    return float(max(gained * (1.0 + ROUNDING) - paid * (1.0 - ROUNDING), 0.0))


def renyi_pure(epsilon: float, alpha: Array) -> Array:
    """Return the largest Rényi divergences ``(k,)``, of orders above 1, of an ε-private answer.

    A coin that lies with probability 1/(1 + e^ε) attains them.
    """
    # log((e^{αε} + e^{(1−α)ε}) / (1 + e^ε)), without cancellation near α = 1.
    beyond = (alpha - 1.0) * epsilon
    share = -np.expm1(-alpha * epsilon) / (1.0 + math.exp(-epsilon))
    near = np.log1p(np.expm1(np.minimum(beyond, 1.0)) * share)
    far = beyond + np.log(share + (1.0 - share) * np.exp(-beyond))
    coin = np.where(beyond < 1.0, near, far)
    return np.minimum(coin / (alpha - 1.0), epsilon)


def from_renyi(renyi: Callable[[Array], Array], delta: float) -> float:
    """Return ε at a given δ from Rényi divergences; any order gives a valid bound.

    Args:
        renyi: orders ``(k,)`` above 1 -> divergences ``(k,)``.
        delta: δ, between 0 and 1.
    """

    def converted(low: float, high: float) -> tuple[float, Array, int]:
        beyond = np.geomspace(low, high, GRID)
        alpha = 1.0 + beyond
        loss = np.log(beyond / alpha) - (math.log(delta) + np.log(alpha)) / beyond
        values = renyi(alpha) + loss
        best = int(np.argmin(values))
        return float(values[best]), beyond, best

    value, beyond, best = converted(*ORDERS)
    finer, _, _ = converted(beyond[max(best - 1, 0)], beyond[min(best + 1, len(beyond) - 1)])
    return max(min(value, finer), 0.0)
