"""Simulate releases at a setting: errors, intervals, and the exact error if there is one."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from abcdp_core import mechanisms
from abcdp_core.base.arrays import Array
from abcdp_core.base.parameters import Params
from abcdp_core.base.streams import generator
from abcdp_core.evaluation import error_curve
from abcdp_core.evaluation.cases import Case
from abcdp_core.evaluation.planning.cases import Prior, case, prior, public_side
from abcdp_core.mechanisms import Budget, Prepared, PublicSide, Release
from abcdp_core.mechanisms.sparse_vector import SparseVector
from abcdp_core.models.simulators import Scenario
from abcdp_core.privacy import Event

ACCEPTANCES = (1, 3, 10, 30, 100, 300)
"""Values of c that are tried, up to the size of the pool."""

LEVEL = 0.9
"""Nominal coverage of intervals."""


@dataclass(frozen=True)
class Setting:
    """A possible release: mechanism, scenario, and sizes of data and pool."""

    mechanism: str
    options: Params
    budget: Budget
    scenario: Scenario
    n: int
    pool_size: int


class Outcome(NamedTuple):
    """The outcome of one run, or the average outcome of many.

    Attributes:
        mse, mae: mean squared and mean absolute error over the parameters.
        expected_mse: mse averaged exactly over all noise (MATH E6); NaN if unknown.
        width, coverage: mean length of 90 % intervals over the parameters, and the share of
            intervals that hold the truth; NaN without intervals.
        interval_score: width plus 20 times the distance of a missed truth from its interval
            (Gneiting & Raftery 2007); on average least for the posterior's own intervals.
    """

    mse: float
    mae: float
    expected_mse: float = math.nan
    width: float = math.nan
    coverage: float = math.nan
    interval_score: float = math.nan


@functools.lru_cache(maxsize=256)
def settings(
    mechanism: str, budget: Budget, scenario: Scenario, n: int, pool_size: int, seed: int
) -> tuple[Setting, ...]:
    """Return every public setting of a mechanism that is worth trying.

    They are its own grid and, if it takes c, :data:`ACCEPTANCES`. A grid that depends on simulated
    distances is that of the first case.
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
    """Return the outcomes of ``noises`` runs in the ``index``-th case.

    The exact error, if there is one, and intervals are computed only on request.
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
    """The mechanism, ready to run in a case."""
    mechanism = mechanisms.load(setting.mechanism)
    if mechanism.fit is not mechanisms.nothing:
        return mechanism.prepare(public, setting.options, setting.budget)
    return Prepared(mechanism, public, setting.options, None, _event(setting))


@functools.lru_cache(maxsize=4096)
def _event(setting: Setting) -> Event:
    """The noise of a mechanism that does not depend on the pool, equal in all cases."""
    public = public_side(setting.scenario, setting.n, setting.pool_size, 0, 0)
    mechanism = mechanisms.load(setting.mechanism)
    return mechanism.prepare(public, setting.options, setting.budget).event


def _releases(ready: Prepared, at: Case, seed: int, index: int, noises: int) -> Iterator[Release]:
    """Runs with the same noise for every setting of a case."""
    for noise in range(noises):
        yield ready.release(at.comparison, generator(seed, "plan-noise", index, noise))


def _exact(ready: Prepared, at: Case, known: Prior) -> float:
    """Mean squared error of the sparse vector over all noise; NaN for other mechanisms."""
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
    """Width, coverage and score of equal-tailed intervals; the prior's if no draw was kept."""
    tail = (1.0 - LEVEL) / 2.0
    low, high = release.sample(theta).quantile([tail, 1.0 - tail])
    missed = np.maximum(low - truth, 0.0) + np.maximum(truth - high, 0.0)
    width = (high - low) / unit
    score = width + missed / unit / tail
    return float(width.mean()), float((missed == 0.0).mean()), float(score.mean())
