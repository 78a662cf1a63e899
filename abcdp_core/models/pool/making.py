"""Make pools: draw parameters, simulate a data set for each, and reduce it to statistics.

A data set of size n is the first n points of one stream, so one pass to the largest n serves all
smaller sizes. (They are nested, hence not independent across n.) A stream consists of layers, one
per step between the scenario's sizes, each with its own generator, so results at a size do not
depend on the largest size of the pool.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import SimpleQueue

import numpy as np

from abcdp_core.base import cache, libraries
from abcdp_core.base.arrays import Array
from abcdp_core.base.interruption import defer_signals
from abcdp_core.base.parameters import ParameterError
from abcdp_core.base.streams import generator
from abcdp_core.models.pool.key import CHUNK, PoolKey

Progress = Callable[[float], None]
Makers = Callable[[], Executor]
"""Function that gives an executor for one pool, to be shut down when the pool is made."""


@dataclass(frozen=True)
class Pool:
    """A pool, which is public.

    Attributes:
        key: its key.
        theta: parameters ``(T, d)``.
        statistics: size -> statistics of the distance ``(T, D)``.
        summaries: name of one of the scenario's ``STATISTICS`` -> size -> numbers ``(T, k)``.
    """

    key: PoolKey
    theta: Array = field(repr=False)
    statistics: Mapping[int, Array] = field(repr=False)
    summaries: Mapping[str, Mapping[int, Array]] = field(repr=False)


def _threads() -> Executor:
    return ThreadPoolExecutor(libraries.available_threads())


_makers: Makers = _threads


def use(makers: Makers) -> Makers:
    """Choose the executors that make the pools of this process; return the former choice."""
    global _makers
    former, _makers = _makers, makers
    return former


@contextlib.contextmanager
def used(makers: Makers) -> Iterator[None]:
    """Choose the executors that make pools within the block."""
    former = use(makers)
    try:
        yield
    finally:
        use(former)


def build(key: PoolKey, progress: Progress | None = None) -> Pool:
    """Make a pool, in one thread per processor unless :func:`use` chose other executors.

    Args:
        key: key of the pool.
        progress: called with the fraction done.

    Raises:
        BrokenExecutor: the system cannot start a thread or process.
    """
    if key.is_shipped:
        return shipped(key)
    arrays: cache.Arrays = {}
    starts = range(0, key.pool_size, CHUNK)
    ended: SimpleQueue[Future[cache.Arrays]] = SimpleQueue()
    with defer_signals():
        executor = _makers()
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
        # After Ctrl-C or an error, do not wait for a running simulator.
        all_done = sys.exception() is None
        with defer_signals():
            executor.shutdown(wait=all_done, cancel_futures=True)
    return from_arrays(key, arrays)


def shipped(key: PoolKey) -> Pool:
    """Return the pool that is shipped with a scenario."""
    source = key.scenario
    assert source.precomputed_pool is not None
    assert source.from_numbers is not None
    theta, numbers = source.precomputed_pool(key.pool_size)
    statistics, kept = source.from_numbers(numbers)
    n = key.largest_n
    return Pool(key, theta, {n: statistics}, {name: {n: own} for name, own in kept.items()})


def _place(arrays: cache.Arrays, pool_size: int, start: int, part: cache.Arrays) -> None:
    """Copy a chunk to its rows, so that memory does not hold all parts beside the whole."""
    for name, values in part.items():
        if name not in arrays:
            arrays[name] = np.empty((pool_size, *values.shape[1:]))
        arrays[name][start : start + len(values)] = values


WORTH_KEEPING = 1.0
"""Seconds from which a chunk of your own model is cached by itself."""


def _chunk(key: PoolKey, start: int) -> cache.Arrays:
    """Make one chunk of draws; cache a slow one, so that a stopped pool can resume."""
    if key.scenario.model is None:
        return simulate_chunk(key, start)
    entry = key.entry("chunk", start=start)
    if (kept := cache.load(entry)) is not None:
        return kept
    begun = time.monotonic()
    arrays = simulate_chunk(key, start)
    if time.monotonic() - begun >= WORTH_KEEPING:
        cache.save(entry, arrays)
    return arrays


def simulate_chunk(key: PoolKey, start: int) -> cache.Arrays:
    """Return one chunk of draws with the statistics of their data sets at each size.

    Each data set is simulated once and reduced layer by layer. A draw that fails at any size is
    replaced by a copy of one that does not.

    Raises:
        ParameterError: all draws fail.
    """
    source, distance = key.scenario, key.metric()
    address = (key.run, start)
    size = min(CHUNK, key.pool_size - start)
    # Always a full chunk of prior draws, so that a larger pool begins with a smaller one.
    theta = source.prior(generator(key.seed, "prior", *address), CHUNK)[:size]
    arrays: cache.Arrays = {"theta": theta}
    reductions = {DISTANCE: (distance.statistic, distance.combine)} | {
        name: (each.reduce, each.combine) for name, each in source.statistics.items()
    }
    kept: cache.Arrays = {}
    failing, failed = source.failed, np.zeros(size, dtype=bool)
    done = 0
    for layer, n in enumerate(key.layers(key.largest_n)):
        points = source.simulate(generator(key.seed, "pool", *address, layer), theta, n - done)
        if failing is not None:
            failed |= failing(points)
            if failed.all():
                raise ParameterError(
                    f"{key.scenario.name}: all {size} draws of a part of a pool fail."
                )
            # Any valid numbers, so that statistics need not handle failures.
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


DISTANCE = ""
"""Name of the distance's own statistic, beside those of the scenario."""


def _label(n: int, name: str) -> str:
    """Return the label of a statistic at size ``n`` in a file."""
    return f"{n} {name}".rstrip()


def to_arrays(pool: Pool) -> cache.Arrays:
    """Return a pool as arrays for a file."""
    kept = {DISTANCE: pool.statistics, **pool.summaries}
    return {"theta": pool.theta} | {
        _label(n, name): values for name, sizes in kept.items() for n, values in sizes.items()
    }


def from_arrays(key: PoolKey, arrays: cache.Arrays) -> Pool:
    """Return the pool of arrays from a file."""
    kept: dict[str, dict[int, Array]] = {DISTANCE: {}}
    for label, values in arrays.items():
        if label != "theta":
            n, _, name = label.partition(" ")
            kept.setdefault(name, {})[int(n)] = values
    return Pool(key, arrays["theta"], kept.pop(DISTANCE), kept)


# ----------------------------------------------------------------------- in memory and on disk

KEPT_OPEN = 2
"""Pools kept in memory, 26 MB each at the defaults."""

_open: dict[PoolKey, Pool] = {}
_opening: weakref.WeakValueDictionary[PoolKey, threading.Lock] = weakref.WeakValueDictionary()
"""A lock for each pool that is being opened, dropped with its last user."""
_guard = threading.Lock()
"""Guards the two tables above; never held while a pool is read or made."""


def open_pool(key: PoolKey, progress: Progress | None = None) -> Pool:
    """Return the pool of a key from memory or disk, else make and keep it.

    A pool that another thread is opening is waited for; others are not held up.
    """
    if (pool := _open.get(key)) is not None:
        return pool
    with _guard:
        opening = _opening.setdefault(key, threading.Lock())
    with opening:
        if (pool := _open.get(key)) is not None:
            return pool
        pool = shipped(key) if key.is_shipped else _kept(key, progress)
        with _guard:
            while len(_open) >= KEPT_OPEN:
                _open.pop(next(iter(_open)))
            _open[key] = pool
        return pool


def _kept(key: PoolKey, progress: Progress | None) -> Pool:
    arrays = cache.load_or_make(key.entry("pool"), lambda: to_arrays(build(key, progress)))
    return from_arrays(key, arrays)


def is_kept(key: PoolKey) -> bool:
    """Return whether the pool is shipped or on disk."""
    return key.is_shipped or cache.holds(key.entry("pool"))


def is_ready(key: PoolKey) -> bool:
    """Return whether the comparison with the scenario's own data needs no new pool."""
    shipped = key.scenario.precomputed is not None or cache.holds(key.entry("comparison"))
    return shipped or is_kept(key)


def close_all() -> None:
    """Forget the pools in memory."""
    _open.clear()


def make(keys: Sequence[PoolKey], progress: Progress) -> None:
    """Make and keep pools, reporting the fraction done."""
    for done, key in enumerate(keys):

        def so_far(share: float, done: int = done) -> None:
            progress((done + share) / len(keys))

        open_pool(key, so_far)
