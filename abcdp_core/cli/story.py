"""Write the story that the app begins with as one page.

The file needs no server and fetches nothing: send it, or put it on a course page. It plays real
runs, the same as `abcdp run posterior` and `abcdp run many-releases`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from abcdp_core.base.atomic import replace
from abcdp_core.cli import arguments
from abcdp_core.cli.console import say
from abcdp_core.publish.output import story


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "--out", type=Path, default=Path("could-it-betray-you.html"), metavar="FILE",
        help="the page to write (could-it-betray-you.html)",
    )  # fmt: skip
    parser.add_argument(
        "--app", default="", metavar="ADDRESS", help="address of an app that the page links to"
    )


def run(options: argparse.Namespace) -> int:
    """Write the page."""
    with arguments.writing("out", options.out.parent):
        replace(options.out, story.page(options.app))
    say(f"Wrote {options.out}.")
    return 0
