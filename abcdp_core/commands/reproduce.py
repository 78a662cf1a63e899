"""Judge the papers' claims again: compute what they need, each run once, and write a report.

A CLAIM is the id of a claim, an item of a paper or its beginning (P22-F3), or a paper (P21);
without one, all are judged. On two cores the quick profile takes up to ten minutes, the full one up
to ninety. It goes on where it was stopped, as long as DIR is the same.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from tqdm import tqdm

from abcdp_core.commands import arguments, progress
from abcdp_core.commands.ending import UnheardError, say
from abcdp_core.figures import Drawn
from abcdp_core.ledger import Run, document, reading, report, reproduction
from abcdp_core.ledger.reproduction import Computed, Hired, Plan
from abcdp_core.output.together import together
from abcdp_core.parameters import ParameterError
from abcdp_core.sentences import counted
from abcdp_core.store import Store
from abcdp_core.workers import executor_for


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("claims", nargs="*", metavar="CLAIM",
                        help="a claim's id, an item or its beginning, or a paper")  # fmt: skip
    parser.add_argument("--profile", choices=reproduction.PROFILES, default="quick",
                        help="how many repeats: quick or full (quick)")  # fmt: skip
    arguments.add_seed(parser)
    arguments.add_place(parser)
    parser.add_argument(
        "--out", type=arguments.path, required=True, metavar="DIR", help="where files go"
    )


def run(options: argparse.Namespace) -> int:
    """Check, compute, judge, write; what was not computed is said in the report.

    Raises:
        ParameterError: something asked for is not possible.
        KeyboardInterrupt: before the end, with what was done written.
    """
    seed = arguments.seed(options.seed)
    plan = reproduction.plan(reading.load(), options.claims, options.profile, seed)
    tasks = [reproduction.study_of(run).tasks(plan.params(run), seed) for run in plan.runs]
    workers = arguments.workers(options.workers, max(map(len, tasks), default=1))
    arguments.check_writable("out", options.out)
    arguments.make_ready(options.out, "reproduce", "csv", "json", "html", "md")
    hire = functools.partial(executor_for, workers, options.scheduler)
    done: list[Computed] = []
    try:
        try:
            _compute(plan, hire, Store(options.out / "store", keep_all=True), done)
        except (KeyboardInterrupt, UnheardError, ParameterError) as stop:
            if done:
                _write(plan, done, options.out, quietly=isinstance(stop, UnheardError))
            if isinstance(stop, UnheardError):
                raise UnheardError(stop.error, KEPT) from stop
            raise
        _write(plan, done, options.out)
    except KeyboardInterrupt as stop:
        stop.args = (KEPT,)
        raise
    return 0


KEPT = "the same command goes on from the finished tasks that were kept."


def _compute(plan: Plan, hire: Callable[[], Hired], store: Store, done: list[Computed]) -> None:
    """Fill ``done`` run by run, and say how far it is."""
    count = len(plan.runs)
    others = counted(len(plan.untested), "other item", "other items")
    rest = f"; nothing can be run for {others}" if plan.untested else ""
    say(
        f"{plan.profile.capitalize()} profile, seed {plan.seed}: "
        f"{counted(count, 'run', 'runs')} for "
        f"{counted(len(plan.claims), 'claim', 'claims')}{rest}."
    )
    with contextlib.closing(_Progress()) as progress:
        for computed in reproduction.carry_out(plan, hire, store, progress.watch):
            progress.close()
            done.append(computed)
            said = f"{computed.seconds:.1f} s" + (f", {computed.reason}" if computed.reason else "")
            say(f"[{len(done)}/{count}] {computed.run.name}: {said}")


class _Progress:
    """A bar for the run that is going on."""

    def __init__(self) -> None:
        self.bar: tqdm[NoReturn] | None = None

    def watch(self, run: Run, done: int, total: int) -> None:
        """Show how much of a run is done."""
        if self.bar is None:
            self.bar = progress.of_tasks(total, run.name, leave=False)
        self.bar.total = total
        self.bar.update(done - self.bar.n)

    def close(self) -> None:
        """Take the bar away."""
        if self.bar is not None:
            self.bar.close()
        self.bar = None


def _write(plan: Plan, done: list[Computed], folder: Path, *, quietly: bool = False) -> None:
    """Judge what is done and write the report in all its forms, all of them or none."""
    complete = reproduction.unfinished(plan, done)
    found = report.make(plan, reproduction.judge(plan, complete), complete)
    texts = {
        "reproduce.md": document.markdown(found, plan.ledger),
        "reproduce.html": document.page(found, plan.ledger, _figures(complete)),
    }
    try:
        with together(folder) as place:
            written = report.write(found, place)
            for name, text in texts.items():
                (place / name).write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise arguments.not_writable("out", folder, error, arguments.UNCHANGED) from error
    if not quietly:
        names = (*(file.name for file in written), *texts)
        files = (f"  {folder / name}" for name in names)
        say(report.total_words(found.table), "Files:", *files)


def _figures(done: list[Computed]) -> dict[str, Drawn]:
    """Run -> its main figure, for those that can be drawn."""
    figures: dict[str, Drawn] = {}
    for computed in done:
        # A figure that fails must not cost the verdicts; the report says that it is missing.
        with contextlib.suppress(Exception):
            if computed.result is not None:
                drawn = reproduction.study_of(computed.run).figures(computed.result)
                figures[computed.run.name] = next(iter(drawn.values()))
    return figures
