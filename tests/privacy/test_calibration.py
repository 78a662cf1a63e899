"""The least noise of a budget and costs rounded up, by rational arithmetic; limits of arguments."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdp_core.mechanisms import (
    gaussian_rejection,
    gaussian_sparse_vector,
    nearest_selection,
    private_embedding,
    soft_weights,
    sparse_vector,
)
from abcdp_core.mechanisms.private_summary import noise_for
from abcdp_core.privacy import Laplace, composition, cost, gaussian_series
from abcdp_core.privacy.calibration import (
    PRECISION,
    laplace_unit_scale,
    ratio,
    round_up,
    scale_for,
    smallest_satisfying,
)

positive = st.floats(1e-200, 1e200)


@given(positive, positive)
def test_what_is_found_fits_and_hardly_less_would(answer: float, start: float) -> None:
    found = smallest_satisfying(lambda scale: scale >= answer, start)
    assert answer <= found <= answer * (1.0 + 2.0 * PRECISION)
    for fits, words in ((False, "no finite noise"), (True, "any noise at all")):
        with pytest.raises(ValueError, match=words):
            smallest_satisfying(lambda _, fits=fits: fits, start)


def test_what_is_exact_is_not_rounded_and_all_else_is_rounded_up() -> None:
    assert (scale_for(2.0, 1.0), ratio(3.0, 2.0), ratio(1.0, 0.0)) == (0.5, 1.5, math.inf)
    assert round_up(Fraction(1, 4)) == 0.25
    # The nearest numbers lie below a third and above a tenth.
    assert (ratio(1.0, 3.0), ratio(1.0, 10.0)) == (math.nextafter(1.0 / 3.0, 1.0), 0.1)
    below, above = (Fraction(1) + k * Fraction(1, 2**60) for k in (-1, 1))
    assert (round_up(below), round_up(above)) == (1.0, math.nextafter(1.0, 2.0))
    for k in range(1, 50):
        assert Fraction(1) / Fraction(scale_for(k / 10.0, 1.0)) <= Fraction(k / 10.0)
    for c in (1, 2):
        event = kept(epsilon_total=1.0, sensitivity=1.0, c=c, threshold_share=0.5)
        assert (event.threshold_scale, event.query_scale) == (2.0, 4.0 * c)
    assert summary_noise(0.5, 1.0).scale == 2.0
    assert gaussian_series.joint_mu(gaussian_series.GaussianSeries(1.0, 1.0, 4)) == 2.0


@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6))
def test_laplace_costs_sensitivity_over_scale_rounded_up(sensitivity: float, scale: float) -> None:
    found = cost(Laplace(sensitivity, scale)).epsilon
    exact = Fraction(sensitivity) / Fraction(scale)
    assert exact <= Fraction(found) <= exact * (1 + Fraction(1, 2**52))
    assert cost(Laplace(sensitivity, scale)).delta == 0.0


@given(st.floats(1e-3, 1e3))
def test_a_calibrated_laplace_scale_costs_at_most_the_budget_and_hardly_less(budget: float) -> None:
    scale = laplace_unit_scale(budget)
    exact = 1 / Fraction(scale)
    assert Fraction(budget) * (1 - Fraction(1, 10**12)) <= exact <= Fraction(budget)
    assert exact <= Fraction(cost(Laplace(1.0, scale)).epsilon) <= Fraction(budget)
    # A generator that is given a standard deviation makes noise of that over √2 (MATH A11).
    published = Laplace(1.0, scale / math.sqrt(2.0))
    assert cost(published).epsilon == pytest.approx(math.sqrt(2.0) * budget, rel=1e-12)


def test_a_cost_beyond_all_numbers_is_infinite() -> None:
    assert composition.epsilon(1000.0, 2, 1e-5, "advanced") == math.inf
    event = gaussian_rejection.GaussianRejection(0.1, 1.4, 40.0, 1.0, 1)
    assert gaussian_rejection.decision_epsilon(event, "published") == math.inf
    hardly_any = gaussian_rejection.GaussianRejection(0.01, 0.5, 0.1, 1e-9, 10)
    assert 1e10 < gaussian_rejection.pure_epsilon(hardly_any) < math.inf
    open_book = gaussian_sparse_vector.GaussianSparseVector(1.0, 1e-3, 2e-3, 5, False, 100)
    assert gaussian_sparse_vector.log_delta(open_book, 0.0) == 0.0


# ---------------------------------------------------------------------------------------- limits

POSITIVE = ((1e-3, 0.6, 30.0), (0.0, -1.0, math.inf, math.nan))
COUNT = ((1, 2, 7), (0, -1))
INSIDE = ((1e-9, 0.4, 0.6, 0.99), (0.0, 1.0, 1.5, -0.1, math.nan))
"""Values that are accepted, and values that are refused."""

LIMITS: dict[str, tuple[float, Any]] = {
    **dict.fromkeys(("epsilon_total", "sensitivity", "bound", "epsilon_abc"), (0.3, POSITIVE)),
    **dict.fromkeys(("delta", "threshold_share"), (1e-5, INSIDE)),
    **dict.fromkeys(("steps", "c", "count", "dimension"), (5, COUNT)),
}
"""A usual value of an argument, and its limits wherever a calibration takes it."""


def summary_noise(epsilon_total: float, sensitivity: float) -> Any:
    statistic: Any = SimpleNamespace(
        l1=lambda _: sensitivity, unit="one point", neighbours="replace", whole=None
    )
    return noise_for(statistic, 10, epsilon_total)


def kept(**given: Any) -> Any:
    return sparse_vector.calibrate(**given, resample=False)


def redrawn(**given: Any) -> Any:
    return gaussian_sparse_vector.calibrate(**given, resample=True)


def nearest(**given: Any) -> Any:
    return nearest_selection.calibrate(**given, delta=0.0)


def composed(**given: Any) -> float:
    return composition.largest_per_query_epsilon(**given, accountant="advanced")


CASES: dict[Callable[..., Any], str] = {
    laplace_unit_scale: "epsilon_total",
    gaussian_series.gaussian_unit_scale: "epsilon_total delta",
    gaussian_series.calibrate: "epsilon_total delta steps sensitivity",
    private_embedding.calibrate: "epsilon_total sensitivity dimension",
    composed: "epsilon_total count delta",
    summary_noise: "epsilon_total sensitivity",
    gaussian_rejection.calibrate: "epsilon_total sensitivity bound epsilon_abc steps",
    kept: "epsilon_total sensitivity c threshold_share",
    redrawn: "epsilon_total delta sensitivity c steps",
    nearest: "epsilon_total sensitivity c",
    soft_weights.calibrate: "epsilon_total delta sensitivity epsilon_abc steps",
}
"""Calibrations and the arguments they take."""


@pytest.mark.parametrize("calibrate", CASES, ids=lambda each: f"{each.__module__}.{each.__name__}")
def test_limits_are_where_they_should_be(calibrate: Callable[..., Any]) -> None:
    usual = {name: LIMITS[name][0] for name in CASES[calibrate].split()}
    for name in usual:
        taken, refused = LIMITS[name][1]
        for value in taken:
            calibrate(**usual | {name: value})
        for value in refused:
            with pytest.raises(ValueError, match=name):
                calibrate(**usual | {name: value})
    if calibrate in (gaussian_series.calibrate, gaussian_rejection.calibrate, redrawn):
        with pytest.raises(ValueError, match="accountant = guess"):
            calibrate(**usual, accountant="guess")
