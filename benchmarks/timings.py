"""Times of the core: pools, private releases, plans, adaptive streams, commands."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Iterator

import numpy as np

from abcdp_core import error_curve, planning, pool
from abcdp_core.adaptive import intervals
from abcdp_core.mechanisms import sparse_vector
from abcdp_core.simulators import tuberculosis, uniform_mixture
from abcdp_core.streams import generator
from abcdp_core.studies import adaptive_truncation, posterior
from benchmarks.measure import Measurement, column, fresh, here
from benchmarks.server import ROOT

KEY = pool.PoolKey(uniform_mixture.SCENARIO, uniform_mixture.BANDWIDTH, 10_000, 5000, seed=1)

POOL = f"""
import json, time
from abcdp_core import pool
from benchmarks.measure import megabytes
key = pool.{KEY}
start = time.perf_counter()
pool.open_pool(key)
made = time.perf_counter() - start
pool.forget()
start = time.perf_counter()
pool.open_pool(key)
found = time.perf_counter() - start
print(json.dumps(dict(made=made, found=found, memory=megabytes("VmHWM"))))
"""


def public(repeats: int) -> Iterator[Measurement]:
    """Make a pool, keep it, and read it again."""
    label = "pool of 10 000 sets of 5 000 points"
    cold = fresh(POOL, repeats, compiled=False)
    yield Measurement(f"{label}, very first call", column(cold, "made"), goal="6")
    known = fresh(POOL, repeats, compiled=True)
    yield Measurement(f"{label}, made and kept", column(known, "made"))
    yield Measurement(f"{label}, from disk", column(known, "found"), goal="0.2")
    yield Measurement("  peak memory", column(known, "memory"), "MB", goal="500")
    warm = here(lambda: pool.build(KEY), repeats)
    yield Measurement(f"{label}, warm", warm, goal="1.4 on 2 cores")
    rng, theta = generator(1, "benchmark"), tuberculosis.TRUTH[None]
    tuberculosis.simulate(rng, theta, 1)
    seconds = here(lambda: tuberculosis.simulate(rng, theta, 500), repeats)
    label = "outbreak of tuberculosis at the truth"
    yield Measurement(label, [1e3 * each / 500 for each in seconds], "ms", goal="1.2")


def private(repeats: int) -> Iterator[Measurement]:
    """Releases from a pool in memory, and the figures of a page after a knob moves."""
    comparison = pool.compare(pool.build(KEY), pool.observed_data(KEY, 5000), synthetic=True)
    rng = np.random.default_rng(1)
    # With the small threshold no draw is kept, so every draw is compared.
    for name, epsilon_abc, c, budget in (
        ("", 0.1, 10, 1.0),
        (" through the whole pool", 0.001, 1000, 1000.0),
    ):
        event = sparse_vector.calibrate(budget, comparison.sensitivity(), c, resample=False)

        def releases(
            event: sparse_vector.SparseVector = event, epsilon_abc: float = epsilon_abc
        ) -> None:
            for _ in range(1000):
                sparse_vector.run(comparison.rho, epsilon_abc, event, rng)

        releases()
        yield Measurement(f"1000 releases{name}", here(releases, repeats), goal="1")
    params = posterior.Params(scenario=uniform_mixture.SCENARIO)
    task = posterior.tasks(params, 1)[0]

    def shown() -> None:
        result = posterior.collect(params, posterior.work(task))
        for each in posterior.figures(result).values():
            each.figure.to_json()

    shown()
    both = [1e3 * each for each in here(shown, 5 * repeats)]
    yield Measurement("posterior: compute and draw", both, "ms", goal="300 in the browser")


PLAN = """
import json, time
from abcdp_core import runner
from abcdp_core.studies import plan
start = time.perf_counter()
next(runner.run(plan, plan.Params(n=2000, epsilon_total=0.5), 1))
print(json.dumps(dict(seconds=time.perf_counter() - start)))
"""


def plans(repeats: int) -> Iterator[Measurement]:
    """Exact mean squared errors at c = 1000, and the first plan of all mechanisms."""
    case = planning.case(uniform_mixture.SCENARIO, 5000, 10_000, 1, 0)
    sensitivity = case.public.distance.sensitivity(5000)
    for resample in (False, True):
        event = sparse_vector.calibrate(1.0, sensitivity, 1000, resample=resample)

        def exact(event: sparse_vector.SparseVector = event) -> float:
            rho, theta = case.comparison.rho, case.public.theta
            mean = uniform_mixture.PRIOR_MEAN
            return error_curve.averaged(event, 0.1, rho, theta, case.truth, mean)

        exact()
        name = f"exact error, c = 1000, threshold {'redrawn' if resample else 'kept'}"
        yield Measurement(name, here(exact, repeats), goal="2")
    first = fresh(PLAN, repeats, compiled=True)
    yield Measurement("plan: first result, all mechanisms", column(first, "seconds"), goal="1")


def adaptive(repeats: int) -> Iterator[Measurement]:
    """The best interval, and one stream of people with each sampler, without tables."""

    def best(epsilon_total: float, *, symmetric: bool) -> None:
        intervals.best.cache_clear()
        intervals.best(1.0 / epsilon_total, symmetric=symmetric)

    for budget, symmetric in itertools.product((1.0, 10.0), (True, False)):
        seconds = here(lambda: best(budget, symmetric=symmetric), repeats)  # noqa: B023
        label = f"best interval, ε_total = {budget:g}, {'symmetric' if symmetric else 'free'}"
        yield Measurement(label, [1e3 * each for each in seconds], "ms", goal="100")
    for sampler, n, goal in (
        *(("smc", 1000, "1.5"), ("smc", 10_000, "flat per person")),
        *(("smc-latent", 1000, "10"), ("grid", 1000, "")),
    ):
        params = adaptive_truncation.Params(n=n, epsilon_total=5.0, sampler=sampler, particles=1000)
        stream = params.stream(5.0, sampler, "adaptive", seed=1, run=0)
        people = params.people(1, 0)
        seconds = here(lambda: list(stream.ask(None, 0, *people)), min(repeats, 3))  # noqa: B023
        yield Measurement(f"{sampler}, N = {n:,}, ε_total = 5", seconds, goal=goal)


STUDY = """
import json, tempfile, time
from abcdp_core.__main__ import main
with tempfile.TemporaryDirectory() as out:
    start = time.perf_counter()
    assert main(["run", *{arguments}, "--out", out, "--formats", "csv,json,html"]) == 0
    seconds = time.perf_counter() - start
print(json.dumps(dict(seconds=seconds)))
"""


def studies(repeats: int, *, slow: bool) -> Iterator[Measurement]:
    """Commands: ``list``, and studies with an empty cache; ``slow`` adds the paper's Figure 3."""
    command = [sys.executable, "-m", "abcdp_core", "list"]
    seconds = here(lambda: subprocess.check_output(command, cwd=ROOT), repeats)
    yield Measurement("command line: list", seconds, goal="0.25")
    for line, goal in (
        *(("posterior", ""), ("flip-probability", "")),
        *(("covid-fit --preset p21-figure-4", "10"),),
        *(("tuberculosis-posterior --preset p21-figure-5", "5"),),
        *[("mse-curves --preset p21-figure-3", "180 on 2 cores")] * slow,
    ):
        results = fresh(STUDY.format(arguments=line.split()), min(repeats, 3), compiled=True)
        yield Measurement(f"command line: {line}", column(results, "seconds"), goal=goal)
