"""Problems and pools from files and from visitors: read, or refused in one line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from abcdp_core.base.arrays import Array
from abcdp_core.base.parameters import ParameterError
from abcdp_core.base.places import EXAMPLES
from abcdp_core.base.tabular import pools as tables
from abcdp_core.posterior.noise import (
    BinomialSample,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    IndependentNoise,
    Laplace,
)
from abcdp_core.posterior.published import models, pools, problems, reference, uploaded_problem
from abcdp_core.posterior.published.models import linear_regression
from abcdp_core.posterior.published.problems import Spent
from tests.oracles import log_linear
from tools import exact_answers

NINE = "query = [0, 0, 0, 0, 0, 0, 0, 0, 0]"
REGRESSION = 'simulator = "linear-regression"'
LAPLACE = '[noise]\nlaw = "laplace"\nscale = 0.13'
POOL = "theta.a,summary.s,summary.t\n" + "".join(
    f"{row / 7:.3f},{row},{row % 5}\n" for row in range(150)
)
POOLED = 'pool = "pool.csv"\nquery = [1, 0]'


def read(folder: Path, *lines: str, pool: str = POOL) -> problems.Problem:
    (folder / "pool.csv").write_text(pool, encoding="utf-8")
    file = folder / "mine.toml"
    file.write_text("\n".join(lines), encoding="utf-8")
    return problems.read(file)


def test_a_problem_is_read_with_its_defaults_options_and_budget(tmp_path: Path) -> None:
    found = read(tmp_path, REGRESSION, NINE, LAPLACE)
    assert (found.name, found.source) == ("mine", linear_regression.MODEL)
    assert found.noise == Laplace((0.13,) * 9)
    assert (found.wanted, found.draws, found.seed) == (2000, 2_000_000, 1)
    assert found.spent is None
    more = ("effective_sample_size = 500", "draws = 5e3", "seed = 7", "epsilon_total = 2")
    found = read(tmp_path, REGRESSION, NINE, *more, LAPLACE)
    assert (found.wanted, found.draws, found.seed) == (500, 5000, 7)
    assert found.spent == Spent(2.0)
    whose = ('unit = "one person"', 'neighbours = "add-remove"')
    found = read(tmp_path, REGRESSION, NINE, *more, *whose, LAPLACE)
    assert found.spent == Spent(2.0, "one person", "add-remove")


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
    found = read(tmp_path, POOLED, f"[noise]\n{table}")
    assert found.noise == noise
    assert found.draws == 150
    assert isinstance(found.source, pools.Pool)
    assert (found.source.parameters, found.source.numbers) == (("a",), ("s", "t"))
    assert found.source.theta.shape == (150, 1)
    np.testing.assert_array_equal(found.source.summaries[7], [7.0, 2.0])


def one(folder: Path, noise: str) -> Callable[[float, Array], Array]:
    """The probabilities of a noisy number, given its values before noise."""
    pool = "".join(line.rpartition(",")[0] + "\n" for line in POOL.splitlines())
    law = read(folder, POOLED.replace("1, 0", "0"), f"[noise]\n{noise}", pool=pool).noise
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
ONE_LAW = TWO_LAWS.partition('[[noise]]\nnumbers = ["u')[0]
THREE = 'pool = "pool.csv"\nquery = [1.5, 0, 2]'
OF_THREE = "theta.a,summary.s,summary.t,summary.u\n" + "".join(
    f"{row},{row / 7:.3f},{row % 5},{row % 3}\n" for row in range(150)
)
"""A pool of three numbers s, t and u."""


def test_numbers_may_have_their_own_distributions(tmp_path: Path) -> None:
    assert read(tmp_path, THREE, TWO_LAWS, pool=OF_THREE).noise == IndependentNoise(
        (DiscreteLaplace((3.0,), of=(1,)), Gaussian((1.0, 2.5), of=(2, 0)))
    )


WHOLE, EMPTY = f"{THREE}\n{TWO_LAWS}", "theta.a,summary.s\n" + "1,2\n" * 120


@pytest.mark.parametrize(
    ("text", "pool", "words"),
    [
        (WHOLE.replace(", 0,", ", 0.5,"), OF_THREE, "query, number 2 = 0.5: must be a multiple of"),
        (WHOLE.replace('"t"', '"v"'), OF_THREE, "noise 1.numbers = v: must be among the numbers s"),
        (WHOLE.replace('"t"', '"s"'), OF_THREE, "noise 2.numbers = s: has noise already."),
        (WHOLE.replace('"u", ', ""), OF_THREE, "noise 2.scale: has 2 numbers; give one."),
        (WHOLE.replace("= 3", "= 3\nvariance = 2"), OF_THREE, "noise 1: give one of scale, varian"),
        (WHOLE.replace("scale = 3", "epsilon = 3"), OF_THREE, "epsilon, sensitivity: give both or"),
        (WHOLE.replace("scale = 3", "rho = 3\nsensitivity = 1"), OF_THREE, "noise 1.rho: unknown;"),
        (WHOLE.replace('numbers = ["t"]', ""), OF_THREE, "noise 1.numbers: is missing."),
        (f"{THREE}\nnoise = []", OF_THREE, "noise: must have at least 1."),
        (f"{THREE}\n{ONE_LAW}", OF_THREE, "noise: s has none; each"),
        (f"{REGRESSION}\n{POOLED}\n{LAPLACE}", POOL, "simulator, pool: give one of the two."),
        (f'simulator = "weather"\n{NINE}\n{LAPLACE}', POOL, "simulator = weather: must be one of"),
        (f"{REGRESSION}\n{NINE}\nseeds = 1\n{LAPLACE}", POOL, "seeds: unknown; known are"),
        (f"{REGRESSION}\nquery = [1, 2]\n{LAPLACE}", POOL, "query: has 2 numbers; 9 are needed (y"),
        (f"{REGRESSION}\nquery = [1e13]\n{LAPLACE}", POOL, "query 1 = 1e+13: must be at most 1e+1"),
        (f"{POOLED}\ndraws = 2000\n{LAPLACE}", POOL, "draws: limits a simulator; a pool has its o"),
        (f'{REGRESSION}\n{NINE}\nunit = "a"\n{LAPLACE}', POOL, "unit, neighbours: give both or ne"),
        (f'pool = "a\\u0000.csv"\n{NINE}\n{LAPLACE}', POOL, "must be a text"),
        (f'pool = "nowhere.csv"\n{NINE}\n{LAPLACE}', POOL, "nowhere.csv: No such file"),
        (f"{POOLED}\n{LAPLACE}", POOL.replace("theta.a", "a"), "column a must be called theta.NAM"),
        (f"{POOLED}\n{LAPLACE}", POOL.replace("theta", "summary"), "has no column theta.NAME."),
        (f"{POOLED}\n{LAPLACE}", POOL.replace(",5,0\n", ",,0\n", 1), "column summary.s, row 6: is"),
        (f"{POOLED}\n{LAPLACE}", EMPTY, "pool.csv: column theta.a is 1 in all rows"),
        (f"{POOLED}\n{LAPLACE}", "\n".join(POOL.split("\n")[:50]), "pool.csv: has 49 rows"),
    ],
    ids=range(24),
)
def test_an_invalid_problem_is_refused_in_one_line(
    text: str, pool: str, words: str, tmp_path: Path
) -> None:
    with pytest.raises(ParameterError) as caught:
        read(tmp_path, text, pool=pool)
    said = str(caught.value)
    assert said.startswith("mine.toml: ")
    assert words in said
    assert "\n" not in said


# ---------------------------------------------------------------------- from visitors

OPENED = f'pool = "/etc/passwd"\nquery = [1, 0]\n{LAPLACE}'.encode()


def problem(*lines: str) -> bytes:
    return "\n".join(lines).encode()


@pytest.fixture
def no_file_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a file was opened")

    monkeypatch.setattr(pools, "read", refuse)
    monkeypatch.setattr(tables, "read", refuse)


@pytest.mark.usefixtures("no_file_is_opened")
def test_an_uploaded_simulator_is_an_installed_one_and_a_pool_the_uploaded_table() -> None:
    found = uploaded_problem.read(b"\xef\xbb\xbf" + problem(REGRESSION, NINE, LAPLACE))
    assert (found.name, found.simulator) == ("your release", "linear-regression")
    assert found.draws == 200_000
    assert uploaded_problem.read(problem(REGRESSION, NINE, "draws = 5000", LAPLACE)).draws == 5000
    for name in exact_answers.PLANS:
        assert uploaded_problem.read((EXAMPLES / f"{name}.toml").read_bytes()).spent is not None
    found = uploaded_problem.read(OPENED, POOL.encode())
    assert isinstance(found.source, pools.Pool)
    assert found.source.theta.shape == (150, 1)
    assert found.draws == 150


@pytest.mark.usefixtures("no_file_is_opened")
@pytest.mark.parametrize(
    ("text", "table", "words"),
    [
        (OPENED, None, "pool = /etc/passwd: this server does not open files"),
        (problem(REGRESSION, NINE, LAPLACE), POOL.encode(), "simulator: needs no table"),
        (b"#" * (uploaded_problem.LARGEST_TEXT + 1), None, "problem: is larger than 64 kB."),
        # As a key it would take half a minute.
        (b"a." * 30_000 + b"a = 1", None, "problem: a line has more than 300 dots; break it."),
        (b"a = " + b"[" * 30_000, None, "is not TOML"),
        (b'"a\\nb" = 1', None, r"'a\nb': unknown"),
        (OPENED, b"1" * (uploaded_problem.LARGEST_TABLE + 1), "table: is larger than 2 MB."),
        (OPENED, b"a," * 500_000, "table: must have at most 220 columns"),
        (OPENED, b"a,b,c\n" + b"1\n" * 10**6, "and a number in each field"),
        (OPENED, b"PAR1" + b"\x00" * 50, "table"),
        (OPENED, POOL.replace("theta.a", "theta.<b>a</b>").encode(), "theta.<b>a</b>"),
    ],
    ids=range(11),
)
def test_an_invalid_upload_is_refused_in_one_line_and_in_moments(
    text: bytes, table: bytes | None, words: str
) -> None:
    with pytest.raises(ParameterError) as caught:
        uploaded_problem.read(text, table)
    said = str(caught.value)
    assert words in said
    assert said.isprintable()


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
