"""Mechanisms: the private step. One mechanism, with its variants, is one module here.

Everything about it is in its file, and :func:`every` finds it by scanning: comparison, accounting,
coverage, posterior, pages and labels loop over what is found, so a new file needs no other edit.

What flows, from public to published::

    PublicSide, options ──learn──► learnt
    PublicSide, options, learnt, Budget ──calibrate──► Event
    Prepared (all of these) ──parts──► what each part costs
    Prepared, Comparison, rng ──release──► Release, Trace

- `PublicSide` is all that is public about one data set against one pool; ``learn`` takes from it
  what a mechanism has to know beforehand: a clip bound, a linear map, an order.
- ``calibrate`` gives the event whose cost is at most the :class:`Budget`, never more; the event
  holds the noise scales and depends on nothing private.
- ``release`` runs once. A :class:`Release` holds only what may be published; a trace is for
  teaching and is never part of a release.

A module joins by ``MECHANISMS``, a tuple of :class:`Mechanism`, and registers the cost of a kind of
event that is new, by ``@privacy.cost.register``; if more is known, its noise in words
(``privacy.noise_in_words``) and what the best attacker gets (``privacy.tradeoff.curve``) too.
Beside the contract a file has two functions with numbers, for studies that need only a run:
``calibrate``, budget and sensitivity -> event; ``run``, distances, event, rng -> release, trace.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from abcdp_core import registry, summaries
from abcdp_core.distances import Distance
from abcdp_core.parameters import ParameterError, Params
from abcdp_core.privacy import Cost, Event, NonPrivate
from abcdp_core.statistic import Statistic
from abcdp_core.transforms import Bijector

Array = NDArray[np.float64]
Measure = Literal["pure", "approximate"]


class Distances(Protocol):
    """The part of a comparison that accept-or-reject mechanisms read: ``rho (T,)``."""

    @property
    def rho(self) -> Array:
        """Distances of the data to each draw of the pool."""
        ...


@dataclass(frozen=True)
class PosteriorInfo:
    """How a posterior was made from a released vector; it follows from that, so it is public too.

    Attributes:
        way: ``weighted``, draws with importance weights; ``moved``, nearest draws moved along a
            regression; ``kept``, nearest draws left where they are; ``exact``, independent draws
            from a posterior that is known, and none of the pool.
        importance_size: effective sample size of the importance weights; 0 where there are none.
        outside: share of the sample, by weight, outside the prior's support.
    """

    way: str
    importance_size: float
    outside: float


@dataclass(frozen=True)
class Release:
    """What may be published.

    Attributes:
        indices: accepted draws of the pool ``(k,)``, in order.
        weights: of those draws, or of the samples that stand for them, ``(k,)``; they sum to 1 and
            are equal for accept-or-reject.
        stopped_at: number of draws looked at; the run's length.
        event: what was done, for the accountant.
        estimate: a released value ``(d,)`` where the release is one, else ``None``.
        samples: parameters ``(k, d)`` that stand for the accepted draws where post-processing moved
            them, or where none of the pool are needed, else ``None``.
        exact_mean: of the posterior ``(d,)`` where that is known and not only a sample of it.
        made: how, of a posterior made from a released vector, else ``None``.
    """

    indices: NDArray[np.int64] = field(repr=False)
    weights: Array = field(repr=False)
    stopped_at: int
    event: Event
    estimate: Array | None = None
    samples: Array | None = field(default=None, repr=False)
    exact_mean: Array | None = None
    made: PosteriorInfo | None = None

    def parameters(self, theta: Array) -> Array:
        """The weighted sample ``(k, d)``: draws of the pool ``(T, d)``, moved if they were."""
        return theta[self.indices] if self.samples is None else self.samples

    def mean(self, theta: Array, otherwise: Array) -> Array:
        """The mean ``(d,)`` that the release stands for, ``otherwise`` if nothing was accepted."""
        for known in (self.estimate, self.exact_mean):
            if known is not None:
                return known
        sample = self.parameters(theta)
        return summaries.weighted_mean(sample, self.weights) if len(sample) else otherwise


# ---------------------------------------------------------------------------------- the contract


@dataclass(frozen=True)
class Budget:
    """What may be spent on one release.

    Attributes:
        epsilon_total: ε, above 0; ``inf`` for no noise.
        delta: δ of approximate differential privacy; a pure mechanism takes no notice of it.
    """

    epsilon_total: float
    delta: float = 0.0


class PublicSide(Protocol):
    """All that is public about one data set against one pool; ``pool.PublicSide`` is one.

    Attributes:
        scenario: the module of the scenario.
        n: points of the private data.
        pool_size: draws of the pool, T.
        distance: between data sets; knows sensitivity and bound.
        support: where the prior's draws can lie.
        theta: parameters of the pool ``(T, d)``.
        statistics: statistics of the pool ``(T, D)``; ``None`` where they were not kept.
    """

    @property
    def scenario(self) -> Any: ...  # noqa: D102
    @property
    def n(self) -> int: ...  # noqa: D102
    @property
    def pool_size(self) -> int: ...  # noqa: D102
    @property
    def distance(self) -> Distance: ...  # noqa: D102
    @property
    def support(self) -> Bijector: ...  # noqa: D102
    @property
    def theta(self) -> Array: ...  # noqa: D102
    @property
    def statistics(self) -> Array | None: ...  # noqa: D102

    def __hash__(self) -> int: ...

    def statistic(self, name: str) -> Statistic:
        """What one unit is in one of the scenario's ``STATISTICS``, and how far it moves it."""
        ...

    def summaries(self, name: str) -> Array:
        """Its numbers ``(T, k)`` of each data set of the pool."""
        ...

    def simulated(self, index: int) -> Distances:
        """The ``index``-th data set simulated from a prior draw, against the same pool."""
        ...


@dataclass(frozen=True)
class Part:
    """What one part of a release costs.

    Attributes:
        part: what it is, in words.
        count: how many there are.
        noise_scale: of the noise on it, in the unit of the distance or of what is released.
        cost: the most that one person can move it, in units of its noise; or its share of ε.
        measure: ``ε`` of Laplace-like noise, ``μ`` of Gaussian noise (MATH W3).
    """

    part: str
    count: int
    noise_scale: float
    cost: float
    measure: str


def nothing(public: PublicSide, options: Params) -> None:
    """What a mechanism learns that needs to know nothing beforehand."""


def no_grid(public: PublicSide) -> Mapping[str, tuple[float, ...]]:
    """The grid of a mechanism that has nothing to choose."""
    return {}


def any_scenario(scenario: Any) -> str:
    """What keeps a mechanism that serves every scenario from serving one."""
    return ""


def data_points(scenario: Any) -> tuple[str, str]:
    """Unit and neighbours of a mechanism that reads distances between data sets."""
    return scenario.PROTECTED, getattr(scenario, "NEIGHBOURS", "replace")


def any_pool(scenario: Any) -> int:
    """The smallest pool of a mechanism that any will do for."""
    return 1


@dataclass(frozen=True)
class Mechanism:
    """One way to answer from private data, whole.

    Attributes:
        name: by which it is chosen; lower case with hyphens.
        title: the name in words.
        description: one sentence: what is released, and what is paid for.
        source: where it comes from: paper and theorem, or ``ours``.
        options: what a person may choose besides the budget, at its defaults: a frozen dataclass
            whose fields are Parameters.
        takes: names of the options that are for studies to set; the others make the variant.
        accountants: who does the sums -> the measure of what is guaranteed then; the first is used.
        calibrate: public side, options, what was learnt, finite budget, accountant -> event.
        release: what was prepared, comparison, source of chance -> release, trace. The only
            function that is given private data.
        parts: what was prepared -> what its parts cost; the mechanism is set by the noise of the
            first.
        learn: public side, options -> what it needs to know; anything.
        grid: public side -> option -> values among which a study chooses the best public one.
        refuses: scenario -> why it cannot serve that, a sentence; empty if it can.
        protects: scenario -> what one unit is, and how neighbouring data sets differ in it.
        minimum_pool: scenario -> fewest draws of a pool that are moved by a regression; from a
            smaller one they stay.
        noise_needs_learnt: whether ``calibrate`` has to be given what was learnt; if not, it takes
            ``None`` and assumes the most, so that accountants are compared without a pool.
        sample: whether it releases draws of which intervals can be made, and not only a value.
        shown_in: studies that show it although nobody named it.
    """

    name: str
    title: str
    description: str
    source: str
    options: Params
    takes: tuple[str, ...]
    accountants: Mapping[str, Measure]
    calibrate: Callable[[PublicSide, Any, Any, Budget, str], Event]
    release: Callable[[Prepared, Any, np.random.Generator], tuple[Release, Any]]
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
        """Accountants of approximate guarantees."""
        return dict.fromkeys(names, "approximate")

    @property
    def accountant(self) -> str:
        """Who does the sums unless another one is asked for."""
        return next(iter(self.accountants))

    @property
    def measure(self) -> Measure:
        """``pure``, or ``approximate``: with a δ above 0."""
        return self.accountants[self.accountant]

    def chosen(self, **given: Any) -> Params:
        """The options with those of the given values that this mechanism takes."""
        taken = {name: value for name, value in given.items() if name in self.takes}
        return dataclasses.replace(self.options, **taken)

    def prepare(self, public: PublicSide, options: Params, budget: Budget) -> Prepared:
        """All that is done before the data are looked at.

        Args:
            public: size of the data, and the pool.
            options: this mechanism's, such as :meth:`chosen` gives.
            budget: of one release; with an infinite ε_total there is no noise.
        """
        fitted = self.fit(public, options)
        bare = math.isinf(budget.epsilon_total)
        event: Event = NonPrivate()
        if not bare:
            event = self.calibrate(public, options, fitted, budget, self.accountant)
        return Prepared(self, public, options, fitted, event)

    def spends(self, budget: Budget) -> Cost:
        """What a release within a budget may cost at most."""
        return Cost(budget.epsilon_total, budget.delta if self.measure == "approximate" else 0.0)


@dataclass(frozen=True)
class Prepared:
    """A release before the data are looked at; all of it is public.

    Attributes:
        mechanism: which.
        public: what is known of data and pool.
        options: what was chosen.
        learnt: what the mechanism learnt from the pool.
        event: what will be done, with its noise scales.
    """

    mechanism: Mechanism = field(repr=False)
    public: PublicSide
    options: Any
    fitted: Any = field(repr=False)
    event: Event

    def release(self, comparison: Any, rng: np.random.Generator) -> Release:
        """Release once; every call costs what the event costs.

        Args:
            comparison: of the data with the pool of the public side.
            rng: source of all noise.
        """
        return self.mechanism.release(self, comparison, rng)[0]


def every() -> dict[str, Mechanism]:
    """Name -> mechanism, of all there are: published ones first, then in the order of names.

    Raises:
        ValueError: two go by the same name.
    """
    found: dict[str, Mechanism] = {}
    for module in registry.modules(__name__, "MECHANISMS"):
        for mechanism in module.MECHANISMS:
            if found.setdefault(mechanism.name, mechanism) is not mechanism:
                raise ValueError(f"two mechanisms are called {mechanism.name!r}.")
    return dict(sorted(found.items(), key=lambda item: (item[1].source, item[0])))


def names() -> list[str]:
    """Names of all mechanisms."""
    return list(every())


def load(name: str) -> Mechanism:
    """The mechanism called ``name``.

    Raises:
        ParameterError: there is none of that name.
    """
    found = every()
    if name not in found:
        raise ParameterError(f"mechanism = {name}: must be one of {', '.join(found)}.")
    return found[name]


def for_scenario(scenario: Any) -> dict[str, Mechanism]:
    """Those that can serve a scenario."""
    return {name: each for name, each in every().items() if not each.refuses(scenario)}
