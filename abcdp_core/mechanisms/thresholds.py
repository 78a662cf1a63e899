"""Thresholds and temperatures of mechanisms that read distances, and the public ones to try.

Those to try are the scenario's own, ``THRESHOLDS`` and ``TEMPERATURES``, or follow from distances
between simulated data sets: never from the private data.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from abcdp_core.mechanisms import PublicSide
from abcdp_core.parameters import Parameter

Array = NDArray[np.float64]

EPSILON_ABC = Parameter(
    kind="real",
    label="ε_abc · similarity threshold",
    help="In the unit of the distance. Studies check it against the scenario's own bounds.",
    low=math.ulp(0.0),
    high=1e300,
)
"""Threshold or temperature, of any scenario."""

SETS = 10
"""Simulated data sets whose distances are looked at."""

SHARES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.6)
"""Shares of simulated distances that are at most as large as each of the thresholds."""

PARTS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Temperatures as parts of the median of simulated distances."""


def thresholds(public: PublicSide) -> Mapping[str, tuple[float, ...]]:
    """Thresholds among which a study chooses the best public one."""
    own = getattr(public.scenario, "THRESHOLDS", ())
    return {"epsilon_abc": own or _positive(np.quantile(simulated(public, SETS), SHARES))}


def temperatures(public: PublicSide) -> Mapping[str, tuple[float, ...]]:
    """Temperatures of weights exp(−ρ / ε_abc) among which a study chooses."""
    own = getattr(public.scenario, "TEMPERATURES", ())
    return {"epsilon_abc": own or _positive(np.median(simulated(public, SETS)) * np.array(PARTS))}


def simulated(public: PublicSide, sets: int) -> Array:
    """Distances ``(sets, T)`` of simulated data sets to the draws of the pool.

    Each data set that stands for the data is simulated at a prior draw beyond the pool.
    """
    return np.stack([public.simulated(index).rho for index in range(sets)])


def _positive(values: Array) -> tuple[float, ...]:
    """Three digits of those that are positive: a distance may be 0."""
    return tuple(dict.fromkeys(float(f"{value:.3g}") for value in values if value > 0.0))
