"""Every page that may show a model of one's own shows those of odd shapes, without a wrong word."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pages.app import ROOT
from tests.pages.odd_models import SHAPES, VIEWS


@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.slow), len(VIEWS)])
def test_every_page_shows_models_of_odd_shapes(tmp_path: Path, every: int) -> None:
    """All views of all models, or one view of each."""
    files = [tmp_path / f"{name.replace('-', '_')}.py" for name in SHAPES]
    for name, file in zip(SHAPES, files, strict=True):
        text = f"from tests.pages.odd_models import SHAPES\n\nMODEL = SHAPES[{name!r}]\n"
        file.write_text(text, "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "tests.pages.odd_models", str(every)],
        cwd=ROOT,
        env=os.environ | {"ABCDP_PLUGINS": os.pathsep.join(map(str, files))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert len(found) == len(SHAPES) * len(VIEWS) // every
    assert {place: wrong for place, wrong in found.items() if wrong} == {}
