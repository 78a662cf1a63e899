"""Ask people one by one, each in an interval chosen from the earlier answers.

The choice never uses the person's own value, so each answer is private by itself and everything
else is post-processing (MATH A1).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, cast

import numpy as np

from abcdp_core.adaptive import contraction
from abcdp_core.adaptive.channels import Channel
from abcdp_core.adaptive.grid import Grid
from abcdp_core.adaptive.latent import Latent
from abcdp_core.adaptive.particles import Response, moments, pick
from abcdp_core.adaptive.prior import Prior
from abcdp_core.adaptive.smc import Smc
from abcdp_core.base.arrays import Array
from abcdp_core.base.streams import generator


class Sampler(Protocol):
    """Online sampler: ``Smc``, ``Latent`` or ``Grid``."""

    @property
    def prior(self) -> Prior: ...  # noqa: D102

    def start(self, rng: np.random.Generator) -> Any:
        """Return the state before any response."""

    def step(self, rng: np.random.Generator, state: Any, response: Response) -> tuple[Any, float]:
        """Update by one response; return the state and an effective sample size."""


class Answer(NamedTuple):
    """One person's answer, as a row of a table.

    Attributes:
        t: number of the person, from 1.
        left, right: the interval, or the first and last edge of a table.
        response: the private answer, or the number of a table's symbol.
        mean_mu, sd_mu, mean_sigma, sd_sigma: of the posterior after it.
        sigma_width: standard deviation of log σ as a share of the prior's; 0 for a known σ.
        effective_sample_size: of the sampler's particles.
    """

    t: int
    left: float
    right: float
    response: float
    mean_mu: float
    sd_mu: float
    mean_sigma: float
    sd_sigma: float
    sigma_width: float
    effective_sample_size: float


@dataclass(frozen=True)
class Stream:
    """A way of asking people and the sampler that learns from them.

    Attributes:
        sampler: learns from the responses.
        channel: how each person is asked, at (μ, σ) drawn from the current posterior: Thompson
            sampling (MATH A5, A14).
        fixed: whether everyone is asked at μ = 0 and σ = 1 instead.
        paper_start: the published start of ``Latent``: the first person is asked at μ = 0 and
            σ = 1, and all particles start at the first response, not from the prior.
        seed, run: address of the random numbers.

    Raises:
        ValueError: ``paper_start`` with a sampler that cannot leave a single value of μ.
    """

    sampler: Sampler
    channel: Channel
    fixed: bool = False
    paper_start: bool = False
    seed: int = 0
    run: int = 0

    def __post_init__(self) -> None:
        """Check the start."""
        if self.paper_start and isinstance(self.sampler, Smc | Grid):
            raise ValueError("paper_start: Smc and Grid cannot start with a single value of μ.")

    def ask(self, state: Any, t: int, values: Array, noises: Array) -> Iterator[tuple[Any, Answer]]:
        """Ask people one by one; yield the sampler's state after each answer, and the answer.

        Args:
            state: of the sampler after ``t`` people; ``None`` for t = 0.
            t: number of people who have answered.
            values: of the next people, ``(k,)``.
            noises: randomness of their answers, as the channel draws it, ``(k,)``.
        """
        for value, noise in zip(values.tolist(), noises.tolist(), strict=True):
            t += 1
            rng = generator(self.seed, "sampler", self.run, t)
            if state is None and not self.paper_start:
                state = self.sampler.start(rng)
            is_known = not (self.fixed or state is None)
            place = pick(rng, state) if is_known else (0.0, 1.0)
            response = self.channel.answer(value, noise, *place)
            if state is None:
                state = self._at_first_response(rng, response)
            state, size = self.sampler.step(rng, state, response)
            known = moments(state)
            width = contraction.width(known.sd_log_sigma, self.sampler.prior)
            yield (
                state,
                Answer(t, *self.channel.reach(*place), response.value, *known[:4], width, size),
            )

    def _at_first_response(self, rng: np.random.Generator, response: Response) -> Any:
        """Set all particles' μ to the first response, with σ from the prior ([Y23]; MATH A10)."""
        sampler = cast(Latent, self.sampler)
        theta = sampler.prior.draw(rng, sampler.particles)
        theta[:, 0] = response.value
        return sampler.at(theta)
