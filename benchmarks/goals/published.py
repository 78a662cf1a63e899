"""Posteriors from published queries: accuracy, time and coverage."""

from __future__ import annotations

import dataclasses
import functools
import math
import time
from concurrent.futures import Executor

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from abcdp_core import workers
from abcdp_core.cli.simulations import done_by
from abcdp_core.places import EXAMPLES
from abcdp_core.posterior import rounds
from abcdp_core.posterior.outcome import Posterior, Summary
from abcdp_core.posterior.proposals import Proposal
from abcdp_core.posterior.rounds import Draws, Effort, Question
from abcdp_core.published import inference, problems, reference
from abcdp_core.published.models import Model, sir_epidemic
from abcdp_core.published.problems import Problem
from abcdp_core.streams import generator
from benchmarks.goals import SEED, Measured, goal, share

Array = NDArray[np.float64]

WITHIN = 0.1
"""Allowed error of means and standard deviations, in exact standard deviations."""


def _problem(name: str) -> Problem:
    return problems.read(EXAMPLES / f"{name}.toml")


@functools.cache
def _timed(name: str) -> tuple[Posterior, float]:
    """Return the posterior of an example on two workers, and its seconds."""
    problem = _problem(name)
    started = time.monotonic()
    with done_by("2") as each:
        posterior = inference.infer(problem, each)
    return posterior, time.monotonic() - started


def _exact(name: str) -> pd.DataFrame:
    table = reference.read()
    return table[table.problem == name]


@goal("published-mean-linear-regression", at_most=WITHIN, problem="linear_regression")
@goal("published-mean-log-linear", at_most=WITHIN, problem="log_linear")
@goal("published-mean-sir-epidemic", at_most=WITHIN, problem="sir_epidemic")
def mean_error(problem: str) -> Measured:
    """Largest difference of a posterior mean from the exact one, in exact standard deviations."""
    exact, found = _exact(problem), _timed(problem)[0].summary.found
    apart = np.abs(found.mean - exact["mean"].to_numpy()) / exact.sd.to_numpy()
    return Measured(float(apart.max()), math.nan, math.nan, 1)


@goal("published-sd-linear-regression", at_most=WITHIN, problem="linear_regression")
@goal("published-sd-log-linear", at_most=WITHIN, problem="log_linear")
@goal("published-sd-sir-epidemic", at_most=WITHIN, problem="sir_epidemic")
def sd_error(problem: str) -> Measured:
    """Largest relative difference of a posterior standard deviation from the exact one."""
    apart = np.abs(_timed(problem)[0].summary.found.sd / _exact(problem).sd.to_numpy() - 1.0)
    return Measured(float(apart.max()), math.nan, math.nan, 1)


@goal("published-seconds-linear-regression", at_most=120, problem="linear_regression")
@goal("published-seconds-log-linear", at_most=120, problem="log_linear")
@goal("published-seconds-sir-epidemic", at_most=120, problem="sir_epidemic")
def seconds(problem: str) -> Measured:
    """Seconds on two workers, including their start and all simulations."""
    return Measured(_timed(problem)[1], math.nan, math.nan, 1)


# --------------------------------------------------------------------------------------- coverage


QUERIES = 1000

EFFORTS = {
    "linear_regression": Effort(1000, 500_000),
    "log_linear": Effort(1000, 500_000),
    "sir_epidemic": Effort(400, 60_000),
}
"""Largest effort for the posterior of a query."""

COARSE = 0.1
"""Days of a leap in epidemics for the coverage of intervals."""

COMPARED = 20
"""Queries whose intervals with long and short leaps are compared."""


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


@functools.cache
def _from_prior(name: str) -> Draws:
    """Return the first round, which does not depend on the query."""
    return rounds.many(_question(_quick(_problem(name))), Proposal(), 0, rounds.FIRST)


def _question(problem: Problem) -> Question:
    source = problem.source
    assert isinstance(source, Model)
    return Question(source, problem.noise, problem.query, problem.seed)


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
    made = Posterior.of(found, model.parameters, model.prior.theta, None)
    return truth[0], made.summary


def _held(name: str, run: int) -> tuple[NDArray[np.bool_], bool]:
    """Return which 90 % intervals ``(d,)`` hold the truth, and whether weights sufficed."""
    quick = _quick(_problem(name))
    truth, posterior = _inferred(quick, EFFORTS[name], run, _from_prior(name))
    found = posterior.found
    return (found.low <= truth) & (truth <= found.high), posterior.way == "weights"


@functools.cache
def _widths() -> Array:
    """Return widths of intervals of the epidemic, quick over slow ``(queries, d)``."""
    problem, effort = _problem("sir_epidemic"), EFFORTS["sir_epidemic"]
    found = []
    for run in range(COMPARED):
        quick, slow = (_inferred(each, effort, run)[1].found for each in (_quick(problem), problem))
        found.append((quick.high - quick.low) / (slow.high - slow.low))
    return np.array(found)


@functools.cache
def _all_held(name: str) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the same for all queries: ``(queries, d)`` and ``(queries,)``."""
    executor: Executor | None
    with workers.executor_for(workers.processor_count()) as executor:
        every = map if executor is None else executor.map
        runs = range(QUERIES)
        held, carried = zip(*every(functools.partial(_held, name), runs), strict=True)
    return np.array(held), np.array(carried)


def coverage(problem: str, parameter: int) -> Measured:
    """Share of 90 % intervals that hold the truth, over queries simulated at prior draws.

    1000 queries and an effective sample size of 1000. The SIR epidemic takes a second per query, so
    its size is 400, with at most 60 000 simulations and leaps of 0.1 days throughout.
    """
    held = _all_held(problem)[0][:, parameter]
    return share(int(held.sum()), len(held))


PARAMETERS = {
    "linear-regression": ("0", "1", "2"),
    "log-linear": ("p", "p11", "p21", "p12", "p22"),
    "sir-epidemic": ("beta", "gamma"),
}
for _name, _parameters in PARAMETERS.items():
    for _index, _parameter in enumerate(_parameters):
        _asked = {"problem": _name.replace("-", "_"), "parameter": _index}
        _title = f"published-coverage-{_name}-{_parameter}"
        goal(_title, at_least=0.87, at_most=0.93, **_asked)(coverage)


@goal("published-leaps-sir-epidemic-beta", at_least=0.9, at_most=1.1, parameter=0)
@goal("published-leaps-sir-epidemic-gamma", at_least=0.9, at_most=1.1, parameter=1)
def widths_by_long_leaps(parameter: int) -> Measured:
    """Width of intervals of the epidemic with leaps of 0.1 days relative to leaps of 0.02.

    Geometric mean over 20 of the queries.
    """
    ratios = np.log(_widths()[:, parameter])
    error = float(ratios.std(ddof=1)) / math.sqrt(len(ratios))
    middle = float(ratios.mean())
    low, high = (math.exp(middle + side * 1.96 * error) for side in (-1.0, 1.0))
    return Measured(math.exp(middle), low, high, len(ratios))


@goal("published-carried-linear-regression", at_least=0.99, problem="linear_regression")
@goal("published-carried-log-linear", at_least=0.99, problem="log_linear")
@goal("published-carried-sir-epidemic", at_least=0.8, problem="sir_epidemic")
def carried(problem: str) -> Measured:
    """Share of these queries for which importance weights sufficed; others use a regression."""
    found = _all_held(problem)[1]
    return share(int(found.sum()), len(found))
