from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest
from pandas.testing import assert_frame_equal

from abcdp_core import runner, studies
from abcdp_core.output import citation, files
from abcdp_core.output.bundle import zip_bytes
from abcdp_core.output.formats import FORMATS, STATIC
from abcdp_core.output.page import LIBRARY
from abcdp_core.output.settings import command
from abcdp_core.results import Result
from tests import toy_experiment
from tests.toy_experiment import figures


def members(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_an_archive_holds_all_results_and_how_to_make_them_again(
    result: Result, tmp_path: Path
) -> None:
    other = runner.run_to_end(studies.load("toy"), toy_experiment.Params(2), 5)
    pages = [(result, figures(result)), (other, figures(other))]
    archive = zip_bytes(pages, ("csv", "json", "html"))
    assert archive == zip_bytes(pages, ("csv", "json", "html"))
    written = members(archive)
    assert list(written) == sorted(
        ["captions.txt", "citation.txt", "command.txt", LIBRARY]
        + [f"{stem}.{end}" for stem in ("toy", "toy-2")
           for end in ("csv", "limits.csv", "json", "squares.html")]
    )  # fmt: skip
    commands = written["command.txt"].decode().splitlines()
    assert commands == [command(result), command(other, "toy-2")]
    # Run one after the other, none writes over what another made.
    assert [line.split("--out ")[1] for line in commands] == ["results/toy", "results/toy-2"]
    assert json.loads(written["toy-2.json"])["command"] == commands[1]
    captions = written["captions.txt"].decode()
    assert captions.startswith("toy.squares\nSquares of whole numbers\nThe largest square is 4.")
    assert "\ntoy-2.squares\n" in captions
    assert result.privacy in captions
    assert citation.TEXT in written["citation.txt"].decode()
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        opened.extractall(tmp_path)
    again = files.read(tmp_path, "toy-2")
    assert (again.experiment, again.seed) == ("toy", 5)
    assert_frame_equal(again.tables["main"], other.tables["main"], check_exact=True)


def test_where_figures_cannot_be_drawn_the_archive_says_why_and_holds_the_rest(
    result: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROWSER_PATH", "nowhere")
    written = members(zip_bytes([(result, figures(result))], FORMATS))
    assert "need Chrome or Chromium" in written["note.txt"].decode()
    assert {"toy.csv", "toy.json", "toy.squares.html", LIBRARY} <= written.keys()
    assert not [name for name in written if name.endswith(STATIC)]
