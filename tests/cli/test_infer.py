"""``infer``: from a file to a posterior and its files."""

from __future__ import annotations

import json
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from abcdp_core.__main__ import INTERRUPTED, main
from abcdp_core.cli import ending, simulations
from abcdp_core.output.page import LIBRARY
from abcdp_core.places import EXAMPLES
from abcdp_core.posterior import rounds
from abcdp_core.published import inference, problems, reference, report
from abcdp_core.workers import LostWorkersError

FILES = {"infer.csv", "infer.summary.csv", "infer.json", "infer.html", LIBRARY}
REGRESSION = EXAMPLES / "linear_regression.toml"


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A first round of a few thousand draws."""
    monkeypatch.setattr(rounds, "FIRST", 6000)


def infer(problem: Path, out: Path) -> int:
    return main(["infer", str(problem), "--workers", "1", "--out", str(out)])


@pytest.mark.usefixtures("small")
def test_a_problem_becomes_files_and_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert infer(REGRESSION, tmp_path) == 0
    assert {file.name for file in tmp_path.iterdir()} == FILES
    said = capsys.readouterr().out.split("\n")[0]
    assert said.startswith("Posterior mean ± standard deviation: β0 \u2212")
    assert "Computed by importance sampling (effective sample size" in said
    assert said.endswith("This spends no privacy budget: nothing private was read.")

    draws, summary = (pd.read_csv(tmp_path / f"{name}.csv") for name in ("infer", "infer.summary"))
    assert draws.columns.tolist() == ["weight", "theta.β0", "theta.β1", "theta.β2"]
    means = draws.weight @ draws.drop(columns="weight")
    assert (np.abs(means.to_numpy() - summary["mean"]) < 0.02 * summary.sd).all()
    exact = reference.read().query("problem == 'linear_regression'")
    assert (np.abs(summary["mean"].to_numpy() - exact["mean"]) < 0.1 * exact.sd).all()
    assert (np.abs(summary.sd.to_numpy() / exact.sd - 1.0) < 0.1).all()

    record = json.loads((tmp_path / "infer.json").read_text(encoding="utf-8"))
    assert record["way"] == "importance sampling"
    command = "abcdp infer linear_regression.toml --out results/linear_regression"
    assert record["command"] == command
    assert sum(each["draws"] for each in record["rounds"]) == record["simulated"]
    assert record["fit"]["p_value"] > 0.01
    assert record["fit"]["statement"] in said
    assert record["summary"] == said
    spent = {"epsilon_total": 1.0, "unit": "one record", "neighbours": "replace"}
    assert record["spent_by_the_release"] == spent
    assert record["privacy"].startswith(f"{report.NO_COST} The release itself spent ε_total = 1")
    html = (tmp_path / "infer.html").read_text(encoding="utf-8")
    assert "Posterior from the noisy query: linear regression" in html
    assert html.count(report.NO_COST) == 1


def pool_problem(folder: Path, scale: float) -> Path:
    rng = np.random.default_rng(1)
    theta = rng.normal(size=1500)
    pool = pd.DataFrame({"theta.a": theta, "summary.s": theta + rng.normal(size=1500)})
    pool.to_csv(folder / "pool.csv", index=False)
    file = folder / "pool.toml"
    file.write_text(
        f'pool = "pool.csv"\nquery = [1.0]\n[noise]\nlaw = "gaussian"\nscale = {scale}\n',
        encoding="utf-8",
    )
    return file


@pytest.mark.parametrize(
    ("scale", "words"),
    [
        (1.0, "from 1,500 draws of the pool; 2,000 wanted)."),
        (1e-9, "Computed by regression adjustment, which is approximate, because too few draws "
               "carry weight (effective sample size 1 from 1,500 draws of the pool)."),
    ],
)  # fmt: skip
def test_a_pool_says_how_it_was_used(
    scale: float, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert infer(pool_problem(tmp_path, scale), tmp_path / "out") == 0
    assert words in capsys.readouterr().out
    record = json.loads((tmp_path / "out" / "infer.json").read_text(encoding="utf-8"))
    assert record["pool"] == "pool.csv"
    assert record["spent_by_the_release"] is None
    assert record["privacy"].endswith("The budget of the release itself is not stated.")


def test_a_name_from_a_file_moves_no_cursor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = pool_problem(tmp_path, 1.0)
    table = pd.read_csv(tmp_path / "pool.csv")
    table.columns = pd.Index(["theta.\x1b[31mred\u202e", "summary.s"])
    table.to_csv(tmp_path / "pool.csv", index=False)
    assert infer(file, tmp_path / "out") == 0
    said = capsys.readouterr().out
    assert "deviation: ?[31mred? " in said
    assert "\x1b" not in said
    assert ending.harmless("ε") == "ε"


def shared_by(executor: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers at once, and which."""
    monkeypatch.setattr(simulations, "ALONE", 0.0)
    monkeypatch.setattr(simulations, "executor_for", lambda _: executor)


def test_lost_workers_are_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(ThreadPoolExecutor):
        def submit(self, *_: Any, **__: Any) -> Future[Any]:
            future: Future[Any] = Future()
            future.set_exception(BrokenExecutor())
            return future

    shared_by(Broken(2), monkeypatch)
    words = "a worker process crashed or was killed"
    with simulations.done_by("2") as each, pytest.raises(LostWorkersError, match=words):
        inference.infer(problems.read(REGRESSION), each)


@pytest.mark.usefixtures("small")
def test_workers_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    this = problems.read(REGRESSION)
    shared_by(ThreadPoolExecutor(2), monkeypatch)
    with simulations.done_by("2") as each:
        found = inference.infer(this, each)
    np.testing.assert_array_equal(found.theta, inference.infer(this).theta)


@pytest.mark.usefixtures("small")
def test_ctrl_c_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "infer.csv").write_text("earlier", encoding="utf-8")

    def interrupted(task: rounds.Task) -> rounds.Draws:
        raise KeyboardInterrupt

    monkeypatch.setattr(rounds, "simulate", interrupted)
    assert infer(REGRESSION, tmp_path) == INTERRUPTED
    assert "no file was left half-written" in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["infer.csv"]
    assert (tmp_path / "infer.csv").read_text(encoding="utf-8") == "earlier"
