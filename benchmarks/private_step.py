"""The private step and what is drawn from it: what happens when a knob moves."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from abcdp_core import pool
from abcdp_core.experiments import posterior
from abcdp_core.mechanisms import sparse_vector
from abcdp_core.simulators import uniform_mixture
from benchmarks.measure import Measurement, here
from benchmarks.public_step import KEY

Asked = tuple[float, sparse_vector.SparseVector]
"""The threshold ε_abc, and what a run does."""


def measure(repeats: int) -> Iterator[Measurement]:
    """Releases from a pool that is in memory, and the experiment ``posterior``."""
    public = pool.build(KEY)
    comparison = pool.compare(public, pool.observed_data(KEY, 5000), synthetic=True)
    usual = _asked(comparison, epsilon_abc=0.1, c=10)
    # So small a threshold that nothing is accepted: every draw is looked at.
    whole = _asked(comparison, epsilon_abc=0.001, c=1000, epsilon_total=1000.0)
    rng = np.random.default_rng(1)

    def release(asked: Asked, times: int) -> None:
        for _ in range(times):
            sparse_vector.run(comparison.rho, *asked, rng)

    release(usual, 1)
    one = [1e3 * seconds for seconds in here(lambda: release(usual, 1), 20 * repeats)]
    yield Measurement("one release, T = 10 000", one, "ms", goal="5")
    through = [1e3 * seconds for seconds in here(lambda: release(whole, 1), 20 * repeats)]
    yield Measurement("one release through the whole pool", through, "ms", goal="5")
    yield Measurement("1000 releases", here(lambda: release(usual, 1000), repeats), goal="1")
    yield Measurement(
        "1000 releases through the whole pool",
        here(lambda: release(whole, 1000), repeats),
        goal="1",
    )
    yield from _posterior(repeats)


def _asked(
    comparison: pool.Comparison, epsilon_abc: float, c: int, epsilon_total: float = 1.0
) -> Asked:
    sensitivity = comparison.sensitivity("sharp")
    return epsilon_abc, sparse_vector.calibrate(epsilon_total, sensitivity, c, resample=False)


def _posterior(repeats: int) -> Iterator[Measurement]:
    """With the pool in memory, as on a page once it is open."""
    params = posterior.Params(scenario=uniform_mixture.SCENARIO)
    task = posterior.tasks(params, 1)[0]
    result = posterior.collect(params, posterior.work(task))
    posterior.figures(result)
    compute = here(lambda: posterior.collect(params, posterior.work(task)), 5 * repeats)
    yield Measurement("posterior: compute", [1e3 * each for each in compute], "ms")
    draw = here(
        lambda: [each.figure.to_json() for each in posterior.figures(result).values()], 5 * repeats
    )
    yield Measurement("posterior: figures, ready to send", [1e3 * each for each in draw], "ms")
    both = [1e3 * (first + second) for first, second in zip(compute, draw, strict=True)]
    yield Measurement("posterior: both", both, "ms", goal="300 in the browser")
