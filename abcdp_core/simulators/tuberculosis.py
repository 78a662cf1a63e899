"""Tuberculosis in San Francisco ([P21] Section 6.3, [P22] Section 4.2).

The model is that of Lintusaari et al., Wellcome Open Research 4:14, 2019; :mod:`.outbreak` tells
what happens in it. Four parameters are unknown:

- R1 and t1 = a1 − d1, reproduction number a1 / d1 and net transmission rate of hosts who are not
  compliant with therapy, so d1 = t1 / (R1 − 1) and a1 = t1 + d1;
- R2 = a2 / d2, reproduction number of compliant hosts, with d2 = 5.95 per year;
- β, new strains per year.

A data point is an *outbreak*, as eight summaries of what a register sees in two years. For n = 100
and 1000 outbreaks (the study of [P21]) they are simulated at the truth, which is the posterior mean
that Lintusaari et al. report for San Francisco. The data of San Francisco themselves (Small et al.,
New England Journal of Medicine 330:1703, 1994) are a data set of n = 1; nobody knows the truth
behind them, so there the same numbers are a reference.
"""

from __future__ import annotations

import functools
import io
import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from abcdp_core.distances import Distance
from abcdp_core.distances.outbreaks import ClippedOutbreaks
from abcdp_core.parameters import Parameter, choice, scale
from abcdp_core.posterior.priors import Normal, Uniform
from abcdp_core.simulators import outbreak, shipped
from abcdp_core.streams import generator

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

SCENARIO = "tuberculosis"
TITLE = "Tuberculosis in San Francisco"
PROTECTED = "one of the N outbreaks"
COORDINATES = (
    "observations",
    "clusters",
    "largest cluster",
    "mean difference of the four largest",
    "clusters of size 1 per observation",
    "clusters of size 2 per observation",
    "months spanned by the largest",
    "months with cases of the largest",
)
AXES = {"R1": (1.0, 13.0), "t1": (0.0, 30.0), "R2": (0.0, 0.65), "β": (165.0, 235.0)}
UNITS = {"R1": "", "t1": "per year", "R2": "", "β": "per year"}
TRUTH = np.array([5.88, 6.74, 0.09, 192.0])
PRIOR_MEAN = np.array([5.083, 13.886, 0.1559, 200.0])
PRIOR_SD = np.array([2.271, 8.420, 0.1101, math.sqrt(30.0)])
"""Mean and deviation of R1, t1 and R2 are from 40 million draws; those of β are exact."""
DOMAIN = (0.0, math.inf)
OBSERVED = None
N = Parameter(
    kind="integer",
    label="N · outbreaks in the private data",
    help="1: San Francisco itself. 100 and 1000: simulated at the truth. More outbreaks: one of "
    "them matters less, so the same privacy needs less noise.",
    low=1,
    high=1000,
    options=(1, 100, 1000),
)
N_DEFAULT = 1000
EPSILON_ABC = Parameter(
    kind="real",
    label="ε_abc · similarity threshold",
    help="A draw is accepted if its distance to the data is at most this. A distance, "
    "not a privacy parameter.",
    low=1.0,
    high=200.0,
    steps=(1, 2, 5, 10, 20, 40, 60, 80, 100, 110, 120, 130, 140, 150, 160, 170, 180, 190, 200),
)
EPSILON_ABC_DEFAULT = 150.0
C_DEFAULT = 10
POOL_SIZE = scale(
    "T · prior draws in the pool",
    "Public simulations that are compared with the data, in order, until c are accepted.",
    (100, 200, 500, 1000),
    low=10,
)
POOL_SIZE_DEFAULT = 1000
DISTANCES = ("clipped-summaries",)
BANDWIDTH: float | None = None
DISTANCE_AXIS = 200.0

SHIPPED_SEED = 1

CEASING = 5.95
"""d2: rate per year at which compliant hosts cease to be infectious."""

BURDEN_MEAN = 200.0

BURDEN_DEVIATION = math.sqrt(30.0)
"""Standard deviation of the prior of β: [P21] and its script have the variance 30."""

ORIGINAL_BURDEN_DEVIATION = 30.0
"""The same in Lintusaari et al.: there it is the standard deviation that is 30."""


@dataclass(frozen=True)
class Moments:
    """Mean and standard deviation of a prior ``(4,)``, from millions of draws."""

    mean: Array
    deviation: Array


PRIORS = {
    "variance 30": Moments(PRIOR_MEAN, PRIOR_SD),
    "standard deviation 30": Moments(
        np.array([5.096, 13.85, 0.1555, 200.0]),
        np.array([2.377, 8.41, 0.1129, ORIGINAL_BURDEN_DEVIATION]),
    ),
}
"""The two priors of β by their words; the first is the scenario's."""

BURDEN = choice(
    "Prior of β",
    "variance 30: as in the papers on privacy. standard deviation 30: as in the original model.",
    tuple(PRIORS),
)


def axes(burden: str) -> dict[str, tuple[float, float]]:
    """Ends of the parameters' axes; those of β follow its prior."""
    moments = PRIORS[burden]
    reach, centre = 3.5 * float(moments.deviation[-1]), float(moments.mean[-1])
    low, high = AXES["β"]
    return AXES | {"β": (min(low, centre - reach), max(high, centre + reach))}


MOST_OBSERVED = 350.0
"""Parameters with more observations per year on average are refused."""

FASTEST_TRANSMISSION = 40.0
"""Parameters with a larger a1, per year, are refused."""

REFUSALS = ("no balance", "too many observations", "transmission too fast")
"""Why a try of the prior is refused."""

SAN_FRANCISCO_CLUSTERS = {30: 1, 23: 1, 15: 1, 10: 1, 8: 1, 5: 2, 4: 4, 3: 13, 2: 20, 1: 282}
"""Size of a cluster -> number of clusters; Small et al., 1994."""

SAN_FRANCISCO = np.array(
    [[473.0, 326.0, 30.0, 20.0 / 3.0, 282.0 / 473.0, 20.0 / 473.0, 24.0, 17.0]]
)
"""The summaries of these data, a data set ``(1, 8)``."""


def prior(rng: np.random.Generator, size: int, burden_deviation: float = BURDEN_DEVIATION) -> Array:
    """Parameters ``(size, 4)`` from the prior; see :func:`draw_prior`."""
    return draw_prior(rng, size, burden_deviation)[0]


LAWS = (
    Uniform(1.01, 20.0),
    Uniform(0.01, 30.0),
    Uniform(0.0, 1.0),
    Normal(BURDEN_MEAN, BURDEN_DEVIATION),
)
"""Laws of R1, t1, R2 and β by which the prior's density is told; they refuse nothing."""


def log_relative(theta: Array) -> Array:
    """Log-density ``(m,)`` of the prior at ``(m, 4)``, relative to that of :data:`LAWS`.

    Of each β the other three are drawn until they are accepted, so the density is divided by the
    share that is.
    """
    most = (1.0 - (1.0 - outbreak.COMPLIANCE) * theta[:, 0]) / outbreak.COMPLIANCE
    low, accepted = 0.01 * most, _reason(theta) == len(REFUSALS)
    inside = accepted & (low < theta[:, 2]) & (theta[:, 2] < most)
    found = np.full(len(theta), -np.inf)
    share = accepted_share(theta[inside, 3])
    found[inside] = -np.log(0.99 * most[inside] * share)
    return found


def accepted_share(burden: Array) -> Array:
    """Share of tries ``(m,)`` that are accepted given β ``(m,)``, from public draws.

    Observations per year are proportional to β, so those at one β tell all.
    """
    most = np.searchsorted(_observed_a_year(), MOST_OBSERVED / burden)
    return most / TRIES


TRIES = 400_000
"""Draws from which the share is known to a part in 1000."""


@functools.cache
def _observed_a_year() -> Array:
    """Observations per year for a β of 1, rising; of tries refused at any β there is none."""
    rng = generator(0, "tuberculosis-prior")
    uniform = rng.uniform((1.01, 0.01, 0.01), (20.0, 30.0, 1.0), (TRIES, 3))
    uniform[:, 2] *= (1.0 - (1.0 - outbreak.COMPLIANCE) * uniform[:, 0]) / outbreak.COMPLIANCE
    # So small a β that there are never too many.
    theta = np.column_stack([uniform, np.full(TRIES, 1e-3)])
    return np.sort(balance(theta[_reason(theta) == len(REFUSALS)])[:, 2] / 1e-3)


def draw_prior(
    rng: np.random.Generator, size: int, burden_deviation: float = BURDEN_DEVIATION
) -> tuple[Array, Counts]:
    """Parameters ``(size, 4)`` from the prior, and how many tries were refused for which reason.

    β is normal and drawn once. R1 ~ U(1.01, 20), t1 ~ U(0.01, 30) and
    R2 ~ U(0.01, 1) · (1 − 0.05 R1) / 0.95 are drawn until 0 < m < 350 and a1 < 40, with m of
    :func:`balance`. (The papers write R2 ~ U(0.01, (1 − 0.05 R1) / 0.95); this is their script.)

    Args:
        rng: source of all chance.
        size: number of draws.
        burden_deviation: standard deviation of β, per year.

    Returns:
        The parameters and the counts ``(3,)`` of :data:`REFUSALS`, the first reason that applies.
    """
    theta = np.empty((size, 4))
    # Seven deviations of even the wider prior away nothing else would ever be accepted.
    theta[:, 3] = np.clip(rng.normal(BURDEN_MEAN, burden_deviation, size), 1.0, 400.0)
    refused = np.zeros(len(REFUSALS), dtype=np.int64)
    waiting = np.arange(size)
    while len(waiting):
        uniform = rng.uniform((1.01, 0.01, 0.01), (20.0, 30.0, 1.0), (len(waiting), 3))
        most = (1.0 - (1.0 - outbreak.COMPLIANCE) * uniform[:, 0]) / outbreak.COMPLIANCE
        theta[waiting, :3] = uniform
        theta[waiting, 2] *= most
        reason = _reason(theta[waiting])
        refused += np.bincount(reason, minlength=len(REFUSALS) + 1)[:-1]
        waiting = waiting[reason < len(REFUSALS)]
    return theta, refused


def _reason(theta: Array) -> Counts:
    """Index ``(k,)`` of the first reason to refuse parameters ``(k, 4)``; beyond the last if none.

    The factor of R2 sees to it that there is a balance; rounding may not.
    """
    yearly = balance(theta)[:, 2]
    reasons = (yearly <= 0.0, yearly >= MOST_OBSERVED, rates(theta)[:, 1] >= FASTEST_TRANSMISSION)
    return np.argmax([*reasons, np.ones(len(theta), dtype=bool)], axis=0)


def rates(theta: Array) -> Array:
    """Rates per year ``(k, 5)`` of parameters ``(k, 4)``: β, a1, d1, a2, d2."""
    R1, t1, R2, burden = theta.T
    d1 = t1 / (R1 - 1.0)
    return np.column_stack([burden, t1 + d1, d1, R2 * CEASING, np.full(len(theta), CEASING)])


def balance(theta: Array) -> Array:
    """Where births and deaths are equal on average, ``(k, 3)`` for parameters ``(k, 4)``.

    New hosts per year are β and R1 or R2 for each host that ceases to be infectious, by its kind.
    At balance as many cease as come, so there are β / (1 − 0.05 R1 − 0.95 R2) of them.

    Returns:
        Non-compliant hosts, compliant hosts, observations per year; negative if there is none.
    """
    R1, _, R2, burden = theta.T
    compliance = outbreak.COMPLIANCE
    coming = burden / (1.0 - (1.0 - compliance) * R1 - compliance * R2)
    d1, d2 = rates(theta)[:, [2, 4]].T
    return np.column_stack(
        [(1.0 - compliance) * coming / d1, compliance * coming / d2, outbreak.OBSERVATION * coming]
    )


def simulate(rng: np.random.Generator, theta: Array, size: int) -> Array:
    """Summaries ``(k, size, 8)`` of outbreaks for parameters ``(k, 4)``, one after the other.

    Raises:
        ValueError: there is no balance, so that the number of hosts would grow without end.
    """
    return outbreak.simulate(rng, rates(theta), _hosts(theta), size)


def clusters(rng: np.random.Generator, theta: Array, room: int) -> Array:
    """Sizes ``(k, room)`` of the clusters of one outbreak for each of ``(k, 4)`` parameters.

    The largest come first, and rows end with zeros.

    Raises:
        ValueError: there is no balance, so that the number of hosts would grow without end.
    """
    return outbreak.clusters(rng, rates(theta), _hosts(theta), room)


def _hosts(theta: Array) -> Array:
    """Non-compliant and compliant hosts at balance ``(k, 2)``."""
    hosts = balance(theta)
    if not (np.isfinite(hosts) & (hosts > 0.0)).all():
        raise ValueError(f"theta: must have R1 > 1, t1 > 0 and a balance; is {theta.tolist()}.")
    # One layout in memory for one draw and for many, or the slow compilation is done twice.
    return np.ascontiguousarray(hosts[:, :2])


def observed(rng: np.random.Generator, size: int) -> tuple[Array, int]:
    """A data set ``(size, 8)`` at the truth that can be compared with, and outbreaks drawn again.

    A relative error needs a share that is not 0, so an outbreak without any cluster of size 1 or
    without any of size 2 is replaced by the next one. A larger set begins with a smaller one.
    """
    kept, drawn = np.empty((0, len(COORDINATES))), 0
    while len(kept) < size:
        further = simulate(rng, TRUTH[None], size - len(kept))[0]
        drawn += len(further)
        kept = np.concatenate([kept, further[(further[:, 4:6] > 0.0).all(axis=1)]])
    return kept, drawn - size


@functools.cache
def observed_set(index: int, n: int, seed: int) -> tuple[Array, int]:
    """Data set ``(n, 8)`` number ``index`` at the truth, and outbreaks that were drawn again."""
    return observed(generator(seed, "tuberculosis-observed", index), n)


def precomputed(
    pool_size: int, n: int, run: int, burden: str = "variance 30"
) -> tuple[Array, Array]:
    """The first draws ``(T, 4)`` of a pool in ``assets`` and their distances ``(T,)``.

    Args:
        pool_size: T, up to 1000.
        n: 100 or 1000 for an observed set that is simulated, 1 for San Francisco.
        run: number of the observed set, 0 to 9; San Francisco is always the same.
        burden: one of :data:`PRIORS`.
    """
    theta, rho, first = _shipped(burden)
    if n > 1:
        return theta[:pool_size], rho[n, run][:pool_size]
    metric = distance()
    statistic = metric.statistic(SAN_FRANCISCO)
    return theta[:pool_size], metric.compare(metric.statistic(first[:pool_size, None]), statistic)


def precomputed_data(n: int, run: int) -> Array:
    """The data set ``(n, 8)`` behind :func:`precomputed`."""
    return SAN_FRANCISCO if n == 1 else observed_set(run, n, SHIPPED_SEED)[0]


def shipped_counts(burden: str = "variance 30") -> pd.DataFrame:
    """What was refused or drawn again while a pool of ``assets`` was made: ``what, count``."""
    return _table(burden, ".counts")


def _table(burden: str, table: str) -> pd.DataFrame:
    """One of the tables that ``tools/tuberculosis_pool.py`` wrote for a prior of β."""
    folder = f"tuberculosis/{burden.replace(' ', '-')}"
    return pd.read_csv(io.BytesIO(shipped.read(f"{folder}/tuberculosis-distances{table}.csv")))


@functools.cache
def _shipped(burden: str) -> tuple[Array, dict[tuple[int, int], Array], Array]:
    """Draws ``(T, 4)``, (n, observed set) -> distances ``(T,)``, first outbreaks ``(T, 8)``."""
    main, theta, outbreaks = (_table(burden, table) for table in ("", ".theta", ".outbreaks"))
    rho = {
        (n, number): main.rho[(main.n == n) & (main.observed_set == number)].to_numpy()
        for n in main.n.unique().tolist()
        for number in main.observed_set.unique().tolist()
    }
    # Rows stand in the order of draws and, within a draw, of parameters or summaries.
    draws = theta.value.to_numpy().reshape(-1, len(AXES))
    return draws, rho, outbreaks.value.to_numpy().reshape(-1, len(COORDINATES))


def distance(bandwidth: float | None = None, name: str | None = None) -> Distance:  # noqa: ARG001
    """The mean over outbreaks of their clipped distances, in pairs."""
    return ClippedOutbreaks()
