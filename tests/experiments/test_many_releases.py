from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pytest

from abcdp_core import runner
from abcdp_core.experiments import many_releases, posterior
from abcdp_core.results import Result

SMALL = many_releases.Params(n=300, pool_size=300, c=3, epsilon_total=5.0, releases=4)


@functools.cache
def result_of(**changes: object) -> Result:
    params = dataclasses.replace(SMALL, **changes)  # type: ignore[arg-type]
    return runner.run_to_end(many_releases, params, seed=1)


def test_each_release_is_a_dot_at_its_mean_beside_the_references() -> None:
    found = result_of()
    means, references = many_releases.means(found), found.tables["references"]
    one = found.tables["main"].query("release_number == 2 and parameter == 'θ4'")
    assert means[2, 3] == pytest.approx(np.average(one.value, weights=one.weight))
    params = posterior.Params(n=300, pool_size=300, c=3, epsilon_total=5.0)
    main = runner.run_to_end(posterior, params, seed=1).tables["main"]
    plain = main[main.release == "non-private"].groupby("parameter").value.mean()
    assert references.non_private.tolist() == pytest.approx(plain[references.parameter].tolist())
    figure = many_releases.figures(found)[many_releases.EXPERIMENT].figure
    drawn = [trace.x.tolist() for trace in figure.data if trace.xaxis == "x4"]
    of_one = references.iloc[3]
    assert drawn == [
        [of_one.prior], means[:, 3].tolist(), [means[-1, 3]], [of_one.non_private], [of_one.truth],
    ]  # fmt: skip


def test_new_noise_adds_a_dot_and_moves_none() -> None:
    more, few = many_releases.means(result_of(releases=5)), many_releases.means(result_of())
    np.testing.assert_array_equal(more[:4], few)


@pytest.mark.parametrize("count", [1, 4])
def test_where_nothing_is_kept_the_prior_mean_is_left(count: int) -> None:
    found = result_of(epsilon_abc=0.001, epsilon_total=1000.0, releases=count)
    assert np.unique(many_releases.means(found)).tolist() == [0.2]
    assert many_releases.finding(found).startswith("No release kept a draw")
    assert f" of the same data is 0.128. {count} run" in found.summary


@pytest.mark.parametrize("epsilon_total", [0.1, 5.0, 1000.0])
def test_the_title_compares_the_typical_error_with_that_without_noise(epsilon_total: float) -> None:
    found = result_of(epsilon_total=epsilon_total)
    references = found.tables["references"]
    plain = np.sqrt(((references.non_private - references.truth) ** 2).mean())
    ratio = np.sqrt(found.tables["errors"].mse).median() / plain
    said = many_releases.finding(found)
    assert (f" is {ratio:.2g} times the error" in said) == (ratio > 1.1)
    assert ("smaller than without noise" in said) == (ratio < 1 / 1.1)


def test_real_data_have_no_truth() -> None:
    covid = many_releases.Params.from_text(
        {"scenario": "covid", "n": "18", "pool_size": "300", "epsilon_abc": "0.3", "releases": "2"}
    )
    found = runner.run_to_end(many_releases, covid, seed=1)
    figure = many_releases.figures(found)[many_releases.EXPERIMENT].figure
    assert figure.layout.title.text.startswith("2 releases of the same data, and")
    assert "truth" not in figure.layout.annotations[-1].text


def test_the_cost_of_all_is_said_where_there_are_several() -> None:
    assert result_of().privacy.endswith(" All 4 together would cost ε_total = 20.")
    assert "together" not in result_of(releases=1).privacy
