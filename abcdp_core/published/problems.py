"""A problem: what somebody released, how, and what it is to be explained by; read from TOML.

::

    simulator = "linear-regression"   # or: pool = "pool.csv" (or .parquet), beside this file
    query = [-0.5514, ...]            # the numbers that were released, noise and all
    effective_sample_size = 2000      # wanted; optional, as the next two
    draws = 2000000                   # that may be simulated
    seed = 1

    [noise]
    law = "laplace"                   # discrete-laplace, gaussian, binomial-sample
    scale = 0.13                      # or one for each number
"""

from __future__ import annotations

import numbers
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abcdp_core.parameters import Parameter, ParameterError, shown
from abcdp_core.published import models, pools
from abcdp_core.published.models import Model
from abcdp_core.published.noise import BinomialSample, DiscreteLaplace, Gaussian, Laplace, Noise
from abcdp_core.published.pools import Pool
from abcdp_core.sentences import counted
from abcdp_core.streams import SEED_LIMIT

Array = NDArray[np.float64]

WANTED = Parameter("integer", "Effective sample size", low=100, high=100_000)
WANTED_DEFAULT = 2000
DRAWS = Parameter("integer", "Draws", low=1000, high=10_000_000)
SEED = Parameter("integer", "Seed", low=0, high=float(SEED_LIMIT - 1))
TRIALS = Parameter("integer", "People in the sample", low=1, high=1e9)
POPULATION = Parameter("real", "People there are", low=1.0, high=1e12)
OFFSET = Parameter("real", "People added to either side", low=0.0, high=1e12)
SCALE = Parameter("real", "Scale of the noise", low=1e-12, high=1e12)

KEYS = ("simulator", "pool", "query", "noise", "effective_sample_size", "draws", "seed")
NEEDED = ("query", "noise")

LARGEST_FILE = 1_000_000
"""Bytes of a problem's file."""


@dataclass(frozen=True)
class Problem:
    """What was released, and what it is to be explained by.

    Attributes:
        name: of the file it is from.
        source: a simulator, or what one gave before.
        simulator: name of the model, or of the pool's file.
        query: what was released ``(k,)``.
        noise: the law of its noise.
        wanted: effective sample size that is enough.
        draws: most that may be simulated.
        seed: root seed of all random numbers.
    """

    name: str
    source: Model | Pool
    simulator: str
    query: Array = field(repr=False)
    noise: Noise
    wanted: int = WANTED_DEFAULT
    draws: int = 1_000_000
    seed: int = 1


def read(file: Path) -> Problem:
    """A problem from its file.

    Raises:
        ParameterError: it cannot be read or is not possible; one line says what is wrong where.
    """
    try:
        # A device has no end, and a pipe would be waited for.
        if not file.is_file():
            raise ParameterError(f"problem = {file}: there is no such file.")
        if file.stat().st_size > LARGEST_FILE:
            raise ParameterError(f"problem = {file}: is larger than {LARGEST_FILE:,} bytes.")
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ParameterError(f"problem = {file}: cannot be read ({error.strerror}).") from error
    except UnicodeDecodeError as error:
        raise ParameterError(f"problem = {file}: is not in UTF-8.") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ParameterError(f"problem = {file}: is no TOML ({error}).") from error
    try:
        return from_document(document, file.stem, file.parent)
    except ParameterError as error:
        raise ParameterError(f"{file}: {error}") from error


def from_document(document: Mapping[str, Any], name: str, folder: Path) -> Problem:
    """A problem from what its file holds.

    Args:
        document: the keys above.
        name: what it is called.
        folder: where a pool's path begins.

    Raises:
        ParameterError: something is missing, unknown or not allowed.
    """
    _check_keys(document, KEYS, NEEDED, "")
    if ("simulator" in document) == ("pool" in document):
        raise ParameterError("simulator, pool: give one of the two.")
    simulator = _text(document, "simulator" if "simulator" in document else "pool")
    source = _model(simulator) if "simulator" in document else pools.read(folder / simulator)
    query = _query(document["query"], source.numbers)
    if not isinstance(document["noise"], dict):
        raise ParameterError("noise: must be a table with its law, [noise].")
    noise = _noise(document["noise"], len(query))
    noise.check(query)
    return Problem(
        name,
        source,
        simulator,
        query,
        noise,
        _whole(WANTED, document, "effective_sample_size", WANTED_DEFAULT),
        _draws(document, source),
        _whole(SEED, document, "seed", 1),
    )


def _check_keys(
    given: Mapping[str, Any], known: Collection[str], needed: Collection[str], of: str
) -> None:
    if unknown := [key for key in given if key not in known]:
        raise ParameterError(f"{of}{shown(unknown[0])}: unknown key; known are {', '.join(known)}.")
    if missing := [key for key in needed if key not in given]:
        raise ParameterError(f"{of}{missing[0]}: is missing.")


def _text(document: Mapping[str, Any], key: str) -> str:
    value = document[key]
    if not isinstance(value, str) or not value:
        raise ParameterError(f"{key} = {shown(value)}: must be a name in quotation marks.")
    return value


def _whole(parameter: Parameter, given: Mapping[str, Any], key: str, default: int) -> int:
    return int(parameter.check(key, given.get(key, default)))


def _draws(document: Mapping[str, Any], source: Model | Pool) -> int:
    """Draws that may be simulated; a pool has those that it has."""
    if isinstance(source, Model):
        return _whole(DRAWS, document, "draws", source.most)
    if "draws" in document:
        raise ParameterError("draws: says how many a simulator may make; a pool has its own.")
    return len(source.theta)


def _model(name: str) -> Model:
    if name not in models.names():
        raise ParameterError(
            f"simulator = {shown(name)}: must be one of {', '.join(models.names())}."
        )
    return models.load(name)


def _query(value: Any, names: Sequence[str]) -> Array:
    """The released numbers ``(k,)``."""
    if not isinstance(value, list):
        raise ParameterError(f"query = {shown(value)}: must be a list of numbers.")
    if len(value) != len(names):
        given = counted(len(value), "number")
        needed = f"{len(names)} {'is' if len(names) == 1 else 'are'} needed"
        raise ParameterError(f"query: has {given}; {needed} ({', '.join(names)}).")
    for place, each in enumerate(value, start=1):
        if not _is_number(each) or not abs(each) <= pools.LARGEST:
            raise ParameterError(f"query, number {place} = {shown(each)}: must be a finite number.")
    return np.array(value, dtype=float)


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _noise(given: Mapping[str, Any], size: int) -> Noise:
    """The noise law that a table states."""
    if "law" not in given:
        raise ParameterError(f"noise.law: is missing; it is one of {', '.join(LAWS)}.")
    law = given["law"]
    if not isinstance(law, str) or law not in LAWS:
        raise ParameterError(f"noise.law = {shown(law)}: must be one of {', '.join(LAWS)}.")
    needed, more, make = LAWS[law]
    _check_keys(given, ("law", *needed, *more), needed, "noise.")
    return make(given, size)


def _scale(given: Mapping[str, Any], size: int) -> tuple[float, ...]:
    """A scale for each number."""
    value = given["scale"]
    several = value if isinstance(value, list) else [value] * size
    if len(several) != size:
        raise ParameterError(
            f"noise.scale: has {counted(len(several), 'number')}; the query has {size}."
        )
    return tuple(float(SCALE.check("noise.scale", each)) for each in several)


def _laplace(given: Mapping[str, Any], size: int) -> Noise:
    return Laplace(_scale(given, size))


def _gaussian(given: Mapping[str, Any], size: int) -> Noise:
    return Gaussian(_scale(given, size))


def _discrete(given: Mapping[str, Any], size: int) -> Noise:
    step = float(SCALE.check("noise.step", given.get("step", 1.0)))
    return DiscreteLaplace(_scale(given, size), step)


def _binomial(given: Mapping[str, Any], _: int) -> Noise:
    return BinomialSample(
        int(TRIALS.check("noise.trials", given["trials"])),
        float(POPULATION.check("noise.population", given["population"])),
        float(OFFSET.check("noise.offset", given.get("offset", 0.0))),
    )


Make = Callable[[Mapping[str, Any], int], Noise]

LAWS: dict[str, tuple[tuple[str, ...], tuple[str, ...], Make]] = {
    "laplace": (("scale",), (), _laplace),
    "discrete-laplace": (("scale",), ("step",), _discrete),
    "gaussian": (("scale",), (), _gaussian),
    "binomial-sample": (("trials", "population"), ("offset",), _binomial),
}
"""Law -> keys that it needs, keys that it may have, and what makes it."""
