"""Release mode: one private release from a person's own series, with noise that nobody can redraw.

The noise comes from the operating system and no seed is kept; there is no trace, no non-private
result and nothing to compare with. What comes out is a :class:`Document`. What goes in stays in
memory: no cache, no log, no error holds anything that was computed from the series.

:func:`prepare` takes nearly all the time and may be stopped: nothing is spent by it. The budget is
spent when :func:`spend` has made a document, whatever becomes of it.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from abcdp_core import pool
from abcdp_core.own_data.budget_ledger import Taken
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
from abcdp_core.pool import Comparison
from abcdp_core.privacy.discrete import RandBelow

Array = NDArray[np.float64]


def make(
    request: ReleaseRequest,
    values: Array,
    randbelow: RandBelow = secrets.randbelow,
    progress: pool.Progress | None = None,
    paid: Taken | None = None,
) -> Document:
    """Prepare, and spend the budget: compare the series with a public pool, privately, once.

    Args:
        request: the settings.
        values: the series ``(n,)``.
        randbelow: where the noise comes from: the operating system, but for tests.
        progress: called with the fraction done of the public pool, which takes nearly all the time.
        paid: the reservation, if it is taken from a budget; kept once noise is drawn.

    Raises:
        ParameterError: the series is not of a size that can be compared.
        ValueError: a value is not finite.
    """
    return spend(prepare(request, values, progress), randbelow, paid)


@dataclass(frozen=True)
class Prepared:
    """A series beside the public pool that it will be compared with, privately. Itself private.

    Attributes:
        request: the settings.
        comparison: of the series with the pool.
    """

    request: ReleaseRequest
    comparison: Comparison = field(repr=False)


def prepare(
    request: ReleaseRequest, values: Array, progress: pool.Progress | None = None
) -> Prepared:
    """Make the public pool and measure the series against it; spends nothing.

    Args, Raises: as :func:`make`.
    """
    n = len(values)
    check_size(request, n)
    if not np.isfinite(values).all():
        raise ValueError("values: each must be a finite number.")
    source = source_of(request)
    public = pool.build(pool_key(request, n), progress)
    data = source.from_series(to_domain(values, (request.low, request.high), source.DOMAIN))
    return Prepared(request, pool.compare(public, data, synthetic=False))


def spend(
    prepared: Prepared, randbelow: RandBelow = secrets.randbelow, paid: Taken | None = None
) -> Document:
    """Spend the budget; takes moments.

    Args:
        prepared: what is released from.
        randbelow: where the noise comes from.
        paid: the reservation, if it is taken from a budget; kept from here on.
    """
    request, comparison = prepared.request, prepared.comparison
    noise = noise_of(request, comparison.n)
    if paid is not None:
        paid.keep()
    release = release_exactly(comparison, request.epsilon_abc, noise, randbelow)
    return Document(
        request,
        comparison.n,
        release,
        comparison.theta[release.indices],
        None if paid is None else paid.reservation,
    )
