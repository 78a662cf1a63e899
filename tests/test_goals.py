"""Goals that ``make studies`` measures, and the table of results."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks import goals


def test_every_goal_was_measured_and_met() -> None:
    rows = goals.read(goals.FILE)
    assert list(rows) == list(goals.goals())
    for name, goal in goals.goals().items():
        measured, low, high = (float(rows[name][each]) for each in ("measured", "low", "high"))
        assert goal.is_kept(measured), f"{name}: {measured}, goal {goal.bounds()}"
        assert math.isnan(low) or low <= measured <= high
        assert int(rows[name]["runs"]) > 0


def test_intervals_resample_runs() -> None:
    # In every run one value is twice the other, so their ratio has no spread.
    below = np.random.default_rng(1).exponential(size=200)
    same = goals.ratio(2.0 * below, below)
    assert (same.value, same.low, same.high) == pytest.approx((2.0, 2.0, 2.0))
    apart = goals.ratio(2.0 * below, below[::-1])
    assert apart.value == pytest.approx(2.0)
    assert apart.low < 1.9
    assert apart.high > 2.1
    average = goals.mean(below)
    error = below.std() / math.sqrt(200)
    assert average.value == pytest.approx(below.mean())
    assert average.high - average.low == pytest.approx(2 * 1.96 * error, rel=0.1)
    part = goals.share(90, 100)
    assert (part.low, part.high) == pytest.approx((0.8238, 0.9510), abs=1e-4)
