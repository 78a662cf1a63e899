"""Mechanisms: the private step. One mechanism is one module here, found by scanning.

Each has ``release(comparison, setting, rng) -> (Release, Trace)``. A :class:`Release` holds only
what may be published; a ``Trace`` is for teaching and is never part of a release.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from abcdp_core import registry, summaries
from abcdp_core.privacy import Event

Array = NDArray[np.float64]


class Distances(Protocol):
    """The part of a comparison that accept-or-reject mechanisms read: ``rho (T,)``."""

    @property
    def rho(self) -> Array:
        """Distances of the data to each draw of the pool."""
        ...


@dataclass(frozen=True)
class Ordered:
    """Distances ``(T,)`` alone, in the order in which a run meets them."""

    rho: Array = field(repr=False)


@dataclass(frozen=True)
class Made:
    """How a posterior was made from a released vector; it follows from that, so it is public too.

    Attributes:
        way: ``weighted``, draws with importance weights; ``moved``, nearest draws moved along a
            regression; ``kept``, nearest draws left where they are.
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
        weights: of those draws ``(k,)``, summing to 1; equal for accept-or-reject.
        stopped_at: number of draws looked at; the run's length.
        event: what was done, for the accountant.
        estimate: a released value ``(d,)`` where the release is one, else ``None``.
        samples: parameters ``(k, d)`` that stand for the accepted draws where post-processing moved
            them, else ``None``.
        made: how, of a posterior made from a released vector, else ``None``.
    """

    indices: NDArray[np.int64] = field(repr=False)
    weights: Array = field(repr=False)
    stopped_at: int
    event: Event
    estimate: Array | None = None
    samples: Array | None = field(default=None, repr=False)
    made: Made | None = None

    def parameters(self, theta: Array) -> Array:
        """The weighted sample ``(k, d)``: draws of the pool ``(T, d)``, moved if they were."""
        return theta[self.indices] if self.samples is None else self.samples

    def mean(self, theta: Array, otherwise: Array) -> Array:
        """The mean ``(d,)`` that the release stands for, ``otherwise`` if nothing was accepted."""
        if self.estimate is not None:
            return self.estimate
        sample = self.parameters(theta)
        return summaries.weighted_mean(sample, self.weights) if len(sample) else otherwise


def names() -> list[str]:
    """Names of all mechanisms; imports none of them."""
    return list(registry.scan(__name__, "MECHANISM"))
