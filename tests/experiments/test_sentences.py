"""Sentences of figures: each says what is known, and no more."""

from __future__ import annotations

import pandas as pd
import pytest

from abcdp_core import experiments
from abcdp_core.experiments import accounting, covid_fit, posterior, tuberculosis_posterior
from abcdp_core.results import Result


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
    said = accounting.attack(curves(a=("exact", 70.4), b=("attained", 70.4), c=("bound", 70.6)))
    assert "a 70, b at most 71, c at least 70;" in said
    assert "a better one may exist" in said
    assert "a guess misses 90 times" in said


def test_without_a_searched_curve_nothing_is_said_of_searches() -> None:
    said = accounting.attack(curves(a=("exact", 70.0), c=("bound", 70.0)))
    assert "may exist" not in said
    assert "at most" not in said.lower()


@pytest.mark.parametrize(("kind", "word"), [("attained", "at most 0"), ("bound", "at least 0")])
def test_nothing_missed_is_0(kind: str, word: str) -> None:
    assert f"a {word};" in accounting.attack(curves(a=(kind, 1e-9)))


def result_with(experiment: str, **tables: pd.DataFrame) -> Result:
    params = experiments.load(experiment).Params()
    return Result(experiment, params, {"main": pd.DataFrame()} | tables, "", "")


def test_decisions_are_counted_in_the_singular_too() -> None:
    one = pd.DataFrame({"private": [True], "non_private": [False]})
    said = posterior._flips_sentence(result_with("posterior", decisions=one))
    assert said.startswith("1 draw looked at, kept by both runs: 0, only by the private one: 1,")
    many = pd.concat([one] * 3)
    assert posterior._flips_sentence(result_with("posterior", decisions=many)).startswith(
        "3 draws looked at"
    )


def runs(spread: list[float]) -> Result:
    table = pd.DataFrame({"run": range(len(spread)), "spread": spread, "accepted": 5})
    return result_with("covid-fit", spread=table.assign(c=5, epsilon_total=1.0))


def test_an_interval_is_announced_only_where_there_is_one() -> None:
    assert covid_fit._spread_sentence(runs([300.0])) == (
        "Mean spread of the accepted curves in cases. ε_total = 1: 300."
    )
    said = covid_fit._spread_sentence(runs([300.0, 400.0, 500.0]))
    assert "in cases (95 % interval over runs). ε_total = 1: 400 (" in said


def test_a_mean_near_the_prior_is_not_called_unlearnt(monkeypatch: pytest.MonkeyPatch) -> None:
    study = tuberculosis_posterior
    monkeypatch.setattr(study, "means", lambda *_: {"R1": ["5.1 (N = 100)"]})
    monkeypatch.setattr(study, "unmoved", lambda *_: {100: ["R1"], 1000: []})
    accepted = pd.DataFrame({"release": "private", "resample": True, "n": [100, 1000]})
    said = study._accepted_sentence(result_with("tuberculosis-posterior", main=accepted), True)
    assert "learnt" not in said
    assert "quarter of a prior standard deviation from the prior mean: R1 (N = 100)." in said
