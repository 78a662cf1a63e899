"""The commands of the command line, one file each, and here what they share."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import NoReturn

from tqdm import tqdm

from abcdp_core.parameters import Parameter, ParameterError
from abcdp_core.streams import SEED_LIMIT
from abcdp_core.workers import processor_count

WORKERS = Parameter("integer", "Workers", low=1, high=1024)


def add_seed(parser: argparse.ArgumentParser) -> None:
    """Add the option that :func:`seed` reads."""
    parser.add_argument("--seed", default="1", metavar="S",
                        help="root seed of all random numbers (1)")  # fmt: skip


def seed(text: str) -> int:
    """A root seed.

    Raises:
        ParameterError: it is none.
    """
    if not text.isdecimal() or len(text) > 19 or int(text) >= SEED_LIMIT:
        raise ParameterError(f"seed = {text}: must be a whole number from 0 to {SEED_LIMIT - 1}.")
    return int(text)


def add_place(parser: argparse.ArgumentParser) -> None:
    """Add the options that say where tasks run."""
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--workers", metavar="W", help="processes on this machine (one per core)")
    place.add_argument("--scheduler", metavar="ADDRESS", help="of a Dask cluster to use instead")


def workers(text: str | None, tasks: int) -> int:
    """As many as asked for, else one per processor; never more than there is work for.

    Raises:
        ParameterError: ``text`` is no number of workers.
    """
    asked = processor_count() if text is None else int(WORKERS.parse("workers", text))
    return max(1, min(asked, tasks))


def check_writable(name: str, folder: Path) -> None:
    """Make a folder if it is not there, and refuse one that cannot be written.

    Raises:
        ParameterError: it is such a one.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise not_writable(name, folder, error) from error


def not_writable(name: str, folder: Path, error: OSError) -> ParameterError:
    """What to say of a folder that cannot be written."""
    reason = error.strerror or type(error).__name__
    return ParameterError(f"{name} = {folder}: must be a folder that can be written ({reason}).")


def bar(total: int, name: str | None = None, *, leave: bool = True) -> tqdm[NoReturn]:
    """A progress bar with the time left; nothing where no person is watching."""
    return tqdm(total=total, desc=name, unit="task", leave=leave, dynamic_ncols=True, disable=None)
