"""The store of finished tasks: only missing ones are done again, and none of other code."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import cast

import pytest

from abcdp_core.base import registry
from abcdp_core.run import runner
from abcdp_core.run.results import Tables
from abcdp_core.run.store import Store
from abcdp_core.studies import Experiment
from tests import toy_chain, toy_experiment
from tests.toy_experiment import Params, Task
from tests.toys import TOY, assert_same, chains_alone, last, recording, toy_with


def counting(done: list[int]) -> Experiment:
    def work(task: Task) -> Tables:
        done.append(task.index)
        return toy_experiment.work(task)

    return toy_with(work=work)


@pytest.mark.usefixtures("every_result")
def test_a_later_run_does_only_the_missing_tasks(tmp_path: Path) -> None:
    store = Store(tmp_path / "store", keep_all=True)
    done: list[int] = []
    results = runner.run(counting(done), Params(size=6), 1, store=store)
    for _ in range(3):
        next(results)
    results.close()
    assert done == [0, 1, 2]
    with ThreadPoolExecutor(2) as threads:
        resumed = last(runner.run(counting(done), Params(size=6), 1, threads, store))
    assert sorted(done) == [0, 1, 2, 3, 4, 5]
    assert resumed.kept == 3
    assert_same(resumed, runner.run_to_end(TOY, Params(size=6), 1))


class Lookalike(Task):
    """Another kind of task with the same fields."""


def test_another_seed_study_or_kind_of_task_reuses_nothing(tmp_path: Path) -> None:
    store, done = Store(tmp_path), list[int]()
    for seed in (1, 2, 1):
        last(runner.run(counting(done), Params(size=1), seed, store=store))
    other, alike = counting(done), counting(done)
    other.EXPERIMENT = "other"
    alike.tasks = lambda _, seed: [Lookalike(0, 0.0, -1, seed)]
    for study in (other, alike, other, alike):
        last(runner.run(study, Params(size=1), 1, store=store))
    assert len(done) == len(list(tmp_path.iterdir())) == 4


def test_a_changed_study_reuses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = Path(toy_experiment.__file__).read_text(encoding="utf-8")
    file, store = tmp_path / "mine.py", Store(tmp_path / "store")
    monkeypatch.setattr(registry, "_added", [])
    for factor, expected in ((1, [0, 1, 4]), (1, [0, 1, 4]), (2, [0, 2, 8])):
        file.write_text(text.replace("k**2", f"k**2 * {factor}"), encoding="utf-8")
        study = cast(Experiment, registry.add_file(file))
        result = last(runner.run(study, study.Params(size=3), 1, store=store))
        assert list(result.tables["main"]["square"]) == expected


@pytest.mark.usefixtures("every_result")
def test_a_stopped_chain_starts_again_and_a_finished_one_does_not(tmp_path: Path) -> None:
    store, begun = Store(tmp_path / "store"), list[tuple[int, int]]()
    results = runner.run(recording(begun), toy_chain.Params(), 1, store=store)
    # The first chain has 4 links; the last two are of the second.
    assert [next(results).done for _ in range(6)] == [1, 2, 3, 4, 5, 6]
    results.close()
    begun.clear()
    resumed = list(runner.run(recording(begun), toy_chain.Params(), 1, store=store))
    assert begun == [(1, link) for link in range(5)] + [(2, link) for link in range(6)]
    assert [result.done for result in resumed] == list(range(4, 16))
    assert_same(resumed[-1], chains_alone())
    begun.clear()
    again = last(runner.run(recording(begun), toy_chain.Params(), 1, store=store))
    assert begun == []
    assert_same(again, chains_alone())
