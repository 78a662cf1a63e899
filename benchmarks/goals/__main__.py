"""``python -m benchmarks.goals [NAME ...]``: measure goals whose names begin with NAME, or all."""

from __future__ import annotations

import argparse
import datetime
import sys
import textwrap
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks import goals
from benchmarks.measure import head, row


def main(arguments: Sequence[str] | None = None, file: Path = goals.FILE) -> int:
    """Measure, print and write each goal; return 1 if one was missed, 2 if there is none."""
    parser = argparse.ArgumentParser(prog="make studies", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="beginning of the goals' names")
    parser.add_argument("--list", action="store_true", help="list the goals without measuring")
    options = parser.parse_args(arguments)
    known = goals.goals()
    chosen = [name for name in known if name.startswith(tuple(options.names) or "")]
    if not chosen:
        print(f"no goal begins with {' or '.join(options.names)}: {', '.join(known)}")
        return 2
    if options.list:
        for each in (known[name] for name in chosen):
            print(f"{each.name}: {each.bounds()}\n{textwrap.indent(each.what, '    ')}")
        return 0
    print(head("goal", "measured", "95 % interval", "runs", "wanted", "", "seconds"))
    kept = [_measure(known, name, file) for name in chosen]
    return 0 if all(kept) else 1


def _measure(known: dict[str, goals.Goal], name: str, file: Path) -> bool:
    """Measure one goal and write its row at once, so that Ctrl-C loses no finished goal."""
    started = time.monotonic()
    made = goals.row(name, known[name].measure(), datetime.date.today().isoformat())
    goals.write(goals.read(file) | {name: made}, known, file)
    kept = known[name].is_kept(float(made["measured"]))
    spread, wanted = f"{made['low']} to {made['high']}", known[name].bounds()
    verdict, seconds = "kept" if kept else "MISSED", round(time.monotonic() - started)
    print(row(name, made["measured"], spread, made["runs"], wanted, verdict, seconds), flush=True)
    return kept


if __name__ == "__main__":
    sys.exit(main())
