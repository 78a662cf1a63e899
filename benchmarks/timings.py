"""Times of the core: what is measured in fresh processes, and what in this one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from abcdp_core.mechanisms import sparse_vector
from abcdp_core.models import pool
from abcdp_core.models.simulators.uniform_mixture import SCENARIO as MIXTURE
from abcdp_core.studies import adaptive_truncation, posterior

KEY = pool.PoolKey(MIXTURE, MIXTURE.bandwidth, 10_000, 5000, seed=1)
POOL = "pool of 10 000 sets of 5 000 points"

OPENED = f"from abcdp_core import pool\nkey = pool.{KEY}\n"
PLANNED = "from abcdp_core import runner\nfrom abcdp_core.studies import plan\n"
FOLDER = "import os, tempfile\nfolder = tempfile.TemporaryDirectory()\n"
UNCOMPILED = f"{FOLDER}os.environ['NUMBA_CACHE_DIR'] = folder.name\n"
COMMAND = f"{FOLDER}from abcdp_core.__main__ import main\n"


def _command(line: str) -> str:
    more = ["--formats", "csv,json,html", "--out"]
    return f"assert main([*{['run', *line.split(), *more]}, folder.name]) == 0"


def programs(*, slow: bool) -> list[tuple[str, str, str, str]]:
    """Return names, statements before and timed ones, and seconds wanted, for fresh processes."""
    lines = {
        **{"posterior": "", "flip-probability": "", "covid-fit --preset p21-figure-4": "10"},
        **{"tuberculosis-posterior --preset p21-figure-5": "5"},
        **({"mse-curves --preset p21-figure-3": "180 on 2 cores"} if slow else {}),
    }
    kept = f"{OPENED}pool.open_pool(key)\npool.forget()"
    return [
        (f"{POOL}, very first call", UNCOMPILED + OPENED, "pool.open_pool(key)", "6"),
        (POOL, OPENED, "pool.open_pool(key)", ""),
        (f"{POOL}, from disk", kept, "pool.open_pool(key)", "0.2"),
        ("plan: first result", PLANNED, "next(runner.run(plan, plan.Params(n=2000), 1))", "1"),
        *((line, COMMAND, _command(line), goal) for line, goal in lines.items()),
    ]


def releases() -> Callable[[], object]:
    """Release a thousand times from a pool in memory."""
    comparison = pool.compare(pool.build(KEY), pool.observed_data(KEY, 5000), synthetic=True)
    event = sparse_vector.calibrate(1.0, comparison.sensitivity(), 10, resample=False)
    rng = np.random.default_rng(1)
    return lambda: [sparse_vector.run(comparison.rho, 0.1, event, rng) for _ in range(1000)]


def picture() -> Callable[[], object]:
    """Compute and draw what a page shows after a knob has moved."""
    params = posterior.Params(scenario=MIXTURE.name)
    task = posterior.tasks(params, 1)[0]

    def shown() -> None:
        result = posterior.collect(params, posterior.work(task))
        for each in posterior.figures(result).values():
            each.figure.to_json()

    return shown


def stream(sampler: str, n: int) -> Callable[[], object]:
    """Ask a stream of people with ε_total = 5."""
    params = adaptive_truncation.Params(n=n, epsilon_total=5.0, sampler=sampler, particles=1000)
    asked, people = params.stream(5.0, sampler, "adaptive", seed=1, run=0), params.people(1, 0)
    return lambda: list(asked.ask(None, 0, *people))


HERE = (
    (f"{POOL}, warm", lambda: partial(pool.build, KEY), "1.4 on 2 cores"),
    ("1000 releases", releases, "1"),
    ("posterior: compute and draw", picture, "0.3 in the browser"),
    ("stream, smc, N = 1,000", partial(stream, "smc", 1000), "1.5"),
    ("stream, smc, N = 10,000", partial(stream, "smc", 10_000), "flat per person"),
    ("stream, smc-latent, N = 1,000", partial(stream, "smc-latent", 1000), "10"),
)
"""Name, function that prepares what is timed, and seconds that are wanted."""
