"""``python -m abcdp_core release``: one private release from a file of somebody's own numbers.

It says what will be spent and asks before it does; what comes out is one file that is never written
over another. The budget is spent when that file is there: up to then Ctrl-C leaves nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from abcdp_core.commands import arguments, progress
from abcdp_core.own_data import release, series
from abcdp_core.own_data.request import (
    ReleaseRequest,
    check_size,
    own_sizes,
    question,
    scenarios,
)
from abcdp_core.parameters import ParameterError

OPTIONS = {
    "epsilon_total": ("E", "privacy budget to spend"),
    "epsilon_abc": ("A", "similarity threshold (the scenario's)"),
    "c": ("C", "accepted samples asked for (the scenario's)"),
    "distance": ("NAME", "distance between data sets (the scenario's first)"),
    "bandwidth": ("B", "of the distance's kernel (the scenario's)"),
    "pool_size": ("T", "public prior draws (the scenario's)"),
    "pool_seed": ("S", "seed of the public draws, not of the noise (1)"),
}
"""Option that is a field of the request by the same name -> its value, and what it is."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("scenario", metavar="SCENARIO", help=f"of {', '.join(scenarios())}")
    parser.add_argument("--data", type=Path, required=True, metavar="FILE",
                        help="CSV of one column of numbers, in UTF-8")  # fmt: skip
    parser.add_argument("--domain", required=True, metavar="LOW,HIGH",
                        help="between which the values are known to lie, as in --domain=-5,40; "
                        "others are moved to these bounds")  # fmt: skip
    for name, (value, words) in OPTIONS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", required=name == "epsilon_total",
                            metavar=value, help=words)  # fmt: skip
    parser.add_argument("--resample", action="store_true",
                        help="redraw the threshold's noise after each acceptance")  # fmt: skip
    parser.add_argument("--yes", action="store_true", help="spend it without being asked")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE.json",
                        help="a new file for what is released")  # fmt: skip
    arguments.add_plugins(parser)


def run(options: argparse.Namespace) -> int:
    """Check everything, ask, release, write.

    Raises:
        ParameterError: something is not possible, or the answer was no.
        KeyboardInterrupt: before the file was there.
    """
    arguments.plug_in(options.plugin)
    request = _request(options)
    try:
        with _new_file(options.out) as file:
            values = _values(request, options.data)
            check_size(request, len(values))
            _confirm(question(request, len(values)), sure=options.yes)
            with progress.of_fraction("Public pool") as bar:
                document = release.make(request, values, progress=bar)
            file.write(document.to_json())
    except KeyboardInterrupt:
        raise KeyboardInterrupt("nothing was released.") from None
    print(document.summary)
    print(document.statement)
    print(f"Written to {options.out}")
    return 0


def _request(options: argparse.Namespace) -> ReleaseRequest:
    low, comma, high = options.domain.partition(",")
    if not comma or "," in high:
        raise ParameterError(f"domain = {options.domain}: must be LOW,HIGH, as in 0,100.")
    texts = {"scenario": options.scenario, "low": low, "high": high}
    texts |= {name: text for name in OPTIONS if (text := getattr(options, name)) is not None}
    texts["resample"] = str(options.resample)
    return ReleaseRequest.from_text(texts)


def _values(request: ReleaseRequest, file: Path) -> NDArray[np.float64]:
    """The series; what is wrong with it is said without a value of it."""
    try:
        return series.read(series.content_of(file), own_sizes(request.scenario)[1])
    except series.SeriesError as error:
        raise ParameterError(f"data = {file}: {error}") from error


def _confirm(asked: str, *, sure: bool) -> None:
    if not sure and not sys.stdin.isatty():
        raise ParameterError("nobody is there to confirm: say --yes to spend the budget.")
    print(asked)
    if not sure and not _says_yes():
        raise ParameterError("not confirmed; nothing was released.")


def _says_yes() -> bool:
    try:
        return input("Spend it? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False


@contextmanager
def _new_file(out: Path) -> Iterator[TextIO]:
    """A file that is there before the budget is spent, and is gone if anything goes wrong.

    Never one that was there before: it may be the only copy of a release that was paid for.
    """
    try:
        file = out.open("x", encoding="utf-8", newline="\n")
    except FileExistsError:
        raise ParameterError(f"out = {out}: is there already; choose a new file.") from None
    except OSError as error:
        raise _not_written(out, error) from error
    try:
        with file:
            yield file
    except BaseException as error:
        out.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise _not_written(out, error) from error
        raise


def _not_written(out: Path, error: OSError) -> ParameterError:
    reason = error.strerror or type(error).__name__
    return ParameterError(f"out = {out}: cannot be written ({reason}); nothing was released.")
