r"""People with several values: one budget for d coordinates, truncated separately (MATH A13).

[Y23] §7 names the truncation of vectors as future work. A person has $d$ coordinates and one
budget, and is asked $k$ of them, chosen uniformly at random. Each has its own channel and a public
share of the budget. Answers of one person compose sequentially, and the choice of coordinates
carries no information about the person, so all answers together are

$$\sum_{j \text{ asked}} \epsilon_j \le \epsilon_{total}$$

differentially private. With $k = d$ the budget is split; with $k = 1$ one coordinate gets all.

**How many to ask.** Let $I(\epsilon)$ be the information in an answer at $\epsilon$ about its
coordinate's mean (MATH A3, A14). A person is asked each coordinate with probability $k/d$ and so
contributes on average

$$\frac{k}{d}\, I\!\left(\frac{\epsilon_{total}}{k}\right)$$

about each mean: a multiple of $I(s)/s$ at $s = \epsilon_{total}/k$. Information is proportional to
$s^2$ for small $s$ and bounded for large $s$, so the ratio has a maximum: at $s \approx 2.5$ for
truncation with Laplace noise, 2.2 for a sign, 2.7 for the best table. Below that budget ask one
coordinate, above it about $\epsilon_{total}/s$ of them.

**Unequal shares.** If the means have weights $v_j$, the sum $\sum_j v_j / I(\epsilon_j)$ of
asymptotic variances is smallest where $v_j I'(\epsilon_j)/I(\epsilon_j)^2$ is the same for all:
with $I \propto \epsilon^2$ at shares proportional to $v_j^{1/3}$, and equal ones for equal weights.

The posterior of a coordinate uses its own answers only. That is valid for correlated coordinates
too, though a joint posterior would be a little narrower.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abcdp_core.adaptive.channels import Channel, Truncation
from abcdp_core.adaptive.families import Family
from abcdp_core.adaptive.stream import Answer, Sampler, Stream
from abcdp_core.base.arrays import Array
from abcdp_core.privacy import Cost, Event, cost
from abcdp_core.privacy.calibration import round_up

Make = Callable[[float], Channel]
"""Maps a share of the budget to a channel that uses it."""


@dataclass(frozen=True)
class Answers(Event):
    """All answers of one person, with their total ε, rounded up, and δ (MATH A13)."""

    epsilon: float
    delta: float


@cost.register
def _(event: Answers, delta: float = 0.0) -> Cost:  # noqa: ARG001 - the event has its own
    return Cost(event.epsilon, event.delta)


def shares(epsilon_total: float, weights: Sequence[float]) -> tuple[float, ...]:
    """Split a budget in proportion to public weights; the exact sum never exceeds it.

    Raises:
        ValueError: a weight or the budget is not positive and finite, or there is no weight.
    """
    if not weights or not all(0.0 < number < math.inf for number in (epsilon_total, *weights)):
        raise ValueError("shares need a budget and weights that are positive and finite.")
    per_weight = Fraction(epsilon_total) / sum(map(Fraction, weights))
    return tuple(-round_up(-Fraction(weight) * per_weight) for weight in weights)


@dataclass(frozen=True)
class Plan:
    """A way of asking people with several coordinates.

    Attributes:
        channels: of the d coordinates.
        asked: number of coordinates asked of each person, from 1 to d.
    """

    channels: tuple[Channel, ...]
    asked: int

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return len(self.channels)

    def event(self) -> Answers:
        """Return the privacy event of a person asked the coordinates with the largest shares."""
        epsilons = [channel.epsilon for channel in self.channels]
        deltas = [
            channel.delta
            if isinstance(channel, Truncation) and channel.noise == "gaussian"
            else 0.0
            for channel in self.channels
        ]
        return Answers(self._largest(epsilons), self._largest(deltas))

    def _largest(self, costs: Sequence[float]) -> float:
        """Sum the largest ``asked`` of them, rounded up."""
        return round_up(sum(map(Fraction, sorted(costs)[-self.asked :]), Fraction(0)))

    def chosen(self, rng: np.random.Generator, n: int) -> NDArray[np.bool_]:
        """Draw which coordinates n people are asked ``(n, d)``; all choices are equally likely."""
        order = rng.random((n, self.dimension)).argsort(axis=1)
        chosen = np.zeros((n, self.dimension), dtype=bool)
        np.put_along_axis(chosen, order[:, : self.asked], values=True, axis=1)
        return chosen

    def information(self, family: Family) -> Array:
        """Return the average information per person about each (μ, σ) at (0, 1), ``(d, 2, 2)``."""
        each = np.stack([channel.information(family) for channel in self.channels])
        return self.asked / self.dimension * each

    def follow(
        self,
        coordinate: int,
        sampler: Sampler,
        values: Array,
        chances: Array,
        chosen: NDArray[np.bool_],
        seed: int,
        run: int,
        state: Any = None,
        t: int = 0,
    ) -> list[tuple[Any, Answer]]:
        """Ask one coordinate of the people for whom it was chosen, adaptively.

        Args:
            coordinate: its number, from 0.
            sampler: of its posterior.
            values: of the next people, ``(n, d)``.
            chances: randomness of every possible answer, ``(n, d)``.
            chosen: which are asked, ``(n, d)``.
            seed, run: address of the sampler's random numbers.
            state: of the sampler after ``t`` answers; ``None`` for t = 0.
            t: number of answers of earlier people.

        Returns:
            The sampler's state after each answer, and the answer.
        """
        address = run * self.dimension + coordinate
        stream = Stream(sampler, self.channels[coordinate], seed=seed, run=address)
        asked = chosen[:, coordinate]
        return list(stream.ask(state, t, values[asked, coordinate], chances[asked, coordinate]))


def split(make: Make, epsilon_total: float, weights: Sequence[float]) -> Plan:
    """Ask every coordinate, with its public share of the budget."""
    channels = tuple(make(share) for share in shares(epsilon_total, weights))
    return Plan(channels, len(channels))


def some(make: Make, epsilon_total: float, dimension: int, asked: int) -> Plan:
    """Ask ``asked`` random coordinates, with equal shares of the budget.

    Raises:
        ValueError: ``asked`` is not from 1 to ``dimension``.
    """
    if not 1 <= asked <= dimension:
        raise ValueError(f"asked = {asked}: must be from 1 to {dimension}.")
    return Plan((make(shares(epsilon_total, [1.0] * asked)[0]),) * dimension, asked)


def told(make: Make, epsilon_total: float, dimension: int, family: Family) -> Array:
    """Return the information per person about each μ, for 1, ... d coordinates asked, ``(d,)``."""
    plans = [some(make, epsilon_total, dimension, k + 1) for k in range(dimension)]
    return np.array([plan.information(family)[0, 0, 0] for plan in plans])
