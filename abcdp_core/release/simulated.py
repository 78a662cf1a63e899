"""Simulate scenarios whose numbers are released: the model, and the public pool.

The pool is the first round of the posterior: draws from the prior with their numbers. It is shipped
with the scenario, read from a user's file, or simulated from the public seed and cached. It
predicts errors before anything is spent. Nothing in it is private.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abcdp_core import cache, fingerprint, simulators
from abcdp_core.own_model.lattice import Table
from abcdp_core.posterior.model import Model
from abcdp_core.posterior.noise import Noise, NoNoise
from abcdp_core.posterior.pool import FixedPool
from abcdp_core.posterior.proposals import Proposal
from abcdp_core.posterior.rounds import FIRST, Draws, Each, Question, many, one_by_one, tasks_of
from abcdp_core.statistic import Quantity, Statistic, stated_by

Array = NDArray[np.float64]
Progress = Callable[[float], None]


def table_for(scenario: str) -> Table | None:
    """Return the table of a user's model or pool; ``None`` for other scenarios."""
    found: Table | None = getattr(simulators.load(scenario), "OWN_TABLE", None)
    return found


def statistic_of(scenario: str) -> Statistic:
    """Return a user's statistic on a lattice, else the scenario's for its smallest unit."""
    table = table_for(scenario)
    stated = stated_by(simulators.load(scenario))
    return next(iter(stated.values())) if table is None else table.statistic


def size_of(scenario: str, n: int) -> int:
    """Return how many numbers data of ``n`` rows have, whatever their values."""
    if table_for(scenario) is not None:
        return len(statistic_of(scenario).names)
    source: Any = simulators.load(scenario)
    return len(statistic_of(scenario).reduce(source.from_series(np.zeros(n))))


def names_of(scenario: str, n: int) -> tuple[str, ...]:
    """Return the names of the numbers of ``n`` rows."""
    names, k = statistic_of(scenario).names, size_of(scenario, n)
    return names if len(names) == k else tuple(f"day {day}" for day in range(1, k + 1))


CHUNK = 200
"""Draws of a scenario simulated at once."""


def model_of(scenario: str, n: int) -> Model | None:
    """Return the model of a scenario; ``None`` if there is only a user's pool."""
    table = table_for(scenario)
    if table is not None and table.simulate is None:
        return None
    return _model(scenario, "" if table is None else table.digest, n)


def _model(scenario: str, digest: str, n: int) -> Model:
    """Return the model of a scenario, on any worker.

    Another file may define a model of the same name: the digest of the file tells them apart.
    """
    source: Any = simulators.load(scenario)
    table, statistic = table_for(scenario), statistic_of(scenario)
    return Model(
        parameters=tuple(source.OWN_NAMES[axis] for axis in source.AXES),
        numbers=names_of(scenario, n),
        prior=source.PRIOR,
        simulate=functools.partial(_numbers, source, statistic, table, n),
        chunk=CHUNK,
        is_series=bool(getattr(source, "IS_SERIES", False)),
        again=(_model, (scenario, digest, n)),
    )


def _numbers(
    source: Any,
    statistic: Statistic,
    table: Table | None,
    n: int,
    rng: np.random.Generator,
    theta: Array,
) -> Array:
    """Simulate numbers ``(m, k)`` at parameters ``(m, p)``."""
    if table is not None and table.simulate is not None:
        return table.simulate(rng, theta, n)
    return statistic.reduce(source.simulate(rng, theta, n))


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
        return self.told(self.theta, self.numbers)

    def told(self, theta: Array, numbers: Array) -> Array:
        """Return parameters and quantities ``(m, d)``, given parameters and numbers."""
        return np.column_stack([theta, *(each.of(theta, numbers) for each in self.quantities)])

    def with_noise(self, noise: Noise, seed: int) -> FixedPool:
        """Return the pool with noise on its numbers."""
        return FixedPool.of(self.theta, self.numbers, noise, seed)


def public_pool(
    scenario: str, n: int, seed: int, size: int = FIRST, progress: Progress | None = None
) -> PublicPool:
    """Return the pool for data sets of ``n`` rows; simulate ``size`` draws if there is none.

    Raises:
        OwnError: a user's model fails, or gives different results from the same seed.
    """
    table, key = table_for(scenario), _key(scenario, n, seed, size)
    found = _pools.get(key)
    if found is None:
        source: Any = simulators.load(scenario)
        if table is not None and table.pool is not None:
            theta, numbers = table.pool
            draws = Draws(theta, numbers, np.zeros(len(theta)))
        else:
            draws = _drawn(scenario, _model(*key[:3]), n, seed, size, progress)
            theta = source.PRIOR.theta(draws.x[draws.done])
        found = PublicPool(draws, theta, source.OWN_QUANTITIES)
        for oldest in list(_pools)[: 1 - KEPT]:
            _pools.pop(oldest, None)
        _pools[key] = found
    return found


def has_pool(scenario: str, n: int, seed: int, size: int = FIRST) -> bool:
    """Return whether a pool exists, is kept on disk or is shipped; making one takes long."""
    table = table_for(scenario)
    is_given = table is not None and table.pool is not None
    is_given |= table is not None and cache.holds(_entry(scenario, n, seed, size))
    is_shipped = hasattr(simulators.load(scenario), "precomputed_pool")
    return is_given or is_shipped or _key(scenario, n, seed, size) in _pools


def _key(scenario: str, n: int, seed: int, size: int) -> tuple[str, str, int, int, int]:
    table = table_for(scenario)
    return scenario, "" if table is None else table.digest, n, seed, size


KEPT = 4
"""Pools in memory."""

_pools: dict[tuple[str, str, int, int, int], PublicPool] = {}


def _entry(scenario: str, n: int, seed: int, size: int) -> cache.Entry:
    source: Any = simulators.load(scenario)
    stated = {"model": scenario, "n": n, "seed": seed, "pool_size": size}
    return cache.entry("own-pool", stated, fingerprint.of(source.MODEL.module))


def _drawn(
    scenario: str, model: Model, n: int, seed: int, size: int, progress: Progress | None
) -> Draws:
    """Draws from the prior: shipped, cached on disk, or simulated now."""
    source: Any = simulators.load(scenario)
    if hasattr(source, "precomputed_pool"):
        theta, numbers = source.precomputed_pool(source.POOL_SIZE_DEFAULT)
        x = model.prior.to_x(theta)
        shipped = Draws(x, numbers, model.prior.log_density(x))
        # Shipped parameters are rounded, a few across a bound.
        return shipped.some(np.isfinite(shipped.log_prior))
    table = table_for(scenario)
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

    told: Each = each
    question = Question(model, NoNoise(), np.empty(0), seed)
    return many(tasks_of(question, Proposal(), 0, size), told)
