r"""With N people and a budget, or for an error wanted: what is to be run?

Every mechanism that serves a scenario is tried on data sets simulated at truths from the prior, in
the place of private data, each with a public pool of its own, or with one that all share where
pools take long to make; nothing here is given private data. What is predicted is the error that a
release will have *on average over the prior*: of one data set, whose truth nobody knows, it may be
smaller or larger.

**Errors.** With $\hat\theta$ the mean that a release stands for, $\theta$ the truth and $d$
parameters, the root mean squared error is $\sqrt{E\,|\hat\theta - \theta|^2 / d}$, and the mean
absolute error $E \sum_j |\hat\theta_j - \theta_j| / d$, over truths, data, pools and noise. Where
the parameters have different units each is divided by its prior standard deviation. That of the
sparse vector with Laplace noise is averaged over all noise exactly (MATH E6); everything else is by
releases with simulated noise. How far the truths of the data sets are from the prior mean, and
how far the exact posterior mean is from them where there is one, is known on average: that part of
chance is taken out of the average (control variates).

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
goal is about is taken to change by the ratio of the average errors, or lengths, of these 8. The
interval of what is enough allows for what chance does to both. In between, straight lines in
logarithms, so it is a rough number where the curve bends. Noise follows $N\epsilon_{total}$, so
twice as many people do as much for it as twice the budget; what N points tell without any noise is
a limit that no budget gets beyond.

**You may not need ABC.** Where a likelihood exists, its sufficient statistic with noise is the
honest rival (MATH E7): for the mixture of five uniforms the five counts, whose posterior is exact
and takes no simulation.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
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
from abcdp_core.planning import Asked, Estimate, Goal, Prior
from abcdp_core.results import Result, Tables
from abcdp_core.sentences import amount
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
    "enough": ("mechanism", "knob", "enough", "enough_low", "enough_high", "why"),
    "curve": (
        "mechanism", "knob", "epsilon_total", "n", "value", "value_low", "value_high",
    ),
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
    # As far apart as parameters of a model of one's own may be.
    low=1e-60,
    high=1e60,
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
    options=tuple(planning.METRICS),
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
    epsilon_total: float = par.EPSILON_TOTAL.field(par.EPSILON_TOTAL_DEFAULT)
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
        return super().defaults(scenario) | {"wanted": min(max(few, WANTED.low), WANTED.high)}

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
        # Not for the plan, which may need no such pool, but for what is planned.
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


def goal_of(params: Params) -> Goal:
    """What is wanted."""
    if params.goal == "smallest-error":
        return Goal(params.metric)
    share = None if params.probability == AVERAGE else float(params.probability)
    if params.goal == "error-below":
        return Goal(params.metric, params.wanted, share)
    return Goal(params.metric, params.wanted, intervals=True)


def asked(params: Params) -> Asked:
    """What settings are tried for."""
    return Asked(
        params.scenario,
        params.n,
        params.epsilon_total,
        params.delta,
        params.planned,
        params.pool_size,
        goal_of(params).score,
    )


def work(task: Task) -> Tables:
    """Outcomes of one data set."""
    params = task.params
    make = {"tried": planning.kept, "predicted": planning.predicted}.get(task.part, planning.tried)
    rows = make(asked(params), task.seed, task.index)
    where = rows.assign(part=task.part, epsilon_total=params.epsilon_total, n=params.n)
    return {"outcomes": where}


# ------------------------------------------------------------------------------------- collecting


@dataclass(frozen=True)
class _Found:
    """What is known of a mechanism at its best setting.

    Attributes:
        rows: outcomes there, of data sets on which it was not chosen.
        error: on average over the prior.
        value: what the goal is about.
        coverage: share of intervals that hold the truth; 1 where the goal is about none.
    """

    rows: pd.DataFrame
    error: Estimate
    value: Estimate
    coverage: float

    @property
    def rank(self) -> tuple[bool, bool, float]:
        """Last come those without intervals, before them those with wrong ones."""
        value = self.value.value
        return math.isinf(value), self.coverage < planning.HONEST, value


def collect(params: Params, rows: Tables) -> Result:
    """The plan so far."""
    outcomes, goal = rows["outcomes"], goal_of(params)
    known, source = planning.prior(params.scenario), simulators.load(params.scenario)
    here = {name: _found(outcomes, name, goal, known) for name in params.planned}
    there = {name: each for name, each in here.items() if each is not None}
    found = dict(sorted(there.items(), key=lambda item: item[1].rank))
    curve = _curve(params, outcomes, found)
    refused = ((each.name, each.refuses(source)) for each in mechanisms.every().values())
    of_prior = [("rmse", math.sqrt(known.mse)), ("mae", known.mae)]
    tables = {
        "main": _table("main", (_row(params, name, each) for name, each in found.items())),
        "goal": _table("goal", (_goal_row(goal, name, each) for name, each in found.items())),
        "intervals": _intervals(goal, found),
        "enough": _enough(params, curve, outcomes),
        "curve": curve,
        "refused": _table("refused", ((name, why) for name, why in refused if why)),
        "prior": _table("prior", of_prior),
    }
    result = Result(EXPERIMENT, params, tables, NOT_YET, _privacy(params, list(found)))
    if not found:
        # A plan for another budget keeps what this one takes for its other budgets.
        return result
    return dataclasses.replace(result, summary=advice(result))


NOT_YET = "Only other budgets and sizes are known yet, not those that were asked for."


def _table(name: str, rows: Iterable[tuple[Any, ...]]) -> pd.DataFrame:
    return pd.DataFrame(list(rows), columns=list(COLUMNS[name]))


def _typed(name: str, rows: Iterable[tuple[Any, ...]]) -> pd.DataFrame:
    """A table of words and real numbers whose columns keep their kind where it has no row."""
    made = _table(name, rows)
    return made.astype({column: str if column in WORDS else float for column in made.columns})


WORDS = ("mechanism", "knob", "why")
"""Columns of text."""


def _found(outcomes: pd.DataFrame, name: str, goal: Goal, known: Prior) -> _Found | None:
    """What is known of a mechanism; nothing while no outcome is there."""
    own = outcomes[outcomes.mechanism == name]
    rows, tried = (own[own.part == part] for part in ("predicted", "tried"))
    if rows["index"].nunique() < ELSEWHERE and len(tried):
        rows = planning.other_half(tried, goal.score, 1)
    if rows.empty:
        return None
    error = goal.error(rows, known)
    value = error if goal.is_about_averages else goal.value(rows, known)
    return _Found(rows, error, value, goal.coverage(rows))


def _row(params: Params, name: str, found: _Found) -> tuple[Any, ...]:
    delta = mechanisms.load(name).spends(Budget(params.epsilon_total, params.delta)).delta
    c, epsilon_abc = int(found.rows.c.iloc[0]), float(found.rows.epsilon_abc.iloc[0])
    known = planning.prior(params.scenario)
    return (
        *(name, params.epsilon_total, delta, params.n, c, epsilon_abc, params.metric),
        *dataclasses.astuple(found.error),
        goal_of(params).is_met(found.value, found.coverage, known),
    )


def _goal_row(goal: Goal, name: str, found: _Found) -> tuple[Any, ...]:
    averaged = goal.is_about_averages and goal.metric == "rmse"
    exact = averaged and bool(found.rows.expected_mse.notna().all())
    sets = found.rows["index"].nunique()
    return name, goal.quantity, *dataclasses.astuple(found.value), sets, exact


def _intervals(goal: Goal, found: Mapping[str, _Found]) -> pd.DataFrame:
    rows = []
    for name, each in found.items():
        if goal.intervals and math.isfinite(each.value.value):
            held = planning.share(planning.per_case(each.rows).coverage.to_numpy())
            rows.append((name, *dataclasses.astuple(each.value), *dataclasses.astuple(held)))
    return _typed("intervals", rows)


KNOBS = {"budget": "epsilon_total", "size": "n"}


def _curve(params: Params, outcomes: pd.DataFrame, found: Mapping[str, _Found]) -> pd.DataFrame:
    """What the goal is about at other budgets and sizes, and here, in each knob's order.

    Infinite for intervals that miss the truth too often.
    """
    rows: list[tuple[Any, ...]] = []
    goal = goal_of(params)
    first = outcomes[(outcomes.part == "tried") & (outcomes["index"] < ELSEWHERE)]
    for part, knob in KNOBS.items():
        others = outcomes[outcomes.part == part]
        for name, each in found.items():
            at_home = first[first.mechanism == name]
            value = each.value.value
            if others.empty or at_home.empty or not 0.0 < value < math.inf:
                continue
            honest = each.coverage >= planning.HONEST
            none = Estimate(math.inf, math.inf, math.inf)
            points = {(params.epsilon_total, params.n): each.value if honest else none}
            for where, there in others[others.mechanism == name].groupby(["epsilon_total", "n"]):
                same = at_home[at_home["index"].isin(there["index"])]
                if len(same):
                    scaled = each.value.times(goal.ratio(there, same))
                    at = cast("tuple[float, int]", where)
                    points[at] = scaled if goal.is_honest(there) else none
            rows += ((name, knob, *at, *dataclasses.astuple(points[at])) for at in sorted(points))
    return _typed("curve", rows).astype({"n": np.int64})


def _enough(params: Params, curve: pd.DataFrame, outcomes: pd.DataFrame) -> pd.DataFrame:
    """What would be enough; nothing of budgets, or of sizes, before all of them were looked at."""
    whole: dict[str, set[float]] = {
        "epsilon_total": {*_budgets(params)},
        "n": {*_sizes(params)},
    }
    looked_at = {knob: {*outcomes[outcomes.part == part][knob]} for part, knob in KNOBS.items()}
    rows = []
    for (name, knob), part in curve.groupby(["mechanism", "knob"], sort=False):
        if not whole[str(knob)] <= looked_at[str(knob)]:
            continue
        y = [Estimate(*each) for each in part[["value", "value_low", "value_high"]].to_numpy()]
        x, home = part[str(knob)].to_numpy(float), float(getattr(params, str(knob)))
        each = planning.enough(x, y, home, params.wanted, str(knob))
        rows.append((name, knob, *dataclasses.astuple(each)))
    table = _typed("enough", rows)
    return table.sort_values(["knob", "enough"], kind="stable", ignore_index=True)


# ------------------------------------------------------------------------------------- in words


def _unit(params: Params) -> str:
    several = simulators.has_several_units(simulators.load(params.scenario))
    return ", in prior standard deviations" if several else ""


def _prior_error(params: Params) -> float:
    return goal_of(params).of_prior(planning.prior(params.scenario))


def advice(result: Result) -> str:
    """What to run, in a few sentences."""
    params, main, goal = cast(Params, result.params), result.tables["main"], result.tables["goal"]
    at = f"With N = {params.n:,} and ε_total = {params.epsilon_total:g}"
    best, value = str(main.mechanism.iloc[0]), float(goal.value.iloc[0])
    what = f"{goal_of(params).quantity}{_unit(params)}"
    error = (
        f"{goal_of(params).quantity} {amount(value, 2)}{_between(_records(goal)[0])}{_unit(params)}"
    )
    if params.goal == "smallest-error":
        if not main.meets.any():
            return (
                f"{at} no mechanism is predicted to err clearly less than the prior mean, whose "
                f"{what} is {amount(_prior_error(params), 2)}; the nearest is {_named(result, 0)}: "
                f"{amount(value, 2)}. Averaged over truths from the prior."
            )
        return (
            f"{at}, {_named(result, 0)} is predicted to err least: {error}; the prior mean "
            f"{amount(_prior_error(params), 2)}.{_as_good(result, 0)} {_sure(params, best)}"
        )
    meeting, rows = main[main.meets], _records(goal)
    wanted = _wanted(params)
    if len(meeting):
        first = int(meeting.index[0])
        high = rows[first]["value_high"]
        unsure = " Its interval reaches beyond, so that is not certain." * (high > params.wanted)
        does = "does" if len(meeting) == 1 else "do"
        return (
            f"{at}, {_named(result, first)} is predicted to meet the goal: "
            f"{amount(rows[first]['value'], 2)}{_between(rows[first])} where at most {wanted} is "
            f"wanted, in {what}.{unsure}{_as_good(result, first)} {len(meeting):,} of "
            f"{sentences.counted(len(main), 'mechanism')} {does}. "
            f"{_sure(params, str(meeting.mechanism.iloc[0]))}"
        )
    nearest = ""
    if math.isfinite(value):
        shown = sentences.above(value, params.wanted) if value > params.wanted else amount(value, 2)
        nearest = f" The nearest is {_named(result, 0)}: {shown}{_between(rows[0])}"
        nearest += f"{_too_sure(result, best)}."
    return (
        f"{at} no mechanism is predicted to meet the goal of {wanted} in {what}.{nearest}"
        f"{_least(result)} Averaged over truths from the prior."
    )


def _wanted(params: Params) -> str:
    """As it was asked for: it is no estimate."""
    return amount(params.wanted, 6)


def _between(row: Mapping[str, Any]) -> str:
    """The 95 % interval, after a space; nothing where it is not known."""
    low, high = row["value_low"], row["value_high"]
    if not math.isfinite(low):
        return ""
    ends = (
        f"{amount(low, 2)} to {amount(high, 2)}"
        if math.isfinite(high)
        else f"from {amount(low, 2)}"
    )
    return f" (95 % interval {ends})"


def _named(result: Result, place: int) -> str:
    """A row's mechanism with its setting."""
    row = result.tables["main"].iloc[place]
    parts = [f"c = {row.c:,}"] * bool(row.c > 0)
    parts += [f"ε_abc = {row.epsilon_abc:g}"] * bool(math.isfinite(row.epsilon_abc))
    return (
        f"{fig.called(row.mechanism)} ({', '.join(parts)})" if parts else fig.called(row.mechanism)
    )


def _as_good(result: Result, place: int) -> str:
    """Mechanisms whose prediction is within the interval of another's, after a space."""
    main, goal = result.tables["main"], result.tables["goal"]
    after = goal.index > place
    near = after & main.meets & (goal.value <= goal.value_high.iloc[place])
    names = [fig.called(str(name)) for name in goal.mechanism[near]]
    if not names:
        return ""
    several = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return f" Within that interval: {', '.join(names[:MOST_NAMED])}{several}."


MOST_NAMED = 3
"""Mechanisms named in a sentence."""


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
    if held.empty or float(held.coverage.iloc[0]) >= planning.HONEST:
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
        best = _records(found)[0]
        if math.isfinite(best["enough"]):
            between = _enough_between(knob, best)
            texts.append(
                f"{words.format(best['enough'])}{between} with {fig.called(best['mechanism'])}"
            )
    if texts:
        return f" About {' or '.join(texts)} would be enough."
    if table.empty:
        return ""
    none = " and ".join(
        f"no {words} {_looked_at(result, knob)}"
        for knob, words in (("epsilon_total", "budget"), ("n", "N"))
        if (table.knob == knob).any()
    )
    return f" N{none[1:]} is predicted to be enough."


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
    if result.tables["main"].empty:
        return {"plan": fig.Drawn(_nothing_yet(params), NOT_YET)}
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
    filled = (
        "clearly better than the prior" if params.goal == "smallest-error" else "meets the goal"
    )
    return (
        f"N = {params.n:,}, ε_total = {params.epsilon_total:g}, T = {params.pool_size:,}, best "
        f"public settings, truths from the prior, {sentences.counted(sets, 'data set')}, 95 % "
        f"intervals; filled: {filled}"
    )


def _nothing_yet(params: Params) -> go.Figure:
    """The figure before any mechanism has been tried at the own budget."""
    what, prior = f"{goal_of(params).quantity}{_unit(params)}", _prior_error(params)
    figure = fig.ranked([""], "Nothing is predicted yet", what, "")
    figure.update_xaxes(fig.plain_ticks(prior / 10.0, prior))
    return figure


ROW = 30
"""Pixels of a row: twelve mechanisms fit on the first screen of a small laptop."""


def _ranked(result: Result) -> go.Figure:
    params, main = cast(Params, result.params), result.tables["main"]
    goal = result.tables["goal"]
    named = [
        f"{fig.called(name)} {amount(value, 2) if math.isfinite(value) else 'no draws'}"
        for name, value in zip(main.mechanism, goal.value, strict=True)
    ]
    what = f"{goal_of(params).quantity}{_unit(params)}"
    figure = fig.ranked(named, _title(result), what, _settings(result), ROW)
    marks = [*goal.value, *goal.value_low, *goal.value_high]
    marks += [params.wanted] if params.goal != "smallest-error" else []
    marks += [_prior_error(params)] if params.goal != "interval-below" else []
    known = [value for value in map(float, marks) if math.isfinite(value) and value > 0.0]
    most = max(known) * 1.3
    figure.update_xaxes(fig.plain_ticks(min(known) / 1.3, most))
    if params.goal != "interval-below":
        prior = _prior_error(params)
        shade = fig.translucent(fig.PRIOR.color, 0.18)
        figure.add_vrect(prior, most, fillcolor=shade, line_width=0, layer="below")
        # Names stand on the sides turned away from each other.
        side = "left" if params.wanted <= prior else "right"
        alone = params.goal == "smallest-error"
        fig.upright(figure, prior, fig.PRIOR, "prior", "center" if alone else side)
    if params.goal != "smallest-error":
        side = "right" if params.wanted <= _prior_error(params) else "left"
        fig.upright(figure, params.wanted, fig.GUIDE, "wanted", side)
    for place, (row, of) in enumerate(zip(_records(main), _records(goal), strict=True)):
        if not math.isfinite(of["value"]):
            continue
        style = fig.mechanism(row["mechanism"])
        at, low = (np.array([of[end]]) for end in ("value", "value_low"))
        high = np.array([min(of["value_high"], most)])
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


def _enough_between(knob: str, row: Mapping[str, Any]) -> str:
    """The interval of what is enough, after a space; nothing where it is not known or a point."""
    low, high = row["enough_low"], row["enough_high"]
    if math.isnan(low) or low == high:
        return ""
    return f" ({_enough_words(knob, low)} to {_enough_words(knob, high)})"


def _enough_title(result: Result, knob: str) -> str:
    first, name = _records(_enough_rows(result, knob))[0], planning.NAMES[knob]
    if math.isinf(first["enough"]):
        return f"No {name} that was looked at is enough"
    least = _enough_words(knob, first["enough"])
    return f"{name} = {least} is predicted to be enough, by {fig.called(first['mechanism'])}"


def _enough_sentence(result: Result, knob: str) -> str:
    params, rows = cast(Params, result.params), _enough_rows(result, knob)
    name = planning.NAMES[knob]
    held = f"N = {params.n:,}" if knob == "epsilon_total" else f"ε_total = {params.epsilon_total:g}"
    some = np.isinf(rows.enough).any() or np.isinf(rows.enough_high).any()
    none = f" None: not {_looked_at(result, knob, f'{name} = ')}." * bool(some)
    texts = [
        f"{fig.called(row['mechanism'])} {_enough_words(knob, row['enough'])}"
        f"{_enough_between(knob, row)}"
        for row in _records(rows)
    ]
    return (
        f"Smallest {name} predicted to keep the {goal_of(params).quantity} at "
        f"{_wanted(params)} or below, at {held}: {', '.join(texts)}.{none}"
    )


def _looked_at(result: Result, knob: str, before: str = "") -> str:
    """Where nothing is enough if nothing is found; ``before`` stands before the first number.

    An error only grows with less; but intervals that miss the truth here may hold it with less.
    """
    params = cast(Params, result.params)
    own, most = float(getattr(params, knob)), float(result.tables["curve"][knob].max())
    first, last = _enough_words(knob, own), _enough_words(knob, most)
    if params.goal != "interval-below":
        return f"up to {before}{last}"
    return f"from {before}{first} up to {last}" if own < most else f"of {before}{last}"


def _enough_figure(result: Result, knob: str) -> go.Figure:
    params, rows = cast(Params, result.params), _enough_rows(result, knob)
    named = [
        f"{fig.called(name)} {_enough_words(knob, value)}"
        for name, value in zip(rows.mechanism, rows.enough, strict=True)
    ]
    x = "ε_total that is enough" if knob == "epsilon_total" else "N that is enough"
    held = f"N = {params.n:,}" if knob == "epsilon_total" else f"ε_total = {params.epsilon_total:g}"
    settings = f"{held}, {goal_of(params).quantity} at most {_wanted(params)}"
    figure = fig.ranked(named, _enough_title(result, knob), x, settings)
    own = float(getattr(params, knob))
    ends = (*rows.enough, *rows.enough_low, *rows.enough_high)
    known = [own, *(value for value in map(float, ends) if math.isfinite(value))]
    most = max(known) * 1.5
    figure.update_xaxes(fig.plain_ticks(min(known) / 1.5, most))
    fig.upright(figure, own, fig.GUIDE, "yours", "center")
    for place, row in enumerate(_records(rows)):
        if math.isfinite(row["enough"]):
            at, low, high = (
                np.array([min(row[end], most)]) for end in ("enough", "enough_low", "enough_high")
            )
            style = fig.mechanism(row["mechanism"])
            trace = fig.row_marks(at, np.array([float(place)]), style, low, high)
            words = f"{row['why']}<extra>{fig.called(row['mechanism'])}</extra>"
            figure.add_trace(trace.update(hovertemplate=words))
    return figure
