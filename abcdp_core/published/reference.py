"""Exact answers for the shipped problems, slow and without anything that adapts.

Made by ``python -m abcdp_core.published.reference``, in minutes, into ``assets/published``: means
and standard deviations by importance weights of draws from the prior, or, where these are hopeless,
from a fixed normal distribution about twice as wide as the posterior. They have nothing in common
with :mod:`.inference` but the simulators and the noise laws, which tests check by themselves.

Beside them lie moments of samples that were published as references for the same queries: of the
first 250 draws, rounded to hundredths for the regression and to thousandths for the epidemic, of
``reference_theta/Da+1_eps1.csv`` and ``Da+0_eps1.csv`` in the code of Xiong, Ju & Zhang
(github.com/Yifei-Xiong/Simulation-based-Bayesian-Inference-from-Privacy-Protected-Data at ff0401d).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from abcdp_core.published import problems
from abcdp_core.published.models import Model
from abcdp_core.published.problems import Problem
from abcdp_core.streams import generator

Array = NDArray[np.float64]

ROOT = Path(__file__).resolve().parents[2]

EXAMPLES = ROOT / "examples"

FILE = ROOT / "assets" / "published" / "reference.csv"

SAMPLES = ROOT / "assets" / "published" / "samples.csv"
"""Moments of the published samples."""

SEED = 7
"""Another one than that of the problems."""


@dataclass(frozen=True)
class Plan:
    """How one answer is made.

    Attributes:
        draws: how many.
        mean, sd: of independent normal draws ``(d,)``, on the scale on which the prior is standard
            normal; from the prior if empty.
    """

    draws: int
    mean: tuple[float, ...] = ()
    sd: tuple[float, ...] = ()


PLANS = {
    "linear_regression": Plan(400_000),
    "log_linear": Plan(20_000_000),
    "sir_epidemic": Plan(200_000, (0.561, -1.947), (0.212, 0.168)),
}
"""Problem, which is a file of the folder of examples -> how its answer is made."""


def answer(problem: Problem, plan: Plan, seed: int = SEED) -> pd.DataFrame:
    """Rows of the table for one problem.

    Args:
        problem: of a model.
        plan: how.
        seed: root seed.

    Raises:
        ValueError: the problem has a pool instead.
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
    """Sums over one chunk of w, of w², of w θ ``(d,)`` and of w θ² ``(d,)``."""
    rng = generator(seed, "published-reference", chunk)
    if plan.mean:
        mean, sd = np.array(plan.mean), np.array(plan.sd)
        normal = rng.standard_normal((model.chunk, len(mean)))
        x = mean + sd * normal
        # Both are normal, so the constant is the same.
        log_proposal = (-0.5 * normal**2 - np.log(sd)).sum(axis=1)
        log_base = model.prior.log_density(x) - log_proposal
    else:
        x = model.prior.draw(rng, model.chunk)
        log_base = np.zeros(len(x))
    theta = model.prior.theta(x)
    log_noise = problem.noise.log_density(problem.query, model.simulate(rng, theta))
    weights = np.exp(log_base + log_noise)
    return (
        float(weights.sum()),
        float((weights**2).sum()),
        weights @ theta,
        weights @ theta**2,
    )


def read(file: Path = FILE) -> pd.DataFrame:
    """The shipped table."""
    return pd.read_csv(file)


def against(exact: pd.DataFrame, sample: pd.DataFrame) -> pd.DataFrame:
    """A published sample beside the exact answer, in exact standard deviations.

    Args:
        exact: rows of the table of answers for a problem.
        sample: rows of :data:`SAMPLES` for it, with the same parameters; or none.

    Returns:
        The sample with ``mean_off``, ``sd_ratio``, and how many standard errors these are from 0
        and 1, for independent draws from a normal distribution.
    """
    both = sample.merge(exact, on=["problem", "parameter"], suffixes=("", "_exact"))
    size, ratio = both["effective_sample_size"], both["sd"] / both["sd_exact"]
    off = (both["mean"] - both["mean_exact"]) / both["sd_exact"]
    return both[["problem", "parameter", "mean", "sd", "draws"]].assign(
        mean_off=off,
        mean_standard_errors=off / np.sqrt(ratio**2 / both["draws"] + 1.0 / size),
        sd_ratio=ratio,
        sd_standard_errors=(ratio - 1.0) / (ratio * np.sqrt(0.5 / both["draws"] + 0.5 / size)),
    )


def main(names: Sequence[str] = tuple(PLANS)) -> None:
    """Make the table."""
    made = [answer(problems.read(EXAMPLES / f"{name}.toml"), PLANS[name]) for name in names]
    pd.concat(made, ignore_index=True).to_csv(FILE, index=False, lineterminator="\n")


if __name__ == "__main__":
    main()
