"""Scenarios, one module each, found by scanning.

A scenario is public: the unit of privacy, the prior, the simulator and the distance.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from abcdp_core.base import registry
from abcdp_core.base.arrays import Array
from abcdp_core.base.parameters import Parameter, Params, check_accepted, check_work
from abcdp_core.base.statistic import (
    DirichletCounts,
    Neighbours,
    Quantity,
    Statistic,
    TailProbability,
)
from abcdp_core.base.transforms import ALL_REALS, Bijector
from abcdp_core.models.distances import Distance

if TYPE_CHECKING:
    from abcdp_core.models.priors import Prior

Reducer = Callable[[np.random.Generator, Array, int], tuple[Array, dict[str, Array]]]


@dataclass(frozen=True)
class Later:
    """A field of a scenario that is computed on first use; all processes get the same value."""

    compute: Callable[[], Any]


def _none() -> None:
    """Return a default that, unlike a class attribute, does not hide what is computed later."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Scenario:
    """Contract of a scenario; its module ends with ``SCENARIO = Scenario(...)``.

    Workers get its name and look it up. Where data points, parameters and draws are arrays, ``n``
    counts points of ``p`` numbers, ``d`` parameters, and ``T`` or ``k`` draws.

    Attributes:
        module: full name of the module that states it, under which results are cached.
        name: name in links, commands and records; like the title, a plain text.
        title: name in words.
        protected: the unit whose privacy is protected.
        neighbours: ``add-remove`` if a unit is added or removed; otherwise one is replaced.
        coordinates: names of the p numbers of a data point.
        axes: parameter name -> (lowest, highest) value on an axis, for d parameters.
        units: parameter name -> unit, or an empty text.
        axis_names, axis_title: parameter -> name of its row in a figure; title of their axis.
        truth: parameters ``(d,)`` of the observed data; ``None`` if unknown.
        prior_mean: mean of the prior ``(d,)``.
        prior_law: density of the prior, for numbers that are released.
        support: the support of the prior.
        domain: public lowest and highest value of a data point.
        observed: published data ``(n, p)``; ``None`` if data are simulated at the truth.
        published: source of the published data, for a figure.
        is_series: whether the numbers that are released are a series in time.
        n, n_default: allowed sizes of a data set, as a parameter with ascending options.
        epsilon_abc, epsilon_abc_default: the threshold.
        c_default: draws to keep.
        pool_size, pool_size_default: draws in the pool.
        thresholds, temperatures: values that mechanisms try, if they are the scenario's own.
        distances: names of its distances, the default one first.
        bandwidth: default bandwidth of their kernel; ``None`` without a kernel.
        distance_axis: largest distance on an axis.
        statistics: name -> numbers to be released, with their unit and sensitivity, the
            default first. Several may state the same numbers for other units.
        conjugate: for a known likelihood.
        model: :class:`~abcdp_core.models.own_model.Model` of one's own from which it is made;
            that part makes scenarios, so its types are not imported here.
        prior: draws parameters ``(k, d)`` from a generator and k.
        simulate: simulates data ``(k, n, p)`` from a generator, parameters ``(k, d)`` and n.
        distance: returns a distance between data sets from a bandwidth and a name, by default the
            first with its own bandwidth.
        precomputed_pool, from_numbers: for a shipped pool, which serves every seed and run: from
            its size, parameters ``(T, d)`` and numbers ``(T, k)``; and from these, statistics
            ``(T, D)`` of the distance and name -> numbers of each of ``statistics``.
        precomputed, precomputed_data: if simulating takes minutes: from size of the pool, n and
            run, parameters ``(T, d)`` of a shipped pool with the distances ``(T,)`` of an observed
            data set from it; and from n and run that data set ``(n, p)``.
        reduced: from a generator, parameters ``(k, d)`` and n, statistics ``(k, D)`` of the default
            distance and name -> numbers of each of ``statistics``, for simulated data sets, in a
            time that does not grow with n.
        failed: from simulated data sets ``(k, n, p)``, which failed, ``(k,)``; they are excluded.

        from_series: numbers ``(n,)`` in the domain as data points ``(n, p)``; ``None`` if the
            scenario takes no data of a person's own. The following are for such data.
        own_parameters: from the domain's ends and n, name, unit, shift and scale of each parameter
            in the scale of the data.
        own_sizes: smallest and largest number of rows. A single size means that the number of rows
            is private, and the table is filled up with rows of 0.
        own_model: a sentence on the model of the data.
        own_columns: columns of an uploaded file, names of :mod:`~abcdp_core.release.columns`.
        own_rows: a word for rows, where their number is public.
        own_data, own_hidden, own_repeated: the data, with ``{n}`` rows; what of their size is
            protected; and whose protection is weaker.
        own_names: parameter name -> name in words.
        own_quantities, own_questions: further results (:mod:`abcdp_core.base.statistic`).
        own_headline, own_finding: name of the first result, and a sentence on its interval from
            ``{low}`` to ``{high}``.
        own_jagged: what a series is that jumps more than the model's; empty if nobody looks.
        own_table: how a table of records is read and reduced, for models and pools of one's own
            (:class:`~abcdp_core.models.own_model.lattice.Table`).
    """

    module: str
    name: str
    title: str
    protected: str
    neighbours: Neighbours = "replace"
    coordinates: tuple[str, ...]
    axes: Mapping[str, tuple[float, float]]
    units: Mapping[str, str]
    axis_names: Mapping[str, str] = field(default_factory=dict)
    axis_title: str = ""
    truth: Array | None = field(default_factory=_none)
    prior_mean: Array
    prior_law: Prior | None = field(default_factory=_none)
    support: Bijector = ALL_REALS
    domain: tuple[float, float]
    observed: Array | None = None
    published: str = "published data"
    is_series: bool = False
    n: Parameter
    n_default: int
    epsilon_abc: Parameter
    epsilon_abc_default: float
    c_default: int
    pool_size: Parameter
    pool_size_default: int
    thresholds: tuple[float, ...] = ()
    temperatures: tuple[float, ...] = ()
    distances: tuple[str, ...]
    bandwidth: float | None = field(default_factory=_none)
    distance_axis: float
    statistics: Mapping[str, Statistic] = field(default_factory=dict)
    conjugate: DirichletCounts | None = None
    model: Any = None

    prior: Callable[[np.random.Generator, int], Array]
    simulate: Callable[[np.random.Generator, Array, int], Array]
    distance: Callable[..., Distance]
    precomputed_pool: Callable[[int], tuple[Array, Array]] | None = None
    from_numbers: Callable[[Array], tuple[Array, dict[str, Array]]] | None = None
    precomputed: Callable[[int, int, int], tuple[Array, Array]] | None = None
    precomputed_data: Callable[[int, int], Array] | None = None
    reduced: Reducer | None = None
    failed: Callable[[Array], NDArray[np.bool_]] | None = None

    from_series: Callable[[Array], Array] | None = None
    own_parameters: Callable[[float, float, int], Any] | None = None
    own_sizes: tuple[int, int] = (0, 0)
    own_model: str = ""
    own_columns: tuple[str, ...] = ("values",)
    own_rows: str = "values"
    own_data: str = ""
    own_hidden: str = ""
    own_repeated: str = ""
    own_names: Mapping[str, str] = field(default_factory=dict)
    own_quantities: tuple[Quantity, ...] = ()
    own_questions: tuple[TailProbability, ...] = ()
    own_headline: str = ""
    own_finding: str = ""
    own_jagged: str = ""
    own_table: Any = None

    def __post_init__(self) -> None:
        """Leave out what is computed later."""
        late = {name: value for name, value in vars(self).items() if isinstance(value, Later)}
        for name in late:
            del vars(self)[name]
        vars(self)["_late"] = late

    if not TYPE_CHECKING:  # An unknown attribute is an error to the type checker.

        def __getattr__(self, name: str) -> Any:
            """Compute a field on first use and keep it; plug-ins may use the former names."""
            if name.isupper():
                new = {"SCENARIO": "name", "PRIOR": "prior_law"}.get(name, name.lower())
                return getattr(self, new)
            late = vars(self).get("_late", {})
            if name not in late:
                raise AttributeError(f"a scenario has no {name}.")
            return vars(self).setdefault(name, late[name].compute())

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the name."""
        return load, (self.name,)


OLD = {"module": "__name__", "name": "SCENARIO", "prior_law": "PRIOR"} | {
    name: name
    for name in ("prior", "simulate", "distance", "precomputed_pool", "from_numbers", "precomputed",
                 "precomputed_data", "reduced", "failed", "from_series", "own_parameters")
}  # fmt: skip
"""Field -> its name in a module of the former contract; others are in upper case there."""


def _old(name: str) -> str:
    return OLD.get(name, name.upper())


@functools.cache
def of_module(module: ModuleType) -> Scenario:
    """Return the scenario of a module of the former contract.

    Such modules, still written by authors of plug-ins, state ``SCENARIO = "name"`` and the other
    fields as constants in upper case and as functions.

    Raises:
        ValueError: the module lacks something.
    """
    every = {_old(each.name): each for each in dataclasses.fields(Scenario)}
    has = {old: value for old, value in vars(module).items() if old in every}
    needed = [old for old, each in every.items() if each.default is each.default_factory]
    if lacking := [old for old in needed if old not in has]:
        raise ValueError(f"{module.__name__} lacks {', '.join(lacking)}.")
    stated = {every[old].name: value for old, value in has.items()}
    return Scenario(**stated)


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
        return chosen, np.empty((0, n, len(source.coordinates)))
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
        own = {"n": source.n, "epsilon_abc": source.epsilon_abc, "pool_size": source.pool_size}
        return {name: own.get(name, parameter) for name, parameter in general.items()}

    @classmethod
    def defaults(cls, scenario: str) -> dict[str, Any]:
        """Return the scenario's defaults for the parameters of the study."""
        source = load(scenario)
        own = {
            "n": source.n_default,
            "epsilon_abc": source.epsilon_abc_default,
            "c": source.c_default,
            "pool_size": source.pool_size_default,
            "bandwidth": source.bandwidth,
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
    return len(set(scenario.units.values())) > 1


def axis_words(source: Scenario) -> dict[str, Any]:
    """Return how figures name a scenario's parameters and their axis, where it says so."""
    stated = {"names": source.axis_names, "x": source.axis_title}
    return {key: words for key, words in stated.items() if words}


def title(name: str) -> str:
    """Return the title of a scenario without importing it."""
    return registry.scan(__name__, "SCENARIO").title(name)


def with_feature(feature: str) -> list[str]:
    """List the scenarios that state an optional field, without importing them."""
    scanned = registry.scan(__name__, "SCENARIO")
    return [name for name in scanned if scanned.defines(name, _old(feature))]


def load(name: str) -> Scenario:
    """Load a scenario by name.

    Raises:
        KeyError: no scenario has this name.
        ValueError: a plug-in lacks something.
    """
    plug_in = registry.scan(__name__, "SCENARIO")[name]
    stated = plug_in if isinstance(plug_in, Scenario) else plug_in.SCENARIO
    return stated if isinstance(stated, Scenario) else of_module(plug_in)
