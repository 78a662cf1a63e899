"""``infer``: from a file to a posterior and its files."""

from __future__ import annotations

import json
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from abcdp_core.__main__ import main
from abcdp_core.base.places import EXAMPLES
from abcdp_core.cli import simulations
from abcdp_core.posterior import rounds
from abcdp_core.posterior.published import inference, problems, reference, report
from abcdp_core.publish.output.page import LIBRARY
from abcdp_core.run.workers import LostWorkersError

FILES = {"infer.csv", "infer.summary.csv", "infer.json", "infer.html", LIBRARY}
REGRESSION = EXAMPLES / "linear_regression.toml"


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A first round of a few thousand draws."""
    monkeypatch.setattr(rounds, "FIRST", 6000)


def infer(problem: Path, out: Path, *more: str) -> int:
    return main(["infer", str(problem), "--workers", "1", "--out", str(out), *more])


def record_in(folder: Path) -> Any:
    return json.loads((folder / "infer.json").read_text(encoding="utf-8"))


def test_a_problem_becomes_files_and_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    apart = tmp_path.with_suffix(".csv")
    assert infer(REGRESSION, tmp_path, "--draws", str(apart)) == 0
    assert {file.name for file in tmp_path.iterdir()} == FILES
    limit, said = capsys.readouterr().out.split("\n")[:2]
    assert limit.endswith("check of the fit take about 120 s each at most.")
    assert said.startswith("Posterior mean ± standard deviation: β0 \u2212")

    draws, summary = (pd.read_csv(tmp_path / f"{name}.csv") for name in ("infer", "infer.summary"))
    assert draws.columns.tolist() == ["weight", "theta.β0", "theta.β1", "theta.β2"]
    for values in (draws.drop(columns="weight"), pd.read_csv(apart)):
        ends = np.quantile(values, (0.05, 0.95), axis=0)
        np.testing.assert_allclose(ends, summary[["low", "high"]].T)
        np.testing.assert_allclose(values.mean(), summary["mean"])
    exact = reference.read().query("problem == 'linear_regression'")
    assert (np.abs(summary["mean"].to_numpy() - exact["mean"]) < 0.1 * exact.sd).all()
    assert (np.abs(summary.sd.to_numpy() / exact.sd - 1.0) < 0.1).all()

    record = record_in(tmp_path)
    assert record["way"] == "importance sampling"
    assert record["command"] == "abcdp infer linear_regression.toml --out results/linear_regression"
    assert sum(each["draws"] for each in record["rounds"]) == record["simulated"]
    assert record["fit"]["statement"] in said == record["summary"]
    spent = {"epsilon_total": 1.0, "unit": "one record", "neighbours": "replace"}
    assert record["spent_by_the_release"] == spent
    assert record["privacy"].startswith(f"{report.NO_COST} The release itself spent ε_total = 1")
    assert (tmp_path / "infer.html").read_text(encoding="utf-8").count(report.NO_COST) == 1


def test_a_pool_says_how_it_was_used_and_its_names_move_no_cursor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(1)
    theta = rng.normal(size=1500)
    pool = {"theta.\x1b[31mred\u202e": theta, "summary.s": theta + rng.normal(size=1500)}
    pd.DataFrame(pool).to_csv(tmp_path / "pool.csv", index=False)
    problem = 'pool = "pool.csv"\nquery = [1.0]\n[noise]\nlaw = "gaussian"\nscale = 1.0\n'
    (tmp_path / "pool.toml").write_text(problem, encoding="utf-8")
    assert infer(tmp_path / "pool.toml", tmp_path / "out") == 0
    said = capsys.readouterr().out
    assert "from 1,500 draws of the pool; 2,000 wanted)." in said
    assert "deviation: ?[31mred? " in said
    assert "\x1b" not in said
    record = record_in(tmp_path / "out")
    assert (record["pool"], record["spent_by_the_release"]) == ("pool.csv", None)


def shared_by(executor: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers at once, and which."""
    monkeypatch.setattr(simulations, "ALONE", 0.0)
    monkeypatch.setattr(simulations, "executor_for", lambda _: executor)


def test_workers_change_nothing_and_lost_ones_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(ThreadPoolExecutor):
        def submit(self, *_: Any, **__: Any) -> Future[Any]:
            future: Future[Any] = Future()
            future.set_exception(BrokenExecutor())
            return future

    this = problems.read(REGRESSION)
    shared_by(ThreadPoolExecutor(2), monkeypatch)
    with simulations.done_by(2) as each:
        found = inference.infer(this, each)
    np.testing.assert_array_equal(found.theta, inference.infer(this).theta)
    shared_by(Broken(2), monkeypatch)
    words = "a worker process crashed or was killed"
    with simulations.done_by(2) as each, pytest.raises(LostWorkersError, match=words):
        inference.infer(this, each)
