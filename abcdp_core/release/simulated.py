"""Simulate scenarios whose numbers are released: the model, and the public pool.

The pool is the first round of the posterior: draws from the prior with their numbers. It is shipped
with the scenario, read from a user's file, or simulated from the public seed and cached. It
predicts errors before anything is spent. Nothing in it is private.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from abcdp_core.base import cache, fingerprint
from abcdp_core.base.arrays import Array
from abcdp_core.base.statistic import Quantity, Statistic
from abcdp_core.models.own_model.lattice import RECORDS, RecordSchema
from abcdp_core.models.priors import Distribution
from abcdp_core.models.simulators import Scenario
from abcdp_core.posterior.model import Model
from abcdp_core.posterior.noise import Noise, NoNoise
from abcdp_core.posterior.pool import FixedPool
from abcdp_core.posterior.proposals import Proposal
from abcdp_core.posterior.rounds import (
    FIRST,
    Draws,
    InferenceProblem,
    TaskMap,
    many,
    one_by_one,
    tasks_of,
)

Progress = Callable[[float], None]
Simulate = Callable[[np.random.Generator, Array], Array]


def statistic_of(scenario: Scenario) -> Statistic:
    """Return a user's statistic on a lattice, else the scenario's for its smallest unit."""
    table: RecordSchema | None = scenario.own_table
    return next(iter(scenario.statistics.values())) if table is None else table.statistic


def size_of(scenario: Scenario, n: int) -> int:
    """Return how many numbers data of ``n`` rows have, whatever their values."""
    if scenario.own_table is not None or scenario.from_series is None:
        return len(statistic_of(scenario).names)
    return len(statistic_of(scenario).reduce(scenario.from_series(np.zeros(n))))


def names_of(scenario: Scenario, n: int) -> tuple[str, ...]:
    """Return the names of the numbers of ``n`` rows."""
    names, k = statistic_of(scenario).names, size_of(scenario, n)
    return names if len(names) == k else tuple(f"day {day}" for day in range(1, k + 1))


CHUNK = 200
"""Draws of a scenario simulated at once."""


def model_of(scenario: Scenario, n: int) -> Model | None:
    """Return the model of a scenario; ``None`` if there is only a user's pool."""
    table: RecordSchema | None = scenario.own_table
    is_pool = table is not None and table.simulate is None
    return None if is_pool else _model(scenario, _digest(scenario), n)


def natural_model(scenario: Scenario, n: int) -> Model | None:
    """Return the user's model behind a scenario, with counts, means and sums as numbers."""
    table, model = scenario.own_table, model_of(scenario, n)
    if table is None or model is None:
        return None
    simulate = functools.partial(_natural, model.simulate, table, n)
    again = natural_model, (scenario, n)
    return dataclasses.replace(model, simulate=simulate, again=again)


def _natural(
    simulate: Simulate, table: RecordSchema, n: int, rng: np.random.Generator, theta: Array
) -> Array:
    return table.natural(simulate(rng, theta), n)


def model_of_unknown_size(
    scenario: Scenario, law: Distribution, *, is_released: bool
) -> Model | None:
    """Return that model with the number of records n as a last parameter.

    Args:
        scenario: the user's model.
        law: prior of n, of whole numbers.
        is_released: whether n is also the last of the numbers.
    """
    model = natural_model(scenario, 1)
    return model and dataclasses.replace(
        model,
        parameters=(*model.parameters, RECORDS),
        numbers=(*model.numbers, RECORDS) if is_released else model.numbers,
        prior=model.prior.followed_by(law),
        simulate=functools.partial(_of_sizes, scenario.own_table, is_released),
        again=(functools.partial(model_of_unknown_size, is_released=is_released), (scenario, law)),
    )


def _of_sizes(
    table: RecordSchema, is_released: bool, rng: np.random.Generator, theta: Array
) -> Array:
    """Simulate at parameters ``(m, p + 1)``, the last of which is the number of records."""
    assert table.simulate is not None
    sizes, made = theta[:, -1], np.empty((len(theta), len(table.summaries)))
    for n in np.unique(sizes).astype(int).tolist():
        of = sizes == n
        made[of] = table.natural(table.simulate(rng, theta[of, :-1], n), n)
    return np.column_stack([made, sizes]) if is_released else made


def _digest(scenario: Scenario) -> str:
    table: RecordSchema | None = scenario.own_table
    return "" if table is None else table.digest


def _model(scenario: Scenario, digest: str, n: int) -> Model:
    """Return the model of a scenario, on any worker.

    Another file may define a model of the same name: the digest of the file tells them apart.
    """
    assert scenario.prior_law is not None
    return Model(
        parameters=tuple(scenario.own_names[axis] for axis in scenario.axes),
        numbers=names_of(scenario, n),
        prior=scenario.prior_law,
        simulate=functools.partial(_numbers, scenario, statistic_of(scenario), n),
        chunk=CHUNK,
        is_series=scenario.is_series,
        again=(_model, (scenario, digest, n)),
    )


def _numbers(
    scenario: Scenario, statistic: Statistic, n: int, rng: np.random.Generator, theta: Array
) -> Array:
    """Simulate numbers ``(m, k)`` at parameters ``(m, p)``."""
    table: RecordSchema | None = scenario.own_table
    if table is not None and table.simulate is not None:
        return table.simulate(rng, theta, n)
    return statistic.reduce(scenario.simulate(rng, theta, n))


@dataclass(frozen=True, eq=False)
class PublicPool:
    """Draws from the prior with their numbers.

    Attributes:
        draws: all of them.
        theta: parameters of those that did not fail ``(T, p)``.
        quantities: further quantities of each draw.
    """

    draws: Draws = field(repr=False)
    theta: Array = field(repr=False)
    quantities: tuple[Quantity, ...]

    @functools.cached_property
    def numbers(self) -> Array:
        """Numbers of the draws that did not fail ``(T, k)``."""
        return self.draws.numbers[self.draws.done]

    @functools.cached_property
    def values(self) -> Array:
        """Parameters and quantities ``(T, d)``."""
        return self.values_at(self.theta, self.numbers)

    def values_at(self, theta: Array, numbers: Array) -> Array:
        """Return parameters and quantities ``(m, d)``, given parameters and numbers."""
        return np.column_stack([theta, *(each.of(theta, numbers) for each in self.quantities)])

    def with_noise(self, noise: Noise, seed: int) -> FixedPool:
        """Return the pool with noise on its numbers."""
        return FixedPool.of(self.theta, self.numbers, noise, seed)


def public_pool(
    scenario: Scenario, n: int, seed: int, size: int = FIRST, progress: Progress | None = None
) -> PublicPool:
    """Return the pool for data sets of ``n`` rows; simulate ``size`` draws if there is none.

    Raises:
        OwnError: a user's model fails, or gives different results from the same seed.
    """
    table: RecordSchema | None = scenario.own_table
    key = _key(scenario, n, seed, size)
    pool = _pools.get(key)
    if pool is None:
        if table is not None and table.pool is not None:
            theta, numbers = table.pool
            draws = Draws(theta, numbers, np.zeros(len(theta)))
        else:
            model = _model(scenario, _digest(scenario), n)
            draws = _drawn(scenario, model, n, seed, size, progress)
            theta = model.prior.theta(draws.x[draws.done])
        pool = PublicPool(draws, theta, scenario.own_quantities)
        for oldest in list(_pools)[: 1 - KEPT]:
            _pools.pop(oldest, None)
        _pools[key] = pool
    return pool


def has_pool(scenario: Scenario, n: int, seed: int, size: int = FIRST) -> bool:
    """Return whether a pool exists, is kept on disk or is shipped; making one takes long."""
    table: RecordSchema | None = scenario.own_table
    is_given = scenario.precomputed_pool is not None
    is_given |= table is not None and table.pool is not None
    is_given |= table is not None and cache.holds(_entry(scenario, n, seed, size))
    return is_given or _key(scenario, n, seed, size) in _pools


def _key(scenario: Scenario, n: int, seed: int, size: int) -> tuple[str, str, int, int, int]:
    return scenario.name, _digest(scenario), n, seed, size


KEPT = 4
"""Pools in memory."""

_pools: dict[tuple[str, str, int, int, int], PublicPool] = {}


def _entry(scenario: Scenario, n: int, seed: int, size: int) -> cache.Entry:
    stated = {"model": scenario.name, "n": n, "seed": seed, "pool_size": size}
    return cache.entry("own-pool", stated, fingerprint.of(scenario.module))


def _drawn(
    scenario: Scenario, model: Model, n: int, seed: int, size: int, progress: Progress | None
) -> Draws:
    """Draws from the prior: shipped, cached on disk, or simulated now."""
    if scenario.precomputed_pool is not None:
        theta, numbers = scenario.precomputed_pool(scenario.pool_size_default)
        x = model.prior.to_x(theta)
        shipped = Draws(x, numbers, model.prior.log_density(x))
        # Shipped parameters are rounded, a few across a bound.
        return shipped.some(np.isfinite(shipped.log_prior))
    table: RecordSchema | None = scenario.own_table
    if table is None:
        return _simulated(model, seed, size, progress)
    table.check(n, seed)
    entry = _entry(scenario, n, seed, size)
    made = cache.load_or_make(entry, lambda: vars(_simulated(model, seed, size, progress)))
    return Draws(made["x"], made["numbers"], made["log_prior"])


def _simulated(model: Model, seed: int, size: int, progress: Progress | None) -> Draws:
    def each(name: str, work: Callable[[Any], Draws], tasks: Any) -> Any:
        for done, made in enumerate(one_by_one(name, work, tasks), start=1):
            if progress is not None:
                progress(done / len(tasks))
            yield made

    with_progress: TaskMap = each
    question = InferenceProblem(model, NoNoise(), np.empty(0), seed)
    return many(tasks_of(question, Proposal(), 0, size), with_progress)
