"""Options that several commands take, and the checks of what they are given."""

from __future__ import annotations

import argparse
import contextlib
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from abcdp_core import experiments, registry
from abcdp_core.output.together import CopiedError, MixedError, check_place, clear, unchanged
from abcdp_core.parameters import Parameter, ParameterError, Params, shown

if TYPE_CHECKING:
    from abcdp_core.own_model.pool_file import PoolFile

# ------------------------------------------------------------------ plug-ins

NEEDED = ("TITLE", "Params", "PRESETS", "COLUMNS", "tasks", "work", "collect", "figures")
"""What an experiment has to define."""


def add_plugins(parser: argparse.ArgumentParser) -> None:
    """Add the option that :func:`plug_in` reads."""
    parser.add_argument("--plugin", action="append", default=[], type=Path, metavar="FILE.py",
                        help="a scenario, mechanism or experiment in a file")  # fmt: skip


def add_plugins_or_pools(parser: argparse.ArgumentParser) -> None:
    """Add the option that :func:`plug_in` reads, where pools may be among the files."""
    parser.add_argument("--plugin", action="append", default=[], type=Path, metavar="FILE",
                        help="a model of your own, FILE.py, or a pool, FILE.toml")  # fmt: skip


def read_pool(file: Path) -> PoolFile:
    """A pool by its TOML file, while no other program moves a new one there.

    Raises:
        ParameterError: one line names the file and what is wrong where.
    """
    # Inside the function: who has no pool need not wait for what reads tables.
    from abcdp_core.own_model import reading

    try:
        with unchanged(file.parent):
            return reading.read(file)
    except OSError as error:
        raise ParameterError(f"{file.name}: {error.strerror}.") from error


def plug_in_pool(file: Path) -> str:
    """Add a pool that was made elsewhere, and tell the name by which it is a scenario.

    Raises:
        ParameterError: it cannot be read, or has the name of something else; why, in a line.
    """
    # Inside the function, for the same reason.
    from abcdp_core.own_model import lattice

    module = lattice.scenario_of(read_pool(file))
    registry.add_module(module)
    try:
        _check_names(module)
    except ValueError as error:
        raise ParameterError(f"plugin = {file}: cannot be used ({error}).") from error
    name: str = module.SCENARIO
    return name


def plug_in(files: Sequence[Path], *, pools: bool = False) -> None:
    """Add plug-ins.

    Args:
        files: that state them.
        pools: whether one may be a pool in a TOML file, which no study takes.

    Raises:
        ParameterError: one of them cannot be loaded; its author learns in a line why.
    """
    for number, file in enumerate(files):
        if file.name in [other.name for other in files[:number]]:
            raise ParameterError(f"plugin = {file}: another one has this file name; rename one.")
        if pools and file.suffix == ".toml":
            plug_in_pool(file)
            continue
        try:
            module = registry.add_file(file)
            _check_names(module)
        except (Exception, SystemExit) as error:
            # Inside the function: who plugs nothing in need not wait for what models need.
            from abcdp_core.own_model.blame import described

            if str(error).startswith(begin := f"plug-in {file}: "):
                said = str(error).removeprefix(begin)
                raise ParameterError(f"plugin = {file}: {said}") from error
            reason = described(error, file.name)
            raise ParameterError(f"plugin = {file}: cannot be loaded ({reason}).") from error
        if hasattr(module, "EXPERIMENT"):
            missing = [name for name in NEEDED if not hasattr(module, name)]
            if missing:
                raise ParameterError(f"plugin = {file}: lacks {', '.join(missing)}.")
            if not (isinstance(module.Params, type) and issubclass(module.Params, Params)):
                raise ParameterError(f"plugin = {file}: Params must be a class made from Params.")


def _check_names(module: ModuleType) -> None:
    """Fail if the name that a plug-in goes by is taken."""
    # Inside the function: only a plug-in has to wait for what scenarios and mechanisms import.
    from abcdp_core import mechanisms, simulators

    folders = {"SCENARIO": simulators, "MECHANISMS": mechanisms, "EXPERIMENT": experiments}
    for marker, folder in folders.items():
        if hasattr(module, marker):
            folder.names()


def check_scenario(name: str | None, taken: Sequence[object], files: Sequence[Path]) -> None:
    """Say what would help where a scenario is not taken; who takes it refuses it anyway.

    Args:
        name: asked for, if any.
        taken: by a study; empty if it has no choice.
        files: plug-ins that were added.

    Raises:
        ParameterError: it is a model of one's own, or might be one whose file was not named.
    """
    if name is None or name in taken:
        return
    # Inside the function: only what is refused has to wait for what scenarios import.
    from abcdp_core import simulators

    known = name in simulators.names()
    if known and hasattr(simulators.load(name), "MODEL"):
        alone = ", ".join(map(str, taken)) if taken else "its own scenario"
        raise ParameterError(
            f"scenario = {name}: this study is of {alone} alone; `plan {name}` says what releases "
            f"of yours come to."
        )
    if taken and not (known or files):
        raise ParameterError(
            f"scenario = {shown(name)}: must be one of {', '.join(map(str, taken))}; a model of "
            f"your own needs --plugin FILE.py."
        )


# ---------------------------------------------------------- seeds and workers

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
    # Inside the function: what lists experiments draws nothing.
    from abcdp_core.streams import SEED_LIMIT

    if not (text.isascii() and text.isdecimal()) or len(text) > 19 or int(text) >= SEED_LIMIT:
        raise ParameterError(f"seed = {text}: must be a whole number from 0 to {SEED_LIMIT - 1}.")
    return int(text)


def add_place(parser: argparse.ArgumentParser) -> None:
    """Add the options that say where tasks run."""
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--workers", metavar="W", help="processes on this machine (one per core)")
    place.add_argument("--scheduler", metavar="ADDRESS", help="of a Dask cluster to use instead")


def add_workers(parser: argparse.ArgumentParser) -> None:
    """Add the option that :func:`workers` reads."""
    parser.add_argument("--workers", metavar="W", help="processes on this machine (one per core)")


def workers(text: str | None, tasks: int) -> int:
    """As many as asked for, else one per processor; never more than there is work for.

    Raises:
        ParameterError: ``text`` is no number of workers.
    """
    # Inside the function: what lists experiments runs none.
    from abcdp_core.workers import processor_count

    asked = processor_count() if text is None else int(WORKERS.parse("workers", text))
    return max(1, min(asked, tasks))


# ------------------------------------------------------------------- folders


def path(text: str) -> Path:
    """A path as it was given; an empty one would be the working directory, by mistake.

    Raises:
        argparse.ArgumentTypeError: it is empty.
    """
    if not text:
        raise argparse.ArgumentTypeError("must not be empty")
    return Path(text)


def make_ready(folder: Path, stem: str, *endings: str) -> None:
    """Refuse a place for results where they could not be put once they are computed.

    Args:
        folder: the place; what an ended command left there is finished or removed.
        stem: begins the names of the results, before a dot.
        endings: end them, after one.

    Raises:
        ParameterError: it is such a one.
    """
    try:
        for found in sorted(folder.iterdir()):
            first, *rest = found.name.split(".")
            if first == stem and rest and rest[-1] in endings:
                check_place(found)
        if "html" in endings:
            _check_library(folder)
        clear(folder)
    except OSError as error:
        end = f"; {MIXED}" if isinstance(error, MixedError) else "."
        raise ParameterError(f"out = {folder}: {error.strerror}{end}") from error


def _check_library(folder: Path) -> None:
    """Refuse a folder where the file that draws figures is somebody else's, and another one.

    Raises:
        OSError: it is.
    """
    from plotly.offline import get_plotlyjs

    from abcdp_core.output.page import LIBRARY

    place = folder / LIBRARY
    try:
        check_place(place)
    except PermissionError:
        library = get_plotlyjs().encode()
        with contextlib.suppress(PermissionError):
            if place.stat().st_size == len(library) and place.read_bytes() == library:
                return
        raise


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


def not_writable(name: str, folder: Path, error: OSError, more: str = "") -> ParameterError:
    """What to say of a folder that cannot be written, and perhaps of what becomes of it."""
    reason = error.strerror or type(error).__name__
    known = more and not isinstance(error, CopiedError)
    end = f"; {MIXED if isinstance(error, MixedError) else more}" if known else "."
    return ParameterError(
        f"{name} = {folder}: must be a folder that can be written ({reason}){end}"
    )


UNCHANGED = "an earlier result there is as it was."

MIXED = (
    "some files there may be new and others an earlier result's; the next command that can write "
    "there makes them all one or the other."
)
