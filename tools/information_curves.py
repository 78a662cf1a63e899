"""Information in one answer for each way of asking and all budgets, for ``assets/ceiling``.

``python -m tools.information_curves`` makes the curves of all scores without a weight again: a
minute of one core.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import pandas as pd

from abcdp_core.adaptive.families import FAMILIES
from abcdp_core.adaptive.information_bound import BUDGETS
from abcdp_core.adaptive.intervals import SCORES
from abcdp_core.studies.ways_of_asking import CURVES, Params, told


def make(file: Path) -> None:
    """Compute the table ``main`` for every family, score and budget."""
    rows = []
    for family, best_for, budget in itertools.product(FAMILIES, SCORES, BUDGETS):
        if best_for != "weights":
            params = Params(epsilon_total=budget, family=family, score=best_for)
            rows.append(told(params)["main"].assign(family=family, best_for=best_for))
    pd.concat(rows).to_csv(file, index=False, float_format="%.10g")


if __name__ == "__main__":
    make(CURVES)
