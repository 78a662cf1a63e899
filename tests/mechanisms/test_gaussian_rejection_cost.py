"""One clipped decision with Gaussian noise: what it loses at worst, against both accounts."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import integrate, special

from abcdp_core.mechanisms.gaussian_rejection import (
    ACCOUNTANTS,
    GaussianRejection,
    calibrate,
    decision_epsilon,
    pure_epsilon,
)
from abcdp_core.privacy import cost, statement, tradeoff

BOTH = pytest.mark.parametrize("accountant", ACCOUNTANTS)

# Sensitivity, bound, threshold: usual; threshold above the bound; bound below the sensitivity.
PLACES = pytest.mark.parametrize(
    ("sensitivity", "bound", "epsilon_abc"),
    [
        *((0.02, 0.5, 0.1), (0.02, 0.5, 0.25), (0.02, 0.5, 0.4)),
        *((0.02, 0.1, 0.3), (0.02, 0.1, 5.0)),
        *((0.5, 0.2, 0.1), (0.5, 0.2, 0.9), (0.2, 0.2, 0.05)),
    ],
)


def worst_loss(event: GaussianRejection) -> float:
    """Largest logarithm of a ratio of probabilities of one decision over pairs of distances."""
    shift = min(event.sensitivity, event.bound)
    lower = np.linspace(0.0, event.bound - shift, 400)
    losses = [0.0]
    for sign, rho in itertools.product((1.0, -1.0), (lower, lower + shift)):
        other = np.where(rho is lower, rho + shift, rho - shift)
        here = special.log_ndtr(sign * (event.epsilon_abc - rho) / event.scale)
        there = special.log_ndtr(sign * (event.epsilon_abc - other) / event.scale)
        losses.append(float(np.max(np.abs(here - there))))
    return max(losses)


# --------------------------------------------------------------------------------- check values


@pytest.mark.parametrize(("bound", "published", "exact"), [
    (2.0, 1.51697, 0.949549),
    (0.2, 0.398111, 0.387500),
])  # fmt: skip
def test_check_values(bound: float, published: float, exact: float) -> None:
    # MATH R2: N = 5000, Δ = 2/N, ε_total = 1, T = 1000, ε_abc = 0.1.
    for accountant, expected in (("published", published), ("exact", exact)):
        event = calibrate(1.0, 2.0 / 5000, bound, 0.1, 1000, accountant)
        assert event.scale == pytest.approx(expected, rel=5e-6)


@PLACES
@pytest.mark.parametrize("scale", [0.3, 1.0, 10.0])
def test_the_bound_is_theorem_3_1(
    sensitivity: float, bound: float, epsilon_abc: float, scale: float
) -> None:
    event = GaussianRejection(sensitivity, bound, epsilon_abc, scale, 1)
    change = min(1.0, sensitivity / math.sqrt(2.0 * math.pi * scale**2))
    rarest = float(special.ndtr(min(epsilon_abc - bound, -epsilon_abc) / scale))
    assert decision_epsilon(event, "published") == pytest.approx(change / rarest, rel=1e-10)


@PLACES
def test_the_exact_account_is_the_larger_of_two(
    sensitivity: float, bound: float, epsilon_abc: float
) -> None:
    # MATH R2 as it stands there: acceptances at the bound, rejections at 0.
    event = GaussianRejection(sensitivity, bound, epsilon_abc, 0.1, 1)
    shift = min(sensitivity, bound)

    def loss(low: float) -> float:
        return float(special.log_ndtr((low + shift) / 0.1) - special.log_ndtr(low / 0.1))

    expected = max(loss(epsilon_abc - bound), loss(-epsilon_abc))
    assert decision_epsilon(event) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("scale", [0.005, 0.02, 0.3])
def test_what_logarithms_may_be_rounded_by_is_added(scale: float) -> None:
    # 1e-14 of each logarithm, and in the published account of 1 and the change as well.
    event = GaussianRejection(0.02, 0.15, 0.1, scale, 1)
    moved, rarest = (float(special.log_ndtr(at / scale)) for at in (-0.08, -0.1))
    added = decision_epsilon(event) - (moved - rarest)
    assert added == pytest.approx(-1e-14 * (moved + rarest), rel=0.1, abs=0.0)
    change = math.log(0.02 / scale / math.sqrt(2.0 * math.pi))
    added = math.log(decision_epsilon(event, "published")) - (min(0.0, change) - rarest)
    assert added == pytest.approx(1e-14 * (1.0 + abs(change) - rarest), rel=0.1, abs=0.0)


# ------------------------------------------------------ the claim against the exact loss (layer 1)


def tight(event: GaussianRejection, claim: float) -> bool:
    """Whether the worst of all pairs loses at most the claim and at least 0.95 of it."""
    return 0.95 * claim <= worst_loss(event) <= claim * (1.0 + 1e-9)


@PLACES
@pytest.mark.parametrize("epsilon_total", [0.01, 1.0, 20.0])
def test_the_exact_claim_holds_and_is_reached(
    sensitivity: float, bound: float, epsilon_abc: float, epsilon_total: float
) -> None:
    event = calibrate(epsilon_total, sensitivity, bound, epsilon_abc, 10)
    assert tight(event, epsilon_total / 10)


@PLACES
def test_the_published_claim_holds(sensitivity: float, bound: float, epsilon_abc: float) -> None:
    event = calibrate(1.0, sensitivity, bound, epsilon_abc, 10, "published")
    assert worst_loss(event) <= 0.1


@pytest.mark.parametrize("factor", [0.5, 0.9, 1.1, 2.0])
def test_too_little_and_too_much_noise_are_both_seen(factor: float) -> None:
    event = calibrate(1.0, 0.02, 0.5, 0.1, 10)
    assert not tight(dataclasses.replace(event, scale=factor * event.scale), 0.1)


def test_distances_that_are_not_clipped_are_seen() -> None:
    event = calibrate(1.0, 0.02, 0.5, 0.1, 10)
    assert worst_loss(dataclasses.replace(event, bound=2.0)) > 0.15


def test_a_variance_for_a_standard_deviation_is_seen() -> None:
    event = calibrate(1.0, 0.02, 0.5, 0.1, 10)
    for mistaken in (event.scale**2, math.sqrt(event.scale)):
        assert not tight(dataclasses.replace(event, scale=mistaken), 0.1)


def test_all_decisions_together_lose_as_often_as_there_are_any() -> None:
    # Independent given the distances, and one data point may move all of them: losses add up.
    event = calibrate(1.0, 0.02, 0.5, 0.1, 7)
    assert event.steps == 7
    assert 7 * worst_loss(event) == pytest.approx(1.0, rel=1e-9)
    assert pure_epsilon(event) == pytest.approx(7 * decision_epsilon(event), rel=1e-15)


@pytest.mark.parametrize(("sensitivity", "bound"), [(0.1, 0.5), (0.7, 0.3)])
def test_an_attacker_is_bound_by_the_cost_and_by_the_noisy_distances(
    sensitivity: float, bound: float
) -> None:
    event = GaussianRejection(sensitivity, bound, 0.2, 2.0, 100)
    rates = np.linspace(0.0, 1.0, 101)
    found = tradeoff.curve(event, rates)
    series = tradeoff.gaussian(10.0 * min(sensitivity, bound) / 2.0, rates)
    lines = tradeoff.approximate(cost(event).epsilon, 0.0, rates)
    assert found.miss == pytest.approx(np.maximum(series, lines), abs=1e-12)
    assert found.kind == "bound"


def test_probabilities_are_those_of_gaussian_noise() -> None:
    # The building block of every check here, against quadrature of the density.
    for at in (-3.0, -0.4, 0.0, 1.7):
        area = integrate.quad(lambda x: math.exp(-x * x / 2.0), -40.0, at)[0]
        assert special.ndtr(at) == pytest.approx(area / math.sqrt(2.0 * math.pi), rel=1e-9)


# ---------------------------------------------------------------------------------- calibration


@BOTH
@given(
    epsilon_total=st.floats(1e-3, 1e3),
    sensitivity=st.floats(1e-5, 2.0),
    bound=st.floats(1e-4, 2.0),
    epsilon_abc=st.floats(1e-3, 3.0),
    steps=st.integers(1, 100_000),
)
@example(epsilon_total=2.0**-7, sensitivity=1.0, bound=0.5, epsilon_abc=1.0, steps=2**16)
def test_calibration_costs_at_most_the_budget_and_hardly_less(
    accountant: str,
    epsilon_total: float,
    sensitivity: float,
    bound: float,
    epsilon_abc: float,
    steps: int,
) -> None:
    event = calibrate(epsilon_total, sensitivity, bound, epsilon_abc, steps, accountant)
    fields = (event.sensitivity, event.bound, event.epsilon_abc, event.steps)
    assert fields == (sensitivity, bound, epsilon_abc, steps)
    found = pure_epsilon(event, accountant)
    # A decision's ε is a difference of two logarithms, each known to 1e-14.
    wasted = 1e-9 + 1e-14 * steps / epsilon_total
    assert epsilon_total * (1.0 - wasted) <= found <= epsilon_total
    assert cost(event).epsilon == pure_epsilon(event) <= epsilon_total
    assert cost(event).delta == 0.0


@PLACES
def test_the_exact_account_needs_less_noise(
    sensitivity: float, bound: float, epsilon_abc: float
) -> None:
    published, exact = (
        calibrate(1.0, sensitivity, bound, epsilon_abc, 100, each) for each in ACCOUNTANTS
    )
    assert exact.scale <= published.scale
    assert cost(published).epsilon <= cost(exact).epsilon


@BOTH
@PLACES
def test_more_noise_costs_less(
    accountant: str, sensitivity: float, bound: float, epsilon_abc: float
) -> None:
    scales = np.geomspace(1e-3, 1e3, 200)
    costs = [
        decision_epsilon(GaussianRejection(sensitivity, bound, epsilon_abc, scale, 1), accountant)
        for scale in scales.tolist()
    ]
    assert costs == sorted(costs, reverse=True)


def test_a_smaller_bound_needs_less_noise_until_rejections_are_the_rare_ones() -> None:
    scales = [calibrate(1.0, 0.001, bound, 0.1, 100).scale for bound in (2.0, 0.5, 0.3, 0.2, 0.15)]
    assert scales == sorted(scales, reverse=True)
    assert scales[-1] == scales[-2]


@BOTH
def test_without_noise_there_is_no_guarantee(accountant: str) -> None:
    event = GaussianRejection(0.01, 0.5, 0.1, 0.0, 10)
    assert pure_epsilon(event, accountant) == math.inf
    assert statement(event, "one point").startswith("Not private")


def test_hardly_any_noise_costs_more_than_floating_point_can_tell() -> None:
    event = GaussianRejection(0.01, 0.5, 0.1, 1e-9, 10)
    assert pure_epsilon(event, "published") == math.inf
    assert 1e10 < pure_epsilon(event) < math.inf


@pytest.mark.parametrize("name", ["epsilon_total", "sensitivity", "bound", "epsilon_abc"])
@pytest.mark.parametrize("value", [0.0, -1.0, math.inf, math.nan])
def test_what_is_out_of_range_is_named(name: str, value: float) -> None:
    usual = {"epsilon_total": 1.0, "sensitivity": 0.01, "bound": 0.5, "epsilon_abc": 0.1}
    with pytest.raises(ValueError, match=f"{name} = .*must be positive and finite"):
        calibrate(**(usual | {name: value}), steps=10)


def test_steps_and_accountants_that_are_none() -> None:
    with pytest.raises(ValueError, match="steps = 0: must be at least 1"):
        calibrate(1.0, 0.01, 0.5, 0.1, 0)
    with pytest.raises(ValueError, match="accountant = rdp: must be one of published, exact"):
        calibrate(1.0, 0.01, 0.5, 0.1, 10, "rdp")
