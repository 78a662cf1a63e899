"""The command ``check``: its report, and refusals in one line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from abcdp_core.__main__ import main
from abcdp_core.own_model import examination
from tests.own_model.test_contract import EXAMPLES

pytestmark = pytest.mark.usefixtures("own_registry")


@pytest.fixture(autouse=True)
def _few_first_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examination, "FIRST_DRAWS", 1000)


def own_file(folder: Path, old: str = "", new: str = "", example: str = "gaussian") -> str:
    text = (EXAMPLES / f"{example}.py").read_text(encoding="utf-8")
    assert old in text
    file = folder / "my_model.py"
    file.write_text(text.replace(old, new), encoding="utf-8")
    return str(file)


def test_a_valid_model_is_reported_with_the_time_for_a_pool(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = own_file(tmp_path)
    assert main(["check", file, "--runs", "0", "--n", "100", "--workers", "2"]) == 0
    said = capsys.readouterr().out
    assert "Two measurements, normal (gaussian-2d): N = 100, reproducible for a given seed." in said
    # A mean over 100 records from -8 to 8.
    assert "xy            0.16 and 0.16  0.16 and 0.16" in said
    assert "all together  5 and 2.236" in said
    assert "non-counts in units of the rows above" in said
    next_ = f"\nNext: abcdp plan gaussian-2d --plugin {file} --n 100 "
    assert said.endswith(f"{next_}--epsilon-total 0.2\n")
    assert "derived: mean" in said
    assert "no change exceeds its claim. This search is not a proof." in said
    assert "A pool of 2,000 draws is large enough" in said
    assert "; 2,000 take " in said
    assert "The simulator fails at none of 1,000 draws." in said
    assert "with 2." in said
    assert "intervals may be inaccurate" not in said


DECLARED = 'declared("xy", lambda r: np.median(r[..., 1], axis=-1), ["m"], 0.1)'
XY = 'mean("xy", lambda records: records[..., 0] * records[..., 1], -8.0, 8.0)'
IMPORTS = "from abcdp_core.own_model import declared, "


def test_a_planted_wrong_sensitivity_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = Path(own_file(tmp_path, XY, DECLARED))
    text = file.read_text(encoding="utf-8").replace("from abcdp_core.own_model import ", IMPORTS)
    file.write_text(text.replace("sizes=(100, 300, 1000, 3000, 10_000)", "sizes=(100,)"))
    assert main(["check", str(file), "--runs", "0"]) == 2
    printed = capsys.readouterr()
    assert "declared" in printed.out
    assert printed.err.startswith("error: my_model.py: statistic xy: changes by 6 and 6 ")
    assert printed.err.endswith("is claimed; no release would be private.\n")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("rng.standard_normal((2", "np.random.standard_normal((2", "simulate is not reproducible"),
        ("    y = cor", "    boom\n    y = cor", "line 14: NameError: name 'boom' is not defined"),
        ("sizes=(100", "sizes=(0", "cannot be loaded (line 18: ValueError: model gaussian-2d: siz"),
        ("MODEL = ", "OTHER = ", "has none of SCENARIO, MECHANISMS, EXPERIMENT, MODEL"),
    ],
)
def test_an_invalid_file_is_refused_in_one_line(
    old: str, new: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", own_file(tmp_path, old, new), "--runs", "0", "--n", "100"]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.startswith("error: ")
    assert said.count("\n") == 1


SOME = """    y = cor"""
FAILS = """    x[mean_x[:, 0] > 1.0] = np.nan
    y = cor"""


def test_failed_simulations_are_refused_unless_excluded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ["--runs", "0", "--n", "100"]
    file = Path(own_file(tmp_path, SOME, FAILS))
    assert main(["check", str(file), *options]) == 2
    said = capsys.readouterr().err
    assert re.fullmatch(
        r"error: my_model\.py: simulate fails at mean of x = 1\.\d+, .* \(only NaN\)\. "
        r"It fails at 2\d\d of 1,000 draws; failures=\"excluded\" would exclude them\.\n",
        said,
    )
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("    sizes=", '    failures="excluded",\n    sizes='))
    assert main(["check", str(file), *options]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert re.search(
        r"fails at 2\d\d of 1,000 draws; they are excluded\. my_model\.py: simulate fails at mean",
        said,
    )
    monkeypatch.setattr(examination, "LONGEST", 0.0)
    file.write_text(text.replace(FAILS, SOME))
    assert main(["check", str(file), *options]) == 0
    assert "The simulator fails at none of 20 draws." in capsys.readouterr().out


def test_wrong_requests_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "other.py"
    file.write_text("MECHANISMS = ()\n")
    assert main(["check", str(file)]) == 2
    assert "has no MODEL, so there is nothing to check" in capsys.readouterr().err
    assert main(["check", own_file(tmp_path), "--n", "7"]) == 2
    assert "n = 7: must be one of 100, 300" in capsys.readouterr().err
    assert main(["check", own_file(tmp_path), "--runs", "1"]) == 2
    said = capsys.readouterr().err
    assert said == "error: runs = 1: must be a whole number from 2 to 1000 or 0.\n"
