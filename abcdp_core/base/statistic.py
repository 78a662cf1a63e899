r"""Statistics that may be released from a data set, with their sensitivities.

A *unit* is the unit of privacy: a person, a day, an outbreak, a patient. The noise needed depends
on it (MATH M9). Two data sets are neighbors if one unit is replaced by another, or if one is added
or removed; then the number of units is private, too.

Sensitivities follow from a list of *cases*: for each possible change of one unit, the most by which
each number changes. The largest sum of a case is the L1 sensitivity, its largest Euclidean length
the L2 sensitivity. Cases are fractions, so both are computed exactly and rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from abcdp_core.base.arrays import Array

Cases = Sequence[Sequence[Fraction | int]]
Neighbours = Literal["replace", "add-remove"]


def added(first: Array, n_first: int, second: Array, n_second: int) -> Array:  # noqa: ARG001
    """Combine counts or sums of two parts of a data set."""
    return first + second


def whole_only(*parts: Array | int) -> Array:
    """Refuse to combine numbers of parts that do not determine those of the whole.

    Raises:
        ValueError: always.
    """
    raise ValueError(f"numbers of {len(parts) // 2} parts do not determine those of the whole.")


@dataclass(frozen=True)
class Statistic:
    """k numbers that a data set ``(n, p)`` is reduced to.

    Attributes:
        name: name of the statistic.
        unit: unit of privacy with its article: "one patient".
        neighbours: change of one unit: ``replace`` or ``add-remove``.
        names: names of the numbers; data sets of another shape than the scenario's own may have
            more or fewer numbers.
        reduce: data sets ``(..., n, p)`` to numbers ``(..., k)``.
        l1, l2: n -> the most by which one unit changes the numbers, as a sum and as a length.
            Constant if units are added or removed, because n is then private.
        low, high: public bounds of the numbers ``(k,)``, not computed from any data.
        whole: number j times ``whole[j]`` is a whole number, so its noise can be whole, too;
            ``None`` for real numbers. All equal if there may be more or fewer numbers.
        combine: numbers of two parts of ``n_first`` and ``n_second`` points to those of the whole,
            :func:`added` for counts; needed if data sets have several sizes.
    """

    name: str
    unit: str
    neighbours: Neighbours
    names: tuple[str, ...]
    reduce: Callable[[Array], Array] = field(repr=False)
    l1: Callable[[int], float] = field(repr=False)
    l2: Callable[[int], float] = field(repr=False)
    low: tuple[float, ...]
    high: tuple[float, ...]
    whole: tuple[int, ...] | None = None
    combine: Callable[[Array, int, Array, int], Array] = field(default=whole_only, repr=False)

    @classmethod
    def by_cases(cls, cases: Cases, **stated: Any) -> Statistic:
        """Return a statistic whose sensitivities follow from cases, whatever n is."""
        l1, l2 = largest_sum(cases), largest_length(cases)
        return cls(l1=lambda n: l1, l2=lambda n: l2, **stated)  # noqa: ARG005

    def __post_init__(self) -> None:
        """Check that the attributes fit together.

        Raises:
            ValueError: they do not.
        """
        k = len(self.names)
        for what, values in (("low", self.low), ("high", self.high), ("whole", self.whole)):
            if values is not None and len(values) != k:
                raise ValueError(f"statistic {self.name}: {what} has {len(values)} of {k} values.")
        if not all(low <= high for low, high in zip(self.low, self.high, strict=True)):
            raise ValueError(f"statistic {self.name}: a lower bound is above the upper one.")
        if self.whole is not None and min(self.whole) < 1:
            raise ValueError(f"statistic {self.name}: whole = {self.whole}: must be 1 or more.")

    def whole_of(self, data: Array) -> list[int]:
        """Return the exact whole numbers of a data set ``(n, p)``: each times its ``whole``.

        Raises:
            ValueError: the numbers are real.
        """
        if self.whole is None:
            raise ValueError(f"statistic {self.name}: its numbers are real.")
        numbers = self.reduce(data)
        return [round(number) for number in (numbers * self.steps(len(numbers))).tolist()]

    def steps(self, k: int) -> tuple[int, ...]:
        """Return ``whole`` for k numbers.

        Raises:
            ValueError: there are more or fewer numbers than names, and ``whole`` varies.
        """
        whole = self.whole or ()
        if len(whole) == k:
            return whole
        if len(set(whole)) != 1:
            raise ValueError(f"statistic {self.name}: whole has {len(whole)} of {k} values.")
        return whole[:1] * k


@dataclass(frozen=True)
class Quantity:
    """A quantity to infer that is a function of each public draw.

    Attributes:
        name: its name in words.
        unit: its unit; empty if none.
        low, high: its bounds.
        of: parameters ``(T, d)`` and numbers ``(T, k)`` of their data sets to its values ``(T,)``.
        inverse: name, unit and factor of a second quantity, the factor divided by this one, shown
            if it is positive; ``None`` if there is none.
    """

    name: str
    unit: str
    low: float
    high: float
    of: Callable[[Array, Array], Array] = field(repr=False)
    inverse: tuple[str, str, float] | None = None


@dataclass(frozen=True)
class TailProbability:
    """A question whether a parameter is below a value.

    Attributes:
        parameter: its name in the scenario.
        words: the statement.
        below: the value.
        remark: a sentence to show with the answer; empty if none.
    """

    parameter: str
    words: str
    below: float
    remark: str = ""


Question = TailProbability  # As scenarios of 0.3.0 import it


@dataclass(frozen=True)
class DirichletCounts:
    """A model in which each point falls into cell i with probability θ_i, independently.

    The counts of the cells are a sufficient statistic for θ.

    Attributes:
        statistic: name of the :class:`Statistic` with the counts.
        concentration: of the Dirichlet prior of θ; 1 for each cell if it is flat.
    """

    statistic: str
    concentration: tuple[float, ...]

    @property
    def total(self) -> float:
        """The sum A of the concentrations."""
        return float(np.sum(self.concentration))

    @property
    def variance(self) -> float:
        """Prior variance of a share, averaged over the cells."""
        mean = np.array(self.concentration) / self.total
        return float(np.mean(mean * (1.0 - mean))) / (self.total + 1.0)


def largest_sum(cases: Cases) -> float:
    """Return the L1 sensitivity: the largest sum of absolute changes, rounded up."""
    exact = max(sum(abs(Fraction(change)) for change in case) for case in cases)
    near = float(exact)
    return near if Fraction(near) >= exact else math.nextafter(near, math.inf)


def largest_length(cases: Cases) -> float:
    """Return the L2 sensitivity: the largest Euclidean length of changes, rounded up."""
    square = max(sum(Fraction(change) ** 2 for change in case) for case in cases)
    near = math.sqrt(square)
    while Fraction(near) ** 2 < square:
        near = math.nextafter(near, math.inf)
    return near
