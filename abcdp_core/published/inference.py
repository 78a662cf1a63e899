"""From a problem to its posterior: rounds of simulations until the weights carry."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from abcdp_core.mechanisms import private_summary
from abcdp_core.parameters import ParameterError
from abcdp_core.privacy import Event
from abcdp_core.published.models import Model, same
from abcdp_core.published.noise import Noise
from abcdp_core.published.posteriors import KEPT, Posterior, Way, moments, thinned
from abcdp_core.published.problems import Problem
from abcdp_core.published.proposals import FIT, PRIOR, Proposal, fitted, normalised
from abcdp_core.streams import generator
from abcdp_core.summaries import effective_sample_size
from abcdp_core.supports import ALL_REALS, Support, box

Array = NDArray[np.float64]

FIRST = 20_000
"""Draws of the first round, from the prior; the regression has the same."""

FEWEST = 200.0
"""Effective sample size from which weights carry, although more was wanted; half of all draws does
too."""

MARGIN = 1.1
"""Draws of a round, in those that would be enough."""

PILOT = 4
"""A round that looks where the posterior is has all draws before it, divided by this."""


@dataclass(frozen=True)
class Task:
    """Draws that are simulated in one go, where and whenever that is.

    Attributes:
        model: of which.
        noise, query: what is known of it.
        proposal: where the draws come from.
        seed, round, chunk: address of the random numbers.
        size: how many draws.
    """

    model: Model
    noise: Noise
    query: tuple[float, ...]
    proposal: Proposal
    seed: int
    round: int
    chunk: int
    size: int


@dataclass(frozen=True)
class Draws:
    """Draws of one or more proposals.

    Attributes:
        x: on the model's scale ``(m, d)``.
        summaries: simulated there ``(m, k)``.
        log_noise: log-density of the query given these ``(m,)``.
    """

    x: Array
    summaries: Array
    log_noise: Array

    def __len__(self) -> int:
        return len(self.x)


Each = Callable[[str, Callable[[Task], Draws], Sequence[Task]], Iterable[Draws]]
"""What does tasks: the name of a round, what is to be done and with what, to outcomes in order."""


def one_by_one(
    name: str,  # noqa: ARG001 - part of the interface
    work: Callable[[Task], Draws],
    tasks: Sequence[Task],
) -> Iterable[Draws]:
    """Do tasks here."""
    return map(work, tasks)


def tasks_at_once(problem: Problem) -> int:
    """Tasks of the first round; a pool has nothing to be done."""
    model = problem.source
    return -(-min(FIRST, problem.draws) // model.chunk) if isinstance(model, Model) else 1


def simulate(task: Task) -> Draws:
    """Do one task.

    Raises:
        ParameterError: the simulator gave something that is no number, or that the noise refuses.
    """
    rng = generator(task.seed, "published-draws", task.round, task.chunk)
    x = task.proposal.draw(task.model, rng, task.size)
    summaries = task.model.simulate(rng, x)
    if not np.isfinite(summaries).all():
        number = int(np.argwhere(~np.isfinite(summaries))[0][1])
        name = task.model.numbers[number]
        raise ParameterError(f"simulator: gave a {name} that is no finite number.")
    return Draws(x, summaries, task.noise.log_density(np.array(task.query), summaries))


def infer(problem: Problem, each: Each = one_by_one) -> Posterior:
    """The posterior of a problem; the same however its tasks are done.

    Args:
        problem: what was released, and what it is to be explained by.
        each: does tasks.

    Raises:
        ParameterError: the simulator gives what is no number, or what the noise law refuses; or
            there are too few draws.
    """
    if isinstance(problem.source, Model):
        return _by_simulating(problem, problem.source, each)
    pool = problem.source
    log_noise = problem.noise.log_density(problem.query, pool.summaries)
    first = Draws(pool.theta, pool.summaries, log_noise)
    bounds = box(pool.theta.min(axis=0), pool.theta.max(axis=0))
    rounds = ((len(first), _effective(log_noise)),)
    return _posterior(problem, first, pool.theta, log_noise, rounds, same, bounds)


def _by_simulating(problem: Problem, model: Model, each: Each) -> Posterior:
    """In rounds, each from a proposal fitted to all before it."""
    first = _round(problem, model, PRIOR, 0, min(FIRST, problem.draws), each)
    x, log_noise, log_base = first.x, first.log_noise, np.zeros(len(first))
    proposals, sizes = [PRIOR], [len(first)]
    log_prior = model.log_prior(x)
    log_drawn = drawn_by(proposals, sizes, x, log_prior)
    rounds = [(len(x), _effective(log_noise))]
    while rounds[-1][1] < problem.wanted and len(x) < problem.draws and _possible(log_noise):
        proposals.append(fitted(x, log_base, log_noise))
        sizes.append(_next_size(problem, rounds))
        more = _round(problem, model, proposals[-1], len(rounds), sizes[-1], each)
        more_prior = model.log_prior(more.x)
        # What earlier rounds add at earlier draws is known.
        added = drawn_by(proposals[-1:], sizes[-1:], x, log_prior)
        more_drawn = drawn_by(proposals, sizes, more.x, more_prior)
        log_drawn = np.concatenate([np.logaddexp(log_drawn, added), more_drawn])
        log_prior = np.concatenate([log_prior, more_prior])
        x = np.concatenate([x, more.x])
        log_noise = np.concatenate([log_noise, more.log_noise])
        # The prior over the mixture of all proposals, each by its share of draws.
        log_base = log_prior - (log_drawn - math.log(len(x)))
        rounds.append((len(x), _effective(log_base + log_noise)))
    return _posterior(
        problem, first, x, log_base + log_noise, tuple(rounds), model.theta, ALL_REALS
    )


def _next_size(problem: Problem, rounds: Sequence[tuple[int, float]]) -> int:
    """Draws of the next round: few until the weights tell where, then as many as are missing.

    But never more than there are: a proposal that was fitted to more is better.
    """
    total, ess = rounds[-1]
    pilot = total // PILOT
    if ess < FIT:
        return min(pilot, problem.draws - total)
    before, ess_before = rounds[-2] if len(rounds) > 1 else (0, 0.0)
    gain = max(ess - ess_before, 1.0) / (total - before)
    missing = math.ceil(MARGIN * (problem.wanted - ess) / gain)
    return min(max(missing, pilot), total, problem.draws - total)


def _round(
    problem: Problem, model: Model, proposal: Proposal, number: int, size: int, each: Each
) -> Draws:
    """Draws of one proposal."""
    query = tuple(problem.query.tolist())
    tasks = [
        Task(
            model,
            problem.noise,
            query,
            proposal,
            problem.seed,
            number,
            chunk,
            min(model.chunk, size - start),
        )
        for chunk, start in enumerate(range(0, size, model.chunk))
    ]
    parts = list(each(f"Round {number + 1}", simulate, tasks))
    return Draws(
        np.concatenate([part.x for part in parts]),
        np.concatenate([part.summaries for part in parts]),
        np.concatenate([part.log_noise for part in parts]),
    )


def drawn_by(
    proposals: Sequence[Proposal], sizes: Sequence[int], x: Array, log_prior: Array
) -> Array:
    """Log-density ``(m,)`` at ``x (m, d)`` of so many draws of each proposal together.

    It is a sum over proposals, not a mean: its integral is how many draws there are.
    """
    together = np.full(len(x), -np.inf)
    for size, proposal in zip(sizes, proposals, strict=True):
        together = np.logaddexp(together, math.log(size) + proposal.log_density(x, log_prior))
    return together


def _effective(log_weights: Array) -> float:
    """Effective sample size of log-weights ``(m,)``; 0 if none is finite."""
    return effective_sample_size(normalised(log_weights)) if _possible(log_weights) else 0.0


def _possible(log_weights: Array) -> bool:
    """Whether any of log-weights ``(m,)`` is finite."""
    return bool(np.isfinite(log_weights).any())


# ------------------------------------------------------------------------------- how it is made


def _posterior(
    problem: Problem,
    prior: Draws,
    x: Array,
    log_weights: Array,
    rounds: tuple[tuple[int, float], ...],
    theta: Callable[[Array], Array],
    support: Support,
) -> Posterior:
    """By weights where they carry, by regression where they do not.

    Args:
        problem: what was released.
        prior: draws from the prior.
        x, log_weights: all draws ``(m, d)`` and their log-weights ``(m,)``.
        rounds: how many there were and how many they count for.
        theta: parameters of draws.
        support: where draws can be moved.
    """
    simulated, ess = rounds[-1]
    enough = min(FEWEST, problem.wanted, simulated / 2)
    way: Way = "weights" if ess >= enough else "regression"
    noisy = problem.noise.noisy(generator(problem.seed, "published-noise"), prior.summaries)
    if way == "weights":
        weights = normalised(log_weights)
    else:
        _check_enough(problem, len(prior), ess)
        x, weights = _by_regression(problem, prior, noisy, support)
    rng = generator(problem.seed, "published-thinning")
    indices, kept = thinned(weights, KEPT, rng)
    equal = np.full(len(prior), 1.0 / len(prior))
    return Posterior(
        problem.source.parameters,
        theta(x[indices]),
        kept,
        moments(theta(x), weights),
        moments(theta(prior.x), equal),
        way,
        ess,
        simulated,
        rounds,
        _beyond(problem, noisy),
        _is_apart(problem.query, _some(noisy, generator(problem.seed, "published-apart"))),
    )


def fewest(problem: Problem) -> int:
    """Draws that a regression needs: the nearest of fewer are all, or as wide as the prior."""
    return private_summary.minimum_pool(len(problem.query))


def _check_enough(problem: Problem, draws: int, ess: float) -> None:
    """Refuse to regress on few draws."""
    needed = fewest(problem)
    if draws < needed:
        what = "draws" if isinstance(problem.source, Model) else f"pool = {problem.simulator}"
        raise ParameterError(
            f"{what}: {draws:,} draws are too few for this query: importance weights do not carry "
            f"(effective sample size {ess:,.0f}), and a regression needs {needed:,}."
        )


def _beyond(problem: Problem, noisy: Array) -> tuple[str, ...]:
    """Numbers of the query below or above those of all simulated queries ``(m, k)``."""
    outside = (problem.query < noisy.min(axis=0)) | (problem.query > noisy.max(axis=0))
    return tuple(np.array(problem.source.numbers)[outside].tolist())


COMPARED = 2000
"""Simulated queries among which the query is looked for; each finds the nearest of all others."""


def _some(noisy: Array, rng: np.random.Generator) -> Array:
    """Any of the simulated queries: those of somebody's pool may stand in an order."""
    return noisy[rng.permutation(len(noisy))[:COMPARED]]


def _is_apart(query: Array, noisy: Array) -> bool:
    """Whether no simulated query ``(m, k)`` is as far from the nearest other one as the query is.

    Each number may be possible, and no parameters make them together: a variance, as where the mean
    of squares is asked for. If the query comes from the model, its chance to be the farthest of
    m + 1 is at most 1 / (m + 1), as any other's: 1 in 2001 where so many are compared (a conformal
    p-value; Vovk, Gammerman & Shafer 2005, Algorithmic Learning in a Random World).
    """
    with np.errstate(over="ignore", invalid="ignore"):
        # Of all of them: by a scale of the others alone the query would lie farther than they.
        spread = np.vstack([noisy, query]).std(axis=0)
        scale = np.where(spread > 0.0, spread, 1.0)
        others, own = noisy / scale, query / scale
    if not (np.isfinite(others).all() and np.isfinite(own).all()):
        return False
    tree = KDTree(others)
    to_nearest, to_others = tree.query(own)[0], np.asarray(tree.query(others, k=2)[0])
    return bool(to_nearest > to_others[:, 1].max())


@dataclass(frozen=True)
class _NothingPrivate(Event):
    """Only what was public already was looked at."""


def _by_regression(
    problem: Problem, prior: Draws, noisy: Array, support: Support
) -> tuple[Array, Array]:
    """Draws ``(m, d)`` near the query, moved by a regression, and weights: noise on both sides."""
    regression = private_summary.Regression.fit(noisy, prior.x, support)
    release = private_summary.posterior(
        problem.query, regression, _NothingPrivate(), support, prior.x
    )
    samples = prior.x[release.indices] if release.samples is None else release.samples
    return samples, release.weights
