"""What ``infer`` writes: files of a posterior from a published query."""

from __future__ import annotations

import dataclasses
import shlex
from typing import Any

from abcdp_core.output import citation
from abcdp_core.output.files import as_json
from abcdp_core.output.page import LIBRARY, page
from abcdp_core.output.tables import as_csv, column_kinds
from abcdp_core.parameters import Params
from abcdp_core.posterior.outcome import Posterior
from abcdp_core.published import report
from abcdp_core.published.models import Model
from abcdp_core.published.problems import Problem
from abcdp_core.results import Result, versions


def record(problem: Problem, posterior: Posterior, seconds: float) -> dict[str, Any]:
    """What was done, ready for JSON."""
    name, file = problem.name, shlex.quote(f"{problem.name}.toml")
    found = posterior.summary
    tables = {"posterior": report.draws(posterior), "summary": report.table(found)}
    return {
        "problem": name,
        "pool" if not isinstance(problem.source, Model) else "simulator": problem.simulator,
        "query": problem.query.tolist(),
        "noise": problem.noise.in_words(),
        "effective_sample_size_wanted": problem.wanted,
        "seed": problem.seed,
        "command": f"abcdp infer {file} --out {shlex.quote(f'results/{name}')}",
        "way": report.WAYS[found.way],
        "effective_sample_size": found.effective,
        "simulated": found.simulated,
        "failed": found.failed,
        "rounds": [
            {"draws": draws, "effective_sample_size": ess} for draws, ess in posterior.rounds
        ],
        "fit": found.fit and found.fit.record(),
        "summary": report.sentence(problem, found),
        "privacy": _privacy(problem),
        "spent_by_the_release": problem.spent and dataclasses.asdict(problem.spent),
        "run_time_seconds": round(seconds, 3),
        "versions": versions(),
        "citation": citation.TEXT,
        "columns": {name: column_kinds(each) for name, each in tables.items()},
    }


def _privacy(problem: Problem) -> str:
    """What inference costs, and what the release spent."""
    return f"{report.NO_COST} {report.spent(problem)}"


def texts(problem: Problem, posterior: Posterior, seconds: float) -> dict[str, str]:
    """Name of a file -> its content; the figure's script is another one."""
    drawn = report.figure(problem, posterior.summary)
    main = report.table(posterior.summary)
    result = Result(
        "infer", Params(), {"main": main}, drawn.sentence, _privacy(problem), seed=problem.seed
    )
    return {
        "infer.csv": as_csv(report.draws(posterior)),
        "infer.summary.csv": as_csv(main),
        "infer.json": as_json(record(problem, posterior, seconds)),
        "infer.html": page(result, "infer", drawn, LIBRARY),
    }
