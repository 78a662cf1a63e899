"""Describe a posterior from a published query in a table, sentences and figures."""

from __future__ import annotations

import dataclasses
from typing import cast

import numpy as np
import pandas as pd

from abcdp_core import figures as fig
from abcdp_core.base.sentences import counted, estimate
from abcdp_core.figures import CaptionedFigure, ranked
from abcdp_core.figures.replicates import replicates
from abcdp_core.posterior.censoring import Censored
from abcdp_core.posterior.fit import ONLY_IF_RIGHT, Fit
from abcdp_core.posterior.noise import laws_of
from abcdp_core.posterior.outcome import WITHHELD, Posterior, Summary
from abcdp_core.posterior.published.models import Model
from abcdp_core.posterior.published.problems import Problem
from abcdp_core.privacy import in_digits

NO_COST = "This spends no privacy budget: nothing private was read."

POSTERIOR = dataclasses.replace(fig.PRIVATE, name="posterior")

NEIGHBOURS = {"replace": "is replaced by another", "add-remove": "is added or removed"}
"""How neighbors differ -> what happens to one unit."""

WAYS = {
    "weights": "importance sampling",
    "augmentation": "chains over parameters and records",
    "regression": "regression adjustment, approximate",
    "nearest": "nearest draws, approximate",
}
"""Way -> the same in words."""


def table(posterior: Summary) -> pd.DataFrame:
    """Return posterior and prior, one row per parameter; NaN for a posterior that is withheld."""
    prior = {f"prior_{name}": values for name, values in vars(posterior.prior).items()}
    moments = vars(posterior.found)
    if posterior.is_withheld:
        moments = dict.fromkeys(moments, np.nan)
    made = pd.DataFrame({"parameter": posterior.parameters} | moments | prior)
    if posterior.modes and not posterior.is_withheld:
        regions = {each.parameter: each.in_words for each in posterior.modes}
        made["region"] = [regions.get(place, "") for place in made.index]
    return made


def draws(posterior: Posterior) -> pd.DataFrame:
    """Return the draws, one row each: the weight, and each parameter as ``theta.NAME``."""
    names = [f"theta.{name}" for name in posterior.summary.parameters]
    weighted = pd.DataFrame(posterior.theta, columns=names)
    weighted.insert(0, "weight", posterior.weights)
    return weighted[:0] if posterior.summary.is_withheld else weighted


def sentence(problem: Problem, posterior: Summary) -> str:
    """Return the result, how it was computed, and that it spends nothing."""
    return f"{finding(problem, posterior)} {NO_COST}"


def spent(problem: Problem) -> str:
    """Return what the release itself spent and what it protects, as far as that is stated."""
    stated, more = problem.spent, ""
    laws = [each for each in laws_of(problem.noise) if isinstance(each, Censored)]
    if any(each.by_exact for each in laws):
        more = f" {suppressed(problem)}; exact numbers decided which, and no budget covers that."
    elif problem.marks:
        more = f" {suppressed(problem)}; noisy numbers decided which, at no further cost."
    if stated is None:
        return f"The budget of the release itself is not stated.{more}"
    whom = f" if {stated.unit} {NEIGHBOURS[stated.neighbours]}" if stated.unit else ""
    epsilon = in_digits(stated.epsilon_total)
    return f"The release itself spent ε_total = {epsilon}{whom}, according to its publisher.{more}"


def suppressed(problem: Problem) -> str:
    """Return how many numbers are suppressed."""
    count = len(problem.marks)
    verb = "is" if count == 1 else "are"
    return f"{count} of {counted(len(problem.query), 'number')} {verb} suppressed"


def finding(problem: Problem, posterior: Summary) -> str:
    """Return a misfit first, then means and standard deviations and how they were computed."""
    moments, fit = posterior.found, posterior.fit
    if fit is not None and posterior.is_withheld:
        return f"{fit.statement.removesuffix(ONLY_IF_RIGHT)} {WITHHELD}"
    several = {posterior.parameters[each.parameter] for each in posterior.modes}
    means = ", ".join(
        f"{name} {estimate(mean, sd)}"
        for name, mean, sd in zip(posterior.parameters, moments.mean, moments.sd, strict=True)
        if name not in several and np.isfinite(mean)
    )
    known = [f"Posterior mean ± standard deviation: {means}."] if means else []
    known += [*posterior.shape, how(problem, posterior)]
    if fit is None:
        return " ".join(known)
    in_order = [fit.statement, *known] if fit.is_misfit else [*known, fit.statement]
    return " ".join([*in_order, *fit.remarks])


def how(problem: Problem, posterior: Summary) -> str:
    """Return how the posterior was computed, from which numbers, with the effective sample size."""
    if problem.marks:
        return f"{_how(problem, posterior)} {suppressed(problem)}; intervals are used instead."
    return _how(problem, posterior)


def _how(problem: Problem, posterior: Summary) -> str:
    of_pool = "" if isinstance(problem.source, Model) else " of the pool"
    draws = counted(posterior.simulated, "draw")
    size, source = f"{posterior.effective:,.0f}", f"from {draws}{of_pool}"
    failed = f" {counted(posterior.failed, 'draw')} failed." if posterior.failed else ""
    if posterior.way == "augmentation":
        apart = " The chains differ: more sweeps are needed." if posterior.differ else ""
        return (
            "Computed by two chains over parameters and records (effective sample size "
            f"{size} from {posterior.simulated:,} sweeps).{apart}"
        )
    if posterior.way != "weights":
        wider = " Two regressions differ; the wider result is shown." if posterior.differ else ""
        way = "by regression adjustment" if posterior.way == "regression" else "from nearest draws"
        return (
            f"Computed {way}, which is approximate, because too few draws carry weight "
            f"(effective sample size {size} {source}).{wider}{failed}"
        )
    short = f"; {problem.wanted:,} wanted" if posterior.effective < problem.wanted else ""
    return (
        f"Computed by importance sampling (effective sample size {size} {source}{short}).{failed}"
    )


def title(problem: Problem) -> str:
    """Return the title of the model; for a pool, the name of the problem."""
    return problem.source.title if isinstance(problem.source, Model) else problem.name


def figure(problem: Problem, posterior: Summary) -> CaptionedFigure:
    """Return mean and 90 % interval of posterior and prior, one row per parameter."""
    names = posterior.parameters
    drawn = ranked.ranked(
        names,
        f"Posterior from the noisy query: {title(problem)}",
        "value of the parameter",
        f"mean and 90 % interval · {problem.noise.in_words()} · {WAYS[posterior.way]}",
        row_height=54,
    )
    places = np.arange(len(names), dtype=float)
    both = (posterior.prior, fig.PRIOR, 0.16), (posterior.found, POSTERIOR, -0.16)
    for moments, style, shift in both[: 1 if posterior.is_withheld else 2]:
        mean = moments.mean.copy()
        for each in posterior.modes if style is POSTERIOR else ():
            mean[each.parameter] = np.nan
            for ends in each.region:
                place = np.full(2, places[each.parameter] + shift)
                drawn.add_trace(fig.line(np.array(ends), place, style).update(line={"width": 2}))
        marks = ranked.row_marks(mean, places + shift, style, moments.low, moments.high)
        drawn.add_trace(marks)
    fig.key(drawn, [(style.name, style.color) for style in (POSTERIOR, fig.PRIOR)])
    return CaptionedFigure(drawn, finding(problem, posterior))


def fit_figure(problem: Problem, posterior: Summary) -> CaptionedFigure:
    """Return the query beside the model's simulations."""
    fit = cast(Fit, posterior.fit)
    drawn = replicates(
        problem.source.numbers,
        problem.query,
        fit.band,
        [each.name for each in fit.numbers],
        fit.title,
        problem.noise.in_words(),
    )
    return CaptionedFigure(drawn, " ".join([fit.statement, *fit.remarks]))
