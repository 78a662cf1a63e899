from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from abcdp_core import studies
from abcdp_core.base import registry
from abcdp_core.mechanisms.sparse_vector import SparseVector
from abcdp_core.publish.output import browser as ours
from abcdp_core.run import runner
from abcdp_core.run.results import Result
from tests import toy_experiment
from tests.browser import chromium


@pytest.fixture(autouse=True)
def toy_is_known() -> Iterator[None]:
    """The toy experiment is found under its name."""
    before = list(registry._added)
    registry._added.append(toy_experiment)
    registry.forget()
    yield
    registry._added[:] = before
    registry.forget()


@pytest.fixture
def result() -> Result:
    """A complete one of the toy experiment."""
    made = runner.run_to_end(studies.load("toy"), toy_experiment.Params(3), 11)
    return dataclasses.replace(made, event=SparseVector(0.1, 1.5, 3.0, 7, True))


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch) -> None:
    """The Chromium of the browser tests draws."""
    found = chromium.find()
    assert found is not None
    monkeypatch.setenv("BROWSER_PATH", found)


@pytest.fixture
def silent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A browser draws that never answers, for which nobody waits longer than a second."""
    program = tmp_path / "browser"
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o755)
    monkeypatch.setenv("BROWSER_PATH", str(program))
    monkeypatch.setattr(ours, "LONGEST", 1.0)
