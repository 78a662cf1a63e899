r"""Check whether several releases from the same data stay within one privacy budget.

Each release has a :class:`PrivacyCharge`, known before any data are read: ε, δ and, if it has one,
the ρ of zero-concentrated differential privacy (a pure ε has $\rho = \epsilon^2/2$; Bun and
Steinke, 2016).
If the budget has no δ, releases must be pure, and their ε may add up to the budget's. With a budget
$(\epsilon_B, \delta_B)$ one of two rules has to hold after every release:

- *sum*: $\sum \epsilon_i \le \epsilon_B$ and $\sum \delta_i \le \delta_B/2$;
- *zCDP*: every release has a ρ, and $\sum \rho_i \le \rho_B$, the largest $\rho_B$ that converts
  to at most $(\epsilon_B, \delta_B/2)$.

Each rule is a filter: a request may depend on all earlier answers (Rogers, Roth, Ullman and Vadhan,
2016; Whitehouse, Ramdas, Rogers and Wu, 2023). The halves of δ pay for the choice between the
rules. Let $A$ be the outcomes at whose end the sums satisfy the first rule. On $A$ everything
happens as in a procedure that stops before it breaks that rule, so
$P(S \cap A) \le e^{\epsilon_B} P'(S \cap A) + \delta_B/2$. The second rule gives the same bound
outside $A$, and both bounds together are $(\epsilon_B, \delta_B)$.

Amounts are decimal numbers, so three times 0.1 is 0.3; a float means its shortest decimal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal

from abcdp_core.privacy import composition
from abcdp_core.privacy.calibration import smallest_satisfying

NEIGHBOURS = ("replace", "add-remove")

MARGIN = 1.0 + 1e-10
"""Factor that covers the rounding of a conversion."""

DIGITS = 4
"""Significant digits of the remaining budget."""


@dataclass(frozen=True)
class Budget:
    """What all releases from one data set may spend together.

    Attributes:
        name: identifies the budget.
        epsilon: total ε, above 0.
        delta: total δ; 0 for pure differential privacy.
        unit: what is protected: a value, a person, a day.
        neighbours: how two data sets differ in one unit, ``replace`` or ``add-remove``.
    """

    name: str
    epsilon: Decimal
    delta: Decimal
    unit: str
    neighbours: str


@dataclass(frozen=True)
class PrivacyCharge:
    """The most that a release may spend, known before any data are read.

    Attributes:
        epsilon, delta: of this release alone.
        rho: of zero-concentrated differential privacy; ``None`` if the release has none.
        what: the release in words, from public settings alone.
    """

    epsilon: Decimal
    delta: Decimal
    rho: float | None
    what: str


def pure(epsilon_total: float | Decimal, what: str) -> PrivacyCharge:
    """Return the claim of a release with pure differential privacy."""
    amount = epsilon_total if isinstance(epsilon_total, Decimal) else _amount(epsilon_total)
    return PrivacyCharge(
        amount, Decimal(0), math.nextafter(float(amount * amount / 2), math.inf), what
    )


def _amount(value: float) -> Decimal:
    return Decimal(repr(float(value)))


def fits(budget: Budget, claims: Sequence[PrivacyCharge]) -> bool:
    """Return whether releases together stay within a budget, in any order."""
    if _total(claims, "epsilon") <= budget.epsilon and _sums_allow(budget, claims):
        return True
    return _rest_of_rho(budget, claims) >= 0.0


def left(budget: Budget, spent: Sequence[PrivacyCharge]) -> Decimal:
    """Return the largest ε of one more pure release that fits, rounded down."""
    by_sum = budget.epsilon - _total(spent, "epsilon") if _sums_allow(budget, spent) else Decimal(0)
    by_rho = _amount(math.sqrt(2.0 * max(_rest_of_rho(budget, spent), 0.0)))
    most = max(by_sum, by_rho, Decimal(0))
    if not most:
        return most
    step = Decimal(1).scaleb(most.adjusted() + 1 - DIGITS)
    rounded = (most / step).to_integral_value(ROUND_FLOOR) * step
    return rounded if fits(budget, (*spent, pure(rounded, ""))) else rounded - step


def _total(claims: Sequence[PrivacyCharge], name: str) -> Decimal:
    return sum((getattr(claim, name) for claim in claims), Decimal(0))


def _sums_allow(budget: Budget, claims: Sequence[PrivacyCharge]) -> bool:
    """Whether the sum of δ satisfies the first rule."""
    return _total(claims, "delta") <= budget.delta / 2


def _rest_of_rho(budget: Budget, claims: Sequence[PrivacyCharge]) -> float:
    """The remaining ρ, rounded down; negative if the second rule does not apply."""
    known = [claim.rho for claim in claims if claim.rho is not None]
    if not budget.delta or len(known) < len(claims):
        return -math.inf
    return math.nextafter(largest_rho(budget) - math.fsum(known), -math.inf)


def largest_rho(budget: Budget) -> float:
    """Return the largest ρ, rounded down, that converts to at most (ε, δ/2); needs δ > 0."""
    epsilon, delta = float(budget.epsilon), float(budget.delta) / 2.0

    def enough(inverse: float) -> bool:
        rho = 1.0 / inverse
        return composition.from_renyi(lambda alpha: rho * alpha, delta) * MARGIN <= epsilon

    return 1.0 / (smallest_satisfying(enough, start=1.0 / epsilon) * MARGIN)
