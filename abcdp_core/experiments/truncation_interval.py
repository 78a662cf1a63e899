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

**Other ways of asking.** For the same $\epsilon_{total}$ a person can answer by one of a few
symbols instead, each likelier by the factor $e^{\epsilon_{total}}$ if the value lies in the
symbol's interval (MATH A14). Two symbols, a *sign* that is flipped with probability
$1/(1 + e^{\epsilon_{total}})$, tell 25 % more about the $\mu$ of normal values than the best
truncation with Laplace noise at $\epsilon_{total} = 1$ and 29 % more at 2. The *optimal* symbols,
found by linear programming, tell 40 % more at 5 and 23 % more at 10; the column ``bound`` is what
no answer on the same cells exceeds, where it is known, for $\mu$. Up to $\epsilon_{total} = 2$ the
symbols that are best for $\mu$ tell nothing about $\sigma$; those for both tell far more about it
than an interval does.

**The published runs** drew their noise too small by the factor $\sqrt{2}$, so they cost $\sqrt{2}$
times the budget they state (MATH A11).
"""

from __future__ import annotations

import dataclasses
import functools
import math
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import experiments
from abcdp_core import figures as fig
from abcdp_core import parameters as par
from abcdp_core.online import best_channel, information, intervals, noise
from abcdp_core.online import parameters as online
from abcdp_core.online.families import FAMILIES
from abcdp_core.parameters import Parameter
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.results import Result, Tables
from abcdp_core.sentences import interval, plain
from abcdp_core.streams import generator

Array = NDArray[np.float64]

EXPERIMENT = "truncation-interval"
TITLE = "The interval whose noisy answers tell most"
MAY_BE_LONG = True
COLUMNS = {
    "main": (
        "epsilon_total", "channel", "family", "score", "a", "b", "symbols", "information", "bound",
        "paper_a", "paper_b", "paper_information",
    ),
    "surface": ("epsilon_total", "a", "b", "information"),
    "plane": ("epsilon_total", "centre", "half_width", "information"),
    "width": ("epsilon_total", "half_width", "information", "best_information"),
    "ways": ("epsilon_total", "way", "a", "b", "information_mu", "information_sigma"),
}  # fmt: skip

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

TOLD = {"sign": ("mu",), "optimal": ("mu", "trace", "determinant", "sigma")}
"""Tables whose information about both parameters is shown, by the score that they are best for."""

FIXED_HALF_WIDTH = 10.0
"""Of the fixed interval that the paper compares with, in σ."""

PAPER_STEP, PAPER_COUNT = 0.06, 51
"""The half-widths that the paper's script searches: multiples of 0.06."""

NARROW, WIDE = 0.01, 10.0
HALF_WIDTHS = np.unique([*np.geomspace(NARROW, WIDE, 60), 2.0, 3.0, 5.0])
"""Of the symmetric intervals that are compared, in σ; round ones among them, for claims."""

CENTRES, HALVES = 25, np.geomspace(NARROW, WIDE, 37)
"""How many centres, and which half-widths, of the intervals in the plane."""

CELLS = 40
"""Cells of the surface in either direction."""


@dataclass(frozen=True)
class Params(BaseParams):
    """Budgets, family, what to learn, and how to integrate."""

    epsilon_total: tuple[float, ...] = par.EPSILON_TOTAL.field((1.0, 2.0, 5.0, 10.0), many=True)
    family: str = online.FAMILY.field("normal")
    score: str = online.SCORE.field("mu")
    weight: float = online.WEIGHT.field(0.5)
    symmetric: bool = online.SYMMETRIC.field(True)
    integration: str = INTEGRATION.field("exact")
    noise: str = online.NOISE.field("laplace")
    delta: float = par.DELTA.field(1e-5)
    draws: int = DRAWS.field(200)
    channel: tuple[str, ...] = online.CHANNEL.field(("truncation",), many=True)

    def check_together(self) -> None:
        """Refuse noise of answers that have none."""
        online.check_noise(self.channel, self.noise)


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
    truncated = (a, b, np.nan, value, np.nan, *_paper(params, epsilon_total))
    rows = [
        (epsilon_total, channel, params.family, params.score)
        + (truncated if channel == "truncation" else _tabled(params, epsilon_total, channel))
        for channel in params.channel
    ]
    main = pd.DataFrame(rows, columns=list(COLUMNS["main"]))
    surface = _surface(params, epsilon_total, max(-a, b))
    return {
        "main": main,
        "surface": surface,
        "plane": _plane(params, epsilon_total, 0.5 * abs(a + b)),
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


def _tabled(params: Params, epsilon_total: float, channel: str) -> tuple[float, ...]:
    """A row's numbers of a table of symbols: no interval, how many symbols, score and bound."""
    table = online.table(
        *(channel, epsilon_total, params.family, params.score, params.symmetric, params.weight)
    )
    F = table.information(FAMILIES[params.family])
    value = float(intervals.SCORES[params.score](F, params.weight))
    bound = _bound(epsilon_total, params.family, params.score)
    return np.nan, np.nan, len(table.weights), value, bound, np.nan, np.nan, np.nan


@functools.lru_cache(maxsize=256)
def _bound(epsilon_total: float, family: str, score: str) -> float:
    """What no answer on the best table's cells exceeds (MATH A14); NaN where it is not known."""
    if score != "mu":
        return np.nan
    grid = best_channel.cells(FAMILIES[family], best_channel.best(epsilon_total, family).cells)
    return best_channel.upper_bound(grid, epsilon_total, score)


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


def _plane(params: Params, epsilon_total: float, farthest: float) -> pd.DataFrame:
    """Exact score of intervals by the place of their centre, at and right of μ, and half-width.

    The mirror image of an interval tells the same.
    """
    centres = np.linspace(0.0, max(3.0, 1.25 * farthest), CENTRES)
    centre, half = (axis.ravel() for axis in np.meshgrid(centres, HALVES))
    table = pd.DataFrame({"centre": centre, "half_width": half})
    table["information"] = scores(params, epsilon_total, centre - half, centre + half)
    table["epsilon_total"] = epsilon_total
    return table[list(COLUMNS["plane"])]


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
    for channel in params.channel:
        for score in TOLD.get(channel, ()):
            table = online.table(channel, epsilon_total, params.family, score, True, 0.5)
            F = table.information(FAMILIES[params.family])
            way = channel if channel == "sign" else f"{channel} for {score}"
            rows.append((epsilon_total, way, np.nan, np.nan, F[0, 0], F[1, 1]))
    return pd.DataFrame(rows, columns=list(COLUMNS["ways"]))


def collect(params: Params, rows: Tables) -> Result:
    """The result so far."""
    main = truncated(rows["main"])
    shown = pd.concat([main.iloc[:3], main.iloc[3:].iloc[-1:]])
    found = "; ".join(
        f"{_ends(row['a'], row['b'])} at ε_total = {row['epsilon_total']:g}"
        for row in shown.to_dict("records")
    )
    how = "Best interval" if params.integration == "exact" else "Best of the Monte Carlo search"
    around = " of those around μ" if params.symmetric and params.score != "mu" else ""
    of_what = f"for {_score_name(params)} ({params.family} values, {params.noise} noise)"
    intervals_found = f"{how}{around} {of_what}, in units of σ: {found}." if len(main) else ""
    return Result(
        experiment=EXPERIMENT,
        params=params,
        tables=rows,
        summary=f"{intervals_found}{_cost(params, main)}{_tables_in_words(rows['main'])}".strip(),
        privacy="Reads no data: everything here follows from theory and is public.",
    )


def truncated(main: pd.DataFrame) -> pd.DataFrame:
    """The rows of truncation; of every budget one."""
    return main[main.channel == "truncation"]


def _tables_in_words(main: pd.DataFrame) -> str:
    """What symbols from a table tell, and against truncation if that is there too."""
    texts = []
    for channel in dict.fromkeys(main.channel[main.channel != "truncation"]):
        rows = main[main.channel == channel].merge(
            truncated(main)[["epsilon_total", "information"]],
            on="epsilon_total",
            how="left",
            suffixes=("", "_truncated"),
        )
        each = ", ".join(
            f"{row.information:.4g}{_against(row.information, row.information_truncated)} at "
            f"ε_total = {row.epsilon_total:g} ({row.symbols:.0f} symbols)"
            for row in rows.itertuples()
        )
        name = "A sign" if channel == "sign" else "The optimal table of symbols"
        texts.append(f" {name} scores {each}.")
    return "".join(texts)


def _against(value: float, truncation: float) -> str:
    """How much more than truncation, in brackets' stead; nothing without it."""
    if not truncation > 0.0:
        return ""
    if value > 10.0 * truncation:
        return f", {plain(value / truncation)} times truncation's,"
    percent = 100.0 * (value / truncation - 1.0)
    return f", {plain(abs(percent), 2)} % {'more' if percent >= 0.0 else 'less'} than truncation,"


def _score_name(params: Params) -> str:
    if params.score == "weights":
        return f"weights, σ {params.weight:g}"
    return {"mu": "μ", "sigma": "σ"}.get(params.score, f"the {params.score}")


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
    text = f"[{a:.3g}, {b:.3g}]" if f"{a:.3g}" != f"{b:.3g}" else interval(a, b)
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


def _setting(params: Params) -> str:
    return f"for {_score_name(params)}, {params.family} values, {params.noise} noise"


def finding(params: Params, main: pd.DataFrame) -> str:
    """Where the best interval lies at the smallest and at the largest budget, in a line."""
    ordered = truncated(main).sort_values("epsilon_total")
    if ordered.empty:
        return "What intervals tell"
    rows = ordered.iloc[[0, -1]] if len(ordered) > 1 else ordered
    halves = (0.5 * (ordered.b - ordered.a)).to_numpy()
    each = [
        f"{_where(row['a'], row['b'])} at ε_total = {row['epsilon_total']:g}"
        for row in rows.to_dict("records")
    ]
    what = "Best interval" if params.integration == "exact" else "Best of a noisy search"
    if params.symmetric and params.score != "mu":
        what = f"{what} around μ"
    if len(halves) > 1 and (np.diff(halves) > 0).all():
        what = f"A larger budget, a wider {what.lower()}"
    return f"{what}: {', '.join(each)}"


def _where(a: float, b: float) -> str:
    middle, half = 0.5 * (a + b), 0.5 * (b - a)
    return f"{'μ' if abs(middle) < 1e-9 else f'μ + {middle:.2g} σ'} ± {half:.2g} σ"


def flat(result: Result) -> str:
    """Which symmetric intervals tell nearly as much as the best one at the smallest budget."""
    params, width = cast(Params, result.params), result.tables["width"]
    budget = float(width.epsilon_total.min())
    curve = width[width.epsilon_total == budget].sort_values("half_width")
    halves = curve.half_width.to_numpy()
    enough = (curve.information >= 0.99 * curve.best_information).to_numpy()
    at = f"At ε_total = {budget:g}"
    if not enough.any():
        return f"{at} every symmetric interval loses more than 1 % for {_score_name(params)}"
    best = int(curve.information.to_numpy().argmax())
    out = np.flatnonzero(~enough)
    first = out[out < best].max(initial=-1) + 1
    last = out[out > best].min(initial=len(halves)) - 1
    return f"{at} half-widths from {halves[first]:.2g} to {halves[last]:.2g} σ lose at most 1 %"


def told(ways: pd.DataFrame) -> str:
    """How the best interval for μ compares with the fixed one at the smallest budget."""
    budget = float(ways.epsilon_total.min())
    rows = ways[ways.epsilon_total == budget].set_index("way").to_dict("index")
    best, fixed = rows["best for mu"], rows["fixed, μ ± 10σ"]
    times = [
        f"{_times(float(best[column]), float(fixed[column]))} times {name}"
        for column, name in (("information_mu", "about μ"), ("information_sigma", "about σ"))
    ]
    return (
        f"At ε_total = {budget:g} the best interval for μ against the fixed one: information "
        f"{' and '.join(times)}"
    )


def _times(value: float, other: float) -> str:
    if not other > 1e-30:
        return "many" if value > 1e-30 else "1"
    return plain(value / other, 2)


_BEST, _, _REPORTED, *_ABOUT = fig.styles(
    ["best, exact", "fixed", "the paper's", "about μ", "about log σ"]
)
_OURS = dataclasses.replace(_BEST, marker="diamond")
_PAPERS = dataclasses.replace(_REPORTED, marker="x")
LEVELS = ((0.5, "dot"), (0.9, "dash"), (0.99, "solid"))
"""Shares of the best information that have a contour, and its dash."""

BUDGETS_SHOWN = 4
"""Budgets that have a panel at most."""


def _surface_figure(result: Result) -> go.Figure:
    params = cast(Params, result.params)
    main = _by_budget(result).iloc[:BUDGETS_SHOWN]
    titles = [f"ε_total = {value:g}" for value in main.epsilon_total]
    figure = fig.panels(
        titles,
        finding(params, result.tables["main"]),
        "middle, in σ from μ",
        "half-width, in σ",
        height=520,
    )
    settings = f"share of the most that an interval tells {_setting(params)}"
    figure.update_layout(title={"subtitle": {"text": settings}})
    planes = dict(list(result.tables["plane"].groupby("epsilon_total")))
    for index, row in enumerate(main.to_dict("records")):
        plane = planes[row["epsilon_total"]].pivot_table(
            index="half_width", columns="centre", values="information"
        )
        # A search by Monte Carlo may find less, or think it finds more, than there is.
        top = float(np.nanmax(plane.to_numpy()))
        if params.integration == "exact" and np.isfinite(row["information"]):
            top = max(top, float(row["information"]))
        alone, place = len(main) == 1, fig.panel(index)
        where = {"xref": place["xaxis"], "yref": place["yaxis"]}
        for trace in _contours(plane, top):
            figure.add_trace(trace.update(showlegend=index == 0 and not alone, **place))
        for words in _shares(plane / top) if alone else ():
            figure.add_annotation(words | where)
        marks = []
        if np.isfinite(row["a"]):
            marks.append((_OURS, row["a"], row["b"], "bottom left"))
        if np.isfinite(row["paper_a"]):
            marks.append((_PAPERS, row["paper_a"], row["paper_b"], "top left"))
        for style, a, b, side in marks:
            x, half = 0.5 * (a + b), float(np.clip(0.5 * (b - a), NARROW, WIDE))
            mark = fig.points(np.array([x]), np.array([half]), style)
            figure.add_trace(mark.update(marker={"size": 8}, showlegend=False, **place))
            text = f" {style.name.split(',')[0]} {0.5 * (b - a):.2g}"
            figure.add_annotation(fig.words(x, math.log10(half), text, style.color, side) | where)
    # Ours and the paper's lie close together: the words stand apart.
    figure.update_yaxes(**fig.logarithmic(NARROW, WIDE), tickvals=DECADES, ticktext=PLAIN)
    figure.update_xaxes(
        tickvals=[0, 1, 2, 3], range=[-0.15, float(result.tables["plane"].centre.max())]
    )
    return figure


DECADES, PLAIN = [0.01, 0.1, 1.0, 10.0], ["0.01", "0.1", "1", "10"]


def _contours(plane: pd.DataFrame, top: float) -> list[go.Contour]:
    """Lines where an answer tells a share of the most that one in any interval tells."""
    theory = fig.THEORY
    return [
        go.Contour(
            x=plane.columns.to_numpy(dtype=float),
            y=plane.index.to_numpy(dtype=float),
            z=plane.to_numpy() / top,
            name=f"{share:.0%}".replace("%", " %"),
            contours={
                "start": share,
                "end": share,
                "size": 1.0,
                "coloring": "none",
                "showlabels": False,
            },
            line={"color": theory.color, "dash": dash, "width": 2.0},
            showscale=False,
            hovertemplate="middle %{x:.2g}, half-width %{y:.2g}: %{z:.3f}<extra></extra>",
        )
        for share, dash in LEVELS
    ]


def _shares(shares: pd.DataFrame) -> list[dict[str, Any]]:
    """What the contours are called, where they come down to the narrowest intervals."""
    narrowest, centres = shares.iloc[0].to_numpy(), shares.columns.to_numpy(dtype=float)
    found = []
    for share, _ in LEVELS:
        enough = np.flatnonzero(narrowest >= share)
        if len(enough) and enough[-1] + 1 < len(centres):
            last = int(enough[-1])
            # Shares fall from there to the next centre.
            x = np.interp(-share, -narrowest[last : last + 2], centres[last : last + 2])
            name = f" {share:.0%}".replace("%", " %")
            height = math.log10(shares.index[0]) + 0.03
            found.append(fig.words(float(x), height, name, fig.THEORY.color, "bottom left"))
    return found


def _by_budget(result: Result) -> pd.DataFrame:
    """The row of truncation of each budget; empty ones if it was not asked for."""
    main = result.tables["main"]
    budgets = main[["epsilon_total"]].drop_duplicates()
    return budgets.merge(truncated(main), on="epsilon_total", how="left")


def _width_figure(result: Result) -> go.Figure:
    params = cast(Params, result.params)
    main = _by_budget(result)
    figure = fig.figure(
        flat(result),
        "half-width, in σ",
        "information of one answer",
        settings=f"symmetric intervals {_setting(params)}",
    )
    figure.update_xaxes(**fig.logarithmic(NARROW, WIDE), tickvals=DECADES, ticktext=PLAIN)
    styles = fig.styles([f"ε_total = {value:g}" for value in main.epsilon_total])
    curves = dict(list(result.tables["width"].groupby("epsilon_total")))
    few = len(main) <= MOST_NAMED
    for style, row in zip(styles, main.to_dict("records"), strict=True):
        curve = curves[row["epsilon_total"]]
        half, told_here = curve.half_width.to_numpy(), curve.information.to_numpy()
        figure.add_trace(fig.line(half[half > 0], told_here[half > 0], style, showlegend=not few))
        dotted = dataclasses.replace(style, name=LIMIT, dash="dot")
        limit = np.repeat(told_here[half == 0], 2)
        figure.add_trace(fig.line(np.array([NARROW, WIDE]), limit, dotted, showlegend=False))
        if few:
            at = int(told_here[1:].argmax()) + 1
            fig.note(figure, half[at], told_here[at], style.name, style.color, "bottom center")
        found = dataclasses.replace(style, name=f"best, {style.name}", marker="diamond")
        if np.isclose(row["a"], -row["b"]) and NARROW <= row["b"] <= WIDE:
            figure.add_trace(
                fig.points(np.array([row["b"]]), np.array([row["information"]]), found)
            )
        if np.isfinite(row["paper_b"]):
            paper = dataclasses.replace(style, name=f"paper's, {style.name}", marker="x")
            place = np.array([row["paper_b"]]), np.array([row["paper_information"]])
            figure.add_trace(fig.points(*place, paper))
    figure.update_traces(showlegend=False, selector={"mode": "markers"})
    nowhere = np.array([np.nan])
    for name, marker in (("best", "diamond"), ("the paper's", "x")):
        mark = dataclasses.replace(fig.GUIDE, name=name, marker=marker)
        figure.add_trace(fig.points(nowhere, nowhere, mark))
    figure.add_trace(fig.line(nowhere, nowhere, dataclasses.replace(fig.GUIDE, name=LIMIT)))
    return figure.update_yaxes(rangemode="tozero")


MOST_NAMED = 5
"""Lines that are named where they are highest; more have a legend."""

LIMIT = "limit of width 0"


def _ways_figure(result: Result) -> go.Figure:
    params, ways = cast(Params, result.params), result.tables["ways"]
    budgets = [f"ε_total = {value:g}" for value in ways.epsilon_total.unique()[:BUDGETS_SHOWN]]
    figure = fig.panels(budgets, told(ways), "", "information of one answer")
    settings = f"{params.family} values, {params.noise} noise"
    figure.update_layout(title={"subtitle": {"text": settings}})
    groups = list(ways.groupby("epsilon_total", sort=False))[:BUDGETS_SHOWN]
    for index, (_, part) in enumerate(groups):
        for style, name in zip(_ABOUT, ("mu", "sigma"), strict=True):
            marks = fig.points(part.way.to_numpy(), part[f"information_{name}"].to_numpy(), style)
            marks.update(
                showlegend=index == 0,
                marker={"size": 11},
                hovertemplate="%{x}: %{y:.3g}<extra>" + style.name + "</extra>",
                **fig.panel(index),
            )
            figure.add_trace(marks)
    told_at_all = ways[["information_mu", "information_sigma"]].where(lambda value: value > 1e-9)
    lowest = float(told_at_all.min().min())
    floor = int(np.floor(np.log10(max(lowest, 1e-9))))
    values = [10.0**power for power in range(floor, 1)]
    return figure.update_yaxes(
        type="log",
        range=[floor, 0.5],
        tickvals=values,
        ticktext=[f"{value:.9f}".rstrip("0").rstrip(".") for value in values],
    )
