"""Events: immutable records of what a mechanism did with private data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Event:
    """What was done. A new kind registers its cost: ``@privacy.cost.register``.

    What an attacker gets of it may be registered too: ``@tradeoff.curve.register``; if not, the
    lines that follow from its cost are all that is known.
    """


@dataclass(frozen=True)
class NonPrivate(Event):
    """The data were used without noise."""


@dataclass(frozen=True)
class Laplace(Event):
    """One number with Laplace noise (MATH A1).

    Attributes:
        sensitivity: most that one person can change the number.
        scale: Laplace scale of the noise; its standard deviation is √2 times that.
    """

    sensitivity: float
    scale: float


@dataclass(frozen=True)
class Gaussian(Event):
    """One number, or several at once, with Gaussian noise (MATH A12, E1).

    Attributes:
        sensitivity: most that one person can change it; of several numbers in the L2 norm.
        scale: standard deviation of the noise on each number.
    """

    sensitivity: float
    scale: float


@dataclass(frozen=True)
class GaussianSeries(Event):
    """Numbers with Gaussian noise, one after the other (MATH W2, W3).

    Attributes:
        sensitivity: most that one person can change each number.
        scale: standard deviation of the noise.
        steps: how many numbers.
    """

    sensitivity: float
    scale: float
    steps: int


@dataclass(frozen=True)
class NormNoise(Event):
    """A vector with noise of density ∝ exp(−‖z‖₂ / scale) (MATH E1).

    Attributes:
        sensitivity: most, in the L2 norm, that one person can change the vector.
        scale: of the noise.
        dimension: of the vector.
    """

    sensitivity: float
    scale: float
    dimension: int


@dataclass(frozen=True)
class ThresholdRun(Event):
    """One run of the sparse vector technique, whatever the law of its noise (MATH S1, S6).

    Attributes:
        sensitivity: Δ of every query, as the noise was calibrated for.
        threshold_scale: scale of the threshold's noise.
        query_scale: scale of each query's noise.
        c: acceptances after which the run stops, at least 1.
        resample: whether the threshold's noise is redrawn after each acceptance.
    """

    sensitivity: float
    threshold_scale: float
    query_scale: float
    c: int
    resample: bool
