r"""Which mechanism, at equal privacy?

All mechanisms here answer the same question from the same data $Y^*$, the same public pool and the
same noise, drawn at scale 1 and scaled. They differ in what they spend a budget on.

| mechanism | released | noise | grows with |
|---|---|---|---|
| `sparse-vector` | which draws are accepted, until c are | Laplace (MATH S2) | c |
| `gaussian-rejection` | the decision about every draw | Gaussian (MATH R2) | the pool |
| `soft-weights` | a weight for every draw | Gaussian, (ε, δ) (MATH W3) | root of the pool |
| `private-embedding` | one vector; the c nearest draws follow from it | MATH E1 | nothing |
| `embedding-estimate` | the same vector; an estimate follows | MATH E1 | nothing |

**Why the embedding's noise does not grow with c.** The sparse vector technique asks a question for
every draw and pays for every *yes*. The embedding asks the data one question, what their mean
features are, and pays once. Choosing draws by the answer is post-processing and costs nothing.

**When the sparse vector is still right.** It needs only distances. If these have no bounded
statistic behind them, as with the clipped summaries of outbreaks, there is nothing to embed. For a
single yes-or-no question it is as good.

**The unit decides.** Two mechanisms may protect different units with the same data (MATH M9):
``private-summary`` and ``private-summary-large-unit`` release the same numbers, with noise for one
patient or for a whole outbreak. Where the data are simulated at draws from the prior, the published
data are released too, and their mark is the error that their posterior expects.

**Best public setting.** A threshold or temperature $\epsilon_{abc}$ is the one on a grid with the
lowest mean error over simulated data sets; the data used for the scores are not looked at. The
table *common* has all mechanisms at the same one.

If a run accepts nothing, its estimate is the prior mean, and the mark is open. Pure and (ε, δ)
guarantees are not comparable by ε alone: a mechanism with δ > 0 promises less.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from abcdp_core import mechanisms, pool, simulators, summaries, trials
from abcdp_core import parameters as par
from abcdp_core.mechanisms import Budget, Release
from abcdp_core.simulators import uniform_mixture
from abcdp_core.streams import generator
from abcdp_core.studies.compare_mechanisms import views
from abcdp_core.studies.compare_mechanisms.views import SETTING, UNITS, column_of
from abcdp_core.study import BaseParams, Result, Tables, choice, columns
from abcdp_core.study import mechanisms as shared
from abcdp_core.tasks import Part, in_parts, with_values

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
"""In *grid*, ``mse`` is what the best setting is chosen by, NaN where there is nothing to choose;
there and in *summary* errors are scaled where the parameters' units differ. In *published*, of the
scenario's published data, ``low`` and ``high`` are the ends of the posterior's 90 % interval of a
parameter, and errors are those that it expects of its own mean; ``unit`` is what is protected."""

SHOWN = tuple(name for name, each in mechanisms.every().items() if EXPERIMENT in each.shown_in)
"""Mechanisms that are compared by default."""


@dataclass(frozen=True)
class Params(shared.MechanismParams):
    """Every combination of the lists is scored on the same data and noise."""

    mechanism: tuple[str, ...] = trials.MECHANISM.field(SHOWN)
    epsilon_total: tuple[float, ...] = par.EPSILON_TOTAL.field(
        (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
    )
    c: tuple[int, ...] = par.C.field((10,))
    epsilon_abc: float = uniform_mixture.EPSILON_ABC.field(uniform_mixture.EPSILON_ABC_DEFAULT)
    pool_size: int = par.POOL_SIZE.field(10_000)
    runs: int = par.RUNS.field(20)
    truths: str = choice(
        "Truths",
        "own: the scenario's true parameters. prior: each run has its own draw from the prior.",
        ("own", "prior"),
    ).field("own")

    @classmethod
    def defaults(cls, scenario: str) -> dict[str, Any]:
        """The usual ones, and truths from the prior where nobody knows the scenario's own."""
        known = trials.knows_truth(simulators.load(scenario))
        return super().defaults(scenario) | {"truths": "own" if known else "prior"}

    def check_together(self) -> None:
        """Refuse too much work, more acceptances than draws, and what cannot be measured."""
        super().check_together()
        trials.check_truths(self.scenario, self.truths)


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
"""Runs of a task: workers finish what they have begun, even if nobody waits for it any more."""

Task = Part[Params]  # Some runs of one mechanism at one budget and one c

missing_pools = shared.missing_pools
figures, choose = views.figures, views.choose


def tasks(params: Params, seed: int) -> list[Task]:
    """Return some runs of each mechanism, budget and c; then the next runs, on the next data."""
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
    tried, best = trials.tried(*asked(task)), trials.best(*asked(task))
    at = (name, budget.epsilon_total, task.params.c[0])
    grid = [(*at, getattr(options, "epsilon_abc", math.nan), score) for options, score in tried]
    mean = np.asarray(public.scenario.PRIOR_MEAN)
    of_runs = [(run, _trial(task, run)) for run in task.pieces]
    prior = [(run, *trials.errors(mean, each.truth, public.theta)) for run, each in of_runs]
    main = _scores(task, best)
    return {
        "main": main,
        "common": main if best == common else _scores(task, common),
        "grid": pd.DataFrame(grid, columns=list(COLUMNS["grid"])),
        "prior": pd.DataFrame(prior, columns=list(COLUMNS["prior"])),
        "published": _published(task, best),
    }


def _trial(task: Task, run: int) -> trials.Trial:
    """The data of a run."""
    public = shared.public_side(task.params, task.seed)
    if task.params.truths == "own":
        return trials.own(public, run)
    return trials.simulated(public, trials.HELD_OUT + run)


def releases(task: Task, options: BaseParams) -> Iterator[tuple[int, trials.Trial, Release]]:
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
        rows.append((*at, threshold, run, accepted, *trials.scores(trial, release)))
    return pd.DataFrame(rows, columns=list(COLUMNS["main"]))


def _published(task: Task, options: BaseParams) -> pd.DataFrame:
    """One release of published data, with the first runs, as it is the same with others."""
    (name, public, _, budget, seed), rows = asked(task), []
    mechanism, source, theta = mechanisms.load(name), public.scenario, public.theta
    has_data = task.params.truths == "prior" and source.OBSERVED is not None
    if has_data and mechanism.sample and task.first == 0:
        rng = generator(seed, "published-noise", task.params.noise_draw)
        prepared = mechanism.prepare(public, options, budget)
        release = prepared.release(trials.own(public, 0).comparison, rng)
        sample, weights = shared.posterior(release, theta)
        mean, spread = summaries.weighted_mean(sample, weights), theta.std(axis=0)
        low, high = summaries.weighted_quantile(sample, weights, [0.05, 0.95])
        mse, mae = weights @ (sample - mean) ** 2, weights @ np.abs(sample - mean)
        at = (name, budget.epsilon_total, task.params.c[0], mechanism.protects(source)[0])
        columns = (source.AXES, mean, low, high, mse, mae, mse / spread**2, mae / spread)
        rows = [(*at, *each) for each in zip(*columns, strict=True)]
    # A table without rows is the same as the one that is read from its file.
    return pd.DataFrame(rows, columns=list(COLUMNS["published"]), dtype=None if rows else "str")


def collect(params: Params, rows: Tables) -> Result:
    """Put the runs so far together, and say which mechanism has the smallest error."""
    tables = {
        **rows,
        "grid": rows["grid"].drop_duplicates(ignore_index=True),
        "prior": rows["prior"].drop_duplicates("run", ignore_index=True),
        "summary": summary_table(params, rows["main"]),
    }
    result = Result(EXPERIMENT, params, tables, "", shared.each_release(params))
    return dataclasses.replace(result, summary=views.Errors(result, "main", "mse").says()[1])


def summary_table(params: Params, main: pd.DataFrame) -> pd.DataFrame:
    """Return errors over runs at each best setting, and the share of runs that accepted nothing."""
    found = main[[*SETTING, "epsilon_abc"]].drop_duplicates(ignore_index=True)
    for short in summaries.METRICS:
        names = {"mean": short, "low": f"{short}_low", "high": f"{short}_high"}
        statistics = summaries.over_runs(main, column_of(params, short), SETTING)
        known = found.columns.intersection(["empty_share"])
        found = found.merge(statistics.rename(columns=names).drop(columns=known), on=list(SETTING))
    return found[list(COLUMNS["summary"])]
