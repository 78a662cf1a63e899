"""Results that several tests read: whoever comes first computes."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import filelock
import pytest

from abcdp_core import cache, pool, runner, studies
from abcdp_core.parameters import Params
from abcdp_core.results import Result
from abcdp_core.studies import Experiment


@functools.cache
def of(experiment: str, params: Params, seed: int = 1) -> Result:
    """The whole result of a study, its finished tasks shared by this run of the tests."""
    folder = cache.folder() / "results"
    folder.mkdir(parents=True, exist_ok=True)
    # Who comes second waits for the first, and computes nothing.
    with filelock.FileLock(folder / f"{experiment}.lock"):
        store = runner.Store(folder)
        *_, result = runner.run(studies.load(experiment), params, seed, store=store)
    return result


def changed(study: Experiment, params: Params, seed: int = 1, **changes: Any) -> Result:
    """The result of a study at parameters of which some are changed, computed once here."""
    return _computed(study, dataclasses.replace(params, **changes), seed)


@functools.cache
def _computed(study: Experiment, params: Params, seed: int) -> Result:
    return runner.run_to_end(study, params, seed)


def without_private_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let whoever reads the private data fail with a ZeroDivisionError."""
    for place in (pool, pool.comparing):
        monkeypatch.setattr(place, "observed_data", lambda *_: 1 / 0)
