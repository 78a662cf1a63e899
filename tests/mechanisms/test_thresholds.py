"""Public thresholds and temperatures to try."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from abcdp_core.mechanisms import thresholds


def public_of(rho: np.ndarray, **own: tuple[float, ...]) -> Any:
    return SimpleNamespace(
        scenario=SimpleNamespace(**own), simulated=lambda _: SimpleNamespace(rho=rho)
    )


SPREAD, FEW = np.arange(1001.0), np.array([0.0, *[0.12345, 0.12346] * 2, 0.2, 0.2, 0.2])


@pytest.mark.parametrize(
    ("public", "values", "temperatures"),
    [
        (public_of(np.ones(3), THRESHOLDS=(0.7, 0.1), TEMPERATURES=(0.2,)), (0.7, 0.1), (0.2,)),
        (public_of(SPREAD), (1, 3, 10, 30, 100, 300, 600), (2.5, 5, 10, 25, 50, 100, 250, 500)),
        # Zeros and values that are equal in three digits are left out.
        (public_of(np.zeros(3)), (), ()),
    ],
)
def test_values_to_try_are_the_scenario_s_or_follow_from_simulated_distances(
    public: Any, values: tuple[float, ...], temperatures: tuple[float, ...]
) -> None:
    assert thresholds.thresholds(public) == {"epsilon_abc": values}
    assert thresholds.temperatures(public) == {"epsilon_abc": temperatures}
    assert thresholds.thresholds(public_of(FEW)) == {"epsilon_abc": (0.123,)}
