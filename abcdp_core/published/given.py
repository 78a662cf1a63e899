"""A problem that a visitor gives to a server: read from memory, and no file of the server is.

Its simulator is one that is installed there, or its pool is a table given beside it. Sizes are
limited, so that reading takes moments whatever is given.
"""

from __future__ import annotations

import codecs
import dataclasses
import io
import re
from collections.abc import Sequence

from abcdp_core.own_model import tables
from abcdp_core.parameters import ParameterError, shown
from abcdp_core.published import pools, problems
from abcdp_core.published.pools import Pool
from abcdp_core.published.problems import Problem
from abcdp_core.sentences import counted

NAME = "your release"
"""What such a problem is called."""

LARGEST_TEXT = 64 * 2**10
"""Bytes of a problem."""

LARGEST_TABLE = 2 * 2**20
"""Bytes of a pool's table."""

MOST_PARAMETERS = 20
MOST_NUMBERS = 200
"""Of a pool."""

MOST_DRAWS = 200_000
"""Simulations, whatever the problem allows."""

PLAIN = re.compile(r"[\w .+=()|-]{1,40}")
"""Names of a pool's columns, which figures show: nothing that means something in HTML or TeX."""

QUOTED = re.compile(rb'(?<![^,\r\n])"([^",\r\n]*)"(?![^,\r\n])')
"""A field in quotation marks that would be the same without. In any others a line could go on, and
a table of two megabytes have half a million columns, which are read for minutes."""


def read(text: bytes, table: bytes | None = None) -> Problem:
    """A problem from what was given.

    Args:
        text: the TOML file.
        table: the CSV file of its pool, if that was given too.

    Raises:
        ParameterError: one of them is not what it has to be; one line says what is wrong where.
    """
    if len(text) > LARGEST_TEXT:
        raise ParameterError(f"problem: is larger than {LARGEST_TEXT // 2**10} kB.")

    def pool(name: str) -> Pool:
        if table is None:
            raise ParameterError(
                f"pool = {shown(name)}: no file of this server is read; give the table, as CSV, "
                f"beside the problem."
            )
        return _pool(table)

    try:
        document = problems.document(text)
        problem = problems.from_document(document, NAME, pool)
    except RecursionError as error:
        raise ParameterError("problem: is nested too deeply.") from error
    if isinstance(problem.source, Pool):
        return problem
    if table is not None:
        raise ParameterError("simulator: needs no table; forget the one that was given.")
    return dataclasses.replace(problem, draws=min(problem.draws, MOST_DRAWS))


def _pool(table: bytes) -> Pool:
    """A pool from a CSV file that somebody gave."""
    if len(table) > LARGEST_TABLE:
        raise ParameterError(f"table: is larger than {LARGEST_TABLE // 2**20} MB.")
    table = QUOTED.sub(rb"\1", table.removeprefix(codecs.BOM_UTF8))
    if b'"' in table:
        raise ParameterError("table: quotation marks must be around single fields, or nowhere.")
    # From here on a line is what pandas takes for one, and blank lines are those it leaves out.
    lines = table.splitlines()
    head = lines[0].count(b",") if lines and lines[0].strip() else -1
    if not 0 <= head < MOST_PARAMETERS + MOST_NUMBERS:
        raise ParameterError(
            f"table: its first line must have the names of at most {MOST_PARAMETERS} parameters "
            f"and {MOST_NUMBERS} numbers."
        )
    # Short lines would be filled up: two megabytes of them to some gigabytes.
    for place, line in enumerate(lines, start=1):
        if (commas := line.count(b",")) != head and line.strip():
            raise ParameterError(
                f"table: line {place:,} has {counted(commas + 1, 'field')}; the first line has "
                f"{head + 1}."
            )
    _check_names(lines[0].decode(errors="replace").split(","))
    return pools.from_table("table", tables.parsed("table", io.BytesIO(table)))


def _check_names(columns: Sequence[str]) -> None:
    """Refuse names that figures cannot show, and too many of them."""
    for what, begins, most in (
        ("parameter", pools.THETA, MOST_PARAMETERS),
        ("number", pools.SUMMARY, MOST_NUMBERS),
    ):
        names = [each.removeprefix(begins) for each in columns if each.startswith(begins)]
        if len(names) > most:
            raise ParameterError(f"table: has {len(names)} {what}s; at most {most} are read.")
        for name in names:
            if not PLAIN.fullmatch(name):
                raise ParameterError(
                    f"table: {what} {shown(name)}: must be called by 1 to 40 letters, digits, "
                    f"blanks and . + = ( ) | - _."
                )
