r"""How much does one release depend on its noise?

A single private release is one draw of the noise. Here the same data go through the same pool many
times, each with its own noise, so the spread between releases is the privacy noise and nothing
else. *Only one of them may be made in practice*: every release costs its own budget, so
$k$ of them cost $k\,\epsilon_{total}$.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from abcdp_core import experiments, releases, simulators, summaries
from abcdp_core import figures as fig
from abcdp_core.parameters import Parameter
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.results import Result, Tables
from abcdp_core.sentences import counted
from abcdp_core.streams import generator

EXPERIMENT = "many-releases"
TITLE = "Many releases of the same data"
COLUMNS = {
    "main": ("release_number", "sample", "parameter", "value", "weight"),
    "errors": ("release_number", "accepted", "mse", "mae"),
}

RELEASES = Parameter(
    kind="integer",
    label="Releases",
    help="How many times the noise is drawn anew.",
    low=1,
    high=200,
    steps=(1, 2, 5, 10, 20, 30, 50, 100, 200),
)


@dataclass(frozen=True)
class Params(releases.ReleaseParams):
    """A release's parameters, and how many of them; ``noise`` is the number of the first."""

    releases: int = RELEASES.field(30)


PRESETS: dict[str, BaseParams] = {}

prepare = releases.prepare

tasks = experiments.single_task


def work(task: experiments.SingleTask[Params]) -> Tables:
    """Release the same data again and again."""
    params = task.params
    comparison = releases.comparison_of(params, task.seed)
    source = simulators.load(params.scenario)
    samples, errors = [], []
    for number in range(params.noise_draw, params.noise_draw + params.releases):
        rng = generator(task.seed, "noise", 0, number)
        release, _ = releases.release(params, comparison, rng)
        chosen = comparison.theta[release.indices]
        samples.append((number, release, chosen))
        mean = release.mean(comparison.theta, source.PRIOR_MEAN)
        errors.append((number, len(chosen), *summaries.errors(mean, source.TRUTH)))
    names = list(source.AXES)
    main = pd.DataFrame(
        {
            "release_number": np.repeat([s[0] for s in samples], [s[2].size for s in samples]),
            "sample": np.concatenate([np.repeat(s[1].indices, len(names)) for s in samples]),
            "parameter": np.concatenate([np.tile(names, len(s[2])) for s in samples]),
            "value": np.concatenate([s[2].ravel() for s in samples]),
            "weight": np.concatenate([np.repeat(s[1].weights, len(names)) for s in samples]),
        }
    )
    return {"main": main, "errors": pd.DataFrame(errors, columns=list(COLUMNS["errors"]))}


def collect(params: Params, rows: Tables) -> Result:
    """The result of the one task."""
    errors = rows["errors"]
    single = releases.privacy_of(params)
    return Result(
        experiment=EXPERIMENT,
        params=params,
        tables=rows,
        summary=f"{_spread(errors)} {_accepted(errors.accepted, params.c)}",
        privacy=f"{single}{_together(len(errors), params.epsilon_total)}",
        event=releases.event_of(params),
    )


def _together(releases: int, epsilon_total: float) -> str:
    if releases == 1:
        return ""
    return f" All {releases} together would cost ε_total = {releases * epsilon_total:,.6g}."


FEW = 20
"""Below, quantiles say no more than the ends."""


def _spread(errors: pd.DataFrame) -> str:
    count = counted(len(errors), "release")
    if errors.mae.isna().all():
        return f"{count} of the same data, of which no truth is known."
    text = f"Over {count} of the same data the mean absolute error of the posterior mean is "
    if len(errors) == 1:
        return f"{text}{errors.mae.iloc[0]:.3g}."
    share = "all" if len(errors) < FEW else "90 %"
    ends = [0.0, 1.0] if len(errors) < FEW else [0.05, 0.95]
    low, high = (f"{end:.3g}" for end in np.quantile(errors.mae, ends))
    if low == high:
        return f"{text}{low} in {share} of them."
    return f"{text}{errors.mae.median():.3g} in the median; {share} lie between {low} and {high}."


def _accepted(accepted: pd.Series[int], c: int) -> str:
    low, high = accepted.min(), accepted.max()
    if high == 0:
        return "None accepted a draw, so the estimate is the prior mean."
    asked = f"c = {counted(c, 'draw')}"
    if low == high:
        each = "It" if len(accepted) == 1 else "Each"
        return f"{each} accepted {asked if low == c else f'{low} of {asked}'}."
    return f"They accepted {low} to {high} of the {asked} asked for."


def figures(result: Result) -> dict[str, fig.Drawn]:
    """Distribution functions of all releases, a panel per parameter."""
    params = cast(Params, result.params)
    source = simulators.load(params.scenario)
    names = list(source.AXES)
    groups = dict(list(result.tables["main"].groupby("parameter")))
    traces = []
    for row, name in enumerate(names):
        part = groups.get(name)
        if part is not None:
            traces.append(_steps(part, row))
        if source.TRUTH is not None:
            traces.append(fig.truth_line(float(source.TRUTH[row]), row))
    figure = fig.stack(
        names,
        f"{counted(params.releases, 'release')} of the same data: share of samples up to each "
        f"value (c = {params.c}, ε_total = {params.epsilon_total:g})",
        "value of the parameter",
        list(source.AXES.values()),
    )
    return {EXPERIMENT: fig.Drawn(figure.add_traces(traces), result.summary)}


def _steps(part: pd.DataFrame, row: int) -> go.Scatter:
    """Every release's weighted distribution function, one thin stepped line each, in one trace."""
    xs: list[Any] = []
    ys: list[Any] = []
    for _, one in part.groupby("release_number"):
        ordered = one.sort_values("value")
        xs += [ordered.value.to_numpy(), [np.nan]]
        ys += [ordered.weight.cumsum().to_numpy(), [np.nan]]
    style = fig.Style("private releases", fig.VERMILLION)
    trace = fig.line(np.concatenate(xs), np.concatenate(ys), style)
    trace.update(line={"shape": "hv", "width": 1}, opacity=0.5, hoverinfo="skip")
    return fig.in_panel(trace, row)
