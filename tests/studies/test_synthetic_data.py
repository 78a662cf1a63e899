"""Synthetic data: simulated from the kept draws, and nothing else."""

import functools

import numpy as np
import pytest

from abcdp_core import demonstration, simulators
from abcdp_core.simulators import covid
from abcdp_core.studies import posterior, synthetic_data
from tests import results
from tests.statistics import assert_frequencies, rejects

SMALL = synthetic_data.Params(n=1000, pool_size=500, epsilon_total=100.0, c=4, data_sets=6)

result_of = functools.partial(results.changed, synthetic_data, SMALL)


def test_data_sets_take_the_kept_draws_in_turn() -> None:
    theta = np.arange(12.0).reshape(3, 4)
    chosen, data = simulators.simulate_round_robin(covid, theta, 18, 7, np.random.default_rng(1))
    assert chosen.tolist() == [0, 1, 2, 0, 1, 2, 0]
    assert data[3] == pytest.approx(covid.with_days(covid.curves(theta[:1], covid.days(18)))[0])


@pytest.mark.parametrize("epsilon_total", [0.001, 1000.0])
def test_a_run_that_keeps_nothing_has_no_data_set(epsilon_total: float) -> None:
    result = result_of(epsilon_abc=0.001, c=1, epsilon_total=epsilon_total)
    found = set(result.tables["compared"].source)
    title = synthetic_data.figures(result)["synthetic-data"].figure.layout.title.text
    assert found == ({"observed", "private"} if epsilon_total < 1.0 else {"observed"})
    assert title == "At least one run kept no draw, so there is nothing to compare"


@pytest.mark.parametrize("scenario", ["uniform-mixture", "covid"])
def test_the_title_is_about_what_is_drawn(scenario: str) -> None:
    texts = {"scenario": scenario, "pool_size": "300", "epsilon_total": "1"}
    params = synthetic_data.Params.from_text(texts)
    drawn = synthetic_data.figures(results.changed(synthetic_data, params))["synthetic-data"]
    far: dict[str, list[float]] = {"private": [], "non-private": []}
    for panel in {trace.xaxis for trace in drawn.figure.data}:
        y = {trace.name: trace.y for trace in drawn.figure.data if trace.xaxis == panel}
        for source, found in far.items():
            shown = y[source][~np.isnan(y[source])].reshape(params.data_sets, -1)
            found.append(float(np.abs(shown - y["observed"]).sum(axis=1).mean()))
    times = np.mean(far["private"]) / np.mean(far["non-private"])
    title = drawn.figure.layout.title.text
    assert (f" {times:.2g} times the distance" in title) == (times > 1.1)
    assert ("smaller than" in title) == (times < 1.0 / 1.1)


def test_a_private_data_set_follows_the_mixture_of_a_kept_draw() -> None:
    main = result_of().tables["main"]
    theta = demonstration.comparison_of(SMALL, 1).theta
    # The draw is one that the page of the posterior shows.
    fields = {name: getattr(SMALL, name) for name in posterior.Params.__dataclass_fields__}
    shown = results.changed(posterior, posterior.Params(**fields)).tables["main"]
    one = main[(main.source == "private") & (main.data_set == 0)]
    assert one["sample"].iloc[0] in set(shown["sample"][shown.release == "private"])
    counts = np.bincount(one.value.astype(int), minlength=5)
    weights = theta[one["sample"].iloc[0]]
    assert_frequencies(counts, weights)
    assert rejects(assert_frequencies, counts, np.roll(weights, 1))
