"""``python -m abcdp_core infer``: the posterior from what somebody else released, noise and all.

PROBLEM.toml holds the query, its noise law, and which simulator or pool is to explain it; three are
in the folder ``examples``. It costs no privacy budget: nothing private is read. Written are
``infer.csv`` (weighted draws), ``infer.summary.csv``, ``infer.json`` and ``infer.html``, all or
none.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from pathlib import Path

from plotly.offline import get_plotlyjs

from abcdp_core.commands import arguments, inferred, progress
from abcdp_core.commands.ending import say
from abcdp_core.interruption import held
from abcdp_core.output.page import LIBRARY
from abcdp_core.output.together import together
from abcdp_core.published import inference, problems, report
from abcdp_core.published.inference import Draws, Task
from abcdp_core.workers import LostWorkersError, executor_for, width

AHEAD = 2
"""Tasks that are given out for each worker."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("problem", type=arguments.path, metavar="PROBLEM.toml")
    parser.add_argument("--workers", metavar="W", help="processes on this machine (one per core)")
    parser.add_argument(
        "--out", type=arguments.path, required=True, metavar="DIR", help="where files go"
    )


def run(options: argparse.Namespace) -> int:
    """Read, check, compute, write.

    Raises:
        ParameterError: something asked for is not possible.
        KeyboardInterrupt, LostWorkersError, MemoryError: before the end; nothing is written.
    """
    problem = problems.read(options.problem)
    workers = arguments.workers(options.workers, inference.tasks_at_once(problem))
    arguments.check_writable("out", options.out)
    arguments.make_ready(options.out, "infer", "csv", "json", "html")
    started = time.monotonic()
    with executor_for(workers) as executor:
        posterior = inference.infer(problem, tasks_by(executor))
    taken = time.monotonic() - started
    try:
        written = _write(inferred.texts(problem, posterior, taken), options.out)
    except OSError as error:
        raise arguments.not_writable("out", options.out, error, arguments.UNCHANGED) from error
    say(report.sentence(problem, posterior))
    say(f"Computed in {taken:.1f} s. Files:", *(f"  {file}" for file in written))
    return 0


def tasks_by(executor: Executor | None) -> inference.Each:
    """What does the tasks of a round, in order, and shows how far it is."""

    def each(name: str, work: Callable[[Task], Draws], tasks: Sequence[Task]) -> Iterable[Draws]:
        with progress.of_tasks(len(tasks), name, leave=False) as bar:
            for draws in map(work, tasks) if executor is None else _given(executor, work, tasks):
                bar.update()
                yield draws

    return each


def _given(
    executor: Executor, work: Callable[[Task], Draws], tasks: Sequence[Task]
) -> Iterable[Draws]:
    """What workers make of the tasks, in order; few are given out ahead, so that all end soon."""
    waiting = iter(tasks)
    running: deque[Future[Draws]] = deque()
    try:
        while True:
            with held():
                for task in itertools.islice(waiting, AHEAD * width(executor) - len(running)):
                    running.append(executor.submit(work, task))
            if not running:
                return
            yield running.popleft().result()
    except (BrokenExecutor, CancelledError) as error:
        raise LostWorkersError(
            "a worker process was lost: it was killed, as by a system short of memory, or crashed. "
            "Nothing was written; with --workers 1 there are none to be lost."
        ) from error


def _write(texts: dict[str, str], directory: Path) -> list[Path]:
    """Write files, all of them or none."""
    texts = texts | {LIBRARY: get_plotlyjs()}
    with together(directory) as folder:
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8", newline="\n")
    return [directory / name for name in texts]
