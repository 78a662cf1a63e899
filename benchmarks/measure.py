"""How things are measured: again and again here, or once each in fresh processes."""

from __future__ import annotations

import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from abcdp_core.workers import processor_count


@dataclass(frozen=True)
class Measurement:
    """Some numbers of the same thing.

    Attributes:
        name: what was measured.
        values: one per repeat.
        unit: of the values.
        goal: what it should be at most, in words; empty if nothing was promised.
    """

    name: str
    values: Sequence[float]
    unit: str = "s"
    goal: str = ""

    def row(self) -> str:
        """A line of the table: median, range, number of repeats, goal."""
        middle, low, high = statistics.median(self.values), min(self.values), max(self.values)
        spread = f"{low:.3g}-{high:.3g}"
        return (
            f"{self.name:<58} {middle:>9.3g} {spread:>16} {self.unit:<6} "
            f"{len(self.values):>3}  {self.goal}"
        )


HEADER = f"{'':<58} {'median':>9} {'min-max':>16} {'unit':<6} {'n':>3}  goal"


def machine() -> str:
    """Return date, processor and load: above 0.5 at the start, others were measured too."""
    load = f"{os.getloadavg()[0]:.2f}" if hasattr(os, "getloadavg") else "unknown"
    processors = f"{platform.machine()}, {processor_count()} processors"
    return f"{datetime.date.today()}, {processors}, load {load}"


def here(work: Callable[[], object], repeats: int) -> list[float]:
    """Seconds of each of several calls in this process."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return seconds


def fresh(program: str, repeats: int, *, compiled: bool) -> list[dict[str, float]]:
    """What a program printed as JSON, each time in a process with an empty cache of pools.

    Args:
        program: Python statements; the last prints one JSON object.
        repeats: how often.
        compiled: whether what numba compiled before may be used; else its cache is empty too.
    """
    results = []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            environment = os.environ | {"ABCDP_CACHE_DIR": f"{folder}/pools"}
            if not compiled:
                environment["NUMBA_CACHE_DIR"] = f"{folder}/numba"
            done = subprocess.run(
                [sys.executable, "-c", program],
                env=environment,
                cwd=Path(__file__).resolve().parents[1],
                capture_output=True,
                text=True,
                check=True,
            )
        results.append(json.loads(done.stdout.splitlines()[-1]))
    return results


def column(results: Sequence[dict[str, float]], name: str) -> list[float]:
    """One of the numbers of every process."""
    return [result[name] for result in results]


def peak_megabytes() -> float:
    """Most memory this process ever held.

    The system's own count also knows what the process was before it became this program, so Linux,
    which keeps both, is asked for the other one.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024 / 1e6
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
