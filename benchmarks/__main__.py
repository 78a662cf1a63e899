"""``python -m benchmarks``: print times and memory, medians and ranges over repeats."""

from __future__ import annotations

import argparse
import os
import tempfile

from abcdp_core.run.results import versions
from benchmarks import timings
from benchmarks.measure import TIMED, fresh, head, here, machine, timed


def main() -> None:
    """Measure and print line by line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--repeats", type=int, default=5, help="repeats of each measurement (5)")
    parser.add_argument("--slow", action="store_true", help="also time a study that takes minutes")
    parser.add_argument("--only", default="", metavar="WORD", help="of the names of measurements")
    options = parser.parse_args()
    programs = [each for each in timings.programs(slow=options.slow) if options.only in each[0]]
    print(f"{machine()}; {', '.join(map(' '.join, versions().items()))}\n\n{head(*TIMED)}")
    for name, before, work, goal in programs:
        seconds, most = fresh(before, work, options.repeats)
        print(timed(name, seconds, goal), timed("its peak memory", most, unit="MB"), sep="\n")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ABCDP_CACHE_DIR"] = folder
        for name, prepare, goal in timings.HERE:
            if options.only in name:
                print(timed(name, here(prepare(), options.repeats), goal), flush=True)
    print(f"\nat the end: {machine()}")


if __name__ == "__main__":
    main()
