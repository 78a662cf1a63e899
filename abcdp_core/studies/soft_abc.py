r"""Weights instead of decisions: what does privacy cost K2-ABC?

K2-ABC keeps every draw of the pool and weights it by its distance to the data,
$w_t \propto \exp(-\rho_t^q / \epsilon_{abc})$. Its private version ([P22] Theorems 3.2 and 3.3)
sets $q = 1$ and adds noise to every distance, in units of the threshold,

$$\tilde D_t = \rho_t / \epsilon_{abc} + N(0, \sigma^2), \qquad
w_t \propto \exp(-\max(\tilde D_t, 0)) \qquad \text{(MATH W1)}$$

All $T$ noisy distances could be published, so the whole pool is paid for. In units of the distance
the noise is $\epsilon_{abc}\,\sigma = \sqrt{T} \Delta / \mu$, where $\mu$ depends only on
$\epsilon_{total}$, $\delta$ and the accountant. At $\epsilon_{total} = 1$, $\delta = 10^{-4}$, the
paper's conversion of Rényi divergence (MATH W2) requires 38 % more noise than the exact account
(MATH W3), and autodp's tighter conversion 10 % more.

The threshold does not change that noise, only what it is compared with. Far below the noise, the
weights are those of the few draws with the luckiest noise. Far above the distances, all draws weigh
the same and the estimate is the prior mean. The effective sample size, $(\sum w)^2 / \sum w^2$,
says how many draws count. Each run has its own data, pool and noise. The table *best* has the best
threshold of each run, which in a single run is mostly chance.

The table *rival* has the errors of counts released once with noise (MATH E7), at every budget; the
figures show them at the smallest, where they are largest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from abcdp_core.base import parameters as par
from abcdp_core.base.sentences import plain, ranges, with_budget
from abcdp_core.base.summaries import effective_sample_size
from abcdp_core.figures.lines import Lines
from abcdp_core.mechanisms import soft_weights
from abcdp_core.models.simulators import uniform_mixture
from abcdp_core.models.simulators.uniform_mixture import SCENARIO as MIXTURE
from abcdp_core.privacy import Event
from abcdp_core.studies.engine import BaseParams, CellTable, Result, Settings, Study, scale
from abcdp_core.studies.engine.errors import RIVAL, LeastError, StudyData

EXPERIMENT = "soft-abc"
TITLE = "Soft weights: error against the threshold"

POWER = scale(
    "Power q of the distance in K2-ABC",
    "Applies to the curve without noise; with noise the power is 1.",
    (0.25, 0.5, 1.0, 2.0, 3.0, 4.0),
)


@dataclass(frozen=True)
class Params(BaseParams):
    """Lists of settings; within a run, all combinations share data, pool and noise."""

    epsilon_abc: tuple[float, ...] = MIXTURE.epsilon_abc.field(
        (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
    )
    epsilon_total: tuple[float, ...] = par.EPSILON_TOTAL_OR_INF.field((0.5, 1.0, 10.0, math.inf))
    delta: float = par.DELTA.field(1e-4)
    power: float = POWER.field(1.0)
    n: int = MIXTURE.n.field(MIXTURE.n_default)
    pseudo_n: int | str = uniform_mixture.PSEUDO_N.field("same")
    pool_size: int = par.POOL_SIZE.field(1000)
    sensitivity: str = par.SENSITIVITY.field("sharp")
    accountant: str = par.ACCOUNTANT.field("exact")
    runs: int = par.RUNS.field(10)
    bandwidth: float | str = par.BANDWIDTH.field(MIXTURE.bandwidth)
    noise_draw: int = par.NOISE_DRAW.field(0)

    def check_together(self) -> None:
        """Refuse too much work."""
        par.check_work(uniform_mixture.simulated_points(self.n, self.pseudo_n), self.pool_size)


PRESETS: dict[str, BaseParams] = {
    # The budgets are from the paper's script for tuberculosis. The figure's budgets and number of
    # draws are unknown.
    "p22-figure-2": Params(
        epsilon_total=(1.0, 2.0, 4.0, 8.0, math.inf),
        sensitivity="published",
        accountant="rdp-classic",
    )
}


def event(at: Settings) -> Event:
    """Return what a release does with the data; public."""
    sensitivity = MIXTURE.distance().sensitivity(at.n, at.sensitivity)
    return soft_weights.calibrate(
        at.epsilon_total, at.delta, sensitivity, at.epsilon_abc, at.pool_size, at.accountant
    )


def cell(world: StudyData, at: Settings) -> dict[str, float]:
    """Return errors of the weighted mean, and the effective sample size."""
    power = at.power if math.isinf(at.epsilon_total) else 1.0
    distance = world.comparison(at.n).rho ** power / at.epsilon_abc
    release = soft_weights.run(distance, STUDY.done(at), at.rng())
    size = effective_sample_size(release.weights)
    return world.errors(release, at.n) | {"effective_sample_size": size}


LEAST = LeastError("soft weights", over=("epsilon_abc",))
SIZES = ("n", "pseudo_n", "pool_size")


def _draws_that_count(result: Result) -> tuple[str, str]:
    """Say how many draws count at the smallest budget."""
    main = result.tables["main"]
    strictest = main[main.epsilon_total == main.epsilon_total.min()]
    means = strictest.groupby("epsilon_abc").effective_sample_size.mean()
    budget = float(strictest.epsilon_total.iloc[0])
    at, size = with_budget(budget), plain(means.iloc[0])
    title = f"At ε_abc = {means.index[0]:,g} {at}, the effective sample size is {size}"
    shown = "thresholds" if len(means) > 1 else "threshold"
    sentence = (
        f"{at.capitalize()}, the mean effective sample size {ranges(means)} at the {shown} shown."
    )
    if math.isfinite(budget):
        sentence += " A large value does not mean a small error if the weights are mostly noise."
    return title, sentence


STUDY = Study(
    EXPERIMENT,
    Params,
    world=StudyData.of,
    tables={
        "main": CellTable(
            "epsilon_abc epsilon_total delta run mse mae effective_sample_size", cell
        ),
        "rival": RIVAL,
    },
    totals={"best": LEAST.best_of_runs()},
    says=lambda result: LEAST.caption(result, "mae"),
    event=event,
    views={
        **LEAST.views("epsilon_abc", settings=SIZES, x_range=(0.001, 1.0)),
        "effective-sample-size": Lines(
            "effective_sample_size",
            "epsilon_abc",
            says=_draws_that_count,
            settings=SIZES,
            x_range=(0.001, 1.0),
            y_range=lambda params: (1.0, 1.1 * params.pool_size),
        ),
    },
)
COLUMNS, tasks, work, collect, figures = STUDY.contract()
