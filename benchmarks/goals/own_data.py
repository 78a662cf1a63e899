"""Releases from a person's own file: their error, and whether their intervals hold.

Files of values are simulated and go the whole way of a release, from values to document; only their
noise is from a seed instead of the operating system. The public pool of the sparse vector is made
once. Of reports of tuberculosis and of daily cases, which go no other way, only the numbers that
are released are made.
"""

from __future__ import annotations

import functools
import random
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from abcdp_core import pool, registry, simulators
from abcdp_core.mechanisms.private_summary import law, noisy
from abcdp_core.posterior import rounds
from abcdp_core.posterior.rounds import Effort, Question
from abcdp_core.release import procedure
from abcdp_core.release.exact_noise import release_exactly
from abcdp_core.release.noisy_counts import NoisyCountsRecord, NoisyCountsRequest
from abcdp_core.release.simulated import model_of
from abcdp_core.release.sparse_vector import SparseVectorRequest, noise_of, pool_key
from abcdp_core.release.summary_posterior import Told
from abcdp_core.release.summary_request import PrivateSummaryRequest, pool_of
from abcdp_core.simulators import covid_people, tuberculosis_patients, uniform_mixture
from abcdp_core.streams import generator
from benchmarks.goals import SEED, Measured, goal, mean, share

Array = NDArray[np.float64]

EXAMPLES = Path(__file__).parents[2] / "examples"

N = 2000
FILES = 2000
FILES_OF_POOL = 200
DOMAIN = {"low": 0.0, "high": 100_000.0}
"""Incomes, say."""


@goal("own-data-error-noisy-counts-file", at_most=0.002, against="file")
@goal("own-data-error-noisy-counts-population", at_most=0.0075, against="population")
def counts_error(against: str) -> Measured:
    """Mean absolute error of five shares released by noisy counts, ε_total = 1, 2000 values.

    Uniform mixture at its true weights; 2000 files. Against the file's own shares, which the
    release tells but for its noise, and against the population's, from which sampling alone moves
    them by 0.0062.
    """
    errors = [
        np.abs(made.told.own_mean - own if against == "file" else made.told.mean - theta).mean()
        for theta, own, made in _by_counts("truth")
    ]
    return mean(errors)


@goal("own-data-error-sparse-vector-file", at_least=0.02, at_most=0.04, against="file")
@goal("own-data-error-sparse-vector-population", at_least=0.02, at_most=0.04, against="population")
def sparse_vector_error(against: str) -> Measured:
    """The same of the mean of what the sparse vector accepts: why it is not the recommended one.

    The scenario's ε_abc = 0.1, c = 10 and 10,000 draws; the prior's mean where nothing was
    accepted; 200 files.
    """
    errors = [
        np.abs(estimate - (own if against == "file" else theta)).mean()
        for theta, own, estimate in _by_sparse_vector()
    ]
    return mean(errors)


@goal("own-data-coverage-truth", at_least=0.87, at_most=0.93, weights="truth")
@goal("own-data-coverage-prior", at_least=0.87, at_most=0.93, weights="prior")
def coverage(weights: str) -> Measured:
    """How often 90 % intervals of noisy counts hold the population's shares, ε_total = 1.

    2000 values, 2000 files; the share of five intervals each that hold. Weights: the scenario's
    true ones, or drawn from the prior for each file, which is what the intervals are made for.
    """
    held = [
        np.mean((made.told.low <= theta) & (theta <= made.told.high))
        for theta, _, made in _by_counts(weights)
    ]
    return mean(held)


FILES_OF_CASE, FILES_OF_SUMMARY, FILES_OF_MODEL = 1000, 60, 200
DAYS = {"people": 18, "people-60": 60}
"""Name in a goal -> days of a series of cases: as in the Netherlands, and the most."""


def case_error(case: str, epsilon_total: float) -> Measured:
    """Mean absolute error of all that is inferred, in prior standard deviations.

    Incomes: five shares of the population, 2000 values; patients: a report of tuberculosis, four
    parameters and its share of recent transmission; people: 18 or 60 days of cases, four
    parameters and the growth rate. Truths from the prior, beyond the pool; 1000 files of incomes,
    60 of the others with 30,000 simulations each. The prior's own is about 0.8.
    """
    return mean(_case(case, epsilon_total)[0])


def case_coverage(case: str, epsilon_total: float) -> Measured:
    """Share of 90 % intervals, over all that is inferred, that hold the truth; as above."""
    return mean(_case(case, epsilon_total)[1])


LARGEST_ERRORS = {
    ("incomes", 0.1): 0.08,
    ("incomes", 0.5): 0.045,
    ("incomes", 1.0): 0.045,
    ("patients", 0.1): 0.75,
    ("patients", 0.5): 0.55,
    ("patients", 1.0): 0.50,
    ("people", 0.1): 0.60,
    ("people", 0.5): 0.49,
    ("people", 1.0): 0.47,
    ("people-60", 1.0): 0.47,
}
"""Case and budget -> its goal."""

for (_name, _budget), _most in LARGEST_ERRORS.items():
    _asked = {"case": _name, "epsilon_total": _budget}
    goal(f"own-data-case-error-{_name}-{_budget:g}", at_most=_most, **_asked)(case_error)
    goal(f"own-data-case-coverage-{_name}-{_budget:g}", at_least=0.87, **_asked)(case_coverage)


@functools.cache
def _case(case: str, epsilon_total: float) -> tuple[list[float], list[float]]:
    """Mean error in prior standard deviations, and share of intervals that hold, of each file."""
    if case == "incomes":
        found = _by_counts("prior", epsilon_total, FILES_OF_CASE)
        spread = uniform_mixture.prior(generator(SEED, "own-data-prior"), 10_000).std(axis=0)
        return _scored([(made.told.mean, made.told.low, made.told.high, theta) for theta, _, made
                        in found], spread)  # fmt: skip
    theta, numbers = _held_out(case)
    n = DAYS.get(case, tuberculosis_patients.OWN_SIZES[1])
    scenario = "covid-people" if case in DAYS else "tuberculosis-patients"
    request = PrivateSummaryRequest(scenario, epsilon_total=epsilon_total, simulations=SIMULATIONS)
    return _by_summary(request, n, theta, numbers)


SIMULATIONS = 30_000
"""Of each of these releases: fewer than usual, so that 60 take minutes."""


def _by_summary(
    request: PrivateSummaryRequest, n: int, theta: Array, numbers: Array
) -> tuple[list[float], list[float]]:
    """Release the numbers ``(m, k)`` of each truth ``(m, p)``, and infer from them."""
    public = pool_of(request, n)
    released = noisy(numbers, request.event(n), generator(SEED, "own-data-noise"))
    with ProcessPoolExecutor() as processes:
        found = list(processes.map(functools.partial(_inferred, request, n), released))
    truths = public.told(theta, numbers)
    rows = [
        (each.mean, *each.quantiles[[0, 2]], truth)
        for each, truth in zip(found, truths, strict=True)
    ]
    return _scored(rows, public.values.std(axis=0))


def _inferred(request: PrivateSummaryRequest, n: int, z: Array) -> Told:
    """What follows from released numbers ``(k,)``; whether the model fits is not asked."""
    public, model, event = pool_of(request, n), model_of(request.scenario, n), request.event(n)
    assert model is not None
    question = Question(model, law(event, len(z)), z, request.pool_seed)
    effort = Effort(simulations=request.simulations)
    found = rounds.infer(question, effort, first=public.draws)
    values = public.told(model.prior.theta(found.x), found.numbers)
    return Told.of(values, found.weights, request)


def _scored(
    rows: list[tuple[Array, Array, Array, Array]], spread: Array
) -> tuple[list[float], list[float]]:
    """Of means, lower ends, upper ends and truths."""
    errors = [float(np.mean(np.abs(middle - truth) / spread)) for middle, _, _, truth in rows]
    held = [float(np.mean((low <= truth) & (truth <= high))) for _, low, high, truth in rows]
    return errors, held


MODELS = {"gaussian-2d": ("gaussian", 1000), "sir": ("sir", 500)}
"""Model of one's own -> its file in ``examples`` and records of a data set."""


@goal("own-model-coverage-gaussian-2d", at_least=0.86, at_most=0.94, model="gaussian-2d")
@goal("own-model-coverage-sir", at_least=0.86, at_most=0.94, model="sir")
def own_model_coverage(model: str) -> Measured:
    """Share of 90 % intervals that hold the truth, of the models in ``examples``; ε_total = 1.

    Truths from the prior; 200 data sets; all parameters.
    """
    return mean(_of_model(model)[1])


@functools.cache
def _of_model(name: str) -> tuple[list[float], list[float]]:
    """Mean error in prior standard deviations, and share of intervals that hold, of data sets."""
    stem, n = MODELS[name]
    source = cast(Any, registry.add_file(EXAMPLES / f"{stem}.py"))
    request = PrivateSummaryRequest(name, epsilon_total=1.0)
    rng = generator(SEED, "own-model-data")
    theta = source.prior(rng, FILES_OF_MODEL)
    return _by_summary(request, n, theta, source.OWN_TABLE.simulate(rng, theta, n))


def _held_out(case: str) -> tuple[Array, Array]:
    """Truths from the prior and the numbers of their data."""
    if case == "patients":
        theta, numbers = tuberculosis_patients.held_out()
        return theta[:FILES_OF_SUMMARY], numbers[:FILES_OF_SUMMARY]
    rng = generator(SEED, "own-data-people")
    theta = covid_people.prior(rng, FILES_OF_SUMMARY)
    return theta, covid_people.daily(covid_people.simulate(rng, theta, DAYS[case]))


@goal("own-data-coverage-file", at_least=0.87)
def coverage_of_file() -> Measured:
    """How often 90 % intervals of noisy counts hold the file's own share in the first interval.

    As above, weights from the prior. Counts are whole, so an interval holds 90 % or more.
    """
    held = [
        bool(made.told.own_low[0] <= own[0] <= made.told.own_high[0])
        for _, own, made in _by_counts("prior")
    ]
    return share(sum(held), len(held))


@functools.cache
def _by_counts(
    weights: str, epsilon_total: float = 1.0, files: int = FILES
) -> list[tuple[Array, Array, NoisyCountsRecord]]:
    """Weights, the file's own shares and the document of each file."""
    request = NoisyCountsRequest("uniform-mixture", epsilon_total=epsilon_total, **DOMAIN)
    noise = random.Random(SEED).randrange
    found = []
    for file in range(files):
        theta, values = _file(weights, file)
        made = cast(NoisyCountsRecord, procedure.make(request, values, noise))
        found.append((theta, _own(values), made))
    return found


@functools.cache
def _by_sparse_vector() -> list[tuple[Array, Array, Array]]:
    """Weights, the file's own shares and the estimate of each file."""
    usual = SparseVectorRequest.defaults("uniform-mixture")
    request = SparseVectorRequest("uniform-mixture", epsilon_total=1.0, **DOMAIN, **usual)
    public = pool.build(pool_key(request, N))
    noise, randbelow = noise_of(request, N), random.Random(SEED).randrange
    prior_mean, found = simulators.load("uniform-mixture").PRIOR_MEAN, []
    for file in range(FILES_OF_POOL):
        theta, values = _file("truth", file)
        data = (values / DOMAIN["high"] * 5.0)[:, None]
        comparison = pool.compare(public, data, synthetic=False)
        made = release_exactly(comparison, request.epsilon_abc, noise, randbelow)
        found.append((theta, _own(values), made.mean(comparison.theta, prior_mean)))
    return found


def _file(weights: str, file: int) -> tuple[Array, Array]:
    """Weights, and values of a file that is drawn with them."""
    rng = generator(SEED, "own-data", file)
    theta = uniform_mixture.TRUTH if weights == "truth" else uniform_mixture.prior(rng, 1)[0]
    points = uniform_mixture.simulate(rng, theta[None], N)[0, :, 0]
    return theta, points / 5.0 * DOMAIN["high"]


def _own(values: Array) -> Array:
    """Shares of the values in each fifth of the domain."""
    fifths = np.minimum(values // (DOMAIN["high"] / 5.0), 4).astype(int)
    return np.bincount(fifths, minlength=5) / len(values)
