"""Turn a release into a report for people to read.

The report is one page with the results, the privacy label, the request and how to check it. All of
it follows from the release, which is verified first. A file that ends in `.pdf` is printed on A4 by
a browser. `--registry` writes a draft of an entry for the Deployments Registry.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from abcdp_core.base.parameters import ParameterError
from abcdp_core.cli import arguments
from abcdp_core.cli.console import say
from abcdp_core.cli.simulations import done_by
from abcdp_core.posterior.rounds import TaskMap
from abcdp_core.publish.output import paper
from abcdp_core.publish.output.formats import ExportError
from abcdp_core.release import disclosure, output_file, procedure, report, verification
from abcdp_core.release.document import ReleaseRecord

ENDINGS = (".html", ".pdf")

LONGEST_ABOUT = 500
"""Characters that may describe the data."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("document", type=arguments.path, metavar="FILE.json",
                        help="a release")  # fmt: skip
    parser.add_argument("--out", type=arguments.path, metavar="FILE",
                        help="a new file that ends in .html, or in .pdf, which needs a "
                        "browser")  # fmt: skip
    parser.add_argument("--registry", type=arguments.path, metavar="FILE.yaml",
                        help="a new file: a draft for the Deployments Registry (OpenDP), with TODO "
                        "for what the release does not say")  # fmt: skip
    parser.add_argument("--about", default="", metavar="WORDS",
                        help="description of the data, for the top of the report")  # fmt: skip
    arguments.add_workers(parser)
    arguments.add_plugins(parser, pools=True)


def run(options: argparse.Namespace) -> int:
    """Verify a release and write its report.

    Raises:
        ParameterError: the release fails verification, or the file cannot be written.
        ExportError: there is no browser to print the PDF.
    """
    arguments.plug_in(options.plugin, pools=True)
    out: Path | None = options.out
    registry: Path | None = options.registry
    if out is not None and out.suffix.lower() not in ENDINGS:
        raise ParameterError(f"out = {out}: must end in {' or '.join(ENDINGS)}.")
    if out is None and registry is None:
        raise ParameterError("out: name a new file with --out, --registry, or both.")
    for name, file in (("out", out), ("registry", registry)):
        if file is not None and os.path.lexists(file):
            raise ParameterError(f"{name} = {file}: already exists; choose a new file.")
    if len(options.about) > LONGEST_ABOUT or not options.about.isprintable():
        raise ParameterError(f"about: must be at most {LONGEST_ABOUT} characters in one line.")
    with done_by(arguments.workers(options.workers, 1024), options.plugin) as each:
        document, text = _document(options.document, each)
    if out is not None:
        page = report.page(document, text, options.document.name, options.about)
        _write("out", out, _pdf(page) if out.suffix.lower() == ".pdf" else page.encode())
    if registry is not None:
        _write("registry", registry, disclosure.registry_entry(document, text).encode())
    return 0


def _write(name: str, file: Path, content: bytes) -> None:
    try:
        with output_file.reserved(file) as keep:
            keep(content)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ParameterError(f"{name} = {file}: cannot be written ({reason}).") from error
    say(f"Written to {file}")


def _document(file: Path, each: TaskMap) -> tuple[ReleaseRecord, bytes]:
    text, content = verification.read_file(file)
    try:
        bare = verification.document_in(content)
        document = procedure.complete(bare, each)
        is_bare = verification.is_bare(content)
        verification.check(verification.compared(content, bare if is_bare else document))
    except ParameterError as error:
        raise ParameterError(f"{file}: {error}") from error
    return document, text


def _pdf(page: str) -> bytes:
    try:
        return paper.pdf(page)
    except ExportError as error:
        raise ExportError(f"{error} An .html report needs no browser.") from error
