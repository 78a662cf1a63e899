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

The paper reports one error for each threshold, against the posterior mean that Lintusaari et al.
report for these data; nobody knows the truth. Here runs differ in their noise alone: data, pool and
distances are the same. The error is the mean absolute difference over four parameters in their own
units, in which $\beta$ and $t_1$ count most; scaled, each is divided by its prior standard
deviation. Whether anything was learnt shows against *equal weights* on the same draws; their mean
differs from that of the prior by chance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import experiments, summaries
from abcdp_core import figures as fig
from abcdp_core import parameters as par
from abcdp_core.experiments import posterior, soft_abc
from abcdp_core.mechanisms import Ordered, soft_weights
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.privacy import statement
from abcdp_core.results import Result, Tables
from abcdp_core.simulators import tuberculosis
from abcdp_core.streams import generator

Array = NDArray[np.float64]

EXPERIMENT = "tuberculosis-soft"
TITLE = "Soft weights for the outbreak of San Francisco"
COLUMNS = {
    "main": ("release", "epsilon_abc", "run", "parameter", "value"),
    "errors": (
        "epsilon_abc", "run", "ess", "mae", "mae_scaled", "non_private_mae", "pool_mae",
        "prior_mae", "paper_mae",
    ),
    "non_private": ("epsilon_abc", "ess", "mae", "mae_scaled", "paper_mae"),
    "shares": ("release", "epsilon_abc", "parameter", "left", "right", "share"),
}  # fmt: skip

PAPER = {20.0: 4.12, 80.0: 4.05}
"""Threshold -> error that [P22] Figure 4 reports, of one run, ε_total = 4 and δ = 1e-4."""

PAPER_NON_PRIVATE = 3.10
"""The same without noise; at which threshold is not known to us."""

PAPER_BUDGET = (4.0, 1e-4)

BINS = 24


@dataclass(frozen=True)
class Params(BaseParams):
    """Thresholds, budget, and how often the noise is drawn."""

    epsilon_abc: tuple[float, ...] = tuberculosis.EPSILON_ABC.field((20.0, 80.0), many=True)
    epsilon_total: float = par.EPSILON_TOTAL.field(4.0)
    delta: float = par.DELTA.field(1e-4)
    accountant: str = soft_abc.ACCOUNTANT.field("exact")
    pool_size: int = tuberculosis.POOL_SIZE.field(tuberculosis.POOL_SIZE_DEFAULT)
    burden: str = tuberculosis.BURDEN.field("variance 30")
    runs: int = par.RUNS.field(100)
    noise_draw: int = par.NOISE_DRAW.field(0)

    def setting(self, epsilon_abc: float, *, private: bool = True) -> soft_weights.Setting:
        """What is asked of the mechanism at one threshold."""
        return soft_weights.Setting(
            self.epsilon_total if private else math.inf,
            self.delta,
            epsilon_abc,
            tuberculosis.distance().sensitivity(1),
            self.accountant,
        )


PRESETS: dict[str, BaseParams] = {"p22-figure-4": Params(accountant="rdp-classic")}

tasks = experiments.whole


def work(task: experiments.Whole[Params]) -> Tables:
    """Weights without noise and with every noise, at every threshold."""
    params = task.params
    theta, rho = tuberculosis.shipped(params.pool_size, 1, 0, params.burden)
    found = [_at(params, task.seed, theta, rho, epsilon_abc) for epsilon_abc in params.epsilon_abc]
    return {
        name: pd.concat([pd.DataFrame(tables[name]) for tables in found], ignore_index=True)[
            list(columns)
        ]
        for name, columns in COLUMNS.items()
    }


def _at(
    params: Params, seed: int, theta: Array, rho: Array, epsilon_abc: float
) -> dict[str, pd.DataFrame]:
    """All tables' rows of one threshold."""
    plain = _weights(params, rho, epsilon_abc, generator(seed, "noise"), private=False)[None]
    noisy = np.stack(
        [
            _weights(params, rho, epsilon_abc, generator(seed, "noise", run, params.noise_draw))
            for run in range(params.runs)
        ]
    )
    everywhere = np.full((1, len(theta)), 1.0 / len(theta))
    weights = {"prior": everywhere, "non-private": plain, "private": noisy}
    paper, paper_plain = _reported(params, epsilon_abc)
    prior = tuberculosis.PRIORS[params.burden]
    non_private = _errors(plain, theta, prior).assign(paper_mae=paper_plain)
    errors = _errors(noisy, theta, prior).assign(
        run=np.arange(params.runs),
        non_private_mae=float(non_private.mae.iloc[0]),
        pool_mae=float(_errors(everywhere, theta, prior).mae.iloc[0]),
        prior_mae=float(np.abs(prior.mean - tuberculosis.TRUTH).mean()),
        paper_mae=paper,
    )
    tables = {
        "main": pd.concat(
            [_means(name, weights[name], theta) for name in ("non-private", "private")]
        ),
        "errors": errors,
        "non_private": non_private,
        "shares": pd.concat(
            [_shares(params, name, each.mean(axis=0), theta) for name, each in weights.items()]
        ),
    }
    return {name: table.assign(epsilon_abc=epsilon_abc) for name, table in tables.items()}


def _weights(
    params: Params,
    rho: Array,
    epsilon_abc: float,
    rng: np.random.Generator,
    *,
    private: bool = True,
) -> Array:
    setting = params.setting(epsilon_abc, private=private)
    return soft_weights.release(Ordered(rho), setting, rng)[0].weights


def _reported(params: Params, epsilon_abc: float) -> tuple[float, float]:
    """The paper's error with and without noise; NaN where it has none."""
    if (params.epsilon_total, params.delta) != PAPER_BUDGET or epsilon_abc not in PAPER:
        return math.nan, math.nan
    return PAPER[epsilon_abc], PAPER_NON_PRIVATE


def _errors(weights: Array, theta: Array, prior: tuberculosis.Moments) -> pd.DataFrame:
    """One row for each of the weights ``(k, T)``."""
    difference = np.abs(weights @ theta - tuberculosis.TRUTH)
    return pd.DataFrame(
        {
            "ess": [summaries.effective_sample_size(each) for each in weights],
            "mae": difference.mean(axis=1),
            "mae_scaled": (difference / prior.deviation).mean(axis=1),
        }
    )


def _means(release: str, weights: Array, theta: Array) -> pd.DataFrame:
    """Weighted mean of every parameter for each of the weights ``(k, T)``."""
    names = list(tuberculosis.AXES)
    means = np.stack([summaries.weighted_mean(theta, each) for each in weights])
    return pd.DataFrame(
        {
            "release": release,
            "run": np.repeat(np.arange(len(weights)), len(names)),
            "parameter": np.tile(np.array(names), len(weights)),
            "value": means.ravel(),
        }
    )


def _shares(params: Params, release: str, weights: Array, theta: Array) -> pd.DataFrame:
    """Weighted histogram of every parameter for weights ``(T,)``."""
    tables = []
    for column, (name, ends) in enumerate(_ends(params).items()):
        edges = np.linspace(*ends, BINS + 1)
        shares, _ = np.histogram(theta[:, column], edges, weights=weights)
        part = {"parameter": name, "left": edges[:-1], "right": edges[1:], "share": shares}
        tables.append(pd.DataFrame({"release": release, **part}))
    return pd.concat(tables)


def _ends(params: Params) -> dict[str, tuple[float, float]]:
    """Ends of the parameters' axes; those of β follow its prior."""
    prior = tuberculosis.PRIORS[params.burden]
    reach, centre = 3.5 * float(prior.deviation[-1]), float(prior.mean[-1])
    ends = dict(tuberculosis.AXES)
    *_, (name, (low, high)) = ends.items()
    return ends | {name: (min(low, centre - reach), max(high, centre + reach))}


# --------------------------------------------------------------------------------------- finding


def collect(params: Params, rows: Tables) -> Result:
    """The result of the one task."""
    event = params.setting(params.epsilon_abc[0]).event(params.pool_size)
    privacy = (
        f"{statement(event, tuberculosis.PROTECTED, params.delta)} There is one outbreak, a whole "
        f"city's two years; who fell ill in it is not protected one by one."
        f"{soft_abc.overpaid(params.epsilon_total, params.accountant)}"
    )
    return Result(EXPERIMENT, params, rows, _summary(params, rows), privacy, event)


def _summary(params: Params, rows: Tables) -> str:
    errors, plain = rows["errors"], rows["non_private"].set_index("epsilon_abc")
    shown = [params.epsilon_abc[0], params.epsilon_abc[-1]]
    parts = []
    for epsilon_abc in dict.fromkeys(shown):
        part = errors[errors.epsilon_abc == epsilon_abc]
        spread = f" ± {part.mae.std():.2g}" if len(part) > 1 else ""
        parts.append(
            f"{part.mae.mean():.2f}{spread} private and {plain.mae[epsilon_abc]:.2f} without noise "
            f"at ε_abc = {epsilon_abc:g}"
        )
    return (
        f"Mean absolute error of the posterior mean over {params.runs} "
        f"{'noise' if params.runs == 1 else 'noises'}: {'; '.join(parts)}. The prior mean alone "
        f"has {errors.prior_mae.iloc[0]:.2f}, equal weights on these draws "
        f"{errors.pool_mae.iloc[0]:.2f}. On average {errors.ess.mean():.0f} of "
        f"{params.pool_size} draws count in the private weights."
    )


# --------------------------------------------------------------------------------------- figures


def figures(result: Result) -> dict[str, go.Figure]:
    """Errors of all noises, and the weighted posterior at each threshold."""
    params = cast(Params, result.params)
    drawn = {"error": _error_figure(params, result)}
    for epsilon_abc in params.epsilon_abc:
        name = f"posterior-{epsilon_abc:g}".replace(".", "-")
        drawn[name] = _posterior_figure(params, result, epsilon_abc)
    return drawn


def _error_figure(params: Params, result: Result) -> go.Figure:
    errors, plain = result.tables["errors"], result.tables["non_private"]
    figure = fig.figure(
        f"Error of the posterior mean over {params.runs} noises "
        f"(ε_total = {params.epsilon_total:g}, δ = {params.delta:g})",
        "",
        "mean absolute error",
    )
    labels = {each: f"ε_abc = {each:g}" for each in params.epsilon_abc}
    figure.add_trace(
        go.Box(
            x=np.array([labels[each] for each in errors.epsilon_abc]),
            y=errors.mae.to_numpy(),
            name=fig.PRIVATE.name,
            line={"color": fig.PRIVATE.color, "width": 1.5},
            marker={"color": fig.PRIVATE.color, "size": 4, "opacity": 0.6},
            boxmean=True,
        )
    )
    x = np.array([labels[each] for each in plain.epsilon_abc])
    papers = {
        "[P22], one run": errors.drop_duplicates("epsilon_abc").paper_mae.to_numpy(),
        "[P22], no noise": plain.paper_mae.to_numpy(),
    }
    figure.add_trace(fig.points(x, plain.mae.to_numpy(), fig.NON_PRIVATE))
    for (name, values), marker in zip(papers.items(), ("diamond", "diamond-open"), strict=True):
        known = np.isfinite(values)
        style = fig.Style(name, fig.PURPLE, marker=marker)
        figure.add_trace(fig.points(x[known], values[known], style))
    figure.update_traces(marker={"size": 12}, selector={"mode": "markers"})
    for column, style in BASELINES.items():
        figure.add_trace(fig.line(x, np.full(len(x), float(errors[column].iloc[0])), style))
    return figure.update_yaxes(range=[0.0, 6.0])


BASELINES = {
    "prior_mae": fig.Style("prior mean", fig.GREY, "dot"),
    "pool_mae": fig.Style("equal weights", fig.GREEN, "dash"),
}

STYLES = {
    "private": fig.PRIVATE,
    "non-private": fig.NON_PRIVATE,
    "prior": fig.PRIOR,
}
"""The prior last, which the private ones would hide."""


def _posterior_figure(params: Params, result: Result, epsilon_abc: float) -> go.Figure:
    """Weighted shares of every parameter, the private ones averaged over all noises."""
    shares = result.tables["shares"]
    chosen = dict(list(shares[shares.epsilon_abc == epsilon_abc].groupby(["release", "parameter"])))
    ends = _ends(params)
    figure = fig.stack(
        list(ends),
        f"Posterior of San Francisco, average over {params.runs} noises "
        f"(ε_abc = {epsilon_abc:g}, ε_total = {params.epsilon_total:g})",
        "value of the parameter",
        list(ends.values()),
        row_height=120,
    )
    for row, name in enumerate(ends):
        for release, style in STYLES.items():
            part = chosen[release, name]
            edges = np.append(part.left.to_numpy(), part.right.to_numpy()[-1])
            line = fig.line(np.repeat(edges, 2)[1:-1], np.repeat(part.share.to_numpy(), 2), style)
            figure.add_trace(
                line.update(showlegend=row == 0, legendgroup=release, **fig.panel(row))
            )
        reference = posterior.truth_line(float(tuberculosis.TRUTH[row]), row)
        figure.add_trace(reference.update(name="reference"))
    return figure.update_yaxes(range=[0.0, 0.4], tickvals=[0.0, 0.2])
