"""``abcdp list``: the experiments, or what one of them can be asked."""

from __future__ import annotations

import argparse
import textwrap

from abcdp_core import experiments
from abcdp_core.commands import arguments
from abcdp_core.commands.ending import say
from abcdp_core.experiments import Experiment
from abcdp_core.output.formats import table_file
from abcdp_core.parameters import Parameter, Params, text_of


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("experiment", nargs="?", metavar="EXPERIMENT")
    arguments.add_plugins(parser)


def run(options: argparse.Namespace) -> int:
    """Print names and titles, or all that is to be known about one experiment.

    Raises:
        ParameterError: there is no such experiment, or a plug-in cannot be loaded.
    """
    arguments.plug_in(options.plugin)
    if options.experiment is None:
        _print_titles(experiments.titles())
    else:
        _print_experiment(experiments.load(options.experiment))
    return 0


def _print_titles(titles: dict[str, str]) -> None:
    width = max(len(name) for name in titles)
    for name, title in titles.items():
        say(f"{name:{width}}  {title}")


def _print_experiment(experiment: Experiment) -> None:
    say(f"{experiment.EXPERIMENT}: {experiment.TITLE}\n")
    say("Parameters (--set name=value):")
    defaults = experiment.Params()
    general = experiment.Params.specification()
    for key, parameter in experiment.Params.specification(_scenario(defaults)).items():
        # A choice is named whole: what one scenario leaves out of it another one has.
        whole = general[key] if parameter.kind == "choice" else parameter
        say(_described(key, whole, defaults))
    for scenario, starts in _starts(experiment).items():
        say(_folded(f"With scenario={scenario}: {starts}", 2))
    say("\nPresets (--preset name):" if experiment.PRESETS else "\nPresets: none")
    for key, preset in experiment.PRESETS.items():
        say(f"  {key}: {_differences(preset, defaults)}")
    say("\nColumns:")
    for table, columns in experiment.COLUMNS.items():
        say(_folded(f"{table_file(experiment.EXPERIMENT, table)}: {', '.join(columns)}", 2))


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
