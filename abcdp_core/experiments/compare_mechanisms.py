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
features are, and pays once. Draws, thresholds and weights are then chosen by looking at the answer;
that is post-processing, and there may be as many as one likes.

**When the sparse vector is still right.** It needs distances only. Where there is no bounded
statistic behind them, as with the clipped summaries of outbreaks, there is nothing to embed; and
for a single yes-or-no question it is as good.

**The unit decides.** A mechanism may protect another unit than another one does with the same data
(MATH M9): ``private-summary`` and ``private-summary-large-unit`` release the same numbers, with
noise for one patient or for a whole outbreak. Where the data are simulated at draws from the prior,
the published data are released too. Nobody knows how far an estimate from them is off; the mark is
the error that their posterior itself expects.

**Best public setting.** Each mechanism has a threshold or temperature $\epsilon_{abc}$ to choose.
It is chosen on a grid, as the one with the lowest mean error over simulated data sets, whose truth
is known; the data it is scored on are not looked at. The table *common* has all at the same one.

Where a run accepts nothing its estimate is the prior mean; how often that is stands in the summary
table, and the mark is open. A released estimate accepts nothing and rejects nothing, so there is no
such number for it.

Pure and (ε, δ) guarantees are not comparable by ε alone: a mechanism with δ > 0 promises less. The
trade-off curves show by how much.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import experiments, mechanisms, pool, sentences, simulators, summaries, trials
from abcdp_core import figures as fig
from abcdp_core import parameters as par
from abcdp_core.mechanisms import Budget, Mechanism, Prepared, noisy_counts, private_summary
from abcdp_core.parameters import Parameter
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.results import Result, Tables
from abcdp_core.simulators import ScenarioParams, uniform_mixture
from abcdp_core.streams import generator
from abcdp_core.trials import SCENARIO

Array = NDArray[np.float64]

EXPERIMENT = "compare-mechanisms"
TITLE = "Error of every mechanism at equal privacy"
SCORES = (
    "mechanism", "epsilon_total", "delta", "c", "epsilon_abc", "run", "accepted", *trials.METRICS,
)  # fmt: skip
COLUMNS = {
    "main": SCORES,
    "common": SCORES,
    "grid": ("mechanism", "epsilon_total", "c", "epsilon_abc", "mse"),
    "prior": ("run", *trials.METRICS),
    "summary": (
        "mechanism", "c", "epsilon_total", "epsilon_abc", "mse", "mse_low", "mse_high",
        "mae", "mae_low", "mae_high", "empty_share",
    ),
    "published": (
        "mechanism", "epsilon_total", "c", "unit", "parameter", "mean", "low", "high",
        *trials.METRICS,
    ),
}  # fmt: skip
"""In *grid*, ``mse`` is what the best setting is chosen by, NaN where there is nothing to choose;
there and in *summary* errors are scaled where the parameters' units differ. In *published*, of the
scenario's published data, ``low`` and ``high`` are the ends of the posterior's 90 % interval of a
parameter, and errors are those that it expects of its own mean; ``unit`` is what is protected."""

# ------------------------------------------------------------------------------------ parameters

PUBLISHED_OR_EMBEDDED = (
    "sparse-vector", "gaussian-rejection", "soft-weights", "private-embedding",
    "embedding-estimate", "embedding-noise-aware",
)  # fmt: skip
"""Of the preset that has c vary."""

SHOWN = tuple(name for name, each in mechanisms.every().items() if EXPERIMENT in each.shown_in)
"""Mechanisms that are compared unless somebody names others."""

TRUTHS = Parameter(
    kind="choice",
    label="Truths",
    help="own: the scenario's true parameters. prior: each run has its own draw from the prior.",
    options=("own", "prior"),
)


@dataclass(frozen=True)
class Params(ScenarioParams):
    """Every combination of the lists is scored on the same data and noise."""

    mechanism: tuple[str, ...] = trials.MECHANISM.field(SHOWN, many=True)
    epsilon_total: tuple[float, ...] = par.EPSILON_TOTAL.field(
        (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0), many=True
    )
    delta: float = par.DELTA.field(1e-4)
    c: tuple[int, ...] = par.C.field(10, many=True)
    epsilon_abc: float = uniform_mixture.EPSILON_ABC.field(uniform_mixture.EPSILON_ABC_DEFAULT)
    n: int = uniform_mixture.N.field(uniform_mixture.N_DEFAULT)
    pool_size: int = par.POOL_SIZE.field(10_000)
    sensitivity: str = trials.SENSITIVITY.field("sharp")
    runs: int = par.RUNS.field(20)
    noise_draw: int = par.NOISE_DRAW.field(0)
    scenario: str = SCENARIO.field(uniform_mixture.SCENARIO)
    truths: str = TRUTHS.field("own")

    @classmethod
    def defaults(cls, scenario: str) -> dict[str, Any]:
        """The scenario's own size, threshold, acceptances and pool, and what can serve it."""
        known = trials.knows_truth(simulators.load(scenario))
        return super().defaults(scenario) | {
            "mechanism": trials.serving(SHOWN, scenario),
            "truths": "own" if known else "prior",
        }

    def check_together(self) -> None:
        """Refuse too much work, more acceptances than draws, and what cannot be measured."""
        super().check_together()
        trials.check_truths(self.scenario, self.truths)
        trials.check_mechanisms(self.scenario, self.mechanism)


SELECTIONS = (
    "sparse-vector", "sparse-vector-approximate", "nearest-selection",
    "nearest-selection-approximate",
)  # fmt: skip
"""Ways to get draws by their distances, at equal privacy."""

PRESETS: dict[str, BaseParams] = {
    "selection": Params(
        mechanism=SELECTIONS,
        epsilon_total=(0.1, 1.0, 10.0),
        c=(10, 100, 1000),
        delta=1e-6,
        runs=48,
    ),
    "all-mechanisms": Params(runs=100),
    "all-mechanisms-c": Params(
        mechanism=PUBLISHED_OR_EMBEDDED,
        epsilon_total=(0.1, 1.0, 10.0),
        c=(10, 100, 1000),
        runs=60,
    ),
}

UNITS = tuple(each.name for each in private_summary.MECHANISMS)
"""The same numbers of the data, released for units of two sizes."""


def _of_units(scenario: str) -> Params:
    """What each unit costs, on 300 simulated data sets."""
    return Params.for_scenario(
        scenario,
        mechanism=UNITS,
        epsilon_total=(0.1, 0.5, 1.0, 10.0, 100.0, 1000.0),
        truths="prior",
        runs=300,
    )


PRESETS |= {
    "units": _of_units("tuberculosis-patients"),
    "units-covid": _of_units("covid-people"),
}

CHUNK = 20
"""Runs of a task. Workers finish what they have begun: a thousand runs of one task kept everybody
waiting for ten minutes after who had asked for them was gone."""

Task = experiments.Part[Params]
"""One mechanism at one budget and one c, some runs."""


def tasks(params: Params, seed: int) -> list[Task]:
    """Some runs of each mechanism, budget and c; then the next runs, as all have the same data."""
    single = experiments.with_values(params, runs=1)
    each = experiments.per_value(single, seed, "mechanism", "epsilon_total", "c")
    return [
        experiments.Part(at.params, first, min(CHUNK, params.runs - first), seed)
        for first in range(0, params.runs, CHUNK)
        for at in each
    ]


def public_side(params: Params, seed: int) -> pool.PublicSide:
    """The one pool that all runs share."""
    return pool.public_side(params.scenario, params.n, params.pool_size, seed)


def prepare(params: Params, seed: int, progress: pool.Progress) -> None:
    """Make the public pool if it is not there yet, and say how far that is."""
    pool.open_pool(public_side(params, seed).key, progress)


# ------------------------------------------------------------------------------------------ work


def work(task: Task) -> Tables:
    """Choose the best public setting, then score it, and the common one, on every run."""
    params, mechanism = task.params, _mechanism(task)
    common = common_options(task)
    public, budget = public_side(params, task.seed), _budget(task)
    tried = trials.tried(mechanism.name, public, common, budget, task.seed)
    best = min(tried, key=lambda row: row[1])[0]
    at = (mechanism.name, budget.epsilon_total, params.c[0])
    grid = [(*at, _threshold(options), score) for options, score in tried]
    main = _scores(task, best)
    return {
        "main": main,
        "common": main if best == common else _scores(task, common),
        "grid": pd.DataFrame(grid, columns=list(COLUMNS["grid"])),
        "prior": _prior(task),
        "published": _published(task, best),
    }


def _mechanism(task: Task) -> Mechanism:
    return mechanisms.load(task.params.mechanism[0])


def _budget(task: Task) -> Budget:
    return Budget(task.params.epsilon_total[0], task.params.delta)


def common_options(task: Task) -> BaseParams:
    """The common ones, which the parameters name."""
    params = task.params
    return _mechanism(task).chosen(
        epsilon_abc=params.epsilon_abc, c=params.c[0], sensitivity=params.sensitivity
    )


def best_options(task: Task) -> BaseParams:
    """Those of the grid with the lowest error over simulated data sets."""
    public = public_side(task.params, task.seed)
    return trials.best(
        _mechanism(task).name, public, common_options(task), _budget(task), task.seed
    )


def _threshold(options: BaseParams) -> float:
    """The threshold of some options; NaN where it plays no part."""
    return float(getattr(options, "epsilon_abc", math.nan))


def trial(task: Task, run: int) -> trials.Trial:
    """The data of a run."""
    public = public_side(task.params, task.seed)
    if task.params.truths == "own":
        return trials.own(public, run)
    return trials.simulated(public, trials.HELD_OUT + run)


def prepared(task: Task, options: BaseParams) -> Prepared:
    """What is done before any data are looked at; it serves every run."""
    return _mechanism(task).prepare(public_side(task.params, task.seed), options, _budget(task))


def release(task: Task, ready: Prepared, run: int) -> mechanisms.Release:
    """The release of a run."""
    rng = generator(task.seed, "noise", run, task.params.noise_draw)
    return ready.release(trial(task, run).comparison, rng)


def _scores(task: Task, options: BaseParams) -> pd.DataFrame:
    params, rows = task.params, []
    delta = _mechanism(task).spends(_budget(task)).delta
    at = (params.mechanism[0], params.epsilon_total[0], delta, params.c[0])
    ready = prepared(task, options)
    for run in task.pieces:
        released = release(task, ready, run)
        accepted = math.nan if released.estimate is not None else len(released.weights)
        errors = trials.scores(trial(task, run), released)
        rows.append((*at, _threshold(options), run, accepted, *errors))
    return pd.DataFrame(rows, columns=list(SCORES))


def _prior(task: Task) -> pd.DataFrame:
    """Errors of the prior mean, the same for all mechanisms."""
    mean = np.asarray(simulators.load(task.params.scenario).PRIOR_MEAN)
    of_runs = {run: trial(task, run) for run in task.pieces}
    rows = [
        (run, *trials.errors(mean, each.truth, each.public.theta)) for run, each in of_runs.items()
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS["prior"]))


def _published(task: Task, options: BaseParams) -> pd.DataFrame:
    """One release of the published data; no row if there are none, or no draws are released.

    Nor with further runs, as it would be the same.
    """
    params, mechanism = task.params, _mechanism(task)
    public = public_side(params, task.seed)
    source, rows = public.scenario, []
    has_data = params.truths == "prior" and source.OBSERVED is not None
    if has_data and mechanism.sample and task.first == 0:
        rng = generator(task.seed, "published-noise", params.noise_draw)
        release = prepared(task, options).release(trials.own(public, 0).comparison, rng)
        if not len(release.indices):
            whole = np.full(len(public.theta), 1.0 / len(public.theta))
            release = dataclasses.replace(release, indices=np.arange(len(whole)), weights=whole)
        theta = public.theta
        sample, spread = release.parameters(theta), theta.std(axis=0)
        mean = summaries.weighted_mean(sample, release.weights)
        low, high = summaries.weighted_quantile(sample, release.weights, [0.05, 0.95])
        mse, mae = (
            release.weights @ each for each in ((sample - mean) ** 2, np.abs(sample - mean))
        )
        at = (mechanism.name, params.epsilon_total[0], params.c[0], mechanism.protects(source)[0])
        columns = (source.AXES, mean, low, high, mse, mae, mse / spread**2, mae / spread)
        rows = [(*at, *each) for each in zip(*columns, strict=True)]
    # A table without rows is the same as the one that is read from its file.
    return pd.DataFrame(rows, columns=list(COLUMNS["published"]), dtype=None if rows else "str")


# --------------------------------------------------------------------------------------- finding


def collect(params: Params, rows: Tables) -> Result:
    """The result so far."""
    prior = rows["prior"].drop_duplicates("run", ignore_index=True)
    tables = {
        **rows,
        "grid": rows["grid"].drop_duplicates(ignore_index=True),
        "prior": prior,
        "summary": summary_table(rows["main"], metrics(params.scenario)),
    }
    shown = metrics(params.scenario)["mse"]
    budget = Budget(max(params.epsilon_total), params.delta)
    source = simulators.load(params.scenario)
    promised = trials.guarantees(params.mechanism, budget, source, len(params.epsilon_total))
    result = Result(EXPERIMENT, params, tables, "", f"Each release: {promised}")
    return dataclasses.replace(result, summary=summary(result, shown))


def metrics(scenario: str) -> Mapping[str, str]:
    """Short name -> column of the error shown: scaled where the parameters have several units."""
    several = simulators.has_several_units(simulators.load(scenario))
    return {short: f"{short}_scaled" if several else short for short in summaries.METRICS}


def in_words(metric: str) -> str:
    """A column of errors in words."""
    words = summaries.METRICS[metric.removesuffix("_scaled")]
    return f"{words}, in prior standard deviations" if metric.endswith("_scaled") else words


BEST = "at its best public setting"


def summary(result: Result, metric: str, table: str = "main", setting: str = BEST) -> str:
    """Errors of all mechanisms at the budget nearest 1, smallest first."""
    main = result.tables[table]
    budgets = sorted(main.epsilon_total.unique())
    budget = min(budgets, key=lambda value: abs(math.log(value)))
    c = int(main.c.iloc[0])
    part = main[(main.epsilon_total == budget) & (main.c == c)]
    means = part.groupby("mechanism")[metric].mean().sort_values()
    each = ", ".join(f"{name} {sentences.amount(value, 2)}" for name, value in means.items())
    prior = result.tables["prior"][metric].mean()
    runs = part.groupby("mechanism").run.nunique()
    over = sentences.counted(runs.max(), "run")
    if runs.min() < runs.max():
        over = f"{runs.min()} to {over}"
    units = unit_finding(result, metric)
    what, _, measured = in_words(metric).partition(", ")
    return (
        f"{f'{units}. ' if units else ''}"
        f"{what.capitalize()} of the posterior mean{f', {measured},' if measured else ''} at "
        f"ε_total = {budget:g}, c = {c}, each {setting}, over "
        f"{over} of each: {each}; the prior mean {sentences.amount(prior, 2)}."
        f"{summaries.empty_note(part.accepted.dropna())}"
    )


def unit_finding(result: Result, metric: str) -> str:
    """What the larger unit costs at the budget nearest 1, if units are compared; else empty."""
    params, main = cast(Params, result.params), result.tables["main"]
    budget = min(sorted(main.epsilon_total.unique()), key=lambda value: abs(math.log(value)))
    here = main[(main.epsilon_total == budget) & (main.c == main.c.iloc[0])]
    # Of a result in progress one of the two may be missing.
    if not set(params.mechanism) == set(here.mechanism) == set(UNITS):
        return ""
    errors = here.pivot_table(index="run", columns="mechanism", values=metric)[list(UNITS)].dropna()
    small, large = errors.mean()
    prior = result.tables["prior"][metric].mean()
    more = errors[UNITS[1]] - errors[UNITS[0]]
    sure = len(more) > 1 and more.mean() > 2.0 * more.std() / math.sqrt(len(more))
    verdict = "No difference between the units is seen"
    if sure:
        decides = large - small > 0.5 * (prior - small)
        verdict = "The unit decides" if decides else "The unit matters little"
    source = simulators.load(params.scenario)
    whose = [mechanisms.load(name).protects(source)[0] for name in UNITS]
    return (
        f"{verdict}: at ε_total = {budget:g} the error is {sentences.amount(small, 2)} with "
        f"{whose[0]} protected, {sentences.amount(large, 2)} with {whose[1]}; the prior mean's is "
        f"{sentences.amount(prior, 2)}"
    )


SETTING = ("mechanism", "c", "epsilon_total")


def summary_table(main: pd.DataFrame, shown: Mapping[str, str]) -> pd.DataFrame:
    """Errors over runs at each mechanism's best setting, and the share that accepted nothing.

    Args:
        main: scores of the runs.
        shown: of :func:`metrics`.
    """
    found = main[[*SETTING, "epsilon_abc"]].drop_duplicates(ignore_index=True)
    for short, metric in shown.items():
        names = {"mean": short, "low": f"{short}_low", "high": f"{short}_high"}
        statistics = error_statistics(main, metric).rename(columns=names)
        repeated = ["empty_share"] if "empty_share" in found else []
        found = found.merge(statistics.drop(columns=repeated), on=list(SETTING))
    return found[list(COLUMNS["summary"])]


def error_statistics(table: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Of each mechanism at each c and budget, as :func:`summaries.over_runs` has it."""
    return summaries.over_runs(table, metric, SETTING)


TICKS = {"mse": (1e-5, 1e-3, 0.1), "mae": (0.002, 0.02, 0.2)}
"""Axes of the mixture are fixed, so that a knob moves the marks and not the axis."""

LITTLE = 1.1
"""Times the smaller error up to which two errors are about the same."""


def figures(result: Result) -> dict[str, fig.Drawn]:
    """Each mechanism's error at its best setting, and at the common one.

    Rows of marks where there is one budget and one c, else lines against the budget.
    """
    params = cast(Params, result.params)
    shown = metrics(params.scenario)
    rival = noisy_counts.rival(simulators.load(params.scenario))
    single = len(params.epsilon_total) == len(params.c) == 1
    draw = _rows if single else _curves
    drawn = {
        short: fig.Drawn(draw(result, "main", metric), f"{summary(result, metric)} {rival}")
        for short, metric in shown.items()
    }
    common = f"at ε_abc = {params.epsilon_abc:g} where it has one"
    words = summary(result, shown["mse"], "common", common)
    return drawn | {"common": fig.Drawn(draw(result, "common", shown["mse"]), words)}


def finding(result: Result, metric: str, table: str = "main") -> str:
    """Whose error is the smallest, and how many times as large that of the sparse vector is.

    At the budget nearest 1 and the first c. Where the sparse vector itself has the smallest or is
    not there, it is compared with the largest.
    """
    main = result.tables[table]
    budget = min(sorted(main.epsilon_total.unique()), key=lambda value: abs(math.log(value)))
    here = main[(main.epsilon_total == budget) & (main.c == main.c.iloc[0])]
    means = here.groupby("mechanism")[metric].mean().dropna().sort_values(kind="stable")
    prior = float(result.tables["prior"][metric].mean())
    at = f" at ε_total = {budget:g}" if len(set(main.epsilon_total)) > 1 else ""
    if means.empty:
        return "Nobody knows the true parameters, so there is no error"
    best, least = str(means.index[0]), float(means.iloc[0])
    if sentences.little(least, prior):
        return f"No mechanism is clearly better than the prior{at}"
    first = f"{fig.called(best).capitalize()}"
    if len(means) == 1:
        return f"{first}: {sentences.percent(least / prior)} of the prior's error{at}"
    known = "sparse-vector" in means.index and best != "sparse-vector"
    other = "sparse-vector" if known else str(means.index[-1])
    ratio = float(means[other]) / least if least else math.inf
    if ratio <= LITTLE:
        return f"{first} and {fig.called(other)} have about the same error{at}"
    times = sentences.plain(ratio, 2)
    return f"{first} is nearest; {fig.called(other)}: {times} times its error{at}"


def _title(result: Result, name: str, metric: str) -> str:
    found = unit_finding(result, metric) or finding(result, metric, name)
    params = cast(Params, result.params)
    # Of a result in progress some may be missing, and one of them may be the nearest.
    is_whole = set(params.mechanism) <= set(result.tables[name].mechanism)
    return found if is_whole else f"So far: {found[0].lower()}{found[1:]}"


def _settings(result: Result, name: str) -> str:
    params = cast(Params, result.params)
    budget = f"ε_total = {params.epsilon_total[0]:g}, " if len(params.epsilon_total) == 1 else ""
    acceptances = f"c = {params.c[0]:,}, " if len(params.c) == 1 else ""
    setting = (
        f"common ε_abc = {params.epsilon_abc:g}" if name == "common" else "best public settings"
    )
    runs = sentences.runs_in_words(result.tables[name])
    return (
        f"{budget}{acceptances}N = {params.n:,}, T = {params.pool_size:,}, {setting}, {runs} "
        f"of each, 95 % intervals of the mean"
    )


def _axis(result: Result, name: str, metric: str) -> tuple[float, float]:
    """Ends of the axis of errors: fixed for the mixture, else around what is drawn."""
    params = cast(Params, result.params)
    if metric in TICKS and params.scenario == uniform_mixture.SCENARIO:
        return TICKS[metric][0], TICKS[metric][-1]
    statistics = error_statistics(result.tables[name], metric)
    values = [
        *statistics["mean"], *statistics.low, *statistics.high,
        *result.tables["prior"][metric], *result.tables["published"].get(metric, ()),
    ]  # fmt: skip
    known = [value for value in map(float, values) if math.isfinite(value) and value > 0.0] or [1.0]
    return min(known) / 1.3, max(known) * 1.3


def _ticks(low: float, high: float, metric: str) -> dict[str, object]:
    fixed = TICKS.get(metric, ())
    if (low, high) != fixed[:1] + fixed[-1:]:
        return fig.plain_ticks(low, high)
    texts = [fig.plain(value) for value in fixed]
    return fig.plain_ticks(low, high) | {"tickvals": list(fixed), "ticktext": texts}


def _rows(result: Result, name: str, metric: str) -> go.Figure:
    """A row for each mechanism, the smallest error on top; those without a result yet last."""
    params = cast(Params, result.params)
    found = error_statistics(result.tables[name], metric).set_index("mechanism")
    known = found["mean"].dropna().sort_values(kind="stable")
    names = [*map(str, known.index), *(each for each in params.mechanism if each not in known)]
    numbers = [sentences.amount(value, 2) for value in known] + ["…"] * (len(names) - len(known))
    words = in_words(metric)
    figure = fig.ranked(
        [f"{fig.called(each)} {number}" for each, number in zip(names, numbers, strict=True)],
        _title(result, name, metric),
        words,
        _settings(result, name),
    )
    low, high = _axis(result, name, metric)
    figure.update_xaxes(_ticks(low, high, metric))
    _shade_prior(figure, float(result.tables["prior"][metric].mean()), high)
    for place, mechanism in enumerate(names[: len(known)]):
        row = cast("pd.Series[float]", found.loc[mechanism])
        error = float(row["mean"])
        at = np.array([max(error, low)])
        ends = (np.maximum(np.array([float(row[end])]), low) for end in ("low", "high"))
        marks = fig.row_marks(at, np.array([float(place)]), fig.mechanism(mechanism), *ends)
        empty = np.array([float(row.empty_share)])
        more = f"; {100 * empty[0]:.0f} % of the runs accepted nothing" if empty[0] else ""
        marks.update(
            hovertemplate=f"{words} {error:.4g}{_interval(row)}{more}<extra>{mechanism}</extra>"
        )
        figure.add_trace(fig.hollow(marks, empty))
    for place, mechanism in enumerate(names[: len(known)]):
        for mark in _published_marks(result, mechanism, params.c[0], metric, 0):
            figure.add_trace(mark.update(x=mark.y, y=[float(place)]))
    return figure


def _interval(row: pd.Series[float]) -> str:
    if not np.isfinite(row.low):
        return ""
    return f", 95 % interval {row.low:.4g} to {row.high:.4g}"


def _shade_prior(figure: go.Figure, prior: float, high: float) -> None:
    """Where an error is no better than that of the prior mean, which needs no data."""
    if math.isfinite(prior):
        shade = fig.translucent(fig.PRIOR.color, 0.18)
        figure.add_vrect(prior, max(high, prior), fillcolor=shade, line_width=0, layer="below")
        fig.upright(figure, prior, fig.PRIOR, "prior", "center")


def choose(drawn: fig.Drawn, mechanism: str) -> fig.Drawn:
    """The figure with one mechanism's marks larger and ringed."""
    figure = go.Figure(drawn.figure)
    ring = {"size": 16, "line": {"width": 2, "color": fig.BOTH.color}}
    figure.update_traces(marker=ring, selector={"name": fig.called(mechanism)})
    return fig.Drawn(figure, drawn.sentence)


def _curves(result: Result, name: str, metric: str) -> go.Figure:
    params = cast(Params, result.params)
    figure = fig.panels(
        [f"c = {c}" for c in params.c] if len(params.c) > 1 else [""],
        _title(result, name, metric),
        "privacy budget ε_total",
        in_words(metric).replace(", ", ",<br>"),
        height=500,
    )
    figure.layout.title.subtitle.text = _settings(result, name)
    statistics = error_statistics(result.tables[name], metric)
    ends = np.array([min(params.epsilon_total) / 1.3, max(params.epsilon_total) * 1.3])
    low, high = _axis(result, name, metric)
    labels = []
    prior = float(result.tables["prior"][metric].mean())
    for index, c in enumerate(params.c):
        for mechanism in params.mechanism:
            part = statistics[(statistics.mechanism == mechanism) & (statistics.c == c)]
            style = fig.mechanism(mechanism)
            if len(part):
                figure.add_traces(fig.run_line(part, "epsilon_total", style, index))
                last = part.sort_values("epsilon_total")["mean"].iloc[-1]
                if math.isfinite(last):
                    labels.append((float(last), style.name, style.color))
            if name == "main":
                figure.add_traces(_published_marks(result, mechanism, c, metric, index))
        line = fig.line(ends, np.full(2, prior), fig.PRIOR_MEAN)
        figure.add_trace(fig.in_panel(line, index))
    figure.update_yaxes(_ticks(low, high, metric))
    figure.update_xaxes(fig.plain_ticks(float(ends[0]), float(ends[1])))
    # Of several panels each is too narrow for names.
    if len(params.c) == 1 and result.tables["published"].empty:
        labels.append((prior, "prior", fig.PRIOR.color))
        known = [label for label in labels if math.isfinite(label[0]) and label[0] > 0.0]
        fig.end_labels(figure, known, (low, high))
        figure.update_layout(showlegend=False)
    return figure


def _published_marks(
    result: Result, mechanism: str, c: int, metric: str, index: int
) -> list[go.Scatter]:
    """The error that the posterior of the published data expects of its own mean."""
    params, table = cast(Params, result.params), result.tables["published"]
    part = table[(table.mechanism == mechanism) & (table.c == c)]
    if part.empty:
        return []
    source = simulators.load(params.scenario)
    whose = getattr(source, "PUBLISHED", "published data")
    name = f"{whose}, {part.unit.iloc[0]} protected: what its posterior expects"
    expected = part.groupby("epsilon_total")[metric].mean()
    style = dataclasses.replace(fig.mechanism(mechanism), name=name, marker="star-open")
    marks = fig.points(expected.index.to_numpy(), expected.to_numpy(), style)
    return [fig.in_panel(marks.update(marker={"size": 14}), index)]
