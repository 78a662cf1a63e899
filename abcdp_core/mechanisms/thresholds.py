"""Public thresholds and temperatures to try for mechanisms that read distances.

They are the scenario's ``thresholds`` and ``temperatures``, or follow from distances between
simulated data sets, never from the private data.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from abcdp_core.base import parameters as par
from abcdp_core.base.arrays import Array
from abcdp_core.base.parameters import Parameter, Params
from abcdp_core.mechanisms import PublicSide

EPSILON_ABC = Parameter(
    kind="real",
    label="ε_abc · how close is close enough",
    help="In the unit of the distance. Studies check it against the scenario's bounds.",
    low=math.ulp(0.0),
    high=1e300,
)
"""Threshold or temperature of any scenario."""


@dataclass(frozen=True)
class DistanceOptions(Params):
    """What a person may choose for a mechanism that releases something about every distance."""

    epsilon_abc: float = EPSILON_ABC.field(0.1)
    sensitivity: str = par.SENSITIVITY.field("sharp")


SETS = 10
"""Simulated data sets whose distances are used."""

SHARES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.6)
"""The thresholds as quantiles of simulated distances."""

PARTS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""The temperatures as parts of the median of simulated distances."""


def thresholds(public: PublicSide) -> Mapping[str, tuple[float, ...]]:
    """Return thresholds from which a study picks the best."""
    own = public.scenario.thresholds
    return {"epsilon_abc": own or _positive(np.quantile(simulated(public, SETS), SHARES))}


def temperatures(public: PublicSide) -> Mapping[str, tuple[float, ...]]:
    """Return temperatures of weights exp(−ρ / ε_abc) from which a study picks the best."""
    own = public.scenario.temperatures
    return {"epsilon_abc": own or _positive(np.median(simulated(public, SETS)) * np.array(PARTS))}


def simulated(public: PublicSide, sets: int) -> Array:
    """Return distances ``(sets, T)`` of data sets simulated from further prior draws."""
    return np.stack([public.simulated(index).rho for index in range(sets)])


def _positive(values: Array) -> tuple[float, ...]:
    """Return the positive values, rounded to three digits."""
    return tuple(dict.fromkeys(float(f"{value:.3g}") for value in values if value > 0.0))
