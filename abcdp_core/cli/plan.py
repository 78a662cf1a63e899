"""Choose a mechanism for N people and a privacy budget.

`plan` ranks every mechanism that serves a scenario, each at its best public setting, by its
predicted error. With a target for the error or for the length of intervals, it says which
mechanisms meet the target, and what budget or how many people would be enough. It uses only
simulated data, so it costs no privacy.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable
from typing import Any, cast

import numpy as np
import pandas as pd

from abcdp_core import studies
from abcdp_core.base.parameters import EPSILON_TOTAL_DEFAULT, ParameterError
from abcdp_core.base.sentences import amount, counted, listed
from abcdp_core.cli import arguments
from abcdp_core.cli.console import say
from abcdp_core.cli.layout import between, folded, number, table
from abcdp_core.cli.run import compute, ended
from abcdp_core.publish.output import files
from abcdp_core.release import releasable
from abcdp_core.release.request import scenarios
from abcdp_core.run.results import Result

STUDY, FORMATS = "plan", ("csv", "json", "html")

OPTIONS = {
    "n": ("N", "number of people (the scenario's)"),
    "epsilon_total": ("E", f"privacy budget ({EPSILON_TOTAL_DEFAULT:g})"),
    "delta": ("D", "δ of mechanisms with approximate differential privacy (1e-6)"),
    "probability": ("Q", "share of releases within the error (on average if not given)"),
    "metric": ("NAME", "measure of the error: rmse or mae (rmse)"),
    "mechanism": ("NAMES", "mechanisms, separated by commas (all that serve the scenario)"),
    "pool_size": ("T", "size of the public pool (the scenario's)"),
    "runs": ("R", "number of simulated data sets (256)"),
}
"""Option, which is a parameter of the study -> its metavar and its help."""

GOALS = {"error_below": "error-below", "interval_below": "interval-below"}
"""Option with a target -> the goal of the study."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("scenario", metavar="SCENARIO")
    goals = parser.add_mutually_exclusive_group()
    goals.add_argument("--error-below", metavar="X", help="target for the error")
    goals.add_argument("--interval-below", metavar="W",
                       help="target for the length of 90 %% intervals")  # fmt: skip
    for name, (value, words) in OPTIONS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", metavar=value, help=words)
    arguments.add_seed(parser)
    arguments.add_place(parser)
    arguments.add_out(parser, "folder for tables and figures (none)", required=False)
    arguments.add_plugins(parser)


def run(options: argparse.Namespace) -> int:
    """Compute and print a plan; write files if asked to.

    Raises:
        ParameterError: the request is not possible.
        KeyboardInterrupt: nothing was computed.
        LostWorkersError, MemoryError: it did not finish; what is known is printed.
    """
    arguments.plug_in(options.plugin)
    study = studies.load(STUDY)
    taken = study.Params.specification()["scenario"].options
    arguments.check_scenario(options.scenario, taken, options.plugin)
    params = study.Params.from_text(settings(options))
    seed = arguments.seed(options.seed)
    workers = arguments.workers(options.workers, len(study.tasks(params, seed)))
    if options.out is not None:
        arguments.check_writable("out", options.out)
    options.store = None
    result, stop = compute(study, params, seed, workers, options)
    if result is not None:
        figures = study.figures(result)
        say(*lines(result, figures["plan"].sentence))
        if options.out is not None:
            with arguments.writing("out", options.out, arguments.UNCHANGED):
                written = files.write(result, figures, options.out, FORMATS)
            say("", "Files:", *(f"  {file}" for file in written))
    return ended(result, stop)


def settings(options: argparse.Namespace) -> dict[str, str]:
    """Return the parameters of the study as text.

    Raises:
        ParameterError: a probability is given without a target for the error.
    """
    given = vars(options)
    texts = {name: given[name] for name in ("scenario", *OPTIONS) if given[name] is not None}
    for option, goal in GOALS.items():
        if given[option] is not None:
            texts |= {"goal": goal, "wanted": given[option]}
    if "probability" in texts and given["error_below"] is None:
        raise ParameterError(
            f"probability = {texts['probability']}: needs --error-below, the error to stay within."
        )
    return texts


def lines(result: Result, advice: str) -> list[str]:
    """Return a plan as lines for a terminal."""
    params: Any = result.params
    main, goal = result.tables["main"], result.tables["goal"]
    rest = f"Partial result: {result.done} of {result.total} tasks done."
    if main.empty:
        return [folded(advice), rest]
    head = (
        f"{params.scenario}: N = {params.n:,}, ε_total = {params.epsilon_total:g}, "
        f"δ = {params.delta:g}, {counted(int(goal.data_sets.max()), 'simulated data set')}."
    )
    ranked = f"Ranked by {goal.quantity.iloc[0]}:"
    printed = [folded(head), "", ranked, *table(_ranking(main, goal, params)), ""]
    printed += [folded(advice), folded(_offered(params.scenario, main.mechanism))]
    intervals = result.tables["intervals"]
    if len(intervals):
        printed += ["", "90 % intervals:", *table(_intervals(intervals))]
    enough = result.tables["enough"]
    if len(enough):
        printed += [
            "",
            f"Enough to stay below {amount(params.wanted, 6)}:",
            *table(_enough(enough)),
        ]
        if np.isinf(enough.enough_high).any():
            printed.append('In an interval, "none" means that perhaps nothing tried is enough.')
    refused = result.tables["refused"]
    if len(refused):
        printed += ["", "Cannot serve this scenario:"]
        printed += [folded(f"{row['mechanism']}: {row['why']}", 2) for row in _records(refused)]
    printed += ["", folded(result.privacy)]
    if result.is_partial:
        printed.append(rest)
    return printed


def _offered(scenario: str, ranked: Iterable[str]) -> str:
    """Say which of the mechanisms can release from a person's own data."""
    serving = releasable.serving(scenario) if scenario in scenarios() else {}
    names = [name for name in ranked if name in serving]
    return f"Of the mechanisms above, `abcdp release` offers {listed(names) if names else 'none'}."


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", table.to_dict("records"))


def _ranking(main: pd.DataFrame, goal: pd.DataFrame, params: Any) -> list[list[str]]:
    met = "meets" if params.has_goal else "beats the prior"
    rows = [["mechanism", "c", "ε_abc", "δ", "value", "95 % interval", met]]
    for row, of in zip(_records(main), _records(goal), strict=True):
        rows.append([
            row["mechanism"],
            f"{row['c']:,}" if row["c"] else "",
            number(row["epsilon_abc"]),
            f"{row['delta']:g}" if row["delta"] else "pure",
            number(of["value"]),
            between(of["value_low"], of["value_high"], "more"),
            "yes" if row["meets"] else "no",
        ])  # fmt: skip
    return rows


def _intervals(table: pd.DataFrame) -> list[list[str]]:
    rows = [["mechanism", "length", "coverage", "95 % interval"]]
    for row in _records(table):
        range_of = between(row["coverage_low"], row["coverage_high"])
        rows.append([row["mechanism"], number(row["width"]), f"{row['coverage']:.2f}", range_of])
    return rows


def _enough(table: pd.DataFrame) -> list[list[str]]:
    rows = [["mechanism", "enough", "95 % interval", ""]]
    for row in _records(table):
        name = "ε_total" if row["knob"] == "epsilon_total" else "N"
        enough = (
            f"{name} = {number(row['enough'])}" if math.isfinite(row["enough"]) else f"no {name}"
        )
        ends = between(row["enough_low"], row["enough_high"])
        rows.append([row["mechanism"], enough, ends, row["why"]])
    return rows
