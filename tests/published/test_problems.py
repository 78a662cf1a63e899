"""Problems and pools from files: what is right is read, what is wrong is said in one line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from abcdp_core.own_model import tables
from abcdp_core.parameters import ParameterError
from abcdp_core.places import EXAMPLES
from abcdp_core.posterior.noise import (
    BinomialSample,
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

NINE = "query = [0, 0, 0, 0, 0, 0, 0, 0, 0]"
REGRESSION = 'simulator = "linear-regression"'
LAPLACE = '[noise]\nlaw = "laplace"\nscale = 0.13'
POOL = "theta.a,summary.s,summary.t\n" + "".join(
    f"{row / 7:.3f},{row},{row % 5}\n" for row in range(150)
)


def read(folder: Path, *lines: str) -> problems.Problem:
    file = folder / "mine.toml"
    file.write_text("\n".join(lines), encoding="utf-8")
    return problems.read(file)


def test_a_problem_is_read_with_its_defaults(tmp_path: Path) -> None:
    found = read(tmp_path, REGRESSION, NINE, LAPLACE)
    assert found.name == "mine"
    assert found.source is linear_regression.MODEL
    assert found.noise == Laplace((0.13,) * 9)
    assert (found.wanted, found.draws, found.seed) == (2000, 2_000_000, 1)
    more = ("effective_sample_size = 500", "draws = 5000", "seed = 7")
    found = read(tmp_path, REGRESSION, NINE, *more, LAPLACE)
    assert (found.wanted, found.draws, found.seed) == (500, 5000, 7)


@pytest.mark.parametrize(
    ("table", "noise"),
    [
        ('law = "gaussian"\nscale = [1, 2.5]', Gaussian((1.0, 2.5))),
        ('law = "discrete-laplace"\nscale = 3', DiscreteLaplace((3.0, 3.0))),
        ('law = "discrete-laplace"\nscale = 3\nstep = 0.5', DiscreteLaplace((3.0, 3.0), (0.5,))),
        ('law = "binomial-sample"\ntrials = 4\npopulation = 200', BinomialSample(4, 200.0)),
        (
            'law = "binomial-sample"\ntrials = 4\npopulation = 200\noffset = 10',
            BinomialSample(4, 200.0, 10.0),
        ),
    ],
)
def test_every_law_is_read(table: str, noise: object, tmp_path: Path) -> None:
    (tmp_path / "pool.csv").write_text(POOL, encoding="utf-8")
    found = read(tmp_path, 'pool = "pool.csv"', "query = [1, 0]", f"[noise]\n{table}")
    assert found.noise == noise
    assert isinstance(found.source, pools.Pool)
    assert found.source.parameters == ("a",)
    assert found.source.numbers == ("s", "t")
    assert found.source.theta.shape == (150, 1)
    np.testing.assert_array_equal(found.source.summaries[7], [7.0, 2.0])


def test_what_a_release_spent_is_read_where_it_is_stated(tmp_path: Path) -> None:
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
    text = f"theta.a,summary.s,summary.t,summary.u\n{rows}"
    (folder / "pool.csv").write_text(text, encoding="utf-8")
    return read(folder, 'pool = "pool.csv"', f"query = {query}", noise)


def test_numbers_may_have_laws_of_their_own(tmp_path: Path) -> None:
    assert three(tmp_path, TWO_LAWS).noise == IndependentNoise(
        (DiscreteLaplace((3.0,), of=(1,)), Gaussian((1.0, 2.5), of=(2, 0)))
    )


@pytest.mark.parametrize(
    ("noise", "words"),
    [
        (TWO_LAWS.replace('"t"', '"v"'), "noise 1.numbers = v: must be among the numbers s, t, u."),
        (TWO_LAWS.replace('"t"', '"s"'), "noise 2.numbers = s: has a law already."),
        (TWO_LAWS.replace('"t"', '"t", "t"'), "noise 1.numbers = t: has a law already."),
        (TWO_LAWS.replace('"u", ', ""), "noise 2.scale: has 2 numbers; needed is one, or 1."),
        (TWO_LAWS.partition('[[noise]]\nnumbers = ["u')[0], "noise: s has none; each number"),
        (TWO_LAWS.replace('["t"]', "[]"), "noise 1.numbers: must be a list of names of numbers"),
        (TWO_LAWS.replace('["t"]', '["t", 3]'), "noise 1.numbers: must be a list of names of"),
        (TWO_LAWS.replace('["t"]', '"t"'), "noise 1.numbers: must be a list of names of numbers"),
        (TWO_LAWS.replace('numbers = ["t"]', ""), "noise 1.numbers: must be a list of names"),
        (TWO_LAWS.replace('law = "gaussian"', ""), "noise 2.law: is missing; it is one of"),
        (TWO_LAWS.replace("[1, 2.5]", "-1"), "noise 2.scale = -1: must be a number from"),
        ("noise = []", r"noise: must be a table with its law, \[noise\], or several"),
        ('noise = [{law = "laplace"}, 3]', r"noise: must be a table with its law, \[noise\], or"),
        ("noise = [3]", r"noise: must be a table with its law, \[noise\], or several"),
    ],
)
def test_what_is_wrong_with_one_of_several_laws_is_said(
    noise: str, words: str, tmp_path: Path
) -> None:
    with pytest.raises(ParameterError, match=words) as caught:
        three(tmp_path, noise)
    assert "\n" not in str(caught.value)


def test_a_number_that_its_law_refuses_is_told_by_its_place(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"query, number 2 = 0\.5: must be a multiple of 1"):
        three(tmp_path, TWO_LAWS, "[1.5, 0.5, 2]")


@pytest.mark.parametrize("name", exact_answers.PLANS)
def test_every_example_can_be_read(name: str) -> None:
    found = problems.read(EXAMPLES / f"{name}.toml")
    assert found.simulator.replace("-", "_") == name
    assert found.simulator in models.names()


def test_an_exact_answer_is_that_of_its_table_and_of_a_sum() -> None:
    """The sum has no chance in it; draws from the prior, and from a normal distribution."""
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


def test_a_sample_is_set_beside_the_exact_answer_in_its_standard_errors() -> None:
    exact = pd.DataFrame({
        "problem": ["p", "p", "q"], "parameter": ["a", "b", "a"], "mean": [1.0, 0.0, 9.0],
        "sd": [2.0, 1.0, 1.0], "effective_sample_size": 400.0, "draws": 1000,
    })  # fmt: skip
    sample = pd.DataFrame({
        "problem": "p", "parameter": ["b", "a"], "mean": [0.5, 0.0], "sd": [1.0, 3.0],
        "draws": 100,
    })  # fmt: skip
    found = reference.against(exact, sample)
    assert found.parameter.tolist() == ["b", "a"]
    assert found.draws.tolist() == [100, 100]
    assert found.mean_off.tolist() == [0.5, -0.5]
    assert found.sd_ratio.tolist() == [1.0, 1.5]
    errors = np.sqrt([1 / 100 + 1 / 400, 1.5**2 / 100 + 1 / 400])
    assert found.mean_standard_errors.to_numpy() == pytest.approx([0.5, -0.5] / errors)
    error = 1.5 * np.sqrt(1 / 200 + 1 / 800)
    assert found.sd_standard_errors.to_numpy() == pytest.approx([0.0, 0.5 / error])


def test_every_example_has_an_exact_answer() -> None:
    assert {file.stem for file in EXAMPLES.glob("*.toml")} == set(exact_answers.PLANS)
    table = reference.read()
    assert set(table.problem) == set(exact_answers.PLANS)
    assert (table.effective_sample_size >= 2000).all()


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ((NINE, LAPLACE), "simulator, pool: give one of the two."),
        ((REGRESSION, 'pool = "p.csv"', NINE, LAPLACE), "simulator, pool: give one of the two."),
        ((REGRESSION, NINE), "noise: is missing."),
        ((REGRESSION, LAPLACE), "query: is missing."),
        ((REGRESSION, NINE, "queri = 1", LAPLACE), "queri: unknown key; known are simulator,"),
        (('simulator = "nothing"', NINE, LAPLACE), "simulator = nothing: must be one of linear-"),
        (("simulator = 3", NINE, LAPLACE), "simulator = 3: must be a name in quotation marks."),
        ((REGRESSION, "query = 3", LAPLACE), "query = 3: must be a list of numbers."),
        ((REGRESSION, "query = [1, 2]", LAPLACE), r"query: has 2 numbers; 9 are needed \(y, x1 y"),
        ((REGRESSION, "query = [1]", LAPLACE), r"query: has 1 number; 9 are needed"),
        (
            (REGRESSION, NINE.replace("[0, 0", "[0, nan"), LAPLACE),
            "query, number 2 = nan: must be a number from -1e.12 to 1e.12.",
        ),
        (
            (REGRESSION, NINE.replace("[0,", "[true,"), LAPLACE),
            "query, number 1 = true: must be a number from -1e.12 to 1e.12.",
        ),
        (
            (REGRESSION, NINE.replace("[0,", "[-inf,"), LAPLACE),
            "query, number 1 = -inf: must be a number from -1e.12 to 1e.12.",
        ),
        (
            (REGRESSION, NINE.replace("[0,", '["x",'), LAPLACE),
            "query, number 1 = x: must be a number from -1e.12 to 1e.12.",
        ),
        (
            (REGRESSION, NINE, 'noise = "laplace"'),
            r"noise: must be a table with its law, \[noise\], or several",
        ),
        ((REGRESSION, NINE, "[noise]"), "noise.law: is missing; it is one of laplace,"),
        (
            (REGRESSION, NINE, '[noise]\nlaw = "normal"'),
            "noise.law = normal: must be one of laplac",
        ),
        ((REGRESSION, NINE, "[noise]\nlaw = [1]"), "noise.law = .1.: must be one of laplace,"),
        ((REGRESSION, NINE, '[noise]\nlaw = "laplace"'), "noise.scale: is missing."),
        ((REGRESSION, NINE, LAPLACE, "step = 1"), "noise.step: unknown key; known are law, scale."),
        (
            (REGRESSION, NINE, LAPLACE.replace("0.13", "0")),
            "noise.scale = 0: must be a number from 1e-12 to 1e",
        ),
        (
            (REGRESSION, NINE, LAPLACE.replace("0.13", "nan")),
            "noise.scale = nan: must be a number from",
        ),
        (
            (REGRESSION, NINE, LAPLACE.replace("0.13", "[1, 2]")),
            "noise.scale: has 2 numbers; needed is one, or 9.",
        ),
        ((REGRESSION, NINE, "seed = -1", LAPLACE), "seed = -1: must be a whole number from 0"),
        ((REGRESSION, NINE, "draws = 10", LAPLACE), "draws = 10: must be a whole number from 1000"),
        (
            (REGRESSION, NINE, "effective_sample_size = 99", LAPLACE),
            "effective_sample_size = 99: must be a whole number from 100",
        ),
        ((REGRESSION, NINE, 'unit = "one record"', LAPLACE), "unit: is of epsilon_total, which is"),
        (
            (REGRESSION, NINE, "epsilon_total = 0", LAPLACE),
            "epsilon_total = 0: must be a number from 1e-12 to 1e",
        ),
        (
            (REGRESSION, NINE, "epsilon_total = 1", 'neighbours = "replace"', LAPLACE),
            "unit, neighbours: give both or neither.",
        ),
        (
            (REGRESSION, NINE, "epsilon_total = 1", 'unit = "a"\nneighbours = "swap"', LAPLACE),
            "neighbours = swap: must be one of replace, add-remove.",
        ),
        (
            (REGRESSION, NINE, "epsilon_total = 1", "unit = 3\nneighbours = 4", LAPLACE),
            "unit = 3: must be a name in quotation marks.",
        ),
        (
            (REGRESSION, NINE, "epsilon_total = 1", 'unit = "a\\n"\nneighbours = 4', LAPLACE),
            "unit = .*: has a character that cannot be printed.",
        ),
        (
            (REGRESSION, NINE, "epsilon_total = 1", 'unit = "  "\nneighbours = 4', LAPLACE),
            "unit =   : must be a name in quotation marks.",
        ),
        (
            (
                REGRESSION,
                NINE,
                "epsilon_total = 1",
                f'unit = "{"a" * 61}"\nneighbours = 4',
                LAPLACE,
            ),
            "unit: must be a text of 1 to 60 characters.",
        ),
        (
            (REGRESSION, NINE.replace("[0,", "[1e13,"), LAPLACE),
            r"query, number 1 = 1e.13: must be a number from",
        ),
        ((REGRESSION, "query = [", LAPLACE), "is no TOML"),
        (('pool = "nowhere.csv"', NINE, LAPLACE), "nowhere.csv: No such file"),
        (('pool = "a\\u0000.csv"', NINE, LAPLACE), "has a character that cannot be printed"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    lines: tuple[str, ...], words: str, tmp_path: Path
) -> None:
    with pytest.raises(ParameterError, match=words) as caught:
        read(tmp_path, *lines)
    assert "mine.toml" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (POOL.replace("theta.a", "a"), "has no column theta.NAME."),
        (POOL.replace("summary.", "s."), "has no column summary.NAME."),
        (POOL.replace("summary.t", "t"), "column t must be called theta.NAME or summary.NAME."),
        (
            POOL.replace("\n0.714,5,0\n", "\n0.714,,0\n"),
            "column summary.s, row 6: is no finite",
        ),
        (POOL.replace("\n0.714,5,0\n", "\nx,5,0\n"), "column theta.a, row 6: is no finite"),
        (
            POOL.replace("\n0.714,5,0\n", "\n0.7,inf,0\n"),
            "column summary.s, row 6: is no finite",
        ),
        (
            POOL.replace("\n0.714,5,0\n", "\n0.7,-2e12,0\n"),
            r"column summary.s, row 6: -2e\+12 must be from -1e\+12 to 1e\+12",
        ),
        (POOL.replace("\n0.714,5,0\n", "\n0.7,5,0,1\n"), "is no table"),
        (POOL.replace("theta.a,", ""), "rows have more fields than the first line has names"),
        ("\n".join(POOL.split("\n")[:50]), "has 49 rows; at least 100 are needed."),
        ("theta.a,summary.s\n" + "1,2\n" * 60 + "2,2\n" * 60, "column summary.s is 2 in every row"),
        ("", "is no table"),
        (POOL.replace("theta.a", "theta.a\udce9"), r"is no table \(not in UTF-8\)"),
        (POOL.replace("summary.t", "summary.s"), r"has two columns summary\.s\."),
    ],
)
def test_what_is_wrong_with_a_pool_is_said_in_one_line(
    content: str, words: str, tmp_path: Path
) -> None:
    (tmp_path / "pool.csv").write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(ParameterError, match=words) as caught:
        read(tmp_path, 'pool = "pool.csv"', "query = [1, 0]", LAPLACE)
    assert "pool.csv" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_pool_is_csv_or_parquet(tmp_path: Path) -> None:
    (tmp_path / "pool.csv").write_text(POOL, encoding="utf-8")
    table = pd.read_csv(tmp_path / "pool.csv")
    table.to_parquet(tmp_path / "pool.parquet")
    csv, parquet = (pools.read(tmp_path / f"pool.{ending}") for ending in ("csv", "parquet"))
    assert csv.numbers == parquet.numbers
    np.testing.assert_array_equal(csv.theta, parquet.theta)
    np.testing.assert_array_equal(csv.summaries, parquet.summaries)
    (tmp_path / "pool.parquet").write_text(POOL, encoding="utf-8")
    with pytest.raises(ParameterError, match=r"^pool\.parquet: is no table"):
        pools.read(tmp_path / "pool.parquet")
    with pytest.raises(ParameterError, match=r"pool\.txt: must end with \.csv or \.parquet"):
        pools.read(tmp_path / "pool.txt")


def test_a_table_is_a_file_of_bounded_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(ParameterError, match=r"^folder\.csv: is no file\.$"):
        tables.read(tmp_path / "folder.csv")
    (tmp_path / "pool.csv").write_text(POOL, encoding="utf-8")
    monkeypatch.setattr(tables, "LARGEST_FILE", len(POOL))
    assert len(tables.read(tmp_path / "pool.csv")) == 150
    monkeypatch.setattr(tables, "LARGEST_FILE", len(POOL) - 1)
    with pytest.raises(ParameterError, match=r"^pool\.csv: is larger than 0 MB"):
        tables.read(tmp_path / "pool.csv")


def test_a_pool_has_the_draws_that_it_has(tmp_path: Path) -> None:
    (tmp_path / "pool.csv").write_text(POOL, encoding="utf-8")
    lines = ('pool = "pool.csv"', "query = [1, 0]")
    assert read(tmp_path, *lines, LAPLACE).draws == 150
    with pytest.raises(ParameterError, match="draws: says how many a simulator may make"):
        read(tmp_path, *lines, "draws = 5000", LAPLACE)


def test_files_that_are_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"nowhere\.toml: there is no such file"):
        problems.read(tmp_path / "nowhere.toml")
    with pytest.raises(ParameterError, match="there is no such file"):
        problems.read(tmp_path)
    file = tmp_path / "other.toml"
    file.write_bytes(b"query = '\xff'")
    with pytest.raises(ParameterError, match="is not in UTF-8"):
        problems.read(file)
    file.write_bytes(b"#" * (problems.LARGEST_FILE + 1))
    with pytest.raises(ParameterError, match="is larger than 1,000,000 bytes"):
        problems.read(file)
