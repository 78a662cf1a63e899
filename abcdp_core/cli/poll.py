"""Recompute what the answers of a live poll reveal.

`poll` reads the file that a live poll offers and writes its tables and its page, byte for byte. Of
numbers: each question with its answer and the interval of the mean after it, the posterior of the
mean, and the intervals with and without a shape. Of categories: their shares, with intervals for
the class and for a wider population. The answers are public: everyone's word was drawn on their own
telephone.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from abcdp_core.base.atomic import together
from abcdp_core.base.sentences import counted
from abcdp_core.cli import arguments
from abcdp_core.cli.console import say
from abcdp_core.publish.output import poll_file, poll_page
from abcdp_core.studies.poll import tables_of


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "file", metavar="FILE", type=Path, help="poll.toml, as a live poll saves it"
    )
    arguments.add_out(parser, "folder for the tables and the page")


def run(options: argparse.Namespace) -> int:
    """Recompute a poll, write its tables and its page, and print the intervals."""
    questionnaire = poll_file.read(options.file)
    with arguments.writing("out", options.out), together(options.out) as folder:
        for name, table in tables_of(questionnaire.known()).items():
            table.to_csv(folder / name, index=False)
        (folder / "poll.html").write_text(poll_page.page(questionnaire), encoding="utf-8")
    for item in questionnaire.known():
        after = f"After {counted(len(item.poll.answers), 'answer')}"
        headline = poll_page.headline(item)
        headline = headline[:1].lower() + headline[1:]
        say(f"{after}, {headline} (95 % interval).")
    return 0
