"""Pieces of sentences: singular and plural, budgets and sizes."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from abcdp_core import sentences


@pytest.mark.parametrize(
    ("count", "words"),
    [(0, "0 runs"), (1, "1 run"), (2, "2 runs"), (1000, "1,000 runs")],
)
def test_a_number_of_things(count: int, words: str) -> None:
    assert sentences.counted(count, "run") == words
    assert sentences.runs_in_words(pd.DataFrame({"run": range(count)})) == words


def test_irregular_plurals_are_given() -> None:
    assert sentences.counted(1, "person", "people") == "1 person"
    assert sentences.counted(2, "person", "people") == "2 people"


def test_sizes_budgets_and_accountants() -> None:
    assert sentences.sizes_in_words(5000, 5000, 1000) == "N = 5,000, T = 1,000"
    assert sentences.sizes_in_words(10, 300, 20) == ("N = 10 against 300 simulated points, T = 20")
    assert sentences.budget_name(math.inf) == "no noise"
    assert sentences.budget_name(0.5) == "ε_total = 0.5"
    assert sentences.overpaid(1.0, "exact") == ""
    assert "by the accountant rdp," in sentences.overpaid(1.0, "rdp")
