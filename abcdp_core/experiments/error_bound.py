r"""How far can the private posterior mean be from the non-private one?

[P21] Theorem 2 bounds the expected distance between the mean over privately accepted draws and the
mean over those accepted without noise (MATH B1):

$$\mathbb{E}\Big\|\tfrac1c\sum_t \theta_t\tilde\tau_t - \tfrac1{c'}\sum_t \theta_t\tau_t\Big\|
\le \frac{2K_T}{c'}\sum_t G_b(|\rho_t - \epsilon_{abc}|), \qquad K_T = \max_t\|\theta_t\|.$$

By Markov's inequality the error is then at most $a$ with a probability of at least (MATH B2)

$$1 - \frac{4K_T}{3ac'}\sum_t e^{-|\rho_t - \epsilon_{abc}|/2b}.$$

**Scope.** The theorem is about a run over the whole pool that never stops, without redrawing
the threshold's noise, given that both sides accept something; $b$ is fixed beforehand. So runs
here do not stop, and $c$ only sets $b$. The distance never exceeds $2K_T$: where the bound is
larger it says nothing. As $N$ grows, $b$ falls like $1/N$ and both go to 0 (MATH B3). For a single
draw that is exponentially fast. Where many draws lie about the threshold, the terms of the nearest
ones decide, and the sum falls more slowly.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from abcdp_core import experiments, pool, summaries
from abcdp_core import figures as fig
from abcdp_core import parameters as par
from abcdp_core.mechanisms import sparse_vector
from abcdp_core.mechanisms.sparse_vector import calibrate
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.results import Result, Tables
from abcdp_core.sentences import counted, plain
from abcdp_core.simulators import uniform_mixture
from abcdp_core.streams import generator
from abcdp_core.theory import error_bound

Array = NDArray[np.float64]

EXPERIMENT = "error-bound"
TITLE = "Distance between private and non-private posterior mean, and its bound"
MAY_BE_LONG = True
COLUMNS = {
    "main": (
        "n", "c", "epsilon_total", "epsilon_abc", "resample", "noise_scale", "run",
        "accepted", "non_private", "error", "bound", "trivial",
    ),
    "sizes": ("n", "noise_scale", "bound", "exponential", "trivial"),
    "within": (
        "n", "resample", "distance", "compared", "exceeds", "exceeds_low", "exceeds_high",
        "allowed",
    ),
}  # fmt: skip
"""In *main*, ``accepted`` and ``non_private`` count the draws accepted with noise and without. In
*sizes*, ``exponential`` is what the exponential through the bounds of the two sizes before gives.
In *within*, ``exceeds`` is the share of the ``compared`` noises whose error is above ``distance``,
and ``allowed`` the most that the theorem leaves."""

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


tasks = experiments.single_task


def prepare(params: Params, seed: int, progress: pool.Progress) -> None:
    """Make the public pool if it is not there yet, and say how far that is."""
    pool.make_ready(_key(params, seed), progress)


def _key(params: Params, seed: int) -> pool.PoolKey:
    return pool.key_for(uniform_mixture.SCENARIO, max(params.n), params.pool_size, seed)


def work(task: experiments.SingleTask[Params]) -> Tables:
    """Simulated errors and the bounds at every size."""
    params, key = task.params, _key(task.params, task.seed)
    main, within = [], []
    for n in sorted(params.n):
        comparison = pool.observed_comparison(key, n)
        part = _at_size(params, comparison, task.seed)
        main.append(part)
        within += _within(part, comparison)
    table = pd.concat(main, ignore_index=True)
    return {
        "main": table,
        "sizes": _sizes(table),
        "within": pd.DataFrame(within, columns=list(COLUMNS["within"])),
    }


def _at_size(params: Params, comparison: pool.Comparison, seed: int) -> pd.DataFrame:
    sensitivity = comparison.sensitivity(params.sensitivity)
    event = calibrate(params.epsilon_total, sensitivity, params.c, resample=params.resample)
    scale = event.threshold_scale
    largest = error_bound.largest_norm(comparison.theta)
    errors = [
        _error(comparison, params, scale, generator(seed, "noise", run, params.noise_draw))
        for run in range(params.runs)
    ]
    columns = ["accepted", "non_private", "error"]
    table = pd.DataFrame(errors, columns=columns).assign(
        n=comparison.n,
        c=params.c,
        epsilon_total=params.epsilon_total,
        epsilon_abc=params.epsilon_abc,
        resample=params.resample,
        noise_scale=scale,
        run=np.arange(params.runs),
        bound=error_bound.expected_error(comparison.rho, params.epsilon_abc, scale, largest),
        trivial=2.0 * largest,
    )
    return table[list(COLUMNS["main"])]


def _error(
    comparison: pool.Comparison, params: Params, scale: float, rng: np.random.Generator
) -> tuple[int, int, float]:
    """Numbers accepted with noise and without, by a run without stop, and how far apart they are.

    The last is the distance between the two means; NaN if one side accepts nothing.
    """
    rho, theta = comparison.rho, comparison.theta
    query, threshold = sparse_vector.draw_noise(rng, len(rho), len(rho))
    private, _ = sparse_vector.scan(
        rho + 2.0 * scale * query,
        params.epsilon_abc + scale * threshold,
        len(rho),
        params.resample,
    )
    non_private = np.flatnonzero(rho <= params.epsilon_abc)
    error = math.nan
    if len(private) and len(non_private):
        difference = theta[private].mean(axis=0) - theta[non_private].mean(axis=0)
        error = float(np.linalg.norm(difference))
    return len(private), len(non_private), error


def _sizes(main: pd.DataFrame) -> pd.DataFrame:
    """One row for each size, smallest first."""
    first = main.drop_duplicates("n").reset_index(drop=True)
    with np.errstate(divide="ignore"):
        logs = np.log(first.bound.to_numpy())
    expected = logs.copy()
    sizes = first.n.to_numpy(float)
    for k in range(2, len(sizes)):
        known = np.isfinite(logs[k - 2 : k]).all()
        rate = (logs[k - 1] - logs[k - 2]) / (sizes[k - 1] - sizes[k - 2]) if known else 0.0
        expected[k] = logs[k - 1] + rate * (sizes[k] - sizes[k - 1])
    return first.assign(exponential=np.exp(expected))[list(COLUMNS["sizes"])]


def _within(part: pd.DataFrame, comparison: pool.Comparison) -> list[tuple[object, ...]]:
    """How often errors of one size are above each distance, and how often they may be."""
    errors = part.error.dropna().to_numpy()
    row = part.iloc[0]
    rows: list[tuple[object, ...]] = []
    for distance in DISTANCES:
        exceeding = int((errors > distance).sum())
        low, high = summaries.binomial_interval(exceeding, len(errors))
        share = exceeding / len(errors) if len(errors) else math.nan
        surely = error_bound.probability_within(
            distance, comparison.rho, row.epsilon_abc, row.noise_scale, row.trivial / 2.0
        )
        numbers = (share, float(low), float(high), 1.0 - surely)
        rows.append((row.n, row["resample"], distance, len(errors), *numbers))
    return rows


def collect(params: Params, rows: Tables) -> Result:
    """The result so far."""
    scope = (
        " The theorem's proof covers a threshold that is kept, not one redrawn."
        if params.resample
        else ""
    )
    return Result(
        experiment=EXPERIMENT,
        params=params,
        tables=rows,
        summary=_summary(rows["main"]) + scope,
        privacy="Compares private with non-private results on synthetic data; not a release.",
    )


def _summary(main: pd.DataFrame) -> str:
    """What is found at the largest size."""
    n = main.n.max()
    largest = main[main.n == n]
    row, noises = largest.iloc[0], len(largest)
    if row.non_private == 0:
        return (
            f"At N = {n:,} no draw lies within ε_abc = {row.epsilon_abc:g}, so there is no "
            f"non-private mean to compare with, and Theorem 2 says nothing."
        )
    compared = largest.error.dropna()
    over = counted(noises, "noise")
    if compared.empty:
        return (
            f"At N = {n:,} the private run accepted nothing with any of {over}, so there is no "
            f"mean to compare; where it accepts something, Theorem 2 allows {row.bound:.3g}."
        )
    left_out = noises - len(compared)
    average = "" if len(compared) == 1 else " on average"
    note = f" ({left_out} left out, in which nothing was accepted)" if left_out else ""
    return (
        f"At N = {n:,} the simulated error is {compared.mean():.3g}{average} over {over}{note} and "
        f"Theorem 2 allows {row.bound:.3g}, so the bound {_says(row, compared.mean())} (no error "
        f"exceeds {row.trivial:.3g})."
    )


def _says(row: pd.Series[float], error: float) -> str:
    if row.bound >= row.trivial:
        return "says nothing"
    return "is not kept here" if error > row.bound else "holds and says something"


def figures(result: Result) -> dict[str, fig.Drawn]:
    """Simulated error with its interval, the bound, and the trivial bound, against N."""
    params = cast(Params, result.params)
    main = result.tables["main"]
    sizes = main.groupby("n").agg(bound=("bound", "first"), trivial=("trivial", "first"))
    x = sizes.index.to_numpy(dtype=float)
    errors = summaries.over_runs(main, "error", ["n"])
    mean, low, high = (errors[name].to_numpy() for name in ("mean", "low", "high"))
    figure = fig.figure(
        finding(main),
        "N, points in the private data",
        "distance between the means",
        height=380,
        settings=f"ε_total = {params.epsilon_total:g}, ε_abc = {params.epsilon_abc:g}, "
        f"c = {params.c:,}",
    )
    simulated = dataclasses.replace(fig.PRIVATE, name="simulated, 95 % interval")
    finite = np.isfinite(sizes.bound.to_numpy())
    figure.add_traces(
        [
            fig.hollow(fig.points(x, mean, simulated, low, high), errors.empty_share.to_numpy()),
            fig.line(x[finite], sizes.bound.to_numpy()[finite], _BOUND),
            fig.line(x, sizes.trivial.to_numpy(), _TRIVIAL),
        ]
    )
    figure.update_xaxes(type="log", tickvals=x, ticktext=[f"{n:,.0f}" for n in x], tickangle=-45)
    figure.update_yaxes(type="log", dtick=1, exponentformat="none")
    words = [("● simulated", simulated), ("Theorem 2", _BOUND), ("no error exceeds", _TRIVIAL)]
    fig.key(figure, [(text, style.color) for text, style in words])
    figure.update_layout(showlegend=False)
    return {EXPERIMENT: fig.Drawn(figure, result.summary)}


_BOUND = dataclasses.replace(fig.THEORY, name="bound of Theorem 2")
_TRIVIAL = dataclasses.replace(fig.GUIDE, name="trivial bound 2K")


def finding(main: pd.DataFrame) -> str:
    """What the theorem says at the largest size, in a line."""
    largest = main[main.n == main.n.max()]
    row, error = largest.iloc[0], float(largest.error.mean())
    at = f"At N = {row.n:,}"
    if row.non_private == 0 or row.bound >= row.trivial:
        return f"{at} Theorem 2 says nothing"
    if not error > 0.0:
        return f"{at} Theorem 2 allows {row.bound:.3g}"
    if error > row.bound:
        return f"{at} the error found is above what Theorem 2 allows"
    return f"{at} Theorem 2 allows {plain(row.bound / error, 2)} times the error found"
