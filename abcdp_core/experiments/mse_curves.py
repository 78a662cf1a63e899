r"""What does privacy cost in accuracy?

The error of a posterior is that of its mean: over the $d$ parameters, the mean squared (MSE) or
mean absolute (MAE) difference from the truth, beside the error of the prior mean, which needs no
data at all. Each run has its own data $Y^*$, its own pool and its own noise, so bands over runs
show all that chance does.

Two forces pull against each other. A larger $\epsilon_{abc}$ keeps draws that look less like the
data. A smaller one leaves less room between accept and reject, so the noise of scale $b$ (MATH S2)
decides instead of the data, and more so the smaller $\epsilon_{total}$ and $N$ and the larger $c$.

[P21] Figure 3 is labelled mean-squared error; its published script plots the mean absolute error.
Both are here, named for what they are. If a run accepts nothing, its estimate *is* the prior mean:
marks are open where that happened, because there the error says little about the data.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import experiments, pool, summaries
from abcdp_core import figures as fig
from abcdp_core import parameters as par
from abcdp_core.mechanisms import sparse_vector
from abcdp_core.parameters import Parameter
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.privacy import SparseVector, statement_of_largest
from abcdp_core.results import Result, Tables
from abcdp_core.simulators import uniform_mixture
from abcdp_core.streams import generator

Array = NDArray[np.float64]

EXPERIMENT = "mse-curves"
TITLE = "Error of the private posterior against the privacy budget"
COLUMNS = {
    "main": (
        "n", "pool_size", "sensitivity", "c", "epsilon_abc", "epsilon_total", "resample",
        "noise_scale", "run", "accepted", "mse", "mae", "prior_mse", "prior_mae",
    )
}  # fmt: skip

BANDWIDTH = Parameter(
    kind="real",
    label="Bandwidth of the kernel",
    help="A number, or median for the median heuristic on simulated data.",
    low=0.05,
    high=5.0,
    special=("median",),
)


@dataclass(frozen=True)
class Params(BaseParams):
    """Every combination of the lists is run on the same data, pool and noise within a run."""

    epsilon_total: tuple[float, ...] = par.EPSILON_TOTAL_OR_INF.field(
        (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, math.inf), many=True
    )
    epsilon_abc: tuple[float, ...] = uniform_mixture.EPSILON_ABC.field(
        uniform_mixture.EPSILON_ABC_DEFAULT, many=True
    )
    c: tuple[int, ...] = par.C.field((10, 100, 1000), many=True)
    n: tuple[int, ...] = uniform_mixture.N.field(uniform_mixture.N_DEFAULT, many=True)
    pool_size: int = par.POOL_SIZE.field(10_000)
    resample: tuple[bool, ...] = par.RESAMPLE.field(False, many=True)
    sensitivity: str = par.SENSITIVITY.field("sharp")
    runs: int = par.RUNS.field(10)
    bandwidth: float | str = BANDWIDTH.field(uniform_mixture.BANDWIDTH)
    noise_draw: int = par.NOISE_DRAW.field(0)

    def check_together(self) -> None:
        """Refuse too much work, or more acceptances than draws."""
        par.check_work(max(self.n), self.pool_size)
        par.check_accepted(max(self.c), self.pool_size)


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


@dataclass(frozen=True)
class Task:
    """One run: ``params`` without the number of runs, so that more runs repeat none."""

    epsilon_total: tuple[float, ...]
    epsilon_abc: tuple[float, ...]
    c: tuple[int, ...]
    n: tuple[int, ...]
    pool_size: int
    resample: tuple[bool, ...]
    sensitivity: str
    bandwidth: float | str
    noise_draw: int
    run: int
    seed: int


def tasks(params: Params, seed: int) -> list[Task]:
    """One task per run."""
    return experiments.per_run(Task, params, seed)


def work(task: Task) -> Tables:
    """All combinations on the data, the pool and the noise of one run."""
    key = pool.key_for(
        uniform_mixture.SCENARIO,
        max(task.n),
        task.pool_size,
        task.seed,
        task.run,
        task.bandwidth,
    )
    prior = summaries.errors(uniform_mixture.PRIOR_MEAN, uniform_mixture.TRUTH)
    rows = []
    for n in task.n:
        comparison = pool.observed_comparison(key, n)
        for c, epsilon_abc, epsilon_total, resample in itertools.product(
            task.c, task.epsilon_abc, task.epsilon_total, task.resample
        ):
            setting = sparse_vector.Setting(
                epsilon_total, epsilon_abc, c, resample, comparison.sensitivity(task.sensitivity)
            )
            event = setting.event()
            scale = event.threshold_scale if isinstance(event, SparseVector) else 0.0
            row = (n, task.pool_size, task.sensitivity, c, epsilon_abc, epsilon_total, resample)
            rows.append((*row, scale, task.run, *_error(comparison, setting, task), *prior))
    return {"main": pd.DataFrame(rows, columns=list(COLUMNS["main"]))}


def _error(
    comparison: pool.Comparison, setting: sparse_vector.Setting, task: Task
) -> tuple[int, float, float]:
    rng = generator(task.seed, "noise", task.run, task.noise_draw)
    release, _ = sparse_vector.release(comparison, setting, rng)
    estimate = release.mean(comparison.theta, uniform_mixture.PRIOR_MEAN)
    return (len(release.indices), *summaries.errors(estimate, uniform_mixture.TRUTH))


def collect(params: Params, rows: Tables) -> Result:
    """The result so far."""
    main = rows["main"]
    sensitivity = uniform_mixture.distance().sensitivity(params.n[0], params.sensitivity)
    privacy = statement_of_largest(
        params.epsilon_total,
        lambda budget: sparse_vector.Setting(
            budget, params.epsilon_abc[0], params.c[0], params.resample[0], sensitivity
        ).event(),
        uniform_mixture.PROTECTED,
    )
    return Result(EXPERIMENT, params, rows, _summary(main), privacy)


def _summary(main: pd.DataFrame, metric: str = "mae") -> str:
    runs = main.run.nunique()
    means = main.groupby(["n", "c", "epsilon_abc", "epsilon_total", "resample"])[metric].mean()
    low, high = f"{means.min():.3g}", f"{means.max():.3g}"
    several = len(main["resample"].unique()) > 1
    found = f"is {low} ({_setting(means.idxmin(), several)})"
    if len(means) > 1:
        found = f"is {low} at all of them"
    if low != high:
        found = (
            f"goes from {low} ({_setting(means.idxmin(), several)}) to {high} "
            f"({_setting(means.idxmax(), several)})"
        )
    return (
        f"Over {runs} {'run' if runs == 1 else 'runs'}"
        f"{f' at each of {len(means)} settings' if len(means) > 1 else ''} the {METRICS[metric]} "
        f"of the posterior mean {found}; the prior mean alone has "
        f"{main[f'prior_{metric}'].iloc[0]:.3g}."
        f"{summaries.empty_note(main.accepted)}"
    )


def _setting(key: Any, several: bool) -> str:
    n, c, epsilon_abc, epsilon_total, resample = key
    threshold = f", threshold {'redrawn' if resample else 'kept'}" if several else ""
    return (
        f"ε_total = {_budget(epsilon_total)}, ε_abc = {epsilon_abc:g}, c = {c}, "
        f"N = {n:,}{threshold}"
    )


def _budget(epsilon_total: float) -> str:
    return "∞" if math.isinf(epsilon_total) else f"{epsilon_total:g}"


DECADES = {"mae": 1.3, "mse": 2.6}
"""How far below the prior's error the axis reaches."""

METRICS = {"mae": "mean absolute error", "mse": "mean squared error"}


def figures(result: Result) -> dict[str, fig.Drawn]:
    """Error against the budget, one line per value of what varies, panels for what else does."""
    main = result.tables["main"]
    return {
        metric: fig.Drawn(_curves(result, metric), _summary(main, metric)) for metric in METRICS
    }


def _curves(result: Result, metric: str) -> go.Figure:
    params = cast(Params, result.params)
    lines, facets = _layout(params)
    settings = list(itertools.product(*(getattr(params, name) for name in facets)))
    runs = result.tables["main"].run.nunique()
    figure = fig.panels(
        [_describe(facets, setting) for setting in settings],
        _title(params, metric, runs, {lines, *facets}),
        "privacy budget ε_total",
        METRICS[metric],
        rows=len(params.resample) if "resample" in facets and len(facets) > 1 else 1,
        height=440 if len(params.resample) == 1 else 640,
    )
    statistics = error_statistics(result.tables["main"], metric)
    values = getattr(params, lines)
    names = [_describe([lines], (value,)) for value in values]
    for index, setting in enumerate(settings):
        chosen = statistics
        for name, value in zip(facets, setting, strict=True):
            chosen = chosen[chosen[name] == value]
        for style, value in zip(fig.styles(names), values, strict=True):
            part = chosen[chosen[lines] == value].sort_values("position")
            figure.add_traces(_line(part, style, index))
        prior = float(result.tables["main"][f"prior_{metric}"].iloc[0])
        figure.add_trace(_prior_line(params, prior, index))
    _axes(figure, params, metric, float(result.tables["main"][f"prior_{metric}"].iloc[0]))
    return figure


def _layout(params: Params) -> tuple[str, list[str]]:
    """What the lines stand for, and what the panels do (rows first)."""
    several = [
        name for name in ("epsilon_abc", "c", "n", "resample") if len(getattr(params, name)) > 1
    ]
    lines = several[0] if several else "c"
    return lines, [name for name in ("resample", "n", "c") if name in several and name != lines]


_LABELS = {"epsilon_abc": "ε_abc", "c": "c", "n": "N"}


def _describe(names: list[str], values: tuple[Any, ...]) -> str:
    words = []
    for name, value in zip(names, values, strict=True):
        if name == "resample":
            words.append("threshold redrawn" if value else "threshold kept")
        else:
            words.append(f"{_LABELS[name]} = {value:,g}")
    return ", ".join(words)


def _title(params: Params, metric: str, runs: int, varying: set[str]) -> str:
    fixed = [name for name in ("n", "c", "epsilon_abc") if name not in varying]
    setting = _describe(fixed, tuple(getattr(params, name)[0] for name in fixed))
    over = f"{runs} {'run' if runs == 1 else 'runs'}"
    return f"{METRICS[metric].capitalize()} of the posterior mean over {over}: {setting}"


def error_statistics(main: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Mean and 95 % bootstrap interval over runs of every setting, with its place on the axis.

    Columns: the settings, ``position`` (ε_total, or a place beyond the largest for ``inf``),
    ``mean``, ``low``, ``high``, ``empty_share`` of the runs that accepted nothing.
    """
    settings = ["n", "c", "epsilon_abc", "resample", "epsilon_total"]
    table = main.pivot_table(index="run", columns=settings, values=metric)
    empty = (main.accepted == 0).groupby([main[name] for name in settings]).mean()
    values = table.to_numpy()
    low, high = summaries.mean_interval(values, generator(0, "bootstrap"))
    statistics = table.columns.to_frame(index=False)
    statistics["position"] = [_position(main, value) for value in statistics.epsilon_total]
    shares = empty.reindex(table.columns).to_numpy()
    return statistics.assign(mean=values.mean(axis=0), low=low, high=high, empty_share=shares)


def _position(main: pd.DataFrame, epsilon_total: float) -> float:
    """Place of a budget on the axis; without noise it stands apart, right of all others."""
    if math.isfinite(epsilon_total):
        return epsilon_total
    finite = main.epsilon_total[np.isfinite(main.epsilon_total)]
    return 4.0 * float(finite.max()) if len(finite) else 1.0


def _line(part: pd.DataFrame, style: fig.Style, index: int) -> list[go.Scatter]:
    x, y = part.position.to_numpy(), part["mean"].to_numpy()
    low, high = part.low.to_numpy(), part.high.to_numpy()
    shown = {"legendgroup": style.name, **fig.panel(index)}
    traces = [fig.band(x, low, high, style).update(**shown)] if np.isfinite(low).all() else []
    marks = fig.line(x, y, style).update(showlegend=index == 0, **shown)
    marks.update(
        mode="lines+markers",
        marker={"color": style.color, "symbol": style.marker, "size": 8},
        customdata=np.column_stack([low, high, 100.0 * part.empty_share]),
        hovertemplate="ε_total = %{x}: %{y:.4f}, 95 % interval %{customdata[0]:.4f} to "
        "%{customdata[1]:.4f}; %{customdata[2]:.0f} % of the runs accepted nothing<extra>"
        + style.name
        + "</extra>",
    )
    return [*traces, fig.hollow(marks, part.empty_share.to_numpy())]


def _prior_line(params: Params, prior: float, index: int) -> go.Scatter:
    low, high = _range(params)
    trace = fig.line(np.array([low, high]), np.full(2, prior), fig.Style("prior", fig.GREY, "dot"))
    return trace.update(showlegend=index == 0, legendgroup="prior", **fig.panel(index))


def _range(params: Params) -> tuple[float, float]:
    finite = [value for value in params.epsilon_total if math.isfinite(value)] or [1.0]
    return min(finite) / 1.5, max(finite) * (6.0 if math.inf in params.epsilon_total else 1.5)


def _axes(figure: go.Figure, params: Params, metric: str, prior: float) -> None:
    finite = sorted(value for value in params.epsilon_total if math.isfinite(value))
    ticks = [10.0**k for k in range(-3, 4) if finite and finite[0] <= 10.0**k <= finite[-1]]
    labels = [f"{tick:g}" for tick in ticks]
    if math.inf in params.epsilon_total:
        ticks.append(4.0 * finite[-1] if finite else 1.0)
        labels.append("∞")
    span = [math.log10(value) for value in _range(params)]
    figure.update_xaxes(type="log", range=span, tickvals=ticks, ticktext=labels)
    # Fixed by the prior's error, so that a knob moves the curves and not the axis.
    floor = math.log10(prior) - DECADES[metric]
    figure.update_yaxes(type="log", range=[floor, math.log10(2 * prior)], dtick=1)


def mark(figure: go.Figure, result: Result, metric: str, **setting: float) -> go.Figure:
    """Mark one setting (n, c, epsilon_abc, epsilon_total) on a figure without panels."""
    statistics = error_statistics(result.tables["main"], metric)
    for name, value in setting.items():
        statistics = statistics[np.isclose(statistics[name].astype(float), value)]
    if len(statistics):
        here = fig.Style("your setting", fig.VERMILLION, marker="circle-open")
        trace = fig.points(
            statistics.position.to_numpy()[:1], statistics["mean"].to_numpy()[:1], here
        )
        figure.add_trace(trace.update(marker={"size": 18, "line": {"width": 3}}))
    return figure


def error_here(result: Result, metric: str, here: dict[str, float]) -> str:
    """The error at one setting with its interval; empty where it was not simulated.

    Args:
        result: of the study of errors.
        metric: its column, ``mae`` or ``mse``.
        here: n, c, epsilon_abc, epsilon_total.
    """
    table = error_statistics(result.tables["main"], metric)
    for name, value in here.items():
        table = table[(table[name] - value).abs() <= 1e-9 * value]
    if table.empty:
        return ""
    row = table.iloc[0]
    known = math.isfinite(row.low)
    interval = f" (95 % interval {row.low:.3g} to {row.high:.3g})" if known else ""
    empty = ""
    if row.empty_share > 0:
        empty = f"; {100 * row.empty_share:.0f} % of the runs there accepted nothing"
    found = f"the {METRICS[metric]} is {row['mean']:.3g}{interval}{empty}"
    return f"At your setting {found}. "
