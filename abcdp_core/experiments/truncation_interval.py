r"""Where should a response be truncated?

Person $t$ answers $Y = \mathrm{clip}(X, a, b) + $ noise, and the noise is proportional to the width
$b - a$ (MATH A1). A narrow interval clips more values, but clipping loses little about $\mu$: which
side of $\mu$ a value lies on tells most of it. So a narrower interval with less noise can carry
more information. What a response carries is its Fisher information about $(\mu, \sigma)$ at
$(0, 1)$ (MATH A3), and the best interval maximises a score of it,

$$(a^*, b^*) = \arg\max_{a < b}\ \mathrm{score}\bigl(F(a, b)\bigr), \qquad
l = \mu + \sigma a^*, \quad r = \mu + \sigma b^*. \tag{A4}$$

The best interval of the base distribution serves every $\mu$ and $\sigma$ of the family.

**A correction.** [Y23] reports the half-widths 0.06, 0.12, 0.54 and 0.96 for $\epsilon_{total}$ =
1, 2, 5 and 10. It searched steps of 0.06 with Monte Carlo noise. Without that noise the maximisers
are 0.0706, 0.2234, 0.7281 and 1.2244. The curve is flat, so the paper's intervals lose
little: 0.003, 0.3, 0.8 and 1.1 percent of the information.

**What is not learnt.** As the width goes to 0 the response becomes a noisy sign. That still tells
about $\mu$, but next to nothing about $\sigma$. At $\epsilon_{total} = 1$ one person's response
carries an information on $\log\sigma$ of $5 \cdot 10^{-5}$ under the best interval for $\mu$, no
more than under a fixed interval 20 $\sigma$ wide, $7 \cdot 10^{-5}$. At $\epsilon_{total} = 5$ it
is 0.18 against 0.007. If $\sigma$ matters, choose a score that counts it; the best interval may
then lie on one side of $\mu$.

**The published runs** drew their noise too small by the factor $\sqrt{2}$, so they cost $\sqrt{2}$
times the budget they state (MATH A11).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import experiments
from abcdp_core import figures as fig
from abcdp_core import parameters as par
from abcdp_core.online import information, intervals, noise
from abcdp_core.online import parameters as online
from abcdp_core.online.families import FAMILIES
from abcdp_core.parameters import Parameter
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.results import Result, Tables
from abcdp_core.streams import generator

Array = NDArray[np.float64]

EXPERIMENT = "truncation-interval"
TITLE = "Where to truncate a response so that it tells most"
COLUMNS = {
    "main": (
        "epsilon_total", "family", "score", "a", "b", "information",
        "paper_a", "paper_b", "paper_information",
    ),
    "surface": ("epsilon_total", "a", "b", "information"),
    "width": ("epsilon_total", "half_width", "information", "best_information"),
    "ways": ("epsilon_total", "way", "a", "b", "information_mu", "information_sigma"),
}  # fmt: skip

FAMILY = Parameter(
    kind="choice",
    label="Family of the values",
    help="Shape of the distribution; its location and scale are what is to be learnt.",
    options=tuple(FAMILIES),
)
INTEGRATION = Parameter(
    kind="choice",
    label="Integration",
    help="exact: quadrature. monte-carlo: the paper's nested estimate and its search in steps.",
    options=("exact", "monte-carlo"),
)
DRAWS = Parameter(
    kind="integer",
    label="Draws of the Monte Carlo integration",
    help="Responses per interval, and values weighted for each response.",
    low=10,
    high=1000,
    steps=(10, 20, 50, 100, 200, 500, 1000),
)

FIXED_HALF_WIDTH = 10.0
"""Of the fixed interval that the paper compares with, in σ."""

PAPER_STEP, PAPER_COUNT = 0.06, 51
"""The half-widths that the paper's script searches: multiples of 0.06."""

NARROW, WIDE = 0.01, 10.0
HALF_WIDTHS = np.unique([*np.geomspace(NARROW, WIDE, 60), 2.0, 3.0, 5.0])
"""Of the symmetric intervals that are compared, in σ; round ones among them, for claims."""

CELLS = 40
"""Cells of the surface in either direction."""


@dataclass(frozen=True)
class Params(BaseParams):
    """Budgets, family, what to learn, and how to integrate."""

    epsilon_total: tuple[float, ...] = par.EPSILON_TOTAL.field((1.0, 2.0, 5.0, 10.0), many=True)
    family: str = FAMILY.field("normal")
    score: str = online.SCORE.field("mu")
    weight: float = online.WEIGHT.field(0.5)
    symmetric: bool = online.SYMMETRIC.field(True)
    integration: str = INTEGRATION.field("exact")
    noise: str = online.NOISE.field("laplace")
    delta: float = par.DELTA.field(1e-5)
    draws: int = DRAWS.field(200)


PRESETS: dict[str, BaseParams] = {"y23-intervals": Params()}


def tasks(params: Params, seed: int) -> list[experiments.SingleTask[Params]]:
    """One per budget."""
    return experiments.per_value(params, seed, "epsilon_total")


def work(task: experiments.SingleTask[Params]) -> Tables:
    """The best interval for a budget, and the score of all intervals."""
    params = task.params
    epsilon_total = params.epsilon_total[0]
    if params.integration == "exact":
        a, b, value = _exact(params, epsilon_total)
    else:
        a, b, value = _searched(params, epsilon_total, task.seed)
    row = (epsilon_total, params.family, params.score, a, b, value)
    main = pd.DataFrame([(*row, *_paper(params, epsilon_total))], columns=list(COLUMNS["main"]))
    surface = _surface(params, epsilon_total, max(-a, b))
    return {
        "main": main,
        "surface": surface,
        "width": _widths(params, epsilon_total),
        "ways": _ways(params, epsilon_total),
    }


def unit_scale(params: Params, epsilon_total: float) -> float:
    """Scale of the noise per unit of width (MATH A1, A12)."""
    family = cast(noise.NoiseFamily, params.noise)
    return noise.unit_scale(family, epsilon_total, params.delta)


def scores(params: Params, epsilon_total: float, a: Array, b: Array) -> Array:
    """Exact score ``(...)`` of intervals with these ends ``(...)``."""
    found = information.NOISES[params.noise].information(
        FAMILIES[params.family], a, b, unit_scale(params, epsilon_total)
    )
    return intervals.SCORES[params.score](found, params.weight)


def _exact(params: Params, epsilon_total: float) -> tuple[float, float, float]:
    best = intervals.best(
        unit_scale(params, epsilon_total),
        params.noise,
        params.family,
        params.score,
        params.symmetric,
        params.weight,
    )
    return best.a, best.b, best.score


def _searched(params: Params, epsilon_total: float, seed: int) -> tuple[float, float, float]:
    """The paper's search: the best of 51 noisy estimates."""
    halves = PAPER_STEP * np.arange(1, PAPER_COUNT + 1)
    estimates = [
        information.monte_carlo(
            generator(seed, "information", number),
            information.NOISES[params.noise],
            FAMILIES[params.family],
            (-half, half),
            unit_scale(params, epsilon_total),
            params.draws,
            2 * (params.draws // 2),
        ).information
        for number, half in enumerate(halves.tolist())
    ]
    values = intervals.SCORES[params.score](np.array(estimates), params.weight)
    found = int(np.argmax(values))
    return -float(halves[found]), float(halves[found]), float(values[found])


def _paper(params: Params, epsilon_total: float) -> tuple[float, float, float]:
    """The interval [Y23] reports and its exact score; NaN where it reports none."""
    reported = (params.family, params.noise, params.score) == ("normal", "laplace", "mu")
    half = intervals.PAPER_HALF_WIDTHS.get(epsilon_total, np.nan) if reported else np.nan
    if np.isnan(half):
        return np.nan, np.nan, np.nan
    value = scores(params, epsilon_total, np.array(-half), np.array(half))
    return -half, half, float(value)


def _surface(params: Params, epsilon_total: float, farthest: float) -> pd.DataFrame:
    """Exact score of all intervals with ends on a grid that holds the best one."""
    ends = np.linspace(-1.0, 1.0, CELLS + 1) * max(3.0, 1.25 * farthest)
    first, last = np.triu_indices(len(ends), 1)
    table = pd.DataFrame({"a": ends[first], "b": ends[last]})
    table["information"] = scores(params, epsilon_total, ends[first], ends[last])
    table["epsilon_total"] = epsilon_total
    return table[list(COLUMNS["surface"])]


def _widths(params: Params, epsilon_total: float) -> pd.DataFrame:
    """Exact score of symmetric intervals, of half-width 0 in the limit, beside the best one's."""
    limit = information.NOISES[params.noise].limit(
        FAMILIES[params.family], 0.0, unit_scale(params, epsilon_total)
    )
    at_zero = float(intervals.SCORES[params.score](limit, params.weight))
    table = pd.DataFrame({"half_width": [0.0, *HALF_WIDTHS]})
    table["information"] = [at_zero, *scores(params, epsilon_total, -HALF_WIDTHS, HALF_WIDTHS)]
    table["best_information"] = _exact(params, epsilon_total)[2]
    table["epsilon_total"] = epsilon_total
    return table[list(COLUMNS["width"])]


def _ways(params: Params, epsilon_total: float) -> pd.DataFrame:
    """What one answer tells about μ and about log σ, by the way of asking."""
    scale = unit_scale(params, epsilon_total)
    found = {
        f"best for {score}": intervals.best(
            scale, params.noise, params.family, score, symmetric=score == "mu"
        )
        for score in ("mu", "trace", "sigma")
    }
    half = FIXED_HALF_WIDTH
    fixed = information.NOISES[params.noise].information(
        FAMILIES[params.family], np.array(-half), np.array(half), scale
    )
    rows = [
        (epsilon_total, way, best.a, best.b, best.information[0, 0], best.information[1, 1])
        for way, best in found.items()
    ]
    rows.append((epsilon_total, "fixed, μ ± 10σ", -half, half, fixed[0, 0], fixed[1, 1]))
    return pd.DataFrame(rows, columns=list(COLUMNS["ways"]))


def collect(params: Params, rows: Tables) -> Result:
    """The result so far."""
    main = rows["main"]
    shown = pd.concat([main.iloc[:3], main.iloc[3:].iloc[-1:]])
    found = "; ".join(
        f"{_ends(row['a'], row['b'])} at ε_total = {row['epsilon_total']:g}"
        for row in shown.to_dict("records")
    )
    how = "Best interval" if params.integration == "exact" else "Best of the Monte Carlo search"
    return Result(
        experiment=EXPERIMENT,
        params=params,
        tables=rows,
        summary=f"{how} for {_score_name(params)} ({params.family} values, "
        f"{params.noise} noise), in units of σ: {found}.{_cost(params, main)}",
        privacy="Reads no data: everything here follows from theory and is public.",
    )


def _score_name(params: Params) -> str:
    return f"weights, σ {params.weight:g}" if params.score == "weights" else params.score


def _cost(params: Params, main: pd.DataFrame) -> str:
    """What the paper's intervals cost, in a sentence."""
    known = main.dropna(subset="paper_information")
    if known.empty or params.integration != "exact":
        return ""
    lost = 100.0 * (1.0 - known.paper_information / known.information)
    each = ", ".join(f"{value:.2g} %" for value in lost)
    budgets = ", ".join(f"{value:g}" for value in known.epsilon_total)
    what = "interval loses" if len(known) == 1 else "intervals lose"
    return f" The paper's {what} {each} of the information at ε_total = {budgets}."


def _ends(a: float, b: float) -> str:
    """An interval; that none is narrower is said, and its ends can be told apart."""
    text = f"[{a:.3g}, {b:.3g}]" if f"{a:.3g}" != f"{b:.3g}" else online.ends(a, b)
    is_narrowest = 0.5 * (b - a) < 1.01 * intervals.NARROWEST
    return f"{text} (none narrower is looked at)" if is_narrowest else text


def figures(result: Result) -> dict[str, fig.Drawn]:
    """The score of all intervals, of symmetric ones by half-width, and what each way tells."""
    return {
        "surface": fig.Drawn(_surface_figure(result), result.summary),
        "width": fig.Drawn(_width_figure(result), _widths_sentence(result)),
        "ways": fig.Drawn(_ways_figure(result), _ways_sentence(result)),
    }


def _widths_sentence(result: Result) -> str:
    """The half-width shown that tells most, and what the limit of width 0 tells."""
    params = cast(Params, result.params)
    each = []
    for budget, curve in result.tables["width"].groupby("epsilon_total"):
        best = curve.iloc[int(curve.information.to_numpy().argmax())]
        limit = float(curve.information[curve.half_width == 0].iloc[0])
        each.append(
            f"{best.half_width:.2g} at ε_total = {budget:g} ({best.information:.3g}; "
            f"{limit:.3g} at width 0)"
        )
    return (
        f"Half-width, in units of σ, that tells most for {_score_name(params)} of those shown, and "
        f"the information: {'; '.join(each)}."
    )


def _ways_sentence(result: Result) -> str:
    """What an answer tells about σ, by the way of asking, at the smallest budget shown."""
    table = result.tables["ways"]
    budget = table.epsilon_total.min()
    part = table[table.epsilon_total == budget]
    each = "; ".join(
        f"{row.way} {row.information_mu:.2g} and {row.information_sigma:.2g}"
        for row in part.itertuples()
    )
    return f"Information per person about μ and about log σ at ε_total = {budget:g}: {each}."


_BEST = fig.Style("best", fig.VERMILLION, marker="diamond")
_PAPER = fig.Style("paper's", fig.PURPLE, marker="x")
_LIMIT = fig.Style("a = b, width 0", fig.GREY, "dot")


def _setting(params: Params) -> str:
    return f"{_score_name(params)}, {params.family} values, {params.noise} noise"


def _surface_figure(result: Result) -> go.Figure:
    params = cast(Params, result.params)
    main = result.tables["main"].iloc[:4]
    titles = [f"ε_total = {value:g}" for value in main.epsilon_total]
    rows = 1 if len(titles) == 1 else -(-len(titles) // 2)
    figure = fig.panels(
        titles,
        f"Share of the best information: {_setting(params)}",
        "a, in units of σ",
        "b, in units of σ",
        rows,
        height=520 if rows == 1 else 760,
    )
    surfaces = dict(list(result.tables["surface"].groupby("epsilon_total")))
    for index, row in enumerate(main.to_dict("records")):
        surface = surfaces[row["epsilon_total"]].pivot_table(
            index="b", columns="a", values="information"
        )
        # A search by Monte Carlo may find less, or think it finds more, than there is.
        top = float(np.nanmax(surface.to_numpy()))
        if params.integration == "exact":
            top = float(row["information"])
        axes = fig.panel(index)
        figure.add_trace(
            go.Heatmap(
                x=surface.columns.to_numpy(dtype=float),
                y=surface.index.to_numpy(dtype=float),
                z=surface.to_numpy() / top,
                coloraxis="coloraxis",
                name="share",
                hovertemplate="a = %{x:.3g}, b = %{y:.3g}: %{z:.3f}<extra></extra>",
                **axes,
            )
        )
        ends = np.array([surface.columns.min(), surface.index.max()])
        marks = [
            fig.line(ends, ends, _LIMIT),
            fig.points(np.array([row["a"]]), np.array([row["b"]]), _BEST),
        ]
        if np.isfinite(row["paper_a"]):
            marks.append(fig.points(np.array([row["paper_a"]]), np.array([row["paper_b"]]), _PAPER))
        for mark in marks:
            figure.add_trace(mark.update(showlegend=index == 0, **axes))
    figure.update_layout(
        coloraxis={"colorscale": "Cividis", "cmin": 0, "cmax": 1, "colorbar": {"title": "share"}}
    )
    return figure


def _width_figure(result: Result) -> go.Figure:
    params = cast(Params, result.params)
    main = result.tables["main"]
    figure = fig.figure(
        f"Information of a symmetric interval: {_setting(params)}",
        "half-width, in units of σ",
        f"information, {_score_name(params)}",
    )
    styles = fig.styles([f"ε_total = {value:g}" for value in main.epsilon_total])
    curves = dict(list(result.tables["width"].groupby("epsilon_total")))
    for style, row in zip(styles, main.to_dict("records"), strict=True):
        curve = curves[row["epsilon_total"]]
        half, told = curve.half_width.to_numpy(), curve.information.to_numpy()
        figure.add_trace(fig.line(half[half > 0], told[half > 0], style))
        dotted = fig.Style("limit of width 0", style.color, "dot")
        limit = np.repeat(told[half == 0], 2)
        figure.add_trace(fig.line(np.array([NARROW, WIDE]), limit, dotted, showlegend=False))
        found = fig.Style(f"best, {style.name}", style.color, marker="diamond")
        if np.isclose(row["a"], -row["b"]) and NARROW <= row["b"] <= WIDE:
            figure.add_trace(
                fig.points(np.array([row["b"]]), np.array([row["information"]]), found)
            )
        if np.isfinite(row["paper_b"]):
            paper = fig.Style(f"paper's, {style.name}", style.color, marker="x")
            place = np.array([row["paper_b"]]), np.array([row["paper_information"]])
            figure.add_trace(fig.points(*place, paper))
    figure.update_traces(showlegend=False, selector={"mode": "markers"})
    figure.add_traces(
        [
            fig.points(np.array([np.nan]), np.array([np.nan]), fig.Style(name, fig.GREY, "", mark))
            for name, mark in (("best", "diamond"), ("paper's", "x"))
        ]
    )
    figure.update_xaxes(**fig.logarithmic(NARROW, WIDE))
    return figure


def _ways_figure(result: Result) -> go.Figure:
    params, ways = cast(Params, result.params), result.tables["ways"]
    budgets = [f"ε_total = {value:g}" for value in ways.epsilon_total.unique()[:4]]
    figure = fig.panels(
        budgets,
        f"What one answer tells about μ and about log σ: {params.family} values, "
        f"{params.noise} noise",
        "",
        "information per person",
    )
    styles = fig.Style("about μ", fig.BLUE), fig.Style("about log σ", fig.VERMILLION)
    groups = list(ways.groupby("epsilon_total", sort=False))[:4]
    for index, (_, part) in enumerate(groups):
        for style, name in zip(styles, ("mu", "sigma"), strict=True):
            bar = go.Bar(
                x=part.way.to_numpy(),
                y=part[f"information_{name}"].to_numpy(),
                name=style.name,
                showlegend=index == 0,
                marker={"color": style.color, "pattern": {"shape": "/" if name == "sigma" else ""}},
                hovertemplate="%{x}: %{y:.3g}<extra>" + style.name + "</extra>",
                **fig.panel(index),
            )
            figure.add_trace(bar)
    lowest = float(ways[["information_mu", "information_sigma"]].min().min())
    figure.update_yaxes(type="log", range=[np.floor(np.log10(max(lowest, 1e-9))), 0.5], dtick=1)
    return figure.update_layout(barmode="group")
