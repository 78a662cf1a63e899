"""What a better question to each person buys: optimal symbols against adaptive truncation.

Hours of all processors: 9000 streams of known σ and 3000 of unknown σ, near a second each. The
underscore keeps this file out of the goals until they are measured; then it is called asking.py.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from benchmarks.goals import Measured, goal, ratio, share, study

Array = NDArray[np.float64]

BUDGETS = (1.0, 2.0, 5.0)
RUNS = {True: 1500, False: 500}
"""By whether σ is known."""

MIDDLE_90 = 1.6449
"""Standard deviations to either side of the mean that hold 90 % of a normal posterior."""


@functools.cache
def _last(known_sigma: bool, epsilon_total: float, channel: str) -> tuple[Array, Array]:
    """Errors of μ and standard deviations of its posterior after the last person, by run."""
    result = study(
        "estimation-accuracy",
        epsilon_total=BUDGETS,
        interval=("adaptive",),
        channel=("truncation", "optimal"),
        known_sigma=known_sigma,
        runs=RUNS[known_sigma],
    )
    course = result.tables["course"]
    here = course[(course.epsilon_total == epsilon_total) & (course.channel == channel)]
    last = here[here.t == here.t.max()].sort_values("run")
    return last.error_mu.to_numpy(), last.sd_mu.to_numpy()


@goal("asking-mse-known-sigma-1", at_most=0.86, known_sigma=True, epsilon_total=1.0)
@goal("asking-mse-known-sigma-2", at_most=0.85, known_sigma=True, epsilon_total=2.0)
@goal("asking-mse-known-sigma-5", at_most=0.80, known_sigma=True, epsilon_total=5.0)
@goal("asking-mse-unknown-sigma-1", at_most=0.88, known_sigma=False, epsilon_total=1.0)
@goal("asking-mse-unknown-sigma-2", at_most=0.86, known_sigma=False, epsilon_total=2.0)
@goal("asking-mse-unknown-sigma-5", at_most=0.82, known_sigma=False, epsilon_total=5.0)
def mean_squared_error(known_sigma: bool, epsilon_total: float) -> Measured:
    """Mean squared error of μ by optimal symbols as a share of that by adaptive truncation.

    Sampler smc, N = 1000, both best for μ, the same people; 1500 runs of known σ, 500 of unknown.
    """
    symbols, truncated = (
        _last(known_sigma, epsilon_total, channel)[0] ** 2 for channel in ("optimal", "truncation")
    )
    return ratio(symbols, truncated)


@goal("asking-coverage-1", at_least=0.875, at_most=0.925, epsilon_total=1.0)
@goal("asking-coverage-2", at_least=0.875, at_most=0.925, epsilon_total=2.0)
@goal("asking-coverage-5", at_least=0.875, at_most=0.925, epsilon_total=5.0)
def coverage(epsilon_total: float) -> Measured:
    """Share of 90 % intervals of μ by optimal symbols that hold the truth; 1500 runs, known σ."""
    errors, spreads = _last(True, epsilon_total, "optimal")
    return share(int(np.sum(errors <= MIDDLE_90 * spreads)), len(errors))
