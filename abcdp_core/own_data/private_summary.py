r"""Release of a few numbers of a person's data, and the posterior given these (MATH E5, M9).

A scenario of people states numbers of its data that one person who is added or removed moves by at
most $\Delta_1$ in sum. They are released once, in whole numbers
(:mod:`~abcdp_core.own_data.discrete_summary` has the noise and the proof). What is told of them is
computed from that and from a public pool of simulated data sets, as in
:mod:`abcdp_core.mechanisms.private_summary`: the numbers of each draw get noise of the same law;
the draws that resemble the release are kept and moved to it by a regression, so the privacy noise
is inside the intervals.

Beside the parameters the regression tells quantities that each draw of the pool has too, as the
share of recent transmission in its report. What a probability or an interval was without the data,
in the pool, stands beside each.

The pool is shipped with the scenario, or simulated from the public seed; so is the noise on it. The
number of people is in nothing that comes out, but as a number with noise where the scenario has it.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from abcdp_core import figures as fig
from abcdp_core import pool, simulators, supports
from abcdp_core.mechanisms.private_summary import Regression, SummaryNoise, noisy, posterior
from abcdp_core.own_data.budget_ledger import Reservation
from abcdp_core.own_data.discrete_summary import summary_noise, with_noise
from abcdp_core.own_data.document import (
    ESTIMATE,
    INTERVAL,
    LARGEST_NUMBER,
    LARGEST_REST,
    PRIOR,
    PRIOR_INTERVAL,
    Document,
    unit_of,
)
from abcdp_core.own_data.releasable import Releasable, Simulated
from abcdp_core.own_data.request import (
    DRAWS,
    POOL_SEED,
    SERIES,
    OwnParameter,
    ReleaseRequest,
    columns_of,
    source_of,
)
from abcdp_core.parameters import ParameterError
from abcdp_core.privacy.discrete import RandBelow
from abcdp_core.statistic import Quantity, Question, Statistic, stated_by
from abcdp_core.streams import generator
from abcdp_core.summaries import weighted_mean, weighted_quantile
from abcdp_core.supports import Support

Array = NDArray[np.float64]

LEVEL = 0.9
"""Of the intervals."""

TAILS = (0.5 * (1.0 - LEVEL), 0.5, 0.5 * (1.0 + LEVEL))
"""Lower end, median, upper end."""

POOL_SIZE = 20_000
"""Public draws."""

LITTLE = 0.9
"""Error, in prior standard deviations, above which a release says little."""

NARROWEST = 1e-5
"""Width below which an interval is as good as a point, as only data beyond the model give."""

MOST_DIGITS = 6
"""Decimals of such a point: what an interval of this width has."""

FARTHEST = 2**53
"""Whole numbers up to this are floating-point numbers."""


@dataclass(frozen=True)
class PrivateSummaryRequest(ReleaseRequest):
    """What is asked for; public.

    Attributes:
        draws: from the posterior.
        pool_seed: of the public pool, where none is shipped, and of the noise on it.
    """

    mechanism: ClassVar[str] = "private-summary"

    draws: int = DRAWS.field(1000)
    pool_seed: int = POOL_SEED.field(1)

    @classmethod
    def serves(cls, scenario: str) -> bool:
        """A scenario of people, whose numbers are multiples of fractions."""
        return columns_of(scenario) != (SERIES,)

    @property
    def unit(self) -> str:
        """That of the scenario's statistic, without its article."""
        return self.protected.removeprefix("one ")

    @property
    def neighbours(self) -> str:
        """Those of the scenario's statistic."""
        return _statistic(self).neighbours

    @property
    def protected(self) -> str:
        """That of the scenario's statistic."""
        return _statistic(self).unit

    def own_parameters(self, n: int) -> tuple[OwnParameter, ...]:
        """The parameters, and what else is told."""
        source: Any = source_of(self)
        names: dict[str, str] = source.OWN_NAMES
        told = [(names[axis], source.UNITS[axis]) for axis in source.AXES]
        told += [(each.name, each.unit) for each in _quantities(self)]
        return tuple(OwnParameter(name, unit, 0.0, 1.0) for name, unit in told)

    def event(self, n: int) -> SummaryNoise:
        """The numbers with their noise."""
        return summary_noise(_statistic(self), n, _size(self, n), self.epsilon_total)

    def noise_in_words(self, n: int) -> str:
        """The noise of the numbers."""
        event = self.event(n)
        return (
            f"Each of its {_size(self, n)} numbers gets noise of scale b = {event.scale:.4g}, "
            f"which is Δ₁/ε_total with Δ₁ = {Fraction(event.sensitivity).limit_denominator(1000)}."
        )

    def settings_in_words(self) -> str:
        """By its name."""
        return self.mechanism

    def data_in_words(self, n: int) -> str:
        """What it is; its number of rows only where that is public."""
        what: str = cast(Any, source_of(self)).OWN_DATA
        return f"{what} for {n} days" if self.tells_size else what

    def learnt(self, n: int) -> str:
        """All that is inferred."""
        names = [each.name for each in self.own_parameters(n)]
        return f"{'; '.join(names[:-1])}; and {names[-1]}"

    def unprotected(self, n: int) -> list[str]:
        """Settings, and several people together."""
        source: Any = source_of(self)
        size = f"The number of days, {n}, is public, and so is every setting. "
        return [
            f"{size if self.tells_size else 'Every setting is public. '}A setting that was chosen "
            "by looking at the data tells something that is not accounted for, and so does word "
            f"that a file was refused, as too long or misspelt. {source.OWN_HIDDEN}",
            source.OWN_REPEATED,
        ]

    def drowned(self, n: int) -> str:
        """Where the release leaves nearly all of the prior's deviation of everything."""
        found = expected(self, n)
        least = min(error / prior for error, prior in zip(found.error, found.prior, strict=True))
        if least <= LITTLE:
            return ""
        return (
            "With so much noise the error of everything is expected to be more than "
            f"{100 * LITTLE:.0f} % of what it is without any data, so what comes out will say "
            "little more than the prior. A larger ε_total helps."
        )


def _statistic(request: ReleaseRequest) -> Statistic:
    """The first that its scenario states: that of the smaller unit."""
    return next(iter(stated_by(source_of(request)).values()))


def _quantities(request: ReleaseRequest) -> tuple[Quantity, ...]:
    found: tuple[Quantity, ...] = cast(Any, source_of(request)).OWN_QUANTITIES
    return found


def _size(request: ReleaseRequest, n: int) -> int:
    """How many numbers the data have, whatever stands in them."""
    return len(_statistic(request).reduce(source_of(request).from_series(np.zeros(n))))


# -------------------------------------------------------------------------- what follows from it


@dataclass(frozen=True, eq=False)
class PublicPool:
    """Simulated data sets.

    Attributes:
        values: parameters and further quantities ``(T, d)``.
        numbers: of the data sets ``(T, k)``.
        support: where the values lie.
    """

    values: Array
    numbers: Array
    support: Support


@functools.lru_cache(maxsize=4)
def public_pool(scenario: str, n: int, seed: int) -> PublicPool:
    """The pool that is shipped, or one for data sets of ``n`` rows; nothing in it is private."""
    source: Any = simulators.load(scenario)
    if hasattr(source, "precomputed_pool"):
        theta, numbers = source.precomputed_pool(POOL_SIZE)
    else:
        rng = generator(seed, "own-summary-pool")
        theta = source.prior(rng, POOL_SIZE)
        statistic = next(iter(stated_by(source).values()))
        numbers = statistic.reduce(source.simulate(rng, theta, n))
    return pool_of(source, theta, numbers)


def pool_of(source: Any, theta: Array, numbers: Array) -> PublicPool:
    """A pool with the further quantities of each draw."""
    more: tuple[Quantity, ...] = source.OWN_QUANTITIES
    values = np.column_stack([theta, *(each.of(theta, numbers) for each in more)])
    ends = [np.array([getattr(each, end) for each in more]) for end in ("low", "high")]
    return PublicPool(values, numbers, _beside(source.SUPPORT, theta.shape[1], supports.box(*ends)))


def _beside(first: Support, d: int, second: Support) -> Support:
    """The first ``d`` parameters in one support and the others in another."""

    def both(name: str, values: Array, distance: Array) -> Array:
        parts = (first, values[:, :d], distance[:d]), (second, values[:, d:], distance[d:])
        return np.hstack([getattr(of, name)(each, bend) for of, each, bend in parts])

    return Support(
        lambda values: first.contains(values[:, :d]) & second.contains(values[:, d:]),
        functools.partial(both, "to_unconstrained"),
        functools.partial(both, "from_unconstrained"),
    )


@dataclass(frozen=True)
class Learner:
    """What the public pool, with noise of an event, tells of released numbers.

    Attributes:
        public: the pool.
        event: the noise.
        regression: fitted to the pool with this noise.
        low, high: smallest and largest numbers of the pool with this noise ``(k,)``.
    """

    public: PublicPool
    event: SummaryNoise
    regression: Regression = field(repr=False)
    low: Array = field(repr=False)
    high: Array = field(repr=False)

    @classmethod
    def of(cls, public: PublicPool, event: SummaryNoise, seed: int) -> Learner:
        """With noise from a public seed."""
        with_its_noise = noisy(public.numbers, event, generator(seed, "own-summary-noise"))
        ends = with_its_noise.min(axis=0), with_its_noise.max(axis=0)
        return cls(public, event, Regression.fit(with_its_noise, public.values), *ends)

    def error(self) -> Array:
        """Root mean squared error of the regression over the pool ``(d,)``."""
        left: Array = np.sqrt(np.mean((self.regression.predictions - self.public.values) ** 2, 0))
        return left

    def sample(self, z: Array) -> tuple[Array, Array]:
        """Values ``(m, d)`` and weights ``(m,)`` given released numbers ``(k,)``."""
        public = self.public
        found = posterior(z, self.regression, self.event, public.support, public.values)
        samples = public.values[found.indices] if found.samples is None else found.samples
        return samples, found.weights


@functools.lru_cache(maxsize=4)
def _learner(scenario: str, n: int, seed: int, event: SummaryNoise) -> Learner:
    return Learner.of(public_pool(scenario, n, seed), event, seed)


@dataclass(frozen=True)
class Told:
    """Mean and quantiles of each value, and probabilities of the questions.

    Attributes:
        mean: ``(d,)``.
        quantiles: lower end, median and upper end ``(3, d)``.
        probabilities: one for each question.
    """

    mean: Array
    quantiles: Array
    probabilities: tuple[float, ...]

    @classmethod
    def of(cls, samples: Array, weights: Array, request: PrivateSummaryRequest) -> Told:
        """From samples ``(m, d)`` with weights ``(m,)``."""
        axes = [*source_of(request).AXES]
        probabilities = tuple(
            _share(weights, samples[:, axes.index(each.parameter)] < each.below)
            for each in _questions(request)
        )
        quantiles = weighted_quantile(samples, weights, TAILS)
        return cls(weighted_mean(samples, weights), quantiles, probabilities)


def _share(weights: Array, chosen: NDArray[np.bool_]) -> float:
    """Weight of those that are chosen; 1 if all are, without rounding."""
    return 1.0 if chosen.all() else float(weights @ chosen)


def _questions(request: ReleaseRequest) -> tuple[Question, ...]:
    found: tuple[Question, ...] = cast(Any, source_of(request)).OWN_QUESTIONS
    return found


@dataclass(frozen=True)
class Inferred:
    """What released numbers tell; a function of them and of what is public.

    Attributes:
        told: with them.
        prior: without.
        outside: whether each number is beyond all of the pool ``(k,)``: the model is then wrong.
        draws: of equal weight ``(m, d)``.
    """

    told: Told
    prior: Told
    outside: NDArray[np.bool_]
    draws: Array = field(repr=False)


def inferred(request: PrivateSummaryRequest, n: int, released: tuple[int, ...]) -> Inferred:
    """What released whole numbers ``(k,)`` tell."""
    event = request.event(n)
    learner = _learner(request.scenario, n, request.pool_seed, event)
    public, z = learner.public, np.array(released, dtype=float) / np.array(event.whole)
    samples, weights = learner.sample(z)
    equal = np.full(len(public.values), 1.0 / len(public.values))
    return Inferred(
        Told.of(samples, weights, request),
        Told.of(public.values, equal, request),
        (z < learner.low) | (z > learner.high),
        samples[_evenly(weights, request.draws)],
    )


def _evenly(weights: Array, size: int) -> NDArray[np.int64]:
    """So many indices in proportion to weights ``(m,)``, without randomness."""
    edges = np.cumsum(weights)
    points = edges[-1] * (np.arange(size) + 0.5) / size
    return np.searchsorted(edges, points).astype(np.int64)


@dataclass(frozen=True)
class PrivateSummaryDocument(Document):
    """Numbers with noise, and what they tell.

    Attributes:
        request: the settings.
        n: rows of the data, public.
        released: whole numbers ``(k,)``; noise may have made one negative.
        inferred: what follows from them.
        reservation: what it was taken from, if from a budget.
    """

    request: PrivateSummaryRequest
    n: int
    released: tuple[int, ...]
    inferred: Inferred = field(repr=False)
    reservation: Reservation | None = None

    @property
    def event(self) -> SummaryNoise:
        """The numbers with their noise."""
        return self.request.event(self.n)

    @property
    def sample(self) -> Array:
        """Draws from the posterior."""
        return self.inferred.draws

    @property
    def names(self) -> tuple[str, ...]:
        """Of the released numbers."""
        names = _statistic(self.request).names
        known = len(names) == len(self.released)
        return names if known else tuple(f"day {day}" for day in range(1, self.n + 1))

    @property
    def summary(self) -> str:
        """What was released."""
        steps = cast(tuple[int, ...], self.event.whole)
        each = "; ".join(
            f"{name}: {_whole(Fraction(number, step))}"
            for name, number, step in zip(self.names, self.released, steps, strict=True)
        )
        return f"Released, with noise: {each}.{self._unlike()}"

    @property
    def outside(self) -> list[str]:
        """Names of the released numbers that are beyond all public simulations."""
        beyond = zip(self.names, self.inferred.outside.tolist(), strict=True)
        return [name for name, is_outside in beyond if is_outside]

    def _unlike(self) -> str:
        if not self.outside:
            return ""
        return (
            f" Beyond all {POOL_SIZE:,} public simulations with their noise: "
            f"{', '.join(self.outside)}. The model does not fit these data, so do not rely on what "
            "follows from it."
        )

    @property
    def in_own_words(self) -> str:
        """Means and intervals, and the answers to the questions."""
        each = "; ".join(
            f"{row.name}: {row.mean} ({row.low} to {row.high}){row.unit}" for row in self.rows()
        )
        return f"Means, with 90 % intervals: {each}.{self._in_time()} {' '.join(self.answers())}"

    def answers(self) -> list[str]:
        """A sentence for each question, with its probability in the prior beside it."""
        return [
            f"P({each.words}) is {here}; without the data {there}."
            f"{f' {each.remark}' if each.remark else ''}"
            for each, here, there in self._probabilities()
        ]

    def _probabilities(self) -> list[tuple[Question, str, str]]:
        """Each question with its probability in words, and that in the prior."""
        told, prior = self.inferred.told.probabilities, self.inferred.prior.probabilities
        asked = zip(_questions(self.request), told, prior, strict=True)
        return [
            (each, _probability(here, forced=there in (0.0, 1.0)), _probability(there, forced=True))
            for each, here, there in asked
        ]

    def rows(self) -> list[Row]:
        """Each value in words."""
        told, prior = self.inferred.told, self.inferred.prior
        found = []
        for i, each in enumerate(self.parameters):
            low, _, high = told.quantiles[:, i]
            digits = _digits(high - low)
            numbers = (told.mean[i], low, high, prior.mean[i], *prior.quantiles[[0, 2], i])
            found.append(Row(each.name, unit_of(each), *(_said(x, digits) for x in numbers)))
        return found

    def _times(self) -> list[tuple[str, str, Inverse, Inverse]]:
        """What is a quantity's inverse: name and unit; with the data, and without them."""
        first, found = len(source_of(self.request).AXES), []
        for i, each in enumerate(_quantities(self.request), start=first):
            if each.inverse is not None:
                name, unit, factor = each.inverse
                here, there = (
                    Inverse.of(told.quantiles[:, i], factor)
                    for told in (self.inferred.told, self.inferred.prior)
                )
                found.append((name, unit, here, there))
        return found

    def _in_time(self) -> str:
        said = [(name, *here.in_words(unit)) for name, unit, here, _ in self._times()]
        return "".join(
            f" {name[0].upper()}{name[1:]}: median {middle}, 90 % interval {ends}."
            for name, middle, ends in said
        )

    @property
    def finding(self) -> str:
        """The value that the scenario is asked for most, if the model fits."""
        if self.outside:
            return "The model does not fit these data"
        (row,) = (row for row in self.rows() if row.name == self._headline)
        return (
            f"{row.name[0].upper()}{row.name[1:]}: {row.mean} ({row.low} to {row.high}){row.unit}"
        )

    @property
    def _headline(self) -> str:
        name: str = cast(Any, source_of(self.request)).OWN_HEADLINE
        return name

    @property
    def settings(self) -> str:
        """Budget, mechanism and, where it is public, size."""
        size = f", {self.n} days" if self.request.tells_size else ""
        return (
            f"ε_total = {self.request.epsilon_total:g}, private summary{size}; mean, 90 % interval"
        )

    @property
    def marks_in_words(self) -> str:
        """Mean, interval, and the prior's."""
        return (
            "Diamond: mean. Line: 90 % interval, with the noise inside. Grey: mean and 90 % "
            "interval without the data (prior)."
        )

    def table(self) -> pd.DataFrame:
        """Each value with its 90 % interval, and what they were without the data."""
        rows = [
            (row.name, f"{row.mean}{row.unit}", f"{row.low} to {row.high}{row.unit}",
             f"{row.prior}{row.unit}", f"{row.prior_low} to {row.prior_high}{row.unit}")
            for row in self.rows()
        ]  # fmt: skip
        for name, unit, here, there in self._times():
            rows.append((f"{name} (median)", *here.in_words(unit), *there.in_words(unit)))
        for each, now, before in self._probabilities():
            alone = ", by the prior alone" if each.remark else ""
            rows.append((f"P({each.words}){alone}", now, "", before, ""))
        heads = ["quantity", "mean", "90 % interval", "prior mean", "prior 90 % interval"]
        return pd.DataFrame(rows, columns=heads)

    def exactness(self) -> str:
        """Numbers are whole; the posterior is simulated."""
        return (
            "The numbers, their noise and the sums are exact, in whole numbers. The posterior is "
            f"computed from what was released, by {POOL_SIZE:,} public simulations and a "
            "regression, so it is approximate; it holds if the data follow the model."
        )

    def contents(self) -> dict[str, Any]:
        """The numbers, and means, intervals, probabilities and draws."""
        event, told, prior = self.event, self.inferred.told, self.inferred.prior
        return {
            "release": {
                "names": list(self.names),
                "whole_numbers": list(self.released),
                "divided_by": list(event.whole or ()),
            },
            "posterior": {
                "parameters": [each.name for each in self.parameters],
                "units": [each.unit for each in self.parameters],
                "outside_all_simulations": self.outside,
                "level": LEVEL,
                "means": told.mean.tolist(),
                "intervals": told.quantiles[[0, 2]].T.tolist(),
                "prior_means": prior.mean.tolist(),
                "prior_intervals": prior.quantiles[[0, 2]].T.tolist(),
                "further": [
                    {"name": name, "unit": unit, "median": here.median,
                     "interval": [here.shortest, here.longest], "prior_median": there.median,
                     "prior_interval": [there.shortest, there.longest]}
                    for name, unit, here, there in self._times()
                ],
                "probabilities": [
                    {"statement": each.words, "probability": here, "prior": there,
                     "remark": each.remark}
                    for each, here, there in zip(
                        _questions(self.request), told.probabilities, prior.probabilities,
                        strict=True,
                    )
                ],
                "weights": "equal",
                "draws": self.sample.tolist(),
            },
        }  # fmt: skip

    def axes(self) -> list[tuple[float, float]]:
        """Of each row: the scenario's, and what the intervals need."""
        more = [(each.low, each.high) for each in _quantities(self.request)]
        usual = np.array([*source_of(self.request).AXES.values(), *more]).T
        told, prior = self.inferred.told.quantiles, self.inferred.prior.quantiles
        low = np.minimum.reduce([usual[0], told[0], prior[0]])
        high = np.maximum.reduce([usual[1], told[2], prior[2]])
        return [*zip(low.tolist(), high.tolist(), strict=True)]

    def marks(self, row: int) -> list[tuple[fig.Style, Array]]:
        """Interval and mean, with the data and without them."""
        told, prior = self.inferred.told, self.inferred.prior
        return [
            (PRIOR_INTERVAL, prior.quantiles[[0, 2], row]),
            (PRIOR, prior.mean[row : row + 1]),
            (INTERVAL, told.quantiles[[0, 2], row]),
            (ESTIMATE, told.mean[row : row + 1]),
        ]

    def said(self, row: int) -> str:
        """Mean and interval."""
        found = self.rows()[row]
        return f"{found.mean} ({found.low} to {found.high}){found.unit}"


@dataclass(frozen=True)
class Row:
    """A value in words: with the data, and without them."""

    name: str
    unit: str
    mean: str
    low: str
    high: str
    prior: str
    prior_low: str
    prior_high: str


def _whole(number: Fraction) -> str:
    """A number that is a whole one or has thirds."""
    text = str(number) if number.denominator == 1 else f"{float(number):.2f}"
    return text.replace("-", "\u2212")


def _digits(width: float) -> int:
    """Decimals of numbers whose interval is so wide: two digits of it, if it can be seen."""
    return max(0, 1 - math.floor(math.log10(width))) if width > NARROWEST else MOST_DIGITS


def _said(number: float, digits: int) -> str:
    text = f"{number:.{digits}f}"
    return text.replace("-", "\u2212") if float(text) else text.removeprefix("-")


def _probability(share: float, *, forced: bool) -> str:
    """A share of some 1000 draws; 0 and 1 only where nothing else can be."""
    if forced and share in (0.0, 1.0):
        return f"{share:.0f}"
    return "above 0.99" if share > 0.99 else "below 0.01" if share < 0.01 else f"{share:.2f}"


class Inverse(NamedTuple):
    """What is a factor divided by a quantity; ``None`` where that is not positive.

    Attributes:
        shortest: lower end of the 90 % interval.
        median: of it.
        longest: upper end.
    """

    shortest: float | None
    median: float | None
    longest: float | None

    @classmethod
    def of(cls, quantiles: Array, factor: float) -> Inverse:
        """From lower end, median and upper end ``(3,)`` of the quantity."""
        longest, median, shortest = (
            factor / each if each > 0.0 else None for each in quantiles.tolist()
        )
        return cls(shortest, median, longest)

    def in_words(self, unit: str) -> tuple[str, str]:
        """Median and interval."""
        middle = "none" if self.median is None else f"{self.median:.2g} {unit}"
        if self.shortest is None:
            return middle, "none"
        if self.longest is None:
            return middle, f"from {self.shortest:.2g} {unit} to none"
        return middle, f"{self.shortest:.2g} to {self.longest:.2g} {unit}"


# ------------------------------------------------------------------------------- the release


def measure(
    request: PrivateSummaryRequest, values: Array, progress: pool.Progress | None
) -> list[int]:
    """The numbers of the data, whole, and before these the public pool. Private."""
    public_pool(request.scenario, len(values), request.pool_seed)
    if progress is not None:
        progress(1.0)
    return _statistic(request).whole_of(source_of(request).from_series(values))


def draw(
    request: PrivateSummaryRequest,
    n: int,
    numbers: list[int],
    randbelow: RandBelow,
    reservation: Reservation | None,
) -> PrivateSummaryDocument:
    """Release the numbers, and infer."""
    released = with_noise(numbers, request.event(n).steps().tolist(), randbelow)
    return _document(request, n, released, reservation)


def _document(
    request: PrivateSummaryRequest, n: int, released: list[int], reservation: Reservation | None
) -> PrivateSummaryDocument:
    found = tuple(released)
    return PrivateSummaryDocument(request, n, found, inferred(request, n, found), reservation)


def read(
    request: PrivateSummaryRequest,
    n: int,
    content: Mapping[str, Any],
    reservation: Reservation | None,
) -> PrivateSummaryDocument:
    """The document of some released numbers.

    Raises:
        ParameterError: they are none.
        KeyError, TypeError, ValueError: the content is of another form.
    """
    numbers = content["release"]["whole_numbers"]
    whole = all(type(number) is int and abs(number) < FARTHEST for number in numbers)
    if len(numbers) != _size(request, n) or not whole:
        raise ParameterError("release: these are no numbers of the scenario's data.")
    return _document(request, n, list(numbers), reservation)


def largest_file(request: PrivateSummaryRequest) -> int:
    """Bytes of a document with all draws, at most."""
    each = len(source_of(request).AXES) + len(_quantities(request))
    return LARGEST_REST + LARGEST_NUMBER * request.draws * (2 + each)


def expected(request: PrivateSummaryRequest, n: int) -> Simulated:
    """Errors of the regression over the public pool, with the noise and without it."""
    event = request.event(n)
    silent = dataclasses.replace(event, scale=0.0)
    private, plain = (
        _learner(request.scenario, n, request.pool_seed, each).error() for each in (event, silent)
    )
    prior = public_pool(request.scenario, n, request.pool_seed).values.std(axis=0)
    named = request.own_parameters(n)
    return Simulated(
        tuple(each.name for each in named),
        tuple(each.unit for each in named),
        *(tuple(each.tolist()) for each in (private, plain, prior)),
    )


RELEASABLE = Releasable(
    request=PrivateSummaryRequest,
    title="Private summary",
    reason="A few numbers of the data say nearly all of the parameters; they are released once, "
    "with noise in whole numbers, and the posterior is simulated with that noise inside.",
    rank=0,
    measure=measure,
    draw=draw,
    read=read,
    largest_file=largest_file,
    expected=expected,
)
