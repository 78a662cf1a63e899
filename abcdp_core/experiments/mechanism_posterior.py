r"""The posterior that one release by one mechanism stands for.

Accepted draws have equal weights; soft weights and importance weights do not, and a noise-aware
posterior moves its draws. All are weighted samples, of which the histograms show shares, and the
effective sample size $(\sum w)^2 / \sum w^2$ says how many equal ones they are worth. A released
estimate is a value and no sample: it has a mean only.

The threshold or temperature is the best public one of the mechanism, chosen on simulated data sets
as in the comparison of all mechanisms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import experiments, pool, summaries
from abcdp_core import parameters as par
from abcdp_core.experiments import compare_mechanisms as comparison
from abcdp_core.experiments import posterior
from abcdp_core.mechanisms import Release
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
        "release", "mechanism", "epsilon_abc", "accepted", "effective_sample_size", "mse", "mae",
    ),
}  # fmt: skip

WEIGHTED_SHOWN = 2000
"""Most samples of a release in the table: those with the largest weights."""


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

tasks = experiments.whole


def _task(params: Params, seed: int) -> comparison.Task:
    """The same release as a part of the comparison, for its choice of the threshold."""
    shared = experiments.shared(comparison.Task, params)
    common = uniform_mixture.EPSILON_ABC_DEFAULT
    return comparison.Task(**shared, epsilon_abc=common, runs=1, seed=seed)


def prepare(params: Params, seed: int, progress: pool.Progress) -> None:
    """Make the public pool if it is not there yet, and say how far that is."""
    comparison.prepare(_task(params, seed), seed, progress)


def work(task: experiments.Whole[Params]) -> Tables:
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
    mean = released.mean(theta, uniform_mixture.PRIOR_MEAN)
    size = summaries.effective_sample_size(released.weights)
    prior = np.arange(min(len(theta), posterior.PRIOR_SHOWN))
    rows = [
        ("private", params.mechanism, epsilon_abc, len(samples), size, mean),
        ("prior", "prior", 0.0, len(prior), float(len(prior)), uniform_mixture.PRIOR_MEAN),
    ]
    largest = np.sort(np.argsort(-released.weights, kind="stable")[:WEIGHTED_SHOWN])
    even = np.full(len(prior), 1.0 / len(prior))
    return {
        "main": pd.concat(
            [
                _rows("private", params.mechanism, samples[largest], _shares(released, largest)),
                _rows("prior", "prior", theta[prior], even),
            ],
            ignore_index=True,
        ),
        "errors": pd.DataFrame(
            [(*row[:-1], *summaries.errors(row[-1], data.truth)) for row in rows],
            columns=list(COLUMNS["errors"]),
        ),
    }


def _shares(released: Release, shown: NDArray[np.intp]) -> Array:
    """Weights of the samples shown, which add up to 1."""
    weights = released.weights[shown]
    shares: Array = weights / weights.sum() if len(weights) else weights
    return shares


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
    private = errors.loc["private"]
    worth = (
        f"{private.accepted:,} samples, worth {private.effective_sample_size:.3g} equal ones"
        if private.accepted
        else "A value and no sample"
        if params.mechanism == "embedding-estimate"
        else "Nothing was accepted, so the estimate is the prior mean"
    )
    return Result(
        experiment=EXPERIMENT,
        params=params,
        tables=rows,
        summary=f"{params.mechanism} at ε_total = {params.epsilon_total:g}: {worth}. Mean absolute "
        f"error of the posterior mean {private.mae:.3g}, prior {errors.mae['prior']:.3g}.",
        privacy=comparison.guarantee(params.mechanism, params.epsilon_total, params.delta),
    )


def figures(result: Result) -> dict[str, go.Figure]:
    """Histograms of the parameters."""
    params = cast(Params, result.params)
    main = result.tables["main"]
    figure = posterior.histograms(
        uniform_mixture.SCENARIO,
        main,
        f"Posterior by {params.mechanism}, share of samples: ε_total = {params.epsilon_total:g}, "
        f"c = {params.c}, N = {params.n:,}",
    )
    return {"posterior": figure}
