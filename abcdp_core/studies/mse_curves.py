r"""What does privacy cost in accuracy?

The error of a posterior is the error of its mean: the mean squared (MSE) or mean absolute (MAE)
difference from the truth over the $d$ parameters. Beside it is the error of the prior mean, which
uses no data at all. Each run has its own data $Y^*$, pool and noise, so the bands over runs show
every source of chance.

Two forces pull against each other. A larger $\epsilon_{abc}$ keeps draws that look less like the
data. A smaller one leaves less room between keeping and rejecting, so noise of scale $b$ (MATH S2)
decides instead of the data; more so the smaller $\epsilon_{total}$ and $N$ and the larger $c$.

[P21] Figure 3 is labeled mean squared error, but its published script plots the mean absolute
error. Both are shown here. If a run keeps no draw, its estimate *is* the prior mean. Marks are open
where that happened, because the error there says little about the data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from abcdp_core import figures as fig
from abcdp_core.base import parameters as par
from abcdp_core.base.parameters import ParameterError
from abcdp_core.base.sentences import AXES, amount, percent
from abcdp_core.base.summaries import over_runs
from abcdp_core.evaluation import cases
from abcdp_core.mechanisms import Budget, sparse_vector
from abcdp_core.models import simulators
from abcdp_core.models.simulators import ScenarioParams
from abcdp_core.models.simulators.uniform_mixture import SCENARIO as MIXTURE
from abcdp_core.privacy import Event
from abcdp_core.studies.engine import BaseParams, CellTable, Result, Settings, Study
from abcdp_core.studies.engine.errors import RIVAL, LeastError, StudyData

EXPERIMENT = "mse-curves"
TITLE = "Error of the private posterior against the privacy budget"


@dataclass(frozen=True)
class Params(ScenarioParams):
    """Lists of settings; within a run, all combinations share data, pool and noise."""

    epsilon_total: tuple[float, ...] = par.EPSILON_TOTAL_OR_INF.field(
        (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, math.inf)
    )
    epsilon_abc: tuple[float, ...] = MIXTURE.epsilon_abc.field(
        MIXTURE.epsilon_abc_default, many=True
    )
    c: tuple[int, ...] = par.C.field((10, 100, 1000))
    n: tuple[int, ...] = MIXTURE.n.field((MIXTURE.n_default,))
    pool_size: int = par.POOL_SIZE.field(10_000)
    resample: tuple[bool, ...] = par.RESAMPLE.field((False,))
    sensitivity: str = par.SENSITIVITY.field("sharp")
    runs: int = par.RUNS.field(10)
    bandwidth: float | str = par.BANDWIDTH.field(MIXTURE.bandwidth)
    noise_draw: int = par.NOISE_DRAW.field(0)
    scenario: str = cases.SCENARIO.field(MIXTURE.name)

    def check_together(self) -> None:
        """Refuse too much work, more kept draws than the pool has, and an unknown truth."""
        super().check_together()
        if not cases.knows_truth(self.source):
            raise ParameterError(
                f"scenario = {self.scenario}: the true parameters of its data are unknown, so no "
                f"error can be measured."
            )


PRESETS: dict[str, BaseParams] = {
    "p21-figure-3": Params(
        epsilon_total=(0.5, 1.0, 10.0, math.inf),
        epsilon_abc=(0.01, 0.05, 0.1, 0.2, 0.5),
        c=(10, 100, 1000),
        n=(5000,),
        resample=(True, False),
        sensitivity="published",
        runs=60,
    )
}


def event(at: Settings) -> Event:
    """Return what a release does with the data; public."""
    sensitivity = simulators.load(at.scenario).distance().sensitivity(at.n, at.sensitivity)
    return sparse_vector.calibrate(at.epsilon_total, sensitivity, at.c, resample=at.resample)


def cell(world: StudyData, at: Settings) -> dict[str, float]:
    """Return the scale of the threshold's noise, the number of kept draws, and errors."""
    options = sparse_vector.Options(at.epsilon_abc, at.c, at.resample, at.sensitivity)
    prepared = sparse_vector.LINEAR.prepare(world.public(at.n), options, Budget(at.epsilon_total))
    release = prepared.release(world.comparison(at.n), at.rng())
    scale = getattr(prepared.event, "threshold_scale", 0.0)
    made = {"noise_scale": scale, "accepted": len(release.indices)}
    return made | world.errors(release, at.n) | world.prior_errors


BY = ("n", "c", "epsilon_abc", "resample")
LEAST = LeastError("the sparse vector", over=BY)

STUDY = Study(
    EXPERIMENT,
    Params,
    world=StudyData.of,
    tables={
        "main": CellTable(
            "n pool_size sensitivity c epsilon_abc epsilon_total resample noise_scale run accepted "
            "mse mae prior_mse prior_mae",
            cell,
        ),
        "rival": RIVAL,
    },
    says=lambda result: LEAST.caption(result, "mae"),
    event=event,
    views=LEAST.views("epsilon_total", settings=("n", "c", "epsilon_abc")),
)
COLUMNS, tasks, work, collect, figures = STUDY.contract()


def mark(figure: go.Figure, result: Result, metric: str, **here: float) -> tuple[go.Figure, str]:
    """Mark one setting on a figure of errors, and say its error; change nothing if it is not there.

    Args:
        figure: without panels.
        result: that it shows.
        metric: ``mae`` or ``mse``.
        here: n, c, epsilon_abc, epsilon_total.
    """
    table = result.tables["main"]
    for name, value in here.items():
        table = table[np.isclose(table[name].astype(float), value)]
    if table.empty:
        return figure, ""
    row = over_runs(table, metric, ["epsilon_total"]).iloc[0]
    interval = f" (95 % interval {amount(row.low)} to {amount(row.high)})"
    sentence = f"At your setting, the {AXES[metric]} is {amount(row['mean'])}"
    empty = f"; {percent(row.empty_share)} of runs keep no draw" if row.empty_share else ""
    figure.add_trace(fig.own_mark(here["epsilon_total"], row["mean"], "your setting"))
    return figure, f"{sentence}{interval if math.isfinite(row.low) else ''}{empty}. "
