"""Guarantees in words: never less than was spent, and none where nothing protects."""

from __future__ import annotations

import math

import numpy as np
import pytest

from abcdp_core.models import simulators
from abcdp_core.privacy import (
    UNPROTECTED,
    Cost,
    Event,
    Gaussian,
    GaussianSeries,
    Laplace,
    NonPrivate,
    belief,
    cost,
    guarantee,
    statement,
    statement_of_largest,
)


def test_a_statement_has_the_unit_of_its_scenario_and_no_other() -> None:
    for scenario in simulators.names():
        protected = simulators.load(scenario).protected
        words = statement(Laplace(1.0, 2.0), protected)
        assert words.startswith(f"Protects {protected}: pure differential privacy with ε_total = 0")
        assert "point" not in words.replace(protected, "")


@pytest.mark.parametrize(
    ("epsilon", "stated"),
    [
        *((1.0, "1"), (1.0 + 1e-12, "1"), (1.0004, "1.001"), (0.99996, "1")),
        *((1.0 / 3.0, "0.3334"), (0.00123449, "0.001235"), (123449.0, "1.235e+05")),
    ],
)
def test_a_guarantee_states_no_less_than_was_spent(epsilon: float, stated: str) -> None:
    assert f"ε_total = {stated} (" in guarantee(Cost(epsilon), "a day")


def test_without_a_delta_none_is_spent_and_what_needs_one_has_no_guarantee() -> None:
    assert cost(NonPrivate()) == Cost(math.inf, 0.0)
    assert cost(Laplace(1.0, 2.0)) == Cost(0.5, 0.0)
    assert cost(Gaussian(1.0, 1.0)) == cost(GaussianSeries(1.0, 1.0, 2)) == Cost(math.inf, 0.0)
    assert statement(Gaussian(1.0, 1.0), "a day").startswith("Not private")
    with pytest.raises(TypeError, match=r"no accountant for Event at delta = 0\.0"):
        cost(Event())


def test_the_largest_finite_budget_is_stated_and_what_has_no_noise_is_not_protected() -> None:
    def largest(*budgets: float) -> str:
        return statement_of_largest(budgets, lambda budget: Laplace(1.0, 1.0 / budget), "a day")

    assert largest(2.0) == statement(Laplace(1.0, 0.5), "a day")
    assert "ε_total = 2 " in largest(0.5, 2.0)
    assert "ε_total = 1000 " in largest(1.0, math.inf, 1000.0)
    assert largest(1000.0, math.inf).endswith(UNPROTECTED)
    assert largest(math.inf).startswith("Not private")


def test_beliefs_reach_their_bounds_by_bayes() -> None:
    # Two values of a record, and an answer that is e^ε times as likely under the one.
    prior, factor = np.array([0.01, 0.3, 0.5, 0.9]), math.exp(1.3)
    low, high = belief(prior, 1.3)
    assert high == pytest.approx(prior * factor / (prior * factor + (1.0 - prior)))
    assert low == pytest.approx(prior / (prior + (1.0 - prior) * factor))
