"""What ε means in words and pictures: true at every budget, and for whom."""

from __future__ import annotations

import decimal
import re
from decimal import Decimal

import pytest
from scipy import special

from abcdp_core.figures import belief
from abcdp_core.parameters import EPSILON_TOTAL
from abcdp_core.privacy import promise

BUDGETS = pytest.mark.parametrize("epsilon", EPSILON_TOTAL.steps)


@BUDGETS
def test_a_promise_says_for_whom_it_holds_and_a_range_that_is_never_empty_or_certain(
    epsilon: float,
) -> None:
    words = promise.promise_in_full(epsilon)
    assert "replacing your record" in words
    assert "someone who knows everyone else's record" in words
    assert "knows less may learn more" in words
    found = re.search(r"that chance is ([0-9.]+) % to ([0-9.]+) %", words)
    exact = 100.0 * float(special.expit(-epsilon))
    if found is None:
        assert "anything from almost 0 % to almost 100 %" in words
        assert exact < 0.05
        return
    low, high = map(float, found.groups())
    assert 0.0 < low < 50.0 < high < 100.0
    assert low + high == pytest.approx(100.0)
    assert low == pytest.approx(exact, abs=0.1 * min(exact, 50.0 - exact))


@BUDGETS
def test_what_is_printed_as_a_bound_is_one(epsilon: float) -> None:
    with decimal.localcontext(prec=60):
        factor = Decimal(epsilon).exp()
        if epsilon > 14.0:
            assert promise.odds(epsilon) == f"a factor of e^{epsilon:g}, more than a million"
            assert factor > 10**6
        else:
            bound = Decimal(promise.odds(epsilon).removeprefix("a factor of ").replace(",", ""))
            assert factor <= bound <= 1 + Decimal("1.02") * (factor - 1)
        said = promise.promise_in_short(epsilon).split("that chance is")[1].split(": the odds")[0]
        if "almost" not in said:
            low, high = map(Decimal, re.findall(r"([0-9.]+) %", said))
            assert low <= 100 / (1 + factor)
            assert high >= 100 * factor / (1 + factor)


@BUDGETS
def test_icons_are_a_hundred_and_rounded_outwards(epsilon: float) -> None:
    drawn = belief.icons(epsilon)
    full, pale, never = (len(trace.x) for trace in drawn.figure.data[-3:])
    low = 100.0 * float(special.expit(-epsilon))
    assert full + pale + never == 100
    assert full <= low < full + 1
    assert full + pale >= 100.0 - low
    scale = next(trace for trace in drawn.figure.data if trace.name == "belief afterwards")
    assert [min(scale.x), max(scale.x)] == pytest.approx([low, 100.0 - low])
