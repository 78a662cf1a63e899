from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from abcdp_core.streams import SEED_LIMIT, generator
from tests.statistics import assert_distribution


def test_the_same_address_gives_the_same_numbers() -> None:
    first, second = (generator(7, "pool", 3, 100).random(5) for _ in range(2))
    assert np.array_equal(first, second)


def test_every_other_address_gives_other_numbers() -> None:
    addresses: list[tuple[int, str, *tuple[int, ...]]] = [
        (7, "pool", 3, 100),
        (8, "pool", 3, 100),
        (7, "noise", 3, 100),
        (7, "pool", 4, 100),
        (7, "pool", 100, 3),
        (7, "pool", 3),
        (7, "pool", 3, 100, 0),
        (7, "pool"),
        (0, "pool"),
        (SEED_LIMIT - 1, "pool"),
    ]
    first = [generator(*address).random() for address in addresses]
    assert len(set(first)) == len(addresses)


def test_streams_do_not_depend_on_which_others_were_used() -> None:
    alone = generator(1, "noise", 2).random(3)
    for run in range(60):
        generator(1, "noise", run).random(1000)
    assert np.array_equal(generator(1, "noise", 2).random(3), alone)


@pytest.mark.parametrize("vary", ["seed", "run"])
def test_first_numbers_of_neighbouring_streams_are_uniform(vary: str) -> None:
    size = range(20_000)
    streams = (generator(i, "x") if vary == "seed" else generator(1, "x", i) for i in size)
    assert_distribution(np.array([rng.random() for rng in streams]), stats.uniform.cdf)


def test_numbers_of_this_version_stay_what_they_are() -> None:
    # Saved results name a seed: it has to mean the same in the next version.
    assert generator(1, "pool", 2, 3).bit_generator.random_raw() == 5582696221002243097
