from __future__ import annotations

import dataclasses
import io
import json
import math
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from abcdp_core import experiments, registry, runner
from abcdp_core import figures as fig
from abcdp_core.figures import Drawn
from abcdp_core.output import export
from abcdp_core.output.export import ExportError
from abcdp_core.parameters import ParameterError
from abcdp_core.privacy import NonPrivate, SparseVector
from abcdp_core.results import Result
from tests import toy_experiment
from tests.browser import chromium

EVENT = SparseVector(0.1 + 0.2, math.inf, 5e-324, 7, True)
LONG = "A title with N = 5,000 and ε_abc = 0.1 that goes on for much longer than a figure is wide "


@pytest.fixture(autouse=True)
def toy_is_known() -> Iterator[None]:
    """The toy experiment is found under its name."""
    before = list(registry._added)
    registry._added.append(toy_experiment)
    registry.scan.cache_clear()
    yield
    registry._added[:] = before
    registry.scan.cache_clear()


@pytest.fixture
def result() -> Result:
    return dataclasses.replace(of_size(3, 11), event=EVENT)


def of_size(size: int, seed: int) -> Result:
    return runner.run_to_end(experiments.load("toy"), toy_experiment.Params(size), seed)


def figures_of(result: Result) -> dict[str, Drawn]:
    return toy_experiment.figures(result)


# ------------------------------------------------------------------- settings


def test_settings_are_complete_and_plain_json(result: Result) -> None:
    settings = json.loads(json.dumps(export.settings(result, 1.23456), allow_nan=False))
    assert settings["experiment"] == "toy"
    assert settings["parameters"] == {"size": "3", "pause": "0", "fails": "-1"}
    assert settings["seed"] == 11
    assert settings["command"] == export.command(result)
    assert settings["privacy"] == result.privacy
    assert settings["summary"] == result.summary
    assert (settings["done"], settings["total"], settings["partial"]) == (3, 3, False)
    assert settings["run_time_seconds"] == 1.235
    assert {"abcdp-explorer", "python", "numpy", "plotly"} <= settings["versions"].keys()


def test_a_partial_result_is_marked_in_settings_and_figures(result: Result, tmp_path: Path) -> None:
    partial = dataclasses.replace(result, total=9)
    assert export.settings(partial)["partial"] is True
    assert "run_time_seconds" in export.settings(partial)
    export.write(partial, figures_of(partial), tmp_path, ("html",))
    page = (tmp_path / "toy.squares.html").read_text(encoding="utf-8")
    assert "<h1>Squares of whole numbers · partial result: 3 of 9 tasks</h1>" in page


def test_a_command_is_safe_to_paste(result: Result) -> None:
    odd = dataclasses.replace(result, experiment="a b; echo")
    assert "run 'a b; echo' --set size=3 --set pause=0" in export.command(odd)


# ---------------------------------------------------------------------- files


def test_every_format_has_its_files(result: Result, tmp_path: Path) -> None:
    files = export.write(result, figures_of(result), tmp_path / "new", ("csv", "json", "html"))
    names = ["toy.csv", "toy.limits.csv", "toy.json", "toy.squares.html", "plotly.min.js"]
    assert [file.name for file in files] == names
    assert sorted(file.name for file in (tmp_path / "new").iterdir()) == sorted(names)


def test_only_what_is_asked_for_is_written(result: Result, tmp_path: Path) -> None:
    files = export.write(result, figures_of(result), tmp_path, ("json",))
    assert list(tmp_path.iterdir()) == files == [tmp_path / "toy.json"]


def test_tables_read_back_as_they_were(result: Result, tmp_path: Path) -> None:
    export.write(result, {}, tmp_path, ("csv", "json"))
    again = export.read_tables(tmp_path, "toy")
    for name in result.tables:
        assert_frame_equal(again.tables[name], result.tables[name], check_exact=True)
    assert dataclasses.replace(again, tables={}) == dataclasses.replace(result, tables={})


def test_every_bit_of_a_number_and_every_letter_of_a_word_survives(
    result: Result, tmp_path: Path
) -> None:
    rng = np.random.default_rng(1)
    numbers = rng.integers(0, 2**64, 5000, dtype=np.uint64).view(np.float64)
    finite = numbers[np.isfinite(numbers)]
    words = ["nan", "", "NA", "None", "a,b", 'say "so"', "θ1", "1", "True", "line\nbreak"]
    tables = {
        "main": pd.DataFrame({"number": finite}),
        "words": pd.DataFrame({"word": words, "whole": [1.0] * 10, "count": range(10)}),
        "empty": pd.DataFrame({"number": np.zeros(0), "flag": np.zeros(0, bool)}),
    }
    odd = dataclasses.replace(result, tables=tables)
    export.write(odd, {}, tmp_path, ("csv", "json"))
    again = export.read_tables(tmp_path, "toy")
    assert np.array_equal(
        again.tables["main"].number.to_numpy().view(np.uint64), finite.view(np.uint64)
    )
    assert list(again.tables["words"].word) == words
    for name in tables:
        assert_frame_equal(again.tables[name], tables[name], check_exact=True)


@pytest.mark.parametrize("event", [None, NonPrivate(), EVENT])
def test_an_event_survives(
    event: NonPrivate | SparseVector | None, result: Result, tmp_path: Path
) -> None:
    export.write(dataclasses.replace(result, event=event), {}, tmp_path, ("csv", "json"))
    assert export.read_tables(tmp_path, "toy").event == event


@pytest.mark.parametrize("column", [[1, "a"], [1.0, True], [None, "a"], [(1,), (2,)]])
def test_a_column_that_mixes_kinds_is_refused(
    column: list[object], result: Result, tmp_path: Path
) -> None:
    mixed = pd.DataFrame({"odd": pd.Series(column, dtype=object)})
    with pytest.raises(TypeError, match="column odd"):
        export.write(dataclasses.replace(result, tables={"main": mixed}), {}, tmp_path, ("csv",))


def test_a_page_needs_no_network(result: Result, tmp_path: Path) -> None:
    export.write(result, figures_of(result), tmp_path, ("html",))
    page = (tmp_path / "toy.squares.html").read_text(encoding="utf-8")
    assert re.findall(r'src="([^"]*)"', page) == ["plotly.min.js"]
    assert not re.findall(r"<link|@import|https?://[^\"]*\.js", page)
    assert "<p>The largest square is 4.</p>" in page
    assert result.summary not in page
    assert result.privacy in page


def test_formats_are_put_in_order_and_checked() -> None:
    assert export.chosen_formats("png, csv,csv") == ("csv", "png")
    for text, named in (("csv,gif", "gif"), ("", "nothing"), ("CSV", "CSV")):
        with pytest.raises(ParameterError, match=f"formats = {named}: must be one or several of"):
            export.chosen_formats(text)


# ------------------------------------------------------------- static figures


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch) -> None:
    """The Chromium of the browser tests draws."""
    found = chromium.find()
    assert found is not None
    monkeypatch.setenv("BROWSER_PATH", found)


@pytest.mark.usefixtures("browser")
def test_static_figures_are_drawn_whole_on_white(result: Result, tmp_path: Path) -> None:
    from PIL import Image

    figure = figures_of(result)["squares"].figure.update_layout(title_text=LONG * 2)
    files = export.write(result, {"squares": figure}, tmp_path, ("svg", "png", "pdf"))
    assert [file.name for file in files] == [f"toy.squares.{kind}" for kind in export.STATIC]
    svg, png, pdf = (file.read_bytes() for file in files)
    words = re.sub(r"<[^>]*>", " ", svg.decode().replace("\u00a0", " "))
    assert all(word in words for word in LONG.split())
    assert pdf.startswith(b"%PDF-")
    assert len(pdf) > 5000
    pixels = np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))
    assert pixels.shape[1] == 2 * fig.WIDTH
    assert pixels.min() < 50, "there is dark text"
    margins = (pixels[:8], pixels[-8:], pixels[:, :8], pixels[:, -8:])
    assert all((margin == 255).all() for margin in margins), "something touches the edge"


def test_without_a_browser_the_error_says_what_to_do_and_the_rest_is_written(
    result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROWSER_PATH", str(tmp_path / "none"))
    with pytest.raises(ExportError, match="need Chrome or Chromium: install one, or set"):
        export.write(result, figures_of(result), tmp_path, ("png", "csv", "html"))
    assert (tmp_path / "toy.csv").exists()
    assert (tmp_path / "toy.squares.html").exists()
    assert not list(tmp_path.glob("*.png"))


def test_without_kaleido_the_error_says_what_to_do(
    result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "kaleido", None)
    with pytest.raises(ExportError, match="run `pip install kaleido`"):
        export.write(result, figures_of(result), tmp_path, ("svg",))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_browser_that_does_not_start_is_an_export_error(
    result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "browser"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setenv("BROWSER_PATH", str(broken))
    with pytest.raises(ExportError, match="The browser could not draw the figures") as caught:
        export.write(result, figures_of(result), tmp_path, ("svg",))
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.glob("*.svg"))


# ------------------------------------------------------------------------ zip


def members(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_an_archive_holds_all_results_and_how_to_make_them_again(result: Result) -> None:
    other = of_size(2, 5)
    pages = [(result, figures_of(result)), (other, figures_of(other))]
    files = members(export.zip_bytes(pages, ("csv", "json", "html")))
    assert list(files) == sorted(
        ["command.txt", "plotly.min.js"]
        + [f"{stem}.{end}" for stem in ("toy", "toy-2")
           for end in ("csv", "limits.csv", "json", "squares.html")]
    )  # fmt: skip
    commands = files["command.txt"].decode().splitlines()
    assert commands == [export.command(result), export.command(other)]
    assert json.loads(files["toy-2.json"])["seed"] == 5


def test_the_same_results_make_the_same_archive(result: Result) -> None:
    pages = [(result, figures_of(result))]
    formats = ("csv", "json", "html")
    assert export.zip_bytes(pages, formats) == export.zip_bytes(pages, formats)


def test_an_archive_can_be_read_back(result: Result, tmp_path: Path) -> None:
    data = export.zip_bytes([(result, {}), (result, {})], ("csv", "json"))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        archive.extractall(tmp_path)
    again = export.read_tables(tmp_path, "toy-2")
    assert again.experiment == "toy"
    assert_frame_equal(again.tables["main"], result.tables["main"], check_exact=True)


def test_where_figures_cannot_be_drawn_the_archive_says_why_and_holds_the_rest(
    result: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROWSER_PATH", "nowhere")
    files = members(export.zip_bytes([(result, figures_of(result))], export.FORMATS))
    assert "need Chrome or Chromium" in files["note.txt"].decode()
    assert {"toy.csv", "toy.json", "toy.squares.html", "plotly.min.js"} <= files.keys()
    assert not [name for name in files if name.endswith(export.STATIC)]


@pytest.mark.usefixtures("browser")
def test_an_archive_holds_static_figures_where_there_is_a_browser(result: Result) -> None:
    files = members(export.zip_bytes([(result, figures_of(result))], ("svg",)))
    assert files["toy.squares.svg"].startswith(b"<svg")
    assert "note.txt" not in files


def test_an_unknown_experiment_or_a_missing_file_is_an_error(
    result: Result, tmp_path: Path
) -> None:
    with pytest.raises(FileNotFoundError):
        export.read_tables(tmp_path, "toy")
    export.write(result, {}, tmp_path, ("csv", "json"))
    registry._added.remove(toy_experiment)
    registry.scan.cache_clear()
    with pytest.raises(ParameterError, match="experiment = toy"):
        export.read_tables(tmp_path, "toy")
