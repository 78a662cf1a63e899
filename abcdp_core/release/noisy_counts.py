r"""Release of counts with noise, and the exact posterior given these (MATH E7).

Where a scenario states a model of counts (``CONJUGATE``), the counts of the cells carry all the
information about their shares. The counts are released once
(:mod:`~abcdp_core.release.exact_noise` has the noise and the proof). All else is computed from
them, by :mod:`abcdp_core.mechanisms.noisy_counts`, and two things are reported:

- the shares *of this series*: the counts themselves, known but for the noise;
- the shares *in the population* that the values come from, which has the uncertainty of a sample
  too: independent draws from the posterior, with a public seed.

Means are exact. 90 % intervals are equal-tailed: of the counts' exact laws, and of the draws.

**Error to expect.** On average over the model, with K cells, $A = \sum \alpha$, a flat prior, and
$v = \frac{1}{K}(1 - \frac{1}{K}) / (A + 1)$ the prior variance of a share, the posterior mean has
the mean squared error

$$v \frac{A}{A + N} + \frac{E\,\mathrm{Var}(n_i \mid r)}{(A + N)^2}, \qquad
E\,\mathrm{Var}(n_i \mid r) \le \frac{s\,u}{s + u},$$

$s$ the variance of the noise and $u = N (A + N) v$ that of a count: no estimate is better than the
posterior mean, and the best one that is linear in $r_i$ has the right-hand side. So this is an
upper bound, and near where noise is small beside the counts or they beside it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from abcdp_core import pool, simulators
from abcdp_core.mechanisms.noisy_counts import counts_given, shares
from abcdp_core.parameters import Parameter
from abcdp_core.privacy.discrete import RandBelow
from abcdp_core.release.budget_file import Reservation
from abcdp_core.release.document import LEVEL, ReleaseRecord, in_scale, unit_of, whole_numbers
from abcdp_core.release.exact_noise import SENSITIVITY, CountNoise, count_noise, with_noise
from abcdp_core.release.picture import ESTIMATE, INTERVAL, PRIOR, Marks
from abcdp_core.release.releasable import Expected, ReleaseMechanism
from abcdp_core.release.request import DRAWS, SeriesRequest, source_of, to_domain
from abcdp_core.sentences import plain
from abcdp_core.statistic import DirichletCounts, Statistic, stated_by
from abcdp_core.streams import generator

Array = NDArray[np.float64]

DRAWS_SEED = Parameter(
    kind="integer",
    label="Seed of the draws",
    help="Public. It has nothing to do with the noise: the same number makes the same draws from "
    "what was released.",
    low=0,
    high=2**53 - 1,
)


@dataclass(frozen=True)
class NoisyCountsRequest(SeriesRequest):
    """What is asked for; public.

    Attributes:
        draws: from the posterior.
        draws_seed: of these.
    """

    mechanism: ClassVar[str] = "noisy-counts"

    draws: int = DRAWS.field(1000)
    draws_seed: int = DRAWS_SEED.field(1)

    @classmethod
    def serves(cls, scenario: str) -> bool:
        """A scenario with a model of counts that one value moves by no more than the noise has."""
        source = simulators.load(scenario)
        if getattr(source, "CONJUGATE", None) is None:
            return False
        statistic = _statistic(source)
        return statistic.neighbours == "replace" and statistic.l1(1) <= SENSITIVITY

    def event(self, n: int) -> CountNoise:
        """The counts with their noise."""
        return count_noise(self.epsilon_total, len(_concentration(self)))

    def noise_in_words(self, n: int) -> str:
        """The noise of the counts."""
        event = self.event(n)
        deviation = plain(event.deviation, 2)
        return (
            f"Each of the {event.cells} counts gets noise of scale t = {event.scale:.4g}, whose "
            f"standard deviation is {deviation} {'value' if deviation == '1' else 'values'}."
        )

    def settings_in_words(self) -> str:
        """By its name."""
        return self.mechanism

    def drowned(self, n: int) -> str:
        """Where the noise is larger than a count is uncertain beforehand."""
        event = self.event(n)
        if event.deviation <= math.sqrt(n * _prior_variance(self) * (_total(self) + n)):
            return ""
        return (
            f"The noise on each count (standard deviation {plain(event.deviation, 2)}) is larger "
            f"than what the prior leaves open of {n:,} values, so what comes out will say little "
            "more than the prior. A larger ε_total or more data help."
        )


def _statistic(source: Any) -> Statistic:
    return stated_by(source)[cast(DirichletCounts, source.CONJUGATE).statistic]


def _concentration(request: NoisyCountsRequest) -> Array:
    """α of the prior ``(K,)``."""
    source: Any = source_of(request)
    return np.array(cast(DirichletCounts, source.CONJUGATE).concentration)


def _total(request: NoisyCountsRequest) -> float:
    return float(_concentration(request).sum())


def _prior_variance(request: NoisyCountsRequest) -> float:
    """Of a share, on average over the cells."""
    mean = _concentration(request) / _total(request)
    return float(np.mean(mean * (1.0 - mean))) / (_total(request) + 1.0)


# -------------------------------------------------------------------------- what follows from it


@dataclass(frozen=True)
class Inferred:
    """What released counts tell; a function of them and of what is public.

    Attributes:
        own_mean: of the series' own shares ``(K,)``.
        own_low, own_high: ends of their intervals.
        mean: of the population's shares ``(K,)``.
        low, high: ends of their intervals.
        draws: of the population's shares ``(m, K)``.
    """

    own_mean: Array
    own_low: Array
    own_high: Array
    mean: Array
    low: Array
    high: Array
    draws: Array = field(repr=False)


def inferred(request: NoisyCountsRequest, n: int, counts: tuple[int, ...]) -> Inferred:
    """What released counts ``(K,)`` of ``n`` values tell."""
    alpha, tail = _concentration(request), (1.0 - LEVEL) / 2.0
    law = counts_given(np.array(counts, dtype=float), request.event(n).scale, n, alpha)
    below = np.cumsum(law.marginals, axis=1)
    ends = [(below < probability).sum(axis=1) for probability in (tail, 1.0 - tail)]
    cells = len(alpha)
    uniform = generator(request.draws_seed, "own-draws").random((request.draws, 2 * cells - 1))
    draws = shares(law.draw(uniform[:, : cells - 1]), alpha, uniform[:, cells - 1 :])
    mean = law.mean()
    own_low, own_high = (np.minimum(each, n) / n for each in ends)
    low, high = np.quantile(draws, [tail, 1.0 - tail], axis=0)
    population = (alpha + mean) / (alpha.sum() + n)
    return Inferred(mean / n, own_low, own_high, population, low, high, draws)


@dataclass(frozen=True)
class NoisyCountsRecord(ReleaseRecord):
    """Counts with noise, and what they tell.

    Attributes:
        request: the settings.
        n: number of values in the series.
        counts: released ``(K,)``; noise may have made one negative or larger than ``n``.
        told: what follows from them.
        reservation: what it was taken from, if from a budget.
    """

    request: NoisyCountsRequest
    n: int
    counts: tuple[int, ...]
    told: Inferred = field(repr=False)
    reservation: Reservation | None = None

    @property
    def sample(self) -> Array:
        """Draws from the posterior of the population's shares."""
        return self.told.draws

    @property
    def summary(self) -> str:
        """What was released."""
        said = ", ".join(str(count) for count in self.counts).replace("-", "\u2212")
        return f"Released: {said} of {self.n:,} values, with noise, in the order of the intervals."

    @property
    def in_own_words(self) -> str:
        """The shares of the series and of the population, with their intervals."""
        return (
            f"Shares of these values, with 90 % intervals: {self._each('own_')}. Of the population "
            f"that they come from: {self._each('')}."
        )

    def _each(self, of: str) -> str:
        d = self._decimals
        each = zip(self.parameters, *self._three(of), strict=True)
        return "; ".join(
            f"{own.name}: {mean:.{d}f}{unit_of(own)} ({low:.{d}f} to {high:.{d}f})"
            for own, mean, low, high in each
        )

    def _three(self, of: str) -> list[Array]:
        """Means and ends of the intervals, in the person's own scale."""
        return [
            in_scale(self.parameters, getattr(self.told, of + name))
            for name in ("mean", "low", "high")
        ]

    @property
    def _decimals(self) -> int:
        """Of shares in words: as many as the widest interval of the series' own shares tells."""
        _, low, high = self._three("own_")
        finest = max(parameter.factor for parameter in self.parameters) / self.n
        return max(1, math.ceil(-math.log10(max(float((high - low).max()), finest))))

    @property
    def finding(self) -> str:
        """The largest share of the series, if its interval is above all others."""
        told = self.told
        most = int(told.own_mean.argmax())
        name = self.parameters[most].name
        if told.own_low[most] > np.delete(told.own_high, most).max():
            return f"The largest share lies in {name}: about {100.0 * told.own_mean[most]:.0f} %"
        # A single number would pass for one that was found.
        _, low, high = (f"{each[most]:.{self._decimals}f}" for each in self._three("own_"))
        share = f"{low} to {high}" if low != high else low
        share += unit_of(self.parameters[most])
        return f"Which share is the largest is not clear; that of {name} in these values is {share}"

    @property
    def settings(self) -> str:
        """Budget, mechanism and size."""
        return (
            f"{self.request.spends}, noisy counts, N = {self.n:,}; "
            "population: mean and 90 % interval"
        )

    @property
    def marks_in_words(self) -> str:
        """Mean, interval and prior."""
        return (
            "Diamond: mean of the population's share. Line: its 90 % interval, with the noise and "
            "the sampling inside. Grey: the prior's mean."
        )

    def table(self) -> pd.DataFrame:
        """Shares of the series and of the population, each with its 90 % interval."""
        said, d = {"interval": [each.name for each in self.parameters]}, self._decimals
        for whose, of in (("these values", "own_"), ("population", "")):
            each = [*zip(*self._three(of), map(unit_of, self.parameters), strict=True)]
            said[whose] = [f"{mean:.{d}f}{unit}" for mean, _, _, unit in each]
            said[f"{whose}, 90 % interval"] = [
                f"{low:.{d}f} to {high:.{d}f}{unit}" for _, low, high, unit in each
            ]
        return pd.DataFrame(said)

    def exactness(self) -> str:
        """Counts are whole numbers."""
        return (
            "Counting, noise and sum are exact, in whole numbers. The posterior is computed from "
            "what was released, to rounding; it holds if the values follow the model and were "
            "drawn from the population independently."
        )

    def contents(self) -> dict[str, Any]:
        """The counts, and means, intervals and draws in the person's own scale."""
        parameters = self.parameters
        own, population = self._three("own_"), self._three("")
        return {
            "release": {"counts": list(self.counts)},
            "series": {"means": own[0].tolist(), "intervals": _pairs(own)},
            "posterior": {
                "parameters": [each.name for each in parameters],
                "units": [each.unit for each in parameters],
                "level": LEVEL,
                "means": population[0].tolist(),
                "intervals": _pairs(population),
                "weights": "equal",
                "draws": self.values.tolist(),
            },
        }

    def marks(self, row: int) -> Marks:
        """Interval and mean of the population's share, and the prior's mean."""
        told, parameter = self.told, self.parameters[row]
        ends = np.array([told.low[row], told.high[row]])
        prior = source_of(self.request).PRIOR_MEAN[row : row + 1]
        marks = ((INTERVAL, ends), (ESTIMATE, told.mean[row : row + 1]), (PRIOR, prior))
        return [(style, in_scale([parameter], at[:, None])[:, 0]) for style, at in marks]

    def said(self, row: int) -> str:
        """The mean of the population's share."""
        parameter = self.parameters[row]
        mean = float(in_scale(self.parameters, self.told.mean)[row])
        return f"{mean:.{self._decimals}f}{unit_of(parameter)}"


def _pairs(three: list[Array]) -> list[list[float]]:
    """Intervals ``(K, 2)`` of means, lower and upper ends."""
    found: list[list[float]] = np.column_stack(three[1:]).tolist()
    return found


# ------------------------------------------------------------------------------- the release


def measure(
    request: NoisyCountsRequest,
    values: Array,
    progress: pool.Progress | None,  # noqa: ARG001 - no pool is made
) -> tuple[int, ...]:
    """How many values lie in each cell. Private."""
    source = source_of(request)
    data = source.from_series(to_domain(values, (request.low, request.high), source.DOMAIN))
    return tuple(int(count) for count in _statistic(source).reduce(data))


def draw(
    request: NoisyCountsRequest, n: int, counts: tuple[int, ...], randbelow: RandBelow
) -> NoisyCountsRecord:
    """Release the counts, and infer."""
    return _document(request, n, with_noise(counts, request.event(n).steps(), randbelow))


def _document(request: NoisyCountsRequest, n: int, counts: list[int]) -> NoisyCountsRecord:
    released = tuple(counts)
    return NoisyCountsRecord(request, n, released, inferred(request, n, released))


def read(request: NoisyCountsRequest, n: int, content: Mapping[str, Any]) -> NoisyCountsRecord:
    """The document of some released counts.

    Raises:
        ParameterError: they are none.
        KeyError, TypeError, ValueError: the content is of another form.
    """
    cells = request.event(n).cells
    counts = whole_numbers(content["release"]["counts"], cells, "counts of the scenario's cells")
    return _document(request, n, counts)


def expected(request: NoisyCountsRequest, n: int) -> Expected:
    """Root mean squared errors of a share, at most, on average over the model."""
    total, prior = _total(request), _prior_variance(request)
    noise, count = request.event(n).deviation ** 2, n * (total + n) * prior
    plain = prior * total / (total + n)
    hidden = noise * count / (noise + count)
    private = plain + hidden / (total + n) ** 2
    return Expected(math.sqrt(private), math.sqrt(plain), math.sqrt(prior), math.sqrt(hidden) / n)


RELEASABLE = ReleaseMechanism(
    request=NoisyCountsRequest,
    title="Noisy counts",
    reason="Counts say all that the values say of the shares, and their noise is known, so what "
    "follows from them is exact; nothing has to be simulated.",
    rank=0,
    measure=measure,
    draw=draw,
    read=read,
    expected=expected,
)
