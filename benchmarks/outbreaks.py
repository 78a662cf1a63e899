"""Outbreaks of tuberculosis: time and events of one at the truth, and time of one draw's share."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from abcdp_core.simulators import outbreak, tuberculosis
from abcdp_core.streams import generator
from benchmarks.measure import Measurement, here
from tools import tuberculosis_pool

SIZE = 500


def measure(repeats: int) -> Iterator[Measurement]:
    """All measurements of outbreaks."""
    theta = tuberculosis.TRUTH[None]
    rng = generator(1, "benchmark")
    tuberculosis.simulate(rng, theta, 1)
    seconds = here(lambda: tuberculosis.simulate(rng, theta, SIZE), repeats)
    label = "outbreak of tuberculosis at the truth"
    yield Measurement(label, [1e3 * each / SIZE for each in seconds], "ms", goal="1.2")
    yield Measurement("  events in it", [_events(rng) for _ in range(repeats)], "", "about 10 700")
    task = tuberculosis_pool.tasks(tuberculosis_pool.Params(), 1)[0]
    tuberculosis_pool.work(task)
    label = f"{task.count} draws of the prior, 1000 outbreaks each, 10 observed sets"
    yield Measurement(label, here(lambda: tuberculosis_pool.work(task), repeats), "s")


def _events(rng: np.random.Generator) -> float:
    """Mean number of events of some outbreaks at the truth."""
    theta = tuberculosis.TRUTH[None]
    rates, balance = tuberculosis.rates(theta)[0], tuberculosis.balance(theta)[0, :2]
    return float(np.mean([outbreak.observe(rng, rates, balance)[2] for _ in range(SIZE)]))
