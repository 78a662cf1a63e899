r"""How much data does a budget need?

The noise of ABCDP by the sparse vector technique falls with the number $N$ of data points, because
one of them then changes a distance by less: $\Delta = \sqrt{2}/N$ for the maximum mean discrepancy
(MATH M2), so

$$b = \frac{(c+1)\,\Delta}{\epsilon_{total}} \;\text{(threshold noise kept)}, \qquad
b = \frac{2c\,\Delta}{\epsilon_{total}} \;\text{(redrawn)} \qquad \text{(MATH S2)}.$$

A perfect draw, at the distance 0, is rejected because of noise with probability
$G_b(\epsilon_{abc})$, and one as far above the threshold, at $2\epsilon_{abc}$, is accepted with
the same (MATH F2). Near one half every decision is a coin toss; near 0 these two are made by the
data. A low probability is not all that matters: where one draw in a thousand is good, wrong
decisions about 5 bad ones in 100 let in many more of these. Nothing here reads any data, so it may
be looked at before choosing.
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
from abcdp_core.mechanisms.sparse_vector import calibrate
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.results import Result, Tables
from abcdp_core.simulators import uniform_mixture
from abcdp_core.theory import flip

EXPERIMENT = "data-needed"
TITLE = "How much data a privacy budget needs"
COLUMNS = {"main": ("n", "noise_scale", "flip_probability")}

SIZES = np.unique(np.geomspace(2, 100_000, 60).astype(int))

ENOUGH = 0.05
"""Decided wrongly that rarely, a clear case counts as decided by the data."""


@dataclass(frozen=True)
class Params(BaseParams):
    """What sets the noise beside the size of the data."""

    epsilon_total: float = par.EPSILON_TOTAL.field(1.0)
    epsilon_abc: float = par.EPSILON_ABC_MMD.field(uniform_mixture.EPSILON_ABC_DEFAULT)
    c: int = par.C.field(uniform_mixture.C_DEFAULT)
    resample: bool = par.RESAMPLE.field(False)


PRESETS: dict[str, BaseParams] = {}

tasks = experiments.single_task


def work(task: experiments.SingleTask[Params]) -> Tables:
    """Noise scale and flip probability at every size."""
    params = task.params
    distance = uniform_mixture.distance()
    scales = np.array([_scale(params, distance.sensitivity(int(n))) for n in SIZES])
    flips = [flip.flip_probability(np.zeros(1), params.epsilon_abc, scale)[0] for scale in scales]
    values = (SIZES, scales, np.array(flips))
    return {"main": pd.DataFrame(dict(zip(COLUMNS["main"], values, strict=True)))}


def _scale(params: Params, sensitivity: float) -> float:
    event = calibrate(params.epsilon_total, sensitivity, params.c, resample=params.resample)
    return event.threshold_scale


def collect(params: Params, rows: Tables) -> Result:
    """The result of the one task."""
    return Result(
        experiment=EXPERIMENT,
        params=params,
        tables=rows,
        summary=f"With ε_total = {params.epsilon_total:g}, ε_abc = {params.epsilon_abc:g} and "
        f"c = {params.c} noise makes a clear case ({_cases(params)}) come out wrong "
        f"{_from_where(rows['main'])}. Where good draws are rarer than that, most of what is "
        f"accepted may still be bad draws.",
        privacy="No data are read here, so nothing is spent.",
    )


def _cases(params: Params) -> str:
    """The distances that are meant; none is larger than the largest possible."""
    far = 2.0 * params.epsilon_abc
    possible = far <= uniform_mixture.distance().bound
    return f"a distance of 0{f' or {far:g}' if possible else ''}"


def _from_where(main: pd.DataFrame) -> str:
    times = f"{100 * ENOUGH:g} times in 100"
    enough = main.n[main.flip_probability <= ENOUGH]
    if enough.empty:
        return f"more than {times} even at N = {main.n.iloc[-1]:,} values"
    already = "already from" if len(enough) == len(main) else "from about"
    return f"at most {times} {already} N = {enough.iloc[0]:,} values on"


def figures(result: Result) -> dict[str, fig.Drawn]:
    """Flip probability of a clear case against the number of values."""
    params = cast(Params, result.params)
    enough = result.tables["main"].query("flip_probability <= @ENOUGH").n
    title = (
        f"From about {enough.iloc[0]:,} values on noise seldom decides a clear case"
        if len(enough)
        else f"Even {SIZES[-1]:,} values are too few for this budget"
    )
    return {EXPERIMENT: fig.Drawn(_curve(params, result.tables["main"], title), result.summary)}


def _curve(params: Params, main: pd.DataFrame, title: str) -> go.Figure:
    figure = fig.figure(
        title,
        "number of values N",
        "wrong decisions, of 100",
        height=380,
        settings=f"ε_total = {params.epsilon_total:g}, ε_abc = {params.epsilon_abc:g}, "
        f"c = {params.c:,}",
    )
    sizes = main.n.to_numpy(float)
    ends = sizes[[0, -1]]
    figure.add_trace(fig.line(ends, np.full(2, 50.0), fig.GUIDE).update(name="a coin toss"))
    figure.add_trace(fig.line(sizes, 100.0 * main.flip_probability.to_numpy(), fig.THEORY))
    fig.note(figure, ends[1], 50.0, "a coin toss ", fig.GUIDE.color, "bottom right")
    figure.update_xaxes(
        type="log",
        range=np.log10(ends).tolist(),
        tickvals=TICKS,
        ticktext=[f"{size:,}" for size in TICKS],
        showgrid=False,
    )
    figure.update_yaxes(range=[0.0, 57.0], tickvals=[0, 10, 20, 30, 40, 50])
    return figure.update_layout(showlegend=False)


TICKS = (10, 100, 1000, 10_000, 100_000)
