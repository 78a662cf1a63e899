"""Posteriors from published queries: accuracy, time and coverage."""

from __future__ import annotations

import dataclasses
import functools
import math
import time

import numpy as np
from numpy.typing import NDArray

from abcdp_core.base.arrays import Array
from abcdp_core.base.places import EXAMPLES
from abcdp_core.base.streams import generator
from abcdp_core.cli.simulations import done_by
from abcdp_core.posterior import rounds
from abcdp_core.posterior.outcome import Posterior, Summary
from abcdp_core.posterior.proposals import Proposal
from abcdp_core.posterior.published import inference, problems, reference
from abcdp_core.posterior.published.models import Model, sir_epidemic
from abcdp_core.posterior.published.problems import Problem
from abcdp_core.posterior.rounds import Draws, Effort, InferenceProblem
from benchmarks.goals import SEED, Measured, alone, goal, on_all_processors, share

PARAMETERS = {
    "linear-regression": ("0", "1", "2"),
    "log-linear": ("p", "p11", "p21", "p12", "p22"),
    "sir-epidemic": ("beta", "gamma"),
}
"""Example -> its parameters."""

EFFORT, EFFORT_OF_EPIDEMICS = Effort(1000, 500_000), Effort(400, 60_000)
"""Largest effort for the posterior of a query whose intervals are tested."""

QUERIES, COMPARED = 1000, 20
"""Queries whose intervals are tested, or compared for long and short leaps."""

COARSE = 0.1
"""Days of a leap in epidemics for the coverage of intervals."""


def _problem(name: str) -> Problem:
    return problems.read(EXAMPLES / f"{name.replace('-', '_')}.toml")


@functools.cache
def _timed(name: str) -> tuple[Posterior, float]:
    """Return the posterior of an example on two workers, and its seconds."""
    problem = _problem(name)
    started = time.monotonic()
    with done_by(2) as each:
        posterior = inference.infer(problem, each)
    return posterior, time.monotonic() - started


def error(problem: str, of: str) -> Measured:
    """Largest error of a posterior mean or standard deviation, in exact standard deviations."""
    table = reference.read()
    exact = table[table.problem == problem.replace("-", "_")]
    found = getattr(_timed(problem)[0].summary.found, of)
    return alone((np.abs(found - exact[of].to_numpy()) / exact.sd.to_numpy()).max())


def seconds(problem: str) -> Measured:
    """Seconds on two workers, including their start and all simulations."""
    return alone(_timed(problem)[1])


def coverage(problem: str, parameter: int) -> Measured:
    """Share of 90 % intervals that hold the truth, over queries simulated at prior draws.

    1000 queries and an effective sample size of 1000. The SIR epidemic takes a second per query, so
    its size is 400, with at most 60 000 simulations and leaps of 0.1 days throughout.
    """
    held = [inside[parameter] for inside, _ in _all_held(problem)]
    return share(sum(held), len(held))


@goal("published-carried-linear-regression", at_least=0.99, problem="linear-regression")
@goal("published-carried-log-linear", at_least=0.99, problem="log-linear")
@goal("published-carried-sir-epidemic", at_least=0.8, problem="sir-epidemic")
def carried(problem: str) -> Measured:
    """Share of these queries for which importance weights sufficed; others use a regression."""
    sufficed = [weights for _, weights in _all_held(problem)]
    return share(sum(sufficed), len(sufficed))


for _name, _parameters in PARAMETERS.items():
    goal(f"published-mean-{_name}", at_most=0.1, problem=_name, of="mean")(error)
    goal(f"published-sd-{_name}", at_most=0.1, problem=_name, of="sd")(error)
    goal(f"published-seconds-{_name}", at_most=120, problem=_name)(seconds)
    for _place, _parameter in enumerate(_parameters):
        _title, _asked = f"published-coverage-{_name}-{_parameter}", {"parameter": _place}
        goal(_title, at_least=0.87, at_most=0.93, problem=_name, **_asked)(coverage)


@goal("published-leaps-sir-epidemic-beta", at_least=0.9, at_most=1.1, parameter=0)
@goal("published-leaps-sir-epidemic-gamma", at_least=0.9, at_most=1.1, parameter=1)
def widths_by_long_leaps(parameter: int) -> Measured:
    """Width of intervals of the epidemic with leaps of 0.1 days relative to leaps of 0.02.

    Geometric mean over 20 of the queries.
    """
    ratios = np.log(_widths()[:, parameter])
    middle, error = ratios.mean(), 1.96 * ratios.std(ddof=1) / math.sqrt(len(ratios))
    value, low, high = np.exp([middle, middle - error, middle + error]).tolist()
    return Measured(value, low, high, len(ratios))


def _coarse(rng: np.random.Generator, theta: Array) -> Array:
    """Simulate infected people ``(m, 10)`` with leaps of :data:`COARSE` days."""
    people, exact_below = sir_epidemic.PEOPLE, sir_epidemic.EXACT_BELOW
    return sir_epidemic.epidemics(rng, np.exp(theta), people, exact_below, COARSE)


def _quick(problem: Problem) -> Problem:
    """Return the problem with a simulator fast enough for a thousand queries.

    The epidemic has leaps five times as long and is five times as fast. Data and posteriors use the
    same simulator, so intervals should have the same coverage.
    """
    if problem.simulator != sir_epidemic.PUBLISHED_MODEL:
        return problem
    model = dataclasses.replace(sir_epidemic.MODEL, simulate=_coarse, chunk=2500)
    return dataclasses.replace(problem, source=model)


def _question(problem: Problem) -> InferenceProblem:
    source = problem.source
    assert isinstance(source, Model)
    return InferenceProblem(source, problem.noise, problem.query, problem.seed)


@functools.cache
def _from_prior(name: str) -> Draws:
    """Return the first round, which does not depend on the query."""
    question = _question(_quick(_problem(name)))
    return rounds.many(rounds.tasks_of(question, Proposal(), 0, rounds.FIRST))


def _inferred(
    problem: Problem, effort: Effort, run: int, first: Draws | None = None
) -> tuple[Array, Summary]:
    """Return a prior draw ``(d,)`` and the posterior of a query simulated there."""
    question, rng = _question(problem), generator(SEED, "published-coverage", run)
    model = question.model
    truth = model.prior.theta(model.prior.draw(rng, 1))
    # All queries are simulated with long leaps.
    by = _question(_quick(problem)).model
    z = problem.noise.noisy(rng, by.simulate(rng, truth))[0]
    found = rounds.infer(dataclasses.replace(question, z=z), effort, first=first)
    made = Posterior.of(found, model.parameters, model.prior, None)
    return truth[0], made.summary


def _held(name: str, run: int) -> tuple[NDArray[np.bool_], bool]:
    """Return which 90 % intervals ``(d,)`` hold the truth, and whether weights sufficed."""
    effort = EFFORT_OF_EPIDEMICS if name == "sir-epidemic" else EFFORT
    truth, posterior = _inferred(_quick(_problem(name)), effort, run, _from_prior(name))
    found = posterior.found
    return (found.low <= truth) & (truth <= found.high), posterior.way == "weights"


@functools.cache
def _all_held(name: str) -> list[tuple[NDArray[np.bool_], bool]]:
    """Return the same for all queries."""
    return on_all_processors(functools.partial(_held, name), range(QUERIES))


@functools.cache
def _widths() -> Array:
    """Return widths of intervals of the epidemic, quick over slow ``(queries, d)``."""
    problem, effort = _problem("sir-epidemic"), EFFORT_OF_EPIDEMICS
    found = []
    for run in range(COMPARED):
        quick, slow = (_inferred(each, effort, run)[1].found for each in (_quick(problem), problem))
        found.append((quick.high - quick.low) / (slow.high - slow.low))
    return np.array(found)
