"""Events: what a mechanism did with private data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Event:
    """What was done. A new kind registers its cost: ``@privacy.cost.register``.

    It may register its trade-off curve too (``@tradeoff.curve.register``), or else gets the lines
    that follow from its cost.
    """


@dataclass(frozen=True)
class NonPrivate(Event):
    """The data were used without noise."""


@dataclass(frozen=True)
class AdditiveNoise(Event):
    """Something with noise added.

    Attributes:
        sensitivity: how far one person can change it; for several numbers, in the L2 norm.
        scale: of the noise on each number.
    """

    sensitivity: float
    scale: float


class Laplace(AdditiveNoise):
    """One number with Laplace noise, of standard deviation √2 times the scale (MATH A1)."""


class Gaussian(AdditiveNoise):
    """One number, or several at once, with noise of standard deviation ``scale`` (A12, E1)."""


@dataclass(frozen=True)
class GaussianSeries(AdditiveNoise):
    """A sequence of ``steps`` numbers, each with its own sensitivity and noise (MATH W2, W3)."""

    steps: int


@dataclass(frozen=True)
class NormNoise(AdditiveNoise):
    """A vector with noise of density ∝ exp(−‖z‖₂ / scale) (MATH E1)."""

    dimension: int


@dataclass(frozen=True)
class ThresholdRun(Event):
    """One run of the sparse vector technique, with noise of any distribution (MATH S1, S6).

    Attributes:
        sensitivity: Δ of every query that the noise was calibrated for.
        threshold_scale: scale of the threshold's noise.
        query_scale: scale of each query's noise.
        c: draws to keep before the run stops, at least 1.
        resample: whether the threshold's noise is redrawn after each kept draw.
    """

    sensitivity: float
    threshold_scale: float
    query_scale: float
    c: int
    resample: bool
