"""Posteriors of released numbers: accuracy, coverage, detection of misfit, and time."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from abcdp_core.base.arrays import Array
from abcdp_core.base.streams import generator
from abcdp_core.base.summaries import weighted_quantile
from abcdp_core.cli.simulations import done_by
from abcdp_core.posterior import outcome, rounds
from abcdp_core.posterior.rounds import Effort, InferenceProblem
from abcdp_core.release import private_summary
from abcdp_core.release.simulated import model_of, public_pool
from abcdp_core.release.summary_document import PrivateSummaryRecord
from abcdp_core.release.summary_request import PrivateSummaryRequest
from abcdp_core.run.workers import processor_count
from benchmarks.goals import Measured, alone, goal, on_all_processors, share
from tests.oracles.exact_posteriors import FAMILIES, released
from tests.oracles.misfits import CASES

BUDGETS, RECORDS, LEVELS, SEEDS = (0.1, 1.0, 10.0), (200, 2000), (0.005, 0.5, 0.995), (1, 2)
"""ε_total, records, prior quantile of the truth, and seeds of the releases."""

EFFORT = Effort(wanted=2500, simulations=300_000)
"""At an effective sample size of 2500, the Monte Carlo error of an end is about 0.05."""

FEW = 20.0
"""Shares of fewer records than this are a known exception of the regression."""


@functools.cache
def _compared() -> dict[str, pd.DataFrame]:
    """Compare all families at all settings, one row per parameter of a release.

    Returns:
        Name of a group -> width of the 90 % interval minus the exact one, relative to it; larger
        error of its two ends in exact standard deviations; Kolmogorov distance of whole numbers.
        Groups are weights of a sufficient effective sample size, the same for whole numbers,
        regressions, and regressions for shares of few records.
    """
    asked = itertools.product(FAMILIES, BUDGETS, RECORDS, LEVELS, SEEDS)
    rows = itertools.chain.from_iterable(on_all_processors(_compare, asked))
    return dict(iter(pd.DataFrame(rows).groupby("group")))


def _compare(asked: tuple[str, float, int, float, int]) -> list[dict[str, Any]]:
    name, epsilon_total, n, level, seed = asked
    family = FAMILIES[name]
    z = released(family, epsilon_total, n, level, generator(seed, "posterior-goal"))
    question = InferenceProblem(family.model(n), family.noise(epsilon_total, n), z, seed)
    found, exact = rounds.infer(question, EFFORT), family.exact(z, epsilon_total, n)
    theta = question.model.prior.theta(found.x)
    ends = weighted_quantile(theta, found.weights, (0.05, 0.95))
    rows = []
    for place, each in enumerate(exact):
        group = "few" if name == "dirichlet-shares" and z[place] < FEW else "regression"
        if found.way == "weights":
            enough = found.effective[-1] >= EFFORT.wanted
            group = ("whole" if family.whole else "weights") if enough else "not enough"
        row: dict[str, Any] = {"group": group}
        if family.whole:
            steps = theta[:, place : place + 1] <= each.values + 1e-9 * np.abs(each.values)
            row["apart"] = np.abs(found.weights @ steps - each.cumulative).max()
        else:
            low, high = each.quantile(0.05), each.quantile(0.95)
            row["width"] = np.ptp(ends[:, place]) / (high - low) - 1.0
            row["off"] = np.abs(ends[:, place] - (low, high)).max() / each.deviation
        rows.append(row)
    return rows


@goal("posterior-weights-width-median", at_most=0.03)
def weights_width_median() -> Measured:
    """Difference from 1 of the median relative width of 90 % intervals by weights.

    Eight families with an exact posterior, ε_total 0.1, 1, 10, N 200 and 2000, truths at prior
    quantiles 0.005, 0.5 and 0.995, two releases each; effective sample size at least 2500.
    """
    widths = _compared()["weights"].width
    return alone(abs(widths.median()), len(widths))


@goal("posterior-weights-ends-near", at_least=0.95)
def weights_ends_near() -> Measured:
    """Share of these intervals whose ends are within 0.25 posterior standard deviations."""
    off = _compared()["weights"].off
    return share(int((off <= 0.25).sum()), len(off))


@goal("posterior-weights-width-worst", at_most=0.2, group="weights", column="width")
@goal("posterior-weights-ends-worst", at_most=0.5, group="weights", column="off")
@goal("posterior-weights-whole", at_most=0.05, group="whole", column="apart")
@goal("posterior-regression-width-worst", at_most=0.25, group="regression", column="width")
@goal("posterior-regression-ends-worst", at_most=0.8, group="regression", column="off")
@goal("posterior-regression-few-ends-worst", at_most=2.0, group="few", column="off")
def worst(group: str, column: str) -> Measured:
    """Largest error of these intervals, or of a regression where weights do not suffice.

    *width*: difference from 1 of a relative width; the aim is 0.1, for a regression 0.15. *ends*:
    error of an end in posterior standard deviations; the aim is 0.35, for a regression 0.3.
    *whole*: Kolmogorov distance to the exact posterior of a whole number. *few*: shares of fewer
    than 20 records, a known exception of the regression with a wide bound.
    """
    values = _compared()[group][column]
    return alone(values.abs().max(), len(values))


# ---------------------------------------------------------------------------------- coverage

TRUTHS = 200


def coverage(family: str) -> Measured:
    """Coverage of 90 % intervals minus the coverage of exact ones on the same 200 truths.

    Truths from the outermost 5 % of the prior on either side, ε_total = 1, N = 200, all parameters
    of a family.
    """
    less = np.array(on_all_processors(functools.partial(_held, family), range(TRUTHS)))
    middle, error = float(less.mean()), 1.96 * float(less.std()) / math.sqrt(TRUTHS)
    return Measured(middle, middle - error, middle + error, TRUTHS)


for _name in [name for name in FAMILIES if not FAMILIES[name].whole]:
    goal(f"posterior-coverage-{_name}", at_least=-0.03, family=_name)(coverage)


def _held(name: str, run: int) -> float:
    """Return the share of our intervals that hold the truth minus that of exact ones."""
    family, rng = FAMILIES[name], generator(run, "posterior-coverage")
    model, noise = family.model(200), family.noise(1.0, 200)
    level = 0.05 * rng.random()
    x = np.full((1, model.prior.dimensions), ndtri(level if run % 2 else 1.0 - level))
    truth = model.prior.theta(x)
    z = noise.noisy(rng, model.simulate(rng, truth))[0]
    found = rounds.infer(InferenceProblem(model, noise, z, run), Effort())
    ours = weighted_quantile(model.prior.theta(found.x), found.weights, (0.05, 0.95))
    exact = family.exact(z, 1.0, 200)
    theirs = np.array([[each.quantile(level) for each in exact] for level in (0.05, 0.95)])
    held = [((low <= truth[0]) & (truth[0] <= high)).mean() for low, high in (ours, theirs)]
    return float(held[0] - held[1])


# ------------------------------------------------------------------------------------ misfit

DATA_SETS = {"own": 1000, "other": 200}


@goal("posterior-misfit-own-series", at_most=0.02, place=0, kind="own")
@goal("posterior-misfit-other-series", at_least=0.95, place=0, kind="other")
@goal("posterior-misfit-other-mean", at_least=0.95, place=1, kind="other")
@goal("posterior-misfit-other-correlation", at_least=0.95, place=2, kind="other")
def misfit(place: int, kind: str) -> Measured:
    """Share of data sets reported as a misfit.

    ``own``: 1000 series that follow the model. ``other``: 200 series three times as jagged as the
    model allows, 200 means far outside the prior, or 200 correlations that the model cannot make.
    At most 15,000 simulations each.
    """
    runs = range(DATA_SETS[kind])
    found = on_all_processors(functools.partial(_is_misfit, place, kind), runs)
    return share(sum(found), len(found))


def _is_misfit(place: int, kind: str, run: int) -> bool:
    case = CASES[place]
    z = getattr(case, kind)(generator(run, "posterior-misfit", place))
    found = outcome.of_model(InferenceProblem(case.model, case.noise, z, run), Effort(500, 15_000))
    return bool(found.summary.fit and found.summary.fit.is_misfit)


# -------------------------------------------------------------------------------------- time


@goal("posterior-seconds-patients", at_most=60.0, scenario="tuberculosis-patients", n=1000)
@goal("posterior-seconds-people", at_most=60.0, scenario="covid-people", n=18)
def seconds(scenario: str, n: int) -> Measured:
    """Seconds of a posterior with its fit check, on all cores; ε_total = 1."""
    request = PrivateSummaryRequest(scenario=scenario, epsilon_total=1.0)
    public_pool(request.source, n, request.pool_seed, request.first)
    model: Any = model_of(request.source, n)
    rng = generator(1, "posterior-seconds")
    numbers = model.simulate(rng, model.prior.theta(model.prior.draw(rng, 1)))[0]
    whole = tuple(np.rint(numbers * np.array(request.event(n).whole)).astype(int).tolist())
    document = PrivateSummaryRecord(request, n, whole)
    began = time.perf_counter()
    with done_by(processor_count()) as each:
        private_summary.infer(document, each, math.inf)
    return alone(time.perf_counter() - began)


def _slowly(simulate: Callable[..., Array], rng: np.random.Generator, theta: Array) -> Array:
    time.sleep(0.001 * len(theta))
    return simulate(rng, theta)


@goal("posterior-seconds-own-model-usual", at_most=30.0, epsilon_total=1.0)
@goal("posterior-seconds-own-model-narrow", at_most=120.0, epsilon_total=10.0)
def own_model(epsilon_total: float) -> Measured:
    """Seconds of a posterior with its fit check, on two cores, for a model of 1 ms per data set.

    Heavy tails, N = 200; at ε_total = 10 it takes as many simulations as allowed.
    """
    family = FAMILIES["heavy-tails"]
    z = released(family, epsilon_total, 200, 0.5, generator(1, "posterior-seconds"))
    model, noise = family.model(200), family.noise(epsilon_total, 200)
    slow = dataclasses.replace(
        model, simulate=functools.partial(_slowly, model.simulate), chunk=100
    )
    began = time.perf_counter()
    with done_by(2) as each:
        outcome.of_model(InferenceProblem(slow, noise, z, 1), Effort(), each)
    return alone(time.perf_counter() - began)
