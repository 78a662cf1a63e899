"""The public step: draw, simulate and reduce a pool; keep it; find it again."""

from __future__ import annotations

from collections.abc import Iterator

from abcdp_core import pool
from abcdp_core.simulators import uniform_mixture
from benchmarks.measure import Measurement, column, fresh, here

KEY = pool.PoolKey(uniform_mixture.SCENARIO, uniform_mixture.BANDWIDTH, 10_000, 5000, seed=1)

FIRST_AND_SECOND = f"""
import json, time
from abcdp_core import pool
key = pool.{KEY}
start = time.perf_counter()
pool.build(key)
first = time.perf_counter() - start
start = time.perf_counter()
pool.build(key)
print(json.dumps(dict(first=first, second=time.perf_counter() - start)))
"""

FROM_DISK = f"""
import json, time
from abcdp_core import pool
key = pool.{KEY}
start = time.perf_counter()
pool.open_pool(key)
made = time.perf_counter() - start
pool._open.clear()
start = time.perf_counter()
pool.open_pool(key)
print(json.dumps(dict(made=made, found=time.perf_counter() - start)))
"""

MEMORY = """
import json
from abcdp_core import pool
from benchmarks.measure import peak_megabytes
before = peak_megabytes()
pool.build(pool.PoolKey({scenario!r}, {bandwidth}, {pool_size}, {n}, seed=1))
print(json.dumps(dict(before=before, after=peak_megabytes())))
"""

WORK = ((1000, 10_000), (5000, 5000), (5000, 10_000), (5000, 20_000), (20_000, 10_000))
"""(N, T) of pools whose time should grow with N * T and with nothing else."""


def measure(repeats: int) -> Iterator[Measurement]:
    """All measurements of the public step, one after the other."""
    label = "pool of 10 000 sets of 5 000 points"
    cold = fresh(FIRST_AND_SECOND, repeats, compiled=False)
    yield Measurement(f"{label}, very first call", column(cold, "first"), goal="6")
    known = fresh(FIRST_AND_SECOND, repeats, compiled=True)
    yield Measurement(f"{label}, first of a process", column(known, "first"))
    warm = here(lambda: pool.build(KEY), repeats)
    yield Measurement(f"{label}, warm", warm, goal="1.4 on 2 cores")
    rates = [KEY.pool_size / seconds for seconds in warm]
    yield Measurement("  the same as draws", rates, "1/s", goal="at least 7000")
    stored = fresh(FROM_DISK, repeats, compiled=True)
    yield Measurement(f"{label}, made and kept", column(stored, "made"))
    yield Measurement(f"{label}, from disk", column(stored, "found"), goal="0.2")
    yield from _growth(repeats)
    yield from _memory(repeats)


def _growth(repeats: int) -> Iterator[Measurement]:
    for n, pool_size in WORK:
        key = pool.PoolKey(uniform_mixture.SCENARIO, uniform_mixture.BANDWIDTH, pool_size, n, 1)
        seconds = here(lambda key=key: pool.build(key), repeats)  # type: ignore[misc]
        rates = [1e9 * each / (n * pool_size) for each in seconds]
        yield Measurement(f"time per point, N = {n:,}, T = {pool_size:,}", rates, "ns", "the same")


def _memory(repeats: int) -> Iterator[Measurement]:
    for n, pool_size in ((20_000, 10_000), (3000, 66_600)):
        program = MEMORY.format(
            scenario=uniform_mixture.SCENARIO,
            bandwidth=uniform_mixture.BANDWIDTH,
            pool_size=pool_size,
            n=n,
        )
        peaks = fresh(program, max(1, repeats // 2), compiled=True)
        label = f"peak memory, N = {n:,}, T = {pool_size:,}"
        yield Measurement(label, column(peaks, "after"), "MB", goal="500")
        yield Measurement("  of which before the pool", column(peaks, "before"), "MB")
