"""Every page that may show a model of one's own shows those of odd shapes, without a wrong word."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.pages.app import ROOT
from tests.pages.shapes import SHAPES, VIEWS


def test_every_page_shows_models_of_odd_shapes(tmp_path: Path) -> None:
    for name in SHAPES:
        text = f"from tests.pages.shapes import SHAPES\n\nMODEL = SHAPES[{name!r}]\n"
        (tmp_path / f"{name.replace('-', '_')}.py").write_text(text, "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "tests.pages.shapes"],
        cwd=ROOT,
        env=os.environ | {"ABCDP_PLUGINS": os.pathsep.join(map(str, tmp_path.glob("*.py")))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert len(found) == len(SHAPES) * len(VIEWS)
    assert {place: wrong for place, wrong in found.items() if wrong} == {}
