r"""Weights instead of decisions: what does privacy cost K2-ABC?

K2-ABC keeps every draw of the pool and weights it by its distance to the data,
$w_t \propto \exp(-\rho_t^q / \epsilon_{abc})$. Its private version ([P22] Theorems 3.2 and 3.3)
takes $q = 1$ and adds noise to every distance, in units of the threshold,

$$\tilde D_t = \rho_t / \epsilon_{abc} + N(0, \sigma^2), \qquad
w_t \propto \exp(-\max(\tilde D_t, 0)) \qquad \text{(MATH W1)}$$

All $T$ noisy distances could be published, so the whole pool is paid for: in units of the distance
the noise is $\epsilon_{abc}\,\sigma = \sqrt{T} \Delta / \mu$, where $\mu$ depends on
$\epsilon_{total}$ and $\delta$ alone, and on who does the accounting. The paper's conversion of
Rényi divergence (MATH W2) asks for 38 % more noise at $\epsilon_{total} = 1$,
$\delta = 10^{-4}$ than the exact account (MATH W3), autodp's tighter one for 10 % more.

The threshold does not change that noise, only what it is compared with. Where it is far below the
noise the weights are those of the few draws with the luckiest noise; where it is far above the
distances all draws weigh the same, and the estimate is the prior mean. The effective sample size,
$(\sum w)^2 / \sum w^2$, tells how many draws count. Each run has its own data, pool and noise; the
table *best* has the threshold that was best in each, which is mostly chance in a single one.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from abcdp_core import experiments, pool, summaries
from abcdp_core import figures as fig
from abcdp_core import parameters as par
from abcdp_core.experiments import mse_curves
from abcdp_core.mechanisms import soft_weights
from abcdp_core.parameters import Parameter
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.privacy import statement_of_largest
from abcdp_core.results import Result, Tables
from abcdp_core.simulators import uniform_mixture
from abcdp_core.streams import generator

EXPERIMENT = "soft-abc"
TITLE = "Soft weights: error against the threshold"
COLUMNS = {
    "main": ("epsilon_abc", "epsilon_total", "delta", "run", "mse", "mae", "effective_sample_size"),
    "best": ("epsilon_total", "run", "best"),
}

ACCOUNTANT = Parameter(
    kind="choice",
    label="Accountant",
    help="How noise follows from ε_total and δ. exact: the least noise. rdp: by autodp. "
    "rdp-classic: as in the paper.",
    options=("exact", "rdp", "rdp-classic"),
)
POWER = Parameter(
    kind="real",
    label="Power q of the distance in K2-ABC",
    help="Of the curve without noise; with noise it is 1.",
    low=0.25,
    high=4.0,
    steps=(0.25, 0.5, 1.0, 2.0, 3.0, 4.0),
)

PSEUDO_N = dataclasses.replace(
    uniform_mixture.N,
    label="Points in each simulated data set",
    help="same: as many as the data have. Noise follows the size of the data, whatever this is.",
    special=("same",),
)


@dataclass(frozen=True)
class Params(BaseParams):
    """Every combination of the lists is run on the same data, pool and noise within a run."""

    epsilon_abc: tuple[float, ...] = uniform_mixture.EPSILON_ABC.field(
        (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5), many=True
    )
    epsilon_total: tuple[float, ...] = par.EPSILON_TOTAL_OR_INF.field(
        (0.5, 1.0, 10.0, math.inf), many=True
    )
    delta: float = par.DELTA.field(1e-4)
    power: float = POWER.field(1.0)
    n: int = uniform_mixture.N.field(uniform_mixture.N_DEFAULT)
    pseudo_n: int | str = PSEUDO_N.field("same")
    pool_size: int = par.POOL_SIZE.field(1000)
    sensitivity: str = par.SENSITIVITY.field("sharp")
    accountant: str = ACCOUNTANT.field("exact")
    runs: int = par.RUNS.field(10)
    bandwidth: float | str = mse_curves.BANDWIDTH.field(uniform_mixture.BANDWIDTH)
    noise_draw: int = par.NOISE_DRAW.field(0)

    def check_together(self) -> None:
        """Refuse too much work."""
        par.check_work(simulated_points(self.n, self.pseudo_n), self.pool_size)


def simulated_points(n: int, pseudo_n: int | str) -> int:
    """Points in each simulated data set, for data of ``n`` points."""
    return n if pseudo_n == "same" else int(pseudo_n)


PRESETS: dict[str, BaseParams] = {
    # The budgets are those of the paper's script for tuberculosis; those of the figure and its
    # number of draws are not known to us.
    "p22-figure-2": Params(
        epsilon_total=(1.0, 2.0, 4.0, 8.0, math.inf),
        sensitivity="published",
        accountant="rdp-classic",
    )
}


@dataclass(frozen=True)
class Task:
    """One run: ``params`` without the number of runs, so that more runs repeat none."""

    epsilon_abc: tuple[float, ...]
    epsilon_total: tuple[float, ...]
    delta: float
    power: float
    n: int
    pseudo_n: int | str
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


def setting(
    params: Params | Task, epsilon_abc: float, epsilon_total: float
) -> soft_weights.Setting:
    """What is asked of the mechanism for one threshold and budget."""
    return soft_weights.Setting(
        epsilon_total,
        params.delta,
        epsilon_abc,
        uniform_mixture.distance().sensitivity(params.n, params.sensitivity),
        params.accountant,
        params.power if math.isinf(epsilon_total) else 1.0,
    )


def work(task: Task) -> Tables:
    """All combinations on the data, the pool and the noise of one run."""
    points = simulated_points(task.n, task.pseudo_n)
    key = pool.key_for(
        uniform_mixture.SCENARIO, points, task.pool_size, task.seed, task.run, task.bandwidth
    )
    comparison = pool.observed_comparison(key, task.n, points)
    rows = []
    for epsilon_abc, epsilon_total in itertools.product(task.epsilon_abc, task.epsilon_total):
        rng = generator(task.seed, "noise", task.run, task.noise_draw)
        release, _ = soft_weights.release(
            comparison, setting(task, epsilon_abc, epsilon_total), rng
        )
        estimate = release.mean(comparison.theta, uniform_mixture.PRIOR_MEAN)
        errors = summaries.errors(estimate, uniform_mixture.TRUTH)
        size = summaries.effective_sample_size(release.weights)
        rows.append((epsilon_abc, epsilon_total, task.delta, task.run, *errors, size))
    main = pd.DataFrame(rows, columns=list(COLUMNS["main"]))
    return {"main": main, "best": _best_of_run(main)}


def _best_of_run(main: pd.DataFrame) -> pd.DataFrame:
    """The threshold with the least squared error in one run, for each budget."""
    rows = main.loc[main.groupby("epsilon_total").mse.idxmin(), ["epsilon_total", "run"]]
    return rows.assign(best=main.epsilon_abc[rows.index]).reset_index(drop=True)


# --------------------------------------------------------------------------------------- finding


def collect(params: Params, rows: Tables) -> Result:
    """The result so far."""
    privacy = statement_of_largest(
        params.epsilon_total,
        lambda budget: setting(params, params.epsilon_abc[0], budget).event(params.pool_size),
        uniform_mixture.PROTECTED,
        params.delta,
    )
    finite = [value for value in params.epsilon_total if math.isfinite(value)]
    if finite:
        privacy += overpaid(max(finite), params.accountant)
    return Result(EXPERIMENT, params, rows, _summary(rows["main"]), privacy)


def overpaid(epsilon_total: float, accountant: str) -> str:
    """A sentence where noise was made by an accountant that asks for more than needed."""
    if accountant == "exact":
        return ""
    return (
        f" The noise was made for ε_total = {epsilon_total:g} by the accountant {accountant}, "
        f"which asks for more than that needs."
    )


def prior_errors() -> dict[str, float]:
    """Mean squared and mean absolute error of the prior mean, which needs no data."""
    mse, mae = summaries.errors(uniform_mixture.PRIOR_MEAN, uniform_mixture.TRUTH)
    return {"mse": mse, "mae": mae}


def best(main: pd.DataFrame, metric: str = "mae") -> pd.DataFrame:
    """For each budget the threshold with the least mean error by a metric, that and its size.

    Columns: ``epsilon_total``, ``epsilon_abc``, the metric, ``effective_sample_size``.
    """
    means = (
        main.groupby(["epsilon_total", "epsilon_abc"])[[metric, "effective_sample_size"]]
        .mean()
        .reset_index()
    )
    return means.loc[means.groupby("epsilon_total")[metric].idxmin()].reset_index(drop=True)


def _summary(main: pd.DataFrame, metric: str = "mae") -> str:
    table = best(main, metric)
    # The smallest and largest budget and none at all say enough.
    ends = {0, max(0, int(np.isfinite(table.epsilon_total).sum()) - 1), len(table) - 1}
    parts = [
        f"{cast(float, getattr(row, metric)):.3g} at ε_abc = {row.epsilon_abc:g} "
        f"({budget_name(cast(float, row.epsilon_total))}, effective sample size "
        f"{cast(float, row.effective_sample_size):.3g})"
        for row in table.iloc[sorted(ends)].itertuples()
    ]
    return (
        f"Over {runs_in_words(main)} the least {mse_curves.METRICS[metric]} of the posterior mean "
        f"is {'; '.join(parts)}. The prior mean alone has {prior_errors()[metric]:.3g}."
    )


def budget_name(epsilon_total: float) -> str:
    """A budget in words."""
    return "no noise" if math.isinf(epsilon_total) else f"ε_total = {epsilon_total:g}"


# --------------------------------------------------------------------------------------- figures


def figures(result: Result) -> dict[str, fig.Drawn]:
    """Errors and effective sample size against the threshold, a line for each budget."""
    params = cast(Params, result.params)
    main = result.tables["main"]
    over = f"{runs_in_words(main)}, {sizes_in_words(params.n, params.pseudo_n, params.pool_size)}"
    drawn: dict[str, fig.Drawn] = {}
    for metric, words in mse_curves.METRICS.items():
        figure = _empty(f"{words.capitalize()} of the posterior mean over {over}", words)
        figure.add_traces(_budget_lines(main, metric))
        ends = (float(main.epsilon_abc.min()), float(main.epsilon_abc.max()))
        drawn[metric] = fig.Drawn(prior_axes(figure, metric, ends), _summary(main, metric))
    figure = _empty(f"Effective sample size over {over}", "effective sample size")
    figure.add_traces(_budget_lines(main, "effective_sample_size"))
    figure.update_yaxes(fig.logarithmic(1.0, params.pool_size))
    drawn["effective-sample-size"] = fig.Drawn(figure, _sizes_sentence(main))
    return drawn


def _sizes_sentence(main: pd.DataFrame) -> str:
    """Effective sample size at the smallest and the largest threshold, a part for each budget."""
    means = main.groupby(["epsilon_total", "epsilon_abc"]).effective_sample_size.mean()
    each = []
    for budget, part in means.groupby(level=0):
        low, high = part.index[0][1], part.index[-1][1]
        here = f"{part.iloc[0]:.3g} at ε_abc = {low:g}"
        there = f" to {part.iloc[-1]:.3g} at ε_abc = {high:g}" if high > low else ""
        each.append(f"{budget_name(float(cast(float, budget)))}: {here}{there}")
    return f"Mean effective sample size over {runs_in_words(main)}. {'; '.join(each)}."


def runs_in_words(main: pd.DataFrame) -> str:
    """How many runs a table has, in words."""
    runs = main.run.nunique()
    return f"{runs} {'run' if runs == 1 else 'runs'}"


def sizes_in_words(n: int, pseudo_n: int | str, pool_size: int) -> str:
    """How large the data, the simulated data sets and the pool are."""
    points = simulated_points(n, pseudo_n)
    against = f" against {points:,} simulated points" if points != n else ""
    return f"N = {n:,}{against}, T = {pool_size:,}"


def _empty(title: str, y: str) -> go.Figure:
    figure = fig.figure(title, "threshold ε_abc", y)
    return figure.update_xaxes(fig.logarithmic(0.001, math.sqrt(2.0)))


def _budget_lines(main: pd.DataFrame, column: str) -> list[go.Scatter]:
    return lines(over_runs(main, column), ("epsilon_total", "epsilon_abc"), budget_name)


def lines(
    statistics: pd.DataFrame,
    names: tuple[str, str],
    called: Callable[[float], str],
    panel: int = 0,
) -> list[go.Scatter]:
    """Lines of means over runs with their 95 % bands; marks are open where runs accepted nothing.

    Args:
        statistics: of :func:`over_runs`.
        names: the column that has a line for each value, and the one along the axis.
        called: what a line is called.
        panel: where it is drawn; the first one has the legend.
    """
    each, along = names
    values = sorted(statistics[each].unique().tolist())
    traces: list[go.Scatter] = []
    for style, value in zip(fig.styles([called(value) for value in values]), values, strict=True):
        part = statistics[statistics[each] == value].sort_values(along)
        x, y = part[along].to_numpy(), part["mean"].to_numpy()
        low, high = part.low.to_numpy(), part.high.to_numpy()
        shown = {"legendgroup": style.name, **fig.panel(panel)}
        if np.isfinite(low).all():
            traces.append(fig.band(x, low, high, style).update(**shown))
        line = fig.line(x, y, style).update(showlegend=panel == 0, **shown)
        line.update(
            mode="lines+markers",
            marker={"color": style.color, "symbol": style.marker, "size": 8},
            customdata=np.column_stack([low, high]),
            hovertemplate=f"{_LABELS[along]} = %{{x}}: %{{y:.4g}}, 95 % interval "
            f"%{{customdata[0]:.4g}} to %{{customdata[1]:.4g}}<extra>{style.name}</extra>",
        )
        traces.append(fig.hollow(line, part.empty_share.to_numpy()))
    return traces


_LABELS = {"epsilon_abc": "ε_abc", "epsilon_total": "ε_total"}

SETTINGS = ("epsilon_total", "epsilon_abc")


def over_runs(main: pd.DataFrame, column: str, by: Sequence[str] = SETTINGS) -> pd.DataFrame:
    """Mean and 95 % bootstrap interval over runs at every combination of some columns.

    Columns: those, ``mean``, ``low``, ``high``, and ``empty_share``: the share of the runs that
    accepted nothing, 0 where nothing is accepted or rejected.
    """
    table = main.pivot_table(index="run", columns=list(by), values=column)
    values = table.to_numpy()
    low, high = summaries.mean_interval(values, generator(0, "bootstrap"))
    statistics = table.columns.to_frame(index=False)
    statistics = statistics.assign(mean=values.mean(axis=0), low=low, high=high, empty_share=0.0)
    if "accepted" in main:
        empty = main.assign(empty=main.accepted == 0).groupby(list(by)).empty.mean()
        statistics["empty_share"] = empty.to_numpy()
    return statistics


def prior_axes(
    figure: go.Figure, metric: str, ends: tuple[float, float], panels: int = 1
) -> go.Figure:
    """Draw the prior's error in every panel, and let it fix the range of the errors."""
    prior = prior_errors()[metric]
    for panel in range(panels):
        style = fig.Style("prior mean", fig.GREY, "dot")
        line = fig.line(np.array(ends), np.full(2, prior), style)
        line.update(mode="lines+markers", marker={"color": fig.GREY, "size": 4})
        figure.add_trace(
            line.update(showlegend=panel == 0, legendgroup="prior mean", **fig.panel(panel))
        )
    floor = math.log10(prior) - mse_curves.DECADES[metric]
    return figure.update_yaxes(type="log", range=[floor, math.log10(2.0 * prior)], dtick=1)
