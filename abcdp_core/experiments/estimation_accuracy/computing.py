"""One method on the people of one run, part after part."""

from __future__ import annotations

import dataclasses
import functools
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from abcdp_core import experiments, summaries
from abcdp_core.experiments import Link, Onward
from abcdp_core.experiments.estimation_accuracy.settings import BATCH, COLUMNS, Params
from abcdp_core.online import learnt
from abcdp_core.online import parameters as online
from abcdp_core.online.batch import Batch
from abcdp_core.online.channels import answer
from abcdp_core.streams import generator

Array = NDArray[np.float64]

LINKS = 20
"""Parts that a run of one method is done in, so that it can be stopped."""

CLOSE = 10**-0.5
"""Standard deviation of μ, in σ, that ``reach`` waits for: that of the mean of ten exact values."""


@dataclass(frozen=True)
class Task(experiments.Run[Params]):
    """One method on the people of one run; ``params`` hold one budget, sampler and interval."""

    @property
    def links(self) -> int:
        """Parts it is done in."""
        of_people = self.params.sampler[0] not in BATCH
        return min(LINKS, self.params.n if of_people else self.params.iterations)

    def part(self, number: int, whole: int) -> slice:
        """The ``number``-th of the parts of a whole."""
        return slice(number * whole // self.links, (number + 1) * whole // self.links)

    def row(self) -> tuple[float, str, str, str, int]:
        """What its rows begin with; a table of symbols has its name for an interval."""
        params = self.params
        way, channel = params.ways()[0], params.channel[0]
        return params.epsilon_total[0], params.sampler[0], way, channel, self.run


def tasks(params: Params, seed: int) -> list[Task]:
    """All methods of a run, then the next run: the study can be stopped at any time."""
    return [
        Task(_single(params, epsilon_total, method), run, seed)
        for run in range(params.runs)
        for epsilon_total in params.epsilon_total
        for method in params.methods()
    ]


def _single(params: Params, epsilon_total: float, method: tuple[str, str]) -> Params:
    sampler, way = method
    is_table = way in online.TABLES
    return dataclasses.replace(
        params,
        epsilon_total=(epsilon_total,),
        sampler=(sampler,),
        interval=("adaptive",) if is_table else (way,),
        channel=(way,) if is_table else ("truncation",),
        runs=1,
    )


def work(task: Task | Onward[Task]) -> Link:
    """Do the next part of one method's run; the last one has its estimate."""
    here = Onward.of(task, (None, 0.0))
    whole, (state, seconds) = here.task, here.state
    start = time.perf_counter()
    advance = _batch if whole.params.sampler[0] in BATCH else _online
    state, estimate, rows = advance(whole, here.done, state)
    seconds += time.perf_counter() - start
    if here.done + 1 == whole.links:
        *means, width = estimate
        rows["main"] = [(*means, *_errors_of(whole.params, *means), width, seconds)]
    tables = {name: _no_rows(name).copy() for name in COLUMNS}
    for name, each in rows.items():
        keyed = [(*whole.row(), *row) for row in each]
        tables[name] = pd.DataFrame(keyed, columns=list(COLUMNS[name]))
    return here.link(tables, (state, seconds))


_KINDS = {"sampler": str, "interval": str, "channel": str, "run": int, "t": int, "people": int}


@functools.cache
def _no_rows(name: str) -> pd.DataFrame:
    """A table without rows, which most links give three of: slow to make, fast to copy."""
    columns = {column: pd.Series(dtype=_KINDS.get(column, float)) for column in COLUMNS[name]}
    return pd.DataFrame(columns)


def _errors_of(params: Params, mean_mu: float, mean_sigma: float) -> tuple[float, float]:
    return abs(mean_mu - params.mu), abs(mean_sigma - params.sigma)


Rows = dict[str, list[tuple[Any, ...]]]
Part = tuple[Any, tuple[float, ...], Rows]
"""The state after a part, means of (μ, σ) and width of σ, and rows of tables without their key."""


def _online(task: Task, done: int, state: Any) -> Part:
    """Ask the next people; what is known then."""
    params = task.params
    before, reached = state or (None, 1)
    stream = params.stream(
        *(params.epsilon_total[0], params.sampler[0], params.interval[0], task.seed, task.run),
        params.channel[0],
    )
    part = task.part(done, params.n)
    values, noises = params.people(task.seed, task.run, params.channel[0])
    turns = list(stream.ask(before, part.start, values[part], noises[part]))
    asked = [row for _, row in turns]
    last = asked[-1]
    close = CLOSE * params.sigma
    reached = max((row.t + 1 for row in asked if row.sd_mu >= close), default=reached)
    # Half of it first: the ends may be as far away as a computer counts.
    centres = np.array([0.5 * row.left + 0.5 * row.right for row in asked])
    errors = _errors_of(params, last.mean_mu, last.mean_sigma)
    spread = last.sd_mu, last.sd_sigma, last.sigma_width
    rows: Rows = {"course": [(last.t, *spread, *errors, float(centres.std()))]}
    if last.t == params.n:
        rows["reach"] = [(reached,)]
    state = turns[-1][0], reached
    return state, (last.mean_mu, last.mean_sigma, last.sigma_width), rows


def _batch(task: Task, done: int, walk: Any) -> Part:
    """The next iterations of a chain; at its end its means and how well it moved."""
    params, prior = task.params, task.params.prior()
    candidates = params.candidates if params.sampler[0] == "mhaar" else 0
    sampler = Batch(prior, params.family(), params.iterations, params.burn_in, candidates)
    responses = _responses(task)
    rng = generator(task.seed, "chain", task.run, done)
    walk = sampler.start(rng, responses) if walk is None else walk
    part = task.part(done, params.iterations)
    walk = sampler.go_on(rng, walk, responses, part.stop - part.start)
    if done + 1 < task.links:
        return walk, (), {}
    kept = sampler.kept(walk)
    times = [summaries.autocorrelation_time(column) for column in kept.T]
    width = learnt.width(float(kept[:, 1].std()), prior)
    estimate = float(kept[:, 0].mean()), float(np.exp(kept[:, 1]).mean()), width
    return walk, estimate, {"chains": [(walk.accepted / params.iterations, *times)]}


def _responses(task: Task) -> Array:
    """Everybody's answer in the fixed interval, ``(n, 4)``."""
    params = task.params
    unit_scale = params.unit_scale(params.epsilon_total[0])
    left, right = params.interval_of("fixed", unit_scale)
    turns = zip(*params.people(task.seed, task.run), strict=True)
    return np.array([answer(value, scaled, left, right, unit_scale) for value, scaled in turns])
