"""What a page opens with shows a difference that can be seen, or its headline says why not.

A result that looks the same with noise and without teaches that privacy is free.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import pandas as pd
import pytest

from abcdp_core import experiments, runner
from abcdp_core import figures as fig
from abcdp_core.results import Result

EPSILON_TOTAL = 0.2
"""Where pages start."""

SEEN = 1.6
"""Times as large: 'about a factor 2'."""

SAYS_WHY = ("the prior", "nothing is learnt")
"""In the headline of a figure on which noise and no noise look alike: both are of no use."""

SMALL_POOL = {"pool_size": 500, "n": 1000}


def of_mechanisms(result: Result) -> float:
    """The worst error among mechanisms over the best."""
    errors = result.tables["summary"].mae
    return float(errors.max() / errors.min())


def of_accountants(result: Result) -> float:
    """The most noise for a mechanism over the least."""
    by = result.tables["main"].groupby(["mechanism", "delta"]).noise_scale
    return float((by.max() / by.min()).max())


def of_coverage(result: Result) -> float:
    """The share of intervals that miss the truth, at worst, over the one in ten that may."""
    return float((1.0 - result.tables["summary"].coverage.min()) / 0.1)


def of_budget(result: Result) -> float:
    """The least error at the page's budget over the least one without noise."""
    errors = result.tables["main"].groupby(["epsilon_total", "epsilon_abc"]).mae.mean()
    least = errors.groupby("epsilon_total").min()
    return float(least[EPSILON_TOTAL] / least[math.inf])


def of_curves(result: Result) -> float:
    """The spread of COVID-19 curves with noise over that without."""
    spread = result.tables["spread"].groupby("epsilon_total").spread.mean()
    return float(spread[EPSILON_TOTAL] / spread[math.inf])


def of_outbreaks(result: Result) -> float:
    """The error of the smallest data with noise over that without."""
    private, plain = (result.tables[name] for name in ("errors", "non_private"))
    return _first_mean(private) / _first_mean(plain)


def _first_mean(table: pd.DataFrame) -> float:
    return float(table.groupby("n").mae.mean().iloc[0])


def of_one_outbreak(result: Result) -> float:
    """The error of San Francisco with noise over that without."""
    errors = result.tables["errors"]
    return float(errors.mae.mean() / errors.non_private_mae.mean())


def of_losses(result: Result) -> float:
    """The most that a decision gives away over the least, by its threshold."""
    exact = result.tables["main"].exact
    return float(exact.max() / exact.min())


def of_forms(result: Result) -> float:
    """How much longer the slowest form of the distance takes than the quickest."""
    seconds = result.tables["main"].groupby("form").seconds.median()
    return float(seconds.max() / seconds.min())


BUDGETS = (EPSILON_TOTAL, math.inf)
FIRST: dict[str, tuple[str, dict[str, object], Callable[[Result], float]]] = {
    "Mechanisms, error": ("compare-mechanisms", SMALL_POOL | {"runs": 2}, of_mechanisms),
    "Mechanisms, what a budget buys": ("accounting", SMALL_POOL, of_accountants),
    "Mechanisms, coverage": (
        "coverage",
        SMALL_POOL | {"runs": 5, "epsilon_total": (0.01, EPSILON_TOTAL)},
        of_coverage,
    ),
    "Case studies, COVID-19": ("covid-fit", {"runs": 5, "epsilon_total": BUDGETS}, of_curves),
    "Case studies, tuberculosis": (
        "tuberculosis-posterior",
        {"runs": 2, "n": (100, 1000)},
        of_outbreaks,
    ),
    "Gaussian noise, soft weights": (
        "soft-abc",
        SMALL_POOL | {"runs": 2, "epsilon_total": BUDGETS},
        of_budget,
    ),
    "Gaussian noise, rejection": (
        "gaussian-rejection",
        SMALL_POOL | {"runs": 2, "epsilon_total": BUDGETS},
        of_budget,
    ),
    "Gaussian noise, what it costs": ("gaussian-loss", {}, of_losses),
    "Gaussian noise, San Francisco": ("tuberculosis-soft", {"runs": 5}, of_one_outbreak),
    "Distances": ("distance-forms", {"n": 1000, "pairs": 6}, of_forms),
}
"""Page and view -> its first study, a small version of its settings, and how its ends differ."""


@pytest.mark.parametrize("view", FIRST)
def test_the_first_figure_shows_a_difference_or_says_why_there_is_none(view: str) -> None:
    name, settings, difference = FIRST[view]
    study = experiments.load(name)
    asked = {"epsilon_total": EPSILON_TOTAL} | settings
    known = study.Params.specification()
    params = study.Params(
        **{key: _fitting(study.Params, key, each) for key, each in asked.items() if key in known}
    )
    result = runner.run_to_end(study, params, 1)
    first = next(iter(study.figures(result).values()))
    headline = fig.one_line(first.figure)
    assert difference(result) >= SEEN or any(words in headline for words in SAYS_WHY), headline


def _fitting(params: type, name: str, value: object) -> object:
    many = params.takes_many(name) and not isinstance(value, tuple)  # type: ignore[attr-defined]
    return (value,) if many else value
