"""What is said of one person's change."""

from __future__ import annotations

import math
from typing import Any, cast

from abcdp_core import simulators
from abcdp_core.results import Result
from abcdp_core.sentences import EQUAL, LARGE, amount, at_most, counted, factor, percent


def summary(result: Result) -> str:
    """What the change does to the decisions under the same noise, and to the outcomes."""
    decisions, params = result.tables["decisions"], cast(Any, result.params)
    differing = int((decisions.original != decisions.neighbour).sum())
    changed = f"{differing} of {counted(len(decisions), 'acceptance')}" if differing else "nothing"
    replaced = f"Under the same noise, replacing one of {params.n:,} points changes {changed}"
    return f"{replaced}. {largest_in_words(result)}."


def largest_in_words(result: Result) -> str:
    """The factor by which the chance of an outcome changes at most, beside what is allowed."""
    row = result.tables["largest"].iloc[0]
    allowed = f"{factor(float(row.epsilon_total))} times as likely is allowed"
    if row.at_least:
        return f"One outcome practically never happens with one of the two data sets; {allowed}"
    if abs(row.log_ratio) < EQUAL:
        return f"No outcome becomes more or less likely; {allowed}"
    return (
        f"No outcome above one in a million becomes over {factor_at_most(abs(row.log_ratio))} "
        f"times as likely; {allowed.replace(' times as likely', '')}"
    )


def factor_at_most(log_ratio: float) -> str:
    """A factor with two digits of what it is above 1, rounded up, so that "at most" stays true."""
    if log_ratio > LARGE:
        return f"e^{log_ratio:g}"
    more = at_most(math.expm1(log_ratio), 2)
    return f"{1.0 + float(more):,.{len(more.partition('.')[2])}f}"


def bound_in_words(result: Result) -> str:
    """How much of the log-ratio that is allowed is used, and why that is not more."""
    row = result.tables["largest"].iloc[0]
    if row.at_least:
        return f"A bound of {factor(float(row.epsilon_total))} allows this, too."
    used = percent(abs(row.log_ratio) / row.epsilon_total)
    holds = "The bound holds for every data set and every such change"
    return f"{holds}; this one uses {used} of ε_total."


def move_in_words(result: Result) -> str:
    """Which value is replaced by which."""
    moved = move(result)
    return f"{who(result)} {moved if moved.startswith('stays') else f'moves {moved}'}"


def who(result: Result) -> str:
    """Whose value is replaced."""
    params = cast(Any, result.params)
    coordinates = simulators.load(params.scenario).COORDINATES
    if len(coordinates) > 1:
        place = result.tables["person"].place_before.iloc[0]
        return f"The {coordinates[-1]} of {coordinates[0]} {place:g}"
    return f"One of {params.n:,} points"


def move(result: Result) -> str:
    """From where the value moves to where."""
    person = result.tables["person"].iloc[0]
    series = len(simulators.load(cast(Any, result.params).scenario).COORDINATES) > 1
    what = "amount" if series else "place"
    old, new = (amount(person[f"{what}_{when}"], 4) for when in ("before", "after"))
    return f"stays at {new}" if old == new else f"from {old} to {new}"


def person(result: Result) -> str:
    """Which point is replaced, and why that one."""
    if isinstance(cast(Any, result.params).moved_to, str):
        why = ": of the changes tried, the one that moves the distances near ε_abc most."
    else:
        why = ", where you put it. The person is the one who could move the distances most."
    return f"{move_in_words(result)}{why}"


def curves(result: Result) -> tuple[str, str]:
    """How far apart the two curves are at most, and what is below them."""
    main, ratio = result.tables["main"], result.tables["ratio"]
    budget = float(ratio.epsilon_total.iloc[0])
    gap = at_most(100.0 * float((main.stopped - main.stopped_neighbour).abs().max()), 2)
    # The most that two curves may differ if no ratio is above e^ε_total.
    allowed = amount(100.0 * math.tanh(budget / 2.0), 2)
    title = f"The curve moves by at most {gap} percentage points; {allowed} are allowed"
    ended, unknown = 1.0 - float(main.stopped.iloc[-1]), int(ratio.log_ratio.isna().sum())
    said = [
        f"After any number of draws, the chance that a run has stopped differs by at most {gap} "
        f"percentage points between these data and those with one person replaced; ε_total = "
        f"{budget:g} allows {allowed}. Below: how many times as likely each class of outcomes is."
    ]
    if ended >= 0.005:
        said.append(f"In {percent(ended)} of the runs the pool ends first.")
    if unknown:
        classes = counted(len(ratio), "class", "classes")
        said.append(f"Not drawn: {unknown} of {classes}, practically never seen from one data set.")
    return title, " ".join(said)


def movement(result: Result) -> tuple[str, str]:
    """How far one person moves the distances."""
    table = result.tables["movement"]
    size = table.movement.abs() / table.sensitivity
    largest = at_most(size.max())
    title = f"Distances move by at most {largest} Δ" if size.any() else "No distance moves"
    median = f"half of them move by at most {at_most(size.median(), 2)} Δ"
    return title, f"Of {len(table):,} distances none moves by more than {largest} Δ; {median}."
