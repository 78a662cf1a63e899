"""The wheel, installed far from the checkout: its commands and its app need nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext

from tests.browser.server import ROOT, free_port, running
from tests.browser.visit import Visit

pytestmark = pytest.mark.slow


def do(*words: str, folder: Path, **environment: str) -> str:
    """Run a program elsewhere; what it prints."""
    done = subprocess.run(
        words, cwd=folder, env=os.environ | environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the program and nothing of the checkout; its libraries are those at hand."""
    wheels, target = (tmp_path_factory.mktemp(name) for name in ("wheels", "installed"))
    do(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(wheels), folder=ROOT)
    (wheel,) = wheels.glob("*.whl")
    # More than half are shipped results, so that no page has to wait for them.
    assert wheel.stat().st_size < 12e6
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps")
    do(*pip, "--target", str(target), str(wheel), folder=wheels)
    return target


def abcdp(installed: Path) -> list[str]:
    """The command, with this Python's libraries and the installed program only."""
    return [sys.executable, "-P", str(installed / "bin" / "abcdp")]


def test_commands_work_from_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    here = {"PYTHONPATH": str(installed), "ABCDP_CACHE_DIR": str(tmp_path / "cache")}

    def run(line: str) -> str:
        return do(*abcdp(installed), *line.split(), folder=tmp_path, **here)

    assert "mse-curves" in run("list")
    run("run posterior --set n=100 --set pool_size=100 --workers 1 --formats csv --out out")
    assert (tmp_path / "out" / "posterior.csv").exists()
    data = installed / "abcdp_app" / "examples" / "incomes.csv"
    release = f"uniform-mixture --data {data} --domain 0,100000 --epsilon-total 1 --yes"
    run(f"release {release} --out released.json")
    assert "recomputed" in run("verify released.json")
    found = do(
        sys.executable, "-P", "-c", "import abcdp_core; print(abcdp_core.__file__)",
        folder=tmp_path, **here,
    )  # fmt: skip
    assert found.strip() == str(installed / "abcdp_core" / "__init__.py")


def test_the_app_opens_on_its_first_page(
    installed: Path, context: BrowserContext, tmp_path: Path
) -> None:
    port = free_port()
    command = [*abcdp(installed), "app", "--port", str(port)]
    with running(command, port, tmp_path, tmp_path, PYTHONPATH=str(installed)) as address:
        visit = Visit(context.new_page(), address)
        visit.open("")
        # What is not shipped is computed in worker processes, which have to find the app too.
        visit.open("flip_probability")
        assert visit.title
        assert not visit.foreign()
        visit.page.close()
