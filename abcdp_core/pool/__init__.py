"""The public step: draw parameters, simulate, reduce each data set once, compare with one.

:mod:`~abcdp_core.pool.key` says which pool, :mod:`~abcdp_core.pool.making` draws, simulates and has
the pools in memory and on disk, and :mod:`~abcdp_core.pool.comparing` measures data sets against
them.
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
from abcdp_core.pool.key import CHUNK, KEPT_SIZE, PoolKey, key_for
from abcdp_core.pool.making import (
    Pool,
    Progress,
    build,
    is_kept,
    is_ready,
    make,
    open_pool,
    use,
    used,
)
