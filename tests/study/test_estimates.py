"""Errors over runs of people asked one by one, and the few draws that represent many."""

from __future__ import annotations

import numpy as np
import pytest

from abcdp_core.study import samples
from abcdp_core.study.estimates import least_error


def test_a_least_error_is_that_of_a_normal() -> None:
    draws = np.random.default_rng(1).normal(0.0, 3.0, 200_000)
    assert least_error(9.0) == pytest.approx(np.abs(draws).mean(), rel=0.01)


def test_a_thinned_sample_has_the_histogram_of_all() -> None:
    rng = np.random.default_rng(1)
    values = rng.random(10_000)
    weights = np.exp(-2.0 * values)
    weights /= weights.sum()
    chosen, shares = samples.thinned(weights)
    assert len(chosen) <= samples.SHOWN
    assert shares.sum() == pytest.approx(1.0)
    edges = np.linspace(0.0, 1.0, 11)
    whole, _ = np.histogram(values, edges, weights=weights)
    shown, _ = np.histogram(values[chosen], edges, weights=shares)
    assert shown == pytest.approx(whole, abs=0.02)
    # The largest weights are all on one side.
    largest = np.argsort(-weights)[: samples.SHOWN]
    cut, _ = np.histogram(values[largest], edges, weights=weights[largest])
    assert np.abs(cut / cut.sum() - whole).max() > 0.2
    one = np.zeros(3000)
    one[17] = 1.0
    chosen, shares = samples.thinned(one)
    assert (chosen.tolist(), shares.tolist()) == ([17], [1.0])
