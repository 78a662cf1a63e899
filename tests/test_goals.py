"""The goals that ``make studies`` measures, and the table it keeps."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from abcdp_core import workers
from benchmarks import goals
from benchmarks.goals import __main__ as command


def test_every_goal_was_measured_and_is_kept() -> None:
    rows = goals.read(goals.FILE)
    assert list(rows) == list(goals.goals())
    for name, goal in goals.goals().items():
        measured, low, high = (float(rows[name][each]) for each in ("measured", "low", "high"))
        assert goal.is_kept(measured), f"{name}: {measured}, goal {goal.bounds()}"
        assert math.isnan(low) or low <= measured <= high
        assert int(rows[name]["runs"]) > 0


@pytest.fixture
def own_goals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other goals than the project's, of which the last is missed."""
    monkeypatch.setattr(goals, "_goals", {})
    monkeypatch.setattr(goals, "__path__", [])

    @goals.goal("right-1", at_most=1.0, value=1.0)
    @goals.goal("right-2", at_least=1.5, at_most=3.0, value=2.0)
    @goals.goal("wrong", at_least=2.0, value=math.nan)
    def measure(value: float) -> goals.Measured:
        """The value itself."""
        return goals.Measured(value, value - 0.5, value + 0.25, 3)


def test_measured_goals_take_their_row_and_leave_the_others(
    own_goals: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "goals.csv"
    old = {"goal": "right-2", "measured": "7", "low": "6", "high": "8", "runs": "1", "date": "d"}
    goals.write({"right-2": old, "gone": old | {"goal": "gone"}}, ["right-2", "gone"], file)
    assert command.main(["right-1"], file) == 0
    rows = goals.read(file)
    assert list(rows) == ["right-1", "right-2"]
    assert rows["right-2"] == old
    assert [rows["right-1"][each] for each in ("measured", "low", "high")] == ["1", "0.5", "1.25"]
    assert command.main([], file) == 1
    assert goals.read(file)["right-2"]["measured"] == "2"
    written = file.read_text(encoding="utf-8")
    assert command.main(["left"], file) == 2
    assert command.main(["--list"], file) == 0
    assert file.read_text(encoding="utf-8") == written
    lines = capsys.readouterr().out
    assert "wrong: nan (nan to nan, 3 runs), goal at least 2: MISSED" in lines
    assert "no goal begins with left: right-1, right-2, wrong" in lines
    assert "right-2: 1.5 to 3\n    The value itself." in lines


def test_a_goal_needs_a_name_of_its_own_a_bound_and_words(own_goals: None) -> None:
    def silent() -> goals.Measured:
        raise AssertionError

    with pytest.raises(ValueError, match="two goals are called 'wrong'"):
        goals.goal("wrong", at_most=1.0)(silent)
    with pytest.raises(ValueError, match="goal 'more' has no bound"):
        goals.goal("more")
    with pytest.raises(ValueError, match="goal 'more' does not say what it measures"):
        goals.goal("more", at_most=1.0)(silent)


def test_a_study_is_computed_once_with_settings_as_on_the_command_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(workers, "processor_count", lambda: 1)
    first = goals.study("error-bound", n=(100, 300), runs=1, pool_size=100)
    assert first.params.to_text().items() >= {"n": "100,300", "runs": "1"}.items()
    again = goals.study("error-bound", n=(100, 300), runs=1, pool_size=100)
    assert again is first


def test_intervals_are_those_of_runs() -> None:
    # The spread of both halves is the same in every run, so that of their ratio is none.
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
