"""A few numbers released once with noise, and the posterior that knows the noise (MATH E5, M9).

Power of the sampled layer: 40 000 draws see an outcome of probability 0.1 that is off by 0.009;
noise of half the scale is off by 0.2.
"""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from abcdp_core import mechanisms
from abcdp_core.base.arrays import Array
from abcdp_core.base.statistic import Statistic
from abcdp_core.mechanisms import Budget
from abcdp_core.mechanisms.private_summary import SummaryNoise, law, noise_for, noisy
from abcdp_core.models import pool, simulators
from abcdp_core.models.simulators import covid_people, uniform_mixture
from abcdp_core.models.simulators import tuberculosis_patients as patients
from abcdp_core.posterior.pool import FixedPool
from abcdp_core.privacy import NonPrivate, cost
from tests.events import quieter
from tests.statistics import assert_frequencies, rejects

SUMMARY = patients.SCENARIO.statistics["cluster-summary"]
SCENARIOS = ("tuberculosis-patients", "covid-people")

wholes = st.none() | st.lists(st.integers(1, 12), min_size=3, max_size=3).map(tuple)


def rng_of(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


# ---------------------------------------------------------------------------------- the noise


def statistic(sensitivity: float, **changes: Any) -> Statistic:
    """The summary of a report with another sensitivity."""
    return dataclasses.replace(SUMMARY, l1=lambda n: sensitivity, **changes)  # noqa: ARG005


@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6), wholes)
def test_the_noise_costs_the_budget_and_never_more(
    budget: float, sensitivity: float, whole: tuple[int, ...] | None
) -> None:
    ends = {"low": (0.0,) * 3, "high": (math.inf,) * 3}
    chosen = statistic(sensitivity, names=("a", "b", "c"), whole=whole, **ends)
    event = noise_for(chosen, 1, budget)
    # What any value of the sum of changes can cost, in exact fractions of the scales drawn with.
    spent = max(
        Fraction(sensitivity) * part / Fraction(step)
        for part, step in zip(event.whole or (1,), event.steps().tolist(), strict=True)
    )
    assert spent <= Fraction(cost(event).epsilon) <= Fraction(budget)
    assert cost(event).epsilon >= budget * (1.0 - 1e-12)
    assert cost(event).delta == 0.0
    assert (event.unit, event.neighbours) == ("one patient", "add-remove")


@pytest.mark.parametrize("budget", [0.1, 5.0])
def test_no_patient_changes_any_outcome_by_more_than_the_budget(budget: float) -> None:
    # All changes by one patient, which their own tests compare with enumerated reports.
    changes = np.array([[float(each) for each in case] for case in patients.one_patient()])
    whole = np.array(SUMMARY.whole)

    def largest_log_ratio(event: SummaryNoise) -> float:
        # Beyond the farther of two values, every coordinate adds its change in noise scales.
        return float((np.abs(changes) * whole / event.steps()).sum(axis=1).max())

    event = noise_for(SUMMARY, 1, budget)
    assert largest_log_ratio(event) == pytest.approx(budget, rel=1e-9)
    # Half the noise and a sensitivity of 1 are seen.
    assert largest_log_ratio(quieter(event)) == pytest.approx(2.0 * budget, rel=1e-9)
    low = noise_for(statistic(1.0), 1, budget)
    assert largest_log_ratio(low) == pytest.approx(13.0 / 3.0 * budget, rel=1e-9)


@pytest.mark.parametrize("name", SCENARIOS)
def test_releases_are_in_whole_steps_with_the_stated_noise(name: str) -> None:
    chosen = next(iter(simulators.load(name).statistics.values()))
    event = dataclasses.replace(noise_for(chosen, 18, 1.0), scale=0.8)
    whole = np.array(chosen.whole)
    values = np.zeros((40_000, len(whole))) + 7.0 / whole
    steps = np.rint((noisy(values, event, rng_of(1)) - values) * whole)
    assert np.array_equal(
        noisy(values, event, rng_of(1)), (np.rint(values * whole) + steps) / whole
    )
    column = int(np.argmax(whole))
    for place, noise in ((0, 0.8), (column, 0.8 * whole[column])):
        counts, probabilities = tallied(steps[:, place], noise)
        assert_frequencies(counts, probabilities)
        assert rejects(assert_frequencies, *tallied(steps[:, place], 2.0 * noise))
        # Inference uses the same distribution.
        moved = values[0] + np.eye(len(whole))[place] * np.arange(-200, 201)[:, None] / whole
        known = np.exp([law(event, len(whole)).log_density(z, values[:1])[0] for z in moved])
        mass = tallied(np.zeros(1), noise)[1][1:-1]
        np.testing.assert_allclose((known / known.sum())[197:204], mass, rtol=1e-9)
    # Noises of two numbers are independent.
    assert abs(np.corrcoef(steps[:, 0], steps[:, 1])[0, 1]) < 0.03


def tallied(steps: Array, t: float) -> tuple[NDArray[np.int64], Array]:
    """Counts of −4 or less, −3, …, 3, 4 or more, and what discrete Laplace noise gives them."""
    noise, inside = stats.dlaplace(1.0 / t), np.clip(steps, -4, 4).astype(np.int64)
    each = noise.pmf(np.arange(-4, 5))
    each[[0, -1]] = noise.sf(3)
    return np.bincount(inside + 4, minlength=9), each


def test_noise_is_the_difference_of_two_exponentials_or_of_their_whole_parts() -> None:
    values = np.array([[3.0, 0.5], [7.0, 1.25]])
    assert noisy(values, NonPrivate(), rng_of(0)) is values
    first, second = np.moveaxis(rng_of(14).standard_exponential((2, 2, 2)), -1, 0)
    real = SummaryNoise("one day", "replace", 1.0, 2.0)
    assert np.array_equal(noisy(values, real, rng_of(14)), values + 2.0 * (first - second))
    whole = SummaryNoise("one day", "replace", 1.0, 2.0, (1, 4))
    steps = np.floor(first * [2.0, 8.0]) - np.floor(second * [2.0, 8.0])
    assert np.array_equal(noisy(values, whole, rng_of(14)), values + steps / [1.0, 4.0])


# ------------------------------------------------------------------------------ the posterior


@pytest.mark.parametrize("name", ["private-summary", "private-summary-large-unit"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_posterior_is_that_of_the_pool_given_the_released_numbers(
    name: str, scenario: str
) -> None:
    source, mechanism = simulators.load(scenario), mechanisms.load(name)
    public = pool.public_side(source, source.n_default, 2000, 1)
    key = list(source.statistics)[0 if name == "private-summary" else 1]
    summary = public.simulated(0).summaries[key]
    for budget in (1e-3, 1.0, math.inf):
        prepared = mechanism.prepare(public, mechanism.options, Budget(budget))
        event = prepared.event
        release = prepared.release(SimpleNamespace(summaries={key: summary}), rng_of(5))
        if isinstance(event, SummaryNoise):
            assert (event.unit, event.neighbours) == mechanism.protects(source)
        fixed = FixedPool.of(public.theta, public.summaries(key), law(event, len(summary)))
        again = fixed.given(noisy(summary, event, rng_of(5)))
        assert np.array_equal(again.indices, release.indices)
        assert np.array_equal(again.weights, release.weights)
        sample = release.sample(public.theta).values
        np.testing.assert_allclose(fixed.scale.theta(again.x), sample, rtol=1e-9)
        assert public.scenario.support.contains(sample).all()
        assert release.made is not None
        is_wide = budget <= (1e-3 if name == "private-summary" else 1.0)
        assert release.made.way == ("weighted" if is_wide else "moved")
        assert len(release.indices) == (2000 if is_wide else 500)


def test_scenarios_are_served_by_the_summaries_they_define() -> None:
    small, large = (mechanisms.load(f"private-summary{end}") for end in ("", "-large-unit"))
    assert small.refuses(patients.SCENARIO) == large.refuses(covid_people.SCENARIO) == ""
    assert small.refuses(uniform_mixture.SCENARIO) == ""
    assert "second, larger unit" in large.refuses(uniform_mixture.SCENARIO)
    for each in ("covid", "tuberculosis"):
        assert "defines no summary" in small.refuses(simulators.load(each))
    assert small.protects(patients.SCENARIO) == ("one patient", "add-remove")
    assert large.protects(patients.SCENARIO) == ("one outbreak", "replace")
    assert small.protects(covid_people.SCENARIO) == ("one person", "add-remove")
    assert large.protects(covid_people.SCENARIO) == ("one day", "replace")
