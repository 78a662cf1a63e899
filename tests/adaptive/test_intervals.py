"""The best interval: known values, never beaten, and what the paper's intervals lose."""

import numpy as np
import pytest

from abcdp_core.adaptive import intervals
from abcdp_core.adaptive.families import FAMILIES, NORMAL
from abcdp_core.adaptive.information import NOISES, laplace, laplace_limit
from abcdp_core.adaptive.intervals import best

KNOWN = {
    1.0: (0.0706, 0.108872),
    2.0: (0.2234, 0.285997),
    5.0: (0.7281, 0.612222),
    10.0: (1.2244, 0.804410),
}


@pytest.mark.parametrize("epsilon_total", KNOWN)
@pytest.mark.parametrize("symmetric", [True, False])
def test_known_values(epsilon_total: float, symmetric: bool) -> None:
    # Symmetric is the global optimum for μ.
    half, score = KNOWN[epsilon_total]
    found = best(1.0 / epsilon_total, symmetric=symmetric)
    assert found.b == pytest.approx(half, abs=5e-5)
    assert found.a == -found.b
    assert found.score == pytest.approx(score, abs=5e-7)
    assert found.information[0, 0] == found.score


@pytest.mark.parametrize("score", intervals.SCORES)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("epsilon_total", [0.5, 3.0, 20.0])
def test_no_interval_beats_the_best(score: str, family: str, epsilon_total: float) -> None:
    found = best(1.0 / epsilon_total, family=family, score=score, symmetric=False, weight=0.3)
    ends = np.linspace(-5.0, 5.0, 41)
    first, last = np.triu_indices(len(ends), 1)
    F = laplace(FAMILIES[family], ends[first], ends[last], 1.0 / epsilon_total)
    assert intervals.SCORES[score](F, 0.3).max() <= found.score * (1.0 + 1e-10)
    assert found.a + found.b >= 0.0, "of mirrored twins, the one on the right"


def test_the_papers_intervals_lose_little() -> None:
    lost = [
        1.0 - laplace(NORMAL, -half, half, 1.0 / e)[0, 0] / best(1.0 / e).score
        for e, half in intervals.PAPER_HALF_WIDTHS.items()
    ]
    np.testing.assert_allclose(lost, [3.5e-5, 0.0030, 0.0077, 0.0114], rtol=0.02)


@pytest.mark.parametrize("noise", NOISES)
def test_the_smallest_budgets_end_at_the_narrowest_interval(noise: str) -> None:
    found = best(1000.0, noise)
    assert found.b == pytest.approx(intervals.NARROWEST, rel=1e-6)
    limit = NOISES[noise].limit(NORMAL, 0.0, 1000.0)[0, 0]
    assert found.score == pytest.approx(limit, rel=1e-4)


def test_laplace_values_are_best_answered_by_a_sign() -> None:
    found = best(0.2, family="laplace", symmetric=False)
    assert found.b == pytest.approx(intervals.NARROWEST, rel=1e-6)
    limit = laplace_limit(FAMILIES["laplace"], 0.0, 0.2)[0, 0]
    assert found.score == pytest.approx(limit, rel=1e-4)


def test_gaussian_noise_has_other_best_intervals() -> None:
    assert best(1.0, "gaussian").b == pytest.approx(0.1241, abs=1e-4)
