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
import numbers
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeGuard

import numpy as np
from numpy.typing import NDArray

from abcdp_core.parameters import shown
from abcdp_core.sentences import exact

Array = NDArray[np.float64]
Records = Callable[[Array], NDArray[np.generic]]
Kind = Literal["count", "histogram", "sum", "mean", "declared"]

ROUNDING = 1e-9
"""Room for rounding in a sum: far more than that of a hundred million terms added in pairs."""

LARGEST = 1e60
"""Numbers lie within it on either side of 0, so that their squares are numbers too."""

SMALLEST = 1e-60
"""Of a sensitivity, by which numbers are divided."""


MASKED = "it makes a masked array; fill it with numbers, as what is masked would count too."
"""Why such an array is refused."""


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
        """Check what is stated.

        Raises:
            ValueError: bounds or sensitivities are not what they may be.
        """
        check_texts("a statistic", name=self.name)
        for each in self.names:
            check_texts(f"statistic {self.name}", names=each)
        take_plain(self, f"statistic {self.name}", ("lower", "upper", "l1", "l2"))
        if not self.lower < self.upper:
            raise ValueError(
                f"statistic {self.name}: lower = {self.lower:g} must be below "
                f"upper = {self.upper:g}."
            )
        if not SMALLEST <= self.l2 <= self.l1:
            raise ValueError(
                f"statistic {self.name}: l1 = {self.l1:g}, l2 = {self.l2:g}: must be "
                f"{SMALLEST:g} <= l2 <= l1."
            )

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

    def contributions(self, records: Array) -> Array:
        """What each record adds, before it is clipped: ``(..., n, k)`` of ``(..., n, d)``.

        Raises:
            ValueError: the person's function makes something else.
        """
        # A copy: the function may return the same array, with other numbers, next time.
        contributions = np.array(self._made(records), dtype=np.float64)
        if contributions.ndim == records.ndim - 1:
            contributions = contributions[..., None]
        expected = (*records.shape[:-1], len(self.names))
        if contributions.shape != expected:
            raise ValueError(
                f"statistic {self.name}: of records {records.shape} it makes an array "
                f"{contributions.shape}; it must be {expected}."
            )
        return contributions

    def whole_set(self, records: Array) -> Array:
        """Numbers ``(..., k)`` of a declared one, as they are, of data sets ``(..., n, d)``.

        Raises:
            ValueError: the person's function makes something else.
        """
        return self._shaped(self._made(records), records.shape[:-2])

    def _made(self, records: Array) -> NDArray[np.generic]:
        """What the person's function makes.

        Raises:
            ValueError: it has a mask, and what is masked would count all the same.
        """
        made = self.of(records)
        if np.ma.isMaskedArray(made):
            raise ValueError(f"statistic {self.name}: {MASKED}")
        return made

    def _shaped(self, values: NDArray[np.generic], sets: tuple[int, ...]) -> Array:
        found = np.asarray(values, dtype=np.float64)
        expected = (*sets, len(self.names))
        if found.shape == sets and len(self.names) == 1:
            return found[..., None]
        if found.shape != expected:
            raise ValueError(
                f"statistic {self.name}: it makes an array {found.shape}; it must be {expected}."
            )
        return found


def take_plain(of: object, what: str, names: Sequence[str]) -> None:
    """Make attributes Python's own numbers: smaller kinds of NumPy's overflow in a difference.

    Args:
        of: whose; frozen.
        what: it is, in words.
        names: of the attributes.

    Raises:
        ValueError: one is no number, or beyond :data:`LARGEST`.
    """
    for name in names:
        value = getattr(of, name)
        try:
            plain = float(value) if isinstance(value, numbers.Real) else math.nan
        except OverflowError:
            # A whole number of hundreds of digits.
            plain = math.inf
        if not abs(plain) <= LARGEST:
            raise ValueError(
                f"{what}: {name} = {shown(value)}: must be a finite number, within ±{LARGEST:g}."
            )
        object.__setattr__(of, name, plain)


def is_text(value: object) -> TypeGuard[str]:
    """Whether it is a text that a document can hold: without half of a sign."""
    return isinstance(value, str) and value.encode(errors="ignore").decode() == value


AS_HTML = "figures would read a part of it as HTML"

HTML = re.compile(r"<[^<>]*>|&#?\w+;")
"""What figures would take for HTML, as a link, in what a model calls its parts."""


def check_texts(what: str, **values: object) -> None:
    """Refuse what stands for a text and is none, or none that a document can hold.

    Args:
        what: whose they are, in words.
        values: by the names of attributes.

    Raises:
        ValueError: one is such; it has half of a sign, as texts of other encodings may, or HTML.
    """
    for name, value in values.items():
        if not is_text(value):
            raise ValueError(f"{what}: {name} = {shown(value)}: must be a text.")
        if HTML.search(value):
            raise ValueError(f"{what}: {name} = {shown(value)}: {AS_HTML}.")


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
