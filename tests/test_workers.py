from __future__ import annotations

import contextlib
import functools
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from distributed import KilledWorker, default_client
from pandas.testing import assert_frame_equal

from abcdp_core import experiments, fingerprint, interruption, pool, registry, runner, workers
from abcdp_core.commands import public_pool
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


@pytest.fixture
def model() -> Iterator[Path]:
    """A model of one's own as a plug-in."""
    yield from plugged_in(Path(__file__).parents[1] / "examples" / "gaussian.py")


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
    assert workers.width(Executor()) == workers.processor_count()


def test_one_worker_is_this_thread() -> None:
    with executor_for(1) as executor:
        assert executor is None


def test_a_task_that_kills_its_workers_is_one_error_and_the_pool_goes_on() -> None:
    dying = toy_with(work=os._exit, tasks=lambda _params, _seed: [1])
    with pytest.raises(workers.LostWorkersError, match="lost 3 times at the same task"):
        last(runner.run(dying, Params(), 1, workers.processes(1)))
    assert workers.processes(1).submit(abs, -3).result() == 3
    workers._shared.pop(1).shutdown()


def test_processes_that_cannot_be_started_are_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_many(*_: Any) -> None:
        raise OSError(24, "Too many open files")

    pool = workers.Processes(2)
    monkeypatch.setattr(pool._pool, "submit", too_many)
    with pytest.raises(workers.LostWorkersError, match=r"started \(Too many open files\)"):
        last(runner.run(TOY, Params(size=3), 1, pool))
    pool.shutdown()


def test_a_system_that_starts_no_thread_is_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = workers.Processes(1)

    def start(*_: Any, **__: Any) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", start)
        with pytest.raises(workers.LostWorkersError, match=r"started \(can't start new thread\)"):
            pool.submit(abs, -1)
        # Nor is there anything to wait for.
        pool.shutdown()


def test_a_broken_pool_that_was_let_go_of_is_not_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(Executor):
        def submit(self, *_: Any, **__: Any) -> Any:
            raise BrokenExecutor

        def shutdown(self, **options: Any) -> None:  # type: ignore[override]
            asked.append(options)

    asked: list[dict[str, Any]] = []
    monkeypatch.setattr(workers, "_new_pool", lambda _: Broken())
    pool = workers.Processes(1)
    pool.shutdown()
    monkeypatch.setattr(workers, "_new_pool", lambda _: ThreadPoolExecutor(1))
    with pytest.raises(BrokenExecutor):
        pool.submit(abs, -3)
    # It is not waited for what is under way.
    assert asked == [{"kill_workers": True}]


def command(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    """The toy experiment on the command line with two workers."""
    return subprocess.Popen(
        [sys.executable, "-m", "abcdp_core", "run", "toy", "--plugin", toy_experiment.__file__,
         "--workers", "2", "--formats", "csv", *arguments],
        cwd=Path(__file__).parents[1], text=True, encoding="utf-8", start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options,
    )  # fmt: skip


def wait_until(there: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not there():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes as Linux lists them")
def test_a_killed_worker_is_replaced_and_none_outlives_a_killed_parent(tmp_path: Path) -> None:
    store = tmp_path / "store"
    process = command(
        *("--set", "size=1000", "--set", "pause=0.02", "--store", str(store)),
        *("--out", str(tmp_path / "out")),
    )

    def workers_now() -> set[int]:
        return {pid for pid in in_session(process.pid) if "--process-name" in words_of(pid)}

    try:
        wait_until(lambda: len(list(store.glob("*.npz"))) >= 2)
        first = workers_now()
        assert len(first) == 2
        os.kill(min(first), signal.SIGKILL)
        done = len(list(store.glob("*.npz")))
        wait_until(lambda: len(list(store.glob("*.npz"))) >= done + 10)
        assert process.poll() is None
        assert not first & workers_now()
        os.kill(process.pid, signal.SIGKILL)
        printed, said = process.communicate(timeout=30)
        wait_until(lambda: not in_session(process.pid), 5.0)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    # What cleans up after a killed process says so; nothing else does.
    assert printed == ""
    assert "Traceback" not in said


def in_session(leader: int) -> set[int]:
    """Processes of a session that have not ended."""
    found = set()
    for file in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, _, session = file.read_text().rpartition(")")[2].split()[:4]
            if int(session) == leader and state != "Z":
                found.add(int(file.parent.name))
    return found


def words_of(pid: int) -> list[str]:
    """The command line of a process."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except OSError:
        return []


def test_without_shared_semaphores_work_is_done_without_processes(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OSError(38, "Function not implemented")

    # As where there is no /dev/shm.
    monkeypatch.setattr("loky.backend.synchronize._SemLock", refused)
    with executor_for(2) as executor:
        assert executor is None
    threads = workers.processes(7)
    assert workers._shared.pop(7) is threads
    assert last(runner.run(TOY, Params(), 1, threads)).done == 5
    threads.shutdown()
    assert "no worker processes can be started here" in caplog.text


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


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """Address of a scheduler with two workers, each a process."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
    ) as made:
        yield made.scheduler_address


@pytest.mark.usefixtures("every_result")
def test_a_dask_cluster_gives_the_same_table_also_after_a_cancel_and_an_error(
    alone: Result, plug_in: Path, cluster: str
) -> None:
    toy, along = experiments.load("toy"), [plug_in]
    with executor_for(1, cluster) as executor:
        assert executor is not None
        assert workers.width(executor) == 2
        # What is given out again is done again, and nothing else of this process goes there.
        first, second = executor.submit(time.time_ns), executor.submit(time.time_ns)
        assert first.result() != second.result()
        with pytest.raises(ValueError, match="No clients found"):
            default_client()
        assert_same(last(runner.run(experiments.load("mse-curves"), TINY, 1, executor)), alone)

        slow = runner.run(toy, Params(size=50, pause=0.05), 1, executor, plugins=along)
        assert next(slow).is_partial
        slow.close()
        with pytest.raises(ArithmeticError, match="task 2"):
            last(runner.run(toy, Params(fails=2), 1, executor, plugins=along))
        result = last(runner.run(toy, Params(), 1, executor, plugins=along))
    assert_same(result, runner.run_to_end(TOY, Params(), 1))


@pytest.mark.usefixtures("empty_cache")
def test_a_dask_cluster_makes_the_pool_of_a_plug_in_to_the_same_bytes(
    cluster: str, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = pool.key_for("gaussian-2d", 100, 120, 3)
    made = {}
    with public_pool.made_by(1, cluster, [model]), monkeypatch.context() as here:
        here.setattr(pool, "_made_chunk", None)
        made["cluster"] = pool.build(key)
    with public_pool.made_by(1, None, [model]):
        made["threads"] = pool.build(key)
    ours, theirs = (pool._to_arrays(each) for each in made.values())
    assert {name: values.tobytes() for name, values in ours.items()} == {
        name: values.tobytes() for name, values in theirs.items()
    }


@pytest.mark.usefixtures("empty_cache")
def test_a_study_in_links_has_the_same_last_digits_on_a_dask_cluster(cluster: str) -> None:
    study = experiments.load("adaptive-truncation")
    params = study.Params(n=600, particles=100)
    with workers.executor_for(1, cluster) as executor:
        there = last(runner.run(study, params, 1, executor))
    here = runner.run_to_end(study, params, 1)
    for name, table in here.tables.items():
        assert_frame_equal(there.tables[name], table, check_exact=True)


class Gone:
    """A connection to a Dask scheduler that is lost when it is asked one of these."""

    status = "connecting"

    def __init__(self, asked: str) -> None:
        self.asked = asked

    def nthreads(self) -> dict[str, int]:
        if self.asked == "width":
            raise ConnectionResetError
        return {"a worker": 1}

    def submit(self, *_: object) -> Future[Any]:
        if self.asked == "submit":
            raise ConnectionResetError
        future: Future[Any] = Future()
        if self.asked == "result":
            future.cancel()
            future.set_running_or_notify_cancel()
        else:
            future.set_exception(KilledWorker("task", None, 3))
        return future


def test_a_worker_of_a_cluster_that_runs_other_code_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What it computes would be kept as if it were of this code."""
    cluster = workers._Cluster.__new__(workers._Cluster)
    with ThreadPoolExecutor(1) as there:
        cluster.client = cluster.inner = SimpleNamespace(submit=there.submit)
        assert cluster.submit(divmod, 7, 2).result() == (3, 1)
        monkeypatch.setattr(fingerprint, "whole", iter(("here", "there")).__next__)
        with pytest.raises(ParameterError, match="another version of this program"):
            cluster.submit(divmod, 7, 2).result()


def without(name: str) -> Future[Any]:
    """What a task comes to that needs a module which is not there."""
    future: Future[Any] = Future()
    future.set_exception(ModuleNotFoundError(f"No module named {name!r}", name=name))
    return future


def test_a_worker_of_a_cluster_without_the_program_fails_the_task_and_lives_on() -> None:
    """What it could not load was part of the message, so it ended, and nothing was said."""
    cluster = workers._Cluster.__new__(workers._Cluster)
    given: list[tuple[Any, ...]] = []

    def submit(*sent: Any) -> Future[Any]:
        given.append(sent)
        return without("abcdp_core")

    cluster.inner = SimpleNamespace(submit=submit)
    with pytest.raises(ParameterError, match="does not have all of this program"):
        cluster.submit(divmod, 7, 2).result()
    # Nothing of ours is in the message but as bytes.
    ((work, content),) = given
    assert work is pickle.loads
    assert type(content) is bytes


def test_an_answer_that_nobody_wants_any_more_is_not_waited_for() -> None:
    asked: Future[Any] = Future()
    told = workers._told(asked)
    assert told.cancel()
    assert asked.cancelled()
    stopped: Future[Any] = Future()
    told = workers._told(stopped)
    stopped.cancel()
    assert told.cancelled()


class Joined(Executor):
    """A cluster that a worker of another version joins after a task."""

    def __init__(self) -> None:
        self.asked = 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.asked += 1
        if self.asked == 1:
            future.set_result(fn(*args, **kwargs))
        else:
            future.set_exception(ParameterError("another version"))
        return future


def test_what_was_done_before_a_worker_is_refused_is_a_partial_result() -> None:
    results: list[Result] = []
    with pytest.raises(ParameterError):
        results.extend(runner.run(TOY, Params(), 1, Joined()))
    assert results[-1].is_partial
    assert results[-1].done == 1


def test_a_scheduler_without_workers_is_given_work_for_one() -> None:
    cluster = workers._Cluster.__new__(workers._Cluster)
    cluster.client = SimpleNamespace(nthreads=dict)
    assert workers.width(cluster) == 1


@pytest.mark.parametrize("asked", ["width", "submit", "result", "worker"])
def test_a_scheduler_that_is_lost_is_one_error_whenever_that_is_seen(asked: str) -> None:
    cluster = workers._Cluster.__new__(workers._Cluster)
    cluster.client = cluster.inner = Gone(asked)
    with pytest.raises(workers.LostWorkersError, match="the Dask cluster lost its scheduler"):
        last(runner.run(TOY, Params(), 1, cluster))


@pytest.mark.parametrize(
    "address", ["", "nonsense", "tcp://", "xyz://host:1", "host:port", "tls://a:1"]
)
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


def test_workers_get_a_plug_in_as_it_was_when_it_was_added(tmp_path: Path) -> None:
    file = tmp_path / "latin.py"
    text = b"# -*- coding: latin-1 -*-\nEXPERIMENT = 'latin'  # \xe9\n"
    file.write_bytes(text)
    module = registry.add_file(file)
    try:
        file.unlink()
        work, _ = workers.with_plug_ins(abs, [file])
        assert isinstance(work, functools.partial)
        assert work.args[0] == (("latin.py", text),)
    finally:
        registry._added.remove(module)
        del sys.modules[module.__name__]
        registry.forget()


@pytest.mark.skipif(not hasattr(os, "nice"), reason="no priorities here")
def test_workers_give_way_and_leave_ctrl_c_to_the_process_that_asks() -> None:
    with executor_for(2) as executor:
        assert executor is not None
        found = executor.submit(os.nice, 0).result()
        # Batch systems send them to all; Ctrl-C and TERM are of every system.
        sent = [s for s in interruption.NUMBERS if s != signal.SIGTERM]
        met_by = {executor.submit(signal.getsignal, each).result() for each in sent}
        # As text, so that the worker need not import this file.
        staying = "[t.name for t in __import__('threading').enumerate() if not t.daemon]"
        kept_by = executor.submit(eval, staying).result()
    # Another one would keep it from ending when it is idle.
    assert kept_by == ["MainThread"]
    assert found == min(os.nice(0) + workers.NICENESS, 19)
    assert met_by == {signal.SIG_IGN}


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="signals of POSIX")
def test_processes_are_started_with_ctrl_c_held_back(monkeypatch: pytest.MonkeyPatch) -> None:
    def held_back() -> bool:
        return set(workers.FROM_OUTSIDE) <= signal.pthread_sigmask(signal.SIG_BLOCK, [])

    with workers._spared():
        assert held_back()
    assert not held_back()
    # Also with the first pool: what counts semaphores is a process, too.
    seen: list[bool] = []
    monkeypatch.setattr(workers, "_new_pool", lambda _: seen.append(held_back()))
    workers.Processes(2)
    assert seen == [True]


@pytest.fixture
def nothing_added(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A process of a cluster that has no plug-ins yet."""
    monkeypatch.setattr(registry, "_added", [])
    monkeypatch.setattr(registry, "texts", {})
    monkeypatch.setattr(workers, "_here", {})
    registry.forget()
    yield
    monkeypatch.undo()
    registry.forget()
    registry.empty_caches()


def said(_: object) -> str:
    """What the study that is there says of itself."""
    return str(experiments.load("says").TITLE)


def asked(text: str, work: Callable[[Any], Any] = said, name: str = "says.py") -> Any:
    """What a task comes to in a worker, for whom the plug-in has this title."""
    source = f"EXPERIMENT = 'says'\nTITLE = {text!r}".encode()
    return workers._plug_in_and_work(((name, source),), workers._packed(work, None))


@pytest.mark.usefixtures("nothing_added")
def test_a_worker_that_lives_on_does_each_task_by_the_text_it_came_with() -> None:
    names = ["says.py"] * 3 + ["other.py", "says.py"]
    titles = ["first", "second", "first", "third", "first"]
    assert [asked(title, name=name) for title, name in zip(titles, names, strict=True)] == titles


@pytest.mark.usefixtures("nothing_added")
def test_tasks_that_need_other_plug_ins_do_not_go_on_together() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slowly(nothing: object) -> tuple[str, str]:
        before = said(nothing)
        begun.set()
        assert go_on.wait(30.0)
        return before, said(nothing)

    with ThreadPoolExecutor(3) as threads, pytest.MonkeyPatch.context() as patch:
        patch.setattr(workers.pickle, "loads", lambda _: (slowly, None))
        first = threads.submit(asked, "first")
        assert begun.wait(30.0)
        patch.undo()
        second, again = threads.submit(asked, "second"), threads.submit(asked, "first")
        assert again.result(30.0) == "first"
        assert not second.done()
        go_on.set()
        assert first.result(30.0) == ("first", "first")
        assert second.result(30.0) == "second"


@pytest.mark.usefixtures("nothing_added", "empty_cache")
def test_what_was_computed_by_an_earlier_text_of_a_model_is_forgotten(tmp_path: Path) -> None:
    file = tmp_path / "gaussian.py"
    text = (Path(__file__).parents[1] / "examples" / "gaussian.py").read_text()
    old = 'Parameter("mean of x", -2.0, 2.0'
    assert old in text

    def found() -> float:
        added = registry.add_file(file)
        assert registry.module_that_added("SCENARIO", "gaussian-2d") is added
        public = pool.public_side("gaussian-2d", 100, 60, 1)
        return max(float(public.theta[:, 0].max()), float(public.simulated_theta(0)[0]))

    file.write_text(text)
    assert found() > 0.0
    file.write_text(text.replace(old, 'Parameter("mean of x", -2.0, -1.0'))
    assert found() < -1.0


@pytest.mark.usefixtures("nothing_added")
def test_worker_processes_have_what_the_environment_named_when_they_were_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "says.py"
    file.write_text("EXPERIMENT = 'says'\nTITLE = 'first'")
    monkeypatch.setattr(registry, "_asked", set())
    monkeypatch.setattr(registry, "_handed", {})
    monkeypatch.setenv(registry.PLUGINS, str(file))
    given: dict[str, Any] = {}
    monkeypatch.setattr("loky.ProcessPoolExecutor", lambda **options: given.update(options))
    workers._new_pool(1)
    file.write_text("EXPERIMENT = 'says'\nTITLE = 'second'")
    for name in ("_added", "texts", "_asked"):
        getattr(registry, name).clear()
    sys.modules.pop("abcdp_plugin_says")
    registry.take(*given["initargs"])
    registry.forget()
    assert said(None) == "first"
    packed = pickle.dumps((abs, (-3,), {}))
    assert workers._with_code(fingerprint.whole(), workers._named(), packed) == 3
    for name in ("says.py", "other.py"):
        with pytest.raises(ParameterError, match=rf"{name}, which ABCDP_PLUGINS names, is not nam"):
            workers._with_code(fingerprint.whole(), {name: "another"}, packed)
    sys.modules.pop("abcdp_plugin_says")
