"""Cases: a data set at a truth from the prior in the place of private data, and its public pool."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abcdp_core import mechanisms, pool, simulators
from abcdp_core.distances import Distance
from abcdp_core.simulators import Scenario
from abcdp_core.statistic import DirichletCounts, Statistic, stated_by
from abcdp_core.streams import generator
from abcdp_core.transforms import ALL_REALS, Bijector

Array = NDArray[np.float64]

OF_PLANS = 20_000
"""Where a pool is shared, cases are its simulated data sets from this number on, so that they are
none that a study chooses by or scores."""

DATA = 1_000_000
"""The number under a pool of its own of the data set that stands for the private data; smaller ones
are for what a mechanism learns."""

PRIOR_DRAWS = 100_000
"""Draws from the prior by which its spread is known."""


@dataclass(frozen=True)
class Reduced:
    """The public side of data against a pool that was drawn already reduced.

    Attributes:
        name: of the scenario.
        n: points of the data and of each simulated data set.
        pool_size: draws of the pool, T.
        seed: root seed.
        index: of the case.
    """

    name: str
    n: int
    pool_size: int
    seed: int
    index: int

    @property
    def scenario(self) -> Scenario:
        """The module of the scenario."""
        return simulators.load(self.name)

    @property
    def distance(self) -> Distance:
        """The scenario's own."""
        return self.scenario.distance()

    @property
    def support(self) -> Bijector:
        """Where the prior's draws can lie."""
        return getattr(self.scenario, "SUPPORT", ALL_REALS)

    @property
    def theta(self) -> Array:
        """Parameters of the pool ``(T, d)``."""
        return _drawn(self)[0]

    @property
    def statistics(self) -> Array:
        """Statistics of the pool ``(T, D)``."""
        return _drawn(self)[1]

    def statistic(self, name: str) -> Statistic:
        """One of the scenario's ``STATISTICS``."""
        return stated_by(self.scenario)[name]

    def summaries(self, name: str) -> Array:
        """The numbers ``(T, k)`` that one of these keeps of each data set of the pool."""
        return _drawn(self)[2][name]

    def simulated(self, index: int) -> pool.DistanceTable:
        """The ``index``-th data set simulated from a prior draw, against this pool."""
        statistic, summaries = _data(self, index)
        rho = self.distance.compare(self.statistics, statistic)
        return pool.DistanceTable(
            self.theta, rho, statistic, self.n, self.distance, True, None, summaries
        )

    def simulated_theta(self, index: int) -> Array:
        """The prior draw ``(d,)`` it is simulated at."""
        return _truth(self, index)


@functools.lru_cache(maxsize=4)
def _drawn(of: Reduced) -> tuple[Array, Array, Mapping[str, Array]]:
    source: Any = of.scenario
    theta = source.prior(generator(of.seed, "plan-pool-prior", of.index), of.pool_size)
    rng = generator(of.seed, "plan-pool", of.index, of.n)
    return theta, *source.reduced(rng, theta, of.n)


def _truth(of: Reduced, index: int) -> Array:
    rng = generator(of.seed, "plan-truth", of.index, index)
    return of.scenario.prior(rng, 1)[0]


def _data(of: Reduced, index: int) -> tuple[Array, Mapping[str, Array]]:
    source: Any = of.scenario
    truth = _truth(of, index)
    rng = generator(of.seed, "plan-data", of.index, index, of.n)
    statistics, summaries = source.reduced(rng, truth[None], of.n)
    return statistics[0], {name: numbers[0] for name, numbers in summaries.items()}


@dataclass(frozen=True)
class Case:
    """What a release is tried on.

    Attributes:
        public: the pool and what else is public.
        comparison: the simulated data set that stands for the private data.
        truth: parameters ``(d,)`` it was simulated at.
    """

    public: mechanisms.PublicSide
    comparison: pool.DistanceTable = field(repr=False)
    truth: Array


@functools.lru_cache(maxsize=4)
def case(scenario: str, n: int, pool_size: int, seed: int, index: int) -> Case:
    """The ``index``-th case.

    Args:
        scenario: its name.
        n: points of the data.
        pool_size: draws of the pool.
        seed: root seed.
        index: from 0.
    """
    public = public_side(scenario, n, pool_size, seed, index)
    which = DATA if has_own_pools(scenario) else OF_PLANS + index
    return Case(public, public.simulated(which), public.simulated_theta(which))


def public_side(
    scenario: str, n: int, pool_size: int, seed: int, index: int
) -> Reduced | pool.PublicSide:
    """What is public in a case; its pool is drawn or opened when somebody asks for the draws."""
    if has_own_pools(scenario):
        return Reduced(scenario, n, pool_size, seed, index)
    return pool.public_side(scenario, n, pool_size, seed)


def has_own_pools(scenario: str) -> bool:
    """Whether every case of a scenario has a pool of its own, at any n."""
    return hasattr(simulators.load(scenario), "reduced")


@dataclass(frozen=True)
class Prior:
    """What is known of a scenario's prior.

    Attributes:
        mean: ``(d,)``.
        unit: what errors are divided by ``(d,)``: the prior's standard deviations where the
            parameters have several units, else 1.
        mse, mae: expected errors of its mean, in these units.
        each: mean squared and mean absolute error of its mean at every draw ``(draws, 2)``.
    """

    mean: Array
    unit: Array
    mse: float
    mae: float
    each: Array = field(repr=False)

    def errors(self, estimate: Array, truth: Array) -> tuple[float, float]:
        """Mean squared and mean absolute difference over the parameters, in these units."""
        difference = (estimate - truth) / self.unit
        return float(np.mean(difference**2)), float(np.mean(np.abs(difference)))


@functools.lru_cache(maxsize=16)
def prior(scenario: str) -> Prior:
    """Of a scenario, from :data:`PRIOR_DRAWS` draws."""
    source = simulators.load(scenario)
    draws = source.prior(generator(0, "plan-prior"), PRIOR_DRAWS)
    mean = np.asarray(source.PRIOR_MEAN, dtype=float)
    several = simulators.has_several_units(source)
    unit = draws.std(axis=0) if several else np.ones(len(mean))
    apart = (draws - mean) / unit
    each = np.column_stack([np.mean(apart**2, axis=1), np.mean(np.abs(apart), axis=1)])
    mse, mae = each.mean(axis=0).tolist()
    return Prior(mean, unit, mse, mae, each)


@dataclass(frozen=True)
class Ideal:
    """The error of the exact posterior mean given all of the data, without any noise (MATH E7).

    Attributes:
        mse: in a case; NaN where nobody knows that posterior.
        expected_mse: its mean over all cases there may be.
    """

    mse: float
    expected_mse: float


def ideal(scenario: str, at: Case) -> Ideal:
    """Of a case, where the scenario states a model of counts.

    A priori a share has variance a (A − a) / (A² (A + 1)), a of the sum A of the concentrations;
    given N points, A / (A + N) of that is left on average.
    """
    model: DirichletCounts | None = getattr(at.public.scenario, "CONJUGATE", None)
    if model is None:
        return Ideal(math.nan, math.nan)
    known, alpha = prior(scenario), np.array(model.concentration)
    counts, total = at.comparison.summaries[model.statistic], float(alpha.sum())
    mse, _ = known.errors((alpha + counts) / (total + counts.sum()), at.truth)
    variance = alpha * (total - alpha) / (total**2 * (total + 1.0)) / known.unit**2
    left = total / (total + at.public.n)
    return Ideal(mse, float(variance.mean()) * left)
