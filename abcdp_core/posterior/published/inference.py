"""Compute the posterior of a problem."""

from __future__ import annotations

import dataclasses
import math

from abcdp_core.posterior import augmentation, outcome, rounds
from abcdp_core.posterior.outcome import Posterior
from abcdp_core.posterior.pool import FixedPool
from abcdp_core.posterior.published.models import Model
from abcdp_core.posterior.published.problems import Problem
from abcdp_core.posterior.rounds import Effort, InferenceProblem, TaskMap, one_by_one

TRIED = 200_000
"""Most draws that weights get where chains over records can follow."""

DRAWS = 10_000
"""Draws of equal weight, from which all that is shown and written is computed."""


def infer(problem: Problem, each: TaskMap = one_by_one, seconds: float = math.inf) -> Posterior:
    """Return the posterior of a problem, which does not depend on how ``each`` runs tasks.

    No round of simulations begins after so many seconds.

    Raises:
        ParameterError: the simulator gives numbers that the noise does not allow.
    """
    source, noise, z = problem.source, problem.noise, problem.query
    if isinstance(source, Model):
        effort = Effort(problem.wanted, problem.draws, seconds)
        question = InferenceProblem(source, noise, z, problem.seed)
        if not augmentation.serves(question):
            return outcome.of_model(question, effort, each, size=DRAWS)
        few = dataclasses.replace(effort, simulations=min(effort.simulations, TRIED))
        draws = rounds.infer(question, few, each)
        if draws.way != "weights" or draws.effective[-1] < problem.wanted:
            draws = augmentation.infer(question, draws.prior, each)
        return outcome.of_found(question, draws, each, DRAWS)
    pool = FixedPool.of(source.theta, source.summaries, noise, problem.seed)
    return outcome.of_pool(pool, z, source.parameters, source.numbers, DRAWS)
