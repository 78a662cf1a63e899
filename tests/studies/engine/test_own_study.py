"""The study of ``docs/own_study.md`` runs as it is written there.

That it keeps what a study must keep in ``abcdp_core/studies`` is in ``studies/test_contract.py``.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from abcdp_core.base import registry
from tests.reference.commands import commands, computed
from tests.studies.engine import own_study

SMALL = " --set n=100 --set pool_size=100 --set runs=2 --workers 1"
SEVERAL = """
import sys
from abcdp_core.__main__ import main
sys.exit(any(main(line.split()) for line in sys.argv[1:]))
"""


def test_its_commands_give_a_table_and_a_page_that_says_what_was_found(tmp_path: Path) -> None:
    own_study.write(tmp_path)
    text = own_study.TEXT.replace("draws_kept.py", f"{tmp_path}/draws_kept.py")
    text = text.replace("--out results", f"--out {tmp_path}")
    listed, run = re.findall(r"^    abcdp (.+)$", text, re.MULTILINE)
    asked = [sys.executable, "-c", SEVERAL, listed, run + SMALL]
    done = subprocess.run(asked, cwd=own_study.ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    main = pd.read_csv(tmp_path / "draws-kept.csv")
    assert list(main) == ["epsilon_abc", "epsilon_total", "run", "kept"]
    assert len(main) == 3 * 3 * 2
    assert main.kept.between(0, 20).all()
    assert main[main.epsilon_abc == 0.5].kept.mean() > main[main.epsilon_abc == 0.02].kept.mean()
    content = json.loads((tmp_path / "draws-kept.json").read_text(encoding="utf-8"))
    assert content["summary"].startswith("At ε_abc = 0.02, the mean number of kept draws is ")
    assert "pure differential privacy with ε_total = 5 " in content["privacy"]
    assert list(tmp_path.glob("*.html"))


FORMER = {
    **{"models.simulators": "simulators", "studies.engine": "study", "StudyData": "OwnData"},
    **{"CellTable": "Cells", "Settings": "At"},
}
"""Name -> the one that a study of 0.3.0 has."""


@pytest.mark.usefixtures("no_plug_ins_left")
@pytest.mark.parametrize("names", [{}, FORMER])
def test_the_line_that_pins_it_is_a_command(tmp_path: Path, names: dict[str, str]) -> None:
    own_study.write(tmp_path)
    file = tmp_path / "draws_kept.py"
    for now, former in names.items():
        file.write_text(file.read_text("utf-8").replace(now, former), encoding="utf-8")
    registry.add_file(tmp_path / "draws_kept.py")
    (line,) = re.findall(r"^    (draws-kept: .+)$", own_study.TEXT, re.MULTILINE)
    (tmp_path / "commands.txt").write_text(line, encoding="utf-8")
    (command,) = commands(str(tmp_path / "commands.txt"))
    made = computed(command)
    assert len(made.tables["main"]) == 3 * 3 * 2
    assert set(made.words) == {"summary", "privacy", "caption of kept"}
