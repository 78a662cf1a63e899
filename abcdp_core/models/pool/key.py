"""Keys of pools, which determine their numbers."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from abcdp_core.base import cache, fingerprint
from abcdp_core.base.parameters import WORK_LIMIT, check_work
from abcdp_core.base.streams import generator
from abcdp_core.models.distances import Distance
from abcdp_core.models.distances.kernel import median_bandwidth
from abcdp_core.models.simulators import Scenario

CHUNK = 50
"""Draws that share a generator: 4 MB of points at n = 10 000."""

KEPT_SIZE = 5000
"""Pools are made for data of at least this size (the default n), so smaller n share them."""


@dataclass(frozen=True)
class PoolKey:
    """Key of a pool: equal keys give equal numbers.

    A size of data that is not among the scenario's sizes has its own pool.
    """

    scenario: Scenario
    bandwidth: float | None
    pool_size: int
    largest_n: int
    seed: int
    run: int = 0
    distance: str | None = None

    @property
    def is_shipped(self) -> bool:
        """Whether the pool is shipped with its scenario, the same for every seed and run."""
        return self.scenario.precomputed_pool is not None

    def metric(self) -> Distance:
        """Return the distance between data sets."""
        return self.scenario.distance(self.bandwidth, self.distance)

    def layers(self, largest: int) -> list[int]:
        """Return the ends of a stream's layers: the scenario's sizes up to ``largest``.

        A size that the scenario does not have is a single layer.
        """
        options = [int(size) for size in self.scenario.n.options]
        return [size for size in options if size <= largest] if largest in options else [largest]

    def entry(self, kind: str, **more: int | None) -> cache.Entry:
        """Return a cache entry of the pool, valid for this package and the scenario's code."""
        code = fingerprint.of(str(__package__), self.scenario.module)
        return cache.entry(kind, self.in_words() | more, code)

    def in_words(self) -> dict[str, Any]:
        """Return the key with the scenario's name, as results are labeled on disk."""
        return vars(self) | {"scenario": self.scenario.name}


def key_for(
    scenario: Scenario,
    n: int,
    pool_size: int,
    seed: int,
    run: int = 0,
    bandwidth: float | str | None = None,
    distance: str | None = None,
) -> PoolKey:
    """Return the key of the pool for data sets of ``n`` points or fewer.

    Args:
        scenario: the scenario.
        n: points of a data set, a size that the scenario allows.
        pool_size: number of draws T.
        seed: root seed of all its random numbers.
        run: pools of different runs are independent.
        bandwidth: bandwidth of the kernel; ``median`` for the median heuristic on simulated data
            (MATH M6), ``None`` for the scenario's default.
        distance: name of one of the scenario's distances; ``None`` for its default.

    Raises:
        ParameterError: ``n * pool_size`` is above the limit.
    """
    check_work(n, pool_size)
    # For your own model, larger data sets may take unknown time.
    reach = n if scenario.model is not None else max(n, KEPT_SIZE)
    within = [int(size) for size in scenario.n.options if float(size) <= reach]
    largest = max(size for size in within if size == n or size * pool_size <= WORK_LIMIT)
    if bandwidth == "median":
        bandwidth = median_of_simulated(scenario, seed)
    elif bandwidth is None:
        bandwidth = scenario.bandwidth
    return PoolKey(
        scenario,
        None if bandwidth is None else float(bandwidth),
        pool_size,
        largest,
        seed,
        run,
        None if distance == scenario.distances[0] else distance,
    )


@functools.cache
def median_of_simulated(scenario: Scenario, seed: int) -> float:
    """Return the bandwidth by the median heuristic (MATH M6) on values of 2000 data sets."""
    rng, size = generator(seed, "bandwidth"), int(scenario.n.options[0])
    values = scenario.simulate(rng, scenario.prior(rng, 2000), size)[..., -1]
    chosen = values[np.arange(2000), rng.integers(size, size=2000), None]
    # Simulations that failed are NaN.
    return median_bandwidth(chosen[~np.isnan(chosen[:, 0])])
