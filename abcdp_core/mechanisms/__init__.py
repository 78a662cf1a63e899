"""Mechanisms: the private step. Each module here is one mechanism with its variants.

:func:`every` finds them by scanning; studies, pages and labels loop over what it finds.

From public to published::

    PublicSide, options ──fit──► fitted
    PublicSide, options, fitted, Budget ──calibrate──► Event
    Prepared (all of these) ──parts──► what each part costs
    Prepared, Comparison, rng ──release──► Release

- ``fit`` computes from public data what a mechanism needs beforehand: a clipping bound, a map.
- ``calibrate`` returns an event whose cost is at most the :class:`Budget`. The event holds the
  noise scales and depends on nothing private.
- ``release`` runs once, and draws a study's noise from ``rng``; noise on a person's own data is
  drawn by :mod:`abcdp_core.release.exact_noise`. A :class:`Release` holds only what may be
  published.

A module joins by ``MECHANISMS``, a tuple of :class:`Mechanism`. It registers the cost of each new
kind of event (``@privacy.cost.register``) and, where known, its noise in words
(``privacy.noise_in_words``) and the best attack on it (``privacy.tradeoff.curve``). For studies
that need only a run it has ``calibrate``, from a budget and a sensitivity to an event, and ``run``,
from distances, an event and a generator to a release. The sparse vector's ``run`` returns a trace
as well, for teaching; a trace is never part of a release. :mod:`.thresholds` has what those with a
threshold share. Thresholds to try are the scenario's own or quantiles of simulated distances, so
no private data are read; :mod:`abcdp_core.evaluation.planning` picks the best.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from abcdp_core.base import registry, summaries
from abcdp_core.base.arrays import Array
from abcdp_core.base.parameters import ParameterError, Params
from abcdp_core.models.distances import Distance
from abcdp_core.models.simulators import Scenario
from abcdp_core.privacy import Cost, Event, NonPrivate

Measure = Literal["pure", "approximate"]


class Distances(Protocol):
    """The part of a comparison that most mechanisms read: distances ``rho (T,)`` to the pool."""

    @property
    def rho(self) -> Array: ...  # noqa: D102


@dataclass(frozen=True)
class PosteriorInfo:
    """How a posterior was made from a released vector; it follows from the vector, so it is public.

    Attributes:
        way: ``weighted``, draws with importance weights; ``moved``, nearest draws moved along a
            regression; ``kept``, nearest draws left where they are; ``exact``, independent draws
            from the exact posterior, none of them from the pool.
        importance_size: effective sample size of the importance weights; 0 if there are none.
        outside: share of the sample, by weight, outside the prior's support.
    """

    way: str
    importance_size: float
    outside: float


@dataclass(frozen=True)
class Release:
    """What may be published.

    Attributes:
        indices: kept draws of the pool ``(k,)``, in order.
        weights: of the kept draws, or of ``samples``, ``(k,)``; they add up to 1.
        stopped_at: number of draws looked at.
        event: what was done, for the accountant.
        estimate: the released value ``(d,)`` if the release is a point estimate, else ``None``.
        samples: parameters ``(k, d)`` if post-processing moved the kept draws or drew others, else
            ``None``.
        exact_mean: the posterior mean ``(d,)`` if it is known exactly, else ``None``.
        made: how a posterior was made from a released vector, else ``None``.
    """

    indices: NDArray[np.int64] = field(repr=False)
    weights: Array = field(repr=False)
    stopped_at: int
    event: Event
    estimate: Array | None = None
    samples: Array | None = field(default=None, repr=False)
    exact_mean: Array | None = None
    made: PosteriorInfo | None = None

    @classmethod
    def of_equals(cls, indices: NDArray[np.int64], stopped_at: int, event: Event) -> Release:
        """Return a release of kept draws ``(k,)`` of equal weight."""
        weights = np.full(len(indices), 1.0 / max(len(indices), 1))
        return cls(indices, weights, stopped_at, event)

    def sample(self, theta: Array) -> summaries.WeightedSample:
        """Return the weighted sample, given the parameters of the pool ``(T, d)``.

        Without any kept draw, it is that of the prior.
        """
        if not len(self.weights):
            return summaries.WeightedSample.even(theta)
        values = theta[self.indices] if self.samples is None else self.samples
        return summaries.WeightedSample(values, self.weights)

    def mean(self, theta: Array, otherwise: Array) -> Array:
        """Return the estimate ``(d,)``, or ``otherwise`` if no draw was kept."""
        for known in (self.estimate, self.exact_mean):
            if known is not None:
                return known
        return self.sample(theta).mean if len(self.weights) else otherwise


# ---------------------------------------------------------------------------------- the contract


@dataclass(frozen=True)
class Budget:
    """What one release may spend.

    Attributes:
        epsilon_total: ε, above 0; ``inf`` for no noise.
        delta: δ of approximate differential privacy; pure mechanisms ignore it.
    """

    epsilon_total: float
    delta: float = 0.0


class PublicSide(Protocol):
    """All that is public about one data set and one pool; ``pool.PublicSide`` implements it.

    Attributes:
        scenario: the scenario.
        n: number of records in the private data.
        pool_size: draws of the pool, T.
        distance: between data sets; knows its sensitivity and bound.
        theta: parameters of the pool ``(T, d)``.
        statistics: statistics of the pool ``(T, D)``; ``None`` if they were not kept.
    """

    @property
    def scenario(self) -> Scenario: ...  # noqa: D102
    @property
    def n(self) -> int: ...  # noqa: D102
    @property
    def pool_size(self) -> int: ...  # noqa: D102
    @property
    def distance(self) -> Distance: ...  # noqa: D102
    @property
    def theta(self) -> Array: ...  # noqa: D102
    @property
    def statistics(self) -> Array | None: ...  # noqa: D102

    def __hash__(self) -> int: ...

    def summaries(self, name: str) -> Array:
        """Return the statistic's numbers ``(T, k)`` for each data set of the pool."""

    def simulated(self, index: int) -> Distances:
        """Return the comparison of the ``index``-th simulated data set with the same pool."""


@dataclass(frozen=True)
class Part:
    """What one part of a release costs.

    Attributes:
        part: what it is, in words.
        count: how many there are.
        noise_scale: of its noise, in the unit of the distance or of what is released.
        cost: how far one person can move it, in units of its noise; or its share of ε.
        measure: ``ε`` for Laplace-like noise, ``μ`` for Gaussian noise (MATH W3).
    """

    part: str
    count: int
    noise_scale: float
    cost: float
    measure: str


def nothing(public: PublicSide, options: Params) -> None:
    """Fit nothing: the default of mechanisms that need nothing beforehand."""


def no_grid(public: PublicSide) -> Mapping[str, tuple[float, ...]]:
    """Return the empty grid of a mechanism with nothing to tune."""
    return {}


def any_scenario(scenario: Scenario) -> str:
    """Return no reason to refuse: the default of mechanisms that serve every scenario."""
    return ""


def data_points(scenario: Scenario) -> tuple[str, str]:
    """Return protected unit and neighbors for mechanisms that read distances of data sets."""
    return scenario.protected, scenario.neighbours


def any_pool(scenario: Scenario) -> int:
    """Return 1: the default of mechanisms that work with a pool of any size."""
    return 1


@dataclass(frozen=True)
class Mechanism:
    """One way to answer from private data.

    Attributes:
        name: by which it is chosen; lower case with hyphens.
        title: the name in words.
        description: one sentence: what is released, and what is paid for.
        source: paper and theorem, or ``ours``.
        options: options besides the budget, at their defaults.
        takes: names of the options that studies set; the others define the variant.
        accountants: accountant -> kind of guarantee; the first is the default.
        calibrate: public side, options, fitted, finite budget, accountant -> event.
        release: prepared, comparison, generator -> release. The only function that is given private
            data.
        parts: prepared -> what its parts cost; the first part's noise identifies the mechanism.
        fit: public side, options -> what the mechanism needs to know beforehand.
        grid: public side -> option -> public values from which a study picks the best.
        refuses: scenario -> why it cannot be served, a sentence; empty if it can.
        protects: scenario -> protected unit, and how neighboring data sets differ in it.
        minimum_pool: scenario -> smallest pool whose draws a regression moves.
        noise_needs_fitted: whether ``calibrate`` needs what was fitted. If not, it takes ``None``
            and assumes the worst, so that accountants can be compared without a pool.
        sample: whether it releases draws, of which intervals can be made, and not only a value.
        shown_in: studies that show it by default.
    """

    name: str
    title: str
    description: str
    source: str
    options: Params
    takes: tuple[str, ...]
    accountants: Mapping[str, Measure]
    calibrate: Callable[[PublicSide, Any, Any, Budget, str], Event]
    release: Callable[[Prepared, Any, np.random.Generator], Release]
    parts: Callable[[Prepared], tuple[Part, ...]]
    fit: Callable[[PublicSide, Any], Any] = nothing
    grid: Callable[[PublicSide], Mapping[str, tuple[float, ...]]] = no_grid
    refuses: Callable[[Any], str] = any_scenario
    protects: Callable[[Any], tuple[str, str]] = data_points
    minimum_pool: Callable[[Any], int] = any_pool
    noise_needs_fitted: bool = True
    sample: bool = True
    shown_in: tuple[str, ...] = ("compare-mechanisms", "coverage", "accounting")

    @staticmethod
    def with_delta(*names: str) -> dict[str, Measure]:
        """Return accountants of approximate guarantees."""
        return dict.fromkeys(names, "approximate")

    @property
    def accountant(self) -> str:
        """The default accountant."""
        return next(iter(self.accountants))

    @property
    def measure(self) -> Measure:
        """Kind of guarantee: ``pure``, or ``approximate`` with a δ above 0."""
        return self.accountants[self.accountant]

    def chosen(self, **given: Any) -> Params:
        """Return the options with those of the given values that this mechanism takes."""
        taken = {name: value for name, value in given.items() if name in self.takes}
        return dataclasses.replace(self.options, **taken)

    def prepare(self, public: PublicSide, options: Params, budget: Budget) -> Prepared:
        """Prepare a release before anyone looks at the data.

        Args:
            public: size of the data, and the pool.
            options: of this mechanism, as from :meth:`chosen`.
            budget: of one release; with an infinite ε_total there is no noise.
        """
        fitted = self.fit(public, options)
        event: Event = NonPrivate()
        if not math.isinf(budget.epsilon_total):
            event = self.calibrate(public, options, fitted, budget, self.accountant)
        return Prepared(self, public, options, fitted, event)

    def spends(self, budget: Budget) -> Cost:
        """Return the most that a release within a budget can cost."""
        return Cost(budget.epsilon_total, budget.delta if self.measure == "approximate" else 0.0)


@dataclass(frozen=True)
class Prepared:
    """A release before anyone looks at the data; all of it is public.

    Attributes:
        mechanism: the mechanism.
        public: what is known of data and pool.
        options: what was chosen.
        fitted: what the mechanism took from the pool.
        event: what will be done, with its noise scales.
    """

    mechanism: Mechanism = field(repr=False)
    public: PublicSide
    options: Any
    fitted: Any = field(repr=False)
    event: Event

    def release(self, comparison: Any, rng: np.random.Generator) -> Release:
        """Release once from a comparison with the pool; every call costs what the event costs."""
        return self.mechanism.release(self, comparison, rng)


def every() -> dict[str, Mechanism]:
    """Return all mechanisms by name, published ones first, then in the order of names.

    Raises:
        ValueError: two have the same name.
    """
    mechanisms: dict[str, Mechanism] = {}
    for module in registry.modules(__name__, "MECHANISMS"):
        for mechanism in module.MECHANISMS:
            if mechanisms.setdefault(mechanism.name, mechanism) is not mechanism:
                raise ValueError(f"two mechanisms are called {mechanism.name!r}.")
    return dict(sorted(mechanisms.items(), key=lambda item: (item[1].source, item[0])))


def names() -> list[str]:
    """Return the names of all mechanisms."""
    return list(every())


def load(name: str) -> Mechanism:
    """Return the mechanism called ``name``.

    Raises:
        ParameterError: there is none of that name.
    """
    mechanisms = every()
    if name not in mechanisms:
        raise ParameterError(f"mechanism = {name}: must be one of {', '.join(mechanisms)}.")
    return mechanisms[name]


def for_scenario(scenario: Scenario) -> dict[str, Mechanism]:
    """Return the mechanisms that can serve a scenario."""
    return {name: each for name, each in every().items() if not each.refuses(scenario)}
