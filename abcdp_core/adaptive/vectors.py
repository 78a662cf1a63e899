r"""People with several values: one budget for d coordinates, each truncated by itself (MATH A13).

[Y23] §7 names the truncation of vectors as future work. A person has $d$ coordinates and one
budget. Of the coordinates $k$ are asked, drawn at random and evenly, each through a channel of its
own with a public share of the budget. Answers of one person add up (sequential composition), and
which coordinates are asked says nothing about the person, so all of them together are

$$\sum_{j \text{ asked}} \epsilon_j \le \epsilon_{total}$$

differentially private. With $k = d$ the budget is split; with $k = 1$ one coordinate has all of it.

**How many to ask.** Let $I(\epsilon)$ be what an answer at $\epsilon$ tells about its coordinate's
mean (MATH A3, A14). Of so many people each coordinate gets the share $k/d$, so a person tells

$$\frac{k}{d}\, I\!\left(\frac{\epsilon_{total}}{k}\right)$$

about each mean: a multiple of $I(s)/s$ at $s = \epsilon_{total}/k$. For small $s$ information is
proportional to $s^2$, for large $s$ it is bounded, so the ratio has a maximum between:
at $s \approx 2.5$ for truncation with Laplace noise, 2.2 for a sign, 2.7 for the best table. Below
that budget one coordinate should be asked, above it about $\epsilon_{total}/s$ of them.

**Unequal shares.** If the means matter with weights $v_j$, the sum $\sum_j v_j / I(\epsilon_j)$
of asymptotic variances is least where $v_j I'(\epsilon_j)/I(\epsilon_j)^2$ is the same for all:
with $I \propto \epsilon^2$ at shares in proportion to $v_j^{1/3}$, equal ones for equal weights.

What is known of a coordinate comes from its own answers, whose law has no other coordinate in it:
right for correlated coordinates too, though their answers would tell a little more together.
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
from abcdp_core.privacy import Cost, Event, cost
from abcdp_core.privacy.calibration import round_up

Array = NDArray[np.float64]
Make = Callable[[float], Channel]
"""From a share of the budget to the channel that spends it."""


@dataclass(frozen=True)
class Answers(Event):
    """All answers of one person, to several coordinates (MATH A13).

    Attributes:
        epsilon: what they cost together, rounded up.
        delta: the sum of the deltas of those with Gaussian noise.
    """

    epsilon: float
    delta: float


@cost.register
def _(event: Answers, delta: float = 0.0) -> Cost:  # noqa: ARG001 - it has its own
    return Cost(event.epsilon, event.delta)


def shares(epsilon_total: float, weights: Sequence[float]) -> tuple[float, ...]:
    """Parts of a budget in proportion to public weights; exactly, they sum to no more than it.

    Args:
        epsilon_total: the budget, above 0.
        weights: of the coordinates, above 0.

    Raises:
        ValueError: a weight or the budget is not positive and finite, or there is no weight.
    """
    if not weights or not all(0.0 < number < math.inf for number in (epsilon_total, *weights)):
        raise ValueError("shares need a budget and weights that are positive and finite.")
    whole = sum(map(Fraction, weights))
    return tuple(
        -round_up(-Fraction(epsilon_total) * Fraction(weight) / whole) for weight in weights
    )


@dataclass(frozen=True)
class Plan:
    """How people with several coordinates are asked.

    Attributes:
        channels: of each coordinate, ``d`` of them.
        asked: how many coordinates of a person are asked, from 1 to d.
    """

    channels: tuple[Channel, ...]
    asked: int

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return len(self.channels)

    def event(self) -> Answers:
        """All answers of a person, with the coordinates that cost most."""
        deltas = [_delta(channel) for channel in self.channels]
        return Answers(
            self._largest([channel.epsilon for channel in self.channels]), self._largest(deltas)
        )

    def _largest(self, costs: Sequence[float]) -> float:
        """Sum of as many of the largest as are asked, rounded up."""
        return round_up(sum(map(Fraction, sorted(costs)[-self.asked :]), Fraction(0)))

    def chosen(self, rng: np.random.Generator, n: int) -> NDArray[np.bool_]:
        """Which coordinates of n people are asked, ``(n, d)``: each choice equally likely."""
        order = rng.random((n, self.dimension)).argsort(axis=1)
        chosen = np.zeros((n, self.dimension), dtype=bool)
        np.put_along_axis(chosen, order[:, : self.asked], values=True, axis=1)
        return chosen

    def information(self, family: Family) -> Array:
        """What a person tells about each coordinate's (μ, σ) at (0, 1), ``(d, 2, 2)``."""
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
        """Ask one coordinate of those people whose turn it is, each where it tells most.

        Args:
            coordinate: its number, from 0.
            sampler: of its posterior.
            values: of the next people, ``(n, d)``.
            chances: the chance in every possible answer, ``(n, d)``.
            chosen: which are asked, ``(n, d)``.
            seed, run: address of the sampler's random numbers.
            state: of the sampler after ``t`` answers; ``None`` for t = 0.
            t: answers of earlier people.

        Returns:
            The sampler's state after each answer, and the answer.
        """
        address = run * self.dimension + coordinate
        stream = Stream(sampler, self.channels[coordinate], seed=seed, run=address)
        here = chosen[:, coordinate]
        return list(stream.ask(state, t, values[here, coordinate], chances[here, coordinate]))


def _delta(channel: Channel) -> float:
    if isinstance(channel, Truncation) and channel.noise == "gaussian":
        return channel.delta
    return 0.0


def split(make: Make, epsilon_total: float, weights: Sequence[float]) -> Plan:
    """Every coordinate is asked, with its public share of the budget."""
    channels = tuple(make(share) for share in shares(epsilon_total, weights))
    return Plan(channels, len(channels))


def some(make: Make, epsilon_total: float, dimension: int, asked: int) -> Plan:
    """So many coordinates are asked, drawn at random, with equal shares of the budget.

    Raises:
        ValueError: not from 1 to ``dimension`` are asked.
    """
    if not 1 <= asked <= dimension:
        raise ValueError(f"asked = {asked}: must be from 1 to {dimension}.")
    return Plan((make(shares(epsilon_total, [1.0] * asked)[0]),) * dimension, asked)


def told(make: Make, epsilon_total: float, dimension: int, family: Family) -> Array:
    """What a person tells about each μ, by how many coordinates are asked from 1 on, ``(d,)``."""
    plans = [some(make, epsilon_total, dimension, k + 1) for k in range(dimension)]
    return np.array([plan.information(family)[0, 0, 0] for plan in plans])
