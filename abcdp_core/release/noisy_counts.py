r"""Release counts with noise, and compute the exact posterior given these (MATH E7).

If a scenario states a model of counts (``CONJUGATE``), the counts of the cells carry all the
information about their shares. The counts are released once
(:mod:`~abcdp_core.release.exact_noise` has the noise and the proof). Everything else is computed
from them, by :mod:`abcdp_core.mechanisms.noisy_counts`, and two results are reported:

- the shares *of this series*: the counts themselves, known but for the noise;
- the shares *in the population* that the values come from, which also have the uncertainty of a
  sample: independent draws from the posterior, with a public seed.

Means are exact. 90 % intervals are equal-tailed, from the exact distributions of the counts and
from the draws.

**Error to expect.** On average over the model, with K cells, $A = \sum \alpha$, a flat prior, and
$v = \frac{1}{K}(1 - \frac{1}{K}) / (A + 1)$ the prior variance of a share, the posterior mean has
the mean squared error

$$v \frac{A}{A + N} + \frac{E\,\mathrm{Var}(n_i \mid r)}{(A + N)^2}, \qquad
E\,\mathrm{Var}(n_i \mid r) \le \frac{s\,u}{s + u},$$

where $s$ is the variance of the noise and $u = N (A + N) v$ that of a count. No estimate is better
than the posterior mean, and the best estimate that is linear in $r_i$ has the right-hand side. So
this is an upper bound, and it is close if the noise is small beside the counts or the reverse.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd

from abcdp_core.base.arrays import Array
from abcdp_core.base.sentences import plain
from abcdp_core.base.statistic import DirichletCounts
from abcdp_core.base.streams import generator
from abcdp_core.mechanisms.noisy_counts import counts_given, model_of, refuses, shares, statistic_of
from abcdp_core.mechanisms.private_summary import SummaryNoise
from abcdp_core.models import pool
from abcdp_core.models.simulators import Scenario
from abcdp_core.privacy.discrete import RandBelow, deviation
from abcdp_core.release.budget_file import Reservation
from abcdp_core.release.document import LEVEL, ReleaseRecord, in_scale, unit_of, whole_numbers
from abcdp_core.release.exact_noise import summary_noise, with_noise
from abcdp_core.release.picture import ESTIMATE, INTERVAL, PRIOR, Marks
from abcdp_core.release.releasable import Expected, ReleaseMechanism
from abcdp_core.release.request import DRAWS, POOL_SEED, SeriesRequest

DRAWS_SEED = dataclasses.replace(
    POOL_SEED,
    label="Seed of the draws",
    help="Public, and not related to the noise. The same seed gives the same draws.",
)


@dataclass(frozen=True)
class NoisyCountsRequest(SeriesRequest):
    """Public settings of a release of counts.

    Attributes:
        draws: number of draws from the posterior.
        draws_seed: of these draws.
    """

    mechanism: ClassVar[str] = "noisy-counts"

    draws: int = DRAWS.field(1000)
    draws_seed: int = DRAWS_SEED.field(1)

    @classmethod
    def serves(cls, scenario: Scenario) -> bool:
        """Return whether a scenario has a model of counts."""
        return not refuses(scenario)

    @property
    def model(self) -> DirichletCounts:
        """The scenario's model of counts."""
        return model_of(self.source)

    def event(self, n: int) -> SummaryNoise:
        """Return the counts with their noise."""
        statistic, cells = statistic_of(self.source), len(self.model.concentration)
        return summary_noise(statistic, n, cells, self.epsilon_total)

    def noise_in_words(self, n: int) -> str:
        """Return the noise of the counts in a sentence."""
        scale, cells = self.event(n).scale, len(self.model.concentration)
        noise = plain(deviation(scale), 2)
        return (
            f"Each of the {cells} counts gets noise of scale t = {scale:.4g}, with a "
            f"standard deviation of {noise} {'value' if noise == '1' else 'values'}."
        )

    def noise_warning(self, n: int) -> str:
        """Return a warning if the noise exceeds the prior uncertainty of a count."""
        noise, model = deviation(self.event(n).scale), self.model
        if noise <= math.sqrt(n * model.variance * (model.total + n)):
            return ""
        return (
            f"The noise on each count (standard deviation {plain(noise, 2)}) is larger "
            f"than the prior uncertainty of a count of {n:,} values, so the results will say "
            "little more than the prior. A larger ε_total or more data help."
        )


class Shares(NamedTuple):
    """Estimated shares of the cells: means and ends of their intervals, each ``(K,)``."""

    mean: Array
    low: Array
    high: Array


@dataclass(frozen=True)
class Inferred:
    """What follows from released counts and public settings.

    Attributes:
        own: shares of the series.
        population: shares of the population.
        draws: from the posterior of the latter ``(m, K)``.
    """

    own: Shares
    population: Shares
    draws: Array = field(repr=False)


def inferred(request: NoisyCountsRequest, n: int, counts: tuple[int, ...]) -> Inferred:
    """Return what follows from released counts ``(K,)`` of ``n`` values."""
    alpha, tail = np.array(request.model.concentration), (1.0 - LEVEL) / 2.0
    given = counts_given(np.array(counts, dtype=float), request.event(n).scale, n, alpha)
    below = np.cumsum(given.marginals, axis=1)
    ends = [(below < probability).sum(axis=1) for probability in (tail, 1.0 - tail)]
    cells = len(alpha)
    uniform = generator(request.draws_seed, "own-draws").random((request.draws, 2 * cells - 1))
    draws = shares(given.draw(uniform[:, : cells - 1]), alpha, uniform[:, cells - 1 :])
    mean = given.mean()
    own = Shares(mean / n, *(np.minimum(each, n) / n for each in ends))
    low, high = np.quantile(draws, [tail, 1.0 - tail], axis=0)
    return Inferred(own, Shares((alpha + mean) / (alpha.sum() + n), low, high), draws)


@dataclass(frozen=True)
class NoisyCountsRecord(ReleaseRecord):
    """Counts with noise, and what follows from them.

    Attributes:
        counts: released ``(K,)``; noise may make a count negative or larger than ``n``.
        inferred: what follows from the counts.
    """

    request: NoisyCountsRequest
    n: int
    counts: tuple[int, ...]
    inferred: Inferred = field(repr=False)
    reservation: Reservation | None = None

    @property
    def sample(self) -> Array:
        """Draws from the posterior of the population's shares."""
        return self.inferred.draws

    @property
    def summary(self) -> str:
        """The released counts."""
        counts = ", ".join(str(count) for count in self.counts).replace("-", "\u2212")
        return (
            f"Released counts of {self.n:,} values, with noise, in the order of the intervals: "
            f"{counts}."
        )

    def _scaled(self, of: Shares) -> Shares:
        """Shares in the units of the data."""
        return Shares(*(in_scale(self.parameters, each) for each in of))

    @property
    def _decimals(self) -> int:
        """Decimals of shares in words, from the widest interval of the series' own shares."""
        own = self._scaled(self.inferred.own)
        finest = max(parameter.factor for parameter in self.parameters) / self.n
        return max(1, math.ceil(-math.log10(max(float((own.high - own.low).max()), finest))))

    @property
    def finding(self) -> str:
        """The largest share of the series, if its interval is above all others."""
        own = self.inferred.own
        most = int(own.mean.argmax())
        name = self.parameters[most].name
        if own.low[most] > np.delete(own.high, most).max():
            return f"The largest share lies in {name}: about {100.0 * own.mean[most]:.0f} %"
        # A single number would look like a clear result.
        _, low, high = (f"{each[most]:.{self._decimals}f}" for each in self._scaled(own))
        share = f"{low} to {high}" if low != high else low
        unit = unit_of(self.parameters[most])
        return f"The largest share is unclear; {name} holds {share}{unit} of these values"

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
            "Diamond: mean of the population's share. Line: 90 % interval, which includes noise "
            "and sampling. Gray: prior mean."
        )

    def table(self) -> pd.DataFrame:
        """Return the shares of the series and of the population with their 90 % intervals."""
        columns, d = {"interval": [each.name for each in self.parameters]}, self._decimals
        units = [unit_of(each) for each in self.parameters]
        shares = {"these values": self.inferred.own, "population": self.inferred.population}
        for whose, of in shares.items():
            each = [*zip(*self._scaled(of), units, strict=True)]
            columns[whose] = [f"{mean:.{d}f}{unit}" for mean, _, _, unit in each]
            columns[f"{whose}, 90 % interval"] = [
                f"{low:.{d}f} to {high:.{d}f}{unit}" for _, low, high, unit in each
            ]
        return pd.DataFrame(columns)

    def exactness(self) -> str:
        """Return which parts are exact."""
        return (
            "Counting, noise and sum are exact, in whole numbers. The posterior is computed from "
            "what was released, to rounding; it holds if the values follow the model and were "
            "drawn from the population independently."
        )

    def event_in_json(self) -> dict[str, Any]:
        """Return the event as records name it since 0.2.0."""
        event = self.request.event(self.n)
        sensitivity, cells = int(event.sensitivity), len(self.counts)
        return {
            "kind": "CountNoise", "sensitivity": sensitivity, "scale": event.scale, "cells": cells,
        }  # fmt: skip

    def contents(self) -> dict[str, Any]:
        """Return the counts, and means, intervals and draws in the units of the data."""
        parameters = self.parameters
        own, population = self._scaled(self.inferred.own), self._scaled(self.inferred.population)
        return {
            "release": {"counts": list(self.counts)},
            "series": {"means": own.mean.tolist(), "intervals": _pairs(own)},
            "posterior": {
                "parameters": [each.name for each in parameters],
                "units": [each.unit for each in parameters],
                "level": LEVEL,
                "means": population.mean.tolist(),
                "intervals": _pairs(population),
                "weights": "equal",
                "draws": self.values.tolist(),
            },
        }

    def marks(self, row: int) -> Marks:
        """Return interval and mean of the population's share, and the prior mean."""
        shares = self._scaled(self.inferred.population)
        prior = in_scale(self.parameters, self.request.source.prior_mean)
        ends = np.array([shares.low[row], shares.high[row]])
        return [
            (INTERVAL, ends),
            (ESTIMATE, shares.mean[row : row + 1]),
            (PRIOR, prior[row : row + 1]),
        ]

    def value_text(self, row: int) -> str:
        """Return the mean of the population's share."""
        mean = self._scaled(self.inferred.population).mean[row]
        return f"{mean:.{self._decimals}f}{unit_of(self.parameters[row])}"


def _pairs(of: Shares) -> list[list[float]]:
    """Intervals ``(K, 2)``."""
    return np.column_stack([of.low, of.high]).tolist()


def measure(
    request: NoisyCountsRequest,
    values: Array,
    progress: pool.Progress | None,  # noqa: ARG001 - no pool is made
) -> tuple[int, ...]:
    """Return the number of values in each cell; private."""
    data = request.data_points(values)
    return tuple(int(count) for count in statistic_of(request.source).reduce(data))


def draw(
    request: NoisyCountsRequest, n: int, counts: tuple[int, ...], randbelow: RandBelow
) -> NoisyCountsRecord:
    """Release the counts and compute the posterior."""
    return _document(request, n, with_noise(counts, request.event(n).steps().tolist(), randbelow))


def _document(request: NoisyCountsRequest, n: int, counts: list[int]) -> NoisyCountsRecord:
    released = tuple(counts)
    return NoisyCountsRecord(request, n, released, inferred(request, n, released))


def read(request: NoisyCountsRequest, n: int, content: Mapping[str, Any]) -> NoisyCountsRecord:
    """Return the record of the counts in a record's content.

    Raises:
        ParameterError: the counts have another number or type.
        KeyError, TypeError, ValueError: the content has another form.
    """
    cells = len(request.model.concentration)
    counts = whole_numbers(content["release"]["counts"], cells, "counts of the scenario's cells")
    return _document(request, n, counts)


def expected(request: NoisyCountsRequest, n: int) -> Expected:
    """Return upper bounds of the root mean squared errors of a share, averaged over the model."""
    total, prior = request.model.total, request.model.variance
    noise, count = deviation(request.event(n).scale) ** 2, n * (total + n) * prior
    plain = prior * total / (total + n)
    hidden = noise * count / (noise + count)
    private = plain + hidden / (total + n) ** 2
    return Expected(math.sqrt(private), math.sqrt(plain), math.sqrt(prior), math.sqrt(hidden) / n)


RELEASABLE = ReleaseMechanism(
    request=NoisyCountsRequest,
    title="Noisy counts",
    reason="Counts carry all the information about the shares that the values contain. The "
    "distribution of their noise is known, so results are exact without any simulation.",
    rank=0,
    measure=measure,
    draw=draw,
    read=read,
    expected=expected,
)
