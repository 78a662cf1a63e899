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

This model has a likelihood, so there is a rival that needs no simulation: its counts, released once
with noise, and their exact posterior (MATH E7). The table *rival* has its errors at every budget;
the figures show them at the smallest, where they are largest.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from abcdp_core import experiments, pool, sentences, summaries, trials
from abcdp_core import figures as fig
from abcdp_core import parameters as par
from abcdp_core.mechanisms import noisy_counts, soft_weights
from abcdp_core.parameters import Parameter
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.privacy import Event, NonPrivate, statement_of_largest
from abcdp_core.results import Result, Tables
from abcdp_core.simulators import uniform_mixture
from abcdp_core.streams import generator

EXPERIMENT = "soft-abc"
TITLE = "Soft weights: error against the threshold"
COLUMNS = {
    "main": ("epsilon_abc", "epsilon_total", "delta", "run", "mse", "mae", "effective_sample_size"),
    "best": ("epsilon_total", "run", "best"),
    "rival": trials.RIVAL_COLUMNS,
}

POWER = Parameter(
    kind="real",
    label="Power q of the distance in K2-ABC",
    help="Of the curve without noise; with noise it is 1.",
    low=0.25,
    high=4.0,
    steps=(0.25, 0.5, 1.0, 2.0, 3.0, 4.0),
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
    pseudo_n: int | str = uniform_mixture.PSEUDO_N.field("same")
    pool_size: int = par.POOL_SIZE.field(1000)
    sensitivity: str = par.SENSITIVITY.field("sharp")
    accountant: str = par.ACCOUNTANT.field("exact")
    runs: int = par.RUNS.field(10)
    bandwidth: float | str = par.BANDWIDTH.field(uniform_mixture.BANDWIDTH)
    noise_draw: int = par.NOISE_DRAW.field(0)

    def check_together(self) -> None:
        """Refuse too much work."""
        par.check_work(uniform_mixture.simulated_points(self.n, self.pseudo_n), self.pool_size)


PRESETS: dict[str, BaseParams] = {
    # The budgets are those of the paper's script for tuberculosis; those of the figure and its
    # number of draws are not known to us.
    "p22-figure-2": Params(
        epsilon_total=(1.0, 2.0, 4.0, 8.0, math.inf),
        sensitivity="published",
        accountant="rdp-classic",
    )
}


tasks = experiments.per_run


def event_of(params: Params, epsilon_abc: float, epsilon_total: float) -> Event:
    """What a release with one threshold and budget does with the data; public."""
    if math.isinf(epsilon_total):
        return NonPrivate()
    sensitivity = uniform_mixture.distance().sensitivity(params.n, params.sensitivity)
    return soft_weights.calibrate(
        epsilon_total, params.delta, sensitivity, epsilon_abc, params.pool_size, params.accountant
    )


def work(task: experiments.Run[Params]) -> Tables:
    """All combinations on the data, the pool and the noise of one run."""
    params, run, seed = task.params, task.run, task.seed
    points = uniform_mixture.simulated_points(params.n, params.pseudo_n)
    key = pool.key_for(
        uniform_mixture.SCENARIO, points, params.pool_size, seed, run, params.bandwidth
    )
    comparison = pool.observed_comparison(key, params.n, points)
    rows = []
    for epsilon_abc, epsilon_total in itertools.product(params.epsilon_abc, params.epsilon_total):
        rng = generator(seed, "noise", run, params.noise_draw)
        power = params.power if math.isinf(epsilon_total) else 1.0
        event = event_of(params, epsilon_abc, epsilon_total)
        release, _ = soft_weights.run(comparison.rho**power / epsilon_abc, event, rng)
        estimate = release.mean(comparison.theta, uniform_mixture.PRIOR_MEAN)
        errors = summaries.errors(estimate, uniform_mixture.TRUTH)
        size = summaries.effective_sample_size(release.weights)
        rows.append((epsilon_abc, epsilon_total, params.delta, run, *errors, size))
    main = pd.DataFrame(rows, columns=list(COLUMNS["main"]))
    address = (seed, run, params.noise_draw)
    public = pool.PublicSide(key, params.n)
    rival = trials.rival(public, comparison, params.epsilon_total, address)
    return {"main": main, "best": _best_of_run(main), "rival": rival}


PRIOR_ERRORS = summaries.errors_by_metric(uniform_mixture.PRIOR_MEAN, uniform_mixture.TRUTH)
"""Of the prior mean, which needs no data."""


def _best_of_run(main: pd.DataFrame) -> pd.DataFrame:
    """The threshold with the least squared error in one run, for each budget."""
    rows = main.loc[main.groupby("epsilon_total").mse.idxmin(), ["epsilon_total", "run"]]
    return rows.assign(best=main.epsilon_abc[rows.index]).reset_index(drop=True)


# --------------------------------------------------------------------------------------- finding


def collect(params: Params, rows: Tables) -> Result:
    """The result so far."""
    privacy = statement_of_largest(
        params.epsilon_total,
        lambda budget: event_of(params, params.epsilon_abc[0], budget),
        uniform_mixture.PROTECTED,
        params.delta,
    )
    finite = [value for value in params.epsilon_total if math.isfinite(value)]
    if finite:
        privacy += sentences.overpaid(max(finite), params.accountant)
    return Result(EXPERIMENT, params, rows, _summary(rows["main"]), privacy)


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
        f"{sentences.plain(cast(float, getattr(row, metric)))} at ε_abc = {row.epsilon_abc:g} "
        f"({sentences.budget_name(cast(float, row.epsilon_total))}, effective sample size "
        f"{sentences.plain(cast(float, row.effective_sample_size))})"
        for row in table.iloc[sorted(ends)].itertuples()
    ]
    return (
        f"Over {sentences.runs_in_words(main)} the least {summaries.METRICS[metric]} of the "
        f"posterior mean is {'; '.join(parts)}. The prior mean alone has "
        f"{sentences.plain(PRIOR_ERRORS[metric])}."
    )


# --------------------------------------------------------------------------------------- figures


def figures(result: Result) -> dict[str, fig.Drawn]:
    """Errors and effective sample size against the threshold, a line for each budget."""
    params = cast(Params, result.params)
    main = result.tables["main"]
    points = uniform_mixture.simulated_points(params.n, params.pseudo_n)
    sizes = sentences.sizes_in_words(params.n, points, params.pool_size)
    settings = f"{sizes}, {sentences.runs_in_words(main)}"
    ends = (float(main.epsilon_abc.min()), float(main.epsilon_abc.max()))
    drawn: dict[str, fig.Drawn] = {}
    for metric, words in summaries.METRICS.items():
        figure = _empty(finding(main, metric), words, settings)
        prior = PRIOR_ERRORS[metric]
        shown = prior / 10.0 ** (fig.DECADES[metric] * 1.4), 2.0 * prior
        labels = _add_lines(figure, main, metric)
        rival, label = _rival_line(result.tables["rival"], metric, ends)
        figure.add_traces([*rival, fig.line(np.array(ends), np.full(2, prior), fig.PRIOR_MEAN)])
        figure.update_yaxes(fig.plain_ticks(*shown))
        known = [each for each in [*labels, label] if math.isfinite(each[0]) and each[0] > 0.0]
        fig.end_labels(figure, [*known, (prior, "prior mean", fig.PRIOR_MEAN.color)], shown)
        drawn[metric] = fig.Drawn(figure, f"{_summary(main, metric)} {_rival_sentence(params)}")
    figure = _empty(counting(main), "effective sample size", settings)
    figure.update_yaxes(fig.plain_ticks(1.0, 1.1 * params.pool_size))
    sized = _add_lines(figure, main, "effective_sample_size")
    fig.end_labels(figure, sized, (1.0, 1.1 * params.pool_size))
    drawn["effective-sample-size"] = fig.Drawn(figure, _sizes_sentence(main))
    return drawn


def finding(main: pd.DataFrame, metric: str = "mae") -> str:
    """What the smallest budget does to the least error over the thresholds."""
    table = best(main, metric).set_index("epsilon_total")[metric]
    budget, prior = float(table.index.min()), PRIOR_ERRORS[metric]
    error, at = float(table[budget]), sentences.budget_name(budget)
    if said := sentences.little(error, prior):
        return f"Soft weights at {at}: {said}"
    if math.isinf(budget) or math.inf not in table.index:
        return f"Soft weights at {at}: {100.0 * error / prior:.0f} % of the prior's error"
    times = error / float(table[math.inf])
    return f"Soft weights at {at}: {sentences.plain(times, 2)} times the error without noise"


def counting(main: pd.DataFrame) -> str:
    """How many draws count at the smallest threshold, with the smallest budget and at all."""
    here = main[main.epsilon_abc == main.epsilon_abc.min()]
    means = here.groupby("epsilon_total").effective_sample_size.mean()
    budget = float(means.index.min())
    size = sentences.plain(float(means[budget]))
    return (
        f"At ε_abc = {here.epsilon_abc.iloc[0]:g} the weights are as good as {size} "
        f"{'draw' if size == '1' else 'draws'} of equal weight with {sentences.budget_name(budget)}"
    )


def _sizes_sentence(main: pd.DataFrame) -> str:
    """Effective sample size at the smallest and the largest threshold, a part for each budget."""
    means = main.groupby(["epsilon_total", "epsilon_abc"]).effective_sample_size.mean()
    each = []
    for budget, part in means.groupby(level=0):
        low, high = part.index[0][1], part.index[-1][1]
        here = f"{sentences.plain(part.iloc[0])} at ε_abc = {low:g}"
        there = f" to {sentences.plain(part.iloc[-1])} at ε_abc = {high:g}" if high > low else ""
        each.append(f"{sentences.budget_name(float(cast(float, budget)))}: {here}{there}")
    return f"Mean effective sample size over {sentences.runs_in_words(main)}. {'; '.join(each)}."


def _empty(title: str, y: str, settings: str) -> go.Figure:
    figure = fig.figure(title, "threshold ε_abc", y, settings=settings)
    return figure.update_xaxes(fig.plain_ticks(0.001, 1.0))


Label = tuple[float, str, str]
"""Where a line ends, its name and its colour."""


def _rival_line(
    rival: pd.DataFrame, metric: str, ends: tuple[float, float]
) -> tuple[list[go.Scatter], Label]:
    """The error without any simulation at the smallest budget, the same at every threshold."""
    budget = rival.epsilon_total.min()
    statistics = summaries.over_runs(
        rival[rival.epsilon_total == budget], metric, ("n", "epsilon_total")
    )
    style = fig.RIVAL_WITHOUT_NOISE
    if math.isfinite(budget):
        style = dataclasses.replace(fig.RIVAL, name=f"{fig.RIVAL.name}, ε_total = {budget:g}")
    both = pd.concat([statistics.assign(epsilon_abc=end) for end in dict.fromkeys(ends)])
    label = float(statistics["mean"].iloc[0]), fig.RIVAL.name, style.color
    return fig.run_line(both, "epsilon_abc", style), label


def _rival_sentence(params: Params) -> str:
    """What the rival is, and which budget its line is for."""
    budget = min(params.epsilon_total)
    shown = "without noise" if math.isinf(budget) else f"at ε_total = {budget:g}"
    smallest = ", the smallest budget shown" if len(params.epsilon_total) > 1 else ""
    return f"{noisy_counts.rival(uniform_mixture)} The line of the counts is {shown}{smallest}."


def _add_lines(figure: go.Figure, main: pd.DataFrame, column: str) -> list[Label]:
    """A line for each budget; without noise in the colour that stands for that."""
    statistics = summaries.over_runs(main, column, ("epsilon_total", "epsilon_abc"))
    finite = sorted(budget for budget in set(main.epsilon_total) if math.isfinite(budget))
    named = dict(zip(finite, fig.styles([*map(sentences.budget_name, finite)]), strict=True))
    named |= {math.inf: fig.NON_PRIVATE} if np.isinf(main.epsilon_total).any() else {}
    labels = []
    for budget, style in named.items():
        part = statistics[statistics.epsilon_total == budget]
        figure.add_traces(fig.run_line(part, "epsilon_abc", style))
        last = float(part.sort_values("epsilon_abc")["mean"].iloc[-1])
        labels.append((last, sentences.budget_name(budget), style.color))
    figure.update_layout(showlegend=False)
    return labels
