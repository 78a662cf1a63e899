"""Events: immutable records of what a mechanism did with private data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class NonPrivate:
    """The data were used without noise."""


@dataclass(frozen=True)
class SparseVector:
    """One run of the sparse vector technique with Laplace noise (MATH S1-S3).

    Attributes:
        sensitivity: Δ of every query, as the noise was calibrated for.
        threshold_scale: Laplace scale b₁ of the threshold's noise.
        query_scale: Laplace scale b₂ of each query's noise.
        c: acceptances after which the run stops, at least 1.
        resample: whether the threshold's noise is redrawn after each acceptance.
    """

    sensitivity: float
    threshold_scale: float
    query_scale: float
    c: int
    resample: bool


@dataclass(frozen=True)
class Laplace:
    """One number with Laplace noise (MATH A1).

    Attributes:
        sensitivity: most that one person can change the number.
        scale: Laplace scale of the noise; its standard deviation is √2 times that.
    """

    sensitivity: float
    scale: float


@dataclass(frozen=True)
class Gaussian:
    """One number with Gaussian noise (MATH A12).

    Attributes:
        sensitivity: most that one person can change the number.
        scale: standard deviation of the noise.
    """

    sensitivity: float
    scale: float


Event = NonPrivate | SparseVector | Laplace | Gaussian
