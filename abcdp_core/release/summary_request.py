r"""Request a few numbers of a person's data, and predict the errors (MATH E5, M9)."""

from __future__ import annotations

import dataclasses
import functools
import math
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from abcdp_core.base.arrays import Array
from abcdp_core.base.parameters import Parameter, ParameterError
from abcdp_core.base.sentences import decimals, duration, fixed
from abcdp_core.base.statistic import Statistic
from abcdp_core.mechanisms.private_summary import SummaryNoise, law
from abcdp_core.models.own_model import lattice
from abcdp_core.models.own_model.lattice import RecordSchema
from abcdp_core.models.simulators import Scenario
from abcdp_core.posterior.fit import REPLICATES
from abcdp_core.posterior.model import seconds_of_one
from abcdp_core.posterior.pool import FixedPool, minimum_pool
from abcdp_core.posterior.rounds import FIRST, Effort
from abcdp_core.release import people
from abcdp_core.release.exact_noise import summary_noise
from abcdp_core.release.releasable import Simulated
from abcdp_core.release.request import DRAWS, POOL_SEED, SERIES, OwnParameter, ReleaseRequest
from abcdp_core.release.simulated import (
    Progress,
    PublicPool,
    has_pool,
    model_of,
    names_of,
    public_pool,
    size_of,
    statistic_of,
)

LARGEST_NOISE = 2.0**48
"""Largest scale of noise. Numbers without noise are at most half of 2^53, which a record can hold;
with this scale they pass it less than once in 10^7."""

LITTLE = 0.9
"""Error in prior standard deviations above which a release says little."""

SIMULATIONS = Parameter(
    kind="integer",
    label="Simulations",
    help="The most data sets to simulate for the posterior. They spend no budget.",
    low=1000,
    high=10_000_000,
)
WANTED = Parameter(
    kind="integer",
    label="Effective sample size",
    help="Simulations stop when the weighted draws are worth this many independent draws.",
    low=200,
    high=100_000,
)

AT_MOST = Parameter(
    kind="integer",
    label="Records of a person",
    help="At most so many records of each person are used. Choose it without looking at the data. "
    "With 1, means and shares are over people; with more, over records. 0: each row is protected.",
    low=0,
    high=1000,
)
ROWS_ARE_PEOPLE = Parameter("switch", "Each row is another person", "Nobody has several rows.")

ARTICLE = re.compile(r"^(one|an?) ")

NAMED = 3
"""Numbers of a long list that are named: the first, the middle and the last."""


@dataclass(frozen=True)
class PrivateSummaryRequest(ReleaseRequest):
    """Public settings of a private summary.

    Attributes:
        draws: number of draws from the posterior.
        pool_seed: of all simulations.
        simulations: most data sets to simulate.
        effective_sample_size: at which simulations stop.
        at_most: most records of a person that are used; 0 if the unit is the model's.
        rows_are_people: whether it was stated that nobody has several rows.
    """

    mechanism: ClassVar[str] = "private-summary"

    draws: int = DRAWS.field(1000)
    pool_seed: int = POOL_SEED.field(1)
    simulations: int = SIMULATIONS.field(Effort.simulations)
    effective_sample_size: int = WANTED.field(Effort.wanted)
    at_most: int = AT_MOST.field(0)
    rows_are_people: bool = ROWS_ARE_PEOPLE.field(False)

    def public(self) -> dict[str, Any]:
        """Return all settings; records of 0.3.0 say nothing of people with several rows."""
        unsaid = {name for name in ("at_most", "rows_are_people") if not vars(self)[name]}
        return {name: each for name, each in super().public().items() if name not in unsaid}

    def settings_in_words(self) -> str:
        """Return the settings besides the budget, in a few words."""
        words = super().settings_in_words()
        return f"{words}, {people.in_words(self.at_most)}" if self.at_most else words

    @classmethod
    def serves(cls, scenario: Scenario) -> bool:
        """Return whether a scenario is one of people, whose numbers are multiples of fractions."""
        return scenario.own_columns != (SERIES,)

    def check_together(self) -> None:
        """Check that a person may have several records, and that a record can hold the numbers.

        Raises:
            ParameterError: not so, or the noise is too large; nothing was spent.
        """
        table = self.table
        if self.at_most and (table is None or table.is_of_numbers):
            raise ParameterError(
                f"at_most = {self.at_most}: {self.scenario} takes no table of records."
            )
        if self.at_most and self.neighbours == "replace":
            raise ParameterError(
                f"at_most = {self.at_most}: {self.scenario} has a public number of records, and "
                "how many a person has is private. Sums and counts of a private number of records "
                "serve: write neighbours = add-remove in the model."
            )
        if table is None:
            return
        event = self.event(self.source.own_sizes[1])
        if event.steps().max() > LARGEST_NOISE:
            raise ParameterError(
                f"epsilon_total = {self.epsilon_total:.4g}: one record moves all numbers by "
                f"Δ₁ = {_fraction(event.sensitivity)}, so the noise is too large to write down; "
                "spend more, or release fewer numbers."
            )

    @property
    def table(self) -> RecordSchema | None:
        """The table of a user's model or pool; ``None`` for other scenarios."""
        return self.source.own_table

    @property
    def unit(self) -> str:
        """The protected unit without its article and without any condition."""
        table = self.table
        if self.at_most:
            return "person"
        return ARTICLE.sub("", self.protected if table is None else table.unit)

    @property
    def declared(self) -> tuple[str, ...]:
        """Names of statistics whose sensitivity the model's author declared."""
        table = self.table
        return () if table is None else table.declared

    @property
    def neighbours(self) -> str:
        """How neighboring data differ, from the scenario's statistic."""
        return self.statistic.neighbours

    @property
    def stated_neighbours(self) -> str:
        """How they differ, as the privacy statement says it."""
        return "person" if self.at_most else self.neighbours

    @property
    def protected(self) -> str:
        """The unit of the scenario's statistic."""
        return self.statistic.unit

    @property
    def statistic(self) -> Statistic:
        """The scenario's statistic, for persons with several records if there may be such."""
        statistic, table = statistic_of(self.source), self.table
        if table is None or not self.at_most:
            return statistic
        return people.of_person(statistic, table.unit, self.at_most)

    def own_parameters(self, n: int) -> tuple[OwnParameter, ...]:
        """Return the parameters and further quantities."""
        source = self.source
        named = [(source.own_names[axis], source.units[axis]) for axis in source.axes]
        named += [(each.name, each.unit) for each in source.own_quantities]
        return tuple(OwnParameter(name, unit, 0.0, 1.0) for name, unit in named)

    def check_values(self, values: Array) -> None:
        """Check the values; if the number of records is private, rows of NaN are no records."""
        if self.table is not None and self.neighbours == "add-remove":
            values = values[~np.isnan(values).all(axis=-1)]
        super().check_values(values)

    def event(self, n: int) -> SummaryNoise:
        """Return the numbers with their noise."""
        return summary_noise(self.statistic, n, size_of(self.source, n), self.epsilon_total)

    def noise_in_words(self, n: int) -> str:
        """Return the noise of the numbers in sentences."""
        event, k = self.event(n), size_of(self.source, n)
        numbers = "Its number" if k == 1 else f"Each of its {k} numbers"
        table = self.table
        has_unit = table is not None and not table.together
        unit = " (in units of the most that one record moves it)" if has_unit else ""
        return (
            f"{numbers} gets noise of scale b = Δ₁/ε_total = {event.scale:.4g}{unit}, with "
            f"Δ₁ = {_fraction(event.sensitivity)}.{_as_declared(self)}"
        )

    def data_in_words(self, n: int) -> str:
        """Return the data in words, with the number of rows only if it is public."""
        return self.source.own_data.format(n=f"{n:,}")

    def fitted(self, n: int) -> str:
        """Return the names of all inferred quantities."""
        names = [each.name for each in self.own_parameters(n)]
        return f"{'; '.join(names[:-1])}; and {names[-1]}" if len(names) > 1 else names[0]

    def unprotected(self, n: int) -> list[str]:
        """Return sentences on the settings and on repeated persons; `verify` compares them."""
        source, table = self.source, self.table
        public = "Every setting is public."
        is_public_table = table is not None and self.neighbours == "replace"
        if self.tells_size or is_public_table:
            size = (table.records or n) if table is not None and is_public_table else n
            rows = self.source.own_rows
            public = f"The number of {rows}, {size:,}, is public, and so is every setting."
        chosen = "A setting" if table is None else "A setting, a prior or a bound"
        return [
            f"{public} {chosen} that was chosen by looking at the data tells something that is not "
            "accounted for, and so does word that a file was refused, as too long or misspelt. "
            f"{source.own_hidden}".rstrip(),
            self._repeated(source.own_repeated),
            *([_as_declared(self).strip()] if self.declared else []),
        ]

    def _repeated(self, usual: str) -> str:
        """Say what holds for people with several rows."""
        if self.at_most:
            depends = lattice.DEPENDENT if lattice.DEPENDENT in usual else ""
            sentence = (
                f"Of each person at most {self.at_most} records are used, drawn at random before "
                f"anything was computed; how many were left out is private. {depends}"
            )
            return sentence.rstrip()
        stated = "It was stated that each row is another person. "
        return f"{stated}{usual}" if self.rows_are_people else usual

    @property
    def first(self) -> int:
        """Number of draws in the public pool, if it is simulated."""
        return min(FIRST, self.simulations)

    def reach(self, n: int) -> str:
        """Return the range of the public simulations with noise, and the possible range."""
        table, drawn = self.table, pool_with_noise(self, n)
        released = drawn.draws.numbers + drawn.added
        names, ends = names_of(self.source, n), np.stack([released.min(0), released.max(0)])
        limits = [(0.0, math.inf)] * len(names)
        if table is not None:
            ends, limits = table.natural(ends, n), table.limits(n)
        places = list(range(len(names)))
        if len(names) > 2 * NAMED:
            places = [0, len(names) // 2, len(names) - 1]
        each = []
        for place in places:
            low, high = sorted(ends[:, place].tolist())
            is_count = table is None or table.summaries[place].kind == "count"
            digits = 0 if is_count else decimals(high - low)
            words = f"{names[place]}: {fixed(low, digits)} to {fixed(high, digits)}"
            if all(map(math.isfinite, limits[place])):
                least, most = (f"{end:,.12g}".replace("-", "\u2212") for end in limits[place])
                words = f"{words} (possible: {least} to {most})"
            each.append(words)
        remedy = "this scenario does not fit them: spend nothing on it"
        if table is not None:
            remedy = "the prior misses them: widen it before you spend anything"
        return (
            f"With this noise, the {len(released):,} public simulations range over "
            f"{'; '.join(each)}. If your data may lie outside, {remedy}."
        )

    def time_in_words(self, n: int, workers: int) -> str:
        """Say how long the posterior takes here; empty if nothing is simulated."""
        model = model_of(self.source, n)
        if model is None:
            return ""
        each = seconds_of_one(model, self.pool_seed) / workers
        least = each * (min(self.simulations, 2 * self.first) + REPLICATES)
        most = each * (self.simulations + REPLICATES)
        density = ""
        if not model.prior.has_density:
            density = " Without log_prior, all data sets are simulated at draws from the prior."
        return (
            f"The posterior takes up to {self.simulations:,} simulated data sets, and the check of "
            f"the fit {REPLICATES:,}: about {duration(least)} to {duration(most)} here.{density}"
        )

    def noise_warning(self, n: int) -> str:
        """Return a warning if every error is close to its prior standard deviation."""
        pool, event = pool_of(self, n), self.event(n)
        prior = np.stack([pool.values, _squares(pool, pool.values)]).std(axis=1)

        def is_told(event: SummaryNoise) -> list[bool]:
            """Return whether something is told by its mean, and by that of its squares."""
            error = _error(pool, event, self.pool_seed)
            return (error <= LITTLE * prior).any(axis=1).tolist()

        by_mean, by_squares = is_told(event)
        if by_mean:
            return ""
        if by_squares:
            return (
                "A mean is expected to say little more than the prior, but a parameter's distance "
                "from its prior mean will be known: expect several modes, which the release shows."
            )
        helps = any(is_told(dataclasses.replace(event, scale=0.0)))
        return (
            f"{'With so much noise' if helps else 'Even without noise'}, every error is expected "
            f"to be more than {100 * LITTLE:.0f} % of the error without any data, so the results "
            "will say little more than the prior. "
            f"A larger ε_total {'helps' if helps else 'does not help'}."
        )


def _fraction(sensitivity: float) -> str:
    """A sensitivity as the fraction that it approximates, if there is one."""
    near = Fraction(sensitivity).limit_denominator(1000)
    return str(near) if math.isclose(near, sensitivity) else f"{sensitivity:.4g}"


def _as_declared(request: ReleaseRequest) -> str:
    """A sentence on declared sensitivities, which `verify` compares; empty without any."""
    if not request.declared:
        return ""
    one = len(request.declared) == 1
    return (
        f" The sensitivity of {' and '.join(request.declared)} was declared by who wrote the model "
        f"and is derived by nothing here: if {'it is' if one else 'one of them is'} larger, less "
        "is protected than stated."
    )


def pool_of(request: PrivateSummaryRequest, n: int, progress: Progress | None = None) -> PublicPool:
    """Return the public pool of a request; make it if there is none."""
    return public_pool(request.source, n, request.pool_seed, request.first, progress)


def pool_seconds(request: PrivateSummaryRequest, n: int) -> float:
    """Return how long it takes to simulate the public pool here; 0 if there is one."""
    model = model_of(request.source, n)
    if model is None or is_ready(request, n):
        return 0.0
    return seconds_of_one(model, request.pool_seed) * request.first


def is_ready(request: PrivateSummaryRequest, n: int) -> bool:
    """Return whether the public pool exists; making one takes long."""
    return has_pool(request.source, n, request.pool_seed, request.first)


def pool_with_noise(request: PrivateSummaryRequest, n: int) -> FixedPool:
    """Return the public pool with the release's noise on its numbers."""
    return _with_noise(pool_of(request, n), request.event(n), request.pool_seed)


@functools.lru_cache(maxsize=4)
def _with_noise(pool: PublicPool, event: SummaryNoise, seed: int) -> FixedPool:
    return pool.with_noise(law(event, pool.numbers.shape[1]), seed)


@functools.lru_cache(maxsize=8)
def _error(pool: PublicPool, event: SummaryNoise, seed: int) -> Array:
    """Return the errors of values and of squared distances from their prior means ``(2, d)``."""

    def both(theta: Array, numbers: Array) -> Array:
        values = pool.values_at(theta, numbers)
        return np.hstack([values, _squares(pool, values)])

    return _with_noise(pool, event, seed).error(both).reshape(2, -1)


def _squares(pool: PublicPool, values: Array) -> Array:
    return (values - pool.values.mean(axis=0)) ** 2


def expected(request: PrivateSummaryRequest, n: int) -> Simulated:
    """Return errors over the public pool, with and without noise."""
    event, pool = request.event(n), pool_of(request, n)
    silent = dataclasses.replace(event, scale=0.0)
    private, plain = (_error(pool, each, request.pool_seed)[0] for each in (event, silent))
    named = request.own_parameters(n)
    return Simulated(
        tuple(each.name for each in named),
        tuple(each.unit for each in named),
        error=tuple(private.tolist()),
        plain=tuple(plain.tolist()),
        prior=tuple(pool.values.std(axis=0).tolist()),
        remark=_too_few(request, *pool.numbers.shape),
    )


def _too_few(request: PrivateSummaryRequest, simulations: int, numbers: int) -> str:
    """A remark if a user's pool is too small for so many numbers; else empty."""
    needed = minimum_pool(numbers)
    table = request.table
    if simulations >= needed or table is None or table.pool is None:
        return ""
    return (
        f"The pool has {simulations:,} draws; regression adjustment needs {needed:,}. If the "
        "effective sample size is small, the nearest draws are used as they are, and intervals are "
        "wider than the data allow. A larger pool helps."
    )
