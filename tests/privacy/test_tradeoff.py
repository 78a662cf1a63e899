"""Trade-off curves: closed forms against the best attack on discretized distributions."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import special, stats

from abcdp_core.base.arrays import Array
from abcdp_core.mechanisms import gaussian_rejection as rejection
from abcdp_core.mechanisms import gaussian_sparse_vector, nearest_selection
from abcdp_core.mechanisms.gaussian_rejection import GaussianRejection
from abcdp_core.mechanisms.gaussian_sparse_vector import GaussianSparseVector
from abcdp_core.mechanisms.private_embedding import draw_norm_noise
from abcdp_core.mechanisms.sparse_vector import calibrate
from abcdp_core.mechanisms.sparse_vector_pairs import Pair, pair_law
from abcdp_core.privacy import Event, Gaussian, GaussianSeries, Laplace, NormNoise, cost
from abcdp_core.privacy.tradeoff import (
    TwoDistributions,
    approximate,
    curve,
    gaussian,
    neyman_pearson,
    norm_noise,
    of_cost,
    worst,
)
from tests.events import quieter
from tests.oracles.outcomes import patterns
from tests.oracles.sparse_vector import log_probability
from tests.statistics import FALSE_ALARM

RATES = np.linspace(0.0, 1.0, 201)

EVENTS: list[Event] = [
    Gaussian(1.0, 2.0),
    GaussianSeries(1.0, 30.0, 1000),
    Laplace(1.0, 0.5),
    NormNoise(1.0, 0.5, 2),
    NormNoise(1.0, 1.0, 46),
    rejection.calibrate(1.0, 0.01, 1.0, 0.1, 100),
    gaussian_sparse_vector.calibrate(1.0, 1e-4, 0.01, 3, 100, resample=False),
    calibrate(1.0, 0.01, 1, resample=False),
    calibrate(4.0, 0.01, 3, resample=False),
    calibrate(1.0, 0.01, 3, resample=True),
    nearest_selection.calibrate(1.0, 1e-6, 0.02, 100),
    nearest_selection.calibrate(20.0, 1e-6, 0.02, 10),
]


def cells(cdf: stats.rv_continuous, shift: float) -> Array:
    """Probabilities of small cells under a distribution moved by ``shift``."""
    edges = np.concatenate([[-np.inf], np.linspace(-12.0, 16.0, 40_001), [np.inf]])
    return np.diff(cdf.cdf(edges - shift)) + 1e-300


def attack(first: Array, second: Array) -> Array:
    false_alarm, miss = neyman_pearson(TwoDistributions(np.log(first), np.log(second)))
    return np.interp(RATES, false_alarm, miss)


# --------------------------------------------------------------------------------- closed forms


@pytest.mark.parametrize("move", [0.1, 1.0, 4.0])
def test_gaussian_and_laplace_curves_are_the_best_attack(move: float) -> None:
    best = attack(cells(stats.norm, 0.0), cells(stats.norm, move))
    assert gaussian(move, RATES) == pytest.approx(best, abs=1e-5)
    best = attack(cells(stats.laplace, 0.0), cells(stats.laplace, move))
    assert norm_noise(move, 1, RATES) == pytest.approx(best, abs=1e-4)


@pytest.mark.parametrize(("epsilon", "dimension"), [(0.1, 3), (1.0, 2), (4.0, 46)])
def test_a_curve_of_norm_noise_is_the_best_attack(epsilon: float, dimension: int) -> None:
    # Sampled rates of the likelihood-ratio test at several levels, each off by at most Hoeffding's
    # bound at a false alarm of 1e-6.
    runs = 40_000
    noise = draw_norm_noise(np.random.default_rng(1), dimension, (runs,))
    move = epsilon * np.eye(dimension)[0]
    level = np.linspace(-0.8, 0.8, 9)[:, None] * epsilon
    shifted = np.linalg.norm(noise - move, axis=1)
    false_alarm = (np.linalg.norm(noise, axis=1) - shifted >= level).mean(axis=1)
    miss = (np.linalg.norm(noise + move, axis=1) - np.linalg.norm(noise, axis=1) < level).mean(1)
    allowed = math.sqrt(math.log(4 * 9 / FALSE_ALARM) / (2 * runs))
    low, high = np.clip(false_alarm - allowed, 0, 1), np.clip(false_alarm + allowed, 0, 1)
    assert (norm_noise(epsilon, dimension, high) <= miss + allowed).all()
    assert (norm_noise(epsilon, dimension, low) >= miss - allowed).all()
    # Half the noise would be seen, where there is something to see.
    if epsilon >= 1.0:
        assert (norm_noise(2.0 * epsilon, dimension, low) < miss - allowed).any()


def test_the_lines_of_a_cost_are_those_of_all_its_deltas() -> None:
    # By the definition, 1 − β ≤ e^ε α + δ and 1 − α ≤ e^ε β + δ.
    lines = approximate(2.0, 0.01, np.array([0.05, 0.5]))
    expected = [1.0 - 0.01 - math.exp(2.0) * 0.05, (1.0 - 0.01 - 0.5) * math.exp(-2.0)]
    assert lines == pytest.approx(expected)
    # A pure cost is the same at every δ, and its best line is the one of δ = 0.
    assert of_cost(Laplace(1.0, 0.5), RATES).miss == pytest.approx(approximate(2.0, 0.0, RATES))
    event = Gaussian(1.0, 1.0)
    deltas = (0.0, *(10.0**k for k in range(-12, 0)))
    lines = [approximate(cost(event, delta).epsilon, delta, RATES) for delta in deltas]
    assert of_cost(event, RATES).miss == pytest.approx(np.max(lines, axis=0), abs=1e-14)


# ----------------------------------------------------------------------- what every curve keeps


@pytest.mark.parametrize("event", EVENTS, ids=str)
def test_a_curve_falls_is_convex_and_symmetric_and_lies_between_chance_and_its_cost(
    event: Event,
) -> None:
    found = curve(event, RATES)
    assert found.kind in ("exact", "attained", "bound")
    assert (np.diff(found.miss) <= 1e-12).all()
    assert (np.diff(found.miss, 2) >= -1e-4).all()
    assert (found.miss <= 1.0 - RATES + 1e-12).all()
    assert found.miss[-1] == pytest.approx(0.0, abs=1e-9)
    for delta in (1e-6, 1e-4, 1e-2):
        spent = cost(event, delta)
        assert (found.miss >= approximate(spent.epsilon, spent.delta, RATES) - 1e-6).all()
    # A test that misses at rate T(α) has a false-alarm rate α when it says the opposite.
    inside = (found.miss > 1e-3) & (RATES > 0.0)
    back = curve(event, found.miss[inside]).miss
    assert back == pytest.approx(RATES[inside], abs=2e-3)


@pytest.mark.parametrize(
    "event",
    [
        *EVENTS[:4],
        EVENTS[5],
        GaussianSparseVector(1.0, 10.0, 20.0, 3, False, 100),
        calibrate(1.0, 0.01, 2, resample=False),
    ],
    ids=lambda event: type(event).__name__,
)
def test_half_the_noise_lies_below(event: Event) -> None:
    whole, less = curve(event, RATES).miss, curve(quieter(event), RATES).miss
    assert (less <= whole + 1e-9).all()
    assert (less < whole - 0.005).any()


def test_no_attack_on_gaussian_rejection_is_below_the_bound() -> None:
    event = GaussianRejection(0.5, 1.0, 0.3, 0.4, 3)
    outcomes = np.array(list(itertools.product([False, True], repeat=3)))
    bound = curve(event, RATES).miss

    def law(rho: Array) -> Array:
        probabilities: Array = special.ndtr(np.where(outcomes, 0.3 - rho, rho - 0.3) / 0.4)
        return probabilities.prod(axis=1)

    for rho in itertools.product([0.0, 0.3, 0.5, 1.0], repeat=3):
        for signs in itertools.product([-1, 1], repeat=3):
            moved = np.clip(np.array(rho) + 0.5 * np.array(signs), 0.0, 1.0)
            assert (attack(law(np.array(rho)), law(moved)) >= bound - 1e-9).all()


# ------------------------------------------------------------------------------- sparse vector


@pytest.mark.parametrize("c", [1, 2, 3])
def test_the_distribution_of_a_pair_is_that_of_single_outcomes(c: int) -> None:
    event = calibrate(2.0, 0.1, c, resample=False)
    signs = (-1, 1, 1, -1, 1)
    moves = np.array(signs)
    rho = np.where(moves < 0, 0.07, -0.03)
    law = pair_law(Pair(signs, 0.07, -0.03), event)
    for each in (law.first, law.second):
        assert np.exp(each).sum() == pytest.approx(1.0, abs=1e-10)
    # Outcomes of equal ratio are grouped; single outcomes give the same curve.
    single = [
        [log_probability(run, each, 0.0, event) for each in (rho, rho + 0.1 * moves)]
        for run in patterns(5, c)
    ]
    every = TwoDistributions(*np.array(single).T)
    grouped = np.interp(RATES, *neyman_pearson(law))
    assert grouped == pytest.approx(np.interp(RATES, *neyman_pearson(every)), abs=1e-9)


def test_too_many_acceptances_and_redrawn_thresholds_have_the_lines() -> None:
    for event in (calibrate(1.0, 0.02, 11, resample=False), calibrate(1.0, 0.02, 2, resample=True)):
        found = curve(event, RATES)
        assert found.kind == "bound"
        assert found.miss == pytest.approx(approximate(1.0, 0.0, RATES), abs=1e-9)
    # A search for the worst pair shows what an attacker gets; others may get more.
    assert curve(calibrate(1.0, 0.02, 1, resample=True), RATES).kind == "attained"


@pytest.mark.parametrize(("c", "epsilon"), [(1, 1.0), pytest.param(2, 4.0, marks=pytest.mark.slow)])
def test_no_signs_of_a_short_run_are_worse_than_the_pairs_tried(c: int, epsilon: float) -> None:
    event = calibrate(epsilon, 1.0, c, resample=False)
    places = [place * event.threshold_scale for place in (-2.0, 0.0, 0.5, 1.0, 2.0)]
    laws = [
        pair_law(Pair(signs, falling, growing), event)
        for signs in itertools.product([-1, 1], repeat=6)
        for falling, growing in itertools.product(places, places)
    ]
    found = curve(event, RATES).miss
    assert (worst(laws, RATES) >= found - 0.002).all()
