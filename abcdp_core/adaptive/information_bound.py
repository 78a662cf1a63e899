r"""Precomputed upper bounds on the information in an answer on the best table's cells.

The bound is the most information that an answer can carry if it depends only on the value's cell,
with 64 cells at every budget here (:func:`abcdp_core.adaptive.best_channel.upper_bound`, MATH A14).
It does not bound answers on other cells: for σ at $\epsilon_{total} = 1$, two symbols with the best
edges carry 0.2066 for normal values and 0.1176 for Laplace values, up to 0.28 % above the bound.

One bound takes up to half a minute. ``python -m tools.information_bounds`` remakes
``assets/ceiling/bounds.csv`` in some minutes.
"""

from __future__ import annotations

import functools
import math

import pandas as pd

from abcdp_core.base.places import ASSETS

FILE = ASSETS / "ceiling" / "bounds.csv"

BUDGETS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0, 15.0, 20.0)
"""Budgets with a bound."""


def bound(epsilon_total: float, family: str, score: str) -> float:
    """Return the upper bound on a score's information; NaN where there is none."""
    return _kept().get((family, score, epsilon_total), (0, math.nan))[1]


def cells(epsilon_total: float, family: str, score: str) -> int:
    """Return the number of cells of a bound that exists; arguments as for :func:`bound`."""
    return _kept()[family, score, epsilon_total][0]


@functools.cache
def _kept() -> dict[tuple[str, str, float], tuple[int, float]]:
    if not FILE.exists():
        return {}
    table = pd.read_csv(FILE)
    keys = zip(table.family, table.score, table.epsilon_total, strict=True)
    return dict(zip(keys, zip(table.cells, table.bound, strict=True), strict=True))
