"""What is asked of a release: public settings, their checks, and what they spend.

The settings have to be chosen without looking at the data; above all the domain, to which values
are clipped without saying how many. Public too is the number of values.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from abcdp_core import parameters as par
from abcdp_core import pool, simulators
from abcdp_core.own_data import budget
from abcdp_core.own_data.budget import Claim
from abcdp_core.own_data.discrete_sparse_vector import IntegerNoise, grid, integer_noise
from abcdp_core.parameters import Parameter, ParameterError, Params

Array = NDArray[np.float64]

PROTECTED = "one value of the series"

UNIT, NEIGHBOURS = "value", "replace"
"""What a release protects, as a budget names it."""

NO_KERNEL = "none"
"""Bandwidth where a scenario's distances have no kernel."""


class OwnParameter(NamedTuple):
    """A parameter in the scale of a person's own values: ``offset + factor * theta``.

    Attributes:
        name: what it is, in words.
        unit: of the number; empty if it has that of the values.
        offset, factor: from the scenario's own scale.
    """

    name: str
    unit: str
    offset: float
    factor: float


class OwnScenario(simulators.Scenario, Protocol):
    """A scenario that also takes a person's own series."""

    OWN_SIZES: tuple[int, int]
    OWN_MODEL: str

    def own_parameters(self, low: float, high: float, n: int) -> Sequence[OwnParameter]:
        """The parameters, in the order of ``AXES``, for values from ``low`` to ``high``."""
        ...

    def from_series(self, values: Array) -> Array:
        """Numbers ``(n,)`` in the domain as data points ``(n, p)``."""
        ...


def scenarios() -> list[str]:
    """Names of the scenarios that take a person's own series."""
    return simulators.with_feature("from_series")


SCENARIO = Parameter("choice", "Scenario", "The model that the series is compared with.")
BOUND = Parameter(
    kind="real",
    label="Bound of the domain",
    help="Values beyond it are moved to it. Known beforehand, never read off the data.",
    low=-1e300,
    high=1e300,
)
DISTANCE = Parameter("choice", "Distance", "How the series is compared with simulated ones.")
BANDWIDTH = Parameter("real", "Bandwidth of the kernel", "In the unit of the scenario's values.")
POOL_SEED = Parameter(
    kind="integer",
    label="Seed of the public pool",
    help="It has nothing to do with the noise: the same number draws the same simulations.",
    low=0,
    high=2**53 - 1,
)


@dataclass(frozen=True)
class ReleaseRequest(Params):
    """What is asked for; public. :meth:`defaults` has what a scenario starts from.

    Attributes:
        scenario: one of :func:`scenarios`.
        low, high: domain of the values, known beforehand.
        epsilon_total: privacy budget.
        epsilon_abc: similarity threshold.
        c: acceptances after which the run stops.
        pool_size: public prior draws.
        distance: name of one of the scenario's.
        bandwidth: of its kernel, in the unit of the scenario's domain.
        resample: whether the threshold's noise is redrawn after each acceptance.
        pool_seed: of the public pool.
    """

    scenario: str = SCENARIO.field(dataclasses.MISSING)
    low: float = BOUND.field(dataclasses.MISSING)
    high: float = BOUND.field(dataclasses.MISSING)
    epsilon_total: float = par.EPSILON_TOTAL.field(dataclasses.MISSING)
    epsilon_abc: float = par.EPSILON_ABC_MMD.field(dataclasses.MISSING)
    c: int = par.C.field(dataclasses.MISSING)
    pool_size: int = par.POOL_SIZE.field(dataclasses.MISSING)
    distance: str = DISTANCE.field(dataclasses.MISSING)
    bandwidth: float | str = BANDWIDTH.field(dataclasses.MISSING)
    resample: bool = par.RESAMPLE.field(False)
    pool_seed: int = POOL_SEED.field(1)

    @classmethod
    def specification(cls, scenario: str | None = None) -> dict[str, Parameter]:
        """The scenario's own bounds.

        Raises:
            ParameterError: the scenario takes no series.
        """
        known = scenarios()
        if scenario not in known and scenario in simulators.names():
            raise ParameterError(
                f"scenario = {scenario}: takes no series of your own; {' and '.join(known)} do."
            )
        choice = dataclasses.replace(SCENARIO, options=tuple(known))
        general = super().specification() | {"scenario": choice}
        if scenario is None or scenario not in known:
            return general
        source = simulators.load(scenario)
        return general | {
            "epsilon_abc": source.EPSILON_ABC,
            "pool_size": source.POOL_SIZE,
            "distance": dataclasses.replace(DISTANCE, options=source.DISTANCES),
            "bandwidth": _bandwidths(source.BANDWIDTH),
        }

    @classmethod
    def defaults(cls, scenario: str) -> dict[str, Any]:
        """All but domain and budget, which a person has to choose."""
        source = simulators.load(scenario)
        return {
            "epsilon_abc": source.EPSILON_ABC_DEFAULT,
            "c": source.C_DEFAULT,
            "pool_size": source.POOL_SIZE_DEFAULT,
            "distance": source.DISTANCES[0],
            "bandwidth": source.BANDWIDTH or NO_KERNEL,
        }

    def check_together(self) -> None:
        """Refuse a domain without inside, or more acceptances than draws."""
        if not self.low < self.high:
            raise ParameterError(f"high = {self.high:.6g}: must be above low = {self.low:.6g}.")
        par.check_accepted(self.c, self.pool_size)


def _bandwidths(default: float | None) -> Parameter:
    """A tenth to ten times the default; only a word where there is no kernel."""
    if default is None:
        return dataclasses.replace(BANDWIDTH, kind="choice", options=(NO_KERNEL,))
    return dataclasses.replace(BANDWIDTH, low=default / 10.0, high=default * 10.0)


# ------------------------------------------------- what follows from a request


def source_of(request: ReleaseRequest) -> OwnScenario:
    """The scenario that is asked for."""
    return cast(OwnScenario, simulators.load(request.scenario))


def model(scenario: str) -> str:
    """What a scenario takes a series for, in a sentence or two."""
    return cast(OwnScenario, simulators.load(scenario)).OWN_MODEL


def own_parameters(request: ReleaseRequest, n: int) -> tuple[OwnParameter, ...]:
    """A scenario's parameters in the scale of a series of ``n`` values.

    Those of a scenario that does not say keep their names and numbers.
    """
    source = source_of(request)
    if not hasattr(source, "own_parameters"):
        return tuple(OwnParameter(name, "", 0.0, 1.0) for name in source.AXES)
    found = source.own_parameters(request.low, request.high, n)
    return tuple(OwnParameter(*each) for each in found)


def learnt(request: ReleaseRequest, n: int) -> str:
    """What a release will tell about, in a person's own terms."""
    every = own_parameters(request, n)
    names = [each.name for each in every]
    listed = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
    unit = every[0].unit
    same = unit and all(each.unit == unit for each in every)
    return f"the share of your values in {listed}" if same else listed


def own_sizes(scenario: str) -> tuple[int, int]:
    """Smallest and largest number of values that a scenario takes."""
    return cast(OwnScenario, simulators.load(scenario)).OWN_SIZES


def check_size(request: ReleaseRequest, n: int) -> None:
    """Refuse a series that is too short or too long for its scenario or for the pool.

    Raises:
        ParameterError: it is.
    """
    low, high = own_sizes(request.scenario)
    Parameter("integer", "Values", low=low, high=high).check("number of values", n)
    par.check_work(n, request.pool_size)


def pool_key(request: ReleaseRequest, n: int) -> pool.PoolKey:
    """The public pool for a series of ``n`` values; made for this release and kept nowhere."""
    default = source_of(request).DISTANCES[0]
    return pool.PoolKey(
        scenario=request.scenario,
        bandwidth=None if isinstance(request.bandwidth, str) else request.bandwidth,
        pool_size=request.pool_size,
        largest_n=n,
        seed=request.pool_seed,
        distance=None if request.distance == default else request.distance,
    )


def noise_of(request: ReleaseRequest, n: int) -> IntegerNoise:
    """The noise of a release from ``n`` values, for the sharp sensitivity; public."""
    sensitivity = pool_key(request, n).metric().sensitivity(n)
    return integer_noise(
        request.epsilon_total, sensitivity, request.c, grid(sensitivity), resample=request.resample
    )


def question(request: ReleaseRequest, n: int) -> str:
    """What a person confirms before anything is spent."""
    noise = noise_scale(request, n)
    return (
        f"This spends ε_total = {request.epsilon_total:.4g} (pure differential privacy) on a "
        f"series of {n:,} values, each taken to lie between {request.low:.6g} and "
        f"{request.high:.6g}. It protects {PROTECTED}, it cannot be undone, and every further "
        f"release from the same data adds to it. The noise of the threshold ε_abc = "
        f"{request.epsilon_abc:.4g} will have the scale b = {noise:.3g}."
    )


def claim(request: ReleaseRequest) -> Claim:
    """What a release takes from a budget at most, known before any data are read."""
    what = (
        f"release {request.scenario}, ε_abc = {request.epsilon_abc:g}, c = {request.c}, "
        f"from {request.low:g} to {request.high:g}"
    )
    return budget.pure(request.epsilon_total, what)


def noise_scale(request: ReleaseRequest, n: int) -> float:
    """Laplace scale of the threshold's noise for a series of ``n`` values."""
    return noise_of(request, n).event.threshold_scale
