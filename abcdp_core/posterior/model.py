"""A model: a prior, and a simulator of the released numbers before noise."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from abcdp_core.base.arrays import Array
from abcdp_core.base.parameters import ParameterError
from abcdp_core.base.streams import generator
from abcdp_core.models.priors import Edges, Prior

Output = Callable[[Array], Array]


@dataclass(frozen=True)
class Records:
    """How numbers are sums over n records, for data augmentation (MATH E11).

    Attributes:
        draw: records ``(n, d)`` from a generator and parameters ``(p,)``.
        contributions: of records ``(n, d)`` to the numbers ``(n, k)``, each from its record alone.
        statistics: what the density needs of records ``(n, d)``, such as sums.
        log_density: of all records, up to a constant, from parameters ``(p,)`` and the statistics.
    """

    draw: Callable[[np.random.Generator, Array], Array]
    contributions: Callable[[Array], Array]
    statistics: Callable[[Array], Any]
    log_density: Callable[[Array, Any], float]


@dataclass(frozen=True)
class Model:
    """A prior and a simulator, sent to workers.

    Attributes:
        parameters: names of the p parameters.
        numbers: names of the k numbers.
        prior: of the parameters, with the scale x used for proposals.
        simulate: numbers ``(m, k)`` of data sets simulated at parameters ``(m, p)``, one each; NaN
            where simulation fails.
        chunk: draws simulated at a time, in a fraction of a second.
        is_series: whether the numbers are a time series.
        again: function and arguments that make it on a worker, where its prior cannot be sent.
        report: name -> further output ``(m,)`` of parameters ``(m, p)``; all outputs are the
            parameters and these.
        without_variance: outputs whose prior has no variance, besides those whose law says so.
        records: how the numbers are sums over records, if they are.
    """

    parameters: tuple[str, ...]
    numbers: tuple[str, ...]
    prior: Prior
    simulate: Callable[[np.random.Generator, Array], Array]
    chunk: int = 5000
    is_series: bool = False
    again: tuple[Callable[..., Any], tuple[Any, ...]] | None = None
    report: Mapping[str, Output] = field(default_factory=dict)
    without_variance: tuple[str, ...] = ()
    records: Records | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how it is made again, or itself without the outputs, which no worker computes."""
        return self.again or (_made, (type(self), vars(self) | {"report": {}}))

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the parameters and of the further outputs."""
        return (*self.parameters, *self.report)

    @property
    def scale(self) -> Prior | Reported:
        """From x to all outputs."""
        return Reported(self.prior, self.report) if self.report else self.prior

    @property
    def heavy(self) -> tuple[int, ...]:
        """Places of the outputs whose prior has no variance."""
        laws = [law for each in self.prior.laws for law in each.marginals]
        known = {place for place, law in enumerate(laws) if not law.has_variance}
        return tuple(sorted(known | {self.outputs.index(name) for name in self.without_variance}))


@dataclass(frozen=True)
class Reported:
    """A prior's scale x, from which further outputs are computed too."""

    prior: Prior
    report: Mapping[str, Output]

    @property
    def edges(self) -> tuple[Edges, ...]:
        """Ends of each parameter that has a coordinate of its own."""
        return self.prior.edges

    def theta(self, x: Array) -> Array:
        """Return all outputs ``(m, p + q)`` at ``x (m, d)``.

        Raises:
            ParameterError: one is not a finite number for each draw.
        """
        theta = self.prior.theta(x)
        columns = [theta]
        for name, output in self.report.items():
            column = np.asarray(output(theta), dtype=np.float64)
            if column.shape != (len(theta),) or not np.isfinite(column).all():
                raise ParameterError(f"report {name}: must give a finite number for each draw.")
            columns.append(column[:, None])
        return np.hstack(columns)


def _made(kind: type[Model], fields: dict[str, Any]) -> Model:
    return kind(**fields)


TIMED, ENOUGH = 50, 0.5
"""Most simulations that are timed, and the seconds that they may take."""


def seconds_of_one(model: Model, seed: int) -> float:
    """Return the seconds that one simulation takes here."""
    rng, done = generator(seed, "timed"), 0
    theta = model.prior.theta(model.prior.draw(rng, TIMED))
    model.simulate(rng, theta[:1])  # the first call may compile
    began = time.perf_counter()
    while done < TIMED and (done == 0 or time.perf_counter() - began < ENOUGH):
        more = theta[done : 2 * done + 1]
        model.simulate(rng, more)
        done += len(more)
    return (time.perf_counter() - began) / done
