"""Measure times in this process or in fresh ones; print all measurements as one kind of table."""

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
from pathlib import Path

from abcdp_core.run.workers import processor_count
from benchmarks.server import ROOT

TIMED = ("", "median", "min-max", "unit", "runs", "goal")
"""Columns of a table of times."""

PROGRAM = """
import json, time
from benchmarks.measure import megabytes
{before}
start = time.perf_counter()
{work}
print(json.dumps([time.perf_counter() - start, megabytes("VmHWM")]))
"""


def machine() -> str:
    """Return date, processors and load; a load above 0.5 at the start disturbs measurements."""
    load = f"{os.getloadavg()[0]:.2f}" if hasattr(os, "getloadavg") else "unknown"
    processors = f"{platform.machine()}, {processor_count()} processors"
    return f"{datetime.date.today()}, {processors}, load {load}"


def head(*columns: str) -> str:
    """Return the head of a table in Markdown; all columns but the first hold numbers."""
    return f"{row(*columns)}\n|---|{'---:|' * (len(columns) - 1)}"


def row(*cells: object) -> str:
    """Return a row of a table; real numbers have three significant digits."""
    texts = (f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in cells)
    return f"| {' | '.join(texts)} |"


def timed(name: str, values: Sequence[float], goal: str = "", unit: str = "s") -> str:
    """Return a row of a table of times: median, range and number of repeats, and what is wanted."""
    spread = f"{min(values):.3g}-{max(values):.3g}"
    return row(name, statistics.median(values), spread, unit, len(values), goal)


def here(work: Callable[[], object], repeats: int) -> list[float]:
    """Return the seconds of repeated calls in this process, after one that is not counted."""
    work()
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return seconds


def fresh(before: str, work: str, repeats: int) -> list[list[float]]:
    """Return seconds and peak megabytes of Python statements in so many fresh processes.

    Their cache of pools is empty. Those ``before`` are not timed.
    """
    results = []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            printed = subprocess.check_output(
                [sys.executable, "-c", PROGRAM.format(before=before, work=work)],
                env=os.environ | {"ABCDP_CACHE_DIR": folder},
                cwd=ROOT,
                text=True,
            )
        results.append(json.loads(printed.splitlines()[-1]))
    return [list(numbers) for numbers in zip(*results, strict=True)]


def megabytes(field: str, process: int | str = "self") -> float:
    """Return memory of a process as Linux counts it: VmRSS now, VmHWM at most; else NaN."""
    status = Path(f"/proc/{process}/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) * 1.024e-3 for line in lines if field in line), math.nan)
