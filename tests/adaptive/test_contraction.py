"""What is said about σ: how much narrower than its prior its posterior is, and when that counts."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from abcdp_core.adaptive import contraction
from abcdp_core.adaptive.prior import Prior
from abcdp_core.studies import adaptive_truncation


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
    ],
)
def test_a_narrowing_counts_only_if_so_many_particles_can_tell_it(
    particles: int | None, width: float, gained: float
) -> None:
    assert contraction.narrower([width], particles) == pytest.approx([gained])


def test_words_never_round_up() -> None:
    words = [contraction.words(gained) for gained in (0.009, 0.01, 0.499, 0.5, 0.9999)]
    assert words == [
        "not clearly narrower than its prior",
        "only 1 % narrower than its prior",
        "only 49 % narrower than its prior",
        "50 % narrower than its prior",
        "99 % narrower than its prior",
    ]


def test_the_grid_has_no_chance_and_a_known_sigma_is_not_learnt() -> None:
    prior = Prior(shape=3.0, rate=7.0)
    assert contraction.width(prior.sd_log_sigma, prior) == 1.0
    assert contraction.width(0.0, Prior(sigma=2.0)) == 0.0
    params = adaptive_truncation.Params(particles=1000)
    assert params.narrower("grid", [0.99]) == pytest.approx([0.01])
    assert params.narrower("smc", [0.99]) == [0.0]
    known = dataclasses.replace(params, known_sigma=True, particles=1)
    assert known.narrower("smc", np.zeros(2)).tolist() == [1.0, 1.0]
    assert known.sigma_in_words("smc", 1.0, 0.0, 0.0) == "σ = 3.16 is known"
