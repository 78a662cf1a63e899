"""What the parts of a release cost, as tables show it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from abcdp_core.mechanisms import (
    Part,
    gaussian_rejection,
    gaussian_sparse_vector,
    noisy_counts,
    private_embedding,
    private_summary,
    sparse_vector,
)
from abcdp_core.mechanisms.gaussian_rejection import GaussianRejection
from abcdp_core.mechanisms.gaussian_sparse_vector import GaussianSparseVector
from abcdp_core.mechanisms.private_summary import SummaryNoise
from abcdp_core.mechanisms.sparse_vector import SparseVector
from abcdp_core.privacy import Event, Gaussian, NormNoise, cost


def prepared(event: Event) -> Any:
    """A release over 20 draws of a pool, or of 9 draws from a posterior."""
    return SimpleNamespace(
        event=event, public=SimpleNamespace(pool_size=20), options=SimpleNamespace(draws=9)
    )


@pytest.mark.parametrize(("resample", "thresholds"), [(False, 1), (True, 4)])
def test_a_run_pays_for_thresholds_and_acceptances(resample: bool, thresholds: int) -> None:
    for event, module, measure in (
        (SparseVector(0.1, 0.4, 0.8, 4, resample), sparse_vector, "ε"),
        (GaussianSparseVector(0.1, 0.4, 0.8, 4, resample, 20), gaussian_sparse_vector, "μ"),
    ):
        assert module.parts(prepared(event)) == (
            Part("threshold", thresholds, 0.4, 0.25, measure),
            Part("accepted sample", 4, 0.8, 0.25, measure),
            Part("rejected draw", 16, 0.8, 0.0, measure),
        )


def test_decisions_share_the_cost_and_what_follows_from_a_release_is_free() -> None:
    decisions = GaussianRejection(0.1, 0.5, 0.2, 0.4, 20)
    share = cost(decisions).epsilon / 20
    (part,) = gaussian_rejection.parts(prepared(decisions))
    assert part == Part("decision about a draw", 20, 0.4, share, "ε")
    for event, measure in ((NormNoise(0.1, 0.4, 3), "ε"), (Gaussian(0.1, 0.4), "μ")):
        assert private_embedding.parts(prepared(event)) == (
            Part("vector", 1, 0.4, 0.25, measure),
            Part("any number of samples from it", 20, 0.4, 0.0, measure),
        )
    numbers = SummaryNoise("one day", "replace", 0.1, 0.4)
    assert private_summary.parts(prepared(numbers)) == (
        Part("all numbers of the summary", 1, 0.4, cost(numbers).epsilon, "ε"),
        Part("any number of samples from them", 20, 0.4, 0.0, "ε"),
    )
    assert noisy_counts.parts(prepared(numbers)) == (
        Part("all counts", 1, 0.4, cost(numbers).epsilon, "ε"),
        Part("draws from the posterior", 9, 0.4, 0.0, "ε"),
    )
