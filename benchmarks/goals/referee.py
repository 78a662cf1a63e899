"""Posteriors of published cells, and coverage of intervals by test inversion."""

from __future__ import annotations

import functools

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from abcdp_core.base.streams import generator
from abcdp_core.models.priors import LogUniform, Prior
from abcdp_core.posterior.guarantee import Guarantee
from abcdp_core.posterior.model import Model
from abcdp_core.posterior.noise import Laplace
from abcdp_core.posterior.published import referee
from abcdp_core.posterior.rounds import InferenceProblem
from benchmarks.goals import SEED, Measured, alone, goal, on_all_processors, share
from benchmarks.referee.__main__ import compute

Array = NDArray[np.float64]

SETS = 2000
"""Data sets for the coverage at one mean and ε."""


@functools.cache
def _counts() -> pd.DataFrame:
    """Return the counts of all families, computed again in an hour or two."""
    for what in ("weights", "chains", "longer", "answer"):
        compute(what)
    return referee.counts(referee.posteriors()).drop_duplicates("family")


@goal("referee-references", at_least=54.0)
def references() -> Measured:
    """Published cells for which two exact computations apply and agree within 3 standard errors."""
    return alone(_counts().references.sum())


@goal("referee-close", at_least=0.95)
def close() -> Measured:
    """Share of these cells that `infer` answers closely.

    Median within 2 % and ends of the 90 % interval within 5 % of the exact interquartile range,
    beside three standard errors.
    """
    made = _counts()
    return share(int(made.close.sum()), int(made.references.sum()))


@goal("referee-seconds", at_most=60.0)
def seconds() -> Measured:
    """Most seconds of `infer` for one of these cells on one processor; two are to take 30."""
    made = _counts()
    return alone(made.slowest[made.references > 0].max())


def _sums(rng: np.random.Generator, theta: Array) -> Array:
    """Simulate sums ``(m, 1)`` of 100 waiting times of mean θ, each clamped to 0 to 10."""
    times = np.minimum(rng.exponential(1.0, (len(theta), 100)) * theta, 10.0)
    return np.asarray(times.sum(axis=1, keepdims=True))


WAITING = Model(("mean",), ("sum",), Prior((LogUniform(0.05, 200.0),)), _sums)


def _holds(of: tuple[float, float, int]) -> bool:
    epsilon, mean, run = of
    place = round(100 * epsilon), round(100 * mean)
    rng, noise = generator(SEED, "guarantee-coverage", *place, run), Laplace((10.0 / epsilon,))
    z = noise.noisy(rng, _sums(rng, np.array([[mean]])))[0]
    low, high = Guarantee(InferenceProblem(WAITING, noise, z, run), 0.9).intervals().ends["mean"]
    return low <= mean <= high


def coverage(epsilon: float, mean: float) -> Measured:
    """Share of intervals by test inversion, of a level of 90 %, that hold the mean.

    The sum of 100 exponential waiting times, each clamped to 0 to 10, with Laplace noise; 2000 data
    sets, each with a seed of its own.
    """
    held = on_all_processors(_holds, [(epsilon, mean, run) for run in range(SETS)])
    return share(sum(held), SETS)


for _epsilon in (0.3, 1.0):
    for _mean in (0.5, 1.0, 3.0, 8.0, 15.0):
        goal(
            f"guarantee-coverage-{_epsilon:g}-{_mean:g}",
            at_least=0.88,
            at_most=0.93,
            epsilon=_epsilon,
            mean=_mean,
        )(coverage)
