"""``abcdp report release.json --out report.html``: a release for people to read.

One page with what was learnt, the privacy label, what was asked and how to check it. All of it
follows from the document, which is verified first. An ending ``.pdf`` has the same page printed on
A4 by a browser.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from abcdp_core.cli import arguments
from abcdp_core.cli.ending import say
from abcdp_core.cli.simulations import done_by
from abcdp_core.output import paper
from abcdp_core.output.formats import ExportError
from abcdp_core.parameters import ParameterError
from abcdp_core.posterior.rounds import Each
from abcdp_core.release import output_file, procedure, report, verification

ENDINGS = (".html", ".pdf")

LONGEST_ABOUT = 500
"""Characters of what somebody says of the data."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("document", type=arguments.path, metavar="FILE.json",
                        help="what `release` wrote")  # fmt: skip
    parser.add_argument("--out", type=arguments.path, required=True, metavar="FILE",
                        help="a new file that ends in .html or, where there is a browser, "
                        ".pdf")  # fmt: skip
    parser.add_argument("--about", default="", metavar="WORDS",
                        help="what the data are, for the head of the report")  # fmt: skip
    arguments.add_workers(parser)
    arguments.add_plugins(parser, pools=True)


def run(options: argparse.Namespace) -> int:
    """Verify, and write the report.

    Raises:
        ParameterError: the document differs from what follows from it, or the file cannot be
            written.
        ExportError: there is no browser to print with.
    """
    arguments.plug_in(options.plugin, pools=True)
    out: Path = options.out
    if out.suffix.lower() not in ENDINGS:
        raise ParameterError(f"out = {out}: must end in {' or '.join(ENDINGS)}.")
    _check_free(out)
    if len(options.about) > LONGEST_ABOUT or not options.about.isprintable():
        raise ParameterError(f"about: must be at most {LONGEST_ABOUT} characters in one line.")
    with done_by(options.workers, options.plugin) as each:
        made = _page(options.document, options.about, each)
    content = _pdf(made) if out.suffix.lower() == ".pdf" else made.encode()
    try:
        output_file.write_new(out, content)
    except FileExistsError:
        _check_free(out)
        raise
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ParameterError(f"out = {out}: cannot be written ({reason}).") from error
    say(f"Written to {out}")
    return 0


def _check_free(out: Path) -> None:
    if os.path.lexists(out):
        raise ParameterError(f"out = {out}: is there already; choose a new file.")


def _page(file: Path, about: str, each: Each) -> str:
    text, content = verification.read_file(file)
    try:
        bare = verification.document_in(content)
        document = procedure.complete(bare, each)
        is_bare = verification.is_bare(content)
        verification.check(verification.compared(content, bare if is_bare else document))
    except ParameterError as error:
        raise ParameterError(f"{file}: {error}") from error
    return report.page(document, text, file.name, about)


def _pdf(page: str) -> bytes:
    try:
        return paper.pdf(page)
    except ExportError as error:
        raise ExportError(f"{error} A report that ends in .html needs no browser.") from error
