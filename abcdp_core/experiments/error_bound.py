r"""How far can the private posterior mean be from the non-private one?

[P21] Theorem 2 bounds the expected distance between the mean over privately accepted draws and the
mean over those accepted without noise (MATH B1):

$$\mathbb{E}\Big\|\tfrac1c\sum_t \theta_t\tilde\tau_t - \tfrac1{c'}\sum_t \theta_t\tau_t\Big\|
\le \frac{2K_T}{c'}\sum_t G_b(|\rho_t - \epsilon_{abc}|), \qquad K_T = \max_t\|\theta_t\|.$$

By Markov's inequality the error is then at most $a$ with a probability of at least (MATH B2)

$$1 - \frac{4K_T}{3ac'}\sum_t e^{-|\rho_t - \epsilon_{abc}|/2b}.$$

**Scope.** The theorem is about a run over the whole pool that never stops and keeps the noise of
its threshold, given that both sides accept something; $b$ is fixed beforehand. So runs here do not
stop, and $c$ only sets $b$. The distance never exceeds $2K_T$: a larger bound is vacuous. As $N$
grows, $b$ falls like $1/N$, and distance and bound go to 0 (MATH B3): exponentially fast for a
single draw, more slowly where many draws are near the threshold, because the nearest ones dominate
the sum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from abcdp_core import figures as fig
from abcdp_core import parameters as par
from abcdp_core import pool
from abcdp_core.mechanisms import sparse_vector
from abcdp_core.privacy import Event
from abcdp_core.sentences import AXES, counted, plain, settings_line
from abcdp_core.simulators import uniform_mixture
from abcdp_core.streams import generator
from abcdp_core.study import BaseParams, OwnData, Result, Rows, Run, Study
from abcdp_core.summaries import binomial_interval, over_runs
from abcdp_core.theory.error_bound import expected_error, largest_norm, probability_within

EXPERIMENT = "error-bound"
TITLE = "Distance between private and non-private posterior mean, and its bound"
MAY_BE_LONG = True

MAIN = (
    "n c epsilon_total epsilon_abc resample noise_scale run "
    "accepted non_private error bound trivial"
)
"""Columns; ``accepted`` and ``non_private`` count the draws kept with noise and without."""

SIZES = "n noise_scale bound exponential trivial"
"""Columns; ``exponential`` continues the exponential through the bounds of the two sizes before."""

WITHIN = "n resample distance compared exceeds exceeds_low exceeds_high allowed"
"""Columns; ``exceeds`` is the share of the ``compared`` errors above ``distance``, and ``allowed``
the most that the theorem leaves."""

DISTANCES = (0.05, 0.1, 0.2, 0.5)
"""Values of a in MATH B2."""


@dataclass(frozen=True)
class Params(BaseParams):
    """A run without stop at several sizes of the data; c sets the noise only."""

    epsilon_total: float = par.EPSILON_TOTAL.field(par.EPSILON_TOTAL_DEFAULT)
    epsilon_abc: float = uniform_mixture.EPSILON_ABC.field(uniform_mixture.EPSILON_ABC_DEFAULT)
    c: int = par.C.field(10)
    n: tuple[int, ...] = uniform_mixture.N.field((100, 300, 1000, 3000, 5000), many=True)
    pool_size: int = par.POOL_SIZE.field(10_000)
    resample: bool = par.RESAMPLE.field(False)
    sensitivity: str = par.SENSITIVITY.field("sharp")
    runs: int = par.RUNS.field(60)
    noise_draw: int = par.NOISE_DRAW.field(0)

    def check_together(self) -> None:
        """Refuse too much work, or more acceptances than draws."""
        par.check_work(max(self.n), self.pool_size)
        par.check_accepted(self.c, self.pool_size)


PRESETS: dict[str, BaseParams] = {}


def tasks(params: Params, seed: int) -> list[Run[Params]]:
    """One task: all runs share a pool and its distances."""
    return [Run(params, 0, seed)]


def prepare(params: Params, seed: int, progress: pool.Progress) -> None:
    """Make the public pool if it is not there yet, and say how far that is."""
    pool.make_ready(OwnData.of(Run(params, 0, seed)).key, progress)


def errors_of(run: Run[Params]) -> pd.DataFrame:
    """Return the error of each run at each size, smallest size first, beside its bounds."""
    own, params = OwnData.of(run), run.params
    rows = []
    for n in sorted(params.n):
        comparison = own.comparison(n)
        sensitivity = comparison.sensitivity(params.sensitivity)
        event = sparse_vector.calibrate(
            params.epsilon_total, sensitivity, params.c, resample=params.resample
        )
        scale, largest = event.threshold_scale, largest_norm(comparison.theta)
        endless = replace(event, query_scale=2.0 * scale, c=params.pool_size)
        bound = expected_error(comparison.rho, params.epsilon_abc, scale, largest)
        shared = {"n": n, "noise_scale": scale, "bound": bound, "trivial": 2.0 * largest}
        for number in range(params.runs):
            rng = generator(run.seed, "noise", number, params.noise_draw)
            error = _error(comparison, params.epsilon_abc, endless, rng)
            rows.append(vars(params) | shared | {"run": number} | error)
    return pd.DataFrame(rows, columns=MAIN.split())


def _error(
    comparison: pool.Comparison, epsilon_abc: float, event: Event, rng: np.random.Generator
) -> dict[str, float]:
    """Count what a run keeps with noise and without, and compare the means; NaN without both."""
    rho, theta, error = comparison.rho, comparison.theta, math.nan
    private = sparse_vector.run(rho, epsilon_abc, event, rng)[0].indices
    non_private = np.flatnonzero(rho <= epsilon_abc)
    if len(private) and len(non_private):
        difference = theta[private].mean(axis=0) - theta[non_private].mean(axis=0)
        error = float(np.linalg.norm(difference))
    return {"accepted": len(private), "non_private": len(non_private), "error": error}


def within(main: pd.DataFrame, run: Run[Params]) -> pd.DataFrame:
    """Return how often errors exceed each distance, and how often the theorem lets them."""
    own, rows = OwnData.of(run), []
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
    return pd.DataFrame(rows, columns=WITHIN.split())


def by_size(main: pd.DataFrame, _: Run[Params]) -> pd.DataFrame:
    """Return the bound at each size, and the exponential through those of the two before."""
    first = main.drop_duplicates("n").reset_index(drop=True)
    with np.errstate(divide="ignore"):
        logs = np.log(first.bound.to_numpy())
    expected = logs.copy()
    n = first.n.to_numpy(float)
    for k in range(2, len(n)):
        known = np.isfinite(logs[k - 2 : k]).all()
        rate = (logs[k - 1] - logs[k - 2]) / (n[k - 1] - n[k - 2]) if known else 0.0
        expected[k] = logs[k - 1] + rate * (n[k] - n[k - 1])
    return first.assign(exponential=np.exp(expected))[SIZES.split()]


def says(result: Result) -> tuple[str, str]:
    """Compare the mean error at the largest size with what Theorem 2 allows."""
    main = result.tables["main"]
    main = main[main.n == main.n.max()]
    row, errors = main.iloc[0], main.error.dropna()
    at, runs, error = f"At N = {row.n:,}", counted(len(main), "run"), float(errors.mean())
    if row.non_private == 0:
        nothing = f"{at} no draw is within ε_abc = {row.epsilon_abc:g}"
        return (
            f"{at} Theorem 2 does not apply",
            f"{nothing}, so there is no non-private estimate and Theorem 2 does not apply.",
        )
    title = f"{at} Theorem 2 allows an error of {plain(row.bound)}"
    allows = f"Theorem 2 allows {plain(row.bound)}"
    if row.bound >= row.trivial:
        title = f"{at} Theorem 2's bound is vacuous"
        allows += f", but no error exceeds {plain(row.trivial)}, so its bound is vacuous"
    elif error > row.bound:
        title = f"{at} the error found exceeds Theorem 2's bound"
    elif error > 0.0:
        title = f"{at} Theorem 2 allows {plain(row.bound / error, 2)} times the error found"
    found = f"the mean error over {runs} is {plain(error)}"
    if errors.empty:
        found = f"0 of {runs} kept a draw, so no error is known"
    elif len(errors) < len(main):
        found = f"the mean error is {plain(error)} over the {len(errors)} of {runs} that kept draws"
    proof = " Its proof does not cover a threshold that is redrawn." if row["resample"] else ""
    return title, f"{at} {found}. {allows}.{proof}"


SIMULATED = fig.PRIVATE.called("simulated, 95 % interval")
BOUND = fig.THEORY.called("bound of Theorem 2")
TRIVIAL = fig.GUIDE.called("trivial bound 2K")


def error_by_size(result: Result) -> fig.Drawn:
    """Draw the mean error with its interval, the bound, and the trivial bound, against N."""
    title, caption = says(result)
    main, sizes = result.tables["main"], result.tables["sizes"]
    named, runs = ("epsilon_total", "epsilon_abc", "c"), main.run.nunique()
    settings = settings_line(result.params, named, runs=runs)
    drawn = fig.figure(title, AXES["n"], "distance between the estimates", 380, settings)
    x, errors = sizes.n.to_numpy(float), over_runs(main, "error", ["n"])
    mean, low, high = (errors[name].to_numpy() for name in ("mean", "low", "high"))
    marks = fig.points(x, mean, SIMULATED, low, high)
    bound = sizes.bound.replace(math.inf, math.nan).to_numpy()
    drawn.add_traces(
        [
            fig.hollow(marks, errors.empty_share.to_numpy()),
            fig.line(x, bound, BOUND),
            fig.line(x, sizes.trivial.to_numpy(), TRIVIAL),
        ]
    )
    drawn.update_xaxes(fig.plain_ticks(x.min() / 1.5, 1.5 * x.max()))
    drawn.update_yaxes(type="log", dtick=1, exponentformat="none")
    words = {"● simulated": SIMULATED, "Theorem 2": BOUND, "no error exceeds": TRIVIAL}
    fig.key(drawn, [(text, style.color) for text, style in words.items()])
    return fig.Drawn(drawn.update_layout(showlegend=False), caption)


STUDY = Study(
    EXPERIMENT,
    Params,
    world=errors_of,
    tables={
        "main": Rows(MAIN, lambda main, _: main),
        "sizes": Rows(SIZES, by_size),
        "within": Rows(WITHIN, within),
    },
    says=lambda result: says(result)[1],
    privacy="Compares private with non-private results on synthetic data; not a release.",
    views={EXPERIMENT: error_by_size},
)
COLUMNS, _, work, collect, figures = STUDY.contract()
