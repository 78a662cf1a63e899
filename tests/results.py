"""Results that several files of tests read: whoever comes first computes, in whatever process."""

from __future__ import annotations

import functools

from abcdp_core import cache, experiments, runner
from abcdp_core.parameters import Params
from abcdp_core.results import Result


@functools.cache
def of(experiment: str, params: Params, seed: int = 1) -> Result:
    """The whole result of a study, its finished tasks shared by this run of the tests."""
    store = runner.Store(cache.folder() / "results")
    *_, result = runner.run(experiments.load(experiment), params, seed, store=store)
    return result
