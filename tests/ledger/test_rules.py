"""Every kind of rule on made-up tables that must give each verdict; then the file of claims."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from abcdp_core import ledger
from abcdp_core.ledger import rules
from tests.statistics import FALSE_ALARM, assert_frequencies

RUNS = 30


def claim_with(rule: rules.Rule, table: str = "main") -> ledger.Claim:
    return ledger.Claim(
        id="made-up",
        item="P21-F0",
        standing="paper",
        place="Figure 0",
        claim="Made up.",
        run=ledger.Run("made-up", "made-up", "made-up"),
        table=table,
        rule=rule,
    )


def outcome(rule: rules.Rule, table: pd.DataFrame) -> str:
    return ledger.judge(claim_with(rule), {"main": table}).outcome


def runs_table(
    means: dict[Any, float], runs: int = RUNS, spread: float = 0.01, seed: int = 1
) -> pd.DataFrame:
    """One row per run and setting; a run's rows share a large part of their noise.

    ``means`` maps a setting, as a tuple of (column, value), to the mean of ``mae``.
    """
    rng = np.random.default_rng(seed)
    common = rng.standard_normal(runs)
    tables = []
    for setting, mean in means.items():
        values = mean + common + spread * rng.standard_normal(runs)
        tables.append(pd.DataFrame({"run": np.arange(runs), "mae": values}).assign(**dict(setting)))
    return pd.concat(tables, ignore_index=True)


def by_resample(kept: float, redrawn: float, **options: int) -> pd.DataFrame:
    return runs_table({(("resample", False),): kept, (("resample", True),): redrawn}, **options)


def along(name: str, values: dict[float, float]) -> pd.DataFrame:
    return runs_table({((name, value),): mean for value, mean in values.items()})


KEPT_LESS = rules.Less(column="mae", a={"resample": False}, b={"resample": True})


# ------------------------------------------------------------------------------------ less


@pytest.mark.parametrize(
    ("kept", "redrawn", "expected"),
    [(0.1, 0.2, "agrees"), (0.2, 0.1, "does not"), (0.1, 0.1, "cannot be told")],
)
def test_less(kept: float, redrawn: float, expected: str) -> None:
    assert outcome(KEPT_LESS, by_resample(kept, redrawn)) == expected


@pytest.mark.parametrize(
    ("margin", "expected"),
    [(0.05, "agrees"), (0.1, "agrees in direction"), (0.2, "agrees in direction")],
)
def test_less_by_a_margin(margin: float, expected: str) -> None:
    rule = dataclasses.replace(KEPT_LESS, margin=margin)
    assert outcome(rule, by_resample(0.1, 0.2)) == expected


def test_a_size_that_is_missed_agrees_in_direction_only_where_the_sign_is_certain() -> None:
    rule = dataclasses.replace(KEPT_LESS, margin=0.2)
    assert outcome(rule, by_resample(0.1, 0.1)) == "does not"
    both = pd.concat([by_resample(0.1, 0.2).assign(c=1), by_resample(0.1, 0.1).assign(c=2)])
    assert outcome(dataclasses.replace(rule, within=("c",)), both) == "does not"


@pytest.mark.parametrize(
    ("kept", "redrawn", "expected"),
    [(1.0, 3.0, "agrees"), (2.0, 3.0, "agrees in direction"), (3.0, 2.0, "does not")],
)
def test_less_than_half(kept: float, redrawn: float, expected: str) -> None:
    rng = np.random.default_rng(1)
    sides = [
        pd.DataFrame({"run": range(RUNS), "resample": redraws, "mae": mean + noise})
        for (redraws, mean) in ((False, kept), (True, redrawn))
        for noise in [0.1 * rng.standard_normal(RUNS)]
    ]
    rule = dataclasses.replace(KEPT_LESS, factor=0.5)
    verdict = ledger.judge(claim_with(rule), {"main": pd.concat(sides)})
    assert verdict.outcome == expected
    assert verdict.values["estimate"] == pytest.approx(kept - redrawn / 2, abs=0.1)
    assert "0.5 × mae" in verdict.statement


def test_less_needs_the_pairing_by_run() -> None:
    table = by_resample(0.1, 0.15)
    assert outcome(KEPT_LESS, table) == "agrees"
    shuffled = table.copy()
    kept = ~shuffled["resample"]
    shuffled.loc[kept, "run"] = shuffled.loc[kept, "run"].to_numpy()[::-1]
    assert outcome(KEPT_LESS, shuffled) == "cannot be told"


def test_less_has_students_interval() -> None:
    table = by_resample(0.1, 0.15)
    verdict = ledger.judge(claim_with(KEPT_LESS), {"main": table})
    a, b = (table[table["resample"] == side].mae.to_numpy() for side in (False, True))
    interval = stats.ttest_rel(a, b).confidence_interval(0.95)
    assert verdict.values == pytest.approx(
        {"estimate": (a - b).mean(), "low": interval.low, "high": interval.high, "limit": 0.0}
    )
    assert f"{interval.low:.3g} to {interval.high:.3g}" in verdict.statement
    assert f"{RUNS} pairs" in verdict.statement


def test_less_between_two_columns() -> None:
    table = by_resample(0.1, 0.1).assign(bound=lambda t: t.mae + 0.5)
    rule = rules.Less(column="mae", other="bound", a={}, b={}, within=("resample",))
    assert outcome(rule, table) == "agrees"
    assert outcome(rule, table.assign(bound=table.mae - 0.5)) == "does not"


def test_less_leaves_out_pairs_that_lack_a_value() -> None:
    table = by_resample(0.1, 0.2)
    table.loc[(table.run < 5) & table["resample"], "mae"] = math.nan
    table.loc[(table.run == 7) & table["resample"], "mae"] = math.inf
    verdict = ledger.judge(claim_with(KEPT_LESS), {"main": table})
    assert verdict.outcome == "agrees"
    assert f"{RUNS - 6} pairs" in verdict.statement


def test_less_leaves_out_runs_that_lack_a_setting() -> None:
    means = {
        (("resample", resample), ("c", c)): c * 1000.0 + resample
        for resample in (False, True)
        for c in (1, 2)
    }
    table = runs_table(means)
    # A run without its expensive setting would look cheap.
    partial = table[~((table.run == 0) & table["resample"] & (table.c == 2))]
    verdict = ledger.judge(claim_with(KEPT_LESS), {"main": partial})
    assert verdict.outcome == "agrees"
    assert verdict.values["estimate"] == pytest.approx(-1.0, abs=0.05)


def test_less_within_is_about_every_combination() -> None:
    means = {
        (("resample", resample), ("c", c)): 0.1 * resample * (c < 100)
        for resample in (False, True)
        for c in (1, 10, 100)
    }
    rule = dataclasses.replace(KEPT_LESS, within=("c",))
    table = runs_table(means)
    verdict = ledger.judge(claim_with(rule), {"main": table})
    assert verdict.outcome == "cannot be told"
    assert "Of 3 comparisons 2 hold" in verdict.statement
    assert "c = 100" in verdict.statement
    assert outcome(rule, table[table.c < 100]) == "agrees"
    assert outcome(dataclasses.replace(rule, where={"c": [1, 10]}), table) == "agrees"


def test_intervals_of_several_comparisons_are_wider() -> None:
    rule = dataclasses.replace(KEPT_LESS, within=("c",))
    table = by_resample(0.1, 0.2)
    one = ledger.judge(claim_with(rule), {"main": table.assign(c=1)}).values
    ten = pd.concat([table.assign(c=c) for c in range(10)])
    many = ledger.judge(claim_with(rule), {"main": ten}).values
    ratio = (many["high"] - many["low"]) / (one["high"] - one["low"])
    assert ratio == pytest.approx(stats.t.ppf(0.9975, RUNS - 1) / stats.t.ppf(0.975, RUNS - 1))


def test_undecided_keeps_its_error_rate() -> None:
    # Nothing to find: a table gives a wrong verdict with probability 5 %. Sees one of 20 %.
    tables = 400
    wrong = sum(
        outcome(KEPT_LESS, by_resample(0.1, 0.1, runs=10, seed=seed)) != "cannot be told"
        for seed in range(tables)
    )
    assert_frequencies(
        np.array([wrong, tables - wrong]), np.array([rules.LEVEL, 1.0 - rules.LEVEL])
    )


# ------------------------------------------------------------------------- less_somewhere


PRIVATE_WINS = rules.LessSomewhere(
    column="mae",
    a={"epsilon_total": [0.5, 1]},
    b={"epsilon_total": math.inf},
    within=("epsilon_total", "resample"),
)


def budgets_table(means: tuple[float, ...]) -> pd.DataFrame:
    """Private means for budgets 0.5 and 1, then the non-private one, for both resample options."""
    budgets = dict(zip((0.5, 1.0, math.inf), means, strict=True))
    return runs_table(
        {
            (("epsilon_total", budget), ("resample", resample)): mean
            for budget, mean in budgets.items()
            for resample in (False, True)
        }
    )


@pytest.mark.parametrize(
    ("means", "expected"),
    [
        ((0.3, 0.1, 0.2), "agrees"),
        ((0.3, 0.3, 0.2), "does not"),
        ((0.3, 0.2, 0.2), "cannot be told"),
    ],
)
def test_less_somewhere(means: tuple[float, ...], expected: str) -> None:
    assert outcome(PRIVATE_WINS, budgets_table(means)) == expected


def test_less_everywhere_is_stricter_than_somewhere() -> None:
    everywhere = rules.Less(
        **{f.name: getattr(PRIVATE_WINS, f.name) for f in dataclasses.fields(PRIVATE_WINS)}
    )
    assert outcome(everywhere, budgets_table((0.3, 0.1, 0.2))) == "does not"


# ------------------------------------------------------------------ lowest_at and decreases


LOWEST = rules.LowestAt(column="mae", along="epsilon_abc", value=0.05)


@pytest.mark.parametrize(
    ("means", "expected"),
    [
        ({0.05: 0.1, 0.1: 0.2, 0.5: 0.3}, "agrees"),
        ({0.05: 0.2, 0.1: 0.1, 0.5: 0.3}, "does not"),
        ({0.05: 0.1, 0.1: 0.1, 0.5: 0.3}, "cannot be told"),
        ({0.1: 0.2, 0.5: 0.3}, "not testable"),
        ({0.05: 0.1}, "not testable"),
    ],
)
def test_lowest_at(means: dict[float, float], expected: str) -> None:
    assert outcome(LOWEST, along("epsilon_abc", means)) == expected


def test_lowest_at_every_combination() -> None:
    rule = dataclasses.replace(LOWEST, within=("c",))
    good = along("epsilon_abc", {0.05: 0.1, 0.1: 0.2}).assign(c=10)
    bad = along("epsilon_abc", {0.05: 0.2, 0.1: 0.1}).assign(c=100)
    assert outcome(rule, good) == "agrees"
    assert outcome(rule, pd.concat([good, bad])) == "does not"


FALLS = rules.Decreases(column="mae", along="n")


@pytest.mark.parametrize(
    ("means", "expected"),
    [
        ({10: 0.3, 100: 0.2, 1000: 0.1}, "agrees"),
        ({10: 0.3, 100: 0.1, 1000: 0.2}, "does not"),
        ({10: 0.3, 100: 0.1, 1000: 0.1}, "cannot be told"),
        ({10: 0.3}, "not testable"),
    ],
)
def test_decreases(means: dict[float, float], expected: str) -> None:
    assert outcome(FALLS, along("n", means)) == expected


def test_decreases_orders_numbers_as_numbers() -> None:
    assert outcome(FALLS, along("n", {1000: 0.1, 9: 0.3})) == "agrees"


@pytest.mark.parametrize(
    ("means", "expected"),
    [
        ({10: 0.1, 100: 0.2, 1000: 0.3}, "agrees"),
        ({10: 0.1, 100: 0.3, 1000: 0.2}, "does not"),
        ({10: 0.1, 100: 0.3, 1000: 0.3}, "cannot be told"),
    ],
)
def test_increases(means: dict[float, float], expected: str) -> None:
    assert outcome(rules.Increases(column="mae", along="n"), along("n", means)) == expected


@pytest.mark.parametrize(
    ("lowest", "expected"),
    [
        ((0.05, 0.05, 0.1), "agrees"),
        ((0.05, 0.1, 0.1), "does not"),
        ((0.05, None, 0.1), "cannot be told"),
    ],
)
def test_lowest_at_most_combinations(lowest: tuple[float | None, ...], expected: str) -> None:
    rule = rules.LowestAtMost(column="mae", along="epsilon_abc", value=0.05, within=("c",))
    tables = [
        along("epsilon_abc", {value: 0.1 if value == best else 0.3 for value in (0.05, 0.1)})
        for best in lowest
    ]
    settings = [table.assign(c=c) for c, table in enumerate(tables)]
    assert outcome(rule, pd.concat(settings)) == expected


@pytest.mark.parametrize(
    ("redrawn", "expected"), [(0.1, "agrees"), (0.15, "cannot be told"), (0.3, "does not")]
)
def test_alike(redrawn: float, expected: str) -> None:
    rule = rules.Alike(column="mae", a={"resample": False}, b={"resample": True}, margin=0.05)
    assert outcome(rule, by_resample(0.1, redrawn)) == expected
    assert outcome(rule, by_resample(redrawn, 0.1)) == expected


# ----------------------------------------------------------------------------- everywhere


def formula_table(values: dict[int, float], points: int = 50) -> pd.DataFrame:
    """A formula at the same distances for each value of n: all fall by a factor of their own."""
    rho = np.linspace(0.01, 1.0, points)
    return pd.concat(
        [pd.DataFrame({"rho": rho, "p": rho * level}).assign(n=n) for n, level in values.items()]
    )


NEVER_RISES = rules.DecreasesEverywhere(column="p", along="n", pair="rho")
NEVER_FALLS = rules.IncreasesEverywhere(column="p", along="n", pair="rho")


@pytest.mark.parametrize(
    ("levels", "down", "up"),
    [
        ({10: 0.3, 100: 0.2, 1000: 0.1}, "agrees", "does not"),
        ({10: 0.1, 100: 0.2, 1000: 0.3}, "does not", "agrees"),
        ({10: 0.2, 100: 0.2}, "cannot be told", "cannot be told"),
        ({10: 0.3}, "not testable", "not testable"),
    ],
)
def test_formula_falls_or_rises_everywhere(levels: dict[int, float], down: str, up: str) -> None:
    table = formula_table(levels)
    assert outcome(NEVER_RISES, table) == down
    assert outcome(NEVER_FALLS, table) == up


def test_a_single_pair_going_the_other_way_fails() -> None:
    table = formula_table({10: 0.3, 100: 0.2}).reset_index(drop=True)
    table.loc[0, "p"] = 0.0
    verdict = ledger.judge(claim_with(NEVER_RISES), {"main": table})
    assert verdict.outcome == "does not"
    assert "1 of 50 pairs" in verdict.statement
    assert verdict.values["estimate"] == pytest.approx(1 / 50)


def test_everywhere_without_common_pairs_is_not_testable() -> None:
    table = formula_table({10: 0.3, 100: 0.2})
    table.loc[table.n == 10, "rho"] += 0.001
    assert outcome(NEVER_RISES, table) == "not testable"


# -------------------------------------------------------------------------------- at_most


def bounded(values: list[float], limit: float = 1.0) -> pd.DataFrame:
    return pd.DataFrame({"movement": values, "sensitivity": limit})


MOVES = rules.AtMost(column="movement", other="sensitivity")


@pytest.mark.parametrize(
    ("values", "factor", "expected"),
    [
        ([0.5, -1.0, 0.0], 1.0, "agrees"),
        ([0.5, -1.1, 0.0], 1.0, "does not"),
        ([0.5, 1.0 + 1e-12], 1.0, "agrees"),
        ([0.5, 0.9], 0.8, "does not"),
        ([0.5, math.nan], 1.0, "agrees"),
        ([0.5, math.inf], 1.0, "does not"),
        ([math.nan, math.nan], 1.0, "not testable"),
    ],
)
def test_at_most(values: list[float], factor: float, expected: str) -> None:
    assert outcome(dataclasses.replace(MOVES, factor=factor), bounded(values)) == expected


def test_at_most_reports_the_worst_row() -> None:
    verdict = ledger.judge(claim_with(MOVES), {"main": bounded([0.1, -0.75, 0.2])})
    assert verdict.values == {"estimate": 0.75, "low": 0.75, "high": 0.75, "limit": 1.0}
    assert "0.75 times the bound" in verdict.statement


def test_at_most_of_a_bound_of_zero() -> None:
    assert outcome(MOVES, bounded([0.0], 0.0)) == "agrees"
    assert outcome(MOVES, bounded([0.1], 0.0)) == "does not"


@pytest.mark.parametrize(
    ("interval", "expected"),
    [
        ((-0.2, 0.3), "agrees"),
        ((-1.2, 0.3), "cannot be told"),
        ((0.3, 1.2), "cannot be told"),
        ((1.1, 2.0), "does not"),
        ((-2.0, -1.1), "does not"),
        ((-math.inf, 0.5), "cannot be told"),
        ((math.nan, math.nan), "cannot be told"),
    ],
)
def test_at_most_of_an_estimate_needs_its_whole_interval(
    interval: tuple[float, float], expected: str
) -> None:
    low, high = interval
    table = pd.DataFrame(
        {"log_ratio": [0.1, np.clip(0.0, low, high)], "low": [0.0, low], "high": [0.2, high]}
    ).assign(epsilon_total=1.0)
    table.log_ratio = table.log_ratio.fillna(0.0)
    rule = rules.AtMost(column="log_ratio", other="epsilon_total", low="low", high="high")
    assert outcome(rule, table) == expected


def test_a_bound_rests_on_chance_only_where_estimates_have_intervals() -> None:
    assert not MOVES.chance
    assert dataclasses.replace(MOVES, low="low", high="high").chance
    assert KEPT_LESS.chance
    assert not NEVER_RISES.chance


# ----------------------------------------------------------------------------------- near


def ends(shift: float) -> pd.DataFrame:
    """Intervals [4, 6] around 5, the last one moved."""
    table = pd.DataFrame({"t": [8, 9, 10], "left": 4.0, "right": 6.0})
    table.loc[2, ["left", "right"]] += shift
    return table


NEAR = rules.Near(each=("left", "right"), value=5.0, distance=2.0)


@pytest.mark.parametrize(
    ("shift", "expected"),
    [
        (0.0, "agrees"),
        (1.0, "agrees"),
        (-1.5, "does not"),
        (1.5, "does not"),
        (math.nan, "does not"),
    ],
)
def test_near(shift: float, expected: str) -> None:
    assert outcome(NEAR, ends(shift)) == expected


def test_near_reports_the_farthest_and_looks_at_the_rows_asked_for() -> None:
    verdict = ledger.judge(claim_with(NEAR), {"main": ends(1.5)})
    assert verdict.values == {"estimate": 2.5, "low": 2.5, "high": 2.5, "limit": 2.0}
    assert "Of 6 values of left and right 5 lie within 2 of 5" in verdict.statement
    assert outcome(dataclasses.replace(NEAR, where={"t": [8, 9]}), ends(1.5)) == "agrees"
    assert outcome(dataclasses.replace(NEAR, where={"t": 11}), ends(0.0)) == "not testable"


# ------------------------------------------------------------------------------ power_law


def scales(factor: float) -> pd.DataFrame:
    table = pd.DataFrame({"n": [10, 100, 1000], "c": [1, 10, 100], "epsilon_total": 0.5})
    return table.assign(noise_scale=factor * table.c / (table.n * table.epsilon_total))


LAW = rules.PowerLaw(
    column="noise_scale", factor=4.0, powers={"c": 1, "n": -1, "epsilon_total": -1}
)


@pytest.mark.parametrize(
    ("factor", "expected"),
    [(4.0, "agrees"), (4.0 * (1 + 1e-12), "agrees"), (2.0, "does not"), (math.nan, "does not")],
)
def test_power_law(factor: float, expected: str) -> None:
    assert outcome(LAW, scales(factor)) == expected


def test_power_law_with_whole_numbers() -> None:
    assert outcome(dataclasses.replace(LAW, factor=4), scales(4.0)) == "agrees"


def test_power_law_without_rows() -> None:
    rule = dataclasses.replace(LAW, where={"c": 7})
    assert outcome(rule, scales(4.0)) == "not testable"


# ---------------------------------------------------------------------- agrees and differs


def frequencies(trials: int, shift: float = 0.0, rows: int = 200) -> pd.DataFrame:
    """Frequencies as near their formula as counts allow, the last moved by ``shift``."""
    formula = np.linspace(0.0, 0.5, rows)
    moved = formula + shift * (np.arange(rows) == rows - 1)
    frequency = np.rint(moved * trials) / max(trials, 1)
    return pd.DataFrame({"formula": formula, "fresh": frequency, "reached": trials})


AGREES = rules.Agrees(column="fresh", formula="formula", trials="reached", margin=0.1)
DIFFERS = rules.Differs(column="fresh", formula="formula", trials="reached", margin=0.1)


@pytest.mark.parametrize(
    ("trials", "shift", "agrees", "differs"),
    [
        (2000, 0.0, "agrees", "does not"),
        (2000, 0.1, "does not", "agrees"),
        (50, 0.0, "cannot be told", "cannot be told"),
        (0, 0.0, "not testable", "not testable"),
    ],
)
def test_agrees_and_differs(trials: int, shift: float, agrees: str, differs: str) -> None:
    table = frequencies(trials, shift)
    assert outcome(AGREES, table) == agrees
    assert outcome(DIFFERS, table) == differs


def test_an_event_of_probability_zero_that_happened_disagrees() -> None:
    table = frequencies(2000)
    table.loc[0, "fresh"] = 1 / 2000
    assert outcome(AGREES, table) == "does not"


def test_rows_without_trials_are_left_out() -> None:
    table = frequencies(2000)
    table.loc[5, ["fresh", "reached"]] = [math.nan, 0]
    verdict = ledger.judge(claim_with(AGREES), {"main": table})
    assert verdict.outcome == "agrees"
    assert "199 frequencies" in verdict.statement


def test_same_trials_takes_the_largest_number() -> None:
    table = frequencies(2000)
    table.loc[1:, "reached"] = 1
    rule = dataclasses.replace(AGREES, same_trials=True)
    assert outcome(rule, table) == "agrees"


def test_agreement_keeps_its_error_rate() -> None:
    # Bonferroni is conservative, so the rate is bounded from above only. Sees one of 10 %.
    rng = np.random.default_rng(2)
    tables, rejected = 400, 0
    for _ in range(tables):
        table = frequencies(2000)
        table.fresh = rng.binomial(2000, table.formula) / 2000
        rejected += outcome(AGREES, table) == "does not"
    assert rejected <= stats.binom.isf(FALSE_ALARM, tables, rules.JOINT_LEVEL)


def test_verdict_and_exact_interval_say_the_same() -> None:
    for shift in np.linspace(0.0, 0.1, 41):
        verdict = ledger.judge(claim_with(AGREES), {"main": frequencies(2000, shift)})
        inside = verdict.values["low"] <= 0.0 <= verdict.values["high"]
        assert (verdict.outcome == "agrees") == inside


# ------------------------------------------------------------------------------- not testable


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        (by_resample(0.1, 0.2).query("resample"), "no rows with resample = false"),
        (by_resample(0.1, 0.2).head(0), "no rows"),
        (by_resample(0.1, 0.2, runs=1), "needs two pairs"),
    ],
)
def test_reasons_why_a_claim_is_not_testable(table: pd.DataFrame, reason: str) -> None:
    verdict = ledger.judge(claim_with(KEPT_LESS), {"main": table})
    assert verdict.outcome == "not testable"
    assert reason in verdict.statement


def test_a_missing_table_is_a_reason() -> None:
    verdict = ledger.judge(claim_with(KEPT_LESS, "ratio"), {"main": by_resample(0.1, 0.2)})
    assert verdict.statement == "Not testable: there is no table ratio."


def test_a_missing_column_is_an_error() -> None:
    table = by_resample(0.1, 0.2).drop(columns="mae")
    with pytest.raises(ledger.LedgerError, match=r"made-up.*no column mae"):
        ledger.judge(claim_with(KEPT_LESS), {"main": table})


@pytest.mark.parametrize("rule", [KEPT_LESS, LOWEST, FALLS, AGREES, MOVES])
def test_judging_changes_no_table(rule: rules.Rule) -> None:
    table = by_resample(0.1, 0.2).assign(
        epsilon_abc=0.05, n=1, fresh=0.5, formula=0.5, reached=10, movement=0.1, sensitivity=1.0
    )
    before = table.copy()
    ledger.judge(claim_with(rule), {"main": table})
    pd.testing.assert_frame_equal(table, before)


# ------------------------------------------------------------- many verdicts, and empty runs


def test_verdicts_that_are_to_be_right_together_are_stricter() -> None:
    table = by_resample(0.1, 0.112, runs=20)
    alone = ledger.judge(claim_with(KEPT_LESS), {"main": table})
    together = ledger.judge(claim_with(KEPT_LESS), {"main": table}, together=100_000)
    assert (alone.outcome, together.outcome) == ("agrees", "cannot be told")
    assert "100 % interval" in together.statement


def test_a_verdict_says_what_it_would_be_without_runs_that_accepted_nothing() -> None:
    table = by_resample(0.1, 0.2).assign(accepted=10)
    assert ledger.judge(claim_with(KEPT_LESS), {"main": table}).without_empty is None
    empty = ~table["resample"] & (table.run < 2)
    table.loc[empty, ["mae", "accepted"]] = [50.0, 0]
    verdict = ledger.judge(claim_with(KEPT_LESS), {"main": table})
    assert (verdict.outcome, verdict.without_empty) == ("cannot be told", "agrees")
    assert verdict.statement.endswith(
        "Without the 2 rows whose runs accepted nothing the verdict is: agrees."
    )


def test_rows_that_have_no_number_of_accepted_draws_are_not_left_out() -> None:
    table = by_resample(0.1, 0.2).assign(accepted=10.0)
    table.loc[table["resample"], "accepted"] = np.nan
    empty = ~table["resample"] & (table.run < 2)
    table.loc[empty, ["mae", "accepted"]] = [50.0, 0]
    verdict = ledger.judge(claim_with(KEPT_LESS), {"main": table})
    assert verdict.without_empty == "agrees"


def test_runs_that_accepted_nothing_count_only_where_the_claim_is_made() -> None:
    table = by_resample(0.1, 0.2).assign(accepted=10, epsilon_abc=0.05)
    elsewhere = table.assign(accepted=0, epsilon_abc=0.01)
    rule = dataclasses.replace(KEPT_LESS, where={"epsilon_abc": 0.05})
    both = {"main": pd.concat([table, elsewhere], ignore_index=True)}
    verdict = ledger.judge(claim_with(rule), both)
    assert verdict.without_empty is None
    assert "accepted nothing" not in verdict.statement
