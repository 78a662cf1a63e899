"""Models of published queries: prior, simulator, summary. One model is one module, found by scan.

A module gives its name, ``PUBLISHED_MODEL``, as a plain string, and ``MODEL``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from abcdp_core import registry

Array = NDArray[np.float64]

Sampler = Callable[[np.random.Generator, int], Array]
Simulator = Callable[[np.random.Generator, Array], Array]
Function = Callable[[Array], Array]


def same(x: Array) -> Array:
    """Parameters that need no other scale."""
    return x


@dataclass(frozen=True)
class Model:
    """A prior and a simulator of the numbers that were released, before their noise.

    Attributes:
        title: what is modelled, in words.
        parameters: names of the d parameters.
        numbers: names of the k numbers of the summary.
        prior: draws ``(size, d)`` of a generator, on a scale x where every real number is allowed.
        log_prior: density of ``x (m, d)`` on that scale: ``(m,)``.
        simulate: summaries ``(m, k)`` of data sets simulated at ``x (m, d)``, one each.
        theta: parameters ``(m, d)`` as people know them, of ``x (m, d)``.
        chunk: draws that are simulated in one go, of a fraction of a second.
        most: draws in all, if the problem does not say.
    """

    title: str
    parameters: tuple[str, ...]
    numbers: tuple[str, ...]
    prior: Sampler
    log_prior: Function
    simulate: Simulator
    theta: Function = same
    chunk: int = 5000
    most: int = 2_000_000


def names() -> list[str]:
    """Names of all models; imports none of them."""
    return list(registry.scan(__name__, "PUBLISHED_MODEL"))


def load(name: str) -> Model:
    """The model called ``name``.

    Raises:
        KeyError: there is none of that name.
    """
    return cast(Model, registry.scan(__name__, "PUBLISHED_MODEL")[name].MODEL)
