"""``python -m benchmarks``: print times and memory, medians and ranges over repeats."""

from __future__ import annotations

import argparse
import itertools
import os
import tempfile

from abcdp_core.results import versions
from benchmarks import timings
from benchmarks.measure import HEADER, machine

PARTS = ("public", "private", "plans", "adaptive", "studies")


def main() -> None:
    """Measure and print line by line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--repeats", type=int, default=5, help="repeats of each measurement (5)")
    parser.add_argument(
        "--slow", action="store_true", help="also measure a study that takes minutes"
    )
    parser.add_argument("--only", choices=PARTS, help="measure one part alone")
    options = parser.parse_args()
    repeats = max(1, options.repeats)
    print(machine())
    print(", ".join(f"{name} {version}" for name, version in versions().items()))
    print(HEADER)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ABCDP_CACHE_DIR"] = folder
        parts = {
            "public": timings.public(repeats),
            "private": timings.private(repeats),
            "plans": timings.plans(min(repeats, 3)),
            "adaptive": timings.adaptive(repeats),
            "studies": timings.studies(repeats, slow=options.slow),
        }
        for measurement in itertools.chain(
            *(part for name, part in parts.items() if options.only in (None, name))
        ):
            print(measurement.row(), flush=True)
    print(f"at the end: {machine()}")


if __name__ == "__main__":
    main()
