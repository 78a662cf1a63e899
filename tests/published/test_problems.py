"""Problems and pools from files: valid ones are read, invalid ones are refused in one line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from abcdp_core.parameters import ParameterError
from abcdp_core.places import EXAMPLES
from abcdp_core.posterior.noise import (
    BinomialSample,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    IndependentNoise,
    Laplace,
)
from abcdp_core.published import models, pools, problems, reference
from abcdp_core.published.models import linear_regression
from abcdp_core.published.problems import Spent
from tests.oracles import log_linear
from tools import exact_answers

Array = NDArray[np.float64]

NINE = "query = [0, 0, 0, 0, 0, 0, 0, 0, 0]"
REGRESSION = 'simulator = "linear-regression"'
LAPLACE = '[noise]\nlaw = "laplace"\nscale = 0.13'
POOL = "theta.a,summary.s,summary.t\n" + "".join(
    f"{row / 7:.3f},{row},{row % 5}\n" for row in range(150)
)
POOLED = ('pool = "pool.csv"', "query = [1, 0]")


def read(folder: Path, *lines: str, pool: str = POOL) -> problems.Problem:
    (folder / "pool.csv").write_text(pool, encoding="utf-8")
    file = folder / "mine.toml"
    file.write_text("\n".join(lines), encoding="utf-8")
    return problems.read(file)


def test_a_problem_is_read_with_its_defaults(tmp_path: Path) -> None:
    found = read(tmp_path, REGRESSION, NINE, LAPLACE)
    assert found.name == "mine"
    assert found.source is linear_regression.MODEL
    assert found.noise == Laplace((0.13,) * 9)
    assert (found.wanted, found.draws, found.seed) == (2000, 2_000_000, 1)
    more = ("effective_sample_size = 500", "draws = 5e3", "seed = 7")
    found = read(tmp_path, REGRESSION, NINE, *more, LAPLACE)
    assert (found.wanted, found.draws, found.seed) == (500, 5000, 7)


@pytest.mark.parametrize(
    ("table", "noise"),
    [
        ('law = "gaussian"\nscale = [1, 2.5]', Gaussian((1.0, 2.5))),
        ('law = "gaussian"\nvariance = [4, 9]', Gaussian((2.0, 3.0))),
        ('law = "gaussian"\nrho = 0.125\nsensitivity = 1', Gaussian((2.0, 2.0))),
        ('law = "discrete-gaussian"\nrho = 2\nsensitivity = 6', DiscreteGaussian((3.0, 3.0))),
        ('law = "laplace"\nvariance = 8', Laplace((2.0, 2.0))),
        ('law = "laplace"\nepsilon = 0.5\nsensitivity = [1, 2]', Laplace((2.0, 4.0))),
        ('law = "geometric"\nepsilon = 0.5\nsensitivity = 1', DiscreteLaplace((2.0, 2.0))),
        ('law = "discrete-laplace"\nscale = 3\nstep = 0.5', DiscreteLaplace((3.0, 3.0), (0.5,))),
        (
            'law = "binomial-sample"\ntrials = 4\npopulation = 200\noffset = 10',
            BinomialSample(4, 200.0, 10.0),
        ),
    ],
)
def test_every_distribution_is_read(table: str, noise: object, tmp_path: Path) -> None:
    found = read(tmp_path, *POOLED, f"[noise]\n{table}")
    assert found.noise == noise
    assert found.draws == 150
    assert isinstance(found.source, pools.Pool)
    assert (found.source.parameters, found.source.numbers) == (("a",), ("s", "t"))
    assert found.source.theta.shape == (150, 1)
    np.testing.assert_array_equal(found.source.summaries[7], [7.0, 2.0])


def one(folder: Path, noise: str) -> Callable[[float, Array], Array]:
    """The probabilities of a noisy number, given its values before noise."""
    pool = "".join(line.rpartition(",")[0] + "\n" for line in POOL.splitlines())
    law = read(folder, POOLED[0], "query = [0]", f"[noise]\n{noise}", pool=pool).noise
    return lambda number, before: np.exp(law.log_density(np.array([number]), before[:, None]))


@pytest.mark.parametrize(
    ("law", "step", "variance"), [("discrete-laplace", 3, 0.2), ("discrete-gaussian", 0.5, 50)]
)
def test_discrete_noise_has_the_stated_variance(
    law: str, step: float, variance: float, tmp_path: Path
) -> None:
    values = step * np.arange(-1000.0, 1001.0)
    mass = one(tmp_path, f'law = "{law}"\nvariance = {variance}\nstep = {step}')
    assert mass(0.0, values) @ values**2 == pytest.approx(variance, rel=1e-9)


@pytest.mark.parametrize("much", [0.1, 1.0])
def test_a_stated_budget_is_what_the_noise_spends(much: float, tmp_path: Path) -> None:
    """For data 3 apart, the largest log-ratio is ε; the mean of a Gaussian log-ratio is ρ."""
    values = np.arange(-50.0, 51.0)
    laplace = one(tmp_path, f'law = "geometric"\nepsilon = {much}\nsensitivity = 3')
    ratios = np.log(laplace(0.0, values) / laplace(3.0, values))
    assert ratios.max() == pytest.approx(much, rel=1e-9)
    gaussian = one(tmp_path, f'law = "discrete-gaussian"\nrho = {much}\nsensitivity = 3')
    ratios = np.log(gaussian(0.0, values) / gaussian(3.0, values))
    assert gaussian(0.0, values) @ ratios == pytest.approx(much, rel=1e-9)


def test_the_budget_of_a_release_is_read_if_it_is_stated(tmp_path: Path) -> None:
    lines = (REGRESSION, NINE, "epsilon_total = 2")
    assert read(tmp_path, REGRESSION, NINE, LAPLACE).spent is None
    assert read(tmp_path, *lines, LAPLACE).spent == Spent(2.0)
    whose = 'unit = "one person"\nneighbours = "add-remove"'
    assert read(tmp_path, *lines, whose, LAPLACE).spent == Spent(2.0, "one person", "add-remove")


TWO_LAWS = """
[[noise]]
numbers = ["t"]
law = "discrete-laplace"
scale = 3
[[noise]]
numbers = ["u", "s"]
law = "gaussian"
scale = [1, 2.5]
"""


def three(folder: Path, noise: str, query: str = "[1.5, 0, 2]") -> problems.Problem:
    """A problem of three numbers s, t and u."""
    rows = "".join(f"{row},{row / 7:.3f},{row % 5},{row % 3}\n" for row in range(150))
    pool = f"theta.a,summary.s,summary.t,summary.u\n{rows}"
    return read(folder, 'pool = "pool.csv"', f"query = {query}", noise, pool=pool)


def test_numbers_may_have_their_own_distributions(tmp_path: Path) -> None:
    assert three(tmp_path, TWO_LAWS).noise == IndependentNoise(
        (DiscreteLaplace((3.0,), of=(1,)), Gaussian((1.0, 2.5), of=(2, 0)))
    )
    with pytest.raises(ParameterError, match=r"query, number 2 = 0\.5: must be a multiple of 1"):
        three(tmp_path, TWO_LAWS, "[1.5, 0.5, 2]")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"t"', '"v"', "noise 1.numbers = v: must be among the numbers s, t, u."),
        ('"t"', '"s"', "noise 2.numbers = s: has noise already."),
        ('"u", ', "", "noise 2.scale: has 2 numbers; give one."),
        ("scale = 3", "scale = 3\nvariance = 2", "noise 1: give one of scale, variance, and ep"),
        ("scale = 3", "epsilon = 3", "noise 1: epsilon, sensitivity: give both or neither."),
        ("scale = 3", "rho = 3\nsensitivity = 1", "noise 1.rho: unknown; known are numbers, sc"),
        ("scale = [1, 2.5]", "rho = 0\nsensitivity = 1", "noise 2.rho = 0: must be at least"),
        ('numbers = ["t"]', "", "noise 1.numbers: is missing."),
        (TWO_LAWS, "noise = []", "noise: must have at least 1."),
        (TWO_LAWS, TWO_LAWS.partition('[[noise]]\nnumbers = ["u')[0], "noise: s has none; each"),
    ],
)
def test_an_invalid_noise_table_is_refused_in_one_line(
    old: str, new: str, words: str, tmp_path: Path
) -> None:
    with pytest.raises(ParameterError) as caught:
        three(tmp_path, TWO_LAWS.replace(old, new, 1))
    assert f"mine.toml: {words}" in str(caught.value)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ((REGRESSION, *POOLED, LAPLACE), "simulator, pool: give one of the two."),
        (('simulator = "weather"', NINE, LAPLACE), "simulator = weather: must be one of"),
        ((REGRESSION, NINE, "draws = 2e3", "seeds = 1", LAPLACE), "seeds: unknown; known are"),
        ((REGRESSION, "query = [1, 2]", LAPLACE), "query: has 2 numbers; 9 are needed (y, x1 y"),
        ((REGRESSION, "query = [1e13]", LAPLACE), "query 1 = 1e+13: must be at most 1e+12."),
        ((*POOLED, "draws = 2000", LAPLACE), "draws: limits a simulator; a pool has its own."),
        ((REGRESSION, NINE, 'unit = "one"', LAPLACE), "unit, neighbours: give both or neither."),
        (('pool = "a\\u0000.csv"', NINE, LAPLACE), "must be a text"),
        (('pool = "nowhere.csv"', NINE, LAPLACE), "nowhere.csv: No such file"),
    ],
)
def test_an_invalid_problem_is_refused_in_one_line(
    lines: tuple[str, ...], words: str, tmp_path: Path
) -> None:
    with pytest.raises(ParameterError) as caught:
        read(tmp_path, *lines)
    said = str(caught.value)
    assert said.startswith("mine.toml: ")
    assert words in said
    assert "\n" not in said


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("theta.a", "a", "column a must be called theta.NAME or summary.NAME."),
        ("theta.a", "summary.a", "has no column theta.NAME."),
        ("\n0.714,5,0\n", "\n0.714,,0\n", "column summary.s, row 6: is not a finite number."),
        (POOL, "theta.a,summary.s\n" + "1,2\n" * 120, "column theta.a is 1 in all rows"),
        (POOL, "\n".join(POOL.split("\n")[:50]), "has 49 rows"),
    ],
)
def test_an_invalid_pool_is_refused_in_one_line(
    old: str, new: str, words: str, tmp_path: Path
) -> None:
    with pytest.raises(ParameterError) as caught:
        read(tmp_path, *POOLED, LAPLACE, pool=POOL.replace(old, new, 1))
    assert str(caught.value).startswith("mine.toml: pool.csv: ")
    assert words in str(caught.value)


def test_every_example_can_be_read_and_has_an_exact_answer() -> None:
    assert {file.stem for file in EXAMPLES.glob("*.toml")} == set(exact_answers.PLANS)
    for name in exact_answers.PLANS:
        found = problems.read(EXAMPLES / f"{name}.toml")
        assert found.simulator.replace("-", "_") == name
        assert found.simulator in models.names()
    table = reference.read()
    assert set(table.problem) == set(exact_answers.PLANS)
    assert (table.effective_sample_size >= 2000).all()


@pytest.mark.slow
def test_an_exact_answer_agrees_with_its_table_and_with_a_sum() -> None:
    """The sum is exact; the table uses draws from the prior, ours from a normal distribution."""
    found = problems.read(EXAMPLES / "log_linear.toml")
    mean, sd = log_linear.moments(found.query, 4.0, 100)
    table = reference.read().query("problem == 'log_linear'")
    error = sd / np.sqrt(table.effective_sample_size.to_numpy())
    assert (np.abs(table["mean"] - mean) < 6.0 * error).all()
    assert (np.abs(table.sd / sd - 1.0) < 0.06).all()
    centre = (1.2, -0.3, 1.05, 0.3, 0.25)
    made = exact_answers.answer(
        found, exact_answers.Plan(60_000, centre, (0.4, 0.5, 0.5, 0.9, 0.9))
    )
    error = sd / np.sqrt(made.effective_sample_size.to_numpy())
    assert (made.effective_sample_size > 300).all()
    assert (np.abs(made["mean"] - mean) < 6.0 * error).all()
