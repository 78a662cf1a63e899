"""Parameters of the study, and how a method works through a run."""

from __future__ import annotations

import dataclasses
import itertools
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from abcdp_core.adaptive import contraction
from abcdp_core.adaptive import parameters as stream_params
from abcdp_core.adaptive.batch import Batch
from abcdp_core.adaptive.channels import answer
from abcdp_core.base import parameters as par
from abcdp_core.base import summaries
from abcdp_core.base.parameters import ParameterError
from abcdp_core.base.streams import generator
from abcdp_core.run.tasks import with_values
from abcdp_core.studies.engine import Array, Chain, Continuation, choice, scale
from abcdp_core.studies.engine.estimates import ask

BATCH = ("mhaar", "mh")
SAMPLER = choice(
    "Samplers",
    "smc, smc-latent and grid run online; mhaar and mh start after the last answer.",
    (*stream_params.SAMPLER.options, *BATCH),
)
ITERATIONS = scale(
    "Iterations of a batch sampler",
    "Steps of the chain; the paper takes 100 000.",
    (1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000),
    low=100,
    high=1_000_000,
)
BURN_IN = scale(
    "Burn-in",
    "Share of the chain that estimates leave out; the step size adapts during it.",
    (0.1, 0.2, 0.5, 0.8),
    low=0.0,
    high=0.95,
)
CANDIDATES = scale(
    "Candidates of mhaar",
    "Candidate values per person and iteration; the paper takes 20.",
    (2, 5, 10, 20, 50, 100),
    high=1000,
)

RUNS = dataclasses.replace(par.RUNS, high=2000)
"""Enough runs to detect a difference of a few percent between ways of asking."""


@dataclass(frozen=True)
class Params(stream_params.StreamParams):
    """Settings; within a run, every budget and every method has the same people."""

    epsilon_total: tuple[float, ...] = par.EPSILON_TOTAL.field((1.0, 2.0, 5.0, 10.0))
    sampler: tuple[str, ...] = SAMPLER.field(("smc",))
    interval: tuple[str, ...] = stream_params.INTERVAL.field(("adaptive", "fixed"))
    runs: int = RUNS.field(10)
    iterations: int = ITERATIONS.field(10_000)
    burn_in: float = BURN_IN.field(0.2)
    candidates: int = CANDIDATES.field(20)
    channel: tuple[str, ...] = stream_params.CHANNEL.field(("truncation",))

    def check_together(self) -> None:
        """Refuse a study without a method, and combinations that do not work together."""
        for sampler in self.sampler:
            self.check_sampler(sampler)
        stream_params.check_noise(self.channel, self.noise)
        stream_params.check_tables(self.channel, self.interval, self.sampler)
        if not self.methods():
            names = ", ".join(self.sampler)
            raise ParameterError(f"sampler = {names}: a batch sampler needs interval = fixed.")

    def tables(self) -> list[str]:
        """Return the channels whose answers are symbols from a table."""
        return [name for name in self.channel if name in stream_params.TABLES]

    def ways(self) -> list[str]:
        """Return the ways of asking: intervals, and the names of tables of symbols."""
        return [*(self.interval if "truncation" in self.channel else ()), *self.tables()]

    def methods(self) -> list[tuple[str, str]]:
        """Return the methods: pairs of a sampler and a way of asking."""
        able: dict[str, Any] = dict.fromkeys(stream_params.TABLES, stream_params.FOLLOW_TABLES)
        able |= {"adaptive": stream_params.SAMPLER.options, "fixed": SAMPLER.options}
        every = itertools.product(self.sampler, self.ways())
        return [(sampler, way) for sampler, way in every if sampler in able[way]]


LINKS = 20  # Parts of a run of one method, so that it can be stopped

CLOSE = 10**-0.5
"""Standard deviation of μ that ``reach`` waits for, in σ, as of the mean of ten exact values."""

Row = dict[str, Any]
Part = tuple[Any, Row, dict[str, Row]]
"""The state after a part of a run, the estimate then, and table -> row for tables that have one."""


def chains(params: Params, seed: int) -> list[Chain[Params]]:
    """Return all methods of a run, then the next run, so that the study can stop at any time."""
    singles = []
    for budget, (sampler, way) in itertools.product(params.epsilon_total, params.methods()):
        asked = ("adaptive", way) if way in stream_params.TABLES else (way, "truncation")
        own = {"epsilon_total": budget, "sampler": sampler, "runs": 1}
        single = with_values(params, **own, interval=asked[0], channel=asked[1])
        links = min(LINKS, params.iterations if sampler in BATCH else params.n)
        singles.append((single, links))
    runs = range(params.runs)
    return [Chain(single, run, seed, links) for run in runs for single, links in singles]


def advance(chain: Continuation[Chain[Params]]) -> tuple[dict[str, list[Row]], Any]:
    """Do the next part of one method's run; the last part has its estimate."""
    params, (state, seconds) = chain.task.params, chain.state or (None, 0.0)
    start = time.perf_counter()
    follow = _batch if params.sampler[0] in BATCH else _online
    state, estimate, rows = follow(chain, state)
    seconds += time.perf_counter() - start
    if chain.is_last:
        rows["main"] = estimate | {"seconds": seconds}
    # For symbols, the column "interval" has the name of the table.
    way = {"interval": params.ways()[0]}
    return {name: [row | way] for name, row in rows.items()}, (state, seconds)


def _estimate(params: Params, mu: float, sigma: float, width: float) -> Row:
    errors = {"error_mu": abs(mu - params.mu), "error_sigma": abs(sigma - params.sigma)}
    return {"mean_mu": mu, "mean_sigma": sigma, "sigma_width": width} | errors


def _online(chain: Continuation[Chain[Params]], state: Any) -> Part:
    """Ask the next people, and estimate."""
    params, (known, reached) = chain.task.params, state or (None, 1)
    known, asked = ask(chain.task, known, chain.part(params.n))
    far = [row.t + 1 for row in asked if row.sd_mu >= CLOSE * params.sigma]
    reached = max(far, default=reached)
    # Halved before adding, as the ends may be near the largest number.
    centres = np.array([0.5 * row.left + 0.5 * row.right for row in asked])
    last = asked[-1]
    estimate = _estimate(params, last.mean_mu, last.mean_sigma, last.sigma_width)
    spread = {"t": last.t, "sd_mu": last.sd_mu, "sd_sigma": last.sd_sigma}
    rows = {"course": {**estimate, **spread, "centre_sd": float(centres.std())}}
    if chain.is_last:
        rows["reach"] = {"people": reached}
    return (known, reached), estimate, rows


def _batch(link: Continuation[Chain[Params]], walk: Any) -> Part:
    """Do the next iterations of a chain; at its end, return its means and diagnostics."""
    task, params, prior = link.task, link.task.params, link.task.params.prior()
    candidates = params.candidates if params.sampler[0] == "mhaar" else 0
    sampler = Batch(prior, params.family(), params.iterations, params.burn_in, candidates)
    answers, rng = responses(task), generator(task.seed, "chain", task.run, link.done)
    walk = sampler.start(rng, answers) if walk is None else walk
    part = link.part(params.iterations)
    walk = sampler.go_on(rng, walk, answers, part.stop - part.start)
    if not link.is_last:
        return walk, {}, {}
    kept = sampler.kept(walk)
    mu, sigma = (summaries.autocorrelation_time(column) for column in kept.T)
    chain = {"autocorrelation_mu": mu, "autocorrelation_sigma": sigma}
    chain["acceptance"] = walk.accepted / params.iterations
    width = contraction.width(float(kept[:, 1].std()), prior)
    means = float(kept[:, 0].mean()), float(np.exp(kept[:, 1]).mean())
    return walk, _estimate(params, *means, width), {"chains": chain}


def responses(task: Chain[Params]) -> Array:
    """Return everyone's answer in the fixed interval, ``(n, 4)``."""
    params = task.params
    unit_scale = params.unit_scale(params.epsilon_total[0])
    left, right = params.interval_of("fixed", unit_scale)
    turns = zip(*params.people(task.seed, task.run), strict=True)
    return np.array([answer(value, scaled, left, right, unit_scale) for value, scaled in turns])
