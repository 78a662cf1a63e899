"""The command line: the batch interface, and how any result is made again.

``abcdp list`` names the experiments, ``list EXPERIMENT`` says what can be set, and
``run EXPERIMENT --out DIR`` runs one and writes tables, settings and figures. ``plan SCENARIO``
says which mechanism to run for N people and a budget. ``check FILE`` says whether a model of your
own, or a pool made elsewhere, keeps what it states; ``pool SCENARIO --out FILE`` writes such a
pool. ``release SCENARIO`` makes one private release from somebody's own numbers, ``verify FILE``
computes again all that follows from it, and ``report FILE`` makes a page of it for people to read.
``infer PROBLEM.toml`` infers from what somebody else released, its noise taken into account.
``reproduce --out DIR`` judges what the papers claim. Exit codes: 0 if all went well; 2 with one
line ``error: ...`` if something asked for is not possible, 1 if worker processes or memory gave out
or standard output is full; 130 after Ctrl-C, and 128 and its number after another signal that ends
programs (143 after TERM), with what was done until then written and marked partial, if it was a
run, a plan or a reproduction; 141 if nobody reads standard output any more.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import sys
from collections.abc import Sequence
from concurrent.futures import BrokenExecutor
from typing import Any, NoReturn

from abcdp_core import interruption, registry
from abcdp_core.commands import ending
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
"""Command, which is a module of :mod:`abcdp_core.commands` -> what it does, in a few words."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line asks.

    Args:
        arguments: without the program's name; from the command line if ``None``.

    Returns:
        The exit code.
    """
    given = values_in_one(sys.argv[1:] if arguments is None else arguments)
    code: int | None = None
    try:
        with interruption.like_ctrl_c():
            try:
                code = _do(given)
            except KeyboardInterrupt as stop:
                code = _stopped(stop)
    except KeyboardInterrupt as stop:
        # It struck while handlers were put into place, or taken away after the work.
        code = _stopped(stop) if code is None else code
    return code


def _stopped(stop: KeyboardInterrupt) -> int:
    left = str(stop) or "nothing is done yet."
    ending.complain(f"{interruption.words_for(stop)}; {left}")
    return interruption.exit_code(stop)


def _do(given: Sequence[str]) -> int:
    try:
        options = parser_of(next(iter(given), "")).parse_args(given)
        return _run(options)
    except (ParameterError, ExportError) as error:
        ending.complain(f"error: {error}")
        return IMPOSSIBLE
    except (BrokenExecutor, registry.LoadError) as error:
        ending.complain(f"error: {error}")
    except MemoryError as error:
        less = "smaller sizes or fewer workers need less."
        ending.complain(f"error: there is not enough memory; {str(error) or less}")
    except ending.UnheardError as error:
        ending.drop_unheard()
        ending.complain(f"error: {error}")
        return error.code
    return FAILED


def _run(options: argparse.Namespace) -> int:
    try:
        code: int = options.run(options)
    except KeyboardInterrupt as stop:
        if not stop.args:
            stop.args = ("what it was to write is there as a whole, or not at all.",)
        raise
    except SystemExit as error:
        # Its author reads where; nobody is to take it for success.
        raise RuntimeError("a plug-in ended the program.") from error
    return code


class _Parser(argparse.ArgumentParser):
    def print_help(self, file: Any = None) -> None:
        """On standard output, and not in silence if it takes nothing."""
        ending.say(self.format_help().rstrip("\n"))

    def error(self, message: str) -> NoReturn:
        """One line, like every other error, instead of the usage."""
        raise ParameterError(f"{message} (see `abcdp --help`).")


def parser_of(chosen: str) -> argparse.ArgumentParser:
    """The parser of a command line that begins so; of the other commands it has the names alone."""
    parser = _Parser(prog="abcdp", description=__doc__, allow_abbrev=False,
                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parts = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, words in COMMANDS.items():
        if name != chosen:
            parts.add_parser(name, help=words)
            continue
        command = registry.part(f"abcdp_core.commands.{name}")
        part = parts.add_parser(name, help=words, description=command.__doc__, allow_abbrev=False,
                                formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
        command.add_options(part)
        part.set_defaults(run=command.run)
    return parser


def values_in_one(arguments: Sequence[str]) -> list[str]:
    """``--domain -5,40`` as ``--domain=-5,40``: argparse takes a leading minus for an option."""
    joined: list[str] = []
    for argument in arguments:
        if re.match(r"-[\d.]", argument) and joined and re.fullmatch(r"--[a-z-]+", joined[-1]):
            joined[-1] += f"={argument}"
        else:
            joined.append(argument)
    return joined


def open_what_is_closed() -> None:
    """Give a program that was started without standard input, output or error the null device.

    Python has ``None`` in their places, and the next file that is opened would get their number:
    whatever is printed by others than Python would go into it.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            # The lowest free number, which is this one; workers get it too.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
        if getattr(sys, name) is None:
            mode = "w" if number else "r"
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


def entry() -> NoReturn:
    """Run the program, and end with its exit code."""
    open_what_is_closed()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal without Greek letters shows a question mark instead of failing.
            stream.reconfigure(errors="replace")
    code = main()
    interruption.pass_over()
    interruption.leave(code)


if __name__ == "__main__":
    entry()
