"""The draws of the story are what the program computes; their person is the most telling one.

Distances, guesses and truth are bound to the program by ``tests/browser/test_story_numbers.py`` in
every run of the tests.
"""

from __future__ import annotations

import gzip
import json
from typing import Any

import numpy as np
import pytest

from abcdp_core.evaluation import one_release
from abcdp_core.mechanisms import sparse_vector
from abcdp_core.models.pool.comparing import observed_data
from abcdp_core.models.pool.making import open_pool
from abcdp_core.publish.output.story import DRAWS
from tools import story_draws
from tools.story_draws import SEED, SHOWN


def unpacked(content: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
    """Return what a file says and its arrays."""
    plain = gzip.decompress(content)
    start = 4 + int.from_bytes(plain[:4], "little")
    told, arrays = json.loads(plain[4:start]), {}
    for name, kind, size in told.pop("arrays"):
        stop = start + size * np.dtype(kind).itemsize
        planes = np.frombuffer(plain[start:stop], np.uint8).reshape(-1, size)
        arrays[name] = np.ascontiguousarray(planes.T).view(kind)[:, 0]
        start = stop
    return told, arrays


@pytest.mark.slow
def test_the_file_is_current() -> None:
    told, arrays = unpacked(DRAWS.read_bytes())
    now, made = unpacked(story_draws.packed())
    assert told == now
    assert arrays.keys() == made.keys()
    for name, each in arrays.items():
        # A processor may round another way; whole numbers then differ by one.
        np.testing.assert_allclose(each.astype(float), made[name], rtol=1e-6, atol=1.0 * (
            each.dtype.kind in "iu"))  # fmt: skip


@pytest.mark.slow
def test_nobody_moves_close_distances_more_and_the_threshold_tells() -> None:
    told, arrays = unpacked(DRAWS.read_bytes())
    table = one_release.comparison_of(SHOWN, SEED)
    pool = open_pool(one_release.pool_key(SHOWN, SEED))
    close = table.rho <= SHOWN.epsilon_abc
    statistics, people = pool.statistics[SHOWN.n][close], observed_data(pool.key, SHOWN.n)[::25]
    most = np.abs(arrays["moved"][close] * told["step"]).mean()
    for answer in np.arange(0, 5.1, 0.5):
        said = table.distance.statistic(people[:, None])
        for move in (table.distance.statistic(np.array([[answer]])) - said) / SHOWN.n:
            moved = table.distance.compare(statistics, table.statistic + move) - table.rho[close]
            # Whoever says more instead may move them as much.
            assert np.abs(moved).mean() <= 1.005 * most
    other = table.rho + arrays["moved"] * told["step"]
    mine, others = (
        sparse_vector.non_private(each, told["spy"], SHOWN.c)[0].indices + 1
        for each in (table.rho, other)
    )
    assert {*mine} - {*others} == {1219}
    assert {*others} - {*mine} == {887}
