"""The study of ``docs/own_study.md`` runs as it is written there."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "own_study.md").read_text(encoding="utf-8")
SMALL = ("--set", "n=100", "--set", "pool_size=100", "--set", "runs=2", "--workers", "2")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its results, by the commands of the text."""
    folder = tmp_path_factory.mktemp("own_study")
    (code,) = re.findall(r"^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    (folder / "draws_kept.py").write_text(code, encoding="utf-8")
    commands = re.findall(r"^    abcdp (.+)$", TEXT, re.MULTILINE)
    for command in commands:
        words = command.replace("draws_kept.py", str(folder / "draws_kept.py"))
        words = words.replace("results", str(folder / "results")).split()
        more = SMALL if words[0] == "run" else ()
        done = subprocess.run(
            [sys.executable, "-m", "abcdp_core", *words, *more],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    return folder / "results"


def test_its_table_has_a_row_for_each_cell_and_run(folder: Path) -> None:
    main = pd.read_csv(folder / "draws-kept.csv")
    assert list(main) == ["epsilon_abc", "epsilon_total", "run", "kept"]
    assert len(main) == 3 * 3 * 2
    assert main.kept.between(0, 20).all()
    assert main[main.epsilon_abc == 0.5].kept.mean() > main[main.epsilon_abc == 0.02].kept.mean()


def test_its_page_says_what_it_finds_and_what_it_costs(folder: Path) -> None:
    content = json.loads((folder / "draws-kept.json").read_text(encoding="utf-8"))
    assert re.match(
        r"On average, [\d.]+ of 20 draws are kept at ε_abc = 0\.02\.", content["summary"]
    )
    assert "pure differential privacy with ε_total = 5 " in content["privacy"]
    assert list(folder.glob("*.html"))
