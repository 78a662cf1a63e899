"""Optimal symbols against adaptive truncation.

About an hour on two quiet processors: 9000 streams with known σ and 3000 with unknown σ.
"""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np

from abcdp_core.adaptive.parameters import StreamParams
from abcdp_core.base import summaries
from abcdp_core.base.arrays import Array
from abcdp_core.base.streams import generator
from benchmarks.goals import SEED, Measured, goal, on_all_processors, ratio, share, study

BUDGETS = (1.0, 2.0, 5.0)
MIDDLE_90 = 1.6449  # standard deviations to either side of a normal mean that hold 90 %


@functools.cache
def _last(known_sigma: bool, epsilon_total: float, channel: str) -> tuple[Array, Array]:
    """Return errors and posterior standard deviations of μ after the last person, by run."""
    asked = {"epsilon_total": BUDGETS, "interval": ("adaptive",), "known_sigma": known_sigma}
    channels, runs = ("truncation", "optimal"), 1500 if known_sigma else 500
    result = study("estimation-accuracy", channel=channels, runs=runs, **asked)
    course = result.tables["course"]
    here = course[(course.epsilon_total == epsilon_total) & (course.channel == channel)]
    last = here[here.t == here.t.max()].sort_values("run")
    return last.error_mu.to_numpy(), last.sd_mu.to_numpy()


def mean_squared_error(known_sigma: bool, epsilon_total: float) -> Measured:
    """Mean squared error of μ by optimal symbols relative to adaptive truncation.

    Sampler smc, N = 1000, both best for μ, the same people; 1500 runs of known σ, 500 of unknown.
    """
    symbols, truncated = (
        _last(known_sigma, epsilon_total, channel)[0] ** 2 for channel in ("optimal", "truncation")
    )
    return ratio(symbols, truncated)


def coverage(epsilon_total: float) -> Measured:
    """Share of 90 % intervals of μ by optimal symbols that hold the truth; 1500 runs, known σ."""
    errors, spreads = _last(True, epsilon_total, "optimal")
    return share(int(np.sum(errors <= MIDDLE_90 * spreads)), len(errors))


# --------------------------------------------------------------------------- truths from the prior

TRUTHS, PEOPLE = 1000, 100


def _holds(epsilon_total: float, run: int) -> bool:
    """Return whether the 90 % interval of μ holds the truth if σ is unknown, too."""
    params = StreamParams(n=PEOPLE)
    mu, log_sigma = params.prior().draw(generator(SEED, "asking-truth", run), 1)[0].tolist()
    params = dataclasses.replace(params, mu=mu, sigma=math.exp(log_sigma))
    stream = params.stream(epsilon_total, "smc", "adaptive", SEED, run, "optimal")
    *_, (state, _) = stream.ask(None, 0, *params.people(SEED, run, "optimal"))
    ends = summaries.weighted_quantile(state.theta[:, :1], state.weights, [0.05, 0.95])
    return bool(ends[0, 0] <= mu <= ends[1, 0])


def coverage_over_the_prior(epsilon_total: float) -> Measured:
    """Share of 90 % intervals of μ by optimal symbols that hold the truth, for prior draws.

    σ unknown, N = 100, 1000 truths, quantiles of the particles. For a single truth the share
    depends on the prior of σ, because answers at ε_total = 1 carry little information about it.
    """
    held = on_all_processors(functools.partial(_holds, epsilon_total), range(TRUTHS))
    return share(sum(held), TRUTHS)


RATIOS = {1.0: (0.86, 0.88), 2.0: (0.85, 0.86), 5.0: (0.80, 0.82)}
"""ε_total -> largest ratio of mean squared errors for known and unknown σ."""

for _budget, _ratios in RATIOS.items():
    for _known, _most in zip((True, False), _ratios, strict=True):
        _name = f"{'known' if _known else 'unknown'}-sigma-{_budget:g}"
        _asked = {"known_sigma": _known, "epsilon_total": _budget}
        goal(f"asking-mse-{_name}", at_most=_most, **_asked)(mean_squared_error)
        _measure = coverage if _known else coverage_over_the_prior
        _within = {"at_least": 0.875, "at_most": 0.925, "epsilon_total": _budget}
        goal(f"asking-coverage-{_name}", **_within)(_measure)
