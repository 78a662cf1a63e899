"""The command line: the batch interface, and how any result is made again.

``abcdp list`` names the experiments, ``list EXPERIMENT`` says what can be set, and
``run EXPERIMENT --out DIR`` runs one and writes tables, settings and figures. ``plan SCENARIO``
says which mechanism to run for N people and a budget. ``check FILE`` says whether a model of your
own, or a pool made elsewhere, keeps what it states; ``pool SCENARIO --out FILE`` writes such a
pool. ``release SCENARIO`` makes one private release from your own numbers, ``verify FILE`` computes
again all that follows from it, and ``report FILE`` makes a page of it for people to read.
``infer PROBLEM.toml`` infers from what somebody else released, its noise taken into account.
``reproduce --out DIR`` judges what the papers claim.

Exit codes: 0 if all went well; 2 with one line ``error: ...`` if something asked for is not
possible; 1 if worker processes or memory gave out, or standard output is full; 130 after Ctrl-C,
and 128 and its number after another signal that ends programs (143 after TERM), with what was done
until then written and marked partial, if it was a run, a plan or a reproduction; 141 if nobody
reads standard output any more.
"""

from __future__ import annotations

import argparse
import io
import re
import sys
from collections.abc import Sequence
from concurrent.futures import BrokenExecutor
from typing import Any, NoReturn

from abcdp_core import interruption, registry
from abcdp_core.cli import ending
from abcdp_core.output.formats import ExportError
from abcdp_core.parameters import ParameterError

FAILED = 1
IMPOSSIBLE = 2
INTERRUPTED = 130

COMMANDS = {
    "app": "the app, in your browser",
    "list": "experiments, or what one can be asked",
    "run": "run an experiment",
    "check": "whether a model or a pool of your own keeps what it states",
    "pool": "a public pool as a table that any program reads",
    "plan": "what to run for N people and a budget, or for an error wanted",
    "release": "one private release from your own numbers",
    "budget": "what may be spent on a data set in all, and what is left",
    "verify": "compute again all that follows from a release",
    "report": "a release as a page to read, in HTML or PDF",
    "infer": "the posterior from what somebody else released",
    "reproduce": "judge what the papers claim",
}
"""Command, which is a module of :mod:`abcdp_core.cli` -> what it does, in a few words."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line asks.

    Args:
        arguments: without the program's name; from the command line if ``None``.

    Returns:
        The exit code.
    """
    given = values_in_one(sys.argv[1:] if arguments is None else arguments)
    try:
        with interruption.like_ctrl_c():
            return _do(given)
    except KeyboardInterrupt as stop:
        if not hasattr(stop, "__notes__"):
            stop.add_note("what it was to write is there as a whole, or not at all.")
        ending.complain(ending.noted(stop, interruption.words_for(stop)))
        return interruption.exit_code(stop)


def _do(given: Sequence[str]) -> int:
    try:
        options = parser_of(next(iter(given), "")).parse_args(given)
        code: int = options.run(options)
        return code
    except (ParameterError, ExportError) as error:
        said, code = str(error), IMPOSSIBLE
    except (BrokenExecutor, registry.LoadError) as error:
        said, code = ending.noted(error, str(error)), FAILED
    except MemoryError as error:
        less = str(error) or "smaller sizes or fewer workers need less."
        said, code = ending.noted(error, f"there is not enough memory; {less}"), FAILED
    except ending.UnheardError as error:
        ending.drop_unheard()
        said, code = ending.noted(error, str(error)), error.code
    ending.complain(f"error: {said}")
    return code


class _Parser(argparse.ArgumentParser):
    def print_help(self, file: Any = None) -> None:
        """Print it on standard output, with an error if that takes nothing."""
        ending.say(self.format_help().rstrip("\n"))

    def error(self, message: str) -> NoReturn:
        """Raise one line, like every other error, instead of the usage."""
        raise ParameterError(f"{message} (see `abcdp --help`).")


def parser_of(chosen: str) -> argparse.ArgumentParser:
    """Return the parser for a command; of the other commands it has the names alone."""
    parser = _Parser(prog="abcdp", description=__doc__, allow_abbrev=False,
                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parts = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, words in COMMANDS.items():
        if name != chosen:
            parts.add_parser(name, help=words)
            continue
        command = registry.part(f"abcdp_core.cli.{name}")
        part = parts.add_parser(name, help=words, description=command.__doc__, allow_abbrev=False,
                                formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
        command.add_options(part)
        part.set_defaults(run=command.run)
    return parser


def values_in_one(arguments: Sequence[str]) -> list[str]:
    """Write ``--domain -5,40`` as ``--domain=-5,40``: argparse takes a minus for an option."""
    joined: list[str] = []
    for argument in arguments:
        if re.match(r"-[\d.]", argument) and joined and re.fullmatch(r"--[a-z-]+", joined[-1]):
            joined[-1] += f"={argument}"
        else:
            joined.append(argument)
    return joined


def entry() -> NoReturn:
    """Run the program, and end with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal without Greek letters shows a question mark instead of failing.
            stream.reconfigure(errors="replace")
    code = main()
    interruption.pass_over()
    interruption.leave(code)


if __name__ == "__main__":
    entry()
