"""List the experiments, or the parameters, presets and columns of one."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from abcdp_core import studies
from abcdp_core.base.parameters import Parameter, Params, text_of
from abcdp_core.cli import arguments
from abcdp_core.cli.console import say
from abcdp_core.cli.layout import folded
from abcdp_core.publish.output.formats import table_file
from abcdp_core.studies import Experiment


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("experiment", nargs="?", metavar="EXPERIMENT")
    arguments.add_plugins(parser)


def run(options: argparse.Namespace) -> int:
    """Print names and titles, or all about one experiment.

    Raises:
        ParameterError: the experiment does not exist, or a plug-in cannot be loaded.
    """
    arguments.plug_in(options.plugin)
    if options.experiment is not None:
        _print_experiment(studies.load(options.experiment))
        return 0
    titles = studies.titles()
    width = max(map(len, titles))
    say(*(f"{name:{width}}  {title}" for name, title in titles.items()))
    return 0


def _print_experiment(experiment: Experiment) -> None:
    defaults, general = experiment.Params(), experiment.Params.specification()
    usual = getattr(defaults, "scenario", None)
    say(f"{experiment.EXPERIMENT}: {experiment.TITLE}\n", "Parameters (--set name=value):")
    for key, parameter in experiment.Params.specification(usual).items():
        # All options of a choice: each scenario leaves out others.
        whole = general[key] if parameter.kind == "choice" else parameter
        say(_described(key, whole, defaults))
    for name in general["scenario"].options if usual is not None else ():
        if name != usual:
            starts = _settings(experiment.Params.defaults(str(name)))
            say(folded(f"With scenario={name}: {starts}", 2))
    say("\nPresets (--preset name):" if experiment.PRESETS else "\nPresets: none")
    texts = defaults.to_text()
    for key, preset in experiment.PRESETS.items():
        changed = {name: text for name, text in preset.to_text().items() if text != texts[name]}
        say(f"  {key}: {_settings(changed) or 'the defaults'}")
    say("\nColumns:")
    for table, columns in experiment.COLUMNS.items():
        say(folded(f"{table_file(experiment.EXPERIMENT, table)}: {', '.join(columns)}", 2))


def _settings(values: Mapping[str, Any]) -> str:
    texts = (
        (key, each if isinstance(each, str) else text_of(each)) for key, each in values.items()
    )
    return " ".join(f"{key}={text}" for key, text in texts)


def _described(name: str, parameter: Parameter, defaults: Params) -> str:
    several = "; separate several by commas" if defaults.takes_many(name) else ""
    unit = f" {parameter.unit}" if parameter.unit else ""
    words = f"{parameter.label}: {parameter.allowed()}{unit}{several}. {parameter.help}"
    return f"  {name} = {text_of(getattr(defaults, name))}\n{folded(words, 6)}"
