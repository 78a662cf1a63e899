"""What studies of mechanisms share: the pool that all runs meet, budgets, and what is said."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from abcdp_core import mechanisms, pool, simulators, summaries, trials
from abcdp_core import parameters as par
from abcdp_core.mechanisms import Budget, Release, regression_adjustment
from abcdp_core.simulators import ScenarioParams, uniform_mixture
from abcdp_core.study.tables import Array


@dataclass(frozen=True)
class MechanismParams(ScenarioParams):
    """Whose data mechanisms are given, and what else sets their noise.

    A study adds ``mechanism``, one or several, and its budgets, acceptances and pool.
    """

    scenario: str = trials.SCENARIO.field(uniform_mixture.SCENARIO)
    n: int = uniform_mixture.N.field(uniform_mixture.N_DEFAULT)
    delta: float = par.DELTA.field(1e-4)
    sensitivity: str = trials.SENSITIVITY.field("sharp")
    noise_draw: int = par.NOISE_DRAW.field(0)

    @classmethod
    def defaults(cls, scenario: str) -> dict[str, Any]:
        """The scenario's own size, threshold, acceptances and pool, and of several what serves."""
        usual = vars(cls)["mechanism"]
        serving = {} if isinstance(usual, str) else {"mechanism": trials.serving(usual, scenario)}
        return super().defaults(scenario) | serving

    def check_together(self) -> None:
        """Refuse too much work, more acceptances than draws, and what cannot serve."""
        super().check_together()
        names = vars(self)["mechanism"]
        trials.check_mechanisms(self.scenario, (names,) if isinstance(names, str) else names)


def public_side(params: Any, seed: int) -> pool.PublicSide:
    """Return what is public about the data of a study, and the one pool that all runs share."""
    size = vars(params).get("n", params.source.N_DEFAULT)
    return pool.public_side(params.scenario, size, params.pool_size, seed)


def common(params: Any, c: int) -> dict[str, Any]:
    """Return the options that all mechanisms of a study have in common."""
    return {"epsilon_abc": params.epsilon_abc, "c": c, "sensitivity": params.sensitivity}


def missing_pools(params: Any, seed: int) -> list[pool.PoolKey]:
    """Return the public pool unless it is at hand."""
    key = public_side(params, seed).key
    return [] if pool.is_kept(key) else [key]


def nearest_one(budgets: Iterable[float]) -> float:
    """Return the budget nearest 1, which titles are about; of two the smaller."""
    return min(sorted(budgets), key=lambda budget: abs(math.log(budget)))


def each_release(params: Any) -> str:
    """State what each release guarantees at the largest of several budgets."""
    budget = Budget(max(params.epsilon_total), params.delta)
    source = params.source
    promised = trials.guarantees(params.mechanism, budget, source, len(params.epsilon_total))
    return f"Each release: {promised}"


def small_pool(params: Any, names: Iterable[str]) -> str:
    """Warn of a pool that is too small, or nearly so, for mechanisms that move draws."""
    source = params.source
    fewest = [mechanisms.load(name).minimum_pool(source) for name in names]
    return regression_adjustment.caution(params.pool_size, fewest)


def posterior(release: Release, theta: Array) -> tuple[Array, Array]:
    """Return the weighted sample ``(k, d)`` and ``(k,)`` of a release from a pool ``(T, d)``.

    Without any draw it is the prior's.
    """
    if len(release.weights):
        return release.parameters(theta), release.weights
    return theta, np.full(len(theta), 1.0 / len(theta))


def interval(release: Release, theta: Array, level: float = 0.9) -> tuple[Array, Array]:
    """Return the ends ``(d,)`` of equal-tailed intervals with this posterior probability."""
    tail = (1.0 - level) / 2.0
    low, high = summaries.weighted_quantile(*posterior(release, theta), [tail, 1.0 - tail])
    return low, high


def in_units(params: Any) -> str:
    """Say what errors and widths are measured in, after a comma; nothing for the usual unit."""
    several = simulators.has_several_units(params.source)
    return ", in prior standard deviations" if several else ""
