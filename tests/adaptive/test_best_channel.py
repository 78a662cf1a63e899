"""The best table: known values, never beaten, against brute force over all patterns."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import optimize

from abcdp_core.adaptive import best_channel, channels, intervals
from abcdp_core.adaptive.best_channel import best, cells, on_cells, upper_bound
from abcdp_core.adaptive.families import FAMILIES, NORMAL

KNOWN = {1.0: 0.1360, 2.0: 0.3693, 3.0: 0.593, 5.0: 0.854, 10.0: 0.985}


@pytest.mark.parametrize("epsilon_total", KNOWN)
def test_known_values(epsilon_total: float) -> None:
    """MATH A14; up to ε_total = 2 the sign is best, and values are rounded."""
    found = best(epsilon_total)
    assert round(found.score, 4) >= KNOWN[epsilon_total]
    assert found.information[0, 0] == found.score < 1.0
    assert found.score > intervals.best(1.0 / epsilon_total).score * 1.2
    is_sign = found.channel.ends == channels.sign(epsilon_total).ends
    assert is_sign == (epsilon_total <= 2.0)


def brute_force(grid: best_channel.Cells, epsilon_total: float, gradient: np.ndarray) -> float:
    """The best table of all 2^m patterns, by the program in its first form (MATH A14)."""
    m, factor = len(grid.p), math.exp(epsilon_total)
    inside = np.array(list(itertools.product([False, True], repeat=m)))[1:-1]
    q = np.where(inside, factor, 1.0)
    slope = (factor - 1.0) * (inside @ grid.dp)
    gain = np.einsum("si,ij,sj->s", slope, gradient, slope) / (q @ grid.p)
    found = optimize.linprog(-gain, A_eq=q.T, b_eq=np.ones(m), method="highs-ds")
    assert found.status == 0
    return float(-found.fun)


@pytest.mark.parametrize("score", ["mu", "sigma", "trace", "weights"])
@pytest.mark.parametrize("epsilon_total", [0.5, 3.0, 6.0])
def test_no_pattern_beats_runs_of_cells(score: str, epsilon_total: float) -> None:
    for family, m in (("normal", 10), ("student-t", 8), ("logistic", 6)):
        grid = cells(FAMILIES[family], m)
        expected = brute_force(grid, epsilon_total, best_channel.gradient_of(score, 0.3))
        found = on_cells(grid, epsilon_total, family, score, weight=0.3).score
        # For σ alone two bands around μ, which are no run of cells, are a little better.
        lost = 0.07 if score == "sigma" else 1e-6
        assert expected * (1.0 - lost) <= found <= expected * (1.0 + 1e-6)


@pytest.mark.parametrize(
    ("score", "epsilon_total", "gap"),
    [("mu", 1.0, 0.0), ("mu", 5.0, 0.0), ("mu", 10.0, 0.0), ("sigma", 1.0, 0.0),
     ("sigma", 5.0, 0.06)],
)  # fmt: skip
def test_the_bound_is_met(score: str, epsilon_total: float, gap: float) -> None:
    grid = cells(NORMAL, 16)
    found = on_cells(grid, epsilon_total, score=score).score
    bound = upper_bound(grid, epsilon_total, score)
    assert found * (1.0 - 1e-9) <= bound <= found * (1.0 + gap + 2e-4)


@pytest.mark.parametrize(
    ("family", "score"),
    [
        *(("normal", "weights"), ("normal", "determinant"), ("laplace", "trace")),
        *(("logistic", "mu"), ("student-t", "sigma")),
    ],
)
def test_families_and_scores(family: str, score: str) -> None:
    found = best(4.0, family, score, weight=0.3)
    assert found.channel.epsilon <= 4.0
    assert intervals.SCORES[score](found.information, 0.3) == found.score
    truncated = intervals.best(0.25, "laplace", family, score, symmetric=False, weight=0.3)
    assert found.score > truncated.score * (1.0 + 1e-3)
    ends = set(found.channel.ends)
    assert ends == {(-high, -low) for low, high in ends}, "mirror images"
    assert abs(found.information[0, 1]) < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("score", ["mu", "sigma"])
def test_cells_are_fine_enough(score: str) -> None:
    found = best(10.0, score=score)
    finer = on_cells(cells(NORMAL, 2 * found.cells), 10.0, score=score)
    assert found.score <= finer.score < found.score * 1.005, "half a percent"
