"""Run an experiment and write its tables, settings and figures.

If you press Ctrl-C, or workers or memory are lost, the results so far are written and marked as
partial.
"""

from __future__ import annotations

import argparse
import contextlib
import time
from collections.abc import Sequence
from pathlib import Path

from abcdp_core import studies
from abcdp_core.base import interruption
from abcdp_core.base.parameters import ParameterError, Params
from abcdp_core.cli import arguments, progress
from abcdp_core.cli.console import say
from abcdp_core.publish.output import files, images
from abcdp_core.publish.output.formats import FORMATS, STATIC, ExportError, chosen_formats
from abcdp_core.run import runner
from abcdp_core.run.results import Result
from abcdp_core.run.store import Store
from abcdp_core.run.workers import LostWorkersError, executor_for
from abcdp_core.studies import Experiment


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("experiment", metavar="EXPERIMENT")
    parser.add_argument("--preset", metavar="NAME", help="preset to start from")
    parser.add_argument("--set", action="append", default=[], dest="settings", metavar="KEY=VALUE",
                        help="a parameter, or several values (KEY=1,2,5)")  # fmt: skip
    arguments.add_seed(parser)
    arguments.add_place(parser)
    parser.add_argument("--store", type=arguments.path, metavar="DIR",
                        help="keep finished tasks in this folder, and reuse them")  # fmt: skip
    arguments.add_out(parser)
    parser.add_argument("--formats", default="csv,json,html", metavar="LIST",
                        help=f"some of {','.join(FORMATS)} (csv,json,html)")  # fmt: skip
    arguments.add_plugins(parser)


def run(options: argparse.Namespace) -> int:
    """Check everything, compute and write; the checks come before the long computation.

    Raises:
        ParameterError, ExportError: the request is not possible.
        KeyboardInterrupt: nothing was done that could be written.
        LostWorkersError, MemoryError: it did not finish; what was done is written.
    """
    arguments.plug_in(options.plugin)
    experiment = studies.load(options.experiment)
    params = chosen_params(experiment, options.preset, options.settings, options.plugin)
    seed = arguments.seed(options.seed)
    workers = arguments.workers(options.workers, len(experiment.tasks(params, seed)))
    formats = chosen_formats(options.formats)
    obstacle = images.obstacle() if set(formats) & set(STATIC) else None
    if obstacle is not None:
        raise ExportError(obstacle)
    arguments.check_writable("out", options.out)
    if options.store is not None:
        arguments.check_writable("store", options.store)

    started = time.monotonic()
    result, stop = compute(experiment, params, seed, workers, options)
    taken = time.monotonic() - started
    if result is not None:
        with arguments.writing("out", options.out, arguments.UNCHANGED):
            written = files.write(result, experiment.figures(result), options.out, formats)
        say(result.summary, result.privacy)
        if result.is_partial:
            say(f"Partial result: {result.done} of {result.total} tasks done.")
        say(f"Computed in {taken:.1f} s. Files:", *(f"  {file}" for file in written))
    return ended(result, stop)


def ended(result: Result | None, stop: BaseException | None) -> int:
    """Return 0, or the exit code of a signal that came when there was a result.

    Raises:
        BaseException: what else stopped the computation.
    """
    if result is not None and isinstance(stop, KeyboardInterrupt):
        return interruption.exit_code(stop)
    if stop is not None:
        raise stop
    return 0


def chosen_params(
    experiment: Experiment,
    preset: str | None,
    settings: Sequence[str],
    plugins: Sequence[Path] = (),
) -> Params:
    """Return the parameters given by a preset and ``key=value`` items.

    Raises:
        ParameterError: the preset or a parameter does not exist, or a value is not allowed.
    """
    base = None if preset is None else studies.preset(experiment, preset)
    texts: dict[str, str] = {}
    for item in settings:
        key, equals, text = item.partition("=")
        if not equals:
            raise ParameterError(f"set = {item}: must be key=value.")
        texts[key.strip()] = text
    choice = experiment.Params.specification().get("scenario")
    arguments.check_scenario(texts.get("scenario"), choice.options if choice else (), plugins)
    return experiment.Params.from_text(texts, base)


def compute(
    experiment: Experiment,
    params: Params,
    seed: int,
    workers: int,
    options: argparse.Namespace,
) -> tuple[Result | None, BaseException | None]:
    """Run an experiment with a progress bar; return its last result, and what stopped it if any."""
    result = None
    store = None if options.store is None else Store(options.store, keep_all=True)
    try:
        with (
            executor_for(workers, options.scheduler) as executor,
            contextlib.closing(
                runner.run(experiment, params, seed, executor, store, options.plugin)
            ) as results,
            progress.of_tasks(len(experiment.tasks(params, seed))) as bar,
        ):
            for result in results:
                bar.total = result.total
                bar.update(result.done - bar.n)
    except (KeyboardInterrupt, LostWorkersError, MemoryError, ParameterError) as stop:
        return result, stop
    return result, None
