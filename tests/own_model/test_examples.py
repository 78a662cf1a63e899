"""The worked examples and the page on one's own model, by plug-in: all runs that they need.

Every mechanism that applies serves an example, and the others say why not; the page's commands do
what it says.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

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
    "release waiting": "--yes --draws 100 --simulations 1000 --workers 1",
    BY_POOL: "--yes --draws 100 --workers 1",
    "verify": "--workers 1",
    "report": "--workers 1",
}
"""Begins a command of the page -> what makes it take a second."""

SERVED = {
    *("sparse-vector", "gaussian-rejection", "soft-weights", "private-embedding"),
    *("embedding-estimate", "private-summary", "nearest-selection"),
    "nearest-selection-approximate",
}
NAMES = ("gaussian-2d", "sir")
EVERY = pytest.mark.parametrize("name", NAMES)


@dataclass(frozen=True)
class Done:
    """Where all commands ran, and what they printed."""

    folder: Path
    said: str


def of_page(folder: Path) -> list[str]:
    """Write the page's files; its commands. The first one plugs the model in, for the process."""
    model, records = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    # A tenth of the simulations of each release is enough.
    small = model.replace("sizes=", "pool_size=1000,\n    sizes=")
    (folder / "my_model.py").write_text(small, encoding="utf-8")
    with contextlib.chdir(folder):
        exec(compile(records, "records of the page", "exec"), {})
    lines = re.findall(r"^    abcdp (.*)$", PAGE, re.MULTILINE)
    assert len(lines) == 11
    for place, line in enumerate(lines):
        (more,) = [more for begins, more in FAST.items() if line.startswith(begins)]
        lines[place] = f"{line.replace(' --plugin my_model.py', '')} {more}"
    return lines


def of_example(name: str) -> list[str]:
    more = f"--seed 1 --workers 1 --formats csv,json --out {name}"
    small = f"--set scenario={name} --set pool_size=300"
    return [
        f"run compare-mechanisms {small} --set epsilon_total=10 --set truths=prior "
        f"--set runs=4 {more}",
        f"run plan {small} --set runs=2 {more}",
        f"run posterior {small} {more}",
    ]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Done:
    """All commands but the release by a pool in one process, which starts but once.

    In that process the pool's name is the model's already.
    """
    folder = tmp_path_factory.mktemp("own")
    of_one = [line for line in of_page(folder) if not line.startswith(BY_POOL)]
    lines = [*of_one, *of_example("gaussian-2d"), *of_example("sir")]
    lines[0] += "".join(f" --plugin {ROOT / 'examples' / each}.py" for each in ("gaussian", "sir"))
    ended = subprocess.run(
        [sys.executable, "-c", SEVERAL, *lines],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return Done(folder, " ".join(ended.stdout.split()))


@EVERY
def test_every_mechanism_that_applies_serves_an_example(done: Done, name: str) -> None:
    main = pd.read_csv(done.folder / name / "compare-mechanisms.csv")
    assert set(main.mechanism) == SERVED
    label = json.loads((done.folder / name / "compare-mechanisms.json").read_text())["privacy"]
    assert "Protects one person: pure differential privacy with ε_total = 10" in label
    assert "when it is replaced by any other" in label


@EVERY
def test_the_private_summary_errs_much_less_than_the_prior(done: Done, name: str) -> None:
    main = pd.read_csv(done.folder / name / "compare-mechanisms.csv")
    prior = pd.read_csv(done.folder / name / "compare-mechanisms.prior.csv").mse_scaled.mean()
    best = main[(main.mechanism == "private-summary") & (main.epsilon_total == 10.0)]
    assert best.mse_scaled.mean() < 0.7 * prior


@EVERY
def test_the_others_say_why_not(done: Done, name: str) -> None:
    refused = pd.read_csv(done.folder / name / "plan.refused.csv").set_index("mechanism").why
    assert set(refused.index) == {"noisy-counts", "private-summary-large-unit"}
    assert "no counts of cells" in refused["noisy-counts"]
    assert "second, larger unit" in refused["private-summary-large-unit"]


@EVERY
def test_a_posterior_is_one_of_its_own_parameters(done: Done, name: str) -> None:
    posterior = pd.read_csv(done.folder / name / "posterior.csv")
    first = {"gaussian-2d": "mean of x", "sir": "R"}
    assert first[name] in set(posterior.parameter)


def test_the_check_says_that_the_file_holds(done: Done) -> None:
    assert "Waiting times (waiting): N = 1,000, reproducible under its seed." in done.said
    assert "none moves a statistic by more" in done.said
    assert "hold the truth in" in done.said


def test_the_commands_leave_what_they_say(done: Done) -> None:
    for study in ("compare-mechanisms", "coverage", "mechanism-posterior"):
        assert (done.folder / "results" / f"{study}.csv").is_file()
    pool = reading.read(done.folder / "pool.toml")
    assert [each.name for each in pool.summaries] == ["log time", "its square", "over an hour"]
    assert pool.n == 1000
    assert "1,000 draws of waiting with N = 1,000" in done.said


def test_the_release_by_the_model_says_where_the_records_come_from(done: Done) -> None:
    document = json.loads((done.folder / "release.json").read_text(encoding="utf-8"))
    assert document["statement"].startswith("Protects one patient: pure differential privacy")
    assert document["cost"]["epsilon"] == pytest.approx(1.0)
    (low, high), _ = document["posterior"]["intervals"]
    # Noise that moves 25 minutes by a third is twenty times as large as its scale.
    assert 12.0 < low < high < 45.0
    assert "DIFFERS" not in done.said
    assert "verify release.json --plugin my_model.py" in (done.folder / "report.html").read_text(
        "utf-8"
    )


@pytest.mark.usefixtures("own_registry")
def test_the_release_by_the_pool_says_the_same(done: Done, monkeypatch: pytest.MonkeyPatch) -> None:
    (line,) = [each for each in of_page(done.folder) if each.startswith(BY_POOL)]
    monkeypatch.chdir(done.folder)
    assert main(line.split()) == 0
    document = json.loads((done.folder / "by_pool.json").read_text(encoding="utf-8"))
    assert document["release"]["names"] == ["log time", "its square", "over an hour"]
    (low, high), _ = document["posterior"]["intervals"]
    assert 12.0 < low < high < 45.0


def test_every_key_of_the_file_is_in_the_table() -> None:
    part = PAGE[PAGE.index("| key |") :]
    keys = set().union(*reading.KEYS.values())
    assert [key for key in keys if f"`{key}" not in part and f"[{key}" not in part] == []


def test_it_names_files_that_there_are() -> None:
    for target in re.findall(r"\]\((\.\./[^)]+)\)", PAGE):
        assert (ROOT / "docs" / target).is_file()
