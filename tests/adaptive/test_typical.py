"""Typical streams: the shipped table is what is computed, and its summary."""

from __future__ import annotations

import dataclasses

import pandas as pd
import pytest

from abcdp_core.adaptive import typical
from abcdp_core.adaptive.parameters import StreamParams
from tools import typical_streams

DEFAULT = StreamParams()


@pytest.mark.parametrize("way", typical.WAYS)
def test_the_shipped_table_is_what_is_computed(way: str) -> None:
    kept = pd.read_csv(typical.FILE)
    (row,) = typical_streams.stream(1.0, way, 1, people=typical.PEOPLE[:1])
    shipped = kept[(kept.epsilon_total == 1.0) & (kept.run == 1) & (kept.interval == way)].iloc[0]
    assert row[:4] == (1.0, 1, shipped.t, way)
    again = "run python -m tools.typical_streams"
    assert row[4:] == pytest.approx((shipped.sd_mu, shipped.error_mu), rel=1e-4), again


@pytest.mark.parametrize("people", typical.PEOPLE)
def test_default_settings_have_a_typical_run_and_others_have_none(people: int) -> None:
    params = dataclasses.replace(DEFAULT, n=people, noise_draw=7)
    found = typical.of(params, 1.0, "smc")
    assert found is not None
    assert found.runs == typical.RUNS
    assert found.tenth < found.middle < found.ninetieth
    for changes, budget, sampler in (
        ({"n": people + 1}, 1.0, "smc"), ({"fixed_width": 2.0}, 1.0, "smc"),
        ({}, 1.1, "smc"), ({}, 1.0, "grid"),
    ):  # fmt: skip
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
    assert "6× as sharp as with a fixed interval (80 % of runs: 2 to 10)" in found.in_words(1000)
