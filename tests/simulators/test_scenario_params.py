"""A scenario sets bounds and defaults of a study's parameters."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from abcdp_core import parameters as par
from abcdp_core import studies
from abcdp_core.parameters import ParameterError
from abcdp_core.simulators import ScenarioParams, covid, uniform_mixture


@dataclass(frozen=True)
class Small(ScenarioParams):
    """No threshold and no bandwidth; several sizes, one c."""

    scenario: str = par.Parameter("choice", "", options=("uniform-mixture", "covid")).field("covid")
    n: tuple[int, ...] = uniform_mixture.N.field((100, 300))
    c: int = par.C.field(1)
    pool_size: int = par.POOL_SIZE.field(100)


def test_a_scenario_sets_only_the_parameters_that_a_study_has() -> None:
    assert Small.defaults("covid") == {
        "n": covid.N_DEFAULT,
        "c": covid.C_DEFAULT,
        "pool_size": covid.POOL_SIZE_DEFAULT,
    }
    assert list(Small.specification("covid")) == ["scenario", "n", "c", "pool_size"]
    assert Small.specification("covid")["n"] == covid.N
    for unknown in (None, "unknown"):
        assert Small.specification(unknown)["n"] == uniform_mixture.N


def test_every_study_of_several_scenarios_refuses_too_much_work() -> None:
    every = [studies.load(name).Params for name in studies.names()]
    several = [params for params in every if "scenario" in params.specification()]
    assert len(several) > 5
    for params in several:
        assert issubclass(params, ScenarioParams)
        if "n" not in params.specification():
            continue
        with pytest.raises(ParameterError, match=r"n \* pool_size = 1,000,000,000: must be at"):
            params(n=10_000, pool_size=100_000)
        if "c" in params.specification():
            with pytest.raises(ParameterError, match="c = 11: must be a whole number from 1 to p"):
                params(c=11, pool_size=10)
