"""The COVID study: curves are those of what was accepted, and its warnings are there."""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np
import pandas as pd
import pytest

from abcdp_core import figures as fig
from abcdp_core import pool, runner
from abcdp_core.experiments import covid_fit, posterior
from abcdp_core.parameters import ParameterError
from abcdp_core.results import Result
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


def test_the_observed_series_stands_beside_every_budget() -> None:
    main = result_of().tables["main"]
    observed = main[main.kind == "observed"]
    for _, part in observed.groupby("epsilon_total"):
        assert part.value.to_numpy().tolist() == covid.CASES.tolist()
    assert observed.epsilon_total.nunique() == len(SMALL.epsilon_total)


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
    assert "mean over 3 runs" in covid_fit.collect(params, first.tables).summary


def test_without_noise_nothing_is_kept_by_noise() -> None:
    spread = result_of().tables["spread"]
    assert (spread.flipped[np.isinf(spread.epsilon_total)] == 0).all()
    assert (spread.flipped <= spread.accepted).all()
    assert (spread.accepted <= SMALL.c[0]).all()


def test_the_spread_grows_as_the_budget_falls() -> None:
    preset = covid_fit.PRESETS["p21-figure-4"]
    params = dataclasses.replace(preset, pool_size=20_000)  # type: ignore[call-arg]
    means = result_of(params).tables["spread"].groupby("epsilon_total").spread.mean()
    assert means[13.0] > means[22.0] > means[44.0] > means[math.inf]


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


def test_more_runs_leave_the_first_ones_as_they_were() -> None:
    more = result_of(dataclasses.replace(SMALL, runs=6)).tables["spread"]
    few = result_of().tables["spread"]
    merged = few.merge(more, on=["epsilon_total", "run"], suffixes=("", "_more"))
    assert len(merged) == len(few)
    assert (merged.spread == merged.spread_more).all()


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


def test_a_budget_at_which_nothing_was_accepted_is_said() -> None:
    result = result_of(
        covid_fit.Params(pool_size=100, runs=3, c=1, epsilon_abc=0.001, epsilon_total=1000.0)
    )
    spread = result.tables["spread"]
    assert spread.accepted.tolist() == [0, 0, 0]
    assert spread.spread.isna().all()
    assert (spread.misfit == spread.prior_misfit).all()
    assert "ε_total = 1000: nothing accepted." in result.summary
    assert "3 runs of 3 accepted nothing; their estimates are the prior mean." in result.summary
    drawn = covid_fit.figures(result)
    assert drawn["curves"].figure.layout.title.text == "No curve was kept at ε_total = 1000"
    texts = [note.text for note in drawn["curves"].figure.layout.annotations]
    assert "0 curves kept" in texts
    assert "ε_total = 1000: fewer than two accepted" in covid_fit.figures(result)["spread"].sentence
    title = drawn["spread"].figure.layout.title.text
    assert title == "No run kept two curves at ε_total = 1000"
    marks = next(trace for trace in drawn["spread"].figure.data if trace.name == "c = 1")
    assert marks.marker.symbol[0].endswith("-open")


def test_a_single_curve_has_no_spread() -> None:
    params = dataclasses.replace(SMALL, c=1, epsilon_total=(22.0,), runs=1)
    result = result_of(params)
    assert result.tables["spread"].accepted.tolist() == [1]
    assert result.tables["spread"].spread.isna().all()
    assert "cases, in one run, and how many" in result.summary
    assert "ε_total = 22: no spread, " in result.summary
    assert "1 run accepted a single curve, which has no spread." in result.summary
    assert "nan" not in result.summary + covid_fit.figures(result)["spread"].sentence
    assert covid_fit.figures(result)


def test_spread_and_misfit_are_those_of_the_curves() -> None:
    tables = result_of().tables
    row = tables["spread"].query("epsilon_total == 13 and run == 1").iloc[0]
    main = tables["main"].query("epsilon_total == 13 and run == 1 and kind == 'sample'")
    curves = main.pivot_table(index="sample", columns="day", values="value").to_numpy()
    assert row.spread == pytest.approx(curves.std(axis=0, ddof=1).mean())
    misfit = np.sqrt(np.mean((curves.mean(axis=0) - covid.CASES) ** 2))
    assert row.misfit == pytest.approx(misfit)


def test_every_c_is_run_with_every_budget_on_the_same_noise() -> None:
    params = dataclasses.replace(SMALL, c=(2, 5, 9), epsilon_total=(22.0, math.inf))
    result = result_of(params)
    spread = result.tables["spread"]
    assert len(spread) == 3 * 2 * SMALL.runs
    alone = result_of().tables["spread"].query("epsilon_total == 22")
    here = covid_fit.at(spread, 5, 22.0)
    assert here.spread.tolist() == alone.spread.tolist()
    assert "ε_total = 22, c = 2" in result.summary
    assert "c = 5" not in result.summary
    drawn = covid_fit.figures(result)
    assert covid_fit.shown_settings(params) == [(2, 22.0), (2, math.inf)]
    assert {trace.name for trace in drawn["spread"].figure.data} >= {"c = 2", "c = 5", "c = 9"}


@pytest.mark.parametrize(
    ("kept", "false", "words"),
    [
        (5, 4, "4 of 5 curves were kept only because of noise at ε_total = 22"),
        (1, 1, "The one curve was kept only because of noise at ε_total = 22"),
        (1, 0, "The one curve was kept in spite of noise at ε_total = 22"),
        (5, 0, "None of 5 curves were kept only because of noise at ε_total = 22"),
        (0, 0, "No curve was kept at ε_total = 22"),
    ],
)
def test_the_title_counts_what_noise_let_in(kept: int, false: int, words: str) -> None:
    params = dataclasses.replace(SMALL, epsilon_total=(22.0, math.inf))
    row = {"c": params.c[0], "epsilon_total": 22.0, "run": 0, "accepted": kept, "flipped": false}
    assert covid_fit.finding(params, pd.DataFrame([row])) == words
    alone = dataclasses.replace(params, epsilon_total=(math.inf,))
    assert covid_fit.finding(alone, pd.DataFrame([row])) == "Curves that ABC keeps without noise"


def test_curves_of_each_kind_have_its_colour_and_the_data_are_black() -> None:
    data = covid_fit.figures(result_of())["curves"].figure.data
    colors = {(trace.name, trace.line.color or trace.marker.color) for trace in data}
    assert ("private", fig.PRIVATE.color) in colors
    assert ("non-private", fig.NON_PRIVATE.color) in colors
    assert ("observed", fig.TRUTH.color) in colors


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"c": 500, "pool_size": 100}, "c = 500"),
        ({"bandwidth": "best"}, "bandwidth = best"),
        ({"bandwidth": 1.0}, "bandwidth = 1"),
        ({"distance": "mmd"}, "distance = mmd"),
    ],
)
def test_what_is_not_allowed_is_one_clear_line(changes: dict[str, object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        dataclasses.replace(SMALL, **changes)  # type: ignore[arg-type]
