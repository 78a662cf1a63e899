"""Every page that may show a model of one's own shows those of odd shapes, without a wrong word."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.pages.app import ROOT
from tests.pages.shapes import SHAPES, VIEWS
from tests.test_plugins import SEVERAL


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A file for each of the models."""
    folder = tmp_path_factory.mktemp("shapes")
    for name in SHAPES:
        text = f"from tests.pages.shapes import SHAPES\n\nMODEL = SHAPES[{name!r}]\n"
        (folder / f"{name.replace('-', '_')}.py").write_text(text, "utf-8")
    return [str(file) for file in sorted(folder.iterdir())]


def done(files: list[str], *command: str) -> str:
    """What a program prints that is started with these models and ends well."""
    found = subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env=os.environ | {"ABCDP_PLUGINS": os.pathsep.join(files)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    return found.stdout


def test_every_page_shows_models_of_odd_shapes(files: list[str]) -> None:
    said = done(files, "-m", "tests.pages.shapes")
    found = json.loads(said.splitlines()[-1])
    assert len(found) == len(SHAPES) * len(VIEWS)
    assert {place: wrong for place, wrong in found.items() if wrong} == {}


def test_each_of_them_is_checked_to_the_end(files: list[str]) -> None:
    small = "--runs 2 --pool-size 200 --workers 1"
    said = done(files, "-c", SEVERAL, *(f"check {file} {small}" for file in files))
    for name in SHAPES:
        assert f"Next: abcdp plan {name} " in said
