r"""What no answer on the cells of the best table exceeds, found beforehand.

The ceiling is the most that an answer can tell if it depends only on which of these cells the value
lies in, 64 of them at every budget here (:func:`abcdp_core.adaptive.best_channel.upper_bound`, MATH
A14). It does not bound answers on other cells. About σ at $\epsilon_{total} = 1$ two symbols,
near μ or far from it, tell 0.2066 for normal values and 0.1176 for Laplace values with the best
edges. That is up to 0.28 % above the ceiling, because the cells do not have these edges.

A bound takes up to half a minute for one budget, too long while somebody waits.
``python -m tools.information_bounds`` makes ``assets/ceiling/bounds.csv`` again (some minutes of
one core); a test compares it with what is computed.
"""

from __future__ import annotations

import functools
import math

import pandas as pd

from abcdp_core.places import ASSETS

FILE = ASSETS / "ceiling" / "bounds.csv"

BUDGETS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0, 15.0, 20.0)
"""Budgets at which it is known."""


def bound(epsilon_total: float, family: str, score: str) -> float:
    """The most that an answer on the cells of the best table tells; NaN where it was not found.

    Args:
        epsilon_total: of each answer.
        family: name in :data:`abcdp_core.adaptive.families.FAMILIES`.
        score: name in :data:`abcdp_core.adaptive.intervals.SCORES`.
    """
    return _kept().get((family, score, epsilon_total), (0, math.nan))[1]


def cells(epsilon_total: float, family: str, score: str) -> int:
    """How many cells a bound holds on, where there is one; arguments as of :func:`bound`."""
    return _kept()[family, score, epsilon_total][0]


@functools.cache
def _kept() -> dict[tuple[str, str, float], tuple[int, float]]:
    if not FILE.exists():
        return {}
    table = pd.read_csv(FILE)
    keys = zip(table.family, table.score, table.epsilon_total, strict=True)
    return dict(zip(keys, zip(table.cells, table.bound, strict=True), strict=True))
