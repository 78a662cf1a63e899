"""Make cases: a data set simulated at a draw from the prior, and a public pool."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from abcdp_core.base.arrays import Array
from abcdp_core.base.streams import generator
from abcdp_core.evaluation.cases import Case
from abcdp_core.models import pool, simulators
from abcdp_core.models.distances import Distance
from abcdp_core.models.simulators import Scenario

OF_PLANS = 20_000
"""In a shared pool, index of the first data set that is a case; studies use those before it."""

DATA = 1_000_000
"""In a case's own pool, index of the data set in the place of private data; mechanisms learn from
those before it."""

PRIOR_DRAWS = 100_000
"""Draws that estimate the spread of the prior."""


@dataclass(frozen=True)
class Reduced:
    """The public side of a case whose pool is drawn as T = ``pool_size`` reduced data sets."""

    scenario: Scenario
    n: int
    pool_size: int
    seed: int
    index: int

    @property
    def distance(self) -> Distance:
        """The scenario's default distance."""
        return self.scenario.distance()

    @property
    def theta(self) -> Array:
        """Parameters of the pool ``(T, d)``."""
        return _drawn(self)[0]

    @property
    def statistics(self) -> Array:
        """Statistics of the pool ``(T, D)``."""
        return _drawn(self)[1]

    def summaries(self, name: str) -> Array:
        """Return a statistic's numbers ``(T, k)`` of each data set in the pool."""
        return _drawn(self)[2][name]

    def simulated(self, index: int) -> pool.DistanceTable:
        """Compare the ``index``-th data set simulated at a prior draw with this pool."""
        statistic, summaries = _data(self, index)
        rho = self.distance.compare(self.statistics, statistic)
        return pool.DistanceTable(
            self.theta, rho, statistic, self.n, self.distance, True, None, summaries
        )

    def simulated_theta(self, index: int) -> Array:
        """Return the prior draw ``(d,)`` of that data set."""
        return _truth(self, index)


@functools.lru_cache(maxsize=4)
def _drawn(of: Reduced) -> tuple[Array, Array, Mapping[str, Array]]:
    draws = of.scenario.prior(generator(of.seed, "plan-pool-prior", of.index), of.pool_size)
    return draws, *_reduced(of, generator(of.seed, "plan-pool", of.index, of.n), draws)


def _reduced(
    of: Reduced, rng: np.random.Generator, theta: Array
) -> tuple[Array, Mapping[str, Array]]:
    assert of.scenario.reduced is not None
    return of.scenario.reduced(rng, theta, of.n)


def _truth(of: Reduced, index: int) -> Array:
    rng = generator(of.seed, "plan-truth", of.index, index)
    return of.scenario.prior(rng, 1)[0]


def _data(of: Reduced, index: int) -> tuple[Array, Mapping[str, Array]]:
    rng = generator(of.seed, "plan-data", of.index, index, of.n)
    statistics, summaries = _reduced(of, rng, _truth(of, index)[None])
    return statistics[0], {name: numbers[0] for name, numbers in summaries.items()}


@functools.lru_cache(maxsize=4)
def case(scenario: Scenario, n: int, pool_size: int, seed: int, index: int) -> Case:
    """Return the ``index``-th case, from 0, with ``n`` points per data set."""
    public = public_side(scenario, n, pool_size, seed, index)
    which = DATA if scenario.reduced is not None else OF_PLANS + index
    return Case(public, public.simulated(which), public.simulated_theta(which))


def public_side(
    scenario: Scenario, n: int, pool_size: int, seed: int, index: int
) -> Reduced | pool.PublicSide:
    """Return the public side of a case; its pool is drawn or opened on first use."""
    if scenario.reduced is not None:
        return Reduced(scenario, n, pool_size, seed, index)
    return pool.public_side(scenario, n, pool_size, seed)


@dataclass(frozen=True)
class Prior:
    """Moments of a scenario's prior.

    Attributes:
        mean: ``(d,)``.
        unit: of errors ``(d,)``: the prior's standard deviations if the parameters have several
            units, else 1.
        mse, mae: expected errors of the prior mean, in these units.
        each: mean squared and mean absolute error of the prior mean at every draw ``(draws, 2)``.
    """

    mean: Array
    unit: Array
    mse: float
    mae: float
    each: Array = field(repr=False)

    def errors(self, estimate: Array, truth: Array) -> tuple[float, float]:
        """Return mean squared and mean absolute error over the parameters, in these units."""
        difference = (estimate - truth) / self.unit
        return float(np.mean(difference**2)), float(np.mean(np.abs(difference)))


@functools.lru_cache(maxsize=16)
def prior(scenario: Scenario) -> Prior:
    """Estimate a scenario's prior from :data:`PRIOR_DRAWS` draws."""
    draws = scenario.prior(generator(0, "plan-prior"), PRIOR_DRAWS)
    mean = np.asarray(scenario.prior_mean, dtype=float)
    several = simulators.has_several_units(scenario)
    unit = draws.std(axis=0) if several else np.ones(len(mean))
    apart = (draws - mean) / unit
    each = np.column_stack([np.mean(apart**2, axis=1), np.mean(np.abs(apart), axis=1)])
    mse, mae = each.mean(axis=0).tolist()
    return Prior(mean, unit, mse, mae, each)


@dataclass(frozen=True)
class Ideal:
    """The error of the exact posterior mean, without any noise (MATH E7).

    Attributes:
        mse: in a case; NaN if that posterior is unknown.
        expected_mse: its mean over all possible cases.
    """

    mse: float
    expected_mse: float


def ideal(at: Case) -> Ideal:
    """Return the ideal error in a case; NaN unless the scenario states a model of counts.

    A share with concentration a, of the sum A, has prior variance a (A − a) / (A² (A + 1)). Given N
    points, A / (A + N) of it remains on average.
    """
    model = at.public.scenario.conjugate
    if model is None:
        return Ideal(math.nan, math.nan)
    known, alpha = prior(at.public.scenario), np.array(model.concentration)
    counts, total = at.comparison.summaries[model.statistic], float(alpha.sum())
    mse, _ = known.errors((alpha + counts) / (total + counts.sum()), at.truth)
    variance = alpha * (total - alpha) / (total**2 * (total + 1.0)) / known.unit**2
    left = total / (total + at.public.n)
    return Ideal(mse, float(variance.mean()) * left)
