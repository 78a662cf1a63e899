r"""A privacy budget that several releases of the same data share: what adds up to what.

Each release has a :class:`Claim`, known before any data are read: ε, δ and, if it has one, the ρ of
zero-concentrated differential privacy (a pure ε has $\rho = \epsilon^2/2$; Bun and Steinke, 2016).
Without δ, pure ε alone add up to at most the budget's. With a budget $(\epsilon_B, \delta_B)$ one
of two rules has to hold after every release:

- *sum*: $\sum \epsilon_i \le \epsilon_B$ and $\sum \delta_i \le \delta_B/2$;
- *zCDP*: every release has a ρ, and $\sum \rho_i \le \rho_B$, the largest $\rho_B$ that is
  converted to at most $(\epsilon_B, \delta_B/2)$.

Each is a filter: what is asked next may depend on all answers so far (Rogers, Roth, Ullman and
Vadhan, 2016; Whitehouse, Ramdas, Rogers and Wu, 2023). The halves pay for the choice between them.
Let $A$ be the outcomes at whose end the sums fit the first rule. On $A$ all happens as in a
procedure that stops before it breaks that rule, so
$P(S \cap A) \le e^{\epsilon_B} P'(S \cap A) + \delta_B/2$; outside $A$ likewise with the second
rule; and the two together are $(\epsilon_B, \delta_B)$.

Amounts are decimal numbers, so that three times 0.1 are 0.3; a float stands for its shortest
decimal.
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
"""For the rounding of a conversion."""

DIGITS = 4
"""Digits shown of what is left."""


@dataclass(frozen=True)
class Budget:
    """What may be spent on one data set.

    Attributes:
        name: by which it is asked for.
        epsilon: ε of all releases together, above 0.
        delta: δ of all together; 0 for pure differential privacy.
        unit: what is protected: a value, a person, a day.
        neighbours: how two data sets differ in one unit, ``replace`` or ``add-remove``.
    """

    name: str
    epsilon: Decimal
    delta: Decimal
    unit: str
    neighbours: str


@dataclass(frozen=True)
class Claim:
    """What a release may cost at most, known before any data are read.

    Attributes:
        epsilon, delta: of the release by itself.
        rho: of zero-concentrated differential privacy, if it has one; ``None`` otherwise.
        what: the release in words, from public settings alone.
    """

    epsilon: Decimal
    delta: Decimal
    rho: float | None
    what: str


def pure(epsilon_total: float | Decimal, what: str) -> Claim:
    """The claim of a release with pure differential privacy."""
    amount = epsilon_total if isinstance(epsilon_total, Decimal) else _amount(epsilon_total)
    return Claim(amount, Decimal(0), math.nextafter(float(amount * amount / 2), math.inf), what)


def _amount(value: float) -> Decimal:
    """A float as the decimal number that it is written as."""
    return Decimal(repr(float(value)))


def fits(budget: Budget, claims: Sequence[Claim]) -> bool:
    """Whether releases together stay within a budget, whatever their order."""
    if _total(claims, "epsilon") <= budget.epsilon and _sums_allow(budget, claims):
        return True
    return _rest_of_rho(budget, claims) >= 0.0


def left(budget: Budget, spent: Sequence[Claim]) -> Decimal:
    """The largest ε of one more pure release that fits, rounded down to :data:`DIGITS` digits."""
    by_sum = budget.epsilon - _total(spent, "epsilon") if _sums_allow(budget, spent) else Decimal(0)
    by_rho = _amount(math.sqrt(2.0 * max(_rest_of_rho(budget, spent), 0.0)))
    most = max(by_sum, by_rho, Decimal(0))
    if not most:
        return most
    step = Decimal(1).scaleb(most.adjusted() + 1 - DIGITS)
    rounded = (most / step).to_integral_value(ROUND_FLOOR) * step
    return rounded if fits(budget, (*spent, pure(rounded, ""))) else rounded - step


def _total(claims: Sequence[Claim], name: str) -> Decimal:
    return sum((getattr(claim, name) for claim in claims), Decimal(0))


def _sums_allow(budget: Budget, claims: Sequence[Claim]) -> bool:
    """Whether δ adds up to little enough for the rule of sums."""
    return _total(claims, "delta") <= budget.delta / 2


def _rest_of_rho(budget: Budget, claims: Sequence[Claim]) -> float:
    """What is left of ρ, from below; negative if the rule cannot be used."""
    known = [claim.rho for claim in claims if claim.rho is not None]
    if not budget.delta or len(known) < len(claims):
        return -math.inf
    return math.nextafter(largest_rho(budget) - math.fsum(known), -math.inf)


def largest_rho(budget: Budget) -> float:
    """The largest ρ that is converted to at most (ε, δ/2) of a budget with a δ, from below."""
    epsilon, delta = float(budget.epsilon), float(budget.delta) / 2.0

    def enough(inverse: float) -> bool:
        rho = 1.0 / inverse
        return composition.from_renyi(lambda alpha: rho * alpha, delta) * MARGIN <= epsilon

    return 1.0 / (smallest_satisfying(enough, start=1.0 / epsilon) * MARGIN)
