r"""What do the private data look like?

[P21] Figure 2 and [P22] Figure 1: the true weights of five uniform distributions, and the data
$Y^*$ drawn with them. A value falls into the $i$-th unit interval with probability $\theta_i$. So
the share of $N$ people there differs from $\theta_i$ by chance, with standard error

$$\sqrt{\theta_i (1 - \theta_i) / N}.$$

These shares estimate the weights without privacy and without simulations. No private ABC can be
expected to do better. The data are synthetic: nobody needs protection.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from abcdp_core import figures as fig
from abcdp_core.base import summaries
from abcdp_core.base.sentences import amount, at_most
from abcdp_core.models import pool
from abcdp_core.models.simulators import uniform_mixture
from abcdp_core.models.simulators.uniform_mixture import SCENARIO as MIXTURE
from abcdp_core.studies.engine import BaseParams, Result, Run, RunTable, Study

EXPERIMENT = "observed-data"
TITLE = "The synthetic data and their true weights"


@dataclass(frozen=True)
class Params(BaseParams):
    """Size of the data."""

    n: int = MIXTURE.n.field(MIXTURE.n_default)


PRESETS: dict[str, BaseParams] = {"p21-figure-2": Params()}


def shares(_: None, run: Run[Params]) -> pd.DataFrame:
    """Count the data in each interval; ``standard_errors`` is positive if the share is too high."""
    n, weight = run.params.n, uniform_mixture.TRUTH
    data = pool.observed_data(pool.key_for(MIXTURE, n, 1, run.seed), n)
    edges = np.linspace(*MIXTURE.domain, len(weight) + 1)
    count = np.histogram(data, edges)[0]
    table = pd.DataFrame({"n": n, "low": edges[:-1], "high": edges[1:], "weight": weight})
    errors = (count / n - weight) / np.sqrt(weight * (1.0 - weight) / n)
    return table.assign(count=count, share=count / n, standard_errors=errors)


def _says(result: Result) -> str:
    main = result.tables["main"]
    worst = main.iloc[main.standard_errors.abs().argmax()]
    return (
        f"The largest deviation in standard errors is between {worst.low:g} and {worst.high:g}: "
        f"the share is {amount(worst.share)} and the true weight {amount(worst.weight)}."
    )


def _bars(result: Result) -> fig.CaptionedFigure:
    """Draw the shares of the data beside the true weights."""
    main = result.tables["main"]
    n, farthest = int(main.n.iloc[0]), float(main.standard_errors.abs().max())
    figure = fig.figure(
        f"Every share is within {at_most(farthest, 2)} standard errors of its true weight",
        *("value", "share of people"),
        height=360,
        settings=f"N = {n:,}; bars: 95 % intervals for the weights, from the data alone",
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
    tables={"main": RunTable("n low high weight count share standard_errors", shares)},
    says=_says,
    privacy="Not a release: this shows the data themselves, which are synthetic.",
    views={EXPERIMENT: _bars},
)
COLUMNS, tasks, work, collect, figures = STUDY.contract()
