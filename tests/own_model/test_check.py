"""The command ``check``: what it says, and that it refuses in one line what is not private."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from abcdp_core.__main__ import main
from abcdp_core.cli import check
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


def test_what_holds_is_said_with_how_long_a_pool_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = own_file(tmp_path)
    assert main(["check", file, "--runs", "0", "--n", "100", "--workers", "2"]) == 0
    said = capsys.readouterr().out
    assert "Two measurements, normal (gaussian-2d): N = 100, reproducible" in said
    # The mean of what is between -8 and 8, over 100 records; all together as they are released.
    assert "xy            0.16 and 0.16  0.16 and 0.16" in said
    assert "all together  5 and 2.236" in said
    assert "what is not a count in units of the above" in said
    next_ = f"\nNext: abcdp plan gaussian-2d --plugin {file} --n 100 "
    assert said.endswith(f"{next_}--epsilon-total 0.2\n")
    assert "derived: mean" in said
    assert "none moves a statistic by more. A search does not prove it." in said
    assert "A pool of 2,000 draws is large enough" in said
    assert "2,000 of them" in said
    assert "None of 1,000 draws fails." in said
    assert "with 2." in said
    assert "intervals may be off" not in said


DECLARED = 'declared("xy", lambda r: np.median(r[..., 1], axis=-1), ["m"], 0.1)'
XY = 'mean("xy", lambda records: records[..., 0] * records[..., 1], -8.0, 8.0)'
DAYS = 'mean("days infectious", lambda records: records[..., 1], 0.0, 20.0)'
LONGEST = 'declared("longest", lambda r: r[..., 1].max(axis=-1), ["longest"], 3.0)'
IMPORTS = "from abcdp_core.own_model import declared, "


@pytest.mark.parametrize(
    ("example", "old", "new", "words"),
    [
        (
            "gaussian",
            XY,
            DECLARED,
            "statistic xy: one record replaced by another moves it by 6 and 6 ",
        ),
        ("sir", DAYS, LONGEST, "statistic longest: one record replaced by another moves it by"),
    ],
)
def test_a_planted_wrong_sensitivity_is_refused(
    example: str,
    old: str,
    new: str,
    words: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = Path(own_file(tmp_path, old, new, example))
    text = file.read_text(encoding="utf-8").replace("from abcdp_core.own_model import ", IMPORTS)
    file.write_text(text.replace("sizes=(100, 300, 1000, 3000, 10_000)", "sizes=(100,)"))
    assert main(["check", str(file), "--runs", "0"]) == 2
    printed = capsys.readouterr()
    assert "declared" in printed.out
    assert printed.err.startswith(f"error: my_model.py: {words}")
    assert printed.err.endswith("is claimed; a release would not be private.\n")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("rng.standard_normal((2", "np.random.standard_normal((2", "simulate is not reproducible"),
        ("    y = cor", "    boom\n    y = cor", "line 14: NameError: name 'boom' is not defined"),
        ("sizes=(100", "sizes=(0", "cannot be loaded (line 18: ValueError: model gaussian-2d: siz"),
        ("MODEL = ", "OTHER = ", "has none of SCENARIO, MECHANISMS, EXPERIMENT, MODEL"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_in_one_line(
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


def test_where_simulations_fail_is_said_and_refused_unless_that_is_excluded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ["--runs", "0", "--n", "100"]
    file = Path(own_file(tmp_path, SOME, FAILS))
    assert main(["check", str(file), *options]) == 2
    said = capsys.readouterr().err
    assert re.fullmatch(
        r"error: my_model\.py: simulate fails at mean of x = 1\.\d+, .* \(nothing but NaN\)\. "
        r"It fails at 2\d\d of 1,000 draws; with failures=\"excluded\" these count for nothing\.\n",
        said,
    )
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("    sizes=", '    failures="excluded",\n    sizes='))
    assert main(["check", str(file), *options]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert re.search(
        r" 2\d\d of 1,000 draws fail and count for nothing\. my_model\.py: simulate fails at mean",
        said,
    )
    monkeypatch.setattr(examination, "LONGEST", 0.0)
    file.write_text(text.replace(FAILS, SOME))
    assert main(["check", str(file), *options]) == 0
    assert "None of 20 draws fails." in capsys.readouterr().out


def test_a_file_without_a_model_has_nothing_to_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "other.py"
    file.write_text("MECHANISMS = ()\n")
    assert main(["check", str(file)]) == 2
    assert "has no MODEL, so there is nothing to check" in capsys.readouterr().err
    assert main(["check", own_file(tmp_path), "--n", "7"]) == 2
    assert "n = 7: must be one of 100, 300" in capsys.readouterr().err
    assert main(["check", own_file(tmp_path), "--runs", "1"]) == 2
    said = capsys.readouterr().err
    assert said == "error: runs = 1: must be a whole number from 2 to 1000 or 0.\n"


def test_data_sets_too_large_for_so_many_draws_are_checked_with_fewer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "most_draws", lambda _: 300)
    assert main(["check", own_file(tmp_path), "--n", "100", "--runs", "0"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert ", 300 of them " in said
    assert "A pool of 300 is smaller than that" in said
    assert "More are not possible in a study of N = 100." in said
    assert "`release` simulates " in said
