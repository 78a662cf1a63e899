"""The best table: the values that are known, never beaten, by brute force over all patterns."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import optimize

from abcdp_core.online import best_channel, channels, intervals
from abcdp_core.online.best_channel import best, cells, on_cells, partition, upper_bound
from abcdp_core.online.families import FAMILIES, NORMAL
from abcdp_core.streams import generator

KNOWN = {1.0: 0.1360, 2.0: 0.3693, 3.0: 0.593, 5.0: 0.854, 10.0: 0.985}


@pytest.mark.parametrize("epsilon_total", KNOWN)
def test_known_values(epsilon_total: float) -> None:
    """MATH A14; the sign's, best up to ε_total = 2, are rounded there."""
    found = best(epsilon_total)
    assert round(found.score, 4) >= KNOWN[epsilon_total]
    assert found.information[0, 0] == found.score < 1.0
    assert found.score > intervals.best(1.0 / epsilon_total).score * 1.2


@pytest.mark.parametrize("epsilon_total", [0.001, 0.5, 1.0, 2.0])
def test_a_sign_is_best_for_the_location_at_small_budgets(epsilon_total: float) -> None:
    found = best(epsilon_total).channel
    known = channels.sign(epsilon_total)
    assert found.ends == known.ends
    np.testing.assert_allclose(found.weights, known.weights, rtol=1e-9)
    assert len(best(3.0).channel.ends) == 3


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
        # About σ alone a band on either side of μ, which is no run, tells a little more.
        lost = 0.07 if score == "sigma" else 1e-6
        assert expected * (1.0 - lost) <= found <= expected * (1.0 + 1e-6)


def test_twelve_cells_by_brute_force() -> None:
    grid = cells(NORMAL, 12)
    expected = brute_force(grid, 5.0, np.diag([1.0, 0.0]))
    assert on_cells(grid, 5.0).score == pytest.approx(expected, rel=1e-7)
    assert upper_bound(grid, 5.0, "mu") == pytest.approx(expected, rel=2e-4)


def test_cells_of_any_kind_by_brute_force() -> None:
    grid = partition(NORMAL, np.array([-1.2, -0.1, 0.3, 0.35, 1.0, 2.0]))
    expected = brute_force(grid, 4.0, np.diag([0.0, 1.0]))
    found = on_cells(grid, 4.0, score="sigma", symmetric=False).score
    assert found == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("score", "epsilon_total", "gap"),
    [
        ("mu", 1.0, 0.0),
        ("mu", 5.0, 0.0),
        ("mu", 10.0, 0.0),
        ("sigma", 1.0, 0.0),
        ("sigma", 5.0, 0.06),
    ],
)
def test_the_bound_is_met(score: str, epsilon_total: float, gap: float) -> None:
    grid = cells(NORMAL, 16)
    found = on_cells(grid, epsilon_total, score=score).score
    bound = upper_bound(grid, epsilon_total, score)
    assert found * (1.0 - 1e-9) <= bound <= found * (1.0 + gap + 2e-4)


@pytest.mark.parametrize("parameter", [0, 1])
def test_any_duals_bound(parameter: int) -> None:
    """Exact pricing against all patterns: whatever the duals are, and none is left out."""
    grid, level = cells(NORMAL, 8), 3.0
    top = brute_force(grid, level, np.diag(np.eye(2)[parameter]))
    inside = np.array(list(itertools.product([False, True], repeat=8)))
    rho, gained = math.exp(-level), -math.expm1(-level)
    b = rho + gained * (inside @ grid.p)
    rng = generator(1, "duals")
    for scale in np.repeat([0.003, 0.03, 0.3], 20):
        eta = scale * rng.standard_normal(8)
        eta -= eta.sum() * grid.p
        found, _ = best_channel.priced(grid, level, parameter, eta, 0.0)
        rate = ((gained * (inside @ grid.dp[:, parameter])) ** 2 / b - inside @ eta) / b
        assert found == pytest.approx(float(rate.max()), rel=1e-12)
        assert found >= top * (1.0 - 1e-9)


@pytest.mark.parametrize("score", intervals.SCORES)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_and_score(family: str, score: str) -> None:
    found = best(4.0, family, score, weight=0.3)
    assert found.channel.epsilon <= 4.0
    assert intervals.SCORES[score](found.information, 0.3) == found.score
    truncated = intervals.best(0.25, "laplace", family, score, symmetric=False, weight=0.3)
    assert found.score > truncated.score * (1.0 + 1e-3)
    ends = set(found.channel.ends)
    assert ends == {(-high, -low) for low, high in ends}, "mirror images"
    assert abs(found.information[0, 1]) < 1e-9


@pytest.mark.parametrize("score", ["mu", "trace", "determinant"])
def test_symmetry_costs_nothing(score: str) -> None:
    grid = cells(NORMAL, 16)
    free = on_cells(grid, 3.0, score=score, symmetric=False)
    assert on_cells(grid, 3.0, score=score).score == pytest.approx(free.score, rel=2e-3)


def test_no_mixture_has_a_larger_determinant() -> None:
    grid = cells(NORMAL, 16)
    found = on_cells(grid, 3.0, score="determinant")
    mixtures = [on_cells(grid, 3.0, score="weights", weight=w) for w in np.linspace(0.1, 0.9, 9)]
    shares = np.linspace(0.0, 1.0, 21)[:, None, None]
    for one, other in itertools.combinations(mixtures, 2):
        mixed = shares * one.information + (1.0 - shares) * other.information
        assert np.linalg.det(mixed).max() <= found.score * (1.0 + 1e-3)


def test_cells_are_fine_enough() -> None:
    for score in ("mu", "sigma"):
        found = best(10.0, score=score)
        finer = on_cells(cells(NORMAL, 2 * found.cells), 10.0, score=score)
        assert found.score <= finer.score < found.score * 1.005, "half a per cent"


def test_cells_cover_the_line_and_mirror() -> None:
    for family in FAMILIES.values():
        grid = cells(family, 32)
        assert grid.p.sum() == pytest.approx(1.0, abs=1e-14)
        np.testing.assert_array_equal(grid.edges, -grid.edges[::-1])
        np.testing.assert_allclose(grid.dp.sum(axis=0), 0.0, atol=1e-15)
        assert (grid.p > 0.0).all()


@pytest.mark.parametrize("symmetric", [True, False])
def test_a_vertex_is_probabilities_and_what_they_tell(symmetric: bool) -> None:
    grid = cells(NORMAL, 8)
    inside = best_channel.arcs(grid.edges, symmetric).inside
    program = best_channel.Program(grid, inside, 3.0, symmetric)
    found = program.solve(best_channel.gradient_of("mu", 0.5))
    assert found.v.sum() == pytest.approx(1.0, rel=1e-12)
    told = on_cells(grid, 3.0, symmetric=symmetric).information[0, 0]
    assert found.value == pytest.approx(told, rel=1e-9)
    assert found.F[0, 0] == pytest.approx(told, rel=1e-9)


def test_both_parameters_weigh_the_same_unless_told_otherwise() -> None:
    grid = cells(NORMAL, 8)
    found = on_cells(grid, 3.0, score="weights")
    assert found.score == on_cells(grid, 3.0, score="weights", weight=0.5).score
    assert best(3.0, score="weights").score == best(3.0, score="weights", weight=0.5).score
