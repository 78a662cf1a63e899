"""A model of one's own: its priors, its records, and its failed simulations."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from scipy import stats

from abcdp_core.base.parameters import check_work
from abcdp_core.base.streams import generator
from abcdp_core.models.own_model import Column, Parameter, mean, shares
from abcdp_core.models.own_model.model_table import numbers
from abcdp_core.models.own_model.user_errors import OwnError
from abcdp_core.models.priors import Prior
from tests.models.own_model.models import ADDED, LARGEST, MODEL, changed
from tests.statistics import assert_distribution, assert_same_distribution, rejects


def test_a_prior_by_name_has_its_distribution() -> None:
    theta = MODEL.draw(generator(1, "prior"), 20_000)
    assert theta.shape == (20_000, 2)
    uniform, normal = theta.T
    # Bounds 0 and 4: mean 2 and standard deviation 1, truncated at two standard deviations.
    cut = stats.truncnorm(-2.0, 2.0, loc=2.0, scale=1.0).cdf
    assert_distribution(uniform, stats.uniform(-2.0, 4.0).cdf)
    assert_distribution(normal, cut)
    assert rejects(assert_distribution, normal, stats.truncnorm(-2.0, 2.0, 2.0, 1.2).cdf)


def digits(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.integers(4, size=size)


def equal(values: np.ndarray) -> np.ndarray:
    return np.full(len(values), 2.0)


EVERY_KIND = (
    Parameter("uniform", -0.1, 0.3),
    Parameter("normal", 0.0, 4.0, prior="normal"),
    *shares(("a", "b", "c"), (0.5, 1.0, 3.0), unit="%"),
    Parameter("log-uniform", 0.1, 10.0, prior="log-uniform"),
    Parameter("whole", -2, 3, whole=True),
    Parameter("whole, log-uniform", 1, 6, prior="log-uniform", whole=True),
    Parameter("digit", 0, 3, prior=digits, whole=True, log_prior=equal),
)


def test_the_stated_distributions_are_those_drawn() -> None:
    model = changed(parameters=EVERY_KIND)
    drawn, law = model.draw(generator(1, "prior"), 20_000), model.prior_law
    made = Prior(law.laws).theta(generator(1, "law").standard_normal((20_000, law.dimensions)))
    for ours, theirs in zip(drawn.T, made.T, strict=True):
        assert_same_distribution(ours, theirs)
        assert ours.min() >= theirs.min() - 0.1
    assert rejects(assert_same_distribution, drawn[:, 2], made[:, 3])
    assert drawn[:, 2:5].sum(axis=1) == pytest.approx(1.0)
    assert np.array_equal(drawn[:, 6:], np.rint(drawn[:, 6:]))
    assert np.array_equal(law.draw(generator(1, "prior"), 20_000), law.to_x(drawn))
    assert law.log_relative is not None
    assert (law.log_relative(drawn) == 2.0).all()
    assert law.log_constant == pytest.approx(2.0, abs=0.02)
    flat = changed(parameters=shares(("a", "b"))).prior_law
    assert flat.draw_theta is None
    assert flat.theta(np.zeros((1, 1))).tolist() == [[0.5, 0.5]]


def test_a_joint_prior_has_the_given_density() -> None:
    def prior(rng: np.random.Generator, size: int) -> np.ndarray:
        """Draw shares whose density rises from 0."""
        return np.sqrt(rng.random((size, 2)))

    def log_density(theta: np.ndarray) -> np.ndarray:
        inside = ((theta > 0.0) & (theta <= 1.0)).all(axis=1)
        return np.where(inside, np.log(np.maximum(theta, 1e-300)).sum(axis=1), -np.inf)

    law = changed(prior=prior, log_prior=log_density).prior_law
    assert law.log_relative is not None
    found = law.log_relative(np.array([[0.5, 1.0], [0.5, 2.0]]))
    assert found.tolist() == [np.log(0.5), -np.inf]
    assert not changed(prior=prior).prior_law.has_density


def test_a_prior_function_may_reuse_its_array() -> None:
    kept = np.empty((5, 2))

    def prior(rng: np.random.Generator, size: int) -> np.ndarray:
        kept[:size] = rng.uniform(0.0, 2.0, (size, 2))
        return kept[:size]

    model = changed(prior=prior)
    drawn = model.draw(generator(1, "prior"), 5)
    before = drawn.copy()
    model.draw(generator(2, "prior"), 5)
    assert np.array_equal(drawn, before)


@pytest.mark.parametrize(("size", "draws"), [(10, 10_000), (30_000, 6666), (10**6, 1000)])
def test_a_pool_is_as_large_as_the_largest_data_set_allows(size: int, draws: int) -> None:
    assert changed(sizes=(1, size)).draws() == draws
    check_work(size, draws)


def test_records_are_clipped_and_no_statistic_changes_them() -> None:
    records = MODEL.records(generator(1, "data"), np.full((4, 2), 2.0), 100)
    assert records.shape == (4, 100, 1)
    assert records.max() == 3.0

    def spoiling(records: np.ndarray) -> np.ndarray:
        found = records[..., 0].copy()
        records[..., 0] = 0.0
        return found

    model = changed(statistics=(mean("x", spoiling, -3.0, 3.0), LARGEST), sizes=(3,))
    records = np.array([[1e9], [0.0], [-1e9]])
    assert numbers(model, records) == pytest.approx([1.5, 0.5])
    assert records[0, 0] == 1e9


def test_sensitivities_add_up_and_declared_ones_are_named() -> None:
    both = changed(statistics=(LARGEST, *MODEL.statistics), sizes=(10,))
    l1, l2 = both.moves()
    assert (l1, l2) == pytest.approx((2.0, np.sqrt(2.0)))
    assert min(l1, l2**2) >= 2.0
    assert MODEL.protected(by_numbers=True) == "one person"
    condition = ", if the sensitivity declared for largest holds"
    assert both.protected(by_numbers=True) == f"one person{condition}"
    assert both.protected(by_numbers=False) == "one person"


def test_a_category_is_coded_by_whole_numbers() -> None:
    assert Column("locus", levels=("AA", "AB"), missing=True).high == 2.0
    column = Column("smoker", levels=("no", "yes", "gave up"))
    assert (column.low, column.high, column.whole) == (0.0, 2.0, True)


def failing(*values: float, from_row: int) -> Any:
    """A simulator that raises, or gives these values, where the first parameter is above 0."""

    def simulate(rng: np.random.Generator, theta: np.ndarray, n: int) -> np.ndarray:
        records = rng.random((len(theta), n, 2))
        if not values and (theta[:, 0] > 0.0).any():
            raise ValueError("above 0")
        records[theta[:, 0] > 0.0, from_row:] = values or 0.0
        return records

    return simulate


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
@pytest.mark.parametrize(
    ("simulate", "why"),
    [
        (failing(0.0, np.nan, from_row=8), "NaN in column other"),
        (failing(np.nan, np.nan, from_row=0), "only NaN"),
        (failing(from_row=0), r"line \d+: ValueError: above 0"),
    ],
)
def test_failed_simulations_are_refused_with_their_parameters_or_excluded(
    neighbours: Any, simulate: Any, why: str
) -> None:
    columns = (Column("value", 0.0, 1.0), Column("other", 0.0, 1.0))
    given = ADDED | {"neighbours": neighbours, "columns": columns}
    model = changed(file="test_model.py", simulate=simulate, **given)
    theta = np.array([[-1.0, 0.0], [1.23, 0.4], [-2.0, 3.0], [2.0, 1.0]])
    with pytest.raises(OwnError, match=rf"simulate fails at μ = 1\.23, ν = 0\.4 \({why}\)\.$"):
        model.records(generator(1, "data"), theta, 10)
    excluding = dataclasses.replace(model, failures="excluded")
    first, second = (excluding.records(generator(1, "data"), theta, 10) for _ in range(2))
    assert excluding.failed(first).tolist() == [False, True, False, True]
    assert np.isnan(first[[1, 3]]).all()
    assert np.isfinite(first[[0, 2]]).all()
    assert not np.array_equal(first[0], first[2])
    assert np.array_equal(first, second, equal_nan=True)


def test_a_simulator_that_fails_for_many_parameters_is_called_for_each() -> None:
    def single(rng: np.random.Generator, theta: np.ndarray, n: int) -> np.ndarray:
        assert len(theta) == 1
        return np.zeros((1, n, 1))

    rng, theta = generator(1, "data"), np.zeros((2, 2))
    assert not changed(simulate=single, failures="excluded").records(rng, theta, 3).any()
    with pytest.raises(OwnError, match=r"simulate with parameters \(2, 2\) cannot be computed"):
        changed(simulate=single).records(rng, theta, 3)
