"""What is imported before anybody asked for a computation: nothing that takes long and is not used.

Each program runs in a process of its own, because in this one everything is imported already.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from abcdp_core.__main__ import COMMANDS

ROOT = Path(__file__).resolve().parents[1]

COMMAND = """
import contextlib, io, json, sys
from abcdp_core.__main__ import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main({arguments})
print(json.dumps(list(sys.modules)))
"""

FIRST_PAGE = """
import json, logging, sys
logging.disable()
from streamlit.testing.v1 import AppTest
app = AppTest.from_file("app.py", default_timeout=120)
app.query_params.update(n="10", c="1", pool_size="10")
for _ in range(60):
    # Each run waits a second for the result.
    if not app.run().exception and app.get("plotly_chart"):
        break
assert not app.exception, app.exception
assert app.get("plotly_chart"), "the page is complete"
print(json.dumps(list(sys.modules)))
"""

MOST_MODULES = 90
"""Of ours, behind the first page: what is not seen there is loaded where it is asked for."""

HEAVY = {
    *("autodp", "dask", "distributed", "kaleido", "loky", "matplotlib", "numba", "numpy"),
    *("pandas", "plotly", "scipy", "streamlit"),
}


def imported_by(program: str) -> set[str]:
    """Names of all modules that a program has imported at its end."""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    # Worker processes that are being started as the program ends say so.
    (names,) = (line for line in done.stdout.splitlines() if line.startswith("["))
    return set(json.loads(names))


def below(package: str, modules: set[str]) -> set[str]:
    """Modules inside a package, by their names in it."""
    return {name.removeprefix(f"{package}.") for name in modules if name.startswith(f"{package}.")}


@pytest.mark.parametrize("arguments", [["list"], ["--help"], ["list", "--help"], ["fly"]], ids=str)
def test_what_only_names_things_imports_no_study_and_nothing_heavy(arguments: list[str]) -> None:
    modules = imported_by(COMMAND.format(arguments=arguments))
    assert {name.split(".")[0] for name in modules} & HEAVY == set()
    assert below("abcdp_core.studies", modules) == set()
    assert below("abcdp_core.simulators", modules) == set()
    shared = {"arguments", "ending", "layout"}
    assert below("abcdp_core.cli", modules) - shared <= {arguments[0]}


def test_a_command_imports_no_other_command() -> None:
    modules = imported_by(COMMAND.format(arguments=["run", "--help"]))
    assert below("abcdp_core.cli", modules) & COMMANDS.keys() == {"run"}
    assert below("abcdp_core.studies", modules) == set()
    heavy = {name.split(".")[0] for name in modules} & {"autodp", "distributed", "matplotlib"}
    assert heavy == set()


def test_the_first_page_imports_the_studies_that_it_shows_and_no_other() -> None:
    modules = imported_by(FIRST_PAGE)
    assert below("abcdp_core.studies", modules) == {"posterior", "expected_error"}
    assert below("abcdp_core.simulators", modules) == {"uniform_mixture"}
    others = {"adaptive", "claims", "lessons.reading", "output", "posterior", "release"}
    assert not {f"abcdp_core.{each}" for each in others} & modules
    ours = [name for name in modules if name.startswith(("abcdp_core", "ui."))]
    assert len(ours) <= MOST_MODULES
    never = HEAVY - {"loky", "numba", "numpy", "pandas", "plotly", "scipy", "streamlit"}
    assert {name.split(".")[0] for name in modules} & never == set()
    # Some of SciPy comes with numba, some with the interpolation of the curve of errors.
    assert "scipy.stats" not in modules
