"""Files of a result, alone or in an archive: complete, exact, and read back as they were."""

from __future__ import annotations

import dataclasses
import io
import json
import math
import re
import zipfile
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from abcdp_core import studies
from abcdp_core.base import registry
from abcdp_core.base.parameters import ParameterError
from abcdp_core.mechanisms.sparse_vector import SparseVector
from abcdp_core.privacy import NonPrivate
from abcdp_core.publish.output import citation, files
from abcdp_core.publish.output.bundle import zip_bytes
from abcdp_core.publish.output.formats import FORMATS, STATIC, ExportError
from abcdp_core.publish.output.page import LIBRARY
from abcdp_core.publish.output.settings import command, settings_of
from abcdp_core.run import runner
from abcdp_core.run.results import Result
from tests import toy_experiment
from tests.toy_experiment import figures

EVENT = SparseVector(0.1 + 0.2, math.inf, 5e-324, 7, True)


def test_settings_are_complete_and_plain_json_and_a_partial_result_is_marked(
    result: Result, tmp_path: Path
) -> None:
    timed = settings_of(dataclasses.replace(result, run_time=1.23456))
    settings = json.loads(json.dumps(timed, allow_nan=False))
    assert settings["experiment"] == "toy"
    assert settings["parameters"] == {"size": 3, "pause": 0, "fails": -1}
    assert settings["seed"] == 11
    assert settings["command"] == command(result)
    assert (settings["done"], settings["total"], settings["partial"]) == (3, 3, False)
    assert settings["run_time_seconds"] == 1.235
    assert {"abcdp-explorer", "python", "numpy", "plotly"} <= settings["versions"].keys()
    partial = dataclasses.replace(result, total=9)
    assert settings_of(partial)["partial"] is True
    files.write(partial, figures(partial), tmp_path, ("html",))
    page = (tmp_path / "toy.squares.html").read_text(encoding="utf-8")
    assert "<h1>Squares of whole numbers · partial result: 3 of 9 tasks</h1>" in page


def test_a_command_is_safe_to_paste_and_names_plug_ins_without_their_folders(
    result: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    plug_in = ModuleType("abcdp_plugin_my model")
    plug_in.EXPERIMENT = "toy"  # type: ignore[attr-defined]
    monkeypatch.setattr(registry, "_added", [plug_in])
    monkeypatch.setattr(registry, "texts", {})
    odd = dataclasses.replace(result, experiment="a b; echo")
    assert "run 'a b; echo' --set size=3 --set pause=0" in command(odd)
    monkeypatch.setattr(registry, "texts", {plug_in.__name__: b""})
    assert "run toy --plugin 'my model.py' --set size=3" in command(result)


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
    files.write(odd, {}, tmp_path, ("csv", "json"))
    again = files.read(tmp_path, "toy")
    assert dataclasses.replace(again, tables={}) == dataclasses.replace(result, tables={})
    assert np.array_equal(
        again.tables["main"].number.to_numpy().view(np.uint64), finite.view(np.uint64)
    )
    assert list(again.tables["words"].word) == words
    for name in tables:
        assert_frame_equal(again.tables[name], tables[name], check_exact=True)


@pytest.mark.parametrize("event", [None, NonPrivate(), EVENT])
def test_events_and_parameters_are_read_back_and_texts_of_older_files_too(
    event: NonPrivate | SparseVector | None, result: Result, tmp_path: Path
) -> None:
    result = dataclasses.replace(result, event=event)
    files.write(result, {}, tmp_path, ("csv", "json"))
    file = tmp_path / "toy.json"
    saved = json.loads(file.read_text(encoding="utf-8"))
    saved["parameters"] = {name: str(value) for name, value in saved["parameters"].items()}
    file.write_text(json.dumps(saved), encoding="utf-8")
    again = files.read(tmp_path, "toy")
    assert (again.event, again.params) == (result.event, result.params)


def test_a_column_that_mixes_kinds_is_refused(result: Result, tmp_path: Path) -> None:
    for column in ([1, "a"], [1.0, True], [None, "a"]):
        mixed = pd.DataFrame({"odd": pd.Series(column, dtype=object)})
        odd = dataclasses.replace(result, tables={"main": mixed})
        with pytest.raises(TypeError, match="column odd"):
            files.write(odd, {}, tmp_path, ("csv",))


def test_a_page_needs_no_network(result: Result, tmp_path: Path) -> None:
    files.write(result, figures(result), tmp_path, ("html",))
    page = (tmp_path / "toy.squares.html").read_text(encoding="utf-8")
    assert re.findall(r'src="([^"]*)"', page) == [LIBRARY]
    assert not re.findall(r"<link|@import|https?://[^\"]*\.js", page)
    assert "<p>The largest square is 4.</p>" in page
    assert result.summary not in page
    assert result.privacy in page


def test_without_a_browser_the_error_says_what_to_do_and_the_rest_is_written(
    result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROWSER_PATH", str(tmp_path / "none"))
    with pytest.raises(ExportError, match="need Chrome or Chromium: install one"):
        files.write(result, figures(result), tmp_path, ("png", "csv", "html"))
    rest = {"toy.csv", "toy.limits.csv", "toy.squares.html", LIBRARY}
    assert {file.name for file in tmp_path.iterdir()} == rest
    written = members(zip_bytes([(result, figures(result))], FORMATS))
    assert "need Chrome or Chromium" in written["note.txt"].decode()
    assert rest <= written.keys()
    assert not [name for name in written if name.endswith(STATIC)]


def test_an_unknown_experiment_or_a_missing_file_is_an_error(
    result: Result, tmp_path: Path
) -> None:
    with pytest.raises(FileNotFoundError):
        files.read(tmp_path, "toy")
    files.write(result, {}, tmp_path, ("csv", "json"))
    registry._added.remove(toy_experiment)
    registry.forget()
    with pytest.raises(ParameterError, match="experiment = toy"):
        files.read(tmp_path, "toy")


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
