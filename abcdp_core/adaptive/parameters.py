"""Parameters of a stream of people, and the stream they define."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike

from abcdp_core.adaptive import best_channel, channels, contraction, intervals, noise
from abcdp_core.adaptive.channels import Channel, DiscreteChannel, Symbols, Truncation, separate
from abcdp_core.adaptive.families import FAMILIES
from abcdp_core.adaptive.grid import Grid
from abcdp_core.adaptive.latent import Latent
from abcdp_core.adaptive.noise import NoiseFamily
from abcdp_core.adaptive.prior import Prior
from abcdp_core.adaptive.response import Kind
from abcdp_core.adaptive.smc import Smc
from abcdp_core.adaptive.stream import Sampler, Stream
from abcdp_core.base import parameters as par
from abcdp_core.base.arrays import Array
from abcdp_core.base.parameters import Parameter, ParameterError, Params, choice, scale
from abcdp_core.base.sentences import estimate
from abcdp_core.base.streams import generator
from abcdp_core.privacy import Gaussian, Laplace, statement_of_largest

PROTECTED = "each person's answer"
"""What a stream protects, in privacy statements."""

PEOPLE = scale(
    "N · people",
    "Each person answers once and has their own budget.",
    (10, 30, 100, 300, 1000, 3000, 5000, 10_000, 20_000),
    low=1,
    high=100_000,
)
EPSILON_TOTAL = dataclasses.replace(
    par.EPSILON_TOTAL,
    label="ε_total · budget of each person",
    help="How much a person's only answer may reveal about that person. Smaller = more private, "
    "noisier answers.",
)
MU = scale(
    "True μ",
    "Mean of the people's values.",
    (-200.0, -100.0, -50.0, 0.0, 50.0, 100.0, 200.0),
    low=-1000.0,
    high=1000.0,
)
SIGMA = scale(
    "True σ",
    "Standard deviation of the people's values.",
    (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0),
    low=0.01,
    high=1000.0,
)
PARTICLES = scale(
    "Particles",
    "More particles show the posterior more smoothly and take longer.",
    (10, 30, 100, 300, 1000, 3000, 10_000),
    low=1,
)
SAMPLER = choice(
    "Sampler",
    "smc: ours, with the exact likelihood. smc-latent: the paper's, which also samples every "
    "person's value. grid: the posterior on a grid, as a reference.",
    ("smc", "smc-latent", "grid"),
)
INTERVAL = choice(
    "Interval",
    "adaptive: the best interval given the answers so far. fixed: the same for everyone.",
    ("adaptive", "fixed"),
)
FIXED_WIDTH = scale(
    "Half-width of the fixed interval, in σ",
    "The fixed interval is the true μ plus and minus this many true σ. The paper uses 10.",
    (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0),
    low=0.01,
    high=100.0,
)
SCORE = choice(
    "The interval is best for",
    "mu or sigma: information about one of them. trace: the sum for both. determinant: both "
    "jointly. weights: a weighted sum.",
    tuple(intervals.SCORES),
)
WEIGHT = scale(
    "Weight of σ",
    "For the score weights only: 0 counts μ alone, 1 counts σ alone.",
    tuple(i / 10 for i in range(11)),
)
SYMMETRIC = Parameter(
    "switch",
    "Symmetric intervals only",
    "Use only intervals centered at μ. Otherwise the best interval may lie to one side.",
)
NOISE = choice(
    "Noise of the answers",
    "laplace: pure differential privacy. gaussian: a weaker guarantee, with a small δ.",
    ("laplace", "gaussian"),
)
CHANNEL = choice(
    "Way of asking",
    "truncation: the value clipped to an interval, plus noise. sign: which side of a point the "
    "value is on, sometimes flipped. optimal: one of a few symbols, the most informative ones.",
    ("truncation", "sign", "optimal"),
)
START = choice(
    "Start",
    "prior: particles and the first interval come from the prior. paper (smc-latent only): the "
    "first person is asked near 0, and all particles start at the first answer.",
    ("prior", "paper"),
)
REFRESH = Parameter(
    "integer",
    "Values refreshed per person",
    "For smc-latent only: how many earlier values each particle moves at a time; 0 moves all.",
    low=0,
    high=100_000,
)
RESAMPLING = choice(
    "Resampling",
    "systematic: one random number for all particles. multinomial: one for each.",
    ("systematic", "multinomial"),
)
KNOWN_SIGMA = Parameter(
    "switch", "σ is known", "Only μ is estimated; σ has its true value in all particles."
)
PRIOR_MEAN = scale(
    "Prior mean of μ", "The prior of μ is normal.", (-100.0, 0.0, 50.0, 100.0), low=-1e4, high=1e4
)
PRIOR_VARIANCE = scale(
    "Prior variance of μ",
    "The paper uses 10,000, which is almost uninformative.",
    tuple(10.0**e for e in range(-4, 9)),
)
FAMILY = choice(
    "Family of the values",
    "Shape of the distribution of people's values. Its location and scale are estimated.",
    tuple(FAMILIES),
)
PRIOR_SHAPE = scale(
    "Prior shape of σ²",
    "The prior of σ² is inverse gamma.",
    (0.5, 1.0, 2.0, 5.0, 10.0),
    low=0.1,
    high=1000.0,
)
PRIOR_RATE = scale(
    "Prior rate of σ²",
    "The prior of σ² is inverse gamma; its mean is rate / (shape − 1) for a shape above 1.",
    (0.1, 1.0, 10.0, 40.0, 100.0),
    low=1e-3,
    high=1e6,
)

TABLES = ("sign", "optimal")
"""Channels whose answers are symbols, without noise."""

FOLLOW_TABLES = ("smc", "grid")
"""Samplers that can use symbols."""

VALUES_LIMIT = 20_000_000
"""Largest ``n * particles`` of smc-latent: 160 MB of values, briefly twice as much."""


@dataclass(frozen=True)
class StreamParams(Params):
    """Parameters shared by all studies of a stream."""

    LEARNT: ClassVar[float] = contraction.LEARNT

    n: int = PEOPLE.field(1000)
    mu: float = MU.field(50.0)
    sigma: float = SIGMA.field(math.sqrt(10.0))
    particles: int = PARTICLES.field(1000)
    fixed_width: float = FIXED_WIDTH.field(10.0)
    score: str = SCORE.field("mu")
    weight: float = WEIGHT.field(0.5)
    symmetric: bool = SYMMETRIC.field(True)
    noise: str = NOISE.field("laplace")
    delta: float = par.DELTA.field(1e-5)
    start: str = START.field("prior")
    refresh: int = REFRESH.field(0)
    resampling: str = RESAMPLING.field("systematic")
    known_sigma: bool = KNOWN_SIGMA.field(False)
    prior_mean: float = PRIOR_MEAN.field(0.0)
    prior_variance: float = PRIOR_VARIANCE.field(1e4)
    prior_shape: float = PRIOR_SHAPE.field(1.0)
    prior_rate: float = PRIOR_RATE.field(1.0)
    noise_draw: int = par.NOISE_DRAW.field(0)

    def family(self) -> NoiseFamily:
        """Family of the noise."""
        return cast(NoiseFamily, self.noise)

    def prior(self) -> Prior:
        """Prior of (μ, σ)."""
        return Prior(
            self.prior_mean,
            self.prior_variance,
            self.prior_shape,
            self.prior_rate,
            self.sigma if self.known_sigma else None,
        )

    def narrower(self, sampler: str, widths: ArrayLike) -> Array:
        """Return by which share the posterior of log σ is narrower than its prior; 1 for a known σ.

        ``widths (k,)`` are standard deviations of log σ as shares of the prior's.
        """
        if self.known_sigma:
            return np.ones(np.shape(widths))
        return contraction.narrower(widths, None if sampler == "grid" else self.particles)

    def sigma_in_words(self, sampler: str, mean: float, sd: float, width: float) -> str:
        """Say what the posterior of σ is, the truth, and how much narrower than the prior it is."""
        if self.known_sigma:
            return f"σ = {self.sigma:.3g} is known"
        gained = self.narrower(sampler, width).item()
        return (
            f"σ = {estimate(mean, sd)} (true {self.sigma:.3g}); the posterior of log σ is "
            f"{contraction.words(gained)}"
        )

    def check_sampler(self, sampler: str) -> None:
        """Check that the paper's sampler fits in memory.

        Raises:
            ParameterError: n * particles is too large.
        """
        if sampler == "smc-latent" and self.n * self.particles > VALUES_LIMIT:
            raise ParameterError(
                f"n * particles = {self.n * self.particles:,}: must be at most {VALUES_LIMIT:,} "
                "for smc-latent, which keeps every person's value in every particle."
            )

    def people(self, seed: int, run: int, channel: str = "truncation") -> tuple[Array, Array]:
        """Draw the people's values and the randomness of their answers, both ``(n,)``.

        The latter is noise of scale 1, or for a table of symbols a number between 0 and 1.
        """
        values = self.mu + self.sigma * generator(seed, "people", run).standard_normal(self.n)
        rng = generator(seed, "noise", run, self.noise_draw)
        if channel in TABLES:
            return values, rng.random(self.n)
        return values, noise.draw(rng, self.family(), self.n)

    def sampler_of(self, name: str, channel: str = "truncation") -> Sampler:
        """Return the online sampler of a name, for answers through a channel."""
        kind: Kind = "table" if channel in TABLES else self.family()
        if name == "grid":
            return Grid(self.prior(), kind)
        if name == "smc-latent":
            return Latent(
                self.prior(), self.family(), self.particles, self.refresh, self.resampling
            )
        return Smc(self.prior(), kind, self.particles, resampling=self.resampling)

    def interval_of(self, name: str, unit_scale: float) -> tuple[float, float]:
        """Return the ``fixed`` interval, or the ``adaptive`` one at μ = 0 and σ = 1."""
        if name == "fixed":
            half = self.fixed_width * self.sigma
            return separate(self.mu - half, self.mu + half)
        best = intervals.best(
            unit_scale, self.noise, "normal", self.score, self.symmetric, self.weight
        )
        return best.a, best.b

    def unit_scale(self, epsilon_total: float) -> float:
        """Return the noise scale per unit of the interval's width."""
        return noise.unit_scale(self.family(), epsilon_total, self.delta)

    def table_of(self, channel: str, epsilon_total: float) -> DiscreteChannel:
        """Return the table of a channel's name, best for the chosen score."""
        return table(channel, epsilon_total, "normal", self.score, self.symmetric, self.weight)

    def event(
        self, epsilon_total: float, channel: str = "truncation"
    ) -> Laplace | Gaussian | Symbols:
        """Return the privacy event of one answer, per unit of the interval's width."""
        if channel in TABLES:
            return Symbols(self.table_of(channel, epsilon_total).epsilon)
        return noise.event(self.family(), self.unit_scale(epsilon_total))

    def promise(self, budgets: Sequence[float], channel: str = "truncation") -> str:
        """State what each answer guarantees at the largest of some budgets."""
        return statement_of_largest(
            budgets, lambda budget: self.event(budget, channel), PROTECTED, self.delta
        )

    def stream(
        self,
        epsilon_total: float,
        sampler: str,
        interval: str,
        seed: int,
        run: int,
        channel: str = "truncation",
    ) -> Stream:
        """Return the stream of a budget; tables are always placed adaptively."""
        is_table = channel in TABLES
        asked: Channel = (
            self.table_of(channel, epsilon_total)
            if is_table
            else self.truncation(interval, epsilon_total)
        )
        return Stream(
            self.sampler_of(sampler, channel),
            asked,
            fixed=interval == "fixed" and not is_table,
            paper_start=self.start == "paper" and sampler == "smc-latent",
            seed=seed,
            run=run,
        )

    def truncation(self, interval: str, epsilon_total: float) -> Truncation:
        """Return the channel that clips to an interval of :data:`INTERVAL`."""
        unit_scale = self.unit_scale(epsilon_total)
        ends = self.interval_of(interval, unit_scale)
        return Truncation(*ends, self.family(), unit_scale, self.delta)


def score_in_words(score: str, weight: float) -> str:
    """Name a score, such as ``information about μ``."""
    return {
        "mu": "information about μ",
        "sigma": "information about σ",
        "trace": "sum of the information about μ and about σ",
        "determinant": "determinant of the information about μ and σ",
        "weights": f"weighted information about μ and σ ({weight:g} on σ)",
    }[score]


def check_noise(channels: Sequence[str], noise: str) -> None:
    """Check that no table is combined with Gaussian noise.

    Raises:
        ParameterError: it is.
    """
    tables = [name for name in channels if name in TABLES]
    if tables and noise == "gaussian":
        raise ParameterError(
            f"channel = {', '.join(tables)}: needs noise = laplace; symbols from a table have no "
            "noise and no δ."
        )


def table(
    name: str, epsilon_total: float, family: str, score: str, symmetric: bool, weight: float
) -> DiscreteChannel:
    """Return the table of a channel's name; arguments as for :func:`best_channel.best`."""
    if name == "sign":
        return channels.sign(epsilon_total)
    return best_channel.best(epsilon_total, family, score, symmetric, weight).channel


def check_tables(channels: Sequence[str], ways: Sequence[str], samplers: Sequence[str]) -> None:
    """Check that tables are combined with an adaptive interval and a suitable sampler.

    Raises:
        ParameterError: no interval is adaptive, or no sampler can use symbols.
    """
    symbols = ", ".join(name for name in channels if name in TABLES)
    if symbols and "adaptive" not in ways:
        raise ParameterError(
            f"channel = {symbols}: needs interval = adaptive; symbols depend on earlier answers."
        )
    if symbols and not {*samplers} & {*FOLLOW_TABLES}:
        raise ParameterError(
            f"channel = {symbols}: needs sampler = smc or grid; the others need answers with noise."
        )


def channel(name: str, epsilon_total: float, score: str = "mu") -> Channel:
    """Return the channel of a name that is best for normal values, with Laplace noise if any."""
    if name in TABLES:
        return table(name, epsilon_total, "normal", score, symmetric=True, weight=0.5)
    unit_scale = noise.unit_scale("laplace", epsilon_total, 0.0)
    best = intervals.best(unit_scale, score=score)
    return Truncation(best.a, best.b, "laplace", unit_scale)


@dataclass(frozen=True)
class OneWayParams(Params):
    """Parameters of a study with one channel at one budget."""

    n: int = PEOPLE.field(1000)
    epsilon_total: float = EPSILON_TOTAL.field(2.0)
    channel: str = CHANNEL.field("truncation")
    mu: float = MU.field(50.0)
    sigma: float = SIGMA.field(math.sqrt(10.0))
    known_sigma: bool = KNOWN_SIGMA.field(True)
    particles: int = dataclasses.replace(PARTICLES, high=1000).field(100)
    runs: int = par.RUNS.field(10)

    def stream(self) -> StreamParams:
        """Return the same parameters for one stream of people."""
        known = {each.name for each in dataclasses.fields(StreamParams)}
        return StreamParams(**{key: value for key, value in vars(self).items() if key in known})
