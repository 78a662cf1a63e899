r"""Can one city's outbreak be released privately?

[P22] Section 4.2: the data are those of San Francisco, *one* outbreak, $n = 1$. The distance of a
prior draw to them is clipped at $C = 200$, and differential privacy protects the one outbreak
there is: another city's could be in its place. So one data point can change a distance by all that
it can be, $\Delta = C$ (MATH M7), and the soft weights (MATH W1) are made from

$$\tilde D_t = \rho_t / \epsilon_{abc} + N(0, \sigma^2), \qquad
\sigma = \frac{\sqrt{T}\, C}{\epsilon_{abc}\,\mu},$$

with $\mu = 1.04$ for $\epsilon_{total} = 4$, $\delta = 10^{-4}$ by the exact account (MATH W3).
Distances in units of the threshold are at most $C / \epsilon_{abc}$, so for $T = 1000$ the noise
is thirty times the largest signal, *whatever the threshold*: about half of all draws, picked by
noise alone, get the same weight and the others none. Their mean is near that of the prior, which
needs no data at all.

The paper reports errors that are averages of 10 independent runs, against the posterior mean that
Lintusaari et al. report for these data; nobody knows the truth. The data are the same in all runs,
as there is one San Francisco. Here runs differ in their noise alone, on the pool that comes with
the program, or each simulates prior draws of its own too. The error is the mean absolute difference
over four parameters in their own units, in which $\beta$ and $t_1$ count most; scaled, each is
divided by its prior standard deviation. Whether anything was learnt shows against *equal weights*
on the same draws; their mean differs from that of the prior by chance. The *spread* is the weighted
standard deviation in units of the prior's, averaged over the parameters.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from abcdp_core import experiments, sentences, summaries
from abcdp_core import figures as fig
from abcdp_core import parameters as par
from abcdp_core.mechanisms import soft_weights
from abcdp_core.parameters import Parameter
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.privacy import UNPROTECTED, GaussianSeries, statement
from abcdp_core.results import Result, Tables
from abcdp_core.simulators import tuberculosis
from abcdp_core.streams import generator

Array = NDArray[np.float64]

EXPERIMENT = "tuberculosis-soft"
TITLE = "Soft weights for the outbreak of San Francisco"
COLUMNS = {
    "main": ("release", "epsilon_abc", "run", "parameter", "value"),
    "errors": (
        "epsilon_abc", "run", "effective_sample_size", "mae", "mae_scaled", "spread",
        "non_private_mae", "non_private_spread", "pool_mae", "prior_mae", "paper_mae",
    ),
    "non_private": (
        "epsilon_abc", "run", "effective_sample_size", "mae", "mae_scaled", "spread", "paper_mae",
    ),
    "shares": ("release", "epsilon_abc", "parameter", "left", "right", "share"),
}  # fmt: skip

PAPER = {20.0: 4.12, 80.0: 4.05}
"""Threshold -> error that [P22] reports, average of 10 runs, ε_total = 4 and δ = 1e-4."""

PAPER_NON_PRIVATE = {20.0: 3.10}
"""The same without noise."""

PAPER_BUDGET = (4.0, 1e-4)

BINS = 24


INDEPENDENT = Parameter(
    kind="switch",
    label="Prior draws of its own in every run",
    help="Off: all runs share the pool that comes with the program. On: a second of work a run.",
)


@dataclass(frozen=True)
class Params(BaseParams):
    """Thresholds, budget, and how often the noise is drawn."""

    epsilon_abc: tuple[float, ...] = tuberculosis.EPSILON_ABC.field((20.0, 80.0), many=True)
    epsilon_total: float = par.EPSILON_TOTAL.field(4.0)
    delta: float = par.DELTA.field(1e-4)
    accountant: str = par.ACCOUNTANT.field("exact")
    pool_size: int = tuberculosis.POOL_SIZE.field(tuberculosis.POOL_SIZE_DEFAULT)
    burden: str = tuberculosis.BURDEN.field("variance 30")
    independent: bool = INDEPENDENT.field(False)
    runs: int = par.RUNS.field(100)
    noise_draw: int = par.NOISE_DRAW.field(0)


PRESETS: dict[str, BaseParams] = {
    "p22-figure-4": Params(accountant="rdp-classic", independent=True, runs=10)
}


Task = experiments.Part[Params]
"""Some runs, all on the same prior draws."""


def tasks(params: Params, seed: int) -> list[Task]:
    """One task per run that has prior draws of its own, else one for all."""
    single = experiments.with_values(params, runs=1)
    parts = [(run, 1) for run in range(params.runs)] if params.independent else [(0, params.runs)]
    return [experiments.Part(single, first, count, seed) for first, count in parts]


def event_of(params: Params, epsilon_abc: float) -> GaussianSeries:
    """What a release with one threshold does with the data; public."""
    return soft_weights.calibrate(
        params.epsilon_total,
        params.delta,
        tuberculosis.distance().sensitivity(1),
        epsilon_abc,
        params.pool_size,
        params.accountant,
    )


def work(task: Task) -> Tables:
    """Weights without noise and with every noise, at every threshold."""
    theta, rho = _draws(task)
    found = [_at(task, theta, rho, epsilon_abc) for epsilon_abc in task.params.epsilon_abc]
    return {
        name: pd.concat([pd.DataFrame(tables[name]) for tables in found], ignore_index=True)[
            list(columns)
        ]
        for name, columns in COLUMNS.items()
    }


def _draws(task: Task) -> tuple[Array, Array]:
    """Prior draws ``(T, 4)`` and their distances ``(T,)`` to San Francisco."""
    params = task.params
    if not params.independent:
        return tuberculosis.precomputed(params.pool_size, 1, 0, params.burden)
    deviation = float(tuberculosis.PRIORS[params.burden].deviation[-1])
    prior, outbreaks = (
        generator(task.seed, f"san-francisco-{part}", task.first) for part in ("prior", "outbreaks")
    )
    theta = tuberculosis.prior(prior, params.pool_size, deviation)
    metric = tuberculosis.distance()
    simulated = metric.statistic(tuberculosis.simulate(outbreaks, theta, 1))
    return theta, metric.compare(simulated, metric.statistic(tuberculosis.SAN_FRANCISCO))


def _at(task: Task, theta: Array, rho: Array, epsilon_abc: float) -> dict[str, pd.DataFrame]:
    """All tables' rows of one threshold."""
    params, seed = task.params, task.seed
    scaled = rho / epsilon_abc
    plain = soft_weights.weights_of(scaled)[None]
    event = event_of(params, epsilon_abc)
    noises = (generator(seed, "noise", run, params.noise_draw) for run in task.pieces)
    noisy = np.stack([soft_weights.run(scaled, event, rng)[0].weights for rng in noises])
    everywhere = np.full((1, len(theta)), 1.0 / len(theta))
    weights = {"prior": everywhere, "non-private": plain, "private": noisy}
    paper, paper_plain = _reported(params, epsilon_abc)
    prior = tuberculosis.PRIORS[params.burden]
    non_private = _errors(plain, theta, prior).assign(run=task.first, paper_mae=paper_plain)
    errors = _errors(noisy, theta, prior).assign(
        run=np.array(task.pieces),
        non_private_mae=float(non_private.mae.iloc[0]),
        non_private_spread=float(non_private.spread.iloc[0]),
        pool_mae=float(_errors(everywhere, theta, prior).mae.iloc[0]),
        prior_mae=float(np.abs(prior.mean - tuberculosis.TRUTH).mean()),
        paper_mae=paper,
    )
    tables = {
        "main": pd.concat(
            [_means(name, weights[name], theta, task.first) for name in ("non-private", "private")]
        ),
        "errors": errors,
        "non_private": non_private,
        "shares": pd.concat(
            [_shares(params, name, each.mean(axis=0), theta) for name, each in weights.items()]
        ),
    }
    return {name: table.assign(epsilon_abc=epsilon_abc) for name, table in tables.items()}


def _reported(params: Params, epsilon_abc: float) -> tuple[float, float]:
    """The paper's error with and without noise; NaN where it has none."""
    if (params.epsilon_total, params.delta) != PAPER_BUDGET:
        return math.nan, math.nan
    return PAPER.get(epsilon_abc, math.nan), PAPER_NON_PRIVATE.get(epsilon_abc, math.nan)


def _errors(weights: Array, theta: Array, prior: tuberculosis.Moments) -> pd.DataFrame:
    """One row for each of the weights ``(k, T)``."""
    means = weights @ theta
    difference = np.abs(means - tuberculosis.TRUTH)
    # About the prior mean, so that squares of large numbers need not cancel.
    variance = weights @ (theta - prior.mean) ** 2 - (means - prior.mean) ** 2
    return pd.DataFrame(
        {
            "effective_sample_size": [summaries.effective_sample_size(each) for each in weights],
            "mae": difference.mean(axis=1),
            "mae_scaled": (difference / prior.deviation).mean(axis=1),
            "spread": (np.sqrt(np.maximum(variance, 0.0)) / prior.deviation).mean(axis=1),
        }
    )


def _means(release: str, weights: Array, theta: Array, first: int) -> pd.DataFrame:
    """Weighted mean of every parameter for weights ``(k, T)`` of runs ``first`` and following."""
    names = list(tuberculosis.AXES)
    means = np.stack([summaries.weighted_mean(theta, each) for each in weights])
    return pd.DataFrame(
        {
            "release": release,
            "run": first + np.repeat(np.arange(len(weights)), len(names)),
            "parameter": np.tile(np.array(names), len(weights)),
            "value": means.ravel(),
        }
    )


def _shares(params: Params, release: str, weights: Array, theta: Array) -> pd.DataFrame:
    """Weighted histogram of every parameter for weights ``(T,)``."""
    tables = []
    for column, (name, ends) in enumerate(tuberculosis.axes(params.burden).items()):
        edges = np.linspace(*ends, BINS + 1)
        shares, _ = np.histogram(theta[:, column], edges, weights=weights)
        part = {"parameter": name, "left": edges[:-1], "right": edges[1:], "share": shares}
        tables.append(pd.DataFrame({"release": release, **part}))
    return pd.concat(tables)


# --------------------------------------------------------------------------------------- finding


def collect(params: Params, rows: Tables) -> Result:
    """The result so far; histograms are averages over runs."""
    named = ["release", "epsilon_abc", "parameter", "left", "right"]
    shares = rows["shares"].groupby(named, sort=False).share.mean()
    tables = {**rows, "shares": shares.reset_index()}
    event = event_of(params, params.epsilon_abc[0])
    privacy = (
        f"{statement(event, tuberculosis.PROTECTED, params.delta)} There is one outbreak, a whole "
        f"city's two years; who fell ill in it is not protected one by one. {UNPROTECTED}"
        f"{sentences.overpaid(params.epsilon_total, params.accountant)}"
    )
    return Result(EXPERIMENT, params, tables, _summary(params, tables), privacy, event)


def _over(params: Params, errors: pd.DataFrame) -> str:
    """What a table is over, in words."""
    count = errors.run.nunique()
    if params.independent:
        return sentences.counted(count, "run", "runs with prior draws of their own")
    return sentences.counted(count, "noise")


def _summary(params: Params, tables: Tables) -> str:
    errors, plain = tables["errors"], tables["non_private"]
    shown = [params.epsilon_abc[0], params.epsilon_abc[-1]]
    parts = []
    for epsilon_abc in dict.fromkeys(shown):
        part = errors[errors.epsilon_abc == epsilon_abc]
        spread = f" ± {part.mae.std():.2g}" if len(part) > 1 else ""
        without = plain.mae[plain.epsilon_abc == epsilon_abc].mean()
        parts.append(
            f"{part.mae.mean():.2f}{spread} private and {without:.2f} without noise at "
            f"ε_abc = {epsilon_abc:g}"
        )
    return (
        f"Mean absolute error of the posterior mean over {_over(params, errors)}: "
        f"{'; '.join(parts)}. The prior mean alone has {errors.prior_mae.iloc[0]:.2f}, equal "
        f"weights on these draws {errors.pool_mae.mean():.2f}. On average "
        f"{errors.effective_sample_size.mean():.0f} of {params.pool_size} draws count "
        f"in the private weights."
    )


def spreads(result: Result) -> str:
    """How wide the posteriors are, against the prior."""
    errors, plain = result.tables["errors"], result.tables["non_private"]
    first = float(plain.epsilon_abc.iloc[0])
    parts = [
        f"without noise at ε_abc = {first:g}: {plain.spread[plain.epsilon_abc == first].mean():.2f}"
    ]
    means = errors.groupby("epsilon_abc", sort=False).spread.mean()
    parts += [f"private at ε_abc = {place:g}: {value:.2f}" for place, value in means.items()]
    return (
        f"Standard deviation in units of the prior's, averaged over the four parameters: "
        f"{'; '.join(parts)}."
    )


# --------------------------------------------------------------------------------------- figures


def figures(result: Result) -> dict[str, fig.Drawn]:
    """Errors of all runs, and the weighted posteriors, a row for each release."""
    params = cast(Params, result.params)
    return {
        "error": fig.Drawn(_error_figure(params, result), result.summary),
        "posterior": fig.Drawn(_posterior_figure(params, result), spreads(result)),
    }


def finding(result: Result) -> str:
    """What the weights with noise have learnt, against the prior and the weights without."""
    errors, plain = result.tables["errors"], result.tables["non_private"]
    first = float(errors.epsilon_abc.iloc[0])
    error = errors.mae[errors.epsilon_abc == first].mean()
    without = plain.mae[plain.epsilon_abc == first].mean()
    prior = float(errors.prior_mae.iloc[0])
    whose = f"{error:.1f} with noise, {without:.1f} without, {prior:.1f} by the prior"
    if sentences.little(error, prior):
        return f"With noise nothing is learnt: error {whose}"
    return f"Error at ε_abc = {first:g}: {whose}"


def _settings(params: Params, errors: pd.DataFrame) -> str:
    return f"ε_total = {params.epsilon_total:g}, δ = {params.delta:g}, {_over(params, errors)}"


def _error_figure(params: Params, result: Result) -> go.Figure:
    errors, plain = result.tables["errors"], result.tables["non_private"]
    figure = fig.figure(
        finding(result), "", "mean absolute error", settings=_settings(params, errors)
    )
    labels = {each: f"ε_abc = {each:g}" for each in params.epsilon_abc}
    for table, style in ((errors, fig.PRIVATE), (plain, fig.NON_PRIVATE)):
        x = np.array([labels[each] for each in table.epsilon_abc])
        if len(table) == len(labels):
            trace = fig.points(x, table.mae.to_numpy(), style).update(marker={"size": 12})
        else:
            trace = fig.boxes(x, table.mae.to_numpy(), style)
        figure.add_trace(trace)
    papers = {
        "reported by [P22]": (errors, "diamond"),
        "the same, no noise": (plain, "diamond-open"),
    }
    for style, (table, marker) in zip(fig.styles(list(papers)), papers.values(), strict=True):
        known = table.drop_duplicates("epsilon_abc").dropna(subset="paper_mae")
        x = np.array([labels[each] for each in known.epsilon_abc])
        if len(known):
            marks = fig.points(x, known.paper_mae.to_numpy(), style)
            figure.add_trace(marks.update(marker={"symbol": marker}))
    figure.update_traces(marker={"size": 12}, selector={"mode": "markers"})
    x = np.array(list(labels.values()))
    for column, style in BASELINES.items():
        figure.add_trace(fig.line(x, np.full(len(x), float(errors[column].mean())), style))
    return figure.update_yaxes(range=[0.0, max(6.0, 1.05 * float(errors.mae.max()))])


BASELINES = {
    "prior_mae": fig.PRIOR_MEAN,
    "pool_mae": dataclasses.replace(fig.GUIDE, name="equal weights"),
}


def _posterior_figure(params: Params, result: Result) -> go.Figure:
    """Histograms as in the paper: a row for each release, a column for each parameter."""
    shares = result.tables["shares"]
    first = params.epsilon_abc[0]
    rows = [("prior", first, fig.PRIOR), ("non-private", first, fig.NON_PRIVATE)]
    rows += [("private", each, fig.PRIVATE) for each in params.epsilon_abc]
    names = tuberculosis.axes(params.burden)
    titles = ["prior", *(f"{release}, ε_abc = {each:g}" for release, each, _ in rows[1:])]
    figure = make_subplots(
        rows=len(rows),
        cols=len(names),
        shared_xaxes="columns",
        shared_yaxes="all",
        column_titles=list(names),
        row_titles=[title.replace(", ", "<br>") for title in titles],
        horizontal_spacing=0.02,
        vertical_spacing=0.03,
    )
    chosen = dict(list(shares.groupby(["release", "epsilon_abc", "parameter"])))
    highest = max(0.4, float(shares.share.max()))
    for row, (release, epsilon_abc, style) in enumerate(rows, start=1):
        for column, name in enumerate(names, start=1):
            part = chosen[release, epsilon_abc, name]
            bars = go.Bar(
                x=((part.left + part.right) / 2.0).to_numpy(),
                y=part.share.to_numpy(),
                width=(part.right - part.left).to_numpy(),
                name=titles[row - 1],
                marker={"color": style.color, "line": {"width": 0}},
                showlegend=False,
            )
            figure.add_trace(bars, row=row, col=column)
            truth = np.full(2, float(tuberculosis.TRUTH[column - 1]))
            reference = dataclasses.replace(fig.TRUTH, name="estimate of the model's authors")
            line = fig.line(truth, np.array([0.0, highest]), reference)
            line.update(showlegend=row == column == 1)
            figure.add_trace(line, row=row, col=column)
    for column, ends in enumerate(names.values(), start=1):
        figure.update_xaxes(range=list(ends), col=column)
    figure.update_layout(
        template=fig.TEMPLATE,
        title={
            "text": width_finding(result),
            "subtitle": {"text": _settings(params, result.tables["errors"])},
        },
        height=150 + 110 * len(rows),
    )
    return figure.update_yaxes(range=[0.0, highest], tickvals=[0.0, 0.2])


def width_finding(result: Result) -> str:
    """How wide the weights with noise leave the parameters, against the prior."""
    errors = result.tables["errors"]
    first = float(errors.epsilon_abc.iloc[0])
    width = errors.spread[errors.epsilon_abc == first].mean()
    return f"With noise the posterior is {100.0 * width:.0f} % as wide as the prior"
