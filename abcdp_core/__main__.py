"""Approximate Bayesian computation with differential privacy, from the command line.

`abcdp COMMAND --help` explains a command. All results come with the command that reproduces them.

Exit codes:
  0    success
  1    worker processes were lost, memory ran out, or standard output is full
  2    the request is not possible; one line says why
  130  interrupted by Ctrl-C; after another signal, 128 plus its number (143 after TERM).
       `run`, `plan` and `reproduce` still write what is done and mark it as partial.
  141  nobody reads standard output any more
"""

from __future__ import annotations

import argparse
import io
import re
import sys
from collections.abc import Sequence
from concurrent.futures import BrokenExecutor
from typing import Any, NoReturn

from abcdp_core import __version__
from abcdp_core.base import interruption, registry
from abcdp_core.base.parameters import ParameterError
from abcdp_core.cli import console
from abcdp_core.publish.output.formats import ExportError

FAILED = 1
IMPOSSIBLE = 2
INTERRUPTED = 130

COMMANDS = {
    "app": "open the app in your browser",
    "list": "list the experiments, or the parameters of one",
    "run": "run an experiment",
    "check": "check a model or a pool of your own",
    "pool": "write a public pool as a table that any program can read",
    "plan": "choose a mechanism for N people and a budget, or for a target error",
    "release": "make one private release from your own data",
    "budget": "create a total budget for a data set, or show what is left",
    "verify": "recompute everything that follows from a release",
    "report": "turn a release into a report, in HTML or PDF",
    "infer": "infer a posterior from a noisy query that someone else released",
    "poll": "recompute what the answers of a live poll reveal",
    "story": "write the story that the app begins with as one page",
    "reproduce": "test the papers' claims again",
}
"""Command, a module of :mod:`abcdp_core.cli` -> one line of help."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, by default that of the process, and return the exit code."""
    given = values_in_one(sys.argv[1:] if arguments is None else arguments)
    try:
        with interruption.like_ctrl_c():
            return _do(given)
    except KeyboardInterrupt as stop:
        if not hasattr(stop, "__notes__"):
            stop.add_note("no file was left half-written.")
        console.complain(console.noted(stop, interruption.words_for(stop)))
        return interruption.exit_code(stop)


def _do(given: Sequence[str]) -> int:
    try:
        options = parser_of(next(iter(given), "")).parse_args(given)
        return options.run(options)
    except (ParameterError, ExportError) as error:
        said, code = str(error), IMPOSSIBLE
    except (BrokenExecutor, registry.LoadError) as error:
        said, code = console.noted(error, str(error)), FAILED
    except MemoryError as error:
        advice = str(error) or "try smaller sizes or fewer workers."
        said, code = console.noted(error, f"not enough memory; {advice}"), FAILED
    except console.UnheardError as error:
        console.drop_unheard()
        said, code = console.noted(error, str(error)), error.code
    console.complain(f"error: {said}")
    return code


class _Parser(argparse.ArgumentParser):
    def print_help(self, file: Any = None) -> None:
        """Print the help; fail if standard output cannot be written."""
        console.say(self.format_help().rstrip("\n"))

    def error(self, message: str) -> NoReturn:
        """Raise a one-line error instead of printing the usage."""
        raise ParameterError(f"{message} (see `abcdp --help`).")


def parser_of(chosen: str) -> argparse.ArgumentParser:
    """Return the parser with the options of one command and only the names of the others."""
    parser = _Parser(prog="abcdp", description=__doc__, allow_abbrev=False,
                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("--version", action="version", version=__version__)
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
    """Join ``--domain -5,40`` to ``--domain=-5,40``: argparse takes -5 for an option."""
    joined: list[str] = []
    for argument in arguments:
        if re.match(r"-[\d.]", argument) and joined and re.fullmatch(r"--[a-z-]+", joined[-1]):
            joined[-1] += f"={argument}"
        else:
            joined.append(argument)
    return joined


def entry() -> NoReturn:
    """Run the program and leave with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal without Greek letters shows a question mark instead of failing.
            stream.reconfigure(errors="replace")
    code = main()
    interruption.pass_over()
    interruption.leave(code)


if __name__ == "__main__":
    entry()
