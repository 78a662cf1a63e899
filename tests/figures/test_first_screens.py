"""What a page opens with shows a difference that can be seen, or its headline says why not.

A result that looks the same with noise and without teaches that privacy is free.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from abcdp_core import figures as fig
from abcdp_core import flips, studies
from abcdp_core.results import Tables
from tests import results

EPSILON_TOTAL = 0.2
"""Where pages start."""

SEEN = 1.6
"""Times as large: 'about a factor 2'."""

SAYS_WHY = ("the prior", "nothing is learned")
"""In the headline of a figure on which noise and no noise look alike: both are of no use."""

SMALL = {"pool_size": 500, "n": 1000}
BUDGETS = {"epsilon_total": f"{EPSILON_TOTAL}, inf"}


def ratio(values: pd.Series) -> float:
    return float(values.max() / values.min())


def of_budgets(tables: Tables) -> float:
    """The least error at the page's budget over the least one without noise."""
    errors = tables["main"].groupby(["epsilon_total", "epsilon_abc"]).mae.mean()
    return ratio(errors.groupby("epsilon_total").min())


def of_outbreaks(tables: Tables) -> float:
    """The error of the smallest data with noise over that without."""
    private, plain = (tables[name].groupby("n").mae.mean() for name in ("errors", "non_private"))
    return float(private.iloc[0] / plain.iloc[0])


def of_flips(tables: Tables) -> float:
    """Draws that noise lets in over the close ones that stay."""
    counts = flips.counts_of(tables["base_rates"])
    return counts.let_in / (counts.close - counts.lost)


FIRST: dict[str, tuple[dict[str, Any], Callable[[Tables], float]]] = {
    "compare-mechanisms": (
        SMALL | {"n": 300, "runs": 1},
        lambda tables: ratio(tables["summary"].mae),
    ),
    "accounting": (
        SMALL,
        lambda tables: tables["main"].groupby(["mechanism", "delta"]).noise_scale.agg(ratio).max(),
    ),
    "coverage": (
        SMALL | {"runs": 5, "epsilon_total": f"0.01, {EPSILON_TOTAL}"},
        # The share of intervals that miss the truth, over the one in ten that may.
        lambda tables: (1.0 - tables["summary"].coverage.min()) / 0.1,
    ),
    "covid-fit": (
        BUDGETS | {"runs": 5},
        lambda tables: ratio(tables["spread"].groupby("epsilon_total").spread.mean()),
    ),
    "tuberculosis-posterior": ({"runs": 2, "n": "100, 1000"}, of_outbreaks),
    "soft-abc": (SMALL | BUDGETS | {"runs": 2}, of_budgets),
    "gaussian-rejection": (SMALL | BUDGETS | {"runs": 2}, of_budgets),
    "gaussian-loss": ({}, lambda tables: ratio(tables["main"].exact)),
    "tuberculosis-soft": (
        {"runs": 5},
        lambda tables: ratio(tables["errors"][["mae", "non_private_mae"]].mean()),
    ),
    "distance-forms": (
        {"n": 1000, "pairs": 6},
        lambda tables: ratio(tables["main"].groupby("form").seconds.median()),
    ),
    # A smaller pool has the same base rates.
    "flip-probability": ({"pool_size": 500, "draws": 10}, of_flips),
}
"""First study of a view, a small version of its settings, and how its ends differ."""


@pytest.mark.parametrize("name", FIRST)
def test_the_first_figure_shows_a_difference_or_says_why_there_is_none(name: str) -> None:
    settings, difference = FIRST[name]
    study = studies.load(name)
    known, asked = study.Params.specification(), {"epsilon_total": EPSILON_TOTAL} | settings
    params = study.Params.from_text({key: str(asked[key]) for key in known.keys() & asked})
    result = results.changed(study, params)
    headline = fig.one_line(next(iter(study.figures(result).values())).figure)
    assert difference(result.tables) >= SEEN or any(words in headline for words in SAYS_WHY)
