"""Scenarios, one module each, found by scanning.

A scenario is public: the unit of privacy, the prior, the simulator and the distance.
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
    """Contract of a scenario module.

    Attributes:
        SCENARIO: name.
        TITLE: name in words.
        PROTECTED: the unit whose privacy is protected.
        COORDINATES: names of the p numbers of a data point.
        AXES: parameter name -> (lowest, highest) value on an axis, for d parameters.
        UNITS: parameter name -> unit, or an empty text.
        TRUTH: parameters ``(d,)`` of the observed data; ``None`` if unknown.
        PRIOR_MEAN: mean of the prior ``(d,)``.
        DOMAIN: public lowest and highest value of a data point.
        OBSERVED: published data ``(n, p)``; ``None`` if data are simulated at the truth.
        N: allowed sizes of a data set, as a parameter with ascending options.
        EPSILON_ABC, EPSILON_ABC_DEFAULT: the threshold.
        C_DEFAULT: draws to keep.
        POOL_SIZE, POOL_SIZE_DEFAULT: draws in the pool.
        DISTANCES: names of its distances, the default one first.
        BANDWIDTH: default bandwidth of their kernel; ``None`` without a kernel.
        DISTANCE_AXIS: largest distance on an axis.

    Optional attributes:
        SUPPORT: a :class:`~abcdp_core.transforms.Bijector` for the support of the prior.
        NEIGHBOURS: ``add-remove`` if a unit is added or removed; otherwise one is replaced.
        PUBLISHED: source of the published data, for a figure.
        AXIS_NAMES, AXIS_TITLE: parameter -> name of its row in a figure; title of their axis.
        STATISTICS: name -> :class:`~abcdp_core.statistic.Statistic`, numbers that may be released,
            with their unit and sensitivity. Several may state the same numbers for other units.
        CONJUGATE: a :class:`~abcdp_core.statistic.DirichletCounts`, for a known likelihood.
        precomputed_pool(pool_size), from_numbers(numbers): for a shipped pool, which serves every
            seed and run: parameters ``(T, d)`` and numbers ``(T, k)``; and from these, statistics
            ``(T, D)`` of the distance and name -> numbers of each of ``STATISTICS``.
        precomputed(pool_size, n, run), precomputed_data(n, run): if simulating takes minutes:
            parameters ``(T, d)`` of a shipped pool with the distances ``(T,)`` of an observed data
            set from it; and that data set ``(n, p)``.
        reduced(rng, theta, n): statistics ``(k, D)`` of the default distance and name -> numbers of
            each of ``STATISTICS``, for data sets of size ``n`` simulated at parameters ``(k, d)``,
            in a time that does not grow with n.
        failed(data): which simulated data sets ``(k, n, p)`` failed, ``(k,)``; they are excluded.

    A scenario that accepts uploaded data also has:
        OWN_SIZES: smallest and largest number of rows. A single size means that the number of rows
            is private, and the table is filled up with rows of 0.
        OWN_MODEL: a sentence on the model of the data.
        from_series(values): numbers ``(n,)`` in the domain as data points ``(n, p)``.

    If people are added or removed, it also has:
        OWN_COLUMNS: columns of an uploaded file, names of :mod:`~abcdp_core.release.columns`.
        OWN_ROWS: a word for rows, where their number is public.
        OWN_DATA, OWN_HIDDEN, OWN_REPEATED: the data, with ``{n}`` rows; what of their size is
            protected; and whose protection is weaker.
        OWN_NAMES: parameter name -> name in words.
        OWN_QUANTITIES, OWN_QUESTIONS: further results (:mod:`abcdp_core.statistic`).
        OWN_HEADLINE, OWN_FINDING: name of the first result, and a sentence on its interval from
            ``{low}`` to ``{high}``.
        OWN_TABLE: how a table of records is read and reduced; for models and pools of one's own
            (:mod:`abcdp_core.own_model.lattice`).
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
        """Simulate ``size`` points for each of ``(k, d)`` parameters: ``(k, size, p)``."""
        ...

    def distance(self, bandwidth: float | None = None, name: str | None = None) -> Distance:
        """Return a distance between data sets, by default the first with its own bandwidth."""
        ...


def simulate_round_robin(
    source: Scenario, theta: Array, n: int, sets: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], Array]:
    """Simulate data sets at the given parameters in turn.

    Args:
        source: scenario to simulate.
        theta: parameters ``(k, d)``.
        n: points per data set.
        sets: number of data sets; none if ``theta`` is empty.
        rng: random generator.

    Returns:
        Indices of the parameters ``(sets,)`` and the data ``(sets, n, p)``.
    """
    chosen = np.arange(sets if len(theta) else 0) % max(len(theta), 1)
    if len(chosen) == 0:
        return chosen, np.empty((0, n, len(source.COORDINATES)))
    return chosen, source.simulate(rng, theta[chosen], n)


@dataclass(frozen=True)
class ScenarioParams(Params):
    """Base for parameters that include ``scenario``, which sets bounds and defaults of others.

    A study has ``n``, ``c`` and ``pool_size``, and may have ``epsilon_abc`` and ``bandwidth``.
    """

    @property
    def source(self) -> Scenario:
        """The scenario."""
        return load(vars(self)["scenario"])

    @classmethod
    def specification(cls, scenario: str | None = None) -> dict[str, Parameter]:
        """Return all parameters, with the scenario's sizes and thresholds."""
        general = super().specification()
        if scenario is None or scenario not in general["scenario"].options:
            return general
        source = load(scenario)
        own = {"n": source.N, "epsilon_abc": source.EPSILON_ABC, "pool_size": source.POOL_SIZE}
        return {name: own.get(name, parameter) for name, parameter in general.items()}

    @classmethod
    def defaults(cls, scenario: str) -> dict[str, Any]:
        """Return the scenario's defaults for the parameters of the study."""
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
        """Refuse too much work, or more draws to keep than draws."""
        n, c, pool_size = (vars(self)[name] for name in ("n", "c", "pool_size"))
        check_work(int(np.max(n)), pool_size)
        check_accepted(int(np.max(c)), pool_size)


def names() -> list[str]:
    """List all scenarios without importing them."""
    return list(registry.scan(__name__, "SCENARIO"))


def has_several_units(scenario: Scenario) -> bool:
    """Return whether to compare errors of parameters in prior standard deviations."""
    return len(set(scenario.UNITS.values())) > 1


def axis_words(source: Scenario) -> dict[str, Any]:
    """Return how figures name a scenario's parameters and their axis, where it says so."""
    stated = {"names": "AXIS_NAMES", "x": "AXIS_TITLE"}
    return {key: getattr(source, name) for key, name in stated.items() if hasattr(source, name)}


def title(name: str) -> str:
    """Return the title of a scenario without importing it."""
    return registry.scan(__name__, "SCENARIO").title(name)


def with_feature(feature: str) -> list[str]:
    """List the scenarios that define an optional attribute, without importing them."""
    found = registry.scan(__name__, "SCENARIO")
    return [name for name in found if found.defines(name, feature)]


def load(name: str) -> Scenario:
    """Load a scenario by name.

    Raises:
        KeyError: no scenario has this name.
    """
    return cast(Scenario, registry.scan(__name__, "SCENARIO")[name])
