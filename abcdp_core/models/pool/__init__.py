"""Public pools of draws, and distances of data sets from them.

    PoolKey --making--> Pool (theta, statistics) --comparing, a data set--> DistanceTable

:mod:`.key` identifies a pool, :mod:`.making` makes and keeps pools, and :mod:`.comparing` computes
distances: its ``PublicSide`` is all that is public, its ``DistanceTable`` holds what is private.
Begin with the last.
"""

from abcdp_core.models.pool.comparing import (
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
from abcdp_core.models.pool.key import CHUNK, KEPT_SIZE, PoolKey, key_for
from abcdp_core.models.pool.making import (
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
