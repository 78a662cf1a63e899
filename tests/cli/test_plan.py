"""The command that plans: what it prints, writes and refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from abcdp_core.__main__ import IMPOSSIBLE, main

SMALL = (
    *("plan", "uniform-mixture", "--n", "120", "--pool-size", "60", "--runs", "2"),
    *("--workers", "1", "--mechanism", "sparse-vector,noisy-counts"),
)


def test_it_prints_ranks_and_advice_and_writes_nothing_unless_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*SMALL, "--epsilon-total", "2"]) == 0
    printed = capsys.readouterr().out
    lines = [line.split() for line in printed.splitlines()]
    ranks = [line[0] for line in lines if line and line[-1] in ("yes", "no")]
    assert sorted(ranks) == ["noisy-counts", "sparse-vector"]
    assert "N = 120, ε_total = 2, δ = 1e-06" in printed
    assert "is predicted to err least" in printed
    assert "You may not need ABC here" in " ".join(printed.split())
    assert "private-summary-large-unit: It states no numbers" in printed
    assert "planning costs no privacy" in " ".join(printed.split())
    assert not list(tmp_path.iterdir())


def test_a_goal_is_judged_and_files_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = ("--error-below", "0.001", "--probability", "0.9", "--metric", "mae")
    assert main([*SMALL, *wanted, "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "Ranked by mean absolute error that 90 % of releases keep" in printed
    assert "To keep 0.001:" in printed
    assert "No mechanism is predicted to meet the goal" in printed
    saved = json.loads((tmp_path / "plan.json").read_text(encoding="utf-8"))
    assert saved["parameters"]["goal"] == "error-below"
    assert {file.name for file in tmp_path.iterdir()} >= {"plan.csv", "plan.plan.html"}


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--probability", "0.9"), "probability = 0.9: needs --error-below"),
        (("--n", "9"), "n = 9: must be a whole number from 10 to 20000"),
        (("--error-below", "0"), "wanted = 0: must be a number from 1e-60"),
        (("--error-below", "1", "--interval-below", "1"), "not allowed with"),
        (("--mechanism", "private-summary-large-unit"), "cannot serve uniform-mixture"),
        (("--interval-below", "1", "--mechanism", "embedding-estimate"), "releases no draws"),
        (("--seed", "-1"), "seed = -1"),
    ],
)
def test_what_is_not_possible_is_one_line(
    more: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*SMALL, *more]) == IMPOSSIBLE
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    assert words in line


def test_an_unknown_scenario_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "uniform"]) == IMPOSSIBLE
    assert "scenario = uniform: must be one of uniform-mixture" in capsys.readouterr().err
