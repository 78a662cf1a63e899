"""Requests for a release: public settings, their checks, and the budget they spend.

Each mechanism adds its own settings in a subclass of :class:`ReleaseRequest`, in its own file.
Subclasses of :class:`SeriesRequest` protect one value of a series that is replaced by another. The
number of values is public, and so is the domain to which they are clipped; how many were clipped
is private. Other requests protect one person who is added or removed, so the number of people is
private.

Choose all settings without looking at the data.
"""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from abcdp_core.base import parameters as par
from abcdp_core.base.arrays import Array
from abcdp_core.base.parameters import Parameter, ParameterError, Params
from abcdp_core.base.sentences import exact, listed
from abcdp_core.models import simulators
from abcdp_core.models.simulators import Scenario
from abcdp_core.privacy import Event
from abcdp_core.release import budget
from abcdp_core.release.budget import PrivacyCharge


class OwnParameter(NamedTuple):
    """A parameter in the unit of a person's own data: ``offset + factor * theta``.

    Attributes:
        name: in words.
        unit: of the parameter; empty if it has the unit of the values.
        offset, factor: conversion from the scenario's scale.
    """

    name: str
    unit: str
    offset: float
    factor: float


def scenarios() -> list[str]:
    """Return the names of the scenarios that take a person's own data, users' models last."""
    of_users = simulators.with_feature("own_table")
    return sorted(simulators.with_feature("from_series"), key=lambda name: name in of_users)


SERIES = "values"
"""Kind of column that a scenario takes unless it says otherwise: any numbers."""

SCENARIO = Parameter("choice", "Scenario", "The model of your data.")
BOUND = Parameter(
    kind="real",
    label="Bound of the domain",
    help="Values beyond it are clipped. Know it beforehand; never take it from the data.",
    low=-1e300,
    high=1e300,
)

NARROWEST = 1e-9
"""Least width of a domain relative to its larger bound: the ends of a narrower one look equal in
figures and text."""

NARROWEST_OF_ALL = 1e-290
"""Least width of any domain; below, numbers lose digits."""

POOL_SEED = Parameter(
    kind="integer",
    label="Seed of the public pool",
    help="Not related to the noise. The same seed gives the same simulations.",
    low=0,
    high=2**53 - 1,
)
DRAWS = Parameter(
    kind="integer",
    label="Draws from the posterior",
    help="Draws spend no budget; they follow from the release.",
    low=100,
    high=10_000,
)


@dataclass(frozen=True)
class ReleaseRequest(Params):
    """Public settings of a release; each mechanism has a subclass.

    Attributes:
        mechanism: its name, set by the subclass.
        scenario: one of :func:`scenarios`.
        epsilon_total: privacy budget.
    """

    mechanism: ClassVar[str] = ""

    scenario: str = SCENARIO.field(dataclasses.MISSING)
    epsilon_total: float = par.EPSILON_TOTAL.field(dataclasses.MISSING)

    @classmethod
    def specification(cls, scenario: str | None = None) -> dict[str, Parameter]:
        """Return the parameters by name; scenarios are those that take a person's own data.

        Raises:
            ParameterError: the scenario takes no such data, or the mechanism does not serve it.
        """
        known = scenarios()
        check_takes_series(scenario)
        if scenario in known and not cls.serves(simulators.load(scenario)):
            raise ParameterError(f"mechanism = {cls.mechanism}: does not serve {scenario}.")
        choice = dataclasses.replace(SCENARIO, options=tuple(known))
        return super().specification() | {"scenario": choice}

    @functools.cached_property
    def source(self) -> Scenario:
        """The scenario."""
        return simulators.load(self.scenario)

    @classmethod
    def serves(cls, scenario: Scenario) -> bool:
        """Return whether the mechanism can release from data of a scenario."""
        raise NotImplementedError

    @property
    def unit(self) -> str:
        """What is protected, as a budget names it."""
        raise NotImplementedError

    @property
    def neighbours(self) -> str:
        """How neighboring data differ in one unit: ``replace`` or ``add-remove``."""
        raise NotImplementedError

    @property
    def stated_neighbours(self) -> str:
        """How they differ, as the privacy statement says it."""
        return self.neighbours

    @property
    def protected(self) -> str:
        """What is protected, in words, with its article."""
        raise NotImplementedError

    @property
    def declared(self) -> tuple[str, ...]:
        """Names of statistics whose sensitivity the model's author declared."""
        return ()

    @property
    def spends(self) -> str:
        """The budget in words, with all its digits: neither more nor less than is spent."""
        return f"ε_total = {exact(self.epsilon_total)}"

    def public(self) -> dict[str, Any]:
        """Return all settings, as a record states them."""
        return dataclasses.asdict(self)

    @property
    def tells_size(self) -> bool:
        """Whether the number of rows carries information; then it is public."""
        low, high = self.source.own_sizes
        return low < high

    def check_size(self, n: int) -> None:
        """Check the number of rows.

        Raises:
            ParameterError: the scenario does not take so many.
        """
        low, high = self.source.own_sizes
        rows = self.source.own_rows
        Parameter("integer", "Values", low=low, high=high).check(f"number of {rows}", n)

    def check_values(self, values: Array) -> None:
        """Check the values.

        Raises:
            ValueError: a value is not finite.
        """
        if not np.isfinite(values).all():
            raise ValueError("values: each must be a finite number.")

    def data_points(self, values: Array) -> Array:
        """Return values ``(n,)``, or records, as data points ``(n, p)`` of the scenario."""
        convert = self.source.from_series
        assert convert is not None
        return convert(values)

    def own_parameters(self, n: int) -> tuple[OwnParameter, ...]:
        """Return the inferred parameters in the units of the data, for ``n`` values."""
        raise NotImplementedError

    def event(self, n: int) -> Event:
        """Return the event of a release from ``n`` values, with its noise; public."""
        raise NotImplementedError

    def noise_in_words(self, n: int) -> str:
        """Return the scale of the noise for ``n`` values, in a sentence."""
        raise NotImplementedError

    def settings_in_words(self) -> str:
        """Return the settings besides the budget, in a few words."""
        return self.mechanism

    def data_in_words(self, n: int) -> str:
        """Return the data in words, without anything private; it follows "on"."""
        raise NotImplementedError

    def fitted(self, n: int) -> str:
        """Return the names of what will be inferred."""
        raise NotImplementedError

    def unprotected(self, n: int) -> list[str]:
        """Return sentences on what the guarantee does not protect."""
        raise NotImplementedError

    def reach(self, n: int) -> str:
        """Return the range of the public simulations in words; empty if it is not given."""
        return ""

    def time_in_words(self, n: int, workers: int) -> str:
        """Say how long the posterior takes here; empty if nothing is simulated."""
        return ""

    def noise_warning(self, n: int) -> str:
        """Return a warning if noise hides nearly all information in ``n`` values; else empty."""
        raise NotImplementedError


def ends(low: float, high: float) -> tuple[str, str]:
    """Return both ends of a domain as texts, without an exponent below 1e15."""

    def given(value: float) -> str:
        is_plain = abs(value) < 1e15 and float(value).is_integer()
        return f"{value + 0.0:.0f}" if is_plain else exact(value)

    return given(low), given(high)


@dataclass(frozen=True)
class SeriesRequest(ReleaseRequest):
    """A request for a series of values; neighbors replace one value by another.

    Attributes:
        low, high: domain of the values, known beforehand.
    """

    low: float = BOUND.field(dataclasses.MISSING)
    high: float = BOUND.field(dataclasses.MISSING)

    unit: ClassVar[str] = "value"
    neighbours: ClassVar[str] = "replace"
    protected: ClassVar[str] = "one value of the series"

    def check_together(self) -> None:
        """Refuse a domain that is empty, or too narrow to be divided in floating point."""
        low, high = ends(self.low, self.high)
        least = max(NARROWEST * max(abs(self.low), abs(self.high)), NARROWEST_OF_ALL)
        if self.high - self.low < least:
            by = f" by {least:.10g} or more" if self.low < self.high else ""
            raise ParameterError(f"high = {high}: must be above low = {low}{by}.")

    def data_points(self, values: Array) -> Array:
        """Return values as data points, clipped and carried to the scenario's domain."""
        domain = self.source.domain
        return super().data_points(to_domain(values, (self.low, self.high), domain))

    def own_parameters(self, n: int) -> tuple[OwnParameter, ...]:
        """Return the parameters in the scale of the series, or in the scenario's own scale."""
        source = self.source
        if source.own_parameters is None:
            return tuple(OwnParameter(name, "", 0.0, 1.0) for name in source.axes)
        stated = source.own_parameters(self.low, self.high, n)
        return tuple(OwnParameter(*each) for each in stated)

    def data_in_words(self, n: int) -> str:
        """Return the number and the domain of the values in words."""
        low, high = ends(self.low, self.high)
        return f"a series of {n:,} values, each clipped to between {low} and {high}"

    def fitted(self, n: int) -> str:
        """Return the names of the parameters or shares."""
        every = self.own_parameters(n)
        names, units = listed([each.name for each in every]), {each.unit for each in every}
        is_share = len(units) == 1 and units != {""}
        return f"the share of your values in {names}" if is_share else names

    def unprotected(self, n: int) -> list[str]:
        """Return sentences on the number of values, the settings and repeated persons."""
        return [
            f"The number of values, {n}, is public, and so is every setting. A setting that was "
            "chosen by looking at the data, the domain above all, tells something that is not "
            "accounted for.",
            "Whoever has several values in the series is protected less: k values together are "
            "protected with k times ε_total.",
        ]


def check_takes_series(scenario: str | None) -> None:
    """Check a scenario's name.

    Raises:
        ParameterError: the scenario exists and takes no data of a person's own.
    """
    known = scenarios()
    if scenario not in known and scenario in simulators.names():
        raise ParameterError(
            f"scenario = {scenario}: takes no data of your own; {listed(known)} do."
        )


def question(request: ReleaseRequest, n: int) -> str:
    """Return the text that a person confirms before anything is spent."""
    whom = request.protected
    if request.neighbours == "add-remove":
        whom = f"{whom}, added or removed"
    return (
        f"This spends {request.spends} (pure differential privacy) on "
        f"{request.data_in_words(n)}. It protects {whom}. It cannot be undone, and every further "
        f"release from the same data adds to it. {request.noise_in_words(n)}"
    )


def claim(request: ReleaseRequest) -> PrivacyCharge:
    """Return the most that a release spends, known before any data are read."""
    what = f"release {request.scenario}, {request.settings_in_words()}"
    if request.declared:
        what = f"{what}, sensitivity of {' and '.join(request.declared)} declared"
    if isinstance(request, SeriesRequest):
        what = f"{what}, from {' to '.join(ends(request.low, request.high))}"
    return budget.pure(request.epsilon_total, what)


def to_domain(values: Array, domain: tuple[float, float], target: tuple[float, float]) -> Array:
    """Return values ``(n,)`` clipped to a domain and mapped linearly to another.

    A result that is a whole number but for rounding becomes that number: cells meet at whole
    numbers, and a value on an edge belongs to the cell above, however its decimals round.
    """
    low, high = domain
    share = (np.clip(values, low, high) - low) / (high - low)
    carried = target[0] + share * (target[1] - target[0])
    # Half an ulp each for the value, both ends, their difference and the operations here.
    rounding = 2.0 * np.finfo(float).eps * (max(abs(low), abs(high)) / (high - low) + 1.0)
    whole = np.rint(carried)
    near = np.abs(carried - whole) <= min(rounding * (target[1] - target[0]), MOST_ROUNDING)
    return np.clip(np.where(near, whole, carried), *target)


MOST_ROUNDING = 1e-6
"""Largest rounding; beyond it the domain is too narrow, for its location, to separate values."""
