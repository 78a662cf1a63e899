"""Search for the worst case of a bound without derivatives."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import optimize


def most(gain: Callable[[NDArray[np.float64]], float], high: float, places: int) -> float:
    """Return the largest gain found over ``places`` numbers from 0 to ``high``; deterministic."""

    def loss(x: NDArray[np.float64]) -> float:
        return -gain(x)

    bounds = optimize.Bounds(np.zeros(places), np.full(places, high))
    found = optimize.differential_evolution(
        loss, bounds, rng=1, maxiter=30, popsize=10, polish=False
    )
    return -float(found.fun)
