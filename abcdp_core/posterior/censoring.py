r"""Noisy numbers as tables show them: clamped from below, or suppressed and marked.

A suppressed number is known only to lie in an interval $[a, b]$. If it was marked after the noise,
its likelihood given the exact number $s$ is the sum of the noise's distribution over the interval,
$F(b - s) - F(a - s)$; a number shown at the clamp $c$ has $F(c - s)$. If the exact numbers decided,
a marked one has likelihood 1 inside the interval and 0 outside, and a shown one lies outside.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

import numpy as np

from abcdp_core.base.arrays import Array
from abcdp_core.base.parameters import ParameterError, shown
from abcdp_core.posterior.noise import (
    ROUNDING,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    Noise,
    laws_of,
)

Summable = Laplace | Gaussian | DiscreteLaplace | DiscreteGaussian


@dataclass(frozen=True, order=True)
class Hidden:
    """Numbers hidden by a mark: from ``low`` to ``high``, of which one may be infinite.

    Attributes:
        mark: as shown in the table.
        low, high: ends.
        is_open: whether ``high`` itself is shown.
    """

    mark: str
    low: float
    high: float
    is_open: bool = False

    def in_words(self) -> str:
        """Describe the interval."""
        if self.low == -math.inf:
            return f"{'below' if self.is_open else 'up to'} {self.high:g}"
        return f"from {self.low:g}" + (f" to {self.high:g}" if self.high < math.inf else " on")

    def ends(self, step: float) -> tuple[float, float]:
        """Return ends between the multiples of a step, or no number away for a step of 0."""
        side = -1.0 if self.is_open else 1.0
        if step == 0.0:
            return math.nextafter(self.low, -math.inf), math.nextafter(self.high, side * math.inf)
        return self.low - 2.0 * ROUNDING * step, self.high + side * 2.0 * ROUNDING * step


@dataclass(frozen=True)
class Censored:
    """Noise after which numbers are raised to a clamp, and those in intervals are hidden.

    A hidden number is represented by an end of its interval that no shown number equals.

    Attributes:
        law: of the noise, with one step for all.
        clamped: least number that is shown; minus infinity for none.
        hidden: what each mark hides, apart from each other.
        by_exact: whether the exact numbers decide what is hidden, instead of the clamped noisy
            ones; the noise is then added to the others.
    """

    law: Summable
    clamped: float = -math.inf
    hidden: tuple[Hidden, ...] = ()
    by_exact: bool = False

    @property
    def of(self) -> tuple[int, ...]:
        """Indices of these numbers ``(j,)`` in the query; empty for all."""
        return self.law.of

    @property
    def intervals(self) -> list[tuple[float, float, float]]:
        """Return ends and representative of each interval."""
        ends = [each.ends(getattr(self.law, "step", (0.0,))[0]) for each in self.hidden]
        return [(low, high, high if high < math.inf else low) for low, high in ends]

    def check_intervals(self, where: str) -> None:
        """Check that each interval can hold a number, and no number is in two.

        Raises:
            ParameterError: the sentence begins with ``where``.
        """
        step = getattr(self.law, "step", (0.0,))[0]
        before = -math.inf
        for low, high, each in sorted((*each.ends(step), each) for each in self.hidden):
            why = ""
            if not each.low <= each.high or (math.isinf(each.low) and math.isinf(each.high)):
                why = "must be [low, high], with a finite end and low at most high"
            elif step and math.floor(high / step) * step < low:
                why = f"holds no multiple of {step:g}"
            elif high < self.clamped and not self.by_exact:
                why = f"is below clamped = {self.clamped:g}"
            elif low < before:
                why = "overlaps another"
            if why:
                raise ParameterError(f"{where}: that of {shown(each.mark)} {why}.")
            before = high

    @property
    def places(self) -> list[int]:
        """Indices of these numbers ``(j,)``."""
        return list(self.law.of) or list(range(len(self.law.scale)))

    def _shown(self, query: Array) -> Summable | None:
        """Return the noise of the numbers that are neither hidden nor clamped."""
        of, scale = self.places, self.law.scale
        coarse = {self.clamped, *(each for *_, each in self.intervals)}
        left = [number for number, place in enumerate(of) if query[place] not in coarse]
        if not left:
            return None
        chosen = tuple(of[j] for j in left)
        return dataclasses.replace(self.law, scale=tuple(scale[j] for j in left), of=chosen)

    def log_density(self, query: Array, summaries: Array) -> Array:
        """Return log f ``(m,)``.

        Raises:
            ParameterError: a summary is impossible under the noise.
        """
        intervals, shown_law = self.intervals, self._shown(query)
        log_density = np.zeros(len(summaries))
        if shown_law is not None:
            log_density += shown_law.log_density(query, summaries)
        for number, place in enumerate(self.places):
            exact, z = summaries[:, place], query[place]
            decides = exact if self.by_exact else np.full(len(exact), z)
            for low, high, shown_as in intervals:
                log_density[((decides >= low) & (decides <= high)) != (z == shown_as)] = -np.inf
                if z == shown_as and not self.by_exact:
                    low = -math.inf if low < self.clamped else low
                    log_density += self._log_between(number, low - exact, high - exact)
            if z == self.clamped:
                log_density += self.law.log_below(number, z - exact)
        return log_density

    def _log_between(self, number: int, low: Array, high: Array) -> Array:
        """Return log P(low < noise < high); by symmetry, the smaller tails are subtracted."""
        low, high = np.where(low > 0.0, (-high, -low), (low, high))
        below = self.law.log_below(number, high)
        with np.errstate(invalid="ignore"):
            share = self.law.log_below(number, low) - below
        return below + np.log1p(-np.exp(np.where(np.isnan(share), -np.inf, share)))

    def noisy(self, rng: np.random.Generator, summaries: Array) -> Array:
        """Draw queries ``(m, j)``, in which representatives stand for hidden numbers."""
        made = np.maximum(self.law.noisy(rng, summaries), self.clamped)
        decides = summaries[:, self.places] if self.by_exact else made.copy()
        for low, high, shown_as in self.intervals:
            made[(decides >= low) & (decides <= high)] = shown_as
        return made

    def check(self, query: Array) -> None:
        """Check that the shown numbers are possible.

        Raises:
            ParameterError: one is not.
        """
        shown_law, intervals = self._shown(query), self.intervals
        if shown_law is not None:
            shown_law.check(query)
        for place in self.places:
            z = float(query[place])
            words = f"query, number {place + 1} = {shown(z)}"
            if z in [shown_as for *_, shown_as in intervals]:
                continue
            if z < self.clamped:
                raise ParameterError(f"{words}: is below clamped = {self.clamped:g}.")
            for each, (low, high, _) in zip(self.hidden, intervals, strict=True):
                if low < z < high and not self.by_exact:
                    raise ParameterError(f"{words}: numbers {each.in_words()} are suppressed.")

    def in_words(self) -> str:
        """Describe the noise, and what tables show, in a few words."""
        parts = [self.law.in_words()]
        if self.clamped > -math.inf:
            parts.append(f"numbers clamped at {self.clamped:g}")
        if self.hidden:
            which = "exact numbers" if self.by_exact else "numbers"
            ends = " or ".join(each.in_words() for each in self.hidden)
            parts.insert(0 if self.by_exact else 2, f"{which} {ends} suppressed")
        return ", then ".join(parts)


def standing_for(noise: Noise, place: int, mark: str) -> float:
    """Return the number that represents a mark at a place of the query."""
    laws = (each for each in laws_of(noise) if isinstance(each, Censored))
    (law,) = (each for each in laws if place in each.places)
    return law.intervals[[each.mark for each in law.hidden].index(mark)][2]
