"""The public step of the tuberculosis study: addressed, nested, resumable, counted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from abcdp_core import runner, tasks
from abcdp_core.results import Result
from abcdp_core.simulators import tuberculosis
from abcdp_core.streams import generator
from tests.distances.test_outbreaks import plain
from tools import tuberculosis_pool as study

PARAMS = study.Params(n=(100,), pool_size=12, observed_sets=2)
SEED = 3


@pytest.fixture(scope="module")
def result() -> Result:
    return runner.run_to_end(study, PARAMS, SEED)


def test_a_distance_is_that_of_the_outbreaks_addressed(result: Result) -> None:
    main = result.tables["main"].set_index(["n", "observed_set", "t"]).rho
    theta = tuberculosis.prior(generator(SEED, "tuberculosis-prior", 7), 1)
    ours = tuberculosis.simulate(generator(SEED, "tuberculosis-outbreaks", 7), theta, 100)[0]
    theirs, _ = tuberculosis.observed(generator(SEED, "tuberculosis-observed", 1), 100)
    assert main[100, 1, 7] == pytest.approx(plain(ours, theirs), rel=1e-13)
    assert len(main) == 24
    table = result.tables["theta"].set_index(["t", "parameter"])["value"]
    assert table[7].to_numpy().tolist() == theta[0].tolist()
    assert list(table[7].index) == list(tuberculosis.AXES)
    first = result.tables["outbreaks"].set_index(["t", "summary"])["value"]
    assert first[7].to_numpy().tolist() == ours[0].tolist()


def test_a_larger_pool_and_a_larger_n_begin_with_the_smaller(result: Result) -> None:
    both = study.Params(n=(100, 1000), observed_sets=1)
    main = study.work(tasks.Part(both, first=0, count=1, seed=3))["main"]
    assert main.n.tolist() == [100, 1000]
    assert main.rho[0] == result.tables["main"].rho[0]
    larger = study.tasks(study.Params(n=(100,), pool_size=500, observed_sets=2), SEED)
    assert study.tasks(PARAMS, SEED)[:2] == larger[:2]
    assert sum(task.count for task in study.tasks(PARAMS, SEED)) == 12
    assert sum(task.count for task in larger) == 500


def test_what_is_kept_serves_a_larger_pool(
    result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, done, work = runner.Store(tmp_path), [], study.work
    monkeypatch.setattr(study, "work", lambda task: (done.append(task.first), work(task))[1])
    smaller = study.Params(n=(100,), pool_size=10, observed_sets=2)
    list(runner.run(study, smaller, SEED, store=store))
    *_, again = runner.run(study, PARAMS, SEED, store=store)
    assert done == [0, 5, 10]
    for table, frame in result.tables.items():
        assert again.tables[table].equals(frame)


def test_tries_and_outbreaks_are_counted_over_all_tasks(result: Result) -> None:
    counts = result.tables["counts"].set_index("what")["count"]
    refused = sum(
        tuberculosis.draw_prior(generator(SEED, "tuberculosis-prior", t), 1)[1] for t in range(12)
    )
    assert counts.to_numpy()[:3].tolist() == np.asarray(refused).tolist()
    assert len(counts) == 5


def test_each_task_tells_of_the_observed_sets_and_is_not_added(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = tuberculosis.observed_set
    monkeypatch.setattr(tuberculosis, "observed_set", lambda *address: (known(*address)[0], 4))
    counts = runner.run_to_end(study, PARAMS, SEED).tables["counts"].set_index("what")
    assert counts["count"][study.OBSERVED_AGAIN] == 8


def test_the_wider_prior_of_the_burden_can_be_asked_for() -> None:
    params = study.Params(n=(100,), pool_size=10, observed_sets=1, burden="standard deviation 30")
    theta = runner.run_to_end(study, params, SEED).tables["theta"]
    burden = theta[theta.parameter == "β"]["value"].to_numpy()
    narrow = np.array(
        [tuberculosis.prior(generator(SEED, "tuberculosis-prior", t), 1)[0, 3] for t in range(10)]
    )
    # The same standard normal number, on another scale.
    assert (burden - 200.0) / (narrow - 200.0) == pytest.approx(30.0**0.5)
