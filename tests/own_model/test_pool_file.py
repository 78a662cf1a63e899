"""A pool made elsewhere: errors are one line, and writing and reading agree."""

from __future__ import annotations

import dataclasses
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from abcdp_core import tabular
from abcdp_core.__main__ import main
from abcdp_core.mechanisms import Budget, private_summary
from abcdp_core.own_model import export, pool_file, reading, validation
from abcdp_core.own_model.pool_file import Numbers
from abcdp_core.parameters import ParameterError
from tests.own_model.test_contract import GAUSSIAN, SIR, scenario

TOML = """
name = "mine"
unit = "one person"
neighbours = "replace"
n = 50
pool = "pool.csv"

[theta.mu]
low = -2.0
high = 2.0
unit = "mm"

[summary.average]
kind = "mean"
lower = -4.0
upper = 4.0

[summary.young]
kind = "count"
group = "age"

[summary.old]
kind = "count"
group = "age"

[summary.spent]
kind = "sum"
lower = 0.0
upper = 10.0
"""


def table() -> pd.DataFrame:
    rng = np.random.default_rng(4)
    mu = rng.uniform(-2.0, 2.0, 200)
    return pd.DataFrame(
        {
            "theta.mu": mu,
            "summary.average": np.clip(mu + 0.1 * rng.standard_normal(200), -4.0, 4.0),
            "summary.young": rng.integers(0, 20, 200),
            "summary.old": rng.integers(0, 20, 200),
            "summary.spent": rng.uniform(0.0, 500.0, 200),
        }
    )


def made(folder: Path, toml: str = TOML, pool: pd.DataFrame | None = None) -> Path:
    (folder / "pool.toml").write_text(toml, encoding="utf-8")
    (table() if pool is None else pool).to_csv(folder / "pool.csv", index=False)
    return folder / "pool.toml"


def test_a_pool_is_read(tmp_path: Path) -> None:
    found = reading.read(made(tmp_path))
    assert (found.name, found.title, found.n) == ("mine", "mine", 50)
    assert found.theta[:, 0] == pytest.approx(table()["theta.mu"])
    # In units: (sum of contributions − lower bound) / range; counts are unchanged.
    average, spent = table()["summary.average"], table()["summary.spent"]
    assert found.numbers[:, 0] == pytest.approx(50 * (average + 4.0) / 8.0)
    assert found.numbers[:, 1] == pytest.approx(table()["summary.young"])
    assert found.numbers[:, 3] == pytest.approx(spent / 10.0)
    # The sensitivity of the group of two counts is 2, of each other number 1.
    l1, l2 = found.moves()
    assert l1 == pytest.approx(4.0)
    assert l2 == pytest.approx(2.0)
    # With a margin for rounding.
    assert min(l1 / 4.0, l2 / 2.0) > 1.0
    assert found.protected == "one person"
    statistic = found.statistic()
    assert statistic.whole is None
    assert statistic.low == (0.0,) * 4


COUNTS = ["summary.young", "summary.old"]
TOGETHER = re.sub(r"(kind|group|lower|upper) = .*\n(?!unit|\[s)", "", TOML).replace(
    "[theta.mu]", "[declared]\nl1 = 3.0\nl2 = 2.0\n\n[theta.mu]"
)
"""The file with a sensitivity declared for all numbers together."""
DECLARED = TOML.replace('kind = "mean"\nlower = -4.0\nupper = 4.0\n', "sensitivity = 0.25\n")
ADDED = TOML.replace('"replace"', '"add-remove"').replace('kind = "mean"', 'kind = "sum"')


def test_where_records_are_added_sums_are_unbounded(tmp_path: Path) -> None:
    found = reading.read(made(tmp_path, ADDED))
    assert found.moves()[0] == pytest.approx(3.0)
    assert found.numbers[:, 0] == pytest.approx(table()["summary.average"] / 4.0)
    assert found.statistic().low == (-math.inf, 0.0, 0.0, 0.0)


def test_labels_name_declared_sensitivities(tmp_path: Path) -> None:
    found = reading.read(made(tmp_path, DECLARED))
    assert found.protected == "one person, if the sensitivity declared for average holds"
    assert found.statistic().unit == found.protected
    assert found.numbers[:, 0] == pytest.approx(table()["summary.average"] / 0.25)
    assert found.moves()[0] == pytest.approx(4.0)
    found = reading.read(made(tmp_path, TOGETHER))
    assert found.moves() == (3.0, 2.0)
    assert found.protected == "one person, if the sensitivity declared for all summaries holds"
    # Numbers without their own sensitivity are unchanged.
    assert np.array_equal(found.numbers, table().iloc[:, 1:])


def test_numbers_at_their_limits_are_read(tmp_path: Path) -> None:
    """Rounding by a part in 10⁹ is allowed, and other columns are ignored."""
    pool = table().assign(note="a")
    pool.loc[:1, "theta.mu"] = -2.0, 2.0
    pool.loc[:1, "summary.average"] = -4.0 * (1.0 + 0.9e-9), 4.0 * (1.0 + 0.9e-9)
    pool.loc[:1, "summary.old"] = 0, 50
    pool.loc[:1, "summary.spent"] = 0.0, 500.0
    found = reading.read(made(tmp_path, pool=pool))
    assert found.numbers[:2, 3].tolist() == [0.0, 50.0]
    pool.loc[0, "summary.average"] = -4.0 * (1.0 + 1.1e-9)
    with pytest.raises(ParameterError, match=r"summary\.average, row 1 is -4; it must be"):
        reading.read(made(tmp_path, pool=pool))


MU = '[theta.mu]\nlow = -2.0\nhigh = 2.0\nunit = "mm"\n'

WRONG_TOML = [
    ('neighbours = "replace"', 'neigbours = "replace"', "neigbours: unknown; known are name"),
    ('unit = "one person"\n', "", "unit: is missing."),
    ('"replace"', '"swap"', "neighbours = swap: must be 'replace' or 'add-remove'."),
    ('name = "mine"', 'name = "My study"', "name = My study: must be in lower case with hyphens."),
    ("n = 50", f"n = {10**12 + 1}", "n = 1000000000001: must be at most 1e+12."),
    ("[theta.mu]", '[theta."<a href=x>mu</a>"]', "<a href=x>mu</a>: must not contain HTML"),
    ("high = 2.0", "high = -2.0", "parameter mu: low = -2, high = -2: must be low < high"),
    ("high = 2.0", "high = inf", "theta.mu.high = inf: must be at most 1e+60."),
    (MU, "[theta]\n", "theta: must have at least 1."),
    ("upper = 4.0", "upper = -4.0", "average: a mean needs lower and upper, and lower < upper."),
    ('kind = "mean"', 'kind = "median"', "summary.average.kind = median: must be 'count', 'mean'"),
    ('kind = "mean"', 'kind = "mean"\ngroup = "a"', "average: only a count can be in a group."),
    ('kind = "mean"', 'kind = "mean"\nsensitivity = 1.0', "sensitivity: cannot be given with kind"),
    ('group = "age"\n', "lower = 0.0\n", "summary.young: a count has no bounds."),
    ('kind = "count"\ngroup = "age"\n', "", "summary.young.kind: is missing; or declare a sensi"),
    ("[theta.mu]", "declared = { l1 = 1, l2 = 2 }\n[theta.mu]", "l2 = 2: must be at most l1 = 1."),
    ("[theta.mu]", "declared = { l1 = 2, l2 = 1 }\n[theta.mu]", "cannot be given with [declared]"),
    ('"replace"', '"add-remove"', "a mean needs a public number of records; use sum"),
    ('"pool.csv"', '"pool.txt"', "pool.txt: must end with .csv or .parquet"),
    ('"pool.csv"', '"none.csv"', "none.csv: No such file"),
]


@pytest.mark.parametrize(("old", "new", "words"), WRONG_TOML)
def test_an_error_in_the_toml_file_is_one_line(
    old: str, new: str, words: str, tmp_path: Path
) -> None:
    assert old in TOML
    with pytest.raises(ParameterError) as caught:
        reading.read(made(tmp_path, TOML.replace(old, new, 1)))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def changed(column: str, row: int, value: object) -> pd.DataFrame:
    found = table().astype(object)
    found.loc[row, column] = value
    return found


@pytest.mark.parametrize(
    ("pool", "words"),
    [
        (table().drop(columns="summary.old"), "column summary.old is missing."),
        (table().assign(**{"summary.new": 1.0}), "column summary.new is not in the TOML file."),
        (changed("theta.mu", 6, "a"), "column theta.mu, row 7: is not a finite number."),
        (changed("theta.mu", 6, 2.5), "theta.mu, row 7 is 2.5; it must be from -2 to 2."),
        (table().assign(**{"theta.mu": 0.5}), "column theta.mu is 0.5 in all rows and carries no"),
        (changed("summary.old", 3, 51.5), "row 4 is 51.5; it must be a whole number from 0 to 50."),
        (changed("summary.spent", 3, -1.0), "row 4 is -1; it must be from 0 to 500."),
        (table()[:99], "has 99 rows; a pool needs at least 100."),
    ],
)
def test_an_error_in_the_table_is_one_line(pool: pd.DataFrame, words: str, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=re.escape(words)):
        reading.read(made(tmp_path, pool=pool))


@pytest.mark.parametrize(("name", "suffix"), [("gaussian", ".csv"), ("sir", ".parquet")])
def test_the_round_trip_gives_the_same_posterior(name: str, suffix: str, tmp_path: Path) -> None:
    source = scenario(name)
    rng = np.random.default_rng(5)
    theta = source.prior(rng, 1200)
    n = 100 if name == "gaussian" else 60
    numbers = source.STATISTICS["numbers"].reduce(source.simulate(rng, theta, n))
    pool, values = export.pool_of(source, theta, numbers, n, tmp_path / "pool.toml")
    export.write(pool, values, tmp_path / f"pool{suffix}")
    back = reading.read(tmp_path / "pool.toml")
    names = [f"theta.{each.name}" for each in pool.parameters]
    names += [f"summary.{each.name}" for each in pool.summaries]
    assert list(tabular.pools.read(tmp_path / f"pool{suffix}")) == names
    assert back == pool
    assert back.theta == pytest.approx(theta, rel=1e-14)
    assert back.numbers == pytest.approx(numbers, rel=1e-9, abs=1e-9)
    # The sensitivity of the model and of the file agree.
    model = {"gaussian": GAUSSIAN, "sir": SIR}[name]
    assert back.moves() == pytest.approx(model.moves())
    samples = []
    for side in (pool_file.side(pool), pool_file.side(back)):
        prepared = private_summary.SUMMARY.prepare(
            side,
            private_summary.Options(),
            Budget(2.0),  # type: ignore[arg-type]
        )
        data = Numbers({"numbers": numbers[7]})
        release = prepared.release(data, np.random.default_rng(9))
        samples.append(release.parameters(side.theta))
    assert samples[0] == pytest.approx(samples[1], rel=1e-6)
    assert len(samples[0]) > 100


def test_texts_in_toml_survive_the_round_trip(tmp_path: Path) -> None:
    pool = reading.read(made(tmp_path))
    odd = dataclasses.replace(pool, title='a "b" \\ c' * 15, unit="one of θ's")
    back = reading.read(made(tmp_path, export.as_toml(odd, "pool.csv")))
    assert (back.title, back.unit) == (odd.title, odd.unit)
    assert back.summaries == pool.summaries


def test_held_out_draws_measure_the_error_of_a_release(tmp_path: Path) -> None:
    pool = reading.read(made(tmp_path))
    # The mean of 50 records, with noise of 4 units of 8 / 50 at ε_total = 1 and none at 1000.
    good, bad = (validation.measure(pool, budget, 40, 1) for budget in (1000.0, 0.01))
    assert good.sets == 40
    assert good.error_low < good.error < good.error_high < bad.error_low
    assert good.error < 0.5
    assert 0.8 < bad.error < 1.3
    assert bad.coverage_low < bad.coverage <= bad.coverage_high
    assert bad.coverage > 0.8


def test_the_command_checks_a_pool(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def said(toml: str = TOML, runs: str = "0", pool: pd.DataFrame | None = None) -> str:
        assert main(["check", str(made(tmp_path, toml, pool)), "--runs", runs]) == 0
        return " ".join(capsys.readouterr().out.split())

    found = said(runs="10")
    assert "mine (mine): 200 draws, 1 parameter, 4 summaries, N = 50." in found
    assert "by at most 4 and 2 (L1 and L2" in found
    assert "with 200 draws, intervals may be inaccurate; 2,000 draws are enough." in found
    assert "tested on 10 held-out draws" in found
    assert "1 row repeats an earlier row" in said(pool=pd.concat([table(), table()[:1]]))
    found = said(DECLARED)
    assert "in part as declared)" in found
    assert "protect one person, if the sensitivity declared for average holds." in found
    assert "When one record is added or removed" in said(ADDED)
    assert main(["check", str(tmp_path / "pool.toml"), "--n", "3"]) == 2
    assert "n = 3: cannot be set; pool.toml fixes it." in capsys.readouterr().err
    assert main(["check", str(tmp_path / "none.toml")]) == 2
    assert capsys.readouterr().err.endswith("none.toml: there is no such file.\n")


@pytest.mark.usefixtures("own_registry")
def test_a_pool_is_written_and_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out" / "pool.csv"
    plug_in = str(Path(__file__).parents[2] / "examples" / "gaussian.py")
    size = ["--pool-size", "200", "--n", "100"]
    assert main(["pool", "gaussian-2d", "--plugin", plug_in, *size, "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert "200 draws of gaussian-2d with N = 100" in said
    assert "every seed" not in said
    assert main(["check", str(out.with_suffix(".toml")), "--runs", "0"]) == 0
    assert "5 parameters, 5 summaries, N = 100" in capsys.readouterr().out
    # A shipped scenario declares its sensitivity.
    out = out.with_name("other.csv")
    assert main(["pool", "uniform-mixture", *size, "--out", str(out)]) == 0
    assert main(["check", str(out.with_suffix(".toml")), "--runs", "0"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert (
        "by at most 2 and 1.414 (L1 and L2, each number in units of its largest change; as" in said
    )
    assert "if the sensitivity declared for all summaries holds" in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("mine --out {}/a.csv", "uniform-mixture; a model of your own needs --plugin FILE.py."),
        ("covid --out {}/a.csv", "scenario = covid: has no statistics to write"),
        ("uniform-mixture --out {}/a.txt", "a.txt: must end with .csv or .parquet"),
        ("uniform-mixture --out {}/a.csv --n 7", "n = 7: must be one of"),
    ],
)
def test_a_pool_that_cannot_be_written_is_refused(
    arguments: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pool", *arguments.format(tmp_path).split()]) == 2
    assert words in capsys.readouterr().err


def test_a_pool_replaces_only_an_earlier_pool(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, beside = tmp_path / "mine.csv", tmp_path / "mine.toml"

    def made(out: Path, size: str = "100") -> int:
        return main(["pool", "tuberculosis-patients", "--pool-size", size, "--out", str(out)])

    for mine in (table, beside):
        mine.write_text("name = 'a problem of my own'\n", encoding="utf-8")
        assert made(table) == 2
        assert f"{mine.name} already exists" in capsys.readouterr().err
        assert [*tmp_path.iterdir()] == [mine]
        mine.unlink()
    assert made(table) == made(table, "120") == 0
    assert len(pd.read_csv(table)) == 120
    # Replacing the TOML file would orphan the CSV table.
    kept = beside.read_bytes()
    assert made(tmp_path / "mine.parquet") == 2
    assert beside.read_bytes() == kept
    assert not (tmp_path / "mine.parquet").exists()
