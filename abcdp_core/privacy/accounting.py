"""What events cost: (ε, δ), and a sentence."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from functools import singledispatch

import numpy as np
from numpy.typing import ArrayLike

from abcdp_core.base.arrays import Array
from abcdp_core.base.sentences import overpaid
from abcdp_core.privacy.calibration import ratio
from abcdp_core.privacy.events import (
    Event,
    Gaussian,
    GaussianSeries,
    Laplace,
    NonPrivate,
    NormNoise,
)


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
    """Return the privacy cost of an event at the given δ.

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
    # Imported here, as below: most noise is Laplace.
    from abcdp_core.privacy.gaussian_series import gaussian_epsilon

    return Cost(gaussian_epsilon(event, delta), delta)


@cost.register
def _(event: GaussianSeries, delta: float = 0.0) -> Cost:
    from abcdp_core.privacy import gaussian_series

    return Cost(gaussian_series.epsilon(event, delta), delta)


def belief(prior: ArrayLike, epsilon: float) -> tuple[Array, Array]:
    """Return bounds on the probability of a statement about one unit after an ε-private release.

    By Bayes' rule the odds move by a factor of at most e^ε in either direction.

    Args:
        prior: probability before, from 0 to 1, of any shape, for someone who knows all other
            records.
        epsilon: ε, at least 0, of everything released.
    """
    before = np.asarray(prior, dtype=float)
    # Capped, so that it does not underflow; beliefs are 0 and 1 long before.
    weight = math.exp(-min(epsilon, 500.0))
    low = before * weight / (before * weight + (1.0 - before))
    high = before / (before + (1.0 - before) * weight)
    return low, high


@singledispatch
def noise_in_words(event: Event) -> str:  # noqa: ARG001 - nothing is known of most kinds
    """Return distribution and scale of the noise, for a label; empty if none is registered."""
    return ""


NEIGHBOURS = {
    "replace": "that record replaced by any other",
    "add-remove": "that record added or removed",
    "person": "that person's records added or removed",
}
"""How neighboring data sets may differ, in words."""


def statement(event: Event, protected: str, delta: float = 0.0, neighbours: str = "replace") -> str:
    """Return the guarantee of an event, in one or two sentences.

    Args:
        event: what was done.
        protected: what one unit of the data is, e.g. "one person".
        delta: for events whose guarantee depends on it.
        neighbours: one of :data:`NEIGHBOURS`.
    """
    return guarantee(cost(event, delta), protected, neighbours)


def in_digits(epsilon: float) -> str:
    """Return ε to four digits, rounded up."""
    near = f"{epsilon:.4g}"
    if float(near) >= epsilon * (1.0 - ROUNDING):
        return near
    exact = Decimal(epsilon)
    above = exact.quantize(Decimal(1).scaleb(exact.adjusted() - 3), ROUND_CEILING)
    return f"{float(above):.4g}"


ROUNDING = 1e-9
"""Relative excess over the budget that a cost found in floating point may have."""


def guarantee(spent: Cost, protected: str, neighbours: str = "replace") -> str:
    """Return the guarantee of a cost, in one or two sentences, as :func:`statement` does."""
    if math.isinf(spent.epsilon):
        return f"Not private: no noise protects {protected}."
    kind = (
        "pure differential privacy"
        if spent.delta == 0
        else f"(ε, δ)-differential privacy, δ = {spent.delta:.3g}"
    )
    return (
        f"Protects {protected}: {kind} with ε_total = {in_digits(spent.epsilon)} (neighbors: "
        f"{NEIGHBOURS[neighbours]}). {ADDS_UP}"
    )


def statement_of_largest(
    budgets: Sequence[float],
    at: Callable[[float], Event],
    protected: str,
    delta: float = 0.0,
    accountant: str = "exact",
) -> str:
    """Return the guarantee of the largest budget among several results shown together.

    Args:
        budgets: ε_total of each result; ``inf`` for those without noise.
        at: finite budget -> what was done with it.
        protected: what one unit of the data is, e.g. "one person".
        delta: for events whose guarantee depends on it.
        accountant: that made the noise; it is named if it asks for more noise than needed.
    """
    finite = [budget for budget in budgets if math.isfinite(budget)]
    if not finite:
        return statement(NonPrivate(), protected)
    spent = cost(at(max(finite)), delta)
    text = guarantee(spent, protected)
    bare = len(finite) < len(budgets)
    if len(set(finite)) > 1:
        text += f" This is the largest {'finite ' if bare else ''}budget shown."
    text = f"{text} {UNPROTECTED}" if bare else text
    return text + overpaid(max(finite), accountant, in_digits(spent.epsilon))


ADDS_UP = "Every further release from the same data adds to it."
"""End of every guarantee."""

UNPROTECTED = "The non-private results beside it are not protected."
"""For a private result shown beside one without noise."""
