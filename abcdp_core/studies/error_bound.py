r"""How far can the private estimate be from the non-private one?

[P21] Theorem 2 bounds the expected distance between the mean of the draws kept with noise and the
mean of the draws kept without noise (MATH B1):

$$\mathbb{E}\Big\|\tfrac1c\sum_t \theta_t\tilde\tau_t - \tfrac1{c'}\sum_t \theta_t\tau_t\Big\|
\le \frac{2K_T}{c'}\sum_t G_b(|\rho_t - \epsilon_{abc}|), \qquad K_T = \max_t\|\theta_t\|.$$

By Markov's inequality, the error is then at most $a$ with probability at least (MATH B2)

$$1 - \frac{4K_T}{3ac'}\sum_t e^{-|\rho_t - \epsilon_{abc}|/2b}.$$

**Scope.** The theorem covers a run that goes through the whole pool without stopping and never
redraws the threshold, given that draws are kept both with and without noise. The scale $b$ is fixed
in advance. So runs here do not stop, and $c$ only determines $b$. The distance never exceeds
$2K_T$, so a larger bound is vacuous. As $N$ grows, distance and bound go to 0 (MATH B3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from abcdp_core import figures as fig
from abcdp_core.base import parameters as par
from abcdp_core.base.sentences import counted, plain
from abcdp_core.base.streams import generator
from abcdp_core.base.summaries import binomial_interval
from abcdp_core.evaluation.one_release import SparseVectorParams
from abcdp_core.evaluation.theory.error_bound import (
    expected_error,
    largest_norm,
    probability_within,
)
from abcdp_core.figures.lines import Lines
from abcdp_core.mechanisms import sparse_vector
from abcdp_core.models.simulators.uniform_mixture import SCENARIO as MIXTURE
from abcdp_core.studies.engine import Result, Run, RunTable, Study
from abcdp_core.studies.engine.errors import StudyData, own_pool

EXPERIMENT = "error-bound"
TITLE = "Distance between the private and the non-private estimate, and its bound"
MAY_BE_LONG = True

MAIN = (
    "n c epsilon_total epsilon_abc resample noise_scale run accepted non_private error bound "
    "trivial"
)
"""Columns; ``accepted`` and ``non_private`` count the draws kept with noise and without."""

DISTANCES = (0.05, 0.1, 0.2, 0.5)  # Values of a in MATH B2


@dataclass(frozen=True)
class Params(SparseVectorParams):
    """Settings of runs that never stop; c determines only the noise."""

    epsilon_total: float = par.EPSILON_TOTAL.field(par.EPSILON_TOTAL_DEFAULT)
    n: tuple[int, ...] = MIXTURE.n.field((100, 300, 1000, 3000, 5000))
    runs: int = par.RUNS.field(60)
    noise_draw: int = par.NOISE_DRAW.field(0)


missing_pools = own_pool


def errors_of(run: Run[Params]) -> pd.DataFrame:
    """Tabulate errors and bounds by size and run; NaN if either side keeps nothing."""
    own, params = StudyData.of(run), run.params
    rows = []
    for n in sorted(params.n):
        comparison = own.comparison(n)
        rho, theta = comparison.rho, comparison.theta
        asked = params.epsilon_total, comparison.sensitivity(params.sensitivity), params.c
        event = sparse_vector.calibrate(*asked, resample=params.resample)
        scale, largest = event.threshold_scale, largest_norm(theta)
        endless = replace(event, query_scale=2.0 * scale, c=params.pool_size)
        close = np.flatnonzero(rho <= params.epsilon_abc)
        bound = expected_error(rho, params.epsilon_abc, scale, largest)
        shared = {"n": n, "noise_scale": scale, "bound": bound, "trivial": 2.0 * largest}
        for number in range(params.runs):
            rng = generator(run.seed, "noise", number, params.noise_draw)
            kept = sparse_vector.run(rho, params.epsilon_abc, endless, rng)[0].indices
            error = math.nan
            if len(kept) and len(close):
                error = float(np.linalg.norm(theta[kept].mean(axis=0) - theta[close].mean(axis=0)))
            counts = {"accepted": len(kept), "non_private": len(close)}
            rows.append(vars(params) | shared | counts | {"run": number, "error": error})
    return pd.DataFrame(rows, columns=MAIN.split())


def within(main: pd.DataFrame, run: Run[Params]) -> list[tuple[Any, ...]]:
    """Return the share of errors above each distance, and the share that the theorem allows."""
    own, rows = StudyData.of(run), []
    for n in sorted(run.params.n):
        part = main[main.n == n]
        first, errors = part.iloc[0], part.error.dropna()
        settings = (own.comparison(n).rho, first.epsilon_abc, first.noise_scale, first.trivial / 2)
        for distance in DISTANCES:
            beyond = int((errors > distance).sum())
            share = beyond / len(errors) if len(errors) else math.nan
            low, high = map(float, binomial_interval(beyond, len(errors)))
            allowed = 1.0 - probability_within(distance, *settings)
            counts = (len(errors), share, low, high, allowed)
            rows.append((n, run.params.resample, distance, *counts))
    return rows


def by_size(main: pd.DataFrame, _: Run[Params]) -> pd.DataFrame:
    """Return the bound at each size, and its exponential extrapolation from the two before."""
    first = main.drop_duplicates("n").reset_index(drop=True)
    with np.errstate(divide="ignore"):
        logs = np.log(first.bound.to_numpy())
    expected = logs.copy()
    n = first.n.to_numpy(float)
    for k in range(2, len(n)):
        known = np.isfinite(logs[k - 2 : k]).all()
        rate = (logs[k - 1] - logs[k - 2]) / (n[k - 1] - n[k - 2]) if known else 0.0
        expected[k] = logs[k - 1] + rate * (n[k] - n[k - 1])
    columns = ["n", "noise_scale", "bound", "exponential", "trivial"]
    return first.assign(exponential=np.exp(expected))[columns]


def says(result: Result) -> tuple[str, str]:
    """Compare the mean error at the largest size with the bound of Theorem 2."""
    main = result.tables["main"]
    main = main[main.n == main.n.max()]
    row, errors = main.iloc[0], main.error.dropna()
    at, bound, error = f"At N = {row.n:,}", plain(row.bound), float(errors.mean())
    if row.non_private == 0:
        title = f"{at}, Theorem 2 does not apply"
        return title, f"{title}: no draw is within ε_abc = {row.epsilon_abc:,g}."
    title = f"{at}, Theorem 2 allows a distance of up to {bound}"
    if row.bound >= row.trivial:
        title = f"{at}, Theorem 2's bound is vacuous"
    elif error > row.bound:
        title = f"{at}, the simulated distance exceeds Theorem 2's bound"
    elif error > 0.0:
        title = f"{at}, Theorem 2 allows {plain(row.bound / error, 2)} times the simulated distance"
    outcome = "no run kept a draw"
    if len(errors):
        mean = "mean " * (len(errors) > 1)
        outcome = f"the {mean}distance over {counted(len(errors), 'run')} is {plain(error)}"
        if empty := len(main) - len(errors):
            outcome += f" ({counted(empty, 'run')} kept no draw)"
    proof = ""
    if row["resample"]:
        proof = " The proof does not cover a new noisy threshold after each kept draw."
    allowed = f"Theorem 2 allows a distance of up to {bound}"
    return title, f"{at}, {allowed} between the estimates with and without noise; {outcome}.{proof}"


LINES = Lines(
    {
        "error": fig.PRIVATE.called("simulated"),
        "bound": fig.THEORY.called("bound of Theorem 2"),
        "trivial": fig.GUIDE.called("largest possible"),
    },
    x="n",
    by=(),
    says=says,
    settings=("epsilon_total", "epsilon_abc", "c"),
    y_title="distance between the estimates",
)


def error_by_size(result: Result) -> fig.CaptionedFigure:
    """Draw the mean error and both bounds against N; infinite bounds are left out."""
    finite = result.tables["main"].replace(math.inf, math.nan)
    return LINES(replace(result, tables={"main": finite}))


STUDY = Study(
    EXPERIMENT,
    Params,
    world=errors_of,
    tables={
        "main": RunTable(MAIN, lambda main, _: main),
        "sizes": RunTable("n noise_scale bound exponential trivial", by_size),
        "within": RunTable(
            "n resample distance compared exceeds exceeds_low exceeds_high allowed", within
        ),
    },
    says=lambda result: says(result)[1],
    privacy="Compares private and non-private results on synthetic data; nothing is released.",
    views={EXPERIMENT: error_by_size},
    # One task, since all runs share a pool and its distances.
    chains=lambda params, seed: [Run(params, 0, seed)],
)
COLUMNS, tasks, work, collect, figures = STUDY.contract()
