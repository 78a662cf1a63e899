"""Sentences about further figures: each says what is known, and no more."""

from __future__ import annotations

import pandas as pd
import pytest

from abcdp_core.experiments import accounting
from abcdp_core.results import Result
from ui import words


def curves(**misses: tuple[str, float]) -> Result:
    """Straight curves; name -> kind, and the misses in 100 at 10 false alarms in 100."""
    rows = [
        (name, alarm, miss, kind)
        for name, (kind, at_ten) in misses.items()
        for alarm, miss in ((0.0, 1.0), (0.1, at_ten / 100.0), (1.0, 0.0))
    ]
    table = pd.DataFrame(rows, columns=list(accounting.COLUMNS["tradeoff"]))
    tables = {"main": table, "tradeoff": table}
    return Result(accounting.EXPERIMENT, accounting.Params(), tables, "", "")


def test_each_kind_of_curve_limits_the_misses_from_its_own_side() -> None:
    said = words.attack(curves(a=("exact", 70.4), b=("attained", 70.4), c=("bound", 70.6)))
    assert "a 70, b at most 71, c at least 70;" in said
    assert "a better one may exist" in said
    assert "a guess misses 90 times" in said


def test_without_a_searched_curve_nothing_is_said_of_searches() -> None:
    said = words.attack(curves(a=("exact", 70.0), c=("bound", 70.0)))
    assert "may exist" not in said
    assert "at most" not in said.lower()


@pytest.mark.parametrize(("kind", "word"), [("attained", "at most 0"), ("bound", "at least 0")])
def test_nothing_missed_is_0(kind: str, word: str) -> None:
    assert f"a {word};" in words.attack(curves(a=(kind, 1e-9)))
