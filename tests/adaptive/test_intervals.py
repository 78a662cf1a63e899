"""The best interval: known values, never beaten, and a sign in the limit."""

import numpy as np
import pytest

from abcdp_core.adaptive import intervals
from abcdp_core.adaptive.families import FAMILIES
from abcdp_core.adaptive.information import NOISES, laplace
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
    assert best(1.0, "gaussian").b == pytest.approx(0.1241, abs=1e-4)


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


@pytest.mark.parametrize(
    ("noise", "family", "unit_scale"),
    [("laplace", "normal", 1000.0), ("gaussian", "normal", 1000.0), ("laplace", "laplace", 0.2)],
)
def test_where_a_sign_is_best_the_interval_is_the_narrowest(
    noise: str, family: str, unit_scale: float
) -> None:
    found = best(unit_scale, noise, family, symmetric=False)
    assert found.b == pytest.approx(intervals.NARROWEST, rel=1e-6)
    limit = NOISES[noise].limit(FAMILIES[family], 0.0, unit_scale)[0, 0]
    assert found.score == pytest.approx(limit, rel=1e-4)
