"""A pool made elsewhere is read in units, and writing and reading agree."""

from __future__ import annotations

import dataclasses
import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from abcdp_core.__main__ import INTERRUPTED, main
from abcdp_core.base import tabular
from abcdp_core.base.parameters import ParameterError
from abcdp_core.evaluation import held_out
from abcdp_core.mechanisms import Budget, private_summary
from abcdp_core.models import pool as pools
from abcdp_core.models.own_model import export, pool_file, reading
from abcdp_core.models.own_model.pool_file import Numbers
from abcdp_core.models.pool import making
from tests.models.own_model.models import GAUSSIAN, SIR, from_example, scenario
from tests.models.own_model.pools import ADDED, DECLARED, TOGETHER, TOML, made, table


def test_a_pool_is_read_in_units(tmp_path: Path) -> None:
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
    assert (l1, l2) == pytest.approx((4.0, 2.0))
    # With a margin for rounding.
    assert min(l1 / 4.0, l2 / 2.0) > 1.0
    statistic = found.statistic()
    assert (found.protected, statistic.whole, statistic.low) == ("one person", None, (0.0,) * 4)


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


@pytest.mark.parametrize(("name", "suffix"), [("gaussian", ".csv"), ("sir", ".parquet")])
def test_the_round_trip_gives_the_same_posterior(name: str, suffix: str, tmp_path: Path) -> None:
    source = scenario(name)
    rng = np.random.default_rng(5)
    theta = source.prior(rng, 1200)
    n = 100 if name == "gaussian" else 60
    numbers = source.statistics["numbers"].reduce(source.simulate(rng, theta, n))
    pool, values = export.pool_of(source, theta, numbers, n, tmp_path / "pool.toml")
    export.write(pool, values, tmp_path / f"pool{suffix}")
    back = reading.read(tmp_path / "pool.toml")
    names = [f"theta.{each.name}" for each in pool.parameters]
    names += [f"summary.{each.name}" for each in pool.summaries]
    assert list(tabular.pools.read(tmp_path / f"pool{suffix}")) == names
    assert back == pool
    odd = dataclasses.replace(pool, title='a "b" \\ c' * 15, unit="one of θ's")
    (tmp_path / "pool.toml").write_text(export.as_toml(odd, f"pool{suffix}"), encoding="utf-8")
    assert reading.read(tmp_path / "pool.toml") == odd
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
        samples.append(release.sample(side.theta).values)
    assert samples[0] == pytest.approx(samples[1], rel=1e-6)
    assert len(samples[0]) > 100


def test_held_out_draws_measure_the_error_of_a_release(tmp_path: Path) -> None:
    pool = reading.read(made(tmp_path))
    # The mean of 50 records, with noise of 4 units of 8 / 50 at ε_total = 1 and none at 1000.
    good, bad = (held_out.measure(pool, budget, 40, 1) for budget in (1000.0, 0.01))
    assert good.sets == 40
    assert good.error_low < good.error < good.error_high < bad.error_low
    assert good.error < 0.5
    assert 0.8 < bad.error < 1.3
    assert bad.coverage_low < bad.coverage <= bad.coverage_high
    assert bad.coverage > 0.8


@pytest.mark.parametrize(
    ("toml", "words"),
    [
        (TOML, "by at most 4 and 2 (L1 and L2"),
        (TOML, "1 row repeats an earlier row"),
        (TOML, "with 201 draws, intervals may be inaccurate; 2,000 draws are enough."),
        (DECLARED, "one person, if the sensitivity declared for average holds."),
        (ADDED, "When one record is added or removed"),
    ],
)
def test_the_command_checks_a_pool(
    toml: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pool = pd.concat([table(), table()[:1]])
    assert main(["check", str(made(tmp_path, toml, pool)), "--runs", "10"]) == 0
    assert words in " ".join(capsys.readouterr().out.split())


def test_a_pool_of_a_shipped_scenario_declares_its_sensitivity(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out" / "pool.csv"
    assert main(f"pool uniform-mixture --pool-size 200 --n 100 --out {out}".split()) == 0
    assert "200 draws of uniform-mixture with N = 100" in capsys.readouterr().out
    assert main(["check", str(out.with_suffix(".toml")), "--runs", "0"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "by at most 2 and 1.414 (L1 and L2, each number in units of its largest change" in said
    assert "if the sensitivity declared for all summaries holds" in said


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


STOPS = """
from pathlib import Path

_simulate = simulate


def simulate(rng, theta, n):
    calls = Path("FOLDER/calls")
    if len(theta) == 50:
        calls.write_text(calls.read_text() + "x")
        if len(calls.read_text()) == 2:
            raise KeyboardInterrupt
    return _simulate(rng, theta, n)


MODEL = """
"""A pool of 150 draws has three parts; Ctrl-C comes in the second."""


@pytest.mark.usefixtures("own_registry", "empty_cache")
def test_an_interrupted_pool_continues_from_its_finished_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = from_example(tmp_path, ("MODEL = ", STOPS.replace("FOLDER", str(tmp_path)).strip("\n")))
    calls, out = tmp_path / "calls", tmp_path / "pool.csv"
    calls.touch()
    line = f"pool gaussian-2d --plugin {file} --pool-size 150 --n 100 --out {out}".split()
    monkeypatch.setattr(making, "WORTH_KEEPING", 0.0)
    # Parts one after the other, whoever chose another way before.
    monkeypatch.setattr(making, "_makers", lambda: ThreadPoolExecutor(1))
    assert main(line) == INTERRUPTED
    assert "finished parts of a slow pool are kept" in capsys.readouterr().err
    assert not out.exists()
    pools.forget()
    assert main(line) == 0
    # The first part was kept; the second and the third were made.
    assert calls.read_text() == "xxxx"
    continued = out.read_bytes()
    monkeypatch.setenv("ABCDP_CACHE_DIR", str(tmp_path / "another"))
    pools.forget()
    assert main(line) == 0
    assert out.read_bytes() == continued
    assert calls.read_text() == "xxxxxxx"
