"""A problem: what somebody released, how, and what it is to be explained by; read from TOML.

::

    simulator = "linear-regression"   # or: pool = "pool.csv" (or .parquet), beside this file
    query = [-0.5514, ...]            # the numbers that were released, noise and all
    effective_sample_size = 2000      # wanted; optional, as the next two
    draws = 2000000                   # that may be simulated
    seed = 1

    epsilon_total = 1.0               # of the release, where its publishers state one; optional
    unit = "one record"               # whom that protects, with its article; optional, but only
    neighbours = "replace"            # together with how neighbours differ; or "add-remove"

    [noise]
    law = "laplace"                   # discrete-laplace, gaussian, binomial-sample
    scale = 0.13                      # or one for each number

What the release spent changes nothing that is computed; it is told again. The law has more keys
that depend on it, in :data:`LAWS`. Numbers with different laws have a table each instead, which
names them as the simulator or the pool does::

    [[noise]]
    numbers = ["people"]
    law = "discrete-laplace"
    scale = 2.0

    [[noise]]
    numbers = ["mean income", "mean age"]
    law = "gaussian"
    scale = [150.0, 0.3]
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abcdp_core import syntax
from abcdp_core.parameters import Parameter, ParameterError, shown
from abcdp_core.posterior.noise import (
    BinomialSample,
    DiscreteLaplace,
    Gaussian,
    IndependentNoise,
    Laplace,
    Law,
    Noise,
)
from abcdp_core.published import models, pools
from abcdp_core.published.models import Model
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
EPSILON_TOTAL = Parameter("real", "ε_total of the release", low=1e-12, high=1e12)
NEIGHBOURS = Parameter("choice", "How neighbours differ", options=("replace", "add-remove"))

KEYS = (
    *("simulator", "pool", "query", "noise", "effective_sample_size", "draws", "seed"),
    *("epsilon_total", "unit", "neighbours"),
)
NEEDED = ("query", "noise")

LARGEST_FILE = 1_000_000
"""Bytes of a problem's file."""

LONGEST_UNIT = 60
"""Characters of the unit's name."""


@dataclass(frozen=True)
class Spent:
    """What a release spent, as stated with it.

    Attributes:
        epsilon_total: of the release, above 0.
        unit: whom it protects, with its article; empty if that is not stated.
        neighbours: ``replace`` or ``add-remove``, of such a unit; empty if that is not stated.
    """

    epsilon_total: float
    unit: str = ""
    neighbours: str = ""


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
        spent: by the release; ``None`` if that is not stated.
    """

    name: str
    source: Model | Pool
    simulator: str
    query: Array = field(repr=False)
    noise: Noise
    wanted: int
    draws: int
    seed: int
    spent: Spent | None


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
        content = file.read_bytes()
    except OSError as error:
        raise ParameterError(f"problem = {file}: cannot be read ({error.strerror}).") from error
    try:
        return from_document(
            document(content), file.stem, lambda name: pools.read(file.parent / name)
        )
    except ParameterError as error:
        raise ParameterError(f"{file}: {error}") from error


def document(content: bytes) -> dict[str, Any]:
    """What a problem's file holds.

    Raises:
        ParameterError: it is no TOML.
    """
    try:
        return syntax.toml(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ParameterError("problem: is not in UTF-8.") from error
    except RecursionError as error:
        raise ParameterError("problem: is no TOML (nested too deeply).") from error
    # Not only what is wrong by the grammar: an integer may have too many digits.
    except ValueError as error:
        raise ParameterError(f"problem: is no TOML ({error}).") from error


def from_document(
    document: Mapping[str, Any], name: str, read_pool: Callable[[str], Pool]
) -> Problem:
    """A problem from what its file holds.

    Args:
        document: the keys above.
        name: what it is called.
        read_pool: reads the pool that the file names.

    Raises:
        ParameterError: something is missing, unknown or not allowed.
    """
    _check_keys(document, KEYS, NEEDED, "")
    if ("simulator" in document) == ("pool" in document):
        raise ParameterError("simulator, pool: give one of the two.")
    simulator = _text(document, "simulator" if "simulator" in document else "pool")
    source = _model(simulator) if "simulator" in document else read_pool(simulator)
    query = _query(document["query"], source.numbers)
    noise = _noise(document["noise"], source.numbers)
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
        _spent(document),
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
    if not isinstance(value, str) or not value.strip():
        raise ParameterError(f"{key} = {shown(value)}: must be a name in quotation marks.")
    if not value.isprintable():
        raise ParameterError(f"{key} = {shown(value)}: has a character that cannot be printed.")
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
            raise ParameterError(
                f"query, number {place} = {shown(each)}: must be a number from "
                f"{-pools.LARGEST:g} to {pools.LARGEST:g}."
            )
    return np.array(value, dtype=float)


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _spent(document: Mapping[str, Any]) -> Spent | None:
    """What the release spent, if that is stated."""
    whose = [key for key in ("unit", "neighbours") if key in document]
    if "epsilon_total" not in document:
        if whose:
            raise ParameterError(f"{whose[0]}: is of epsilon_total, which is missing.")
        return None
    epsilon_total = float(EPSILON_TOTAL.check("epsilon_total", document["epsilon_total"]))
    if not whose:
        return Spent(epsilon_total)
    if len(whose) == 1:
        raise ParameterError("unit, neighbours: give both or neither.")
    unit = _text(document, "unit")
    if len(unit) > LONGEST_UNIT:
        raise ParameterError(f"unit: must be a text of 1 to {LONGEST_UNIT} characters.")
    neighbours = NEIGHBOURS.check("neighbours", document["neighbours"])
    return Spent(epsilon_total, unit, str(neighbours))


def _noise(given: Any, names: Sequence[str]) -> Noise:
    """The noise law of all numbers, or one for each group of them."""
    if isinstance(given, dict):
        return _law(given, len(names), "noise", ())
    if not isinstance(given, list) or not given or not all(isinstance(x, dict) for x in given):
        raise ParameterError(
            "noise: must be a table with its law, [noise], or several, [[noise]], with their "
            "numbers."
        )
    laws: list[Law] = []
    left = list(names)
    for place, table in enumerate(given, start=1):
        mine = _numbers(table.get("numbers"), left, names, f"noise {place}.numbers")
        left = [name for name in left if name not in mine]
        rest = {key: value for key, value in table.items() if key != "numbers"}
        laws.append(_law(rest, len(mine), f"noise {place}", tuple(map(names.index, mine))))
    if left:
        raise ParameterError(f"noise: {left[0]} has none; each number needs one of the laws.")
    return IndependentNoise(tuple(laws))


def _numbers(
    value: Any, left: Collection[str], names: Collection[str], where: str
) -> Sequence[str]:
    """Names of the numbers that a law is for."""
    if not isinstance(value, list) or not value or not all(isinstance(x, str) for x in value):
        raise ParameterError(f"{where}: must be a list of names of numbers, at least one.")
    for name in value:
        if name not in names:
            raise ParameterError(
                f"{where} = {shown(name)}: must be among the numbers {', '.join(names)}."
            )
        if name not in left or value.count(name) > 1:
            raise ParameterError(f"{where} = {shown(name)}: has a law already.")
    return value


def _law(given: Mapping[str, Any], size: int, where: str, of: tuple[int, ...]) -> Law:
    """The noise law that a table states.

    Args:
        given: the table, without names of numbers.
        size: how many numbers it is for.
        where: what the table is called.
        of: places of its numbers in the query; empty for all.
    """
    if "law" not in given:
        raise ParameterError(f"{where}.law: is missing; it is one of {', '.join(LAWS)}.")
    law = given["law"]
    if not isinstance(law, str) or law not in LAWS:
        raise ParameterError(f"{where}.law = {shown(law)}: must be one of {', '.join(LAWS)}.")
    needed, more, make = LAWS[law]
    _check_keys(given, ("law", *needed, *more), needed, f"{where}.")
    return make(_Table(given, size, where), of)


@dataclass(frozen=True)
class _Table:
    """Keys of a law, how many numbers it is for, and what the table is called."""

    given: Mapping[str, Any]
    size: int
    where: str

    def number(self, key: str, parameter: Parameter, default: float | None = None) -> float:
        return float(parameter.check(f"{self.where}.{key}", self.given.get(key, default)))

    def scale(self) -> tuple[float, ...]:
        """A scale for each number."""
        value = self.given["scale"]
        several = value if isinstance(value, list) else [value] * self.size
        if len(several) != self.size:
            raise ParameterError(
                f"{self.where}.scale: has {counted(len(several), 'number')}; needed is one, or "
                f"{self.size}."
            )
        return tuple(float(SCALE.check(f"{self.where}.scale", each)) for each in several)


def _laplace(table: _Table, of: tuple[int, ...]) -> Law:
    return Laplace(table.scale(), of=of)


def _gaussian(table: _Table, of: tuple[int, ...]) -> Law:
    return Gaussian(table.scale(), of=of)


def _discrete(table: _Table, of: tuple[int, ...]) -> Law:
    return DiscreteLaplace(table.scale(), (table.number("step", SCALE, 1.0),), of=of)


def _binomial(table: _Table, of: tuple[int, ...]) -> Law:
    return BinomialSample(
        int(table.number("trials", TRIALS)),
        table.number("population", POPULATION),
        table.number("offset", OFFSET, 0.0),
        of=of,
    )


Make = Callable[[_Table, tuple[int, ...]], Law]

LAWS: dict[str, tuple[tuple[str, ...], tuple[str, ...], Make]] = {
    "laplace": (("scale",), (), _laplace),
    "discrete-laplace": (("scale",), ("step",), _discrete),
    "gaussian": (("scale",), (), _gaussian),
    "binomial-sample": (("trials", "population"), ("offset",), _binomial),
}
"""Law -> keys that it needs, keys that it may have, and what makes it."""
