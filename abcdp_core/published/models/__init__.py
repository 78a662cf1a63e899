"""Find models of published queries: prior, simulator, summary; each is one module.

A module defines its name, ``PUBLISHED_MODEL``, as a plain string, and ``MODEL``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from abcdp_core import registry
from abcdp_core.posterior.priors import Prior

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Model:
    """A prior and a simulator of the released numbers before noise.

    Attributes:
        title: in words.
        parameters: names of the d parameters.
        numbers: names of the k numbers of the summary.
        prior: of the parameters.
        simulate: summaries ``(m, k)`` of data sets simulated at parameters ``(m, d)``, one each.
        chunk: draws to simulate at once, in a fraction of a second.
        most: draws in all, unless the problem says otherwise.
    """

    title: str
    parameters: tuple[str, ...]
    numbers: tuple[str, ...]
    prior: Prior
    simulate: Callable[[np.random.Generator, Array], Array]
    chunk: int = 5000
    most: int = 2_000_000


def names() -> list[str]:
    """Return the names of all models; imports none of them."""
    return list(registry.scan(__name__, "PUBLISHED_MODEL"))


def load(name: str) -> Model:
    """Return the model called ``name``.

    Raises:
        KeyError: there is no model of that name.
    """
    return cast(Model, registry.scan(__name__, "PUBLISHED_MODEL")[name].MODEL)
