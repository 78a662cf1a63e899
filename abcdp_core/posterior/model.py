"""Interface of a model: a prior, and a simulator of the released numbers before noise."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from abcdp_core.posterior.priors import Prior

Array = NDArray[np.float64]


class Model(Protocol):
    """A prior and a simulator that can be sent to workers."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the p parameters."""
        ...

    @property
    def numbers(self) -> tuple[str, ...]:
        """Names of the k numbers."""
        ...

    @property
    def chunk(self) -> int:
        """Number of draws simulated at a time, in a fraction of a second."""
        ...

    @property
    def prior(self) -> Prior:
        """Prior of the parameters, with the scale x used for proposals."""
        ...

    def simulate(self, rng: np.random.Generator, theta: Array) -> Array:
        """Simulate numbers ``(m, k)`` at parameters ``(m, p)``; NaN where simulation fails."""
        ...
