r"""The posterior that one release by one mechanism stands for.

Accepted draws have equal weights; soft weights and importance weights do not. All are weighted
samples, of which the histograms show shares, and the effective sample size
$(\sum w)^2 / \sum w^2$ says how many equal ones they are worth. A released estimate is a value and
no sample: it has a mean only.

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

from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from abcdp_core import experiments, pool, summaries
from abcdp_core import figures as fig
from abcdp_core import parameters as par
from abcdp_core.experiments import compare_mechanisms as comparison
from abcdp_core.experiments import posterior
from abcdp_core.mechanisms import Made, Release, private_embedding
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.results import Result, Tables
from abcdp_core.simulators import uniform_mixture
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

TAKE_C = ("sparse-vector", "private-embedding")
"""Mechanisms that are asked for a number of draws."""

SHOWN = 2000
"""Most samples of a release in the table."""

PRIOR_MEAN = uniform_mixture.PRIOR_MEAN


@dataclass(frozen=True)
class Params(BaseParams):
    """One release by one mechanism."""

    mechanism: str = comparison.MECHANISM.field("private-embedding")
    epsilon_total: float = par.EPSILON_TOTAL.field(1.0)
    delta: float = comparison.DELTA.field(1e-4)
    c: int = par.C.field(10)
    n: int = uniform_mixture.N.field(uniform_mixture.N_DEFAULT)
    pool_size: int = par.POOL_SIZE.field(10_000)
    sensitivity: str = comparison.COMPARED_SENSITIVITY.field("sharp")
    noise_draw: int = par.NOISE_DRAW.field(0)

    def check_together(self) -> None:
        """Refuse too much work, or more acceptances than draws."""
        par.check_work(self.n, self.pool_size)
        par.check_accepted(self.c, self.pool_size)


PRESETS: dict[str, BaseParams] = {}

tasks = experiments.single_task


def _task(params: Params, seed: int) -> comparison.Task:
    """The same release as a part of the comparison, for its choice of the threshold."""
    shared = experiments.shared(comparison.Task, params)
    common = uniform_mixture.EPSILON_ABC_DEFAULT
    return comparison.Task(**shared, epsilon_abc=common, runs=1, seed=seed)


def prepare(params: Params, seed: int, progress: pool.Progress) -> None:
    """Make the public pool if it is not there yet, and say how far that is."""
    comparison.prepare(_task(params, seed), seed, progress)


def work(task: experiments.SingleTask[Params]) -> Tables:
    """Choose the threshold, release, and put prior and truth beside it."""
    params, seed = task.params, task.seed
    asked = _task(params, seed)
    data = comparison.data_set(comparison.pool_key(asked, seed), params.n, 0)
    theta = data.comparison.theta
    epsilon_abc = comparison.best_threshold(asked)
    rng = generator(seed, "noise", 0, params.noise_draw)
    mechanism = comparison.MECHANISMS[params.mechanism]
    released = mechanism.release(data, asked.asked(epsilon_abc), rng)
    samples = released.parameters(theta)
    mean = released.mean(theta, PRIOR_MEAN)
    made = _made(released)
    prior = np.arange(min(len(theta), posterior.PRIOR_SHOWN))
    even = np.full(len(prior), 1.0 / len(prior))
    of_private = (made.way, epsilon_abc, len(samples), made.importance_size, made.outside)
    rows = [
        ("private", params.mechanism, *of_private, mean),
        ("prior", "prior", "prior", 0.0, len(prior), float(len(prior)), 0.0, PRIOR_MEAN),
    ]
    shown, shares = thinned(released.weights)
    return {
        "main": pd.concat(
            [
                _rows("private", params.mechanism, samples[shown], shares),
                _rows("prior", "prior", theta[prior], even),
            ],
            ignore_index=True,
        ),
        "errors": pd.DataFrame(
            [(*row[:-1], *summaries.errors(row[-1], data.truth)) for row in rows],
            columns=list(COLUMNS["errors"]),
        ),
    }


def _made(released: Release) -> Made:
    """How a release came to be; the effective sample size is that of its weights, if they tell."""
    if released.made is not None:
        return released.made
    way = "accepted" if released.estimate is None else "estimate"
    if len(released.weights) and np.ptp(released.weights) > 0.0:
        way = "weighted"
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


def _rows(release: str, mechanism: str, samples: Array, weights: Array) -> pd.DataFrame:
    names = list(uniform_mixture.AXES)
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
    what = "estimate" if errors.way["private"] == "estimate" else "posterior mean"
    return Result(
        experiment=EXPERIMENT,
        params=params,
        tables=rows,
        summary=f"{params.mechanism} at ε_total = {params.epsilon_total:g}: "
        f"{_in_words(errors)}. Mean absolute error of the {what} "
        f"{errors.mae['private']:.3g}, prior mean {errors.mae['prior']:.3g}.{caution}",
        privacy=comparison.guarantee(params.mechanism, params.epsilon_total, params.delta),
    )


def _in_words(errors: pd.DataFrame) -> str:
    """What the release is made of; rows go by release."""
    private = errors.loc["private"]
    size = private.effective_sample_size
    size = f"{size:.3g}" if size < 100.0 else f"{size:,.0f}"
    draws = f"{private.accepted:,} {'draw' if private.accepted == 1 else 'draws'}"
    if private.way == "estimate":
        return "a value and no sample"
    if private.accepted == 0:
        return "nothing was accepted, so the estimate is the prior mean"
    if private.way == "accepted":
        return draws if private.accepted == 1 else f"{draws} of equal weight"
    if private.way == "weighted":
        return f"{draws} with weights, effective sample size {size}"
    moved = " and moved by a regression" if private.way == "moved" else ""
    return (
        f"the importance weights' effective sample size is only {size}, so {draws} were accepted "
        f"after noise of their own{moved}"
    )


def _caution(params: Params, way: str) -> str:
    """What a small pool does to the posterior, after a space; empty where it does nothing."""
    if way not in ("moved", "kept"):
        return ""
    said = private_embedding.caution(params.pool_size, len(uniform_mixture.AXES))
    return f" {said}" if said else ""


def figures(result: Result) -> dict[str, fig.Drawn]:
    """Histograms of the parameters."""
    params = cast(Params, result.params)
    main = result.tables["main"]
    asked = f"c = {params.c}, " if params.mechanism in TAKE_C else ""
    figure = posterior.histograms(
        uniform_mixture.SCENARIO,
        main,
        f"Posterior by {params.mechanism}, share of samples: ε_total = {params.epsilon_total:g}, "
        f"{asked}N = {params.n:,}",
    )
    return {"posterior": fig.Drawn(figure, result.summary)}
