"""The command that plans: what it prints and writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from abcdp_core.__main__ import main

COMMAND = (
    "plan uniform-mixture --n 120 --pool-size 60 --runs 2 --workers 1 --mechanism "
    "sparse-vector,noisy-counts --error-below 0.001 --probability 0.9 --metric mae --out out"
)


def test_it_ranks_mechanisms_judges_a_goal_and_writes_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(COMMAND.split()) == 0
    printed = capsys.readouterr().out
    lines = [line.split() for line in printed.splitlines()]
    ranks = [line[0] for line in lines if line and line[-1] in ("yes", "no")]
    assert sorted(ranks) == ["noisy-counts", "sparse-vector"]
    assert "N = 120, ε_total = " in printed
    assert "Ranked by mean absolute error that 90 % of releases keep" in printed
    assert "No mechanism is predicted to meet the goal" in " ".join(printed.split())
    saved = json.loads(Path("out", "plan.json").read_text(encoding="utf-8"))
    assert saved["parameters"]["goal"] == "error-below"
    assert {file.name for file in Path("out").iterdir()} >= {"plan.csv", "plan.plan.html"}
