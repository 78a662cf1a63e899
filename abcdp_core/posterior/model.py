"""A model: a prior, and a simulator of the released numbers before noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abcdp_core.posterior.priors import Prior

Array = NDArray[np.float64]


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
    """

    parameters: tuple[str, ...]
    numbers: tuple[str, ...]
    prior: Prior
    simulate: Callable[[np.random.Generator, Array], Array]
    chunk: int = 5000
    is_series: bool = False
    again: tuple[Callable[..., Any], tuple[Any, ...]] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how it is made again, or itself."""
        return self.again or (_made, (type(self), vars(self)))


def _made(kind: type[Model], fields: dict[str, Any]) -> Model:
    return kind(**fields)
