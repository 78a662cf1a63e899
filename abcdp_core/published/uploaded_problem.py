"""A problem that a visitor gives to a server: from memory, and no file of the server is read.

Its simulator is one that is installed there, or its pool is a table given beside it. Sizes are
limited, so that reading takes moments.
"""

from __future__ import annotations

import dataclasses
import io

from abcdp_core import tabular
from abcdp_core.parameters import ParameterError, shown
from abcdp_core.published import pools, problems
from abcdp_core.published.pools import Pool
from abcdp_core.published.problems import Problem

NAME = "your release"
"""What such a problem is called."""

LARGEST_TEXT = 64 * 2**10
"""Bytes of a problem."""

MOST_DOTS = 300
"""In a line of it: the time and memory for dotted keys go by the square of their parts."""

LARGEST_TABLE = 2 * 2**20
"""Bytes of a pool's table."""

MOST_COLUMNS = 220
"""In a pool's table."""

SEPARATORS = (b",", b";", b"\t")
"""What may part the columns of a table."""

MOST_DRAWS = 200_000
"""Simulations, whatever the problem allows."""


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
    if max(line.count(b".") for line in text.split(b"\n")) > MOST_DOTS:
        raise ParameterError(f"problem: a line has more than {MOST_DOTS} dots; break it.")

    def pool(name: str) -> Pool:
        if table is None:
            raise ParameterError(
                f"pool = {shown(name)}: no file of this server is read; give the table, as CSV, "
                f"beside the problem."
            )
        return _pool(table)

    problem = problems.parse(text, NAME, pool)
    if isinstance(problem.source, Pool):
        return problem
    if table is not None:
        raise ParameterError("simulator: needs no table; forget the one that was given.")
    return dataclasses.replace(problem, draws=min(problem.draws, MOST_DRAWS))


def _pool(table: bytes) -> Pool:
    """A pool from a CSV file that somebody gave."""
    if len(table) > LARGEST_TABLE:
        raise ParameterError(f"table: is larger than {LARGEST_TABLE // 2**20} MB.")
    first, *rows = table.splitlines() or [b""]
    columns = 1 + max(map(first.count, SEPARATORS))
    # Short rows are filled up, so a small file may become a large table.
    if columns > MOST_COLUMNS or columns * len(rows) > LARGEST_TABLE:
        raise ParameterError(
            f"table: must have at most {MOST_COLUMNS} columns, and a number in each of every row."
        )
    return pools.from_table("table", tabular.pools.parsed("table", io.BytesIO(table)))
