"""``python -m benchmarks.faults`` makes fail what can, and compares tables byte for byte.

Studies are killed at random moments and resumed; two run on one cache; the cache cannot be written,
or is deleted again and again; there are no shared semaphores; the clock is set back; Dask loses a
worker, then its scheduler; releases are killed. Each row of the table that is printed says what was
done and what came out, and the exit code is 1 unless all is as it should be. Minutes; the cheap
single cases are tests.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import json
import os
import platform
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from abcdp_core.workers import processor_count

ROOT = Path(__file__).resolve().parents[1]

STUDIES: dict[str, Sequence[str]] = {
    "mse-curves": ("epsilon_total=0.1,1,10", "n=100,300", "c=5", "pool_size=1000", "runs=30"),
    "coverage": ("n=300", "pool_size=1000", "c=10", "runs=60"),
    "truncation-streams": ("n=400", "particles=200", "epsilon_total=1,5"),
}
"""Study -> settings with which it takes some seconds; the last one's tasks are chains."""

WITHOUT_SEMAPHORES = """
import sys
import loky.backend.synchronize as locks
def refused(*_, **__):
    raise OSError(38, "Function not implemented")
locks._SemLock = refused
"""
"""As far as a system without ``/dev/shm`` can be simulated: the call that needs it fails."""

CLOCK_SET_BACK = """
import itertools, sys, time
now, calls = time.time, itertools.count()
time.time = lambda: now() - 86400.0 * (next(calls) // 5)
"""
"""A clock that is set back by a day at every fifth look."""

PROGRAM = "\nfrom abcdp_core.__main__ import main\nsys.exit(main(sys.argv[1:]))\n"


class FaultError(AssertionError):
    """Something is not as it should be."""


# ---------------------------------------------------------------------- parts


def start(
    *arguments: str, cache: Path | str, program: str = "", **options: Any
) -> subprocess.Popen[str]:
    """The command line, in a session of its own and with a cache of its own."""
    beginning = ["-c", program + PROGRAM] if program else ["-m", "abcdp_core"]
    return subprocess.Popen(
        [sys.executable, *beginning, *arguments],
        cwd=ROOT,
        env=os.environ | {"ABCDP_CACHE_DIR": str(cache)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        start_new_session=True,
        **options,
    )


def study(name: str, folder: Path, *more: str) -> list[str]:
    """Arguments that run a study, with its store and its files below a folder."""
    settings = [word for item in STUDIES[name] for word in ("--set", item)]
    places = ["--store", str(folder / "store"), "--out", str(folder / "out")]
    return ["run", name, *settings, *places, "--formats", "csv,json", *(more or ("--workers", "2"))]


def ended(process: subprocess.Popen[str], code: int = 0) -> str:
    """What a process said on standard error until it ended with this code."""
    _, said = process.communicate(timeout=1800)
    check(process.returncode == code, f"exit code {process.returncode} instead of {code}: {said}")
    check("Traceback" not in said, said)
    return said


def check(kept: bool, words: str) -> None:
    """Fail unless something is as it should be."""
    if not kept:
        raise FaultError(words)


def tables(folder: Path) -> dict[str, bytes]:
    """The tables of a result, whole or of the run before: all of one run."""
    return {file.name: file.read_bytes() for file in sorted((folder / "out").glob("*.csv"))}


def wait_for(there: Callable[[], bool], seconds: float = 300.0) -> float:
    """Wait; the seconds that it took."""
    started = time.monotonic()
    while not there():
        check(time.monotonic() - started < seconds, "nothing happened in time")
        time.sleep(0.05)
    return time.monotonic() - started


def kept(folder: Path) -> int:
    """Finished tasks of a study."""
    return len(list((folder / "store").glob("*.npz")))


def session(leader: int) -> list[int]:
    """Processes of a session that have not ended."""
    found = []
    for file in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, _, number = file.read_text().rpartition(")")[2].split()[:4]
            if int(number) == leader and state != "Z":
                found.append(int(file.parent.name))
    return found


# ---------------------------------------------------------------------- faults


class Faults:
    """All of them, in one folder.

    Attributes:
        folder: where all files go.
        kills: how often studies are killed, together.
        rng: of the moments.
        expected: study -> its tables, undisturbed.
        seconds: study -> how long it took.
        tasks: study -> how many there are.
    """

    def __init__(self, folder: Path, kills: int, seed: int) -> None:
        self.folder = folder
        self.kills = kills
        self.rng = random.Random(seed)
        self.expected: dict[str, dict[str, bytes]] = {}
        self.seconds: dict[str, float] = {}
        self.tasks: dict[str, int] = {}

    def rows(self) -> Iterator[tuple[str, str]]:
        """Fault -> what came out, one after the other."""
        for name in STUDIES:
            place = self._new(name)
            started = time.monotonic()
            ended(start(*study(name, place, "--workers", "1"), cache=place / "cache"))
            self.seconds[name] = time.monotonic() - started
            self.expected[name] = tables(place)
            self.tasks[name] = kept(place)
        yield "undisturbed, one process", self._said_seconds()
        for name in STUDIES:
            yield f"`{name}`, `kill -9` at random moments, resumed", self._killed(name)
        yield "two processes on one cache", self._two_on_one_cache()
        yield "a cache that cannot be written", self._other_cache("/proc/cache")
        yield "the cache folder deleted all the time", self._deleted_cache()
        yield "no shared semaphores (no `/dev/shm`)", self._patched(WITHOUT_SEMAPHORES)
        yield "the clock set back by a day again and again", self._patched(CLOCK_SET_BACK)
        yield "a worker killed, then SIGTERM", self._terminated()
        yield "Dask: one of two workers killed", self._dask(scheduler_too=False)
        yield "Dask: a worker, then the scheduler killed", self._dask(scheduler_too=True)
        yield "`release`, `kill -9` at random moments", self._killed_release()

    def _said_seconds(self) -> str:
        return ", ".join(f"`{name}` {seconds:.1f} s" for name, seconds in self.seconds.items())

    def _new(self, name: str) -> Path:
        """An empty folder."""
        return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.folder))

    def _same(self, name: str, place: Path) -> None:
        """Compare the tables in a folder with the undisturbed ones."""
        found = tables(place)
        check(found == self.expected[name], f"{name}: tables differ: {sorted(found)}")
        left = [file.name for file in (place / "out").iterdir() if file.name.startswith(".")]
        check(not left, f"{name}: left behind are {left}")

    def _killed(self, name: str) -> str:
        """Kill a study at random moments and start it again, until it has ended."""
        asked = self.kills // len(STUDIES) + (list(STUDIES).index(name) < self.kills % len(STUDIES))
        place, latest, done = self._new(name), 0.0, []
        while len(done) < asked:
            process = start(*study(name, place), cache=place / "cache")
            if self.rng.random() < 0.3:
                # Also before the first task, while the program and its workers start.
                time.sleep(self.rng.uniform(0.0, 5.0))
            else:
                more = kept(place) + self.rng.randint(1, max(1, 2 * self.tasks[name] // asked))
                wait_for(lambda: kept(place) >= more or process.poll() is not None)  # noqa: B023
                time.sleep(self.rng.uniform(0.0, 0.5))
            process.kill()
            killed = process.wait() != 0
            latest = max(latest, wait_for(lambda: not session(process.pid), 30.0))  # noqa: B023
            process.communicate()
            found = tables(place)
            check(found in ({}, self.expected[name]), f"{name}: half a result after a kill")
            if killed:
                done.append(kept(place))
            else:
                self._same(name, place)
                place = self._new(name)
        ended(start(*study(name, place), cache=place / "cache"))
        self._same(name, place)
        tasks = ", ".join(map(str, done))
        return (
            f"{len(done)} kills, with {tasks} of {self.tasks[name]} tasks done by then: same "
            f"tables; workers gone within {latest:.1f} s"
        )

    def _two_on_one_cache(self) -> str:
        cache, places = self._new("cache"), [self._new("first"), self._new("second")]
        name = "mse-curves"
        processes = [start(*study(name, place), cache=cache) for place in places]
        for process, place in zip(processes, places, strict=True):
            said = ended(process)
            check(said == "", said)
            self._same(name, place)
        return "same tables, nothing said"

    def _other_cache(self, cache: str) -> str:
        place, name = self._new("unwritable"), "mse-curves"
        said = ended(start(*study(name, place, "--workers", "1"), cache=cache))
        check(said.count("\n") == 1, said)
        self._same(name, place)
        return "same tables, said once"

    def _deleted_cache(self) -> str:
        place, name, deleted, over = self._new("deleted"), "mse-curves", 0, threading.Event()
        process = start(*study(name, place), cache=place / "cache")

        def delete() -> None:
            nonlocal deleted
            while not over.wait(0.05):
                deleted += (place / "cache").exists()
                shutil.rmtree(place / "cache", ignore_errors=True)

        thread = threading.Thread(target=delete)
        thread.start()
        try:
            ended(process)
        finally:
            over.set()
            thread.join()
        self._same(name, place)
        return f"same tables after {deleted} times"

    def _patched(self, program: str) -> str:
        """Stop early, then resume, in a process in which something does not work."""
        place, name = self._new("patched"), "mse-curves"
        first = start(*study(name, place), cache=place / "cache", program=program)
        wait_for(lambda: kept(place) >= 3)
        first.terminate()
        ended(first, 143)
        ended(start(*study(name, place), cache=place / "cache", program=program))
        self._same(name, place)
        return "stopped and resumed: same tables"

    def _terminated(self) -> str:
        place, name = self._new("terminated"), "mse-curves"
        process = start(*study(name, place), cache=place / "cache")
        wait_for(lambda: kept(place) >= 2)
        workers = [
            pid for pid in session(process.pid)
            if "--process-name" in Path(f"/proc/{pid}/cmdline").read_text()
        ]  # fmt: skip
        check(len(workers) == 2, f"{len(workers)} workers")
        os.kill(workers[0], signal.SIGKILL)
        before = kept(place)
        wait_for(lambda: kept(place) >= before + 6)
        process.terminate()
        started = time.monotonic()
        said = ended(process, 143)
        seconds = time.monotonic() - started
        settings = json.loads((place / "out" / f"{name}.json").read_text(encoding="utf-8"))
        check(settings["partial"] and settings["done"] >= before + 6, "not what was done")
        check(said == "", said)
        ended(start(*study(name, place), cache=place / "cache"))
        self._same(name, place)
        return f"partial result {seconds:.1f} s after the signal; resumed: same tables"

    def _dask(self, *, scheduler_too: bool) -> str:
        place, name = self._new("dask"), "mse-curves"
        with contextlib.ExitStack() as stack:
            scheduler = stack.enter_context(
                dask("scheduler", place, "--host", "127.0.0.1", "--port", "0")
            )
            wait_for((place / "scheduler.json").exists)
            address = json.loads((place / "scheduler.json").read_text())["address"]
            workers = [
                stack.enter_context(
                    dask(
                        "worker", place, "--nthreads", "1", "--no-nanny",
                        "--local-directory", str(place / f"worker-{number}"),
                        cache=place / f"cache-{number}",
                    )
                )
                for number in range(2)
            ]  # fmt: skip
            process = start(*study(name, place, "--scheduler", address), cache=place / "cache")
            wait_for(lambda: kept(place) >= 3)
            workers[0].kill()
            if not scheduler_too:
                ended(process)
                self._same(name, place)
                return "same tables"
            before = kept(place)
            wait_for(lambda: kept(place) >= before + 4)
            scheduler.kill()
            started = time.monotonic()
            said = ended(process, 1)
            seconds = time.monotonic() - started
        check(said.startswith("error: the Dask cluster") and said.count("\n") == 1, said)
        check(bool(tables(place)), "no partial result")
        ended(start(*study(name, place), cache=place / "cache"))
        self._same(name, place)
        return f"one line and a partial result after {seconds:.1f} s; resumed here: same tables"

    def _killed_release(self) -> str:
        place = self._new("release")
        data, out, outcomes = place / "data.csv", place / "out.json", {"spent": 0, "nothing": 0}
        data.write_text("".join(f"{7 * day % 90}\n" for day in range(50)), encoding="utf-8")
        arguments = ["release", "covid", "--data", str(data), "--domain", "0,100",
                     "--epsilon-total", "1", "--yes", "--out", str(out)]  # fmt: skip
        ended(start(*arguments, cache=place / "cache"))
        out.unlink()
        # With its pool in the cache, as all that follow have it.
        started = time.monotonic()
        ended(start(*arguments, cache=place / "cache"))
        whole = time.monotonic() - started
        count = self.kills // 2
        for number in range(count):
            out.unlink(missing_ok=True)
            process = start(*arguments, cache=place / "cache")
            # One in each part of the time up to a little more than it takes undisturbed: most of
            # these before the document is there, and the last ones after that.
            share = (number + self.rng.random()) / count
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait((0.3 + 0.9 * share) * whole)
            process.kill()
            process.communicate()
            if out.exists():
                check("statement" in json.loads(out.read_text(encoding="utf-8")), "half a file")
                outcomes["spent"] += 1
            else:
                outcomes["nothing"] += 1
        out.unlink(missing_ok=True)
        process = start(*arguments, cache=place / "cache")
        process.communicate()
        left = sorted(file.name for file in place.iterdir() if file.name != "cache")
        check(left == ["data.csv", "out.json"], f"left behind are {left}")
        return (
            f"{sum(outcomes.values())} kills: {outcomes['spent']} whole documents, "
            f"{outcomes['nothing']} times nothing, no empty or half file"
        )


@contextlib.contextmanager
def dask(
    role: str, place: Path, *arguments: str, cache: Path | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A scheduler or a worker of a Dask cluster that meets in a file."""
    process = subprocess.Popen(
        [sys.executable, "-m", f"distributed.cli.dask_{role}", "--no-dashboard",
         "--scheduler-file", str(place / "scheduler.json"), *arguments],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT), "ABCDP_CACHE_DIR": str(cache or place)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def main() -> int:
    """Print the table; 1 unless all is as it should be."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faults", description=__doc__)
    parser.add_argument("--kills", type=int, default=20, help="of studies, together (20)")
    parser.add_argument("--seed", type=int, default=1, help="of the moments (1)")
    options = parser.parse_args()
    today = datetime.date.today().isoformat()
    print(f"{today}, {platform.machine()}, {processor_count()} processors\n")
    print("| fault | outcome |\n|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        try:
            for fault, outcome in Faults(Path(folder), options.kills, options.seed).rows():
                print(f"| {fault} | {outcome} |", flush=True)
        except FaultError as error:
            print(f"\nFAULT: {error}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
