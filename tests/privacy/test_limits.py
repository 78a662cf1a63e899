"""Every calibration accepts values within its limits and refuses those at them or beyond."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abcdp_core.mechanisms import (
    gaussian_rejection,
    gaussian_sparse_vector,
    nearest_selection,
    private_embedding,
    soft_weights,
    sparse_vector,
)
from abcdp_core.mechanisms.private_summary import SummaryNoise, noise_for
from abcdp_core.privacy import (
    NormNoise,
    calibration,
    composition,
    cost,
    discrete,
    gaussian_series,
)

POSITIVE = ((1e-3, 0.6, 30.0), (0.0, -1.0, math.inf, math.nan))
COUNT = ((1, 2, 7), (0, -1))
INSIDE = ((1e-9, 0.4, 0.6, 0.99), (0.0, 1.0, 1.5, -0.1, math.nan))
BELOW_1 = ((0.0, 1e-9, 0.6, 0.99), (1.0, 1.5, -0.1, math.nan))
SHARE = ((1e-9, 0.6, 1.0), (0.0, 1.5, -0.1, math.nan))
"""Values that are accepted, and values that are refused."""

Limits = tuple[tuple[float, ...], tuple[float, ...]]


def summary_noise(epsilon_total: float, sensitivity: float) -> Any:
    statistic = SimpleNamespace(
        l1=lambda _: sensitivity, unit="one point", neighbours="replace", whole=None
    )
    return noise_for(statistic, 10, epsilon_total)  # type: ignore[arg-type]


def kept(**given: Any) -> Any:
    return sparse_vector.calibrate(**given, resample=False)


def redrawn(**given: Any) -> Any:
    return gaussian_sparse_vector.calibrate(**given, resample=True)


def composed(**given: Any) -> float:
    return composition.largest_per_query_epsilon(**given, accountant="advanced")


def quantile(quantile: float) -> float:
    return gaussian_rejection.bound_quantile(np.array([1.0, 2.0, 3.0]), quantile)


def quantile_of(distance: float) -> float:
    return gaussian_rejection.bound_quantile(np.full(3, distance), 0.5)


CASES: dict[str, tuple[Callable[..., Any], dict[str, tuple[float, Limits]]]] = {
    "Laplace": (calibration.laplace_unit_scale, {"epsilon_total": (1.0, POSITIVE)}),
    "Gaussian": (
        gaussian_series.gaussian_unit_scale,
        {"epsilon_total": (1.0, POSITIVE), "delta": (1e-5, INSIDE)},
    ),
    "series": (
        gaussian_series.calibrate,
        {
            "epsilon_total": (1.0, POSITIVE), "delta": (1e-5, INSIDE), "steps": (5, COUNT),
            "sensitivity": (0.1, POSITIVE),
        },
    ),
    "vector": (
        private_embedding.calibrate,
        {
            "epsilon_total": (1.0, POSITIVE), "sensitivity": (0.1, POSITIVE),
            "dimension": (3, COUNT),
        },
    ),
    "composition": (
        composed,
        {"epsilon_total": (1.0, POSITIVE), "count": (5, COUNT), "delta": (1e-5, INSIDE)},
    ),
    "discrete": (discrete.laplace, {"scale": (3, ((1, 2, 10**6), (0, -1, 1.0, 1.5)))}),
    "summary": (summary_noise, {"epsilon_total": (1.0, POSITIVE), "sensitivity": (0.1, POSITIVE)}),
    "rejection": (
        gaussian_rejection.calibrate,
        {
            "epsilon_total": (1.0, POSITIVE), "sensitivity": (0.1, POSITIVE),
            "bound": (1.4, POSITIVE), "epsilon_abc": (0.3, POSITIVE), "steps": (5, COUNT),
        },
    ),
    "quantile": (quantile, {"quantile": (0.5, SHARE)}),
    "largest distance": (quantile_of, {"distance": (0.5, ((1e-3, 0.6), (0.0, -1.0, math.nan)))}),
    "sparse vector": (
        kept,
        {
            "epsilon_total": (1.0, POSITIVE), "sensitivity": (0.1, POSITIVE), "c": (3, COUNT),
            "threshold_share": (0.5, INSIDE),
        },
    ),
    "Gaussian sparse vector": (
        redrawn,
        {
            "epsilon_total": (1.0, POSITIVE), "delta": (1e-5, INSIDE),
            "sensitivity": (0.1, POSITIVE), "c": (3, COUNT), "steps": (9, COUNT),
        },
    ),
    "nearest": (
        nearest_selection.calibrate,
        {
            "epsilon_total": (1.0, POSITIVE), "delta": (0.0, BELOW_1),
            "sensitivity": (0.1, POSITIVE), "c": (3, COUNT),
        },
    ),
    "soft": (
        soft_weights.calibrate,
        {
            "epsilon_total": (1.0, POSITIVE), "delta": (1e-5, INSIDE),
            "sensitivity": (0.1, POSITIVE), "epsilon_abc": (0.3, POSITIVE), "steps": (5, COUNT),
        },
    ),
}  # fmt: skip


def test_what_costs_the_budget_exactly_needs_no_more_noise() -> None:
    for c in (1, 2):
        event = kept(epsilon_total=1.0, sensitivity=1.0, c=c, threshold_share=0.5)
        assert (event.threshold_scale, event.query_scale) == (2.0, 4.0 * c)
    assert summary_noise(0.5, 1.0).scale == 2.0
    assert gaussian_series.joint_mu(gaussian_series.GaussianSeries(1.0, 1.0, 4)) == 2.0


EVENTS: dict[str, Callable[[float], Any]] = {
    "rejection": lambda scale: gaussian_rejection.GaussianRejection(0.1, 1.4, 0.3, scale, 2),
    "nearest": lambda scale: nearest_selection.NearestSelection(0.1, scale, 2),
    "summary": lambda scale: SummaryNoise("one point", "replace", 0.1, scale, None),
    "sparse vector": lambda scale: sparse_vector.SparseVector(0.1, scale, 2.0, 2, False),
    "its queries": lambda scale: sparse_vector.SparseVector(0.1, 2.0, scale, 2, False),
    "Gaussian sparse vector": lambda scale: gaussian_sparse_vector.GaussianSparseVector(
        0.1, scale, 2.0, 2, False, 9
    ),
    "series": lambda scale: gaussian_series.GaussianSeries(0.1, scale, 2),
    "vector": lambda scale: NormNoise(0.1, scale, 2),
}


@pytest.mark.parametrize("event", EVENTS.values(), ids=EVENTS)
def test_noise_of_scale_0_protects_nothing_and_noise_of_scale_1_does(
    event: Callable[[float], Any],
) -> None:
    assert cost(event(0.0), 1e-5).epsilon == math.inf
    assert 0.0 < cost(event(1.0), 1e-5).epsilon < 2.0
    # Rounded to a number, not left as a fraction.
    assert type(cost(event(3.0), 1e-5).epsilon) is float


def test_any_order_is_a_bound_also_where_the_best_one_is_at_an_end() -> None:
    assert 0.0 <= composition.from_renyi(lambda alpha: 0.0 * alpha, 1e-6) < 1e-3
    assert composition.from_renyi(lambda alpha: 1e12 * alpha, 1e-6) >= 1e12


def test_a_cost_beyond_all_numbers_is_infinite() -> None:
    assert composition.epsilon(1000.0, 2, 1e-5, "advanced") == math.inf
    event = gaussian_rejection.GaussianRejection(0.1, 1.4, 40.0, 1.0, 1)
    assert gaussian_rejection.decision_epsilon(event, "published") == math.inf
    open_book = gaussian_sparse_vector.GaussianSparseVector(1.0, 1e-3, 2e-3, 5, False, 100)
    assert gaussian_sparse_vector.log_delta(open_book, 0.0) == 0.0


@pytest.mark.parametrize("case", CASES)
def test_limits_are_where_they_should_be(case: str) -> None:
    calibrate, arguments = CASES[case]
    usual = {name: value for name, (value, _) in arguments.items()}
    for name, (_, (taken, refused)) in arguments.items():
        for value in taken:
            calibrate(**usual | {name: value})
        for value in refused:
            with pytest.raises(ValueError, match=re.escape(name) + "|bound"):
                calibrate(**usual | {name: value})


PRICES: dict[str, tuple[Callable[..., float], tuple[str, ...]]] = {
    "series": (gaussian_series.epsilon, gaussian_series.ACCOUNTANTS),
    "Gaussian sparse vector": (gaussian_sparse_vector.epsilon, gaussian_sparse_vector.ACCOUNTANTS),
    "rejection": (
        lambda event, _, accountant: gaussian_rejection.pure_epsilon(event, accountant),
        gaussian_rejection.ACCOUNTANTS,
    ),
}
"""ε of an event by one of several accountants."""

ACCOUNTED = [(case, name) for case, (_, names) in PRICES.items() for name in names]
ACCOUNTED += [(case, "") for case in ("vector", "summary", "sparse vector", "nearest", "soft")]


@pytest.mark.parametrize(("case", "accountant"), ACCOUNTED)
@settings(max_examples=15)
@given(
    budget=st.floats(0.01, 100.0),
    delta=st.floats(1e-10, 1e-3),
    change=st.floats(1e-5, 2.0),
    c=st.integers(1, 50),
    steps=st.integers(50, 1000),
)
def test_calibrated_noise_costs_its_budget_and_half_the_noise_much_more(
    case: str, accountant: str, budget: float, delta: float, change: float, c: int, steps: int
) -> None:
    calibrate, arguments = CASES[case]
    given = {"epsilon_total": budget, "delta": delta, "sensitivity": change, "c": c, "steps": steps}
    asked: dict[str, Any] = {name: given.get(name, usual) for name, (usual, _) in arguments.items()}

    def price(event: Any) -> float:
        if not accountant:
            return cost(event, delta).epsilon
        return PRICES[case][0](event, delta, accountant)

    event = calibrate(**asked | ({"accountant": accountant} if accountant else {}))
    assert budget * (1.0 - 1e-5) <= price(event) <= budget
    assert cost(event, delta).epsilon <= budget
    scales = ("scale", "threshold_scale", "query_scale")
    halves = {name: getattr(event, name) / 2.0 for name in scales if hasattr(event, name)}
    assert price(dataclasses.replace(event, **halves)) > 1.4 * budget
