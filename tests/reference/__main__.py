"""Remake what is kept, or compare everything with another state of the code.

``python -m tests.reference --keep`` remakes ``tests/reference/kept``.
``--write DIR`` writes whole tables, words and figures to DIR; ``--against DIR`` computes them again
and compares byte for byte (exit code 1 if they differ), on the computer that wrote them. ``--long``
adds the commands of ``long.txt``; ``--only WORD`` takes those with WORD in their name. The code
that runs is that of the current folder: for an older one, ``cd OLD; PYTHONPATH=NEW python -m
tests.reference``.
"""

from __future__ import annotations

import argparse
import difflib
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.reference import kept
from tests.reference.commands import Command, Made, commands, computed

SHOWN = 6
"""Lines of a difference that are shown."""


def main() -> int:
    """Do what the command line asks; the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.reference",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--keep", action="store_true", help="remake the files in kept/")
    what.add_argument("--write", type=Path, metavar="DIR", help="write everything")
    what.add_argument("--against", type=Path, metavar="DIR", help="compare with what was written")
    parser.add_argument("--long", action="store_true", help="the slower commands as well")
    parser.add_argument("--only", default="", metavar="WORD", help="of the names of commands")
    options = parser.parse_args()
    chosen = commands() + (commands("long.txt") if options.long and not options.keep else [])
    chosen = [command for command in chosen if options.only in command.name]
    # A cache of its own: pools made by other code must not stand in for this code's.
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ABCDP_CACHE_DIR"] = folder
        differ = [command.name for command in chosen if not _do(command, options)]
    if options.against:
        print(f"{len(chosen) - len(differ)} of {len(chosen)} commands give the same.")
        if differ:
            print("Different:", ", ".join(differ))
    return 1 if differ else 0


def _do(command: Command, options: argparse.Namespace) -> bool:
    """Run a command and say how it went; whether nothing differs."""
    started, processor = time.monotonic(), time.process_time()
    made = computed(command)
    taken = f"{time.monotonic() - started:6.1f} s, processor {time.process_time() - processor:6.1f}"
    wrong: list[str] = []
    if options.keep:
        kept.save(command, kept.thinned(made))
    elif options.write:
        for name, text in _files(made):
            file = options.write / command.name / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8", newline="\n")
    else:
        wrong = list(_differences(made, options.against / command.name))
    print("\n    ".join([f"{taken} s  {command.name}", *wrong]), flush=True)
    return not wrong


def _files(made: Made) -> Iterator[tuple[str, str]]:
    """Everything that a command gives, as files."""
    for name, table in made.tables.items():
        yield f"{name}.csv", table.to_csv(index=False, lineterminator="\n", na_rep="nan")
    yield "words.txt", "".join(f"{name}: {text}\n" for name, text in made.words.items())
    for name, text in made.figures.items():
        yield f"figure {name}.json", text + "\n"


def _differences(made: Made, folder: Path) -> Iterator[str]:
    now = dict(_files(made))
    then = {file.name: file.read_text(encoding="utf-8") for file in sorted(folder.glob("*"))}
    for name in dict.fromkeys((*then, *now)):
        if name not in now or name not in then:
            yield f"{name} is {'new' if name in now else 'gone'}"
        elif name.startswith("figure ") and now[name] != then[name]:
            old, new = (kept.thinned(Made({}, {}, {name: each[name]})) for each in (then, now))
            faults = list(kept.differences("", old, new)) or ["last bits, or the order"]
            yield from (f"{name}: {fault}" for fault in faults[:SHOWN])
        elif now[name] != then[name]:
            lines = difflib.unified_diff(then[name].split("\n"), now[name].split("\n"), n=0)
            yield from (f"{name}: {line}" for line in list(lines)[3 : 3 + SHOWN])


if __name__ == "__main__":
    sys.exit(main())
