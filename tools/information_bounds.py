"""Upper bounds of the information in one answer, for ``assets/ceiling``.

``python -m tools.information_bounds`` adds missing bounds, up to half a minute of one core each.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import pandas as pd

from abcdp_core.adaptive import best_channel
from abcdp_core.adaptive.families import FAMILIES
from abcdp_core.adaptive.information_bound import BUDGETS, FILE

COLUMNS = ("family", "score", "epsilon_total", "cells", "bound")

BOUNDED = (*itertools.product(("mu",), FAMILIES), ("sigma", "normal"), ("sigma", "laplace"))
"""Scores and families with a bound."""


def found(epsilon_total: float, family: str, score: str) -> tuple[int, float]:
    """Return the number of cells of the best table, and the bound for these cells."""
    count = best_channel.best(epsilon_total, family, score).cells
    grid = best_channel.cells(FAMILIES[family], count)
    return count, best_channel.upper_bound(grid, epsilon_total, score)


def make(file: Path) -> None:
    """Add the bounds that a file lacks."""
    known = pd.read_csv(file) if file.exists() else pd.DataFrame(columns=list(COLUMNS))
    done = set(zip(known.family, known.score, known.epsilon_total, strict=True))
    for (score, family), epsilon_total in itertools.product(BOUNDED, BUDGETS):
        if (family, score, epsilon_total) not in done:
            row = family, score, epsilon_total, *found(epsilon_total, family, score)
            added = pd.DataFrame([row], columns=list(COLUMNS))
            added.to_csv(file, mode="a", header=not file.exists(), index=False, float_format="%.8g")


if __name__ == "__main__":
    FILE.parent.mkdir(parents=True, exist_ok=True)
    make(FILE)
