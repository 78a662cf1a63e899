"""Distances between pairs of simulated data sets; nothing private is read."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from abcdp_core import pool

Array = NDArray[np.float64]


@functools.lru_cache(maxsize=32)
def paired_distances(key: pool.PoolKey, n: int) -> Array:
    """Distances ``(T,)`` of each draw of a pool to a simulated data set of its own, kept.

    The pool is made for this alone.
    """
    public, metric = pool.build(key), key.metric()
    further = np.stack([pool.predictive_data(key, n, index) for index in range(key.pool_size)])
    pairs = zip(public.statistics[n], metric.statistic(further), strict=True)
    return np.array([metric.compare(ours[None], theirs)[0] for ours, theirs in pairs])
