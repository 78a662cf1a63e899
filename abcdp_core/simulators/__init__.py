"""Scenarios: where data come from. One scenario is one module here, found by scanning.

A scenario is public knowledge: what one data point is, the prior, the simulator, the distance.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from abcdp_core import registry
from abcdp_core.distances import Distance
from abcdp_core.parameters import Parameter, Params, check_accepted, check_work

Array = NDArray[np.float64]


class Scenario(Protocol):
    """What a module in this folder provides.

    Attributes:
        SCENARIO: its name.
        TITLE: the name in words.
        PROTECTED: what one data point is: whose privacy is protected.
        COORDINATES: names of the p numbers that a data point is made of.
        AXES: parameter name -> (lowest, highest) value shown on an axis, one per parameter (d).
        UNITS: parameter name -> unit, empty if none.
        TRUTH: parameters ``(d,)`` that the observed data come from; ``None`` if nobody knows them.
        PRIOR_MEAN: mean of the prior ``(d,)``.
        DOMAIN: public lowest and highest value of a data point.
        OBSERVED: published data ``(n, p)``; ``None`` if they are simulated at the truth.
        N: the allowed sizes of a data set, as a parameter with options in ascending order.
        EPSILON_ABC, EPSILON_ABC_DEFAULT: the similarity threshold.
        C_DEFAULT: accepted samples asked for.
        POOL_SIZE, POOL_SIZE_DEFAULT: prior draws in the pool.
        DISTANCES: names of its distances, the default one first.
        BANDWIDTH: default bandwidth of their kernel; ``None`` if they have none.
        DISTANCE_AXIS: largest distance shown on an axis.

    A scenario may have ``SUPPORT``, a :class:`~abcdp_core.transforms.Bijector`: where its prior's
    draws can lie, and how they are moved without leaving it; and ``NEIGHBOURS``: ``add-remove``
    where its distance is made for a unit that is added or removed, otherwise one is replaced; and
    ``PUBLISHED``, where the published data come from, for a figure.

    It may have ``STATISTICS``, name -> :class:`~abcdp_core.statistic.Statistic`: numbers of its
    data that may be released, with what one unit is and how far it moves them; a second one may
    state the same numbers for a larger unit. Where a pool is shipped,
    ``precomputed_pool(pool_size)`` gives parameters ``(T, d)`` and numbers ``(T, k)``, and
    ``from_numbers(numbers)`` gives statistics of its distance ``(T, D)`` and name -> numbers of
    each of its ``STATISTICS``; it is then the pool of every seed and run.

    It may have ``reduced(rng, theta, n)``: statistics ``(k, D)`` of the default distance, and name
    -> numbers of each of its ``STATISTICS``, of data sets of any size ``n`` simulated at parameters
    ``(k, d)``, at a cost that does not grow with n. Plans then look at many pools and sizes.

    One with a likelihood may have ``CONJUGATE``, a
    :class:`~abcdp_core.statistic.DirichletCounts`: which of these counts follow which shares.

    One that also takes a person's own series has ``OWN_SIZES``, the smallest and the largest one,
    ``OWN_MODEL``, a sentence on what it takes it for, and ``from_series(values)``: numbers
    ``(n,)`` in the domain as data points ``(n, p)``. If the data are of people, of whom one is
    added or removed, it has ``OWN_COLUMNS``, what a file may hold (readers of
    :mod:`~abcdp_core.release.columns`); ``OWN_SIZES`` of one size only where how many rows there
    are is private, as a table is then filled up with rows of 0; ``OWN_ROWS``, what a row is where
    their number is public; ``OWN_DATA``, ``OWN_HIDDEN`` and ``OWN_REPEATED``, what the data are,
    with ``{n}`` rows, what of their size is protected and who is protected less;
    ``OWN_NAMES``, its parameters in words; ``OWN_QUANTITIES`` and ``OWN_QUESTIONS``
    (:mod:`abcdp_core.statistic`), what else is told; ``OWN_HEADLINE``, the name of the quantity
    that is told first, and ``OWN_FINDING``, a sentence on its interval from ``{low}`` to
    ``{high}``. All this is said for a model of one's own by :mod:`abcdp_core.own_model.lattice`,
    with ``OWN_TABLE``, what is read of a table of records and how it is reduced.

    One that takes minutes to simulate has ``precomputed(pool_size, n, run)``: parameters ``(T, d)``
    of a pool made beforehand and the distances ``(T,)`` of the ``run``-th observed data set to it;
    and ``precomputed_data(n, run)``, that data set ``(n, p)``.

    One whose simulations may fail says by ``failed(data)`` which of the data sets ``(k, n, p)`` are
    to count for nothing, ``(k,)``.
    """

    __name__: str
    SCENARIO: str
    TITLE: str
    PROTECTED: str
    COORDINATES: tuple[str, ...]
    AXES: dict[str, tuple[float, float]]
    UNITS: dict[str, str]
    TRUTH: Array | None
    PRIOR_MEAN: Array
    DOMAIN: tuple[float, float]
    OBSERVED: Array | None
    N: Parameter
    N_DEFAULT: int
    EPSILON_ABC: Parameter
    EPSILON_ABC_DEFAULT: float
    C_DEFAULT: int
    POOL_SIZE: Parameter
    POOL_SIZE_DEFAULT: int
    DISTANCES: tuple[str, ...]
    BANDWIDTH: float | None
    DISTANCE_AXIS: float

    def prior(self, rng: np.random.Generator, size: int) -> Array:
        """Draw parameters ``(size, d)``."""
        ...

    def simulate(self, rng: np.random.Generator, theta: Array, size: int) -> Array:
        """Draw ``size`` points for each of ``(k, d)`` parameters: ``(k, size, p)``."""
        ...

    def distance(self, bandwidth: float | None = None, name: str | None = None) -> Distance:
        """One of its distances between data sets; the default one with the default bandwidth."""
        ...


def simulate_round_robin(
    source: Scenario, theta: Array, n: int, sets: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], Array]:
    """Data sets at some parameters, taken in turn.

    Args:
        source: whose simulator.
        theta: the parameters ``(k, d)``.
        n: points per data set.
        sets: how many; none if ``theta`` is empty.
        rng: source of all chance.

    Returns:
        Which parameters each is simulated at ``(sets,)``, and the data ``(sets, n, p)``.
    """
    chosen = np.arange(sets if len(theta) else 0) % max(len(theta), 1)
    if len(chosen) == 0:
        return chosen, np.empty((0, n, len(source.COORDINATES)))
    return chosen, source.simulate(rng, theta[chosen], n)


@dataclass(frozen=True)
class ScenarioParams(Params):
    """Base of parameters of which ``scenario`` is one: it has a say in the others.

    Of these a study has ``n``, ``c`` and ``pool_size``, and may have ``epsilon_abc`` and
    ``bandwidth``.
    """

    @property
    def source(self) -> Scenario:
        """The scenario itself."""
        return load(vars(self)["scenario"])

    @classmethod
    def specification(cls, scenario: str | None = None) -> dict[str, Parameter]:
        """The scenario's own sizes and threshold bounds."""
        general = super().specification()
        if scenario is None or scenario not in general["scenario"].options:
            return general
        source = load(scenario)
        own = {"n": source.N, "epsilon_abc": source.EPSILON_ABC, "pool_size": source.POOL_SIZE}
        return {name: own.get(name, parameter) for name, parameter in general.items()}

    @classmethod
    def defaults(cls, scenario: str) -> dict[str, Any]:
        """The scenario's own size, threshold, acceptances, pool and bandwidth."""
        source = load(scenario)
        own = {
            "n": source.N_DEFAULT,
            "epsilon_abc": source.EPSILON_ABC_DEFAULT,
            "c": source.C_DEFAULT,
            "pool_size": source.POOL_SIZE_DEFAULT,
            "bandwidth": source.BANDWIDTH,
        }
        taken = {field.name for field in dataclasses.fields(cls)}
        return {name: own[name] for name in own if name in taken and own[name] is not None}

    def check_together(self) -> None:
        """Refuse too much work, or more acceptances than draws."""
        values = vars(self)
        check_work(_largest(values["n"]), values["pool_size"])
        check_accepted(_largest(values["c"]), values["pool_size"])


def _largest(value: int | tuple[int, ...]) -> int:
    """Of a parameter that holds one value or several."""
    return max(value) if isinstance(value, tuple) else value


def names() -> list[str]:
    """Names of all scenarios; imports none of them."""
    return list(registry.scan(__name__, "SCENARIO"))


def has_several_units(scenario: Scenario) -> bool:
    """Whether errors of its parameters are to be compared in prior standard deviations."""
    return len(set(scenario.UNITS.values())) > 1


def title(name: str) -> str:
    """The title of a scenario; imports nothing."""
    return registry.scan(__name__, "SCENARIO").title(name)


def with_feature(feature: str) -> list[str]:
    """Names of the scenarios that define something not all have; imports none of them."""
    found = registry.scan(__name__, "SCENARIO")
    return [name for name in found if found.defines(name, feature)]


def load(name: str) -> Scenario:
    """The scenario called ``name``.

    Raises:
        KeyError: there is none of that name.
    """
    return cast(Scenario, registry.scan(__name__, "SCENARIO")[name])
