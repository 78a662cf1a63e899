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


Event = NonPrivate | SparseVector
