r"""The posterior that one release by one mechanism stands for.

Accepted draws have equal weights; soft weights and importance weights do not. All are weighted
samples, of which the histograms show shares, and the effective sample size
$(\sum w)^2 / \sum w^2$ says how many draws of equal weight they are worth. A released estimate is a
value and no sample: it has a mean only. A posterior that is known exactly has
independent draws of equal weight, and its mean is the exact one.

A noise-aware posterior is made in one of three ways (MATH E3). If its importance weights are worth
enough draws, it has them. If not, that size is all that is to be said of the weights: draws are
then accepted after noise of their own and moved along a regression, or, from a pool too small for
that, left where they are. Such draws carry weights too, but those tell how near a draw was and not
how many it is worth; so the table gives the importance weights' effective sample size in all three
cases.

The threshold or temperature is the best public one of the mechanism, chosen on simulated data sets
as in the comparison of all mechanisms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from abcdp_core import (
    experiments,
    mechanisms,
    pool,
    privacy,
    releases,
    simulators,
    summaries,
    trials,
)
from abcdp_core import figures as fig
from abcdp_core import parameters as par
from abcdp_core.mechanisms import Budget, Made, Release, regression_adjustment
from abcdp_core.parameters import Parameter
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.results import Result, Tables
from abcdp_core.sentences import amount, counted
from abcdp_core.simulators import ScenarioParams, uniform_mixture
from abcdp_core.streams import generator

Array = NDArray[np.float64]

EXPERIMENT = "mechanism-posterior"
TITLE = "Posterior from one release by a chosen mechanism"
COLUMNS = {
    "main": ("release", "mechanism", "sample", "parameter", "value", "weight"),
    "errors": (
        "release", "mechanism", "way", "epsilon_abc", "accepted", "effective_sample_size",
        "outside_share", "mse", "mae",
    ),
}  # fmt: skip

SHOWN = 2000
"""Most samples of a release in the table."""


@dataclass(frozen=True)
class Params(ScenarioParams):
    """One release by one mechanism."""

    mechanism: str = trials.MECHANISM.field("private-embedding")
    epsilon_total: float = par.EPSILON_TOTAL.field(par.EPSILON_TOTAL_DEFAULT)
    delta: float = par.DELTA.field(1e-4)
    c: int = par.C.field(10)
    n: int = uniform_mixture.N.field(uniform_mixture.N_DEFAULT)
    pool_size: int = par.POOL_SIZE.field(10_000)
    sensitivity: str = trials.SENSITIVITY.field("sharp")
    noise_draw: int = par.NOISE_DRAW.field(0)
    scenario: str = trials.SCENARIO.field(uniform_mixture.SCENARIO)

    @classmethod
    def specification(cls, scenario: str | None = None) -> dict[str, Parameter]:
        """The scenario's own sizes, and what can serve it."""
        general = super().specification(scenario)
        if scenario is None or scenario not in general["scenario"].options:
            return general
        return general | {"mechanism": trials.able(general["mechanism"], scenario)}

    def check_together(self) -> None:
        """Refuse too much work, more acceptances than draws, and what cannot serve."""
        super().check_together()
        trials.check_mechanisms(self.scenario, (self.mechanism,))


PRESETS: dict[str, BaseParams] = {}

tasks = experiments.single_task


def prepare(params: Params, seed: int, progress: pool.Progress) -> None:
    """Make the public pool if it is not there yet, and say how far that is."""
    pool.open_pool(_public_side(params, seed).key, progress)


def _public_side(params: Params, seed: int) -> pool.PublicSide:
    return pool.public_side(params.scenario, params.n, params.pool_size, seed)


def work(task: experiments.SingleTask[Params]) -> Tables:
    """Choose the threshold, release, and put prior and truth beside it."""
    params, seed = task.params, task.seed
    mechanism = mechanisms.load(params.mechanism)
    public, budget = _public_side(params, seed), Budget(params.epsilon_total, params.delta)
    asked = mechanism.chosen(
        c=params.c, sensitivity=params.sensitivity, epsilon_abc=public.scenario.EPSILON_ABC_DEFAULT
    )
    options = trials.best(params.mechanism, public, asked, budget, seed)
    trial = trials.own(public, 0)
    rng = generator(seed, "noise", 0, params.noise_draw)
    released = mechanism.prepare(public, options, budget).release(trial.comparison, rng)
    theta, prior_mean = public.theta, np.asarray(public.scenario.PRIOR_MEAN)
    samples = released.parameters(theta)
    made = _made(released)
    prior = np.arange(min(len(theta), releases.PRIOR_SHOWN))
    even = np.full(len(prior), 1.0 / len(prior))
    epsilon_abc = getattr(options, "epsilon_abc", math.nan)
    of_private = (made.way, epsilon_abc, len(samples), made.importance_size, made.outside)
    rows = [
        ("private", params.mechanism, *of_private, released.mean(theta, prior_mean)),
        ("prior", "prior", "prior", 0.0, len(prior), float(len(prior)), 0.0, prior_mean),
    ]
    shown, shares = thinned(released.weights)
    return {
        "main": pd.concat(
            [
                _rows(params, "private", params.mechanism, samples[shown], shares),
                _rows(params, "prior", "prior", theta[prior], even),
            ],
            ignore_index=True,
        ),
        "errors": pd.DataFrame(
            [(*row[:-1], *summaries.errors(row[-1], trial.truth)) for row in rows],
            columns=list(COLUMNS["errors"]),
        ),
    }


def _made(released: Release) -> Made:
    """How a release came to be; the effective sample size is that of its weights, if they tell."""
    made = released.made
    if made is not None and made.way != "exact":
        return made
    way = "accepted" if released.estimate is None else "estimate"
    if len(released.weights) and np.ptp(released.weights) > 0.0:
        way = "weighted"
    if made is not None:
        way = made.way
    return Made(way, summaries.effective_sample_size(released.weights), 0.0)


def thinned(weights: Array) -> tuple[NDArray[np.int64], Array]:
    """Samples that stand for all in a table and a histogram, and their shares.

    All of up to :data:`SHOWN`. Of more, those in whose part of the summed weights one of so many
    evenly spaced points falls, with the number of points for a weight: every histogram is nearly
    that of the whole sample, which it would not be of the largest weights alone.
    """
    if len(weights) <= SHOWN:
        return np.arange(len(weights)), weights
    points = (np.arange(SHOWN) + 0.5) / SHOWN
    found = np.searchsorted(np.cumsum(weights) / weights.sum(), points)
    chosen, counts = np.unique(found, return_counts=True)
    return chosen, counts / SHOWN


def _rows(
    params: Params, release: str, mechanism: str, samples: Array, weights: Array
) -> pd.DataFrame:
    names = list(simulators.load(params.scenario).AXES)
    return pd.DataFrame(
        {
            "release": release,
            "mechanism": mechanism,
            "sample": np.repeat(np.arange(len(samples)), len(names)),
            "parameter": np.tile(np.array(names), len(samples)),
            "value": samples.ravel(),
            "weight": np.repeat(weights, len(names)),
        }
    )


def collect(params: Params, rows: Tables) -> Result:
    """The result of the one task."""
    errors = rows["errors"].set_index("release")
    caution = _caution(params, str(errors.way["private"]))
    return Result(
        experiment=EXPERIMENT,
        params=params,
        tables=rows,
        summary=f"{params.mechanism} at ε_total = {params.epsilon_total:g}: "
        f"{_in_words(errors)}. {_error_in_words(errors)}{caution}",
        privacy=privacy.guarantee(
            mechanisms.load(params.mechanism).spends(Budget(params.epsilon_total, params.delta)),
            *mechanisms.load(params.mechanism).protects(simulators.load(params.scenario)),
        ),
    )


def _in_words(errors: pd.DataFrame) -> str:
    """What the release is made of; rows go by release."""
    private = errors.loc["private"]
    size = private.effective_sample_size
    size = f"{size:.3g}" if size < 100.0 else f"{size:,.0f}"
    draws = counted(cast(int, private.accepted), "draw")
    if private.way == "estimate":
        return "a value and no sample"
    if private.accepted == 0:
        return "nothing was accepted, so the estimate is the prior mean"
    if private.way == "accepted":
        return draws if private.accepted == 1 else f"{draws} of equal weight"
    if private.way == "exact":
        return f"{draws} from the exact posterior given what was released"
    if private.way == "weighted":
        return f"{draws} with weights, effective sample size {size}"
    moved = " and moved by a regression" if private.way == "moved" else ""
    if private.effective_sample_size == 0.0:
        return f"{draws} nearest to what was released{moved}"
    return (
        f"the importance weights' effective sample size is only {size}, so {draws} were accepted "
        f"after noise of their own{moved}"
    )


def _error_in_words(errors: pd.DataFrame) -> str:
    """How far the release is from the truth, if somebody knows it; rows go by release."""
    if errors.mae.isna().all():
        return "Nobody knows the true parameters of these data."
    what = "estimate" if errors.way["private"] == "estimate" else "posterior mean"
    return (
        f"Mean absolute error of the {what} {amount(errors.mae['private'])}, "
        f"prior mean {amount(errors.mae['prior'])}."
    )


def _caution(params: Params, way: str) -> str:
    """What a small pool does to the posterior, after a space; empty where it does nothing."""
    if way not in ("moved", "kept"):
        return ""
    mechanism, source = mechanisms.load(params.mechanism), simulators.load(params.scenario)
    said = regression_adjustment.caution(params.pool_size, [mechanism.minimum_pool(source)])
    return f" {said}" if said else ""


def finding(result: Result) -> str:
    """How far this release is off, against the prior mean."""
    errors = result.tables["errors"].set_index("release")
    private, prior = (float(errors.mae[release]) for release in ("private", "prior"))
    if not math.isfinite(private) or not prior:
        return "What one release says of the parameters"
    share = private / prior
    if share >= 1.0:
        return "This release is no nearer to the truth than the prior"
    return f"This release is {100.0 * share:.0f} % as far off as the prior"


def figures(result: Result) -> dict[str, fig.Drawn]:
    """Histograms of the parameters."""
    params = cast(Params, result.params)
    main = result.tables["main"]
    takes_c = "c" in mechanisms.load(params.mechanism).takes
    asked = f"c = {params.c}, " if takes_c else ""
    source = simulators.load(params.scenario)
    figure = fig.mirrored(
        source.AXES,
        source.TRUTH,
        main,
        finding(result),
        f"{fig.called(params.mechanism)}, ε_total = {params.epsilon_total:g}, {asked}"
        f"N = {params.n:,}",
    )
    return {"posterior": fig.Drawn(figure, result.summary)}
