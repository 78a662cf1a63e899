r"""What do the private data look like?

[P21] Figure 2 and [P22] Figure 1: the true weights of five uniform distributions, and the data
$Y^*$ drawn with them. A point falls into the $i$-th unit interval with probability $\theta_i$, so
the share of $N$ points there differs from $\theta_i$ by chance, with standard error

$$\sqrt{\theta_i (1 - \theta_i) / N}.$$

These shares estimate the weights without privacy and without simulations; no private ABC can be
expected to do better. The data are synthetic: nobody is protected.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from abcdp_core import figures as fig
from abcdp_core import pool, summaries
from abcdp_core.sentences import amount, at_most
from abcdp_core.simulators import uniform_mixture
from abcdp_core.study import BaseParams, Result, Rows, Run, Study

EXPERIMENT = "observed-data"
TITLE = "The synthetic data and the weights that they come from"


@dataclass(frozen=True)
class Params(BaseParams):
    """Size of the data."""

    n: int = uniform_mixture.N.field(uniform_mixture.N_DEFAULT)


PRESETS: dict[str, BaseParams] = {"p21-figure-2": Params()}


def shares(_: None, run: Run[Params]) -> pd.DataFrame:
    """Count the data in each interval; ``standard_errors`` is how many the share is too high."""
    n, weight = run.params.n, uniform_mixture.TRUTH
    data = pool.observed_data(pool.key_for(uniform_mixture.SCENARIO, n, 1, run.seed), n)
    edges = np.linspace(*uniform_mixture.DOMAIN, len(weight) + 1)
    count = np.histogram(data, edges)[0]
    table = pd.DataFrame({"n": n, "low": edges[:-1], "high": edges[1:], "weight": weight})
    errors = (count / n - weight) / np.sqrt(weight * (1.0 - weight) / n)
    return table.assign(count=count, share=count / n, standard_errors=errors)


def _says(result: Result) -> str:
    main = result.tables["main"]
    worst = main.iloc[main.standard_errors.abs().argmax()]
    return (
        f"No share is farther from its weight, in standard errors, than the one from "
        f"{worst.low:g} to {worst.high:g}: {amount(worst.share)} instead of {amount(worst.weight)}."
    )


def _bars(result: Result) -> fig.CaptionedFigure:
    """Shares of the data beside the true weights."""
    main = result.tables["main"]
    n, farthest = int(main.n.iloc[0]), float(main.standard_errors.abs().max())
    figure = fig.figure(
        f"Every share is within {at_most(farthest, 2)} standard errors of its true weight",
        *("value of a point", "share of the points"),
        height=360,
        settings=f"N = {n:,}; bars: 95 % intervals of the weights, from the data alone",
    )
    edges = np.append(main.low.to_numpy(), main.high.iloc[-1])
    weights = fig.outline(edges, main.weight.to_numpy(), fig.TRUTH.called("true weights"))
    low, high = summaries.binomial_interval(main["count"].to_numpy(), n)
    middles, share = ((main.low + main.high) / 2.0).to_numpy(), main.share.to_numpy()
    marks = fig.points(middles, share, fig.BOTH.called("observed shares"), low, high)
    figure.add_traces([weights, marks.update(marker={"size": 10})])
    return fig.CaptionedFigure(figure.update_yaxes(rangemode="tozero"), result.summary)


STUDY = Study(
    EXPERIMENT,
    Params,
    tables={"main": Rows("n low high weight count share standard_errors", shares)},
    says=_says,
    privacy="Shows the data themselves, which are synthetic: not a release.",
    views={EXPERIMENT: _bars},
)
COLUMNS, tasks, work, collect, figures = STUDY.contract()
