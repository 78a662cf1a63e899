"""What is typical of streams: what is shipped is what is computed, and what is said of it."""

from __future__ import annotations

import dataclasses

import pandas as pd
import pytest

from abcdp_core.adaptive import typical
from abcdp_core.adaptive.parameters import StreamParams
from abcdp_core.studies import adaptive_truncation
from tools import typical_streams

REMAKE = "assets/typical is of other numbers: run python -m tools.typical_streams"
USUAL = StreamParams()


def table(rows: list[tuple[int, str, float, float]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["run", "interval", "sd_mu", "error_mu"])


@pytest.mark.parametrize("way", typical.WAYS)
def test_what_is_shipped_is_what_is_computed(way: str) -> None:
    kept = typical._kept()
    (row,) = typical_streams.stream(1.0, way, 1, people=typical.PEOPLE[:1])
    shipped = kept[(kept.epsilon_total == 1.0) & (kept.run == 1) & (kept.interval == way)].iloc[0]
    assert row[:4] == (1.0, 1, shipped.t, way)
    assert row[4:] == pytest.approx((shipped.sd_mu, shipped.error_mu), rel=1e-4), REMAKE


@pytest.mark.parametrize("people", typical.PEOPLE)
def test_usual_settings_have_a_typical_run_whatever_the_noise(people: int) -> None:
    found = typical.of(dataclasses.replace(USUAL, n=people, noise_draw=7), 1.0, "smc")
    assert found is not None
    assert found.runs == typical.RUNS
    assert found.tenth < found.middle < found.ninetieth


@pytest.mark.parametrize(
    ("changes", "budget", "sampler"),
    [
        ({"n": 101}, 1.0, "smc"),
        ({"fixed_width": 2.0}, 1.0, "smc"),
        ({}, 1.1, "smc"),
        ({}, 1.0, "grid"),
    ],
)
def test_other_settings_have_none(changes: dict[str, object], budget: float, sampler: str) -> None:
    assert typical.of(dataclasses.replace(USUAL, **changes), budget, sampler) is None  # type: ignore[arg-type]


def test_runs_count_once_they_are_done_both_ways() -> None:
    assert typical.of_both(table([])) is None
    assert typical.of_both(table([(0, "adaptive", 1.0, 1.0), (1, "fixed", 2.0, 1.0)])) is None
    both = [(k, "adaptive", 1.0, 0.1 * k) for k in range(11)]
    both += [(k, "fixed", 1.0 + k, 3.0) for k in range(11)]
    found = typical.of_both(table([*both, (11, "fixed", 99.0, 3.0)]))
    assert found is not None
    assert dataclasses.astuple(found) == pytest.approx((11, 6.0, 2.0, 10.0, 0.5, 3.0))
    assert found.in_words(1000) == (
        "**Over 11 runs, typically**, with 1,000 people: 6× as sharp (80 % of runs: 2 to 10), and "
        "an error of 0.5 instead of 3 for the mean."
    )


def test_the_headline_has_it_for_usual_settings_only() -> None:
    usual = adaptive_truncation.Params()
    assert adaptive_truncation.typical_in_words(usual).startswith("**Over 100 runs, typically**")
    other = dataclasses.replace(usual, epsilon_total=3.3)
    assert "*Is this run typical?* below does 30" in adaptive_truncation.typical_in_words(other)
