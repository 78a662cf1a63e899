"""Events, immutable records of what was done; from them to (ε, δ), and to a sentence."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from functools import singledispatch

import numpy as np
from numpy.typing import ArrayLike, NDArray

from abcdp_core.privacy.calibration import ratio
from abcdp_core.sentences import overpaid

Array = NDArray[np.float64]

# ----------------------------------------------------------- what a mechanism did with private data


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


# -------------------------------------------------------------------------------- what that cost


@dataclass(frozen=True)
class Cost:
    """A differential-privacy guarantee for data sets of one size that differ in one unit.

    For every event E, P(E | Y) ≤ e^ε P(E | Y′) + δ, in both orders of Y and Y′.

    Attributes:
        epsilon: ε, ``inf`` if there is no guarantee.
        delta: δ, 0 for a pure guarantee.
    """

    epsilon: float
    delta: float = 0.0


@singledispatch
def cost(event: Event, delta: float = 0.0) -> Cost:
    """The privacy cost of an event at the given δ.

    Raises:
        TypeError: there is no accountant for this kind of event.
    """
    raise TypeError(f"no accountant for {type(event).__name__} at delta = {delta}.")


@cost.register
def _(event: NonPrivate, delta: float = 0.0) -> Cost:  # noqa: ARG001 - no guarantee at any delta
    return Cost(math.inf, delta)


@cost.register
def _(event: Laplace | NormNoise, delta: float = 0.0) -> Cost:  # noqa: ARG001 - pure, so delta is 0
    return Cost(ratio(event.sensitivity, event.scale))


@cost.register
def _(event: Gaussian, delta: float = 0.0) -> Cost:
    # Inside the function, as below: most noise is Laplace.
    from abcdp_core.privacy.local import gaussian_epsilon

    return Cost(gaussian_epsilon(event, delta), delta)


@cost.register
def _(event: GaussianSeries, delta: float = 0.0) -> Cost:
    from abcdp_core.privacy import gaussian_series

    return Cost(gaussian_series.epsilon(event, delta), delta)


LARGEST_EXPONENT = 500.0
"""Beyond, an exponential is no number of a computer; beliefs are 0 and 1 long before."""


def belief(prior: ArrayLike, epsilon: float) -> tuple[Array, Array]:
    """Least and largest probability of a statement about one unit after a pure ε-private release.

    Bayes' rule where the release is e^ε times as likely if the statement is false, or if it is
    true: the odds move by a factor of at most e^ε in either direction.

    Args:
        prior: probability before, from 0 to 1, of any shape, for one who knows all other records.
        epsilon: ε at or above 0, of all that was released together.
    """
    before = np.asarray(prior, dtype=float)
    weight = math.exp(-min(epsilon, LARGEST_EXPONENT))
    low = before * weight / (before * weight + (1.0 - before))
    high = before / (before + (1.0 - before) * weight)
    return low, high


@singledispatch
def noise_in_words(event: Event) -> str:  # noqa: ARG001 - nothing is known of most kinds
    """Law and scale of the noise, for a label; empty where a kind of event has registered none."""
    return ""


NEIGHBOURS = {
    "replace": "is replaced by any other and nothing else changes",
    "add-remove": "is left out or added and nothing else changes",
}
"""How data sets that must look alike may differ, in words."""


def statement(event: Event, protected: str, delta: float = 0.0, neighbours: str = "replace") -> str:
    """What an event guarantees, in one or two plain sentences.

    Args:
        event: what was done.
        protected: what one unit of the data is, e.g. "one of the N points".
        delta: for events whose guarantee depends on it.
        neighbours: one of :data:`NEIGHBOURS`.
    """
    return guarantee(cost(event, delta), protected, neighbours)


def in_digits(epsilon: float) -> str:
    """An ε to four digits: a bound, so what is printed is not below it."""
    near = f"{epsilon:.4g}"
    if float(near) >= epsilon * (1.0 - ROUNDING):
        return near
    exact = Decimal(epsilon)
    above = exact.quantize(Decimal(1).scaleb(exact.adjusted() - 3), ROUND_CEILING)
    return f"{float(above):.4g}"


ROUNDING = 1e-9
"""Part by which a cost may be above what was asked for where it is found in floating point."""


def guarantee(spent: Cost, protected: str, neighbours: str = "replace") -> str:
    """What a cost guarantees, in one or two plain sentences.

    Args:
        spent: ε and δ.
        protected: what one unit of the data is, e.g. "one of the N points".
        neighbours: one of :data:`NEIGHBOURS`.
    """
    if math.isinf(spent.epsilon):
        return f"Not private: no noise protects {protected}."
    kind = (
        "pure differential privacy"
        if spent.delta == 0
        else f"(ε, δ)-differential privacy, δ = {spent.delta:.3g}"
    )
    return (
        f"Protects {protected}: {kind} with ε_total = {in_digits(spent.epsilon)} when it "
        f"{NEIGHBOURS[neighbours]}. {ADDS_UP}"
    )


def statement_of_largest(
    budgets: Sequence[float],
    at: Callable[[float], Event],
    protected: str,
    delta: float = 0.0,
    accountant: str = "exact",
) -> str:
    """What is guaranteed where results of several budgets, or without noise, stand together.

    Args:
        budgets: ε_total of all that is shown; ``inf`` for what has no noise.
        at: finite budget -> what was done with it.
        protected: what one unit of the data is, e.g. "one of the N points".
        delta: for events whose guarantee depends on it.
        accountant: that made the noise; one that asks for more than is needed is named.
    """
    finite = [budget for budget in budgets if math.isfinite(budget)]
    if not finite:
        return statement(NonPrivate(), protected)
    text = statement(at(max(finite)), protected, delta)
    bare = len(finite) < len(budgets)
    if len(set(finite)) > 1:
        text += f" This is the largest {'finite ' if bare else ''}budget shown."
    text = f"{text} {UNPROTECTED}" if bare else text
    return text + overpaid(max(finite), accountant)


ADDS_UP = "Every further release from the same data adds to it."
"""Of every guarantee."""

UNPROTECTED = "The non-private results beside it are not protected."
"""Where a private result stands beside one without noise."""
