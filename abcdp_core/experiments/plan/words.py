"""What a plan says."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

import pandas as pd

from abcdp_core import figures as fig
from abcdp_core import mechanisms, planning, privacy, simulators
from abcdp_core.mechanisms import Budget
from abcdp_core.results import Result
from abcdp_core.sentences import above, amount, counted, percent
from abcdp_core.study import mechanisms as shared

if TYPE_CHECKING:
    from abcdp_core.experiments.plan import Params

NOT_YET = "Only other budgets and sizes are known yet, not those that were asked for."


def quantity(params: Params) -> str:
    """Return what the goal is about, with its unit."""
    return f"{params.wish.quantity}{shared.in_units(params)}"


def prior_error(params: Params) -> float:
    """Return the error of the prior mean, which looks at no data."""
    return params.wish.of_prior(planning.prior(params.scenario))


def title(result: Result) -> str:
    """Return the finding."""
    main, has_goal = result.tables["main"], cast("Params", result.params).has_goal
    meeting = int(main.meets.sum())
    if not meeting:
        does = "predicted to meet the goal" if has_goal else "clearly better than the prior"
        return f"No mechanism is {does}"
    if not has_goal:
        return f"{fig.called(main.mechanism[0]).capitalize()} is predicted to err least"
    which = f"{meeting:,} of {counted(len(main), 'mechanism')}"
    return f"{which} {'is' if meeting == 1 else 'are'} predicted to meet the goal"


def advice(result: Result) -> str:
    """Return what to run, in a few sentences."""
    params, main = cast("Params", result.params), result.tables["main"]
    best, is_met = result.tables["goal"].iloc[0], bool(main.meets.any())
    value, reference = amount(best.value, 2), f"at most {amount(params.wanted, 6)} is wanted"
    if not params.has_goal:
        reference = f"the prior mean's is {amount(prior_error(params), 2)}"
    elif not is_met and best.value > params.wanted:
        value = above(best.value, params.wanted)
    first, begin = named(main.iloc[0]), title(result)
    its = f"{first} comes first: its"
    if is_met and not params.has_goal:
        begin, its = f"{first} is predicted to err least", "Its"
    texts = [f"{begin} with N = {params.n:,} and ε_total = {params.epsilon_total:g}."]
    if math.isfinite(best.value):
        texts.append(
            f"{its} {params.wish.quantity} is {value}{_between(best)}{shared.in_units(params)}; "
            f"{reference}."
        )
    if params.has_goal and is_met and best.value_high > params.wanted:
        texts.append("The interval reaches above what is wanted, so this is not certain.")
    if params.has_goal and not is_met:
        held = result.tables["intervals"].coverage[:1]
        too_few = held[held < planning.HONEST]
        texts += [f"Its intervals hold the truth in {percent(each)} of cases." for each in too_few]
        texts += [f"{enough_title(result, knob)}." for knob in knobs(result)]
    return " ".join([*texts, "Averaged over truths from the prior."])


def _between(row: Any) -> str:
    """Return a 95 % interval, after a space; nothing where it is not known."""
    low, high = amount(row.value_low, 2), row.value_high
    if not math.isfinite(row.value_low):
        return ""
    ends = f"{low} to {amount(high, 2)}" if math.isfinite(high) else f"from {low}"
    return f" (95 % interval {ends})"


def named(row: Any) -> str:
    """Return a row's mechanism with its setting, to begin a sentence."""
    parts = [f"c = {row.c:,}"] * bool(row.c > 0)
    parts += [f"ε_abc = {row.epsilon_abc:g}"] * math.isfinite(row.epsilon_abc)
    setting = f" ({', '.join(parts)})" if parts else ""
    return f"{fig.called(row.mechanism).capitalize()}{setting}"


def other_units(result: Result) -> str:
    """Name mechanisms that protect another unit than the first one, after a space; else nothing."""
    source = simulators.load(cast("Params", result.params).scenario)
    names = [str(name) for name in result.tables["main"].mechanism]
    units = {name: mechanisms.load(name).protects(source)[0] for name in names}
    others = [name for name in names if units[name] != units[names[0]]]
    return "".join(f" {fig.called(name).capitalize()} protects {units[name]}." for name in others)


def guarantee(params: Params, main: pd.DataFrame) -> str:
    """Return what a release as planned would guarantee."""
    if main.empty:
        return "Nothing is released; only simulated data are looked at."
    best, source = mechanisms.load(main.mechanism[0]), simulators.load(params.scenario)
    budget = Budget(params.epsilon_total, params.delta)
    promised = privacy.guarantee(best.spends(budget), *best.protects(source))
    return (
        f"Only simulated data are looked at: planning costs no privacy. A release by the first, "
        f"{fig.called(best.name)}: {promised}"
    )


def knobs(result: Result) -> list[str]:
    """Return of what something would be enough, if known: of budgets, of people, or of both."""
    return [*result.tables["enough"].knob.unique()]


def enough(knob: str, value: float) -> str:
    """Return a budget, or a number of people."""
    if math.isinf(value):
        return "none"
    return f"{value:g}" if knob == "epsilon_total" else f"{value:,.0f}"


def enough_title(result: Result, knob: str) -> str:
    """Return the least that is enough, and by which mechanism; or that nothing is."""
    table, name = result.tables["enough"], planning.NAMES[knob]
    first = table[table.knob == knob].iloc[0]
    if math.isinf(first.enough):
        return f"No {name} that was looked at is predicted to be enough"
    by = fig.called(first.mechanism)
    return f"{name} = {enough(knob, first.enough)} is predicted to be enough, with {by}"
