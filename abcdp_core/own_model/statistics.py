r"""Numbers of a data set of records, and how far one record can move them.

Most are sums over records of a *contribution* $f$ that is clipped into public bounds
$[a, b]$, and so their sensitivity is derived and never declared. A number is released in units of
the most that one record can move it, so the same noise fits them all:

| kind | number | unit, a record replaced | unit, one added or removed |
|---|---|---|---|
| count | $\sum_i 1[\text{holds}_i]$ | 1 | 1 |
| sum | $\sum_i f_i$ | $b - a$ | $\max(\lvert a\rvert, \lvert b\rvert)$ |
| mean | $\sum_i f_i / n$ | $(b - a) / n$ | none: n is private then |

**Proof.** Replacing a record changes one term of the sum, from a number in $[a, b]$ to another
one; adding a record adds one. A histogram puts each record into one cell at most, so a record
replaced moves two cells by 1 (L1: 2, L2: $\sqrt 2$), one added moves one.

Of several statistics together the L1 sensitivities add up, and so do the squares of the L2 ones.
Both are above the supremum, as one record need not be the worst for all of them. A part in
:data:`ROUNDING` is added for sums in floating point.

A *declared* statistic is any function of all records, and its sensitivities are what its author
says: labels say that, and ``check`` looks for records that break it.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from abcdp_core.parameters import shown
from abcdp_core.sentences import exact
from abcdp_core.statistic import Neighbours, Statistic, whole_only

Array = NDArray[np.float64]
Records = Callable[[Array], NDArray[np.generic]]
Kind = Literal["count", "histogram", "sum", "mean", "declared"]

ROUNDING = 1e-9
"""Room for rounding in a sum: far more than that of a hundred million terms added in pairs."""

LARGEST = 1e60
"""Numbers lie within it on either side of 0, so that their squares are numbers too."""

SMALLEST = 1e-60
"""Of a sensitivity, by which numbers are divided."""

KEY = "numbers"
"""What all statistics of a model or a pool together go by."""


@dataclass(frozen=True)
class OwnStatistic:
    """Some numbers of a data set.

    Attributes:
        name: what it goes by.
        names: of its k numbers.
        kind: what they are.
        of: records ``(..., n, d)`` to contributions ``(..., n)`` or, where there are several
            numbers, ``(..., n, k)``; of a declared one, to the numbers ``(..., k)`` themselves.
        lower, upper: public bounds into which a contribution is clipped.
        l1, l2: of a declared one, the most that one record moves its numbers.
    """

    name: str
    names: tuple[str, ...]
    kind: Kind
    of: Records = field(repr=False)
    lower: float = 0.0
    upper: float = 1.0
    l1: float = 1.0
    l2: float = 1.0

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
        """Whether its numbers are whole ones."""
        return self.kind in ("count", "histogram")

    def unit(self, neighbours: str) -> float:
        """Most by which one record moves what is summed; of a declared one its L1 sensitivity."""
        if self.whole:
            return 1.0
        if self.kind == "declared":
            return self.l1
        if neighbours == "replace":
            return self.upper - self.lower
        return max(abs(self.lower), abs(self.upper))

    def moves(self, neighbours: str) -> tuple[float, float]:
        """L1 and L2 sensitivity of its numbers in their unit, with room for rounding."""
        room = 1.0 + ROUNDING
        if self.kind == "declared":
            return room, room * self.l2 / self.l1
        if self.kind == "histogram":
            cells = min(2, len(self.names)) if neighbours == "replace" else 1
            return float(cells), math.nextafter(math.sqrt(cells), math.inf) if cells > 1 else 1.0
        if self.kind == "count":
            return 1.0, 1.0
        return room, room

    def numbers(self, records: Array, neighbours: str) -> Array:
        """Numbers ``(..., k)`` of data sets ``(..., n, d)``, in their unit.

        A record that is all NaN is none: where the number of records is private, data sets are
        filled up with such.
        """
        if self.kind == "declared":
            return self.whole_set(records) / self.l1
        contributions = self.contributions(records)
        if self.whole:
            clipped = (contributions != 0.0).astype(np.float64)
        else:
            clipped = np.clip(contributions, self.lower, self.upper)
        if neighbours == "add-remove":
            absent = np.isnan(records).all(axis=-1, keepdims=True)
            clipped = np.where(absent, 0.0, clipped)
        else:
            clipped = clipped - (0.0 if self.whole else self.lower)
        found: Array = clipped.sum(axis=-2) / self.unit(neighbours)
        return found

    def summaries(self) -> tuple[Summary, ...]:
        """Its numbers, each as the file of a pool states it."""
        if self.whole:
            group = self.name if self.kind == "histogram" else ""
            return tuple(Summary(name, "count", group=group, column=name) for name in self.names)
        # Of several declared numbers together nobody declared what each of them does.
        return tuple(
            Summary(name, self.kind, self.lower, self.upper, sensitivity=self.l1, column=name)
            for name in self.names
        )

    def contributions(self, records: Array) -> Array:
        """What each record adds, before it is clipped: ``(..., n, k)`` of ``(..., n, d)``.

        Raises:
            ValueError: the person's function makes something else.
        """
        return self._made(records, records.shape[:-1])

    def whole_set(self, records: Array) -> Array:
        """Numbers ``(..., k)`` of a declared one, as they are, of data sets ``(..., n, d)``.

        Raises:
            ValueError: the person's function makes something else.
        """
        return self._made(records, records.shape[:-2])

    def _made(self, records: Array, sets: tuple[int, ...]) -> Array:
        """What the person's function makes ``(*sets, k)``; it may leave out a single k."""
        # A copy: the function may return the same array, with other numbers, next time.
        made = np.array(self.of(records), dtype=np.float64)
        if made.shape == sets and len(self.names) == 1:
            return made[..., None]
        expected = (*sets, len(self.names))
        if made.shape != expected:
            raise ValueError(
                f"statistic {self.name}: of records {records.shape} it makes an array "
                f"{made.shape}; it must be {expected}."
            )
        return made


@dataclass(frozen=True)
class Summary:
    """One number of a data set, as a pool or a release holds it.

    Attributes:
        name: in the column ``summary.NAME``.
        kind: ``count``, ``mean``, ``sum``; or ``declared``.
        lower, upper: bounds of one record's contribution.
        group: of counts of which a record is in one at most; empty if it is in none.
        sensitivity: that is declared, of a declared one.
        column: of a file of records, in which its contributions are.
    """

    name: str
    kind: str
    lower: float = 0.0
    upper: float = 1.0
    group: str = ""
    sensitivity: float = 1.0
    column: str = ""

    def in_units(self, values: Array, neighbours: str, n: int) -> Array:
        """The number in units of the most that one record moves it; the table above.

        Args:
            values: the number itself, any shape.
            neighbours: ``replace`` or ``add-remove``.
            n: records of each data set.
        """
        scale, shift, divisor = self._scale(neighbours, n)
        return (values * divisor - shift) / scale

    def natural(self, units: Array, neighbours: str, n: int) -> Array:
        """The inverse of :meth:`in_units`."""
        scale, shift, divisor = self._scale(neighbours, n)
        return (units * scale + shift) / divisor

    def unit(self, neighbours: str, n: int) -> float:
        """How much the number itself changes in one unit."""
        scale, _, divisor = self._scale(neighbours, n)
        return scale / divisor

    def _scale(self, neighbours: str, n: int) -> tuple[float, float, int]:
        """Scale, shift and divisor: the number is (units * scale + shift) / divisor."""
        if self.kind == "count":
            return 1.0, 0.0, 1
        if self.kind == "declared":
            return self.sensitivity, 0.0, 1
        if neighbours == "add-remove":
            return max(abs(self.lower), abs(self.upper)), 0.0, 1
        return self.upper - self.lower, n * self.lower, n if self.kind == "mean" else 1

    def limits(self, neighbours: str, n: int) -> tuple[float, float]:
        """Between which the number itself can lie."""
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
    """Numbers as one statistic that studies release together, each in its unit.

    Args:
        unit, neighbours, reduce, combine: as of :class:`~abcdp_core.statistic.Statistic`.
        numbers: the k numbers.
        moves: L1 and L2 sensitivity of all together.
    """
    l1, l2 = moves
    added = neighbours == "add-remove"
    # In its unit a number begins at 0, but where a declared one or one record may be below.
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
    """Make attributes Python's own numbers: smaller kinds of NumPy's overflow in a difference.

    Args:
        of: whose; frozen.
        what: it is, in words.
        names: of the attributes.

    Raises:
        ValueError: one is beyond :data:`LARGEST`.
    """
    for name in names:
        value = float(getattr(of, name))
        if not abs(value) <= LARGEST:
            raise ValueError(
                f"{what}: {name} = {value:g}: must be a finite number, within ±{LARGEST:g}."
            )
        object.__setattr__(of, name, value)


AS_HTML = "figures would read a part of it as HTML"

HTML = re.compile(r"<[^<>]*>|&#?\w+;")
"""What figures would take for HTML, as a link, in what a model calls its parts."""


def check_text(what: str, value: object) -> None:
    """Refuse what is no text, or one that figures would take for HTML.

    Raises:
        ValueError: it is such a one.
    """
    if not isinstance(value, str):
        raise ValueError(f"{what} = {shown(value)}: must be a text.")
    if HTML.search(value):
        raise ValueError(f"{what} = {shown(value)}: {AS_HTML}.")


def refuse(what: str, reasons: Mapping[str, bool]) -> None:
    """Refuse what a person states where one of some reasons holds; raises ValueError."""
    for reason, is_wrong in reasons.items():
        if is_wrong:
            raise ValueError(f"{what}: {reason}")


def count(name: str, holds: Records) -> OwnStatistic:
    """How many records a condition holds for.

    Args:
        name: what is counted.
        holds: records ``(..., n, d)`` to true or false ``(..., n)``.
    """
    return OwnStatistic(name, (name,), "count", holds)


def histogram(name: str, of: Records, edges: Sequence[float]) -> OwnStatistic:
    """How many records lie in each of some cells, each in one of them at most.

    Args:
        name: of what is looked at.
        of: records ``(..., n, d)`` to the number of each ``(..., n)``.
        edges: rising; cell j holds what is at least edge j and below the next one. The last one
            holds its upper edge too.

    Raises:
        ValueError: the edges do not rise, or make no cell.
    """
    # A copy: cells are named by these, and an array may change.
    ends = np.array(edges, dtype=np.float64)
    if ends.ndim != 1 or len(ends) < 2 or not (np.diff(ends) > 0.0).all():
        raise ValueError(f"statistic {name}: edges must be two or more rising numbers.")
    cells = tuple(f"{name} {a} to {b}" for a, b in itertools.pairwise(map(exact, ends.tolist())))

    def inside(records: Array) -> NDArray[np.bool_]:
        values = np.asarray(of(records), dtype=np.float64)[..., None]
        below = np.append(values < ends[1:-1], values <= ends[-1], axis=-1)
        cell: NDArray[np.bool_] = (ends[:-1] <= values) & below
        return cell

    return OwnStatistic(name, cells, "histogram", inside)


def mean(name: str, of: Records, lower: float, upper: float) -> OwnStatistic:
    """The mean over records of a number that is clipped into public bounds.

    Args:
        name: of the number.
        of: records ``(..., n, d)`` to the number of each ``(..., n)``.
        lower, upper: public bounds.
    """
    return OwnStatistic(name, (name,), "mean", of, lower, upper)


def total(name: str, of: Records, lower: float, upper: float) -> OwnStatistic:
    """The sum over records of a number that is clipped into public bounds; as :func:`mean`."""
    return OwnStatistic(name, (name,), "sum", of, lower, upper)


def declared(
    name: str, of: Records, names: Sequence[str], l1: float, l2: float | None = None
) -> OwnStatistic:
    """Numbers whose sensitivity nothing here derives: it is what you say it is.

    Args:
        name: what it goes by.
        of: records ``(..., n, d)`` to numbers ``(..., k)``.
        names: of the numbers.
        l1: the most that one record moves them, added up.
        l2: the same as a Euclidean length; ``l1`` if not given, which is never less.
    """
    return OwnStatistic(name, tuple(names), "declared", of, l1=l1, l2=l1 if l2 is None else l2)
