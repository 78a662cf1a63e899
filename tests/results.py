"""Results that several tests share: the first test to ask computes them."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import filelock
import pytest

from abcdp_core import studies
from abcdp_core.base import cache
from abcdp_core.base.parameters import Params
from abcdp_core.models import pool
from abcdp_core.run import runner
from abcdp_core.run.results import Result
from abcdp_core.studies import Experiment


@functools.cache
def of(experiment: str, params: Params, seed: int = 1) -> Result:
    """Return the complete result of a study; this test run shares its finished tasks."""
    folder = cache.folder() / "results"
    folder.mkdir(parents=True, exist_ok=True)
    # The second test waits for the first and computes nothing.
    with filelock.FileLock(folder / f"{experiment}.lock"):
        store = runner.Store(folder)
        *_, result = runner.run(studies.load(experiment), params, seed, store=store)
    return result


def changed(study: Experiment, params: Params, seed: int = 1, **changes: Any) -> Result:
    """Return the result of a study with some parameters changed, computed once per process."""
    return _computed(study, dataclasses.replace(params, **changes), seed)


@functools.cache
def _computed(study: Experiment, params: Params, seed: int) -> Result:
    return runner.run_to_end(study, params, seed)


def without_private_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make any access to the private data raise a ZeroDivisionError."""
    for place in (pool, pool.comparing):
        monkeypatch.setattr(place, "observed_data", lambda *_: 1 / 0)
