"""The public step: draw parameters, simulate, reduce each data set once, compare with one.

:mod:`~abcdp_core.pool.key` says which pool, :mod:`~abcdp_core.pool.making` draws and simulates,
:mod:`~abcdp_core.pool.keeping` has the pools in memory and on disk, and
:mod:`~abcdp_core.pool.comparing` measures data sets against them.
"""

from abcdp_core.pool.comparing import (
    DistanceTable,
    PublicSide,
    compare,
    distances,
    forget,
    lacking_distances,
    observed_comparison,
    observed_data,
    order,
    predictive_data,
    predictive_theta,
    public_side,
    unfailed,
)
from abcdp_core.pool.keeping import is_kept, is_ready, make, open_pool
from abcdp_core.pool.key import CHUNK, KEPT_SIZE, PoolKey, key_for
from abcdp_core.pool.making import Pool, Progress, build, use, used

__all__ = [
    "CHUNK",
    "KEPT_SIZE",
    "DistanceTable",
    "Pool",
    "PoolKey",
    "Progress",
    "PublicSide",
    "build",
    "compare",
    "distances",
    "forget",
    "is_kept",
    "is_ready",
    "key_for",
    "lacking_distances",
    "make",
    "observed_comparison",
    "observed_data",
    "open_pool",
    "order",
    "predictive_data",
    "predictive_theta",
    "public_side",
    "unfailed",
    "use",
    "used",
]
