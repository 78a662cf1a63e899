r"""An online gradient in place of a posterior: one step for each answer ([Y23] §7; MATH A13).

The location and the logarithm of the scale, $\theta = (\mu, \log\sigma)$, follow the score of each
noisy answer, in closed form by (MATH A2, A14):

$$\theta_{t+1} = \theta_t + G_t\, \nabla_\theta \log p(y_t \mid \theta_t), \qquad
\bar\theta_t = \text{the mean of the steps so far.}$$

A step takes microseconds, and no answer is kept; $\sigma$ stays positive. The next person is asked
at $\theta_t$, from earlier answers only, so each answer is as private as ever.

**Steps.** Let $F$ be what an answer tells about $(\mu, \sigma)$ at $(0, 1)$. Two stages:

- *Search.* While the prior's variance $V$ of $\mu$, brought down by what the answers tell, is
  above $\sigma^2$, people are asked at the scale $c = \sqrt{\sigma^2 + V}$, and
  $G_t = V$, $V \leftarrow V - \tfrac12 V^2 F_{11}/c^2$. That is a Kalman filter which counts half
  of the information: one that counts all is led astray by noise in some runs, and then its steps
  are too short to find back. $\log\sigma$ waits, as wide intervals tell little about it.
- *Averaging.* $k$ answers later $m = k F_{11}$ is how many exact values they are worth, and
  $G_t = \sigma^2 (1 + m)^{-2/3}$ for $\mu$; for $\log\sigma$, of prior variance $v$ (1 at most),
  $v\,(1 + v k F_{22})^{-2/3}$. Steps of $t^{-2/3}$ meet the conditions of Robbins and Monro,
  $\sum G_t = \infty$ and $\sum G_t^2 < \infty$, and are so long that the average is efficient
  whatever the matrix before them is (Polyak and Juditsky 1992). It is taken from $m = 1$ on.

**Reference.** Of $n$ people the average has the asymptotic variance

$$\sigma^2\, (n F)^{-1}$$

for $(\mu, \sigma)$: that of the best estimate there is from such answers. Unlike a posterior it has
no use for the prior but to begin with.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from abcdp_core.adaptive.channels import Channel
from abcdp_core.adaptive.families import NORMAL
from abcdp_core.adaptive.particles import Response
from abcdp_core.adaptive.prior import Prior
from abcdp_core.adaptive.response import score_laplace, score_table

Array = NDArray[np.float64]

POWER = -2.0 / 3.0
"""Of the steps: between −1/2 and −1, where averaging is efficient."""

COUNTED = 0.5
"""Share of the information that the search counts."""

WORTH = 1.0
"""Exact values that the answers of the second stage are worth when averaging begins."""

LONGEST = 1.0
"""Largest variance of log σ that its steps begin from: a factor of e."""


@dataclass(frozen=True)
class State:
    """What the next step needs.

    Attributes:
        mu, log_sigma: where the next person is asked.
        variance: of μ, while it is searched for.
        answers: since the search ended.
        mean_mu, mean_log_sigma: the average, of ``averaged`` steps; before the first of them the
            last place.
        averaged: steps in the average.
    """

    mu: float
    log_sigma: float
    variance: float
    answers: int
    mean_mu: float
    mean_log_sigma: float
    averaged: int

    @property
    def searches(self) -> bool:
        """Whether μ is still less certain than one person's value would make it."""
        return self.variance > math.exp(2.0 * self.log_sigma)

    @property
    def sigma(self) -> float:
        """The estimate of σ."""
        return math.exp(self.mean_log_sigma)


@dataclass(frozen=True)
class Gradient:
    """Its settings.

    Attributes:
        prior: of (μ, σ): where to begin and how far to step.
        channel: how people are asked; Gaussian noise has no score here.
    """

    prior: Prior
    channel: Channel

    def __post_init__(self) -> None:
        """Refuse answers without a score.

        Raises:
            ValueError: Gaussian noise.
        """
        if self.channel.kind == "gaussian":
            raise ValueError("the gradient needs Laplace noise or a table.")

    @functools.cached_property
    def told(self) -> tuple[float, float]:
        """Information of an answer about μ and about σ at (0, 1)."""
        information = self.channel.information(NORMAL)
        return float(information[0, 0]), float(information[1, 1])

    def start(self) -> State:
        """The prior's mean of μ and of log σ."""
        prior = self.prior
        log_sigma = (
            math.log(prior.sigma)
            if prior.sigma is not None
            else 0.5 * (math.log(prior.rate) - float(special.digamma(prior.shape)))
        )
        return State(prior.mean, log_sigma, prior.variance, 0, prior.mean, log_sigma, 0)

    def place(self, state: State) -> tuple[float, float]:
        """Location and scale at which the next person is asked."""
        square = math.exp(2.0 * state.log_sigma)
        return state.mu, math.sqrt(square + state.variance if state.searches else square)

    def step(self, state: State, response: Response) -> State:
        """Follow the score of one answer."""
        location, scale = self.place(state)
        by_mu, by_log_sigma = self._score(response, location, scale)
        if state.searches:
            mu = state.mu + state.variance * by_mu
            left = state.variance - COUNTED * (state.variance / scale) ** 2 * self.told[0]
            return State(mu, state.log_sigma, left, 0, mu, state.log_sigma, 0)
        k = state.answers + 1
        worth = k * self.told[0]
        mu = state.mu + scale**2 * (1.0 + worth) ** POWER * by_mu
        log_sigma = state.log_sigma + self._gain_of_log_sigma(k) * by_log_sigma
        # What the search has left is a variance below σ², and stays so whatever σ becomes.
        if worth < WORTH:
            return State(mu, log_sigma, 0.0, k, mu, log_sigma, 0)
        count = state.averaged + 1
        mean_mu = state.mean_mu + (mu - state.mean_mu) / count
        mean_log_sigma = state.mean_log_sigma + (log_sigma - state.mean_log_sigma) / count
        return State(mu, log_sigma, 0.0, k, mean_mu, mean_log_sigma, count)

    def _gain_of_log_sigma(self, k: int) -> float:
        """Step for the score by log σ after k answers; none if σ is known."""
        if self.prior.sigma is not None:
            return 0.0
        variance = min(self.prior.sd_log_sigma**2, LONGEST)
        gain: float = variance * (1.0 + variance * k * self.told[1]) ** POWER
        return gain

    def _score(self, response: Response, mu: float, sigma: float) -> tuple[float, float]:
        """Derivatives of the log density by μ and by log σ."""
        y, left, right, scale = response
        if self.channel.kind == "laplace":
            by_mu, by_log_sigma = score_laplace(y, left, right, scale, mu, sigma)
        else:
            by_mu, by_log_sigma = score_table(left, right, scale, mu, sigma)
        return by_mu, by_log_sigma

    def follow(self, values: Array, chances: Array) -> list[State]:
        """Ask people ``(n,)`` one after the other; the state after each.

        Args:
            values: their own.
            chances: the chance in each answer, as the channel draws it.
        """
        state, states = self.start(), []
        for value, chance in zip(values.tolist(), chances.tolist(), strict=True):
            response = self.channel.answer(value, chance, *self.place(state))
            state = self.step(state, response)
            states.append(state)
        return states


def asymptotic_variance(channel: Channel, sigma: float) -> Array:
    """Variance ``(2, 2)`` of the best estimate of (μ, σ) from one person's answer (MATH A3, A14).

    Of n people it is an n-th of that as n grows. Of a σ that no answer tells it is infinite.

    Args:
        channel: placed at the truth.
        sigma: standard deviation of the people's values.
    """
    information = channel.information(NORMAL)
    if information[1, 1] > 0.0:
        return np.asarray(sigma**2 * np.linalg.inv(information), dtype=np.float64)
    return np.diag([sigma**2 / float(information[0, 0]), math.inf])
