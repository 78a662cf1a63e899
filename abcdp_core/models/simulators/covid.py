r"""Confirmed COVID-19 cases in the Netherlands, spring 2020 ([P21] Section 6.2).

The model is a deterministic polynomial in the day:

$$y(t) = a_3 + a_2 t + a_1 t^2 + a_0 t^3, \qquad a_i \sim N(0, 1), \quad t = 0, \dots, 17.$$

The observed series is published: cumulative confirmed cases on 18 days. (The paper dates it from 27
February to 17 March, which is 20 days, and describes the counts as people positive at each time.) A
data point is one day's national count, so differential privacy protects a *day*, not a person.

Both distances are MMDs. ``values``, the paper's, compares the *set* of 18 counts and ignores their
days. ``pairs`` compares the set of (day, count) pairs, with days in units of :data:`DAY_BANDWIDTH`.
"""

from __future__ import annotations

import numpy as np

from abcdp_core.base import parameters as par
from abcdp_core.base.arrays import Array
from abcdp_core.base.parameters import Parameter
from abcdp_core.models.distances import Distance
from abcdp_core.models.distances.columns import Columns
from abcdp_core.models.distances.kernel import median_bandwidth
from abcdp_core.models.distances.quadratic import QuadraticMMD
from abcdp_core.models.simulators import Scenario

CASES = np.array(
    [1, 7, 10, 24, 38, 82, 128, 188, 265, 321, 382, 503, 614, 804, 959, 1135, 1413, 1705],
    dtype=float,
)  # fmt: skip
"""Cumulative confirmed cases, day by day."""

LAST_DAY = 17.0

DOMAIN = (0.0, 5000.0)
DISTANCES = ("values", "pairs")
BANDWIDTH = 1000.0
"""Near 950, the median distance between two counts simulated from the prior (MATH M6)."""

DAY_BANDWIDTH = 6.0
"""The median distance between two of the 18 days."""


def prior(rng: np.random.Generator, size: int) -> Array:
    """Draw coefficients ``(size, 4)``, the cubic one first."""
    return rng.normal(size=(size, 4))


def simulate(rng: np.random.Generator, theta: Array, size: int) -> Array:  # noqa: ARG001
    """Compute pairs of day and count ``(k, size, 2)``, with days spread over the series."""
    return with_days(curves(theta, days(size)))


def days(size: int) -> Array:
    """Return equally spaced days ``(size,)`` from 0 to 17."""
    return np.linspace(0.0, LAST_DAY, size)


def curves(theta: Array, day: Array) -> Array:
    """Compute counts ``(k, n)`` on days ``(n,)`` for coefficients ``(k, 4)``."""
    return theta @ np.vander(day, 4).T


def with_days(counts: Array) -> Array:
    """Turn counts ``(..., n)`` into data points ``(..., n, 2)``."""
    return np.stack(np.broadcast_arrays(days(counts.shape[-1]), counts), axis=-1)


def distance(bandwidth: float | None = None, name: str | None = None) -> Distance:
    """Return the distance ``values`` or ``pairs``, with the bandwidth in cases.

    Raises:
        KeyError: the distance is unknown.
    """
    value = (1, BANDWIDTH if bandwidth is None else bandwidth)
    units = {"values": (value,), "pairs": ((0, DAY_BANDWIDTH), value)}[name or DISTANCES[0]]
    return Columns(QuadraticMMD(1.0, len(units)), units)


def script_bandwidth() -> float:
    """Return the published script's bandwidth: a median of *private* counts, so not private."""
    return median_bandwidth(CASES[:, None])


def own_parameters(low: float, high: float, n: int) -> list[tuple[str, str, float, float]]:
    """Return name, unit, shift and scale of each coefficient for a series of ``n`` rows."""
    scale, step = (high - low) / (DOMAIN[1] - DOMAIN[0]), LAST_DAY / (n - 1)
    return [
        ("the cubic term", "per row³", 0.0, scale * step**3),
        ("the quadratic term", "per row²", 0.0, scale * step**2),
        ("the slope in the first row", "per row", 0.0, scale * step),
        ("the value in the first row", "", low, scale),
    ]


def from_series(values: Array) -> Array:
    """Turn numbers ``(n,)`` in the domain into data points ``(n, 2)``, one per day."""
    return with_days(values)


SCENARIO = Scenario(
    module=__name__,
    name="covid",
    title="COVID-19, by day",
    protected="one day's national count, not a person",
    coordinates=("day", "value"),
    axes={f"a{i}": (-4.0, 4.0) for i in range(4)},
    units={"a0": "cases/day³", "a1": "cases/day²", "a2": "cases/day", "a3": "cases"},
    prior_mean=np.zeros(4),
    domain=DOMAIN,
    observed=with_days(CASES),
    n=Parameter(
        kind="integer",
        label="N · days in the series",
        help="The published series has only 18 days, so one day has a large effect.",
        low=18,
        high=18,
        options=(18,),
    ),
    n_default=18,
    epsilon_abc=par.EPSILON_ABC_MMD,
    epsilon_abc_default=0.1,
    c_default=5,
    pool_size=par.POOL_SIZE,
    pool_size_default=50_000,
    distances=DISTANCES,
    bandwidth=BANDWIDTH,
    distance_axis=1.0,
    prior=prior,
    simulate=simulate,
    distance=distance,
    from_series=from_series,
    own_parameters=own_parameters,
    own_sizes=(4, 100),
    own_model=(
        "For a series in time order: a smooth curve (a cubic) through all rows. Your range is "
        "treated like 0 to 5000 cases in 18 days, as in the Netherlands in 2020."
    ),
)
