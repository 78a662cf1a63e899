"""Make one private release from a person's own data, with noise that nobody can draw again.

The noise comes from the operating system and no seed is kept. There is no trace, no non-private
result and nothing to compare with; the result is a
:class:`~abcdp_core.release.document.ReleaseRecord`. The data stay in memory: no cache, no log and
no error holds anything that was computed from them.

:func:`prepare` spends nothing and may be stopped. The budget is spent when :func:`spend` has made a
record, whatever becomes of the record. :func:`complete` adds the posterior. Each mechanism supplies
these steps in its own file (:mod:`~abcdp_core.release.releasable`).
"""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass, field
from typing import Any

from abcdp_core.base.arrays import Array
from abcdp_core.models import pool
from abcdp_core.posterior.rounds import TaskMap, one_by_one
from abcdp_core.privacy.discrete import RandBelow
from abcdp_core.release import releasable
from abcdp_core.release.budget_file import Taken
from abcdp_core.release.document import ReleaseRecord
from abcdp_core.release.request import ReleaseRequest


def make(
    request: ReleaseRequest,
    values: Array,
    randbelow: RandBelow = secrets.randbelow,
    progress: pool.Progress | None = None,
) -> ReleaseRecord:
    """Prepare, spend the budget, and complete a release.

    Args:
        request: the settings.
        values: the data ``(n,)``.
        randbelow: source of noise; the operating system, except in tests.
        progress: called with the completed fraction of the public pool, which takes nearly all the
            time.

    Raises:
        ParameterError: the number of values is out of range.
        ValueError: a value is not finite.
    """
    return complete(spend(prepare(request, values, progress), randbelow))


@dataclass(frozen=True)
class MeasuredData:
    """What a mechanism measured from n values, before noise; private except for n."""

    request: ReleaseRequest
    n: int
    measured: Any = field(repr=False)


def prepare(
    request: ReleaseRequest, values: Array, progress: pool.Progress | None = None
) -> MeasuredData:
    """Do everything before noise is drawn; spends nothing. Arguments and errors as in `make`."""
    request.check_size(len(values))
    request.check_values(values)
    measured = releasable.of(request).measure(request, values, progress)
    return MeasuredData(request, len(values), measured)


def spend(
    prepared: MeasuredData, randbelow: RandBelow = secrets.randbelow, paid: Taken | None = None
) -> ReleaseRecord:
    """Draw the noise, which spends the budget; a reservation that pays is kept from here on."""
    if paid is not None:
        paid.keep()
    draw = releasable.of(prepared.request).draw
    document = draw(prepared.request, prepared.n, prepared.measured, randbelow)
    return document if paid is None else document.taken_from(paid.reservation)


def complete(
    document: ReleaseRecord, each: TaskMap = one_by_one, seconds: float = math.inf
) -> ReleaseRecord:
    """Add the posterior, which spends nothing and may be repeated.

    ``each`` runs simulations, and no round of them begins after so many seconds.
    """
    return releasable.of(document.request).infer(document, each, seconds)
