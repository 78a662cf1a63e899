"""What can be chosen for estimates from adaptive truncation, and the columns of what is found."""

from __future__ import annotations

import dataclasses
import itertools
from dataclasses import dataclass

from abcdp_core import parameters as par
from abcdp_core.online import parameters as online
from abcdp_core.parameters import Parameter, ParameterError

KEY = ("epsilon_total", "sampler", "interval", "channel", "run")
COLUMNS = {
    "main": (
        *(*KEY, "mean_mu", "mean_sigma", "error_mu", "error_sigma", "sigma_width", "seconds"),
    ),
    "course": (
        *(*KEY, "t", "sd_mu", "sd_sigma", "sigma_width", "error_mu", "error_sigma", "centre_sd"),
    ),
    "reach": (*KEY, "people"),
    "chains": (*KEY, "acceptance", "autocorrelation_mu", "autocorrelation_sigma"),
}

BATCH = ("mhaar", "mh")
SAMPLER = Parameter(
    kind="choice",
    label="Samplers",
    help="smc, smc-latent and grid follow people online; mhaar and mh come after the last one.",
    options=(*online.SAMPLER.options, *BATCH),
)
ITERATIONS = Parameter(
    kind="integer",
    label="Iterations of a batch sampler",
    help="Steps of its chain; the paper takes 100 000.",
    low=100,
    high=1_000_000,
    steps=(1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000),
)
BURN_IN = Parameter(
    kind="real",
    label="Burn-in",
    help="Share of a chain that estimates leave out; its step adapts meanwhile.",
    low=0.0,
    high=0.95,
    steps=(0.1, 0.2, 0.5, 0.8),
)
CANDIDATES = Parameter(
    kind="integer",
    label="Candidates of mhaar",
    help="Candidate values per person and iteration; the paper takes 20.",
    low=2,
    high=1000,
    steps=(2, 5, 10, 20, 50, 100),
)

RUNS = dataclasses.replace(par.RUNS, high=2000)
"""So many tell a few per cent between ways of asking."""

FOLLOWS_TABLES = ("smc", "grid")
"""Samplers that know the probability of a symbol."""


@dataclass(frozen=True)
class Params(online.StreamParams):
    """Every budget with every method, on the same people within a run."""

    epsilon_total: tuple[float, ...] = par.EPSILON_TOTAL.field((1.0, 2.0, 5.0, 10.0), many=True)
    sampler: tuple[str, ...] = SAMPLER.field("smc", many=True)
    interval: tuple[str, ...] = online.INTERVAL.field(("adaptive", "fixed"), many=True)
    runs: int = RUNS.field(10)
    iterations: int = ITERATIONS.field(10_000)
    burn_in: float = BURN_IN.field(0.2)
    candidates: int = CANDIDATES.field(20)
    channel: tuple[str, ...] = online.CHANNEL.field(("truncation",), many=True)

    def check_together(self) -> None:
        """Refuse a study without a method, or what a sampler or a way of asking cannot do."""
        for sampler in self.sampler:
            self.check_sampler(sampler)
        online.check_noise(self.channel, self.noise)
        if self.tables() and "adaptive" not in self.interval:
            raise ParameterError(
                f"channel = {', '.join(self.tables())}: needs interval = adaptive; symbols are "
                "placed by what is known so far."
            )
        if self.tables() and not {*self.sampler} & {*FOLLOWS_TABLES}:
            raise ParameterError(
                f"channel = {', '.join(self.tables())}: needs sampler = smc or grid; the others "
                "know answers with noise only."
            )
        if not self.methods():
            raise ParameterError(
                f"sampler = {', '.join(self.sampler)}: a batch sampler needs interval = fixed."
            )

    def tables(self) -> list[str]:
        """Channels whose answers are symbols from a table."""
        return [name for name in self.channel if name in online.TABLES]

    def ways(self) -> list[str]:
        """Ways of asking: the intervals of truncation, and the names of other channels."""
        return [*(self.interval if "truncation" in self.channel else ()), *self.tables()]

    def methods(self) -> list[tuple[str, str]]:
        """Ways of inferring and asking: (sampler, interval or name of a table)."""
        every = itertools.product(self.sampler, self.ways())
        return [(sampler, way) for sampler, way in every if _fit(sampler, way)]


def _fit(sampler: str, way: str) -> bool:
    """Whether a sampler can follow a way of asking."""
    if way in online.TABLES:
        return sampler in FOLLOWS_TABLES
    return sampler not in BATCH or way == "fixed"
