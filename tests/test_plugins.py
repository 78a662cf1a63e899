"""A mechanism or a scenario is one file; added as a plug-in, every study finds it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[1]
PLUGINS = Path(__file__).parent / "plugins"

SEVERAL = """
import sys
from abcdp_core.__main__ import main
for line in sys.argv[1:]:
    assert main(line.split()) == 0, line
"""
"""Run several commands in one process, because starting one takes seconds."""


def run(tmp_path: Path, plugin: str, *commands: str) -> Path:
    """Run studies with a plug-in and return the folder of their tables."""
    more = f"--seed 1 --workers 1 --formats csv,json --out {tmp_path}"
    lines = [f"run {command} {more}" for command in commands]
    lines[0] += f" --plugin {PLUGINS / plugin}"  # kept for the whole process
    done = subprocess.run(
        [sys.executable, "-c", SEVERAL, *lines],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return tmp_path


ACCURACY = ("compare-mechanisms", "coverage", "mse-curves")

SMALL = "--set n=100 --set pool_size=100 --set runs=2 --set epsilon_total=1,10 --set c=3"


@pytest.fixture(scope="module")
def with_mechanism(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(
        tmp_path_factory.mktemp("mechanism"),
        "report_noisy_max.py",
        f"compare-mechanisms {SMALL}",
        f"coverage {SMALL}",
        "accounting --set n=100 --set pool_size=100 --set c=3",
        "mechanism-posterior --set mechanism=report-noisy-max --set n=100 --set pool_size=100",
        "plan --set n=100 --set pool_size=100 --set runs=2",
    )


@pytest.mark.parametrize("study", ["compare-mechanisms", "coverage", "accounting", "plan"])
def test_a_mechanism_in_a_file_is_in_every_table(with_mechanism: Path, study: str) -> None:
    main = pd.read_csv(with_mechanism / f"{study}.csv")
    assert "report-noisy-max" in set(main.mechanism)
    assert "sparse-vector" in set(main.mechanism)


def test_its_budget_is_split_into_parts(with_mechanism: Path) -> None:
    parts = pd.read_csv(with_mechanism / "accounting.price.csv")
    (part,) = parts[parts.mechanism == "report-noisy-max"].itertuples()
    assert part.count == 3
    assert 3 * part.cost == pytest.approx(1.0)
    curves = pd.read_csv(with_mechanism / "accounting.tradeoff.csv")
    assert set(curves[curves.mechanism == "report-noisy-max"].kind) == {"bound"}


def test_labels_state_its_guarantee(with_mechanism: Path) -> None:
    label = json.loads((with_mechanism / "compare-mechanisms.json").read_text())["privacy"]
    pure = label[: label.index("pure differential privacy")]
    assert "report noisy max" in pure
    assert "sparse vector" in pure
    posterior = json.loads((with_mechanism / "mechanism-posterior.json").read_text())
    assert "pure differential privacy with ε_total = 0.2 " in posterior["privacy"]
    assert posterior["summary"].startswith("With ε_total = 0.2, report noisy max ")


def test_a_scenario_in_a_file_runs_all_accuracy_studies(tmp_path: Path) -> None:
    of_it = "--set scenario=gaussian-mean --set runs=2 --set epsilon_total=1 --set pool_size=300"
    found = run(
        tmp_path,
        "gaussian_mean.py",
        *(f"{study} {of_it}" for study in (*ACCURACY, "plan")),
    )
    assert "nearest-selection" in set(pd.read_csv(found / "plan.csv").mechanism)
    for study in ("compare-mechanisms", "coverage"):
        main = pd.read_csv(found / f"{study}.csv")
        assert {"sparse-vector", "nearest-selection"} <= set(main.mechanism)
    errors = pd.read_csv(found / "mse-curves.csv")
    # The prior mean is 0, the truth 0.5.
    assert errors.prior_mae.unique().tolist() == [0.5]
    assert len(errors) == 2
