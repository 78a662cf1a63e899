"""The command ``check``: what it reports of a valid model, and wrong claims that it finds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from abcdp_core.__main__ import main
from abcdp_core.own_model import examination
from tests.own_model.models import from_example, rewritten

pytestmark = pytest.mark.usefixtures("own_registry")


@pytest.fixture(autouse=True)
def _few_first_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examination, "FIRST_DRAWS", 1000)


def test_a_valid_model_is_reported_with_the_time_for_a_pool(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(from_example(tmp_path))
    assert main(["check", file, "--runs", "0", "--n", "100", "--workers", "2"]) == 0
    said = capsys.readouterr().out
    assert "gaussian-2d): N = 100, reproducible for a given seed." in said
    # A mean over 100 records from -8 to 8.
    assert "xy            0.16 and 0.16  0.16 and 0.16" in said
    assert "all together  5 and 2.236" in said
    assert "no change exceeds its claim. This search is not a proof." in said
    assert "A pool of 2,000 draws is large enough" in said
    assert "; 2,000 take " in said
    assert "The simulator fails at none of 1,000 draws." in said
    next_ = f"\nNext: abcdp plan gaussian-2d --plugin {file} --n 100 "
    assert said.endswith(f"{next_}--epsilon-total 0.2\n")


def test_a_planted_wrong_sensitivity_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    product = 'mean("xy", lambda records: records[..., 0] * records[..., 1], -8.0, 8.0)'
    median = 'declared("xy", lambda r: np.median(r[..., 1], axis=-1), ["m"], 0.1)'
    file = from_example(
        tmp_path,
        (product, median),
        ("own_model import ", "own_model import declared, "),
        ("sizes=(100, 300, 1000, 3000, 10_000)", "sizes=(100,)"),
    )
    assert main(["check", str(file), "--runs", "0"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: my_model.py: statistic xy: changes by 6 and 6 ")
    assert said.endswith("is claimed; no release would be private.\n")


def test_failed_simulations_are_refused_unless_excluded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fails = ("    y = cor", "    x[mean_x[:, 0] > 1.0] = np.nan\n    y = cor")
    file = from_example(tmp_path, fails)
    line = ["check", str(file), "--runs", "0", "--n", "100"]
    assert main(line) == 2
    said = capsys.readouterr().err
    assert re.search(r"my_model\.py: simulate fails at mean of x = 1\.\d+, .* \(only NaN\)", said)
    assert re.search(r"It fails at 2\d\d of 1,000 draws; failures=\"excluded\" would exclude", said)
    rewritten(file, ("    sizes=", '    failures="excluded",\n    sizes='))
    assert main(line) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert re.search(r"fails at 2\d\d of 1,000 draws; they are excluded\. my_model\.py: sim", said)
