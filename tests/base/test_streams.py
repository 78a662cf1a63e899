from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from abcdp_core.base.streams import SEED_LIMIT, generator
from tests.statistics import assert_distribution


def test_each_address_has_its_own_numbers_whatever_was_drawn_before() -> None:
    addresses: list[tuple[int, str, *tuple[int, ...]]] = [
        *((7, "pool", 3, 100), (8, "pool", 3, 100), (7, "noise", 3, 100), (7, "pool", 4, 100)),
        *((7, "pool", 100, 3), (7, "pool", 3), (7, "pool", 3, 100, 0), (7, "pool")),
        *((0, "pool"), (SEED_LIMIT - 1, "pool")),
    ]
    first = [generator(*address).random() for address in addresses]
    assert len(set(first)) == len(addresses)
    assert [generator(*address).random() for address in reversed(addresses)] == first[::-1]


@pytest.mark.parametrize("vary", ["seed", "run"])
def test_first_numbers_of_neighboring_streams_are_uniform(vary: str) -> None:
    size = range(20_000)
    streams = (generator(i, "x") if vary == "seed" else generator(1, "x", i) for i in size)
    assert_distribution(np.array([rng.random() for rng in streams]), stats.uniform.cdf)


def test_numbers_are_the_same_in_every_version() -> None:
    # Saved results name a seed.
    assert generator(1, "pool", 2, 3).bit_generator.random_raw() == 5582696221002243097
