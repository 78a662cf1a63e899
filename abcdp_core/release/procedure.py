"""Release mode: one private release from a person's own series, with noise that nobody can redraw.

The noise comes from the operating system and no seed is kept; there is no trace, no non-private
result and nothing to compare with. What comes out is a
:class:`~abcdp_core.release.document.ReleaseRecord`. What goes in stays in memory: no cache, no
log, no error holds anything that was computed from the series.

:func:`prepare` may be stopped: nothing is spent by it. The budget is spent when :func:`spend` has
made a document, whatever becomes of it. :func:`complete` adds what follows from it. The file of
each mechanism has these steps (:mod:`~abcdp_core.release.releasable`).
"""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abcdp_core import pool
from abcdp_core.posterior.rounds import Each, one_by_one
from abcdp_core.privacy.discrete import RandBelow
from abcdp_core.release import releasable
from abcdp_core.release.budget_file import Taken
from abcdp_core.release.document import ReleaseRecord
from abcdp_core.release.request import ReleaseRequest

Array = NDArray[np.float64]


def make(
    request: ReleaseRequest,
    values: Array,
    randbelow: RandBelow = secrets.randbelow,
    progress: pool.Progress | None = None,
) -> ReleaseRecord:
    """Prepare, spend the budget, and complete: one private release from a series.

    Args:
        request: the settings.
        values: the series ``(n,)``.
        randbelow: where the noise comes from: the operating system, except in tests.
        progress: called with the fraction done of the public pool, where one is made, which takes
            nearly all the time.

    Raises:
        ParameterError: the series is not of a size that can be released from.
        ValueError: a value is not finite.
    """
    return complete(spend(prepare(request, values, progress), randbelow))


@dataclass(frozen=True)
class Prepared:
    """What a release adds noise to. Itself private.

    Attributes:
        request: the settings.
        n: number of values, public.
        measured: what the mechanism took from the values.
    """

    request: ReleaseRequest
    n: int
    measured: Any = field(repr=False)


def prepare(
    request: ReleaseRequest, values: Array, progress: pool.Progress | None = None
) -> Prepared:
    """All that is done before noise is drawn; spends nothing.

    Args, Raises: as :func:`make`.
    """
    request.check_size(len(values))
    request.check_values(values)
    measured = releasable.of(request).measure(request, values, progress)
    return Prepared(request, len(values), measured)


def spend(
    prepared: Prepared, randbelow: RandBelow = secrets.randbelow, paid: Taken | None = None
) -> ReleaseRecord:
    """Spend the budget; takes moments.

    Args:
        prepared: what is released from.
        randbelow: where the noise comes from.
        paid: the reservation, if it is taken from a budget; kept from here on.
    """
    if paid is not None:
        paid.keep()
    draw = releasable.of(prepared.request).draw
    document = draw(prepared.request, prepared.n, prepared.measured, randbelow)
    return document if paid is None else document.taken_from(paid.reservation)


def complete(
    document: ReleaseRecord, each: Each = one_by_one, seconds: float = math.inf
) -> ReleaseRecord:
    """Add what follows from what was released; costs nothing, and may be done again.

    Args:
        document: released.
        each: does simulations.
        seconds: after which no round of them begins.
    """
    return releasable.of(document.request).infer(document, each, seconds)
