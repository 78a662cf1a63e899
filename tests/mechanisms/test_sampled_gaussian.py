"""What two mechanisms with Gaussian noise do, against exact probabilities (layer 2).

Power: 20 000 runs at a false alarm of 1e-6 for the whole check. Each broken twin below is missed
with a probability under 1e-9, as bounded by ``miss_probability`` with the twin's own outcome law,
which is estimated from 400 000 further runs of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate, special

from abcdp_core.mechanisms import gaussian_rejection, soft_weights
from abcdp_core.privacy.local import gaussian_delta
from tests.statistics import assert_frequencies, miss_probability, rejects

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

RUNS = 20_000

Noise = Callable[[Array, float], Array]
"""Standard noise ``(runs, T)`` and the scale it should have -> the noise that is added."""


def sound(noise: Array, scale: float) -> Array:
    return scale * noise


def half_the_noise(noise: Array, scale: float) -> Array:
    return 0.5 * scale * noise


def drawn_once(noise: Array, scale: float) -> Array:
    return scale * np.broadcast_to(noise[:, :1], noise.shape)


def taken_for_a_variance(noise: Array, scale: float) -> Array:
    return math.sqrt(scale) * noise


TWINS = [half_the_noise, drawn_once, taken_for_a_variance]


def every_outcome(length: int) -> NDArray[np.bool_]:
    """All ways ``(2^length, length)`` to be in or out; row k holds the digits of k."""
    return np.array([[k >> t & 1 for t in range(length)] for k in range(2**length)], dtype=bool)


def counts_of(outcomes: NDArray[np.bool_]) -> Counts:
    """How often each of the rows ``(runs, T)`` came up, as whole numbers below 2^T."""
    length = outcomes.shape[1]
    return np.bincount(outcomes @ (1 << np.arange(length)), minlength=2**length)


def check_is_missed(law: Array, sample: Callable[[int, int], Counts]) -> None:
    """A twin, sampled by ``sample(runs, seed)``, is rejected, and would be with any luck."""
    assert rejects(assert_frequencies, sample(RUNS, 1), law)
    many = sample(20 * RUNS, 2)
    assert miss_probability(law, many / many.sum(), RUNS) < 1e-9


# ------------------------------------------------------------------------ Gaussian rejection

RHO = np.array([0.05, 0.3, 0.9, 0.0, 0.2])
"""Two of the distances lie beyond the bound."""

REJECTION = gaussian_rejection.calibrate(2.0, 0.05, 0.25, 0.12, len(RHO))


def rejection_law() -> Array:
    """Probability ``(32,)`` of every set of accepted draws."""
    accepted = special.ndtr((0.12 - np.minimum(RHO, 0.25)) / REJECTION.scale)
    return np.where(every_outcome(len(RHO)), accepted, 1.0 - accepted).prod(axis=1)


def rejections(noise: Noise, distances: Array, runs: int, seed: int) -> Counts:
    draws = np.random.default_rng(seed).standard_normal((runs, len(RHO)))
    return counts_of(distances + noise(draws, REJECTION.scale) <= 0.12)


def test_decisions_come_up_as_often_as_they_should() -> None:
    rng = np.random.default_rng(1)
    accepted = np.zeros((RUNS, len(RHO)), dtype=bool)
    for run in range(RUNS):
        published, _ = gaussian_rejection.run(RHO, 0.12, REJECTION, rng)
        accepted[run, published.indices] = True
    assert_frequencies(counts_of(accepted), rejection_law())


@pytest.mark.parametrize("twin", TWINS)
def test_broken_noise_of_a_decision_is_seen(twin: Noise) -> None:
    clipped = np.minimum(RHO, 0.25)
    check_is_missed(rejection_law(), lambda runs, seed: rejections(twin, clipped, runs, seed))


def test_distances_that_are_not_clipped_are_seen() -> None:
    check_is_missed(rejection_law(), lambda runs, seed: rejections(sound, RHO, runs, seed))


def test_the_bench_passes_sound_rejection() -> None:
    assert_frequencies(rejections(sound, np.minimum(RHO, 0.25), RUNS, 1), rejection_law())


# ------------------------------------------------------------- soft weights: who weighs most

SCALED = np.array([0.2, 1.5, 0.6, 3.0])
"""Distances in units of the threshold 0.1."""

# The noise is of the size of the distances, and not near 1: there a variance would look the same.
SOFT = soft_weights.calibrate(1.0, 1e-4, 0.1 * 0.314 * 1.5, 0.1, len(SCALED))


def heaviest(weights: Array) -> NDArray[np.bool_]:
    """Which draws ``(runs, T)`` have the largest weight: several where noise went below 0."""
    return weights == weights.max(axis=1, keepdims=True)


def soft_law() -> Array:
    """Probability ``(16,)`` of every set of heaviest draws.

    Two and more tie if and only if just these went below 0. One alone is the only one below 0, or
    none is and it is the smallest.
    """
    scale = SOFT.scale
    below = special.ndtr(-SCALED / scale)
    law = np.where(every_outcome(len(SCALED)), below, 1.0 - below).prod(axis=1)
    law[0] = 0.0
    for t in range(len(SCALED)):

        def smallest(x: float, t: int = t) -> float:
            density = math.exp(-0.5 * ((x - SCALED[t]) / scale) ** 2)
            others = special.ndtr((np.delete(SCALED, t) - x) / scale)
            return density / (scale * math.sqrt(2.0 * math.pi)) * float(others.prod())

        law[1 << t] += integrate.quad(smallest, 0.0, 3.0 + 12.0 * scale, limit=200)[0]
    return law


def soft_counts(noise: Noise, runs: int, seed: int) -> Counts:
    draws = np.random.default_rng(seed).standard_normal((runs, len(SCALED)))
    noisy = SCALED + noise(draws, SOFT.scale)
    projected = np.maximum(noisy, 0.0)
    return counts_of(projected == projected.min(axis=1, keepdims=True))


def test_the_heaviest_draws_come_up_as_often_as_they_should() -> None:
    rng = np.random.default_rng(1)
    weights = np.stack([soft_weights.run(SCALED, SOFT, rng)[0].weights for _ in range(RUNS)])
    assert_frequencies(counts_of(heaviest(weights)), soft_law())


@pytest.mark.parametrize("twin", TWINS)
def test_broken_noise_of_a_weight_is_seen(twin: Noise) -> None:
    check_is_missed(soft_law(), lambda runs, seed: soft_counts(twin, runs, seed))


def test_the_bench_passes_sound_weights() -> None:
    assert_frequencies(soft_counts(sound, RUNS, 1), soft_law())


# ------------------------------------------- soft weights: the most telling event of a long run

STEPS = 50
SHIFT = 0.4
"""What one person changes a distance by, in units of the threshold."""

LONG = soft_weights.calibrate(1.0, 0.05, 0.1 * SHIFT, 0.1, STEPS)


def telling(noisy: Array, scaled: Array) -> Array:
    """Log-likelihood ratio ``(runs,)`` of noisy distances: these data, or each one Δ nearer."""
    return ((noisy - scaled) * SHIFT + 0.5 * SHIFT**2).sum(axis=1) / LONG.scale**2


def telling_law() -> Array:
    """Probability of a log-likelihood ratio above and not above ε: L ~ N(μ²/2, μ²) (MATH W3)."""
    mu = math.sqrt(STEPS) * SHIFT / LONG.scale
    above = float(special.ndtr(mu / 2.0 - 1.0 / mu))
    return np.array([above, 1.0 - above])


def tellings(noise: Noise, runs: int, seed: int) -> Counts:
    draws = np.random.default_rng(seed).standard_normal((runs, STEPS))
    above = telling(noise(draws, LONG.scale), np.zeros(STEPS)) > 1.0
    return np.array([above.sum(), runs - above.sum()])


def test_the_worst_pair_is_told_apart_as_often_as_delta_allows() -> None:
    # P(L > ε) − e^ε Q(L > ε) is δ: both probabilities by the law of L under either data set.
    mu = math.sqrt(STEPS) * SHIFT / LONG.scale
    other = float(special.ndtr(-mu / 2.0 - 1.0 / mu))
    spent = telling_law()[0] - math.e * other
    assert 0.95 * 0.05 <= spent <= 0.05
    assert gaussian_delta(mu, 1.0) == pytest.approx(spent, rel=1e-9)
    assert gaussian_delta(2.0 * mu, 1.0) > 0.2


def test_the_most_telling_event_comes_up_as_often_as_it_should() -> None:
    rng = np.random.default_rng(1)
    scaled = np.linspace(0.0, 5.0, STEPS)
    noisy = np.stack([soft_weights.run(scaled, LONG, rng)[1].noisy_distance for _ in range(RUNS)])
    above = int((telling(noisy, scaled) > 1.0).sum())
    assert_frequencies(np.array([above, RUNS - above]), telling_law())


@pytest.mark.parametrize("twin", TWINS)
def test_broken_noise_of_a_long_run_is_seen(twin: Noise) -> None:
    assert rejects(assert_frequencies, tellings(twin, RUNS, 1), telling_law())


def test_the_bench_passes_a_sound_long_run() -> None:
    assert_frequencies(tellings(sound, RUNS, 1), telling_law())
