"""Which pool: what determines its numbers."""

from __future__ import annotations

import functools
from dataclasses import asdict, dataclass

import numpy as np

from abcdp_core import cache, fingerprint, simulators
from abcdp_core.distances import Distance
from abcdp_core.distances.kernel import median_bandwidth
from abcdp_core.parameters import WORK_LIMIT, check_work
from abcdp_core.statistic import Statistic, stated_by
from abcdp_core.streams import generator

CHUNK = 50
"""Parameter draws that share a generator: 4 MB of points at n = 10 000."""

KEPT_SIZE = 5000
"""A pool is made at least to this size (the default n), so that smaller n need no new one."""


@dataclass(frozen=True)
class PoolKey:
    """What determines a pool: equal keys, equal numbers.

    A size of data sets that is none of the scenario's has a pool for itself alone.
    """

    scenario: str
    bandwidth: float | None
    pool_size: int
    largest_n: int
    seed: int
    run: int = 0
    distance: str | None = None

    @property
    def source(self) -> simulators.Scenario:
        """The scenario itself."""
        return simulators.load(self.scenario)

    @property
    def is_shipped(self) -> bool:
        """Whether the pool comes with its scenario: the same for every seed and run."""
        return hasattr(self.source, "precomputed_pool")

    @property
    def statistics(self) -> dict[str, Statistic]:
        """What the pool keeps of data sets besides the distance's own, by name."""
        return dict(stated_by(self.source))

    def metric(self) -> Distance:
        """The distance between its data sets."""
        return self.source.distance(self.bandwidth, self.distance)

    def layers(self, largest: int) -> list[int]:
        """The ends of a stream's layers: the scenario's sizes up to ``largest``, which is one.

        Where it is none of them, it is the only one.
        """
        options = [int(size) for size in self.source.N.options]
        return [size for size in options if size <= largest] if largest in options else [largest]

    def entry(self, kind: str, **more: int | None) -> cache.Entry:
        """What is kept for the pool, made by this package and by the scenario's code."""
        code = fingerprint.of(str(__package__), self.source.__name__)
        return cache.entry(kind, asdict(self) | more, code)


def key_for(
    scenario: str,
    n: int,
    pool_size: int,
    seed: int,
    run: int = 0,
    bandwidth: float | str | None = None,
    distance: str | None = None,
) -> PoolKey:
    """Return the key of the pool that serves data sets of ``n`` points, and of fewer.

    Args:
        scenario: its name.
        n: points of a data set, a size that the scenario allows.
        pool_size: prior draws T.
        seed: root seed of all its random numbers.
        run: pools of one seed that differ in their run are independent.
        bandwidth: of the kernel; ``median`` for the median heuristic on simulated data (MATH M6),
            ``None`` for the scenario's default.
        distance: name of one of the scenario's; ``None`` for its default.

    Raises:
        ParameterError: ``n * pool_size`` is above the limit.
    """
    source = simulators.load(scenario)
    check_work(n, pool_size)
    # Of a model of one's own nobody knows what larger data sets would cost.
    reach = n if hasattr(source, "MODEL") else max(n, KEPT_SIZE)
    within = [int(size) for size in source.N.options if float(size) <= reach]
    largest = max(size for size in within if size == n or size * pool_size <= WORK_LIMIT)
    if bandwidth == "median":
        bandwidth = median_of_simulated(scenario, seed)
    elif bandwidth is None:
        bandwidth = source.BANDWIDTH
    return PoolKey(
        scenario,
        None if bandwidth is None else float(bandwidth),
        pool_size,
        largest,
        seed,
        run,
        None if distance == source.DISTANCES[0] else distance,
    )


@functools.cache
def median_of_simulated(scenario: str, seed: int) -> float:
    """Return the bandwidth by the median heuristic (MATH M6) on values of 2000 data sets."""
    source, rng = simulators.load(scenario), generator(seed, "bandwidth")
    size = int(source.N.options[0])
    values = source.simulate(rng, source.prior(rng, 2000), size)[..., -1]
    chosen = values[np.arange(2000), rng.integers(size, size=2000), None]
    # Without those of simulations that failed.
    return median_bandwidth(chosen[~np.isnan(chosen[:, 0])])
