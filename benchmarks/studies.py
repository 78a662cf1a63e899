"""Commands: `list`, and studies of a single task, each with an empty cache of pools."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from benchmarks.measure import Measurement, column, fresh, here
from benchmarks.server import ROOT

STUDY = """
import json, tempfile, time
from abcdp_core.__main__ import main
with tempfile.TemporaryDirectory() as out:
    start = time.perf_counter()
    assert main(["run", "{name}", {arguments} "--out", out, "--formats", "csv,json,html"]) == 0
    seconds = time.perf_counter() - start
print(json.dumps(dict(seconds=seconds)))
"""


def measure(repeats: int, *, slow: bool) -> Iterator[Measurement]:
    """Time `list` and the defaults of a few studies; with ``slow`` also the paper's Figure 3."""
    yield Measurement("command line: list", here(_list, repeats), goal="0.7")
    for name in ("posterior", "flip-probability"):
        results = fresh(STUDY.format(name=name, arguments=""), repeats, compiled=True)
        yield Measurement(f"command line: {name}", column(results, "seconds"))
    for name, preset, goal in (
        ("covid-fit", "p21-figure-4", "10"),
        ("tuberculosis-posterior", "p21-figure-5", "5"),
    ):
        program = STUDY.format(name=name, arguments=f'"--preset", "{preset}",')
        results = fresh(program, repeats, compiled=True)
        label = f"command line: {name}, preset {preset}"
        yield Measurement(label, column(results, "seconds"), goal=goal)
    if slow:
        program = STUDY.format(name="mse-curves", arguments='"--preset", "p21-figure-3",')
        results = fresh(program, 1, compiled=True)
        label = "command line: mse-curves, preset p21-figure-3"
        yield Measurement(label, column(results, "seconds"), goal="180 on 2 cores")


def _list() -> None:
    command = [sys.executable, "-m", "abcdp_core", "list"]
    subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
