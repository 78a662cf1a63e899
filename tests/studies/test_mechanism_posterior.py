"""One release by a chosen mechanism: how its sample is described."""

import functools
import re

import pytest

from abcdp_core.studies import mechanism_posterior as study
from tests import results

SMALL = study.Params(mechanism="embedding-noise-aware", n=300, pool_size=1000, epsilon_total=1.0)

run = functools.partial(results.changed, study, SMALL)


@pytest.mark.parametrize(
    ("changes", "way", "words"),
    [
        ({"epsilon_total": 0.01}, "weighted", r"1,000 draws with weights \(effective sample size "),
        ({"epsilon_total": 100.0}, "moved", "returned 300 draws near the release, moved by a"),
        ({"epsilon_total": 100.0, "pool_size": 200}, "kept", r" 200 draws near the release\."),
        ({"mechanism": "private-summary"}, "moved", "500 draws near the release, moved"),
        ({"mechanism": "embedding-estimate"}, "estimate", r"a point estimate, not a sample\. "),
        ({"mechanism": "noisy-counts"}, "exact", r"1,000 draws from the exact posterior given"),
        ({"mechanism": "private-embedding", "c": 1}, "accepted", r" 1 draw\."),
        (
            {"mechanism": "sparse-vector", "n": 5000, "pool_size": 10, "c": 1},
            "accepted",
            r" returned no draw, so its estimate is the prior mean\.",
        ),
    ],
    ids=str,
)
def test_a_sample_is_called_what_it_is(changes: dict[str, object], way: str, words: str) -> None:
    result = run(**changes)
    private = result.tables["errors"].iloc[0]
    assert private.way == way
    assert re.search(words, result.summary)
    warns = any(each in result.summary for each in ("the pool has", "A pool of"))
    assert warns == (way == "kept" or "500 draws" in words)
    assert private.outside_share == 0.0


def test_the_size_in_the_table_is_that_of_the_importance_weights() -> None:
    settings = ({"epsilon_total": 100.0}, {"epsilon_total": 0.01}, {"mechanism": "noisy-counts"})
    moved, weighted, exact = (run(**changes).tables["errors"].iloc[0] for changes in settings)
    assert moved.accepted == 300
    # The weights of the regression are worth some 250 draws, which says nothing of the posterior.
    assert 1.0 <= moved.effective_sample_size < 100.0 <= weighted.effective_sample_size < 1000.0
    assert exact.effective_sample_size == pytest.approx(1000.0)
