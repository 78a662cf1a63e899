"""The COVID study: curves are those of what was accepted, and its warnings are there."""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np
import pandas as pd
import pytest

from abcdp_core import pool, runner
from abcdp_core.experiments import covid_fit, posterior
from abcdp_core.results import Result
from abcdp_core.sentences import amount
from abcdp_core.simulators import covid

SMALL = covid_fit.Params(pool_size=2000, runs=4)


@functools.cache
def result_of(params: covid_fit.Params = SMALL) -> Result:
    return runner.run_to_end(covid_fit, params, seed=1)


def test_every_kept_curve_is_a_cubic_and_the_mean_is_their_mean() -> None:
    main = result_of().tables["main"]
    for (_, _), part in main.groupby(["epsilon_total", "run"]):
        samples = part[part.kind == "sample"].pivot_table(
            index="sample", columns="day", values="value"
        )
        mean = part[part.kind == "mean"].value.to_numpy()
        assert samples.mean().to_numpy() == pytest.approx(mean, rel=1e-9, abs=1e-9)
        # Fourth differences of a cubic are nothing.
        assert (
            np.abs(np.diff(samples.to_numpy(), 4)).max() < 1e-7 * np.abs(samples.to_numpy()).max()
        )


# Without noise nothing is as near as the smallest threshold: parts without a curve.
@pytest.mark.parametrize(
    ("epsilon_abc", "budgets"),
    [(covid.EPSILON_ABC_DEFAULT, (22.0, math.inf)), (0.001, (math.inf,))],
)
def test_runs_in_parts_are_those_in_one_go(
    epsilon_abc: float, budgets: tuple[float, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    params = dataclasses.replace(SMALL, epsilon_abc=epsilon_abc, epsilon_total=budgets)
    whole = result_of(params).tables
    monkeypatch.setattr(covid_fit, "PART", 3)
    last = runner.run_to_end(covid_fit, params, 1)
    key = ["c", "epsilon_total", "run", "kind", "sample", "day"]
    for name, table in whole.items():
        order = [column for column in key if column in table]
        found = last.tables[name].sort_values(order, ignore_index=True)
        pd.testing.assert_frame_equal(found, table.sort_values(order, ignore_index=True))
    first = covid_fit.work(covid_fit.tasks(params, 1)[0])
    assert " over 2 runs at c = 5;" in covid_fit.collect(params, first.tables).summary


def test_the_first_run_is_the_release_that_the_posterior_page_shows() -> None:
    one = posterior.Params(
        scenario="covid", epsilon_total=22.0, c=5, n=18, pool_size=2000, epsilon_abc=0.1
    )
    main = runner.run_to_end(posterior, one, seed=1).tables["main"]
    theta = main[main.release == "private"].pivot_table(
        index="sample", columns="parameter", values="value"
    )
    curves = covid.curves(theta.to_numpy(), covid.days(18))
    here = result_of().tables["main"]
    here = here[(here.epsilon_total == 22.0) & (here.run == 0) & (here.kind == "sample")]
    found = here.pivot_table(index="sample", columns="day", values="value").to_numpy()
    assert np.sort(found[:, -1]) == pytest.approx(np.sort(curves[:, -1]), rel=1e-12)


def test_the_scripts_bandwidth_is_said_to_be_not_private() -> None:
    script = dataclasses.replace(SMALL, bandwidth="script")
    assert covid_fit.pool_key(script, 1).bandwidth == 456.0
    assert "Not private" in result_of(script).privacy
    assert "Not private" not in result_of().privacy
    assert "one day" in result_of().privacy


def test_public_choices_do_not_read_the_series(monkeypatch: pytest.MonkeyPatch) -> None:
    def keys() -> list[pool.PoolKey]:
        pool._median_bandwidth.cache_clear()
        choices = [covid.BANDWIDTH, "median", 300.0]
        return [
            covid_fit.pool_key(dataclasses.replace(SMALL, bandwidth=each), 1) for each in choices
        ]

    before = keys()
    monkeypatch.setattr(covid, "CASES", 7.0 * covid.CASES)
    assert keys() == before
    script = dataclasses.replace(SMALL, bandwidth="script")
    assert covid_fit.pool_key(script, 1).bandwidth == 7 * 456.0


def test_spread_and_misfit_are_those_of_the_curves() -> None:
    tables = result_of().tables
    row = tables["spread"].query("epsilon_total == 13 and run == 1").iloc[0]
    main = tables["main"].query("epsilon_total == 13 and run == 1 and kind == 'sample'")
    curves = main.pivot_table(index="sample", columns="day", values="value").to_numpy()
    assert row.spread == pytest.approx(curves.std(axis=0, ddof=1).mean())
    misfit = np.sqrt(np.mean((curves.mean(axis=0) - covid.CASES) ** 2))
    assert row.misfit == pytest.approx(misfit)


def test_every_c_is_run_with_every_budget_on_the_same_noise() -> None:
    result = result_of(dataclasses.replace(SMALL, c=(2, 5, 9), epsilon_total=(22.0, math.inf)))
    spread = result.tables["spread"]
    assert len(spread) == 3 * 2 * SMALL.runs
    alone = result_of().tables["spread"].query("epsilon_total == 22")
    assert spread.query("c == 5 and epsilon_total == 22").spread.tolist() == alone.spread.tolist()
    mean = spread.query("c == 2 and epsilon_total == 22").spread.mean()
    assert f"Kept curves spread by {amount(mean)} cases with ε_total = 22" in result.summary
    assert "over 4 runs at c = 2;" in result.summary
    names = {trace.name for trace in covid_fit.figures(result)["spread"].figure.data}
    assert names >= {"c = 2", "c = 5", "c = 9", "prior"}


NOTHING = {"pool_size": 100, "epsilon_abc": 0.001, "epsilon_total": (1000.0,)}


@pytest.mark.parametrize(
    ("changes", "titles"),
    [
        (NOTHING, ("Noise picked 0 of 0 curves kept with", "Two curves were never kept")),
        (
            {"c": (1,), "epsilon_total": (22.0,), "runs": 1},
            ("Noise picked 0 of 1 curve kept with ε_total", "Two curves were never kept"),
        ),
        (
            {"epsilon_total": (math.inf,)},
            ("Noise picked 0 of 20 curves kept without noise", "Kept curves spread by"),
        ),
    ],
)
def test_titles_are_true_where_little_is_kept(
    changes: dict[str, object], titles: tuple[str, str]
) -> None:
    result = result_of(dataclasses.replace(SMALL, **changes))  # type: ignore[arg-type]
    for title, each in zip(titles, covid_fit.figures(result).values(), strict=True):
        assert each.figure.layout.title.text.startswith(title)
        assert "nan" not in each.sentence
