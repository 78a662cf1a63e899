from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pandas as pd
import pytest

from abcdp_core import runner
from abcdp_core.experiments import many_releases, posterior
from abcdp_core.results import Result

SMALL = many_releases.Params(n=300, pool_size=300, c=3, epsilon_total=5.0, releases=4)


@functools.cache
def result_of(params: many_releases.Params) -> Result:
    return runner.run_to_end(many_releases, params, seed=1)


def test_each_release_is_a_dot_at_its_mean_beside_the_references() -> None:
    found = result_of(SMALL)
    means, references = many_releases.means(found), found.tables["references"]
    one = found.tables["main"].query("release_number == 2 and parameter == 'θ4'")
    assert means[2, 3] == pytest.approx(np.average(one.value, weights=one.weight))
    params = posterior.Params(n=300, pool_size=300, c=3, epsilon_total=5.0)
    main = runner.run_to_end(posterior, params, seed=1).tables["main"]
    plain = main[main.release == "non-private"].groupby("parameter").value.mean()
    assert references.non_private.tolist() == pytest.approx(plain[references.parameter].tolist())
    figure = many_releases.figures(found)[many_releases.EXPERIMENT].figure
    prior, dots, newest, without, truth = figure.data
    assert dots.x.tolist() == means.ravel().tolist()
    assert newest.x.tolist() == means[-1].tolist()
    assert without.x.tolist() == references.non_private.tolist()
    assert (prior.x.tolist(), truth.x.tolist()) == (
        references.prior.tolist(), references.truth.tolist(),
    )  # fmt: skip


def test_new_noise_adds_a_dot_and_moves_none() -> None:
    few, more = (result_of(dataclasses.replace(SMALL, releases=count)) for count in (4, 5))
    np.testing.assert_array_equal(many_releases.means(more)[:4], many_releases.means(few))


def test_where_nothing_is_accepted_the_prior_mean_is_left() -> None:
    found = result_of(dataclasses.replace(SMALL, epsilon_abc=0.001, epsilon_total=1000.0))
    assert np.unique(many_releases.means(found)).tolist() == [0.2]
    assert many_releases.finding(found) == "None of 4 releases accepted a draw: the prior is left"


@pytest.mark.parametrize("epsilon_total", [0.1, 5.0, 1000.0])
def test_the_title_says_how_far_off_a_typical_release_is(epsilon_total: float) -> None:
    found = result_of(dataclasses.replace(SMALL, epsilon_total=epsilon_total))
    references = found.tables["references"]
    plain = np.sqrt(((references.non_private - references.truth) ** 2).mean())
    ratio = np.sqrt(found.tables["errors"].mse).median() / plain
    said = many_releases.finding(found)
    assert (f" {ratio:.1f} times as far off" in said) == (ratio > many_releases.NEARLY)
    assert ("nearer the truth" in said) == (ratio < 1 / many_releases.NEARLY)


def test_real_data_have_no_truth() -> None:
    covid = many_releases.Params.from_text(
        {"scenario": "covid", "n": "18", "pool_size": "300", "epsilon_abc": "0.3", "releases": "2"}
    )
    found = result_of(covid)
    drawn = many_releases.figures(found)[many_releases.EXPERIMENT]
    assert drawn.figure.layout.title.text.startswith("2 releases of the same data, and")
    assert "truth" not in {trace.name for trace in drawn.figure.data}


@pytest.mark.parametrize(
    ("accepted", "c", "words"),
    [
        ([10, 10], 10, "Each accepted c = 10 draws."),
        ([1, 1], 1, "Each accepted c = 1 draw."),
        ([1], 1, "It accepted c = 1 draw."),
        ([0, 0], 5, "None accepted a draw, so the estimate is the prior mean."),
        ([3], 5, "It accepted 3 of c = 5 draws."),
        ([0, 7], 9, "They accepted 0 to 7 of the c = 9 draws asked for."),
    ],
)
def test_what_was_accepted_in_words(accepted: list[int], c: int, words: str) -> None:
    assert many_releases._accepted(pd.Series(accepted), c) == words


def errors(*mae: float) -> pd.DataFrame:
    return pd.DataFrame({"mae": mae})


def test_one_release_has_no_spread() -> None:
    words = many_releases._spread(errors(0.115))
    assert words.endswith("1 release of the same data the mean absolute error of the posterior "
                          "mean is 0.115.")  # fmt: skip
    assert many_releases._spread(errors(float("nan"))).startswith("1 release of the same data, of")


def test_few_releases_have_ends_and_many_have_quantiles() -> None:
    assert "all lie between 0.1 and 0.3" in many_releases._spread(errors(0.1, 0.2, 0.3))
    many = errors(*(i / 100.0 for i in range(101)))
    assert "90 % lie between 0.05 and 0.95" in many_releases._spread(many)
    same = many_releases._spread(errors(0.128, 0.128, 0.128))
    assert same.endswith("of the posterior mean is 0.128 in all of them.")


def test_the_cost_of_all_is_a_number_a_person_can_read() -> None:
    assert many_releases._together(1, 0.5) == ""
    assert many_releases._together(30, 1000.0) == " All 30 together would cost ε_total = 30,000."
    assert many_releases._together(200, 0.001).endswith("ε_total = 0.2.")
