"""The second ways: they agree where they should, and see where they should not."""

from __future__ import annotations

import numpy as np
import pytest

from abcdp_core import runner
from abcdp_core.adaptive import information
from abcdp_core.adaptive.families import NORMAL
from abcdp_core.claims import truncation_theory as study
from abcdp_core.results import Result

SMALL = study.Params(n=(20, 200), particles=50, draws=60, runs=2)


@pytest.fixture(scope="module")
def small() -> Result:
    return runner.run_to_end(study, SMALL, seed=1)


@pytest.mark.parametrize("half", [1e-3, 0.07, 1.2, 10.0])
@pytest.mark.parametrize("epsilon_total", [0.1, 1.0, 10.0, 100.0])
def test_information_from_the_density_is_that_of_the_base_family_scaled(
    half: float, epsilon_total: float
) -> None:
    exact = information.laplace(NORMAL, -half, half, 1 / epsilon_total)[0, 0]
    sigma = 3.0
    found = study.information_at(-20.0, sigma, half * sigma, epsilon_total) * sigma**2
    assert found == pytest.approx(exact, rel=1e-8)


def test_the_best_half_width_is_found_anew(small: Result) -> None:
    main = small.tables["main"]
    np.testing.assert_allclose(main.half_width, main.base_half_width, rtol=1e-5)
    np.testing.assert_allclose(main.information, main.base_information, rtol=1e-9)
    np.testing.assert_allclose(main.base_half_width, [0.0706, 0.2234, 0.7281, 1.2244], atol=5e-5)


def test_the_largest_log_ratio_is_the_budget_whatever_the_interval(small: Result) -> None:
    ratio = small.tables["ratio"]
    assert set(ratio.interval) == {"best", "fixed"}
    np.testing.assert_allclose(ratio.log_ratio, ratio.epsilon_total, rtol=1e-12)


def test_noise_too_small_by_root_two_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The published script's mistake (MATH A11): its log ratio exceeds the budget by √2."""
    laplace = information.LAPLACE
    small = information.Noise(
        laplace.name, laplace.information, laplace.limit, lambda z: -(2**0.5) * np.abs(z)
    )
    monkeypatch.setattr(information, "LAPLACE", small)
    ratios = [row[-1] for row in study._ratios(SMALL, 2.0)]
    assert ratios == pytest.approx([2 * 2**0.5] * 2)


def test_each_size_is_timed_with_all_values_and_with_few(small: Result) -> None:
    cost = small.tables["cost"]
    assert len(cost) == 2 * 2 * 2
    assert (cost.seconds > 0).all()
    assert set(cost.refresh) == {0, SMALL.refresh}


def test_the_summary_holds_what_no_machine_changes() -> None:
    params = study.Params(epsilon_total=(1000.0,), n=(2,), particles=1, draws=10, runs=1)
    result = runner.run_to_end(study, params, seed=1)
    assert "differ by at most 1 × ε_total" in result.summary
    assert result.summary.endswith("in the mean of 1 run.")
