"""Measure times in this process or in fresh processes."""

from __future__ import annotations

import datetime
import json
import math
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
    """Repeated measurements of one quantity.

    Attributes:
        name: the quantity.
        values: one per repeat.
        unit: unit of the values.
        goal: the largest value wanted, in words; empty if there is none.
    """

    name: str
    values: Sequence[float]
    unit: str = "s"
    goal: str = ""

    def row(self) -> str:
        """Return a line of the table: median, range, number of repeats, goal."""
        middle, low, high = statistics.median(self.values), min(self.values), max(self.values)
        spread = f"{low:.3g}-{high:.3g}"
        return (
            f"{self.name:<58} {middle:>9.3g} {spread:>16} {self.unit:<6} "
            f"{len(self.values):>3}  {self.goal}"
        )


HEADER = f"{'':<58} {'median':>9} {'min-max':>16} {'unit':<6} {'n':>3}  goal"


def machine() -> str:
    """Return date, processors and load; a load above 0.5 at the start disturbs measurements."""
    load = f"{os.getloadavg()[0]:.2f}" if hasattr(os, "getloadavg") else "unknown"
    processors = f"{platform.machine()}, {processor_count()} processors"
    return f"{datetime.date.today()}, {processors}, load {load}"


def here(work: Callable[[], object], repeats: int) -> list[float]:
    """Return the seconds of repeated calls in this process."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return seconds


def fresh(program: str, repeats: int, *, compiled: bool) -> list[dict[str, float]]:
    """Run a program in fresh processes with an empty cache of pools; return its JSON output.

    Args:
        program: Python statements; the last prints one JSON object.
        repeats: number of processes.
        compiled: whether functions compiled before may be used.
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
    """Return one number of every process."""
    return [result[name] for result in results]


def megabytes(field: str, process: int | str = "self") -> float:
    """Return memory of a process as Linux counts it: VmRSS now, VmHWM at most; else NaN."""
    status = Path(f"/proc/{process}/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) * 1.024e-3 for line in lines if field in line), math.nan)
