from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from abcdp_core.__main__ import main
from abcdp_core.release import procedure
from abcdp_core.release.noisy_counts import NoisyCountsRequest
from tests.browser import chromium

REQUEST = NoisyCountsRequest("uniform-mixture", 1.0, 0.0, 100.0, draws=100)
CONTENT: dict[str, Any] = json.loads(
    procedure.make(REQUEST, np.linspace(0.0, 100.0, 60), random.Random(1).randrange).to_json()
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a released document."""
    monkeypatch.chdir(tmp_path)
    write(CONTENT)
    return tmp_path


def write(content: Any) -> None:
    Path("release.json").write_text(json.dumps(content), encoding="utf-8")


def made(*arguments: str, out: str = "report.html") -> int:
    return main(["report", "release.json", "--out", out, *arguments])


def test_a_report_is_written_once_and_what_the_data_are_is_said(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert made("--about", "incomes & more, 2024") == 0
    assert capsys.readouterr().out == "Written to report.html\n"
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "described by the author of this report: incomes &amp; more, 2024" in page
    assert "verify release.json" in page
    assert made() == 2
    assert "out = report.html: already exists; choose a new file." in capsys.readouterr().err
    assert (folder / "report.html").read_text(encoding="utf-8") == page
    assert sorted(file.name for file in folder.iterdir()) == ["release.json", "report.html"]


def test_without_a_browser_a_line_says_so_and_that_html_needs_none(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BROWSER_PATH", str(folder / "none"))
    assert made(out="report.pdf") == 2
    said = capsys.readouterr().err
    assert "need Chrome or Chromium: install one" in said
    assert "An .html report needs no browser." in said
    assert [file.name for file in folder.iterdir()] == ["release.json"]


def test_a_pdf_has_pages_and_the_headings_of_the_report(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = chromium.find()
    assert found is not None
    monkeypatch.setenv("BROWSER_PATH", found)
    assert made(out="report.pdf") == 0
    pdf = (folder / "report.pdf").read_bytes()
    assert pdf.startswith(b"%PDF-")
    assert pdf.count(b"/Type /Page\n") in (2, 3)
    assert b"(Privacy label)" in pdf
    assert b"/MediaBox [0 0 595.91998 841.91998]" in pdf
    assert b"/FontFile" in pdf
