r"""What does a noisy distance tell, and how much noise does a budget ask for?

Two older versions of ABCDP ([P22]) add Gaussian noise to the distance of every draw. *Rejection*
decides by it, $\min(\rho_t, B_\rho) + N(0, \sigma^2) \le \epsilon_{abc}$; *soft weights* use it in
units of the threshold, $\rho_t / \epsilon_{abc} + N(0, \sigma^2)$. Nothing is simulated here: all
follows from formulas.

*At the same σ, is a larger threshold more private?* For soft weights it is. Their loss, as the
Rényi divergence of order $\alpha$ of one noisy distance, is

$$\epsilon'(\alpha) = \frac{\alpha}{2} \Bigl(\frac{\Delta}{\sigma\,\epsilon_{abc}}\Bigr)^2
\qquad \text{(MATH W2)}$$

and shown at $\alpha = 2$. But to divide by a larger threshold is to add more noise to the distance:
in its own unit the noise is $\sigma\,\epsilon_{abc}$.

A decision of rejection loses most when its rarest outcome happens, and how rare that is depends on
$x = \min(\epsilon_{abc} - B_\rho, -\epsilon_{abc})$ alone, by the paper's bound (MATH R1) and
exactly (MATH R2). Below $\epsilon_{abc} = B_\rho / 2$ the rarest is an acceptance at
$\rho = B_\rho$, above it is a rejection at $\rho = 0$. So the loss falls up to half the bound, and
rises again from there.

*For the same budget*, all $T$ draws together, rejection under pure differential privacy needs noise
that grows in proportion to $T$, soft weights with a $\delta$ noise that grows with its root: the
second table, in units of the distance for both.
"""

from __future__ import annotations

import dataclasses
import itertools
from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from abcdp_core import experiments
from abcdp_core import figures as fig
from abcdp_core import parameters as par
from abcdp_core.mechanisms import gaussian_rejection as rejection
from abcdp_core.parameters import Parameter
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.privacy import GaussianSeries, gaussian_series
from abcdp_core.results import Result, Tables
from abcdp_core.sentences import plain
from abcdp_core.simulators import uniform_mixture

EXPERIMENT = "gaussian-loss"
TITLE = "What a distance with Gaussian noise tells, by its threshold"
COLUMNS = {
    "main": ("n", "bound", "epsilon_abc", "sigma", "sensitivity", "published", "exact", "renyi"),
    "noise": (
        "n", "bound", "epsilon_abc", "epsilon_total", "delta", "published", "exact",
        "soft_published", "soft_exact", "soft_scaled",
    ),
}  # fmt: skip

ORDER = 2.0
"""Order α of the Rényi divergence shown."""

SIGMA = Parameter(
    kind="real",
    label="σ · standard deviation of the noise",
    help="Added to the clipped distance for a decision, to the distance over ε_abc for a weight.",
    low=0.001,
    high=100.0,
    steps=(0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0),
)
BOUND = Parameter(
    kind="real",
    label="B_ρ · bound that distances are clipped at",
    help="In the unit of the distance, which is at most √2, by the published account 2.",
    low=0.01,
    high=2.0,
    steps=(0.05, 0.1, 0.2, 0.5, 1.0, 1.4, 2.0),
)


@dataclass(frozen=True)
class Params(BaseParams):
    """Every combination of the lists."""

    epsilon_abc: tuple[float, ...] = uniform_mixture.EPSILON_ABC.field(
        (0.01, 0.02, 0.05, 0.075, 0.1, 0.125, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5), many=True
    )
    bound: tuple[float, ...] = BOUND.field((0.2, 0.5), many=True)
    sigma: tuple[float, ...] = SIGMA.field(0.1, many=True)
    epsilon_total: tuple[float, ...] = par.EPSILON_TOTAL.field(par.EPSILON_TOTAL_DEFAULT, many=True)
    delta: float = par.DELTA.field(1e-4)
    n: tuple[int, ...] = uniform_mixture.N.field(uniform_mixture.N_DEFAULT, many=True)
    pool_size: int = par.POOL_SIZE.field(1000)
    sensitivity: str = par.SENSITIVITY.field("sharp")


PRESETS: dict[str, BaseParams] = {}

tasks = experiments.single_task


def work(task: experiments.SingleTask[Params]) -> Tables:
    """Losses at the noise given, and the noise for each budget."""
    params = task.params
    several = list(itertools.product(params.n, params.bound, params.epsilon_abc))
    losses = [
        (*setting, sigma, *_losses(params, *setting, sigma))
        for setting in several
        for sigma in params.sigma
    ]
    noise = [
        (*setting, budget, params.delta, *_scales(params, *setting, budget))
        for setting in several
        for budget in params.epsilon_total
    ]
    return {
        "main": pd.DataFrame(losses, columns=list(COLUMNS["main"])),
        "noise": pd.DataFrame(noise, columns=list(COLUMNS["noise"])),
    }


def _losses(
    params: Params, n: int, bound: float, epsilon_abc: float, sigma: float
) -> tuple[float, ...]:
    """Δ; ε of one decision by both accounts; Rényi divergence of one weight's distance."""
    change = uniform_mixture.distance().sensitivity(n, params.sensitivity)
    decision = rejection.GaussianRejection(change, bound, epsilon_abc, sigma, 1)
    mu = gaussian_series.joint_mu(GaussianSeries(change / epsilon_abc, sigma, 1))
    both = (rejection.decision_epsilon(decision, each) for each in rejection.ACCOUNTANTS)
    return (change, *both, ORDER * mu**2 / 2.0)


def _scales(
    params: Params, n: int, bound: float, epsilon_abc: float, budget: float
) -> tuple[float, ...]:
    """Noise on the distance: rejection by both accounts, soft weights by both; σ of the first."""
    change = uniform_mixture.distance().sensitivity(n, params.sensitivity)
    decisions = (
        rejection.calibrate(budget, change, bound, epsilon_abc, params.pool_size, each).scale
        for each in rejection.ACCOUNTANTS
    )
    soft = (
        gaussian_series.calibrate(budget, params.delta, params.pool_size, moved, account).scale
        for moved, account in (
            (change, "rdp-classic"),
            (change, "exact"),
            (change / epsilon_abc, "rdp-classic"),
        )
    )
    return (*decisions, *soft)


# --------------------------------------------------------------------------------------- finding


def collect(params: Params, rows: Tables) -> Result:
    """The result of the one task."""
    privacy = "Nothing private is used: costs follow from the noise, and noise from a budget."
    return Result(EXPERIMENT, params, rows, _summary(params, rows), privacy)


def _summary(params: Params, rows: Tables) -> str:
    main, noise = rows["main"], rows["noise"]
    first = main[
        (main.n == params.n[0]) & (main.bound == params.bound[0]) & (main.sigma == params.sigma[0])
    ]
    least = first.iloc[int(np.argmin(first.exact.to_numpy()))]
    row = noise[(noise.n == params.n[0]) & (noise.bound == params.bound[0])].iloc[0]
    cost = f"ε_abc = {least.epsilon_abc:g} costs ε = {plain(least.exact, 2)} for one decision"
    if len(params.epsilon_abc) > 1:
        cost = (
            f"of the thresholds shown ε_abc = {least.epsilon_abc:g} costs the least for one "
            f"decision, ε = {plain(least.exact, 2)}"
        )
    return (
        f"At N = {params.n[0]:,}, with noise of σ = {params.sigma[0]:g} and distances clipped at "
        f"B_ρ = {params.bound[0]:g}, {cost}; half the bound is "
        f"{params.bound[0] / 2:g}. For ε_total = {row.epsilon_total:g}, T = {params.pool_size:,} "
        f"and ε_abc = {row.epsilon_abc:g} the noise on a distance is {plain(row.exact, 2)} for "
        f"rejection and, with δ = {params.delta:g}, {plain(row.soft_exact, 2)} for soft weights."
    )


# --------------------------------------------------------------------------------------- figures


def figures(result: Result) -> dict[str, fig.Drawn]:
    """Loss against the threshold at the same σ; noise against the threshold at the same budget."""
    return {
        "loss": fig.Drawn(_loss_figure(result), result.summary),
        "noise": fig.Drawn(_noise_figure(result), _noises_sentence(result)),
    }


def _noises_sentence(result: Result) -> str:
    """How much noise a budget asks for over the thresholds, by either mechanism."""
    params, noise = cast(Params, result.params), result.tables["noise"]
    budget, bound = params.epsilon_total[0], params.bound[0]
    part = noise[
        (noise.n == params.n[0]) & (noise.epsilon_total == budget) & (noise.bound == bound)
    ]
    return (
        f"Standard deviation that ε_total = {budget:g} asks for over the thresholds shown, by the "
        f"exact account at N = {params.n[0]:,}, T = {params.pool_size:,} and B_ρ = {bound:g}: "
        f"{_span(part.exact)} for rejection; with δ = {params.delta:g}, {_span(part.soft_exact)} "
        f"for soft weights."
    )


def _span(values: pd.Series[float]) -> str:
    """The smallest and the largest value, once if they are the same to the digits shown."""
    return " to ".join(dict.fromkeys((plain(values.min(), 2), plain(values.max(), 2))))


REJECTION, SOFT = (fig.mechanism(name) for name in ("gaussian-rejection", "soft-weights"))

STYLES = {
    "published": dataclasses.replace(REJECTION, name="rejection, published bound", dash="dash"),
    "exact": dataclasses.replace(REJECTION, name="rejection, exact"),
    "renyi": dataclasses.replace(
        SOFT, name="soft weights, Rényi divergence of order 2", marker="diamond"
    ),
    "soft_published": dataclasses.replace(
        SOFT, name="soft weights, published", dash="dash", marker="diamond"
    ),
    "soft_exact": dataclasses.replace(SOFT, name="soft weights, exact", marker="triangle-up"),
}


def _loss_figure(result: Result) -> go.Figure:
    params, main = cast(Params, result.params), result.tables["main"]
    part = main[(main.n == params.n[0]) & (main.sigma == params.sigma[0])]
    settings = f"σ = {params.sigma[0]:g}, N = {params.n[0]:,}"
    columns = ("published", "exact", "renyi")
    return _figure(params, part, columns, loss_finding(result), settings, "loss of one draw")


def loss_finding(result: Result) -> str:
    """Whether a larger threshold is more private, at the first bound."""
    params, main = cast(Params, result.params), result.tables["main"]
    first = main[(main.n == params.n[0]) & (main.bound == params.bound[0])]
    first = first[first.sigma == params.sigma[0]].sort_values("epsilon_abc")
    least = float(first.epsilon_abc.iloc[int(np.argmin(first.exact.to_numpy()))])
    if len(first) == 1:
        return f"What one draw gives away at ε_abc = {least:g}"
    return f"A decision gives away least at ε_abc = {least:g}, a weight at {_last(first):g}"


def _last(part: pd.DataFrame) -> float:
    return float(part.epsilon_abc.iloc[int(np.argmin(part.renyi.to_numpy()))])


def _noise_figure(result: Result) -> go.Figure:
    params, noise = cast(Params, result.params), result.tables["noise"]
    budget = params.epsilon_total[0]
    part = noise[(noise.n == params.n[0]) & (noise.epsilon_total == budget)]
    settings = f"ε_total = {budget:g}, N = {params.n[0]:,}, T = {params.pool_size:,}"
    columns = ("published", "exact", "soft_published", "soft_exact")
    return _figure(params, part, columns, noise_finding(part), settings, "noise on a distance")


def noise_finding(part: pd.DataFrame) -> str:
    """How much more noise decisions need than weights, by the exact account."""
    ratio = (part.exact / part.soft_exact).to_numpy(float)
    low, high = plain(float(ratio.min()), 2), plain(float(ratio.max()), 2)
    times = low if low == high else f"{low} to {high}"
    return f"Decisions take {times} times the noise of soft weights"


def _figure(
    params: Params,
    table: pd.DataFrame,
    columns: tuple[str, ...],
    title: str,
    settings: str,
    y: str,
) -> go.Figure:
    """A panel for each bound, with half of it marked."""
    titles = [f"B_ρ = {bound:g}" for bound in params.bound]
    figure = fig.panels(titles, title, "ε_abc", y)
    figure.layout.title.subtitle.text = settings
    shown = table[list(columns)].to_numpy()
    finite = shown[np.isfinite(shown) & (shown > 0.0)]
    ends = (float(finite.min()), float(finite.max()))
    for index, bound in enumerate(params.bound):
        part = table[table.bound == bound].sort_values("epsilon_abc")
        for column in columns:
            style = STYLES[column]
            line = fig.line(part.epsilon_abc.to_numpy(), part[column].to_numpy(), style)
            line.update(mode="lines+markers", marker={"symbol": style.marker, "size": 7})
            figure.add_trace(line.update(showlegend=index == 0, **fig.panel(index)))
        half = fig.line(np.full(2, bound / 2.0), np.array(ends), _HALF)
        figure.add_trace(half.update(showlegend=index == 0, **fig.panel(index)))
    left, right = min(params.epsilon_abc), max(*params.epsilon_abc, 0.5)
    figure.update_xaxes(fig.plain_ticks(left, right, most=4))
    return figure.update_yaxes(fig.plain_ticks(ends[0] / 1.2, ends[1] * 1.2))


_HALF = dataclasses.replace(fig.GUIDE, name="half the bound")
