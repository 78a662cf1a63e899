"""Sentences about a result's further figures; the main one's is the result's own summary."""

from __future__ import annotations

import math
from typing import cast

import numpy as np

from abcdp_core.experiments import (
    compare_mechanisms,
    covid_fit,
    estimation_accuracy,
    mse_curves,
    tuberculosis_posterior,
)
from abcdp_core.results import Result


def flips(result: Result) -> str:
    """How many decisions of each kind there are."""
    decisions = result.tables["decisions"]
    private, non_private = decisions.private, decisions.non_private
    return (
        f"Of {len(decisions):,} draws looked at, {int((private & non_private).sum()):,} were kept "
        f"by both, {int((private & ~non_private).sum()):,} only by the private run, "
        f"{int((non_private & ~private).sum()):,} only by the non-private one, "
        f"{int((~private & ~non_private).sum()):,} by neither."
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
    interval = " (95 % interval)" if table.low.notna().any() else ""
    return f"Mean absolute error of {symbol}{interval}. {' '.join(parts)}"


def spread(result: Result) -> str:
    """Mean spread of accepted curves at each budget."""
    table = covid_fit.spread_statistics(result)
    parts = []
    for budget, mean, low, high in table.to_numpy():
        what = "non-private" if math.isinf(budget) else f"ε_total = {budget:g}"
        interval = f" ({low:.0f} to {high:.0f})" if math.isfinite(low) else ""
        parts.append(f"{what}: {mean:.0f}{interval}")
    each = "; ".join(parts)
    return f"Mean spread of the accepted curves in cases (95 % interval over runs). {each}."


def accepted(result: Result, resample: bool) -> str:
    """Means of accepted parameters at each size, beside truth and prior."""
    means = tuberculosis_posterior.means(result, resample)
    each = "; ".join(f"{name} {', '.join(parts)}" for name, parts in means.items())
    unmoved = tuberculosis_posterior.unmoved(result, resample)
    none = "; ".join(f"{', '.join(names)} (N = {n})" for n, names in unmoved.items() if names)
    learnt = f" Within a quarter of a prior deviation of the prior, so not learnt: {none}."
    return f"Mean of the accepted values: {each}.{learnt if none else ''}"


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
    return f"At N = {n:,} one point changes the distance by at most: {each}."


def bandwidths(result: Result) -> str:
    """Where draws are told apart best, and where the median heuristic is."""
    table = result.tables["bandwidth"]
    by_error = table.iloc[int(table.error.to_numpy().argmin())]
    by_spread = table.iloc[int(table.spread.to_numpy().argmax())]
    median = table[table.chosen].iloc[0]
    return (
        f"Widest spread at bandwidth {by_spread.bandwidth:.2g}; smallest error at "
        f"{by_error.bandwidth:.2g} ({by_error.error:.3g}). The median heuristic gives "
        f"{median.bandwidth:.2g}, with error {median.error:.3g}."
    )


def compared(result: Result, metric: str) -> str:
    """Errors of all mechanisms near ε_total = 1."""
    return compare_mechanisms.summary(result.tables["main"], metric)


FALSE_ALARMS = 0.1


def attack(result: Result) -> str:
    """How often the best attacker misses, at one rate of false alarms."""
    table = result.tables["tradeoff"]
    each = []
    for mechanism, part in table.groupby("mechanism", sort=False):
        misses = np.interp(FALSE_ALARMS, part.false_alarm.to_numpy(), part.miss.to_numpy())
        each.append(f"{mechanism} {100 * misses:.0f} ({part.kind.iloc[0]})")
    return (
        f"With {100 * FALSE_ALARMS:.0f} false alarms in 100 the best attacker misses at least so "
        f"often in 100: {', '.join(each)}; a guess misses {100 * (1 - FALSE_ALARMS):.0f} times."
    )


def outcomes(result: Result) -> str:
    """How the two outcome distributions compare."""
    shares = result.tables["main"].pivot_table(
        index="outcome", columns="release_side", values="frequency"
    )
    gap = (shares.original - shares.neighbour).abs().max()
    return (
        f"Where the run stops, from the data and from the data with one person replaced: no class "
        f"of outcomes differs by more than {100 * gap:.2g} percentage points."
    )


def ratio(result: Result) -> str:
    """How close the ratios come to the bound."""
    table = result.tables["ratio"]
    finite = table.log_ratio[table.log_ratio.abs() < math.inf].abs()
    bound = float(table.epsilon_total.iloc[0])
    found = f"{finite.max():.2g}" if len(finite) else "not finite"
    return (
        f"The largest simulated log ratio is {found}; ε_total = {bound:g} allows {bound:g}. "
        f"Intervals are wide where an outcome is rare."
    )


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
    return f"At your setting the {mse_curves.METRICS[metric]} is {row['mean']:.3g}{interval}. "
