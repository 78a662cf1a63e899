r"""Gaussian noise on every decision: how much does it help to clip the distances?

Rejection ABC with Gaussian noise ([P22] Theorem 3.1) decides about every draw of the pool and
releases all decisions:

$$\min(\rho_t, B_\rho) + N(0, \sigma^2) \le \epsilon_{abc}.$$

A decision that is nearly certain reveals much when it goes the other way. Clipping at a small
$B_\rho$ keeps every decision uncertain, so the same guarantee needs less noise, by the paper's
bound (MATH R1) and exactly (MATH R2). But all distances beyond $B_\rho$ look alike. The bound is a
quantile of the distances between prior-predictive data sets and the pool of the first run (MATH
R3); it never reads the private data. At quantile 1 it is the largest possible distance, and nothing
is clipped.

Simulated data sets may differ in size from the data ([P22] Figure 3: 1000 points against 5000). The
run never stops early: all $T$ decisions are paid for, each with $\epsilon_{total} / T$, so the
noise grows in proportion to the pool. If a run keeps no draw, its estimate *is* the prior mean.
Each run has its own data, pool and noise. Counts released once with noise (MATH E7) need no bound.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from dataclasses import dataclass
from typing import cast

from abcdp_core import figures as fig
from abcdp_core.base import parameters as par
from abcdp_core.base.sentences import budget_name, from_to
from abcdp_core.base.summaries import first_of
from abcdp_core.figures.lines import Lines
from abcdp_core.mechanisms import gaussian_rejection as mechanism
from abcdp_core.mechanisms import thresholds
from abcdp_core.models import pool
from abcdp_core.models.simulators import uniform_mixture
from abcdp_core.models.simulators.uniform_mixture import SCENARIO as MIXTURE
from abcdp_core.privacy import Event, NonPrivate, cost, statement_of_largest
from abcdp_core.studies.engine import (
    BaseParams,
    CellTable,
    DerivedTable,
    Result,
    Settings,
    Study,
    scale,
)
from abcdp_core.studies.engine.errors import RIVAL, LeastError, StudyData, own_pool

EXPERIMENT = "gaussian-rejection"
TITLE = "Rejection with Gaussian noise and clipped distances"

DATA_SETS = 20  # Prior-predictive data sets whose distances to the pool give the bound

BOUND_QUANTILE = scale(
    "Quantile at which distances are clipped",
    "Of simulated distances. A smaller one needs less noise, but all draws beyond it look alike. "
    "At 1 nothing is clipped.",
    (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 0.8, 1.0),
)
ACCOUNTANT = dataclasses.replace(
    par.ACCOUNTANT,
    help="How ε_total sets the noise. exact: the least noise. published: the paper's bound.",
    options=("exact", "published"),
)


@dataclass(frozen=True)
class Params(BaseParams):
    """Lists of settings; within a run, all combinations share data, pool and noise."""

    bound_quantile: tuple[float, ...] = BOUND_QUANTILE.field((0.05, 0.2, 1.0))
    epsilon_abc: tuple[float, ...] = MIXTURE.epsilon_abc.field((0.05, 0.1, 0.2, 0.5))
    epsilon_total: tuple[float, ...] = par.EPSILON_TOTAL_OR_INF.field(
        (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, math.inf)
    )
    n: int = MIXTURE.n.field(MIXTURE.n_default)
    pseudo_n: int | str = uniform_mixture.PSEUDO_N.field("same")
    pool_size: int = par.POOL_SIZE.field(1000)
    sensitivity: str = par.SENSITIVITY.field("sharp")
    accountant: str = ACCOUNTANT.field("exact")
    runs: int = par.RUNS.field(10)
    bandwidth: float | str = par.BANDWIDTH.field(MIXTURE.bandwidth)
    noise_draw: int = par.NOISE_DRAW.field(0)

    def check_together(self) -> None:
        """Refuse too much work."""
        par.check_work(uniform_mixture.simulated_points(self.n, self.pseudo_n), self.pool_size)


PRESETS: dict[str, BaseParams] = {
    # The paper states no thresholds, budgets or number of draws. These thresholds are from [P21]
    # Figure 3, without 0.05, which hardly any of 1000 draws reaches.
    "p22-figure-3": Params(
        bound_quantile=(0.05, 0.2),
        epsilon_abc=(0.1, 0.2, 0.5),
        epsilon_total=(1.0, 2.0, 4.0, 8.0, 16.0, 32.0, math.inf),
        pseudo_n=1000,
        sensitivity="published",
        accountant="published",
    )
}

missing_pools = own_pool


@functools.lru_cache(maxsize=64)
def bound(public: pool.PublicSide, quantile: float, sensitivity: str = "sharp") -> float:
    """Return B_ρ from public simulations (MATH R3); at quantile 1 the largest possible distance."""
    if quantile == 1.0:
        # Replacing the only point of a data set can change a distance from least to largest.
        return public.key.metric().sensitivity(1, sensitivity)
    return mechanism.bound_quantile(thresholds.simulated(public, DATA_SETS), quantile)


def _bound(world: StudyData, at: Settings) -> float:
    """Return the bound of a cell, which is the same in every run."""
    first = StudyData.of(dataclasses.replace(world.run, run=0)).key
    points = uniform_mixture.simulated_points(at.n, at.pseudo_n)
    return bound(pool.PublicSide(first, at.n, points), at.bound_quantile, at.sensitivity)


def event(at: Settings, clipped_to: float, accountant: str) -> Event:
    """Return what a release does with the data; public."""
    if math.isinf(at.epsilon_total):
        return NonPrivate()
    change = MIXTURE.distance().sensitivity(at.n, at.sensitivity)
    return mechanism.calibrate(
        at.epsilon_total, change, clipped_to, at.epsilon_abc, at.pool_size, accountant
    )


def errors(world: StudyData, at: Settings) -> dict[str, float]:
    """Count the draws that are kept, and measure the errors of their mean."""
    done = event(at, _bound(world, at), at.accountant)
    release = mechanism.run(world.comparison(at.n).rho, at.epsilon_abc, done, at.rng())
    return world.errors(release, at.n) | {"accepted": len(release.indices)}


def scales(world: StudyData, at: Settings) -> dict[str, float]:
    """Return the bound, and the standard deviation of the noise by both accounts."""
    limit = _bound(world, at)
    done = {name: event(at, limit, name) for name in mechanism.ACCOUNTANTS}
    return {"bound": limit} | {name: getattr(each, "scale", 0.0) for name, each in done.items()}


def guarantee(result: Result) -> str:
    """State what every setting guarantees: the guarantee of the one that reveals most."""
    params, noise = cast(Params, result.params), result.tables["noise"]

    def dearest(budget: float) -> Event:
        rows = noise[noise.epsilon_total == budget].iterrows()
        places = [Settings(**vars(params) | dict(row)) for _, row in rows]
        events = [event(at, at.bound, params.accountant) for at in places]
        return max(events, key=lambda done: cost(done).epsilon)

    return statement_of_largest(
        params.epsilon_total, dearest, MIXTURE.protected, accountant=params.accountant
    )


OVER = ("bound_quantile", "epsilon_abc")
LEAST = LeastError("rejection with Gaussian noise", OVER, of_noise=OVER[:1])


def noise_needed(result: Result) -> tuple[str, str]:
    """Compare the noise with the threshold, and the published with the exact account."""
    shown = first_of(result.tables["noise"], "epsilon_total")
    budget = float(shown.epsilon_total.iloc[0])
    if math.isinf(budget):
        return "No noise on any distance", "Without noise, no distance is clipped."
    times = from_to(shown[vars(result.params)["accountant"]] / shown.epsilon_abc, 2)
    return f"The noise is {times} times the threshold", (
        f"At {budget_name(budget)}, the published bound requires "
        f"{from_to(shown.published / shown.exact)} times the noise of the exact account."
    )


STYLE = fig.mechanism(EXPERIMENT)
NOISE = CellTable("bound_quantile bound epsilon_abc epsilon_total published exact", scales)

STUDY = Study(
    EXPERIMENT,
    Params,
    world=StudyData.of,
    tables={
        "main": CellTable("bound_quantile epsilon_abc epsilon_total run accepted mse mae", errors),
        "noise": NOISE,
        "rival": RIVAL,
    },
    totals={
        # The same in every run.
        "noise": DerivedTable(
            NOISE.columns, lambda _, rows: rows["noise"].drop_duplicates(ignore_index=True)
        )
    },
    says=lambda result: LEAST.caption(result, "mae"),
    guarantee=guarantee,
    views={
        **LEAST.views(
            "epsilon_total",
            by=("epsilon_abc", "bound_quantile"),
            settings=("n", "pseudo_n", "pool_size", "epsilon_abc", "bound_quantile"),
        ),
        "noise": Lines(
            {
                "published": STYLE.called("published bound", dash="dash"),
                "exact": STYLE.called("exact account"),
                "epsilon_abc": fig.GUIDE.called("the threshold itself"),
            },
            x="epsilon_abc",
            table="noise",
            at=("epsilon_total",),
            by=("bound_quantile",),
            says=noise_needed,
            settings=("n", "pool_size", "bound_quantile"),
            y_title="standard deviation of the noise",
        ),
    },
)
COLUMNS, tasks, work, collect, figures = STUDY.contract()
