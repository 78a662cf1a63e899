r"""What may be released of a data set: some numbers, one unit's share in them, and the proof.

A *unit* is what privacy is promised to: a point, a day, an outbreak, a patient. The same data cost
little or everything, depending on what one unit is (MATH M9). Two data sets are neighbours if one
unit is replaced by another, or if one is added or removed; then their number is private too, and
nothing may be read from it.

How far one unit moves the numbers is stated as a list of *cases*: for each thing that can happen to
a data set, the most by which each number moves. What no unit can do is in none of them. The largest
sum of a case is the L1 sensitivity, the largest Euclidean length the L2 sensitivity. Cases are
fractions, so both are computed exactly and rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Cases = Sequence[Sequence[Fraction | int]]
Neighbours = Literal["replace", "add-remove"]


def added(first: Array, n_first: int, second: Array, n_second: int) -> Array:  # noqa: ARG001
    """Numbers of two parts together, where they are counts or sums."""
    return first + second


def whole_only(*parts: Array | int) -> Array:
    """Numbers of two parts together, where those of each do not tell.

    Raises:
        ValueError: always.
    """
    raise ValueError(f"numbers of {len(parts) // 2} parts do not tell those of the whole.")


@dataclass(frozen=True)
class Statistic:
    """k numbers that a data set ``(n, p)`` is reduced to.

    Attributes:
        name: what it goes by.
        unit: what one unit is, with its article: "one patient".
        neighbours: what happens to one unit: ``replace`` or ``add-remove``.
        names: of the numbers; for data sets of another shape than the scenario's own there may be
            more or fewer numbers than names.
        reduce: data sets ``(..., n, p)`` to numbers ``(..., k)``.
        l1, l2: n -> the most by which one unit moves the numbers, as a sum and as a length. Where
            units are added or removed both are constant: n is then private.
        low, high: public bounds of the numbers ``(k,)``, from what they are and not from any data.
        whole: number j times ``whole[j]`` is a whole number, so that its noise can be one too;
            ``None`` if the numbers are real. The same for all where there may be more or fewer.
        combine: numbers of two parts of ``n_first`` and ``n_second`` points to those of both
            together, :func:`added` for counts; needed where data sets come in several sizes.
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
        """One whose numbers a unit moves as in one of some cases, whatever n is."""
        l1, l2 = largest_sum(cases), largest_length(cases)
        return cls(l1=lambda n: l1, l2=lambda n: l2, **stated)  # noqa: ARG005

    def __post_init__(self) -> None:
        """Check that what is stated of each number fits together.

        Raises:
            ValueError: it does not.
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
        """The numbers of one data set ``(n, p)``, each times its ``whole``: whole, and exact.

        Raises:
            ValueError: the numbers are real.
        """
        if self.whole is None:
            raise ValueError(f"statistic {self.name}: its numbers are real.")
        numbers = self.reduce(data)
        return [round(number) for number in (numbers * self.steps(len(numbers))).tolist()]

    def steps(self, k: int) -> tuple[int, ...]:
        """``whole`` of as many numbers as a data set has.

        Raises:
            ValueError: there are more or fewer than names, and they are not alike.
        """
        whole = self.whole or ()
        if len(whole) == k:
            return whole
        if len(set(whole)) != 1:
            raise ValueError(f"statistic {self.name}: of {k} numbers {len(whole)} are stated.")
        return whole[:1] * k


@dataclass(frozen=True)
class Quantity:
    """Something else to be inferred, that each public draw tells.

    Attributes:
        name: in words.
        unit: of it; empty if none.
        low, high: between which it lies.
        of: parameters ``(T, d)`` and numbers ``(T, k)`` of their data sets to its values ``(T,)``.
        inverse: name, unit and factor of what is the factor divided by it, said where that is
            positive; ``None`` if nothing is.
    """

    name: str
    unit: str
    low: float
    high: float
    of: Callable[[Array, Array], Array] = field(repr=False)
    inverse: tuple[str, str, float] | None = None


@dataclass(frozen=True)
class Question:
    """Whether a parameter is below a value.

    Attributes:
        parameter: which, as its scenario calls it.
        words: the statement.
        below: the value.
        remark: a sentence that has to stand beside the answer; empty if none.
    """

    parameter: str
    words: str
    below: float
    remark: str = ""


@dataclass(frozen=True)
class DirichletCounts:
    """A model with a likelihood: each point falls into cell i with probability θ_i, independently.

    Then the counts of the cells say all that the data say of the parameters θ.

    Attributes:
        statistic: name of the :class:`Statistic` that counts them.
        concentration: of the prior, θ ~ Dirichlet; 1 for each cell if it is flat.
    """

    statistic: str
    concentration: tuple[float, ...]


def stated_by(scenario: Any) -> Mapping[str, Statistic]:
    """Name -> what may be released of a scenario's data besides distances; the default one first.

    It is empty for a scenario that states none.
    """
    stated: Mapping[str, Statistic] = getattr(scenario, "STATISTICS", {})
    return stated


def largest_sum(cases: Cases) -> float:
    """L1 sensitivity: the largest sum of absolute changes, rounded up."""
    exact = max(sum(abs(Fraction(change)) for change in case) for case in cases)
    near = float(exact)
    return near if Fraction(near) >= exact else math.nextafter(near, math.inf)


def largest_length(cases: Cases) -> float:
    """L2 sensitivity: the largest Euclidean length of changes, rounded up."""
    square = max(sum(Fraction(change) ** 2 for change in case) for case in cases)
    near = math.sqrt(square)
    while Fraction(near) ** 2 < square:
        near = math.nextafter(near, math.inf)
    return near
