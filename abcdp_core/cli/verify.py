"""Recompute everything that follows from a release, and compare.

`verify` prints a line for each part, then what cannot be recomputed. Any difference is an error.
"""

from __future__ import annotations

import argparse

from abcdp_core.base.parameters import ParameterError
from abcdp_core.cli import arguments
from abcdp_core.cli.console import say
from abcdp_core.cli.simulations import done_by
from abcdp_core.release import verification


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("document", type=arguments.path, metavar="FILE.json",
                        help="a release")  # fmt: skip
    arguments.add_workers(parser)
    arguments.add_plugins(parser, pools=True)


def run(options: argparse.Namespace) -> int:
    """Recompute and compare, one line for each part.

    Raises:
        ParameterError: the file is not a release, or a part differs.
    """
    arguments.plug_in(options.plugin, pools=True)
    _, content = verification.read_file(options.document)
    try:
        with done_by(arguments.workers(options.workers, 1024), options.plugin) as simulations:
            findings = verification.verify(content, simulations)
        for each in findings:
            say(f"{'agrees ' if each.agrees else 'DIFFERS'}  {each.what}")
        for words in verification.cannot_be_known(content):
            say(f"not recomputed: {words}")
        verification.check(findings)
    except ParameterError as error:
        raise ParameterError(f"{options.document}: {error}") from error
    return 0
