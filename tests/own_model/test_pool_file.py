"""A pool made anywhere: what is wrong is one line that says where; out and in again is the same."""

from __future__ import annotations

import dataclasses
import errno
import math
import re
import threading
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from abcdp_core import pool as pools
from abcdp_core import summaries, threads
from abcdp_core.__main__ import main
from abcdp_core.mechanisms import Budget, private_summary
from abcdp_core.own_model import export, held_out, pool_file, reading, tables
from abcdp_core.own_model.blame import OwnError
from abcdp_core.own_model.pool_file import Numbers, Summary
from abcdp_core.streams import generator
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


def test_a_pool_is_read_with_what_it_states(tmp_path: Path) -> None:
    found = reading.read(made(tmp_path))
    assert (found.name, found.title, found.n) == ("mine", "mine", 50)
    assert found.theta[:, 0] == pytest.approx(table()["theta.mu"])
    # In units: (sum of contributions less the least) / range; counts as they are.
    average, spent = table()["summary.average"], table()["summary.spent"]
    assert found.numbers[:, 0] == pytest.approx(50 * (average + 4.0) / 8.0)
    assert found.numbers[:, 1] == pytest.approx(table()["summary.young"])
    assert found.numbers[:, 3] == pytest.approx(spent / 10.0)
    # The group of two counts moves by 2, each other number by 1.
    l1, l2 = found.moves()
    assert l1 == pytest.approx(4.0)
    assert l2 == pytest.approx(2.0)
    # With room for sums in floating point.
    assert min(l1 / 4.0, l2 / 2.0) > 1.0
    assert found.protected == "one person"
    statistic = found.statistic()
    assert statistic.whole is None
    assert statistic.low == (0.0,) * 4


COUNTS = ["summary.young", "summary.old"]
TOGETHER = re.sub(r"(kind|group|lower|upper) = .*\n(?!unit|\[s)", "", TOML).replace(
    "[theta.mu]", "[declared]\nl1 = 3.0\nl2 = 2.0\n\n[theta.mu]"
)
"""The file where only the sensitivity of all numbers together is known."""
DECLARED = TOML.replace('kind = "mean"\nlower = -4.0\nupper = 4.0\n', "sensitivity = 0.25\n")
ADDED = TOML.replace('"replace"', '"add-remove"').replace('kind = "mean"', 'kind = "sum"')


def test_where_records_are_added_their_number_bounds_nothing(tmp_path: Path) -> None:
    found = reading.read(made(tmp_path, ADDED))
    assert found.moves()[0] == pytest.approx(3.0)
    assert found.numbers[:, 0] == pytest.approx(table()["summary.average"] / 4.0)
    assert found.statistic().low == (-math.inf, 0.0, 0.0, 0.0)


def test_what_is_declared_is_said(tmp_path: Path) -> None:
    found = reading.read(made(tmp_path, DECLARED))
    assert found.protected == "one person, if the sensitivity declared for average holds"
    assert found.statistic().unit == found.protected
    assert found.numbers[:, 0] == pytest.approx(table()["summary.average"] / 0.25)
    assert found.moves()[0] == pytest.approx(4.0)
    found = reading.read(made(tmp_path, TOGETHER))
    assert found.moves() == (3.0, 2.0)
    assert found.protected == "one person, if the sensitivity declared for all summaries holds"
    # Numbers are as they are: nobody said what each of them moves.
    assert np.array_equal(found.numbers, table().iloc[:, 1:])


def test_counts_alone_are_whole(tmp_path: Path) -> None:
    counts = re.sub(r"\[summary.(average|spent)\](\n.+)+", "", TOML)
    found = reading.read(made(tmp_path, counts, table()[["theta.mu", *COUNTS]]))
    assert found.statistic().whole == (1, 1)
    assert found.statistic().high == (math.inf, math.inf)


def test_numbers_at_the_ends_of_what_can_be_are_read(tmp_path: Path) -> None:
    """And beyond by rounding, a part in 10⁹ of the lower end; other columns are nobody's."""
    pool = table().assign(note="a")
    pool.loc[:1, "theta.mu"] = -2.0, 2.0
    pool.loc[:1, "summary.average"] = -4.0 * (1.0 + 0.9e-9), 4.0 * (1.0 + 0.9e-9)
    pool.loc[:1, "summary.old"] = 0, 50
    pool.loc[:1, "summary.spent"] = 0.0, 500.0
    found = reading.read(made(tmp_path, pool=pool))
    assert found.numbers[:2, 3].tolist() == [0.0, 50.0]
    pool.loc[0, "summary.average"] = -4.0 * (1.0 + 1.1e-9)
    with pytest.raises(OwnError, match=r"summary\.average, row 1: -4 cannot be"):
        reading.read(made(tmp_path, pool=pool))


@pytest.mark.parametrize(
    ("summary", "neighbours", "limits"),
    [
        (Summary("a", "declared"), "replace", (-math.inf, math.inf)),
        (Summary("a", "count"), "replace", (0.0, 20.0)),
        (Summary("a", "count"), "add-remove", (0.0, math.inf)),
        (Summary("a", "mean", -1.0, 3.0), "replace", (-1.0, 3.0)),
        (Summary("a", "sum", -1.0, 3.0), "replace", (-20.0, 60.0)),
        (Summary("a", "sum", -1.0, 3.0), "add-remove", (-math.inf, math.inf)),
        (Summary("a", "sum", 0.0, 0.5), "add-remove", (0.0, math.inf)),
        (Summary("a", "sum", 0.5, 0.7), "add-remove", (0.0, math.inf)),
        (Summary("a", "sum", -0.5, 0.0), "add-remove", (-math.inf, 0.0)),
    ],
)
def test_between_which_a_number_lies_follows_from_kind_and_bounds(
    summary: Summary, neighbours: str, limits: tuple[float, float]
) -> None:
    assert summary.limits(neighbours, 20) == limits


MU = '[theta.mu]\nlow = -2.0\nhigh = 2.0\nunit = "mm"\n'

WRONG_TOML = [
    ('neighbours = "replace"', 'neigbours = "replace"', "key neigbours: is unknown; known are"),
    ('unit = "one person"\n', "", "key unit: is missing"),
    ('"replace"', '"swap"', "key neighbours = swap: must be one of replace, add-remove"),
    ('name = "mine"', 'name = "My study"', "key name = My study: must be in lower case"),
    ("n = 50", "n = 0", "key n = 0: must be a whole number from 1 to"),
    ("n = 50", "n = true", "key n = true: must be a whole number"),
    ('"one person"', "3", "key unit = 3: must be a text of 1 to 200 characters"),
    ('"one person"', '"one <b>person</b>"', "key unit = one <b>person</b>: figures would read"),
    ("[theta.mu]", '[theta."<a href=x>mu</a>"]', "key theta = <a href=x>mu</a>: figures would"),
    ("[theta.mu]", '[theta.""]', "key theta = : must be a text of 1 to 200 characters"),
    ("high = 2.0", "high = -3.0", "key theta.mu.high = -3: must be above low = -2"),
    ("high = 2.0", "high = -2.0", "key theta.mu.high = -2: must be above low = -2"),
    ("high = 2.0", "", "key theta.mu.high: is missing"),
    ("low = -2.0", "low = -inf", "key theta.mu.low = -inf: must lie within"),
    (MU, "[theta]\n", "key theta: must be tables [theta.NAME], one at least."),
    (MU, "theta = 3\n", "key theta: must be tables [theta.NAME], one at least."),
    (MU, "[theta]\nmu = 3\n", "key theta.mu: must be a table."),
    ("[theta.mu]", "declared = 3\n[theta.mu]", "key declared: must be a table."),
    (
        'kind = "sum"',
        'sort = "sum"',
        "summary.spent.sort: is unknown; known are column, group, kind, lower, sensitivity, upper.",
    ),
    ("high = 2.0", 'high = "2"', "key theta.mu.high = 2: must be a number"),
    ("high = 2.0", "high = inf", "key theta.mu.high = inf: must lie within"),
    ("upper = 4.0", "upper = -4.0", "key summary.average.upper = -4: must be above lower = -4"),
    ("upper = 4.0", "", "key summary.average.upper: is missing"),
    ('kind = "mean"', "", "key summary.average.kind: is missing; or declare a sensitivity"),
    ('kind = "mean"', 'kind = "median"', "key summary.average.kind = median: must be one of"),
    ('kind = "mean"', 'kind = "mean"\ngroup = "a"', "group = a: only counts are in one"),
    ('group = "age"\n', "lower = 0.0\n", "key summary.young.lower: a count has no bounds"),
    ('kind = "mean"', 'kind = "mean"\nsensitivity = 1.0', "average.kind: stands beside sensitiv"),
    ("[theta.mu]", "[theta]\nmu = 3\n[other.mu]", "key other: is unknown"),
    ('"replace"', '"add-remove"', "a mean needs a public number of records; use sum"),
    (
        "[theta.mu]",
        '[observed]\nrecords = "records.csv"\n[theta.mu]',
        "key observed: is unknown; records are given to `release pool.toml --data FILE.csv`.",
    ),
    ("[theta.mu]", "[theta.mu]\nobserved = 1", "key theta.mu.observed: is unknown; known are"),
    ("n = 50", "n = ", "pool.toml: is no TOML"),
    ('"pool.csv"', '"pool.txt"', "pool.txt: must end with .csv or .parquet"),
    ('"pool.csv"', '"none.csv"', "none.csv: No such file"),
    ("[summary.old]", "[summary.older]", "pool.csv: column summary.older is missing"),
]


@pytest.mark.parametrize(("old", "new", "words"), WRONG_TOML)
def test_what_is_wrong_in_the_toml_file_is_one_line(
    old: str, new: str, words: str, tmp_path: Path
) -> None:
    assert old in TOML
    with pytest.raises(OwnError) as caught:
        reading.read(made(tmp_path, TOML.replace(old, new, 1)))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_declared_of_all_is_no_length_above_its_sum(tmp_path: Path) -> None:
    equal = TOGETHER.replace("l2 = 2.0", "l2 = 3.0")
    assert reading.read(made(tmp_path, equal)).moves() == (3.0, 3.0)
    with pytest.raises(OwnError, match=r"key declared\.l2 = 3\.5: must be at most l1 = 3\."):
        reading.read(made(tmp_path, TOGETHER.replace("l2 = 2.0", "l2 = 3.5")))


def test_a_usual_number_of_records_is_from_one_to_a_million_millions(tmp_path: Path) -> None:
    for n in (1, 10**12):
        assert reading.read(made(tmp_path, ADDED.replace("n = 50", f"n = {n}"))).n == n
    with pytest.raises(OwnError, match="must be a whole number from 1 to 1,000,000,000,000"):
        reading.read(made(tmp_path, ADDED.replace("n = 50", f"n = {10**12 + 1}")))


def changed(column: str, row: int, value: object) -> pd.DataFrame:
    found = table().astype(object)
    found.loc[row, column] = value
    return found


WRONG_TABLES = [
    (table().drop(columns="summary.old"), "pool.csv: column summary.old is missing"),
    (table().assign(**{"summary.new": 1.0}), "column summary.new is not in the TOML file"),
    (changed("summary.spent", 6, np.nan), "column summary.spent, row 7: is no finite number"),
    (changed("theta.mu", 6, "a"), "column theta.mu, row 7: is no finite number"),
    (changed("theta.mu", 6, 2.5), "column theta.mu, row 7: 2.5 is outside -2 to 2"),
    (
        table().assign(**{"theta.mu": 0.5}),
        "column theta.mu: is 0.5 in all rows, so there is nothing",
    ),
    (changed("summary.old", 3, 0.5), "column summary.old, row 4: 0.5 is no count"),
    (changed("summary.old", 3, 51), "row 4: 51 cannot be, as kind, bounds and n allow 0 to 50"),
    (changed("summary.average", 3, 5.0), "row 4: 5 cannot be, as kind, bounds and n allow -4 to 4"),
    (changed("summary.spent", 3, -1.0), "row 4: -1 cannot be"),
    (table().assign(**{"summary.old": 3}), "is 3 in all rows; it says nothing and costs noise"),
    (table()[:99], "has 99 rows; a pool needs 100 at least"),
]


@pytest.mark.parametrize(("pool", "words"), WRONG_TABLES, ids=[words for _, words in WRONG_TABLES])
def test_what_is_wrong_in_the_table_is_one_line(
    pool: pd.DataFrame, words: str, tmp_path: Path
) -> None:
    with pytest.raises(OwnError, match=re.escape(words)):
        reading.read(made(tmp_path, pool=pool))


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("name", ["gaussian", "sir"])
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
    assert list(tables.read(tmp_path / f"pool{suffix}")) == names
    assert back == pool
    assert back.theta == pytest.approx(theta, rel=1e-14)
    assert back.numbers == pytest.approx(numbers, rel=1e-9, abs=1e-9)
    # The model's own statistic and the file's cost the same.
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
    assert np.ptp(samples[0], axis=0) == pytest.approx(np.ptp(samples[1], axis=0), rel=1e-6)
    assert len(samples[0]) > 100


def test_natural_numbers_are_the_inverse_of_units() -> None:
    values = np.array([0.5, 2.0, 7.0])
    for each in (
        Summary("a", "count"),
        Summary("a", "mean", -1.0, 8.0),
        Summary("a", "sum", 2.0, 5.0),
        Summary("a", "sum", -7.0, 5.0),
        Summary("a", "declared", sensitivity=0.3),
    ):
        for neighbours in ("replace", "add-remove"):
            units = each.in_units(values, neighbours, 20)
            assert each.natural(units, neighbours, 20) == pytest.approx(values)
            moved = each.natural(units + 1.0, neighbours, 20) - values
            assert moved == pytest.approx(each.unit(neighbours, 20))
    # A difference of two means would be off by rounding.
    assert Summary("a", "mean", 1e12, 1e12 + 1.0).unit("replace", 1000) == 1e-3
    wide = Summary("a", "sum", -7.0, 5.0)
    assert wide.in_units(values, "add-remove", 20) == pytest.approx(values / 7.0)


def test_a_sum_may_be_at_a_large_bound_but_for_rounding(tmp_path: Path) -> None:
    toml, pool = TOML.replace("upper = 10.0", "upper = 1e10"), table()
    pool.loc[3, "summary.spent"] = np.nextafter(50 * 1e10, np.inf)
    assert reading.read(made(tmp_path, toml, pool)).numbers[3, 3] == pytest.approx(50.0)


def test_texts_in_toml_come_back_whatever_they_hold(tmp_path: Path) -> None:
    pool = reading.read(made(tmp_path))
    odd = dataclasses.replace(pool, title='a "b" \\ c' * 15, unit="one of θ's")
    back = reading.read(made(tmp_path, export.as_toml(odd, "pool.csv")))
    assert (back.title, back.unit) == (odd.title, odd.unit)
    assert back.summaries == pool.summaries
    name = "two\nlines, a\ttab, \x00 and \x7f"
    named = (dataclasses.replace(pool.summaries[0], name=name), *pool.summaries[1:])
    text = export.as_toml(dataclasses.replace(pool, summaries=named), "pool.csv")
    assert name in tomllib.loads(text)["summary"]


def test_held_out_draws_say_how_far_off_a_release_is(tmp_path: Path) -> None:
    pool = reading.read(made(tmp_path))
    # The mean of 50 records, with noise of 4 units of 8 / 50 at ε_total = 1 and none at 1000.
    good, bad = (held_out.measure(pool, budget, 40, 1) for budget in (1000.0, 0.01))
    assert good.sets == 40
    assert good.error_low < good.error < good.error_high < bad.error_low
    assert good.error < 0.5
    assert 0.8 < bad.error < 1.3
    assert bad.coverage_low < bad.coverage <= bad.coverage_high
    assert bad.coverage > 0.8


def test_what_is_held_out_is_released_against_the_rest(tmp_path: Path) -> None:
    pool = reading.read(made(tmp_path))
    sets = 60
    found = held_out.measure(pool, 1.0, sets, 2)
    chosen = generator(2, "held-out").permutation(200)
    rest = pool_file.side(pool, np.sort(chosen[sets:]))
    assert rest.pool_size == 200 - sets
    prepared = private_summary.SUMMARY.prepare(
        rest,  # type: ignore[arg-type]
        private_summary.Options(),
        Budget(1.0),
    )
    squares, held = [], []
    for number, row in enumerate(chosen[:sets]):
        rng = generator(2, "held-out-noise", number)
        release = prepared.release(Numbers({"numbers": pool.numbers[row]}), rng)
        draws, truth = release.parameters(rest.theta)[:, 0], pool.theta[row, 0]
        low, high = summaries.weighted_quantile(draws[:, None], release.weights, [0.05, 0.95])[:, 0]
        squares.append(((release.weights @ draws - truth) / pool.theta.std()) ** 2)
        held.append(low <= truth <= high)
    assert found.error == pytest.approx(math.sqrt(np.mean(squares)))
    assert found.coverage == np.mean(held)
    ends = summaries.mean_interval(np.array(squares), generator(2, "held-out-interval"))
    assert [found.error_low, found.error_high] == pytest.approx(np.sqrt(ends))
    ends = np.array(summaries.binomial_interval(sum(held), sets))
    assert [found.coverage_low, found.coverage_high] == pytest.approx(ends)


def test_rows_that_are_there_twice_are_noted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = made(tmp_path)
    assert held_out.repeated(reading.read(file)) == 0
    table = pd.read_csv(tmp_path / "pool.csv")
    for times, words in ((1, "1 row of the table is"), (200, "200 rows of the table are")):
        pd.concat([table, table[:times]]).to_csv(tmp_path / "pool.csv", index=False)
        assert main(["check", str(file), "--runs", "0"]) == 0
        said = " ".join(capsys.readouterr().out.split())
        assert f"Note: {words} the same as an earlier one; draws that are held out" in said


def test_the_command_checks_a_pool(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = made(tmp_path)
    assert main(["check", str(file), "--runs", "10"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "mine (mine): 200 draws, 1 parameter, 4 summaries, N = 50." in said
    assert "by at most 4 and 2 (L1 and L2, from kinds, bounds and groups)." in said
    assert "Note: intervals may be off with 200 draws; 2,000 are enough." in said
    assert "of 10 draws that are held out" in said
    assert main(["check", str(file), "--n", "3"]) == 2
    assert "n = 3: is what pool.toml says it is" in capsys.readouterr().err
    made(tmp_path, DECLARED)
    assert main(["check", str(file), "--runs", "0"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "(L1 and L2, in part as declared)" in said
    assert "protect: one person, if the sensitivity declared for average holds." in said
    made(tmp_path, ADDED)
    assert main(["check", str(file), "--runs", "0"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "4 summaries. One record added or removed moves" in said
    assert main(["check", str(tmp_path / "none.toml")]) == 2
    assert capsys.readouterr().err == "error: none.toml: No such file or directory.\n"


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
    # Of another scenario the sensitivity is what that one says.
    out = out.with_name("other.csv")
    assert main(["pool", "uniform-mixture", *size, "--out", str(out)]) == 0
    assert main(["check", str(out.with_suffix(".toml")), "--runs", "0"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "by at most 2 and 1.414 (L1 and L2, as declared)" in said
    assert "if the sensitivity declared for all summaries holds" in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            "pool mine --out {}/a.csv",
            "tuberculosis-patients, uniform-mixture; a model of your own needs --plugin FILE.py.",
        ),
        ("pool covid --out {}/a.csv", "scenario = covid: states no numbers of its data"),
        ("pool uniform-mixture --out {}/a.txt", "a.txt: must end with .csv or .parquet"),
        ("pool uniform-mixture --out {}/a.csv --n 7", "n = 7: must be one of"),
        ("pool uniform-mixture --out {}/" + "a" * 197 + ".csv", "of at most 200 characters"),
        ("pool uniform-mixture --out {}/a\x7f.csv", "must have a printable name"),
        ("pool uniform-mixture --out {}/a\udcff.csv", "must have a printable name"),
    ],
)
def test_what_cannot_be_written_is_said(
    arguments: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments.format(tmp_path).split()) == 2
    assert words in capsys.readouterr().err


SLOW = """

_simulate = simulate


def simulate(rng, theta, n):
    from pathlib import Path

    calls = Path("FOLDER/calls")
    calls.write_text((calls.read_text() if calls.exists() else "") + "x")
    if len(calls.read_text()) == LAST:
        raise KeyboardInterrupt
    return _simulate(rng, theta, n)

"""


@pytest.mark.usefixtures("own_registry")
def test_a_pool_that_was_stopped_goes_on_where_it_was(
    tmp_path: Path,
    empty_cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(pools, "WORTH_KEEPING", 0.0)
    file, out = tmp_path / "slow.py", tmp_path / "pool.csv"
    text = (Path(__file__).parents[2] / "examples" / "gaussian.py").read_text(encoding="utf-8")
    # Scales of the distance come from ten parts of public draws, and two calls see that they are
    # the same twice; then three of six parts are made.
    scales, made = 12, 3
    added = SLOW.replace("FOLDER", str(tmp_path)).replace("LAST", str(scales + made + 1))
    text = text.replace("\nMODEL = ", f"{added}\nMODEL = ")
    file.write_text(text.replace("gaussian-2d", "slow-model"), encoding="utf-8")
    monkeypatch.setattr(threads, "available", lambda: 1)
    line = ["pool", "slow-model", "--plugin", str(file), "--pool-size", "300", "--n", "100"]
    others = {*threading.enumerate()}
    assert main([*line, "--out", str(out)]) == 130
    assert "parts of the pool that took long are kept" in capsys.readouterr().err
    assert not out.exists()
    for each in {*threading.enumerate()} - others:
        if each.name.startswith("ThreadPoolExecutor"):
            each.join()
    # The thread may have made one more before it was told.
    kept = len(list(empty_cache.glob("chunk-*.npz")))
    assert made <= kept < 6
    before = len((tmp_path / "calls").read_text())
    assert main([*line, "--out", str(out)]) == 0
    assert len((tmp_path / "calls").read_text()) - before == 6 - kept
    made_on = out.read_bytes()
    monkeypatch.setenv("ABCDP_CACHE_DIR", str(tmp_path / "another"))
    pools._open.clear()
    assert main([*line, "--out", str(out)]) == 0
    assert out.read_bytes() == made_on


@pytest.mark.usefixtures("own_registry")
def test_workers_make_the_same_pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plug_in = str(Path(__file__).parents[2] / "examples" / "gaussian.py")
    made_by = []
    for place, folder in (([], "a"), (["--workers", "2"], "b")):
        monkeypatch.setenv("ABCDP_CACHE_DIR", str(tmp_path / folder))
        pools._open.clear()
        out = tmp_path / f"{folder}.csv"
        size = ["--pool-size", "120", "--n", "100", "--seed", "3", "--plugin", plug_in]
        assert main(["pool", "gaussian-2d", *size, *place, "--out", str(out)]) == 0
        made_by.append(pd.read_csv(out))
    pools._open.clear()
    assert made_by[0].equals(made_by[1])


@pytest.mark.usefixtures("own_registry")
def test_a_pool_that_cannot_be_written_leaves_the_earlier_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    size = ["--pool-size", "100", "--n", "100", "--seed", "3"]
    line = ["pool", "uniform-mixture", *size, "--out", str(tmp_path / "pool.csv")]
    assert main(line) == 0
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    assert sorted(before) == ["pool.csv", "pool.toml"]

    def half(frame: pd.DataFrame, place: Path, **_: Any) -> None:
        Path(place).write_text("theta.0,summary.0\n0.12")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pd.DataFrame, "to_csv", half)
    assert main(line) == 2
    assert "an earlier result there is as it was" in capsys.readouterr().err
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_a_pool_takes_no_place_but_that_of_an_earlier_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, beside = tmp_path / "mine.csv", tmp_path / "mine.toml"

    def made(out: Path, size: str = "100") -> int:
        line = ["pool", "tuberculosis-patients", "--pool-size", size, "--out", str(out)]
        return main(line)

    for mine in (table, beside):
        mine.write_text("name = 'a problem of my own'\n", encoding="utf-8")
        assert made(table) == 2
        assert f"{mine.name} is there already, and no pool of tuberc" in capsys.readouterr().err
        assert mine.read_text(encoding="utf-8") == "name = 'a problem of my own'\n"
        assert [*tmp_path.iterdir()] == [mine]
        mine.unlink()
    assert made(table) == 0
    assert "the same for every seed" in capsys.readouterr().out
    assert made(table, "120") == 0
    assert len(pd.read_csv(table)) == 120
    kept = beside.read_bytes()
    # The other table would be left without what says what it is.
    assert made(tmp_path / "mine.parquet") == 2
    assert beside.read_bytes() == kept
    assert not (tmp_path / "mine.parquet").exists()


def test_a_pool_takes_no_place_that_was_taken_while_it_was_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    table, make = tmp_path / "mine.csv", pools.make_kept

    def meanwhile(*given: Any) -> None:
        make(*given)
        table.write_text("mine", encoding="utf-8")

    monkeypatch.setattr(pools, "make_kept", meanwhile)
    line = ["pool", "tuberculosis-patients", "--pool-size", "100", "--out", str(table)]
    assert main(line) == 2
    assert "mine.csv is there already" in capsys.readouterr().err
    assert table.read_text(encoding="utf-8") == "mine"
