from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from typing import Any

import pytest

from abcdp_core import runner, workers
from abcdp_core.results import Result, Tables
from abcdp_core.studies import Chunk
from tests import toy_chain, toy_experiment
from tests.toy_experiment import Params, Task
from tests.toys import (
    CHAIN,
    TOY,
    assert_same,
    chain_with,
    chains_alone,
    last,
    toy_with,
)

# ------------------------------------------------------------ partial results


@pytest.mark.usefixtures("every_result")
@pytest.mark.parametrize("workers", [0, 3])
def test_results_grow_and_end_complete(workers: int) -> None:
    executor = ThreadPoolExecutor(workers) if workers else None
    results = list(runner.run(TOY, Params(size=6), 7, executor))
    assert [result.done for result in results] == [1, 2, 3, 4, 5, 6]
    assert [result.is_partial for result in results] == [True] * 5 + [False]
    assert [len(result.tables["main"]) for result in results] == [1, 2, 3, 4, 5, 6]
    assert {result.total for result in results} == {6}
    assert {result.seed for result in results} == {7}


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
    said = [result.done for result in runner.run(study, Params(size=20), 1)]
    # Every quarter of a second; from the sixth task on every 0.0625 / 0.1 seconds.
    assert said == [1, 3, 5, 7, 12, 17, 20]


class AtOnce(Executor):
    """It has done a task when it has taken it, and counts them."""

    _max_workers = 4
    given = 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.given += 1
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


@pytest.mark.usefixtures("every_result")
def test_no_more_is_handed_out_where_links_go_on_or_workers_become_fewer() -> None:
    executor, given = AtOnce(), []
    for result in runner.run(CHAIN, toy_chain.Params(size=9, length=2), 1, executor):
        given.append(executor.given - (result.done - 1))
        executor._max_workers = 4 if result.done < 10 else 1
    assert runner.IN_FLIGHT_PER_WORKER == 2
    assert given[:30] == [8] * 10 + [7, 6, 5, 4, 3] + [2] * 15
    assert max(given[30:]) == 2


# --------------------------------------------------------------------- cancel


class EnoughError(Exception):
    """Somebody has waited long enough."""


def test_who_waits_for_workers_looks_meanwhile_whether_to_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runner, "CHECK_EVERY", 0.001)
    begun, go = threading.Event(), threading.Event()

    def work(_: Task) -> Tables:
        begun.set()
        assert go.wait(60)
        return {}

    def check() -> None:
        if begun.is_set():
            raise EnoughError

    with ThreadPoolExecutor(1) as threads:
        with pytest.raises(EnoughError):
            last(runner.run(toy_with(work=work), Params(), 1, threads, check=check))
        go.set()


@pytest.mark.parametrize("threads", [False, True])
def test_between_two_tasks_somebody_looks_whether_to_go_on(threads: bool) -> None:
    done: list[Task] = []

    def work(task: Task) -> Tables:
        done.append(task)
        return toy_experiment.work(task)

    def check() -> None:
        if len(done) >= 3:
            raise EnoughError

    executor = AtOnce() if threads else None
    with pytest.raises(EnoughError):
        last(runner.run(toy_with(work=work), Params(size=50), 1, executor, check=check))
    assert 3 <= len(done) <= (8 if threads else 3)


class Waiting(Executor):
    """Two workers, of which one has done its first task, or failed at it, and the rest waits."""

    _max_workers = 2

    def __init__(self, *, fails: bool) -> None:
        self.futures: list[Future[Any]] = []
        self.fails = fails

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        if self.futures:
            pass
        elif self.fails:
            future.set_exception(ArithmeticError("task 0"))
        else:
            future.set_result(fn(*args, **kwargs))
        self.futures.append(future)
        return future


@pytest.mark.usefixtures("every_result")
@pytest.mark.parametrize("fails", [False, True])
def test_what_is_handed_out_and_has_not_begun_is_taken_back(fails: bool) -> None:
    executor = Waiting(fails=fails)
    results = runner.run(TOY, Params(size=100), 1, executor)
    if fails:
        with pytest.raises(ArithmeticError, match="task 0"):
            next(results)
    else:
        assert next(results).done == 1
        results.close()
    _, *waiting = executor.futures
    assert len(waiting) == runner.IN_FLIGHT_PER_WORKER * 2 - 1
    assert all(future.cancelled() for future in waiting)


# --------------------------------------------------------------------- chains


@pytest.mark.usefixtures("every_result")
@pytest.mark.parametrize("workers", [0, 3])
def test_links_are_counted_and_their_rows_come_as_they_are_done(workers: int) -> None:
    executor = ThreadPoolExecutor(workers) if workers else None
    # Three chains of 2, 3 and 4 links.
    results = list(runner.run(CHAIN, toy_chain.Params(length=2), 7, executor))
    assert [result.done for result in results] == list(range(1, 10))
    assert {result.total for result in results} == {9}
    assert [len(result.tables["main"]) for result in results] == list(range(1, 10))
    assert [result.is_partial for result in results] == [True] * 8 + [False]
    ends = [len(result.tables["ends"]) for result in results]
    assert ends == sorted(ends)
    assert ends[0] == 0
    assert ends[-1] == 3
    for result in results:
        for _, chain in result.tables["main"].groupby("chain"):
            assert list(chain.link) == list(range(1, len(chain) + 1))
    assert list(results[-1].tables["ends"].total) == [7 + 3, 7 + 6, 7 + 10]


@pytest.mark.usefixtures("every_result")
def test_rows_of_chains_are_in_the_order_of_tasks_whatever_finishes_first() -> None:
    others_are_done = threading.Event()

    def work(task: Any) -> Chunk:
        # The first chain waits after its first link.
        if isinstance(task, toy_chain.Continuation) and task.task.chain == 0:
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


# --------------------------------------------------------------- lost workers


@pytest.fixture
def replaceable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads stand for processes that are replaced."""
    monkeypatch.setattr(workers, "can_replace", lambda _: True)


@pytest.mark.usefixtures("replaceable")
def test_what_lost_workers_did_is_done_again_and_of_a_chain_one_link() -> None:
    begun: Counter[tuple[int, int]] = Counter()

    def work(task: Any) -> Chunk:
        onward = isinstance(task, toy_chain.Continuation)
        here = (task.task.chain, task.done) if onward else (task.chain, 0)
        begun[here] += 1
        if begun[here] == 1 and sum(here) % 2:
            raise BrokenExecutor("killed")
        return toy_chain.work(task)

    with ThreadPoolExecutor(2) as threads:
        result = last(runner.run(chain_with(work), toy_chain.Params(), 1, threads))
    assert_same(result, chains_alone())
    assert all(count == 1 + sum(here) % 2 for here, count in begun.items())


@pytest.mark.usefixtures("replaceable")
def test_a_task_that_costs_workers_again_ends_the_run_after_all_others() -> None:
    lock, going_on, together = threading.Lock(), 0, []

    def work(task: Task) -> Tables:
        nonlocal going_on
        with lock:
            going_on += 1
        try:
            if task.index in (2, 5):
                together.append(going_on)
                raise BrokenExecutor("killed")
            return toy_experiment.work(task)
        finally:
            with lock:
                going_on -= 1

    seen: list[Result] = []
    with ThreadPoolExecutor(3) as threads:
        results = runner.run(toy_with(work=work), Params(size=9, pause=0.01), 1, threads)
        with pytest.raises(workers.LostWorkersError, match="again at the same task"):
            seen.extend(results)
    # The last time it is alone, so that no other task can be to blame.
    assert together[-1] == 1
    assert len(together) == 3
    # All that was done is in the last result, however fast it came.
    assert list(seen[-1].tables["main"]["index"]) == [0, 1, 3, 4, 6, 7, 8]
    assert (seen[-1].done, seen[-1].total) == (7, 9)


@pytest.mark.usefixtures("every_result")
@pytest.mark.parametrize("stop", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("at", [0, 3])
def test_what_is_done_comes_once_before_a_stop(stop: type[BaseException], at: int) -> None:
    def work(task: Task) -> Tables:
        if task.index == at:
            raise stop
        return toy_experiment.work(task)

    seen: list[Result] = []
    with pytest.raises(stop):
        seen.extend(runner.run(toy_with(work=work), Params(), 1))
    assert [result.done for result in seen] == list(range(1, at + 1))
