"""Simulators of published queries: against closed forms, loops and exact events."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from abcdp_core.posterior.published import models
from abcdp_core.posterior.published.models import linear_regression, log_linear, sir_epidemic
from tests.statistics import (
    assert_distribution,
    assert_frequencies,
    assert_same_distribution,
    rejects,
)

PRIORS: dict[str, list[Any]] = {
    "linear-regression": [stats.norm()] * 3,
    "log-linear": [stats.beta(2.0, 2.0)] * 5,
    "sir-epidemic": [stats.norm(np.log(0.4), 0.5**0.5), stats.norm(np.log(0.125), 0.2**0.5)],
}


@pytest.mark.parametrize("name", models.names())
def test_a_model_has_its_prior_and_shapes_and_repeats_itself(name: str) -> None:
    model = models.load(name)
    theta = model.prior.theta(model.prior.draw(np.random.default_rng(1), 5000))
    assert len(np.unique(theta)) == theta.size
    for column, prior in zip(theta.T, PRIORS[name], strict=True):
        assert_distribution(column, prior.cdf)
        assert rejects(assert_distribution, column + 0.3 * prior.std(), prior.cdf)
    first, again = (model.simulate(np.random.default_rng(2), theta[:7]) for _ in range(2))
    assert first.shape == (7, len(model.numbers)) == (7, len(set(model.numbers)))
    np.testing.assert_array_equal(first, again)


def test_a_regression_is_summarized_by_its_matrices() -> None:
    rng = np.random.default_rng(1)
    first, second, response = rng.uniform(-1.0, 1.0, (3, 2, 6))
    found = linear_regression.summary(first, second, response)
    for row in range(2):
        X = np.column_stack([np.ones(6), first[row], second[row]])
        y, gram = response[row], X.T @ X / 6
        expected = [*(X.T @ y / 6), y @ y / 6, *gram[0, 1:], gram[1, 1], gram[1, 2], gram[2, 2]]
        np.testing.assert_allclose(found[row], expected)


def test_one_record_moves_a_regression_at_most_as_stated() -> None:
    corners = np.array(np.meshgrid(*[[-1.0, 0.0, 1.0]] * 3)).reshape(3, -1)
    alone = linear_regression.summary(*corners[:, :, None]) / linear_regression.RECORDS
    largest = np.abs(alone[:, None] - alone[None]).sum(axis=2).max()
    assert largest == pytest.approx(9.0 / 100.0)
    assert largest <= 0.13


def test_a_regression_has_the_moments_of_its_model() -> None:
    beta = np.array([0.3, -0.5, 0.8])
    found = linear_regression.simulate(np.random.default_rng(1), np.tile(beta, (4000, 1)))
    mean = beta[0] + beta[1] * 0.9 - beta[2] * 1.17
    variance = beta[1] ** 2 + beta[2] ** 2 + 2.0
    # Nothing is clipped at these coefficients. Six standard errors of each average.
    expected = np.array([mean / 10, (variance + mean**2) / 100, 0.09, -0.117, 0.0181])
    columns = found[:, [0, 3, 4, 5, 6]]
    error = columns.std(axis=0) / np.sqrt(len(found))
    assert (np.abs(columns.mean(axis=0) - expected) < 6.0 * error).all()
    assert (np.abs(columns.mean(axis=0) - 1.02 * expected) > 6.0 * error).all()


def test_each_count_has_the_probability_of_its_place_and_a_class_adds_up_to_its_size() -> None:
    p = np.array([0.3, 0.1, 0.4, 0.6, 0.9])
    found = log_linear.simulate(np.random.default_rng(1), np.tile(p, (2000, 1)))
    pairs = found.reshape(2000, 2, 2, 2).sum(axis=3)
    np.testing.assert_array_equal(pairs[:, :, 0], pairs[:, :, 1])
    np.testing.assert_array_equal(pairs[:, :, 0].sum(axis=1), 100)
    counts = found.sum(axis=0).astype(int)
    for place, size, share in ((0, 0.3, 0.1), (2, 0.3, 0.4), (4, 0.7, 0.6), (6, 0.7, 0.9)):
        three = np.array([*counts[place : place + 2], 200_000 - counts[place : place + 2].sum()])
        expected = np.array([size * share, size * (1.0 - share), 1.0 - size])
        assert_frequencies(three, expected)
        assert rejects(assert_frequencies, three, expected[[1, 0, 2]])


def test_epidemics_die_out_at_the_same_rate_every_day() -> None:
    """Few people are infected, so this is a birth and death process until the last day."""
    infecting, removing = 0.05, 0.08
    rates = np.tile([infecting, removing], (40_000, 1))
    found = sir_epidemic.epidemics(np.random.default_rng(1), rates, 10**9, 300)

    def expected(day: float) -> np.ndarray:
        """Probabilities that the epidemic is extinct by a day, and that it is not."""
        grown = np.exp((infecting - removing) * day)
        extinct = removing * (grown - 1.0) / (infecting * grown - removing)
        return np.array([extinct, 1.0 - extinct])

    assert (found[:, 0] == 1.0).all()
    assert (found[found[:, 1] == 0.0, 1:] == 0.0).all(), "an extinct epidemic does not return"
    for place, day in ((1, 17.0), (2, 34.0), (3, 51.0)):
        gone = int((found[:, place] == 0.0).sum())
        counts = np.array([gone, len(found) - gone])
        assert_frequencies(counts, expected(day))
        assert rejects(assert_frequencies, counts, expected(day - place)), "a day too early"


@pytest.mark.parametrize("exact_below", [100, 5])
def test_an_epidemic_without_removals_infects_everyone(exact_below: int) -> None:
    rates = np.array([[5.0, 1e-12]])
    found = sir_epidemic.epidemics(np.random.default_rng(1), rates, 50, exact_below)
    assert found[0, [0, -1]].tolist() == [1.0, 50.0]


def test_leaps_agree_with_exact_events() -> None:
    """With 10 000 people, day 34 is near the peak. Leaps of 3 days are too long."""
    rates = np.tile([0.6, 0.3], (1500, 1))
    exact, leaps, long = (
        sir_epidemic.epidemics(np.random.default_rng(seed), rates, 10_000, below, leap)
        for seed, below, leap in ((1, 10_001, 0.02), (2, 300, 0.02), (3, 20, 3.0))
    )
    for day in (2, 3):
        assert_same_distribution(exact[:, day], leaps[:, day])
    assert rejects(assert_same_distribution, exact[:, 2], long[:, 2])
    for found in (exact, leaps, long):
        assert (found >= 0.0).all()
        assert (found <= 10_000).all()
