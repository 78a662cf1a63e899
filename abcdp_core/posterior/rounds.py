"""Compute a posterior by rounds of simulations until the weights suffice (MATH E8)."""

from __future__ import annotations

import dataclasses
import functools
import math
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from abcdp_core.base.parameters import ParameterError
from abcdp_core.base.streams import generator
from abcdp_core.base.summaries import effective_sample_size, weighted_mean, weighted_variance
from abcdp_core.models.mixtures import mixture
from abcdp_core.posterior.model import Model, seconds_of_one
from abcdp_core.posterior.noise import Noise
from abcdp_core.posterior.proposals import FIT, Proposal, normalised, tempered, together
from abcdp_core.posterior.regression import OF_ROUNDS, Regression

Array = NDArray[np.float64]

Way = Literal["weights", "augmentation", "regression", "nearest"]
"""Method of a posterior: importance weights, chains over records, adjusted nearest draws, or
unadjusted ones."""

FIRST = 10_000
"""Draws of the first round, from the prior."""

PILOT = 5000
"""Draws of a round that locates the posterior."""

CARRIES = 200.0
"""Effective sample size that suffices even if more was wanted; half of all draws also does."""

MARGIN = 1.1
"""Factor on the estimated draws of a round."""

REGRESSED = 20_000
"""Draws of the last rounds used by a regression."""

WIDER = 2.0
"""Factor of the proposed variances after a regression."""

LOOKED = 4
"""Fewest regressions before weights are given up."""

SETTLED = 0.2
"""Largest change of a settled regression between rounds, in standard deviations."""

FEWEST = 200
"""Fewest draws of the first round, however slow the simulator is."""

GRID = 2.0**32
"""Draws are multiples of 1 / GRID, so that machines that round differently simulate the same."""


@dataclass(frozen=True)
class Effort:
    """Limits on the simulations.

    Attributes:
        wanted: effective sample size that suffices.
        simulations: largest number of draws.
        seconds: about how long all rounds may take.
        rounds: draws of each round, to repeat a computation; overrides all others.
    """

    wanted: int = 1000
    simulations: int = 100_000
    seconds: float = math.inf
    rounds: tuple[int, ...] = ()


@dataclass(frozen=True)
class InferenceProblem:
    """A release and its model.

    Attributes:
        model: prior and simulator.
        noise: distribution of the noise.
        z: released numbers ``(k,)``.
        seed: root of all random numbers.
    """

    model: Model
    noise: Noise
    z: Array
    seed: int


@dataclass(frozen=True)
class Task:
    """Draws to simulate together, on any worker.

    Attributes:
        model, proposal: simulator, and distribution of the draws.
        seed, round, chunk: address of the random numbers.
        size: number of draws.
    """

    model: Model
    proposal: Proposal
    seed: int
    round: int
    chunk: int
    size: int


@dataclass(frozen=True)
class Draws:
    """Draws from one or more proposals.

    Attributes:
        x: ``(m, d)``.
        numbers: simulated numbers before noise ``(m, k)``; NaN if simulation failed or x is outside
            the prior's support.
        log_prior: of x ``(m,)``; 0 if the prior has no density.
    """

    x: Array = field(repr=False)
    numbers: Array = field(repr=False)
    log_prior: Array = field(repr=False)

    @classmethod
    def joined(cls, parts: Sequence[Draws]) -> Draws:
        """Concatenate draws."""
        return cls(
            np.concatenate([part.x for part in parts]),
            np.concatenate([part.numbers for part in parts]),
            np.concatenate([part.log_prior for part in parts]),
        )

    def some(self, chosen: NDArray[np.bool_]) -> Draws:
        """Select draws by a mask ``(m,)``."""
        return Draws(self.x[chosen], self.numbers[chosen], self.log_prior[chosen])

    def __len__(self) -> int:
        return len(self.x)

    @property
    def done(self) -> NDArray[np.bool_]:
        """Whether each draw was simulated successfully ``(m,)``."""
        return np.asarray(np.isfinite(self.numbers).all(axis=1))


TaskMap = Callable[[str, Callable[[Any], Any], Sequence[Any]], Iterable[Any]]
"""Runs tasks: maps a name, a function and its arguments to results in order."""


def one_by_one(
    name: str,  # noqa: ARG001 - part of the interface
    work: Callable[[Any], Any],
    tasks: Sequence[Any],
) -> Iterable[Any]:
    """Run tasks here."""
    return map(work, tasks)


def simulate(task: Task) -> Draws:
    """Simulate the draws of a task."""
    rng = generator(task.seed, "posterior-draws", task.round, task.chunk)
    x = task.proposal.draw(task.model.prior, rng, task.size)
    return simulated_at(task.model, np.rint(x * GRID) / GRID, rng)


def simulated_at(model: Model, x: Array, rng: np.random.Generator) -> Draws:
    """Simulate at ``x (m, d)`` inside the support."""
    prior = model.prior
    log_prior = prior.log_density(x) if prior.has_density else np.zeros(len(x))
    inside, numbers = np.isfinite(log_prior), np.full((len(x), len(model.numbers)), np.nan)
    if inside.any():
        made = model.simulate(rng, prior.theta(x[inside]))
        if made.shape != (wanted := numbers[inside].shape):
            raise ParameterError(f"simulator: gave numbers {made.shape}; {wanted} are needed.")
        numbers[inside] = made
    return Draws(x, numbers, log_prior)


def tasks_of(question: InferenceProblem, proposal: Proposal, number: int, size: int) -> list[Task]:
    """Return the tasks of one round, in chunks."""
    model, seed = question.model, question.seed
    return [
        Task(model, proposal, seed, number, chunk, min(model.chunk, size - start))
        for chunk, start in enumerate(range(0, size, model.chunk))
    ]


def many(tasks: Sequence[Task], each: TaskMap = one_by_one) -> Draws:
    """Simulate the draws of one round."""
    return Draws.joined(list(each(f"Round {tasks[0].round + 1}", simulate, tasks)))


@dataclass(frozen=True)
class State:
    """All simulations so far.

    Attributes:
        draws: of all rounds.
        log_noise: log density of the release given each draw ``(m,)``.
        log_drawn: log of the proposal densities' sum, weighted by sizes, at each draw ``(m,)``.
        proposals, sizes: proposal and number of draws of each round.
        effective: effective sample size after each round.
        regressions: mean and standard deviation of x by each regression.
    """

    draws: Draws
    log_noise: Array = field(repr=False)
    log_drawn: Array = field(repr=False)
    proposals: tuple[Proposal, ...]
    sizes: tuple[int, ...]
    effective: tuple[float, ...] = ()
    regressions: tuple[tuple[Array, Array], ...] = ()

    @property
    def total(self) -> int:
        """Number of draws of all rounds."""
        return sum(self.sizes)

    @property
    def log_base(self) -> Array:
        """Log of prior over the mixture of all proposals ``(m,)`` (Veach & Guibas 1995)."""
        prior = self.draws.log_prior
        base = np.full(len(prior), -np.inf)
        np.subtract(prior, self.log_drawn - math.log(self.total), out=base, where=prior > -np.inf)
        return base

    @property
    def is_possible(self) -> bool:
        """Whether any draw could have led to the release."""
        return bool(np.isfinite(self.log_noise).any())

    def counted(self) -> State:
        """Append the effective sample size of the weights; 0 if no draw is possible."""
        weights = self.log_base + self.log_noise
        size = effective_sample_size(normalised(weights)) if self.is_possible else 0.0
        return dataclasses.replace(self, effective=(*self.effective, size))


def _log_noise(question: InferenceProblem, draws: Draws) -> Array:
    """Return the log density of the release ``(m,)``; minus infinity for failed draws."""
    found, done = np.full(len(draws.x), -np.inf), draws.done
    if done.any():
        found[done] = question.noise.log_density(question.z, draws.numbers[done])
    return found


def _first_size(question: InferenceProblem, effort: Effort) -> int:
    """Return the number of draws in the first round: fewer if the simulator is slow."""
    size = min(FIRST, effort.simulations)
    if math.isinf(effort.seconds):
        return size
    each = max(seconds_of_one(question.model, question.seed), 1e-9)
    return min(size, max(FEWEST, int(effort.seconds / 2.0 / each)))


def _first(question: InferenceProblem, draws: Draws) -> State:
    """Return the state after draws from the prior."""
    size = len(draws.x)
    drawn = draws.log_prior + math.log(size)
    log_noise = _log_noise(question, draws)
    return State(draws, log_noise, drawn, (Proposal(),), (size,)).counted()


def _next(question: InferenceProblem, state: State, proposal: Proposal, more: Draws) -> State:
    """Return the state after a round of draws from a proposal."""
    proposals, sizes = (*state.proposals, proposal), (*state.sizes, len(more))
    # Densities of earlier proposals at earlier draws are known.
    own = math.log(len(more)) + proposal.log_density(state.draws.x, state.draws.log_prior)
    at_more = np.full(len(more.x), -np.inf)
    for count, one in zip(sizes, proposals, strict=True):
        at_more = np.logaddexp(at_more, math.log(count) + one.log_density(more.x, more.log_prior))
    return dataclasses.replace(
        state,
        draws=Draws.joined([state.draws, more]),
        log_noise=np.concatenate([state.log_noise, _log_noise(question, more)]),
        log_drawn=np.concatenate([np.logaddexp(state.log_drawn, own), at_more]),
        proposals=proposals,
        sizes=sizes,
    ).counted()


def _regression(question: InferenceProblem, state: State) -> tuple[Regression, Array]:
    """Fit a regression to the draws of the last rounds; return their noise ``(m, k)`` too."""
    count = 0
    for size in reversed(state.sizes):
        count += size
        if count >= REGRESSED:
            break
    last = np.arange(len(state.draws.x) - count, len(state.draws.x))
    last = last[state.draws.done[last]]
    numbers = state.draws.numbers[last]
    rng = generator(question.seed, "posterior-noise", len(state.sizes))
    noisy = question.noise.noisy(rng, numbers)
    found = Regression.fit(noisy, state.draws.x[last], state.log_base[last])
    return found, noisy - numbers


def _proposed(question: InferenceProblem, state: State) -> tuple[Proposal, State]:
    """Propose from tempered weights, and from a regression until the weights need no tempering."""
    if not (question.model.prior.has_density and state.is_possible):
        return Proposal(), state
    rng = generator(question.seed, "posterior-proposal", len(state.sizes))
    temperature, weights = tempered(state.log_base, state.log_noise)
    by_weights = Proposal(mixture(state.draws.x, weights, rng))
    if temperature == 1.0:
        return by_weights, state
    moved = _regression(question, state)[0].moved(question.z, OF_ROUNDS)
    mean = weighted_mean(moved.x, moved.weights)
    deviation = np.sqrt(weighted_variance(moved.x, moved.weights))
    regressions = (*state.regressions, (mean, deviation))
    by_regression = Proposal(mixture(moved.x, moved.weights, rng, wider=WIDER))
    return together(by_weights, by_regression), dataclasses.replace(state, regressions=regressions)


def _next_size(question: InferenceProblem, effort: Effort, state: State) -> int:
    """Return the draws of the next round; 0 to stop.

    Few until the weights locate the posterior, then as many as are missing, but never more than
    exist already, as a proposal fitted to more draws is better.
    """
    ess, left = state.effective[-1], effort.simulations - state.total
    if ess >= effort.wanted or left <= 0 or _is_hopeless(state, left):
        return 0
    if not question.model.prior.has_density:
        return min(state.total, left)
    if ess < FIT:
        return min(PILOT, left)
    before = state.effective[-2] if len(state.effective) > 1 else 0.0
    gain = max(ess - before, 1.0) / state.sizes[-1]
    missing = math.ceil(MARGIN * (effort.wanted - ess) / gain)
    return min(max(missing, PILOT // 2), state.total, left)


def _is_hopeless(state: State, left: int) -> bool:
    """Whether regressions have settled and the remaining draws will not make weights suffice."""
    if len(state.regressions) < LOOKED or state.effective[-1] >= CARRIES:
        return False
    *_, (first, _), (second, deviation) = state.regressions
    if (np.abs(second - first) > SETTLED * deviation).any():
        return False
    recent = (state.effective[-1] - state.effective[-3]) / sum(state.sizes[-2:])
    gain = max(recent, state.effective[-1] / state.total)
    return state.effective[-1] + gain * left < CARRIES


@dataclass(frozen=True)
class WeightedDraws:
    """A posterior on the scale x.

    Attributes:
        x, weights: draws ``(m, d)``, and their weights ``(m,)`` that sum to 1.
        numbers: plausible numbers before noise for each draw ``(m, k)``.
        way: method that gave the posterior.
        effective, sizes: effective sample size of the importance weights after each round, and its
            draws.
        failed: number of failed simulations.
        differ: whether two regressions disagreed; the wider result is used.
        prior: draws of the first round.
        indices: original draws of a pool ``(m,)``; else empty.
    """

    x: Array = field(repr=False)
    weights: Array = field(repr=False)
    numbers: Array = field(repr=False)
    way: Way
    effective: tuple[float, ...]
    sizes: tuple[int, ...]
    failed: int
    differ: bool
    prior: Draws = field(repr=False)
    indices: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=int), repr=False)


def infer(
    question: InferenceProblem,
    effort: Effort,
    each: TaskMap = one_by_one,
    first: Draws | None = None,
) -> WeightedDraws:
    """Compute the posterior on the scale x; the result does not depend on how tasks are run.

    Args:
        question: release and model.
        effort: limits on the simulations.
        each: runs tasks.
        first: existing draws from the prior.

    Raises:
        ParameterError: the simulator failed everywhere.
    """
    rounds = in_rounds(question, effort, first)
    try:
        tasks = next(rounds)
        while True:
            tasks = rounds.send(many(tasks, each))
    except StopIteration as end:
        return end.value


def in_rounds(
    question: InferenceProblem, effort: Effort, first: Draws | None = None
) -> Generator[list[Task], Draws, WeightedDraws]:
    """Yield the tasks of each round, take its draws, and return the posterior (:func:`infer`)."""
    started = time.monotonic()
    if first is None:
        size = effort.rounds[0] if effort.rounds else _first_size(question, effort)
        first = yield tasks_of(question, Proposal(), 0, size)
    if not first.done.any():
        raise ParameterError("simulator: failed at all parameters that the prior drew.")
    state = _first(question, first)
    while True:
        if effort.rounds:
            size = sum(effort.rounds[len(state.sizes) : len(state.sizes) + 1])
        else:
            taken = max(time.monotonic() - started, 1e-9)
            left = state.total * max(effort.seconds / taken - 1.0, 0.0)
            size = int(min(_next_size(question, effort, state), left))
        if not size:
            return _answer(question, effort, state, first)
        proposal, state = _proposed(question, state)
        more = yield tasks_of(question, proposal, len(state.sizes), size)
        state = _next(question, state, proposal, more)


def _answer(
    question: InferenceProblem, effort: Effort, state: State, prior: Draws
) -> WeightedDraws:
    """Return the posterior by weights if they suffice, else by a regression."""
    failed = int((~state.draws.done & np.isfinite(state.draws.log_prior)).sum())
    found = functools.partial(
        WeightedDraws, effective=state.effective, sizes=state.sizes, failed=failed, prior=prior
    )
    if state.effective[-1] >= min(CARRIES, effort.wanted, state.total / 2):
        weights = normalised(state.log_base + state.log_noise)
        possible = weights > 0.0
        draws = state.draws.some(possible)
        return found(draws.x, weights[possible], draws.numbers, "weights", differ=False)
    regression, noise = _regression(question, state)
    moved = regression.moved(question.z, OF_ROUNDS)
    # The noise is far narrower than the data's spread, so draws carry no information about it.
    numbers = question.z - noise[moved.indices]
    x = _inside(question.model, moved.x, regression.x[moved.indices])
    return found(x, moved.weights, numbers, "regression", differ=moved.differ)


def _inside(model: Model, x: Array, start: Array) -> Array:
    """Return adjusted draws ``(m, d)``; those outside the support go back halfway, repeatedly."""
    for shrunk in (*(0.5,) * 8, 0.0) if model.prior.has_density else ():
        outside = ~np.isfinite(model.prior.log_density(x))[:, None]
        x = np.where(outside, start + shrunk * (x - start), x)
    return x
