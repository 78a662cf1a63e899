"""Compute the posterior of a problem."""

from __future__ import annotations

import math

from abcdp_core.posterior import outcome
from abcdp_core.posterior.outcome import Posterior
from abcdp_core.posterior.pool import FixedPool
from abcdp_core.posterior.rounds import Each, Effort, Question, one_by_one
from abcdp_core.published.models import Model
from abcdp_core.published.problems import Problem

DRAWS = 10_000
"""Draws of equal weight, from which all that is shown and written is computed."""


def infer(problem: Problem, each: Each = one_by_one, seconds: float = math.inf) -> Posterior:
    """Return the posterior of a problem, which does not depend on how ``each`` runs tasks.

    No round of simulations begins after so many seconds.

    Raises:
        ParameterError: the simulator gives numbers that the noise does not allow.
    """
    source, noise, z = problem.source, problem.noise, problem.query
    if isinstance(source, Model):
        effort = Effort(problem.wanted, problem.draws, seconds)
        question = Question(source, noise, z, problem.seed)
        return outcome.of_model(question, effort, each, size=DRAWS)
    pool = FixedPool.of(source.theta, source.summaries, noise, problem.seed)
    return outcome.of_pool(pool, z, source.parameters, source.numbers, DRAWS)
