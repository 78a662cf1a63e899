"""One release by a chosen mechanism: what is said of its sample, and what stands for it."""

from __future__ import annotations

import functools
import re

import numpy as np
import pytest

from abcdp_core import runner, summaries
from abcdp_core.experiments import mechanism_posterior as study
from abcdp_core.results import Result


@functools.cache
def run(**changes: object) -> Result:
    usual = {"mechanism": "embedding-noise-aware", "n": 300, "pool_size": 1000}
    params = study.Params(**{"epsilon_total": 1.0} | usual | changes)  # type: ignore[arg-type]
    return runner.run_to_end(study, params, seed=1)


def private(result: Result) -> dict[str, object]:
    errors = result.tables["errors"]
    return {str(key): value for key, value in errors.iloc[0].items()}


@pytest.mark.parametrize(
    ("changes", "way", "words"),
    [
        ({"epsilon_total": 0.01}, "weighted", r"1,000 draws with weights, effective sample size "),
        ({"epsilon_total": 100.0}, "moved", r"size is only 1\S*, so 300 draws were .* and moved"),
        ({"epsilon_total": 100.0, "pool_size": 200}, "kept", r"so 200 draws were .* their own\. "),
        ({"mechanism": "private-summary"}, "moved", r"only 2\S*, so 500 draws were .* and moved"),
        ({"mechanism": "soft-weights"}, "weighted", r"1,000 draws with weights, effective sample"),
        ({"mechanism": "embedding-estimate"}, "estimate", r"no sample\. .* of the estimate"),
        ({"mechanism": "private-embedding"}, "accepted", r": 10 draws of equal weight\."),
        ({"mechanism": "noisy-counts"}, "exact", r": 1,000 draws from the exact posterior given"),
        ({"mechanism": "private-embedding", "c": 1}, "accepted", r": 1 draw\."),
        (
            {"mechanism": "sparse-vector", "n": 5000, "pool_size": 10, "c": 1},
            "accepted",
            r": nothing was accepted, so the estimate is the prior mean\.",
        ),
    ],
    ids=str,
)
def test_a_sample_is_called_what_it_is(changes: dict[str, object], way: str, words: str) -> None:
    result = run(**changes)
    assert private(result)["way"] == way
    assert re.search(words, result.summary)
    assert "worth" not in result.summary
    assert private(result)["outside_share"] == 0.0


def test_the_size_in_the_table_is_that_of_the_importance_weights() -> None:
    moved = private(run(epsilon_total=100.0))
    assert moved["accepted"] == 300
    # The weights of the regression are worth some 250 draws, which says nothing of the posterior.
    assert 1.0 <= float(str(moved["effective_sample_size"])) < 100.0
    assert 100.0 <= float(str(private(run(epsilon_total=0.01))["effective_sample_size"])) < 1000.0
    exact = private(run(mechanism="noisy-counts"))
    assert float(str(exact["effective_sample_size"])) == pytest.approx(1000.0)


@pytest.mark.parametrize(
    ("pool_size", "words"),
    [(200, "A pool of 200 is too small"), (400, "A pool of 400 is less than twice"), (1000, "")],
)
def test_a_small_pool_is_said(pool_size: int, words: str) -> None:
    said = run(pool_size=pool_size, epsilon_total=100.0).summary
    assert words in said
    assert ("A pool of" in said) == bool(words)
    # Where there is nothing to be moved a pool is not too small for that.
    assert "A pool of" not in run(pool_size=pool_size, mechanism="private-embedding").summary


@pytest.mark.parametrize("name", ["private-embedding", "embedding-noise-aware"])
def test_the_title_names_what_was_asked(name: str) -> None:
    title = study.figures(run(mechanism=name))["posterior"].figure.layout.title
    assert name.replace("-", " ") in title.subtitle.text
    assert title.text.startswith("This release is ")
    assert ("c = 10" in title.subtitle.text) == (name == "private-embedding")


def test_data_whose_truth_nobody_knows_have_no_error() -> None:
    said = run(mechanism="private-summary", scenario="covid-people", n=18).summary
    assert "nan" not in said
    assert said.endswith(
        "Nobody knows the true parameters of these data. A pool of 1,000 is less than twice the "
        "1,000 draws that moving them by a regression takes; a larger one is safer."
    )


def test_a_thinned_sample_has_the_histogram_of_all() -> None:
    rng = np.random.default_rng(1)
    values = rng.random(10_000)
    weights = np.exp(-2.0 * values)
    weights /= weights.sum()
    chosen, shares = study.thinned(weights)
    assert len(chosen) <= study.SHOWN
    assert shares.sum() == pytest.approx(1.0)
    edges = np.linspace(0.0, 1.0, 11)
    whole, _ = np.histogram(values, edges, weights=weights)
    shown, _ = np.histogram(values[chosen], edges, weights=shares)
    assert shown == pytest.approx(whole, abs=0.02)
    # The largest weights are all on one side.
    largest = np.argsort(-weights)[: study.SHOWN]
    cut, _ = np.histogram(values[largest], edges, weights=weights[largest])
    assert np.abs(cut / cut.sum() - whole).max() > 0.2


def test_a_small_sample_is_shown_whole() -> None:
    weights = np.array([0.5, 0.25, 0.25])
    chosen, shares = study.thinned(weights)
    assert chosen.tolist() == [0, 1, 2]
    assert shares is weights
    one = np.zeros(3000)
    one[17] = 1.0
    chosen, shares = study.thinned(one)
    assert (chosen.tolist(), shares.tolist()) == ([17], [1.0])
    assert summaries.effective_sample_size(shares) == 1.0
