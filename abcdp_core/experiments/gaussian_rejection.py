r"""Every decision with Gaussian noise: how much does it help to clip the distances?

Rejection ABC with Gaussian noise ([P22] Theorem 3.1) decides about every draw of the pool and
releases all decisions:

$$\min(\rho_t, B_\rho) + N(0, \sigma^2) \le \epsilon_{abc}.$$

A decision that is nearly certain tells much when it goes the other way. Clipping at a small
$B_\rho$ keeps every decision uncertain, so the same guarantee needs less noise, by the paper's
bound (MATH R1) and exactly (MATH R2); but what lies beyond $B_\rho$ can no longer be told apart.
The bound is a quantile of the distances between *simulated* data sets (MATH R3), here of
prior-predictive data sets to the pool of the first run; it never reads the private data. At
quantile 1 it is the largest distance there is, and nothing is clipped.

There is no stop: all $T$ decisions are paid for, each with $\epsilon_{total} / T$, so the noise
grows in proportion to the pool. The sparse vector technique pays for its acceptances alone. If a
run accepts nothing, its estimate *is* the prior mean. Each run has its own data, pool and noise.
"""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import experiments, pool, summaries
from abcdp_core import figures as fig
from abcdp_core import parameters as par
from abcdp_core.experiments import mse_curves, soft_abc
from abcdp_core.mechanisms import gaussian_rejection as mechanism
from abcdp_core.parameters import Parameter
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.privacy import GaussianRejection, statement
from abcdp_core.results import Result, Tables
from abcdp_core.simulators import uniform_mixture
from abcdp_core.streams import generator

Array = NDArray[np.float64]

EXPERIMENT = "gaussian-rejection"
TITLE = "Rejection with Gaussian noise: clipped distances"
COLUMNS = {
    "main": ("bound_quantile", "epsilon_abc", "epsilon_total", "run", "accepted", "mse", "mae"),
    "noise": ("bound_quantile", "bound", "epsilon_abc", "epsilon_total", "published", "exact"),
}

DATA_SETS = 20
"""Prior-predictive data sets whose distances to the pool give the bound."""

BOUND_QUANTILE = Parameter(
    kind="real",
    label="Quantile of simulated distances at which they are clipped",
    help="Smaller: less noise, but draws beyond it look alike. 1: nothing is clipped.",
    low=0.01,
    high=1.0,
    steps=(0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 0.8, 1.0),
)
ACCOUNTANT = Parameter(
    kind="choice",
    label="Accountant",
    help="How noise follows from ε_total. exact: the least noise. published: the paper's bound.",
    options=("exact", "published"),
)


@dataclass(frozen=True)
class Params(BaseParams):
    """Every combination of the lists is run on the same data, pool and noise within a run."""

    bound_quantile: tuple[float, ...] = BOUND_QUANTILE.field((0.05, 0.2, 1.0), many=True)
    epsilon_abc: tuple[float, ...] = uniform_mixture.EPSILON_ABC.field(
        (0.02, 0.05, 0.1, 0.2, 0.5), many=True
    )
    epsilon_total: tuple[float, ...] = par.EPSILON_TOTAL_OR_INF.field(
        (1.0, 10.0, 100.0, math.inf), many=True
    )
    n: int = uniform_mixture.N.field(uniform_mixture.N_DEFAULT)
    pool_size: int = par.POOL_SIZE.field(1000)
    sensitivity: str = par.SENSITIVITY.field("sharp")
    accountant: str = ACCOUNTANT.field("exact")
    runs: int = par.RUNS.field(10)
    bandwidth: float | str = mse_curves.BANDWIDTH.field(uniform_mixture.BANDWIDTH)
    noise_draw: int = par.NOISE_DRAW.field(0)

    def check_together(self) -> None:
        """Refuse too much work."""
        par.check_work(self.n, self.pool_size)


PRESETS: dict[str, BaseParams] = {
    # Budgets as in the preset of soft-abc, for the same reason.
    "p22-figure-3": Params(
        epsilon_total=(1.0, 2.0, 4.0, 8.0, math.inf),
        sensitivity="published",
        accountant="published",
    )
}


@dataclass(frozen=True)
class Task:
    """One run: ``params`` without the number of runs, so that more runs repeat none."""

    bound_quantile: tuple[float, ...]
    epsilon_abc: tuple[float, ...]
    epsilon_total: tuple[float, ...]
    n: int
    pool_size: int
    sensitivity: str
    accountant: str
    bandwidth: float | str
    noise_draw: int
    run: int
    seed: int


def tasks(params: Params, seed: int) -> list[Task]:
    """One task per run."""
    return experiments.per_run(Task, params, seed)


def prepare(params: Params, seed: int, progress: pool.Progress) -> None:
    """Make the public pool of the first run, which the bounds are taken from."""
    key = pool.key_for(
        uniform_mixture.SCENARIO, params.n, params.pool_size, seed, bandwidth=params.bandwidth
    )
    pool.make_ready(key, progress)


def work(task: Task) -> Tables:
    """All combinations on the data, the pool and the noise of one run."""
    key = _key(task, task.run)
    comparison = pool.observed_comparison(key, task.n)
    bounds = {
        quantile: bound(_key(task, 0), task.n, quantile, task.sensitivity)
        for quantile in task.bound_quantile
    }
    combinations = list(itertools.product(bounds, task.epsilon_abc, task.epsilon_total))
    main, noise = [], []
    for quantile, epsilon_abc, epsilon_total in combinations:
        named = (epsilon_abc, epsilon_total)
        asked = mechanism.Setting(
            epsilon_total,
            epsilon_abc,
            bounds[quantile],
            comparison.sensitivity(task.sensitivity),
            task.accountant,
        )
        main.append((quantile, *named, task.run, *_error(comparison, asked, task)))
        noise.append((quantile, bounds[quantile], *named, *_scales(asked, task.pool_size)))
    return {
        "main": pd.DataFrame(main, columns=list(COLUMNS["main"])),
        "noise": pd.DataFrame(noise, columns=list(COLUMNS["noise"])),
    }


def _key(task: Task, run: int) -> pool.PoolKey:
    return pool.key_for(
        uniform_mixture.SCENARIO, task.n, task.pool_size, task.seed, run, task.bandwidth
    )


def bound(key: pool.PoolKey, n: int, quantile: float, sensitivity: str = "sharp") -> float:
    """B_ρ, from public simulations (MATH R3).

    Args:
        key: of the pool that they are taken from.
        n: points per data set.
        quantile: of simulated distances; 1 for the largest distance there is.
        sensitivity: by which account of it.
    """
    if quantile == 1.0:
        # The only point of a data set can take it from any distance to any other.
        return key.metric().sensitivity(1, sensitivity)
    return mechanism.bound_quantile(public_distances(key, n), quantile)


@functools.lru_cache(maxsize=8)
def public_distances(key: pool.PoolKey, n: int) -> Array:
    """Distances ``(20, T)`` of prior-predictive data sets to a pool; nothing private is read."""
    metric = key.metric()
    statistics = pool.open_pool(key).statistics[n]
    return np.stack(
        [
            metric.compare(statistics, metric.statistic(pool.predictive_data(key, n, index)))
            for index in range(DATA_SETS)
        ]
    )


def _error(
    comparison: pool.Comparison, asked: mechanism.Setting, task: Task
) -> tuple[int, float, float]:
    rng = generator(task.seed, "noise", task.run, task.noise_draw)
    release, _ = mechanism.release(comparison, asked, rng)
    estimate = release.mean(comparison.theta, uniform_mixture.PRIOR_MEAN)
    return (len(release.indices), *summaries.errors(estimate, uniform_mixture.TRUTH))


def _scales(asked: mechanism.Setting, steps: int) -> list[float]:
    """Noise scale by the paper's bound and by the exact account; 0 without noise."""
    events = [
        mechanism.Setting(
            asked.epsilon_total, asked.epsilon_abc, asked.bound, asked.sensitivity, accountant
        ).event(steps)
        for accountant in ("published", "exact")
    ]
    return [event.scale if isinstance(event, GaussianRejection) else 0.0 for event in events]


# --------------------------------------------------------------------------------------- finding


def collect(params: Params, rows: Tables) -> Result:
    """The result so far; noise and bounds are the same in every run."""
    tables = {**rows, "noise": rows["noise"].drop_duplicates(ignore_index=True)}
    finite = [value for value in params.epsilon_total if math.isfinite(value)]
    privacy = "Not private: no noise was added."
    if finite:
        noise = tables["noise"]
        row = noise[noise.epsilon_total == max(finite)].iloc[0]
        event = mechanism.Setting(
            max(finite),
            float(row.epsilon_abc),
            float(row.bound),
            uniform_mixture.distance().sensitivity(params.n, params.sensitivity),
            params.accountant,
        ).event(params.pool_size)
        protected = statement(event, uniform_mixture.PROTECTED)
        overpaid = soft_abc.overpaid(max(finite), params.accountant)
        privacy = f"Largest budget shown: {protected}{overpaid}"
    return Result(EXPERIMENT, params, tables, _summary(tables), privacy)


def _summary(tables: Tables) -> str:
    main, noise = tables["main"], tables["noise"]
    runs = main.run.nunique()
    budget = main.epsilon_total[np.isfinite(main.epsilon_total)].max()
    parts = [
        f"{_least(main, quantile, budget)} (quantile {quantile:g}, bound "
        f"{noise.bound[noise.bound_quantile == quantile].iloc[0]:.3g})"
        for quantile in _ends(sorted(main.bound_quantile.unique().tolist()))
    ]
    plain = main[np.isinf(main.epsilon_total)]
    without = f" Without noise it is {_lowest(plain)}." if len(plain) else ""
    return (
        f"Over {runs} {'run' if runs == 1 else 'runs'} the least mean absolute error of the "
        f"posterior mean over the thresholds shown is {'; '.join(parts)}.{without} The prior mean "
        f"alone has {soft_abc.prior_errors()['mae']:.3g}."
    )


def _ends(values: list[float]) -> list[float]:
    return values if len(values) < 4 else [values[0], values[-1]]


def _least(main: pd.DataFrame, quantile: float, budget: float) -> str:
    """Of the largest budget shown, if there is one with noise."""
    part = main[main.bound_quantile == quantile]
    if math.isnan(budget):
        return _lowest(part)
    return f"{_lowest(part[part.epsilon_total == budget])} at ε_total = {budget:g}"


def _lowest(part: pd.DataFrame) -> str:
    return f"{part.groupby('epsilon_abc').mae.mean().min():.3g}"


# --------------------------------------------------------------------------------------- figures


def figures(result: Result) -> dict[str, go.Figure]:
    """Errors against the threshold, a panel for each bound; and the noise."""
    drawn = {metric: _curves(result, metric) for metric in mse_curves.METRICS}
    return drawn | {"noise": _noise_figure(result)}


def _panels(result: Result, title: str, y: str) -> tuple[list[float], go.Figure]:
    noise = result.tables["noise"]
    bounds = noise.drop_duplicates("bound_quantile").set_index("bound_quantile").bound
    quantiles = sorted(bounds.index.tolist())
    titles = [f"quantile {each:g}: B_ρ = {bounds[each]:.3g}" for each in quantiles]
    figure = fig.panels(titles, title, "threshold ε_abc", y)
    # Smaller thresholds tell little here, and panels are narrow.
    left = min(0.01, float(noise.epsilon_abc.min()))
    return quantiles, figure.update_xaxes(fig.logarithmic(left, math.sqrt(2.0)))


def _curves(result: Result, metric: str) -> go.Figure:
    params, main = cast(Params, result.params), result.tables["main"]
    runs = main.run.nunique()
    words = mse_curves.METRICS[metric]
    quantiles, figure = _panels(
        result,
        f"{words.capitalize()} of the posterior mean over {runs} "
        f"{'run' if runs == 1 else 'runs'}: N = {params.n:,}, T = {params.pool_size:,}",
        words,
    )
    for index, quantile in enumerate(quantiles):
        part = main[main.bound_quantile == quantile]
        figure.add_traces(soft_abc.budget_lines(part, metric, index))
    return soft_abc.prior_axes(figure, main, metric, len(quantiles))


def _noise_figure(result: Result) -> go.Figure:
    """Standard deviation of the noise by both accounts, and the threshold that it blurs."""
    noise = result.tables["noise"]
    finite = noise[np.isfinite(noise.epsilon_total)]
    budget = finite.epsilon_total.min() if len(finite) else math.inf
    quantiles, figure = _panels(
        result,
        f"Noise on every distance, {soft_abc.budget_name(budget)}",
        "standard deviation of the noise",
    )
    styles = {
        "published": fig.Style("published bound", fig.BLUE, "dash", "square"),
        "exact": fig.Style("exact", fig.VERMILLION, "solid", "circle"),
    }
    for index, quantile in enumerate(quantiles):
        part = noise[(noise.bound_quantile == quantile) & (noise.epsilon_total == budget)]
        x = part.epsilon_abc.to_numpy()
        for column, style in styles.items():
            marks = fig.line(x, part[column].to_numpy(), style).update(
                mode="lines+markers", marker={"symbol": style.marker, "size": 8}
            )
            figure.add_trace(marks.update(showlegend=index == 0, **fig.panel(index)))
        same = fig.line(x, x, fig.Style("the threshold itself", fig.GREY, "dot"))
        figure.add_trace(same.update(showlegend=index == 0, **fig.panel(index)))
    shown = finite[finite.epsilon_total == budget][["exact", "published", "epsilon_abc"]]
    ends = (shown.min().min(), shown.max().max()) if len(shown) else (0.01, 1.0)
    return figure.update_yaxes(fig.logarithmic(*ends))
