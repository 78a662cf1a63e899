"""Tables of weighted samples, and the few draws that represent many."""

from __future__ import annotations

import numpy as np
import pytest

from abcdp_core.study import samples


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


def test_a_small_sample_is_shown_whole_and_a_single_weight_as_one_draw() -> None:
    weights = np.array([0.5, 0.25, 0.25])
    chosen, shares = samples.thinned(weights)
    assert chosen.tolist() == [0, 1, 2]
    assert shares is weights
    one = np.zeros(3000)
    one[17] = 1.0
    chosen, shares = samples.thinned(one)
    assert (chosen.tolist(), shares.tolist()) == ([17], [1.0])
