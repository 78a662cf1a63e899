"""How much narrower than its prior the posterior of σ is, and when that counts."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from abcdp_core.adaptive import contraction
from abcdp_core.adaptive.parameters import StreamParams
from abcdp_core.adaptive.prior import Prior


@pytest.mark.parametrize(
    ("particles", "width", "gained"),
    [(None, 0.99, 0.01), (None, 1.2, 0.0), (10_000, 0.97, 0.03), (10_000, 0.985, 0.0),
     (100, 0.85, 0.0), (100, 0.7, 0.3), (1, 0.0, 0.0)],
)  # fmt: skip
def test_a_narrowing_counts_only_if_so_many_particles_can_show_it(
    particles: int | None, width: float, gained: float
) -> None:
    assert contraction.narrower([width], particles) == pytest.approx([gained])


def test_words_never_round_up() -> None:
    shares = {0.009: "not clearly", 0.01: "only 1 %", 0.499: "only 49 %", 0.9999: "99 %"}
    for gained, words in shares.items():
        assert contraction.words(gained) == f"{words} narrower than its prior"


def test_the_grid_is_exact_and_a_known_sigma_is_not_learned() -> None:
    prior = Prior(shape=3.0, rate=7.0)
    assert contraction.width(prior.sd_log_sigma, prior) == 1.0
    assert contraction.width(0.0, Prior(sigma=2.0)) == 0.0
    params = StreamParams(particles=1000)
    assert params.narrower("grid", [0.99]) == pytest.approx([0.01])
    assert params.narrower("smc", [0.99]) == [0.0]
    known = dataclasses.replace(params, known_sigma=True, particles=1)
    assert known.narrower("smc", np.zeros(2)).tolist() == [1.0, 1.0]
