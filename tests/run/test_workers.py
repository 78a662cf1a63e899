"""Worker processes and clusters: the same results, lost workers, and plug-ins sent along."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from distributed import KilledWorker, default_client

from abcdp_core import studies
from abcdp_core.base import fingerprint, interruption, registry
from abcdp_core.base.parameters import ParameterError
from abcdp_core.run import cluster as dask
from abcdp_core.run import runner, workers
from abcdp_core.run.workers import executor_for
from tests import toy_chain, toy_experiment
from tests.sources import ROOT
from tests.toy_experiment import Params
from tests.toys import CHAIN, TOY, assert_same, chains_alone, last, toy_with


@pytest.mark.usefixtures("every_result", "no_plug_ins_left")
def test_chains_give_the_same_in_threads_and_in_processes_of_low_priority() -> None:
    with ThreadPoolExecutor(3) as threads:
        assert_same(last(runner.run(CHAIN, toy_chain.Params(), 1, threads)), chains_alone())
    file = Path(toy_chain.__file__)
    registry.add_file(file)
    study = studies.load("toy-chain")
    with executor_for(2) as executor:
        assert executor is not None
        results = list(runner.run(study, study.Params(), 1, executor, plugins=[file]))
        niceness = executor.submit(os.nice, 0).result()
        sent = [each for each in interruption.NUMBERS if each != signal.SIGTERM]
        handlers = {executor.submit(signal.getsignal, each).result() for each in sent}
        # As text, so that the worker need not import this file.
        staying = "[t.name for t in __import__('threading').enumerate() if not t.daemon]"
        threads_there = executor.submit(eval, staying).result()
    assert [result.done for result in results] == list(range(1, 16))
    assert_same(results[-1], chains_alone())
    assert niceness == min(os.nice(0) + workers.NICENESS, 19)
    # Ctrl-C is for the parent; another thread would keep an idle worker from ending.
    assert handlers == {signal.SIG_IGN}
    assert threads_there == ["MainThread"]


def test_a_task_that_kills_its_workers_is_one_error_and_the_pool_goes_on() -> None:
    dying = toy_with(work=os._exit, tasks=lambda _params, _seed: [1])
    with pytest.raises(workers.LostWorkersError, match="lost again at the same task"):
        last(runner.run(dying, Params(), 1, workers.processes(1)))
    assert workers.processes(1).submit(abs, -3).result() == 3
    workers._shared.pop(1).shutdown()


def test_a_killed_worker_is_replaced_and_none_outlives_a_killed_parent(tmp_path: Path) -> None:
    store = tmp_path / "store"
    process = subprocess.Popen(
        [sys.executable, "-m", "abcdp_core", "run", "toy", "--plugin", toy_experiment.__file__,
         "--workers", "2", "--formats", "csv", "--set", "size=1000", "--set", "pause=0.02",
         "--store", str(store), "--out", str(tmp_path / "out")],
        cwd=ROOT, text=True, encoding="utf-8", start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    parent = psutil.Process(process.pid)

    def running() -> set[psutil.Process]:
        return {each for each in parent.children() if "--process-name" in each.cmdline()}

    def finished() -> int:
        return len(list(store.glob("*.npz")))

    def wait_until(there: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 60.0
        while not there():
            assert time.monotonic() < deadline
            time.sleep(0.02)

    try:
        wait_until(lambda: finished() >= 2)
        first = running()
        assert len(first) == 2
        min(first, key=lambda each: each.pid).kill()
        done = finished()
        wait_until(lambda: finished() >= done + 10)
        assert process.poll() is None
        children = parent.children(recursive=True)
        assert not first & running()
        process.kill()
        printed, complaints = process.communicate(timeout=30)
        assert psutil.wait_procs(children, timeout=5.0)[1] == []
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert printed == ""
    assert "Traceback" not in complaints


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """Address of a Dask scheduler with two worker processes."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
    ) as made:
        yield made.scheduler_address


@pytest.mark.usefixtures("every_result", "no_plug_ins_left")
def test_a_dask_cluster_gives_the_same_table_also_after_a_cancel_and_an_error(cluster: str) -> None:
    along = [Path(toy_experiment.__file__)]
    registry.add_file(along[0])
    toy = studies.load("toy")
    with executor_for(1, cluster) as executor:
        assert executor is not None
        assert workers.width(executor) == 2
        # The same call twice is run twice, and nothing else in this process uses the cluster.
        first, second = executor.submit(time.time_ns), executor.submit(time.time_ns)
        assert first.result() != second.result()
        with pytest.raises(ValueError, match="No clients found"):
            default_client()
        slow = runner.run(toy, Params(size=50, pause=0.05), 1, executor, plugins=along)
        assert next(slow).is_partial
        slow.close()
        with pytest.raises(ArithmeticError, match="task 2"):
            last(runner.run(toy, Params(fails=2), 1, executor, plugins=along))
        result = last(runner.run(toy, Params(), 1, executor, plugins=along))
    assert_same(result, runner.run_to_end(TOY, Params(), 1))


def connected(**inner: Any) -> dask.Cluster:
    """A cluster whose connection does what a test says."""
    made = dask.Cluster.__new__(dask.Cluster)
    made.client = made.inner = SimpleNamespace(status="connecting", **inner)
    return made


def lose(*_: object) -> None:
    raise ConnectionResetError


def ended(error: BaseException | None = None) -> Future[Any]:
    """Return a task that failed, or was canceled."""
    future: Future[Any] = Future()
    if error is None:
        future.cancel()
        future.set_running_or_notify_cancel()
    else:
        future.set_exception(error)
    return future


@pytest.mark.parametrize(
    "parts",
    [
        {"nthreads": lose},
        {"submit": lose},
        {"submit": lambda *_: ended()},
        {"submit": lambda *_: ended(KilledWorker("task", None, 3))},
    ],
    ids=["width", "submit", "result", "worker"],
)
def test_a_lost_scheduler_is_one_error_whenever_it_is_noticed(parts: dict[str, Any]) -> None:
    cluster = connected(**{"nthreads": lambda: {"a worker": 1}} | parts)
    with pytest.raises(workers.LostWorkersError, match="lost its scheduler"):
        last(runner.run(TOY, Params(), 1, cluster))


def test_a_cluster_worker_that_runs_other_code_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its results would be stored as results of this code."""
    with ThreadPoolExecutor(1) as there:
        cluster = connected(submit=there.submit)
        assert cluster.submit(divmod, 7, 2).result() == (3, 1)
        monkeypatch.setattr(fingerprint, "whole", iter(("here", "there")).__next__)
        with pytest.raises(ParameterError, match="another version of this program"):
            cluster.submit(divmod, 7, 2).result()


def test_an_address_without_a_scheduler_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask, "CONNECT_SECONDS", 0.5)
    wrong = dict.fromkeys(("", "nonsense", "xyz://host:1", "tls://a:1"), "must be the address")
    for address, words in (wrong | {"tcp://127.0.0.1:1": "scheduler"}).items():
        with pytest.raises(ParameterError, match=f"scheduler = {address}: .*{words}"):
            dask.scheduler(address)


# ------------------------------------------------------------------------- plug-ins


@pytest.fixture
def nothing_added(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A worker process that has no plug-ins yet."""
    for name, value in (("_added", []), ("texts", {}), ("_asked", set()), ("_handed", {})):
        monkeypatch.setattr(registry, name, value)
    monkeypatch.setattr(workers, "_here", {})
    registry.forget()
    yield
    monkeypatch.undo()
    registry.forget()
    registry.empty_caches()


def title_there(_: object) -> str:
    return str(studies.load("says").TITLE)


@pytest.mark.usefixtures("nothing_added")
def test_a_worker_that_lives_on_runs_each_task_with_the_plug_in_sent_along() -> None:
    packed = workers._packed(title_there, None)
    for title, name in (("1", "says.py"), ("2", "says.py"), ("3", "other.py"), ("1", "says.py")):
        source = f"EXPERIMENT = 'says'\nTITLE = {title!r}".encode()
        assert workers._plug_in_and_work(((name, source),), packed) == title
