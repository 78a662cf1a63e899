"""Options that several commands share, and the checks of their values."""

from __future__ import annotations

import argparse
import contextlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from abcdp_core import studies
from abcdp_core.base import registry
from abcdp_core.base.parameters import Parameter, ParameterError, Params, shown

if TYPE_CHECKING:
    from abcdp_core.models.own_model.pool_file import PoolFile

# ------------------------------------------------------------------ plug-ins

NEEDED = ("TITLE", "Params", "PRESETS", "COLUMNS", "tasks", "work", "collect", "figures")
"""Names that an experiment must define."""


def add_plugins(parser: argparse.ArgumentParser, *, pools: bool = False) -> None:
    """Add the option that :func:`plug_in` reads."""
    metavar, words = "FILE.py", "file with a scenario, mechanism or experiment"
    if pools:
        metavar, words = "FILE", "a model (FILE.py) or a pool (FILE.toml) of your own"
    parser.add_argument("--plugin", action="append", default=[], type=Path, metavar=metavar,
                        help=words)  # fmt: skip


def add_time_limit(parser: argparse.ArgumentParser) -> None:
    """Add the option that :func:`limit_time` reads."""
    words = "limit of one simulation of your own model (60; inf for none)"
    parser.add_argument("--seconds-per-run", metavar="S", help=words)


def limit_time(options: argparse.Namespace, *, is_own: bool) -> None:
    """Limit each simulation of a user's model, here and in worker processes.

    Raises:
        ParameterError: the limit is out of range, or there is no such model.
    """
    if (text := options.seconds_per_run) is None:
        return
    from abcdp_core.models.own_model import time_limit

    seconds = time_limit.SECONDS.parse("seconds_per_run", text)
    if not is_own:
        raise ParameterError("seconds_per_run: is for your own model only; leave it out.")
    os.environ[time_limit.VARIABLE] = str(seconds)


def read_pool(file: Path) -> PoolFile:
    """Read a pool from its TOML file.

    Raises:
        ParameterError: the file is missing or wrong.
    """
    # Imported late because what reads tables is slow to import.
    from abcdp_core.models.own_model import reading

    try:
        return reading.read(file)
    except OSError as error:
        raise ParameterError(f"{file.name}: {error.strerror}.") from error


def plug_in_pool(file: Path) -> str:
    """Register a pool made elsewhere, and return its name as a scenario.

    Raises:
        ParameterError: the pool cannot be read, or its name is taken.
    """
    from abcdp_core.models import simulators
    from abcdp_core.models.own_model import pool_table

    scenario = pool_table.scenario_of(read_pool(file))
    registry.add_value("SCENARIO", scenario)
    try:
        simulators.names()
    except ValueError as error:
        raise ParameterError(f"plugin = {file}: cannot be used ({error}).") from error
    return scenario.name


def plug_in(files: Sequence[Path], *, pools: bool = False) -> None:
    """Register plug-ins and, with ``pools``, pools in TOML files.

    Raises:
        ParameterError: one of them cannot be loaded.
    """
    for number, file in enumerate(files):
        if file.name in [other.name for other in files[:number]]:
            raise ParameterError(f"plugin = {file}: another plug-in has this file name; rename it.")
        if pools and file.suffix == ".toml":
            plug_in_pool(file)
            continue
        try:
            module = registry.add_file(file)
            _check_names(module)
        except (Exception, SystemExit) as error:
            from abcdp_core.models.own_model.user_errors import described

            if str(error).startswith(begin := f"plug-in {file}: "):
                why = str(error).removeprefix(begin)
                raise ParameterError(f"plugin = {file}: {why}") from error
            reason = described(error, file.name)
            raise ParameterError(f"plugin = {file}: cannot be loaded ({reason}).") from error
        if hasattr(module, "EXPERIMENT"):
            missing = [name for name in NEEDED if not hasattr(module, name)]
            if missing:
                raise ParameterError(f"plugin = {file}: lacks {', '.join(missing)}.")
            if not (isinstance(module.Params, type) and issubclass(module.Params, Params)):
                raise ParameterError(f"plugin = {file}: Params must be a subclass of Params.")


def _check_names(module: ModuleType) -> None:
    """Raise ValueError if the name of a plug-in is taken."""
    from abcdp_core import mechanisms
    from abcdp_core.models import simulators

    folders = {"SCENARIO": simulators, "MECHANISMS": mechanisms, "EXPERIMENT": studies}
    for marker, folder in folders.items():
        if hasattr(module, marker):
            folder.names()


def check_scenario(name: str | None, taken: Sequence[object], files: Sequence[Path]) -> None:
    """Give advice if a study does not take a scenario; its parameters refuse the scenario anyway.

    Raises:
        ParameterError: the scenario is a model of the user's, or may be one.
    """
    if name is None or name in taken:
        return
    # Importing scenarios takes a while.
    from abcdp_core.models import simulators

    known, choice = name in simulators.names(), ", ".join(map(str, taken))
    if known and simulators.load(name).model is not None:
        raise ParameterError(
            f"scenario = {name}: this study covers only {choice or 'its own scenario'}; "
            f"`plan {name}` says what to expect from releases with your model."
        )
    if taken and not (known or files):
        raise ParameterError(
            f"scenario = {shown(name)}: must be one of {choice}; a model of your own needs "
            f"--plugin FILE.py."
        )


# ---------------------------------------------------------- seeds and workers

WORKERS = Parameter("integer", "Workers", low=1, high=1024)


def add_seed(parser: argparse.ArgumentParser) -> None:
    """Add the option that :func:`seed` reads."""
    parser.add_argument("--seed", default="1", metavar="S", help="seed of all random numbers (1)")


def seed(text: str) -> int:
    """Return a root seed.

    Raises:
        ParameterError: the text is not a seed.
    """
    from abcdp_core.base.streams import SEED_LIMIT

    if not (text.isascii() and text.isdecimal()) or len(text) > 19 or int(text) >= SEED_LIMIT:
        raise ParameterError(f"seed = {text}: must be a whole number from 0 to {SEED_LIMIT - 1}.")
    return int(text)


def add_workers(parser: Any, words: str = "one per core") -> None:
    """Add the option that :func:`workers` reads."""
    parser.add_argument("--workers", metavar="W", help=f"processes on this machine ({words})")


def add_place(parser: argparse.ArgumentParser, words: str = "one per core") -> None:
    """Add the options that say where tasks run."""
    place = parser.add_mutually_exclusive_group()
    add_workers(place, words)
    place.add_argument("--scheduler", metavar="ADDRESS", help="use the Dask cluster at ADDRESS")


def workers(text: str | None, tasks: int) -> int:
    """Return the number of workers: by default one per core, and never more than there are tasks.

    Raises:
        ParameterError: ``text`` is not a number of workers.
    """
    from abcdp_core.run.workers import processor_count

    asked = processor_count() if text is None else int(WORKERS.parse("workers", text))
    return max(1, min(asked, tasks))


# ------------------------------------------------------------------- folders


def path(text: str) -> Path:
    """Return a path.

    Raises:
        argparse.ArgumentTypeError: the text is empty, which would mean the working directory.
    """
    if not text:
        raise argparse.ArgumentTypeError("must not be empty")
    return Path(text)


def add_out(parser: argparse.ArgumentParser, words: str = "folder for the results", *,
            required: bool = True) -> None:  # fmt: skip
    """Add the option for the folder of the results."""
    parser.add_argument("--out", type=path, required=required, metavar="DIR", help=words)


@contextlib.contextmanager
def writing(name: str, folder: Path, ending: str = ".") -> Iterator[None]:
    """Turn an error of the file system in the block into one line about an option's folder.

    Raises:
        ParameterError: a file could not be written.
    """
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        words = f"must be a folder that can be written ({reason})"
        raise ParameterError(f"{name} = {folder}: {words}{ending}") from error


UNCHANGED = "; earlier results there are unchanged."


def check_writable(name: str, folder: Path) -> None:
    """Create a folder if it does not exist.

    Raises:
        ParameterError: the folder cannot be written.
    """
    with writing(name, folder):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
