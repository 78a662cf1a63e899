r"""Tables in which a person may have several records (MATH U1).

    table --identifier--> question whose rows these are
    table, column of persons, K --used_rows--> at most K rows of each person
    statistic, K --of_person--> the same numbers, with a person's sensitivity

Of each person at most K rows are used, drawn by the operating system's generator for each person by
itself, before anything is computed. K is public and chosen without looking at the data; how many
rows a person has, and how many are left out, is private.

**Proof that a person moves the numbers by at most K times as much as a record.** Couple the draws
of two tables that differ in one person, person by person: all others have the same used rows. So
the used tables differ by at most K added or removed rows. Each of them moves the numbers by at most
$\Delta_1'$, so all of them by $K \Delta_1'$ (triangle inequality). Where records are replaced, the
number of rows is public and would show how many rows a person has, so such models do not serve.
"""

from __future__ import annotations

import dataclasses
import math
import re
import secrets
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from abcdp_core.base import tabular
from abcdp_core.base.parameters import shown
from abcdp_core.base.statistic import Statistic
from abcdp_core.base.tabular import TableError
from abcdp_core.base.tabular.table import Column, Table

IDENTIFIERS = {
    *("id", "ids", "identifier", "pid", "uid", "uuid", "pseudonym", "person", "people", "patient"),
    *("user", "subject", "participant", "respondent", "member", "customer", "client", "employee"),
    *("student", "household", "family", "name", "nhs", "ssn"),
}
"""Words in the name of a column that may say whose record a row is."""

Sample = Callable[[Sequence[int], int], list[int]]

SAMPLE: Sample = secrets.SystemRandom().sample
"""Draws some of several rows without a seed."""


def identifier(names: Sequence[str], values: Sequence[str]) -> str | None:
    """Return the first column that may say whose record a row is, besides those of values."""
    for name in names:
        words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)
        if name not in values and any(word.lower() in IDENTIFIERS for word in words):
            return name
    return None


def ask(table: Table, values: Sequence[str], *, can_bound: bool) -> None:
    """Refuse a table that may have several rows of a person, before a value is read.

    Args:
        table: the file.
        values: columns that a model takes values from.
        can_bound: whether a release can protect a person with several rows.

    Raises:
        TableError: a column may say whose record a row is.
    """
    if (name := identifier(table.names, values)) is not None:
        several = "say how many rows of a person count (--person, --at-most)"
        if not can_bound:
            several = "leave one row of each person in the file"
        raise TableError(
            f"Column {shown(name)} may say whose record a row is: {several}, or say that each row "
            "is another person (--rows-are-people)."
        )


def used_rows(
    column: Column, at_most: int, missing: str | None, sample: Sample = SAMPLE
) -> NDArray[np.int64]:
    """Return the rows that are used, in their order: at most so many of each person.

    Args:
        column: says whose record each row is.
        at_most: K, at least 1.
        missing: what a row without a person is: ``drop`` for none, ``each`` for another
            person; ``None`` to refuse it.
        sample: draws some of several rows.

    Raises:
        TableError: a person is missing, or written in two ways.
    """
    is_missing = tabular.missing(column)
    if is_missing.any() and missing is None:
        first = column.place(int(np.argmax(is_missing)))
        raise TableError(
            f"{first} says no person: --missing-person drop leaves such rows out, and "
            "--missing-person each takes each as another person."
        )
    rows: dict[str, list[int]] = {}
    present = np.flatnonzero(~is_missing)
    for row, person in zip(present.tolist(), tabular.labels(column, True), strict=True):
        rows.setdefault(person, []).append(row)
    used = [sample(own, at_most) if len(own) > at_most else own for own in rows.values()]
    alone = np.flatnonzero(is_missing).tolist() if missing == "each" else []
    return np.array(sorted([*alone, *(row for own in used for row in own)]), dtype=np.int64)


def in_words(at_most: int) -> str:
    """Return the unit of privacy, with its article."""
    return f"one person with at most {at_most} record{'s' * (at_most > 1)}"


def of_person(statistic: Statistic, record: str, at_most: int) -> Statistic:
    """Return a statistic whose unit is a person with at most so many records.

    Args:
        statistic: its numbers are sums over records, of which one is added or removed.
        record: its unit, a record, in words with its article.
        at_most: K, at least 1.
    """

    def l1(n: int) -> float:
        exact = at_most * Fraction(statistic.l1(n))
        near = float(exact)
        return near if Fraction(near) >= exact else math.nextafter(near, math.inf)

    # A condition on a declared sensitivity follows the unit.
    unit = in_words(at_most) + statistic.unit.removeprefix(record)
    return dataclasses.replace(statistic, unit=unit, l1=l1, l2=l1)
