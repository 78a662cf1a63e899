"""Check a model or a pool of your own.

For a model, a Python file with MODEL, `check`
- runs the simulator twice with one seed and compares the data;
- simulates the first draws of a release, and refuses a model that fails at any of them, unless the
  model excludes failures;
- searches for a record that moves a statistic by more than the model claims;
- says how large a public pool must be, and how long it takes to simulate;
- simulates data sets, releases each with every mechanism that serves the model, and reports the
  error and how often the intervals contain the truth.

For a pool, a TOML file beside its table, `check` says what the sensitivity is and where it comes
from, and measures the error of a private summary on held-out draws.

`check` reads only public data, so it uses no privacy budget. You can stop it at any time with
Ctrl-C; what it has printed holds.
"""

from __future__ import annotations

import argparse
import math
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from abcdp_core import mechanisms, studies
from abcdp_core.base.parameters import (
    EPSILON_TOTAL,
    EPSILON_TOTAL_DEFAULT,
    Parameter,
    ParameterError,
    most_draws,
)
from abcdp_core.base.sentences import amount, counted, duration, plain
from abcdp_core.cli import arguments, progress, public_pool
from abcdp_core.cli.console import say
from abcdp_core.cli.layout import between, folded, number, table, tell
from abcdp_core.cli.run import compute
from abcdp_core.evaluation import held_out
from abcdp_core.models import pool, simulators
from abcdp_core.models.own_model import Model, contract, examination
from abcdp_core.models.own_model.user_errors import OwnError
from abcdp_core.models.simulators import Scenario
from abcdp_core.posterior.fit import REPLICATES
from abcdp_core.posterior.pool import minimum_pool
from abcdp_core.posterior.rounds import FIRST, Effort
from abcdp_core.run.results import Tables

RUNS = Parameter("integer", "Data sets", low=2, high=1000, special=(0.0,))
RUNS_DEFAULT = 256  # As in a plan: the largest errors are rare, so few data sets say little.

FEWEST_DRAWS = 20
"""Draws that a mechanism keeps here, at least: fewer give no 90 % interval."""

WORTH_PROCESSES = 10.0
"""Seconds of simulation from which starting worker processes pays."""

STUDIES = ("coverage", "plan")
"""The studies that are run; both use the pool of the first."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("file", type=arguments.path, metavar="FILE",
                        help="a model (FILE.py) or a pool (FILE.toml)")  # fmt: skip
    parser.add_argument("--n", metavar="N", help="number of records (the model's default)")
    parser.add_argument("--epsilon-total", default=f"{EPSILON_TOTAL_DEFAULT:g}", metavar="E",
                        help="privacy budget of one release (%(default)s)")  # fmt: skip
    parser.add_argument("--pool-size", metavar="T", help="size of the public pool (as needed)")
    parser.add_argument("--runs", default=f"{RUNS_DEFAULT}", metavar="R",
                        help="number of simulated data sets, or 0 (%(default)s)")  # fmt: skip
    arguments.add_seed(parser)
    arguments.add_place(parser)
    arguments.add_plugins(parser)
    arguments.add_time_limit(parser)


def run(options: argparse.Namespace) -> int:
    """Check a model or a pool and print what is found.

    Raises:
        OwnError: the model cannot be used.
        ParameterError: the request is not possible.
        KeyboardInterrupt, LostWorkersError, MemoryError: the check did not finish.
    """
    arguments.limit_time(options, is_own=options.file.suffix != ".toml")
    if options.file.suffix == ".toml":
        return _check_pool(options)
    files = [options.file, *options.plugin]
    arguments.plug_in(files)
    source, model = scenario_in(options.file)
    n = source.n_default if options.n is None else int(source.n.parse("n", options.n))
    epsilon_total = float(EPSILON_TOTAL.parse("epsilon_total", options.epsilon_total))
    runs = int(RUNS.parse("runs", options.runs))
    seed = arguments.seed(options.seed)
    workers = arguments.workers(options.workers, 1024)
    asked = options.pool_size
    asked = asked if asked is None else int(source.pool_size.parse("pool_size", asked))
    with progress.of_fraction("simulated data sets") as bar:
        simulated = examination.simulated(model, n, seed, bar)
    with progress.of_fraction("first draws") as bar:
        failures = examination.first_draws(model, simulated, FIRST, seed, bar)
    if failures.failed and model.failures == "refused":
        raise OwnError(
            f"{failures.said} It fails at {failures.failed:,} of {failures.draws:,} draws; "
            f'failures="excluded" would exclude them.'
        )
    room = f"N = {n:,}" if model.neighbours == "replace" else f"room for {n:,} records"
    say(f"{model.title} ({model.name}): {room}, reproducible for a given seed.")
    tell(_of_failures(failures))
    tell(*(f"Note: {words}" for words in examination.warnings(model, simulated)))
    if model.statistics:
        _search(model, simulated, seed)
    if model.simulate_numbers is not None:
        tell(f"`simulate_numbers` shows no gross difference from tables of {n:,} records.")
    if model.rows(n) < n:
        tell(_of_release(simulated.seconds), "Mechanisms are not compared on such large tables.")
        return 0
    with progress.of_fraction("scales of numbers") as bar:
        contract.pilot(model, bar)
    needed = needed_pool(source)
    pool_size = min(needed, most_draws(n)) if asked is None else asked
    say("", *_pool(needed, pool_size, simulated.seconds, workers))
    if asked is None and pool_size < needed:
        tell(f"With N = {n:,}, a study cannot use a larger pool.")
    if model.statistics:
        tell(_of_release(simulated.seconds))
    file = shlex.quote(str(options.file))
    after = (
        f"Next: abcdp plan {model.name} --plugin {file} --n {n} --epsilon-total {epsilon_total:g}"
    )
    if not runs:
        say("", after)
        return 0
    options.store, options.plugin = None, files
    # Threads start at once; processes run in parallel whatever the simulator is.
    makers = workers if simulated.seconds * pool_size > WORTH_PROCESSES else 1
    common = {"n": n, "epsilon_total": epsilon_total, "pool_size": pool_size, "runs": runs}
    tables = _simulated(source, common, seed, makers, options)
    say("", *_errors(source, tables, common), "", after)
    return 0


def scenario_in(file: Path) -> tuple[Scenario, Model]:
    """Return the scenario of the model in a plug-in file, and the model.

    Raises:
        OwnError: the file has no model.
    """
    for scenario in map(simulators.load, simulators.names()):
        if scenario.model is not None and scenario.model.file == file.name:
            return scenario, scenario.model
    raise OwnError(f"{file}: has no MODEL, so there is nothing to check.")


def _of_failures(failures: examination.Failures) -> str:
    if not failures.failed:
        return f"The simulator fails at none of {failures.draws:,} draws."
    number = f"{failures.failed:,} of {failures.draws:,}"
    return f"The simulator fails at {number} draws; they are excluded. {failures.said}"


# --------------------------------------------------------------------------- neighbours


def _search(model: Model, simulated: examination.Simulated, seed: int) -> None:
    """Print the result of a search for neighbors.

    Raises:
        OwnError: a pair moves a statistic by more than the model claims.
    """
    search = examination.search(model, simulated, seed)
    change = "replaced" if model.neighbours == "replace" else "added or removed"
    own = {each.name: each for each in model.statistics}
    n = simulated.n

    def in_its_unit(name: str, moves: tuple[float, float]) -> str:
        stated = own.get(name)
        size = 1.0
        if stated is not None:
            size = stated.summaries()[0].unit(model.neighbours, n)
        return _pair((size * moves[0], size * moves[1]))

    say("", f"How much each statistic changes (L1 and L2) when one record is {change}:", "")
    rows = [["statistic", "claimed", "largest found", "source of the claim"]]
    for move in search.moves:
        stated = own.get(move.name)
        if stated is None:
            scaled = any(not each.whole for each in model.statistics)
            origin = "non-counts in units of the rows above" if scaled else ""
        else:
            origin = "declared" if stated.kind == "declared" else f"derived: {stated.kind}"
        both = (in_its_unit(move.name, moves) for moves in (move.claimed, move.found))
        rows.append([move.name, *both, origin])
    say(*table(rows), "")
    wrong = [move for move in search.moves if not move.holds]
    if wrong:
        worst = wrong[0]
        moved, claimed = (in_its_unit(worst.name, each) for each in (worst.found, worst.claimed))
        raise OwnError(
            f"{model.file}: statistic {worst.name}: changes by {moved} (L1 and L2, {worst.by} "
            f"search) when one record is {change}, but {claimed} is claimed; no release would be "
            f"private."
        )
    say(
        f"Searched {counted(search.pairs, 'pair')} of neighboring data sets; no change exceeds its "
        "claim. This search is not a proof."
    )


def _pair(moves: tuple[float, float]) -> str:
    return " and ".join(plain(value, 4) for value in moves)


# --------------------------------------------------------------------------------- pool


def needed_pool(source: Scenario) -> int:
    """Return a size of the pool with which every mechanism of a scenario gives good intervals.

    Twice the most that a mechanism needs for its regression, rounded up to two digits.
    """
    most = max(each.minimum_pool(source) for each in mechanisms.for_scenario(source).values())
    step = 10 ** (len(str(2 * most)) - 2)
    return min(int(source.pool_size.high), max(1000, step * math.ceil(2 * most / step)))


def _pool(needed: int, pool_size: int, seconds: float, workers: int) -> list[str]:
    time = duration(seconds * pool_size)
    shared = "" if workers == 1 else f", {duration(seconds * pool_size / workers)} with {workers}"
    lines = [
        f"A pool of {needed:,} draws is large enough for every mechanism that serves the model.",
        f"One simulated data set takes {duration(seconds)} here; {pool_size:,} take {time} with "
        f"one worker{shared}.",
    ]
    if pool_size < needed:
        lines.append(f"The pool of {pool_size:,} draws is smaller; intervals may be inaccurate.")
    return lines


def _of_release(seconds: float) -> str:
    """Say what a release simulates."""
    most = Effort.simulations + REPLICATES
    return (
        f"`release` simulates {FIRST + REPLICATES:,} to {most:,} data sets, "
        f"{duration(seconds * (FIRST + REPLICATES))} to {duration(seconds * most)} with one "
        "worker; `release ... --rehearse` tries it on simulated data."
    )


# -------------------------------------------------------------------- coverage and error


def _simulated(
    source: Scenario, common: dict[str, Any], seed: int, makers: int, options: argparse.Namespace
) -> dict[str, Tables]:
    """Return the tables of the studies; ``makers`` processes simulate the pool (1: threads)."""
    least = min(max(source.c_default, FEWEST_DRAWS), common["pool_size"])
    own = {"coverage": {"c": least}, "plan": {}}
    tables = {}
    for name in STUDIES:
        study = studies.load(name)
        params = study.Params.for_scenario(source.name, **common, **own[name])
        if name == STUDIES[0]:
            with (
                public_pool.made_by(makers, options.scheduler, options.plugin),
                progress.of_fraction("public pool") as bar,
            ):
                pool.make(study.missing_pools(params, seed), bar)  # type: ignore[attr-defined]
        workers = arguments.workers(options.workers, len(study.tasks(params, seed)))
        result, stop = compute(study, params, seed, workers, options)
        if isinstance(stop, KeyboardInterrupt):
            stop.add_note("errors and coverage were not measured.")
        if stop is not None:
            raise stop
        assert result is not None
        tables[name] = result.tables
    return tables


def _errors(source: Scenario, tables: dict[str, Tables], common: dict[str, Any]) -> list[str]:
    several = simulators.has_several_units(source)
    unit = "prior standard deviations" if several else "the parameters' unit"
    prior = tables["plan"]["prior"].set_index("metric").error["rmse"]
    sets = int(tables["plan"]["goal"].data_sets.max())
    words = (
        f"This table shows the root mean squared error at ε_total = {common['epsilon_total']:g} in "
        f"{unit} ({amount(prior)} without data), over the {sets:,} simulated data sets that were "
        f"not used to choose settings, and how often 90 % intervals contain the truth (coverage), "
        f"over all {common['runs']:,}."
    )
    return [folded(words), "", *table(_rows(tables["plan"]["main"], tables["coverage"]["summary"]))]


def _rows(plan: pd.DataFrame, coverage: pd.DataFrame) -> list[list[str]]:
    private = coverage[np.isfinite(coverage.epsilon_total)]
    coverage_of: dict[str, Any] = {row["mechanism"]: row for row in private.to_dict("records")}
    rows = [["mechanism", "error", "95 % interval", "coverage", "95 % interval"]]
    for row in plan.to_dict("records"):
        share = coverage_of.get(row["mechanism"])
        covered = ["", ""]
        if share is not None:
            ends = between(share["coverage_low"], share["coverage_high"])
            covered = [f"{share['coverage']:.2f}", ends]
        error = between(row["predicted_low"], row["predicted_high"], "more")
        rows.append([row["mechanism"], number(row["predicted"]), error, *covered])
    return rows


# ---------------------------------------------------------------- a pool made elsewhere


def _check_pool(options: argparse.Namespace) -> int:
    for name in ("n", "pool_size"):
        if getattr(options, name) is not None:
            raise ParameterError(
                f"{name} = {getattr(options, name)}: cannot be set; {options.file.name} fixes it."
            )
    epsilon_total = float(EPSILON_TOTAL.parse("epsilon_total", options.epsilon_total))
    runs = int(RUNS.parse("runs", options.runs))
    seed = arguments.seed(options.seed)
    public = arguments.read_pool(options.file)
    draws, numbers = public.numbers.shape
    change = "replaced" if public.neighbours == "replace" else "added or removed"
    origin = "from kinds, bounds and groups"
    if public.protected != public.unit:
        origin = "in part as declared" if public.declared is None else "as declared"
    needed = 2 * minimum_pool(numbers)
    size = f", N = {public.n:,}." if public.neighbours == "replace" else "."
    say(
        f"{public.title} ({public.name}): {counted(draws, 'draw')}, "
        f"{counted(len(public.parameters), 'parameter')}, "
        f"{counted(numbers, 'summary', 'summaries')}{size}"
    )
    tell(
        f"When one record is {change}, the numbers change by at most {_pair(public.moves())} (L1 "
        f"and L2, each number in units of its largest change; {origin}).",
        f"A release would protect {public.protected}.",
    )
    if draws < needed:
        few = counted(draws, "draw")
        tell(f"Note: with {few}, intervals may be inaccurate; {needed:,} draws are enough.")
    if again := held_out.repeated(public):
        tell(
            f"Note: {counted(again, 'row repeats an', 'rows repeat an')} earlier row of the table; "
            f"held-out draws must be new."
        )
    if runs:
        sets = min(runs, draws // 4)
        measured = held_out.measure(public, epsilon_total, sets, seed)
        tell(
            "",
            f"Private summary at ε_total = {epsilon_total:g}, tested on {sets:,} held-out draws: "
            f"the root mean squared error is {plain(measured.error)} prior standard deviations (95 "
            f"% interval {between(measured.error_low, measured.error_high)}; about 1 without "
            f"data), and the coverage of 90 % intervals is {measured.coverage:.2f} (95 % interval "
            f"{between(measured.coverage_low, measured.coverage_high)}).",
        )
    return 0
