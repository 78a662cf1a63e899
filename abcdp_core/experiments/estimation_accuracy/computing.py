"""What can be chosen for estimates from truncated answers, and how a method follows a run."""

from __future__ import annotations

import dataclasses
import itertools
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abcdp_core import parameters as par
from abcdp_core import summaries
from abcdp_core.online import learnt
from abcdp_core.online import parameters as online
from abcdp_core.online.batch import Batch
from abcdp_core.online.channels import answer
from abcdp_core.parameters import Parameter, ParameterError
from abcdp_core.streams import generator
from abcdp_core.study import Chain, Onward
from abcdp_core.study.estimates import ask

Array = NDArray[np.float64]

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
        online.check_tables(self.channel, self.interval, self.sampler)
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
        return sampler in online.FOLLOW_TABLES
    return sampler not in BATCH or way == "fixed"


LINKS = 20
"""Parts that a run of one method is done in, so that it can be stopped."""

CLOSE = 10**-0.5
"""Standard deviation of μ, in σ, that ``reach`` waits for: that of the mean of ten exact values."""

Row = dict[str, Any]
Part = tuple[Any, Row, dict[str, Row]]
"""The state after a part of a run, the estimate then, and the row of each table that has one."""


def chains(params: Params, seed: int) -> list[Chain[Params]]:
    """All methods of a run, then the next run: the study can be stopped at any time."""
    return [
        _chain(params, run, seed, budget, *method)
        for run in range(params.runs)
        for budget in params.epsilon_total
        for method in params.methods()
    ]


def _chain(
    params: Params, run: int, seed: int, budget: float, sampler: str, way: str
) -> Chain[Params]:
    is_table = way in online.TABLES
    single = dataclasses.replace(
        params,
        epsilon_total=(budget,),
        sampler=(sampler,),
        interval=("adaptive",) if is_table else (way,),
        channel=(way,) if is_table else ("truncation",),
        runs=1,
    )
    return Chain(single, run, seed, min(LINKS, params.iterations if sampler in BATCH else params.n))


def advance(here: Onward[Chain[Params]]) -> tuple[dict[str, list[Row]], Any]:
    """Do the next part of one method's run; the last one has its estimate."""
    params, (state, seconds) = here.task.params, here.state or (None, 0.0)
    start = time.perf_counter()
    follow = _batch if params.sampler[0] in BATCH else _online
    state, estimate, rows = follow(here, state)
    seconds += time.perf_counter() - start
    if here.is_last:
        rows["main"] = estimate | {"seconds": seconds}
    # A table of symbols has its name for an interval.
    way = {"interval": params.ways()[0]}
    return {name: [row | way] for name, row in rows.items()}, (state, seconds)


def _estimate(params: Params, mu: float, sigma: float, width: float) -> Row:
    errors = {"error_mu": abs(mu - params.mu), "error_sigma": abs(sigma - params.sigma)}
    return {"mean_mu": mu, "mean_sigma": sigma, "sigma_width": width} | errors


def _online(here: Onward[Chain[Params]], state: Any) -> Part:
    """Ask the next people; what is known then."""
    params, (known, reached) = here.task.params, state or (None, 1)
    known, asked = ask(here.task, known, here.part(params.n))
    far = asked.t[asked.sd_mu >= CLOSE * params.sigma]
    reached = int(far.max()) + 1 if len(far) else reached
    # Half of it first: the ends may be as far away as a computer counts.
    centres = (0.5 * asked.left + 0.5 * asked.right).to_numpy()
    last = asked.iloc[-1]
    estimate = _estimate(params, last.mean_mu, last.mean_sigma, last.sigma_width)
    spread = {"t": int(last.t), "sd_mu": last.sd_mu, "sd_sigma": last.sd_sigma}
    rows = {"course": {**estimate, **spread, "centre_sd": float(centres.std())}}
    if here.is_last:
        rows["reach"] = {"people": reached}
    return (known, reached), estimate, rows


def _batch(here: Onward[Chain[Params]], walk: Any) -> Part:
    """The next iterations of a chain; at its end its means and how well it moved."""
    task, params, prior = here.task, here.task.params, here.task.params.prior()
    candidates = params.candidates if params.sampler[0] == "mhaar" else 0
    sampler = Batch(prior, params.family(), params.iterations, params.burn_in, candidates)
    answers, rng = responses(task), generator(task.seed, "chain", task.run, here.done)
    walk = sampler.start(rng, answers) if walk is None else walk
    part = here.part(params.iterations)
    walk = sampler.go_on(rng, walk, answers, part.stop - part.start)
    if not here.is_last:
        return walk, {}, {}
    kept = sampler.kept(walk)
    mu, sigma = (summaries.autocorrelation_time(column) for column in kept.T)
    chain = {"autocorrelation_mu": mu, "autocorrelation_sigma": sigma}
    chain["acceptance"] = walk.accepted / params.iterations
    width = learnt.width(float(kept[:, 1].std()), prior)
    means = float(kept[:, 0].mean()), float(np.exp(kept[:, 1]).mean())
    return walk, _estimate(params, *means, width), {"chains": chain}


def responses(task: Chain[Params]) -> Array:
    """Everybody's answer in the fixed interval, ``(n, 4)``."""
    params = task.params
    unit_scale = params.unit_scale(params.epsilon_total[0])
    left, right = params.interval_of("fixed", unit_scale)
    turns = zip(*params.people(task.seed, task.run), strict=True)
    return np.array([answer(value, scaled, left, right, unit_scale) for value, scaled in turns])
