"""Results that several files of tests read: whoever comes first computes, in whatever process."""

from __future__ import annotations

import functools

import filelock

from abcdp_core import cache, experiments, runner
from abcdp_core.parameters import Params
from abcdp_core.results import Result


@functools.cache
def of(experiment: str, params: Params, seed: int = 1) -> Result:
    """The whole result of a study, its finished tasks shared by this run of the tests."""
    folder = cache.folder() / "results"
    folder.mkdir(parents=True, exist_ok=True)
    # Who comes second waits for the first, and computes nothing.
    with filelock.FileLock(folder / f"{experiment}.lock"):
        store = runner.Store(folder)
        *_, result = runner.run(experiments.load(experiment), params, seed, store=store)
    return result
