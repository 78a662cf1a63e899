r"""Check four statements about truncated answers, each computed in a second way.

Only ``reproduce`` runs this study; it has no page and no figures.

**One answer is private** (MATH A1). Over pairs of values and over answers, inside and far outside
the interval, the log densities of $Y$ differ by at most $\epsilon_{total}$.

**The best interval scales** (MATH A4). At another $\mu$ and $\sigma$ the best half-width is
searched anew, by the information in the density of an answer there (MATH A2). Inside $[l, r]$ the
squared score is integrated over the answer; outside the score is constant:

$$F_{11}(l, r) = s\,p(l)\,S(l)^2 + \int_l^r S(y)^2\,p(y)\,dy + s\,p(r)\,S(r)^2, \qquad
S = \partial_\mu \log p .$$

The half-width divided by $\sigma$, and $F_{11}\sigma^2$, should be those of the base distribution,
which come from another formula (MATH A3).

**Monte Carlo meets the integral.** [Y23] estimates the information from 1000 responses and, for
each of them, 10 000 values weighted by the noise density.

**The time of the paper's sampler.** Each person costs a sweep over all earlier values of every
particle (MATH A6), or over a few of them (MATH A13). Processor seconds per person depend on the
machine, so only ratios on one machine are compared.
"""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import optimize

from abcdp_core.adaptive import information, intervals, noise
from abcdp_core.adaptive import parameters as stream_params
from abcdp_core.adaptive.channels import Truncation
from abcdp_core.adaptive.families import NORMAL
from abcdp_core.adaptive.latent import Latent
from abcdp_core.adaptive.prior import Prior
from abcdp_core.adaptive.response import log_density_laplace, score_laplace
from abcdp_core.adaptive.stream import Stream
from abcdp_core.base import parameters as par
from abcdp_core.base.parameters import Params as BaseParams
from abcdp_core.base.parameters import scale
from abcdp_core.base.sentences import runs_in_words
from abcdp_core.base.streams import generator
from abcdp_core.run import tasks as cut
from abcdp_core.run.results import Result, Tables

EXPERIMENT = "truncation-theory"
COLUMNS = {
    "main": (
        "epsilon_total", "mu", "sigma", "half_width", "base_half_width",
        "information", "base_information",
    ),
    "ratio": ("epsilon_total", "interval", "left", "right", "log_ratio"),
    "estimates": ("epsilon_total", "run", "estimate", "exact", "log_estimate", "log_exact"),
    "cost": ("n", "refresh", "run", "seconds"),
}  # fmt: skip

SIZES = dataclasses.replace(
    stream_params.PEOPLE, low=2, high=2000, steps=(100, 200, 400, 800, 1600)
)
PARTICLES = dataclasses.replace(
    stream_params.PARTICLES, high=1000, steps=(10, 30, 100, 200, 300, 1000)
)
REFRESH = dataclasses.replace(stream_params.REFRESH, low=1)
DRAWS = scale("Responses", "Responses of a Monte Carlo estimate.", (10, 50, 100, 500, 1000))

VALUES_PER_RESPONSE = 10
"""Values weighted for each response, per response."""

TOGETHER = 50
"""Responses weighted at a time: 4 MB of values."""


@dataclass(frozen=True)
class Params(BaseParams):
    """Budgets, location and scale, sizes and repeats."""

    epsilon_total: tuple[float, ...] = par.EPSILON_TOTAL.field((1.0, 2.0, 5.0, 10.0))
    mu: float = stream_params.MU.field(50.0)
    sigma: float = stream_params.SIGMA.field(10**0.5)
    n: tuple[int, ...] = SIZES.field((200, 800))
    particles: int = PARTICLES.field(200)
    refresh: int = REFRESH.field(10)
    draws: int = DRAWS.field(1000)
    runs: int = par.RUNS.field(3)


PRESETS: dict[str, BaseParams] = {}


Task = cut.Run[Params]

tasks = cut.per_run


def work(task: Task) -> Tables:
    """Compare both ways of each statement; the first run also does what is not random."""
    params = task.params
    budgets = params.epsilon_total if task.run == 0 else ()
    rows: dict[str, list[tuple[Any, ...]]] = {
        "main": [_scaled(params, budget) for budget in budgets],
        "ratio": [row for budget in budgets for row in _ratios(params, budget)],
        "estimates": [_estimate(task, budget) for budget in params.epsilon_total],
        "cost": [
            (n, refresh, task.run, _seconds(task, n, refresh))
            for n in params.n
            for refresh in (0, params.refresh)
        ],
    }
    return {name: _table(name, rows[name]) for name in COLUMNS}


_KINDS = {"interval": str, "run": int, "n": int, "refresh": int}


def _table(name: str, rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    columns = list(COLUMNS[name])
    kinds = {column: _KINDS.get(column, float) for column in columns}
    return pd.DataFrame(rows, columns=columns).astype(kinds)


def _scaled(params: Params, budget: float) -> tuple[float, ...]:
    """Return the best half-width in σ and its information, here and for the base distribution."""

    def scaled(log_half: float) -> float:
        half = params.sigma * float(np.exp(log_half))
        return information_at(params.mu, params.sigma, half, budget) * params.sigma**2

    base = intervals.best(1.0 / budget)
    # The search finds the one maximum within this reach of the base distribution's.
    middle = float(np.log(base.b))
    best = optimize.minimize_scalar(
        lambda x: -scaled(x), bounds=(middle - 0.7, middle + 0.6), method="bounded",
        options={"xatol": 1e-7},
    )  # fmt: skip
    half = float(np.exp(best.x))
    exact = (base.b, scaled(best.x), float(base.information[0, 0]))
    return budget, params.mu, params.sigma, half, *exact


def information_at(mu: float, sigma: float, half: float, epsilon_total: float) -> float:
    """Return F₁₁ of an answer in μ ± ``half`` from its density at (μ, σ) (MATH A2)."""
    left, right = mu - half, mu + half
    scale = (right - left) / epsilon_total
    panels = int(np.ceil((right - left) / min(sigma, 4.0 * scale)))
    edges = np.linspace(left, right, 2 * panels + 1)
    middles, reach = 0.5 * (edges[1:] + edges[:-1]), 0.5 * (edges[1] - edges[0])
    nodes = (middles[:, None] + reach * information.NODES).ravel()
    weights = np.tile(reach * information.WEIGHTS, len(middles))
    at = np.array(
        [
            np.exp(log_density_laplace(y, left, right, scale, mu, sigma))
            * score_laplace(y, left, right, scale, mu, sigma)[0] ** 2
            for y in (left, right, *nodes.tolist())
        ]
    )
    return float(scale * (at[0] + at[1]) + weights @ at[2:])


def _ratios(params: Params, budget: float) -> list[tuple[Any, ...]]:
    """Return the largest difference of log densities, for two intervals."""
    best = intervals.best(1.0 / budget)
    rows = []
    for name, half in (("best", best.b), ("fixed", 10.0)):
        left, right = params.mu - half * params.sigma, params.mu + half * params.sigma
        scale = (right - left) / budget
        values = np.linspace(2 * left - right, 2 * right - left, 31)
        far = 20.0 * scale
        answers = np.unique([*np.linspace(left - far, right + far, 2001), left, right])
        away = (answers - np.clip(values, left, right)[:, None]) / scale
        logs = information.LAPLACE.log_density(away)
        rows.append((budget, name, left, right, float(np.ptp(logs, axis=0).max())))
    return rows


def _estimate(task: Task, budget: float) -> tuple[Any, ...]:
    """Return the paper's Monte Carlo estimate of the information about μ, and the integral."""
    params = task.params
    best = intervals.best(1.0 / budget)
    rng = generator(task.seed, "information", task.run, params.epsilon_total.index(budget))
    chunks = -(-params.draws // TOGETHER)
    sizes = [len(part) for part in np.array_split(np.arange(params.draws), chunks)]
    estimates = [
        information.monte_carlo(
            rng,
            information.LAPLACE,
            NORMAL,
            (best.a, best.b),
            1.0 / budget,
            size,
            VALUES_PER_RESPONSE * params.draws,
        ).information[0, 0]
        for size in sizes
    ]
    estimate, exact = float(np.average(estimates, weights=sizes)), float(best.information[0, 0])
    return budget, task.run, estimate, exact, float(np.log(estimate)), float(np.log(exact))


def _seconds(task: Task, n: int, refresh: int) -> float:
    """Return processor seconds per person of the paper's sampler, once it is compiled."""
    params = task.params
    unit_scale = noise.unit_scale("laplace", 1.0, 0.0)
    sampler = Latent(Prior(), "laplace", params.particles, refresh)
    channel = Truncation(params.mu - params.sigma, params.mu + params.sigma, "laplace", unit_scale)
    stream = Stream(sampler, channel, fixed=True, seed=task.seed, run=task.run)
    rng = generator(task.seed, "people", task.run)
    values = params.mu + params.sigma * rng.standard_normal(n)
    noises = noise.draw(rng, "laplace", n)
    list(stream.ask(None, 0, values[:2], noises[:2]))
    start = time.process_time()
    for _ in stream.ask(None, 0, values, noises):
        pass
    return (time.process_time() - start) / n


def collect(params: Params, rows: Tables) -> Result:
    """Return the result so far."""
    return Result(
        EXPERIMENT,
        params,
        rows,
        _summary(params, rows),
        "This study reads no data: everything follows from theory and is public.",
    )


def _summary(params: Params, rows: Tables) -> str:
    main, ratio, estimates = (rows[name] for name in ("main", "ratio", "estimates"))
    half_widths = (main.half_width / main.base_half_width - 1.0).abs().max()
    contents = (main.information / main.base_information - 1.0).abs().max()
    largest = (ratio.log_ratio / ratio.epsilon_total).max()
    means = estimates.groupby("epsilon_total")[["estimate", "exact"]].mean()
    off = (means.estimate / means.exact - 1.0).abs().max()
    return (
        f"One answer's log densities differ by at most {largest:.6g} × ε_total. At μ = "
        f"{params.mu:.4g}, σ = {params.sigma:.3g}, the best half-widths match those of the base "
        f"distribution to a relative error of {half_widths:.1g}, and their information to "
        f"{contents:.1g}. The Monte Carlo estimate with {params.draws:,} responses, averaged over "
        f"{runs_in_words(estimates)}, is off by up to {100 * off:.2g} %."
    )
