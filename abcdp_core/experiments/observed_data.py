r"""What do the private data look like?

[P21] Figure 2 and [P22] Figure 1: the true weights of five uniform distributions, and the data
$Y^*$ drawn with them. A point falls into the $i$-th unit interval with probability $\theta_i$, so
the share of $N$ points there differs from $\theta_i$ by chance, with standard error

$$\sqrt{\theta_i (1 - \theta_i) / N}.$$

These shares estimate the weights without privacy and without approximate Bayesian computation; what
is learnt by either cannot be expected to be better. The data are synthetic: nobody is protected.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd

from abcdp_core import experiments, pool, summaries
from abcdp_core import figures as fig
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.results import Result, Tables
from abcdp_core.simulators import uniform_mixture

EXPERIMENT = "observed-data"
TITLE = "The synthetic data and the weights that they come from"
COLUMNS = {"main": ("n", "low", "high", "weight", "count", "share", "standard_errors")}
"""``standard_errors`` is how many of them the share is above the weight."""


@dataclass(frozen=True)
class Params(BaseParams):
    """Size of the data."""

    n: int = uniform_mixture.N.field(uniform_mixture.N_DEFAULT)


PRESETS: dict[str, BaseParams] = {"p21-figure-2": Params()}

tasks = experiments.single_task


def work(task: experiments.SingleTask[Params]) -> Tables:
    """Count the data of the first run in each interval."""
    n = task.params.n
    key = pool.key_for(uniform_mixture.SCENARIO, n, 1, task.seed)
    edges = np.linspace(*uniform_mixture.DOMAIN, len(uniform_mixture.TRUTH) + 1)
    counts, _ = np.histogram(pool.observed_data(key, n), edges)
    weights = uniform_mixture.TRUTH
    columns = {
        "n": n,
        "low": edges[:-1],
        "high": edges[1:],
        "weight": weights,
        "count": counts,
        "share": counts / n,
        "standard_errors": (counts / n - weights) / np.sqrt(weights * (1.0 - weights) / n),
    }
    return {"main": pd.DataFrame(columns)}


def collect(params: Params, rows: Tables) -> Result:
    """The result of the one task."""
    main = rows["main"]
    each = ", ".join(
        f"{share:.3g} ({weight:g})" for share, weight in zip(main.share, main.weight, strict=True)
    )
    return Result(
        EXPERIMENT,
        params,
        rows,
        f"Shares of the N = {params.n:,} points in the five intervals, and the true weights: "
        f"{each}. The share farthest from its weight is {main.standard_errors.abs().max():.2g} "
        f"standard errors away.",
        "Shows the data themselves, which are synthetic: not a release.",
    )


def figures(result: Result) -> dict[str, fig.Drawn]:
    """Shares of the data beside the true weights."""
    params, main = cast(Params, result.params), result.tables["main"]
    farthest = float(main.standard_errors.abs().max())
    figure = fig.figure(
        f"The data are at most {_up(farthest)} standard errors from their weights",
        "value of a point",
        "share of the points",
        height=360,
        settings=f"N = {params.n:,}; bars: 95 % intervals of the weights, from the data alone",
    )
    edges = np.append(main.low.to_numpy(), main.high.iloc[-1])
    weights = fig.line(
        np.repeat(edges, 2)[1:-1],
        np.repeat(main.weight.to_numpy(), 2),
        dataclasses.replace(fig.TRUTH, name="true weights"),
    )
    low, high = summaries.binomial_interval(main["count"].to_numpy(), params.n)
    observed = dataclasses.replace(fig.BOTH, name="observed shares")
    middles = ((main.low + main.high) / 2.0).to_numpy()
    marks = fig.points(middles, main.share.to_numpy(), observed, low, high)
    figure.add_traces([weights, marks.update(marker={"size": 10})])
    figure.update_yaxes(range=[0.0, 1.0 if params.n < FEW else 0.5], tickformat=".1f")
    return {EXPERIMENT: fig.Drawn(figure, result.summary)}


def _up(value: float) -> str:
    """Rounded up to a tenth."""
    return f"{math.ceil(10.0 * value - 1e-9) / 10.0:.1f}"


FEW = 100
"""Points below which a share can be far from its weight."""
