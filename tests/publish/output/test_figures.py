"""Figures as files: drawn whole, without other files, and with what they show and whom to cite."""

from __future__ import annotations

import dataclasses
import html
import io
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from abcdp_core import figures as fig
from abcdp_core.publish.output import citation, files
from abcdp_core.publish.output.formats import STATIC
from abcdp_core.publish.output.images import caption
from abcdp_core.publish.output.single import file_of
from abcdp_core.run.results import Result
from tests.toy_experiment import figures

ROOT = Path(__file__).parents[3]
LONG = "A title with N = 5,000 and ε_abc = 0.1 that goes on for much longer than a figure is wide "


def test_a_page_of_one_figure_needs_no_other_file(result: Result) -> None:
    drawn = figures(result)["squares"]
    page = file_of(result, "squares", drawn, (), "html").decode()
    assert len(page) > 1_000_000, "the script that draws it is inside"
    assert not re.findall(r"<script[^>]*src=|<link|@import", page)
    for words in (drawn.sentence, result.privacy, citation.TEXT):
        assert f"<p>{html.escape(words)}</p>" in page


def test_numbers_in_json_are_numbers(result: Result) -> None:
    odd = pd.DataFrame(
        {"x": [0.1, float("nan"), float("-inf")], "k": [1, 2, 3], "w": ["a", "1", "b"]}
    )
    result = dataclasses.replace(result, tables={**result.tables, "odd": odd})
    drawn = figures(result)["squares"]
    said = json.loads(file_of(result, "squares", drawn, ("main", "odd"), "json"))
    assert said["tables"]["odd"] == {"x": [0.1, None, "-inf"], "k": [1, 2, 3], "w": ["a", "1", "b"]}
    assert said["tables"]["main"]["square"] == [0, 1, 4]
    assert said["parameters"]["size"] == 3
    assert said["caption"] == caption(result, drawn)
    assert said["citation"] == citation.TEXT


@pytest.mark.usefixtures("browser")
def test_static_figures_are_drawn_whole_on_white(result: Result, tmp_path: Path) -> None:
    drawn = figures(result)["squares"]
    drawn.figure.update_layout(title_text=LONG * 2)
    written = files.write(result, {"squares": drawn}, tmp_path, ("svg", "png", "pdf"))
    assert [file.name for file in written] == [f"toy.squares.{kind}" for kind in STATIC]
    svg, png, pdf = (file.read_bytes() for file in written)
    words = re.sub(r"<[^>]*>", " ", svg.decode().replace("\u00a0", " "))
    assert all(word in words for word in LONG.split())
    assert pdf.startswith(b"%PDF-")
    assert len(pdf) > 5000
    pixels = np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))
    assert pixels.shape[1] == 2 * fig.WIDTH
    assert pixels.min() < 50, "there is dark text"
    margins = (pixels[:8], pixels[-8:], pixels[:, :8], pixels[:, -8:])
    assert all((margin == 255).all() for margin in margins), "something touches the edge"


@pytest.mark.slow
@pytest.mark.usefixtures("browser")
def test_pictures_carry_caption_and_citation(result: Result) -> None:
    drawn = figures(result)["squares"]
    svg = file_of(result, "squares", drawn, (), "svg").decode()
    said = html.escape(f"{caption(result, drawn)} {citation.TEXT}")
    assert f"<desc>{said}</desc>" in svg
    assert "<title>Squares of whole numbers</title>" in svg
    png = file_of(result, "squares", drawn, (), "png")
    picture = Image.open(io.BytesIO(png))
    picture.load()
    assert picture.info["Description"] == html.unescape(said)


def test_what_is_cited_is_what_the_citation_file_says() -> None:
    saved = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    title, *papers = re.findall(r'title: "(.*)"', saved)
    names = re.findall(r"family-names: (.*)", saved)
    numbers = re.findall(r'(?:doi: |value: ")([^"\n]*)', saved)
    assert len(papers) == len(citation.PAPERS)
    for words in (*papers, *names, *numbers):
        assert words in citation.IN_FULL
    for words in (title, re.findall(r"^version: (.*)$", saved, re.MULTILINE)[0]):
        assert words in citation.TEXT
