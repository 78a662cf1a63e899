r"""What is the best question to ask one person?

For the same $\epsilon_{total}$ a person can answer by a number or by a symbol. *Truncation* clips
the value to an interval and adds Laplace noise in proportion to its width (MATH A1); here it uses
the best interval, symmetric or not (MATH A4). A *sign* says on which side of $\mu$ the value lies
and is wrong with probability $1/(1 + e^{\epsilon_{total}})$. The *optimal* symbols are those whose
Fisher information about $(\mu, \sigma)$ at $(0, 1)$ has the largest score,

$$p(k \mid x) = w_k\, q_k(x), \qquad q_k(x) = e^{\epsilon_{total}} \text{ if } x \in I_k,
\text{ else } 1, \qquad F = \sum_k w_k\, \frac{\nabla m_k\, \nabla m_k^T}{m_k} \tag{A14}$$

with $m_k = 1 + (e^{\epsilon_{total}} - 1) P(I_k)$ and sets $I_k$ that are runs of up to 128 cells
or complements of runs, found by linear programming.

**What is known to be the best.** The ceiling is the largest information of any answer that depends
only on which of these cells the value lies in. For $\mu$ the optimal symbols reach it within 0.2 %.
For $\sigma$ it is up to 5 % higher, and other cells may allow a little more. For the $\mu$ of
normal values a sign is known to be the best of all for $\epsilon_{total} \le 1.04$ (Kalinin and
Steinberger 2025).

**Where information is lost.** First by the question, then by chance, which makes the answer
private. Noise on a number must hide how far away the value lies, which carries little information
about $\mu$. A symbol must hide only which part it lies in, so it is right more often. Beyond the
interval an answer is on the wrong side with probability $e^{-\epsilon_{total}/2}/2$, 30 % at
$\epsilon_{total} = 1$; a sign is wrong with probability 27 %.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pandas as pd

from abcdp_core import figures as fig
from abcdp_core.adaptive import best_channel, channels, information_bound, intervals
from abcdp_core.adaptive import parameters as stream_params
from abcdp_core.adaptive.families import FAMILIES
from abcdp_core.base import parameters as par
from abcdp_core.base.places import ASSETS
from abcdp_core.base.sentences import (
    amount,
    budget_name,
    compared,
    factor,
    interval,
    percent,
    setting,
)
from abcdp_core.figures import ranked
from abcdp_core.figures.lines import Curve, Lines
from abcdp_core.run.results import Tables
from abcdp_core.run.tasks import with_values
from abcdp_core.studies.engine import (
    Array,
    BaseParams,
    Chain,
    Continuation,
    DerivedTable,
    Result,
    Study,
)

EXPERIMENT = "ways-of-asking"
TITLE = "The question whose private answer carries most information"
MAIN = (
    "epsilon_total way score information_mu information_sigma share share_before_chance bound "
    "wrong symbols a b between"
)
SYMBOLS = "epsilon_total symbol low high chance_inside chance_outside"

NAMES = {"truncation": "best interval", "sign": "sign", "optimal": "optimal symbols"}
"""Way of asking, as in the parameter ``channel`` of other studies -> its name in words."""

FINE, WITHIN = 4000, 400
"""Cells of a value without privacy, which lose less than a millionth, and of an interval."""

CURVES = ASSETS / "ceiling" / "curves.csv"
"""The table ``main`` at many budgets, computed beforehand."""


@dataclass(frozen=True)
class Params(BaseParams):
    """The budget of the answers drawn, the family of the values, and what to learn."""

    epsilon_total: float = par.EPSILON_TOTAL.field(1.0)
    family: str = stream_params.FAMILY.field("normal")
    score: str = dataclasses.replace(stream_params.SCORE, label="Best for").field("mu")
    weight: float = stream_params.WEIGHT.field(0.5)


def budgets(params: Params) -> list[float]:
    """Return the budget of the answers drawn, and those of curves that are not shipped."""
    others = information_bound.BUDGETS if params.score == "weights" else ()
    return [*dict.fromkeys([params.epsilon_total, *others])]


def follow(chain: Continuation[Chain[Params]]) -> tuple[Tables, None]:
    """Compute the tables for the next budget."""
    params = chain.task.params
    return told(with_values(params, epsilon_total=budgets(params)[chain.done])), None


def told(params: Params) -> Tables:
    """Return the information of each way at a budget, and the optimal symbols."""
    epsilon_total, *fit = params.epsilon_total, params.family, params.score
    optimal = best_channel.best(epsilon_total, *fit, weight=params.weight).channel
    main = [_truncation(params), _by_symbols(params, "sign", channels.sign(epsilon_total))]
    bound = {"bound": information_bound.bound(epsilon_total, *fit)}
    main.append(_by_symbols(params, "optimal", optimal) | bound)
    gain, sets = math.exp(optimal.level), zip(optimal.ends, optimal.weights, strict=True)
    symbols = [
        (epsilon_total, symbol, *ends, weight * gain, weight)
        for symbol, (ends, weight) in enumerate(sets, 1)
    ]
    return {
        "main": pd.DataFrame(main, columns=MAIN.split()).astype({"bound": float}),
        "symbols": pd.DataFrame(symbols, columns=SYMBOLS.split()),
    }


def _truncation(params: Params) -> dict[str, Any]:
    """Return the row of the best interval."""
    epsilon_total, kind = params.epsilon_total, FAMILIES[params.family]
    best = intervals.best(
        1.0 / epsilon_total, "laplace", params.family, params.score, False, params.weight
    )
    inside = best_channel.partition(kind, np.linspace(best.a, best.b, WITHIN + 1))
    # In widths from the left end; the noise has the scale 1/ε of them.
    place = np.concatenate([[0.0], (np.arange(WITHIN) + 0.5) / WITHIN, [1.0]])
    out = 0.5 * (np.exp(-epsilon_total * place) + np.exp(-epsilon_total * (1.0 - place)))
    own = {"a": best.a, "b": best.b, "between": 1.0 - float(inside.p @ out)}
    own["wrong"] = 0.5 * math.exp(-0.5 * epsilon_total)
    return _row(params, "truncation", best.information, inside) | own


def _by_symbols(params: Params, way: str, table: channels.DiscreteChannel) -> dict[str, Any]:
    """Return the row of a table of symbols."""
    kind = FAMILIES[params.family]
    asked = best_channel.partition(kind, table.edges)
    # Each as likely as for people who are not in its set.
    wrong = np.array(table.weights) @ (1.0 - channels.mass(kind, *np.array(table.ends).T))
    own = {"wrong": float(wrong), "symbols": float(len(table.weights))}
    return _row(params, way, table.information(kind), asked) | own


def _row(params: Params, way: str, F: Array, asked: best_channel.Cells) -> dict[str, Any]:
    """Return what all rows have, from information ``(2, 2)`` and the cells asked for."""
    whole = score(params, value_itself(params.family))
    return {
        "epsilon_total": params.epsilon_total,
        "way": way,
        "score": score(params, F),
        "information_mu": float(F[0, 0]),
        "information_sigma": float(F[1, 1]),
        "share": score(params, F) / whole,
        "share_before_chance": score(params, _information(asked)) / whole,
    }


def score(params: Params, F: Array) -> float:
    """Return the score of an information ``(2, 2)``."""
    return float(intervals.SCORES[params.score](F, params.weight))


@functools.cache
def value_itself(family: str) -> Array:
    """Return the Fisher information ``(2, 2)`` of a value without privacy."""
    table = _information(best_channel.cells(FAMILIES[family], FINE))
    table.flags.writeable = False
    return table


def _information(cells: best_channel.Cells) -> Array:
    """Return the Fisher information ``(2, 2)`` of the cell that a value lies in."""
    # Far out, the probability of a cell may underflow to 0.
    there = cells.p > 0.0
    dp = cells.dp[there]
    return (dp / cells.p[there, None]).T @ dp


@functools.cache
def shipped() -> pd.DataFrame:
    """Read the rows of ``main`` that ``tools.information_curves`` computed beforehand."""
    return pd.read_csv(CURVES)


def with_shipped(params: Params, rows: Tables) -> pd.DataFrame:
    """Return the rows of ``main`` so far, and the shipped curves."""
    known = shipped()
    known = known[(known.family == params.family) & (known.best_for == params.score)]
    others = known.loc[known.epsilon_total != params.epsilon_total, MAIN.split()]
    every = [rows["main"], others] if len(others) else [rows["main"]]
    return pd.concat(every).sort_values("epsilon_total", kind="stable").reset_index(drop=True)


def _here(result: Result) -> tuple[Params, dict[str, Any]]:
    """Return the parameters, and the row of each way at their budget."""
    params, rows = cast(Params, result.params), result.tables["main"]
    own = rows[rows.epsilon_total == params.epsilon_total]
    return params, {str(row.way): row for row in own.itertuples()}


def said(result: Result) -> tuple[str, str]:
    """Compare optimal symbols with the best interval; report what each way keeps of a value."""
    params, rows = _here(result)
    best, interval, sign = rows["optimal"], rows["truncation"], rows["sign"]
    at, how_much = budget_name(params.epsilon_total), compared(best.score, interval.score)
    # As in "25 % more information than".
    more, _, than = how_much.rpartition(" ")
    verb = f"carry {more} information" if params.score != "determinant" else f"score {more}"
    what = stream_params.score_in_words(params.score, params.weight)
    return f"Symbols {verb} {than} the best interval at {at}", (
        f"At {at}, optimal symbols keep {percent(best.share)} of the {what} in "
        f"{setting('family', params.family)}, the best interval {percent(interval.share)} and a "
        f"sign {percent(sign.share)}."
    )


def why(result: Result) -> str:
    """Say why symbols win, if they do, and where each way loses information; in Markdown."""
    params, rows = _here(result)
    interval, optimal = rows["truncation"], rows["optimal"]
    what = stream_params.score_in_words(params.score, params.weight)
    reason = (
        "**Why symbols win:** noise on a number must hide *how far* away the value lies; a symbol "
        "must hide only *which part* it lies in. "
    ) * (optimal.score >= 1.01 * interval.score)
    return (
        f"{reason}The best interval keeps {percent(interval.share_before_chance)} of the {what} in "
        f"the value itself before its noise and {percent(interval.share)} after it. The "
        f"{optimal.symbols:.0f} symbols keep {percent(optimal.share_before_chance)} before chance "
        f"and {percent(optimal.share)} after it."
    )


def _known(result: Result, rows: pd.DataFrame) -> list[Curve]:
    """Return the information of the value itself, and the ceiling if there is one."""
    params = cast(Params, result.params)
    ends = rows.epsilon_total.agg(["min", "max"]).to_numpy()
    value = fig.NON_PRIVATE.called("the value itself")
    bounds = rows[rows.bound.notna()]
    most = fig.THEORY.called("ceiling on these cells")
    top = (most, bounds.epsilon_total.to_numpy(), bounds.bound.to_numpy())
    whole = np.full(2, score(params, value_itself(params.family)))
    return [(value, ends, whole), *([top] if len(bounds) else [])]


LINES = Lines(
    "score",
    "epsilon_total",
    says=said,
    by=("way",),
    looks={way: fig.way_of_asking(way).called(name) for way, name in NAMES.items()},
    curves=_known,
    linear=True,
    y_range=lambda params: (0.0, 1.08 * score(params, value_itself(params.family))),
    y_title="information of one answer",
    settings=("family",),
)


def by_budget(result: Result) -> fig.CaptionedFigure:
    """Draw the information of each way by budget."""
    drawn, budget = LINES(result), vars(result.params)["epsilon_total"]
    ranked.upright(drawn.figure, budget, fig.GUIDE, budget_name(budget), "center")
    return drawn


def _answers(result: Result, title: str, y: str) -> tuple[Any, float]:
    """Return an empty figure of one answer by the person's value, and the end of its axis."""
    params = cast(Params, result.params)
    # Most values lie within.
    reach = 4.0 if params.family == "normal" else 7.0
    at = budget_name(params.epsilon_total)
    figure = fig.figure(title, "value of the person, in σ from μ", y, 290, at)
    return figure.update_xaxes(range=[-reach, reach]), reach


def symbols(result: Result) -> fig.CaptionedFigure:
    """Draw the probability of each symbol by the person's value."""
    (params, rows), table = _here(result), result.tables["symbols"]
    table = table[table.epsilon_total == params.epsilon_total]
    wrong = percent(rows["optimal"].wrong)
    title = f"With {len(table)} symbols, an answer is untrue with probability {wrong}"
    figure, reach = _answers(result, title, "probability of each answer")
    style = fig.way_of_asking("optimal")
    for number, *ends, inside, outside in table.iloc[:, 1:].itertuples(index=False):
        x = np.array([-reach, *sorted(end for end in ends if abs(end) < reach), reach])
        low, high = ends
        there = (low <= x) & (x < high) if low < high else (x < high) | (low <= x)
        look = style.called(f"symbol {number}", dash="solid" if number % 2 else "dash")
        trace = fig.line(x, np.where(there, inside, outside), look, showlegend=False)
        figure.add_trace(trace.update(line={"shape": "hv", "width": 1.5}))
    figure.update_yaxes(range=[0.0, 1.02])
    times = factor(math.log(table.chance_inside.iloc[0] / table.chance_outside.iloc[0]))
    return fig.CaptionedFigure(
        figure,
        "Each line is the probability of one answer, by the person's value. A value in an answer's "
        f"set makes that answer {times} times as likely as a value outside it does.",
    )


def clipped(result: Result) -> fig.CaptionedFigure:
    """Draw the answers in the best interval by the person's value."""
    params, rows = _here(result)
    row = rows["truncation"]
    title = f"Beyond the best interval, {percent(row.wrong)} of answers are on the wrong side"
    figure, reach = _answers(result, title, "answer, in σ from μ")
    style, scale = fig.way_of_asking("truncation"), (row.b - row.a) / params.epsilon_total
    x = np.unique(np.clip([-reach, row.a, row.b, reach], -reach, reach))
    y = np.clip(x, row.a, row.b)
    for share in (0.9, 0.5):
        off = -scale * math.log(1.0 - share)
        figure.add_trace(fig.band(x, y - off, y + off, style))
    figure.add_trace(fig.line(x, y, style, showlegend=False))
    return fig.CaptionedFigure(
        figure,
        f"The line is the value clipped to {interval(row.a, row.b)}. The bands contain 50 % and "
        f"90 % of the answers, which have noise of scale {amount(scale, 2)}.",
    )


STUDY: Study[Params, None] = Study(
    EXPERIMENT,
    Params,
    links=lambda params: len(budgets(params)),
    link=follow,
    tables={"main": MAIN, "symbols": SYMBOLS},
    totals={"main": DerivedTable(MAIN, with_shipped)},
    says=lambda result: said(result)[1],
    privacy="Reads no data: everything here follows from theory and is public.",
    views={"information": by_budget, "symbols": symbols, "clipped": clipped},
)
COLUMNS, tasks, work, collect, figures = STUDY.contract()
