from __future__ import annotations

import functools
import math

import numpy as np
import pandas as pd
import pytest

from abcdp_core import mechanisms, runner
from abcdp_core.experiments import accounting
from abcdp_core.mechanisms import Budget, Prepared
from abcdp_core.parameters import ParameterError
from abcdp_core.privacy import cost
from abcdp_core.privacy.gaussian_series import joint_mu
from abcdp_core.results import Result

NAMES = [each.name for each in accounting.compared()]


def prepared(name: str, params: accounting.Params) -> Prepared:
    """What a mechanism does at the first budget."""
    found = accounting.prepared(params, params.epsilon_total[0])
    return next(each for each in found if each.mechanism.name == name)


@functools.cache
def result() -> Result:
    params = accounting.Params(epsilon_total=(2.0, 0.5), n=1000, pool_size=500, c=5)
    return runner.run_to_end(accounting, params, 1)


def scales() -> pd.DataFrame:
    """Noise scales by mechanism and accountant, a column per budget."""
    main = result().tables["main"]
    return main.pivot_table(
        index=["mechanism", "accountant"], columns="epsilon_total", values="noise_scale"
    )


def test_every_mechanism_has_every_accountant_that_knows_it() -> None:
    main = result().tables["main"]
    assert len(main) == 2 * len(accounting.calibrations())
    assert set(main.accountant) == set(accounting.ACCOUNTANTS)
    assert (main.noise_scale > 0).all()
    pure = main[main.delta == 0.0]
    assert set(pure.accountant) == {"linear"}
    assert set(pure.mechanism) == {
        name for name in NAMES if mechanisms.load(name).measure == "pure"
    }
    assert {"sparse-vector", "gaussian-rejection", "private-embedding"} <= set(pure.mechanism)


def test_the_sparse_vector_has_the_noise_of_the_theorem() -> None:
    # MATH S2: b = (c + 1) Δ / ε_total, Δ = √2/N.
    expected = 6 * np.sqrt(2.0) / 1000 / 2.0
    assert scales().loc[("sparse-vector", "linear"), 2.0] == pytest.approx(expected)


def test_more_budget_asks_for_less_noise() -> None:
    assert (scales()[2.0] < scales()[0.5]).all()


@pytest.mark.parametrize("mechanism", NAMES)
def test_better_accountants_ask_for_less_noise(mechanism: str) -> None:
    found = scales().loc[mechanism, 2.0]
    for better, worse in (
        ("optimal", "advanced"),
        ("rdp", "rdp-classic"),
        ("exact", "rdp"),
        ("direct", "rdp"),
    ):
        if better in found and worse in found:
            assert found[better] < found[worse] * (1.0 + 1e-9), (better, worse)


def test_events_cost_what_was_asked() -> None:
    params = accounting.Params(epsilon_total=(2.0,), n=1000, pool_size=500, c=5)
    for each in accounting.prepared(params, 2.0):
        delta = each.mechanism.spends(Budget(2.0, params.delta)).delta
        assert cost(each.event, delta).epsilon == pytest.approx(2.0, rel=1e-4)


def test_curves_are_drawn_at_the_first_budget() -> None:
    curves = result().tables["tradeoff"]
    assert set(curves.mechanism) == {*NAMES, accounting.ANY_PURE}
    lines = curves[curves.mechanism == accounting.ANY_PURE].set_index("false_alarm").miss
    for name in ("sparse-vector", "gaussian-rejection", "private-embedding"):
        miss = curves[curves.mechanism == name].set_index("false_alarm").miss
        assert (miss >= lines - 1e-9).all()
    # α = 0.05: 1 − e² · 0.05.
    assert lines.loc[0.05] == pytest.approx(1.0 - 0.05 * np.exp(2.0))


def test_figures_show_the_tables() -> None:
    figures = accounting.figures(result())
    assert list(figures) == ["noise", "tradeoff"]
    table = accounting.excess(result())
    drawn = figures["noise"].figure
    marks = np.concatenate([trace.x for trace in drawn.data])
    low, high = accounting.PERCENT
    assert marks.tolist() == table.percent.clip(low, high).tolist()
    rows = np.concatenate([trace.y for trace in drawn.data]).astype(int)
    for row, accountant in zip(rows, table.accountant, strict=True):
        assert drawn.layout.yaxis.ticktext[row].startswith(f"{accountant} +")
    names = [trace.name for trace in figures["tradeoff"].figure.data]
    assert "sparse vector, attained" in names
    assert "soft weights, exact" in names
    assert "gaussian sparse vector, bound" in names


def test_accountants_are_compared_with_the_best_of_the_same_promise() -> None:
    table, found = accounting.excess(result()), scales()[2.0]
    row = table.query("mechanism == 'soft-weights' and accountant == 'rdp-classic'").iloc[0]
    assert row.best == "exact"
    ratio = found["soft-weights", "rdp-classic"] / found["soft-weights", "exact"]
    assert row.percent == pytest.approx(100.0 * (ratio - 1.0))
    assert (table.percent >= 0.0).all()
    # One run of the sparse vector is pure, and nothing else is: it has no one to be compared with.
    assert not ((table.mechanism == "sparse-vector") & (table.accountant == "linear")).any()
    title = accounting.figures(result())["noise"].figure.layout.title.text
    assert title.startswith(f"The papers' accountant asks for {row.percent:.0f} % more noise")


@pytest.mark.parametrize(("budget", "least"), [(0.001, 89), (1.0, 72), (10.0, 0)])
def test_an_attacker_misses_at_least_what_every_curve_says(budget: float, least: int) -> None:
    params = accounting.Params(epsilon_total=budget)
    assert accounting.least_missed(params) == least


def test_the_summary_claims_an_attack_only_where_one_was_found() -> None:
    assert "misses at least 63 % by pure ε, and the best attack found" in result().summary
    many = accounting.Params(epsilon_total=(2.0,), n=1000, pool_size=500, c=20)
    assert runner.run_to_end(accounting, many, 1).summary.endswith("at least 63 % by pure ε.")


def test_noises_of_two_laws_are_compared_by_their_standard_deviation() -> None:
    found = scales()[2.0]
    ratio = found["gaussian-sparse-vector", "direct"] / found["sparse-vector", "linear"]
    assert f"standard deviation {ratio / math.sqrt(2.0):.2g} times as large" in result().summary


def test_more_acceptances_than_draws_are_refused() -> None:
    with pytest.raises(ParameterError, match="c = 200"):
        accounting.Params(c=200, pool_size=100)


@pytest.mark.parametrize("budget", [0.1, 3.0])
def test_the_parts_of_pure_mechanisms_add_up_to_the_budget(budget: float) -> None:
    params = accounting.Params(epsilon_total=(budget,), c=7, pool_size=500)
    for name in ("sparse-vector", "gaussian-rejection", "private-embedding"):
        parts = mechanisms.load(name).parts(prepared(name, params))
        assert {part.measure for part in parts} == {"ε"}
        assert sum(part.count * part.cost for part in parts) == pytest.approx(budget)


def test_the_parts_of_soft_weights_add_up_as_squares() -> None:
    params = accounting.Params(epsilon_total=(1.0,), pool_size=400)
    done = prepared("soft-weights", params)
    (part,) = mechanisms.load("soft-weights").parts(done)
    assert math.sqrt(part.count) * part.cost == pytest.approx(joint_mu(done.event))  # type: ignore[arg-type]
