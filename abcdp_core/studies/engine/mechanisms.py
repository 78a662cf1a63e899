"""Parts that studies of mechanisms share: parameters, the pool, statements and intervals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from abcdp_core import mechanisms
from abcdp_core.base import parameters as par
from abcdp_core.evaluation import cases
from abcdp_core.mechanisms import Budget, regression_adjustment
from abcdp_core.models import pool, simulators
from abcdp_core.models.simulators import ScenarioParams
from abcdp_core.models.simulators.uniform_mixture import SCENARIO as MIXTURE


@dataclass(frozen=True)
class MechanismParams(ScenarioParams):
    """The scenario, and the settings that determine the noise.

    A study adds ``mechanism`` (one or several), ``epsilon_total``, ``c`` and ``pool_size``.
    """

    scenario: str = cases.SCENARIO.field(MIXTURE.name)
    n: int = MIXTURE.n.field(MIXTURE.n_default)
    delta: float = par.DELTA.field(1e-4)
    sensitivity: str = cases.SENSITIVITY.field("sharp")
    noise_draw: int = par.NOISE_DRAW.field(0)

    @classmethod
    def defaults(cls, scenario: str) -> dict[str, Any]:
        """Return the defaults of a scenario, and the mechanisms that support it."""
        usual = vars(cls)["mechanism"]
        if isinstance(usual, str):
            return super().defaults(scenario)
        serving = cases.serving(usual, simulators.load(scenario))
        return super().defaults(scenario) | {"mechanism": serving}

    def check_together(self) -> None:
        """Refuse too much work, too many draws to keep, and mechanisms that do not fit."""
        super().check_together()
        names = vars(self)["mechanism"]
        cases.check_mechanisms(self.source, (names,) if isinstance(names, str) else names)


def public_side(params: Any, seed: int) -> pool.PublicSide:
    """Return the public side of a study: the size of the data, and the pool of all runs."""
    source = params.source
    size = vars(params).get("n", source.n_default)
    return pool.public_side(source, size, params.pool_size, seed)


def common(params: Any, c: int) -> dict[str, Any]:
    """Return the options that all mechanisms of a study have in common."""
    return {"epsilon_abc": params.epsilon_abc, "c": c, "sensitivity": params.sensitivity}


def missing_pools(params: Any, seed: int) -> list[pool.PoolKey]:
    """Return the key of the public pool unless it is stored."""
    key = public_side(params, seed).key
    return [] if pool.is_kept(key) else [key]


def each_release(params: Any) -> str:
    """State the guarantee of each release at the largest budget."""
    budget = Budget(max(params.epsilon_total), params.delta)
    source = params.source
    return cases.guarantees(params.mechanism, budget, source, len(params.epsilon_total))


def small_pool(params: Any, names: Iterable[str]) -> str:
    """Warn if the pool is too small, or nearly so, for mechanisms that move draws."""
    source = params.source
    fewest = [mechanisms.load(name).minimum_pool(source) for name in names]
    return regression_adjustment.caution(params.pool_size, fewest)


def in_units(params: Any) -> str:
    """Return the unit of errors and widths, after a comma; empty for a common unit."""
    several = simulators.has_several_units(params.source)
    return ", in prior standard deviations" if several else ""
