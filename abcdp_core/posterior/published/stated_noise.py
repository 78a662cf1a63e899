"""The noise of published numbers, as a problem's file states it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from abcdp_core.base.arrays import Array
from abcdp_core.base.parameters import ParameterError, shown
from abcdp_core.base.schemas import Schema, Several
from abcdp_core.base.sentences import counted
from abcdp_core.posterior import noise
from abcdp_core.posterior.censoring import Censored, Hidden, Summable


def as_list(value: Any) -> Any:
    """Return a list, which may be stated as its only value."""
    return value if isinstance(value, list) else [value]


def _as_whole(value: Any) -> Any:
    """Convert 2e6 to a whole number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _printable(text: str) -> str:
    if not text.strip() or not text.isprintable():
        raise ValueError("must be a text of printable characters")
    return text


Whole = Annotated[int, BeforeValidator(_as_whole)]
Positive = Annotated[float, Field(ge=1e-12, le=1e12)]
OneOrEach = Annotated[Several[Positive], BeforeValidator(as_list)]
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

    def made(
        self, size: int, of: tuple[int, ...], where: str, marks: Sequence[str]
    ) -> noise.Distribution:
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

    def _censored(self, law: Summable, marks: Sequence[str], where: str) -> noise.Distribution:
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

    def made(
        self, size: int, of: tuple[int, ...], where: str, marks: Sequence[str]
    ) -> noise.Distribution:
        """Return the distribution of the numbers at the indices ``of``."""
        if marks:
            known = "laplace or gaussian, discrete or not"
            raise ParameterError(f"{where}: a number marked {shown(marks[0])} needs {known}.")
        return noise.BinomialSample(self.trials, self.population, self.offset, of=of)


StatedNoise = Annotated[
    _Laplace | _DiscreteLaplace | _Gaussian | _DiscreteGaussian | _BinomialSample,
    Field(discriminator="law"),
]


def distribution(
    laws: Sequence[StatedNoise], names: Sequence[str], marks: Mapping[int, str]
) -> noise.Noise:
    """Return the distribution of all numbers, or of each group of them; some have marks.

    Raises:
        ParameterError: a number has no noise, or a law does not fit its numbers.
    """
    if len(laws) == 1 and not laws[0].numbers:
        return laws[0].made(len(names), (), "noise", [*marks.values()])
    made: list[noise.Distribution] = []
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
