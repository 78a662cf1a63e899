"""Data sets, and how far they are from a pool's."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from abcdp_core import cache, registry, simulators
from abcdp_core.distances import Distance
from abcdp_core.parameters import ParameterError
from abcdp_core.pool.key import PoolKey, key_for, median_of_simulated
from abcdp_core.pool.making import Pool, build, close_all, is_ready, open_pool
from abcdp_core.statistic import Statistic
from abcdp_core.streams import generator
from abcdp_core.transforms import ALL_REALS, Bijector

Array = NDArray[np.float64]


@dataclass(frozen=True)
class DistanceTable:
    """One data set against one pool: the only object that knows private data.

    Attributes:
        theta: parameters of the pool ``(T, d)``.
        rho: distances ``(T,)`` of the data set to each simulated one.
        statistic: the data set's own, ``(D,)``.
        n: its number of points.
        distance: knows sensitivity, bound and error.
        synthetic: whether the data are synthetic or published; only then it may touch a disk.
        statistics: those of the simulated data sets ``(T, D)``, public; ``None`` where the pool is
            not at hand any more.
        summaries: the data set's own, private: name of one of the scenario's ``STATISTICS`` ->
            numbers ``(k,)``.
    """

    theta: Array = field(repr=False)
    rho: Array = field(repr=False)
    statistic: Array = field(repr=False)
    n: int
    distance: Distance
    synthetic: bool
    statistics: Array | None = field(default=None, repr=False)
    summaries: Mapping[str, Array] = field(default_factory=dict, repr=False)

    def sensitivity(self, which: str = "sharp") -> float:
        """Most that one data point can change any of the distances (MATH M2).

        Args:
            which: ``sharp``, the smallest correct value, or ``published``, for kernels that of
                [P21] Lemma 1.
        """
        return self.distance.sensitivity(self.n, which)


@dataclass(frozen=True)
class PublicSide:
    """All that is public about data of ``n`` points against one pool.

    It opens the pool when somebody asks for its draws, and not before.

    Attributes:
        key: of the pool.
        n: points of the data.
        pseudo_n: points of each simulated data set; as many as the data have if not given.
    """

    key: PoolKey
    n: int
    pseudo_n: int | None = None

    @property
    def scenario(self) -> simulators.Scenario:
        """The scenario itself."""
        return self.key.source

    @property
    def pool_size(self) -> int:
        """Draws of the pool, T."""
        return self.key.pool_size

    @property
    def distance(self) -> Distance:
        """Between data sets; knows sensitivity and bound."""
        return self.key.metric()

    @property
    def support(self) -> Bijector:
        """Where the prior's draws can lie."""
        return getattr(self.scenario, "SUPPORT", ALL_REALS)

    @property
    def theta(self) -> Array:
        """Parameters of the pool ``(T, d)``."""
        return open_pool(self.key).theta

    @property
    def statistics(self) -> Array:
        """Statistics of the pool ``(T, D)``."""
        return open_pool(self.key).statistics[self.pseudo_n or self.n]

    def statistic(self, name: str) -> Statistic:
        """One of the scenario's ``STATISTICS``.

        Raises:
            KeyError: it has none of that name.
        """
        return self.key.statistics[name]

    def summaries(self, name: str) -> Array:
        """The numbers ``(T, k)`` that one of these keeps of each data set of the pool."""
        return open_pool(self.key).summaries[name][self.pseudo_n or self.n]

    def simulated(self, index: int) -> DistanceTable:
        """The ``index``-th data set simulated from a prior draw, against the pool."""
        return _simulated(self, index)

    def simulated_theta(self, index: int) -> Array:
        """The prior draw ``(d,)`` it is simulated at."""
        return predictive_theta(self.key, self.n, index)


@functools.lru_cache(maxsize=64)
def _simulated(public: PublicSide, index: int) -> DistanceTable:
    data = predictive_data(public.key, public.n, index)
    made = compare(open_pool(public.key), data, synthetic=True, pseudo_n=public.pseudo_n)
    # Without the pool's own numbers, which would stay in memory as long as this does.
    return replace(made, statistics=None)


def public_side(scenario: str, n: int, pool_size: int, seed: int) -> PublicSide:
    """Return what is public about ``n`` points of a scenario against its pool of a seed.

    Args:
        scenario: its name.
        n: points of the data.
        pool_size: prior draws T.
        seed: root seed of the pool.

    Raises:
        ParameterError: as :func:`~abcdp_core.pool.key_for`.
    """
    return PublicSide(key_for(scenario, n, pool_size, seed), n)


def order(seed: int, run: int, pool_size: int) -> NDArray[np.int64]:
    """Return the order ``(T,)`` in which a run meets the draws of a pool, if each has its own.

    That of run 0 is the pool's own.
    """
    return generator(seed, "order", run).permutation(pool_size) if run else np.arange(pool_size)


# ------------------------------------------------------------------------------------------- data


def observed_data(key: PoolKey, n: int) -> Array:
    """Return the data of a run, ``(n, p)``: the published ones, or drawn at the true parameters."""
    source = key.source
    if source.OBSERVED is not None:
        return source.OBSERVED
    if (precomputed_data := getattr(source, "precomputed_data", None)) is not None:
        data: Array = precomputed_data(n, key.run)
        return data

    def observed(*again: int) -> Array:
        return _data(key, n, "observed", (key.run, *again), np.asarray(source.TRUTH))

    return observed(*unfailed(source, observed))


def predictive_theta(key: PoolKey, n: int, index: int) -> Array:
    """Return the ``index``-th prior draw ``(d,)`` beyond the pool, for data of ``n`` points."""
    again = unfailed(key.source, functools.partial(_predictive, key, n, index))
    return _further_draw(key, index, *again)[0]


def predictive_data(key: PoolKey, n: int, index: int) -> Array:
    """Return public data ``(n, p)`` simulated from the ``index``-th prior draw beyond the pool."""
    predictive = functools.partial(_predictive, key, n, index)
    return predictive(*unfailed(key.source, predictive))


def _predictive(key: PoolKey, n: int, index: int, *again: int) -> Array:
    address = (key.run, index, *again)
    return _data(key, n, "predictive", address, _further_draw(key, index, *again)[0])


def _further_draw(key: PoolKey, index: int, *again: int) -> Array:
    rng = generator(key.seed, "predictive-prior", key.run, index, *again)
    return key.source.prior(rng, 1)


TRIES = 1000
"""Data sets of which one should not fail."""


def unfailed(source: simulators.Scenario, draw: Callable[..., Array]) -> tuple[int, ...]:
    """Return what to add to an address so that a data set drawn there does not fail, if anything.

    Args:
        source: says which data sets ``failed``, if any may.
        draw: makes a data set ``(n, p)``, with what is added.

    Raises:
        ParameterError: all that were drawn fail.
    """
    failed = getattr(source, "failed", None)
    for again in ((), *((number,) for number in range(TRIES))):
        if failed is None or not failed(draw(*again)[None])[0]:
            return again
    raise ParameterError(f"{source.SCENARIO}: {TRIES:,} simulations fail, one after the other.")


def _data(key: PoolKey, n: int, role: str, address: tuple[int, ...], theta: Array) -> Array:
    """A data set in layers, so that a smaller one is the beginning of a larger one."""
    simulate = key.source.simulate
    layers = [
        simulate(generator(key.seed, role, *address, layer), theta[None], high - low)[0]
        for layer, (low, high) in enumerate(itertools.pairwise([0, *key.layers(n)]))
    ]
    return np.concatenate(layers)


# -------------------------------------------------------------------------------------- distances


def compare(
    pool: Pool, data: Array, *, synthetic: bool, pseudo_n: int | None = None
) -> DistanceTable:
    """Measure a data set ``(n, p)`` against a pool.

    Args:
        pool: holds statistics at the size asked for.
        data: the data set.
        synthetic: whether it is synthetic or published.
        pseudo_n: points of each simulated data set; as many as the data have if not given.
    """
    distance = pool.key.metric()
    statistic = distance.statistic(data)
    statistics = pool.statistics[pseudo_n or len(data)]
    rho = distance.compare(statistics, statistic)
    summaries = {name: each.reduce(data) for name, each in pool.key.statistics.items()}
    return DistanceTable(
        pool.theta, rho, statistic, len(data), distance, synthetic, statistics, summaries
    )


@functools.lru_cache(maxsize=32)
def observed_comparison(key: PoolKey, n: int, pseudo_n: int | None = None) -> DistanceTable:
    """Return the synthetic or published data of a run against its pool; kept on disk.

    The pool of run 0, which pages work on, is kept too. Pools of further runs are compared at every
    size and dropped: a comparison is 25 times smaller.

    Args:
        key: of the pool.
        n: points of the data.
        pseudo_n: points of each simulated data set; as many as the data have if not given.
    """
    distance = key.metric()
    precomputed = getattr(key.source, "precomputed", None)
    if precomputed is not None:
        theta, rho = precomputed(key.pool_size, n, key.run)
        return DistanceTable(theta, rho, np.empty(0), n, distance, synthetic=True)
    own = {} if pseudo_n in (None, n) else {"n": n, "pseudo_n": pseudo_n}
    entry = key.entry("comparison", **own)
    arrays = cache.load_or_make(entry, lambda: _compared(key, **own))
    return DistanceTable(
        arrays["theta"],
        arrays[f"rho {n}"],
        arrays[f"statistic {n}"],
        n,
        distance,
        synthetic=True,
        summaries={name: arrays[f"summary {n} {name}"] for name in key.statistics},
    )


def _compared(key: PoolKey, n: int | None = None, pseudo_n: int | None = None) -> cache.Arrays:
    """The data of a run against its pool: at one pair of sizes, or at every size of the pool."""
    pool = open_pool(key) if key.run == 0 else build(key)
    arrays = {"theta": pool.theta}
    for size in pool.statistics if n is None else [n]:
        found = compare(pool, observed_data(key, size), synthetic=True, pseudo_n=pseudo_n)
        arrays |= {f"rho {size}": found.rho, f"statistic {size}": found.statistic}
        arrays |= {f"summary {size} {name}": own for name, own in found.summaries.items()}
    return arrays


@functools.lru_cache(maxsize=32)
def distances(key: PoolKey, n: int, run: int) -> Array:
    """Return distances ``(T,)`` of the ``n`` points of a run to the pool of another; kept."""
    if run == key.run:
        return observed_comparison(key, n).rho

    def make() -> cache.Arrays:
        data = observed_data(replace(key, run=run), n)
        return {"rho": compare(open_pool(key), data, synthetic=True).rho}

    return cache.load_or_make(key.entry("distances", n=n, data=run), make)["rho"]


def lacking_distances(key: PoolKey, n: int, runs: int) -> bool:
    """Whether :func:`distances` of any of the first runs cannot be had without the pool."""
    others = (run for run in range(runs) if run != key.run)
    kept = all(cache.holds(key.entry("distances", n=n, data=run)) for run in others)
    return not (kept and is_ready(key))


def forget() -> None:
    """Forget all pools, comparisons and bandwidths in memory; what is on disk stays."""
    close_all()
    for kept in (_simulated, observed_comparison, distances, median_of_simulated):
        kept.cache_clear()


# A scenario may have changed under its name.
registry.emptied_by(forget)
