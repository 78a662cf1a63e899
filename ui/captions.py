"""Sentences about a result's further figures; the main one's is the result's own summary."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import cast

import numpy as np
import pandas as pd

from abcdp_core import sentences, summaries
from abcdp_core.experiments import (
    accounting,
    change_one_person,
    compare_mechanisms,
    covid_fit,
    estimation_accuracy,
    flip_guideline,
    mse_curves,
    tuberculosis_posterior,
    tuberculosis_soft,
)
from abcdp_core.experiments import coverage as intervals
from abcdp_core.results import Result


def flips(result: Result) -> str:
    """How many decisions of each kind there are."""
    decisions = result.tables["decisions"]
    private, non_private = decisions.private, decisions.non_private
    looked_at = sentences.counted(len(decisions), "draw")
    return (
        f"{looked_at} looked at, kept by both runs: {int((private & non_private).sum()):,}, only "
        f"by the private one: {int((private & ~non_private).sum()):,}, only by the non-private "
        f"one: {int((non_private & ~private).sum()):,}, by neither: "
        f"{int((~private & ~non_private).sum()):,}."
    )


def ways(result: Result) -> str:
    """What an answer tells about σ, by the way of asking, at the smallest budget shown."""
    table = result.tables["ways"]
    budget = table.epsilon_total.min()
    part = table[table.epsilon_total == budget]
    each = "; ".join(
        f"{row.way} {row.information_mu:.2g} and {row.information_sigma:.2g}"
        for row in part.itertuples()
    )
    return f"Information per person about μ and about log σ at ε_total = {budget:g}: {each}."


def repeats(result: Result, name: str) -> str:
    """Mean error of ``mu`` or ``sigma`` of each method at the smallest and the largest budget.

    For σ also how much narrower than its prior it is on average, and so whether it is learnt.
    """
    params, main = cast(estimation_accuracy.Params, result.params), result.tables["main"]
    if main.empty:
        return result.summary
    table = estimation_accuracy.error_statistics(main, name)
    if name == "sigma" and params.known_sigma:
        return f"σ = {params.sigma:.3g} is known, so every estimate of it is right."
    parts = []
    for budget in sorted({table.epsilon_total.min(), table.epsilon_total.max()}):
        each = []
        for row in table[table.epsilon_total == budget].itertuples():
            known = math.isfinite(row.low)
            words = f"{row.sampler} {row.interval} {row.mean:.2g}"
            words += f" ({row.low:.2g} to {row.high:.2g})" if known else ""
            if name == "sigma":
                key = row.epsilon_total, row.sampler, row.interval
                words += f", {estimation_accuracy.about_sigma(result, *key)}"
            each.append(words)
        parts.append(f"At ε_total = {budget:g}: {'; '.join(each)}.")
    symbol = {"mu": "μ", "sigma": "σ"}[name]
    return f"Mean absolute error of {symbol}{_interval(table.low)}. {' '.join(parts)}"


def _interval(low: pd.Series[float]) -> str:
    """What stands in brackets behind a mean; nothing does where there is one run only."""
    return " (95 % interval over runs)" if np.isfinite(low.to_numpy(float)).any() else ""


def spread(result: Result) -> str:
    """Mean spread of accepted curves at each budget."""
    table = covid_fit.spread_statistics(result)
    several = len(table.c.unique()) > 1
    parts = []
    for c, budget, mean, low, high, _ in table.to_numpy():
        what = "non-private" if math.isinf(budget) else f"ε_total = {budget:g}"
        what += f", c = {c:g}" if several else ""
        found = "fewer than two accepted" if math.isnan(mean) else f"{mean:.0f}"
        interval = f" ({low:.0f} to {high:.0f})" if math.isfinite(low) else ""
        parts.append(f"{what}: {found}{interval}")
    each = "; ".join(parts)
    return f"Mean spread of the accepted curves in cases{_interval(table.low)}. {each}."


def accepted(result: Result, resample: bool) -> str:
    """Means of accepted parameters at each size, beside truth and prior."""
    means = tuberculosis_posterior.means(result, resample)
    each = "; ".join(f"{name} {', '.join(parts)}" for name, parts in means.items())
    unmoved = tuberculosis_posterior.unmoved(result, resample)
    none = "; ".join(f"{', '.join(names)} (N = {n})" for n, names in unmoved.items() if names)
    near = f" Less than a quarter of a prior standard deviation from the prior mean: {none}."
    return f"Mean of the accepted values: {each}.{near if none else ''}"


def spreads(result: Result) -> str:
    """How wide the posteriors of San Francisco are."""
    return tuberculosis_soft.spreads(result)


def counts(result: Result) -> str:
    """What was refused or drawn again while the pool was made."""
    table = result.tables["counts"]
    each = "; ".join(
        f"{what} {count:,}" for what, count in zip(table.what, table["count"], strict=True)
    )
    return f"While the pool was made, draws and outbreaks refused or drawn again: {each}."


def sensitivities(result: Result) -> str:
    """Sensitivity of each form at the size in force."""
    n = int(getattr(result.params, "n"))  # noqa: B009 - only some have it
    table = result.tables["sensitivity"]
    here = table[table.n == n]
    pairs = zip(here.form, here.sensitivity, strict=True)
    each = "; ".join(f"{form} {value:.3g}" for form, value in pairs)
    return f"At N = {n:,} replacing one point changes the distance by at most: {each}."


def bandwidths(result: Result) -> str:
    """Where draws are told apart best, and where the median heuristic is."""
    table = result.tables["bandwidth"]
    by_error = table.iloc[int(table.error.to_numpy().argmin())]
    by_spread = table.iloc[int(table.spread.to_numpy().argmax())]
    median = table[table.chosen].iloc[0]
    return (
        f"On these data sets the widest spread is at bandwidth {by_spread.bandwidth:.2g} and the "
        f"smallest error at {by_error.bandwidth:.2g} ({by_error.error:.2g}). The median heuristic "
        f"gives {median.bandwidth:.2g}, with error {median.error:.2g}."
    )


def compared(result: Result, metric: str) -> str:
    """Errors of all mechanisms near ε_total = 1."""
    scenario = result.params.scenario  # type: ignore[attr-defined]
    return compare_mechanisms.summary(result, compare_mechanisms.metrics(scenario)[metric])


def coverage(result: Result) -> tuple[str, str, str]:
    """Coverage, width, and what keeps intervals from being what they should be, if anything."""
    cautions = " ".join(intervals.cautions(result))
    return intervals.finding(result), intervals.width_finding(result), cautions


FALSE_ALARMS = 0.1

KNOWN: dict[str, tuple[str, Callable[[float], int]]] = {
    "exact": ("", round),
    "attained": ("at most ", lambda misses: math.ceil(misses - accounting.ROUNDING)),
    "bound": ("at least ", lambda misses: math.floor(misses + accounting.ROUNDING)),
}
"""Kind of a trade-off curve -> how it limits the best attacker's misses, and how to round."""


def attack(result: Result) -> str:
    """How often the best attacker misses, at one rate of false alarms, as far as that is known."""
    table = result.tables["tradeoff"]
    each = []
    for mechanism, part in table.groupby("mechanism", sort=False):
        misses = np.interp(FALSE_ALARMS, part.false_alarm.to_numpy(), part.miss.to_numpy())
        limit, rounded = KNOWN[part.kind.iloc[0]]
        each.append(f"{mechanism} {limit}{rounded(100 * float(misses))}")
    text = (
        f"With {100 * FALSE_ALARMS:.0f} false alarms in 100 the best attacker misses so often in "
        f"100: {', '.join(each)}; a guess misses {100 * (1 - FALSE_ALARMS):.0f} times."
    )
    if "attained" in set(table.kind):
        text += " *At most*: an attack that misses so often is known; a better one may exist."
    return text


def outcomes(result: Result) -> str:
    """How the two outcome distributions compare."""
    main = result.tables["main"]
    bound = float(result.tables["largest"].epsilon_total.iloc[0])
    # The most that two distributions may differ whose probabilities have ratios up to e^ε.
    allowed = 100.0 * math.tanh(bound / 2.0)
    gap = sentences.at_most(change_one_person.curve_gap(main), 2)
    ended = 1.0 - float(main.stopped.iloc[-1])
    share = f"{100 * ended:.2g} %" if ended < 0.99 else f"{100 * ended:.3g} %"
    rest = f" In {share} of the runs the pool ends first." if ended >= 0.005 else ""
    return (
        f"How likely a run has stopped by then, exactly, from the data and from the data with one "
        f"person replaced: the curves differ by at most {gap} percentage points, where "
        f"ε_total = {bound:g} allows {allowed:.3g}.{rest}"
    )


def person(result: Result) -> str:
    """Which point is replaced, and why that one."""
    return (
        f"{change_one_person.move_in_words(result)}: of the changes tried, the one that moves the "
        f"distances near ε_abc most."
    )


def moved(result: Result) -> str:
    """How far one person moves the distances."""
    table = result.tables["movement"]
    sensitivity = float(table.sensitivity.iloc[0])
    size = table.movement.abs() / sensitivity
    return (
        f"Of {len(table):,} distances none moves by more than "
        f"{sentences.at_most(size.max())} Δ; the median movement is {size.median():.2g} Δ. "
        f"Δ = {sensitivity:.3g}."
    )


def ratio(result: Result) -> str:
    """How close the ratios of the classes come to the bound."""
    table = result.tables["ratio"]
    bound = float(table.epsilon_total.iloc[0])
    one_sided = int(table.log_ratio.isna().sum())
    if one_sided:
        rest = "practically never happens" if one_sided == 1 else "practically never happen"
        return (
            f"{one_sided} of {len(table)} classes {rest} from one of the two data sets; "
            f"ε_total = {bound:g} is so large that this is compatible with the bound."
        )
    found = sentences.against_bound(float(table.log_ratio.abs().max()), bound)
    if len(table) == 1:
        return f"There is one class of outcomes, with the exact {found}"
    return f"The most unequal of {len(table)} classes of outcomes has the exact {found}"


def base_rates(result: Result) -> str:
    """Why a small flip probability lets in many false draws."""
    params = cast(flip_guideline.Params, result.params)
    row = result.tables["guideline"].iloc[0]
    far = _count(params.pool_size - row.close)
    return (
        f"Bars: draws of the public pool within {flip_guideline.WINDOW} b of ε_abc, average over "
        f"{params.data_sets} data sets; line: how often noise of the scale b that c = {params.c} "
        f"asks for flips a decision. {_count(row.close)} of {params.pool_size:,} draws are close "
        f"enough. Of the {far} others noise would let in {_count(row.let_in)} if it decided about "
        f"all of them, each with a fresh threshold."
    )


def median_warning(result: Result) -> str:
    """Why the paper's guideline says nothing of what is false."""
    params = cast(flip_guideline.Params, result.params)
    close = result.tables["guideline"].close.iloc[0]
    far = params.pool_size - close
    what = (
        "**This is no guide to what is accepted.** It says how often noise decides about a "
        "*typical* draw."
    )
    if far <= close:
        return f"{what} Here {_count(close)} of {params.pool_size:,} draws are close enough anyway."
    return (
        f"{what} {_count(far)} of {params.pool_size:,} draws are too far and {_count(close)} close "
        f"enough; a chance that is small for each of so many can fill the c places with false ones."
    )


def _count(mean: float) -> str:
    """An average count: whole from ten on."""
    return f"{mean:,.0f}" if mean >= TEN or mean == round(mean) else f"{mean:.2g}"


TEN = 10


def median(result: Result) -> str:
    """The paper's guideline, and what is false there."""
    return flip_guideline.median_sentence(result)


def error_here(result: Result, metric: str, here: dict[str, float]) -> str:
    """The error at one setting with its interval; empty where it was not simulated.

    Args:
        result: of the study of errors.
        metric: its column, ``mae`` or ``mse``.
        here: n, c, epsilon_abc, epsilon_total.
    """
    table = mse_curves.error_statistics(result.tables["main"], metric)
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
