from __future__ import annotations

import errno
import json
import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from abcdp_core.__main__ import main
from abcdp_core.commands import report as command
from abcdp_core.own_data import place, release
from abcdp_core.own_data.noisy_counts import NoisyCountsRequest
from abcdp_core.own_data.sparse_vector import SparseVectorRequest
from tests.browser import chromium

REQUEST = NoisyCountsRequest("uniform-mixture", 1.0, 0.0, 100.0, draws=100)
CONTENT: dict[str, Any] = json.loads(
    release.make(REQUEST, np.linspace(0.0, 100.0, 60), random.Random(1).randrange).to_json()
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


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    printed, said = capsys.readouterr()
    assert not printed
    assert said.startswith("error: ")
    assert said.count("\n") == 1
    return said


def test_a_report_is_written_and_what_the_data_are_is_said(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert made("--about", "incomes & more, 2024") == 0
    assert capsys.readouterr().out == "Written to report.html\n"
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "described by who made this report: incomes &amp; more, 2024" in page
    assert "verify release.json" in page
    assert sorted(file.name for file in folder.iterdir()) == ["release.json", "report.html"]


def test_nothing_is_written_over(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "report.html").write_text("mine")
    assert made() == 2
    assert "out = report.html: is there already; choose a new file." in one_line(capsys)
    assert (folder / "report.html").read_text() == "mine"


def test_what_came_there_meanwhile_stays(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = command._page

    def slow(*arguments: Any) -> str:
        (folder / "report.html").write_text("mine")
        return page(*arguments)

    monkeypatch.setattr(command, "_page", slow)
    assert made() == 2
    assert "is there already" in one_line(capsys)
    assert (folder / "report.html").read_text() == "mine"
    assert sorted(file.name for file in folder.iterdir()) == ["release.json", "report.html"]


def full(*_: Any, **__: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("where", ["fsync", "write"])
def test_a_full_disk_leaves_nothing(
    where: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(place.os, where, full)
    assert made() == 2
    monkeypatch.undo()
    assert "out = report.html: cannot be written (No space left on device)" in one_line(capsys)
    assert [file.name for file in folder.iterdir()] == ["release.json"]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("out", "words"),
    [
        ("report.txt", "out = report.txt: must end in .html or .pdf."),
        ("missing/report.html", "cannot be written (No such file or directory)"),
    ],
)
def test_a_place_that_is_none_is_said_in_one_line(
    out: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert made(out=out) == 2
    assert words in one_line(capsys)


@pytest.mark.parametrize("about", ["x" * 501, "two\nlines"])
def test_words_about_the_data_are_a_line(
    about: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert made("--about", about) == 2
    assert "about: must be at most 500 characters in one line" in one_line(capsys)
    assert [file.name for file in folder.iterdir()] == ["release.json"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({}, "release.json: document: is none of a release."),
        (CONTENT | {"protected": "all"}, "protected differs from what follows."),
        (
            CONTENT | {"cost": {"epsilon": 0.1, "delta": 0.0}, "n": 61},
            "posterior, cost differ from",
        ),
        (CONTENT | {"release": None}, "release.json: document: is not of the form"),
    ],
    ids=range(4),
)
def test_a_document_that_does_not_verify_is_refused_by_its_key(
    content: Any, words: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(content)
    assert made() == 2
    assert words in one_line(capsys)
    assert [file.name for file in folder.iterdir()] == ["release.json"]


@pytest.mark.usefixtures("folder")
def test_a_document_of_a_version_that_named_no_mechanism_has_a_report() -> None:
    request = SparseVectorRequest.for_scenario(
        "covid", low=0.0, high=100.0, epsilon_total=1.0, pool_size=100, c=4, epsilon_abc=1.2
    )
    values = np.linspace(0.0, 100.0, 20)
    old = json.loads(release.make(request, values, random.Random(1).randrange).to_json())
    del old["mechanism"]
    write(old)
    assert made() == 0
    assert "Sparse vector" in Path("report.html").read_text(encoding="utf-8")


def test_without_a_browser_a_line_says_so_and_that_html_needs_none(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BROWSER_PATH", str(folder / "none"))
    assert made(out="report.pdf") == 2
    said = one_line(capsys)
    assert "need Chrome or Chromium: install one" in said
    assert "A report that ends in .html needs no browser." in said
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
