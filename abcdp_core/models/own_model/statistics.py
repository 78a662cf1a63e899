r"""Numbers of a data set of records, and their sensitivity to one record.

Most are sums over records of a *contribution* $f$ that is clipped to public bounds $[a, b]$, so
their sensitivity is derived. Each number is released in units of the largest change from one
record, so the same noise fits all:

| kind | number | unit, a record replaced | unit, one added or removed |
|---|---|---|---|
| count | $\sum_i 1[\text{holds}_i]$ | 1 | 1 |
| sum | $\sum_i f_i$ | $b - a$ | $\max(\lvert a\rvert, \lvert b\rvert)$ |
| mean | $\sum_i f_i / n$ | $(b - a) / n$ | not available, as n is private |

**Proof.** Replacing a record changes one term of the sum within $[a, b]$; adding a record adds one
term. A histogram puts each record into at most one cell, so replacing a record moves two cells by 1
(L1: 2, L2: $\sqrt 2$), and adding one moves one cell.

For several statistics, L1 sensitivities add up, and so do the squares of L2 sensitivities. Both are
upper bounds, since the worst record may differ. A relative margin of :data:`ROUNDING` covers sums
in floating point.

A *declared* statistic is any function of all records with the sensitivity that its author states.
Labels say so, and ``check`` searches for counterexamples. Numbers *of a table* are declared to be
sums of one part for each record, between bounds; each is in the unit of a sum.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from abcdp_core.base.arrays import Array
from abcdp_core.base.parameters import shown
from abcdp_core.base.sentences import exact
from abcdp_core.base.statistic import Neighbours, Statistic, whole_only

Records = Callable[[Array], NDArray[np.generic]]
Kind = Literal["count", "histogram", "sum", "mean", "declared"]

ROUNDING = 1e-9
"""Relative margin for rounding in a sum, far above that of a hundred million terms."""

LARGEST = 1e60
"""Largest absolute value of a stated number, so that squares are finite."""

SMALLEST = 1e-60
"""Smallest sensitivity, by which numbers are divided."""

KEY = "numbers"
"""Name of all statistics of a model or a pool together."""


@dataclass(frozen=True)
class OwnStatistic:
    """Some numbers of a data set.

    Attributes:
        name: name of the statistic.
        names: names of its k numbers.
        kind: kind of the numbers.
        of: maps records ``(..., n, d)`` to contributions ``(..., n)`` or, for several numbers,
            ``(..., n, k)``; for a declared statistic, to the numbers ``(..., k)``.
        lower, upper: public bounds to which contributions are clipped, or declared ones of a part.
        l1, l2: declared sensitivities, in units of bounds from 0 to 1.
        is_sum: whether each number is a sum over records, or its mean.
    """

    name: str
    names: tuple[str, ...]
    kind: Kind
    of: Records = field(repr=False)
    lower: float = 0.0
    upper: float = 1.0
    l1: float = 1.0
    l2: float = 1.0
    is_sum: bool = True

    def __post_init__(self) -> None:
        for each in (self.name, *self.names):
            check_text("name of a statistic", each)
        take_numbers(self, f"statistic {self.name}", ("lower", "upper", "l1", "l2"))
        refuse(f"statistic {self.name}", {
            f"lower = {self.lower:g} must be below upper = {self.upper:g}.":
                self.lower >= self.upper,
            f"l1 = {self.l1:g}, l2 = {self.l2:g}: must be {SMALLEST:g} <= l2 <= l1.":
                not SMALLEST <= self.l2 <= self.l1,
        })  # fmt: skip

    @property
    def whole(self) -> bool:
        """Whether the numbers are whole."""
        return self.kind in ("count", "histogram")

    def moves(self, neighbours: str) -> tuple[float, float]:
        """Return the L1 and L2 sensitivity in units, with a margin for rounding."""
        room = 1.0 + ROUNDING
        if self.kind == "declared":
            return room, room * self.l2 / self.l1
        if self.kind == "histogram":
            cells = min(2, len(self.names)) if neighbours == "replace" else 1
            return float(cells), math.nextafter(math.sqrt(cells), math.inf) if cells > 1 else 1.0
        return (1.0, 1.0) if self.kind == "count" else (room, room)

    def summaries(self) -> tuple[Summary, ...]:
        """Return each number as a :class:`Summary`."""
        if self.whole:
            group = self.name if self.kind == "histogram" else ""
            return tuple(Summary(name, "count", group=group, column=name) for name in self.names)
        # The sensitivity is declared for all numbers together, so it bounds each of them.
        return tuple(
            Summary(name, self.kind, self.lower, self.upper, sensitivity=self.l1, column=name)
            for name in self.names
        )

    def values(self, records: Array) -> Array:
        """Return the values of the user's function, which may omit a single k.

        They are contributions ``(..., n, k)`` of records ``(..., n, d)`` before clipping, or
        declared numbers ``(..., k)``.

        Raises:
            ValueError: the function returns another shape.
        """
        sets = records.shape[: -2 if self.kind == "declared" else -1]
        # A copy, since the function may reuse its array.
        made = np.array(self.of(records), dtype=np.float64)
        if made.shape == sets and len(self.names) == 1:
            return made[..., None]
        expected = (*sets, len(self.names))
        if made.shape != expected:
            raise ValueError(
                f"statistic {self.name}: returns an array of shape {made.shape} for records "
                f"{records.shape}; it must be {expected}."
            )
        return made


@dataclass(frozen=True)
class Summary:
    """One number of a data set, as in a pool or a release.

    Attributes:
        name: name, as in the column ``summary.NAME``.
        kind: ``count``, ``mean``, ``sum`` or ``declared``.
        lower, upper: bounds of one record's contribution, also if they are declared.
        group: group of counts that contains a record at most once; empty for none.
        sensitivity: declared sensitivity, in units of bounds from 0 to 1.
        column: column of contributions in a file of records.
    """

    name: str
    kind: str
    lower: float = 0.0
    upper: float = 1.0
    group: str = ""
    sensitivity: float = 1.0
    column: str = ""

    def in_units(self, values: Array, neighbours: str, n: int) -> Array:
        """Convert a number of any shape to units of the largest change from one record.

        Args:
            values: the number.
            neighbours: ``replace`` or ``add-remove``.
            n: records of each data set.
        """
        scale, shift, divisor = self._scale(neighbours, n)
        return (values * divisor - shift) / scale

    def natural(self, units: Array, neighbours: str, n: int) -> Array:
        """Invert :meth:`in_units`."""
        scale, shift, divisor = self._scale(neighbours, n)
        return (units * scale + shift) / divisor

    def unit(self, neighbours: str, n: int) -> float:
        """Return the change of the number in one unit."""
        scale, _, divisor = self._scale(neighbours, n)
        return scale / divisor

    def _scale(self, neighbours: str, n: int) -> tuple[float, float, int]:
        """Return scale, shift and divisor: the number is (units * scale + shift) / divisor."""
        if self.kind == "count":
            return 1.0, 0.0, 1
        largest = self.upper - self.lower
        if neighbours == "add-remove":
            largest = max(abs(self.lower), abs(self.upper))
        if self.kind == "declared" or neighbours == "add-remove":
            return self.sensitivity * largest, 0.0, 1
        return largest, n * self.lower, n if self.kind == "mean" else 1

    def limits(self, neighbours: str, n: int) -> tuple[float, float]:
        """Return the limits of the number."""
        if self.kind == "declared":
            return -math.inf, math.inf
        if self.kind == "count":
            return 0.0, float(n) if neighbours == "replace" else math.inf
        if self.kind == "mean":
            return self.lower, self.upper
        if neighbours == "replace":
            return n * self.lower, n * self.upper
        return (-math.inf if self.lower < 0.0 else 0.0), (math.inf if self.upper > 0.0 else 0.0)


def as_one(
    unit: str,
    neighbours: Neighbours,
    numbers: Sequence[Summary],
    moves: tuple[float, float],
    reduce: Callable[[Array], Array] = whole_only,
    combine: Callable[..., Array] = whole_only,
) -> Statistic:
    """Combine numbers into one statistic, each in its unit.

    Args:
        unit, neighbours, reduce, combine: as for :class:`~abcdp_core.base.statistic.Statistic`.
        numbers: the k numbers.
        moves: L1 and L2 sensitivity of all together.
    """
    l1, l2 = moves
    added = neighbours == "add-remove"
    # In units a number is at least 0 unless it is declared or contributions can be negative.
    signed = [each.kind == "declared" or (added and each.lower < 0.0) for each in numbers]
    return Statistic(
        name=KEY,
        unit=unit,
        neighbours=neighbours,
        names=tuple(each.name for each in numbers),
        reduce=reduce,
        l1=lambda n: l1,  # noqa: ARG005 - part of the interface
        l2=lambda n: l2,  # noqa: ARG005
        low=tuple(-math.inf if each else 0.0 for each in signed),
        high=(math.inf,) * len(numbers),
        whole=(1,) * len(numbers) if all(each.kind == "count" for each in numbers) else None,
        combine=combine,
    )


def take_numbers(of: object, what: str, names: Sequence[str]) -> None:
    """Convert attributes to Python numbers, since small NumPy types overflow in differences.

    Args:
        of: frozen object.
        what: the object in words.
        names: names of the attributes.

    Raises:
        ValueError: a number exceeds :data:`LARGEST`.
    """
    for name in names:
        value = float(getattr(of, name))
        if not abs(value) <= LARGEST:
            raise ValueError(
                f"{what}: {name} = {value:g}: must be a finite number within ±{LARGEST:g}."
            )
        object.__setattr__(of, name, value)


AS_HTML = "must not contain HTML"

HTML = re.compile(r"<[^<>]*>|&#?\w+;")
"""Text that a figure would render as HTML, such as a link."""


def check_text(what: str, value: object) -> None:
    """Check that a value is a text without HTML.

    Raises:
        ValueError: it is not.
    """
    if not isinstance(value, str):
        raise ValueError(f"{what} = {shown(value)}: must be text.")
    if HTML.search(value):
        raise ValueError(f"{what} = {shown(value)}: {AS_HTML}.")


def refuse(what: str, reasons: Mapping[str, bool]) -> None:
    """Raise ValueError for the first reason that applies."""
    for reason, is_wrong in reasons.items():
        if is_wrong:
            raise ValueError(f"{what}: {reason}")


def count(name: str, holds: Records) -> OwnStatistic:
    """Count records that meet a condition.

    Args:
        name: name of the count.
        holds: maps records ``(..., n, d)`` to true or false ``(..., n)``.
    """
    return OwnStatistic(name, (name,), "count", holds)


def histogram(name: str, of: Records, edges: Sequence[float]) -> OwnStatistic:
    """Count records in cells, each record in at most one.

    Args:
        name: name of the quantity.
        of: maps records ``(..., n, d)`` to one number each ``(..., n)``.
        edges: rising edges; cell j includes its lower edge, and the last cell also its upper edge.

    Raises:
        ValueError: the edges do not rise, or there are fewer than two.
    """
    # A copy, since an array may change.
    ends = np.array(edges, dtype=np.float64)
    if ends.ndim != 1 or len(ends) < 2 or not (np.diff(ends) > 0.0).all():
        raise ValueError(f"statistic {name}: edges must be two or more rising numbers.")
    cells = tuple(f"{name} {a} to {b}" for a, b in itertools.pairwise(map(exact, ends.tolist())))

    def inside(records: Array) -> NDArray[np.bool_]:
        values = np.asarray(of(records), dtype=np.float64)[..., None]
        below = np.append(values < ends[1:-1], values <= ends[-1], axis=-1)
        return (ends[:-1] <= values) & below

    return OwnStatistic(name, cells, "histogram", inside)


def mean(name: str, of: Records, lower: float, upper: float) -> OwnStatistic:
    """Average a number over records, clipped to public bounds.

    Args:
        name: name of the number.
        of: maps records ``(..., n, d)`` to one number each ``(..., n)``.
        lower, upper: public bounds.
    """
    return OwnStatistic(name, (name,), "mean", of, lower, upper)


def total(name: str, of: Records, lower: float, upper: float) -> OwnStatistic:
    """Sum a number over records, clipped to public bounds; arguments as for :func:`mean`."""
    return OwnStatistic(name, (name,), "sum", of, lower, upper)


def declared(
    name: str, of: Records, names: Sequence[str], l1: float, l2: float | None = None
) -> OwnStatistic:
    """Declare numbers and their sensitivity, which is not verified.

    Args:
        name: name of the statistic.
        of: maps records ``(..., n, d)`` to numbers ``(..., k)``.
        names: names of the numbers.
        l1: L1 sensitivity to one record.
        l2: L2 sensitivity; by default ``l1``, an upper bound.
    """
    l2 = l1 if l2 is None else l2
    return OwnStatistic(name, tuple(names), "declared", of, l1=l1, l2=l2, is_sum=False)


def of_table(of: Records, parts: Mapping[str, tuple[float, float]]) -> tuple[OwnStatistic, ...]:
    """Declare sums over records, and bounds of one record's part, which are not verified.

    A private table is given whole, in one call for each number.

    Args:
        of: maps records ``(..., n, d)`` to numbers ``(..., k)``.
        parts: name of each of the k numbers -> least and largest part of a record.
    """

    def only(place: int, records: Array) -> Array:
        made = np.asarray(of(records), dtype=np.float64)
        if made.shape[-1:] != (len(parts),):
            raise ValueError(f"returns shape {made.shape}; it must end with {len(parts)}.")
        return made[..., place]

    return tuple(
        OwnStatistic(name, (name,), "declared", functools.partial(only, place), *bounds)
        for place, (name, bounds) in enumerate(parts.items())
    )
