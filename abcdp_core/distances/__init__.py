"""Distances between data sets, each made for a domain and knowing its own sensitivity.

Most estimate one quantity, the maximum mean discrepancy (MMD) with the Gaussian kernel of a
bandwidth; MATH M1. They differ in cost, exactness and in what one point can change.

| module | form | cost for N points | statistic |
|---|---|---|---|
| :mod:`.quadratic` | the definition, every pair | N² | the points themselves |
| :mod:`.fourier` | trapezoid rule in frequency, exact to rounding | N·K | 2K+1 numbers |
| :mod:`.random_features` | random frequencies, approximate, any dimension | N·D | D numbers |
| :mod:`.linear_time` | unbiased estimator from disjoint pairs; not a distance | N | none |

Two compare summaries and are clipped (MATH M7): :mod:`.summaries` a few numbers of each data set,
:mod:`.outbreaks` its points one by one. :mod:`.columns` looks at some coordinates of each point.

A *statistic* of a data set is all that the distance needs to know of it, so each data set is
reduced once and compared as often as wanted.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from abcdp_core.distances import fourier

Array = NDArray[np.float64]

WIDEST_FOURIER = 512
"""Most frequencies of the exact form; beyond, random features are cheaper."""


class Distance(Protocol):
    """A distance between data sets of one domain.

    Attributes:
        bound: largest value the distance can take.
        error: bound on the absolute error of the *squared* distance against its definition.
    """

    @property
    def bound(self) -> float:
        """Largest distance."""
        ...

    @property
    def error(self) -> float:
        """Bound on the error of the squared distance."""
        ...

    def statistic(self, data: Array) -> Array:
        """Reduce data sets ``(..., n, p)`` to statistics ``(..., D)``."""
        ...

    def combine(self, first: Array, n_first: int, second: Array, n_second: int) -> Array:
        """Statistics of the unions of two parts with ``n_first`` and ``n_second`` points."""
        ...

    def compare(self, statistics: Array, statistic: Array) -> Array:
        """Distances ``(T,)`` of data sets with statistics ``(T, D)`` to one with ``(D,)``."""
        ...

    def sensitivity(self, n: int, which: str = "sharp") -> float:
        """Most that replacing one of ``n`` points can change the distance to any fixed data set."""
        ...

    def statistic_sensitivity(self, n: int) -> float:
        """Most (L2) that one of ``n`` points can move the statistic; ``inf`` if unbounded."""
        ...


def maximum_mean_discrepancy(
    low: float, high: float, bandwidth: float, dimension: int = 1, n: int | None = None
) -> Distance:
    """The fitting form of the MMD for points in ``[low, high]`` (MATH M3).

    Args:
        low, high: public domain of each coordinate; ``low < high``.
        bandwidth: of the Gaussian kernel, in the unit of the points.
        dimension: coordinates per point.
        n: points per data set, if it is known and the same for all; below the number of
            frequencies the definition itself is cheaper.
    """
    if dimension == 1:
        exact = fourier.FourierMMD(low, high, bandwidth)
        if n is not None and n < exact.frequencies:
            # Inside the function, as below: most distances are of the exact form.
            from abcdp_core.distances.quadratic import QuadraticMMD

            return QuadraticMMD(bandwidth)
        if exact.frequencies <= WIDEST_FOURIER:
            return exact
    from abcdp_core.distances.random_features import RandomFeatures

    return RandomFeatures(bandwidth, dimension)
