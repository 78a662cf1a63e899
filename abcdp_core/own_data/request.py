"""What is asked of any release: public settings, their checks, and what they spend.

Each mechanism adds what it alone has: a class below :class:`ReleaseRequest`, in its own file.

The settings have to be chosen without looking at the data; above all the domain, to which values
are clipped without saying how many. Public too is the number of values.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from abcdp_core import parameters as par
from abcdp_core import simulators
from abcdp_core.own_data import budget
from abcdp_core.own_data.budget import Claim
from abcdp_core.parameters import Parameter, ParameterError, Params
from abcdp_core.privacy import Event

Array = NDArray[np.float64]

PROTECTED = "one value of the series"

UNIT, NEIGHBOURS = "value", "replace"
"""What a release protects, as a budget names it."""


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


@dataclass(frozen=True)
class ReleaseRequest(Params):
    """What is asked for; public. A mechanism's own class says how it is met.

    Attributes:
        mechanism: name of the mechanism, which each class below has one of.
        scenario: one of :func:`scenarios`.
        low, high: domain of the values, known beforehand.
        epsilon_total: privacy budget.
    """

    mechanism: ClassVar[str] = ""

    scenario: str = SCENARIO.field(dataclasses.MISSING)
    low: float = BOUND.field(dataclasses.MISSING)
    high: float = BOUND.field(dataclasses.MISSING)
    epsilon_total: float = par.EPSILON_TOTAL.field(dataclasses.MISSING)

    @classmethod
    def specification(cls, scenario: str | None = None) -> dict[str, Parameter]:
        """With the scenarios that take a series.

        Raises:
            ParameterError: the scenario takes none, or the mechanism does not serve it.
        """
        known = scenarios()
        check_takes_series(scenario)
        if scenario in known and not cls.serves(scenario):
            raise ParameterError(f"mechanism = {cls.mechanism}: does not serve {scenario}.")
        choice = dataclasses.replace(SCENARIO, options=tuple(known))
        return super().specification() | {"scenario": choice}

    @classmethod
    def serves(cls, scenario: str) -> bool:
        """Whether the mechanism can release from a series of a scenario."""
        raise NotImplementedError

    def check_together(self) -> None:
        """Refuse a domain without inside."""
        if not self.low < self.high:
            raise ParameterError(f"high = {self.high:.6g}: must be above low = {self.low:.6g}.")

    def check_size(self, n: int) -> None:
        """Refuse a series that is too short or too long for its scenario.

        Raises:
            ParameterError: it is.
        """
        low, high = own_sizes(self.scenario)
        Parameter("integer", "Values", low=low, high=high).check("number of values", n)

    def event(self, n: int) -> Event:
        """What will be done to ``n`` values, with its noise; public."""
        raise NotImplementedError

    def noise_in_words(self, n: int) -> str:
        """The scale of the noise for ``n`` values, in a sentence."""
        raise NotImplementedError

    def settings_in_words(self) -> str:
        """What is chosen besides domain and budget, in a few words."""
        raise NotImplementedError

    def drowned(self, n: int) -> str:
        """Where noise hides nearly all that ``n`` values tell, a sentence on that; else empty."""
        raise NotImplementedError


def check_takes_series(scenario: str | None) -> None:
    """Refuse a scenario that is there and takes no series.

    Raises:
        ParameterError: it is.
    """
    known = scenarios()
    if scenario not in known and scenario in simulators.names():
        raise ParameterError(
            f"scenario = {scenario}: takes no series of your own; {' and '.join(known)} do."
        )


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


def question(request: ReleaseRequest, n: int) -> str:
    """What a person confirms before anything is spent."""
    return (
        f"This spends ε_total = {request.epsilon_total:.4g} (pure differential privacy) on a "
        f"series of {n:,} values, each taken to lie between {request.low:.6g} and "
        f"{request.high:.6g}. It protects {PROTECTED}, it cannot be undone, and every further "
        f"release from the same data adds to it. {request.noise_in_words(n)}"
    )


def claim(request: ReleaseRequest) -> Claim:
    """What a release takes from a budget at most, known before any data are read."""
    what = (
        f"release {request.scenario}, {request.settings_in_words()}, "
        f"from {request.low:g} to {request.high:g}"
    )
    return budget.pure(request.epsilon_total, what)
