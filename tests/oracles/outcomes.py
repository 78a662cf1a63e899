"""Every way in which a run of decisions can end, for mechanisms that stop at c kept draws."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from abcdp_core.base.arrays import Array

Pattern = NDArray[np.bool_]


def patterns(steps: int, c: int) -> list[Pattern]:
    """Decisions of every run over ``steps`` draws: up to the c-th kept draw, or all."""
    found = []
    for digits in itertools.product([False, True], repeat=steps):
        pattern = np.array(digits)
        accepted = np.flatnonzero(pattern)
        if len(accepted) < c:
            found.append(pattern)
        elif len(accepted) == c:
            # Only once: what would follow the stop is all rejected here.
            found.append(pattern[: accepted[-1] + 1])
    return found


def stretches(pattern: Pattern, *, resample: bool) -> list[slice]:
    """Parts of a pattern that share one threshold noise: up to each kept draw, or all."""
    ends = np.flatnonzero(pattern) + 1 if resample else np.empty(0, dtype=np.int64)
    edges = sorted({0, *ends.tolist(), len(pattern)})
    return [slice(low, high) for low, high in itertools.pairwise(edges)]


def law_of_sets(log_probability: Callable[[Pattern], float], steps: int, c: int) -> Array:
    """Probability ``(2^steps,)`` of each set of kept draws t, at the sum of 2^t; 0 beyond c.

    Args:
        log_probability: of a pattern.
        steps, c: as in :func:`patterns`.
    """
    law = np.zeros(2**steps)
    for pattern in patterns(steps, c):
        law[int(np.sum(2 ** np.flatnonzero(pattern)))] = math.exp(log_probability(pattern))
    return law
