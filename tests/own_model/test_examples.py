"""The worked examples by plug-in: every mechanism that applies serves them, the others say why."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from tests.test_plugins import ROOT, SEVERAL

SERVED = {
    *("sparse-vector", "gaussian-rejection", "soft-weights", "private-embedding"),
    *("embedding-estimate", "private-summary", "nearest-selection"),
    "nearest-selection-approximate",
}
EVERY = pytest.mark.parametrize("name", ["gaussian-2d", "sir"])


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Studies of both in one process, which starts but once; a folder for each."""
    folder = tmp_path_factory.mktemp("examples")
    lines = []
    for name in ("gaussian-2d", "sir"):
        more = f"--seed 1 --workers 1 --formats csv,json --out {folder / name}"
        small = f"--set scenario={name} --set pool_size=300"
        lines += [
            f"run compare-mechanisms {small} --set epsilon_total=1,10 --set truths=prior "
            f"--set runs=4 {more}",
            f"run plan {small} --set runs=2 {more}",
            f"run posterior {small} {more}",
        ]
    lines.append(f"run coverage {small} --set runs=2 --set epsilon_total=1 {more}")
    # They stay for the process.
    lines[0] += "".join(f" --plugin {ROOT / 'examples' / each}.py" for each in ("gaussian", "sir"))
    done = subprocess.run(
        [sys.executable, "-c", SEVERAL, *lines],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


@EVERY
def test_every_mechanism_that_applies_serves_an_example(tables: Path, name: str) -> None:
    main = pd.read_csv(tables / name / "compare-mechanisms.csv")
    assert set(main.mechanism) == SERVED
    label = json.loads((tables / name / "compare-mechanisms.json").read_text())["privacy"]
    assert "Protects one person: pure differential privacy with ε_total = 10" in label
    assert "when it is replaced by any other" in label


@EVERY
def test_the_private_summary_errs_much_less_than_the_prior(tables: Path, name: str) -> None:
    main = pd.read_csv(tables / name / "compare-mechanisms.csv")
    prior = pd.read_csv(tables / name / "compare-mechanisms.prior.csv").mse_scaled.mean()
    best = main[(main.mechanism == "private-summary") & (main.epsilon_total == 10.0)]
    assert best.mse_scaled.mean() < 0.7 * prior


@EVERY
def test_the_others_say_why_not(tables: Path, name: str) -> None:
    refused = pd.read_csv(tables / name / "plan.refused.csv").set_index("mechanism").why
    assert set(refused.index) == {"noisy-counts", "private-summary-large-unit"}
    assert "no counts of cells" in refused["noisy-counts"]
    assert "second, larger unit" in refused["private-summary-large-unit"]


@EVERY
def test_a_posterior_is_one_of_its_own_parameters(tables: Path, name: str) -> None:
    posterior = pd.read_csv(tables / name / "posterior.csv")
    first = {"gaussian-2d": "mean of x", "sir": "R"}
    assert first[name] in set(posterior.parameter)
