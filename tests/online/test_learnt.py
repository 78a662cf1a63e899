"""What is said about σ: how much narrower than its prior its posterior is, and when that counts."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from abcdp_core.experiments import adaptive_truncation
from abcdp_core.online import learnt
from abcdp_core.online.prior import Prior
from abcdp_core.sentences import estimate

PARAMS = adaptive_truncation.Params(particles=1000)


def test_the_prior_itself_has_width_one_and_a_known_sigma_none() -> None:
    prior = Prior(shape=3.0, rate=7.0)
    assert learnt.width(prior.sd_log_sigma, prior) == 1.0
    assert learnt.width(0.0, Prior(sigma=2.0)) == 0.0


@pytest.mark.parametrize(
    ("particles", "width", "gained"),
    [
        (None, 0.99, 0.01),
        (None, 1.2, 0.0),
        (10_000, 0.97, 0.03),
        (10_000, 0.985, 0.0),
        (100, 0.85, 0.0),
        (100, 0.7, 0.3),
        # A single particle has no spread, which tells nothing.
        (1, 0.0, 0.0),
        (4, 0.0, 0.0),
    ],
)
def test_a_narrowing_counts_only_if_so_many_particles_can_tell_it(
    particles: int | None, width: float, gained: float
) -> None:
    assert learnt.narrower([width], particles) == pytest.approx([gained])


@pytest.mark.parametrize(
    ("gained", "words"),
    [
        (0.0, "not clearly narrower than its prior"),
        (0.009, "not clearly narrower than its prior"),
        (0.01, "only 1 % narrower than its prior"),
        (0.499, "only 49 % narrower than its prior"),
        (0.5, "50 % narrower than its prior"),
        (0.9999, "99 % narrower than its prior"),
    ],
)
def test_words_never_round_up(gained: float, words: str) -> None:
    assert learnt.words(gained) == words


def test_the_grid_has_no_chance_and_a_known_sigma_is_not_learnt() -> None:
    assert PARAMS.narrower("grid", [0.99]) == pytest.approx([0.01])
    assert PARAMS.narrower("smc", [0.99]) == [0.0]
    known = dataclasses.replace(PARAMS, known_sigma=True, particles=1)
    assert known.narrower("smc", np.zeros(2)).tolist() == [1.0, 1.0]
    assert known.sigma_in_words("smc", 1.0, 0.0, 0.0) == "σ = 3.16 is known"


@pytest.mark.parametrize(
    ("mean", "sd", "words"),
    [
        (49.8712, 0.314, "49.87 ± 0.31"),
        (50.0, 0.0012, "50.0000 ± 0.0012"),
        (84.21, 30.4, "84 ± 30"),
        (1.2, 0.0, "1.2"),
        (-0.0001, 0.01, "0.000 ± 0.010"),
        (3e9, 2.1e9, "3e+09 ± 2.1e+09"),
    ],
)
def test_a_mean_is_said_to_the_digits_of_its_error(mean: float, sd: float, words: str) -> None:
    assert estimate(mean, sd) == words
