"""Distances between simulated data sets, on which public choices rest; nothing private is read.

Each data set that stands for the data is simulated at a prior draw beyond the pool.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from abcdp_core import pool

Array = NDArray[np.float64]


def distances(key: pool.PoolKey, n: int, sets: int, pseudo_n: int | None = None) -> Array:
    """Distances ``(sets, T)`` of simulated data sets to all draws of a pool.

    Args:
        key: of the pool.
        n: points of each data set that stands for the data.
        sets: how many of them.
        pseudo_n: points of each data set of the pool; as many as the data have if not given.
    """
    metric = key.metric()
    statistics = pool.open_pool(key).statistics[pseudo_n or n]
    return np.stack(
        [
            metric.compare(statistics, metric.statistic(pool.predictive_data(key, n, index)))
            for index in range(sets)
        ]
    )


@functools.lru_cache(maxsize=32)
def paired_distances(key: pool.PoolKey, n: int) -> Array:
    """Distances ``(T,)`` of each draw of a pool to a simulated data set of its own, kept.

    The pool is made for this alone.
    """
    public, metric = pool.build(key), key.metric()
    further = np.stack([pool.predictive_data(key, n, index) for index in range(key.pool_size)])
    pairs = zip(public.statistics[n], metric.statistic(further), strict=True)
    return np.array([metric.compare(ours[None], theirs)[0] for ours, theirs in pairs])
