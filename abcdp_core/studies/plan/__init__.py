r"""With N people and a budget, or for a target error: which mechanism to run?

Every mechanism that serves a scenario is tried on simulated data sets, with truths drawn from the
prior. Each has its own public pool, or all share one if pools take long to make. No private data
are read. The prediction is the error of a release *on average over the prior*: for one data set,
whose truth is unknown, it may be smaller or larger.

**Errors.** With $\hat\theta$ the estimate of a release, $\theta$ the truth and $d$ parameters, the
root mean squared error is $\sqrt{E\,|\hat\theta - \theta|^2 / d}$, and the mean absolute error
$E \sum_j |\hat\theta_j - \theta_j| / d$, over truths, data, pools and noise. If parameters have
different units, each is divided by its prior standard deviation. The error of the sparse vector
with Laplace noise is averaged over all noise exactly (MATH E6). Control variates, the errors of the
prior mean and of the exact posterior mean, remove part of the chance.

**Best public setting.** Every combination of a grid of thresholds $\epsilon_{abc}$, temperatures
and $c$ is tried on the first 16 data sets. The one with the smallest error is predicted on the
others, so the choice does not flatter the prediction.

**A goal.** *error below*: on average, or as the quantile of the error of single releases. *interval
below*: 90 % intervals no longer than that on average. Intervals that miss the truth too often could
be as short as you like. So settings are chosen by the interval score (Gneiting & Raftery 2007), and
only intervals that contain the truth in nearly 90 % of cases meet the goal.

**Enough.** For a goal, the same is done at other budgets and other N, with 8 data sets. The goal's
quantity is assumed to change by the ratio of the average errors, or lengths, of these 8. Curves are
straight between points on logarithmic scales, so the number is rough where a curve bends. Noise
depends on $N\epsilon_{total}$, so doubling the people reduces it as much as doubling the budget.
No budget can beat the error of N people without noise.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

from abcdp_core import mechanisms
from abcdp_core.base import parameters as par
from abcdp_core.base.parameters import ParameterError
from abcdp_core.evaluation import cases, planning
from abcdp_core.evaluation.planning import Asked, Goal
from abcdp_core.models import pool, simulators
from abcdp_core.models.simulators import ScenarioParams
from abcdp_core.models.simulators.uniform_mixture import SCENARIO as MIXTURE
from abcdp_core.run.tasks import with_values
from abcdp_core.studies.engine import Parameter, Result, Tables, choice, scale
from abcdp_core.studies.plan import computing, views
from abcdp_core.studies.plan.computing import ELSEWHERE, KNOBS

EXPERIMENT = "plan"
TITLE = "Which mechanism to run for N people and a budget"
COLUMNS = computing.COLUMNS

NOT_ADVISED = ("embedding-noise-ignored",)
"""Mechanisms that only show what goes wrong; planned with only if named."""

BUDGETS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)  # Other budgets
LEAST, ERROR, INTERVAL = GOALS = ("smallest-error", "error-below", "interval-below")
AVERAGE, EVERY = "average", "every"
WANTED = scale(
    "Wanted",
    "The error or interval length that is good enough, in the unit of the parameters, or in prior "
    "standard deviations if the units differ.",
    (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0),
    low=1e-60,
    high=1e60,
)


@dataclass(frozen=True)
class Params(ScenarioParams):
    """The data, the budget and the goal."""

    scenario: str = cases.SCENARIO.field(MIXTURE.name)
    n: int = MIXTURE.n.field(MIXTURE.n_default)
    epsilon_total: float = par.EPSILON_TOTAL.field(par.EPSILON_TOTAL_DEFAULT)
    delta: float = par.DELTA.field(1e-6)
    goal: str = choice(
        "Goal",
        "smallest-error: the smallest error possible. error-below: an error no larger than wanted. "
        "interval-below: 90 % intervals no longer than wanted that contain the truth that often.",
        GOALS,
    ).field(LEAST)
    wanted: float = WANTED.field(0.02)
    probability: float | str = scale(
        "On average, or in a share of releases",
        "average: the average over releases meets the goal. A probability: that share of releases "
        "meets it. A larger share is harder to reach.",
        (0.5, 0.8, 0.9, 0.95, 0.99),
        special=(AVERAGE,),
    ).field(AVERAGE)
    metric: str = choice(
        "Error",
        "rmse: root mean squared error, which gives large errors more weight. mae: mean absolute "
        "error.",
        tuple(planning.METRICS),
    ).field("rmse")
    mechanism: tuple[str, ...] = dataclasses.replace(
        cases.MECHANISM,
        help="The mechanisms to compare. every: all that serve the scenario, except those that "
        "only show what goes wrong.",
        options=(EVERY, *cases.MECHANISM.options),
    ).field((EVERY,))
    pool_size: int = par.POOL_SIZE.field(MIXTURE.pool_size_default)
    runs: int = scale(
        "Data sets",
        "Simulated at truths drawn from the prior. Settings are chosen on the first 16 and "
        "predicted on the others.",
        (2, 16, 32, 64, 128, 256, 512, 1000),
    ).field(256)

    @classmethod
    def specification(cls, scenario: str | None = None) -> dict[str, Parameter]:
        """Return the usual one, with any N within bounds if data of any size can be simulated."""
        known = super().specification(scenario)
        is_known = scenario in known["scenario"].options
        if scenario is None or (is_known and simulators.load(scenario).reduced):
            steps = tuple(float(size) for size in known["n"].options)
            known["n"] = dataclasses.replace(known["n"], options=(), steps=steps)
        return known

    @classmethod
    def defaults(cls, scenario: str) -> dict[str, Any]:
        """Return the scenario's own size and pool, and an eighth of the prior's error as goal."""
        few = float(f"{math.sqrt(planning.prior(simulators.load(scenario)).mse) / 8.0:.1g}")
        return super().defaults(scenario) | {"wanted": min(max(few, WANTED.low), WANTED.high)}

    @property
    def planned(self) -> tuple[str, ...]:
        """Names of the mechanisms to compare."""
        if EVERY not in self.mechanism:
            return self.mechanism
        names = tuple(name for name in mechanisms.names() if name not in NOT_ADVISED)
        return cases.serving(names, self.source)

    @property
    def has_goal(self) -> bool:
        """Whether a number is to be reached."""
        return self.goal != LEAST

    @property
    def wish(self) -> Goal:
        """The goal."""
        of_releases = self.goal == ERROR and self.probability != AVERAGE
        wanted = self.wanted if self.has_goal else None
        share = float(self.probability) if of_releases else None
        return Goal(self.metric, wanted, share, intervals=self.goal == INTERVAL)

    def check_together(self) -> None:
        """Refuse a pool that is too large, and mechanisms that cannot serve scenario or goal."""
        par.check_work(self.n, self.pool_size)
        cases.check_mechanisms(self.source, self.planned)
        sampling = any(mechanisms.load(name).sample for name in self.planned)
        if self.goal == INTERVAL and not sampling:
            names = ", ".join(self.mechanism)
            raise ParameterError(f"mechanism = {names}: releases no draws and no interval.")


@dataclass(frozen=True)
class Task:
    """One data set.

    Attributes:
        params: of a plan with the fewest data sets and without a number to reach.
        part: ``tried``, every setting; ``predicted``, the chosen ones; ``budget`` and ``size``,
            every setting at another budget or size.
        index: of the data set.
        seed: root seed.
    """

    params: Params
    part: str
    index: int
    seed: int


def tasks(params: Params, seed: int) -> list[Task]:
    """Return a task for each data set; for a goal, also some at other budgets and sizes."""
    fewest = int(params.specification()["runs"].low)
    same = {"mechanism": params.planned, "wanted": 1.0, "probability": AVERAGE, "runs": fewest}
    # Outcomes depend on the goal only by whether it is about intervals.
    plain = with_values(params, goal=INTERVAL if params.goal == INTERVAL else LEAST, **same)
    few, runs = planning.TRIED, params.runs
    first = [Task(plain, "tried", index, seed) for index in range(min(few, runs))]
    rest = [Task(plain, "predicted", index, seed) for index in range(few, runs)]
    others = [
        Task(with_values(plain, **{knob: value}), part, index, seed)
        for part, knob in KNOBS.items()
        for value in _others(params, knob) * params.has_goal
        for index in range(min(ELSEWHERE, runs))
    ]
    # First the main question, then other settings, then what only adds precision.
    return [*first, *others, *rest]


def _others(params: Params, knob: str) -> list[float]:
    """Return other budgets or sizes."""
    sizes = [int(size) for size in params.source.n.options]
    values = {"epsilon_total": BUDGETS, "n": sizes}[knob]
    return [value for value in values if value != getattr(params, knob)]


def missing_pools(params: Params, seed: int) -> list[pool.PoolKey]:
    """Return the public pool if all data sets share one that must be made first."""
    key = pool.key_for(params.source, params.n, params.pool_size, seed)
    return [] if key.scenario.reduced or pool.is_kept(key) else [key]


def asked(params: Params) -> Asked:
    """Return what settings are chosen for."""
    there_is = params.n, params.epsilon_total, params.delta
    return Asked(params.source, *there_is, params.planned, params.pool_size, params.wish.score)


def work(task: Task) -> Tables:
    """Compute outcomes of one data set."""
    params = task.params
    make = {"tried": planning.kept, "predicted": planning.predicted}.get(task.part, planning.tried)
    rows = make(asked(params), task.seed, task.index)
    return {"outcomes": rows.assign(part=task.part, epsilon_total=params.epsilon_total, n=params.n)}


def collect(params: Params, rows: Tables) -> Result:
    """Return the plan so far."""
    others = {knob: _others(params, knob) for knob in KNOBS.values()}
    tables = computing.tables(params, rows["outcomes"], others)
    privacy = views.guarantee(params, tables["main"])
    result = Result(EXPERIMENT, params, tables, views.NOT_YET, privacy)
    # At first only other budgets may be known, kept from an earlier plan.
    known = len(tables["main"]) > 0
    return dataclasses.replace(result, summary=views.advice(result)) if known else result


figures = views.figures
