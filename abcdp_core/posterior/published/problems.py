r"""Read a problem from TOML: a noisy release by others, its noise, and a model.

::

    simulator = "linear-regression"   # or: pool = "pool.csv" (or .parquet), beside this file
    records = 1000                    # only for your own model: how many there are; or as below
    query = [-0.5514, ...]            # the released numbers, with their noise
    effective_sample_size = 2000      # wanted; optional, like the next two
    draws = 2000000                   # the most to simulate
    seed = 1

    epsilon_total = 1.0               # of the release, if it states one; optional
    unit = "one record"               # what it protects, with an article; optional, but only
    neighbours = "replace"            # together with how neighbors differ; or "add-remove"

    [noise]
    law = "laplace"                   # discrete-laplace, gaussian, discrete-gaussian, ...
    scale = 0.13                      # or one for each number; or as below

The budget of the release is reported but not used. State the noise in exactly one of the ways in
its row; each key takes one number, or one for each of its numbers:

| law | ``scale`` | ``variance`` | budget |
|---|---|---|---|
| ``laplace`` | $b$ | $2b^2$ | ``epsilon`` and ``sensitivity`` (L1) |
| ``discrete-laplace``, ``geometric`` | $b$ | $h^2 / (2 \sinh^2(h / 2b))$ | the same |
| ``gaussian``, ``discrete-gaussian`` | $\sigma$ | $\sigma^2$ | ``rho`` and ``sensitivity`` (L2) |

The budgets give $b = \Delta / \epsilon$ and $\sigma = \Delta / \sqrt{2 \rho}$, where $\rho$ is of
zero-concentrated differential privacy. Discrete noise, the query and all simulated numbers are
multiples of ``step``, $h$, which is 1 by default. The variance of a discrete Gaussian is by
convention its $\sigma^2$; the two agree to six digits if $\sigma \ge h$. A ``binomial-sample`` has
``trials``, ``population`` and ``offset``. Numbers with different distributions have a table each,
which names them as the simulator or the pool does::

    [[noise]]
    numbers = ["people"]
    law = "discrete-laplace"
    scale = 2.0

    [[noise]]
    numbers = ["mean income", "mean age"]
    law = "gaussian"
    scale = [150.0, 0.3]

A table may show some numbers only in part, with any noise but a binomial sample::

    query = [12, "*", 0]

    [noise]
    law = "geometric"
    scale = 2.0
    clamped = 0                     # smaller noisy numbers were raised to it
    suppressed = "after noise"      # the noisy numbers decided; or "before noise": the exact ones
    intervals = {"*" = [1, 4]}      # ends included; the mark "<5" hides all below 5 without this

Every number in an interval was hidden by its mark, and no other number.

If the number of records n is not known, it is a parameter with a prior, ``uniform`` by default::

    records = {low = 500, high = 2000, prior = "log-uniform", released = true}

With ``released``, the last number of the query is n with its noise, called ``records``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from abcdp_core.base import schemas
from abcdp_core.base.arrays import Array
from abcdp_core.base.parameters import ParameterError, shown
from abcdp_core.base.schemas import Schema, Several
from abcdp_core.base.sentences import counted
from abcdp_core.base.streams import SEED_LIMIT
from abcdp_core.models.priors import LogUniform, Uniform
from abcdp_core.posterior import noise
from abcdp_core.posterior.censoring import Censored, Hidden, Summable, standing_for
from abcdp_core.posterior.published import models, pools
from abcdp_core.posterior.published.models import Model
from abcdp_core.posterior.published.pools import Pool


@dataclass(frozen=True)
class Spent:
    """The budget that a release spent, as stated with it.

    Attributes:
        epsilon_total: above 0.
        unit: what it protects, with an article; may be empty.
        neighbours: ``replace`` or ``add-remove``; empty without a unit.
    """

    epsilon_total: float
    unit: str = ""
    neighbours: str = ""


@dataclass(frozen=True)
class Problem:
    """A noisy release, and the model or pool that explains it.

    Attributes:
        name: of its file.
        source: a simulator, or a pool of earlier draws.
        simulator: name of the model, or of the pool's file.
        query: the released numbers ``(k,)``; of a suppressed one, what represents it.
        noise: the distribution of their noise.
        wanted: effective sample size that is enough.
        draws: most draws to simulate.
        seed: root seed.
        spent: by the release; ``None`` if that is not stated.
        marks: place of each suppressed number -> its mark.
    """

    name: str
    source: Model | Pool
    simulator: str
    query: Array = field(repr=False)
    noise: noise.Noise
    wanted: int
    draws: int
    seed: int
    spent: Spent | None
    marks: Mapping[int, str] = field(default_factory=dict)

    @property
    def as_shown(self) -> list[float | str]:
        """The query with its marks."""
        return [self.marks.get(place, z) for place, z in enumerate(self.query.tolist())]


def _as_list(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


def _as_whole(value: Any) -> Any:
    """Convert 2e6 to a whole number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _as_sizes(value: Any) -> Any:
    return value if isinstance(value, dict) else {"low": value, "high": value}


def _printable(text: str) -> str:
    if not text.strip() or not text.isprintable():
        raise ValueError("must be a text of printable characters")
    return text


Whole = Annotated[int, BeforeValidator(_as_whole)]
Positive = Annotated[float, Field(ge=1e-12, le=1e12)]
OneOrEach = Annotated[Several[Positive], BeforeValidator(_as_list)]
Text = Annotated[str, AfterValidator(_printable)]
Number = Annotated[float, Field(ge=-1e12, le=1e12)]
Mark = Annotated[Text, Field(max_length=12)]
Ends = Annotated[Several[float], Field(min_length=2, max_length=2)]


def _hidden(mark: str, ends: Sequence[float] | None, where: str) -> Hidden:
    """Return what a mark hides, such as "<5"."""
    if ends is not None:
        return Hidden(mark, ends[0], ends[1])
    below = re.fullmatch(r"<\s*(\d+\.?\d*)", mark)
    if below is None:
        raise ParameterError(f"{where}.intervals: state what {shown(mark)} hides.")
    return Hidden(mark, -math.inf, float(below[1]), is_open=True)


class _Law(Schema):
    numbers: Several[str] = Field(default=(), min_length=1)


class _OfScale(_Law):
    """Noise whose scale is stated in one of three ways."""

    budget: ClassVar[str]
    kind: ClassVar[Callable[..., Summable]]

    scale: OneOrEach | None = None
    variance: OneOrEach | None = None
    sensitivity: OneOrEach | None = None
    clamped: Number | None = None
    suppressed: Literal["after noise", "before noise"] | None = None
    intervals: dict[Mark, Ends] = Field(default={})

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        budget = getattr(self, self.budget)
        if (budget is None) != (self.sensitivity is None):
            raise ValueError(f"{self.budget}, sensitivity: give both or neither")
        if (self.scale, self.variance, budget).count(None) != 2:
            raise ValueError(f"give one of scale, variance, and {self.budget} with sensitivity")
        return self

    def made(self, size: int, of: tuple[int, ...], where: str, marks: Sequence[str]) -> noise.Law:
        """Return the distribution of ``size`` numbers, some with marks, at the indices ``of``."""
        given = {}
        for key in ("scale", "variance", "sensitivity", self.budget):
            values = getattr(self, key)
            if values is not None:
                if len(values) not in (1, size):
                    has, needed = counted(len(values), "number"), "" if size == 1 else f" or {size}"
                    raise ParameterError(f"{where}.{key}: has {has}; give one{needed}.")
                given[key] = np.broadcast_to(np.array(values), size)
        if "scale" in given:
            scale = given["scale"]
        elif "variance" in given:
            scale = self.of_variance(given["variance"])
        else:
            scale = self.of_budget(given["sensitivity"], given[self.budget])
        steps = ((self.step,),) if isinstance(self, _DiscreteLaplace | _DiscreteGaussian) else ()
        return self._censored(self.kind(tuple(scale.tolist()), *steps, of=of), marks, where)

    def _censored(self, law: Summable, marks: Sequence[str], where: str) -> noise.Law:
        names = dict.fromkeys([*self.intervals, *marks])
        hidden = [_hidden(name, self.intervals.get(name), where) for name in names]
        if hidden and self.suppressed is None:
            raise ParameterError(f'{where}.suppressed: say "after noise" or "before noise".')
        if self.suppressed is not None and not hidden:
            raise ParameterError(f"{where}.suppressed: no number has a mark; state intervals.")
        clamped = -math.inf if self.clamped is None else self.clamped
        if not hidden and self.clamped is None:
            return law
        censored = Censored(law, clamped, tuple(hidden), self.suppressed == "before noise")
        censored.check_intervals(f"{where}.intervals")
        return censored

    def of_variance(self, variance: Array) -> Array:
        """Return scales ``(j,)`` for variances ``(j,)``."""
        raise NotImplementedError

    def of_budget(self, sensitivity: Array, budget: Array) -> Array:
        """Return scales ``(j,)`` for sensitivities and budgets ``(j,)``."""
        raise NotImplementedError


class _Laplace(_OfScale):
    law: Literal["laplace"]
    budget = "epsilon"
    kind: ClassVar[Callable[..., Summable]] = noise.Laplace
    epsilon: OneOrEach | None = None

    def of_variance(self, variance: Array) -> Array:
        return np.sqrt(variance / 2.0)

    def of_budget(self, sensitivity: Array, budget: Array) -> Array:
        return sensitivity / budget


class _DiscreteLaplace(_Laplace):
    law: Literal["discrete-laplace", "geometric"]  # type: ignore[assignment]
    kind = noise.DiscreteLaplace
    step: Positive = 1.0

    def of_variance(self, variance: Array) -> Array:
        return self.step / (2.0 * np.arcsinh(self.step / np.sqrt(2.0 * variance)))


class _Gaussian(_OfScale):
    law: Literal["gaussian"]
    budget = "rho"
    kind: ClassVar[Callable[..., Summable]] = noise.Gaussian
    rho: OneOrEach | None = None

    def of_variance(self, variance: Array) -> Array:
        return np.sqrt(variance)

    def of_budget(self, sensitivity: Array, budget: Array) -> Array:
        return sensitivity / np.sqrt(2.0 * budget)


class _DiscreteGaussian(_Gaussian):
    law: Literal["discrete-gaussian"]  # type: ignore[assignment]
    kind = noise.DiscreteGaussian
    step: Positive = 1.0


class _BinomialSample(_Law):
    law: Literal["binomial-sample"]
    trials: Whole = Field(ge=1, le=10**9)
    population: float = Field(ge=1.0, le=1e12)
    offset: float = Field(default=0.0, ge=0.0, le=1e12)

    def made(self, size: int, of: tuple[int, ...], where: str, marks: Sequence[str]) -> noise.Law:
        """Return the distribution of the numbers at the indices ``of``."""
        if marks:
            known = "laplace or gaussian, discrete or not"
            raise ParameterError(f"{where}: a number marked {shown(marks[0])} needs {known}.")
        return noise.BinomialSample(self.trials, self.population, self.offset, of=of)


Law = Annotated[
    _Laplace | _DiscreteLaplace | _Gaussian | _DiscreteGaussian | _BinomialSample,
    Field(discriminator="law"),
]


class Sizes(Schema):
    """How many records there are: between two numbers, or one."""

    low: Whole = Field(ge=1, le=10_000_000)
    high: Whole = Field(ge=1, le=10_000_000)
    prior: Literal["uniform", "log-uniform"] = "uniform"
    released: bool = False

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.low > self.high:
            raise ValueError("high: must be at least low")
        return self

    @property
    def law(self) -> Uniform | LogUniform | None:
        """Prior of the number, unless that is known."""
        kind = Uniform if self.prior == "uniform" else LogUniform
        return None if self.low == self.high else kind(self.low, self.high, whole=True)


class Stated(Schema):
    """A problem as stated in its file."""

    simulator: Text | None = None
    pool: Text | None = None
    records: Annotated[Sizes | None, BeforeValidator(_as_sizes)] = None
    query: Several[Number | Mark]
    noise: Annotated[Several[Law], BeforeValidator(_as_list), Field(min_length=1)]
    effective_sample_size: Whole = Field(default=2000, ge=100, le=100_000)
    draws: Whole | None = Field(default=None, ge=1000, le=10_000_000)
    seed: Whole = Field(default=1, ge=0, lt=SEED_LIMIT)
    epsilon_total: Positive | None = None
    unit: Text | None = Field(default=None, max_length=60)
    neighbours: Literal["replace", "add-remove"] | None = None

    @model_validator(mode="after")
    def _together(self) -> Self:
        if (self.simulator is None) == (self.pool is None):
            raise ValueError("simulator, pool: give one of the two")
        if (self.unit is None) != (self.neighbours is None):
            raise ValueError("unit, neighbours: give both or neither")
        if self.unit is not None and self.epsilon_total is None:
            raise ValueError("epsilon_total: is missing, but unit says what it protects")
        if self.draws is not None and self.pool is not None:
            raise ValueError("draws: limits a simulator; a pool has its own")
        return self


OwnModels = Callable[[str, Sizes | None], Model | None]
"""Name, and numbers of records or ``None`` -> the user's model, or ``None`` if there is none."""


def no_own_models(_name: str, _records: Sizes | None) -> None:
    """Find no model."""


def read(file: Path, own: OwnModels = no_own_models) -> Problem:
    """Read a problem from its file.

    Args:
        file: a TOML file.
        own: finds the user's models.

    Raises:
        ParameterError: the file cannot be read or is invalid; one line says what is wrong where.
    """
    stated = schemas.read(file, Stated)
    try:
        return _problem(stated, file.stem, lambda name: pools.read(file.parent / name), own)
    except ParameterError as error:
        raise ParameterError(f"{file.name}: {error}") from error


def parse(text: str | bytes, name: str, read_pool: Callable[[str], Pool]) -> Problem:
    """Read a problem called ``name`` from TOML; ``read_pool`` reads the pool that it names.

    Raises:
        ParameterError: the text is invalid; one line says what is wrong where.
    """
    return _problem(schemas.parse(text, Stated), name, read_pool)


def _problem(
    stated: Stated, name: str, read_pool: Callable[[str], Pool], own: OwnModels = no_own_models
) -> Problem:
    if stated.pool is not None:
        source: Model | Pool = read_pool(stated.pool)
    else:
        source = _model(stated.simulator or "", stated.records, own)
    query = stated.query
    marks = {place: each for place, each in enumerate(query) if isinstance(each, str)}
    if len(query) != len(source.numbers):
        given, needed = counted(len(query), "number"), len(source.numbers)
        needed_is = f"{needed} {'is' if needed == 1 else 'are'} needed"
        raise ParameterError(f"query: has {given}; {needed_is} ({', '.join(source.numbers)}).")
    law = _noise(stated.noise, source.numbers, marks)
    shown_as = {place: standing_for(law, place, each) for place, each in marks.items()}
    z = np.array([shown_as.get(place, each) for place, each in enumerate(query)], dtype=float)
    law.check(z)
    return Problem(
        name,
        source,
        stated.pool or stated.simulator or "",
        z,
        law,
        stated.effective_sample_size,
        (stated.draws or source.most) if isinstance(source, Model) else len(source.theta),
        stated.seed,
        None
        if stated.epsilon_total is None
        else Spent(stated.epsilon_total, stated.unit or "", stated.neighbours or ""),
        marks,
    )


def _model(name: str, records: Sizes | None, own: OwnModels) -> Model:
    if name not in models.names():
        if (model := own(name, records)) is not None:
            return model
        known = ", ".join(models.names())
        raise ParameterError(
            f"simulator = {shown(name)}: must be one of {known}, or a model of --plugin FILE."
        )
    if records is not None:
        raise ParameterError(f"records: {name} has its own number of them.")
    return models.load(name)


def _noise(laws: Sequence[Law], names: Sequence[str], marks: Mapping[int, str]) -> noise.Noise:
    """The distribution of all numbers, or of each group of numbers, some of which have marks."""
    if len(laws) == 1 and not laws[0].numbers:
        return laws[0].made(len(names), (), "noise", [*marks.values()])
    made: list[noise.Law] = []
    left = list(names)
    for place, law in enumerate(laws, start=1):
        where = f"noise {place}"
        if not law.numbers:
            raise ParameterError(f"{where}.numbers: is missing.")
        for name in law.numbers:
            if name not in left:
                among = f"must be among the numbers {', '.join(names)}"
                why = "has noise already" if name in names else among
                raise ParameterError(f"{where}.numbers = {shown(name)}: {why}.")
            left.remove(name)
        of = tuple(map(names.index, law.numbers))
        made.append(law.made(len(of), of, where, [marks[place] for place in of if place in marks]))
    if left:
        raise ParameterError(f"noise: {left[0]} has none; each number needs noise.")
    return noise.IndependentNoise(tuple(made))
