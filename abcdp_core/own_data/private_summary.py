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
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from abcdp_core import figures as fig
from abcdp_core import pool, simulators, supports
from abcdp_core.mechanisms.private_summary import (
    Regression,
    SummaryNoise,
    accepted,
    error,
    minimum_pool,
    noisy,
    posterior,
)
from abcdp_core.own_data.budget_ledger import Reservation
from abcdp_core.own_data.discrete_summary import summary_noise, with_noise
from abcdp_core.own_data.document import (
    ESTIMATE,
    INTERVAL,
    LARGEST_NUMBER,
    LARGEST_REST,
    LEVEL,
    PRIOR,
    PRIOR_INTERVAL,
    Document,
    unit_of,
    whole_numbers,
)
from abcdp_core.own_data.likeness import Likeness
from abcdp_core.own_data.releasable import Releasable, Simulated
from abcdp_core.own_data.request import (
    DRAWS,
    POOL_SEED,
    SERIES,
    OwnParameter,
    ReleaseRequest,
    columns_of,
    own_sizes,
    rows_of,
    source_of,
)
from abcdp_core.own_model.lattice import Table
from abcdp_core.parameters import ParameterError
from abcdp_core.privacy.discrete import RandBelow, deviation
from abcdp_core.statistic import Quantity, Question, Statistic, stated_by
from abcdp_core.streams import generator
from abcdp_core.summaries import weighted_mean, weighted_quantile
from abcdp_core.supports import Support

Array = NDArray[np.float64]

TAILS = (0.5 * (1.0 - LEVEL), 0.5, 0.5 * (1.0 + LEVEL))
"""Lower end, median, upper end."""

POOL_SIZE = 20_000
"""Public draws."""

LARGEST_NOISE = 2.0**48
"""Scale up to which noise goes beyond what a document holds, 2^53, less often than once in 10^7:
numbers without noise are at most half of that."""

LITTLE = 0.9
"""Error, in prior standard deviations, above which a release says little."""


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

    def check_together(self) -> None:
        """Refuse noise whose numbers would soon be larger than a document may have.

        Raises:
            ParameterError: it is; nothing has been spent then.
        """
        if table_of(self) is None:
            return
        event = self.event(own_sizes(self.scenario)[1])
        if event.steps().max() > LARGEST_NOISE:
            raise ParameterError(
                f"epsilon_total = {self.epsilon_total:.4g}: where one record moves all numbers by "
                f"Δ₁ = {_fraction(event.sensitivity)} the noise is too large to be written down; "
                "spend more, or release fewer numbers."
            )

    @property
    def unit(self) -> str:
        """That of the scenario's statistic, without its article and without any condition."""
        table = table_of(self)
        return ARTICLE.sub("", self.protected if table is None else table.unit)

    @property
    def declared(self) -> tuple[str, ...]:
        """Of a model or a pool of one's own."""
        table = table_of(self)
        return () if table is None else table.declared

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

    def check_values(self, values: Array) -> None:
        """Of records whose number is private, those that are all NaN are none."""
        if table_of(self) is not None and self.neighbours == "add-remove":
            values = values[~np.isnan(values).all(axis=-1)]
        super().check_values(values)

    def event(self, n: int) -> SummaryNoise:
        """The numbers with their noise."""
        return summary_noise(_statistic(self), n, _size(self, n), self.epsilon_total)

    def noise_in_words(self, n: int) -> str:
        """The noise of the numbers."""
        event, k = self.event(n), _size(self, n)
        numbers = "Its number" if k == 1 else f"Each of its {k} numbers"
        table = table_of(self)
        has_unit = table is not None and not table.together
        unit = ", in units of the most that one record moves it," if has_unit else ""
        return (
            f"{numbers} gets noise of scale b = {event.scale:.4g}{unit} which is Δ₁/ε_total with "
            f"Δ₁ = {_fraction(event.sensitivity)}.{_as_declared(self)}"
        )

    def settings_in_words(self) -> str:
        """By its name."""
        return self.mechanism

    def data_in_words(self, n: int) -> str:
        """What it is; its number of rows only where that is public."""
        what: str = cast(Any, source_of(self)).OWN_DATA
        return what.format(n=f"{n:,}")

    def learnt(self, n: int) -> str:
        """All that is inferred."""
        names = [each.name for each in self.own_parameters(n)]
        return f"{'; '.join(names[:-1])}; and {names[-1]}" if len(names) > 1 else names[0]

    def unprotected(self, n: int) -> list[str]:
        """Settings, and several people together."""
        source: Any = source_of(self)
        table = table_of(self)
        public = "Every setting is public."
        if table is not None and self.neighbours == "replace":
            n = table.records or n
        if self.tells_size or (table is not None and self.neighbours == "replace"):
            rows = rows_of(self.scenario)
            public = f"The number of {rows}, {n:,}, is public, and so is every setting."
        chosen = "A setting" if table is None else "A setting, a prior or a bound"
        return [
            f"{public} {chosen} that was chosen by looking at the data tells something that is not "
            "accounted for, and so does word that a file was refused, as too long or misspelt. "
            f"{source.OWN_HIDDEN}".rstrip(),
            source.OWN_REPEATED,
            *([_as_declared(self).strip()] if self.declared else []),
        ]

    def reach(self, n: int) -> str:
        """What the public simulations reach of what data could be, for a model of one's own."""
        table = table_of(self)
        return "" if table is None else _reach(self, table, n)

    def drowned(self, n: int) -> str:
        """Where the release leaves nearly all of the prior's deviation of everything, and why."""
        found = expected(self, n)

        def is_told(errors: tuple[float, ...]) -> bool:
            return any(
                here <= LITTLE * prior for here, prior in zip(errors, found.prior, strict=True)
            )

        if is_told(found.error):
            return ""
        if not is_told(found.plain):
            return (
                "Even without noise the error of everything is expected to be more than "
                f"{100 * LITTLE:.0f} % of what it is without any data, so what comes out will say "
                "little more than the prior, and a larger ε_total does not help."
            )
        return (
            "With so much noise the error of everything is expected to be more than "
            f"{100 * LITTLE:.0f} % of what it is without any data, so what comes out will say "
            "little more than the prior. A larger ε_total helps."
        )


def _statistic(request: ReleaseRequest) -> Statistic:
    """That on a lattice, of records; else the first that is stated: that of the smaller unit."""
    table = table_of(request)
    return next(iter(stated_by(source_of(request)).values())) if table is None else table.statistic


def table_of(request: ReleaseRequest) -> Table | None:
    """What is read and released by a model or a pool of one's own; ``None`` for other scenarios."""
    return table_for(request.scenario)


def table_for(scenario: str) -> Table | None:
    """As :func:`table_of`, of a scenario."""
    found: Table | None = getattr(simulators.load(scenario), "OWN_TABLE", None)
    return found


ARTICLE = re.compile(r"^(one|an?) ")


def _fraction(sensitivity: float) -> str:
    """A sensitivity as the fraction that it stands for, or as it is."""
    near = Fraction(sensitivity).limit_denominator(1000)
    return str(near) if math.isclose(near, sensitivity) else f"{sensitivity:.4g}"


def _as_declared(request: ReleaseRequest) -> str:
    """What is to be said of what somebody declared; empty if nobody did."""
    if not request.declared:
        return ""
    one = len(request.declared) == 1
    return (
        f" The sensitivity of {' and '.join(request.declared)} was declared by who wrote the model "
        f"and is derived by nothing here: if {'it is' if one else 'one of them is'} larger, less "
        "is protected than stated."
    )


def _quantities(request: ReleaseRequest) -> tuple[Quantity, ...]:
    found: tuple[Quantity, ...] = cast(Any, source_of(request)).OWN_QUANTITIES
    return found


def _size(request: ReleaseRequest, n: int) -> int:
    """How many numbers the data have, whatever stands in them."""
    if table_of(request) is not None:
        return len(_statistic(request).names)
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


def public_pool(
    scenario: str, n: int, seed: int, progress: pool.Progress | None = None
) -> PublicPool:
    """The pool that is shipped, or one for data sets of ``n`` rows; nothing in it is private.

    Args:
        scenario: whose.
        n: rows of each data set.
        seed: of the draws.
        progress: called with the fraction done, where one is made that takes long.
    """
    key = _key(scenario, n, seed)
    found = _pools.get(key)
    if found is None:
        table = table_for(scenario)
        found = (
            _shipped_pool(scenario, n, seed)
            if table is None
            else pool_of(simulators.load(scenario), *table.pool(n, seed, progress))
        )
        for oldest in list(_pools)[: 1 - KEPT]:
            _pools.pop(oldest, None)
        _pools[key] = found
    return found


def has_pool(request: PrivateSummaryRequest, n: int) -> bool:
    """Whether the pool of a request is there, or comes with the program: making one takes long."""
    source = simulators.load(request.scenario)
    return hasattr(source, "precomputed_pool") or (
        _key(request.scenario, n, request.pool_seed) in _pools
    )


def _key(scenario: str, n: int, seed: int) -> tuple[str, str, int, int]:
    """Of a pool; by the digest, as another file may have stated another model of this name."""
    table = table_for(scenario)
    return scenario, "" if table is None else table.digest, n, seed


KEPT = 4
"""Pools in memory."""

_pools: dict[tuple[str, str, int, int], PublicPool] = {}


def _shipped_pool(scenario: str, n: int, seed: int) -> PublicPool:
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
    if not more:
        return PublicPool(theta, numbers, source.SUPPORT)
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
        separate=first.separate,
    )


@dataclass(frozen=True)
class Learner:
    """What the public pool, with noise of an event, tells of released numbers.

    Attributes:
        public: the pool.
        event: the noise.
        regression: fitted to the pool with this noise.
        numbers: of the pool with this noise ``(T, k)``.
    """

    public: PublicPool
    event: SummaryNoise
    regression: Regression = field(repr=False)
    numbers: Array = field(repr=False)

    @classmethod
    def of(cls, public: PublicPool, event: SummaryNoise, seed: int) -> Learner:
        """With noise from a public seed."""
        with_its_noise = noisy(public.numbers, event, generator(seed, "own-summary-noise"))
        regression = Regression.fit(with_its_noise, public.values, public.support)
        return cls(public, event, regression, with_its_noise)

    @functools.cached_property
    def likeness(self) -> Likeness:
        """What the numbers of the pool reach with this noise."""
        return Likeness.of(self.numbers)

    @functools.cached_property
    def error(self) -> Array:
        """Root mean squared error of the mean over the pool ``(d,)``."""
        public = self.public
        return error(self.regression, self.numbers, public.support, public.values)

    def sample(self, z: Array) -> tuple[Array, Array]:
        """Values ``(m, d)`` and weights ``(m,)`` given released numbers ``(k,)``."""
        public = self.public
        found = posterior(z, self.regression, self.event, public.support, public.values)
        samples = public.values[found.indices] if found.samples is None else found.samples
        return samples, found.weights


def _learner(request: PrivateSummaryRequest, n: int, event: SummaryNoise) -> Learner:
    table = table_of(request)
    digest = "" if table is None else table.digest
    return _fitted(request.scenario, digest, n, request.pool_seed, event)


@functools.lru_cache(maxsize=4)
def _fitted(scenario: str, digest: str, n: int, seed: int, event: SummaryNoise) -> Learner:  # noqa: ARG001 - tells models of one name apart
    return Learner.of(public_pool(scenario, n, seed), event, seed)


def _reach(request: PrivateSummaryRequest, table: Table, n: int) -> str:
    """What the public simulations reach, beside what is possible."""
    likeness = _learner(request, n, request.event(n)).likeness
    ends = table.natural(np.stack([likeness.low, likeness.high]), n)
    each = []
    for own, low, high, possible in zip(table.summaries, *ends, table.limits(n), strict=True):
        digits = 0 if own.kind == "count" else _digits(abs(high - low))
        said = f"{own.name}: {_said(min(low, high), digits)} to {_said(max(low, high), digits)}"
        if all(map(math.isfinite, possible)):
            least, most = (f"{end:,.12g}".replace("-", "\u2212") for end in possible)
            said = f"{said} (possible: {least} to {most})"
        each.append(said)
    return (
        f"The {len(likeness.others) + likeness.aside:,} public simulations reach, with this noise, "
        f"{'; '.join(each)}. If your data may lie beyond, the prior misses them: widen it before "
        "anything is spent."
    )


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
        apart: whether the numbers together resemble none of it; asked of models of one's own.
        level: probability at most of either where the data follow the model.
        simulations: draws of the pool.
        draws: of equal weight ``(m, d)``.
    """

    told: Told
    prior: Told
    outside: NDArray[np.bool_]
    apart: bool
    level: float
    simulations: int
    draws: Array = field(repr=False)


def inferred(request: PrivateSummaryRequest, n: int, released: tuple[int, ...]) -> Inferred:
    """What released whole numbers ``(k,)`` tell."""
    event = request.event(n)
    learner = _learner(request, n, event)
    public, z = learner.public, np.array(released, dtype=float) / np.array(event.whole)
    samples, weights = learner.sample(z)
    equal = np.full(len(public.values), 1.0 / len(public.values))
    return Inferred(
        Told.of(samples, weights, request),
        Told.of(public.values, equal, request),
        learner.likeness.outside(z),
        table_of(request) is not None and learner.likeness.is_apart(z),
        learner.likeness.level,
        len(public.values),
        samples[_evenly(weights, request.draws)],
    )


def _too_few(simulations: int, numbers: int) -> str:
    """What to say of a pool that is too small for so many numbers; empty if it is not."""
    needed = minimum_pool(numbers)
    if simulations >= needed:
        return ""
    return (
        f"The public pool has {simulations:,} simulations, too few to be moved to what is released "
        f"by a regression ({needed:,}): the {min(accepted(simulations), simulations):,} nearest "
        "are taken as they are, so intervals are wider than the data allow. A larger pool helps."
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
        noise = ""
        if self.table_of_records is not None:
            each, noise = "; ".join(self._in_their_units()), " (its standard deviation in brackets)"
        return f"Released, with noise{noise}: {each}.{self._unlike()}"

    @property
    def table_of_records(self) -> Table | None:
        """What is read and released, for a model of one's own."""
        return table_of(self.request)

    @property
    def natural(self) -> Array:
        """The released numbers ``(k,)`` as counts, means and sums, for a model of one's own."""
        table = self.table_of_records
        assert table is not None
        units = np.array(self.released, dtype=float) / np.array(self.event.whole)
        return table.natural(units, self.n)

    def _in_their_units(self) -> list[str]:
        """Each released number with the standard deviation of its noise."""
        table = self.table_of_records
        assert table is not None
        steps, whole = self.event.steps(), np.array(self.event.whole)
        units = np.array([deviation(step) for step in steps.tolist()]) / whole
        noise = units * np.abs(table.per_unit(self.n))
        found = []
        for each, value, spread in zip(table.summaries, self.natural, noise.tolist(), strict=True):
            digits = 0 if each.kind == "count" else _digits(spread)
            # What has a unit may all be as small as that; of a count it is nothing.
            least = 1e-4 if each.kind == "count" else 1e-12
            size = _said(spread, _digits(spread)) if spread >= least else "below 0.0001"
            found.append(f"{each.name}: {_said(value, digits)} ({size})")
        return found

    @property
    def outside(self) -> list[str]:
        """Names of the released numbers that are beyond all public simulations."""
        beyond = zip(self.names, self.inferred.outside.tolist(), strict=True)
        together = [TOGETHER] if self.inferred.apart else []
        return [name for name, is_outside in beyond if is_outside] + together

    def _unlike(self) -> str:
        if not self.outside:
            return ""
        found, wrong, level = self.inferred, "The model does not fit these data", ""
        if self.table_of_records is not None:
            wrong = "The prior misses these data, or the model does not fit them"
            level = (
                " Of data that follow both this is said with probability at most "
                f"{_up(found.level)}."
            )
        return (
            f" Beyond all {found.simulations:,} public simulations with their noise: "
            f"{', '.join(self.outside)}. {wrong}, so do not rely on what follows from it.{level}"
        )

    @property
    def in_own_words(self) -> str:
        """Means and intervals, and the answers to the questions."""
        each = "; ".join(
            f"{row.name}: {row.mean} ({row.low} to {row.high}){row.unit}" for row in self.rows()
        )
        said = f"Means, with 90 % intervals: {each}.{self._in_time()}"
        return " ".join([said, *self.answers()])

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
            digits = _decimals(high - low, prior.quantiles[:, i], high)
            least = 0.1 * abs(prior.quantiles[0, i])
            if high > max(low, least) and least > 0.0 and float(f"{high:.{digits}f}") == 0.0:
                # One of the small values of a prior over many decades.
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
        if self.outside and self.table_of_records is not None:
            return "The prior or the model does not fit these data"
        if self.outside:
            return "The model does not fit these data"
        source = cast(Any, source_of(self.request))
        (row,) = (row for row in self.rows() if row.name == source.OWN_HEADLINE)
        said: str = source.OWN_FINDING
        return said.format(low=row.low, high=row.high)

    @property
    def settings(self) -> str:
        """Budget, mechanism and, where it is public, size."""
        rows = rows_of(self.request.scenario)
        size = f", {self.n:,} {rows}" if self.request.tells_size else ""
        return f"{self.request.spends}, private summary{size}; mean, 90 % interval"

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
        own = ""
        if self.table_of_records is not None:
            own = " What is released is rounded to a public lattice first."
        simulations = self.inferred.simulations
        few = _too_few(simulations, len(self.released))
        return (
            "The numbers, their noise and the sums are exact, in whole numbers. The posterior is "
            f"computed from what was released, by {simulations:,} public simulations and a "
            "regression, so it is approximate; it holds if the data follow the model."
            f"{f' {few}' if few else ''}{own}"
        )

    def contents(self) -> dict[str, Any]:
        """The numbers, and means, intervals, probabilities and draws."""
        event, told, prior = self.event, self.inferred.told, self.inferred.prior
        table, own = self.table_of_records, {}
        if table is not None:
            own = {"model": {"file": table.file, "sha256": table.digest}}
        return {
            **own,
            "release": {
                "names": list(self.names),
                "whole_numbers": list(self.released),
                "divided_by": list(event.whole or ()),
                **({} if table is None else {"in_their_units": self.natural.tolist()}),
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


TOGETHER = "all numbers together"
"""Of what is unusual though each number by itself is not."""


def _up(level: float) -> str:
    """A small probability to one digit, never below it."""
    power = math.floor(math.log10(level))
    return f"{math.ceil(level / 10.0**power - 1e-9) * 10.0**power:.{max(-power, 0)}f}"


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


FINEST = 1e-3
"""Part of the prior's interval below which nothing is said, however narrow the posterior is."""


def _decimals(width: float, prior: Array, high: float) -> int:
    """Decimals of an interval so wide, given three quantiles of its prior ``(3,)``.

    Of a prior over decades the narrower half counts, in which the smallest values are; and where
    the interval is a single value, that half or the value.
    """
    halves = np.diff(prior)
    half = float(min(halves[halves > 0.0], default=0.0))
    finest = 2.0 * FINEST * half
    if width > 0.0:
        return _digits(max(width, finest))
    return max(_digits(half), _digits(max(abs(high), finest)) if high else 0)


def _digits(width: float) -> int:
    """Decimals of numbers whose interval is so wide: two digits of it."""
    return max(0, 1 - math.floor(math.log10(width))) if width > 0.0 else 3


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
    public_pool(request.scenario, len(values), request.pool_seed, progress)
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
    found, size = content["release"]["whole_numbers"], _size(request, n)
    numbers = whole_numbers(found, size, "numbers of the scenario's data")
    return _document(request, n, numbers, reservation)


def largest_file(request: PrivateSummaryRequest) -> int:
    """Bytes of a document with all draws, at most."""
    each = len(source_of(request).AXES) + len(_quantities(request))
    names = _statistic(request).names
    rest = LARGEST_REST
    if table_of(request) is not None:
        # Of a model of one's own nobody knows how many numbers it has, or how long their names are.
        rest += 20 * LARGEST_NUMBER * (len(names) + each) + 20 * sum(map(len, names))
    return rest + LARGEST_NUMBER * request.draws * (2 + each)


def expected(request: PrivateSummaryRequest, n: int) -> Simulated:
    """Errors over the public pool, with the noise and without it."""
    event = request.event(n)
    silent = dataclasses.replace(event, scale=0.0)
    private, plain = (_learner(request, n, each).error for each in (event, silent))
    public = public_pool(request.scenario, n, request.pool_seed)
    prior = public.values.std(axis=0)
    named = request.own_parameters(n)
    return Simulated(
        tuple(each.name for each in named),
        tuple(each.unit for each in named),
        error=tuple(private.tolist()),
        plain=tuple(plain.tolist()),
        prior=tuple(prior.tolist()),
        remark=_too_few(*public.numbers.shape),
    )


RELEASABLE = Releasable(
    request=PrivateSummaryRequest,
    title="Private summary",
    reason="A few numbers of the data are released once, with noise in whole numbers, and the "
    "posterior is simulated with that noise inside.",
    rank=0,
    measure=measure,
    draw=draw,
    read=read,
    largest_file=largest_file,
    expected=expected,
)
