"""Every kind of rule on made-up tables that must give each verdict."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from abcdp_core.publish import claims
from abcdp_core.publish.claims import rules
from abcdp_core.publish.claims.contrasts import Contrast, everywhere
from tests.statistics import FALSE_ALARM, assert_frequencies

RUNS = 30
Kept = dict[Any, float]


def judged(rule: rules.Rule, table: pd.DataFrame, together: int = 1) -> claims.Verdict:
    claim = claims.Claim.model_construct(id="made-up", table="main", rule=rule)
    return claims.judge(claim, {"main": table}, together)


def changed(rule: rules.Rule, **settings: Any) -> Any:
    return rule.model_copy(update=settings)


def runs_table(means: Kept, runs: int = RUNS) -> pd.DataFrame:
    """One row per run and setting; a run's rows share a large part of their noise.

    ``means`` maps a setting, as a tuple of (column, value), to the mean of ``mae``.
    """
    rng = np.random.default_rng(1)
    common, tables = rng.standard_normal(runs), []
    for setting, mean in means.items():
        values = mean + common + 0.01 * rng.standard_normal(runs)
        tables.append(pd.DataFrame({"run": np.arange(runs), "mae": values}).assign(**dict(setting)))
    return pd.concat(tables, ignore_index=True)


def by_resample(kept: float, redrawn: float, **options: int) -> pd.DataFrame:
    return runs_table({(("resample", False),): kept, (("resample", True),): redrawn}, **options)


def along(name: str, values: dict[float, float]) -> pd.DataFrame:
    return runs_table({((name, value),): mean for value, mean in values.items()})


def budgets(*means: float) -> pd.DataFrame:
    """Private means for budgets 0.5 and 1, then the one without noise, for both thresholds."""
    settings = itertools.product(zip((0.5, 1.0, math.inf), means, strict=True), (False, True))
    return runs_table(
        {(("epsilon_total", each), ("resample", kept)): mean for (each, mean), kept in settings}
    )


def lowest_in(*settings: float | None) -> pd.DataFrame:
    """For each setting the value of ``epsilon_abc`` with the lowest mean; ``None`` for none."""
    tables = [
        along("epsilon_abc", {value: 0.1 if value == best else 0.3 for value in (0.05, 0.1)})
        for best in settings
    ]
    return pd.concat([table.assign(c=c) for c, table in enumerate(tables)])


def formula(levels: dict[int, float]) -> pd.DataFrame:
    """Values of a formula at 50 distances, for each n; the larger rho, the larger they are."""
    rho = np.linspace(0.0, 1.0, 50)
    tables = [pd.DataFrame({"n": n, "rho": rho, "p": p + rho}) for n, p in levels.items()]
    return pd.concat(tables, ignore_index=True)


def bounded(*values: float, limit: float = 1.0) -> pd.DataFrame:
    return pd.DataFrame({"movement": values, "sensitivity": limit})


def estimated(low: float, high: float) -> pd.DataFrame:
    middle = np.clip(0.0, low, high) if low <= high else 0.0
    columns = {"log_ratio": [0.1, middle], "low": [0.0, low], "high": [0.2, high]}
    return pd.DataFrame(columns).assign(epsilon_total=1.0)


def ends(shift: float) -> pd.DataFrame:
    """Intervals [4, 6] around 5, the last one moved."""
    table = pd.DataFrame({"t": [8, 9, 10], "left": 4.0, "right": 6.0})
    table.loc[2, ["left", "right"]] += shift
    return table


def scales(factor: float) -> pd.DataFrame:
    table = pd.DataFrame({"n": [10, 100, 1000], "c": [1, 10, 100], "epsilon_total": 0.5})
    return table.assign(noise_scale=factor * table.c / (table.n * table.epsilon_total))


def frequencies(trials: int, shift: float = 0.0, rows: int = 200) -> pd.DataFrame:
    """Frequencies as near their formula as counts allow, the last moved by ``shift``."""
    exact = np.linspace(0.0, 0.5, rows)
    moved = exact + shift * (np.arange(rows) == rows - 1)
    frequency = np.rint(moved * trials) / max(trials, 1)
    return pd.DataFrame({"formula": exact, "fresh": frequency, "reached": trials})


KEPT_LESS = rules.Less(column="mae", a={"resample": False}, b={"resample": True})
PRIVATE_WINS = rules.Less(
    kind="less_somewhere",
    column="mae",
    a={"epsilon_total": [0.5, 1]},
    b={"epsilon_total": math.inf},
    within=("epsilon_total", "resample"),
)
ABOVE = rules.Less(column="mae", other="bound", a={}, b={}, within=("resample",))
ALIKE = changed(KEPT_LESS, kind="alike", margin=0.05)
LOWEST = rules.LowestAt(column="mae", along="epsilon_abc", value=0.05)
AT_MOST_SETTINGS = changed(LOWEST, kind="lowest_at_most", within=("c",))
FALLS = rules.Decreases(column="mae", along="n")
RISES = changed(FALLS, kind="increases")
NEVER_RISES = rules.DecreasesEverywhere(column="p", along="n", within=(), pair="rho")
NEVER_FALLS = changed(NEVER_RISES, kind="increases_everywhere")
MOVES = rules.AtMost(column="movement", other="sensitivity")
RATIO = rules.AtMost(column="log_ratio", other="epsilon_total", low="low", high="high")
NEAR = rules.Near(each=("left", "right"), value=5.0, distance=2.0)
LAW = rules.PowerLaw(
    column="noise_scale", factor=4.0, powers={"c": 1, "n": -1, "epsilon_total": -1}
)
AGREES = rules.Agrees(column="fresh", formula="formula", trials="reached", margin=0.1)
DIFFERS = changed(AGREES, kind="differs")

YES, NO, OPEN = "agrees", "does not", "undecided"
DIRECTION, NONE = "agrees in direction", "not testable"

CASES = [
    (KEPT_LESS, by_resample(0.1, 0.2), YES),
    (KEPT_LESS, by_resample(0.2, 0.1), NO),
    (KEPT_LESS, by_resample(0.1, 0.1), OPEN),
    (KEPT_LESS, by_resample(0.1, 0.2).query("resample"), NONE),
    (KEPT_LESS, by_resample(0.1, 0.2).head(0), NONE),
    (KEPT_LESS, by_resample(0.1, 0.2, runs=1), NONE),
    (changed(KEPT_LESS, margin=0.2), by_resample(0.1, 0.2), DIRECTION),
    (changed(KEPT_LESS, margin=0.2), by_resample(0.1, 0.1), NO),
    # A factor is measured against the larger mean: the noise shared by a run does not cancel.
    (changed(KEPT_LESS, factor=0.5), by_resample(10.0, 30.0), YES),
    (changed(KEPT_LESS, factor=0.5), by_resample(20.0, 30.0), DIRECTION),
    (PRIVATE_WINS, budgets(0.3, 0.1, 0.2), YES),
    (PRIVATE_WINS, budgets(0.3, 0.3, 0.2), NO),
    (PRIVATE_WINS, budgets(0.3, 0.2, 0.2), OPEN),
    (ABOVE, by_resample(0.1, 0.1).assign(bound=lambda t: t.mae + 0.5), YES),
    (ABOVE, by_resample(0.1, 0.1).assign(bound=lambda t: t.mae - 0.5), NO),
    (ALIKE, by_resample(0.1, 0.1), YES),
    (ALIKE, by_resample(0.15, 0.1), OPEN),
    (ALIKE, by_resample(0.1, 0.3), NO),
    (LOWEST, along("epsilon_abc", {0.05: 0.1, 0.1: 0.2, 0.5: 0.3}), YES),
    (LOWEST, along("epsilon_abc", {0.05: 0.2, 0.1: 0.1, 0.5: 0.3}), NO),
    (LOWEST, along("epsilon_abc", {0.05: 0.1, 0.1: 0.1, 0.5: 0.3}), OPEN),
    (LOWEST, along("epsilon_abc", {0.1: 0.2, 0.5: 0.3}), NONE),
    (AT_MOST_SETTINGS, lowest_in(0.05, 0.05, 0.1), YES),
    (AT_MOST_SETTINGS, lowest_in(0.05, 0.1, 0.1), NO),
    (AT_MOST_SETTINGS, lowest_in(0.05, None, 0.1), OPEN),
    (FALLS, along("n", {10: 0.3, 100: 0.2, 1000: 0.1}), YES),
    (FALLS, along("n", {10: 0.3, 100: 0.1, 1000: 0.2}), NO),
    (FALLS, along("n", {10: 0.3}), NONE),
    # Numbers are in the order of numbers, not of texts.
    (FALLS, along("n", {1000: 0.1, 9: 0.3}), YES),
    (RISES, along("n", {10: 0.1, 100: 0.2, 1000: 0.3}), YES),
    (NEVER_RISES, formula({10: 0.3, 100: 0.2, 1000: 0.1}), YES),
    (NEVER_RISES, formula({10: 0.3, 100: 0.2, 1000: 0.25}), NO),
    (NEVER_RISES, formula({10: 0.3, 100: 0.3}), OPEN),
    # No pair in common.
    (NEVER_RISES, formula({10: 0.3, 100: 0.2}).assign(rho=lambda t: t.index), NONE),
    (NEVER_FALLS, formula({10: 0.1, 100: 0.2, 1000: 0.3}), YES),
    (MOVES, bounded(0.5, -1.0, 0.0), YES),
    (MOVES, bounded(0.5, -1.1, 0.0), NO),
    (MOVES, bounded(0.5, 1.0 + 1e-12, math.nan), YES),
    (MOVES, bounded(math.nan, math.nan), NONE),
    (changed(MOVES, factor=0.8), bounded(0.5, 0.9), NO),
    (RATIO, estimated(-0.2, 0.3), YES),
    (RATIO, estimated(0.3, 1.2), OPEN),
    (RATIO, estimated(1.1, 2.0), NO),
    (RATIO, estimated(math.nan, math.nan), OPEN),
    (NEAR, ends(1.0), YES),
    (NEAR, ends(-1.5), NO),
    (NEAR, ends(math.nan), NO),
    (changed(NEAR, where={"t": [8, 9]}), ends(1.5), YES),
    (LAW, scales(4.0 * (1 + 1e-12)), YES),
    (LAW, scales(2.0), NO),
    (changed(LAW, where={"c": 7}), scales(4.0), NONE),
    (AGREES, frequencies(2000), YES),
    (AGREES, frequencies(2000, 0.1), NO),
    (AGREES, frequencies(50), OPEN),
    (AGREES, frequencies(0), NONE),
    (DIFFERS, frequencies(2000), NO),
    (DIFFERS, frequencies(2000, 0.1), YES),
    # What has probability zero happened once.
    (AGREES, frequencies(2000).replace({"fresh": {0.0: 1 / 2000}}), NO),
    (
        changed(AGREES, same_trials=True),
        frequencies(2000).assign(reached=lambda t: np.where(t.index, 1, 2000)),
        YES,
    ),
]


@pytest.mark.parametrize(
    ("rule", "table", "expected"),
    CASES,
    ids=[f"{number} {case[0].kind}: {case[2]}" for number, case in enumerate(CASES)],
)
def test_a_rule_gives_its_verdict_and_changes_no_table(
    rule: rules.Rule, table: pd.DataFrame, expected: str
) -> None:
    before = table.copy()
    assert judged(rule, table).outcome == expected
    pd.testing.assert_frame_equal(table, before)


# --------------------------------------------------------------------------- means over runs


def test_means_are_compared_run_by_run_by_students_interval() -> None:
    table = by_resample(0.1, 0.15)
    verdict = judged(KEPT_LESS, table)
    a, b = (table[table["resample"] == side].mae.to_numpy() for side in (False, True))
    interval = stats.ttest_rel(a, b).confidence_interval(0.95)
    assert verdict.values == pytest.approx(
        {"estimate": (a - b).mean(), "low": interval.low, "high": interval.high, "limit": 0.0}
    )
    assert f"{interval.low:.3g} to {interval.high:.3g}" in verdict.statement
    # Without the pairs the noise that runs share hides the difference.
    table.loc[~table["resample"], "run"] = np.arange(RUNS)[::-1]
    assert judged(KEPT_LESS, table).outcome == OPEN


def test_a_pair_that_lacks_a_value_or_a_setting_is_left_out() -> None:
    table = by_resample(0.1, 0.2)
    table.loc[(table.run < 5) & table["resample"], "mae"] = math.nan
    table.loc[(table.run == 7) & table["resample"], "mae"] = math.inf
    verdict = judged(KEPT_LESS, table)
    assert verdict.outcome == YES
    assert f"{RUNS - 6} pairs" in verdict.statement
    both = pd.concat([by_resample(1000.0 * c, 1000.0 * c + 1).assign(c=c) for c in (1, 2)])
    # A run without its expensive setting would look cheap.
    partial = both[~((both.run == 0) & both["resample"] & (both.c == 2))]
    verdict = judged(KEPT_LESS, partial)
    assert (verdict.outcome, verdict.values["estimate"]) == (YES, pytest.approx(-1.0, abs=0.05))


def test_within_is_about_every_combination_at_wider_intervals() -> None:
    rule = changed(KEPT_LESS, within=("c",))
    one = by_resample(0.1, 0.2).assign(c=1)
    mixed = pd.concat([one, one.assign(c=10), by_resample(0.1, 0.1).assign(c=100)])
    verdict = judged(rule, mixed)
    assert verdict.outcome == OPEN
    assert verdict.statement.startswith(
        "2 of 3 comparisons hold. In the least favorable comparison,"
    )
    assert "c = 100" in verdict.statement
    assert judged(changed(rule, where={"c": [1, 10]}), mixed).outcome == YES
    many = judged(rule, pd.concat([one.assign(c=c) for c in range(10)])).values
    alone, ten = (judged(rule, one, together=count).values for count in (1, 10))
    # Ten comparisons are as strict as one of ten claims.
    assert ten["high"] - ten["low"] == pytest.approx(many["high"] - many["low"])
    ratio = (many["high"] - many["low"]) / (alone["high"] - alone["low"])
    assert ratio == pytest.approx(stats.t.ppf(0.9975, RUNS - 1) / stats.t.ppf(0.975, RUNS - 1))


def test_undecided_keeps_its_error_rate() -> None:
    # Nothing to find: a verdict is wrong with probability 5 %. Sees one of 9 %.
    rng, trials = np.random.default_rng(1), 4000
    pairs = rng.standard_normal((trials, 2, 10))
    found = [everywhere([Contrast("a", "b", *each)], 0.0, rules.LEVEL) for each in pairs]
    wrong = sum(finding.outcome != OPEN for finding in found)
    expected = np.array([rules.LEVEL, 1.0 - rules.LEVEL])
    assert_frequencies(np.array([wrong, trials - wrong]), expected)


def test_a_verdict_has_its_estimate() -> None:
    for rule, table, estimate in (
        (MOVES, bounded(0.1, -0.75, 0.2), 0.75),
        (NEAR, ends(1.5), 2.5),
        (NEVER_RISES, formula({1: 0.0, 2: 0.2}), 1.0),
        (AGREES, frequencies(2000), 0.0),
    ):
        assert judged(rule, table).values["estimate"] == pytest.approx(estimate, abs=3e-3)
    assert judged(KEPT_LESS, by_resample(0.1, 0.2, runs=1)).values == {}


def test_a_verdict_rests_on_chance_where_there_are_intervals_or_tests() -> None:
    assert [rule.chance for rule in (KEPT_LESS, LOWEST, FALLS, RATIO, AGREES)] == [True] * 5
    assert not any(rule.chance for rule in (NEVER_RISES, MOVES, NEAR, LAW))


def test_agreement_keeps_its_error_rate() -> None:
    # Bonferroni is conservative, so the rate is bounded from above only. Sees one of 10 %.
    rng = np.random.default_rng(2)
    tables, rejected = 400, 0
    for _ in range(tables):
        table = frequencies(2000, rows=50)
        table.fresh = rng.binomial(2000, table.formula) / 2000
        rejected += judged(AGREES, table).outcome == NO
    assert rejected <= stats.binom.isf(FALSE_ALARM, tables, rules.JOINT_LEVEL)


def test_a_verdict_says_what_it_would_be_without_runs_that_kept_no_draw() -> None:
    table = by_resample(0.1, 0.2).assign(accepted=10.0, epsilon_abc=0.05)
    assert judged(KEPT_LESS, table).without_empty is None
    # Rows without a number of accepted draws stay.
    table.loc[table["resample"], "accepted"] = np.nan
    table.loc[~table["resample"] & (table.run < 2), ["mae", "accepted"]] = [50.0, 0]
    verdict = judged(KEPT_LESS, table)
    assert (verdict.outcome, verdict.without_empty) == (OPEN, YES)
    said = 'Without the 2 rows whose runs kept no draw, the verdict is "agrees".'
    assert verdict.statement.endswith(said)
    # They count only where the claim is made.
    elsewhere = pd.concat([by_resample(0.1, 0.2).assign(accepted=10, epsilon_abc=0.1), table])
    assert judged(changed(KEPT_LESS, where={"epsilon_abc": 0.1}), elsewhere).without_empty is None
