"""Parameters of a model or a pool, and their priors.

A prior is uniform, log-uniform or normal, for a number, a whole number or shares of a whole, or it
is a function, with or without its log-density.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from scipy import special

from abcdp_core.base.arrays import Array
from abcdp_core.models import priors
from abcdp_core.models.own_model.statistics import SMALLEST, check_text, refuse, take_numbers

Sampler = Callable[[np.random.Generator, int], Array]
LogDensity = Callable[[Array], Array]


@dataclass(frozen=True)
class Parameter:
    """A parameter of a model, and its prior.

    Attributes:
        name: name of the parameter.
        low, high: public bounds of all draws.
        unit: unit of the values, or empty.
        prior: ``uniform`` between the bounds; ``log-uniform``, with bounds above 0; ``normal``,
            about the midpoint, with a quarter of the range as standard deviation, truncated at the
            bounds; or a function of ``(rng, size)`` that draws ``(size,)``. For shares of a whole
            see :func:`shares`.
        whole: whether values and bounds are whole numbers; not with ``normal``.
        log_prior: log-density ``(m,)`` of a function ``prior`` at values ``(m,)``, up to a
            constant.
        concentrations, place: for :func:`shares`: concentrations of all shares, and index of this
            one.
    """

    name: str
    low: float
    high: float
    unit: str = ""
    prior: Literal["uniform", "log-uniform", "normal"] | Sampler = "uniform"
    # Not in the repr, from which the digest of a pool is computed.
    whole: bool = field(default=False, repr=False)
    log_prior: LogDensity | None = field(default=None, repr=False)
    concentrations: tuple[float, ...] = field(default=(), repr=False)
    place: int = field(default=0, repr=False)

    def __post_init__(self) -> None:
        check_text("name of a parameter", self.name)
        check_text(f"parameter {self.name}: unit", self.unit)
        take_numbers(self, f"parameter {self.name}", ("low", "high"))
        bounds = f"low = {self.low:g}, high = {self.high:g}: must be"
        is_whole = self.low.is_integer() and self.high.is_integer()
        known = callable(self.prior) or self.prior in ("uniform", "log-uniform", "normal")
        refuse(f"parameter {self.name}", {
            f"{bounds} low < high, {SMALLEST:g} apart or more.": self.high - self.low < SMALLEST,
            f"prior = {self.prior}: must be uniform, log-uniform, normal or a function.": not known,
            f"{bounds} above 0, as the prior is log-uniform.":
                self.prior == "log-uniform" and self.low <= 0.0,
            f"{bounds} whole numbers, as the parameter is whole.": self.whole and not is_whole,
            "prior = normal: is not available for a whole number.":
                self.whole and self.prior == "normal",
            "log_prior: needs a function for prior.":
                self.log_prior is not None and not callable(self.prior),
        })  # fmt: skip

    @property
    def law(self) -> priors.Distribution:
        """Its prior; uniform for a function, and the joint prior for shares."""
        if self.concentrations:
            return priors.Dirichlet(self.concentrations)
        if self.prior == "log-uniform":
            return priors.LogUniform(self.low, self.high, self.whole)
        if self.prior == "normal":
            middle, quarter = (self.low + self.high) / 2.0, (self.high - self.low) / 4.0
            return priors.Normal(middle, quarter, self.low, self.high)
        return priors.Uniform(self.low, self.high, self.whole)

    def draw(self, rng: np.random.Generator, size: int) -> Array:
        """Draw ``(size,)`` from the prior, or all k shares ``(size, k)``."""
        if callable(self.prior):
            return self.prior(rng, size)
        if self.concentrations:
            return rng.dirichlet(self.concentrations, size)
        uniform = rng.random(size)
        if self.whole or self.prior == "log-uniform":
            return self.law.theta(special.ndtri(uniform)[:, None])[:, 0]
        if self.prior == "normal":
            # The bounds are two standard deviations from the middle.
            ends = special.ndtr(np.array([-2.0, 2.0]))
            share = special.ndtri(ends[0] + uniform * (ends[1] - ends[0])) / 4.0 + 0.5
        else:
            share = uniform
        return np.clip(self.low + share * (self.high - self.low), self.low, self.high)


def shares(
    names: Sequence[str], concentration: Sequence[float] | None = None, unit: str = ""
) -> tuple[Parameter, ...]:
    """Return parameters that are at least 0 and add up to 1, with a joint Dirichlet prior.

    Put them next to each other in a model's ``parameters``: ``(*shares(("a", "b", "c")), ...)``.

    Args:
        names: names of two or more shares.
        concentration: concentration of each, above 0; by default 1 for each, a flat prior.
        unit: unit of the values.

    Raises:
        ValueError: there are fewer than two shares, or concentrations are missing or not above 0.
    """
    stated = [1.0] * len(names) if concentration is None else concentration
    given = tuple(float(each) for each in stated)
    if not 2 <= len(names) == len(given) or not all(0.0 < each < math.inf for each in given):
        raise ValueError(
            f"shares {', '.join(names)}: concentration = {concentration}: must be a number above 0 "
            f"for each of two or more shares."
        )
    return tuple(
        Parameter(name, 0.0, 1.0, unit, concentrations=given, place=place)
        for place, name in enumerate(names)
    )
