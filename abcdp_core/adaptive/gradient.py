r"""Online stochastic gradient instead of a posterior: one step per answer ([Y23] §7; MATH A13).

The location and the log scale, $\theta = (\mu, \log\sigma)$, follow the score of each noisy answer,
which has a closed form (MATH A2, A14):

$$\theta_{t+1} = \theta_t + G_t\, \nabla_\theta \log p(y_t \mid \theta_t), \qquad
\bar\theta_t = \text{the mean of the steps so far.}$$

A step takes microseconds, no answer is stored, and $\sigma$ stays positive. The next person is
asked at $\theta_t$, which depends on earlier answers only, so privacy is unchanged.

**Steps.** Let $F$ be the information in an answer about $(\mu, \sigma)$ at $(0, 1)$. Two stages:

- *Search.* $V$ starts as the prior variance of $\mu$ and falls with every answer. While it is above
  $\sigma^2$, people are asked at the scale $c = \sqrt{\sigma^2 + V}$, with $G_t = V$ and
  $V \leftarrow V - \tfrac12 V^2 F_{11}/c^2$: a Kalman filter that counts half of the information.
  Counting all of it, noise misleads some runs, whose steps are then too short to recover.
  $\log\sigma$ waits, as wide intervals carry little information about it.
- *Averaging.* $k$ answers later, these are worth $m = k F_{11}$ exact values. The step is
  $G_t = \sigma^2 (1 + m)^{-2/3}$ for $\mu$, and $v\,(1 + v k F_{22})^{-2/3}$ for $\log\sigma$ of
  prior variance $v \le 1$. Steps of $t^{-2/3}$ meet the Robbins-Monro conditions, and the average,
  taken from $m = 1$ on, is efficient (Polyak and Juditsky 1992).

**Reference.** After $n$ people the average has the asymptotic variance

$$\sigma^2\, (n F)^{-1}$$

for $(\mu, \sigma)$, as the best estimate from such answers has. The prior only sets the start.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from abcdp_core.adaptive.channels import Channel
from abcdp_core.adaptive.families import NORMAL
from abcdp_core.adaptive.particles import Response
from abcdp_core.adaptive.prior import Prior
from abcdp_core.adaptive.response import score_laplace, score_table
from abcdp_core.base.arrays import Array

POWER = -2.0 / 3.0
"""Exponent of the steps: between −1/2 and −1, where averaging is efficient."""

COUNTED = 0.5
"""Share of the information counted by the search."""

WORTH = 1.0
"""Worth of the second stage's answers, in exact values, at which averaging begins."""

LONGEST = 1.0
"""Largest variance of log σ for its first steps: a factor of e."""


@dataclass(frozen=True)
class State:
    """State after some answers.

    Attributes:
        mu, log_sigma: where the next person is asked.
        variance: of μ, during the search.
        answers: number of answers since the search ended.
        mean_mu, mean_log_sigma: average of ``averaged`` steps; without any, the current place.
        averaged: number of steps in the average.
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
        """Whether μ is less certain than one exact value would make it."""
        return self.variance > math.exp(2.0 * self.log_sigma)

    @property
    def sigma(self) -> float:
        """The estimate of σ."""
        return math.exp(self.mean_log_sigma)


@dataclass(frozen=True)
class Gradient:
    """Settings of the gradient.

    Attributes:
        prior: of (μ, σ); sets the start and the first steps.
        channel: how people are asked.

    Raises:
        ValueError: the channel has Gaussian noise, whose score is not implemented.
    """

    prior: Prior
    channel: Channel

    def __post_init__(self) -> None:
        """Check the channel."""
        if self.channel.kind == "gaussian":
            raise ValueError("the gradient needs Laplace noise or a table.")

    @functools.cached_property
    def per_answer(self) -> tuple[float, float]:
        """Information in an answer about μ and about σ at (0, 1)."""
        information = self.channel.information(NORMAL)
        return float(information[0, 0]), float(information[1, 1])

    def start(self) -> State:
        """Start at the prior means of μ and log σ."""
        prior = self.prior
        if prior.sigma is not None:
            log_sigma = math.log(prior.sigma)
        else:
            log_sigma = 0.5 * (math.log(prior.rate) - float(special.digamma(prior.shape)))
        return State(prior.mean, log_sigma, prior.variance, 0, prior.mean, log_sigma, 0)

    def place(self, state: State) -> tuple[float, float]:
        """Return the location and scale at which the next person is asked."""
        square = math.exp(2.0 * state.log_sigma)
        return state.mu, math.sqrt(square + state.variance if state.searches else square)

    def step(self, state: State, response: Response) -> State:
        """Follow the score of one answer."""
        location, scale = self.place(state)
        by_mu, by_log_sigma = self._score(response, location, scale)
        if state.searches:
            mu = state.mu + state.variance * by_mu
            left = state.variance - COUNTED * (state.variance / scale) ** 2 * self.per_answer[0]
            return State(mu, state.log_sigma, left, 0, mu, state.log_sigma, 0)
        k = state.answers + 1
        worth = k * self.per_answer[0]
        mu = state.mu + scale**2 * (1.0 + worth) ** POWER * by_mu
        log_sigma = state.log_sigma + self._gain_of_log_sigma(k) * by_log_sigma
        # The search is over for good, whatever σ becomes.
        if worth < WORTH:
            return State(mu, log_sigma, 0.0, k, mu, log_sigma, 0)
        count = state.averaged + 1
        mean_mu = state.mean_mu + (mu - state.mean_mu) / count
        mean_log_sigma = state.mean_log_sigma + (log_sigma - state.mean_log_sigma) / count
        return State(mu, log_sigma, 0.0, k, mean_mu, mean_log_sigma, count)

    def _gain_of_log_sigma(self, k: int) -> float:
        """Return the step for log σ after k answers; 0 if σ is known."""
        if self.prior.sigma is not None:
            return 0.0
        variance = min(self.prior.sd_log_sigma**2, LONGEST)
        return variance * (1.0 + variance * k * self.per_answer[1]) ** POWER

    def _score(self, response: Response, mu: float, sigma: float) -> tuple[float, float]:
        """Return the derivatives of the log density by μ and by log σ."""
        y, left, right, scale = response
        score: tuple[float, float]
        if self.channel.kind == "laplace":
            score = score_laplace(y, left, right, scale, mu, sigma)
        else:
            score = score_table(left, right, scale, mu, sigma)
        return score

    def follow(self, values: Array, chances: Array) -> list[State]:
        """Ask people with values ``(n,)`` one after another; return the state after each.

        Args:
            values: of the people.
            chances: the randomness of each answer ``(n,)``, as the channel draws it.
        """
        state, states = self.start(), []
        for value, chance in zip(values.tolist(), chances.tolist(), strict=True):
            response = self.channel.answer(value, chance, *self.place(state))
            state = self.step(state, response)
            states.append(state)
        return states


def asymptotic_variance(channel: Channel, sigma: float) -> Array:
    """Return n times the variance ``(2, 2)`` of the best estimate of (μ, σ) from n answers.

    This is the limit for many people (MATH A3, A14); infinite for σ if answers are uninformative.

    Args:
        channel: placed at the truth.
        sigma: standard deviation of the people's values.
    """
    information = channel.information(NORMAL)
    if information[1, 1] > 0.0:
        return np.asarray(sigma**2 * np.linalg.inv(information), dtype=np.float64)
    return np.diag([sigma**2 / float(information[0, 0]), math.inf])
