"""The second ways: they agree where they should, and see where they should not."""

from __future__ import annotations

import numpy as np
import pytest

from abcdp_core.adaptive import information
from abcdp_core.adaptive.families import NORMAL
from abcdp_core.publish.claims import truncation_theory as study
from abcdp_core.run import runner

SMALL = study.Params(n=(20, 40), particles=20, draws=60, runs=1)


@pytest.mark.parametrize(
    ("half", "epsilon_total"), [(1e-3, 0.1), (0.07, 1.0), (1.2, 10.0), (10.0, 100.0)]
)
def test_information_from_the_density_is_that_of_the_base_family_scaled(
    half: float, epsilon_total: float
) -> None:
    exact = information.laplace(NORMAL, -half, half, 1 / epsilon_total)[0, 0]
    sigma = 3.0
    found = study.information_at(-20.0, sigma, half * sigma, epsilon_total) * sigma**2
    assert found == pytest.approx(exact, rel=1e-8)


def test_both_ways_agree_and_the_largest_log_ratio_is_the_budget() -> None:
    found = runner.run_to_end(study, SMALL, seed=1)
    main, ratio, cost = (found.tables[name] for name in ("main", "ratio", "cost"))
    np.testing.assert_allclose(main.half_width, main.base_half_width, rtol=1e-5)
    np.testing.assert_allclose(main.information, main.base_information, rtol=1e-9)
    np.testing.assert_allclose(main.base_half_width, [0.0706, 0.2234, 0.7281, 1.2244], atol=5e-5)
    assert set(ratio.interval) == {"best", "fixed"}
    np.testing.assert_allclose(ratio.log_ratio, ratio.epsilon_total, rtol=1e-12)
    assert (cost.seconds > 0).all()
    assert set(cost.refresh) == {0, SMALL.refresh}
    assert "differ by at most 1 × ε_total" in found.summary


def test_noise_too_small_by_root_two_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The published script's mistake (MATH A11): its log ratio exceeds the budget by √2."""
    laplace = information.LAPLACE
    small = information.Noise(
        laplace.name, laplace.information, laplace.limit, lambda z: -(2**0.5) * np.abs(z)
    )
    monkeypatch.setattr(information, "LAPLACE", small)
    ratios = [row[-1] for row in study._ratios(SMALL, 2.0)]
    assert ratios == pytest.approx([2 * 2**0.5] * 2)
