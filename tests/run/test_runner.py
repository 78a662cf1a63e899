"""Running a study: partial results, tasks in flight, stops, and workers that are lost."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from typing import Any

import pytest

from abcdp_core.run import runner, workers
from abcdp_core.run.results import Result, Tables
from abcdp_core.run.tasks import Chunk
from tests import toy_chain, toy_experiment
from tests.toy_experiment import Params, Task
from tests.toys import CHAIN, TOY, assert_same, chain_with, chains_alone, last, place, toy_with

# ------------------------------------------------------------ partial results


@pytest.mark.usefixtures("every_result")
@pytest.mark.parametrize("threads", [0, 3])
def test_results_grow_by_tasks_and_by_links_and_end_complete(threads: int) -> None:
    executor = ThreadPoolExecutor(threads) if threads else None
    tasks = list(runner.run(TOY, Params(size=9), 7, executor))
    # Three chains of 2, 3 and 4 links.
    links = list(runner.run(CHAIN, toy_chain.Params(length=2), 7, executor))
    for results in (tasks, links):
        assert [result.done for result in results] == list(range(1, 10))
        assert [len(result.tables["main"]) for result in results] == list(range(1, 10))
        assert [result.is_partial for result in results] == [True] * 8 + [False]
        assert {(result.total, result.seed) for result in results} == {(9, 7)}
    for result in links:
        for _, chain in result.tables["main"].groupby("chain"):
            assert list(chain.link) == list(range(1, len(chain) + 1))
    assert len(links[0].tables["ends"]) == 0
    assert list(links[-1].tables["ends"].total) == [7 + 3, 7 + 6, 7 + 10]


def test_partial_results_take_no_more_than_a_tenth_of_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 1000.0

    def work(task: Task) -> Tables:
        nonlocal now
        now += 0.125
        return toy_experiment.work(task)

    def collect(params: Params, rows: Tables) -> Result:
        nonlocal now
        now += 0.0625 if len(rows["main"]) > 5 else 0.0
        return toy_experiment.collect(params, rows)

    monkeypatch.setattr(runner.time, "monotonic", lambda: now)
    study = toy_with(work=work, collect=collect)
    done = [result.done for result in runner.run(study, Params(size=20), 1)]
    # Every quarter of a second; from the sixth task on every 0.0625 / 0.1 seconds.
    assert done == [1, 3, 5, 7, 12, 17, 20]


@pytest.mark.usefixtures("every_result")
def test_rows_of_chains_are_in_the_order_of_tasks_whatever_finishes_first() -> None:
    others_are_done = threading.Event()

    def work(task: Any) -> Chunk:
        if place(task) == (0, 1):
            assert others_are_done.wait(60)
        return toy_chain.work(task)

    results = []
    with ThreadPoolExecutor(3) as threads:
        for result in runner.run(chain_with(work), toy_chain.Params(), 1, threads):
            results.append(result)
            if set(result.tables["ends"].chain) == {1, 2}:
                others_are_done.set()
            assert result.tables["main"].chain.is_monotonic_increasing
    assert others_are_done.is_set()
    assert_same(results[-1], chains_alone())


# ------------------------------------------------------------ ends before the end


class Recording(ThreadPoolExecutor):
    """Threads that keep the futures they gave."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.futures: list[Future[Any]] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.futures.append(super().submit(fn, *args, **kwargs))
        return self.futures[-1]


class EnoughError(Exception):
    """Somebody has waited long enough."""


@pytest.mark.usefixtures("every_result")
@pytest.mark.parametrize("end", ["check", "error", "close"])
def test_a_run_that_ends_while_it_waits_cancels_what_has_not_begun(
    end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "CHECK_EVERY", 0.001)
    begun, go = threading.Event(), threading.Event()

    def work(task: Task) -> Tables:
        if task.index == 0 and end != "check":
            return toy_experiment.work(task)
        begun.set()
        assert go.wait(60)
        return toy_experiment.work(task)

    def check() -> None:
        if end == "check" and begun.is_set():
            raise EnoughError

    fails = 0 if end == "error" else -1
    with Recording(2) as threads:
        results = runner.run(toy_with(work=work), Params(100, 0.0, fails), 1, threads, check=check)
        if end == "close":
            assert next(results).done == 1
            results.close()
        else:
            with pytest.raises((EnoughError, ArithmeticError)):
                last(results)
        waiting = threads.futures[3:]
        assert 0 < len(waiting) <= runner.IN_FLIGHT_PER_WORKER * 2 - 2
        assert all(future.cancelled() for future in waiting)
        go.set()


@pytest.mark.usefixtures("every_result")
@pytest.mark.parametrize(("stop", "at"), [(KeyboardInterrupt, 0), (MemoryError, 3)])
def test_finished_tasks_are_reported_once_before_a_stop(stop: type[BaseException], at: int) -> None:
    def work(task: Task) -> Tables:
        if task.index == at:
            raise stop
        return toy_experiment.work(task)

    seen: list[Result] = []
    with pytest.raises(stop):
        seen.extend(runner.run(toy_with(work=work), Params(), 1))
    assert [result.done for result in seen] == list(range(1, at + 1))

    def check() -> None:
        if len(seen) == 2:
            raise EnoughError

    seen = []
    with pytest.raises(EnoughError):
        seen.extend(runner.run(TOY, Params(), 1, check=check))


# --------------------------------------------------------------- lost workers


@pytest.fixture
def replaceable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let threads be replaced as processes are."""
    monkeypatch.setattr(workers, "can_replace", lambda _: True)


@pytest.mark.usefixtures("replaceable")
def test_tasks_of_lost_workers_are_done_again_and_one_link_of_a_chain() -> None:
    begun: Counter[tuple[int, int]] = Counter()

    def work(task: Any) -> Chunk:
        here = place(task)
        begun[here] += 1
        if begun[here] == 1 and sum(here) % 2:
            raise BrokenExecutor("killed")
        return toy_chain.work(task)

    with ThreadPoolExecutor(2) as threads:
        result = last(runner.run(chain_with(work), toy_chain.Params(), 1, threads))
    assert_same(result, chains_alone())
    assert all(count == 1 + sum(here) % 2 for here, count in begun.items())


@pytest.mark.usefixtures("replaceable")
def test_a_task_that_loses_workers_twice_is_tried_alone_and_ends_the_run_after_all_others() -> None:
    running, together = set[int](), []

    def work(task: Task) -> Tables:
        running.add(task.index)
        try:
            if task.index in (2, 5):
                together.append(len(running))
                raise BrokenExecutor("killed")
            return toy_experiment.work(task)
        finally:
            running.remove(task.index)

    seen: list[Result] = []
    with ThreadPoolExecutor(3) as threads:
        results = runner.run(toy_with(work=work), Params(size=9, pause=0.01), 1, threads)
        with pytest.raises(workers.LostWorkersError, match="again at the same task"):
            seen.extend(results)
    # So that no other task can be to blame.
    assert together[-1] == 1
    assert len(together) == 3
    # The last result has everything that was done, however fast it came.
    assert list(seen[-1].tables["main"]["index"]) == [0, 1, 3, 4, 6, 7, 8]
    assert (seen[-1].done, seen[-1].total) == (7, 9)
