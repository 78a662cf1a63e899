from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from abcdp_core import cache, experiments, registry, runner
from abcdp_core.experiments import Experiment, mse_curves
from abcdp_core.parameters import ParameterError
from abcdp_core.results import Result, Tables
from tests import toy_chain, toy_experiment
from tests.toy_experiment import Params, Task

TOY = cast(Experiment, toy_experiment)
CHAIN = cast(Experiment, toy_chain)


def toy_with(**changes: Any) -> Experiment:
    """The toy experiment with other work or other tasks."""
    return cast(Experiment, SimpleNamespace(**vars(toy_experiment) | changes))


def last(results: Iterator[Result]) -> Result:
    *_, result = results
    return result


def chain_with(work: Callable[[Any], Any]) -> Experiment:
    """The toy chains with other work."""
    return cast(Experiment, SimpleNamespace(**vars(toy_chain) | {"work": work}))


def assert_same(first: Result, second: Result) -> None:
    assert first.tables.keys() == second.tables.keys()
    for name in first.tables:
        assert_frame_equal(first.tables[name], second.tables[name], check_exact=True)


@pytest.fixture
def every_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """A partial result after every task, however fast it is."""
    monkeypatch.setattr(runner, "YIELD_EVERY", 0.0)
    monkeypatch.setattr(runner, "YIELD_SHARE", float("inf"))


def plugged_in(file: Path) -> Iterator[Path]:
    """A file as a plug-in of this process, for a while."""
    before = list(registry._added)
    registry.add_file(file)
    yield file
    registry._added[:] = before
    sys.modules.pop(f"abcdp_plugin_{file.stem}", None)
    registry.scan.cache_clear()


@pytest.fixture
def plug_in() -> Iterator[Path]:
    """The toy experiment as a plug-in."""
    yield from plugged_in(Path(toy_experiment.__file__))


@pytest.fixture
def chain_plug_in() -> Iterator[Path]:
    """The toy chains as a plug-in."""
    yield from plugged_in(Path(toy_chain.__file__))


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


@pytest.mark.usefixtures("every_result")
def test_rows_are_in_the_order_of_tasks_whatever_finishes_first() -> None:
    second_is_done = threading.Event()

    def work(task: Task) -> Tables:
        if task.index == 0:
            assert second_is_done.wait(60)
        return toy_experiment.work(task)

    first, final = [], None
    with ThreadPoolExecutor(2) as threads:
        for result in runner.run(toy_with(work=work), Params(size=4), 1, threads):
            first.append(int(result.tables["main"]["index"].iloc[0]))
            second_is_done.set()
            final = result
    assert first[0] != 0
    assert final is not None
    assert list(final.tables["main"]["index"]) == [0, 1, 2, 3]


def test_few_partial_results_where_tasks_are_faster_than_a_reader() -> None:
    results = list(runner.run(TOY, Params(size=500), 1))
    assert len(results) < 100
    assert not results[-1].is_partial


# --------------------------------------------------------------------- cancel


@pytest.mark.usefixtures("every_result")
def test_closing_the_iterator_cancels_what_has_not_begun() -> None:
    begun: list[int] = []

    def work(task: Task) -> Tables:
        begun.append(task.index)
        return toy_experiment.work(task)

    with ThreadPoolExecutor(2) as threads:
        results = runner.run(toy_with(work=work), Params(size=100, pause=0.05), 1, threads)
        assert next(results).done == 1
        results.close()
    assert len(begun) <= 1 + runner.IN_FLIGHT_PER_WORKER * 2


@pytest.mark.usefixtures("every_result")
def test_closing_stops_the_work_of_this_thread() -> None:
    begun: list[int] = []

    def work(task: Task) -> Tables:
        begun.append(task.index)
        return toy_experiment.work(task)

    results = runner.run(toy_with(work=work), Params(size=100), 1)
    next(results)
    next(results)
    results.close()
    assert begun == [0, 1]


def test_only_a_few_tasks_are_handed_out_ahead() -> None:
    free = threading.Event()
    begun = threading.Semaphore(0)

    class Counting(ThreadPoolExecutor):
        submitted = 0

        def submit(self, *args: Any, **kwargs: Any) -> Any:
            self.submitted += 1
            return super().submit(*args, **kwargs)

    def work(task: Task) -> Tables:
        begun.release()
        assert free.wait(60)
        return toy_experiment.work(task)

    with Counting(2) as threads:
        results = runner.run(toy_with(work=work), Params(size=50), 1, threads)
        reader = threading.Thread(target=lambda: list(results))
        reader.start()
        assert begun.acquire(timeout=60)
        assert begun.acquire(timeout=60)
        assert threads.submitted <= runner.IN_FLIGHT_PER_WORKER * 2
        free.set()
        reader.join()
        assert threads.submitted == 50


@pytest.mark.parametrize("workers", [0, 2])
def test_an_error_in_a_task_comes_out_and_ends_the_rest(workers: int) -> None:
    begun: list[int] = []

    def work(task: Task) -> Tables:
        begun.append(task.index)
        return toy_experiment.work(task)

    executor = ThreadPoolExecutor(workers) if workers else None
    params = Params(size=100, fails=3, pause=0.01)
    with pytest.raises(ArithmeticError, match="task 3"):
        last(runner.run(toy_with(work=work), params, 1, executor))
    if executor is not None:
        executor.shutdown()
    assert len(begun) <= 4 + runner.IN_FLIGHT_PER_WORKER * max(workers, 1)


# --------------------------------------------------------------------- resume


def counting(done: list[int]) -> Experiment:
    def work(task: Task) -> Tables:
        done.append(task.index)
        return toy_experiment.work(task)

    return toy_with(work=work)


@pytest.mark.usefixtures("every_result")
@pytest.mark.parametrize("keep_all", [False, True])
def test_a_later_run_does_only_what_is_missing(keep_all: bool, tmp_path: Path) -> None:
    store = runner.Store(tmp_path / "store", keep_all)
    done: list[int] = []
    results = runner.run(counting(done), Params(size=6), 1, store=store)
    for _ in range(3):
        next(results)
    results.close()
    assert done == [0, 1, 2]

    with ThreadPoolExecutor(2) as threads:
        resumed = last(runner.run(counting(done), Params(size=6), 1, threads, store))
    assert sorted(done) == [0, 1, 2, 3, 4, 5]
    assert_same(resumed, runner.run_to_end(TOY, Params(size=6), 1))


def test_another_seed_takes_nothing_from_the_store(tmp_path: Path) -> None:
    store = runner.Store(tmp_path)
    done: list[int] = []
    for seed in (1, 2, 1):
        last(runner.run(counting(done), Params(size=2), seed, store=store))
    assert done == [0, 1, 0, 1]


def truncated(data: bytes) -> bytes:
    return data[: len(data) // 2]


def flipped(data: bytes) -> bytes:
    at = data.index(b"NUMPY") + 140
    return data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]


def emptied(data: bytes) -> bytes:
    return data[:0]


def replaced(data: bytes) -> bytes:
    return b"no archive" + data[:0]


@pytest.mark.parametrize("damage", [truncated, flipped, emptied, replaced])
def test_a_damaged_file_is_done_again(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    store = runner.Store(tmp_path)
    whole = last(runner.run(TOY, Params(size=3), 1, store=store))
    file = store.path("toy", toy_experiment.tasks(Params(size=3), 1)[1])
    file.write_bytes(damage(file.read_bytes()))
    done: list[int] = []
    again = last(runner.run(counting(done), Params(size=3), 1, store=store))
    assert done == [1]
    assert_same(again, whole)
    assert store.load(file) is not None


def test_a_store_keeps_kinds_of_columns_and_every_bit(tmp_path: Path) -> None:
    store = runner.Store(tmp_path)
    first = last(runner.run(TOY, Params(size=3), 1, store=store))
    second = last(runner.run(counting([]), Params(size=3), 1, store=store))
    assert_same(second, first)
    assert [column.kind for column in second.tables["main"].dtypes][:4] == ["i", "i", "f", "b"]


@pytest.mark.parametrize(("keep_all", "left"), [(True, 4), (False, 1)])
def test_only_a_store_in_a_cache_makes_room(
    keep_all: bool, left: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make_room(folder: Path) -> None:
        """As if there were room for one file."""
        for file in sorted(folder.glob("*.npz"), key=lambda file: file.stat().st_mtime)[:-1]:
            file.unlink()

    monkeypatch.setattr(cache, "evict", make_room)
    (tmp_path / "mine.npz").write_bytes(b"a person's own file")
    last(runner.run(TOY, Params(size=3), 1, store=runner.Store(tmp_path, keep_all)))
    assert len(list(tmp_path.iterdir())) == left
    assert (tmp_path / "mine.npz").exists() is keep_all


# --------------------------------------------------------------------- chains


def recording(begun: list[tuple[int, int]]) -> Experiment:
    """The toy chains; (chain, link) of what was begun goes to a list."""

    def work(task: Any) -> experiments.Link:
        onward = isinstance(task, toy_chain.Onward)
        begun.append((task.task.chain, task.done) if onward else (task.chain, 0))
        return toy_chain.work(task)

    return chain_with(work)


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


@pytest.fixture(scope="module")
def chains_alone() -> Result:
    return runner.run_to_end(CHAIN, toy_chain.Params(), 1)


def test_chains_come_to_the_right_sums(chains_alone: Result) -> None:
    assert list(chains_alone.tables["ends"].total) == [1 + 10, 1 + 15, 1 + 21]
    assert list(chains_alone.tables["main"].chain) == [0] * 4 + [1] * 5 + [2] * 6


@pytest.mark.usefixtures("every_result")
def test_chains_give_the_same_in_threads_and_in_processes(
    chains_alone: Result, chain_plug_in: Path
) -> None:
    with ThreadPoolExecutor(3) as threads:
        assert_same(last(runner.run(CHAIN, toy_chain.Params(), 1, threads)), chains_alone)
    with runner.executor_for(2) as executor:
        assert_same(last(runner.run(CHAIN, toy_chain.Params(), 1, executor)), chains_alone)
        plugin = experiments.load("toy-chain")
        results = list(runner.run(plugin, plugin.Params(), 1, executor, plugins=[chain_plug_in]))
    assert [result.done for result in results] == list(range(1, 16))
    assert_same(results[-1], chains_alone)


@pytest.mark.usefixtures("every_result")
def test_rows_of_chains_are_in_the_order_of_tasks_whatever_finishes_first(
    chains_alone: Result,
) -> None:
    others_are_done = threading.Event()

    def work(task: Any) -> experiments.Link:
        # The first chain waits after its first link.
        if isinstance(task, toy_chain.Onward) and task.task.chain == 0:
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
    assert_same(results[-1], chains_alone)


@pytest.mark.usefixtures("every_result")
def test_closing_stops_between_two_links() -> None:
    begun: list[tuple[int, int]] = []
    results = runner.run(recording(begun), toy_chain.Params(length=100), 1)
    next(results)
    next(results)
    results.close()
    assert begun == [(0, 0), (0, 1)]


@pytest.mark.usefixtures("every_result")
def test_closing_stops_chains_in_threads() -> None:
    begun: list[tuple[int, int]] = []
    with ThreadPoolExecutor(2) as threads:
        params = toy_chain.Params(size=2, length=100, pause=0.02)
        results = runner.run(recording(begun), params, 1, threads)
        assert next(results).done == 1
        results.close()
    assert len(begun) <= 1 + runner.IN_FLIGHT_PER_WORKER * 2


@pytest.mark.usefixtures("every_result")
@pytest.mark.parametrize("keep_all", [False, True])
def test_a_stopped_chain_starts_again_and_a_finished_one_is_kept(
    keep_all: bool, tmp_path: Path, chains_alone: Result
) -> None:
    store = runner.Store(tmp_path / "store", keep_all)
    begun: list[tuple[int, int]] = []
    results = runner.run(recording(begun), toy_chain.Params(), 1, store=store)
    # The first chain has 4 links; two more are of the second.
    assert [next(results).done for _ in range(6)] == [1, 2, 3, 4, 5, 6]
    results.close()
    assert len(list(store.folder.glob("task-*.npz"))) == 1

    begun.clear()
    resumed = list(runner.run(recording(begun), toy_chain.Params(), 1, store=store))
    assert begun == [(1, link) for link in range(5)] + [(2, link) for link in range(6)]
    assert [result.done for result in resumed] == list(range(4, 16))
    assert_same(resumed[-1], chains_alone)

    begun.clear()
    with ThreadPoolExecutor(2) as threads:
        again = last(runner.run(recording(begun), toy_chain.Params(), 1, threads, store))
    assert begun == []
    assert again.done == again.total == 15
    assert_same(again, chains_alone)


# ------------------------------------------------------------------ executors


def test_all_threads_share_the_worker_processes() -> None:
    pools: list[Executor] = [runner.processes(2)]
    thread = threading.Thread(target=lambda: pools.append(runner.processes(2)))
    thread.start()
    thread.join()
    assert pools[0] is pools[1]


def test_one_worker_is_this_thread() -> None:
    with runner.executor_for(1) as executor:
        assert executor is None


def test_a_worker_that_dies_is_an_error_once() -> None:
    dying = toy_with(work=os._exit, tasks=lambda _params, _seed: [1])
    with pytest.raises(BrokenExecutor):
        last(runner.run(dying, Params(), 1, runner.processes(1)))
    assert runner.processes(1).submit(abs, -3).result() == 3
    runner.processes(1).shutdown()
    runner._forget(runner.processes(1))


TINY = mse_curves.Params(
    epsilon_total=(1.0, 100.0), epsilon_abc=(0.5,), c=(3,), n=(10, 30), pool_size=60, runs=5
)


@pytest.fixture(scope="module")
def alone() -> Result:
    return runner.run_to_end(experiments.load("mse-curves"), TINY, 1)


@pytest.mark.usefixtures("every_result")
def test_two_processes_give_the_same_table(alone: Result, plug_in: Path) -> None:
    with runner.executor_for(2) as executor:
        results = list(runner.run(experiments.load("mse-curves"), TINY, 1, executor))
        assert_same(results[-1], alone)
        assert len(results) == 5
        toy = last(runner.run(experiments.load("toy"), Params(), 1, executor, plugins=[plug_in]))
    assert_same(toy, runner.run_to_end(TOY, Params(), 1))


@pytest.mark.usefixtures("every_result")
def test_a_dask_cluster_gives_the_same_table_also_after_a_cancel_and_an_error(
    alone: Result, plug_in: Path
) -> None:
    from distributed import LocalCluster

    toy, along = experiments.load("toy"), [plug_in]
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
        ) as cluster,
        runner.executor_for(1, cluster.scheduler_address) as executor,
    ):
        assert executor is not None
        assert runner._width(executor) == 2
        assert_same(last(runner.run(experiments.load("mse-curves"), TINY, 1, executor)), alone)

        slow = runner.run(toy, Params(size=50, pause=0.05), 1, executor, plugins=along)
        assert next(slow).is_partial
        slow.close()
        with pytest.raises(ArithmeticError, match="task 2"):
            last(runner.run(toy, Params(fails=2), 1, executor, plugins=along))
        result = last(runner.run(toy, Params(), 1, executor, plugins=along))
    assert_same(result, runner.run_to_end(TOY, Params(), 1))


@pytest.mark.parametrize("address", ["", "nonsense", "tcp://", "xyz://host:1", "host:port"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(ParameterError, match=f"scheduler = {address}: must be the address"):
        runner.scheduler(address)


@pytest.mark.parametrize("listening", [False, True], ids=["nothing", "something else"])
def test_a_scheduler_that_does_not_answer_is_an_error(
    listening: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    import socket

    monkeypatch.setattr(runner, "CONNECT_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        if not listening:
            server.close()
        with pytest.raises(ParameterError, match="none answers there"):
            runner.scheduler(address)


def test_numbers_of_a_table_do_not_depend_on_the_number_of_tasks_before() -> None:
    """The first runs of many are those of few."""
    few = runner.run_to_end(experiments.load("mse-curves"), TINY, 1).tables["main"]
    more = runner.run_to_end(
        experiments.load("mse-curves"), mse_curves.Params(**vars(TINY) | {"runs": 7}), 1
    ).tables["main"]
    assert_frame_equal(
        pd.DataFrame(more[more.run < 5]).reset_index(drop=True), few, check_exact=True
    )


@pytest.mark.skipif(not hasattr(os, "nice"), reason="no priorities here")
def test_workers_give_way_to_the_process_that_asks() -> None:
    with runner.executor_for(2) as workers:
        assert workers is not None
        found = workers.submit(os.nice, 0).result()
    assert found == min(os.nice(0) + runner.NICENESS, 19)
