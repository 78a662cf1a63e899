"""The adaptive half: the best interval, the density of a response, one stream by each sampler."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from abcdp_core.experiments import adaptive_truncation
from abcdp_core.online import intervals, single
from abcdp_core.online.response import log_likelihood
from benchmarks.measure import Measurement, fresh, here

PARTICLES = 1000

STUDY = """
import dataclasses, json, time
from abcdp_core import experiments, runner
study = experiments.load("estimation-accuracy")
params = dataclasses.replace(study.PRESETS["y23-figure-3"], runs=1, epsilon_total=(1.0,))
start = time.perf_counter()
result = runner.run_to_end(study, params, 1)
print(json.dumps(dict(zip(result.tables["main"].sampler + " " + result.tables["main"].interval,
                          result.tables["main"].seconds), seconds=time.perf_counter() - start)))
"""


def measure(repeats: int, *, slow: bool) -> Iterator[Measurement]:
    """All measurements; with ``slow`` also a long stream and a run of the paper's Figure 3."""
    for epsilon_total, symmetric in itertools.product((1.0, 10.0), (True, False)):
        intervals.best(1.0, symmetric=symmetric)
        seconds = []
        for _ in range(repeats):
            intervals.best.cache_clear()
            seconds += here(lambda: intervals.best(1 / epsilon_total, symmetric=symmetric), 1)  # noqa: B023
        label = (
            f"best interval, ε_total = {epsilon_total:g}, {'symmetric' if symmetric else 'free'}"
        )
        yield Measurement(label, [1e3 * each for each in seconds], "ms", goal="100")
    yield from _draws(repeats)
    yield from _densities(repeats)
    yield from _streams(repeats, slow=slow)
    if slow:
        (found,) = fresh(STUDY, 1, compiled=True)
        for name, seconds in found.items():
            # All four budgets and 30 runs are to take 40 minutes on two processors.
            goal = "40" if name == "seconds" else ""
            yield Measurement(f"y23-figure-3, one run at ε_total = 1: {name}", [seconds], goal=goal)


def _draws(repeats: int) -> Iterator[Measurement]:
    """Draws of the samplers that carry people's values: per draw, in single precision."""
    (stream,) = single.streams(np.random.default_rng(1), 1)
    out = np.empty(1000 * 2 * single.LANES, dtype=np.float32)
    for draw in (single.normals, single.exponentials):
        draw(stream, out)
        seconds = here(lambda: draw(stream, out), repeats)  # noqa: B023
        nanoseconds = [1e9 * each / len(out) for each in seconds]
        yield Measurement(f"{draw.__name__} in single precision", nanoseconds, "ns", goal="1")


def _densities(repeats: int) -> Iterator[Measurement]:
    rng = np.random.default_rng(1)
    theta = np.column_stack([rng.normal(50, 0.3, PARTICLES), rng.normal(1.15, 0.1, PARTICLES)])
    half = 0.73 * np.sqrt(10)
    people = np.clip(rng.normal(50, np.sqrt(10), 1000), 50 - half, 50 + half)
    scale = 2 * half / 5
    ones = np.ones(1000)
    rows = np.column_stack(
        [
            people + scale * rng.laplace(size=1000),
            (50 - half) * ones,
            (50 + half) * ones,
            scale * ones,
        ]
    )
    for noise in ("laplace", "gaussian"):
        log_likelihood(theta, rows, noise)
        seconds = here(lambda: log_likelihood(theta, rows, noise), repeats)  # type: ignore[arg-type]  # noqa: B023
        yield Measurement(f"density of a response, {noise}", [1e3 * s for s in seconds], "ns")


def _streams(repeats: int, *, slow: bool) -> Iterator[Measurement]:
    for n in (1000, 10_000, *((100_000,) if slow else ())):
        times = min(repeats, 1 if n > 10_000 else 3)
        for epsilon_total in (1.0, 10.0):
            seconds = here(lambda: _ask(n, epsilon_total, "smc"), times)  # noqa: B023
            goal = "1.5" if n == 1000 else "flat per person"
            yield Measurement(f"smc, N = {n:,}, ε_total = {epsilon_total:g}", seconds, goal=goal)
    for sampler, goal in (("smc-latent", "10"), ("grid", "")):
        seconds = here(lambda: _ask(1000, 5.0, sampler), 1)  # noqa: B023
        yield Measurement(f"{sampler}, N = 1,000, ε_total = 5", seconds, goal=goal)


def _ask(n: int, epsilon_total: float, sampler: str) -> None:
    """One adaptive stream from the first to the last person, without tables."""
    params = adaptive_truncation.Params(
        n=n, epsilon_total=epsilon_total, sampler=sampler, particles=PARTICLES
    )
    stream = params.stream(epsilon_total, sampler, "adaptive", seed=1, run=0)
    for _ in stream.ask(None, 0, *params.people(1, 0)):
        pass
