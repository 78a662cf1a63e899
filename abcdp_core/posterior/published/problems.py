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

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from abcdp_core.base import schemas
from abcdp_core.base.arrays import Array
from abcdp_core.base.parameters import ParameterError, shown
from abcdp_core.base.schemas import Schema, Several
from abcdp_core.base.sentences import counted
from abcdp_core.base.streams import SEED_LIMIT
from abcdp_core.models.priors import LogUniform, Uniform
from abcdp_core.posterior import noise
from abcdp_core.posterior.censoring import standing_for
from abcdp_core.posterior.published import models, pools
from abcdp_core.posterior.published.models import Model
from abcdp_core.posterior.published.pools import Pool
from abcdp_core.posterior.published.stated_noise import (
    Mark,
    Number,
    Positive,
    StatedNoise,
    Text,
    Whole,
    as_list,
    distribution,
)


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


def _as_sizes(value: Any) -> Any:
    return value if isinstance(value, dict) else {"low": value, "high": value}


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
    noise: Annotated[Several[StatedNoise], BeforeValidator(as_list), Field(min_length=1)]
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
    law = distribution(stated.noise, source.numbers, marks)
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
