"""Release mode: one private release from a person's own series, with noise that nobody can redraw.

The noise comes from the operating system and no seed is kept; there is no trace, no non-private
result and nothing to compare with. What comes out is a :class:`Document`. What goes in stays in
memory: no cache, no log, no error holds anything that was computed from the series.
"""

from __future__ import annotations

import secrets

import numpy as np
from numpy.typing import NDArray

from abcdp_core import pool
from abcdp_core.own_data.discrete_sparse_vector import release_exactly
from abcdp_core.own_data.document import Document
from abcdp_core.own_data.request import (
    ReleaseRequest,
    check_size,
    noise_of,
    pool_key,
    source_of,
)
from abcdp_core.own_data.series import to_domain
from abcdp_core.privacy.discrete import RandBelow

Array = NDArray[np.float64]


def make(
    request: ReleaseRequest,
    values: Array,
    randbelow: RandBelow = secrets.randbelow,
    progress: pool.Progress | None = None,
) -> Document:
    """Spend the budget: compare the series with a public pool, privately, once.

    Args:
        request: the settings.
        values: the series ``(n,)``.
        randbelow: where the noise comes from: the operating system, but for tests.
        progress: called with the fraction done of the public pool, which takes nearly all the time.

    Raises:
        ParameterError: the series is not of a size that can be compared.
        ValueError: a value is not finite.
    """
    n = len(values)
    check_size(request, n)
    if not np.isfinite(values).all():
        raise ValueError("values: each must be a finite number.")
    source = source_of(request)
    public = pool.build(pool_key(request, n), progress)
    data = source.from_series(to_domain(values, (request.low, request.high), source.DOMAIN))
    comparison = pool.compare(public, data, synthetic=False)
    noise = noise_of(request, n)
    release = release_exactly(comparison, request.epsilon_abc, noise, randbelow)
    return Document(request, n, release, public.theta[release.indices])
