"""People answer one after the other, each in an interval chosen from what is known by then.

The choice reads earlier responses only, never the person, so each answer is private on its own and
everything else is post-processing (MATH A1).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from abcdp_core.adaptive import contraction
from abcdp_core.adaptive.channels import Channel
from abcdp_core.adaptive.grid import Grid
from abcdp_core.adaptive.latent import Latent
from abcdp_core.adaptive.particles import Response, moments, pick
from abcdp_core.adaptive.prior import Prior
from abcdp_core.adaptive.smc import Smc
from abcdp_core.streams import generator

Array = NDArray[np.float64]


class Sampler(Protocol):
    """An online sampler: ``Smc``, ``Latent`` or ``Grid``."""

    @property
    def prior(self) -> Prior: ...  # noqa: D102

    def start(self, rng: np.random.Generator) -> Any:
        """The state before any response."""
        ...

    def step(self, rng: np.random.Generator, state: Any, response: Response) -> tuple[Any, float]:
        """Take in one response; the state after it, and its effective sample size."""
        ...


class Answer(NamedTuple):
    """One person's turn, as a row of a table.

    Attributes:
        t: number of the person, from 1.
        left, right: the interval; of a table its first and its last edge. Values beyond either
            are not told apart.
        response: the private answer; of a table the number of the symbol.
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
    """How people are asked and what is made of it.

    Attributes:
        sampler: takes the responses in.
        channel: how each person is asked, at a (μ, σ) drawn from what is known by then: Thompson
            sampling (MATH A5, A14).
        fixed: everybody is asked at μ = 0 and σ = 1 instead.
        paper_start: the published start of ``Latent``: the first person is asked at μ = 0 and
            σ = 1, and every particle begins at the first response. Otherwise everything follows
            from the prior.
        seed, run: address of the random numbers.
    """

    sampler: Sampler
    channel: Channel
    fixed: bool = False
    paper_start: bool = False
    seed: int = 0
    run: int = 0

    def __post_init__(self) -> None:
        """Refuse a start that a sampler cannot leave.

        Raises:
            ValueError: particles that all have one μ, in a sampler whose moves follow their spread.
        """
        if self.paper_start and isinstance(self.sampler, Smc | Grid):
            raise ValueError("paper_start: Smc and Grid cannot leave where all particles are.")

    def ask(self, state: Any, t: int, values: Array, noises: Array) -> Iterator[tuple[Any, Answer]]:
        """Ask people one after the other.

        Args:
            state: of the sampler after ``t`` people; ``None`` for t = 0.
            t: how many have answered.
            values: what the next people have, ``(k,)``.
            noises: the chance in the answer of each of them, as the channel draws it, ``(k,)``.
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
        """All particles' μ at the first response, σ from the prior ([Y23]'s script; MATH A10)."""
        sampler = cast(Latent, self.sampler)
        theta = sampler.prior.draw(rng, sampler.particles)
        theta[:, 0] = response.value
        return sampler.at(theta)
