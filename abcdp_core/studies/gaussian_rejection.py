r"""Every decision with Gaussian noise: how much does it help to clip the distances?

Rejection ABC with Gaussian noise ([P22] Theorem 3.1) decides about every draw of the pool and
releases all decisions:

$$\min(\rho_t, B_\rho) + N(0, \sigma^2) \le \epsilon_{abc}.$$

A decision that is nearly certain reveals much when it goes the other way. Clipping at a small
$B_\rho$ keeps every decision uncertain, so the same guarantee needs less noise, by the paper's
bound (MATH R1) and exactly (MATH R2); but what lies beyond $B_\rho$ can no longer be told apart.
The bound is a quantile of the distances of prior-predictive data sets to the pool of the first run
(MATH R3); it never reads the private data. At quantile 1 it is the largest distance there is, and
nothing is clipped.

Simulated data sets may have another size than the data ([P22] Figure 3: 1000 points against 5000).
Nothing stops the run: all $T$ decisions are paid for, each with $\epsilon_{total} / T$, so the
noise grows in proportion to the pool. If a run accepts nothing, its estimate *is* the prior mean.
Each run has its own data, pool and noise. Counts released once with noise (MATH E7) need no bound.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from dataclasses import dataclass
from typing import cast

from abcdp_core import figures as fig
from abcdp_core import parameters as par
from abcdp_core import pool
from abcdp_core.figures.lines import Lines
from abcdp_core.mechanisms import gaussian_rejection as mechanism
from abcdp_core.mechanisms import thresholds
from abcdp_core.privacy import Event, NonPrivate, cost, statement_of_largest
from abcdp_core.sentences import budget_name, from_to
from abcdp_core.simulators import uniform_mixture
from abcdp_core.study import At, BaseParams, Cells, Result, Study, Total, scale
from abcdp_core.study.errors import RIVAL, LeastError, OwnData, own_pool
from abcdp_core.summaries import first_of

EXPERIMENT = "gaussian-rejection"
TITLE = "Rejection with Gaussian noise: clipped distances"

DATA_SETS = 20  # Prior-predictive data sets whose distances to the pool give the bound

BOUND_QUANTILE = scale(
    "Quantile of simulated distances at which they are clipped",
    "Smaller: less noise, but draws beyond it look alike. 1: nothing is clipped.",
    (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 0.8, 1.0),
)
ACCOUNTANT = dataclasses.replace(
    par.ACCOUNTANT,
    help="How noise follows from ε_total. exact: the least noise. published: the paper's bound.",
    options=("exact", "published"),
)


@dataclass(frozen=True)
class Params(BaseParams):
    """Every combination of the lists is run on the same data, pool and noise within a run."""

    bound_quantile: tuple[float, ...] = BOUND_QUANTILE.field((0.05, 0.2, 1.0))
    epsilon_abc: tuple[float, ...] = uniform_mixture.EPSILON_ABC.field((0.05, 0.1, 0.2, 0.5))
    epsilon_total: tuple[float, ...] = par.EPSILON_TOTAL_OR_INF.field(
        (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, math.inf)
    )
    n: int = uniform_mixture.N.field(uniform_mixture.N_DEFAULT)
    pseudo_n: int | str = uniform_mixture.PSEUDO_N.field("same")
    pool_size: int = par.POOL_SIZE.field(1000)
    sensitivity: str = par.SENSITIVITY.field("sharp")
    accountant: str = ACCOUNTANT.field("exact")
    runs: int = par.RUNS.field(10)
    bandwidth: float | str = par.BANDWIDTH.field(uniform_mixture.BANDWIDTH)
    noise_draw: int = par.NOISE_DRAW.field(0)

    def check_together(self) -> None:
        """Refuse too much work."""
        par.check_work(uniform_mixture.simulated_points(self.n, self.pseudo_n), self.pool_size)


PRESETS: dict[str, BaseParams] = {
    # Thresholds, budgets and the number of draws are not stated. The thresholds are those of [P21]
    # Figure 3 but for 0.05, which hardly any of 1000 draws is within.
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
    """Return B_ρ, from public simulations (MATH R3): a quantile, of 1 the largest there can be."""
    if quantile == 1.0:
        # The only point of a data set can take it from any distance to any other.
        return public.key.metric().sensitivity(1, sensitivity)
    return mechanism.bound_quantile(thresholds.simulated(public, DATA_SETS), quantile)


def _bound(world: OwnData, at: At) -> float:
    """Return that of a place, which is the same in every run."""
    first = OwnData.of(dataclasses.replace(world.run, run=0)).key
    points = uniform_mixture.simulated_points(at.n, at.pseudo_n)
    return bound(pool.PublicSide(first, at.n, points), at.bound_quantile, at.sensitivity)


def event(at: At, clipped_to: float, accountant: str) -> Event:
    """Return what a release does with the data; public."""
    if math.isinf(at.epsilon_total):
        return NonPrivate()
    change = uniform_mixture.distance().sensitivity(at.n, at.sensitivity)
    asked = at.epsilon_total, change, clipped_to, at.epsilon_abc, at.pool_size
    return mechanism.calibrate(*asked, accountant)


def errors(world: OwnData, at: At) -> dict[str, float]:
    """Count the draws that are kept, and measure the errors of their mean."""
    done = event(at, _bound(world, at), at.accountant)
    release, _ = mechanism.run(world.comparison(at.n).rho, at.epsilon_abc, done, at.rng())
    return world.errors(release, at.n) | {"accepted": len(release.indices)}


def scales(world: OwnData, at: At) -> dict[str, float]:
    """Return the bound, and the standard deviation of the noise by both accounts."""
    limit = _bound(world, at)
    done = {name: event(at, limit, name) for name in mechanism.ACCOUNTANTS}
    return {"bound": limit} | {name: getattr(each, "scale", 0.0) for name, each in done.items()}


def guarantee(result: Result) -> str:
    """Return what is promised whichever setting is used: by the one that gives away most."""
    params, noise = cast(Params, result.params), result.tables["noise"]

    def dearest(budget: float) -> Event:
        rows = noise[noise.epsilon_total == budget].iterrows()
        places = [At(**vars(params) | dict(row)) for _, row in rows]
        events = [event(at, at.bound, params.accountant) for at in places]
        return max(events, key=lambda done: cost(done).epsilon)

    asked = params.epsilon_total, dearest, uniform_mixture.PROTECTED
    return statement_of_largest(*asked, accountant=params.accountant)


OVER = ("bound_quantile", "epsilon_abc")
LEAST = LeastError("Decisions about every draw", OVER, of_noise=OVER[:1])


def noise_needed(result: Result) -> tuple[str, str]:
    """Say how large the noise is against the threshold, and by the published account."""
    shown = first_of(result.tables["noise"], "epsilon_total")
    budget = float(shown.epsilon_total.iloc[0])
    if math.isinf(budget):
        return "No noise on any distance", "Without noise no distance is clipped either."
    times = from_to(shown[vars(result.params)["accountant"]] / shown.epsilon_abc, 2)
    return f"The noise is {times} times the threshold", (
        f"At {budget_name(budget)} the published bound asks for "
        f"{from_to(shown.published / shown.exact)} times the exact noise."
    )


STYLE = fig.mechanism(EXPERIMENT)
NOISE = Cells("bound_quantile bound epsilon_abc epsilon_total published exact", scales)

STUDY = Study(
    EXPERIMENT,
    Params,
    world=OwnData.of,
    tables={
        "main": Cells("bound_quantile epsilon_abc epsilon_total run accepted mse mae", errors),
        "noise": NOISE,
        "rival": RIVAL,
    },
    totals={
        # The same in every run.
        "noise": Total(
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
