"""Noise by accountant, trade-off curves and the parts of each mechanism's budget."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest

from abcdp_core import mechanisms
from abcdp_core.privacy.gaussian_series import joint_mu
from abcdp_core.studies import accounting
from tests import results

PURE = ("sparse-vector", "gaussian-rejection", "private-embedding")
SMALL = accounting.Params(epsilon_total=(2.0, 0.5), n=1000, pool_size=500, c=5)
BETTER = {"optimal": "advanced", "rdp": "rdp-classic", "exact": "rdp", "direct": "rdp"}

result = functools.partial(results.changed, accounting, SMALL)


def test_larger_budgets_and_better_accountants_need_less_noise() -> None:
    main = result().tables["main"]
    rows = ["mechanism", "accountant"]
    scales = main.pivot_table(index=rows, columns="epsilon_total", values="noise_scale")
    # MATH S2: b = (c + 1) Δ / ε_total, Δ = √2/N.
    expected = 6 * np.sqrt(2.0) / 1000 / 2.0
    assert scales.loc[("sparse-vector", "linear"), 2.0] == pytest.approx(expected)
    assert (scales[2.0] < scales[0.5]).all()
    compared = 0
    for mechanism, found in scales[2.0].groupby("mechanism"):
        by = found.droplevel("mechanism")
        for better, worse in BETTER.items():
            if {better, worse} <= set(by.index):
                assert by[better] < by[worse] * (1.0 + 1e-9), (mechanism, better, worse)
                compared += 1
    assert compared >= len(BETTER)


@pytest.mark.parametrize("budget", [0.1, 3.0])
def test_the_parts_add_up_to_the_budget_and_those_of_soft_weights_as_squares(budget: float) -> None:
    for mechanism in map(mechanisms.load, PURE):
        parts = mechanism.parts(accounting.prepared(mechanism, SMALL, budget))
        assert {part.measure for part in parts} == {"ε"}
        assert sum(part.count * part.cost for part in parts) == pytest.approx(budget)
    done = accounting.prepared(mechanisms.load("soft-weights"), SMALL, budget)
    (part,) = done.mechanism.parts(done)
    assert math.sqrt(part.count) * part.cost == pytest.approx(joint_mu(done.event))


def test_no_curve_is_below_what_pure_epsilon_allows() -> None:
    curves = result().tables["tradeoff"].set_index(["mechanism", "false_alarm"]).miss
    lines = curves[accounting.ANY_PURE]
    for name in PURE:
        assert (curves[name] >= lines - 1e-9).all()
    # α = 0.05: 1 − e² · 0.05.
    assert lines.loc[0.05] == pytest.approx(1.0 - 0.05 * np.exp(2.0))


@pytest.mark.parametrize(("budget", "least"), [(0.001, 89), (1.0, 72), (10.0, 0)])
def test_every_attack_misses_as_often_as_the_guarantee_says(budget: float, least: int) -> None:
    assert accounting.least_missed(accounting.Params(epsilon_total=budget)) == least
