"""Infer a posterior from a noisy query that someone else released.

PROBLEM.toml states the query, its noise, and the simulator or pool that explains it; the folder
`examples` has three. A model of your own (`--plugin FILE`) may explain it, too. This uses no
privacy budget: `infer` reads no private data. It writes `infer.csv` (draws), `infer.summary.csv`,
`infer.json` and `infer.html`, all or none.
"""

from __future__ import annotations

import argparse
import dataclasses
import pickle
import shlex
import time
from pathlib import Path
from typing import Any

from plotly.offline import get_plotlyjs

from abcdp_core.base.atomic import together
from abcdp_core.base.parameters import Parameter, ParameterError, Params
from abcdp_core.cli import arguments
from abcdp_core.cli.console import say
from abcdp_core.cli.simulations import done_by
from abcdp_core.posterior.guarantee import Guarantee, Guaranteed
from abcdp_core.posterior.outcome import Posterior
from abcdp_core.posterior.published import inference, problems, report
from abcdp_core.posterior.published.models import Model
from abcdp_core.posterior.published.problems import Problem, Sizes
from abcdp_core.posterior.rounds import InferenceProblem
from abcdp_core.publish.output import citation, draws
from abcdp_core.publish.output.files import as_json
from abcdp_core.publish.output.page import LIBRARY, page
from abcdp_core.publish.output.tables import as_csv, column_kinds
from abcdp_core.run.results import Result, versions

SECONDS = Parameter("real", "Seconds", low=1.0, high=1e6)
LEVEL = Parameter("real", "Guaranteed probability", low=0.5, high=0.99)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("problem", type=arguments.path, metavar="PROBLEM.toml")
    arguments.add_workers(parser)
    arguments.add_plugins(parser)
    arguments.add_out(parser)
    parser.add_argument("--seconds", default="120", metavar="S",
                        help="about how long simulations, chains over records, and the check of "
                        "the fit may take, each (120)")  # fmt: skip
    parser.add_argument("--guarantee", metavar="LEVEL",
                        help="also intervals that hold each parameter with at least this "
                        "probability, whatever it is")  # fmt: skip
    parser.add_argument("--draws", type=arguments.path, metavar="FILE",
                        help=draws.HELP)  # fmt: skip


def run(options: argparse.Namespace) -> int:
    """Infer the posterior and write it.

    Raises:
        ParameterError: the request is not possible.
        KeyboardInterrupt, LostWorkersError, MemoryError: it did not finish; nothing is written.
    """
    arguments.plug_in(options.plugin)
    problem = problems.read(options.problem, _own)
    _check_sendable(problem)
    workers = arguments.workers(options.workers, 1024)
    seconds = float(SECONDS.parse("seconds", options.seconds))
    asked = _guarantee(problem, options.guarantee)
    arguments.check_writable("out", options.out)
    draws.check_place(options.draws)
    started = time.monotonic()
    with done_by(workers, options.plugin) as each:
        what = "Simulations, chains over records, and the check of the fit"
        say(f"{what} take about {seconds:g} s each at most.")
        posterior = inference.infer(problem, each, seconds)
        guaranteed = asked.intervals(each) if asked else None
    taken = time.monotonic() - started
    written = _write(problem, posterior, guaranteed, taken, options.out)
    say(report.sentence(problem, posterior.summary))
    if guaranteed:
        say(guaranteed.sentence)
    say(f"Computed in {taken:.1f} s. Files:", *(f"  {file}" for file in written))
    if options.draws is not None and not posterior.summary.is_withheld:
        say(draws.write(posterior.summary.parameters, posterior.theta, options.draws))
    return 0


def _guarantee(problem: Problem, level: str | None) -> Guarantee | None:
    """Return what is to be guaranteed, after saying how much that simulates."""
    if level is None:
        return None
    if not isinstance(problem.source, Model):
        raise ParameterError("--guarantee: simulates anew, so it needs a simulator, not a pool.")
    question = InferenceProblem(problem.source, problem.noise, problem.query, problem.seed)
    asked = Guarantee(question, float(LEVEL.parse("guarantee", level)))
    say(f"For --guarantee, at most {asked.most_simulated:,} data sets are simulated.")
    return asked


def _check_sendable(problem: Problem) -> None:
    """Refuse a model whose functions cannot be sent to workers."""
    try:
        pickle.dumps(problem.source)
    except (AttributeError, pickle.PicklingError) as error:
        raise ParameterError(
            f"simulator = {problem.simulator}: cannot be sent to workers; write its functions with "
            "def in the file, not as lambda."
        ) from error


def _own(name: str, records: Sizes | None) -> Model | None:
    """Return the user's model, with its statistics as the numbers."""
    # Inside the function: most problems need neither.
    from abcdp_core.models import simulators
    from abcdp_core.release import simulated

    if name not in simulators.names():
        return None
    scenario = simulators.load(name)
    if records is not None and records.law is not None:
        of, is_released = records.law, records.released
        model = simulated.model_of_unknown_size(scenario, of, is_released=is_released)
    else:
        model = simulated.natural_model(scenario, records.low if records else scenario.n_default)
    return None if model is None else Model(**vars(model), title=scenario.title)


def _write(
    problem: Problem,
    posterior: Posterior,
    guaranteed: Guaranteed | None,
    taken: float,
    directory: Path,
) -> list[Path]:
    """Write all files or none."""
    drawn, main = report.figure(problem, posterior.summary), report.table(posterior.summary)
    privacy = f"{report.NO_COST} {report.spent(problem)}"
    said = f"{drawn.sentence} {guaranteed.sentence}" if guaranteed else drawn.sentence
    result = Result("infer", Params(), {"main": main}, said, privacy, seed=problem.seed)
    texts = {
        "infer.csv": as_csv(report.draws(posterior)),
        "infer.summary.csv": as_csv(main),
        "infer.json": as_json(
            record(problem, posterior, taken, privacy)
            | ({"guaranteed": guaranteed.record()} if guaranteed else {})
        ),
        "infer.html": page(result, "infer", drawn, LIBRARY),
        LIBRARY: get_plotlyjs(),
    }
    with arguments.writing("out", directory, arguments.UNCHANGED), together(directory) as folder:
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8", newline="\n")
    return [directory / name for name in texts]


def record(problem: Problem, posterior: Posterior, seconds: float, privacy: str) -> dict[str, Any]:
    """Return a record of the inference, ready for JSON."""
    name, file = problem.name, shlex.quote(f"{problem.name}.toml")
    summary = posterior.summary
    tables = {"posterior": report.draws(posterior), "summary": report.table(summary)}
    rounds = [{"draws": draws, "effective_sample_size": ess} for draws, ess in posterior.rounds]
    return {
        "problem": name,
        "simulator" if isinstance(problem.source, Model) else "pool": problem.simulator,
        "query": problem.as_shown,
        "noise": problem.noise.in_words(),
        "effective_sample_size_wanted": problem.wanted,
        "seed": problem.seed,
        "command": f"abcdp infer {file} --out {shlex.quote(f'results/{name}')}",
        "way": report.WAYS[summary.way],
        "effective_sample_size": summary.effective,
        "simulated": summary.simulated,
        "failed": summary.failed,
        "rounds": rounds,
        "fit": summary.fit and summary.fit.record(),
        "summary": report.sentence(problem, summary),
        "privacy": privacy,
        "spent_by_the_release": problem.spent and dataclasses.asdict(problem.spent),
        "run_time_seconds": round(seconds, 3),
        "versions": versions(),
        "citation": citation.TEXT,
        "columns": {name: column_kinds(each) for name, each in tables.items()},
    }
