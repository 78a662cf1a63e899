r"""What is the posterior from one release by one mechanism?

Draws kept by rejection have equal weights; soft weights and importance weights differ. The
histograms show shares of the weight. The effective sample size $(\sum w)^2 / \sum w^2$ says how
many draws of equal weight a sample is worth. A released estimate is a point, not a sample, so it
has only a mean. A posterior that is known exactly gives independent draws of equal weight, and its
mean is exact.

A noise-aware posterior is computed in one of three ways (MATH E3). If its importance weights are
worth enough draws, the draws keep these weights. If not, noise is added to each draw, and the draws
near the release are kept and moved by a regression; in a pool too small for a regression they are
not moved. In all three cases the table gives the effective sample size of the importance weights.

The threshold or temperature is the best public one for the mechanism, chosen on simulated data sets
as in the comparison of all mechanisms.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pandas as pd

from abcdp_core import figures as fig
from abcdp_core import mechanisms, privacy
from abcdp_core.base import parameters as par
from abcdp_core.base import summaries
from abcdp_core.base.sentences import amount, budget_name, counted, little, percent, settings_line
from abcdp_core.base.streams import generator
from abcdp_core.evaluation import cases, one_release
from abcdp_core.mechanisms import Budget, Release
from abcdp_core.models import simulators
from abcdp_core.models.simulators import axis_words
from abcdp_core.studies.engine import Parameter, Result, Run, Study, samples
from abcdp_core.studies.engine import mechanisms as shared

EXPERIMENT = "mechanism-posterior"
TITLE = "Posterior from one release by a chosen mechanism"


@dataclass(frozen=True)
class Params(shared.MechanismParams):
    """One release by one mechanism."""

    mechanism: str = cases.MECHANISM.field("private-embedding")
    epsilon_total: float = par.EPSILON_TOTAL.field(par.EPSILON_TOTAL_DEFAULT)
    c: int = par.C.field(10)
    pool_size: int = par.POOL_SIZE.field(10_000)

    @classmethod
    def specification(cls, scenario: str | None = None) -> dict[str, Parameter]:
        """Return the scenario's own sizes and the mechanisms that can serve it."""
        general = super().specification(scenario)
        if scenario is None or scenario not in general["scenario"].options:
            return general
        return general | {"mechanism": cases.able(general["mechanism"], scenario)}


def released(run: Run[Params]) -> dict[str, Any]:
    """Choose the threshold on simulated data and release once; return rows of every table."""
    params, public = run.params, shared.public_side(run.params, run.seed)
    mechanism = mechanisms.load(params.mechanism)
    budget = Budget(params.epsilon_total, params.delta)
    threshold = public.scenario.epsilon_abc_default
    asked = mechanism.chosen(c=params.c, sensitivity=params.sensitivity, epsilon_abc=threshold)
    options = cases.best(params.mechanism, public, asked, budget, run.seed)
    trial, rng = cases.own(public, 0), generator(run.seed, "noise", 0, params.noise_draw)
    release = mechanism.prepare(public, options, budget).release(trial.comparison, rng)

    names, theta = public.scenario.axes, public.theta
    sample, prior = release.sample(theta).values, theta[: one_release.PRIOR_SHOWN]
    shown, shares = samples.thinned(release.weights)
    even = np.full(len(prior), 1.0 / len(prior))
    of = {"release": "private", "mechanism": params.mechanism}
    main = [samples.table(names, sample[shown], shares, **of)]
    main.append(samples.table(names, prior, even, release="prior", mechanism="prior"))
    way, made = _way(release), release.made
    worth, outside = summaries.effective_sample_size(release.weights), 0.0
    if made is not None and way != "exact":
        worth, outside = made.importance_size, made.outside
    mean, truth = np.asarray(public.scenario.prior_mean), trial.truth
    unit = theta.std(axis=0) if simulators.has_several_units(public.scenario) else 1.0
    truth = None if truth is None else truth / unit
    error = summaries.errors(release.mean(theta, mean) / unit, truth)
    chosen = getattr(options, "epsilon_abc", math.nan)
    first = (*of.values(), way, chosen, len(release.weights), worth, outside, *error)
    of_prior = (0.0, len(prior), float(len(prior)), 0.0, *summaries.errors(mean / unit, truth))
    errors = [first, (*["prior"] * 3, *of_prior)]
    return {"main": pd.concat(main, ignore_index=True), "errors": errors}


def _way(release: Release) -> str:
    """Return how a release was computed."""
    if release.made is not None:
        return release.made.way
    if release.estimate is not None:
        return "estimate"
    weights = release.weights
    return "weighted" if len(weights) and np.ptp(weights) > 0.0 else "accepted"


def says(result: Result) -> str:
    """Say what was released and its error, with a warning if the pool is small."""
    params = cast(Params, result.params)
    private, prior = result.tables["errors"].to_dict("records")
    name, budget = private["mechanism"], budget_name(params.epsilon_total)
    sentences = [f"With {budget}, {fig.called(name)} returned {_returned(private)}."]
    if math.isnan(private["mae"]):
        sentences.append("The true parameters are unknown, so there is no error to report.")
    else:
        error, of_prior = amount(private["mae"]), amount(prior["mae"])
        unit = shared.in_units(params)
        sentences.append(
            f"The mean absolute error is {error}{unit}; the prior mean's is {of_prior}."
        )
    if private["way"] in ("moved", "kept"):
        sentences.append(shared.small_pool(params, [name]))
    return " ".join(filter(None, sentences))


def _returned(private: Mapping[Any, Any]) -> str:
    """Say what a release consists of."""
    way, draws = private["way"], counted(private["accepted"], "draw")
    if way == "accepted" and private["accepted"] == 0:
        return "no draw, so its estimate is the prior mean"
    size = amount(private["effective_sample_size"])
    return {
        "estimate": "a point estimate, not a sample",
        "accepted": draws,
        "exact": f"{draws} from the exact posterior given the release",
        "weighted": f"{draws} with weights (effective sample size {size})",
        "moved": f"{draws} near the release, moved by a regression",
        "kept": f"{draws} near the release",
    }[way]


def promise(params: Params) -> str:
    """State what the release guarantees."""
    mechanism, source = mechanisms.load(params.mechanism), params.source
    spent = mechanism.spends(Budget(params.epsilon_total, params.delta))
    return privacy.guarantee(spent, *mechanism.protects(source))


def posterior(result: Result) -> fig.CaptionedFigure:
    """Draw histograms of the parameters; the title compares the error with the prior's."""
    params = cast(Params, result.params)
    source = params.source
    private, prior = result.tables["errors"].mae
    title = f"This release is {little(private, prior)}"
    if math.isnan(private):
        title = "The posterior from one release"
    elif not little(private, prior):
        title = f"The error of this release is {percent(private / prior)} of the prior's error"
    asked = ["epsilon_total", *{"c"}.intersection(mechanisms.load(params.mechanism).takes), "n"]
    settings = f"{fig.called(params.mechanism)}, {settings_line(params, asked)}"
    main, words = result.tables["main"], axis_words(source)
    figure = fig.mirrored(source.axes, source.truth, main, title, settings, **words)
    return fig.CaptionedFigure(figure, result.summary)


STUDY = Study(
    EXPERIMENT,
    Params,
    world=released,
    tables={
        "main": "release mechanism sample parameter value weight",
        "errors": "release mechanism way epsilon_abc accepted effective_sample_size outside_share "
        "mse mae",
    },
    says=says,
    privacy=promise,
    views={"posterior": posterior},
)
COLUMNS, tasks, work, collect, figures = STUDY.contract()
missing_pools = shared.missing_pools
