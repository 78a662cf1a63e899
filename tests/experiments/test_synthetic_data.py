"""Synthetic data: simulated at what was accepted, and nothing else."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pytest

from abcdp_core import figures as fig
from abcdp_core import pool, releases, runner, simulators
from abcdp_core.experiments import posterior, synthetic_data
from abcdp_core.privacy import UNPROTECTED
from abcdp_core.results import Result
from abcdp_core.simulators import covid, uniform_mixture
from tests.statistics import assert_frequencies, rejects

SMALL = synthetic_data.Params(n=1000, pool_size=500, epsilon_total=100.0, c=4, data_sets=6)


@functools.cache
def result_of(params: synthetic_data.Params = SMALL) -> Result:
    return runner.run_to_end(synthetic_data, params, seed=1)


def test_data_sets_take_the_accepted_draws_in_turn() -> None:
    theta = np.arange(12.0).reshape(3, 4)
    chosen, data = simulators.simulate_round_robin(covid, theta, 18, 7, np.random.default_rng(1))
    assert chosen.tolist() == [0, 1, 2, 0, 1, 2, 0]
    assert data.shape == (7, 18, 2)
    assert data[3] == pytest.approx(covid.with_days(covid.curves(theta[:1], covid.days(18)))[0])


def test_nothing_accepted_gives_nothing() -> None:
    chosen, data = simulators.simulate_round_robin(
        uniform_mixture, np.empty((0, 5)), 10, 3, np.random.default_rng(1)
    )
    assert len(chosen) == 0
    assert data.shape == (0, 10, 1)
    result = result_of(synthetic_data.Params(n=10, pool_size=50, epsilon_abc=0.001, c=1))
    assert set(result.tables["compared"].source) <= {"observed", "private"}
    accepted = {*result.tables["compared"].source} - {"observed"}
    assert ("the non-private one accepted no draw" in result.summary) == (accepted == {"private"})
    assert ("Neither run accepted a draw" in result.summary) == (not accepted)
    assert "from each run" not in result.summary
    assert synthetic_data.figures(result)


def test_the_summary_counts_data_sets_and_calls_no_day_a_point() -> None:
    one = dataclasses.replace(SMALL, data_sets=1)
    assert result_of(one).summary.startswith("1 data set of N = 1,000 from each run.")
    assert result_of().summary.startswith("6 data sets of N = 1,000 from each run.")


def test_what_stands_beside_the_private_data_is_not_called_protected() -> None:
    assert result_of().privacy.endswith(UNPROTECTED)


def test_its_draws_are_those_that_the_posterior_page_shows() -> None:
    fields = {name: getattr(SMALL, name) for name in posterior.Params.__dataclass_fields__}
    shown = runner.run_to_end(posterior, posterior.Params(**fields), seed=1).tables["main"]
    main = result_of().tables["main"]
    for source in synthetic_data.SOURCES:
        accepted = set(shown["sample"][shown.release == source])
        assert set(main["sample"][main.source == source]) <= accepted


def test_a_private_data_set_follows_the_mixture_of_its_draw() -> None:
    main = result_of().tables["main"]
    theta = releases.comparison_of(SMALL, 1).theta
    one = main[(main.source == "private") & (main.data_set == 0)]
    counts = np.bincount(one.value.astype(int), minlength=5)
    weights = theta[one["sample"].iloc[0]]
    assert_frequencies(counts, weights)
    assert rejects(assert_frequencies, counts, np.roll(weights, 1))


def test_the_observed_data_are_those_of_the_comparison() -> None:
    main = result_of().tables["main"]
    observed = main[main.source == "observed"]
    data = pool.observed_data(releases.pool_key(SMALL, 1), SMALL.n)
    assert observed.value.to_numpy().tolist() == data[:, 0].tolist()


@pytest.mark.parametrize("scenario", ["uniform-mixture", "covid"])
def test_every_source_has_whole_data_sets(scenario: str) -> None:
    texts = {"scenario": scenario, "pool_size": "500", "epsilon_total": "100", "data_sets": "2"}
    result = result_of(synthetic_data.Params.from_text(texts))
    names = simulators.load(scenario).COORDINATES
    for source, part in result.tables["main"].groupby("source"):
        sets = 1 if source == "observed" else 2
        assert len(part) == sets * result.params.n * len(names)
    if scenario == "uniform-mixture":
        low, high = uniform_mixture.DOMAIN
        assert result.tables["main"].value.between(low, high).all()


# --------------------------------------------------------------------------------------- figures


SCENARIOS = pytest.mark.parametrize(
    "texts",
    [
        {"n": "1000"},
        {"scenario": "covid"},
        {"scenario": "tuberculosis", "n": "100", "epsilon_abc": "150"},
        {"scenario": "tuberculosis-patients"},
    ],
    ids=lambda texts: texts.get("scenario", "uniform-mixture"),
)


@SCENARIOS
@pytest.mark.parametrize("sets", ["1", "3"])
def test_the_title_is_about_what_is_drawn(texts: dict[str, str], sets: str) -> None:
    params = synthetic_data.Params.from_text(
        {"pool_size": "300", "epsilon_total": "1", "data_sets": sets} | texts
    )
    result = result_of(params)
    panels = synthetic_data._panels(params, result.tables["main"])
    figure = synthetic_data.figures(result)["synthetic-data"].figure
    drawn = iter(figure.data)
    far: dict[str, list[float]] = {"private": [], "non-private": []}
    for panel in panels.values():
        traces = {trace.name: trace for trace in (next(drawn) for _ in range(5))}
        assert set(traces) == {
            "private", "private, mean", "non-private", "non-private, mean", "observed",
        }  # fmt: skip
        for source, found in far.items():
            shown = traces[source].y[~np.isnan(traces[source].y)].reshape(int(sets), -1)
            gaps = shown - traces["observed"].y
            if panel.is_series:
                found.append(float(np.sqrt((gaps**2).mean(axis=1)).mean()))
            else:
                assert shown[:, ::2].sum(axis=1) == pytest.approx(1.0)
                found.append(float(np.abs(gaps[:, ::2]).sum(axis=1).mean() / 2.0))
    times = np.mean(far["private"]) / np.mean(far["non-private"])
    title = figure.layout.title.text
    if times > synthetic_data.NEARLY:
        assert f" {times:.1f} times as far from" in title
    else:
        assert ("nearer to" in title) == (times < 1.0 / synthetic_data.NEARLY)
        assert ("about as far" in title) == (times >= 1.0 / synthetic_data.NEARLY)
    assert ("Private data sets are" in title) == (sets == "3")
    assert title.endswith(": each shows one kept draw") == (times < synthetic_data.LARGE)


def test_a_title_without_anything_to_compare() -> None:
    x, one = np.arange(3.0), np.ones((1, 2))
    panel = synthetic_data._Panel(x, {"observed": one})
    assert "nothing is simulated" in synthetic_data.finding({"value": panel}, 3)
    panel.sets["private"] = one
    assert "Only the private run" in synthetic_data.finding({"value": panel}, 3)
    panel.sets["non-private"] = one
    assert "farther from" in synthetic_data.finding({"value": panel}, 1)


def test_observed_data_are_black() -> None:
    observed = synthetic_data.figures(result_of())["synthetic-data"].figure.data[-1]
    assert (observed.name, observed.line.color) == ("observed", fig.TRUTH.color)
