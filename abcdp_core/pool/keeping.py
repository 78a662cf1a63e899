"""Pools that are at hand: two in memory, the others on disk."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence

from abcdp_core import cache
from abcdp_core.pool import making
from abcdp_core.pool.key import PoolKey
from abcdp_core.pool.making import Pool, Progress

KEPT_OPEN = 2
"""Pools kept in memory, 26 MB each at the defaults."""

_open: dict[PoolKey, Pool] = {}
_opening: weakref.WeakValueDictionary[PoolKey, threading.Lock] = weakref.WeakValueDictionary()
"""A lock for each pool that is being opened; gone with the last who holds or waits for it."""
_guard = threading.Lock()
"""For the two tables above; never held while a pool is read or made."""


def open_pool(key: PoolKey, progress: Progress | None = None) -> Pool:
    """Return the pool of a key: from memory, else from disk, else made and kept on disk.

    Anyone who asks for a pool that another thread is opening waits for that one only.
    """
    if (pool := _open.get(key)) is not None:
        return pool
    with _guard:
        opening = _opening.setdefault(key, threading.Lock())
    with opening:
        if (pool := _open.get(key)) is not None:
            return pool
        pool = making.shipped(key) if key.is_shipped else _kept(key, progress)
        with _guard:
            while len(_open) >= KEPT_OPEN:
                _open.pop(next(iter(_open)))
            _open[key] = pool
        return pool


def _kept(key: PoolKey, progress: Progress | None) -> Pool:
    """The pool of a key from disk, else made and kept there."""
    entry = key.entry("pool")
    arrays = cache.load_or_make(entry, lambda: making.to_arrays(making.build(key, progress)))
    return making.from_arrays(key, arrays)


def is_kept(key: PoolKey) -> bool:
    """Whether the pool itself can be had without making it."""
    return key.is_shipped or cache.holds(key.entry("pool"))


def is_ready(key: PoolKey) -> bool:
    """Whether the pool's comparison with its own data can be had without making the pool."""
    shipped = hasattr(key.source, "precomputed") or cache.holds(key.entry("comparison"))
    return shipped or is_kept(key)


def close_all() -> None:
    """Forget the pools in memory."""
    _open.clear()


def make(keys: Sequence[PoolKey], progress: Progress) -> None:
    """Make pools and keep them, and report the fraction done."""
    for done, key in enumerate(keys):

        def so_far(share: float, done: int = done) -> None:
            progress((done + share) / len(keys))

        open_pool(key, so_far)
