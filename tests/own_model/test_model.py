"""A model of one's own: what it draws, and what is refused of it in one line."""

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

# ---------------------------------------------------------------------------------------- priors


def test_a_prior_by_name_has_the_law_that_it_says() -> None:
    theta = MODEL.draw(generator(1, "prior"), 20_000)
    assert theta.shape == (20_000, 2)
    uniform, normal = theta.T
    # Bounds 0 and 4: mean 2, a standard deviation of 1, cut two of them away.
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


def test_the_law_of_a_prior_is_what_is_drawn() -> None:
    model = changed(parameters=EVERY_KIND)
    drawn, law = model.draw(generator(1, "prior"), 20_000), model.prior_law
    made = Prior(law.laws).theta(generator(1, "law").standard_normal((20_000, law.dimensions)))
    for ours, theirs in zip(drawn.T, made.T, strict=True):
        assert_same_distribution(ours, theirs)
        assert ours.min() >= theirs.min() - 0.1
    assert rejects(assert_same_distribution, drawn[:, 2], made[:, 3])
    assert drawn[:, 2:5].sum(axis=1) == pytest.approx(1.0)
    assert np.array_equal(drawn[:, 6:], np.rint(drawn[:, 6:]))
    # What draws by a function is even with a density of 1, and odd never.
    assert np.array_equal(law.draw(generator(1, "prior"), 20_000), law.to_x(drawn))
    assert law.log_relative is not None
    assert np.array_equal(law.log_relative(drawn), even(drawn[:, -1]))
    flat = changed(parameters=shares(("a", "b"))).prior_law
    assert flat.draw_theta is None
    assert flat.theta(np.zeros((1, 1))).tolist() == [[0.5, 0.5]]


@pytest.mark.parametrize(
    ("log_prior", "said"),
    [
        (None, ""),
        (lambda theta: theta, r"log_prior makes an array \(2, 2\); it must be \(2,\)"),
        (lambda theta: theta[:, 0] * np.nan, "log_prior makes NaN or infinity"),
        (lambda theta: theta[:, 0] + np.inf, "makes NaN or infinity"),
        (lambda theta: theta[:, 9], "log_prior cannot be computed"),
    ],
)
def test_a_joint_prior_has_the_density_that_is_given(log_prior: Any, said: str) -> None:
    def prior(rng: np.random.Generator, size: int) -> np.ndarray:
        return rng.random((size, 2))

    theta = np.array([[0.5, 1.0], [0.0, 2.0]])
    right = changed(prior=prior, log_prior=lambda theta: np.log(theta.prod(axis=1) + 1.0))
    assert right.prior_law.log_relative(theta) == pytest.approx(np.log([1.5, 1.0]))  # type: ignore[misc]
    law = changed(prior=prior, log_prior=log_prior).prior_law
    assert law.has_density == (log_prior is not None)
    if law.log_relative is not None:
        with pytest.raises(OwnError, match=said):
            law.log_relative(theta)


class _Ends:
    """A generator whose uniform numbers are the least and the largest that there are."""

    def random(self, size: int) -> np.ndarray:
        return np.array([0.0, 1.0 - 2.0**-53])


@pytest.mark.parametrize("prior", ["uniform", "normal"])
def test_no_draw_is_rounded_to_beyond_the_bounds(prior: Any) -> None:
    # In floating point -0.1 + (0.3 + 0.1) is above 0.3.
    assert -0.1 + (0.3 - -0.1) > 0.3
    low, high = Parameter("μ", -0.1, 0.3, prior=prior).draw(_Ends(), 2)  # type: ignore[arg-type]
    assert -0.1 <= low < -0.099
    assert 0.299 < high <= 0.3
    ends = changed(prior=lambda *_: np.array([[-2.0, 0.0], [2.0, 4.0]]))
    assert ends.draw(RNG, 2).tolist() == [[-2.0, 0.0], [2.0, 4.0]]


def test_a_prior_of_ones_own_draws_one_parameter_or_all_of_them() -> None:
    single = Parameter("ν", 0.0, 4.0, prior=lambda _, size: np.full(size, 3.0))
    assert (changed(parameters=(single,)).draw(RNG, 5) == 3.0).all()
    kept = np.empty((5, 2))

    def prior(rng: np.random.Generator, size: int) -> np.ndarray:
        """The same array again and again."""
        kept[:size] = rng.uniform(0.0, 2.0, (size, 2))
        return kept[:size]

    model = changed(prior=prior)
    drawn = model.draw(generator(1, "prior"), 5)
    before = drawn.copy()
    model.draw(generator(2, "prior"), 5)
    assert np.array_equal(drawn, before)


# ------------------------------------------------------------------------------------ simulations


@pytest.mark.parametrize(
    ("sizes", "draws"),
    [((10,), 10_000), ((20_000,), 10_000), ((100, 30_000), 6666), ((10**6,), 1000)],
)
def test_a_pool_is_as_large_as_the_largest_data_set_allows(
    sizes: tuple[int, ...], draws: int
) -> None:
    assert changed(sizes=sizes).draws() == draws
    check_work(sizes[-1], draws)


def test_records_are_brought_within_their_public_bounds_and_no_statistic_spoils_them() -> None:
    records = MODEL.records(generator(1, "data"), np.full((4, 2), 2.0), 100)
    assert records.shape == (4, 100, 1)
    assert records.max() == 3.0

    def spoiling(records: np.ndarray) -> np.ndarray:
        found = records[..., 0].copy()
        records[..., 0] = 0.0
        return found

    model = changed(statistics=(mean("x", spoiling, -3.0, 3.0), LARGEST), sizes=(3,))
    records = np.array([[1e9], [0.0], [-1e9]])
    assert model.numbers(records) == pytest.approx([1.5, 0.5])
    assert records[0, 0] == 1e9


def test_numbers_of_several_statistics_stand_side_by_side_and_their_moves_add_up() -> None:
    large = count("large", lambda records: records[..., 0] > 1.0)
    both = changed(statistics=(large, *MODEL.statistics))
    assert both.numbers(np.array([[0.0], [3.0]])) == pytest.approx([1.0, 1.5])
    l1, l2 = both.moves()
    assert (l1, l2) == pytest.approx((2.0, np.sqrt(2.0)))
    assert min(l1, l2**2) >= 2.0
    # Of counts nothing is rounded but their sum.
    other = count("small", lambda records: records[..., 0] < -1.0)
    assert 2.0 < changed(statistics=(large, other)).moves()[0] < 2.0 + 1e-11


def test_where_records_are_added_an_absent_one_is_all_nan() -> None:
    def some(rng: np.random.Generator, theta: np.ndarray, n: int) -> np.ndarray:
        records = np.ones((len(theta), n, 1))
        records[:, n // 2 :] = np.nan
        return records

    model = changed(simulate=some, **ADDED)
    records = model.records(RNG, np.zeros((2, 2)), 10)
    assert model.numbers(records).tolist() == [[5.0], [5.0]]
    with pytest.raises(OwnError, match=r"fails at μ = 0, ν = 0 \(NaN in column value\)"):
        changed(simulate=some).records(RNG, np.zeros((2, 2)), 10)


def failing(*values: float, from_row: int) -> Any:
    """Fails where the first parameter is above 0: the rest of its records are these."""

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
        (failing(np.nan, np.nan, from_row=0), "nothing but NaN"),
        (failing(from_row=0), r"line \d+: ValueError: above 0"),
    ],
)
def test_simulations_that_fail_are_refused_with_a_parameter_or_count_for_nothing(
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


def test_what_fails_for_many_parameters_alone_is_made_one_by_one() -> None:
    def single(rng: np.random.Generator, theta: np.ndarray, n: int) -> np.ndarray:
        assert len(theta) == 1
        return np.zeros((1, n, 1))

    theta = np.zeros((2, 2))
    assert not changed(simulate=single, failures="excluded").records(RNG, theta, 3).any()
    with pytest.raises(OwnError, match=r"simulate with parameters \(2, 2\) cannot be computed"):
        changed(simulate=single).records(RNG, theta, 3)


def overwriting(rng: np.random.Generator, theta: np.ndarray, n: int) -> np.ndarray:
    theta[theta < 4.0] = 0.0
    return np.zeros((len(theta), n, 1))


def nan_in_the_first_set(records: np.ndarray) -> np.ndarray:
    found = records[..., 0].copy()
    found[0] = np.nan
    return found


def half(_: object, size: int) -> np.ndarray:
    return np.full(size, 0.5)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"simulate": lambda _, theta, __: theta}, r"an array \(4, 2\); it must be \(4, 10, 1\)"),
        ({"simulate": lambda _, __, n: np.full((4, n, 1), "a")}, "array of <U1, no numbers"),
        ({"simulate": overwriting}, "simulate changes the parameters that it is given"),
        (
            {"simulate": one_at_a_time(lambda *_: [][7])},
            r"^test_model\.py: simulate fails at μ = -?[\d.]+, ν = [\d.]+ \(line \d+: IndexError",
        ),
        (
            {"statistics": (count("few", lambda records: records.mean()),)},
            r"^test_model\.py: statistic few: of records \(4, 10, 1\) it makes an array \(\); it",
        ),
        (
            {"statistics": (mean("x", lambda records: records[..., 7], 0.0, 1.0),)},
            "statistic x cannot be computed",
        ),
        ({"statistics": (mean("x", nan_in_the_first_set, 0.0, 1.0),)}, "x makes NaN or infinity"),
        (
            {"prior": lambda _, size: np.full((size, 2), 9.0)},
            "prior of μ draws a value outside -2 to 2",
        ),
        (
            {"parameters": (Parameter("μ", 0, 1, prior=half, whole=True),)},
            "prior of μ draws what is not a whole number",
        ),
        ({"prior": lambda _, size: np.zeros(size)}, r"array \(4,\); it must be \(4, 2\)"),
        (
            {"parameters": (Parameter("μ", 0, 1, prior=lambda *_: np.zeros(1)),)},
            r"prior of μ makes an array \(1,\)",
        ),
    ],
)
def test_what_a_persons_functions_do_wrong_is_said_in_one_line(
    values: dict[str, Any], said: str
) -> None:
    model = changed(file="test_model.py", **values)
    with pytest.raises(OwnError, match=said) as caught:
        model.numbers(model.records(RNG, model.draw(RNG, 4), 10))
    assert "\n" not in str(caught.value)


def test_a_prior_of_one_value_alone_is_refused() -> None:
    model = changed(prior=lambda rng, size: np.column_stack([rng.random(size), np.ones(size)]))
    with pytest.raises(OwnError, match=r"prior of .* draws 1 alone, so there is nothing to learn"):
        model.draw(generator(1, "prior"), 100)
    # Of few draws it may be chance.
    assert model.draw(generator(1, "prior"), 5).shape == (5, 2)


# ----------------------------------------------------------------------------- what does not fit


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"name": "My Mean"}, "name must be in lower case"),
        ({"parameters": ()}, "parameters must not be empty"),
        ({"parameters": (Parameter("μ", 0, 1),) * 2}, "two parameters have one name"),
        ({"statistics": MODEL.statistics * 2}, "two numbers of the statistics have one name"),
        (
            {"statistics": [histogram("h", first, ends) for ends in ((0.0, 1.0), (2.0, 3.0))]},
            "two statistics have one name",
        ),
        ({"sizes": (100, 10)}, "must be rising whole numbers above 0"),
        ({"sizes": (1.5, 10)}, "must be rising whole numbers above 0"),
        ({"parameters": (("μ", 0, 1),)}, r"parameters: \('μ', 0, 1\) is no Parameter\.$"),
        ({"statistics": (LARGEST,)}, "or a statistic is declared"),
        ({"neighbours": "other", "sizes": (10,)}, "must be replace or add-remove"),
        ({"neighbours": "add-remove", "sizes": (10,)}, "a mean needs a public number"),
        (ADDED | {"sizes": (10, 100)}, "must be one, as records depend on each other, their numb"),
        (ADDED | {"statistics": ()}, "statistics must not be empty where"),
        (ADDED | {"distance": "records"}, "needs a public number of records"),
        ({"log_prior": len}, "log_prior: needs a function for prior"),
        ({"parameters": shares(("a", "b")), "prior": len}, "shares of a whole have their own"),
        ({"parameters": shares(("a", "b"))[::-1]}, "must be next to each other, in their order"),
        ({"truth": (1.0,)}, "must be one number for each parameter"),
        ({"pool_size": 9}, "pool_size = 9: must be a whole number from 10 up"),
        ({"distance": "euclid"}, "must be numbers or records"),
        ({"distance": "numbers", "statistics": ()}, "there are no statistics"),
        ({"title": "a <a href=x>b</a>"}, "as HTML"),
    ],
)
def test_a_model_that_does_not_fit_together_is_refused(values: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=f"model.*: .*{said}"):
        changed(**values)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Parameter("μ", 1.0, 1.0), "parameter μ: low = 1, high = 1"),
        (lambda: Parameter("μ", 0.0, float("inf")), "parameter μ: high = inf: must be a finite"),
        (lambda: Parameter("μ", 0.0, 1e-200), "must be low < high, 1e-60 apart or more"),
        (lambda: Parameter("<b>", 0.0, 1.0), "name of a parameter = <b>: .* as HTML"),
        (lambda: Parameter("μ", 0.0, 1.0, prior="beta"), "prior = beta: must be uniform"),  # type: ignore[arg-type]
        (lambda: Parameter("μ", 0.0, 1.0, prior="log-uniform"), "low = 0, high = 1: must be above"),
        (lambda: Parameter("μ", 0.5, 2.0, whole=True), "must be whole numbers, as the parameter"),
        (lambda: Parameter("μ", 0, 2, prior="normal", whole=True), "must be another one for a who"),
        (lambda: Parameter("μ", 0, 2, log_prior=even), "log_prior: needs a function for prior"),
        (lambda: shares(("a",)), "shares a: concentration = None: must be one number above 0 for"),
        (lambda: shares(("a", "b"), (1.0, 0.0)), "shares a, b: concentration = "),
        (lambda: Column("x", 1.0, 1.0), "column x: low = 1, high = 1"),
        (lambda: Column("x", 1.2, 1.8, whole=True), "no whole number lies between them"),
    ],
)
def test_bounds_that_are_none_are_refused(make: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        make()


def test_labels_say_where_a_sensitivity_is_declared() -> None:
    assert MODEL.protected(by_numbers=True) == "one person"
    model = changed(statistics=(LARGEST,), sizes=(10,))
    assert model.protected(by_numbers=True) == (
        "one person, if the sensitivity declared for largest holds"
    )
    assert model.protected(by_numbers=False) == "one person"


def test_a_category_is_a_whole_number_for_each_of_its_names() -> None:
    column = Column("smoker", levels=("no", "yes", "gave up"))
    assert (column.low, column.high, column.whole) == (0.0, 2.0, True)
    with pytest.raises(ValueError, match="levels must be different names"):
        Column("smoker", levels=("no", "no", "yes"))
