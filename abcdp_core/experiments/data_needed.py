r"""How much data does a budget need?

The noise of ABCDP by the sparse vector technique falls with the number $N$ of data points, because
one of them then changes a distance by less: $\Delta = \sqrt{2}/N$ for the maximum mean discrepancy
(MATH M2), so

$$b = \frac{(c+1)\,\Delta}{\epsilon_{total}} \;\text{(threshold noise kept)}, \qquad
b = \frac{2c\,\Delta}{\epsilon_{total}} \;\text{(redrawn)} \qquad \text{(MATH S2)}.$$

A draw as far above the threshold as a perfect one is below it, at $2\epsilon_{abc}$ or at 0, is
decided by noise with probability $G_b(\epsilon_{abc})$ (MATH F2). Near one half the run is a coin
toss; near 0 the data decide. Nothing here reads any data, so it may be looked at before choosing.
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
from abcdp_core.mechanisms.sparse_vector import Setting
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.privacy import SparseVector
from abcdp_core.results import Result, Tables
from abcdp_core.simulators import uniform_mixture
from abcdp_core.theory import flip

EXPERIMENT = "data-needed"
TITLE = "How much data a privacy budget needs"
COLUMNS = {"main": ("n", "noise_scale", "flip_probability")}

SIZES = np.unique(np.geomspace(2, 100_000, 60).astype(int))

ENOUGH = 0.05
"""Decided by noise that rarely, a clear case counts as decided by the data."""


@dataclass(frozen=True)
class Params(BaseParams):
    """What sets the noise beside the size of the data."""

    epsilon_total: float = par.EPSILON_TOTAL.field(1.0)
    epsilon_abc: float = par.EPSILON_ABC_MMD.field(uniform_mixture.EPSILON_ABC_DEFAULT)
    c: int = par.C.field(uniform_mixture.C_DEFAULT)
    resample: bool = par.RESAMPLE.field(False)


PRESETS: dict[str, BaseParams] = {}

tasks = experiments.whole


def work(task: experiments.Whole[Params]) -> Tables:
    """Noise scale and flip probability at every size."""
    params = task.params
    distance = uniform_mixture.distance()
    scales = np.array([_scale(params, distance.sensitivity(int(n))) for n in SIZES])
    flips = [flip.flip_probability(np.zeros(1), params.epsilon_abc, scale)[0] for scale in scales]
    values = (SIZES, scales, np.array(flips))
    return {"main": pd.DataFrame(dict(zip(COLUMNS["main"], values, strict=True)))}


def _scale(params: Params, sensitivity: float) -> float:
    setting = Setting(
        params.epsilon_total, params.epsilon_abc, params.c, params.resample, sensitivity
    )
    return cast(SparseVector, setting.event()).threshold_scale


def collect(params: Params, rows: Tables) -> Result:
    """The result of the one task."""
    main = rows["main"]
    enough = main[main.flip_probability <= ENOUGH]
    found = (
        f"From about N = {enough.n.iloc[0]:,} values on"
        if len(enough)
        else f"Not even at N = {main.n.iloc[-1]:,} values"
    )
    return Result(
        experiment=EXPERIMENT,
        params=params,
        tables=rows,
        summary=f"{found} a clear case (a distance of 0 or {2 * params.epsilon_abc:g}) is decided "
        f"by noise at most {100 * ENOUGH:g} times in 100, with ε_total = "
        f"{params.epsilon_total:g}, ε_abc = {params.epsilon_abc:g} and c = {params.c}.",
        privacy="No data are read here, so nothing is spent.",
    )


def figures(result: Result) -> dict[str, go.Figure]:
    """Flip probability of a clear case against the number of values."""
    params = cast(Params, result.params)
    main = result.tables["main"]
    figure = fig.figure(
        f"How often noise decides a clear case (ε_total = {params.epsilon_total:g}, "
        f"ε_abc = {params.epsilon_abc:g}, c = {params.c})",
        "number of values N",
        "flip probability",
        height=360,
    )
    sizes = main.n.to_numpy(float)
    figure.add_trace(fig.line(sizes, main.flip_probability.to_numpy(), fig.THEORY))
    coin = fig.Style("a coin toss", fig.GREY, "dot")
    figure.add_trace(fig.line(sizes[[0, -1]], np.full(2, 0.5), coin))
    figure.update_xaxes(**fig.logarithmic(sizes[0], sizes[-1]))
    return {EXPERIMENT: figure.update_yaxes(range=[0.0, 0.55])}
