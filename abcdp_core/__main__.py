"""The command line: the batch interface, and how any result is made again.

``python -m abcdp_core list`` names the experiments, ``list EXPERIMENT`` says what can be set, and
``run EXPERIMENT --out DIR`` runs one and writes tables, settings and figures. ``release SCENARIO``
makes one private release from somebody's own numbers. ``reproduce --out DIR`` judges what the
papers claim. Exit codes: 0 if all went well; 2 with one line ``error: ...`` if something asked for
is not possible; 130 after Ctrl-C, with what was done until then written and marked partial, if it
was a run or a reproduction.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import textwrap
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from abcdp_core import commands, experiments, registry, runner
from abcdp_core.commands import release, reproduce
from abcdp_core.experiments import Experiment
from abcdp_core.output import export
from abcdp_core.parameters import Parameter, ParameterError, Params, text_of
from abcdp_core.results import Result

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line asks.

    Args:
        arguments: without the program's name; from the command line if ``None``.

    Returns:
        The exit code.
    """
    try:
        given = sys.argv[1:] if arguments is None else arguments
        options = _parser().parse_args(release.domain_in_one(given))
        if options.command == "reproduce":
            return reproduce.run(options)
        _plug_in(options.plugin)
        if options.command == "list":
            return _list(options.experiment)
        return release.run(options) if options.command == "release" else _run(options)
    except (ParameterError, export.ExportError) as error:
        print("error:", " ".join(str(error).split()), file=sys.stderr)
        return 2
    except KeyboardInterrupt as stop:
        left = str(stop) or "nothing is done yet that could be written."
        print(f"Interrupted; {left}", file=sys.stderr)
        return INTERRUPTED


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One line, like every other error, instead of the usage."""
        raise ParameterError(f"{message} (see `python -m abcdp_core --help`).")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m abcdp_core", description=__doc__, allow_abbrev=False,
                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parts = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    what = parts.add_parser("list", help="experiments, or what one can be asked")
    what.add_argument("experiment", nargs="?", metavar="EXPERIMENT")
    run = parts.add_parser("run", help="run an experiment", allow_abbrev=False)
    run.add_argument("experiment", metavar="EXPERIMENT")
    run.add_argument("--preset", metavar="NAME", help="settings to start from")
    run.add_argument("--set", action="append", default=[], dest="settings", metavar="KEY=VALUE",
                     help="a parameter; lists as KEY=1,2,5; wins over the preset")  # fmt: skip
    commands.add_seed(run)
    commands.add_place(run)
    run.add_argument("--store", type=Path, metavar="DIR",
                     help="keep finished tasks here; do none that is here already")  # fmt: skip
    run.add_argument("--out", type=Path, required=True, metavar="DIR", help="where files go")
    run.add_argument("--formats", default="csv,json,html", metavar="LIST",
                     help=f"of {','.join(export.FORMATS)} (csv,json,html)")  # fmt: skip
    own = parts.add_parser("release", help="one private release from your own numbers",
                              description=release.__doc__, allow_abbrev=False,
                              formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    release.add_options(own)
    again = parts.add_parser("reproduce", help="judge what the papers claim",
                             description=reproduce.__doc__, allow_abbrev=False,
                             formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    reproduce.add_options(again)
    for command in (what, run, own):
        command.add_argument("--plugin", action="append", default=[], type=Path, metavar="FILE.py",
                             help="a scenario, mechanism or experiment in a file")  # fmt: skip
    return parser


def _plug_in(files: Sequence[Path]) -> None:
    """Add plug-ins; whatever is wrong with one is for its author to know in a line."""
    for file in files:
        try:
            module = registry.add_file(file)
            experiments.names()
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise ParameterError(f"plugin = {file}: cannot be loaded ({reason}).") from error
        if hasattr(module, "EXPERIMENT"):
            missing = [name for name in NEEDED if not hasattr(module, name)]
            if missing:
                raise ParameterError(f"plugin = {file}: lacks {', '.join(missing)}.")


NEEDED = ("TITLE", "Params", "PRESETS", "COLUMNS", "tasks", "work", "collect", "figures")


# ---------------------------------------------------------------------- list


def _list(name: str | None) -> int:
    if name is None:
        names = experiments.names()
        width = max(len(each) for each in names)
        for each in names:
            print(f"{each:{width}}  {experiments.load(each).TITLE}")
        return 0
    experiment = experiments.load(name)
    print(f"{experiment.EXPERIMENT}: {experiment.TITLE}\n")
    print("Parameters (--set name=value):")
    defaults = experiment.Params()
    for key, parameter in experiment.Params.specification(_scenario(defaults)).items():
        print(_described(key, parameter, defaults))
    for scenario, starts in _starts(experiment).items():
        print(_folded(f"With scenario={scenario}: {starts}", 2))
    print("\nPresets (--preset name):" if experiment.PRESETS else "\nPresets: none")
    for key, preset in experiment.PRESETS.items():
        print(f"  {key}: {_differences(preset, defaults)}")
    print("\nColumns:")
    for table, columns in experiment.COLUMNS.items():
        file = export.table_file(experiment.EXPERIMENT, table)
        print(_folded(f"{file}: {', '.join(columns)}", 2))
    return 0


def _scenario(params: Params) -> str | None:
    return getattr(params, "scenario", None)


def _starts(experiment: Experiment) -> dict[str, str]:
    """Scenario -> what it starts from, for those that are not the default."""
    choice = experiment.Params.specification().get("scenario")
    usual = _scenario(experiment.Params())
    return {
        str(name): " ".join(
            f"{key}={text_of(value)}"
            for key, value in experiment.Params.defaults(str(name)).items()
        )
        for name in (choice.options if choice else ())
        if name != usual
    }


def _described(name: str, parameter: Parameter, defaults: Params) -> str:
    several = "; several are separated by commas" if defaults.takes_many(name) else ""
    unit = f" {parameter.unit}" if parameter.unit else ""
    words = f"{parameter.label}: {parameter.allowed()}{unit}{several}. {parameter.help}"
    return f"  {name} = {text_of(getattr(defaults, name))}\n{_folded(words, 6)}"


def _differences(preset: Params, defaults: Params) -> str:
    """What a preset sets apart from the defaults."""
    usual = defaults.to_text()
    changed = {key: text for key, text in preset.to_text().items() if text != usual[key]}
    return " ".join(f"{key}={text}" for key, text in changed.items()) or "the defaults"


def _folded(text: str, indent: int) -> str:
    return textwrap.fill(
        text,
        width=100,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + 2),
        break_on_hyphens=False,
    )


# ----------------------------------------------------------------------- run


def _run(options: argparse.Namespace) -> int:
    """Check everything first, so that no error comes after a long computation."""
    experiment = experiments.load(options.experiment)
    params = _params(experiment, options.preset, options.settings)
    seed = commands.seed(options.seed)
    workers = commands.workers(options.workers, len(experiment.tasks(params, seed)))
    formats = export.chosen_formats(options.formats)
    obstacle = export.static_obstacle() if set(formats) & set(export.STATIC) else None
    if obstacle is not None:
        raise export.ExportError(obstacle)
    commands.check_writable("out", options.out)
    if options.store is not None:
        commands.check_writable("store", options.store)

    started = time.monotonic()
    result, interrupted = _compute(experiment, params, seed, workers, options)
    if result is None:
        raise KeyboardInterrupt
    taken = time.monotonic() - started
    try:
        written = export.write(result, experiment.figures(result), options.out, formats, taken)
    except OSError as error:
        raise commands.not_writable("out", options.out, error) from error
    _report(result, written, taken)
    return INTERRUPTED if interrupted else 0


def _params(experiment: Experiment, preset: str | None, settings: Sequence[str]) -> Params:
    base = None if preset is None else experiments.preset(experiment, preset)
    texts: dict[str, str] = {}
    for item in settings:
        key, equals, text = item.partition("=")
        if not equals:
            raise ParameterError(f"set = {item}: must be key=value.")
        texts[key.strip()] = text
    return experiment.Params.from_text(texts, base)


def _compute(
    experiment: Experiment,
    params: Params,
    seed: int,
    workers: int,
    options: argparse.Namespace,
) -> tuple[Result | None, bool]:
    """The last result there is, and whether Ctrl-C came before the end."""
    result = None
    store = None if options.store is None else runner.Store(options.store, keep_all=True)
    try:
        with (
            runner.executor_for(workers, options.scheduler) as executor,
            contextlib.closing(
                runner.run(experiment, params, seed, executor, store, options.plugin)
            ) as results,
            commands.bar(len(experiment.tasks(params, seed))) as bar,
        ):
            for result in results:
                bar.update(result.done - bar.n)
    except KeyboardInterrupt:
        return result, True
    return result, False


def _report(result: Result, written: Sequence[Path], taken: float) -> None:
    print(result.summary)
    print(result.privacy)
    if result.is_partial:
        print(f"Partial result: {result.done} of {result.total} tasks were done.")
    print(f"Computed in {taken:.1f} s. Files:")
    for file in written:
        print(f"  {file}")


if __name__ == "__main__":
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal without Greek letters shows a question mark instead of failing.
            stream.reconfigure(errors="replace")
    sys.exit(main())
