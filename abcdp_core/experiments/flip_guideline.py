r"""How large may c be before the noise decides?

Each accepted sample costs privacy, so at a fixed budget more of them mean more noise and more
flipped decisions. This study finds the largest $c$ whose *median* flip probability $G_b$
(MATH F2) stays under a level, for a number of points $N$ and a budget $\epsilon_{total}$. The
median is over public distances: pairs of data sets that are both simulated from the prior. The
private data are never looked at, so the guideline costs no privacy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from abcdp_core import experiments
from abcdp_core import figures as fig
from abcdp_core import parameters as par
from abcdp_core.experiments import flip_probability as study
from abcdp_core.parameters import Parameter
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.results import Result, Tables
from abcdp_core.simulators import uniform_mixture
from abcdp_core.theory import flip

EXPERIMENT = "flip-guideline"
TITLE = "Largest number of accepted samples that the noise allows"
COLUMNS = {
    "main": ("c", "noise_scale", "lower_quartile", "median_flip_probability", "upper_quartile"),
    "guideline": (
        "n", "epsilon_total", "epsilon_abc", "resample", "sensitivity", "level", "largest_c",
    ),
}  # fmt: skip

LEVEL = Parameter(
    kind="real",
    label="Accepted level of the median flip probability",
    help="The guideline is the largest c that stays at or under it.",
    low=0.0001,
    high=0.5,
    steps=(0.0001, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5),
)


@dataclass(frozen=True)
class Params(BaseParams):
    """Size of the data, budget and threshold; c is what is asked for."""

    epsilon_total: float = par.EPSILON_TOTAL.field(1.0)
    epsilon_abc: float = uniform_mixture.EPSILON_ABC.field(uniform_mixture.EPSILON_ABC_DEFAULT)
    n: int = uniform_mixture.N.field(uniform_mixture.N_DEFAULT)
    resample: bool = par.RESAMPLE.field(False)
    sensitivity: str = par.SENSITIVITY.field("sharp")
    level: float = LEVEL.field(0.1)
    draws: int = study.DRAWS.field(500)


PRESETS: dict[str, BaseParams] = {}


tasks = experiments.whole


def work(task: experiments.Whole[Params]) -> Tables:
    """Quartiles of the flip probability for every allowed c."""
    params = task.params
    rho = study.distances("public", params.n, params.draws, task.seed)
    counts = np.arange(int(par.C.low), int(par.C.high) + 1)
    scales = np.array([_scale(params, int(c)) for c in counts])
    quartiles = np.array(
        [
            np.quantile(flip.flip_probability(rho, params.epsilon_abc, scale), [0.25, 0.5, 0.75])
            for scale in scales
        ]
    )
    main = pd.DataFrame(
        np.column_stack([scales, quartiles]), columns=list(COLUMNS["main"][1:])
    ).assign(c=counts)
    under = main.c[main.median_flip_probability <= params.level]
    largest = int(under.max()) if len(under) else 0
    row = (params.n, params.epsilon_total, params.epsilon_abc, params.resample)
    guideline = pd.DataFrame(
        [(*row, params.sensitivity, params.level, largest)], columns=list(COLUMNS["guideline"])
    )
    return {"main": main[list(COLUMNS["main"])], "guideline": guideline}


def _scale(params: Params, c: int) -> float:
    return study.noise_scale(
        params.epsilon_total, params.n, c, resample=params.resample, sensitivity=params.sensitivity
    )


def collect(params: Params, rows: Tables) -> Result:
    """The result of the one task."""
    largest = int(rows["guideline"].largest_c.iloc[0])
    level = f"a median flip probability of at most {params.level:g}"
    if largest == 0:
        found = f"Not even c = 1 keeps {level}"
    elif largest == par.C.high:
        found = f"Every c up to {largest} keeps {level}"
    else:
        found = f"The largest c with {level} is {largest}"
    return Result(
        experiment=EXPERIMENT,
        params=params,
        tables=rows,
        summary=f"{found}, for N = {params.n:,}, ε_total = {params.epsilon_total:g} and "
        f"ε_abc = {params.epsilon_abc:g}, over {params.draws} public distances.",
        privacy="Uses public simulations only; costs no privacy.",
    )


def figures(result: Result) -> dict[str, go.Figure]:
    """Median and quartiles of the flip probability against c, with the level and the guideline."""
    params = cast(Params, result.params)
    main = result.tables["main"]
    largest = int(result.tables["guideline"].largest_c.iloc[0])
    median = fig.Style("median over public distances", fig.BLUE)
    level = fig.Style(f"level {params.level:g}", fig.VERMILLION, "dash")
    title = f"largest c = {largest}" if largest else "no c is small enough"
    figure = fig.figure(
        f"Guideline at N = {params.n:,}, ε_total = {params.epsilon_total:g}: {title}",
        "c, number of accepted samples",
        "flip probability",
        height=380,
    )
    c = main.c.to_numpy(dtype=float)
    # A band's outline needs far fewer points than the table has rows.
    shown = np.unique(np.geomspace(1, len(c), 120).astype(int)) - 1
    figure.add_traces(
        [
            fig.band(
                c[shown],
                main.lower_quartile.to_numpy()[shown],
                main.upper_quartile.to_numpy()[shown],
                fig.Style("quartiles", fig.BLUE),
            ),
            fig.line(c[shown], main.median_flip_probability.to_numpy()[shown], median),
            fig.line(np.array([1.0, 1000.0]), np.full(2, params.level), level),
        ]
    )
    if largest:
        chosen = fig.Style(f"c = {largest}", fig.VERMILLION, marker="diamond")
        value = main.median_flip_probability.to_numpy()[largest - 1 : largest]
        figure.add_trace(fig.points(np.array([float(largest)]), value, chosen))
    figure.update_xaxes(**fig.logarithmic(1, 1000))
    figure.update_yaxes(range=[-0.01, 0.52])
    return {EXPERIMENT: figure}
