from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from distributed import KilledWorker, default_client
from pandas.testing import assert_frame_equal

from abcdp_core import cluster as dask
from abcdp_core import fingerprint, interruption, pool, registry, runner, studies, workers
from abcdp_core.cli import public_pool
from abcdp_core.parameters import ParameterError
from abcdp_core.pool import making
from abcdp_core.results import Result
from abcdp_core.studies import mse_curves
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
        plugin = studies.load("toy-chain")
        results = list(runner.run(plugin, plugin.Params(), 1, executor, plugins=[chain_plug_in]))
    assert [result.done for result in results] == list(range(1, 16))
    assert_same(results[-1], chains_alone())


def test_a_task_that_kills_its_workers_is_one_error_and_the_pool_goes_on() -> None:
    dying = toy_with(work=os._exit, tasks=lambda _params, _seed: [1])
    with pytest.raises(workers.LostWorkersError, match="lost again at the same task"):
        last(runner.run(dying, Params(), 1, workers.processes(1)))
    assert workers.processes(1).submit(abs, -3).result() == 3
    workers._shared.pop(1).shutdown()


def test_processes_that_cannot_be_started_are_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_many(_: int) -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(workers, "_new_pool", too_many)
    with pytest.raises(workers.LostWorkersError, match=r"started \(.*Too many open files\)"):
        last(runner.run(TOY, Params(size=3), 1, workers.Processes(2)))


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


TINY = mse_curves.Params(
    epsilon_total=(1.0, 100.0), epsilon_abc=(0.5,), c=(3,), n=(10, 30), pool_size=60, runs=5
)


@pytest.fixture(scope="module")
def alone() -> Result:
    return runner.run_to_end(studies.load("mse-curves"), TINY, 1)


@pytest.mark.usefixtures("every_result")
def test_two_processes_give_the_same_table(alone: Result, plug_in: Path) -> None:
    with executor_for(2) as executor:
        results = list(runner.run(studies.load("mse-curves"), TINY, 1, executor))
        assert_same(results[-1], alone)
        assert len(results) == 5
        toy = last(runner.run(studies.load("toy"), Params(), 1, executor, plugins=[plug_in]))
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
    toy, along = studies.load("toy"), [plug_in]
    with executor_for(1, cluster) as executor:
        assert executor is not None
        assert workers.width(executor) == 2
        # What is given out again is done again, and nothing else of this process goes there.
        first, second = executor.submit(time.time_ns), executor.submit(time.time_ns)
        assert first.result() != second.result()
        with pytest.raises(ValueError, match="No clients found"):
            default_client()
        assert_same(last(runner.run(studies.load("mse-curves"), TINY, 1, executor)), alone)

        slow = runner.run(toy, Params(size=50, pause=0.05), 1, executor, plugins=along)
        assert next(slow).is_partial
        slow.close()
        with pytest.raises(ArithmeticError, match="task 2"):
            last(runner.run(toy, Params(fails=2), 1, executor, plugins=along))
        result = last(runner.run(toy, Params(), 1, executor, plugins=along))
    assert_same(result, runner.run_to_end(TOY, Params(), 1))


@pytest.mark.slow
@pytest.mark.usefixtures("empty_cache")
def test_a_dask_cluster_makes_the_pool_of_a_plug_in_to_the_same_bytes(
    cluster: str, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = pool.key_for("gaussian-2d", 100, 120, 3)
    made = {}
    with public_pool.made_by(1, cluster, [model]), monkeypatch.context() as here:
        here.setattr(making, "simulate_chunk", None)
        made["cluster"] = pool.build(key)
    with public_pool.made_by(1, None, [model]):
        made["threads"] = pool.build(key)
    ours, theirs = (making.to_arrays(each) for each in made.values())
    assert {name: values.tobytes() for name, values in ours.items()} == {
        name: values.tobytes() for name, values in theirs.items()
    }


@pytest.mark.slow
@pytest.mark.usefixtures("empty_cache")
def test_a_study_in_links_has_the_same_last_digits_on_a_dask_cluster(cluster: str) -> None:
    study = studies.load("adaptive-truncation")
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
    cluster = dask.Cluster.__new__(dask.Cluster)
    with ThreadPoolExecutor(1) as there:
        cluster.client = cluster.inner = SimpleNamespace(submit=there.submit)
        assert cluster.submit(divmod, 7, 2).result() == (3, 1)
        monkeypatch.setattr(fingerprint, "whole", iter(("here", "there")).__next__)
        with pytest.raises(ParameterError, match="another version of this program"):
            cluster.submit(divmod, 7, 2).result()


def test_a_worker_of_a_cluster_without_the_program_fails_the_task_and_lives_on() -> None:
    """What it could not load was part of the message, so it ended, and nothing was said."""
    cluster = dask.Cluster.__new__(dask.Cluster)
    cluster.client = SimpleNamespace(nthreads=dict)
    given: list[Any] = []

    def submit(*sent: Any) -> Future[Any]:
        given.append(sent)
        future: Future[Any] = Future()
        future.set_exception(ModuleNotFoundError("No module named 'abcdp_core'"))
        return future

    cluster.inner = SimpleNamespace(submit=submit)
    with pytest.raises(ParameterError, match="does not have all of this program"):
        last(runner.run(TOY, Params(), 1, cluster))
    # Nothing of ours is in the message but as bytes.
    work, content = given[0]
    assert work is pickle.loads
    assert type(content) is bytes


@pytest.mark.parametrize("asked", ["width", "submit", "result", "worker"])
def test_a_scheduler_that_is_lost_is_one_error_whenever_that_is_seen(asked: str) -> None:
    cluster = dask.Cluster.__new__(dask.Cluster)
    cluster.client = cluster.inner = Gone(asked)
    with pytest.raises(workers.LostWorkersError, match="the Dask cluster lost its scheduler"):
        last(runner.run(TOY, Params(), 1, cluster))


@pytest.mark.parametrize(
    ("address", "words"),
    [
        *((text, "must be the address") for text in ("", "nonsense", "xyz://host:1", "tls://a:1")),
        ("tcp://127.0.0.1:1", "none answers there"),
    ],
)
def test_an_address_at_which_no_scheduler_answers_is_an_error(
    address: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask, "CONNECT_SECONDS", 0.5)
    with pytest.raises(ParameterError, match=f"scheduler = {address}: .*{words}"):
        dask.scheduler(address)


@pytest.mark.skipif(not hasattr(os, "nice"), reason="no priorities here")
def test_workers_give_way_and_leave_ctrl_c_to_the_process_that_asks() -> None:
    with executor_for(2) as executor:
        assert executor is not None
        found = executor.submit(os.nice, 0).result()
        sent = [s for s in interruption.NUMBERS if s != signal.SIGTERM]
        met_by = {executor.submit(signal.getsignal, each).result() for each in sent}
        # As text, so that the worker need not import this file.
        staying = "[t.name for t in __import__('threading').enumerate() if not t.daemon]"
        kept_by = executor.submit(eval, staying).result()
    # Another one would keep it from ending when it is idle.
    assert kept_by == ["MainThread"]
    assert found == min(os.nice(0) + workers.NICENESS, 19)
    assert met_by == {signal.SIG_IGN}


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
    return str(studies.load("says").TITLE)


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
    here = dask._code()
    assert dask._with_code(here, packed) == 3
    # So does what a cluster's workers have to have.
    registry._handed.clear()
    monkeypatch.delenv(registry.PLUGINS)
    with pytest.raises(ParameterError, match="or of the files that ABCDP_PLUGINS names"):
        dask._with_code(here, packed)
