"""Read a problem that a visitor uploads, from memory; no file of the server is read.

It uses an installed simulator, or a pool uploaded as a second file. Limits on sizes keep the
reading fast.
"""

from __future__ import annotations

import dataclasses
import io

from abcdp_core.base import tabular
from abcdp_core.base.parameters import ParameterError, shown
from abcdp_core.posterior.published import pools, problems
from abcdp_core.posterior.published.pools import Pool
from abcdp_core.posterior.published.problems import Problem

NAME = "your release"
"""Name of such a problem."""

LARGEST_TEXT = 64 * 2**10
"""Bytes of a problem."""

MOST_DOTS = 300
"""Most dots in a line: the time to read a dotted key grows with the square of its parts."""

LARGEST_TABLE = 2 * 2**20
"""Bytes of a pool's table."""

MOST_COLUMNS = 220
"""Most columns of a pool's table."""

SEPARATORS = (b",", b";", b"\t")
"""Separators of columns."""

MOST_DRAWS = 200_000
"""Most draws to simulate, even if the problem allows more."""


def read(text: bytes, table: bytes | None = None) -> Problem:
    """Read a problem from a TOML file and, if it names a pool, the pool's CSV file.

    Raises:
        ParameterError: a file is invalid; one line says what is wrong where.
    """
    if len(text) > LARGEST_TEXT:
        raise ParameterError(f"problem: is larger than {LARGEST_TEXT // 2**10} kB.")
    if max(line.count(b".") for line in text.split(b"\n")) > MOST_DOTS:
        raise ParameterError(f"problem: a line has more than {MOST_DOTS} dots; break it.")

    def pool(name: str) -> Pool:
        if table is None:
            raise ParameterError(
                f"pool = {shown(name)}: this server does not open files; add the pool's table as "
                "a CSV file."
            )
        return _pool(table)

    problem = problems.parse(text, NAME, pool)
    if isinstance(problem.source, Pool):
        return problem
    if table is not None:
        raise ParameterError("simulator: needs no table; remove the one you added.")
    return dataclasses.replace(problem, draws=min(problem.draws, MOST_DRAWS))


def _pool(table: bytes) -> Pool:
    """The pool in an uploaded CSV file."""
    if len(table) > LARGEST_TABLE:
        raise ParameterError(f"table: is larger than {LARGEST_TABLE // 2**20} MB.")
    first, *rows = table.splitlines() or [b""]
    columns = 1 + max(map(first.count, SEPARATORS))
    # Short rows are filled up, so a small file may become a large table.
    if columns > MOST_COLUMNS or columns * len(rows) > LARGEST_TABLE:
        raise ParameterError(
            f"table: must have at most {MOST_COLUMNS} columns, and a number in each field."
        )
    return pools.from_table("table", tabular.pools.parsed("table", io.BytesIO(table)))
