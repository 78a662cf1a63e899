"""What is imported before anything is computed: nothing slow that is not used.

Each program runs in its own process, because this one has imported everything already.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from abcdp_core.__main__ import COMMANDS

ROOT = Path(__file__).resolve().parents[1]

COMMAND = """
import contextlib, io, json, sys
from abcdp_core.__main__ import main
for line in {lines}:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        main(line.split())
print(json.dumps(list(sys.modules)))
"""

FIRST_PAGE = """
import json, logging, sys
logging.disable()
from streamlit.testing.v1 import AppTest
app = AppTest.from_file("app.py", default_timeout=120)
app.run()
assert not app.exception, app.exception
assert "story" in [each.key for each in app.get("bidi_component")], "the page is complete"
print(json.dumps(list(sys.modules)))
"""

MOST_MODULES = 93
"""Modules of ours behind the first page; the others are loaded when they are needed."""

HEAVY = {
    *("autodp", "dask", "distributed", "kaleido", "loky", "matplotlib", "numba", "numpy"),
    *("pandas", "plotly", "scipy", "streamlit"),
}


def imported_by(program: str) -> set[str]:
    """Return the names of all modules that a program has imported at its end."""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    # Worker processes that are starting as the program ends may print lines, too.
    (names,) = (line for line in done.stdout.splitlines() if line.startswith("["))
    return set(json.loads(names))


def below(package: str, modules: set[str]) -> set[str]:
    """Return the names that imported modules have inside a package."""
    return {name.removeprefix(f"{package}.") for name in modules if name.startswith(f"{package}.")}


def tops(modules: set[str]) -> set[str]:
    return {name.split(".")[0] for name in modules}


def test_help_and_lists_import_no_study_and_nothing_heavy() -> None:
    modules = imported_by(COMMAND.format(lines=["list", "--help", "list --help", "fly"]))
    assert tops(modules) & HEAVY == set()
    assert below("abcdp_core.studies", modules) == set()
    assert below("abcdp_core.models.simulators", modules) == set()
    assert below("abcdp_core.cli", modules) <= {"arguments", "console", "layout", "list"}


def test_a_command_imports_no_other_command() -> None:
    modules = imported_by(COMMAND.format(lines=["run --help"]))
    assert below("abcdp_core.cli", modules) & COMMANDS.keys() == {"run"}
    assert below("abcdp_core.studies", modules) == set()
    assert tops(modules) & {"autodp", "distributed", "matplotlib"} == set()


def test_the_first_page_imports_only_the_studies_it_shows() -> None:
    modules = imported_by(FIRST_PAGE)
    # The knobs are those of a release.
    studies = {name.split(".")[0] for name in below("abcdp_core.studies", modules)}
    assert studies == {"engine", "posterior"}
    assert below("abcdp_core.models.simulators", modules) == {"uniform_mixture"}
    others = {"adaptive", "posterior", "publish.claims", "publish.lessons.reading", "release"}
    assert not {f"abcdp_core.{each}" for each in others} & modules
    ours = [name for name in modules if name.startswith(("abcdp_core", "ui."))]
    assert len(ours) <= MOST_MODULES
    used = {"loky", "numba", "numpy", "pandas", "plotly", "scipy", "streamlit"}
    assert tops(modules) & (HEAVY - used) == set()
    # Numba and the interpolation of the error curve use some of SciPy.
    assert "scipy.stats" not in modules
