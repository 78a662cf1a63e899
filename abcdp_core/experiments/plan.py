r"""With N people and a budget, or for an error wanted: what is to be run?

Every mechanism that serves a scenario is tried on data sets simulated at truths from the prior, in
the place of private data, each with a public pool to go with it; nothing here is given private
data. What is predicted is the error that a release will have *on average over the prior*: of one
data set, whose truth nobody knows, it may be smaller or larger.

**Errors.** With $\hat\theta$ the mean that a release stands for, $\theta$ the truth and $d$
parameters, the root mean squared error is $\sqrt{E\,|\hat\theta - \theta|^2 / d}$, and the mean
absolute error $E \sum_j |\hat\theta_j - \theta_j| / d$, over truths, data, pools and noise. Where
the parameters have different units each is divided by its prior standard deviation. That of the
sparse vector with Laplace noise is averaged over all noise exactly (MATH E6); everything else is by
releases with simulated noise.

**Best public setting.** Where a mechanism has a threshold $\epsilon_{abc}$, a temperature or a
number c of acceptances to choose, every combination of a grid is tried on the first 16 data sets,
and the one with the least error is predicted on the others. So what is predicted was not chosen for
being predicted well.

**A goal.** *error below*: the error is to be at most so much, on average, or, with a probability,
in that share of all releases: the quantile of the error of single releases is compared then.
*interval below*: 90 % intervals are to be no longer than that, on average over parameters and data
sets. An interval that misses the truth too often may be as short as one likes, so settings are
chosen by the interval score (Gneiting & Raftery 2007), and only intervals that hold the truth in
nearly 90 % of all cases meet the goal. A mechanism that releases a value and no draws has none.

**Enough.** For a goal, the same is done at other budgets and other N, for 8 data sets; what the
goal is about is taken to change by the ratio of the average errors, or lengths, of these 8. In
between, straight lines in logarithms. Noise follows $N\epsilon_{total}$, so twice as many people
do as much for it as twice the budget; what N points tell without any noise is a limit that no
budget gets beyond.

**You may not need ABC.** Where a likelihood exists, its sufficient statistic with noise is the
honest rival (MATH E7): for the mixture of five uniforms the five counts, whose posterior is exact
and takes no simulation.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from abcdp_core import (
    experiments,
    mechanisms,
    planning,
    pool,
    privacy,
    sentences,
    simulators,
    trials,
)
from abcdp_core import figures as fig
from abcdp_core import parameters as par
from abcdp_core.mechanisms import Budget, noisy_counts
from abcdp_core.parameters import Parameter, ParameterError
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.planning import Asked, Estimate
from abcdp_core.results import Result, Tables
from abcdp_core.simulators import ScenarioParams, uniform_mixture
from abcdp_core.trials import SCENARIO

EXPERIMENT = "plan"
TITLE = "What to run for N people and a budget"
COLUMNS = {
    "main": (
        "mechanism", "epsilon_total", "delta", "n", "c", "epsilon_abc", "metric",
        "predicted", "predicted_low", "predicted_high", "meets",
    ),
    "goal": ("mechanism", "quantity", "value", "value_low", "value_high", "data_sets", "exact"),
    "intervals": (
        "mechanism", "width", "width_low", "width_high", "coverage", "coverage_low",
        "coverage_high",
    ),
    "enough": ("mechanism", "knob", "enough", "why"),
    "curve": ("mechanism", "knob", "epsilon_total", "n", "value"),
    "refused": ("mechanism", "why"),
    "prior": ("metric", "error"),
}  # fmt: skip
"""``main`` is ranked by what the goal is about, which *goal* has. c is 0 where a mechanism takes
none. ``meets``: whether the goal is predicted to be met; without one, whether the error is clearly
below the prior mean's. ``exact``: whether the error is averaged over the noise exactly. In *enough*
the number is infinite where nothing within the bounds is, and ``why`` says so."""

NOT_ADVISED = ("embedding-noise-ignored",)
"""Mechanisms that are there to show what goes wrong: in no plan unless somebody names them."""

ELSEWHERE = 8
"""Data sets for what other budgets and sizes come to."""

BUDGETS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
"""Other budgets."""

CLEARLY = 0.95
"""Part of the prior mean's error below which another is clearly better."""

HONEST = 0.87
"""Coverage from which 90 % intervals are taken for such."""

# ------------------------------------------------------------------------------------ parameters

GOALS = ("smallest-error", "error-below", "interval-below")
GOAL = Parameter(
    kind="choice",
    label="Goal",
    help="smallest-error: the least there is. error-below: an error of at most what is wanted. "
    "interval-below: 90 % intervals no longer than that, which hold the truth that often.",
    options=GOALS,
)
WANTED = Parameter(
    kind="real",
    label="Wanted",
    help="The error or the length of an interval that is good enough, in the unit of the "
    "parameters; in prior standard deviations where they have several.",
    low=1e-6,
    high=1e6,
    steps=(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0),
)
AVERAGE = "average"
PROBABILITY = Parameter(
    kind="real",
    label="On average, or in a share of releases",
    help="average: the error is kept on average over releases. A probability: in that share of "
    "all releases, which is harder to keep if it is large.",
    low=0.5,
    high=0.99,
    steps=(0.5, 0.8, 0.9, 0.95, 0.99),
    special=(AVERAGE,),
)
METRIC = Parameter(
    kind="choice",
    label="Error",
    help="rmse: root mean squared error, in which large errors count more. mae: mean absolute "
    "error.",
    options=("rmse", "mae"),
)
DATA_SETS = Parameter(
    kind="integer",
    label="Data sets",
    help="Simulated at truths from the prior, each with a pool of its own where that is cheap. "
    "Settings are chosen on the first 16 and predicted on the others.",
    low=2,
    high=1000,
    steps=(2, 16, 32, 64, 128, 256, 512, 1000),
)
IN_WORDS = {"rmse": "root mean squared error", "mae": "mean absolute error"}


EVERY = "every"
MECHANISM = dataclasses.replace(
    trials.MECHANISM,
    help="What answers to the data; every: all that serve the scenario, but for those that are "
    "there to show what goes wrong.",
    options=(EVERY, *trials.MECHANISM.options),
)


@dataclass(frozen=True)
class Params(ScenarioParams):
    """What there is, and what is wanted of it."""

    scenario: str = SCENARIO.field(uniform_mixture.SCENARIO)
    n: int = uniform_mixture.N.field(uniform_mixture.N_DEFAULT)
    epsilon_total: float = par.EPSILON_TOTAL.field(1.0)
    delta: float = par.DELTA.field(1e-6)
    goal: str = GOAL.field("smallest-error")
    wanted: float = WANTED.field(0.02)
    probability: float | str = PROBABILITY.field(AVERAGE)
    metric: str = METRIC.field("rmse")
    mechanism: tuple[str, ...] = MECHANISM.field(EVERY, many=True)
    pool_size: int = par.POOL_SIZE.field(uniform_mixture.POOL_SIZE_DEFAULT)
    runs: int = DATA_SETS.field(256)

    @classmethod
    def specification(cls, scenario: str | None = None) -> dict[str, Parameter]:
        """As ever; where data sets of any size are at hand, N is any number within its bounds."""
        known = super().specification(scenario)
        free = scenario is None or (
            scenario in known["scenario"].options and planning.has_own_pools(scenario)
        )
        if free:
            of = known["n"]
            steps = tuple(float(size) for size in of.options)
            known["n"] = dataclasses.replace(of, options=(), steps=steps)
        return known

    @classmethod
    def defaults(cls, scenario: str) -> dict[str, Any]:
        """The scenario's own size and pool, and an error of an eighth of the prior's."""
        few = float(f"{math.sqrt(planning.prior(scenario).mse) / 8.0:.1g}")
        return super().defaults(scenario) | {"wanted": few}

    @property
    def planned(self) -> tuple[str, ...]:
        """Names of the mechanisms that are planned with."""
        if EVERY not in self.mechanism:
            return self.mechanism
        names = tuple(name for name in mechanisms.names() if name not in NOT_ADVISED)
        return trials.serving(names, self.scenario)

    def check_together(self) -> None:
        """Refuse pools that are too large, and mechanisms that cannot serve the scenario.

        Raises:
            ParameterError: one sentence says which and why.
        """
        if not planning.has_own_pools(self.scenario):
            par.check_work(self.n, self.pool_size)
        trials.check_mechanisms(self.scenario, self.planned)
        if self.goal == "interval-below" and not any(
            mechanisms.load(name).sample for name in self.planned
        ):
            raise ParameterError(
                f"mechanism = {', '.join(self.mechanism)}: releases a value and no draws, of which "
                f"no interval can be made."
            )


PRESETS: dict[str, BaseParams] = {}


@dataclass(frozen=True)
class Task:
    """One data set.

    Attributes:
        params: as if there were the fewest data sets, and no number were wanted.
        part: ``tried``, every setting; ``predicted``, the chosen ones; ``budget`` and ``size``,
            every setting at another one.
        index: of the data set.
        seed: root seed.
    """

    params: Params
    part: str
    index: int
    seed: int


def tasks(params: Params, seed: int) -> list[Task]:
    """Data sets one by one; for a goal, then some at other budgets and sizes."""
    plain = _plain(params)
    found = [
        Task(plain, "tried" if index < planning.TRIED else "predicted", index, seed)
        for index in range(params.runs)
    ]
    if params.goal == "smallest-error":
        return found
    few = range(min(ELSEWHERE, params.runs))
    others = [
        Task(experiments.with_values(plain, **{knob: value}), part, index, seed)
        for part, knob, values in (
            ("budget", "epsilon_total", _budgets(params)),
            ("size", "n", _sizes(params)),
        )
        for value in values
        for index in few
    ]
    # What was asked first, then the others, before what only makes it more certain.
    return [*found[: planning.TRIED], *others, *found[planning.TRIED :]]


def _plain(params: Params) -> Params:
    """All that outcomes depend on."""
    goal = params.goal if params.goal == "interval-below" else GOALS[0]
    fewest = int(params.specification()["runs"].low)
    return experiments.with_values(
        params,
        mechanism=params.planned,
        goal=goal,
        wanted=1.0,
        probability=AVERAGE,
        runs=fewest,
    )


def _budgets(params: Params) -> list[float]:
    return [budget for budget in BUDGETS if budget != params.epsilon_total]


def _sizes(params: Params) -> list[int]:
    options = simulators.load(params.scenario).N.options
    return [int(size) for size in options if int(size) != params.n]


def prepare(params: Params, seed: int, progress: pool.Progress) -> None:
    """Make the public pool where all data sets share one, and say how far that is."""
    if not planning.has_own_pools(params.scenario):
        key = pool.key_for(params.scenario, params.n, params.pool_size, seed)
        pool.open_pool(key, progress)


def asked(params: Params) -> Asked:
    """What settings are tried for."""
    interval = params.goal == "interval-below"
    score = planning.INTERVAL_SCORE if interval else {"rmse": "mse", "mae": "mae"}[params.metric]
    return Asked(
        params.scenario,
        params.n,
        params.epsilon_total,
        params.delta,
        params.planned,
        params.pool_size,
        score,
    )


def work(task: Task) -> Tables:
    """Outcomes of one data set."""
    params = task.params
    make = {"tried": planning.kept, "predicted": planning.predicted}.get(task.part, planning.tried)
    rows = make(asked(params), task.seed, task.index)
    where = rows.assign(part=task.part, epsilon_total=params.epsilon_total, n=params.n)
    return {"outcomes": where}


# ------------------------------------------------------------------------------------- collecting


def collect(params: Params, rows: Tables) -> Result:
    """The plan so far."""
    outcomes = rows["outcomes"]
    here = {name: _predicted(outcomes, name, asked(params).score) for name in params.planned}
    here = {name: part for name, part in here.items() if len(part)}
    goals = {name: _goal(params, part) for name, part in here.items()}
    ranked = sorted(here, key=lambda name: _rank(params, here[name], goals[name]))
    intervals = _intervals(params, {name: here[name] for name in ranked})
    main = pd.DataFrame(
        [_row(params, name, here[name], goals[name], intervals) for name in ranked],
        columns=list(COLUMNS["main"]),
    )
    coverages = {name: _coverage(params, part) for name, part in here.items()}
    curve = _curve(params, outcomes, goals, coverages)
    source = simulators.load(params.scenario)
    known = planning.prior(params.scenario)
    tables = {
        "main": main,
        "goal": pd.DataFrame(
            [
                (name, quantity(params), *dataclasses.astuple(goals[name]),
                 here[name]["index"].nunique(),
                 bool(params.metric == "rmse" and here[name].expected_mse.notna().all()))
                for name in ranked
            ],
            columns=list(COLUMNS["goal"]),
        ),
        "intervals": intervals,
        "enough": _enough(params, curve),
        "curve": curve,
        "refused": pd.DataFrame(
            [(each.name, why) for each in mechanisms.every().values()
             if (why := each.refuses(source))],
            columns=list(COLUMNS["refused"]),
        ),
        "prior": pd.DataFrame(
            [("rmse", math.sqrt(known.mse)), ("mae", known.mae)], columns=list(COLUMNS["prior"])
        ),
    }  # fmt: skip
    result = Result(EXPERIMENT, params, tables, "", _privacy(params, ranked))
    return dataclasses.replace(result, summary=advice(result))


def _predicted(outcomes: pd.DataFrame, name: str, score: str) -> pd.DataFrame:
    """Outcomes at a mechanism's best setting, of data sets on which it was not chosen."""
    own = outcomes[outcomes.mechanism == name]
    found = own[own.part == "predicted"]
    tried = own[own.part == "tried"]
    if found["index"].nunique() >= ELSEWHERE or tried.empty:
        return found
    return _other_half(tried, score, 1)


def _other_half(tried: pd.DataFrame, score: str, half: int) -> pd.DataFrame:
    """Outcomes of one half of the data sets, even or odd, at the best setting of the other half.

    While there is one data set only it has to serve for both.
    """
    ours = tried[tried["index"] % 2 == half]
    theirs = tried[tried["index"] % 2 != half]
    ours, theirs = (part if len(part) else tried for part in (ours, theirs))
    (place,) = planning.best(theirs, score).values()
    return ours[ours.setting == place]


def quantity(params: Params) -> str:
    """What the goal is about, in words."""
    if params.goal == "interval-below":
        return "mean length of 90 % intervals"
    words = IN_WORDS[params.metric]
    if _of_releases(params):
        return f"{words} that {100.0 * float(params.probability):g} % of releases keep"
    return words


def _unit(params: Params) -> str:
    several = simulators.has_several_units(simulators.load(params.scenario))
    return ", in prior standard deviations" if several else ""


def _per_set(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.drop(columns=["mechanism", "part"]).groupby("index").mean()


def _error(params: Params, rows: pd.DataFrame) -> Estimate:
    """The error on average over the prior."""
    each, known = _per_set(rows), planning.prior(params.scenario)
    if params.metric == "mae":
        return planning.average(each.mae.to_numpy(), each.prior_mae.to_numpy(), known.mae)
    mse = each.expected_mse.where(each.expected_mse.notna(), each.mse)
    return planning.average(mse.to_numpy(), each.prior_mse.to_numpy(), known.mse).root


def _goal(params: Params, rows: pd.DataFrame) -> Estimate:
    """What the goal is about; infinite where there is no such thing."""
    if params.goal == "interval-below":
        widths = _per_set(rows).width.to_numpy()
        return planning.average(widths) if np.isfinite(widths).all() else Estimate(math.inf)
    if _of_releases(params):
        each = np.sqrt(rows.mse) if params.metric == "rmse" else rows.mae
        runs = each.to_numpy().reshape(rows["index"].nunique(), -1)
        return planning.quantile(runs, float(params.probability))
    return _error(params, rows)


def _rank(params: Params, rows: pd.DataFrame, goal: Estimate) -> tuple[bool, bool, float]:
    """By what mechanisms are sorted: last those without intervals, then those with wrong ones."""
    return math.isinf(goal.value), _coverage(params, rows) < HONEST, goal.value


def _coverage(params: Params, rows: pd.DataFrame) -> float:
    """Share of intervals that hold the truth; 1 where nobody asks for any or there are none."""
    held = float(rows.coverage.mean())
    return held if params.goal == "interval-below" and math.isfinite(held) else 1.0


def _intervals(params: Params, here: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    rows = []
    for name, part in here.items():
        each = _per_set(part)
        if params.goal == "interval-below" and each.width.notna().all():
            width = planning.average(each.width.to_numpy())
            held = planning.share(each.coverage.to_numpy())
            rows.append((name, *dataclasses.astuple(width), *dataclasses.astuple(held)))
    return _typed(rows, "intervals", ("mechanism",))


def _typed(rows: Sequence[tuple[Any, ...]], table: str, texts: tuple[str, ...]) -> pd.DataFrame:
    """A table whose columns keep their kind when it has no row."""
    made = pd.DataFrame(list(rows), columns=list(COLUMNS[table]))
    return made.astype({name: str if name in texts else float for name in made.columns})


def _row(
    params: Params,
    name: str,
    rows: pd.DataFrame,
    goal: Estimate,
    intervals: pd.DataFrame,
) -> tuple[Any, ...]:
    error = _error(params, rows)
    delta = mechanisms.load(name).spends(Budget(params.epsilon_total, params.delta)).delta
    c, epsilon_abc = int(rows.c.iloc[0]), float(rows.epsilon_abc.iloc[0])
    return (
        *(name, params.epsilon_total, delta, params.n, c, epsilon_abc, params.metric),
        *dataclasses.astuple(error),
        _meets(params, name, goal, intervals),
    )


def _meets(params: Params, name: str, goal: Estimate, intervals: pd.DataFrame) -> bool:
    if params.goal == "smallest-error":
        return goal.value < CLEARLY * prior_error(params)
    if params.goal == "interval-below":
        held = intervals[intervals.mechanism == name].coverage
        return bool(len(held)) and float(held.iloc[0]) >= HONEST and goal.value <= params.wanted
    return goal.value <= params.wanted


def prior_error(params: Params) -> float:
    """What the prior mean errs, which takes no data: on average, or as the goal has it."""
    known = planning.prior(params.scenario)
    if _of_releases(params):
        each = np.sqrt(known.each[:, 0]) if params.metric == "rmse" else known.each[:, 1]
        return float(np.quantile(each, float(params.probability)))
    return math.sqrt(known.mse) if params.metric == "rmse" else known.mae


def _of_releases(params: Params) -> bool:
    """Whether the goal is about the error of single releases."""
    return params.goal == "error-below" and params.probability != AVERAGE


# ---------------------------------------------------------------------------- what would be enough

KNOBS = {"budget": "epsilon_total", "size": "n"}


def _curve(
    params: Params,
    outcomes: pd.DataFrame,
    goals: Mapping[str, Estimate],
    coverages: Mapping[str, float],
) -> pd.DataFrame:
    """What the goal is about at other budgets and sizes, and here, in each knob's order."""
    rows: list[tuple[Any, ...]] = []
    score = asked(params).score
    first = outcomes[(outcomes.part == "tried") & (outcomes["index"] < ELSEWHERE)]
    for part, knob in KNOBS.items():
        others = outcomes[outcomes.part == part]
        for name, goal in goals.items():
            at_home = first[first.mechanism == name]
            if others.empty or at_home.empty or not 0.0 < goal.value < math.inf:
                continue
            kept = coverages[name] >= HONEST
            found = [(params.epsilon_total, params.n, goal.value if kept else math.inf)]
            for where, there in others[others.mechanism == name].groupby(["epsilon_total", "n"]):
                same = at_home[at_home["index"].isin(there["index"])]
                if len(same):
                    ratio = _of_few(params, there, score) / _of_few(params, same, score)
                    kept = _is_honest(params, there, score)
                    value = goal.value * ratio if kept else math.inf
                    found.append((*cast("tuple[float, int]", where), value))
            rows += ((name, knob, *each) for each in sorted(found))
    return _typed(rows, "curve", ("mechanism", "knob")).astype({"n": np.int64})


def _halves(rows: pd.DataFrame, score: str) -> pd.DataFrame:
    """Outcomes of a few data sets: each half at the best setting of the other."""
    return pd.concat([_other_half(rows, score, half) for half in (0, 1)])


def _is_honest(params: Params, rows: pd.DataFrame, score: str) -> bool:
    """Whether intervals of a few data sets hold the truth often enough; true of errors."""
    if params.goal != "interval-below":
        return True
    return bool(_halves(rows, score).coverage.mean() >= planning.HONEST_OF_FEW)


def _of_few(params: Params, rows: pd.DataFrame, score: str) -> float:
    """What the goal is about, of a few data sets."""
    both = _halves(rows, score)
    if params.goal == "interval-below":
        return float(both.width.mean())
    # Of single releases too: few tell how the average moves, not how a quantile does.
    return math.sqrt(both.mse.mean()) if params.metric == "rmse" else float(both.mae.mean())


def _enough(params: Params, curve: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for (name, knob), part in curve.groupby(["mechanism", "knob"], sort=False):
        x, y = part[str(knob)].to_numpy(float), part.value.to_numpy()
        home = x >= float(getattr(params, str(knob)))
        # What does not do here does not do with less, whatever chance says of few data sets.
        used = home if y[home][0] > params.wanted else np.ones(len(x), bool)
        found = enough(x[used], np.minimum.accumulate(y[used]), params.wanted, str(knob))
        rows.append((name, knob, *found))
    table = _typed(rows, "enough", ("mechanism", "knob", "why"))
    return table.sort_values(["knob", "enough"], kind="stable", ignore_index=True)


def enough(x: Any, y: Any, wanted: float, knob: str) -> tuple[float, str]:
    """The least x from which y is at most what is wanted, and how that is known.

    Args:
        x: ascending.
        y: never ascending.
        wanted: above 0.
        knob: what x is.
    """
    reached = np.flatnonzero(y <= wanted)
    name = "ε_total" if knob == "epsilon_total" else "N"
    if not len(reached):
        if math.isinf(y[-1]):
            return math.inf, "intervals that are tried miss the truth too often"
        return math.inf, f"{y[-1]:.2g} is predicted even at {name} = {x[-1]:,g}"
    first = int(reached[0])
    if first == 0:
        return float(x[0]), f"the smallest {name} that was looked at"
    if math.isinf(y[first - 1]):
        return float(x[first]), f"the smallest {name} with intervals that hold the truth"
    (x0, x1), (y0, y1) = np.log(x[first - 1 : first + 1]), np.log(y[first - 1 : first + 1])
    between = math.exp(x0 + (x1 - x0) * (y0 - math.log(wanted)) / (y0 - y1))
    # Up to two digits, as no more are known.
    digits = 1 - math.floor(math.log10(between))
    rounded = math.ceil(between * 10.0**digits * (1.0 - 1e-9)) / 10.0**digits
    found = min(rounded, float(x[first]))
    return found, f"between {name} = {x[first - 1]:,g} and {x[first]:,g}"


# ------------------------------------------------------------------------------------- in words


def advice(result: Result) -> str:
    """What to run, in a few sentences."""
    params, main, goal = cast(Params, result.params), result.tables["main"], result.tables["goal"]
    at = f"With N = {params.n:,} and ε_total = {params.epsilon_total:g}"
    best, value = str(main.mechanism.iloc[0]), float(goal.value.iloc[0])
    what = f"{quantity(params)}{_unit(params)}"
    error = f"{quantity(params)} {_number(value)}{_between(_records(goal)[0])}{_unit(params)}"
    if params.goal == "smallest-error":
        if not main.meets.any():
            return (
                f"{at} no mechanism is predicted to err clearly less than the prior mean, whose "
                f"{what} is {_number(prior_error(params))}; the nearest is {_named(result, 0)}: "
                f"{_number(value)}."
            )
        return (
            f"{at}, {_named(result, 0)} is predicted to err least: {error}; the prior mean "
            f"{_number(prior_error(params))}. {_sure(params, best)}"
        )
    meeting, rows = main[main.meets], _records(goal)
    wanted = _number(params.wanted)
    if len(meeting):
        first = int(meeting.index[0])
        high = rows[first]["value_high"]
        unsure = " Its interval reaches beyond, so that is not certain." * (high > params.wanted)
        does = "does" if len(meeting) == 1 else "do"
        return (
            f"{at}, {_named(result, first)} is predicted to meet the goal: "
            f"{_number(rows[first]['value'])}{_between(rows[first])} where at most {wanted} is "
            f"wanted, in {what}.{unsure} {len(meeting):,} of "
            f"{sentences.counted(len(main), 'mechanism')} {does}. "
            f"{_sure(params, str(meeting.mechanism.iloc[0]))}"
        )
    nearest = ""
    if math.isfinite(value):
        nearest = f" The nearest is {_named(result, 0)}: {_number(value)}{_between(rows[0])}"
        nearest += f"{_too_sure(result, best)}."
    return (
        f"{at} no mechanism is predicted to meet the goal of {wanted} in {what}.{nearest}"
        f"{_least(result)}"
    )


def _number(value: float) -> str:
    return sentences.plain(value, 2)


def _between(row: Mapping[str, Any]) -> str:
    low, high = row["value_low"], row["value_high"]
    return f" (95 % interval {_number(low)} to {_number(high)})" if math.isfinite(low) else ""


def _named(result: Result, place: int) -> str:
    """A row's mechanism with its setting."""
    row = result.tables["main"].iloc[place]
    parts = [f"c = {row.c:,}"] * bool(row.c > 0)
    parts += [f"ε_abc = {row.epsilon_abc:g}"] * bool(math.isfinite(row.epsilon_abc))
    return (
        f"{fig.called(row.mechanism)} ({', '.join(parts)})" if parts else fig.called(row.mechanism)
    )


def _sure(params: Params, name: str) -> str:
    """What is promised, and over what the prediction averages."""
    measure = mechanisms.load(name).measure
    kind = "pure" if measure == "pure" else f"approximate, δ = {params.delta:g}"
    unit = mechanisms.load(name).protects(simulators.load(params.scenario))[0]
    return f"It protects {unit} ({kind}). Averaged over truths from the prior."


def _too_sure(result: Result, name: str) -> str:
    """That short intervals miss too often, where that is why they do not meet the goal."""
    intervals = result.tables["intervals"]
    held = intervals[intervals.mechanism == name]
    if held.empty or float(held.coverage.iloc[0]) >= HONEST:
        return ""
    return f", but its intervals hold the truth in {held.coverage.iloc[0]:.2g} of all cases only"


def _least(result: Result) -> str:
    """What would be enough: the smallest budget and the smallest N of any mechanism."""
    table = result.tables["enough"]
    texts = []
    for knob, words in (("epsilon_total", "ε_total = {:g}"), ("n", "N = {:,.0f}")):
        found = table[table.knob == knob]
        if found.empty:
            continue
        best = found.iloc[int(found.enough.to_numpy().argmin())]
        if math.isfinite(best.enough):
            texts.append(f"{words.format(best.enough)} with {fig.called(best.mechanism)}")
    if texts:
        return f" About {' or '.join(texts)} would be enough."
    if table.empty:
        return ""
    curve = result.tables["curve"]
    sizes = (table.knob == "n").any()
    size = f" and no N up to {curve.n.max():,}" if sizes else ""
    return f" No budget up to {curve.epsilon_total.max():g}{size} is predicted to be enough."


def _privacy(params: Params, names: Sequence[str]) -> str:
    """What a release as planned would guarantee."""
    if not names:
        return "Nothing is released; only simulated data are looked at."
    best = mechanisms.load(names[0])
    source = simulators.load(params.scenario)
    budget = Budget(params.epsilon_total, params.delta)
    promised = privacy.guarantee(best.spends(budget), *best.protects(source))
    return (
        f"Only simulated data are looked at: planning costs no privacy. A release by the first, "
        f"{fig.called(best.name)}: {promised}"
    )


# -------------------------------------------------------------------------------------- figures


def figures(result: Result) -> dict[str, fig.Drawn]:
    """The ranked mechanisms; for a goal, what would be enough."""
    params = cast(Params, result.params)
    rival = noisy_counts.rival(simulators.load(params.scenario))
    words = f"{result.summary}{other_units(result)} {rival}"
    drawn = {"plan": fig.Drawn(_ranked(result), words)}
    for knob, key in (("epsilon_total", "enough-budget"), ("n", "enough-people")):
        if (result.tables["enough"].knob == knob).any():
            drawn[key] = fig.Drawn(_enough_figure(result, knob), _enough_sentence(result, knob))
    return drawn


def other_units(result: Result) -> str:
    """Mechanisms that protect another unit than the first one, after a space; else nothing."""
    params = cast(Params, result.params)
    source = simulators.load(params.scenario)
    names = [str(name) for name in result.tables["main"].mechanism]
    units = {name: mechanisms.load(name).protects(source)[0] for name in names}
    others = [name for name in names if units[name] != units[names[0]]]
    return "".join(f" {fig.called(name).capitalize()} protects {units[name]}." for name in others)


def _title(result: Result) -> str:
    params, main = cast(Params, result.params), result.tables["main"]
    meeting = int(main.meets.sum())
    if params.goal == "smallest-error":
        if not meeting:
            return "No mechanism is clearly better than the prior"
        return f"{fig.called(str(main.mechanism.iloc[0])).capitalize()} is predicted to err least"
    if not meeting:
        return "No mechanism is predicted to meet the goal"
    verb = "is" if meeting == 1 else "are"
    words = sentences.counted(meeting, "mechanism")
    return f"{words} of {len(main):,} {verb} predicted to meet the goal"


def _settings(result: Result) -> str:
    params, goal = cast(Params, result.params), result.tables["goal"]
    sets = int(goal.data_sets.max())
    filled = "better than the prior" if params.goal == "smallest-error" else "meets the goal"
    return (
        f"N = {params.n:,}, ε_total = {params.epsilon_total:g}, T = {params.pool_size:,}, best "
        f"public settings, truths from the prior, {sentences.counted(sets, 'data set')}, 95 % "
        f"intervals; filled: {filled}"
    )


def _ranked(result: Result) -> go.Figure:
    params, main = cast(Params, result.params), result.tables["main"]
    goal = result.tables["goal"]
    named = [
        f"{fig.called(name)} {_number(value) if math.isfinite(value) else 'no draws'}"
        for name, value in zip(main.mechanism, goal.value, strict=True)
    ]
    what = f"{quantity(params)}{_unit(params)}"
    figure = fig.ranked(named, _title(result), what, _settings(result))
    marks = [*goal.value, *goal.value_low, *goal.value_high]
    marks += [params.wanted] if params.goal != "smallest-error" else []
    marks += [prior_error(params)] if params.goal != "interval-below" else []
    known = [value for value in map(float, marks) if math.isfinite(value) and value > 0.0]
    figure.update_xaxes(fig.plain_ticks(min(known) / 1.3, max(known) * 1.3))
    if params.goal != "interval-below":
        prior = prior_error(params)
        shade = fig.translucent(fig.PRIOR.color, 0.18)
        figure.add_vrect(prior, max(known) * 1.3, fillcolor=shade, line_width=0, layer="below")
        fig.upright(figure, prior, fig.PRIOR, "prior", "center")
    if params.goal != "smallest-error":
        fig.upright(figure, params.wanted, fig.GUIDE, "wanted", "right")
    for place, (row, of) in enumerate(zip(_records(main), _records(goal), strict=True)):
        if not math.isfinite(of["value"]):
            continue
        style = fig.mechanism(row["mechanism"])
        at, low, high = (np.array([of[end]]) for end in ("value", "value_low", "value_high"))
        trace = fig.row_marks(at, np.array([float(place)]), style, low, high)
        exact = ", exact over the noise" if of["exact"] else ""
        trace.update(
            hovertemplate=f"{_named(result, place)}: {what} {of['value']:.3g}{_between(of)}{exact}"
            f"<extra>{fig.called(row['mechanism'])}</extra>"
        )
        figure.add_trace(fig.hollow(trace, np.array([0.0 if row["meets"] else 1.0])))
    return figure


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows of a table."""
    return cast("list[dict[str, Any]]", table.to_dict("records"))


def _enough_rows(result: Result, knob: str) -> pd.DataFrame:
    table = result.tables["enough"]
    return table[table.knob == knob].sort_values("enough", kind="stable", ignore_index=True)


def _enough_words(knob: str, value: float) -> str:
    if math.isinf(value):
        return "none"
    return f"{value:g}" if knob == "epsilon_total" else f"{value:,.0f}"


def _enough_title(result: Result, knob: str) -> str:
    rows = _enough_rows(result, knob)
    name = "ε_total" if knob == "epsilon_total" else "N"
    reached = rows[np.isfinite(rows.enough)]
    if reached.empty:
        return f"No {name} that was looked at is enough"
    least = _enough_words(knob, float(reached.enough.iloc[0]))
    return f"{fig.called(reached.mechanism.iloc[0]).capitalize()} needs least: {name} = {least}"


def _enough_sentence(result: Result, knob: str) -> str:
    params, rows = cast(Params, result.params), _enough_rows(result, knob)
    name = "ε_total" if knob == "epsilon_total" else "N"
    held = f"N = {params.n:,}" if knob == "epsilon_total" else f"ε_total = {params.epsilon_total:g}"
    texts = [
        f"{fig.called(name)} {_enough_words(knob, value)}"
        for name, value in zip(rows.mechanism, rows.enough, strict=True)
    ]
    return (
        f"Smallest {name} predicted to keep the {quantity(params)} at {_number(params.wanted)} or "
        f"below, at {held}: {', '.join(texts)}."
    )


def _enough_figure(result: Result, knob: str) -> go.Figure:
    params, rows = cast(Params, result.params), _enough_rows(result, knob)
    named = [
        f"{fig.called(name)} {_enough_words(knob, value)}"
        for name, value in zip(rows.mechanism, rows.enough, strict=True)
    ]
    x = "ε_total that is enough" if knob == "epsilon_total" else "N that is enough"
    held = f"N = {params.n:,}" if knob == "epsilon_total" else f"ε_total = {params.epsilon_total:g}"
    settings = f"{held}, {quantity(params)} at most {_number(params.wanted)}"
    figure = fig.ranked(named, _enough_title(result, knob), x, settings)
    own = float(getattr(params, knob))
    known = [own, *(value for value in rows.enough if math.isfinite(value))]
    figure.update_xaxes(fig.plain_ticks(min(known) / 1.5, max(known) * 1.5))
    fig.upright(figure, own, fig.GUIDE, "yours", "center")
    for place, row in enumerate(_records(rows)):
        if math.isfinite(row["enough"]):
            at = np.array([row["enough"]]), np.array([float(place)])
            trace = fig.row_marks(*at, fig.mechanism(row["mechanism"]))
            words = f"{row['why']}<extra>{row['mechanism']}</extra>"
            figure.add_trace(trace.update(hovertemplate=words))
    return figure
