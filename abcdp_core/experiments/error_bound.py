r"""How far can the private posterior mean be from the non-private one?

[P21] Theorem 2 bounds the expected distance between the mean over privately accepted draws and the
mean over those accepted without noise (MATH B1):

$$\mathbb{E}\Big\|\tfrac1c\sum_t \theta_t\tilde\tau_t - \tfrac1{c'}\sum_t \theta_t\tau_t\Big\|
\le \frac{2K_T}{c'}\sum_t G_b(|\rho_t - \epsilon_{abc}|), \qquad K_T = \max_t\|\theta_t\|.$$

**Scope.** The theorem is about a run over the whole pool that never stops, without redrawing
the threshold's noise, given that both sides accept something; $b$ is fixed beforehand. So runs
here do not stop, and $c$ only sets $b$. The distance never exceeds $2K_T$: where the bound is
larger it says nothing. As $N$ grows, $b$ falls like $1/N$ and both go to 0 (MATH B3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import experiments, pool, summaries
from abcdp_core import figures as fig
from abcdp_core import parameters as par
from abcdp_core.experiments import flip_probability
from abcdp_core.mechanisms import sparse_vector
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.results import Result, Tables
from abcdp_core.simulators import uniform_mixture
from abcdp_core.streams import generator
from abcdp_core.theory import error_bound

Array = NDArray[np.float64]

EXPERIMENT = "error-bound"
TITLE = "Distance between private and non-private posterior mean, and its bound"
COLUMNS = {
    "main": (
        "n", "c", "epsilon_total", "epsilon_abc", "resample", "noise_scale", "run",
        "error", "bound", "trivial",
    )
}  # fmt: skip


@dataclass(frozen=True)
class Params(BaseParams):
    """A run without stop at several sizes of the data; c sets the noise only."""

    epsilon_total: float = par.EPSILON_TOTAL.field(1.0)
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


tasks = experiments.whole


def prepare(params: Params, seed: int, progress: pool.Progress) -> None:
    """Make the public pool if it is not there yet, and say how far that is."""
    pool.make_ready(_key(params, seed), progress)


def _key(params: Params, seed: int) -> pool.PoolKey:
    return pool.key_for(uniform_mixture.SCENARIO, max(params.n), params.pool_size, seed)


def work(task: experiments.Whole[Params]) -> Tables:
    """Simulated errors and the bound at every size."""
    key = _key(task.params, task.seed)
    sizes = [
        _at_size(task.params, pool.observed_comparison(key, n), task.seed) for n in task.params.n
    ]
    return {"main": pd.concat(sizes, ignore_index=True)}


def _at_size(params: Params, comparison: pool.Comparison, seed: int) -> pd.DataFrame:
    scale = flip_probability.noise_scale(
        params.epsilon_total,
        comparison.n,
        params.c,
        resample=params.resample,
        sensitivity=params.sensitivity,
    )
    largest = error_bound.largest_norm(comparison.theta)
    errors = [
        _error(comparison, params, scale, generator(seed, "noise", run, params.noise_draw))
        for run in range(params.runs)
    ]
    table = pd.DataFrame({"run": np.arange(params.runs), "error": errors}).assign(
        n=comparison.n,
        c=params.c,
        epsilon_total=params.epsilon_total,
        epsilon_abc=params.epsilon_abc,
        resample=params.resample,
        noise_scale=scale,
        bound=error_bound.expected_error(comparison.rho, params.epsilon_abc, scale, largest),
        trivial=2.0 * largest,
    )
    return table[list(COLUMNS["main"])]


def _error(
    comparison: pool.Comparison, params: Params, scale: float, rng: np.random.Generator
) -> float:
    """Distance between the two means of a run without stop; NaN if one side accepts nothing."""
    rho, theta = comparison.rho, comparison.theta
    query, threshold = sparse_vector.draw_noise(rng, len(rho), len(rho))
    private, _ = sparse_vector.scan(
        rho + 2.0 * scale * query,
        params.epsilon_abc + scale * threshold,
        len(rho),
        params.resample,
    )
    non_private = np.flatnonzero(rho <= params.epsilon_abc)
    if len(private) == 0 or len(non_private) == 0:
        return float("nan")
    return float(np.linalg.norm(theta[private].mean(axis=0) - theta[non_private].mean(axis=0)))


def collect(params: Params, rows: Tables) -> Result:
    """The result so far."""
    sizes = (
        rows["main"]
        .groupby("n")
        .agg(error=("error", "mean"), bound=("bound", "first"), trivial=("trivial", "first"))
    )
    largest = sizes.iloc[-1]
    says = "says nothing" if largest.bound >= largest.trivial else "holds and says something"
    scope = " With the threshold redrawn the theorem is not proved." if params.resample else ""
    return Result(
        experiment=EXPERIMENT,
        params=params,
        tables=rows,
        summary=f"At N = {sizes.index[-1]:,} the simulated error is {largest.error:.3g} on average "
        f"over {params.runs} noises and Theorem 2 allows {largest.bound:.3g}, so the bound {says} "
        f"(no error exceeds {largest.trivial:.3g}).{scope}",
        privacy="Compares private with non-private results on synthetic data; not a release.",
    )


def figures(result: Result) -> dict[str, go.Figure]:
    """Simulated error with its interval, the bound, and the trivial bound, against N."""
    params = cast(Params, result.params)
    main = result.tables["main"]
    sizes = main.groupby("n").agg(bound=("bound", "first"), trivial=("trivial", "first"))
    x = sizes.index.to_numpy(dtype=float)
    samples = [part.error.dropna().to_numpy() for _, part in main.groupby("n")]
    mean = np.array([values.mean() if len(values) else np.nan for values in samples])
    intervals = [summaries.mean_interval(v, generator(0, "bootstrap")) for v in samples]
    low, high = np.array(intervals, dtype=float).T
    figure = fig.figure(
        f"Private against non-private posterior mean: ε_total = {params.epsilon_total:g}, "
        f"ε_abc = {params.epsilon_abc:g}, c = {params.c}",
        "N, points in the private data",
        "distance between the means",
        height=380,
    )
    simulated = fig.Style("simulated, 95 % interval", fig.BLUE)
    finite = np.isfinite(sizes.bound.to_numpy())
    figure.add_traces(
        [
            fig.points(x, mean, simulated, low, high),
            fig.line(x[finite], sizes.bound.to_numpy()[finite], _BOUND),
            fig.line(x, sizes.trivial.to_numpy(), _TRIVIAL),
        ]
    )
    figure.update_xaxes(type="log", tickvals=x)
    figure.update_yaxes(type="log", dtick=1)
    return {EXPERIMENT: figure}


_BOUND = fig.Style("bound of Theorem 2", fig.GREEN, "dash")
_TRIVIAL = fig.Style("trivial bound 2K", fig.GREY, "dot")
