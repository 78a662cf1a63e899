r"""Which mechanism has the smallest error at equal privacy?

All mechanisms answer the same question from the same data $Y^*$ and the same public pool. The noise
is the same too, drawn at scale 1 and then scaled. The mechanisms differ in how they use the budget.

| mechanism | releases | noise | noise grows with |
|---|---|---|---|
| `sparse-vector` | the first c draws found close | Laplace (MATH S2) | c |
| `gaussian-rejection` | the decision about every draw | Gaussian (MATH R2) | the size of the pool |
| `soft-weights` | a weight for every draw | Gaussian, (ε, δ) (MATH W3) | the root of that size |
| `private-embedding` | one vector, which selects the c nearest draws | MATH E1 | nothing |
| `embedding-estimate` | the same vector, turned into an estimate | MATH E1 | nothing |

**Why the embedding's noise does not grow with c.** The sparse vector technique asks the data about
every draw and pays for every *yes*. The embedding asks for the mean features of the data, and pays
once. Selecting draws by the result is post-processing, which needs no budget.

**When the sparse vector is still the right choice.** It needs nothing but distances. Some distances
have no bounded statistic behind them, such as the clipped summaries of outbreaks; then there is
nothing to embed. For a single yes-or-no question, both are equally good.

**The protected unit matters.** Two mechanisms may protect different units in the same data (MATH
M9): ``private-summary`` and ``private-summary-large-unit`` release the same numbers, with noise for
one patient or for a whole outbreak. If the data are simulated at draws from the prior, the
published data are released too. A star marks the error that their posterior expects.

**Best public setting.** The threshold or temperature $\epsilon_{abc}$ is chosen from a grid: the
one with the lowest mean error over simulated data sets. The scored data play no part. The table
*common* has all mechanisms at the same value.

If a run keeps nothing, its estimate is the prior mean, and the mark is open. Do not compare pure
and (ε, δ) guarantees by ε alone: with δ > 0 a mechanism promises less.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from abcdp_core import mechanisms
from abcdp_core.base import parameters as par
from abcdp_core.base import summaries
from abcdp_core.base.streams import generator
from abcdp_core.evaluation import cases
from abcdp_core.mechanisms import Budget, Release
from abcdp_core.models import pool, simulators
from abcdp_core.models.simulators.uniform_mixture import SCENARIO as MIXTURE
from abcdp_core.run.tasks import Part, in_parts, with_values
from abcdp_core.studies.compare_mechanisms import views
from abcdp_core.studies.compare_mechanisms.views import SETTING, UNITS, column_of
from abcdp_core.studies.engine import BaseParams, Result, Tables, choice, columns
from abcdp_core.studies.engine import mechanisms as shared

EXPERIMENT = "compare-mechanisms"
TITLE = "Error of every mechanism at equal privacy"
SCORES = "mechanism epsilon_total delta c epsilon_abc run accepted mse mae mse_scaled mae_scaled"
COLUMNS = columns(
    main=SCORES,
    common=SCORES,
    grid="mechanism epsilon_total c epsilon_abc mse",
    prior="run mse mae mse_scaled mae_scaled",
    summary="mechanism c epsilon_total epsilon_abc mse mse_low mse_high mae mae_low mae_high "
    "empty_share",
    published="mechanism epsilon_total c unit parameter mean low high mse mae mse_scaled "
    "mae_scaled",
)
"""In *grid*, ``mse`` decides on the best setting, NaN if there is nothing to choose. There and in
*summary*, errors are scaled if the parameters have different units. In *published*, ``low`` and
``high`` are the ends of the 90 % interval of the posterior for the published data, errors are those
that this posterior expects of its mean, and ``unit`` is what is protected."""

SHOWN = tuple(name for name, each in mechanisms.every().items() if EXPERIMENT in each.shown_in)
"""Mechanisms that are compared by default."""


@dataclass(frozen=True)
class Params(shared.MechanismParams):
    """Settings; every combination of the lists is scored on the same data and noise."""

    mechanism: tuple[str, ...] = cases.MECHANISM.field(SHOWN)
    epsilon_total: tuple[float, ...] = par.EPSILON_TOTAL.field(
        (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
    )
    c: tuple[int, ...] = par.C.field((10,))
    epsilon_abc: float = MIXTURE.epsilon_abc.field(MIXTURE.epsilon_abc_default)
    pool_size: int = par.POOL_SIZE.field(10_000)
    runs: int = par.RUNS.field(20)
    truths: str = choice(
        "Truths",
        "own: the scenario's true parameters. prior: a new draw from the prior in each run.",
        ("own", "prior"),
    ).field("own")

    @classmethod
    def defaults(cls, scenario: str) -> dict[str, Any]:
        """Return the defaults, with truths from the prior if the scenario's are unknown."""
        known = cases.knows_truth(simulators.load(scenario))
        return super().defaults(scenario) | {"truths": "own" if known else "prior"}

    def check_together(self) -> None:
        """Refuse too much work, too many draws to keep, and unknown truths."""
        super().check_together()
        cases.check_truths(self.source, self.truths)


SELECTIONS = ("sparse-vector", "nearest-selection")
EMBEDDINGS = ("private-embedding", "embedding-estimate", "embedding-noise-aware")
BY_C = Params(
    mechanism=("sparse-vector", "gaussian-rejection", "soft-weights", *EMBEDDINGS),
    epsilon_total=(0.1, 1.0, 10.0),
    c=(10, 100, 1000),
    runs=60,
)
OF_UNITS = {
    "mechanism": UNITS,
    "epsilon_total": (0.1, 0.5, 1.0, 10.0, 100.0, 1000.0),
    "truths": "prior",
    "runs": 300,
}
PRESETS: dict[str, BaseParams] = {
    "selection": with_values(
        BY_C,
        mechanism=[f"{name}{end}" for name in SELECTIONS for end in ("", "-approximate")],
        delta=1e-6,
        runs=48,
    ),
    "all-mechanisms": Params(runs=100),
    "all-mechanisms-c": BY_C,
    "units": Params.for_scenario("tuberculosis-patients", **OF_UNITS),
    "units-covid": Params.for_scenario("covid-people", **OF_UNITS),
}

CHUNK = 20
"""Runs in a task; few, because a worker finishes a task even after it is canceled."""

Task = Part[Params]  # Some runs of one mechanism at one budget and one c

missing_pools = shared.missing_pools
figures, choose = views.figures, views.choose


def tasks(params: Params, seed: int) -> list[Task]:
    """Return the first runs of each mechanism, budget and c, then the next runs of each."""
    return in_parts(params, seed, CHUNK, "mechanism", "epsilon_total", "c")


def asked(task: Task) -> tuple[str, pool.PublicSide, BaseParams, Budget, int]:
    """Return a task's mechanism, public side, common options, budget and seed."""
    params, name = task.params, task.params.mechanism[0]
    common = mechanisms.load(name).chosen(**shared.common(params, params.c[0]))
    budget = Budget(params.epsilon_total[0], params.delta)
    return name, shared.public_side(params, task.seed), common, budget, task.seed


def work(task: Task) -> Tables:
    """Choose the best public setting, then score it, and the common one, on every run."""
    name, public, common, budget, _ = asked(task)
    tried, best = cases.tried(*asked(task)), cases.best(*asked(task))
    at = (name, budget.epsilon_total, task.params.c[0])
    grid = [(*at, getattr(options, "epsilon_abc", math.nan), score) for options, score in tried]
    mean = np.asarray(public.scenario.prior_mean)
    of_runs = [(run, _trial(task, run)) for run in task.pieces]
    prior = [(run, *cases.errors(mean, each.truth, public.theta)) for run, each in of_runs]
    main = _scores(task, best)
    return {
        "main": main,
        "common": main if best == common else _scores(task, common),
        "grid": pd.DataFrame(grid, columns=list(COLUMNS["grid"])),
        "prior": pd.DataFrame(prior, columns=list(COLUMNS["prior"])),
        "published": _published(task, best),
    }


def _trial(task: Task, run: int) -> cases.Case:
    public = shared.public_side(task.params, task.seed)
    if task.params.truths == "own":
        return cases.own(public, run)
    return cases.simulated(public, cases.HELD_OUT + run)


def releases(task: Task, options: BaseParams) -> Iterator[tuple[int, cases.Case, Release]]:
    """Yield each run of a task with its data and its release."""
    name, public, _, budget, seed = asked(task)
    prepared = mechanisms.load(name).prepare(public, options, budget)
    for run in task.pieces:
        trial, rng = _trial(task, run), generator(seed, "noise", run, task.params.noise_draw)
        yield run, trial, prepared.release(trial.comparison, rng)


def _scores(task: Task, options: BaseParams) -> pd.DataFrame:
    name, _, _, budget, _ = asked(task)
    delta = mechanisms.load(name).spends(budget).delta
    at = (name, budget.epsilon_total, delta, task.params.c[0])
    threshold, rows = getattr(options, "epsilon_abc", math.nan), []
    for run, trial, release in releases(task, options):
        accepted = math.nan if release.estimate is not None else len(release.weights)
        rows.append((*at, threshold, run, accepted, *cases.scores(trial, release)))
    return pd.DataFrame(rows, columns=list(COLUMNS["main"]))


def _published(task: Task, options: BaseParams) -> pd.DataFrame:
    """Tabulate one release of the published data; done once, in the task of the first runs."""
    (name, public, _, budget, seed), rows = asked(task), []
    mechanism, source, theta = mechanisms.load(name), public.scenario, public.theta
    has_data = task.params.truths == "prior" and source.observed is not None
    if has_data and mechanism.sample and task.first == 0:
        rng = generator(seed, "published-noise", task.params.noise_draw)
        prepared = mechanism.prepare(public, options, budget)
        release = prepared.release(cases.own(public, 0).comparison, rng)
        sample, spread = release.sample(theta), theta.std(axis=0)
        mean, (low, high) = sample.mean, sample.quantile([0.05, 0.95])
        apart = np.abs(sample.values - mean)
        mse, mae = sample.weights @ apart**2, sample.weights @ apart
        at = (name, budget.epsilon_total, task.params.c[0], mechanism.protects(source)[0])
        columns = (source.axes, mean, low, high, mse, mae, mse / spread**2, mae / spread)
        rows = [(*at, *each) for each in zip(*columns, strict=True)]
    # An empty table needs the kinds that it has when read from a file.
    return pd.DataFrame(rows, columns=list(COLUMNS["published"]), dtype=None if rows else "str")


def collect(params: Params, rows: Tables) -> Result:
    """Combine the runs so far, and report which mechanism has the smallest error."""
    tables = {
        **rows,
        "grid": rows["grid"].drop_duplicates(ignore_index=True),
        "prior": rows["prior"].drop_duplicates("run", ignore_index=True),
        "summary": summary_table(params, rows["main"]),
    }
    result = Result(EXPERIMENT, params, tables, "", shared.each_release(params))
    return dataclasses.replace(result, summary=views.Errors(result, "main", "mse").says()[1])


def summary_table(params: Params, main: pd.DataFrame) -> pd.DataFrame:
    """Return errors over runs at each best setting, and the share of runs that kept nothing."""
    settings = main[[*SETTING, "epsilon_abc"]].drop_duplicates(ignore_index=True)
    for short in summaries.METRICS:
        names = {"mean": short, "low": f"{short}_low", "high": f"{short}_high"}
        statistics = summaries.over_runs(main, column_of(params, short), SETTING)
        known = settings.columns.intersection(["empty_share"])
        settings = settings.merge(
            statistics.rename(columns=names).drop(columns=known), on=list(SETTING)
        )
    return settings[list(COLUMNS["summary"])]
