from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Executor, ThreadPoolExecutor
from pathlib import Path

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from abcdp_core import experiments, registry, runner, workers
from abcdp_core.experiments import mse_curves
from abcdp_core.parameters import ParameterError
from abcdp_core.results import Result
from abcdp_core.workers import executor_for
from tests import toy_chain, toy_experiment
from tests.toy_experiment import Params
from tests.toys import CHAIN, TOY, assert_same, chains_alone, last, toy_with


def plugged_in(file: Path) -> Iterator[Path]:
    """A file as a plug-in of this process, for a while."""
    before = list(registry._added)
    registry.add_file(file)
    yield file
    registry._added[:] = before
    sys.modules.pop(f"abcdp_plugin_{file.stem}", None)
    registry.forget()


@pytest.fixture
def plug_in() -> Iterator[Path]:
    """The toy experiment as a plug-in."""
    yield from plugged_in(Path(toy_experiment.__file__))


@pytest.fixture
def chain_plug_in() -> Iterator[Path]:
    """The toy chains as a plug-in."""
    yield from plugged_in(Path(toy_chain.__file__))


@pytest.mark.usefixtures("every_result")
def test_chains_give_the_same_in_threads_and_in_processes(chain_plug_in: Path) -> None:
    with ThreadPoolExecutor(3) as threads:
        assert_same(last(runner.run(CHAIN, toy_chain.Params(), 1, threads)), chains_alone())
    with executor_for(2) as executor:
        assert_same(last(runner.run(CHAIN, toy_chain.Params(), 1, executor)), chains_alone())
        plugin = experiments.load("toy-chain")
        results = list(runner.run(plugin, plugin.Params(), 1, executor, plugins=[chain_plug_in]))
    assert [result.done for result in results] == list(range(1, 16))
    assert_same(results[-1], chains_alone())


def test_all_threads_share_the_worker_processes() -> None:
    pools: list[Executor] = [workers.processes(2)]
    thread = threading.Thread(target=lambda: pools.append(workers.processes(2)))
    thread.start()
    thread.join()
    assert pools[0] is pools[1]


def test_a_pool_is_as_wide_as_it_has_workers_and_another_executor_as_the_machine() -> None:
    with ThreadPoolExecutor(3) as threads:
        assert workers.width(threads) == 3
    assert workers.width(Executor()) == os.cpu_count()


def test_one_worker_is_this_thread() -> None:
    with executor_for(1) as executor:
        assert executor is None


def test_a_worker_that_dies_is_an_error_once() -> None:
    dying = toy_with(work=os._exit, tasks=lambda _params, _seed: [1])
    with pytest.raises(BrokenExecutor):
        last(runner.run(dying, Params(), 1, workers.processes(1)))
    assert workers.processes(1).submit(abs, -3).result() == 3
    workers.processes(1).shutdown()
    workers.forget(workers.processes(1))


TINY = mse_curves.Params(
    epsilon_total=(1.0, 100.0), epsilon_abc=(0.5,), c=(3,), n=(10, 30), pool_size=60, runs=5
)


@pytest.fixture(scope="module")
def alone() -> Result:
    return runner.run_to_end(experiments.load("mse-curves"), TINY, 1)


@pytest.mark.usefixtures("every_result")
def test_two_processes_give_the_same_table(alone: Result, plug_in: Path) -> None:
    with executor_for(2) as executor:
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
        executor_for(1, cluster.scheduler_address) as executor,
    ):
        assert executor is not None
        assert workers.width(executor) == 2
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
        workers.scheduler(address)


@pytest.mark.parametrize("listening", [False, True], ids=["nothing", "something else"])
def test_a_scheduler_that_does_not_answer_is_an_error(
    listening: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    import socket

    monkeypatch.setattr(workers, "CONNECT_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        if not listening:
            server.close()
        with pytest.raises(ParameterError, match="none answers there"):
            workers.scheduler(address)


def test_numbers_of_a_table_do_not_depend_on_the_number_of_tasks_before(alone: Result) -> None:
    """The first runs of many are those of few."""
    few = alone.tables["main"]
    more = runner.run_to_end(
        experiments.load("mse-curves"), mse_curves.Params(**vars(TINY) | {"runs": 7}), 1
    ).tables["main"]
    assert_frame_equal(
        pd.DataFrame(more[more.run < 5]).reset_index(drop=True), few, check_exact=True
    )


@pytest.mark.skipif(not hasattr(os, "nice"), reason="no priorities here")
def test_workers_give_way_and_leave_ctrl_c_to_the_process_that_asks() -> None:
    with executor_for(2) as executor:
        assert executor is not None
        found = executor.submit(os.nice, 0).result()
        at_ctrl_c = executor.submit(signal.getsignal, signal.SIGINT).result()
    assert found == min(os.nice(0) + workers.NICENESS, 19)
    assert at_ctrl_c is signal.SIG_IGN
