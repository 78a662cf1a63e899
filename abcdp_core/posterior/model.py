"""What the engine needs of a model: its prior, and a simulator of the numbers that were released.

A draw is simulated once, ``x -> numbers``; all that is private stays outside.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from abcdp_core.posterior.priors import Prior

Array = NDArray[np.float64]


class Model(Protocol):
    """A prior and a simulator; can be sent to workers."""

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
        """Draws that are simulated in one go, of a fraction of a second."""
        ...

    @property
    def prior(self) -> Prior:
        """Of the parameters, with the scale x on which draws are proposed."""
        ...

    def simulate(self, rng: np.random.Generator, theta: Array) -> Array:
        """Numbers ``(m, k)`` of data sets at parameters ``(m, p)``; NaN where that fails."""
        ...
