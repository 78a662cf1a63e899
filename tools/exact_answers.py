"""Exact answers for the shipped problems, by importance weights, for ``assets/published``.

``python -m tools.exact_answers`` makes the table again, in minutes.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pandas as pd

from abcdp_core.base.arrays import Array
from abcdp_core.base.places import EXAMPLES
from abcdp_core.base.streams import generator
from abcdp_core.posterior.published import problems
from abcdp_core.posterior.published.models import Model
from abcdp_core.posterior.published.problems import Problem
from abcdp_core.posterior.published.reference import FILE

SEED = 7
"""Root seed, not that of the problems."""


@dataclass(frozen=True)
class Plan:
    """Importance sampling for one answer.

    Attributes:
        draws: number of draws.
        mean, sd: of a normal proposal ``(d,)`` on the scale on which the prior is standard normal;
            the prior itself if empty.
    """

    draws: int
    mean: tuple[float, ...] = ()
    sd: tuple[float, ...] = ()


PLANS = {
    "linear_regression": Plan(400_000),
    "log_linear": Plan(20_000_000),
    "sir_epidemic": Plan(200_000, (0.561, -1.947), (0.212, 0.168)),
}
"""Problem, a file in the folder of examples -> its plan."""


def answer(problem: Problem, plan: Plan, seed: int = SEED) -> pd.DataFrame:
    """Return the rows of the table for one problem.

    Raises:
        ValueError: the problem has a pool instead of a model.
    """
    model = problem.source
    if not isinstance(model, Model):
        raise ValueError("a pool cannot be simulated.")
    chunks = plan.draws // model.chunk
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        sums = list(
            threads.map(lambda chunk: _sums(problem, model, plan, seed, chunk), range(chunks))
        )
    total = sum(weights for weights, _, _, _ in sums)
    mean = sum(first for _, _, first, _ in sums) / total
    square = sum(second for _, _, _, second in sums) / total
    ess = total**2 / sum(squares for _, squares, _, _ in sums)
    return pd.DataFrame({
        "problem": problem.name,
        "parameter": list(model.parameters),
        "mean": mean,
        "sd": np.sqrt(square - mean**2),
        "effective_sample_size": ess,
        "draws": chunks * model.chunk,
        "seed": seed,
    })  # fmt: skip


def _sums(
    problem: Problem, model: Model, plan: Plan, seed: int, chunk: int
) -> tuple[float, float, Array, Array]:
    """Return the sums over one chunk of w, w², w θ ``(d,)`` and w θ² ``(d,)``."""
    rng = generator(seed, "published-reference", chunk)
    if plan.mean:
        mean, sd = np.array(plan.mean), np.array(plan.sd)
        normal = rng.standard_normal((model.chunk, len(mean)))
        x = mean + sd * normal
        # Proposal and prior are normal, so their constants cancel.
        log_proposal = (-0.5 * normal**2 - np.log(sd)).sum(axis=1)
        log_base = model.prior.log_density(x) - log_proposal
    else:
        x = model.prior.draw(rng, model.chunk)
        log_base = np.zeros(len(x))
    theta = model.prior.theta(x)
    log_noise = problem.noise.log_density(problem.query, model.simulate(rng, theta))
    weights = np.exp(log_base + log_noise)
    sums = float(weights.sum()), float((weights**2).sum())
    return *sums, weights @ theta, weights @ theta**2


def main(names: Sequence[str] = tuple(PLANS)) -> None:
    """Make the table."""
    made = [answer(problems.read(EXAMPLES / f"{name}.toml"), PLANS[name]) for name in names]
    pd.concat(made, ignore_index=True).to_csv(FILE, index=False, lineterminator="\n")


if __name__ == "__main__":
    main()
