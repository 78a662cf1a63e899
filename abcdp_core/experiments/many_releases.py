r"""How much does one release depend on its noise?

A single private release is one draw of the noise. Here the same data go through the same pool many
times, each with its own noise, so the spread between releases is the privacy noise and nothing
else. *Only one of them may be made in practice*: every release costs its own budget, so
$k$ of them cost $k\,\epsilon_{total}$.

Of each release the mean of what it accepted is drawn, the prior mean if that is nothing, beside the
mean without noise, the prior mean and the truth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import experiments, pool, releases, simulators, summaries
from abcdp_core import figures as fig
from abcdp_core.mechanisms import sparse_vector
from abcdp_core.parameters import Parameter
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.results import Result, Tables
from abcdp_core.sentences import amount, counted
from abcdp_core.streams import generator

Array = NDArray[np.float64]

EXPERIMENT = "many-releases"
TITLE = "Many releases of the same data"
COLUMNS = {
    "main": ("release_number", "sample", "parameter", "value", "weight"),
    "errors": ("release_number", "accepted", "mse", "mae"),
    "references": (
        "parameter", "non_private", "non_private_accepted", "prior", "truth", "prior_low",
        "prior_high",
    ),
}  # fmt: skip
"""In *references*, the mean of the run without noise, the prior mean and, of what is known, the
truth; the prior's draws but for 1 in 100 lie from ``prior_low`` to ``prior_high``."""

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
    return {
        "main": main,
        "errors": pd.DataFrame(errors, columns=list(COLUMNS["errors"])),
        "references": _references(params, comparison),
    }


def _references(params: Params, comparison: pool.Comparison) -> pd.DataFrame:
    """What the releases' means are seen beside, a row per parameter."""
    source = simulators.load(params.scenario)
    plain, _ = sparse_vector.non_private(comparison.rho, params.epsilon_abc, params.c)
    low, high = np.quantile(comparison.theta, (0.005, 0.995), axis=0)
    return pd.DataFrame(
        {
            "parameter": list(source.AXES),
            "non_private": plain.mean(comparison.theta, source.PRIOR_MEAN),
            "non_private_accepted": len(plain.indices),
            "prior": np.asarray(source.PRIOR_MEAN, dtype=float),
            "truth": np.nan if source.TRUTH is None else source.TRUTH,
            "prior_low": low,
            "prior_high": high,
        }
    )


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
        return f"{text}{amount(errors.mae.iloc[0])}."
    share = "all" if len(errors) < FEW else "90 %"
    ends = [0.0, 1.0] if len(errors) < FEW else [0.05, 0.95]
    low, high = map(amount, np.quantile(errors.mae, ends))
    if low == high:
        is_one = amount(errors.mae.min()) == amount(errors.mae.max())
        return f"{text}{low} in {'all' if is_one else share} of them."
    return (
        f"{text}{amount(errors.mae.median())} in the median; {share} lie between {low} and {high}."
    )


def _accepted(accepted: pd.Series[int], c: int) -> str:
    low, high = accepted.min(), accepted.max()
    if high == 0:
        return "None accepted a draw, so the estimate is the prior mean."
    asked = f"c = {counted(c, 'draw')}"
    if low == high:
        each = "It" if len(accepted) == 1 else "Each"
        return f"{each} accepted {asked if low == c else f'{low} of {asked}'}."
    return f"They accepted {low} to {high} of the {asked} asked for."


# --------------------------------------------------------------------------------------- figures


def figures(result: Result) -> dict[str, fig.Drawn]:
    """The means of all releases as a strip per parameter."""
    return {EXPERIMENT: fig.Drawn(_strips(result), result.summary)}


def means(result: Result) -> Array:
    """Mean of each release ``(releases, d)``, the prior mean where nothing was accepted."""
    references, numbers = result.tables["references"], result.tables["errors"].release_number
    main = result.tables["main"]
    weighted = main.assign(value=main.value * main.weight)
    sums = weighted.pivot_table("value", "release_number", "parameter", "sum")
    found = sums.reindex(index=numbers, columns=references.parameter)
    return np.asarray(found.fillna(references.set_index("parameter").prior), dtype=float)


NEARLY = 1.1
"""Times the error without noise up to which a release is about as far off."""


def finding(result: Result) -> str:
    """What noise does to a release that is neither lucky nor unlucky, in a line."""
    errors, references = result.tables["errors"], result.tables["references"]
    if errors.accepted.max() == 0:
        few = "The release" if len(errors) == 1 else f"None of {len(errors)} releases"
        return f"{few} accepted {'nothing' if len(errors) == 1 else 'a draw'}: the prior is left"
    plain = math.sqrt(((references.non_private - references.truth) ** 2).mean())
    if not plain > 0.0:
        return f"{counted(len(errors), 'release')} of the same data, and the answer without noise"
    typical = float(np.sqrt(errors.mse).median()) / plain
    what = "This release" if len(errors) == 1 else "A typical release"
    if typical > NEARLY:
        return f"{what} is {typical:.1f} times as far off as the answer without noise"
    if typical < 1.0 / NEARLY:
        return f"{what} is nearer the truth than the answer without noise"
    return f"{what} is about as far off as the answer without noise"


ROW = 66
"""Pixels of a parameter's strip."""

SPREAD, GOLDEN = 0.56, (math.sqrt(5.0) - 1.0) / 2.0
"""Part of a strip that dots are spread over, and the step that spreads any number of them."""


def _strips(result: Result) -> go.Figure:
    params, references = cast(Params, result.params), result.tables["references"]
    names = list(references.parameter)
    ends = _ends(references, list(simulators.load(params.scenario).AXES.values()))
    settings = (
        f"ε_total = {params.epsilon_total:g} for each, ε_abc = {params.epsilon_abc:g}, "
        f"c = {params.c:,}, N = {params.n:,}"
    )
    title, x = finding(result), "mean of the accepted draws"
    together = len(set(ends)) == 1
    if together:
        figure = fig.figure(title, x, "", 130 + ROW * len(names), settings)
        figure.update_xaxes(range=ends[0], showgrid=False)
        figure.update_yaxes(range=[0.5 - len(names), 0.5])
        figure.update_yaxes(tickvals=-np.arange(len(names)), ticktext=names, ticks="")
    else:
        figure = fig.stack(names, title, x, ends, ROW + fig.TICKS)
        figure.layout.title.subtitle.text = settings
        figure.update_yaxes(range=[-0.5, 0.5], tickvals=[0.0], ticks="", title=None)
        for index, name in enumerate(names):
            figure.layout["yaxis" + fig.panel(index)["yaxis"][1:]].ticktext = [name]
    for style, values, heights, look in _series(result):
        for part in [slice(None)] if together else [slice(i, i + 1) for i in range(len(names))]:
            rows = -np.arange(len(names)) if together else np.zeros(1)
            x_of = values[:, part]
            y_of = np.broadcast_to(heights[:, None], x_of.shape) + rows
            trace = fig.points(x_of.ravel(), y_of.ravel(), style).update(marker=look)
            figure.add_trace(trace.update(fig.panel(part.start or 0)))
    figure.update_traces(hovertemplate="%{x:.4~r}")
    _explain(figure, known=bool(references.truth.notna().any()))
    return figure.update_layout(showlegend=False)


def _ends(references: pd.DataFrame, axes: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Ends of each axis, in steps: of the prior's draws but for a few, with the truth within."""
    found = []
    columns = (references[name].to_numpy(float) for name in ("prior_low", "prior_high", "truth"))
    for (low, high), *inside in zip(axes, *columns, strict=True):
        step = (high - low) / 20.0
        least = np.nanmin([inside[0], inside[2] - step])
        most = np.nanmax([inside[1], inside[2] + step])
        first, last = math.floor((least - low) / step), math.ceil((most - low) / step)
        found.append((max(low, low + step * first), min(high, low + step * last)))
    if len(set(axes)) == 1:
        lows, highs = zip(*found, strict=True)
        return [(min(lows), max(highs))] * len(axes)
    return found


def _series(result: Result) -> list[tuple[fig.Style, Array, Array, dict[str, object]]]:
    """Each with its style, its values ``(k, d)``, their places in a strip ``(k,)``, its look."""
    references, found = result.tables["references"], means(result)
    number = result.tables["errors"].release_number.to_numpy()
    spread = SPREAD * ((number * GOLDEN) % 1.0 - 0.5)
    middle = np.zeros(1)
    ring = {"width": 2, "color": fig.BOTH.color}
    series: list[tuple[fig.Style, Array, Array, dict[str, object]]] = [
        (fig.PRIOR, references.prior.to_numpy()[None], middle, {"size": 11}),
        (fig.PRIVATE, found, spread, {"size": 7, "opacity": 0.7}),
        (fig.PRIVATE, found[-1:], spread[-1:], {"size": 13, "line": ring}),
        (fig.NON_PRIVATE, references.non_private.to_numpy()[None], middle, {"size": 12}),
    ]
    if references.truth.notna().any():
        series.append((fig.TRUTH, references.truth.to_numpy()[None], middle, {"size": 34}))
    return series


def _explain(figure: go.Figure, *, known: bool) -> None:
    """What the marks are."""
    words = [("● releases", fig.PRIVATE), ("■ without noise", fig.NON_PRIVATE)]
    words += [("◆ prior", fig.PRIOR), *([("│ truth", fig.TRUTH)] if known else [])]
    fig.key(figure, [(text, style.color) for text, style in words])
