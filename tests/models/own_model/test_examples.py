"""The commands of the page on one's own model work, and its notebook is up to date."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from abcdp_core.models.own_model import reading
from tests import notebooks

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "own_model.md").read_text(encoding="utf-8")

RUN = """
import sys
from abcdp_core.base import registry
from abcdp_core.__main__ import main
from abcdp_core.cli import check
from abcdp_core.posterior import fit, pool

check.FIRST = 1000
fit.fit.__defaults__ = (fit.one_by_one, 1000)
pool.LOOKED_FOR = 10
for line in sys.argv[1:]:
    if line.startswith("release pool.toml"):
        # The pool has the name of the model.
        registry._added.clear()
        registry.forget()
    assert main(line.split()) == 0, line
"""
"""Run commands in one process, which is new: studies list the models known on their import."""

SMALL = "--set pool_size=200 --workers 1"
FAST = {
    "check my_model.py": "--runs 2 --pool-size 200 --workers 1",
    "check pool.toml": "--runs 10",
    "plan": "--runs 2 --pool-size 200 --workers 1",
    "run compare-mechanisms": f"--set runs=2 --set epsilon_total=1 {SMALL}",
    "run coverage": f"--set runs=2 --set epsilon_total=1 {SMALL}",
    "run mechanism-posterior": SMALL,
    "pool": "--pool-size 1000",
    "release waiting": "--yes --number-of-draws 100 --simulations 1000 --workers 1",
    "release pool.toml": "--yes --number-of-draws 100 --workers 1",
    "verify": "--workers 1",
    "report": "--workers 1",
}
"""Beginning of a command on the page -> options that make it fast."""


class Done(NamedTuple):
    """Folder and output of all commands."""

    folder: Path
    said: str


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Done:
    """Write the page's model and records, and run all its commands, that by the pool last."""
    folder = tmp_path_factory.mktemp("own")
    model, records, _ = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    small = model.replace("sizes=", "pool_size=1000,\n    sizes=")
    (folder / "my_model.py").write_text(small, encoding="utf-8")
    lines = re.findall(r"^    abcdp (.*)$", PAGE, re.MULTILINE)
    assert len(lines) == 11
    for place, line in enumerate(lines):
        (more,) = [more for begins, more in FAST.items() if line.startswith(begins)]
        lines[place] = f"{line} {more}"
    ended = subprocess.run(
        [sys.executable, "-c", records + RUN, *sorted(lines, key=lambda line: "pool.toml" in line)],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return Done(folder, " ".join(ended.stdout.split()))


def test_the_commands_check_study_pool_verify_and_report(done: Done) -> None:
    for words in (
        "Waiting times (waiting): N = 1,000, reproducible for a given seed.",
        "no change exceeds its claim",
        "how often 90 % intervals contain the truth",
        "1,000 draws of waiting with N = 1,000",
    ):
        assert words in done.said
    assert "DIFFERS" not in done.said
    for study in ("compare-mechanisms", "coverage", "mechanism-posterior"):
        assert (done.folder / "results" / f"{study}.csv").is_file()
    pool = reading.read(done.folder / "pool.toml")
    assert [each.name for each in pool.summaries] == ["log time", "its square", "over an hour"]
    report = (done.folder / "report.html").read_text("utf-8")
    assert "verify release.json --plugin my_model.py" in report


@pytest.mark.parametrize("name", ["release", "by_pool"])
def test_releases_by_the_model_and_by_the_pool_agree(name: str, done: Done) -> None:
    document = json.loads((done.folder / f"{name}.json").read_text(encoding="utf-8"))
    assert document["statement"].startswith("Protects one patient: pure differential privacy")
    assert document["cost"]["epsilon"] == pytest.approx(1.0)
    assert document["release"]["names"] == ["log time", "its square", "over an hour"]
    (low, high), _ = document["posterior"]["intervals"]
    # Only noise of twenty times its scale moves 25 minutes by a third.
    assert 12.0 < low < high < 45.0


def test_every_key_of_the_file_is_in_the_table_and_every_link_leads_somewhere() -> None:
    part = PAGE[PAGE.index("| key |") :]
    tables = (reading.Stated, reading.Theta, reading.Contribution, reading.Declared)
    keys = {key for table in tables for key in table.model_fields}
    assert [key for key in keys if f"`{key}" not in part and f"[{key}" not in part] == []
    for target in re.findall(r"\]\((\.\./[^)]+)\)", PAGE):
        assert (ROOT / "docs" / target).is_file()


@pytest.mark.usefixtures("own_registry")
def test_the_notebook_is_up_to_date_and_has_the_model_of_the_page() -> None:
    (file,) = (file for file in notebooks.FILES if file not in notebooks.OF_LESSONS)
    kept, namespace = notebooks.cells(file), dict[str, Any]()
    ran = [notebooks.run(cell, namespace) for cell in kept if cell.is_code]
    assert notebooks.text(kept, ran) == file.read_text(encoding="utf-8"), "run: make notebooks"
    assert f"```python\n{namespace['text'].strip()}\n```" in PAGE
