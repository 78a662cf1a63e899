"""Remake the tables kept, or compare with whole tables of another state of the code.

``python -m tests.reference --keep`` remakes ``tests/reference/kept``.
``--write DIR`` writes whole tables to DIR; ``--against DIR`` computes them again and compares byte
for byte (exit code 1 if they differ), on the computer that wrote them. ``--long`` adds the commands
of ``long.txt``; ``--only WORD`` takes those with WORD in their name. The code that runs is that of
the current folder: for an older one, ``cd OLD; PYTHONPATH=NEW python -m tests.reference``.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

from tests.reference import tables


def main() -> int:
    """Do what the command line asks; the exit code."""
    options = _parser().parse_args()
    chosen = tables.commands() + (tables.commands("long.txt") if options.long else [])
    chosen = [command for command in chosen if options.only in command.name]
    if options.keep:
        # Only these are kept; the others are for whole tables.
        chosen = [command for command in chosen if command in tables.commands()]
    # A cache of its own: pools made by other code must not stand in for this code's.
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ABCDP_CACHE_DIR"] = folder
        differ = [command.name for command in chosen if not _do(command, options)]
    if options.against:
        print(f"{len(chosen) - len(differ)} of {len(chosen)} commands give equal tables.")
        if differ:
            print("Different:", ", ".join(differ))
    return 1 if differ else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.reference",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--keep", action="store_true", help="remake the files in kept/")
    what.add_argument("--write", type=Path, metavar="DIR", help="write whole tables")
    what.add_argument("--against", type=Path, metavar="DIR", help="compare with whole tables")
    parser.add_argument("--long", action="store_true", help="the slower commands as well")
    parser.add_argument("--only", default="", metavar="WORD", help="of the names of commands")
    return parser


def _do(command: tables.Command, options: argparse.Namespace) -> bool:
    """Run a command and say how it went; whether nothing differs."""
    started = time.monotonic()
    made = tables.computed(command)
    taken = f"{time.monotonic() - started:6.1f} s  {command.name}"
    if options.keep:
        tables.save(command, tables.thinned(made))
    elif options.write:
        tables.write(command, made, options.write)
    else:
        found = tables.against(command, made, options.against)
        taken += ": DIFFERENT" if found.differences else ": equal"
        taken += "".join(f"\n          {line}" for line in found.differences)
        taken += "".join(f"\n          new: {line}" for line in found.news)
        print(taken, flush=True)
        return not found.differences
    print(taken, flush=True)
    return True


if __name__ == "__main__":
    sys.exit(main())
