"""Tuberculosis in San Francisco ([P21] Section 6.3, [P22] Section 4.2).

:mod:`.outbreak` simulates the model of Lintusaari et al., Wellcome Open Research 4:14, 2019. It has
four unknown parameters:

- R1 = a1 / d1 and t1 = a1 − d1, the reproduction number and the net transmission rate of hosts not
  compliant with therapy, so d1 = t1 / (R1 − 1) and a1 = t1 + d1;
- R2 = a2 / d2, the reproduction number of compliant hosts, with d2 = 5.95 per year;
- β, new strains per year.

A data point is an *outbreak*: eight summaries of a register over two years. The n = 100 or 1000
outbreaks of [P21] are simulated at the posterior mean that Lintusaari et al. report for San
Francisco. The data of San Francisco (Small et al., New England Journal of Medicine 330:1703, 1994)
are a data set of n = 1. Their truth is unknown, and the same posterior mean is the reference.
"""

from __future__ import annotations

import functools
import io
import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from abcdp_core.base.arrays import Array
from abcdp_core.base.parameters import Parameter, choice, scale
from abcdp_core.base.streams import generator
from abcdp_core.models.distances import Distance
from abcdp_core.models.distances.outbreaks import ClippedOutbreaks
from abcdp_core.models.priors import Normal, Uniform
from abcdp_core.models.simulators import Scenario, outbreak, shipped

Counts = NDArray[np.int64]

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
TRUTH = np.array([5.88, 6.74, 0.09, 192.0])
PRIOR_MEAN = np.array([5.083, 13.886, 0.1559, 200.0])
PRIOR_SD = np.array([2.271, 8.420, 0.1101, math.sqrt(30.0)])
"""The moments of R1, t1 and R2 are from 40 million draws; those of β are exact."""

SHIPPED_SEED = 1

CEASING = 5.95
"""d2, the rate per year at which compliant hosts cease to be infectious."""

BURDEN_MEAN = 200.0

BURDEN_DEVIATION = math.sqrt(30.0)
"""Standard deviation of the prior of β. [P21] and its script use the variance 30."""

ORIGINAL_BURDEN_DEVIATION = 30.0
"""The same in Lintusaari et al., who use the standard deviation 30."""


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
"""The two priors of β; the first is the scenario's."""

BURDEN = choice(
    "Prior of β",
    "variance 30: as in the papers on privacy. standard deviation 30: as in the original model.",
    tuple(PRIORS),
)


def axes(burden: str) -> dict[str, tuple[float, float]]:
    """Return the ends of the parameters' axes, for a prior of β."""
    moments = PRIORS[burden]
    reach, centre = 3.5 * float(moments.deviation[-1]), float(moments.mean[-1])
    low, high = AXES["β"]
    return AXES | {"β": (min(low, centre - reach), max(high, centre + reach))}


MOST_OBSERVED = 350.0
"""Parameters with more expected observations per year are refused."""

FASTEST_TRANSMISSION = 40.0
"""Parameters with a larger a1, per year, are refused."""

REFUSALS = ("no balance", "too many observations", "transmission too fast")
"""Reasons to refuse a try."""

SAN_FRANCISCO_CLUSTERS = {30: 1, 23: 1, 15: 1, 10: 1, 8: 1, 5: 2, 4: 4, 3: 13, 2: 20, 1: 282}
"""Size of a cluster -> number of clusters; Small et al., 1994."""

SAN_FRANCISCO = np.array(
    [[473.0, 326.0, 30.0, 20.0 / 3.0, 282.0 / 473.0, 20.0 / 473.0, 24.0, 17.0]]
)
"""Summaries of these data, as a data set ``(1, 8)``."""


def prior(rng: np.random.Generator, size: int, burden_deviation: float = BURDEN_DEVIATION) -> Array:
    """Draw parameters ``(size, 4)``; see :func:`draw_prior`."""
    return draw_prior(rng, size, burden_deviation)[0]


PROPOSAL = (
    Uniform(1.01, 20.0),
    Uniform(0.01, 30.0),
    Uniform(0.0, 1.0),
    Normal(BURDEN_MEAN, BURDEN_DEVIATION),
)
"""Distributions of R1, t1, R2 and β before refusals; densities are relative to them."""


def log_relative(theta: Array) -> Array:
    """Return the log-density ``(m,)`` of the prior at ``(m, 4)``, relative to :data:`PROPOSAL`.

    Given β, the other three are drawn until accepted, so the density is divided by the acceptance
    rate.
    """
    most = (1.0 - (1.0 - outbreak.COMPLIANCE) * theta[:, 0]) / outbreak.COMPLIANCE
    low, accepted = 0.01 * most, _reason(theta) == len(REFUSALS)
    inside = accepted & (low < theta[:, 2]) & (theta[:, 2] < most)
    log_prior = np.full(len(theta), -np.inf)
    share = accepted_share(theta[inside, 3])
    log_prior[inside] = -np.log(0.99 * most[inside] * share)
    return log_prior


def accepted_share(burden: Array) -> Array:
    """Return the acceptance rate ``(m,)`` of tries given β ``(m,)``, from public draws.

    Observations per year are proportional to β, so draws at a single β are enough.
    """
    most = np.searchsorted(_observed_a_year(), MOST_OBSERVED / burden)
    return most / TRIES


TRIES = 400_000
"""Enough draws to estimate the acceptance rate to about one part in 1000."""


@functools.cache
def _observed_a_year() -> Array:
    """Return sorted observations per year at β = 1, without tries that are refused at any β."""
    rng = generator(0, "tuberculosis-prior")
    uniform = rng.uniform((1.01, 0.01, 0.01), (20.0, 30.0, 1.0), (TRIES, 3))
    uniform[:, 2] *= (1.0 - (1.0 - outbreak.COMPLIANCE) * uniform[:, 0]) / outbreak.COMPLIANCE
    # At such a small β there are never too many observations.
    theta = np.column_stack([uniform, np.full(TRIES, 1e-3)])
    return np.sort(balance(theta[_reason(theta) == len(REFUSALS)])[:, 2] / 1e-3)


def draw_prior(
    rng: np.random.Generator, size: int, burden_deviation: float = BURDEN_DEVIATION
) -> tuple[Array, Counts]:
    """Draw parameters ``(size, 4)`` and count refused tries by reason.

    β is normal and drawn once. R1 ~ U(1.01, 20), t1 ~ U(0.01, 30) and
    R2 ~ U(0.01, 1) · (1 − 0.05 R1) / 0.95 are drawn until 0 < m < 350 and a1 < 40, with the
    observations m of :func:`balance`. (The papers write R2 ~ U(0.01, (1 − 0.05 R1) / 0.95); this
    follows their script.)

    Args:
        rng: random generator.
        size: number of draws.
        burden_deviation: standard deviation of β, per year.

    Returns:
        The parameters, and counts ``(3,)`` of the first of :data:`REFUSALS` that applied.
    """
    theta = np.empty((size, 4))
    # The bounds are seven deviations of the wider prior away; beyond, nothing would be accepted.
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
    """Return the index ``(k,)`` of the first reason to refuse ``(k, 4)``, or the number of reasons.

    The factor of R2 ensures a balance, except for rounding.
    """
    yearly = balance(theta)[:, 2]
    reasons = (yearly <= 0.0, yearly >= MOST_OBSERVED, rates(theta)[:, 1] >= FASTEST_TRANSMISSION)
    return np.argmax([*reasons, np.ones(len(theta), dtype=bool)], axis=0)


def rates(theta: Array) -> Array:
    """Return rates per year ``(k, 5)`` for parameters ``(k, 4)``: β, a1, d1, a2, d2."""
    R1, t1, R2, burden = theta.T
    d1 = t1 / (R1 - 1.0)
    return np.column_stack([burden, t1 + d1, d1, R2 * CEASING, np.full(len(theta), CEASING)])


def balance(theta: Array) -> Array:
    """Compute the balance ``(k, 3)`` of births and deaths for parameters ``(k, 4)``.

    β new hosts arrive per year, and each host infects R1 or R2 others before it ceases to be
    infectious. At balance β / (1 − 0.05 R1 − 0.95 R2) hosts arrive and cease per year.

    Returns:
        Non-compliant hosts, compliant hosts and observations per year; negative without balance.
    """
    R1, _, R2, burden = theta.T
    compliance = outbreak.COMPLIANCE
    coming = burden / (1.0 - (1.0 - compliance) * R1 - compliance * R2)
    d1, d2 = rates(theta)[:, [2, 4]].T
    return np.column_stack(
        [(1.0 - compliance) * coming / d1, compliance * coming / d2, outbreak.OBSERVATION * coming]
    )


def simulate(rng: np.random.Generator, theta: Array, size: int) -> Array:
    """Simulate summaries ``(k, size, 8)`` of outbreaks for parameters ``(k, 4)``.

    Raises:
        ValueError: there is no balance, so the number of hosts would grow without bound.
    """
    return outbreak.simulate(rng, rates(theta), _hosts(theta), size)


def clusters(rng: np.random.Generator, theta: Array, room: int) -> Array:
    """Simulate cluster sizes ``(k, room)`` of one outbreak for each of ``(k, 4)`` parameters.

    Sizes are in descending order and rows end with zeros.

    Raises:
        ValueError: there is no balance, so the number of hosts would grow without bound.
    """
    return outbreak.clusters(rng, rates(theta), _hosts(theta), room)


def _hosts(theta: Array) -> Array:
    """Return non-compliant and compliant hosts at balance ``(k, 2)``."""
    hosts = balance(theta)
    if not (np.isfinite(hosts) & (hosts > 0.0)).all():
        raise ValueError(f"theta: must have R1 > 1, t1 > 0 and a balance; is {theta.tolist()}.")
    # A single memory layout avoids compiling twice.
    return np.ascontiguousarray(hosts[:, :2])


def observed(rng: np.random.Generator, size: int) -> tuple[Array, int]:
    """Simulate a data set ``(size, 8)`` at the truth, and count the outbreaks drawn again.

    Relative errors need shares above 0, so an outbreak with no cluster of size 1 or none of size 2
    is replaced by the next one. A larger data set begins with a smaller one.
    """
    kept, drawn = np.empty((0, len(COORDINATES))), 0
    while len(kept) < size:
        further = simulate(rng, TRUTH[None], size - len(kept))[0]
        drawn += len(further)
        kept = np.concatenate([kept, further[(further[:, 4:6] > 0.0).all(axis=1)]])
    return kept, drawn - size


@functools.cache
def observed_set(index: int, n: int, seed: int) -> tuple[Array, int]:
    """Return data set ``(n, 8)`` number ``index`` at the truth, and outbreaks drawn again."""
    return observed(generator(seed, "tuberculosis-observed", index), n)


def precomputed(
    pool_size: int, n: int, run: int, burden: str = "variance 30"
) -> tuple[Array, Array]:
    """Return the first draws ``(T, 4)`` of a shipped pool and their distances ``(T,)``.

    Args:
        pool_size: T, up to 1000.
        n: 100 or 1000 for a simulated data set, 1 for San Francisco.
        run: number of the simulated data set, 0 to 9.
        burden: one of :data:`PRIORS`.
    """
    theta, rho, first = _shipped(burden)
    if n > 1:
        return theta[:pool_size], rho[n, run][:pool_size]
    metric = distance()
    statistic = metric.statistic(SAN_FRANCISCO)
    return theta[:pool_size], metric.compare(metric.statistic(first[:pool_size, None]), statistic)


def precomputed_data(n: int, run: int) -> Array:
    """Return the data set ``(n, 8)`` of :func:`precomputed`."""
    return SAN_FRANCISCO if n == 1 else observed_set(run, n, SHIPPED_SEED)[0]


def shipped_counts(burden: str = "variance 30") -> pd.DataFrame:
    """Return counts of refused tries and redrawn outbreaks in a shipped pool: ``what, count``."""
    return _table(burden, ".counts")


def _table(burden: str, table: str) -> pd.DataFrame:
    """Read a table that ``tools/tuberculosis_pool.py`` made for a prior of β."""
    folder = f"tuberculosis/{burden.replace(' ', '-')}"
    return pd.read_csv(io.BytesIO(shipped.read(f"{folder}/tuberculosis-distances{table}.csv")))


@functools.cache
def _shipped(burden: str) -> tuple[Array, dict[tuple[int, int], Array], Array]:
    """Read draws ``(T, 4)``, (n, data set) -> distances ``(T,)``, first outbreaks ``(T, 8)``."""
    main, theta, outbreaks = (_table(burden, table) for table in ("", ".theta", ".outbreaks"))
    rho = {
        (n, number): main.rho[(main.n == n) & (main.observed_set == number)].to_numpy()
        for n in main.n.unique().tolist()
        for number in main.observed_set.unique().tolist()
    }
    # Rows are ordered by draw, then by parameter or summary.
    draws = theta.value.to_numpy().reshape(-1, len(AXES))
    return draws, rho, outbreaks.value.to_numpy().reshape(-1, len(COORDINATES))


def distance(bandwidth: float | None = None, name: str | None = None) -> Distance:  # noqa: ARG001
    """Return the mean clipped distance between paired outbreaks."""
    return ClippedOutbreaks()


SCENARIO = Scenario(
    module=__name__,
    name="tuberculosis",
    title="Tuberculosis, by outbreak",
    protected="one outbreak",
    coordinates=COORDINATES,
    axes=AXES,
    units={"R1": "", "t1": "per year", "R2": "", "β": "per year"},
    truth=TRUTH,
    prior_mean=PRIOR_MEAN,
    domain=(0.0, math.inf),
    n=Parameter(
        kind="integer",
        label="N · outbreaks",
        help="1: San Francisco. 100 and 1,000: simulated at the truth. With more outbreaks, each "
        "has less effect, so the same privacy needs less noise.",
        low=1,
        high=1000,
        options=(1, 100, 1000),
    ),
    n_default=1000,
    epsilon_abc=Parameter(
        kind="real",
        label="ε_abc · how close is close enough",
        help="A draw is kept if its distance to the data is at most this. It is a distance, not a "
        "privacy parameter.",
        low=1.0,
        high=200.0,
        steps=(1, 2, 5, 10, 20, 40, 60, 80, 100, 110, 120, 130, 140, 150, 160, 170, 180, 190, 200),
    ),
    epsilon_abc_default=150.0,
    c_default=10,
    pool_size=scale(
        "T · draws in the pool",
        "Public draws that are compared with the data, in order, until c are kept.",
        (100, 200, 500, 1000),
        low=10,
    ),
    pool_size_default=1000,
    distances=("clipped-summaries",),
    distance_axis=200.0,
    prior=prior,
    simulate=simulate,
    distance=distance,
    precomputed=precomputed,
    precomputed_data=precomputed_data,
)
