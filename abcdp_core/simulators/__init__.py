"""Scenarios: where data come from. One scenario is one module here, found by scanning.

A scenario is public knowledge: what one data point is, the prior, the simulator, the distance.
"""

from __future__ import annotations

from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from abcdp_core import registry
from abcdp_core.distances import Distance
from abcdp_core.parameters import Parameter

Array = NDArray[np.float64]


class Scenario(Protocol):
    """What a module in this folder provides.

    Attributes:
        SCENARIO: its name.
        TITLE: the name in words.
        PROTECTED: what one data point is: whose privacy is protected.
        AXES: parameter name -> (lowest, highest) value shown on an axis, one per parameter (d).
        UNITS: parameter name -> unit, empty if none.
        TRUTH: parameters ``(d,)`` of the synthetic data.
        PRIOR_MEAN: mean of the prior ``(d,)``.
        DOMAIN: public lowest and highest value of a data point.
        N: the allowed sizes of a data set, as a parameter with options in ascending order.
        EPSILON_ABC, EPSILON_ABC_DEFAULT: the similarity threshold for the default distance.
        BANDWIDTH: default bandwidth of its kernel.
    """

    SCENARIO: str
    TITLE: str
    PROTECTED: str
    AXES: dict[str, tuple[float, float]]
    UNITS: dict[str, str]
    TRUTH: Array
    PRIOR_MEAN: Array
    DOMAIN: tuple[float, float]
    N: Parameter
    N_DEFAULT: int
    EPSILON_ABC: Parameter
    EPSILON_ABC_DEFAULT: float
    BANDWIDTH: float

    def prior(self, rng: np.random.Generator, size: int) -> Array:
        """Draw parameters ``(size, d)``."""
        ...

    def simulate(self, rng: np.random.Generator, theta: Array, size: int) -> Array:
        """Draw ``size`` points for each of ``(k, d)`` parameters: ``(k, size, p)``."""
        ...

    def distance(self, bandwidth: float) -> Distance:
        """The distance between data sets, for a bandwidth."""
        ...


def names() -> list[str]:
    """Names of all scenarios."""
    return list(registry.scan(__name__, "SCENARIO"))


def load(name: str) -> Scenario:
    """The scenario called ``name``.

    Raises:
        KeyError: there is none of that name.
    """
    return cast(Scenario, registry.scan(__name__, "SCENARIO")[name])
