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

from abcdp_core.online import learnt
from abcdp_core.online.channels import Table, answer, separate
from abcdp_core.online.grid import Grid
from abcdp_core.online.latent import Latent
from abcdp_core.online.particles import Cloud, Response, moments, pick
from abcdp_core.online.prior import Prior
from abcdp_core.online.response import Kind
from abcdp_core.online.smc import Smc
from abcdp_core.streams import generator

Array = NDArray[np.float64]


class Info(Protocol):
    """What every sampler says about a step."""

    @property
    def effective_sample_size(self) -> float: ...  # noqa: D102


class Sampler(Protocol):
    """An online sampler: ``Smc``, ``Latent`` or ``Grid``."""

    @property
    def prior(self) -> Prior: ...  # noqa: D102

    def start(self, rng: np.random.Generator) -> Any:
        """The state before any response."""
        ...

    def step(self, rng: np.random.Generator, state: Any, response: Response) -> tuple[Any, Info]:
        """Take in one response."""
        ...


class Fixed(NamedTuple):
    """Everybody is asked in the same interval."""

    left: float
    right: float

    def choose(self, rng: np.random.Generator, cloud: Cloud) -> tuple[float, float]:
        """The interval, whatever is known."""
        return self.left, self.right


class Adaptive(NamedTuple):
    """The best interval for a (μ, σ) drawn from what is known: Thompson sampling (MATH A4, A5).

    Attributes:
        a, b: ends of the best interval at μ = 0, σ = 1.
    """

    a: float
    b: float

    def choose(self, rng: np.random.Generator, cloud: Cloud) -> tuple[float, float]:
        """[μ + σa, μ + σb] for one particle."""
        mu, sigma = pick(rng, cloud)
        return separate(mu + sigma * self.a, mu + sigma * self.b)


class Placed(NamedTuple):
    """A table of symbols at a (μ, σ) drawn from what is known (MATH A5, A14).

    Attributes:
        table: best at μ = 0, σ = 1.
    """

    table: Table


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
        interval: chooses where the next person is asked.
        noise: family of the noise; ``table`` for symbols from a table.
        unit_scale: its scale per unit of the interval's width; a table does not use it.
        paper_start: the published start of ``Latent``: the first person is asked in [a, b] itself,
            far from any μ but 0, and every particle begins at the first response. Otherwise
            everything follows from the prior.
        seed, run: address of the random numbers.
    """

    sampler: Sampler
    interval: Fixed | Adaptive | Placed
    noise: Kind
    unit_scale: float
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
            noises: noise of scale 1 for each of them, for a table chance between 0 and 1, ``(k,)``.
        """
        for value, noise in zip(values.tolist(), noises.tolist(), strict=True):
            t += 1
            rng = generator(self.seed, "sampler", self.run, t)
            if state is None and not self.paper_start:
                state = self.sampler.start(rng)
            left, right, response = self._asked(rng, state, value, noise)
            if state is None:
                state = self._at_first_response(rng, response)
            state, info = self.sampler.step(rng, state, response)
            known = moments(state)
            width = learnt.width(known.sd_log_sigma, self.sampler.prior)
            size = info.effective_sample_size
            yield state, Answer(t, left, right, response.value, *known[:4], width, size)

    def _asked(
        self, rng: np.random.Generator, state: Any, value: float, noise: float
    ) -> tuple[float, float, Response]:
        """Between which ends a person is asked, and the private answer."""
        if isinstance(self.interval, Placed):
            location, scale = pick(rng, state)
            table = self.interval.table
            return *table.reach(location, scale), table.answer(value, noise, location, scale)
        if state is None:
            left, right = self.interval[0], self.interval[1]
        else:
            left, right = self.interval.choose(rng, state)
        return left, right, answer(value, noise, left, right, self.unit_scale)

    def _at_first_response(self, rng: np.random.Generator, response: Response) -> Any:
        """All particles' μ at the first response, σ from the prior ([Y23]'s script; MATH A10)."""
        sampler = cast(Latent, self.sampler)
        theta = sampler.prior.draw(rng, sampler.particles)
        theta[:, 0] = response.value
        return sampler.at(theta)
