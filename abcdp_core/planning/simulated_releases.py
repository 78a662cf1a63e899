"""What releases at a setting come to: errors, intervals, and the exact error where it is known."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from abcdp_core import error_curve, mechanisms, summaries
from abcdp_core.mechanisms import Budget, Prepared, PublicSide, Release
from abcdp_core.mechanisms.sparse_vector import SparseVector
from abcdp_core.parameters import Params
from abcdp_core.planning.test_cases import Case, Prior, case, prior, public_side
from abcdp_core.privacy import Event
from abcdp_core.streams import generator

Array = NDArray[np.float64]

ACCEPTANCES = (1, 3, 10, 30, 100, 300)
"""Values of c among which the best public one is chosen, as far as the pool has so many draws."""

LEVEL = 0.9
"""Probability that an interval is to hold the truth."""


@dataclass(frozen=True)
class Setting:
    """A release that may be made.

    Attributes:
        mechanism: its name.
        options: of the mechanism.
        budget: of the release.
        scenario: its name.
        n: points of the data.
        pool_size: draws of the pool.
    """

    mechanism: str
    options: Params
    budget: Budget
    scenario: str
    n: int
    pool_size: int


class Outcome(NamedTuple):
    """What one release came to, or what many come to on average.

    Attributes:
        mse, mae: mean squared and absolute difference over the parameters.
        expected_mse: the former averaged over all noise exactly (MATH E6), where that is known.
        width, coverage: mean over the parameters of the lengths of 90 % intervals, and the share
            of them that holds the truth; NaN where there are none or nobody asked.
        interval_score: width, and what lies between a truth and an interval that misses it, 20
            times (Gneiting & Raftery 2007): least on average for the posterior's own intervals.
    """

    mse: float
    mae: float
    expected_mse: float = math.nan
    width: float = math.nan
    coverage: float = math.nan
    interval_score: float = math.nan


@functools.lru_cache(maxsize=256)
def settings(
    mechanism: str, budget: Budget, scenario: str, n: int, pool_size: int, seed: int
) -> tuple[Setting, ...]:
    """Every public setting of a mechanism that is worth trying.

    Its own grid, and where it takes a number of acceptances those of :data:`ACCEPTANCES`. A grid
    that follows from simulated distances is that of the first case.
    """
    which = mechanisms.load(mechanism)
    grid: dict[str, Sequence[Any]] = dict(which.grid(case(scenario, n, pool_size, seed, 0).public))
    if "c" in which.takes:
        grid.setdefault("c", [c for c in ACCEPTANCES if c <= pool_size])
    return tuple(
        Setting(
            mechanism,
            dataclasses.replace(which.options, **dict(zip(grid, values, strict=True))),
            budget,
            scenario,
            n,
            pool_size,
        )
        for values in itertools.product(*grid.values())
    )


def outcomes(
    setting: Setting,
    seed: int,
    index: int,
    noises: int,
    *,
    exact: bool = False,
    intervals: bool = False,
) -> list[Outcome]:
    """Of releases in one case, one for each draw of the noise.

    Args:
        setting: of all of them.
        seed: root seed.
        index: of the case.
        noises: how many.
        exact: whether the exact error is wanted, where it is known.
        intervals: whether intervals are.
    """
    at = case(setting.scenario, setting.n, setting.pool_size, seed, index)
    known = prior(setting.scenario)
    mechanism = mechanisms.load(setting.mechanism)
    ready = _prepared(setting, at.public)
    expected = _exact(ready, at, known) if exact else math.nan
    return [
        _scored(release, at, known, expected, intervals=intervals and mechanism.sample)
        for release in _releases(ready, at, seed, index, noises)
    ]


def _prepared(setting: Setting, public: PublicSide) -> Prepared:
    """A release in a case."""
    mechanism = mechanisms.load(setting.mechanism)
    if mechanism.fit is not mechanisms.nothing:
        return mechanism.prepare(public, setting.options, setting.budget)
    return Prepared(mechanism, public, setting.options, None, _event(setting))


@functools.lru_cache(maxsize=4096)
def _event(setting: Setting) -> Event:
    """The noise of a mechanism that learns nothing from a pool; it is that of all cases."""
    public = public_side(setting.scenario, setting.n, setting.pool_size, 0, 0)
    mechanism = mechanisms.load(setting.mechanism)
    return mechanism.prepare(public, setting.options, setting.budget).event


def _releases(ready: Prepared, at: Case, seed: int, index: int, noises: int) -> Iterator[Release]:
    """The same noise for every setting of a case."""
    for noise in range(noises):
        yield ready.release(at.comparison, generator(seed, "plan-noise", index, noise))


def _exact(ready: Prepared, at: Case, known: Prior) -> float:
    """Mean squared error over all noise of a sparse vector with Laplace noise; NaN of others."""
    if not isinstance(ready.event, SparseVector):
        return math.nan
    asked: Any = ready.options
    return error_curve.averaged(
        ready.event,
        asked.epsilon_abc,
        at.comparison.rho,
        at.public.theta / known.unit,
        at.truth / known.unit,
        known.mean / known.unit,
    )


def _scored(
    release: Release, at: Case, known: Prior, expected: float, *, intervals: bool
) -> Outcome:
    theta = at.public.theta
    estimate = release.mean(theta, known.mean)
    mse, mae = known.errors(estimate, at.truth)
    if not intervals:
        return Outcome(mse, mae, expected)
    return Outcome(mse, mae, expected, *_interval(release, theta, at.truth, known.unit))


def _interval(release: Release, theta: Array, truth: Array, unit: Array) -> tuple[float, ...]:
    """Width, coverage and score of equal-tailed intervals; the prior's if nothing was accepted."""
    sample, weights = release.parameters(theta), release.weights
    if not len(sample):
        sample, weights = theta, np.full(len(theta), 1.0 / len(theta))
    tail = (1.0 - LEVEL) / 2.0
    low, high = summaries.weighted_quantile(sample, weights, [tail, 1.0 - tail])
    missed = np.maximum(low - truth, 0.0) + np.maximum(truth - high, 0.0)
    width = (high - low) / unit
    score = width + missed / unit / tail
    return float(width.mean()), float((missed == 0.0).mean()), float(score.mean())
