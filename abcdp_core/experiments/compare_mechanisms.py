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
import functools
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import experiments, pool, privacy, summaries
from abcdp_core import figures as fig
from abcdp_core import parameters as par
from abcdp_core.experiments import mse_curves, soft_abc
from abcdp_core.mechanisms import (
    Release,
    gaussian_rejection,
    private_embedding,
    soft_weights,
    sparse_vector,
)
from abcdp_core.mechanisms.linear_maps import LinearMap
from abcdp_core.parameters import Parameter
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.results import Result, Tables
from abcdp_core.simulators import uniform_mixture
from abcdp_core.streams import generator

Array = NDArray[np.float64]

EXPERIMENT = "compare-mechanisms"
TITLE = "Error of every mechanism at equal privacy"
SCORES = (
    "mechanism", "epsilon_total", "delta", "c", "epsilon_abc", "run", "accepted", "mse", "mae",
)  # fmt: skip
COLUMNS = {
    "main": SCORES,
    "common": SCORES,
    "grid": ("mechanism", "epsilon_total", "c", "epsilon_abc", "mse"),
    "summary": (
        "mechanism", "c", "epsilon_total", "epsilon_abc", "mse", "mse_low", "mse_high",
        "mae", "mae_low", "mae_high", "empty_share",
    ),
}  # fmt: skip

TUNING_SETS = 20
"""Simulated data sets that a threshold is chosen on."""

BOUND_SETS = 10
BOUND_QUANTILE = 0.05
"""Gaussian rejection clips to this quantile of the distances of simulated data sets ([P22])."""

THRESHOLDS = (0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5)
TEMPERATURES = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)


# ------------------------------------------------------------------------------------ mechanisms


@dataclass(frozen=True)
class Asked:
    """One release that is asked for; public.

    Attributes:
        epsilon_total: privacy budget; ``inf`` for no noise.
        delta: of mechanisms that need one.
        c: samples asked for, where that is asked.
        epsilon_abc: threshold or temperature.
        sensitivity: ``sharp`` or ``published``, the latter for published mechanisms only.
    """

    epsilon_total: float
    delta: float
    c: int
    epsilon_abc: float
    sensitivity: str


Released = Callable[["DataSet", Asked, np.random.Generator], Release]


@dataclass(frozen=True)
class Mechanism:
    """What is compared.

    Attributes:
        release: makes one release.
        grid: values of ``epsilon_abc`` to choose from; none where it plays no part.
        approximate: whether its guarantee has a δ above 0.
    """

    release: Released
    grid: tuple[float, ...] = ()
    approximate: bool = False


def _sparse_vector(data: DataSet, asked: Asked, rng: np.random.Generator) -> Release:
    sensitivity = data.comparison.sensitivity(asked.sensitivity)
    setting = sparse_vector.Setting(
        asked.epsilon_total, asked.epsilon_abc, asked.c, False, sensitivity
    )
    return sparse_vector.release(data.comparison, setting, rng)[0]


def _gaussian_rejection(data: DataSet, asked: Asked, rng: np.random.Generator) -> Release:
    sensitivity = data.comparison.sensitivity(asked.sensitivity)
    setting = gaussian_rejection.Setting(
        asked.epsilon_total, asked.epsilon_abc, bound(data.key, data.comparison.n), sensitivity
    )
    return gaussian_rejection.release(data.comparison, setting, rng)[0]


def _soft_weights(data: DataSet, asked: Asked, rng: np.random.Generator) -> Release:
    sensitivity = data.comparison.sensitivity(asked.sensitivity)
    setting = soft_weights.Setting(asked.epsilon_total, asked.delta, asked.epsilon_abc, sensitivity)
    return soft_weights.release(data.comparison, setting, rng)[0]


def _embedding(kind: str, selection: str) -> Released:
    def release(data: DataSet, asked: Asked, rng: np.random.Generator) -> Release:
        setting = private_embedding.Setting(
            asked.epsilon_total,
            c=asked.c,
            map=kind,
            selection=selection,
            support=uniform_mixture.SUPPORT,
        )
        learnt = learnt_map(data.key, data.comparison.n, kind)
        return private_embedding.release(data.comparison, setting, rng, learnt)[0]

    return release


MECHANISMS = {
    "sparse-vector": Mechanism(_sparse_vector, THRESHOLDS),
    "gaussian-rejection": Mechanism(_gaussian_rejection, THRESHOLDS),
    "soft-weights": Mechanism(_soft_weights, TEMPERATURES, approximate=True),
    "private-embedding": Mechanism(_embedding("axes", "nearest")),
    "embedding-estimate": Mechanism(_embedding("regression", "estimate")),
    "embedding-noise-aware": Mechanism(_embedding("regression", "noise-aware")),
}


# ---------------------------------------------------------------------------------------- public


@dataclass(frozen=True)
class DataSet:
    """Data against the pool of a key, and the parameters ``(d,)`` they come from."""

    key: pool.PoolKey
    comparison: pool.Comparison
    truth: Array


@functools.lru_cache(maxsize=512)
def data_set(key: pool.PoolKey, n: int, run: int) -> DataSet:
    """The synthetic private data of a run; those of every run meet the pool of run 0."""
    data = pool.observed_data(dataclasses.replace(key, run=run), n)
    comparison = pool.compare(pool.open_pool(key), data, synthetic=True)
    return DataSet(key, comparison, uniform_mixture.TRUTH)


@functools.lru_cache(maxsize=64)
def simulated_set(key: pool.PoolKey, n: int, index: int) -> DataSet:
    """Public data simulated from a prior draw."""
    data = pool.predictive_data(key, n, index)
    comparison = pool.compare(pool.open_pool(key), data, synthetic=True)
    return DataSet(key, comparison, pool.predictive_theta(key, index))


@functools.lru_cache(maxsize=16)
def bound(key: pool.PoolKey, n: int) -> float:
    """B_ρ of Gaussian rejection, from simulated data sets only (MATH R3)."""
    distances = [simulated_set(key, n, index).comparison.rho for index in range(BOUND_SETS)]
    return gaussian_rejection.bound_quantile(np.stack(distances), BOUND_QUANTILE)


@functools.lru_cache(maxsize=16)
def learnt_map(key: pool.PoolKey, n: int, kind: str) -> LinearMap:
    """The public map of the embedding, learnt from the pool."""
    setting = private_embedding.Setting(1.0, map=kind, selection="nearest")
    return private_embedding.learn(simulated_set(key, n, 0).comparison, setting)


# ------------------------------------------------------------------------------------ parameters

DELTA = dataclasses.replace(
    par.DELTA,
    help=f"Of the mechanisms that are not pure. {par.DELTA.help}",
    low=1e-10,
)
MECHANISM = Parameter(
    kind="choice",
    label="Mechanism",
    help="What answers to the data.",
    options=tuple(MECHANISMS),
)
COMPARED_SENSITIVITY = dataclasses.replace(
    par.SENSITIVITY,
    help="published: each published mechanism with the Δ of its paper, 2/N, the embedding with its "
    "own. sharp: all with the smallest true value.",
)


@dataclass(frozen=True)
class Params(BaseParams):
    """Every combination of the lists is scored on the same data and noise."""

    mechanism: tuple[str, ...] = MECHANISM.field(tuple(MECHANISMS)[:5], many=True)
    epsilon_total: tuple[float, ...] = par.EPSILON_TOTAL.field(
        (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0), many=True
    )
    delta: float = DELTA.field(1e-4)
    c: tuple[int, ...] = par.C.field(10, many=True)
    epsilon_abc: float = uniform_mixture.EPSILON_ABC.field(uniform_mixture.EPSILON_ABC_DEFAULT)
    n: int = uniform_mixture.N.field(uniform_mixture.N_DEFAULT)
    pool_size: int = par.POOL_SIZE.field(10_000)
    sensitivity: str = COMPARED_SENSITIVITY.field("sharp")
    runs: int = par.RUNS.field(20)
    noise_draw: int = par.NOISE_DRAW.field(0)

    def check_together(self) -> None:
        """Refuse too much work, or more acceptances than draws."""
        par.check_work(self.n, self.pool_size)
        par.check_accepted(max(self.c), self.pool_size)


PRESETS: dict[str, BaseParams] = {
    "all-mechanisms": Params(runs=100),
    "all-mechanisms-c": Params(
        mechanism=tuple(MECHANISMS), epsilon_total=(0.1, 1.0, 10.0), c=(10, 100, 1000), runs=60
    ),
}


@dataclass(frozen=True)
class Task:
    """One mechanism at one budget and one c, all runs."""

    mechanism: str
    epsilon_total: float
    c: int
    delta: float
    epsilon_abc: float
    n: int
    pool_size: int
    sensitivity: str
    runs: int
    noise_draw: int
    seed: int

    def asked(self, epsilon_abc: float) -> Asked:
        """The release at a threshold."""
        return Asked(self.epsilon_total, self.delta, self.c, epsilon_abc, self.sensitivity)


def tasks(params: Params, seed: int) -> list[Task]:
    """One task per mechanism, budget and c."""
    several = ("mechanism", "epsilon_total", "c")
    shared = experiments.shared(Task, params)
    combinations = itertools.product(*(shared[name] for name in several))
    return [
        Task(**shared | dict(zip(several, each, strict=True)), seed=seed) for each in combinations
    ]


def pool_key(params: Params | Task, seed: int) -> pool.PoolKey:
    """The one pool that all runs share."""
    return pool.key_for(uniform_mixture.SCENARIO, params.n, params.pool_size, seed)


def prepare(params: Params | Task, seed: int, progress: pool.Progress) -> None:
    """Make the public pool if it is not there yet, and say how far that is."""
    pool.open_pool(pool_key(params, seed), progress)


# ------------------------------------------------------------------------------------------ work


def work(task: Task) -> Tables:
    """Choose the best public setting, then score it, and the common one, on every run."""
    grid = _grid(_public(task))
    return {
        "main": _scores(task, best_threshold(task)),
        "common": _scores(task, task.epsilon_abc),
        "grid": pd.DataFrame(grid, columns=list(COLUMNS["grid"])),
    }


def best_threshold(task: Task) -> float:
    """The threshold of the grid with the lowest error over simulated data sets."""
    return min(_grid(_public(task)), key=lambda row: row[-1])[3]


def _public(task: Task) -> Task:
    """What of a task the choice of a threshold depends on."""
    return dataclasses.replace(task, runs=1, noise_draw=0)


@functools.lru_cache(maxsize=256)
def _grid(task: Task) -> list[tuple[str, float, int, float, float]]:
    """Mean squared error over simulated data sets at every threshold that is tried."""
    key, rows = pool_key(task, task.seed), []
    for epsilon_abc in MECHANISMS[task.mechanism].grid or (task.epsilon_abc,):
        errors = []
        for index in range(TUNING_SETS):
            data = simulated_set(key, task.n, index)
            rng = generator(task.seed, "tuning-noise", index)
            released = MECHANISMS[task.mechanism].release(data, task.asked(epsilon_abc), rng)
            mean = released.mean(data.comparison.theta, uniform_mixture.PRIOR_MEAN)
            errors.append(summaries.errors(mean, data.truth)[0])
        score = float(np.mean(errors))
        rows.append((task.mechanism, task.epsilon_total, task.c, epsilon_abc, score))
    return rows


def _scores(task: Task, epsilon_abc: float) -> pd.DataFrame:
    mechanism, key, rows = MECHANISMS[task.mechanism], pool_key(task, task.seed), []
    delta = task.delta if mechanism.approximate else 0.0
    for run in range(task.runs):
        data = data_set(key, task.n, run)
        rng = generator(task.seed, "noise", run, task.noise_draw)
        released = mechanism.release(data, task.asked(epsilon_abc), rng)
        mean = released.mean(data.comparison.theta, uniform_mixture.PRIOR_MEAN)
        error = summaries.errors(mean, data.truth)
        row = (task.mechanism, task.epsilon_total, delta, task.c, epsilon_abc, run)
        accepted = math.nan if released.estimate is not None else len(released.indices)
        rows.append((*row, accepted, *error))
    return pd.DataFrame(rows, columns=list(SCORES))


# --------------------------------------------------------------------------------------- finding


def guarantee(mechanism: str, epsilon_total: float, delta: float) -> str:
    """What one release by a mechanism promises."""
    spent = privacy.Cost(epsilon_total, delta if MECHANISMS[mechanism].approximate else 0.0)
    return privacy.guarantee(spent, uniform_mixture.PROTECTED)


def collect(params: Params, rows: Tables) -> Result:
    """The result so far."""
    return Result(
        EXPERIMENT,
        params,
        {**rows, "summary": summary_table(rows["main"])},
        summary(rows["main"], "mse"),
        _guarantees(params),
    )


def _guarantees(params: Params) -> str:
    """What each of the mechanisms shown promises."""
    pure, approximate = (
        [name for name in params.mechanism if MECHANISMS[name].approximate == wanted]
        for wanted in (False, True)
    )
    kinds = [f"{', '.join(pure)}: pure differential privacy with the ε_total shown"] * bool(pure)
    if approximate:
        kinds.append(
            f"{', '.join(approximate)}: (ε_total, δ)-differential privacy, δ = {params.delta:g}"
        )
    return (
        f"Each release protects {uniform_mixture.PROTECTED} when it is replaced by any other. "
        f"{'; '.join(kinds)}. Releases of several mechanisms add up."
    )


def summary(main: pd.DataFrame, metric: str, setting: str = "at its best public setting") -> str:
    """Errors of all mechanisms at the budget nearest 1, smallest first."""
    budgets = sorted(main.epsilon_total.unique())
    budget = min(budgets, key=lambda value: abs(math.log(value)))
    c = int(main.c.iloc[0])
    part = main[(main.epsilon_total == budget) & (main.c == c)]
    means = part.groupby("mechanism")[metric].mean().sort_values()
    each = ", ".join(f"{name} {value:.2g}" for name, value in means.items())
    prior = soft_abc.prior_errors()[metric]
    return (
        f"{mse_curves.METRICS[metric].capitalize()} of the posterior mean at "
        f"ε_total = {budget:g}, c = {c}, each {setting}, over "
        f"{soft_abc.runs_in_words(part)} of each: {each}; the prior mean {prior:.2g}."
        f"{summaries.empty_note(part.accepted.dropna())}"
    )


SETTING = ("mechanism", "c", "epsilon_total")


def summary_table(main: pd.DataFrame) -> pd.DataFrame:
    """Errors over runs at each mechanism's best setting, and the share that accepted nothing."""
    found = main[[*SETTING, "epsilon_abc"]].drop_duplicates(ignore_index=True)
    for metric in mse_curves.METRICS:
        names = {"mean": metric, "low": f"{metric}_low", "high": f"{metric}_high"}
        statistics = error_statistics(main, metric).rename(columns=names)
        repeated = ["empty_share"] if "empty_share" in found else []
        found = found.merge(statistics.drop(columns=repeated), on=list(SETTING))
    return found[list(COLUMNS["summary"])]


def error_statistics(table: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Of each mechanism at each c and budget, as :func:`soft_abc.over_runs` has it."""
    return soft_abc.over_runs(table, metric, SETTING)


RANGES = {"mse": (1e-5, 0.04), "mae": (2e-3, 0.3)}
"""Axes are fixed, so that a knob moves the curves and not the axis."""

STYLES = dict(zip(MECHANISMS, fig.styles(list(MECHANISMS)), strict=True))


def figures(result: Result) -> dict[str, fig.Drawn]:
    """Error against the budget, each mechanism at its best setting, and at the common one."""
    params, tables = cast(Params, result.params), result.tables
    drawn = {
        metric: fig.Drawn(_curves(result, "main", metric), summary(tables["main"], metric))
        for metric in RANGES
    }
    common = f"at ε_abc = {params.epsilon_abc:g} where it has one"
    words = summary(tables["common"], "mse", common)
    return drawn | {"common": fig.Drawn(_curves(result, "common", "mse"), words)}


def _curves(result: Result, name: str, metric: str) -> go.Figure:
    params = cast(Params, result.params)
    table = result.tables[name]
    setting = (
        f"common ε_abc = {params.epsilon_abc:g}" if name == "common" else "best public settings"
    )
    figure = fig.panels(
        [f"c = {c}" for c in params.c],
        f"{mse_curves.METRICS[metric].capitalize()} over {soft_abc.runs_in_words(table)}, "
        f"{setting}: "
        f"N = {params.n:,}, T = {params.pool_size:,}",
        "privacy budget ε_total",
        mse_curves.METRICS[metric],
        height=470,
    )
    statistics = error_statistics(table, metric)
    ends = np.array([min(params.epsilon_total) / 1.3, max(params.epsilon_total) * 1.3])
    for index, c in enumerate(params.c):
        for mechanism in params.mechanism:
            part = statistics[(statistics.mechanism == mechanism) & (statistics.c == c)]
            if len(part):
                figure.add_traces(_line(part.sort_values("epsilon_total"), mechanism, index))
        prior = fig.Style("prior mean", fig.GREY, "dot")
        line = fig.line(ends, np.full(2, soft_abc.prior_errors()[metric]), prior)
        figure.add_trace(line.update(showlegend=index == 0, **fig.panel(index)))
    ticks = [value for value in (0.001, 0.01, 0.1, 1, 10, 100, 1000) if ends[0] < value < ends[1]]
    figure.update_xaxes(
        type="log",
        range=list(np.log10(ends)),
        tickvals=ticks,
        ticktext=[f"{value:g}" for value in ticks],
    )
    return figure.update_yaxes(type="log", range=list(np.log10(RANGES[metric])), dtick=1)


def _line(part: pd.DataFrame, mechanism: str, index: int) -> list[go.Scatter]:
    style = STYLES[mechanism]
    x, y, low, high = (part[name].to_numpy() for name in ("epsilon_total", "mean", "low", "high"))
    shown = {"legendgroup": mechanism, **fig.panel(index)}
    traces = [fig.band(x, low, high, style).update(**shown)] if np.isfinite(low).all() else []
    marks = fig.line(x, y, style).update(showlegend=index == 0, **shown)
    marks.update(
        mode="lines+markers",
        marker={"color": style.color, "symbol": style.marker, "size": 9},
        customdata=np.column_stack([low, high]),
        hovertemplate="ε_total = %{x}: %{y:.2g} (%{customdata[0]:.2g} to "
        "%{customdata[1]:.2g})<extra>" + mechanism + "</extra>",
    )
    return [*traces, fig.hollow(marks, part.empty_share.to_numpy())]
