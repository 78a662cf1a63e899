"""A mechanism or a scenario is one file; added as a plug-in, every study finds it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from tests.sources import ROOT

PLUGINS = Path(__file__).parent / "plugins"

SEVERAL = """
import sys
from abcdp_core.__main__ import main
for line in sys.argv[1:]:
    assert main(line.split()) == 0, line
"""
"""Run several commands in one process, because starting one takes seconds."""

SMALL = "--set scenario=gaussian-mean --set pool_size=300 --set epsilon_total=1 --set runs=2"


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of studies with a mechanism and a scenario that are plug-ins, in files."""
    folder = tmp_path_factory.mktemp("plugins")
    files = ("report_noisy_max.py", "gaussian_mean.py")
    added = " ".join(f"--plugin {PLUGINS / file}" for file in files)
    commands = [
        f"run {study} --seed 1 --workers 1 --formats csv,json --out {folder} {settings}"
        for study, settings in (
            *((name, SMALL) for name in ("compare-mechanisms", "coverage", "mse-curves", "plan")),
            ("accounting", "--set n=100 --set pool_size=100 --set c=3"),
        )
    ]
    # Plug-ins stay for the whole process.
    line = [sys.executable, "-c", SEVERAL, f"{commands[0]} {added}", *commands[1:]]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("study", ["compare-mechanisms", "coverage", "plan"])
def test_every_mechanism_runs_in_the_scenario(out: Path, study: str) -> None:
    found = set(pd.read_csv(out / f"{study}.csv").mechanism)
    assert {"report-noisy-max", "sparse-vector", "nearest-selection"} <= found


def test_errors_are_those_of_the_scenario(out: Path) -> None:
    errors = pd.read_csv(out / "mse-curves.csv")
    # The prior mean is 0, the truth 0.5.
    assert errors.prior_mae.unique().tolist() == [0.5]
    assert len(errors) == 2


def test_the_mechanism_is_labeled_and_its_budget_is_split_into_parts(out: Path) -> None:
    label = json.loads((out / "compare-mechanisms.json").read_text())["privacy"]
    assert "report noisy max" in label[: label.index("pure differential privacy")]
    parts = pd.read_csv(out / "accounting.price.csv")
    (part,) = parts[parts.mechanism == "report-noisy-max"].itertuples()
    assert part.count == 3
    assert 3 * part.cost == pytest.approx(1.0)
    curves = pd.read_csv(out / "accounting.tradeoff.csv")
    assert set(curves[curves.mechanism == "report-noisy-max"].kind) == {"bound"}


FORMER = """
import importlib
from abcdp_core.base import former
for old, new in former.NAMES.items():
    found = importlib.import_module(f"abcdp_core.{old}")
    assert found is importlib.import_module(f"abcdp_core.{new}"), old
    assert found.__name__ == f"abcdp_core.{new}"
from abcdp_core import pool, trials
from abcdp_core.simulators.uniform_mixture import SCENARIO
from abcdp_core.models.simulators import uniform_mixture
assert SCENARIO is uniform_mixture.SCENARIO
assert pool.__name__ == "abcdp_core.models.pool"
assert trials.own.__module__ == "abcdp_core.evaluation.cases"
"""


def test_modules_are_found_by_their_former_names() -> None:
    # A process of its own: the package keeps what was imported under another name.
    subprocess.run([sys.executable, "-c", FORMER], check=True)
