"""Distances between data sets, each for one domain and with its own sensitivity.

Most compute the maximum mean discrepancy (MMD) with a Gaussian kernel (MATH M1). They differ in
cost, precision and sensitivity.

| module | form | cost for N points | statistic |
|---|---|---|---|
| :mod:`.quadratic` | definition, every pair | N² | all points |
| :mod:`.fourier` | trapezoid rule over frequencies, exact to rounding | N·K | 2K+1 numbers |
| :mod:`.random_features` | random frequencies, approximate, any dimension | N·D | D numbers |
| :mod:`.linear_time` | unbiased estimator from disjoint pairs; not a distance | N | none |

Two compare summaries and are clipped (MATH M7): :mod:`.summaries` compares a few numbers of each
data set, :mod:`.outbreaks` compares outbreaks in pairs. :mod:`.columns` selects and scales
coordinates for another distance.

A distance needs only the *statistic* of each data set. Each data set is reduced once and compared
many times.
"""

from __future__ import annotations

from typing import Protocol

from abcdp_core.base.arrays import Array
from abcdp_core.models.distances import fourier

WIDEST_FOURIER = 512
"""Most frequencies of the exact form; with more, random features are cheaper."""


class Distance(Protocol):
    """A distance between data sets of one domain.

    Attributes:
        bound: largest value the distance can take.
        error: bound on the absolute error of the *squared* distance.
    """

    @property
    def bound(self) -> float:
        """Largest distance."""

    @property
    def error(self) -> float:
        """Bound on the error of the squared distance."""

    def statistic(self, data: Array) -> Array:
        """Reduce data sets ``(..., n, p)`` to statistics ``(..., D)``."""

    def combine(self, first: Array, n_first: int, second: Array, n_second: int) -> Array:
        """Combine statistics of two parts with ``n_first`` and ``n_second`` points."""

    def compare(self, statistics: Array, statistic: Array) -> Array:
        """Return the distances ``(T,)`` from statistics ``(T, D)`` to one statistic ``(D,)``."""

    def sensitivity(self, n: int, which: str = "sharp") -> float:
        """Bound the change in distance to a fixed data set when one of ``n`` points is replaced."""

    def statistic_sensitivity(self, n: int) -> float:
        """Bound the L2 change in the statistic from one of ``n`` points; may be ``inf``."""


def maximum_mean_discrepancy(
    low: float, high: float, bandwidth: float, dimension: int = 1, n: int | None = None
) -> Distance:
    """Choose a form of the MMD for points in ``[low, high]`` (MATH M3).

    Args:
        low, high: public domain of each coordinate; ``low < high``.
        bandwidth: of the Gaussian kernel, in the unit of the points.
        dimension: coordinates per point.
        n: points per data set, if known and the same for all. With fewer points than
            frequencies, the definition is cheaper.
    """
    if dimension == 1:
        exact = fourier.FourierMMD(low, high, bandwidth)
        if n is not None and n < exact.frequencies:
            # Imported here, as below, because most distances use the exact form.
            from abcdp_core.models.distances.quadratic import QuadraticMMD

            return QuadraticMMD(bandwidth)
        if exact.frequencies <= WIDEST_FOURIER:
            return exact
    from abcdp_core.models.distances.random_features import RandomFeatures

    return RandomFeatures(bandwidth, dimension)
