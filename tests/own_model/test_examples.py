"""The commands of the page on one's own model work, and mechanisms serve both examples."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest

from abcdp_core.__main__ import main
from abcdp_core.own_model import reading
from tests.test_plugins import ROOT, SEVERAL

PAGE = (ROOT / "docs" / "own_model.md").read_text(encoding="utf-8")

BY_POOL = "release pool.toml"

FAST = {
    "check my_model.py": "--runs 2 --pool-size 200 --workers 1",
    "check pool.toml": "--runs 10",
    "plan": "--runs 2 --pool-size 200 --workers 1",
    "run compare-mechanisms": "--set runs=2 --set pool_size=200 --set epsilon_total=1 --workers 1",
    "run coverage": "--set runs=2 --set pool_size=200 --set epsilon_total=1 --workers 1",
    "run mechanism-posterior": "--set pool_size=200 --workers 1",
    "pool": "--pool-size 1000",
    "release waiting": "--yes --number-of-draws 100 --simulations 1000 --workers 1",
    BY_POOL: "--yes --number-of-draws 100 --workers 1",
    "verify": "--workers 1",
    "report": "--workers 1",
}
"""Beginning of a command on the page -> options that make it fast."""


class Done(NamedTuple):
    """Folder and output of all commands."""

    folder: Path
    said: str


FEW = """
from abcdp_core.own_model import examination
from abcdp_core.posterior import fit, pool
examination.FIRST_DRAWS = 1000
fit.fit.__defaults__ = (fit.one_by_one, 1000)
pool.LOOKED_FOR = 10
"""


def run(lines: list[str], folder: Path) -> str:
    """Run commands in a folder in one process, which registers the first plug-in for all."""
    ended = subprocess.run(
        [sys.executable, "-c", FEW + SEVERAL, *lines],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return " ".join(ended.stdout.split())


def of_page(folder: Path) -> list[str]:
    """Write the page's files and return its commands."""
    model, records = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    small = model.replace("sizes=", "pool_size=1000,\n    sizes=")
    (folder / "my_model.py").write_text(small, encoding="utf-8")
    with contextlib.chdir(folder):
        exec(compile(records, "records of the page", "exec"), {})
    lines = re.findall(r"^    abcdp (.*)$", PAGE, re.MULTILINE)
    assert len(lines) == 11
    for place, line in enumerate(lines):
        (more,) = [more for begins, more in FAST.items() if line.startswith(begins)]
        # The first command plugs the model in for all.
        lines[place] = f"{line.replace(' --plugin my_model.py', '')} {more}"
    return lines


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Done:
    """Run all commands but the release by a pool, which has the name of the model."""
    folder = tmp_path_factory.mktemp("own")
    lines = [line for line in of_page(folder) if not line.startswith(BY_POOL)]
    return Done(folder, run(lines, folder))


def test_the_check_confirms_the_model(done: Done) -> None:
    assert "Waiting times (waiting): N = 1,000, reproducible for a given seed." in done.said
    assert "no change exceeds its claim" in done.said
    assert "how often 90 % intervals contain the truth" in done.said


def test_the_commands_write_their_results(done: Done) -> None:
    for study in ("compare-mechanisms", "coverage", "mechanism-posterior"):
        assert (done.folder / "results" / f"{study}.csv").is_file()
    pool = reading.read(done.folder / "pool.toml")
    assert [each.name for each in pool.summaries] == ["log time", "its square", "over an hour"]
    assert pool.n == 1000
    assert "1,000 draws of waiting with N = 1,000" in done.said


def check_release(file: Path) -> None:
    document = json.loads(file.read_text(encoding="utf-8"))
    assert document["statement"].startswith("Protects one patient: pure differential privacy")
    assert document["cost"]["epsilon"] == pytest.approx(1.0)
    assert document["release"]["names"] == ["log time", "its square", "over an hour"]
    (low, high), _ = document["posterior"]["intervals"]
    # Only noise of twenty times its scale moves 25 minutes by a third.
    assert 12.0 < low < high < 45.0


def test_the_release_by_the_model_is_verified_and_reported(done: Done) -> None:
    check_release(done.folder / "release.json")
    assert "DIFFERS" not in done.said
    report = (done.folder / "report.html").read_text("utf-8")
    assert "verify release.json --plugin my_model.py" in report


@pytest.mark.usefixtures("own_registry", "few_simulations")
def test_the_release_by_the_pool_agrees(done: Done, monkeypatch: pytest.MonkeyPatch) -> None:
    (line,) = [each for each in of_page(done.folder) if each.startswith(BY_POOL)]
    monkeypatch.chdir(done.folder)
    assert main(line.split()) == 0
    check_release(done.folder / "by_pool.json")


def test_every_key_of_the_file_is_in_the_table_and_every_link_leads_somewhere() -> None:
    part = PAGE[PAGE.index("| key |") :]
    tables = (reading.Stated, reading.Theta, reading.Contribution, reading.Declared)
    keys = {key for table in tables for key in table.model_fields}
    assert [key for key in keys if f"`{key}" not in part and f"[{key}" not in part] == []
    for target in re.findall(r"\]\((\.\./[^)]+)\)", PAGE):
        assert (ROOT / "docs" / target).is_file()


SERVED = {
    *("sparse-vector", "gaussian-rejection", "soft-weights", "private-embedding"),
    *("embedding-estimate", "private-summary", "nearest-selection"),
    "nearest-selection-approximate",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "name", "first"), [("gaussian", "gaussian-2d", "mean of x"), ("sir", "sir", "R")]
)
def test_every_mechanism_that_applies_serves_an_example(
    file: str, name: str, first: str, tmp_path: Path
) -> None:
    small = f"--set scenario={name} --set pool_size=300"
    more = f"--seed 1 --workers 1 --formats csv,json --out {tmp_path}"
    compare = "--set epsilon_total=10 --set truths=prior --set runs=4"
    lines = [
        f"run compare-mechanisms --plugin {ROOT}/examples/{file}.py {small} {compare} {more}",
        f"run plan {small} --set runs=2 {more}",
        f"run posterior {small} {more}",
    ]
    run(lines, tmp_path)

    def table(which: str) -> pd.DataFrame:
        return pd.read_csv(tmp_path / f"{which}.csv")

    found = table("compare-mechanisms")
    assert set(found.mechanism) == SERVED
    label = json.loads((tmp_path / "compare-mechanisms.json").read_text())["privacy"]
    assert "protects one person: pure differential privacy with ε_total = 10" in label
    best = found[(found.mechanism == "private-summary") & (found.epsilon_total == 10.0)]
    prior = table("compare-mechanisms.prior").mse_scaled.mean()
    assert best.mse_scaled.mean() < 0.7 * prior
    refused = table("plan.refused").set_index("mechanism").why
    assert set(refused.index) == {"noisy-counts", "private-summary-large-unit"}
    assert "counts" in refused["noisy-counts"]
    assert first in set(table("posterior").parameter)
