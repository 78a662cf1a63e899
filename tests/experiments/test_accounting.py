"""Noise by accountant, trade-off curves and prices: what each mechanism buys with a budget."""

from __future__ import annotations

import functools
import math

import numpy as np
import pandas as pd
import pytest

from abcdp_core import mechanisms, runner
from abcdp_core.experiments import accounting
from abcdp_core.mechanisms import Budget
from abcdp_core.privacy import cost
from abcdp_core.privacy.gaussian_series import joint_mu
from abcdp_core.results import Result

NAMES = [each.name for each in accounting.compared()]
PURE = ("sparse-vector", "gaussian-rejection", "private-embedding")
SMALL = accounting.Params(epsilon_total=(2.0, 0.5), n=1000, pool_size=500, c=5)


@functools.cache
def result(params: accounting.Params = SMALL) -> Result:
    return runner.run_to_end(accounting, params, 1)


def scales() -> pd.DataFrame:
    """Noise scales by mechanism and accountant, a column per budget."""
    main = result().tables["main"]
    return main.pivot_table(
        index=["mechanism", "accountant"], columns="epsilon_total", values="noise_scale"
    )


def test_the_sparse_vector_has_the_noise_of_the_theorem() -> None:
    # MATH S2: b = (c + 1) Δ / ε_total, Δ = √2/N.
    expected = 6 * np.sqrt(2.0) / 1000 / 2.0
    assert scales().loc[("sparse-vector", "linear"), 2.0] == pytest.approx(expected)


@pytest.mark.parametrize("mechanism", NAMES)
def test_larger_budgets_and_better_accountants_ask_for_less_noise(mechanism: str) -> None:
    assert (scales().loc[mechanism, 2.0] < scales().loc[mechanism, 0.5]).all()
    found = scales().loc[mechanism, 2.0]
    for better, worse in (
        ("optimal", "advanced"),
        ("rdp", "rdp-classic"),
        ("exact", "rdp"),
        ("direct", "rdp"),
    ):
        if better in found and worse in found:
            assert found[better] < found[worse] * (1.0 + 1e-9), (better, worse)


@pytest.mark.parametrize("mechanism", accounting.compared(), ids=NAMES)
def test_events_cost_what_was_asked(mechanism: mechanisms.Mechanism) -> None:
    event = accounting.prepared(mechanism, SMALL, 2.0).event
    delta = mechanism.spends(Budget(2.0, SMALL.delta)).delta
    assert cost(event, delta).epsilon == pytest.approx(2.0, rel=1e-4)


@pytest.mark.parametrize("budget", [0.1, 3.0])
def test_the_parts_of_pure_mechanisms_add_up_to_the_budget(budget: float) -> None:
    params = accounting.Params(epsilon_total=(budget,), c=7, pool_size=500)
    for mechanism in map(mechanisms.load, PURE):
        parts = mechanism.parts(accounting.prepared(mechanism, params, budget))
        assert {part.measure for part in parts} == {"ε"}
        assert sum(part.count * part.cost for part in parts) == pytest.approx(budget)


def test_the_parts_of_soft_weights_add_up_as_squares() -> None:
    done = accounting.prepared(mechanisms.load("soft-weights"), SMALL, 1.0)
    (part,) = done.mechanism.parts(done)
    assert math.sqrt(part.count) * part.cost == pytest.approx(joint_mu(done.event))  # type: ignore[arg-type]


def test_no_curve_is_below_what_pure_epsilon_allows() -> None:
    curves = result().tables["tradeoff"]
    assert set(curves.mechanism) == {*NAMES, accounting.ANY_PURE}
    lines = curves[curves.mechanism == accounting.ANY_PURE].set_index("false_alarm").miss
    for name in PURE:
        miss = curves[curves.mechanism == name].set_index("false_alarm").miss
        assert (miss >= lines - 1e-9).all()
    # α = 0.05: 1 − e² · 0.05.
    assert lines.loc[0.05] == pytest.approx(1.0 - 0.05 * np.exp(2.0))


def test_accountants_are_compared_with_the_best_of_the_same_guarantee() -> None:
    rows, found = accounting.excess(result()), scales()[2.0]
    soft = rows[(rows.mechanism == "soft-weights") & (rows.accountant == "rdp-classic")]
    ratio = found["soft-weights", "rdp-classic"] / found["soft-weights", "exact"]
    assert soft.share.iloc[0] == pytest.approx(ratio - 1.0)
    # One run of the sparse vector is pure, and nothing else is: it is compared with nothing.
    assert not ((rows.mechanism == "sparse-vector") & (rows.accountant == "linear")).any()
    figure = accounting.figures(result())["noise"].figure
    drawn = np.concatenate([trace.y for trace in figure.data]).astype(int)
    for row, accountant in zip(drawn, rows.accountant, strict=True):
        assert figure.layout.yaxis.ticktext[row].startswith(f"{accountant} +")


@pytest.mark.parametrize(("budget", "least"), [(0.001, 89), (1.0, 72), (10.0, 0)])
def test_an_attacker_misses_at_least_what_every_curve_says(budget: float, least: int) -> None:
    params = accounting.Params(epsilon_total=budget)  # type: ignore[arg-type]
    assert accounting.least_missed(params) == least


def test_an_attack_is_claimed_only_where_one_was_found() -> None:
    few, many = (
        result(accounting.Params(epsilon_total=(2.0,), n=1000, pool_size=500, c=c)).summary
        for c in (5, 20)
    )
    assert "The best attack found on the sparse vector misses at most " in few
    assert many.endswith("an attacker may miss as few as 26.")
