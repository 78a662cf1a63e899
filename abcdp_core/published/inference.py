"""From a problem to its posterior."""

from __future__ import annotations

import math

from abcdp_core.posterior import outcome
from abcdp_core.posterior.outcome import Posterior
from abcdp_core.posterior.pool import FixedPool
from abcdp_core.posterior.rounds import Each, Effort, Question, one_by_one
from abcdp_core.published.models import Model
from abcdp_core.published.problems import Problem


def infer(problem: Problem, each: Each = one_by_one, seconds: float = math.inf) -> Posterior:
    """The posterior of a problem; the same however its tasks are done.

    Args:
        problem: what was released, and what it is to be explained by.
        each: does tasks.
        seconds: after which no round of simulations begins.

    Raises:
        ParameterError: the simulator gives what the noise law refuses.
    """
    source, noise, z = problem.source, problem.noise, problem.query
    if isinstance(source, Model):
        effort = Effort(problem.wanted, problem.draws, seconds)
        return outcome.of_model(Question(source, noise, z, problem.seed), effort, each)
    pool = FixedPool.of(source.theta, source.summaries, noise, problem.seed)
    return outcome.of_pool(pool, z, source.parameters, source.numbers)
