r"""What is the best question to ask one person?

For the same $\epsilon_{total}$ a person can answer by a number or by a symbol. *Truncation* clips
the value to an interval and adds Laplace noise in proportion to its width (MATH A1); here it has
the best interval, symmetric or not (MATH A4). A *sign* says on which side of $\mu$ the value lies
and is wrong with probability $1/(1 + e^{\epsilon_{total}})$. The *optimal* symbols are those whose
Fisher information about $(\mu, \sigma)$ at $(0, 1)$ has the largest score,

$$p(k \mid x) = w_k\, q_k(x), \qquad q_k(x) = e^{\epsilon_{total}} \text{ if } x \in I_k,
\text{ else } 1, \qquad F = \sum_k w_k\, \frac{\nabla m_k\, \nabla m_k^T}{m_k} \tag{A14}$$

with $m_k = 1 + (e^{\epsilon_{total}} - 1) P(I_k)$ and sets $I_k$ that are runs of up to 128 cells
or complements of runs, found by linear programming.

**What is known to be the best.** The ceiling is the most that an answer can tell if it depends only
on which of the same cells the value lies in. For $\mu$ the optimal symbols reach it to within
0.2 %. For $\sigma$ it is up to 5 % higher: there two bands can be a better set than one. It holds
on these cells only. Other cells may allow a little more: for $\sigma$ at $\epsilon_{total} = 1$ two
symbols with edges of their own tell up to 0.28 % more than the ceiling of 64 cells. So for all ways
of asking, what the optimal symbols tell is a lower bound. For the $\mu$ of normal values a sign is
known to be the best of all for $\epsilon_{total} \le 1.04$ (Kalinin and Steinberger 2025).

**Where it is lost.** Whoever asks loses twice. First by what is asked: in which of the parts the
value lies, or where it is clipped, is less than the value itself. Then by chance, which makes it
private. Noise on a number has to hide how far the value lies, which tells little about $\mu$; a
symbol has to hide only in which part it lies. So it is right more often: a value beyond the
interval gets an answer on the wrong side of its middle with probability
$e^{-\epsilon_{total}/2}/2$, 30 % at $\epsilon_{total} = 1$; a sign is wrong in 27 %.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import experiments
from abcdp_core import figures as fig
from abcdp_core import parameters as par
from abcdp_core.online import best_channel, ceiling, channels, intervals
from abcdp_core.online import parameters as online
from abcdp_core.online.families import FAMILIES
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.results import Result, Tables
from abcdp_core.sentences import interval, percent

Array = NDArray[np.float64]

EXPERIMENT = "ways-of-asking"
TITLE = "The question whose private answer tells most"
COLUMNS = {
    "main": (
        "epsilon_total", "way", "score", "information_mu", "information_sigma", "share",
        "share_before_chance", "bound", "wrong", "symbols", "a", "b", "between",
    ),
    "symbols": ("epsilon_total", "symbol", "low", "high", "chance_inside", "chance_outside"),
}  # fmt: skip

SCORE = dataclasses.replace(online.SCORE, label="Best for")

WAYS = ("truncation", "sign", "optimal")
"""Ways of asking, as the parameter ``channel`` of other studies names them."""

NAMES = {"truncation": "best interval", "sign": "sign", "optimal": "optimal symbols"}
"""What they are called."""

FINE = 4000
"""Cells of a value that is said as it is; what they lose is less than a millionth."""

WITHIN = 400
"""The same within an interval."""


@dataclass(frozen=True)
class Params(BaseParams):
    """One budget, whose answers are drawn, the family of the values and what to learn."""

    epsilon_total: float = par.EPSILON_TOTAL.field(1.0)
    family: str = online.FAMILY.field("normal")
    score: str = SCORE.field("mu")
    weight: float = online.WEIGHT.field(0.5)


PRESETS: dict[str, BaseParams] = {}


@dataclass(frozen=True)
class Task(experiments.SingleTask[Params]):
    """All budgets, in their order: nothing can be said before the first of them."""

    @property
    def budgets(self) -> list[float]:
        """That of the answers drawn, and those of the curves that are not shipped."""
        others = ceiling.BUDGETS if self.params.score == "weights" else ()
        return [*dict.fromkeys([self.params.epsilon_total, *others])]

    @property
    def links(self) -> int:
        """A budget each."""
        return len(self.budgets)


def tasks(params: Params, seed: int) -> list[Task]:
    """A single task."""
    return [Task(params, seed)]


def work(task: Task | experiments.Onward[Task]) -> experiments.Link:
    """What each way tells for the next budget, and the optimal symbols."""
    here = experiments.Onward.of(task)
    budget = here.task.budgets[here.done]
    return here.link(told(experiments.with_values(here.task.params, epsilon_total=budget)))


def told(params: Params) -> Tables:
    """What each way tells for a budget, and the optimal symbols."""
    optimal = best_channel.best(
        params.epsilon_total, params.family, params.score, weight=params.weight
    ).channel
    tables = {"sign": channels.sign(params.epsilon_total), "optimal": optimal}
    main = [_truncation(params), *(_by_symbols(params, way, tables[way]) for way in tables)]
    gain = math.exp(optimal.level)
    symbols = [
        (params.epsilon_total, symbol, *ends, weight * gain, weight)
        for symbol, (ends, weight) in enumerate(zip(optimal.ends, optimal.weights, strict=True), 1)
    ]
    return {
        "main": pd.DataFrame(main, columns=list(COLUMNS["main"])),
        "symbols": pd.DataFrame(symbols, columns=list(COLUMNS["symbols"])),
    }


Row = tuple[float | str, ...]


def _truncation(params: Params) -> Row:
    """The row of the best interval."""
    epsilon_total, family = params.epsilon_total, FAMILIES[params.family]
    best = intervals.best(
        1.0 / epsilon_total,
        "laplace",
        params.family,
        params.score,
        symmetric=False,
        weight=params.weight,
    )
    edges = np.linspace(best.a, best.b, WITHIN + 1)
    inside = best_channel.partition(family, edges)
    # In widths from the left end; the noise has the scale 1/ε of them.
    place = np.concatenate([[0.0], (np.arange(WITHIN) + 0.5) / WITHIN, [1.0]])
    out = 0.5 * (np.exp(-epsilon_total * place) + np.exp(-epsilon_total * (1.0 - place)))
    numbers = {
        "wrong": 0.5 * math.exp(-0.5 * epsilon_total),
        "a": best.a,
        "b": best.b,
        "between": 1.0 - float(inside.p @ out),
    }
    return _row(params, "truncation", best.information, _told(inside), numbers)


def _by_symbols(params: Params, way: str, table: channels.Table) -> Row:
    """The row of a table of symbols."""
    family = FAMILIES[params.family]
    low, high = np.array(table.ends).T
    # Each as likely as it is from people who are not in its set.
    wrong = float(np.array(table.weights) @ (1.0 - channels.mass(family, low, high)))
    said = _told(best_channel.partition(family, table.edges()))
    numbers = {"wrong": wrong, "symbols": float(len(table.weights))}
    if way == "optimal":
        numbers["bound"] = ceiling.bound(params.epsilon_total, params.family, params.score)
    return _row(params, way, table.information(family), said, numbers)


def _row(params: Params, way: str, F: Array, said: Array, numbers: Mapping[str, float]) -> Row:
    """A row of the table ``main``.

    Args:
        params: of the study.
        way: of asking.
        F: information of an answer ``(2, 2)``.
        said: of what is asked for, without chance ``(2, 2)``.
        numbers: further columns; NaN where there is none.
    """
    whole = score(params, value_itself(params.family))
    row: dict[str, float | str] = {
        "epsilon_total": params.epsilon_total,
        "way": way,
        "score": score(params, F),
        "information_mu": float(F[0, 0]),
        "information_sigma": float(F[1, 1]),
        "share": score(params, F) / whole,
        "share_before_chance": score(params, said) / whole,
        **numbers,
    }
    return tuple(row.get(column, math.nan) for column in COLUMNS["main"])


def score(params: Params, F: Array) -> float:
    """Score of an information ``(2, 2)``."""
    return float(intervals.SCORES[params.score](F, params.weight))


@functools.cache
def value_itself(family: str) -> Array:
    """Fisher information ``(2, 2)`` of a value that is said as it is."""
    found = _told(best_channel.cells(FAMILIES[family], FINE))
    found.flags.writeable = False
    return found


def _told(cells: best_channel.Cells) -> Array:
    """Fisher information ``(2, 2)`` of the cell that a value lies in."""
    # Far out a cell may be emptier than a number can be.
    there = cells.p > 0.0
    dp = cells.dp[there]
    return (dp / cells.p[there, None]).T @ dp


# ------------------------------------------------------------------------------- what is shipped

CURVES = Path(__file__).parents[2] / "assets" / "ceiling" / "curves.csv"
"""The table ``main`` at all budgets of :data:`abcdp_core.online.ceiling.BUDGETS`, as nobody should
wait for the curves: ``python -m abcdp_core.experiments.ways_of_asking`` makes it again (a minute of
one core)."""


@functools.cache
def _shipped() -> pd.DataFrame:
    return pd.read_csv(CURVES)


def make(file: Path) -> None:
    """Compute all curves of every score without a weight."""
    rows = []
    for family, best_for in itertools.product(FAMILIES, intervals.SCORES):
        for budget in ceiling.BUDGETS if best_for != "weights" else ():
            params = Params(epsilon_total=budget, family=family, score=best_for)
            table = told(params)["main"]
            rows.append(table.assign(family=family, best_for=best_for))
    pd.concat(rows).to_csv(file, index=False, float_format="%.10g")


# ----------------------------------------------------------------------------------------- words


def collect(params: Params, rows: Tables) -> Result:
    """The result so far, with the curves that are shipped."""
    curves = _shipped()
    others = curves[
        (curves.family == params.family)
        & (curves.best_for == params.score)
        & (curves.epsilon_total != params.epsilon_total)
    ]
    every = [rows["main"], *([others[list(COLUMNS["main"])]] if len(others) else [])]
    main = pd.concat(every).sort_values("epsilon_total", kind="stable").reset_index(drop=True)
    tables = {"main": main, "symbols": rows["symbols"]}
    return Result(
        experiment=EXPERIMENT,
        params=params,
        tables=tables,
        summary=_summary(params, tables["main"]),
        privacy="Reads no data: everything here follows from theory and is public.",
    )


def _here(params: Params, main: pd.DataFrame) -> dict[str, dict[Any, Any]]:
    """Way -> its row at the budget of the answers drawn."""
    rows = main[main.epsilon_total == params.epsilon_total]
    return {str(row["way"]): row for row in rows.to_dict("records")}


def _rows(result: Result) -> dict[str, dict[Any, Any]]:
    return _here(cast(Params, result.params), result.tables["main"])


def _summary(params: Params, main: pd.DataFrame) -> str:
    rows = _here(params, main)
    each = "; ".join(
        f"{NAMES[way]} {rows[way]['score']:.4g}, {percent(rows[way]['share'])} of the value itself"
        for way in WAYS
    )
    return (
        f"{_what(params)} of one answer at ε_total = {params.epsilon_total:g}, {params.family} "
        f"values: {each}. {_of_ceiling(params, rows['optimal'])}"
    )


def _of_ceiling(params: Params, row: Mapping[str, Any]) -> str:
    """How far the optimal symbols may be from the best answer on their cells."""
    if math.isnan(row["bound"]):
        return "How far other symbols are above that was not computed here."
    on = f"on these {ceiling.cells(params.epsilon_total, params.family, params.score)} cells"
    over = row["bound"] / row["score"] - 1.0
    if over < MET:
        found = f"No answer {on} tells more: the ceiling is met."
    else:
        found = f"An answer {on} tells at most {100.0 * over:.2g} % more: the ceiling."
    return f"{found} It does not bound answers on other cells."


MET = 2e-4
"""Relative distance from the ceiling that is none: the search for it ends at half of it."""


def _what(params: Params) -> str:
    """What the score is, in words."""
    return {
        "mu": "Information about μ",
        "sigma": "Information about σ",
        "trace": "Sum of the informations about μ and about σ",
        "determinant": "Determinant of the information about μ and σ",
        "weights": f"Information about μ and about σ, which has the weight {params.weight:g},",
    }[params.score]


def _rounded(value: float) -> str:
    """Two digits of a size, in plain numbers."""
    return fig.plain(float(f"{value:.2g}"))


def finding(params: Params, main: pd.DataFrame) -> str:
    """How much more optimal symbols tell than the best interval, in a line."""
    rows = _here(params, main)
    optimal, interval = rows["optimal"], rows["truncation"]
    at = f"than the best interval at ε_total = {params.epsilon_total:g}"
    verb = "score" if params.score == "determinant" else "tell"
    ratio = optimal["score"] / interval["score"]
    if ratio >= TWICE:
        return f"Symbols {verb} {_size(ratio)} times as much as{at.removeprefix('than')}"
    percent = 100.0 * abs(ratio - 1.0)
    if percent < 1.0:
        return f"Symbols {verb} as much as{at.removeprefix('than')}, to within 1 %"
    return f"Symbols {verb} {percent:.2g} % {'more' if ratio > 1.0 else 'less'} {at}"


TWICE = 2.0
"""From here on so many times, not so many percent more."""


def _size(value: float) -> str:
    if value >= 10.0:
        return f"{value:,.0f}"
    return f"{value:.2g}" if value >= 1.1 else f"{value:.4g}"


def why(result: Result) -> str:
    """Why symbols win, and where each way loses what the value tells; in Markdown."""
    params, rows = cast(Params, result.params), _rows(result)
    interval, optimal = rows["truncation"], rows["optimal"]
    losses = (
        f"Of the {_what(params)[0].lower()}{_what(params)[1:]} that the value itself has, "
        f"the best interval keeps {percent(interval['share_before_chance'])} before its "
        f"noise and {percent(interval['share'])} after it, the {optimal['symbols']:.0f} symbols "
        f"{percent(optimal['share_before_chance'])} before chance and "
        f"{percent(optimal['share'])} after it."
    )
    if optimal["score"] < WINS * interval["score"]:
        return losses
    return f"**Why symbols win:** {_reason(result, interval, optimal)}. {losses}"


def _reason(result: Result, interval: Mapping[str, Any], optimal: Mapping[str, Any]) -> str:
    """What a symbol does not have to hide."""
    hides = "noise on a number has to hide *how far* the value lies"
    if optimal["symbols"] == 2 and math.isinf(_symbols(result).low.iloc[0]):
        return (
            f"a symbol says only on *which side* the value lies, and is wrong in "
            f"{percent(optimal['wrong'])}; {hides}, and puts even the farthest on the wrong side "
            f"in {percent(interval['wrong'])}"
        )
    return (
        f"a symbol says only in *which part* the value lies, each as clearly as ε_total allows; "
        f"{hides}, and the {percent(interval['between'])} of the answers that fall within the "
        "interval tell less than is allowed"
    )


WINS = 1.001
"""Times the score of the best interval from which on symbols tell more."""


# --------------------------------------------------------------------------------------- figures


def figures(result: Result) -> dict[str, fig.Drawn]:
    """What each way tells by budget; the chance of each symbol; what an interval makes of a value.

    The last two are for the budget of the answers drawn.
    """
    return {
        "information": fig.Drawn(_information_figure(result), result.summary),
        "symbols": fig.Drawn(_symbols_figure(result), _symbols_sentence(result)),
        "clipped": fig.Drawn(_clipped_figure(result), _clipped_sentence(result)),
    }


CEILING = dataclasses.replace(fig.THEORY, name="ceiling on these cells")
VALUE = dataclasses.replace(fig.NON_PRIVATE, name="the value itself")

SHOWN = (0.1, 20.0)
"""Ends of the axis of budgets, for a budget between them."""


def _information_figure(result: Result) -> go.Figure:
    params, main = cast(Params, result.params), result.tables["main"]
    whole, here = score(params, value_itself(params.family)), params.epsilon_total
    figure = fig.figure(
        finding(params, main),
        "ε_total",
        "told by one answer",
        height=350,
        settings=f"{_what(params).rstrip(',')}, {params.family} values, σ = 1",
    )
    ends = min(SHOWN[0], here), max(SHOWN[1], here)
    figure.add_trace(fig.line(np.array(ends), np.full(2, whole), VALUE))
    for way in WAYS:
        rows = main[main.way == way]
        style = dataclasses.replace(fig.way_of_asking(way), name=NAMES[way])
        size = np.where(rows.epsilon_total == here, LARGE, SMALL)
        marker = {"symbol": style.marker, "color": style.color, "size": size}
        figure.add_trace(_curve(rows, "score", style).update(mode="lines+markers", marker=marker))
    # On top: where it is met, it is seen on the line that meets it.
    bounds = main[main.bound.notna()]
    figure.add_trace(_curve(bounds, "bound", CEILING).update(line={"width": 1.2}))
    figure.update_traces(showlegend=False)
    figure.update_xaxes(**fig.plain_ticks(*ends, most=8))
    figure.update_yaxes(range=[0.0, TOP * whole])
    figure.add_shape(
        type="line",
        **{"x0": here, "x1": here, "y0": 0.0, "y1": 1.0, "yref": "paper", "layer": "below"},
        line={"color": fig.GUIDE.color, "dash": "dot", "width": 1.5},
    )
    last = main.drop_duplicates("way", keep="last").set_index("way").score
    labels = [(float(last[way]), NAMES[way], fig.way_of_asking(way).color) for way in WAYS]
    labels.append((whole, VALUE.name, VALUE.color))
    named = bounds[(bounds.epsilon_total >= NAMED_AT[0]) & (bounds.epsilon_total <= NAMED_AT[1])]
    if len(named):
        at = named.iloc[-1]
        words = "ceiling on<br>these cells "
        fig.note(figure, at.epsilon_total, at.bound, words, CEILING.color, "bottom right")
    fig.end_labels(figure, labels, (0.0, TOP * whole), gap=0.09)
    return figure


NAMED_AT = (1.5, 2.5)
"""Between which budgets the ceiling is named: there it rises, and there is room left of it."""

SMALL, LARGE = 6, 15
"""Sizes of the marks, and of those at the budget of the answers drawn."""

TOP = 1.08
"""End of the axis, in what the value itself tells."""


def _curve(rows: pd.DataFrame, column: str, style: fig.Style) -> go.Scatter:
    return fig.line(rows.epsilon_total.to_numpy(), rows[column].to_numpy(), style).update(
        hovertemplate="ε_total = %{x:g}: %{y:.4g}<extra>" + style.name + "</extra>"
    )


def _reach(params: Params) -> float:
    """Where the axis of values ends, in σ from μ: most values lie within."""
    return 4.0 if params.family == "normal" else 7.0


def _symbols(result: Result) -> pd.DataFrame:
    symbols, params = result.tables["symbols"], cast(Params, result.params)
    return symbols[symbols.epsilon_total == params.epsilon_total]


def steps(
    ends: tuple[float, float], inside: float, outside: float, reach: float
) -> tuple[Array, Array]:
    """The chance of a symbol along the values, as the corners of a line.

    Args:
        ends: of its set as in :class:`abcdp_core.online.channels.Table`.
        inside, outside: its chance from people in the set and from others.
        reach: where the line ends, on either side of μ.
    """
    low, high = ends
    edges = sorted(end for end in ends if abs(end) < reach)
    corners = np.array([-reach, *np.repeat(edges, 2), reach])
    x = 0.5 * (corners[::2] + corners[1::2])
    within = (low <= x) & (x < high) if low < high else (x < high) | (low <= x)
    return corners, np.repeat(np.where(within, inside, outside), 2)


def _symbols_figure(result: Result) -> go.Figure:
    params, symbols, row = cast(Params, result.params), _symbols(result), _rows(result)["optimal"]
    count, reach = len(symbols), _reach(params)
    wrong = "the wrong one" if count == 2 else "one that is not true"
    figure = fig.figure(
        f"{count} symbols: {wrong} with a chance of {percent(row['wrong'])}",
        VALUES,
        "chance of each answer",
        height=290,
        settings=f"optimal symbols at ε_total = {row['epsilon_total']:g}",
    )
    style = fig.way_of_asking("optimal")
    for symbol in symbols.to_dict("records"):
        ends = symbol["low"], symbol["high"]
        x, y = steps(ends, symbol["chance_inside"], symbol["chance_outside"], reach)
        odd = symbol["symbol"] % 2
        look = dataclasses.replace(style, name=_set(*ends), dash="solid" if odd else "dash")
        trace = fig.line(x, y, look, showlegend=False)
        if odd:
            trace.update(fill="tozeroy", fillcolor=fig.translucent(style.color, 0.15))
        figure.add_trace(trace.update(line={"width": 2.5 if count <= NAMED else 1.2}))
    return figure.update_xaxes(range=[-reach, reach]).update_yaxes(range=[0.0, 1.02])


VALUES = "value of the person, in σ from μ"
"""The axis of the figures of one answer."""


def _set(low: float, high: float) -> str:
    """A symbol's set in words, in σ from μ."""
    if math.isinf(low):
        return f"below {_place(high)}"
    if math.isinf(high):
        return f"above {_place(low)}"
    first, last = _place(low), _place(high)
    return f"{first} to {last}" if low < high else f"below {last} or above {first}"


def _place(end: float) -> str:
    # Nothing is added, so that no minus stands before a 0.
    return f"{end + 0.0:.2g}".replace("-", "−")


def _symbols_sentence(result: Result) -> str:
    symbols = _symbols(result)
    budget = float(symbols.epsilon_total.iloc[0])
    ratio = _size(math.exp(budget)) if budget <= READABLE else f"e^{min(budget, MOST):g}"
    text = (
        f"Each line is the chance of one answer, by the value of the person. It is {ratio} times "
        "as large from people in the answer's set as from all others"
    )
    text += f", as ε_total = {budget:g} allows." if budget <= MOST else "."
    if len(symbols) <= NAMED:
        sets = "; ".join(map(_set, symbols.low, symbols.high))
        text += f" The sets, in σ from μ: {sets}."
    return text


NAMED = 8
"""Sets that are named at most."""

MOST, READABLE = channels.MOST, 14.0
"""Largest ε of a table, and the largest whose power is written out."""


def _clipped_figure(result: Result) -> go.Figure:
    params, row = cast(Params, result.params), _rows(result)["truncation"]
    reach, (a, b) = _reach(params), (row["a"], row["b"])
    scale = (b - a) / row["epsilon_total"]
    figure = fig.figure(
        f"Best interval: wrong side with a chance of {percent(row['wrong'])}",
        VALUES,
        "answer, in σ from μ",
        height=290,
        settings=f"even from values far beyond it, ε_total = {row['epsilon_total']:g}",
    )
    style = fig.way_of_asking("truncation")
    x = np.unique(np.clip([-reach, a, b, reach], -reach, reach))
    y = np.clip(x, a, b)
    for share in SHARES:
        off = -scale * math.log(1.0 - share)
        figure.add_trace(fig.band(x, y - off, y + off, style))
    figure.add_trace(fig.line(x, y, style, showlegend=False))
    return figure.update_xaxes(range=[-reach, reach])


SHARES = (0.9, 0.5)
"""Shares of the answers that the bands hold."""


def _clipped_sentence(result: Result) -> str:
    row = _rows(result)["truncation"]
    scale = _rounded((row["b"] - row["a"]) / row["epsilon_total"])
    return (
        f"The line is the value clipped to {interval(row['a'], row['b'])}, before noise. The "
        f"bands hold 50 % and 90 % of the answers from each value, with noise of scale {scale}."
        " On the wrong side is an answer that lies beyond the middle of the interval as seen from "
        "a value outside it."
    )


if __name__ == "__main__":
    make(CURVES)
