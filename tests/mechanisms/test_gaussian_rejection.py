"""One clipped decision with Gaussian noise: its worst loss, against both accountants."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest
from scipy import special

from abcdp_core.mechanisms.gaussian_rejection import (
    GaussianRejection,
    bound_quantile,
    calibrate,
    decision_epsilon,
)

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


def tight(event: GaussianRejection, claim: float) -> bool:
    """Whether the worst of all pairs loses at most the claim and at least 0.95 of it."""
    return 0.95 * claim <= worst_loss(event) <= claim * (1.0 + 1e-9)


@PLACES
def test_the_published_bound_is_theorem_3_1_and_holds(
    sensitivity: float, bound: float, epsilon_abc: float
) -> None:
    for scale in (0.3, 1.0, 10.0):
        event = GaussianRejection(sensitivity, bound, epsilon_abc, scale, 1)
        change = min(1.0, sensitivity / math.sqrt(2.0 * math.pi * scale**2))
        rarest = float(special.ndtr(min(epsilon_abc - bound, -epsilon_abc) / scale))
        assert decision_epsilon(event, "published") == pytest.approx(change / rarest, rel=1e-10)
    event = calibrate(1.0, sensitivity, bound, epsilon_abc, 10, "published")
    assert worst_loss(event) <= 0.1


@PLACES
def test_the_exact_claim_holds_and_is_reached(
    sensitivity: float, bound: float, epsilon_abc: float
) -> None:
    for epsilon_total in (0.01, 1.0, 20.0):
        # One person may move all distances, so the losses of ten decisions add up.
        event = calibrate(epsilon_total, sensitivity, bound, epsilon_abc, 10)
        assert tight(event, epsilon_total / 10)


def test_too_little_and_too_much_noise_and_distances_not_clipped_are_seen() -> None:
    event = calibrate(1.0, 0.02, 0.5, 0.1, 10)
    factors = [factor * event.scale for factor in (0.5, 0.9, 1.1, 2.0)]
    for scale in (*factors, event.scale**2, math.sqrt(event.scale)):
        assert not tight(dataclasses.replace(event, scale=scale), 0.1)
    assert worst_loss(dataclasses.replace(event, bound=2.0)) > 0.15


@pytest.mark.parametrize("alike", [0, 50])
def test_the_bound_is_a_quantile_of_the_positive_distances(alike: int) -> None:
    # A count of few records is the same in many simulated data sets.
    distances = np.concatenate([np.zeros(alike), np.arange(1.0, 101.0)])
    assert bound_quantile(distances, 0.05) == pytest.approx(5.95)
    assert bound_quantile(distances.reshape(-1, 25), 1.0) == 100.0
    for quantile in (0.0, 1.5, -0.1, math.nan):
        with pytest.raises(ValueError, match="quantile"):
            bound_quantile(distances, quantile)
    with pytest.raises(ValueError, match="bound"):
        bound_quantile(np.zeros(3), 0.5)
