r"""A request for a few numbers of a person's data, and what to expect of it (MATH E5, M9)."""

from __future__ import annotations

import dataclasses
import functools
import math
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from abcdp_core.mechanisms.private_summary import SummaryNoise, law
from abcdp_core.parameters import Parameter, ParameterError
from abcdp_core.posterior.pool import FixedPool, minimum_pool
from abcdp_core.posterior.rounds import FIRST, Effort
from abcdp_core.release.exact_noise import summary_noise
from abcdp_core.release.releasable import Simulated
from abcdp_core.release.request import (
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
from abcdp_core.release.simulated import (
    PublicPool,
    has_pool,
    names_of,
    public_pool,
    size_of,
    statistic_of,
    table_for,
)
from abcdp_core.sentences import decimals, fixed

Array = NDArray[np.float64]

LARGEST_NOISE = 2.0**48
"""Scale up to which noise goes beyond what a document holds, 2^53, less often than once in 10^7:
numbers without noise are at most half of that."""

LITTLE = 0.9
"""Error, in prior standard deviations, above which a release says little."""

SIMULATIONS = Parameter(
    kind="integer",
    label="Simulations",
    help="At most so many data sets are simulated for the posterior. They cost no privacy.",
    low=1000,
    high=10_000_000,
)
WANTED = Parameter(
    kind="integer",
    label="Effective sample size",
    help="Simulations end when importance weights carry as much as so many independent draws.",
    low=200,
    high=100_000,
)

ARTICLE = re.compile(r"^(one|an?) ")

NAMED = 3
"""Numbers of a longer list that are named: its first, its middle, its last."""


@dataclass(frozen=True)
class PrivateSummaryRequest(ReleaseRequest):
    """What is asked for; public.

    Attributes:
        draws: from the posterior.
        pool_seed: of all simulations.
        simulations: of data sets, at most.
        effective_sample_size: that is enough.
    """

    mechanism: ClassVar[str] = "private-summary"

    draws: int = DRAWS.field(1000)
    pool_seed: int = POOL_SEED.field(1)
    simulations: int = SIMULATIONS.field(Effort.simulations)
    effective_sample_size: int = WANTED.field(Effort.wanted)

    @classmethod
    def serves(cls, scenario: str) -> bool:
        """A scenario of people, whose numbers are multiples of fractions."""
        return columns_of(scenario) != (SERIES,)

    def check_together(self) -> None:
        """Refuse noise whose numbers would soon be larger than a document may have.

        Raises:
            ParameterError: it is; nothing has been spent then.
        """
        if table_for(self.scenario) is None:
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
        table = table_for(self.scenario)
        return ARTICLE.sub("", self.protected if table is None else table.unit)

    @property
    def declared(self) -> tuple[str, ...]:
        """Of a model or a pool of one's own."""
        table = table_for(self.scenario)
        return () if table is None else table.declared

    @property
    def neighbours(self) -> str:
        """Those of the scenario's statistic."""
        return statistic_of(self.scenario).neighbours

    @property
    def protected(self) -> str:
        """That of the scenario's statistic."""
        return statistic_of(self.scenario).unit

    def own_parameters(self, n: int) -> tuple[OwnParameter, ...]:
        """The parameters, and what else is told."""
        source = source_of(self)
        told = [(source.OWN_NAMES[axis], source.UNITS[axis]) for axis in source.AXES]
        told += [(each.name, each.unit) for each in source.OWN_QUANTITIES]
        return tuple(OwnParameter(name, unit, 0.0, 1.0) for name, unit in told)

    def check_values(self, values: Array) -> None:
        """Of records whose number is private, those that are all NaN are none."""
        if table_for(self.scenario) is not None and self.neighbours == "add-remove":
            values = values[~np.isnan(values).all(axis=-1)]
        super().check_values(values)

    def event(self, n: int) -> SummaryNoise:
        """The numbers with their noise."""
        return summary_noise(
            statistic_of(self.scenario), n, size_of(self.scenario, n), self.epsilon_total
        )

    def noise_in_words(self, n: int) -> str:
        """The noise of the numbers."""
        event, k = self.event(n), size_of(self.scenario, n)
        numbers = "Its number" if k == 1 else f"Each of its {k} numbers"
        table = table_for(self.scenario)
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
        return source_of(self).OWN_DATA.format(n=f"{n:,}")

    def fitted(self, n: int) -> str:
        """All that is inferred."""
        names = [each.name for each in self.own_parameters(n)]
        return f"{'; '.join(names[:-1])}; and {names[-1]}" if len(names) > 1 else names[0]

    def unprotected(self, n: int) -> list[str]:
        """Settings, and several people together."""
        source, table = source_of(self), table_for(self.scenario)
        public = "Every setting is public."
        is_public_table = table is not None and self.neighbours == "replace"
        if self.tells_size or is_public_table:
            size = (table.records or n) if table is not None and is_public_table else n
            rows = rows_of(self.scenario)
            public = f"The number of {rows}, {size:,}, is public, and so is every setting."
        chosen = "A setting" if table is None else "A setting, a prior or a bound"
        return [
            f"{public} {chosen} that was chosen by looking at the data tells something that is not "
            "accounted for, and so does word that a file was refused, as too long or misspelt. "
            f"{source.OWN_HIDDEN}".rstrip(),
            source.OWN_REPEATED,
            *([_as_declared(self).strip()] if self.declared else []),
        ]

    @property
    def first(self) -> int:
        """Draws of the public pool, where it is simulated."""
        return min(FIRST, self.simulations)

    def reach(self, n: int) -> str:
        """What the public simulations reach with the noise, beside what is possible."""
        table, drawn = table_for(self.scenario), pool_with_noise(self, n)
        released = drawn.draws.numbers + drawn.added
        names, ends = names_of(self.scenario, n), np.stack([released.min(0), released.max(0)])
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
            said = f"{names[place]}: {fixed(low, digits)} to {fixed(high, digits)}"
            if all(map(math.isfinite, limits[place])):
                least, most = (f"{end:,.12g}".replace("-", "\u2212") for end in limits[place])
                said = f"{said} (possible: {least} to {most})"
            each.append(said)
        return (
            f"The {len(released):,} public simulations reach, with this noise, {'; '.join(each)}. "
            "If your data may lie beyond, the prior misses them: widen it before anything is "
            "spent."
        )

    def drowned(self, n: int) -> str:
        """Where the release leaves nearly all of the prior's deviation of everything, and why."""
        found = expected(self, n)

        def is_told(errors: tuple[float, ...]) -> bool:
            pairs = zip(errors, found.prior, strict=True)
            return any(here <= LITTLE * prior for here, prior in pairs)

        if is_told(found.error):
            return ""
        helps = is_told(found.plain)
        return (
            f"{'With so much noise' if helps else 'Even without noise'} the error of everything is "
            f"expected to be more than {100 * LITTLE:.0f} % of what it is without any data, so "
            "what comes out will say little more than the prior"
            f"{'. A larger ε_total helps.' if helps else ', and a larger ε_total does not help.'}"
        )


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


# -------------------------------------------------------------------------- what to expect of it


def pool_of(request: PrivateSummaryRequest, n: int) -> PublicPool:
    """The public pool of a request; it is made if it is not there."""
    return public_pool(request.scenario, n, request.pool_seed, request.first)


def is_ready(request: PrivateSummaryRequest, n: int) -> bool:
    """Whether the public pool is there: making one takes long."""
    return has_pool(request.scenario, n, request.pool_seed, request.first)


def pool_with_noise(request: PrivateSummaryRequest, n: int) -> FixedPool:
    """The public pool with noise of the release on its numbers."""
    return _with_noise(pool_of(request, n), request.event(n), request.pool_seed)


@functools.lru_cache(maxsize=4)
def _with_noise(pool: PublicPool, event: SummaryNoise, seed: int) -> FixedPool:
    return pool.with_noise(law(event, pool.numbers.shape[1]), seed)


@functools.lru_cache(maxsize=8)
def _error(pool: PublicPool, event: SummaryNoise, seed: int) -> Array:
    return _with_noise(pool, event, seed).error(pool.told)


def expected(request: PrivateSummaryRequest, n: int) -> Simulated:
    """Errors over the public pool, with the noise and without it."""
    event, pool = request.event(n), pool_of(request, n)
    silent = dataclasses.replace(event, scale=0.0)
    private, plain = (_error(pool, each, request.pool_seed) for each in (event, silent))
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
    """What to say of a pool that is too small for so many numbers; empty if it is not."""
    needed = minimum_pool(numbers)
    table = table_for(request.scenario)
    if simulations >= needed or table is None or table.pool is None:
        return ""
    return (
        f"The pool has {simulations:,} draws, too few to be moved to what is released by a "
        f"regression ({needed:,}): where importance weights do not carry the nearest are taken as "
        "they are, so intervals are wider than the data allow. A larger pool helps."
    )
