"""The public step: draw parameters, simulate, reduce each data set once, compare with one.

A data set of size n is the first n points of one stream, so one pass to the largest n serves all
smaller ones. (They are nested, hence not independent across n.) The stream of a draw is made of
layers, one per step of the scenario's sizes, each with its own generator: so results at a size do
not depend on how large a pool they were computed in.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field, replace
from queue import SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abcdp_core import cache, fingerprint, registry, simulators, threads
from abcdp_core.distances import Distance
from abcdp_core.distances.kernel import median_bandwidth
from abcdp_core.interruption import held
from abcdp_core.parameters import WORK_LIMIT, ParameterError, check_work
from abcdp_core.statistic import Statistic, stated_by
from abcdp_core.streams import generator
from abcdp_core.supports import ALL_REALS, Support

Array = NDArray[np.float64]
Progress = Callable[[float], None]

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

    def metric(self) -> Distance:
        """The distance between its data sets."""
        return simulators.load(self.scenario).distance(self.bandwidth, self.distance)


@dataclass(frozen=True)
class Pool:
    """Public.

    Attributes:
        key: which pool.
        theta: parameters ``(T, d)``.
        statistics: size -> statistics of the distance ``(T, D)``.
        summaries: name of one of the scenario's ``STATISTICS`` -> size -> numbers ``(T, k)``.
    """

    key: PoolKey
    theta: Array = field(repr=False)
    statistics: Mapping[int, Array] = field(repr=False)
    summaries: Mapping[str, Mapping[int, Array]] = field(repr=False)


@dataclass(frozen=True)
class Comparison:
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
        """The module of the scenario."""
        return simulators.load(self.key.scenario)

    @property
    def pool_size(self) -> int:
        """Draws of the pool, T."""
        return self.key.pool_size

    @property
    def distance(self) -> Distance:
        """Between data sets; knows sensitivity and bound."""
        return self.key.metric()

    @property
    def support(self) -> Support:
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
        return stated_by(self.scenario)[name]

    def summaries(self, name: str) -> Array:
        """The numbers ``(T, k)`` that one of these keeps of each data set of the pool."""
        return open_pool(self.key).summaries[name][self.pseudo_n or self.n]

    def simulated(self, index: int) -> Comparison:
        """The ``index``-th data set simulated from a prior draw, against the pool."""
        return _simulated(self, index)

    def simulated_theta(self, index: int) -> Array:
        """The prior draw ``(d,)`` it is simulated at."""
        return predictive_theta(self.key, self.n, index)


@functools.lru_cache(maxsize=64)
def _simulated(public: PublicSide, index: int) -> Comparison:
    data = predictive_data(public.key, public.n, index)
    made = compare(open_pool(public.key), data, synthetic=True, pseudo_n=public.pseudo_n)
    # Without the pool's own numbers, which would stay in memory as long as this does.
    return replace(made, statistics=None)


def key_for(
    scenario: str,
    n: int,
    pool_size: int,
    seed: int,
    run: int = 0,
    bandwidth: float | str | None = None,
    distance: str | None = None,
) -> PoolKey:
    """The key of the pool that serves data sets of ``n`` points, and of fewer.

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
    check_work(n, pool_size)
    source = simulators.load(scenario)
    # Of a model of one's own nobody knows what larger data sets would cost.
    reach = n if hasattr(source, "MODEL") else max(n, KEPT_SIZE)
    within = [int(size) for size in source.N.options if float(size) <= reach]
    largest = max(size for size in within if size == n or size * pool_size <= WORK_LIMIT)
    if bandwidth == "median":
        bandwidth = _median_bandwidth(scenario, seed)
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


def public_side(scenario: str, n: int, pool_size: int, seed: int) -> PublicSide:
    """What is public about ``n`` points of a scenario against its pool of a seed.

    Args:
        scenario: its name.
        n: points of the data.
        pool_size: prior draws T.
        seed: root seed of the pool.

    Raises:
        ParameterError: as :func:`key_for`.
    """
    return PublicSide(key_for(scenario, n, pool_size, seed), n)


def _sizes(source: simulators.Scenario, largest: int) -> list[int]:
    """The ends of a stream's layers: allowed sizes up to ``largest``, or that alone if it is none.

    ``largest`` is in all of them.
    """
    options = [int(size) for size in source.N.options]
    return [size for size in options if size <= largest] if largest in options else [largest]


@functools.cache
def _median_bandwidth(scenario: str, seed: int) -> float:
    """The median heuristic on 2000 values, each from its own prior-predictive data set."""
    source = simulators.load(scenario)
    rng = generator(seed, "bandwidth")
    size = int(source.N.options[0])
    values = source.simulate(rng, source.prior(rng, 2000), size)[..., -1]
    chosen = values[np.arange(2000), rng.integers(size, size=2000), None]
    # Without those of simulations that failed.
    return median_bandwidth(chosen[~np.isnan(chosen[:, 0])])


Makers = Callable[[], Executor]
"""Gives an executor for the parts of one pool, which is shut down when the pool is there."""


class MissingError(Exception):
    """A pool would have to be made where nobody makes any.

    Attributes:
        key: of the pool.
    """

    def __init__(self, key: PoolKey) -> None:
        super().__init__(key)
        self.key = key


def _as_many_threads_as_processors() -> Executor:
    return ThreadPoolExecutor(threads.available())


_makers: ContextVar[Makers | None] = ContextVar("makers", default=_as_many_threads_as_processors)


@contextlib.contextmanager
def made_by(makers: Makers | None) -> Iterator[None]:
    """Say for this thread who makes pools, if it is not as many threads as there are processors.

    Args:
        makers: who; ``None`` for nobody, so that :class:`MissingError` names the pool that a
            computation would have to wait for.
    """
    token = _makers.set(makers)
    try:
        yield
    finally:
        _makers.reset(token)


def build(key: PoolKey, progress: Progress | None = None) -> Pool:
    """Make a pool, by those whom :func:`made_by` named.

    Args:
        key: which pool.
        progress: called with the fraction done.

    Raises:
        MissingError: nobody makes pools here.
        BrokenExecutor: the system has no thread or process left for it.
    """
    if _has_precomputed(key):
        return _precomputed(key)
    if (makers := _makers.get()) is None:
        raise MissingError(key)
    arrays: cache.Arrays = {}
    starts = range(0, key.pool_size, CHUNK)
    ended: SimpleQueue[Future[cache.Arrays]] = SimpleQueue()
    with held():
        executor = makers()
        try:
            waiting = {executor.submit(_chunk, key, start): start for start in starts}
        except RuntimeError as error:
            executor.shutdown(cancel_futures=True)
            raise BrokenExecutor(f"the public pool cannot be made ({error})") from error
        for future in waiting:
            future.add_done_callback(ended.put)
    try:
        while waiting:
            future = ended.get()
            _place(arrays, key.pool_size, waiting.pop(future), future.result())
            if progress is not None:
                progress(1.0 - len(waiting) / len(starts))
    finally:
        # After Ctrl-C or an error nobody waits for what a simulator is doing meanwhile.
        all_done = sys.exception() is None
        with held():
            executor.shutdown(wait=all_done, cancel_futures=True)
    return _from_arrays(key, arrays)


def _has_precomputed(key: PoolKey) -> bool:
    return hasattr(simulators.load(key.scenario), "precomputed_pool")


def _precomputed(key: PoolKey) -> Pool:
    """The pool that comes with a scenario: the same for every seed and run."""
    source: Any = simulators.load(key.scenario)
    theta, numbers = source.precomputed_pool(key.pool_size)
    statistics, kept = source.from_numbers(numbers)
    n = key.largest_n
    summaries = {name: {n: values} for name, values in kept.items()}
    return Pool(key, theta, {n: statistics}, summaries)


def _place(arrays: cache.Arrays, pool_size: int, start: int, part: cache.Arrays) -> None:
    """Copy a chunk to its rows, so that the parts need not all be held beside the whole."""
    for name, values in part.items():
        if name not in arrays:
            arrays[name] = np.empty((pool_size, *values.shape[1:]))
        arrays[name][start : start + len(values)] = values


def _chunk(key: PoolKey, start: int) -> cache.Arrays:
    """One chunk of draws; of a model of one's own kept by itself where it takes long.

    So a pool that was stopped goes on from there.
    """
    if not hasattr(simulators.load(key.scenario), "MODEL"):
        return _made_chunk(key, start)
    entry = _entry("chunk", key, start=start)
    if (kept := cache.load(entry)) is not None:
        return kept
    begun = time.monotonic()
    arrays = _made_chunk(key, start)
    if time.monotonic() - begun >= WORTH_KEEPING:
        cache.save(entry, arrays)
    return arrays


WORTH_KEEPING = 1.0
"""Seconds from which a chunk is kept by itself."""


def _made_chunk(key: PoolKey, start: int) -> cache.Arrays:
    """Parameters of one chunk of draws, and all that is kept of their data sets at each size.

    Each data set is simulated once and reduced part by part, as its points come. A draw that fails
    at any size makes way for a copy of one that does not.

    Raises:
        ParameterError: all of them fail.
    """
    source = simulators.load(key.scenario)
    distance = key.metric()
    address = (key.run, start)
    size = min(CHUNK, key.pool_size - start)
    # Always a full chunk of prior draws, so that a larger pool begins with a smaller one.
    theta = source.prior(generator(key.seed, "prior", *address), CHUNK)[:size]
    arrays: cache.Arrays = {"theta": theta}
    reductions = {DISTANCE: (distance.statistic, distance.combine)} | {
        name: (each.reduce, each.combine) for name, each in _statistics(key).items()
    }
    kept: cache.Arrays = {}
    failing, failed = getattr(source, "failed", None), np.zeros(size, dtype=bool)
    done = 0
    for layer, n in enumerate(_sizes(source, key.largest_n)):
        points = source.simulate(generator(key.seed, "pool", *address, layer), theta, n - done)
        if failing is not None:
            failed |= failing(points)
            if failed.all():
                raise ParameterError(f"{key.scenario}: all {size} draws of a part of a pool fail.")
            # Any numbers, as no statistic has to know a data set that failed.
            points[failed] = points[np.argmin(failed)]
        for name, (reduce, combine) in reductions.items():
            part = reduce(points)
            kept[name] = combine(kept[name], done, part, n - done) if done else part
        arrays |= {_label(n, name): values for name, values in kept.items()}
        done = n
    if failed.any():
        chosen = np.arange(size)
        rng = generator(key.seed, "instead", *address)
        chosen[failed] = rng.choice(np.flatnonzero(~failed), np.count_nonzero(failed))
        arrays = {name: values[chosen] for name, values in arrays.items()}
    return arrays


def _statistics(key: PoolKey) -> Mapping[str, Statistic]:
    """What the scenario of a pool keeps of data sets besides the distance's own."""
    return stated_by(simulators.load(key.scenario))


def open_pool(key: PoolKey, progress: Progress | None = None) -> Pool:
    """The pool of a key: from memory, else from disk, else made and kept on disk.

    Who asks for a pool that another thread is opening waits for that one; others do not.

    Raises:
        MissingError: it would have to be made, and nobody makes pools here.
    """
    if (pool := _open.get(key)) is not None:
        return pool
    # Asked before the lock: who would have to wait for its maker does not.
    if _makers.get() is None and not (_has_precomputed(key) or cache.holds(_entry("pool", key))):
        raise MissingError(key)
    with _guard:
        opening = _opening.setdefault(key, threading.Lock())
    with opening:
        if (pool := _open.get(key)) is not None:
            return pool
        pool = _precomputed(key) if _has_precomputed(key) else _kept(key, progress)
        with _guard:
            while len(_open) >= KEPT_OPEN:
                _open.pop(next(iter(_open)))
            _open[key] = pool
        return pool


def _kept(key: PoolKey, progress: Progress | None) -> Pool:
    """The pool of a key from disk, else made and kept there."""
    entry = _entry("pool", key)
    return _from_arrays(key, cache.load_or_make(entry, lambda: _to_arrays(build(key, progress))))


KEPT_OPEN = 2
"""Pools kept in memory, 26 MB each at the defaults."""

_open: dict[PoolKey, Pool] = {}
registry.emptied_by(_open.clear)
_opening: weakref.WeakValueDictionary[PoolKey, threading.Lock] = weakref.WeakValueDictionary()
"""A lock for each pool that is being opened; gone with the last who holds or waits for it."""
_guard = threading.Lock()
"""For the two tables above; never held while a pool is read or made."""


DISTANCE = ""
"""Goes for the name of what the distance keeps, beside the names of a scenario's statistics."""


def _label(n: int, name: str) -> str:
    """Under which numbers of data sets of size ``n`` are stored."""
    return f"{n} {name}".rstrip()


def _entry(kind: str, key: PoolKey, **more: int | None) -> cache.Entry:
    """What is kept for a pool, made by this module and by the scenario with what they import."""
    code = fingerprint.of(__name__, simulators.load(key.scenario).__name__)
    return cache.entry(kind, asdict(key) | more, code)


def _to_arrays(pool: Pool) -> cache.Arrays:
    kept = {DISTANCE: pool.statistics, **pool.summaries}
    return {"theta": pool.theta} | {
        _label(n, name): values for name, sizes in kept.items() for n, values in sizes.items()
    }


def _from_arrays(key: PoolKey, arrays: cache.Arrays) -> Pool:
    kept: dict[str, dict[int, Array]] = {DISTANCE: {}}
    for label, values in arrays.items():
        if label != "theta":
            n, _, name = label.partition(" ")
            kept.setdefault(name, {})[int(n)] = values
    return Pool(key, arrays["theta"], kept.pop(DISTANCE), kept)


def order(seed: int, run: int, pool_size: int) -> NDArray[np.int64]:
    """The order ``(T,)`` in which a run meets the draws of a pool, if each has its own.

    That of run 0 is the pool's own.
    """
    return generator(seed, "order", run).permutation(pool_size) if run else np.arange(pool_size)


def is_ready(key: PoolKey) -> bool:
    """Whether the pool's comparison can be had without making the pool."""
    if _has_precomputed(key) or hasattr(simulators.load(key.scenario), "precomputed"):
        return True
    return any(cache.holds(_entry(kind, key)) for kind in ("comparison", "pool"))


def make_ready(key: PoolKey, progress: Progress) -> None:
    """Make the pool and keep it unless it is there, and say how far that is."""
    if not is_ready(key):
        open_pool(key, progress)


def make_kept(key: PoolKey, progress: Progress) -> None:
    """Make the pool itself and keep it unless it is there, and say how far that is."""
    if not (_has_precomputed(key) or cache.holds(_entry("pool", key))):
        open_pool(key, progress)


def observed_data(key: PoolKey, n: int) -> Array:
    """The data of a run, ``(n, p)``: the published ones, or drawn at the true parameters."""
    source = simulators.load(key.scenario)
    if source.OBSERVED is not None:
        return source.OBSERVED
    if (precomputed_data := getattr(source, "precomputed_data", None)) is not None:
        data: Array = precomputed_data(n, key.run)
        return data

    def observed(*again: int) -> Array:
        return _data(key, n, "observed", (key.run, *again), np.asarray(source.TRUTH))

    return observed(*unfailed(source, observed))


def predictive_theta(key: PoolKey, n: int, index: int) -> Array:
    """The ``index``-th prior draw ``(d,)`` beyond the pool, for data of ``n`` points."""
    source = simulators.load(key.scenario)
    again = unfailed(source, functools.partial(_predictive, key, n, index))
    return source.prior(generator(key.seed, "predictive-prior", key.run, index, *again), 1)[0]


def predictive_data(key: PoolKey, n: int, index: int) -> Array:
    """Public data ``(n, p)`` simulated from the ``index``-th prior draw beyond the pool."""
    predictive = functools.partial(_predictive, key, n, index)
    return predictive(*unfailed(simulators.load(key.scenario), predictive))


def _predictive(key: PoolKey, n: int, index: int, *again: int) -> Array:
    address = (key.run, index, *again)
    theta = simulators.load(key.scenario).prior(
        generator(key.seed, "predictive-prior", *address), 1
    )
    return _data(key, n, "predictive", address, theta[0])


def unfailed(source: simulators.Scenario, draw: Callable[..., Array]) -> tuple[int, ...]:
    """What to add to an address so that a data set drawn there does not fail, mostly nothing.

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


TRIES = 1000
"""Data sets of which one should not fail."""


def _data(key: PoolKey, n: int, role: str, address: tuple[int, ...], theta: Array) -> Array:
    """A data set in layers, so that a smaller one is the beginning of a larger one."""
    source = simulators.load(key.scenario)
    sizes = [0, *_sizes(source, n)]
    layers = [
        source.simulate(generator(key.seed, role, *address, layer), theta[None], high - low)[0]
        for layer, (low, high) in enumerate(itertools.pairwise(sizes))
    ]
    return np.concatenate(layers)


def compare(pool: Pool, data: Array, *, synthetic: bool, pseudo_n: int | None = None) -> Comparison:
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
    summaries = {name: each.reduce(data) for name, each in _statistics(pool.key).items()}
    return Comparison(
        pool.theta, rho, statistic, len(data), distance, synthetic, statistics, summaries
    )


@functools.lru_cache(maxsize=32)
def observed_comparison(key: PoolKey, n: int, pseudo_n: int | None = None) -> Comparison:
    """The synthetic or published data of a run against its pool; kept on disk.

    The pool of run 0, which pages work on, is kept too. Pools of further runs are compared at every
    size and dropped: a comparison is 25 times smaller.

    Args:
        key: of the pool.
        n: points of the data.
        pseudo_n: points of each simulated data set; as many as the data have if not given.
    """
    distance = key.metric()
    precomputed = getattr(simulators.load(key.scenario), "precomputed", None)
    if precomputed is not None:
        theta, rho = precomputed(key.pool_size, n, key.run)
        return Comparison(theta, rho, np.empty(0), n, distance, synthetic=True)
    if pseudo_n in (None, n):
        arrays = cache.load_or_make(_entry("comparison", key), lambda: _compare_all(key))
    else:
        entry = _entry("comparison", key, n=n, pseudo_n=pseudo_n)
        arrays = cache.load_or_make(entry, lambda: _compare_sizes(key, n, pseudo_n))
    return Comparison(
        arrays["theta"],
        arrays[f"rho {n}"],
        arrays[f"statistic {n}"],
        n,
        distance,
        synthetic=True,
        summaries={name: arrays[f"summary {n} {name}"] for name in _statistics(key)},
    )


@functools.lru_cache(maxsize=32)
def distances(key: PoolKey, n: int, run: int) -> Array:
    """Distances ``(T,)`` of the ``n`` points of some run to the pool of another; kept on disk."""
    if run == key.run:
        return observed_comparison(key, n).rho

    def make() -> cache.Arrays:
        data = observed_data(replace(key, run=run), n)
        return {"rho": compare(open_pool(key), data, synthetic=True).rho}

    return cache.load_or_make(_of_run(key, n, run), make)["rho"]


def has_distances(key: PoolKey, n: int, run: int) -> bool:
    """Whether :func:`distances` can be had without the pool."""
    return is_ready(key) if run == key.run else cache.holds(_of_run(key, n, run))


def _of_run(key: PoolKey, n: int, run: int) -> cache.Entry:
    return _entry("distances", key, n=n, data=run)


def _compare_all(key: PoolKey) -> cache.Arrays:
    """At every size of the pool, with data of the same size."""
    pool = _pool_of_run(key)
    arrays = {"theta": pool.theta}
    for n in pool.statistics:
        arrays |= _compared(pool, n)
    return arrays


def _compare_sizes(key: PoolKey, n: int, pseudo_n: int | None) -> cache.Arrays:
    """At one size of the pool, with data of another."""
    pool = _pool_of_run(key)
    return {"theta": pool.theta} | _compared(pool, n, pseudo_n)


def _pool_of_run(key: PoolKey) -> Pool:
    return open_pool(key) if key.run == 0 else build(key)


def _compared(pool: Pool, n: int, pseudo_n: int | None = None) -> cache.Arrays:
    data = observed_data(pool.key, n)
    comparison = compare(pool, data, synthetic=True, pseudo_n=pseudo_n)
    summaries = {f"summary {n} {name}": own for name, own in comparison.summaries.items()}
    return {f"rho {n}": comparison.rho, f"statistic {n}": comparison.statistic} | summaries
