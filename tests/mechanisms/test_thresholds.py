"""The public thresholds and temperatures that are tried."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from abcdp_core.mechanisms import thresholds


def public_of(rho: np.ndarray, **own: tuple[float, ...]) -> Any:
    return SimpleNamespace(
        scenario=SimpleNamespace(**own), simulated=lambda _: SimpleNamespace(rho=rho)
    )


def test_a_scenario_s_own_are_tried() -> None:
    public = public_of(np.ones(3), THRESHOLDS=(0.7, 0.1), TEMPERATURES=(0.2,))
    assert thresholds.thresholds(public) == {"epsilon_abc": (0.7, 0.1)}
    assert thresholds.temperatures(public) == {"epsilon_abc": (0.2,)}


def test_otherwise_quantiles_and_parts_of_the_median_of_simulated_distances() -> None:
    public = public_of(np.arange(1001.0))
    assert thresholds.thresholds(public) == {"epsilon_abc": (1, 3, 10, 30, 100, 300, 600)}
    assert thresholds.temperatures(public) == {
        "epsilon_abc": (2.5, 5, 10, 25, 50, 100, 250, 500),
    }


def test_those_that_are_zero_or_the_same_in_three_digits_are_left_out() -> None:
    few = np.array([0.0, 0.12345, 0.12345, 0.12346, 0.12346, 0.2, 0.2, 0.2])
    assert thresholds.thresholds(public_of(few)) == {"epsilon_abc": (0.123,)}
    assert thresholds.temperatures(public_of(np.zeros(3))) == {"epsilon_abc": ()}
