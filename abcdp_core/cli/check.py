"""``abcdp check FILE``: does a model or a pool of your own keep what it states?

For a model, a Python file with ``MODEL``, it checks that the simulator gives the same data under
one seed, and simulates as many draws as a release begins with; a model that fails at any of them is
refused, unless failures are excluded. It searches for a record whose change moves a statistic by
more than is claimed. It says how large a public pool has to be and how long that takes here. Then
it simulates data sets, releases from each with every mechanism that serves the model, and reports
errors and how often intervals hold the truth.

For a pool that was made elsewhere, a TOML file beside its table, it reads both, says what the
sensitivity is and where it comes from, and measures the error of a private summary on draws that
are held out.

Only what is public is looked at, so it costs no privacy. Ctrl-C ends it; what was said by then
holds.
"""

from __future__ import annotations

import argparse
import math
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from abcdp_core import mechanisms, pool, simulators, studies
from abcdp_core.cli import arguments, progress, public_pool
from abcdp_core.cli.ending import say
from abcdp_core.cli.layout import between, folded, number, table, tell
from abcdp_core.cli.run import compute
from abcdp_core.own_model import Model, contract, examination, validation
from abcdp_core.own_model.user_errors import OwnError
from abcdp_core.parameters import (
    EPSILON_TOTAL,
    EPSILON_TOTAL_DEFAULT,
    Parameter,
    ParameterError,
    most_draws,
)
from abcdp_core.posterior.fit import REPLICATES
from abcdp_core.posterior.pool import minimum_pool
from abcdp_core.posterior.rounds import FIRST, Effort
from abcdp_core.results import Tables
from abcdp_core.sentences import amount, counted, duration, plain

RUNS = Parameter("integer", "Data sets", low=2, high=1000, special=(0.0,))

FEWEST_DRAWS = 20
"""Draws that a mechanism accepts here, at least: of fewer no 90 % interval can be made."""

WORTH_PROCESSES = 10.0
"""Seconds of simulations from which worker processes are worth their start."""

STUDIES = ("coverage", "plan")
"""What is measured, the first with a pool that both use."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("file", type=arguments.path, metavar="FILE",
                        help="a model, FILE.py, or a pool, FILE.toml")  # fmt: skip
    parser.add_argument("--n", metavar="N", help="records of the private data (the model's)")
    parser.add_argument("--epsilon-total", default=f"{EPSILON_TOTAL_DEFAULT:g}", metavar="E",
                        help="privacy budget of a release (%(default)s)")  # fmt: skip
    parser.add_argument("--pool-size", metavar="T", help="public prior draws (what is needed)")
    parser.add_argument("--runs", default="20", metavar="R",
                        help="simulated data sets, 0 for none (20)")  # fmt: skip
    arguments.add_seed(parser)
    arguments.add_place(parser)
    arguments.add_plugins(parser)


def run(options: argparse.Namespace) -> int:
    """Check and print; what is wrong ends it.

    Raises:
        OwnError: the model cannot be used; file, line or statistic, and why.
        ParameterError: something asked for is not possible.
        KeyboardInterrupt, LostWorkersError, MemoryError: before the end.
    """
    if options.file.suffix == ".toml":
        return _check_pool(options)
    files = [options.file, *options.plugin]
    arguments.plug_in(files)
    source: Any = simulators.load(name_in(options.file))
    model: Model = source.MODEL
    n = source.N_DEFAULT if options.n is None else int(source.N.parse("n", options.n))
    epsilon_total = float(EPSILON_TOTAL.parse("epsilon_total", options.epsilon_total))
    runs = int(RUNS.parse("runs", options.runs))
    seed = arguments.seed(options.seed)
    workers = arguments.workers(options.workers, 1024)
    asked = options.pool_size
    asked = asked if asked is None else int(source.POOL_SIZE.parse("pool_size", asked))
    with progress.of_fraction("simulated data sets") as told:
        found = examination.simulated(model, n, seed, told)
    with progress.of_fraction("first draws") as told:
        failures = examination.first_draws(model, found, seed, told)
    if failures.failed and model.failures == "refused":
        raise OwnError(
            f"{failures.said} It fails at {failures.failed:,} of {failures.draws:,} draws; with "
            f'failures="excluded" these count for nothing.'
        )
    with progress.of_fraction("scales of numbers") as told:
        contract.pilot(model, told)
    room = f"N = {n:,}" if model.neighbours == "replace" else f"room for {n:,} records"
    say(f"{model.title} ({model.name}): {room}, reproducible under its seed.")
    tell(_of_failures(failures))
    tell(*(f"Note: {words}" for words in examination.warnings(model, found)))
    if model.statistics:
        _search(model, found, seed)
    needed = needed_pool(source)
    # As many as a study may simulate of data sets of this size.
    pool_size = min(needed, most_draws(n)) if asked is None else asked
    say("", *_pool(needed, pool_size, found.seconds, workers))
    if asked is None and pool_size < needed:
        tell(f"More are not possible in a study of N = {n:,}.")
    if model.statistics:
        tell(_of_release(found.seconds))
    file = shlex.quote(str(options.file))
    after = (
        f"Next: abcdp plan {model.name} --plugin {file} --n {n} --epsilon-total {epsilon_total:g}"
    )
    if not runs:
        say("", after)
        return 0
    options.store, options.plugin = None, files
    # Threads are there at once; processes simulate at the same time whatever the simulator is.
    makers = workers if found.seconds * pool_size > WORTH_PROCESSES else 1
    common = {"n": n, "epsilon_total": epsilon_total, "pool_size": pool_size, "runs": runs}
    tables = _simulated(source, common, seed, makers, options)
    say("", *_errors(source, tables, common), "", after)
    return 0


def name_in(file: Path) -> str:
    """Name of the model of a file that was added.

    Raises:
        OwnError: it has none.
    """
    for name in simulators.names():
        model = getattr(simulators.load(name), "MODEL", None)
        if isinstance(model, Model) and model.file == file.name:
            return name
    raise OwnError(f"{file}: has no MODEL, so there is nothing to check.")


def _of_failures(failures: examination.Failures) -> str:
    """How many draws fail, and where the first of them does."""
    if not failures.failed:
        return f"None of {failures.draws:,} draws fails."
    fail = "fails and counts" if failures.failed == 1 else "fail and count"
    share = f"{failures.failed:,} of {failures.draws:,} draws {fail} for nothing"
    return f"{share}. {failures.said}"


# --------------------------------------------------------------------------- neighbours


def _search(model: Model, simulated: examination.Simulated, seed: int) -> None:
    """Print what a search for neighbours found.

    Raises:
        OwnError: a pair moves a statistic by more than is claimed.
    """
    found = examination.search(model, simulated, seed)
    change = "replaced by another" if model.neighbours == "replace" else "added or removed"
    own = {each.name: each for each in model.statistics}
    n = simulated.records.shape[1]

    def in_its_unit(name: str, moves: tuple[float, float]) -> str:
        """Of one statistic as it is; of all together as they are released."""
        stated = own.get(name)
        size = 1.0
        if stated is not None:
            size = stated.unit(model.neighbours) / (n if stated.kind == "mean" else 1)
        return _pair((size * moves[0], size * moves[1]))

    say("", f"How far one record {change} moves each statistic, L1 and L2:", "")
    rows = [["statistic", "claimed", "largest found", "derived or declared"]]
    for move in found.moves:
        stated = own.get(move.name)
        if stated is None:
            scaled = any(not each.whole for each in model.statistics)
            origin = "what is not a count in units of the above" if scaled else ""
        else:
            origin = "declared" if stated.kind == "declared" else f"derived: {stated.kind}"
        both = (in_its_unit(move.name, moves) for moves in (move.claimed, move.found))
        rows.append([move.name, *both, origin])
    say(*table(rows), "")
    looked = f"{counted(found.pairs, 'pair')} of neighbours were looked at"
    if found.exhaustive:
        looked += f", among them all of {counted(found.exhaustive, 'record')}"
    wrong = [move for move in found.moves if not move.holds]
    if wrong:
        worst = wrong[0]
        moved, claimed = (in_its_unit(worst.name, each) for each in (worst.found, worst.claimed))
        raise OwnError(
            f"{model.file}: statistic {worst.name}: one record {change} moves it by {moved} (L1, "
            f"L2, {worst.by} search), where {claimed} is claimed; a release would not be private."
        )
    say(f"{looked}; none moves a statistic by more. A search does not prove it.")


def _pair(moves: tuple[float, float]) -> str:
    return " and ".join(plain(value, 4) for value in moves)


# --------------------------------------------------------------------------------- pool


def needed_pool(source: Any) -> int:
    """Draws of which every mechanism that serves a scenario makes good intervals.

    Twice as many as the most that one needs to move draws by a regression, to two digits.
    """
    most = max(each.minimum_pool(source) for each in mechanisms.for_scenario(source).values())
    step = 10 ** (len(str(2 * most)) - 2)
    return min(int(source.POOL_SIZE.high), max(1000, step * math.ceil(2 * most / step)))


def _pool(needed: int, pool_size: int, seconds: float, workers: int) -> list[str]:
    time = duration(seconds * pool_size)
    shared = "" if workers == 1 else f", {duration(seconds * pool_size / workers)} with {workers}"
    lines = [
        f"A pool of {needed:,} draws is large enough for every mechanism that serves the model.",
        f"A simulated data set takes {duration(seconds)} here, {pool_size:,} of them {time} with "
        f"one worker{shared}.",
    ]
    if pool_size < needed:
        lines.append(f"A pool of {pool_size:,} is smaller than that: intervals may be off.")
    return lines


def _of_release(seconds: float) -> str:
    """What a release simulates."""
    most = Effort.simulations + REPLICATES
    return (
        f"`release` simulates {FIRST + REPLICATES:,} to {most:,} data sets, "
        f"{duration(seconds * (FIRST + REPLICATES))} to {duration(seconds * most)} with one "
        "worker; `release ... --rehearse` shows what comes of it, with simulated data."
    )


# -------------------------------------------------------------------- coverage and error


def _simulated(
    source: Any, common: dict[str, Any], seed: int, makers: int, options: argparse.Namespace
) -> dict[str, Tables]:
    """Return the tables of the studies; so many processes make the pool, or 1 for threads."""
    least = min(max(source.C_DEFAULT, FEWEST_DRAWS), common["pool_size"])
    own = {"coverage": {"c": least}, "plan": {}}
    tables = {}
    for name in STUDIES:
        study = studies.load(name)
        params = study.Params.for_scenario(source.SCENARIO, **common, **own[name])
        if name == STUDIES[0]:
            with (
                public_pool.made_by(makers, options.scheduler, options.plugin),
                progress.of_fraction("public pool") as told,
            ):
                pool.make(study.missing_pools(params, seed), told)  # type: ignore[attr-defined]
        workers = arguments.workers(options.workers, len(study.tasks(params, seed)))
        result, stop = compute(study, params, seed, workers, options)
        if isinstance(stop, KeyboardInterrupt):
            stop.add_note("errors and coverage are not measured.")
        if stop is not None:
            raise stop
        assert result is not None
        tables[name] = result.tables
    return tables


def _errors(source: Any, tables: dict[str, Tables], common: dict[str, Any]) -> list[str]:
    several = simulators.has_several_units(source)
    unit = "prior standard deviations" if several else "the parameters' unit"
    prior = tables["plan"]["prior"].set_index("metric").error["rmse"]
    sets = int(tables["plan"]["goal"].data_sets.max())
    words = (
        f"At ε_total = {common['epsilon_total']:g}: the root mean squared error in {unit} "
        f"({amount(prior)} without any data), over the simulated data sets on which no setting "
        f"was chosen ({sets:,} of {common['runs']:,}), and how often 90 % intervals hold the "
        f"truth, over all of them:"
    )
    return [folded(words), "", *table(_rows(tables["plan"]["main"], tables["coverage"]["summary"]))]


def _rows(plan: pd.DataFrame, coverage: pd.DataFrame) -> list[list[str]]:
    private = coverage[np.isfinite(coverage.epsilon_total)]
    held: dict[str, Any] = {row["mechanism"]: row for row in private.to_dict("records")}
    rows = [["mechanism", "error", "95 % interval", "hold the truth in", "95 % interval"]]
    for row in plan.to_dict("records"):
        share = held.get(row["mechanism"])
        covered = ["", ""]
        if share is not None:
            ends = between(share["coverage_low"], share["coverage_high"])
            covered = [f"{share['coverage']:.2f}", ends]
        error = between(row["predicted_low"], row["predicted_high"], "more")
        rows.append([row["mechanism"], number(row["predicted"]), error, *covered])
    return rows


# ---------------------------------------------------------------- a pool made elsewhere


def _check_pool(options: argparse.Namespace) -> int:
    """Check and print; what is wrong ends it."""
    for name in ("n", "pool_size"):
        if getattr(options, name) is not None:
            raise ParameterError(
                f"{name} = {getattr(options, name)}: is what {options.file.name} says it is."
            )
    epsilon_total = float(EPSILON_TOTAL.parse("epsilon_total", options.epsilon_total))
    runs = int(RUNS.parse("runs", options.runs))
    seed = arguments.seed(options.seed)
    found = arguments.read_pool(options.file)
    draws, numbers = found.numbers.shape
    change = "replaced by another" if found.neighbours == "replace" else "added or removed"
    origin = "from kinds, bounds and groups"
    if found.protected != found.unit:
        origin = "in part as declared" if found.declared is None else "as declared"
    needed = 2 * minimum_pool(numbers)
    size = f", N = {found.n:,}." if found.neighbours == "replace" else "."
    say(
        f"{found.title} ({found.name}): {counted(draws, 'draw')}, "
        f"{counted(len(found.parameters), 'parameter')}, "
        f"{counted(numbers, 'summary', 'summaries')}{size}"
    )
    tell(
        f"One record {change} moves the numbers, each in units of the most that it moves them, "
        f"by at most {_pair(found.moves())} (L1 and L2, {origin}).",
        f"What a release would protect: {found.protected}.",
    )
    if draws < needed:
        tell(f"Note: intervals may be off with {counted(draws, 'draw')}; {needed:,} are enough.")
    if again := validation.repeated(found):
        tell(
            f"Note: {counted(again, 'row')} of the table {'is' if again == 1 else 'are'} the same "
            f"as an earlier one; draws that are held out have to be new."
        )
    if runs:
        sets = min(runs, draws // 4)
        held = validation.measure(found, epsilon_total, sets, seed)
        tell(
            "",
            f"Private summary at ε_total = {epsilon_total:g}, of {sets:,} draws that are held out: "
            f"the root mean squared error is {plain(held.error)} prior standard deviations (95 % "
            f"interval {between(held.error_low, held.error_high)}; about 1 without any data); 90 % "
            f"intervals hold the truth in {held.coverage:.2f} (95 % interval "
            f"{between(held.coverage_low, held.coverage_high)}).",
        )
    return 0
