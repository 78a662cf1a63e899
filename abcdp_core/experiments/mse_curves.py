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

import dataclasses
import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import experiments, pool, sentences, simulators, summaries, trials
from abcdp_core import figures as fig
from abcdp_core import parameters as par
from abcdp_core.mechanisms import Budget, Prepared, noisy_counts, sparse_vector
from abcdp_core.mechanisms.sparse_vector import SparseVector
from abcdp_core.parameters import ParameterError
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.privacy import statement_of_largest
from abcdp_core.results import Result, Tables
from abcdp_core.simulators import ScenarioParams, uniform_mixture
from abcdp_core.streams import generator

Array = NDArray[np.float64]

EXPERIMENT = "mse-curves"
TITLE = "Error of the private posterior against the privacy budget"
COLUMNS = {
    "main": (
        "n", "pool_size", "sensitivity", "c", "epsilon_abc", "epsilon_total", "resample",
        "noise_scale", "run", "accepted", "mse", "mae", "prior_mse", "prior_mae",
    ),
    "rival": trials.RIVAL_COLUMNS,
}  # fmt: skip


@dataclass(frozen=True)
class Params(ScenarioParams):
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
    bandwidth: float | str = par.BANDWIDTH.field(uniform_mixture.BANDWIDTH)
    noise_draw: int = par.NOISE_DRAW.field(0)
    scenario: str = trials.SCENARIO.field(uniform_mixture.SCENARIO)

    def check_together(self) -> None:
        """Refuse too much work, more acceptances than draws, and data of unknown parameters."""
        super().check_together()
        if not trials.knows_truth(simulators.load(self.scenario)):
            raise ParameterError(
                f"scenario = {self.scenario}: nobody knows the true parameters of its data, so "
                f"their error cannot be measured."
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


tasks = experiments.per_run


def work(task: experiments.Run[Params]) -> Tables:
    """All combinations on the data, the pool and the noise of one run."""
    params, run, seed = task.params, task.run, task.seed
    largest = max(params.n)
    key = pool.key_for(params.scenario, largest, params.pool_size, seed, run, params.bandwidth)
    source = simulators.load(params.scenario)
    prior = summaries.errors(np.asarray(source.PRIOR_MEAN), source.TRUTH)
    rows, rivals = [], []
    for n in params.n:
        public, comparison = pool.PublicSide(key, n), pool.observed_comparison(key, n)
        address = (seed, run, params.noise_draw)
        rivals.append(trials.rival(public, comparison, params.epsilon_total, address))
        for c, epsilon_abc, epsilon_total, resample in itertools.product(
            params.c, params.epsilon_abc, params.epsilon_total, params.resample
        ):
            options = sparse_vector.Options(epsilon_abc, c, resample, params.sensitivity)
            prepared = sparse_vector.LINEAR.prepare(public, options, Budget(epsilon_total))
            event = prepared.event
            scale = event.threshold_scale if isinstance(event, SparseVector) else 0.0
            row = (n, params.pool_size, params.sensitivity, c, epsilon_abc, epsilon_total, resample)
            rows.append((*row, scale, run, *_error(comparison, prepared, task), *prior))
    return {
        "main": pd.DataFrame(rows, columns=list(COLUMNS["main"])),
        "rival": pd.concat(rivals, ignore_index=True),
    }


def _error(
    comparison: pool.Comparison, prepared: Prepared, task: experiments.Run[Params]
) -> tuple[int, float, float]:
    rng = generator(task.seed, "noise", task.run, task.params.noise_draw)
    release = prepared.release(comparison, rng)
    source = simulators.load(task.params.scenario)
    estimate = release.mean(comparison.theta, np.asarray(source.PRIOR_MEAN))
    return (len(release.indices), *summaries.errors(estimate, source.TRUTH))


def collect(params: Params, rows: Tables) -> Result:
    """The result so far."""
    main = rows["main"]
    source = simulators.load(params.scenario)
    sensitivity = source.distance().sensitivity(params.n[0], params.sensitivity)
    privacy = statement_of_largest(
        params.epsilon_total,
        lambda budget: sparse_vector.calibrate(
            budget, sensitivity, params.c[0], resample=params.resample[0]
        ),
        source.PROTECTED,
    )
    return Result(EXPERIMENT, params, rows, _summary(main), privacy)


def _summary(main: pd.DataFrame, metric: str = "mae") -> str:
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
        f"Over {sentences.runs_in_words(main)}"
        f"{f' at each of {len(means)} settings' if len(means) > 1 else ''} the "
        f"{summaries.METRICS[metric]} of the posterior mean {found}; the prior mean alone has "
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


def figures(result: Result) -> dict[str, fig.Drawn]:
    """Error against the budget, one line per value of what varies, panels for what else does."""
    main, params = result.tables["main"], cast(Params, result.params)
    rival = noisy_counts.rival(simulators.load(params.scenario))
    return {
        metric: fig.Drawn(_curves(result, metric), f"{_summary(main, metric)} {rival}")
        for metric in summaries.METRICS
    }


def _curves(result: Result, metric: str) -> go.Figure:
    params, main = cast(Params, result.params), result.tables["main"]
    lines, facets = _layout(params)
    settings = list(itertools.product(*(getattr(params, name) for name in facets)))
    statistics = error_statistics(main, metric)
    figure = fig.panels(
        [_describe(facets, setting) for setting in settings],
        _title(metric, main, statistics),
        "privacy budget ε_total",
        summaries.METRICS[metric],
        rows=len(params.resample) if "resample" in facets and len(facets) > 1 else 1,
        height=440 if len(params.resample) == 1 else 640,
    )
    figure.layout.title.subtitle.text = _fixed(params, {lines, *facets})
    values = getattr(params, lines)
    names = [_describe([lines], (value,)) for value in values]
    for index, setting in enumerate(settings):
        chosen = statistics
        for name, value in zip(facets, setting, strict=True):
            chosen = chosen[chosen[name] == value]
        for style, value in zip(fig.styles(names), values, strict=True):
            part = chosen[chosen[lines] == value]
            figure.add_traces(fig.run_line(part, "position", style, index, "ε_total"))
        for part in _rival_lines(result, metric, dict(zip(facets, setting, strict=True))):
            figure.add_traces(fig.run_line(part, "position", fig.RIVAL, index, "ε_total"))
    _budget_axis(figure, params)
    prior = float(main[f"prior_{metric}"].iloc[0])
    rival = len(result.tables["rival"]) > 0
    fig.error_axes(figure, metric, prior, _range(params), len(settings), rival=rival)
    low, high = figure.layout.yaxis.range
    fill = fig.translucent(fig.PRIOR.color, 0.18)
    for index in range(len(settings)):
        ids = fig.panel(index)
        place = {"xref": f"{ids['xaxis']} domain", "x0": 0, "x1": 1, "yref": ids["yaxis"]}
        figure.add_shape(
            type="rect", y0=prior, y1=10.0**high, fillcolor=fill, line_width=0, **place
        )
    ticks = [10.0**k for k in range(math.ceil(low), math.floor(high) + 1)]
    return figure.update_yaxes(tickvals=ticks, ticktext=[f"{tick:g}" for tick in ticks])


def _rival_lines(result: Result, metric: str, setting: Mapping[str, Any]) -> Iterator[pd.DataFrame]:
    """What the counts with noise give at a panel's size, if that is one size."""
    rival, params = result.tables["rival"], cast(Params, result.params)
    sizes = [setting["n"]] if "n" in setting else params.n
    chosen = rival[rival.n == sizes[0]]
    if len(sizes) > 1 or chosen.empty:
        return
    statistics = summaries.over_runs(chosen, metric, ("n", "epsilon_total"))
    main = result.tables["main"]
    yield statistics.assign(position=[_position(main, each) for each in statistics.epsilon_total])


def _layout(params: Params) -> tuple[str, list[str]]:
    """What the lines stand for, and what the panels do (rows first)."""
    several = [
        name for name in ("epsilon_abc", "c", "n", "resample") if len(getattr(params, name)) > 1
    ]
    lines = several[0] if several else "c"
    return lines, [name for name in ("resample", "n", "c") if name in several and name != lines]


def _describe(names: list[str], values: tuple[Any, ...]) -> str:
    words = []
    for name, value in zip(names, values, strict=True):
        if name == "resample":
            words.append("threshold redrawn" if value else "threshold kept")
        else:
            words.append(f"{fig.SYMBOLS[name]} = {value:,g}")
    return ", ".join(words)


def _title(metric: str, main: pd.DataFrame, statistics: pd.DataFrame) -> str:
    """From where to where the error goes, in a line."""
    low, high = (f"{value:.3g}" for value in (statistics["mean"].min(), statistics["mean"].max()))
    span = f"{low} at every setting" if low == high else f"from {low} to {high}"
    over = sentences.runs_in_words(main)
    return f"{summaries.METRICS[metric].capitalize()} {span}, over {over}"


def _fixed(params: Params, varying: set[str]) -> str:
    """What is the same in the whole figure."""
    fixed = [name for name in ("n", "c", "epsilon_abc") if name not in varying]
    return _describe(fixed, tuple(getattr(params, name)[0] for name in fixed))


def error_statistics(main: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Errors over runs of every setting, as :func:`summaries.over_runs` has them.

    With ``position``, the place on the axis: ε_total, or a place beyond the largest for ``inf``.
    """
    settings = ("n", "c", "epsilon_abc", "resample", "epsilon_total")
    statistics = summaries.over_runs(main, metric, settings)
    return statistics.assign(
        position=[_position(main, value) for value in statistics.epsilon_total]
    )


def _position(main: pd.DataFrame, epsilon_total: float) -> float:
    """Place of a budget on the axis; without noise it stands apart, right of all others."""
    if math.isfinite(epsilon_total):
        return epsilon_total
    finite = main.epsilon_total[np.isfinite(main.epsilon_total)]
    return 4.0 * float(finite.max()) if len(finite) else 1.0


def _range(params: Params) -> tuple[float, float]:
    finite = [value for value in params.epsilon_total if math.isfinite(value)] or [1.0]
    return min(finite) / 1.5, max(finite) * (6.0 if math.inf in params.epsilon_total else 1.5)


def _budget_axis(figure: go.Figure, params: Params) -> None:
    finite = sorted(value for value in params.epsilon_total if math.isfinite(value))
    ticks = [10.0**k for k in range(-3, 4) if finite and finite[0] <= 10.0**k <= finite[-1]]
    labels = [f"{tick:g}" for tick in ticks]
    if math.inf in params.epsilon_total:
        ticks.append(4.0 * finite[-1] if finite else 1.0)
        labels.append("∞")
    span = [math.log10(value) for value in _range(params)]
    figure.update_xaxes(type="log", range=span, tickvals=ticks, ticktext=labels)


def mark(figure: go.Figure, result: Result, metric: str, **setting: float) -> go.Figure:
    """Mark one setting (n, c, epsilon_abc, epsilon_total) on a figure without panels."""
    statistics = error_statistics(result.tables["main"], metric)
    for name, value in setting.items():
        statistics = statistics[np.isclose(statistics[name].astype(float), value)]
    if len(statistics):
        here = dataclasses.replace(fig.PRIVATE, name="your setting")
        trace = fig.points(
            statistics.position.to_numpy()[:1], statistics["mean"].to_numpy()[:1], here
        )
        figure.add_trace(trace.update(marker={"size": 14}))
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
    found = f"the {summaries.METRICS[metric]} is {row['mean']:.3g}{interval}{empty}"
    return f"At your setting {found}. "
