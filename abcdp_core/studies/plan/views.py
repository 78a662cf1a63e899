"""Sentences and figures of a plan."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from abcdp_core import figures as fig
from abcdp_core import mechanisms, privacy
from abcdp_core.base.sentences import (
    above,
    amount,
    counted,
    from_to,
    percent,
    setting,
    settings_line,
)
from abcdp_core.evaluation import planning
from abcdp_core.figures import ranked
from abcdp_core.mechanisms import Budget, noisy_counts
from abcdp_core.run.results import Result
from abcdp_core.studies.engine import mechanisms as shared

if TYPE_CHECKING:
    from abcdp_core.studies.plan import Params

NOT_YET = "So far there are results for other budgets and sizes only."
ROOM = 1.4  # Times the largest number to which an axis reaches


def title(result: Result) -> str:
    """Return the finding."""
    main, has_goal = result.tables["main"], cast("Params", result.params).has_goal
    meeting = int(main.meets.sum())
    if not meeting:
        does = "predicted to meet the goal" if has_goal else "clearly better than the prior mean"
        return f"No mechanism is {does}"
    if has_goal:
        verb = "is" if meeting == 1 else "are"
        them = counted(len(main), "mechanism")
        return f"{meeting} of {them} {verb} predicted to meet the goal"
    return f"The smallest error is predicted for {fig.called(main.mechanism[0])}"


def advice(result: Result) -> str:
    """Return what to run, in a few sentences."""
    params, main = cast("Params", result.params), result.tables["main"]
    best, goal = result.tables["goal"].iloc[0], params.wish
    texts = [f"{title(result)} at N = {params.n:,} and ε_total = {params.epsilon_total:,g}."]
    if math.isfinite(best.value):
        value = amount(best.value, 2)
        prior = goal.of_prior(planning.prior(params.source))
        reference = f"the prior mean's is {amount(prior, 2)}"
        if params.has_goal:
            reference = f"the goal is at most {amount(params.wanted, 6)}"
            value = above(best.value, params.wanted) if best.value > params.wanted else value
        ends = best.value_low, best.value_high
        value += f" (95 % interval {from_to(ends, 2)})" * math.isfinite(sum(ends))
        texts.append(
            f"The {goal.quantity} with {_named(main.iloc[0])} is {value}{shared.in_units(params)}; "
            f"{reference}."
        )
    if params.has_goal and main.meets.any() and best.value_high > params.wanted:
        texts.append("This is not certain: the 95 % interval extends beyond the goal.")
    if params.has_goal and not main.meets.any():
        coverage = result.tables["intervals"].coverage[:1]
        too_few = coverage[coverage < planning.HONEST]
        texts += [f"Its intervals hold the truth in {percent(each)} of cases." for each in too_few]
        knobs = result.tables["enough"].knob.unique()
        texts += [f"{enough_title(result, knob)}." for knob in knobs]
    return " ".join([*texts, "Truths are drawn from the prior."])


def _named(row: Any) -> str:
    """Return a row's mechanism with its setting."""
    known = {"c": row.c > 0, "epsilon_abc": math.isfinite(row.epsilon_abc)}
    parts = ", ".join(setting(name, row[name]) for name, has_it in known.items() if has_it)
    return f"{fig.called(row.mechanism)} ({parts})" if parts else fig.called(row.mechanism)


def guarantee(params: Params, main: pd.DataFrame) -> str:
    """Return what a release by the first mechanism would guarantee."""
    if main.empty:
        return "Nothing is released; only simulated data are used."
    best, source = mechanisms.load(main.mechanism[0]), params.source
    budget = Budget(params.epsilon_total, params.delta)
    promised = privacy.guarantee(best.spends(budget), *best.protects(source))
    return (
        f"Only simulated data are used, so planning costs no privacy. A release by "
        f"{fig.called(best.name)} p{promised.removeprefix('P')}"
    )


def enough_title(result: Result, knob: str) -> str:
    """Return the smallest value that is enough, and for which mechanism; or that none is."""
    table, name = result.tables["enough"], planning.NAMES[knob]
    first = table[table.knob == knob].iloc[0]
    if math.isinf(first.enough):
        return f"No {name} tried here is predicted to be enough"
    by = fig.called(first.mechanism)
    return f"{name} = {amount(first.enough)} is predicted to be enough with {by}"


def figures(result: Result) -> dict[str, fig.CaptionedFigure]:
    """Draw the ranked mechanisms and, for a goal, what would be enough."""
    main = result.tables["main"]
    if main.empty:
        empty = ranked.ranked([""], "Nothing is predicted yet", "")
        return {"plan": fig.CaptionedFigure(empty, NOT_YET)}
    drawn = {"plan": _ranked(result)}
    for knob, key in (("epsilon_total", "enough-budget"), ("n", "enough-people")):
        if knob in set(result.tables["enough"].knob):
            drawn[key] = _enough_rows(result, knob)
    return drawn


def _ranked(result: Result) -> fig.CaptionedFigure:
    params, main, goal = cast("Params", result.params), result.tables["main"], result.tables["goal"]
    wish, source = params.wish, params.source
    sets = counted(goal.data_sets.max(), "data set")
    filled = "meets the goal" if params.has_goal else "clearly better than the prior mean"
    settings = settings_line(params, ("n", "epsilon_total", "pool_size"))
    settings += f", {sets}, 95 % intervals; filled: {filled}"
    words = title(result), f"{wish.quantity}{shared.in_units(params)}", settings
    rows = goal.assign(open=~main.meets)
    wanted = [(params.wanted, fig.GUIDE, "goal")] * params.has_goal
    prior = None if wish.intervals else wish.of_prior(planning.prior(params.source))
    figure = _rows(rows, ("value", "no draws"), words, wanted, prior)
    units = {str(name): mechanisms.load(name).protects(source)[0] for name in main.mechanism}
    others = {name: unit for name, unit in units.items() if unit != units[main.mechanism[0]]}
    sentences = [
        f"{fig.called(name).capitalize()} protects {unit}." for name, unit in others.items()
    ]
    sentences = [result.summary, *sentences, noisy_counts.rival(source)]
    return fig.CaptionedFigure(figure, " ".join(sentences))


def _enough_rows(result: Result, knob: str) -> fig.CaptionedFigure:
    params, table = cast("Params", result.params), result.tables["enough"]
    rows = table[table.knob == knob].reset_index(drop=True)
    (other,) = {"epsilon_total", "n"} - {knob}
    given, name = settings_line(params, [other]), planning.NAMES[knob]
    words = enough_title(result, knob), f"smallest {name} that is enough", given
    yours = (float(getattr(params, knob)), fig.GUIDE, "yours")
    sentence = (
        f"Each row shows the smallest {name} predicted to meet the goal with {given}: "
        f"{params.wish.quantity} at most {amount(params.wanted, 6)}."
    )
    return fig.CaptionedFigure(_rows(rows, ("enough", "none"), words, [yours]), sentence)


def _rows(
    rows: pd.DataFrame,
    of: tuple[str, str],
    words: tuple[str, str, str],
    lines: list[tuple[float, fig.Style, str]],
    prior: float | None = None,
) -> go.Figure:
    """Draw a row for each mechanism; ``of`` is a column and the name of an infinite value."""
    column, nothing = of
    columns = [column, f"{column}_low", f"{column}_high"]
    marks = rows.rename(columns=dict(zip(columns, ("value", "low", "high"), strict=True)))
    marks = marks.assign(place=rows.index, style=rows.mechanism.map(fig.mechanism))
    values = [amount(each, 2) if math.isfinite(each) else nothing for each in marks.value]
    names = [f"{style.name} {text}" for style, text in zip(marks["style"], values, strict=True)]
    numbers = rows[columns].to_numpy(float)
    known = [*numbers[np.isfinite(numbers) & (numbers > 0.0)], *(line[0] for line in lines)]
    known += [] if prior is None else [prior]
    ends = min(known) / ROOM, ROOM * max(known)
    # So twelve mechanisms fit on the screen of a small laptop.
    return ranked.marked(names, marks, words, ends, lines, prior=prior, row_height=30)
