"""What ε means in words: true at every budget."""

from __future__ import annotations

import decimal
import re
from decimal import Decimal

import pytest

from abcdp_core.base.parameters import EPSILON_TOTAL
from abcdp_core.privacy import promise


def chances(words: str) -> list[Decimal]:
    """Return the ends of the range of a chance, in percent, if the words have it."""
    found = re.search(r"that chance is ([0-9.]+) % to ([0-9.]+) %", words)
    return [Decimal(end) for end in found.groups()] if found else []


@pytest.mark.parametrize("epsilon", EPSILON_TOTAL.steps)
def test_what_is_said_of_a_budget_is_a_bound_and_close_to_it(epsilon: float) -> None:
    with decimal.localcontext(prec=60):
        factor = Decimal(epsilon).exp()
        exact = 100 / (1 + factor)
        if epsilon > 14.0:
            assert promise.odds(epsilon) == f"a factor of e^{epsilon:g}, more than a million"
            assert factor > 10**6
        else:
            bound = Decimal(promise.odds(epsilon).removeprefix("a factor of ").replace(",", ""))
            assert factor <= bound <= 1 + Decimal("1.02") * (factor - 1)
        low, high = chances(promise.promise_in_short(epsilon)) or (Decimal(0), Decimal(100))
        assert 0 <= low <= exact < 50 < 100 - exact <= high <= 100
        assert low + high == 100
        assert exact - low < (Decimal("0.1") * min(exact, 50 - exact) if low else 0.05)
