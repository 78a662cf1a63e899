"""Compute the posterior of a problem."""

from __future__ import annotations

import math
import time

from abcdp_core.posterior import augmentation, outcome, rounds
from abcdp_core.posterior.fit import REPLICATES
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

    Rounds of simulations, chains over records and the check of the fit take about so many seconds
    each at most.

    Raises:
        ParameterError: the simulator gives numbers that the noise does not allow.
    """
    source, noise, z = problem.source, problem.noise, problem.query
    if isinstance(source, Model):
        question, began = InferenceProblem(source, noise, z, problem.seed), time.monotonic()
        by_chains = augmentation.serves(question)
        most = min(problem.draws, TRIED) if by_chains else problem.draws
        draws = rounds.infer(question, Effort(problem.wanted, most, seconds), each)
        within = seconds * sum(draws.sizes) / max(time.monotonic() - began, 1e-9)
        if by_chains and (draws.way != "weights" or draws.effective[-1] < problem.wanted):
            draws = augmentation.infer(question, draws.prior, each, seconds=seconds)
        replicates = int(min(REPLICATES, max(rounds.FEWEST, within)))
        return outcome.of_found(question, draws, each, DRAWS, replicates)
    pool = FixedPool.of(source.theta, source.summaries, noise, problem.seed)
    return outcome.of_pool(pool, z, source.parameters, source.numbers, DRAWS)
