"""A model of one's own: its priors, its simulations, and refusals in one line."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from scipy import stats

from abcdp_core.own_model import (
    Column,
    Model,
    Parameter,
    count,
    declared,
    histogram,
    mean,
    one_at_a_time,
    shares,
)
from abcdp_core.own_model.model_table import numbers
from abcdp_core.own_model.user_errors import OwnError
from abcdp_core.parameters import check_work
from abcdp_core.posterior.priors import Prior
from abcdp_core.streams import generator
from tests.statistics import assert_distribution, assert_same_distribution, rejects

RNG = np.random.default_rng(0)


def first(records: np.ndarray) -> np.ndarray:
    return records[..., 0]


def simulate(rng: np.random.Generator, theta: np.ndarray, n: int) -> np.ndarray:
    return theta[:, :1, None] + rng.standard_normal((len(theta), n, 1))


MODEL = Model(
    name="mean-of-one",
    title="A mean",
    parameters=(Parameter("μ", -2.0, 2.0), Parameter("ν", 0.0, 4.0, prior="normal")),
    columns=(Column("value", -3.0, 3.0),),
    unit="one person",
    simulate=simulate,
    statistics=(mean("value", first, -3.0, 3.0),),
    sizes=(10, 100),
)


def changed(**values: Any) -> Model:
    return dataclasses.replace(MODEL, **values)


LARGEST = declared("largest", lambda records: records[..., 0].max(axis=-1), ["largest"], 6.0)
LARGE = count("large", lambda records: records[..., 0] > 0.5)
ADDED = {"neighbours": "add-remove", "sizes": (10,), "statistics": (LARGE,)}


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


def even(values: np.ndarray) -> np.ndarray:
    return np.where(values % 2.0 == 0.0, 0.0, -np.inf)


EVERY_KIND = (
    Parameter("uniform", -0.1, 0.3),
    Parameter("normal", 0.0, 4.0, prior="normal"),
    *shares(("a", "b", "c"), (0.5, 1.0, 3.0), unit="%"),
    Parameter("log-uniform", 0.1, 10.0, prior="log-uniform"),
    Parameter("whole", -2, 3, whole=True),
    Parameter("whole, log-uniform", 1, 6, prior="log-uniform", whole=True),
    Parameter("digit", 0, 3, prior=digits, whole=True, log_prior=even),
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
    # The density of the last prior is 1 for even digits and 0 for odd ones.
    assert np.array_equal(law.draw(generator(1, "prior"), 20_000), law.to_x(drawn))
    assert law.log_relative is not None
    assert np.array_equal(law.log_relative(drawn), even(drawn[:, -1]))
    flat = changed(parameters=shares(("a", "b"))).prior_law
    assert flat.draw_theta is None
    assert flat.theta(np.zeros((1, 1))).tolist() == [[0.5, 0.5]]


@pytest.mark.parametrize(
    ("log_prior", "said"),
    [
        (lambda theta: theta, r"log_prior returns an array of shape \(2, 2\); it must be"),
        (lambda theta: theta[:, 0] * np.nan, "log_prior returns NaN or infinity"),
        (lambda theta: theta[:, 9], "log_prior cannot be computed"),
    ],
)
def test_a_joint_prior_has_the_given_density(log_prior: Any, said: str) -> None:
    def prior(rng: np.random.Generator, size: int) -> np.ndarray:
        return rng.random((size, 2))

    theta = np.array([[0.5, 1.0], [0.0, 2.0]])
    right = changed(prior=prior, log_prior=lambda theta: np.log(theta.prod(axis=1) + 1.0))
    assert right.prior_law.log_relative(theta) == pytest.approx(np.log([1.5, 1.0]))  # type: ignore[misc]
    assert not changed(prior=prior).prior_law.has_density
    with pytest.raises(OwnError, match=said):
        changed(prior=prior, log_prior=log_prior).prior_law.log_relative(theta)  # type: ignore[misc]


class _Ends:
    """A generator of the smallest and the largest uniform number."""

    def random(self, size: int) -> np.ndarray:
        return np.array([0.0, 1.0 - 2.0**-53])


@pytest.mark.parametrize("prior", ["uniform", "normal"])
def test_no_draw_is_rounded_beyond_the_bounds(prior: Any) -> None:
    # In floating point -0.1 + (0.3 - -0.1) is above 0.3.
    low, high = Parameter("μ", -0.1, 0.3, prior=prior).draw(_Ends(), 2)  # type: ignore[arg-type]
    assert -0.1 <= low < -0.099
    assert 0.299 < high <= 0.3


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


def test_sensitivities_of_several_statistics_add_up() -> None:
    both = changed(statistics=(LARGE, *MODEL.statistics))
    l1, l2 = both.moves()
    assert (l1, l2) == pytest.approx((2.0, np.sqrt(2.0)))
    assert min(l1, l2**2) >= 2.0


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

    theta = np.zeros((2, 2))
    assert not changed(simulate=single, failures="excluded").records(RNG, theta, 3).any()
    with pytest.raises(OwnError, match=r"simulate with parameters \(2, 2\) cannot be computed"):
        changed(simulate=single).records(RNG, theta, 3)


WHOLE = (Parameter("μ", 0, 1, whole=True),)


def overwriting(rng: np.random.Generator, theta: np.ndarray, n: int) -> np.ndarray:
    theta[theta < 4.0] = 0.0
    return np.zeros((len(theta), n, 1))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"simulate": lambda _, theta, __: theta}, r"shape \(4, 2\); it must be \(4, 10, 1\)"),
        ({"simulate": lambda _, __, n: np.full((4, n, 1), "a")}, "<U1 instead of numbers"),
        ({"simulate": overwriting}, "simulate changes the parameters it receives"),
        (
            {"simulate": one_at_a_time(lambda *_: [][7])},
            r"^test_model\.py: simulate fails at μ = -?[\d.]+, ν = [\d.]+ \(line \d+: IndexError",
        ),
        (
            {"statistics": (count("few", lambda records: records.mean()),)},
            r"^test_model\.py: statistic few: returns an array of shape \(\) for records \(4,",
        ),
        (
            {"statistics": (mean("x", lambda records: records[..., 7], 0.0, 1.0),)},
            "statistic x cannot be computed",
        ),
        (
            {"prior": lambda _, size: np.full((size, 2), 9.0)},
            "prior of μ draws a value outside -2 to 2",
        ),
        (
            {"prior": lambda _, size: np.full((size, 1), 0.5), "parameters": WHOLE},
            "prior of μ draws a value that is not a whole number",
        ),
        ({"prior": lambda _, size: np.zeros(size)}, r"shape \(4,\); it must be \(4, 2\)"),
    ],
)
def test_errors_of_user_functions_are_one_line(values: dict[str, Any], said: str) -> None:
    model = changed(file="test_model.py", **values)
    with pytest.raises(OwnError, match=said) as caught:
        numbers(model, model.records(RNG, model.draw(RNG, 4), 10))
    assert "\n" not in str(caught.value)


def test_a_prior_of_one_value_alone_is_refused() -> None:
    model = changed(prior=lambda rng, size: np.column_stack([rng.random(size), np.ones(size)]))
    with pytest.raises(OwnError, match=r"prior of .* draws only 1; make it a constant"):
        model.draw(generator(1, "prior"), 100)
    # Few draws may be equal by chance.
    assert model.draw(generator(1, "prior"), 5).shape == (5, 2)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"name": "My Mean"}, "name must be in lower case"),
        ({"title": "a <a href=x>b</a>"}, "must not contain HTML"),
        ({"parameters": ()}, "parameters must not be empty"),
        ({"parameters": (Parameter("μ", 0, 1),) * 2}, "two parameters have the same name"),
        ({"parameters": (("μ", 0, 1),)}, r"parameters: \('μ', 0, 1\) is not a Parameter\.$"),
        (
            {"parameters": shares(("a", "b")), "prior": len},
            "shares of a whole already have a joint",
        ),
        ({"parameters": shares(("a", "b"))[::-1]}, "shares of a whole must be together and in or"),
        (
            {"statistics": [histogram("h", first, ends) for ends in ((0.0, 1.0), (2.0, 3.0))]},
            "two statistics have the same name",
        ),
        ({"sizes": (100, 10)}, "must be rising whole numbers above 0"),
        (ADDED | {"sizes": (10, 100)}, "must be a single size, since records depend on each othe"),
        ({"neighbours": "other", "sizes": (10,)}, "must be replace or add-remove"),
        ({"neighbours": "add-remove", "sizes": (10,)}, "a mean needs a public number"),
        (ADDED | {"statistics": ()}, "statistics must not be empty where"),
        (ADDED | {"distance": "records"}, "needs a public number of records"),
        ({"distance": "numbers", "statistics": ()}, "needs statistics"),
        ({"log_prior": len}, "log_prior: needs a function for prior"),
        ({"truth": (1.0,)}, "must be one number for each parameter"),
        ({"pool_size": 9}, "pool_size = 9: must be a whole number of at least 10"),
    ],
)
def test_an_inconsistent_model_is_refused(values: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=f"model.*: .*{said}"):
        changed(**values)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Parameter("μ", 1.0, 1.0), "parameter μ: low = 1, high = 1"),
        (lambda: Parameter("μ", 0.0, float("inf")), "parameter μ: high = inf: must be a finite"),
        (lambda: Parameter("μ", 0.0, 1e-200), "must be low < high, 1e-60 apart or more"),
        (lambda: Parameter("μ", 0.0, 1.0, prior="beta"), "prior = beta: must be uniform"),  # type: ignore[arg-type]
        (lambda: Parameter("μ", 0.0, 1.0, prior="log-uniform"), "low = 0, high = 1: must be above"),
        (lambda: Parameter("μ", 0.5, 2.0, whole=True), "must be whole numbers, as the parameter"),
        (
            lambda: Parameter("μ", 0, 2, prior="normal", whole=True),
            "normal: is not available for a",
        ),
        (lambda: Parameter("μ", 0, 2, log_prior=even), "log_prior: needs a function for prior"),
        (lambda: shares(("a",)), "shares a: concentration = None: must be a number above 0 for"),
        (lambda: shares(("a", "b"), (1.0, 0.0)), "shares a, b: concentration = "),
        (lambda: Column("x", 1.0, 1.0), "column x: low = 1, high = 1"),
        (lambda: Column("x", 1.2, 1.8, whole=True), "there is no whole number between them"),
        (lambda: Column("x", levels=("no", "no", "yes")), "levels must be different names"),
    ],
)
def test_invalid_bounds_are_refused(make: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        make()


def test_labels_name_declared_sensitivities() -> None:
    assert MODEL.protected(by_numbers=True) == "one person"
    model = changed(statistics=(LARGEST,), sizes=(10,))
    condition = ", if the sensitivity declared for largest holds"
    assert model.protected(by_numbers=True) == f"one person{condition}"
    assert model.protected(by_numbers=False) == "one person"


def test_a_category_is_coded_by_whole_numbers() -> None:
    column = Column("smoker", levels=("no", "yes", "gave up"))
    assert (column.low, column.high, column.whole) == (0.0, 2.0, True)
