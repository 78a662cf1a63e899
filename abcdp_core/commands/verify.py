"""``python -m abcdp_core verify release.json``: does a document say what follows from its release?

What is public is computed again and compared, a line each; then it says what cannot be computed
again. A document that differs anywhere is an error.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from abcdp_core.commands import arguments
from abcdp_core.commands.ending import say
from abcdp_core.own_data import verification
from abcdp_core.parameters import ParameterError


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("document", type=arguments.path, metavar="FILE.json",
                        help="what `release` wrote")  # fmt: skip
    arguments.add_plugins(parser)


def run(options: argparse.Namespace) -> int:
    """Compare and say what agrees.

    Raises:
        ParameterError: the file is no document of a release, or something in it differs.
    """
    arguments.plug_in(options.plugin)
    content = _content(options.document)
    try:
        findings = verification.verify(content)
    except ParameterError as error:
        raise ParameterError(f"{options.document}: {error}") from error
    for each in findings:
        say(f"{'agrees ' if each.agrees else 'DIFFERS'}  {each.what}")
    for words in verification.cannot_be_known(content):
        say(f"not recomputed: {words}")
    if wrong := [each.key for each in findings if not each.agrees]:
        raise ParameterError(
            f"{options.document}: was changed, or made by a version that computes otherwise; "
            f"{', '.join(wrong)} {'differs' if len(wrong) == 1 else 'differ'} from what follows."
        )
    return 0


def _content(file: Path) -> Any:
    try:
        with file.open("rb") as opened:
            text = opened.read(verification.LARGEST_FILE + 1)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ParameterError(f"{file}: cannot be read ({reason}).") from error
    if len(text) > verification.LARGEST_FILE:
        raise ParameterError(f"{file}: is larger than any document of a release.")
    try:
        return json.loads(text, parse_constant=_refuse, object_pairs_hook=_each_once)
    except (ValueError, RecursionError) as error:
        raise ParameterError(f"{file}: is no JSON, or has a key twice.") from error


def _refuse(name: str) -> None:
    raise ValueError(name)


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a key that stands twice: people and programs would read different ones."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key twice")
    return found
