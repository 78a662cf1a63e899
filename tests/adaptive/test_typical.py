"""Typical streams, shipped and summarized; how much narrower than its prior a posterior is."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest

from abcdp_core.adaptive import contraction, typical
from abcdp_core.adaptive.parameters import StreamParams
from abcdp_core.adaptive.prior import Prior
from tools import typical_streams


@pytest.mark.parametrize("way", typical.WAYS)
def test_the_shipped_table_is_what_is_computed(way: str) -> None:
    kept = pd.read_csv(typical.FILE)
    (row,) = typical_streams.stream(1.0, way, 1, people=typical.PEOPLE[:1])
    shipped = kept[(kept.epsilon_total == 1.0) & (kept.run == 1) & (kept.interval == way)].iloc[0]
    assert row[:4] == (1.0, 1, shipped.t, way)
    again = "run python -m tools.typical_streams"
    assert row[4:] == pytest.approx((shipped.sd_mu, shipped.error_mu), rel=1e-4), again


def test_default_settings_have_a_typical_run_and_others_have_none() -> None:
    for people in typical.PEOPLE:
        params = StreamParams(n=people, noise_draw=7)
        found = typical.of(params, 1.0, "smc")
        assert found is not None
        assert found.runs == typical.RUNS
        assert found.tenth < found.middle < found.ninetieth
        for changes, budget, sampler in (
            *(({"n": people + 1}, 1.0, "smc"), ({"fixed_width": 2.0}, 1.0, "smc")),
            *(({}, 1.1, "smc"), ({}, 1.0, "grid")),
        ):
            assert typical.of(dataclasses.replace(params, **changes), budget, sampler) is None


def test_runs_count_once_they_are_done_both_ways() -> None:
    def of(rows: list[tuple[int, str, float, float]]) -> typical.Typical | None:
        return typical.of_both(pd.DataFrame(rows, columns=["run", "interval", "sd_mu", "error_mu"]))

    assert of([(0, "adaptive", 1.0, 1.0), (1, "fixed", 2.0, 1.0)]) is None
    both = [(k, "adaptive", 1.0, 0.1 * k) for k in range(11)]
    both += [(k, "fixed", 1.0 + k, 3.0) for k in range(11)]
    found = of([*both, (11, "fixed", 99.0, 3.0)])
    assert found is not None
    assert dataclasses.astuple(found) == pytest.approx((11, 6.0, 2.0, 10.0, 0.5, 3.0))


def test_a_narrowing_counts_only_if_so_many_particles_can_show_it() -> None:
    for particles, width, gained in (
        *((None, 0.99, 0.01), (None, 1.2, 0.0), (10_000, 0.97, 0.03), (10_000, 0.985, 0.0)),
        *((100, 0.85, 0.0), (100, 0.7, 0.3), (1, 0.0, 0.0)),
    ):
        assert contraction.narrower([width], particles) == pytest.approx([gained])


def test_the_grid_is_exact_a_known_sigma_is_not_learned_and_words_never_round_up() -> None:
    prior = Prior(shape=3.0, rate=7.0)
    assert contraction.width(prior.sd_log_sigma, prior) == 1.0
    assert contraction.width(0.0, Prior(sigma=2.0)) == 0.0
    params = StreamParams(particles=1000)
    assert params.narrower("grid", [0.99]) == pytest.approx([0.01])
    assert params.narrower("smc", [0.99]) == [0.0]
    known = dataclasses.replace(params, known_sigma=True, particles=1)
    assert known.narrower("smc", np.zeros(2)).tolist() == [1.0, 1.0]
    for gained, words in {0.009: "not clearly", 0.499: "only 49 %", 0.9999: "99 %"}.items():
        assert contraction.words(gained).startswith(words)
