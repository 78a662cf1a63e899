"""What is asked of any release: public settings, their checks, and what they spend.

Each mechanism adds what it alone has: a class below :class:`ReleaseRequest`, in its own file. Those
for a series of values are below :class:`SeriesRequest`, and protect one value that is replaced by
another: their number is public, and so is the domain to which they are clipped without saying how
many. Others protect one person who is added or removed; then how many there are is private.

The settings have to be chosen without looking at the data.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from abcdp_core import parameters as par
from abcdp_core import simulators
from abcdp_core.parameters import Parameter, ParameterError, Params
from abcdp_core.privacy import Event, in_digits
from abcdp_core.release import budget
from abcdp_core.release.budget import Claim
from abcdp_core.sentences import exact, listed
from abcdp_core.statistic import Quantity, Question

Array = NDArray[np.float64]


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
    """A scenario that also takes a person's own data; what is below the first two, of people."""

    OWN_SIZES: tuple[int, int]
    OWN_MODEL: str
    OWN_NAMES: Mapping[str, str]
    OWN_DATA: str
    OWN_HIDDEN: str
    OWN_REPEATED: str
    OWN_QUANTITIES: tuple[Quantity, ...]
    OWN_QUESTIONS: tuple[Question, ...]
    OWN_HEADLINE: str
    OWN_FINDING: str

    def own_parameters(self, low: float, high: float, n: int) -> Sequence[OwnParameter]:
        """The parameters, in the order of ``AXES``, for values from ``low`` to ``high``."""

    def from_series(self, values: Array) -> Array:
        """Numbers ``(n,)`` in the domain as data points ``(n, p)``."""


def scenarios() -> list[str]:
    """Names of the scenarios that take a person's own data, models of one's own last."""
    of_one_s_own = simulators.with_feature("OWN_TABLE")
    return sorted(simulators.with_feature("from_series"), key=lambda name: name in of_one_s_own)


def title(scenario: str) -> str:
    """The title of a scenario."""
    return simulators.title(scenario)


SERIES = "values"
"""The column that a scenario takes which does not say: any numbers."""


def columns_of(scenario: str) -> tuple[str, ...]:
    """What the column of a file may hold for a scenario: names of readers of a column."""
    found: tuple[str, ...] = getattr(simulators.load(scenario), "OWN_COLUMNS", (SERIES,))
    return found


SCENARIO = Parameter("choice", "Scenario", "The model that the series is compared with.")
BOUND = Parameter(
    kind="real",
    label="Bound of the domain",
    help="Values beyond it are moved to it. Known beforehand, never read off the data.",
    low=-1e300,
    high=1e300,
)

NARROWEST = 1e-9
"""Width of a domain, as a share of its larger bound: a narrower one has ends that no figure and no
sentence tells apart."""

NARROWEST_OF_ALL = 1e-290
"""Width of any domain, at least: below, numbers lose digits."""

POOL_SEED = Parameter(
    kind="integer",
    label="Seed of the public pool",
    help="It has nothing to do with the noise: the same number draws the same simulations.",
    low=0,
    high=2**53 - 1,
)
DRAWS = Parameter(
    kind="integer",
    label="Draws from the posterior",
    help="They cost nothing: any number follows from what was released.",
    low=100,
    high=10_000,
)


@dataclass(frozen=True)
class ReleaseRequest(Params):
    """What is asked for; public. A mechanism's own class says how it is met.

    Attributes:
        mechanism: name of the mechanism, which each class below has one of.
        scenario: one of :func:`scenarios`.
        epsilon_total: privacy budget.
    """

    mechanism: ClassVar[str] = ""

    scenario: str = SCENARIO.field(dataclasses.MISSING)
    epsilon_total: float = par.EPSILON_TOTAL.field(dataclasses.MISSING)

    @classmethod
    def specification(cls, scenario: str | None = None) -> dict[str, Parameter]:
        """With the scenarios that take data of one's own.

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
        """Whether the mechanism can release from data of a scenario."""
        raise NotImplementedError

    @property
    def unit(self) -> str:
        """What is protected, as a budget names it."""
        raise NotImplementedError

    @property
    def neighbours(self) -> str:
        """What happens to one unit: ``replace`` or ``add-remove``."""
        raise NotImplementedError

    @property
    def protected(self) -> str:
        """What is protected, in words, with its article."""
        raise NotImplementedError

    @property
    def declared(self) -> tuple[str, ...]:
        """Names of what has a sensitivity that somebody declared, and nothing here derives."""
        return ()

    @property
    def spends(self) -> str:
        """Its budget in words."""
        return f"ε_total = {in_digits(self.epsilon_total)}"

    @property
    def tells_size(self) -> bool:
        """Whether the number of values says something; it is public wherever it does."""
        low, high = own_sizes(self.scenario)
        return low < high

    def check_size(self, n: int) -> None:
        """Refuse data of a size that the scenario does not take.

        Raises:
            ParameterError: it is.
        """
        low, high = own_sizes(self.scenario)
        rows = rows_of(self.scenario)
        Parameter("integer", "Values", low=low, high=high).check(f"number of {rows}", n)

    def check_values(self, values: Array) -> None:
        """Refuse values that no reader gives.

        Raises:
            ValueError: one is not finite.
        """
        if not np.isfinite(values).all():
            raise ValueError("values: each must be a finite number.")

    def own_parameters(self, n: int) -> tuple[OwnParameter, ...]:
        """What is inferred, in a person's own terms, for ``n`` values."""
        raise NotImplementedError

    def event(self, n: int) -> Event:
        """What will be done to ``n`` values, with its noise; public."""
        raise NotImplementedError

    def noise_in_words(self, n: int) -> str:
        """The scale of the noise for ``n`` values, in a sentence."""
        raise NotImplementedError

    def settings_in_words(self) -> str:
        """What is chosen besides the budget, in a few words."""
        raise NotImplementedError

    def data_in_words(self, n: int) -> str:
        """What it is spent on, after "on"; what is private of the data is not in it."""
        raise NotImplementedError

    def fitted(self, n: int) -> str:
        """What a release will tell about, in a person's own terms."""
        raise NotImplementedError

    def unprotected(self, n: int) -> list[str]:
        """What the guarantee leaves unprotected of such data, in sentences."""
        raise NotImplementedError

    def reach(self, n: int) -> str:
        """What the public simulations reach of what ``n`` values could be; empty if unsaid."""
        return ""

    def drowned(self, n: int) -> str:
        """Where noise hides nearly all that ``n`` values tell, a sentence on that; else empty."""
        raise NotImplementedError


def ends(low: float, high: float) -> tuple[str, str]:
    """Both ends of a domain as they were given, without an exponent where people write none."""

    def given(value: float) -> str:
        is_plain = abs(value) < 1e15 and float(value).is_integer()
        return f"{value + 0.0:.0f}" if is_plain else exact(value)

    return given(low), given(high)


@dataclass(frozen=True)
class SeriesRequest(ReleaseRequest):
    """What is asked of a series of values, of which one is replaced by another.

    Attributes:
        low, high: domain of the values, known beforehand.
    """

    low: float = BOUND.field(dataclasses.MISSING)
    high: float = BOUND.field(dataclasses.MISSING)

    unit: ClassVar[str] = "value"
    neighbours: ClassVar[str] = "replace"
    protected: ClassVar[str] = "one value of the series"

    def check_together(self) -> None:
        """Refuse a domain without inside, or with too few numbers in it to be divided."""
        low, high = ends(self.low, self.high)
        least = max(NARROWEST * max(abs(self.low), abs(self.high)), NARROWEST_OF_ALL)
        if self.high - self.low < least:
            by = f" by {least:.10g} or more" if self.low < self.high else ""
            raise ParameterError(f"high = {high}: must be above low = {low}{by}.")

    def own_parameters(self, n: int) -> tuple[OwnParameter, ...]:
        """The parameters in the scale of the series; as they are if the scenario does not say."""
        source = source_of(self)
        if not hasattr(source, "own_parameters"):
            return tuple(OwnParameter(name, "", 0.0, 1.0) for name in source.AXES)
        found = source.own_parameters(self.low, self.high, n)
        return tuple(OwnParameter(*each) for each in found)

    def data_in_words(self, n: int) -> str:
        """Number and domain of the values."""
        low, high = ends(self.low, self.high)
        return f"a series of {n:,} values, each taken to lie between {low} and {high}"

    def fitted(self, n: int) -> str:
        """The parameters, or the shares."""
        every = self.own_parameters(n)
        names, units = listed([each.name for each in every]), {each.unit for each in every}
        is_share = len(units) == 1 and units != {""}
        return f"the share of your values in {names}" if is_share else names

    def unprotected(self, n: int) -> list[str]:
        """Number, settings, and several values of one person."""
        return [
            f"The number of values, {n}, is public, and so is every setting. A setting that was "
            "chosen by looking at the data, the domain above all, tells something that is not "
            "accounted for.",
            "Whoever has several values in the series is protected less: k values together are "
            "protected with k times ε_total.",
        ]


def check_takes_series(scenario: str | None) -> None:
    """Refuse a scenario that is there and takes no data of one's own.

    Raises:
        ParameterError: it is.
    """
    known = scenarios()
    if scenario not in known and scenario in simulators.names():
        raise ParameterError(
            f"scenario = {scenario}: takes no data of your own; {listed(known)} do."
        )


# ------------------------------------------------- what follows from a request


def source_of(request: ReleaseRequest) -> OwnScenario:
    """The scenario that is asked for."""
    return cast(OwnScenario, simulators.load(request.scenario))


def model(scenario: str) -> str:
    """What a scenario takes one's data for, in a sentence or two."""
    return cast(OwnScenario, simulators.load(scenario)).OWN_MODEL


def own_sizes(scenario: str) -> tuple[int, int]:
    """Smallest and largest number of values that a scenario takes; the same where it is hidden."""
    return cast(OwnScenario, simulators.load(scenario)).OWN_SIZES


def rows_of(scenario: str) -> str:
    """What the rows of a file are: values, days or records."""
    found: str = getattr(simulators.load(scenario), "OWN_ROWS", SERIES)
    return found


def question(request: ReleaseRequest, n: int) -> str:
    """What a person confirms before anything is spent."""
    whom = request.protected
    if request.neighbours == "add-remove":
        whom = f"{whom}, added or removed"
    return (
        f"This spends {request.spends} (pure differential privacy) on "
        f"{request.data_in_words(n)}. It protects {whom}; it cannot be undone, and every further "
        f"release from the same data adds to it. {request.noise_in_words(n)}"
    )


def claim(request: ReleaseRequest) -> Claim:
    """What a release takes from a budget at most, known before any data are read."""
    what = f"release {request.scenario}, {request.settings_in_words()}"
    if request.declared:
        what = f"{what}, sensitivity of {' and '.join(request.declared)} declared"
    if isinstance(request, SeriesRequest):
        what = f"{what}, from {' to '.join(ends(request.low, request.high))}"
    return budget.pure(request.epsilon_total, what)


def to_domain(values: Array, domain: tuple[float, float], target: tuple[float, float]) -> Array:
    """Return values ``(n,)`` clipped to a domain and carried over to another along a straight line.

    What is a whole number there but for rounding is that number: where cells meet at whole numbers,
    a value that is written as such a place belongs to the cell above, however its decimals round.
    """
    low, high = domain
    share = (np.clip(values, low, high) - low) / (high - low)
    carried = target[0] + share * (target[1] - target[0])
    # Half an ulp each of value and ends, beside their difference, and of the operations here.
    rounding = 2.0 * np.finfo(float).eps * (max(abs(low), abs(high)) / (high - low) + 1.0)
    whole = np.rint(carried)
    near = np.abs(carried - whole) <= min(rounding * (target[1] - target[0]), MOST_ROUNDING)
    return np.clip(np.where(near, whole, carried), *target)


MOST_ROUNDING = 1e-6
"""Beyond this a domain is too narrow for its place to tell its values from each other anyway."""
