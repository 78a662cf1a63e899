"""The commands that release from a file, keep budgets, verify and report."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from abcdp_core.__main__ import main, values_in_one
from abcdp_core.models import pool
from abcdp_core.release import budget_file
from tests.browser import chromium

CANARY = "48.151623"
SERIES = "cases\r\n" + "".join(f"{7 * day % 90}\r\n" for day in range(20)) + f"{CANARY}\r\n"
CURVE = ["release", "covid", "--data", "data.csv", "--domain", "0,100", "--epsilon-total", "0.5",
         "--pool-size", "200", "--out", "out.json"]  # fmt: skip
SHARES = ["release", "uniform-mixture", "--data", "data.csv", "--domain", "0,100",
          "--epsilon-total", "0.1", "--yes", "--out"]  # fmt: skip
FEW = ["--mechanism", "sparse-vector", "--pool-size", "100"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with a series, and a place for a ledger."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(budget_file.PLACE, str(tmp_path / "budgets.db"))
    (tmp_path / "data.csv").write_text(SERIES, encoding="utf-8", newline="")


def content(file: str) -> Any:
    return json.loads(Path(file).read_text(encoding="utf-8"))


def names() -> list[str]:
    return sorted(file.name for file in Path().iterdir())


def refusal(capsys: pytest.CaptureFixture[str]) -> str:
    """What was said on an error: one line, and no value of the data."""
    printed, said = capsys.readouterr()
    assert said.startswith("error: ")
    assert said.count("\n") == 1
    assert CANARY not in said + printed
    return said


def test_a_release_is_written_never_over_another_file_and_what_it_cost_is_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([*CURVE, "--yes"]) == 0
    printed, said = capsys.readouterr()
    made = content("out.json")
    for words in ("This spends ε_total = 0.5", "21 values", made["statement"], "Written to out"):
        assert words in " ".join(printed.split())
    assert CANARY not in printed + said
    assert (made["n"], made["cost"]["epsilon"] <= 0.5) == (21, True)
    assert names() == ["data.csv", "out.json"]
    for out in ("out.json", "data.csv"):
        before = Path(out).read_bytes()
        assert main([*CURVE, "--yes", "--out", out]) == 2
        assert f"out = {out}: already exists" in refusal(capsys)
        assert Path(out).read_bytes() == before


def test_every_option_reaches_the_request() -> None:
    assert main([
        *CURVE, "--yes", "--epsilon-abc", "0.3", "--c", "2", "--distance", "pairs", "--bandwidth",
        "500", "--resample", "--pool-seed", "9", "--domain", "-5,99.5",
    ]) == 0  # fmt: skip
    assert content("out.json")["public"] == {
        "scenario": "covid", "low": -5.0, "high": 99.5, "epsilon_total": 0.5, "epsilon_abc": 0.3,
        "c": 2, "pool_size": 200, "distance": "pairs", "bandwidth": 500.0, "resample": True,
        "pool_seed": 9, "scenario_domain": [0.0, 5000.0],
    }  # fmt: skip
    assert values_in_one(["a", "--domain", "-5,10", "--yes"]) == ["a", "--domain=-5,10", "--yes"]


class Terminal(io.StringIO):
    """Standard input of a person who types one line."""

    def isatty(self) -> bool:
        return True


def test_yes_spends_it_and_anything_else_spends_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    refusals = {
        "not confirmed; nothing was released": Terminal("\n"),
        "not confirmed; nothing": Terminal("no\n"),
        "no terminal to confirm at: add --yes": io.StringIO("y\n"),
    }
    for words, typed in refusals.items():
        monkeypatch.setattr(sys, "stdin", typed)
        assert main(CURVE) == 2
        assert words in refusal(capsys)
        assert names() == ["data.csv"]
    monkeypatch.setattr(sys, "stdin", Terminal(" yes \n"))
    assert main(CURVE) == 0
    assert names() == ["data.csv", "out.json"]


def test_the_recommended_mechanism_is_taken_and_the_reason_said_before_the_file_is_opened(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*SHARES, "out.json", *FEW]) == 0
    assert content("out.json")["mechanism"] == "sparse-vector"
    printed = capsys.readouterr().out
    assert "Mechanism: sparse-vector. " in printed
    assert "Recommended: noisy-counts. " in printed
    # The recommended one needs no pool.
    monkeypatch.delattr(pool, "build")
    few = "--number-of-draws 150 --draws-seed 4 --draws draws.csv"
    assert main([*SHARES, "counts.json", *few.split()]) == 0
    printed, said = capsys.readouterr()
    assert printed.startswith("Mechanism: noisy-counts. Counts carry all the information")
    assert CANARY not in printed + said
    made = content("counts.json")
    assert made["mechanism"] == "noisy-counts"
    assert (made["public"]["draws"], made["public"]["draws_seed"]) == (150, 4)
    written, ours = pd.read_csv("draws.csv"), np.array(made["posterior"]["draws"])
    assert [*written] == made["posterior"]["parameters"]
    assert (written.to_numpy() != ours).any()
    np.testing.assert_array_equal(np.sort(written, axis=0), np.sort(ours, axis=0))
    assert main([*SHARES, "more.json", "--draws", "draws.csv"]) == 2
    assert "draws = draws.csv: already exists" in refusal(capsys)
    Path("data.csv").unlink()
    assert main([*SHARES, "other.json"]) == 2
    assert "Mechanism: noisy-counts. " in capsys.readouterr().out


# ------------------------------------------------------------------------ from a budget


INCOME = ["budget", "create", "income", "--epsilon", "0.3", "--unit", "person"]
PAID = ["--budget", "income", "--unit", "person"]


def test_three_releases_fit_and_a_fourth_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(INCOME) == 0
    ended = [main([*SHARES, f"{number}.json", *FEW, *PAID]) for number in range(4)]
    assert ended == [0, 0, 0, 2]
    assert "0.1 does not fit; 0 is left of 0.3" in refusal(capsys)
    assert "3.json" not in names()
    assert main(["budget", "show", "income", "--documents", "0.json", "2.json"]) == 0
    said = capsys.readouterr().out
    assert said.count("one person declared to have one value") == 3
    assert "Left: ε = 0 in pure" in said
    assert "2 releases are in the ledger." in said
    assert main(["budget", "create", "b", "--epsilon", "1", "--unit", "day"]) == 0
    assert main(["budget", "show", "b", "--documents", "1.json"]) == 0
    assert "1.json used another budget, income." in capsys.readouterr().out
    assert content("1.json")["ledger"]["entry"] == 3


# ------------------------------------------------------------------- what becomes of a record


@pytest.fixture
def made() -> Any:
    """The content of a release by counts, in ``release.json``."""
    assert main(INCOME) == 0
    assert main([*SHARES, "release.json", "--number-of-draws", "100", *PAID]) == 0
    return content("release.json")


def test_verify_prints_a_line_for_each_key_and_for_what_it_cannot_check(
    made: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert main(["verify", "release.json"]) == 0
    printed, said = capsys.readouterr()
    assert not said
    # All keys but the versions and the ledger, after the line of heads.
    assert printed.count("\nagrees ") == len(made) - 3
    assert "the data, the noise" in printed
    assert "`budget show`" in printed
    for text, words in (
        (json.dumps(made | {"protected": "all"}), "protected does not follow from the rest"),
        ("{}", "is not a release."),
        ("{", "is not JSON"),
    ):
        Path("release.json").write_text(text, encoding="utf-8")
        assert main(["verify", "release.json"]) == 2
        assert words in refusal(capsys)
    assert main(["verify", "missing.json"]) == 2
    assert "cannot be read (No such file or directory)" in refusal(capsys)


@pytest.mark.usefixtures("made")
def test_a_report_is_written_once_and_what_the_data_are_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = names()
    capsys.readouterr()
    command = ["report", "release.json", "--out", "report.html"]
    assert main([*command, "--about", "incomes & more, 2024"]) == 0
    assert capsys.readouterr().out == "Written to report.html\n"
    page = Path("report.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "described by the author of this report: incomes &amp; more, 2024" in page
    assert "verify release.json" in page
    assert main(command) == 2
    assert "out = report.html: already exists; choose a new file." in refusal(capsys)
    assert Path("report.html").read_text(encoding="utf-8") == page
    assert main(["report", "release.json", "--registry", "entry.yaml"]) == 0
    assert Path("entry.yaml").read_text(encoding="utf-8").startswith("url_slug: ")
    capsys.readouterr()
    for more, words in (
        (["--registry", "entry.yaml"], "registry = entry.yaml: already exists"),
        ([], "out: name a new file with --out, --registry, or both."),
    ):
        assert main(["report", "release.json", *more]) == 2
        assert words in refusal(capsys)
    monkeypatch.setenv("BROWSER_PATH", "none")
    assert main(["report", "release.json", "--out", "report.pdf"]) == 2
    assert "An .html report needs no browser." in refusal(capsys)
    assert names() == sorted([*before, "report.html", "entry.yaml"])


@pytest.mark.usefixtures("made")
def test_a_pdf_has_pages_and_the_headings_of_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    found = chromium.find()
    assert found is not None
    monkeypatch.setenv("BROWSER_PATH", found)
    assert main(["report", "release.json", "--out", "report.pdf"]) == 0
    pdf = Path("report.pdf").read_bytes()
    assert pdf.startswith(b"%PDF-")
    assert pdf.count(b"/Type /Page\n") in (2, 3)
    assert b"(Privacy label)" in pdf
    assert b"/MediaBox [0 0 595.91998 841.91998]" in pdf
    assert b"/FontFile" in pdf
