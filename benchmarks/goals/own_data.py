"""Releases from your own data: errors, coverage of intervals, and privacy loss.

Files of values are simulated and released in full, from values to record, but with seeded noise.
For reports of tuberculosis and daily cases only the released numbers are simulated.
"""

from __future__ import annotations

import functools
import random
from typing import Any, cast

import numpy as np

from abcdp_core.base import registry
from abcdp_core.base.arrays import Array
from abcdp_core.base.places import EXAMPLES
from abcdp_core.base.streams import generator
from abcdp_core.mechanisms.private_summary import law, noisy
from abcdp_core.models.simulators import covid_people, tuberculosis_patients, uniform_mixture
from abcdp_core.models.simulators.tuberculosis_patients import SCENARIO as PATIENTS
from abcdp_core.posterior import rounds
from abcdp_core.posterior.rounds import Effort, InferenceProblem
from abcdp_core.release import procedure
from abcdp_core.release.noisy_counts import NoisyCountsRecord, NoisyCountsRequest
from abcdp_core.release.simulated import model_of
from abcdp_core.release.summary_posterior import PosteriorSummary
from abcdp_core.release.summary_request import PrivateSummaryRequest, pool_of
from benchmarks.goals import SEED, Measured, alone, goal, mean, on_all_processors, share
from tests.oracles.neighbouring_files import worst

# ------------------------------------------------------------------- five shares by noisy counts

N, FILES = 2000, 2000
"""Values in a file, and files."""

DOMAIN = {"low": 0.0, "high": 100_000.0}
"""Range of the values, such as incomes."""


@functools.cache
def _by_counts(
    weights: str, epsilon_total: float = 1.0, files: int = FILES
) -> list[tuple[Array, Array, NoisyCountsRecord]]:
    """Return weights, the file's own shares and the record for each file."""
    request = NoisyCountsRequest("uniform-mixture", epsilon_total=epsilon_total, **DOMAIN)
    noise, found = random.Random(SEED).randrange, []
    for file in range(files):
        rng = generator(SEED, "own-data", file)
        theta = uniform_mixture.TRUTH if weights == "truth" else uniform_mixture.prior(rng, 1)[0]
        values = uniform_mixture.simulate(rng, theta[None], N)[0, :, 0] / 5.0 * DOMAIN["high"]
        fifths = np.minimum(values // (DOMAIN["high"] / 5.0), 4).astype(int)
        made = cast(NoisyCountsRecord, procedure.make(request, values, noise))
        found.append((theta, np.bincount(fifths, minlength=5) / N, made))
    return found


@goal("own-data-error-noisy-counts-file", at_most=0.002, against="file")
@goal("own-data-error-noisy-counts-population", at_most=0.0075, against="population")
def counts_error(against: str) -> Measured:
    """Mean absolute error of five shares released by noisy counts, ε_total = 1, 2000 values.

    Uniform mixture at its true weights; 2000 files. The error is from the file's own shares, where
    only noise counts, or from the population's, where sampling alone gives 0.0062.
    """
    errors = [
        made.inferred.own.mean - own if against == "file" else made.inferred.population.mean - theta
        for theta, own, made in _by_counts("truth")
    ]
    return mean(np.abs(errors).mean(axis=1))


@goal("own-data-coverage-truth", at_least=0.87, at_most=0.93, weights="truth")
@goal("own-data-coverage-prior", at_least=0.87, at_most=0.93, weights="prior")
def coverage(weights: str) -> Measured:
    """Coverage of 90 % intervals of noisy counts for the population's shares, ε_total = 1.

    2000 values, 2000 files, five intervals each. Weights are the scenario's true ones, or prior
    draws for each file, for which the intervals are made.
    """
    rows = [(*made.inferred.population, theta) for theta, _, made in _by_counts(weights)]
    return mean(_scored(rows, np.ones(5))[1])


@goal("own-data-coverage-file", at_least=0.87)
def coverage_of_file() -> Measured:
    """Coverage of 90 % intervals of noisy counts for the file's own share in the first interval.

    Weights from the prior, 2000 files. Counts are whole, so the coverage is 90 % or more.
    """
    held = [
        made.inferred.own.low[0] <= own[0] <= made.inferred.own.high[0]
        for _, own, made in _by_counts("prior")
    ]
    return share(sum(held), len(held))


# ------------------------------------------------------------------ everything that is inferred

FILES_OF_CASE, FILES_OF_SUMMARY, FILES_OF_MODEL = 1000, 60, 200

SIMULATIONS = 30_000
"""Simulations per release: fewer than usual, so that 60 releases take minutes."""

DAYS = {"people": 18, "people-60": 60}
"""Name in a goal -> days of a series of cases: as in the Netherlands, and the largest number."""


def case_error(case: str, epsilon_total: float) -> Measured:
    """Mean absolute error of everything inferred, in prior standard deviations.

    Incomes: five shares of the population, 2000 values. Patients: a report of tuberculosis, four
    parameters and the share of recent transmission. People: 18 or 60 days of cases, four parameters
    and the growth rate. Truths are prior draws beyond the pool; 1000 files of incomes, 60 of the
    others with 30,000 simulations each. The prior's error is about 0.8.
    """
    return mean(_case(case, epsilon_total)[0])


def case_coverage(case: str, epsilon_total: float) -> Measured:
    """Share of 90 % intervals that hold the truth, over everything inferred, as for the error."""
    return mean(_case(case, epsilon_total)[1])


LARGEST_ERRORS = {
    "incomes": {0.1: 0.08, 0.5: 0.045, 1.0: 0.045},
    "patients": {0.1: 0.75, 0.5: 0.55, 1.0: 0.50},
    "people": {0.1: 0.60, 0.5: 0.49, 1.0: 0.47},
    "people-60": {1.0: 0.47},
}
"""Case -> budget -> its goal."""

for _name, _budgets in LARGEST_ERRORS.items():
    for _budget, _most in _budgets.items():
        _asked = {"case": _name, "epsilon_total": _budget}
        goal(f"own-data-case-error-{_name}-{_budget:g}", at_most=_most, **_asked)(case_error)
        goal(f"own-data-case-coverage-{_name}-{_budget:g}", at_least=0.87, **_asked)(case_coverage)


@functools.cache
def _case(case: str, epsilon_total: float) -> tuple[Array, Array]:
    """Return for each file the mean error in prior standard deviations, and the coverage."""
    if case == "incomes":
        found = _by_counts("prior", epsilon_total, FILES_OF_CASE)
        spread = uniform_mixture.prior(generator(SEED, "own-data-prior"), 10_000).std(axis=0)
        return _scored([(*made.inferred.population, theta) for theta, _, made in found], spread)
    if case == "patients":
        n, scenario = PATIENTS.own_sizes[1], "tuberculosis-patients"
        theta, numbers = (each[:FILES_OF_SUMMARY] for each in tuberculosis_patients.held_out())
    else:
        n, scenario, rng = DAYS[case], "covid-people", generator(SEED, "own-data-people")
        theta = covid_people.prior(rng, FILES_OF_SUMMARY)
        numbers = covid_people.daily(covid_people.simulate(rng, theta, n))
    request = PrivateSummaryRequest(scenario, epsilon_total=epsilon_total, simulations=SIMULATIONS)
    return _by_summary(request, n, theta, numbers)


MODELS = {"gaussian-2d": ("gaussian", 1000), "sir": ("sir", 500)}
"""Own model -> its file in ``examples`` and its number of records."""


@goal("own-model-coverage-gaussian-2d", at_least=0.86, at_most=0.94, model="gaussian-2d")
@goal("own-model-coverage-sir", at_least=0.86, at_most=0.94, model="sir")
def own_model_coverage(model: str) -> Measured:
    """Share of 90 % intervals that hold the truth, for the models in ``examples``; ε_total = 1.

    Truths from the prior; 200 data sets; all parameters.
    """
    stem, n = MODELS[model]
    source = cast(Any, registry.add_file(EXAMPLES / f"{stem}.py")).SCENARIO
    request = PrivateSummaryRequest(model, epsilon_total=1.0)
    rng = generator(SEED, "own-model-data")
    theta = source.prior(rng, FILES_OF_MODEL)
    return mean(_by_summary(request, n, theta, source.own_table.simulate(rng, theta, n))[1])


def _by_summary(
    request: PrivateSummaryRequest, n: int, theta: Array, numbers: Array
) -> tuple[Array, Array]:
    """Release the numbers ``(m, k)`` of each truth ``(m, p)`` and infer the parameters."""
    public = pool_of(request, n)
    released = noisy(numbers, request.event(n), generator(SEED, "own-data-noise"))
    found = on_all_processors(functools.partial(_inferred, request, n), released)
    truths = public.values_at(theta, numbers)
    rows = [
        (each.mean, *each.quantiles[[0, 2]], truth)
        for each, truth in zip(found, truths, strict=True)
    ]
    return _scored(rows, public.values.std(axis=0))


def _inferred(request: PrivateSummaryRequest, n: int, z: Array) -> PosteriorSummary:
    """What follows from released numbers ``(k,)``; whether the model fits is not asked."""
    public, model, event = pool_of(request, n), model_of(request.source, n), request.event(n)
    assert model is not None
    question = InferenceProblem(model, law(event, len(z)), z, request.pool_seed)
    found = rounds.infer(question, Effort(simulations=request.simulations), first=public.draws)
    values = public.values_at(model.prior.theta(found.x), found.numbers)
    return PosteriorSummary.of(values, request, found.weights)


def _scored(rows: list[tuple[Array, Array, Array, Array]], spread: Array) -> tuple[Array, Array]:
    """Return errors and coverage of rows of means, lower ends, upper ends and truths."""
    middle, low, high, truth = (np.array(each) for each in zip(*rows, strict=True))
    held = (low <= truth) & (truth <= high)
    return (np.abs(middle - truth) / spread).mean(axis=1), held.mean(axis=1)


@goal("own-data-pairs-incomes", at_most=1.0, case="incomes")
@goal("own-data-pairs-labels", at_most=1.0, case="labels")
@goal("own-data-pairs-sizes", at_most=1.0, case="sizes")
@goal("own-data-pairs-days", at_most=1.0, case="days")
def pairs_of_files(case: str) -> Measured:
    """Largest exact privacy loss over 200 pairs of files, as a share of ε_total = 1."""
    return alone(worst(case, 200), 200)
