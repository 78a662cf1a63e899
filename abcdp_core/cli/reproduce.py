"""Test the papers' claims again, and write a report.

CLAIM is the id of a claim, an item of a paper or its beginning (P22-F3), or a paper (P21); without
it, all claims are tested. On two cores the quick profile takes up to ten minutes, the full one up
to ninety. If you interrupt it, the same command with the same DIR continues.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from tqdm import tqdm

from abcdp_core.base.atomic import together
from abcdp_core.base.sentences import counted
from abcdp_core.cli import arguments, progress
from abcdp_core.cli.console import say
from abcdp_core.figures import CaptionedFigure
from abcdp_core.publish.claims import Run, document, reading, report, reproduction
from abcdp_core.publish.claims.reproduction import Computed, Hired, Plan
from abcdp_core.run.store import Store
from abcdp_core.run.workers import executor_for


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("claims", nargs="*", metavar="CLAIM",
                        help="a claim, an item (or its beginning) or a paper")  # fmt: skip
    parser.add_argument("--profile", choices=reproduction.PROFILES, default="quick",
                        help="number of repeats: quick or full (quick)")  # fmt: skip
    arguments.add_seed(parser)
    arguments.add_place(parser)
    arguments.add_out(parser)


def run(options: argparse.Namespace) -> int:
    """Compute and judge claims, and write the report, which names what was not computed.

    Raises:
        ParameterError: the request is not possible.
        KeyboardInterrupt, UnheardError: it did not finish; what was done is written.
    """
    seed = arguments.seed(options.seed)
    plan = reproduction.plan(reading.load(), options.claims, options.profile, seed)
    tasks = [
        reproduction.study_of(run).tasks(reproduction.params_of(run, plan.profile), seed)
        for run in plan.runs
    ]
    workers = arguments.workers(options.workers, max(map(len, tasks), default=1))
    arguments.check_writable("out", options.out)
    hire = functools.partial(executor_for, workers, options.scheduler)
    done: list[Computed] = []
    written: list[str] = []
    try:
        try:
            _compute(plan, hire, Store(options.out / "store", keep_all=True), done)
        finally:
            if done or not plan.runs:
                written = _write(plan, done, options.out)
    except BaseException as stop:
        stop.add_note("finished tasks were kept; the same command continues from them.")
        raise
    say(*written)
    return 0


def _compute(plan: Plan, hire: Callable[[], Hired], store: Store, done: list[Computed]) -> None:
    """Fill ``done`` run by run, and show progress."""
    others = counted(len(plan.untested), "other item")
    rest = f"; {others} cannot be tested" if plan.untested else ""
    say(
        f"{plan.profile.capitalize()} profile, seed {plan.seed}: {counted(len(plan.runs), 'run')} "
        f"for {counted(len(plan.claims), 'claim')}{rest}."
    )
    bars = contextlib.ExitStack()
    bar: tqdm[NoReturn] | None = None

    def watch(run: Run, done: int, total: int) -> None:
        nonlocal bar
        if not done or bar is None:
            bar = bars.enter_context(progress.of_tasks(total, run.name, leave=False))
        bar.total = total
        bar.update(done - bar.n)

    with bars:
        for computed in reproduction.carry_out(plan, hire, store, watch):
            bars.close()
            done.append(computed)
            how = f"{computed.seconds:.1f} s" + (f", {computed.reason}" if computed.reason else "")
            say(f"[{len(done)}/{len(plan.runs)}] {computed.run.name}: {how}")


def _write(plan: Plan, done: list[Computed], folder: Path) -> list[str]:
    """Judge what is done, write all forms of the report or none, and return what to print."""
    complete = reproduction.unfinished(plan, done)
    made = report.make(plan, reproduction.judge(plan, complete), complete)
    texts = {
        "reproduce.md": document.markdown(made, plan.ledger),
        "reproduce.html": document.page(made, plan.ledger, _figures(complete)),
    }
    with arguments.writing("out", folder, arguments.UNCHANGED), together(folder) as place:
        written = report.write(made, place)
        for name, text in texts.items():
            (place / name).write_text(text, encoding="utf-8", newline="\n")
    names = (*(file.name for file in written), *texts)
    return [report.total_words(made.table), "Files:", *(f"  {folder / name}" for name in names)]


def _figures(done: list[Computed]) -> dict[str, CaptionedFigure]:
    """Return run -> its main figure, if it can be drawn."""
    figures: dict[str, CaptionedFigure] = {}
    for computed in done:
        # The verdicts are kept even if a figure fails; the report says that it is missing.
        with contextlib.suppress(Exception):
            if computed.result is not None:
                drawn = reproduction.study_of(computed.run).figures(computed.result)
                figures[computed.run.name] = next(iter(drawn.values()))
    return figures
