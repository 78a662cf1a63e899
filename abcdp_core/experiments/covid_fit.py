r"""What can a private fit say about eighteen days of COVID-19 cases?

[P21] Section 6.2 fits a cubic in the day, $y(t) = a_3 + a_2 t + a_1 t^2 + a_0 t^3$ with
$a_i \sim N(0, 1)$, to the cases confirmed in the Netherlands, by ABCDP (MATH S1). Of 50 000 draws
of the prior the first $c$ are kept whose curve is near the observed series, with noise on both
sides of that comparison. The curves of the kept coefficients are simulated data sets; to simulate
them costs no further privacy.

One data point is *one day's national count*, so what is protected is a day, not a person. With
$N = 18$ days, one day moves a distance by up to $\Delta = \sqrt{2}/18$ (MATH M2). That is as
large as the threshold itself, and so is the noise: with $c = 5$ and $\epsilon_{total} = 13$ its
scale is 0.05 (with the paper's $\Delta = 2/18$) against $\epsilon_{abc} = 0.1$. The smaller the
budget and the larger $c$, the more curves are kept only because of noise, and the wider they
spread. Every run has its own noise and goes through the same pool in its own order, without noise
too: chance decides which draws come first in both.

The distance of the paper compares the *set* of counts and ignores which day each belongs to. With
(day, count) pairs a falling curve is not like a rising one. The bandwidth has to come from
simulated data (MATH M6). The paper's text does not say where it comes from in this study; its
published script takes it from the private series, a release that nobody accounts for. Two more
differences: the script has $\epsilon_{abc} = 0.05$ where the text has 0.1, and scales its noise by
$2c$ although it keeps the threshold, for which $c + 1$ is enough.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import figures as fig
from abcdp_core import parameters as par
from abcdp_core import pool
from abcdp_core.experiments import Link, Onward, SingleTask
from abcdp_core.figures import Drawn
from abcdp_core.mechanisms import sparse_vector
from abcdp_core.privacy import statement_of_largest
from abcdp_core.sentences import (
    amount,
    budget_name,
    compared,
    counted,
    listed,
    percent,
    settings_line,
    with_budget,
)
from abcdp_core.simulators import covid
from abcdp_core.streams import generator
from abcdp_core.study import BaseParams, Lines, Parameter, Result, Tables
from abcdp_core.summaries import empty_note, first_of

Array = NDArray[np.float64]

EXPERIMENT = "covid-fit"
TITLE = "COVID-19 in the Netherlands, fitted privately"
MAY_BE_LONG = True
COLUMNS = {
    "main": ("c", "epsilon_total", "run", "kind", "sample", "day", "value"),
    "spread": (
        "c", "epsilon_total", "run", "accepted", "flipped", "spread", "misfit",
        "prior_spread", "prior_misfit",
    ),
}  # fmt: skip
"""A run that accepted fewer than two curves has no ``spread``. One that accepted none has the
misfit of the prior's mean curve."""

DISTANCE = Parameter(
    kind="choice",
    label="Distance compares",
    help="values: the set of counts, whatever their days, as in the paper. pairs: (day, count).",
    options=covid.DISTANCES,
)
BANDWIDTH = Parameter(
    kind="real",
    label="Bandwidth of the kernel, in cases",
    help="A number; median: the median heuristic on simulated data; script: as the published "
    "script has it, from the private data, which is not private.",
    low=10.0,
    high=100_000.0,
    special=("median", "script"),
    unit="cases",
)


@dataclass(frozen=True)
class Params(BaseParams):
    """The knobs; every c and budget is run with the same noise, scaled."""

    epsilon_total: tuple[float, ...] = par.EPSILON_TOTAL_OR_INF.field(
        (13.0, 22.0, 44.0, math.inf), many=True
    )
    epsilon_abc: float = covid.EPSILON_ABC.field(covid.EPSILON_ABC_DEFAULT)
    c: tuple[int, ...] = par.C.field(covid.C_DEFAULT, many=True)
    pool_size: int = covid.POOL_SIZE.field(covid.POOL_SIZE_DEFAULT)
    resample: bool = par.RESAMPLE.field(False)
    sensitivity: str = par.SENSITIVITY.field("sharp")
    distance: str = DISTANCE.field(covid.DISTANCES[0])
    bandwidth: float | str = BANDWIDTH.field(covid.BANDWIDTH)
    runs: int = par.RUNS.field(60)
    noise_draw: int = par.NOISE_DRAW.field(0)

    def check_together(self) -> None:
        """Refuse more acceptances than draws, or too large a result."""
        par.check_accepted(max(self.c), self.pool_size)
        curves = sum(c + 1 for c in self.c) * len(self.epsilon_total)
        par.check_rows(self.runs, curves * covid.N_DEFAULT)

    def event(self, c: int, epsilon_total: float) -> sparse_vector.SparseVector:
        """What a fit with one c and a finite budget does with the data."""
        sensitivity = covid.distance().sensitivity(covid.N_DEFAULT, self.sensitivity)
        return sparse_vector.calibrate(epsilon_total, sensitivity, c, resample=self.resample)


PRESETS: dict[str, BaseParams] = {
    "p21-figure-4": Params(sensitivity="published", bandwidth="median"),
}

PART = 100
"""Runs in a part of the task, which take about a second."""


@dataclass(frozen=True)
class Task(SingleTask[Params]):
    """All of it."""

    @property
    def links(self) -> int:
        """Parts it is done in."""
        return -(-self.params.runs // PART)


def tasks(params: Params, seed: int) -> list[Task]:
    """Return a single task."""
    return [Task(params, seed)]


def pool_key(params: Params, seed: int) -> pool.PoolKey:
    """Return the public pool; with the script's bandwidth its comparison is not private."""
    bandwidth = covid.script_bandwidth() if params.bandwidth == "script" else params.bandwidth
    size, n = params.pool_size, covid.N_DEFAULT
    return pool.key_for(covid.SCENARIO, n, size, seed, 0, bandwidth, params.distance)


def prepare(params: Params, seed: int, progress: pool.Progress) -> None:
    """Make the public pool if it is not there yet, and say how far that is."""
    pool.make_ready(pool_key(params, seed), progress)


def work(task: Task | Onward[Task]) -> Link:
    """Fit at every setting, again and again with other noise and another order of the pool."""
    here = Onward.of(task)
    params, seed = here.task.params, here.task.seed
    comparison = pool.observed_comparison(pool_key(params, seed), covid.N_DEFAULT)
    curves = covid.curves(comparison.theta, covid.days(covid.N_DEFAULT))
    runs = range(here.done * PART, min((here.done + 1) * PART, params.runs))
    orders = {run: pool.order(seed, run, params.pool_size) for run in runs}
    prior = _spread(curves), _misfit(curves)
    main, spreads = [], []
    for at in itertools.product(params.c, params.epsilon_total):
        observed = _rows(at, 0, "observed", covid.CASES[None])
        main.append(observed if here.done == 0 else observed.head(0))
        for run, order in orders.items():
            rng = generator(seed, "noise", run, params.noise_draw)
            asked = comparison.rho[order], params.epsilon_abc
            release, trace = (
                sparse_vector.non_private(*asked, at[0])
                if math.isinf(at[1])
                else sparse_vector.run(*asked, params.event(*at), rng)
            )
            kept = curves[order[release.indices]]
            if len(kept):
                main.append(_rows(at, run, "sample", kept))
                main.append(_rows(at, run, "mean", kept.mean(axis=0)[None]))
            flipped = int(np.sum(trace.accepted & ~trace.non_private))
            found = _spread(kept), _misfit(kept) if len(kept) else prior[1]
            spreads.append((*at, run, len(kept), flipped, *found, *prior))
    tables = {
        "main": pd.concat(main, ignore_index=True),
        "spread": pd.DataFrame(spreads, columns=list(COLUMNS["spread"])),
    }
    return here.link(tables)


def _rows(at: tuple[int, float], run: int, kind: str, values: Array) -> pd.DataFrame:
    """Rows of curves ``(k, 18)``."""
    columns = {
        "c": at[0],
        "epsilon_total": at[1],
        "run": run,
        "kind": kind,
        "sample": np.repeat(np.arange(len(values)), values.shape[1]),
        "day": np.tile(np.arange(values.shape[1]), len(values)),
        "value": values.ravel(),
    }
    return pd.DataFrame(columns)


def _spread(curves: Array) -> float:
    """Standard deviation of curves ``(k, 18)``, mean over days, in cases; NaN for fewer than two.

    With the divisor k − 1, so that it does not grow with k by itself.
    """
    return float(curves.std(axis=0, ddof=1).mean()) if len(curves) > 1 else math.nan


def _misfit(curves: Array) -> float:
    """Distance of the mean of curves ``(k, 18)`` to the data: root of the mean square, in cases."""
    return math.sqrt(np.mean((curves.mean(axis=0) - covid.CASES) ** 2))


# ----------------------------------------------------------------------------------------- words


def collect(params: Params, rows: Tables) -> Result:
    """Return the result of the runs so far."""
    if params.bandwidth == "script":
        privacy = (
            "Not private: the bandwidth is the published script's, computed from the private "
            "series itself. Nobody accounts for that release, so ε_total is not what was spent."
        )
    else:
        privacy = statement_of_largest(
            params.epsilon_total, lambda budget: params.event(params.c[0], budget), covid.PROTECTED
        )
    result = Result(EXPERIMENT, params, rows, "", privacy)
    said = f"{_spread_found(result)[1]} {_picked(result)}.{empty_note(rows['spread'].accepted)}"
    return dataclasses.replace(result, summary=said)


def _spread_found(result: Result) -> tuple[str, str]:
    """How far curves spread with the smallest budget, and with the largest; at the first c."""
    table = first_of(result.tables["spread"], "c")
    means = table.groupby("epsilon_total").spread.mean()
    ends = {float(budget): float(means[budget]) for budget in means.index[[0, -1]]}
    budget, prior = min(ends), float(table.prior_spread.iloc[0])
    title = f"No run kept two curves {with_budget(budget)}"
    if ends[budget] >= 0.0:
        bare = len(ends) > 1 and ends.get(math.inf, 0.0) > 0.0
        other, what = (ends[math.inf], "without noise") if bare else (prior, "the prior's")
        more = compared(ends[budget], other)
        title = f"{with_budget(budget).capitalize()}, kept curves spread {more} {what}"
    found = [f"{amount(mean)} cases {with_budget(b)}" for b, mean in ends.items() if mean >= 0.0]
    spread = f"kept curves spread by {listed(found)}" if found else "no two curves were kept"
    where = f" at c = {table.c.iloc[0]}" if len(vars(result.params)["c"]) > 1 else ""
    none = " A run that kept fewer than two has no spread." if table.spread.isna().any() else ""
    runs = counted(table.run.nunique(), "run")
    beside = f"curves from the prior spread by {amount(prior)}."
    return title, f"Over {runs}{where}, {spread}; {beside}{none}"


def _picked(result: Result) -> str:
    """How many of the kept curves noise picked, with the smallest budget at the first c."""
    table = first_of(result.tables["spread"], "c")
    part = table[table.epsilon_total == table.epsilon_total.min()]
    at, kept = with_budget(float(part.epsilon_total.iloc[0])), int(part.accepted.sum())
    if kept == 0:
        return f"No run kept a curve {at}"
    if np.isinf(part.epsilon_total).all():
        return "Noise had no part in picking the curves"
    return f"Noise picked {percent(part.flipped.sum() / kept)} of the curves kept {at}"


# --------------------------------------------------------------------------------------- figures

CASES_SHOWN = (0.0, 4000.0)
"""Range of the axis: fixed, so that budgets can be compared; wild curves leave it."""

COLUMNS_SHOWN = 4
"""Panels that fit into one row."""

DAYS = np.arange(covid.N_DEFAULT, dtype=float)
OBSERVED = fig.TRUTH.called("observed", marker="circle")


def figures(result: Result) -> dict[str, Drawn]:
    """Draw the curves of one run, with noise beside without, and how far they spread over all."""
    said = "Thin lines are the curves that one run kept, thick ones their mean."
    return {"curves": Drawn(_curves(result), said), "spread": SPREAD(result)}


def _curves(result: Result) -> go.Figure:
    """Curves of the first run at the first c: a panel for each budget."""
    params = cast(Params, result.params)
    styles = {
        budget: fig.NON_PRIVATE if math.isinf(budget) else fig.PRIVATE
        for budget in params.epsilon_total
    }
    titles = [
        f'<b><span style="color:{style.color}">{budget_name(budget)}</span></b>'
        for budget, style in styles.items()
    ]
    rows = -(-len(titles) // COLUMNS_SHOWN)
    drawn = fig.panels(
        titles, _picked(result), "day", "confirmed cases", rows, 440 + 240 * (rows - 1)
    )
    same = settings_line(params, ("c", "epsilon_abc"))
    drawn.layout.title.subtitle.text = f"{same}, N = 18 days, one run"
    first = first_of(result.tables["main"], "run", "c")
    for index, (budget, style) in enumerate(styles.items()):
        part = first[first.epsilon_total == budget].set_index("kind").value
        values = {kind: part[part.index == kind].to_numpy() for kind in part.index.unique()}
        _panel(drawn, fig.panel(index), values, style)
    fig.named_once(drawn)
    drawn.update_xaxes(range=[-0.5, len(DAYS) - 0.5], tickvals=[0, 5, 10, len(DAYS) - 1])
    return drawn.update_yaxes(range=list(CASES_SHOWN), tickformat=",")


def _panel(
    drawn: go.Figure, here: dict[str, str], values: dict[str, Array], style: fig.Style
) -> None:
    """Draw what one run kept, and write how many curves that are, and how many leave the axis."""
    ends = values.get("sample", DAYS[:0]).reshape(-1, len(DAYS))[:, -1]
    if len(ends):
        kept = _together(values["sample"], style.called("kept", dash="solid"))
        mean = fig.line(DAYS, values["mean"], style.called("their mean", dash="dash"))
        drawn.add_trace(kept.update(line={"width": 1.5}, **here))
        drawn.add_trace(mean.update(line={"width": 4}, **here))
    drawn.add_trace(fig.points(DAYS, values["observed"], OBSERVED).update(**here))
    gone = int(np.sum((ends < CASES_SHOWN[0]) | (ends > CASES_SHOWN[1])))
    count = f"{len(ends)} kept" + (f"<br>{gone} off the axis" if gone else "")
    words = fig.words(0.0, CASES_SHOWN[1], count, style.color, "top left")
    drawn.add_annotation(words | {"xref": here["xaxis"], "yref": here["yaxis"], "align": "left"})


def _together(values: Array, style: fig.Style) -> go.Scatter:
    """All curves of a kind in one trace, with gaps between them."""
    y = np.pad(values.reshape(-1, len(DAYS)), ((0, 0), (0, 1)), constant_values=np.nan)
    return fig.line(np.tile(np.append(DAYS, np.nan), len(y)), y.ravel(), style)


def _prior(result: Result, _: pd.DataFrame) -> list[tuple[fig.Style, Array, Array]]:
    """How far curves from the prior spread, whatever the budget."""
    spread = float(result.tables["spread"].prior_spread.iloc[0])
    return [(fig.PRIOR, np.array([0.001, 4000.0]), np.full(2, spread))]


SPREAD = Lines(
    "spread",
    "epsilon_total",
    by=("c",),
    table="spread",
    says=_spread_found,
    settings=("c", "epsilon_abc"),
    curves=_prior,
    y_range=lambda _: (10.0, 10_000.0),
    y_title="spread of the curves, in cases",
)
