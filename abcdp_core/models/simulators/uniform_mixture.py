"""A mixture of five uniforms with unknown weights ([P21] Section 6.1, [P22] Section 4.1).

θ ~ Dirichlet(1, 1, 1, 1, 1), and each data point is drawn from Σ_i θ_i Uniform[i − 1, i), i = 1..5.
The observed data are simulated at θ* = (0.25, 0.04, 0.33, 0.04, 0.34).
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from typing import TYPE_CHECKING

import numba
import numpy as np

from abcdp_core.base import parameters as par
from abcdp_core.base import transforms
from abcdp_core.base.arrays import Array
from abcdp_core.base.parameters import Parameter
from abcdp_core.base.statistic import DirichletCounts, Statistic, added
from abcdp_core.models.distances import Distance, maximum_mean_discrepancy
from abcdp_core.models.distances.fourier import FourierMMD
from abcdp_core.models.simulators import Scenario

PROTECTED = "one person"
AXES = {f"θ{i}": (0.0, 1.0) for i in range(1, 6)}
TRUTH = np.array([0.25, 0.04, 0.33, 0.04, 0.34])
DOMAIN = (0.0, 5.0)
N = Parameter(
    kind="integer",
    label="N · people",
    help="With more people, each one has less effect, so the same privacy needs less noise.",
    low=10,
    high=20_000,
    options=(10, 30, 100, 300, 1000, 3000, 5000, 10_000, 20_000),
)
PSEUDO_N = dataclasses.replace(
    N,
    label="People in each simulated data set",
    help="same: as many as in the data. The noise depends on the size of the data only.",
    special=("same",),
)
BANDWIDTH = 0.6


def simulated_points(n: int, pseudo_n: int | str) -> int:
    """Return the points in each simulated data set, for data of ``n`` points."""
    return n if pseudo_n == "same" else int(pseudo_n)


def prior(rng: np.random.Generator, size: int) -> Array:
    """Draw weights ``(size, 5)`` from the flat Dirichlet distribution."""
    return rng.dirichlet(np.ones(5), size)


def prior_near_edge(rng: np.random.Generator, which: int, most: float) -> Array:
    """Draw weights ``(5,)`` from the prior given that one of them is at most ``most``.

    One weight has the distribution function 1 − (1 − x)⁴; the others divide the rest by a flat
    Dirichlet draw.
    """
    others = len(AXES) - 1
    below = rng.random() * (1.0 - (1.0 - most) ** others)
    weight = 1.0 - (1.0 - below) ** (1.0 / others)
    return np.insert((1.0 - weight) * rng.dirichlet(np.ones(others)), which, weight)


def simulate(rng: np.random.Generator, theta: Array, size: int) -> Array:
    """Simulate points in [0, 5], ``(k, size, 1)`` for weights ``(k, 5)``."""
    points = rng.random((len(theta), size))
    _invert(points, np.cumsum(theta, axis=1), theta)
    return points[..., None]


@numba.njit(cache=True, nogil=True)
def _invert(points: Array, cumulative: Array, theta: Array) -> None:
    """Turn uniform numbers into points of the mixture, in place, by inversion.

    The place of a uniform number among the cumulative weights determines the component, and the
    rest of the number the place within it.
    """
    for k in range(points.shape[0]):
        for i in range(points.shape[1]):
            u = points[k, i]
            component = 0
            while component < 4 and u >= cumulative[k, component]:
                component += 1
            below = cumulative[k, component] - theta[k, component]
            inside = (u - below) / theta[k, component] if theta[k, component] > 0 else 0.0
            points[k, i] = component + min(max(inside, 0.0), 1.0)


def count(data: Array) -> Array:
    """Count the points in each component ``(..., 5)`` of data sets ``(..., n, 1)``.

    Points below 0 count in the first component, points above 5 in the last.
    """
    points = np.ascontiguousarray(data[..., 0])
    sets = math.prod(points.shape[:-1])
    counts = np.empty((sets, 5))
    _count(points.reshape(sets, points.shape[-1]), counts)
    return counts.reshape(*points.shape[:-1], 5)


@numba.njit(cache=True, nogil=True)
def _count(points: Array, counts: Array) -> None:
    """Fill counts ``(k, 5)`` of points ``(k, n)``, without branches for speed."""
    n = points.shape[1]
    for k in range(points.shape[0]):
        from_1 = from_2 = from_3 = from_4 = 0
        for i in range(n):
            point = points[k, i]
            from_1 += point >= 1.0
            from_2 += point >= 2.0
            from_3 += point >= 3.0
            from_4 += point >= 4.0
        counts[k, 0] = n - from_1
        counts[k, 1] = from_1 - from_2
        counts[k, 2] = from_2 - from_3
        counts[k, 3] = from_3 - from_4
        counts[k, 4] = from_4


FEW = 100
"""Up to this size data sets are simulated, as sums of few points are not normal."""

NEGLIGIBLE = 1e-14
"""Directions with less than this part of the largest variance are dropped."""


def reduced(rng: np.random.Generator, theta: Array, n: int) -> tuple[Array, dict[str, Array]]:
    """Draw statistics of data sets of ``n`` points without drawing the points.

    The counts in the components are multinomial. Given the counts, the statistic of the default
    distance is a sum of five means over independent points with known mean and covariance
    (:meth:`.FourierMMD.moments`), and approximately normal. Up to :data:`FEW` points are simulated.

    Args:
        rng: random generator.
        theta: weights ``(k, 5)``.
        n: points of each data set, at least 1.

    Returns:
        Statistics ``(k, D)``, and name -> numbers of each of ``STATISTICS``.
    """
    if n <= FEW:
        points = simulate(rng, theta, n)
        return distance().statistic(points), {"counts": count(points)}
    counts = rng.multinomial(n, theta / theta.sum(axis=1, keepdims=True)).astype(float)
    means, roots = _features()
    noise = rng.standard_normal((len(theta), 5, roots.shape[1])) * np.sqrt(counts)[..., None]
    parts = noise.reshape(len(theta), -1) @ roots.reshape(-1, roots.shape[-1])
    return (counts @ means + parts) / n, {"counts": counts}


@functools.cache
def _features() -> tuple[Array, Array]:
    """Return the mean ``(5, D)`` of a point's features in each component and covariance roots.

    The roots ``(5, r, D)`` have one row for each of r directions in which the features vary.
    """
    metric = maximum_mean_discrepancy(*DOMAIN, BANDWIDTH)
    assert isinstance(metric, FourierMMD)
    moments = [metric.moments(float(i), i + 1.0) for i in range(5)]
    variances, axes = np.linalg.eigh(np.array([covariance for _, covariance in moments]))
    kept = (variances > NEGLIGIBLE * variances.max()).any(axis=0)
    lengths = np.sqrt(np.maximum(variances[:, kept], 0.0))
    return np.array([mean for mean, _ in moments]), lengths[..., None] * axes.swapaxes(1, 2)[
        :, kept
    ]


def distance(bandwidth: float | None = None, name: str | None = None) -> Distance:  # noqa: ARG001
    """Return the MMD on [0, 5], exact to rounding."""
    return maximum_mean_discrepancy(*DOMAIN, BANDWIDTH if bandwidth is None else bandwidth)


def own_parameters(low: float, high: float, n: int) -> list[tuple[str, str, float, float]]:  # noqa: ARG001
    """Return name, unit, shift and scale of each share, named by its part of the domain."""
    edges = (low + np.arange(6) / 5.0 * (high - low)).tolist()
    most = LARGEST_ROUNDING * (edges[1] - edges[0])
    digits = 3
    while digits < 17 and any(abs(float(f"{edge:.{digits}g}") - edge) > most for edge in edges):
        digits += 1
    texts = [_edge(edge, digits) for edge in edges]
    return [(f"{a} to {b}", "%", 0.0, 100.0) for a, b in itertools.pairwise(texts)]


LARGEST_ROUNDING = 1e-6
"""Largest rounding of an end in the name of an interval, as a part of its width."""


def _edge(value: float, digits: int) -> str:
    """Write a number with so many digits, and with an exponent only where people use one."""
    rounded = float(f"{value:.{digits}g}")
    whole = 1000.0 <= abs(rounded) < 1e15 and rounded.is_integer()
    text = f"{rounded:.0f}" if whole else f"{value:.{digits}g}"
    return text.replace("-", "\u2212")


def from_series(values: Array) -> Array:
    """Turn numbers ``(n,)`` in the domain into data points ``(n, 1)``."""
    return values[:, None]


SCENARIO = Scenario(
    module=__name__,
    name="uniform-mixture",
    title="Five shares",
    protected=PROTECTED,
    coordinates=("value",),
    axes=AXES,
    units=dict.fromkeys(AXES, ""),
    axis_names={f"θ{i}": f"in {i - 1} to {i}" for i in range(1, 6)},
    axis_title="share of people",
    truth=TRUTH,
    prior_mean=np.full(5, 0.2),
    support=transforms.SIMPLEX,
    domain=DOMAIN,
    n=N,
    n_default=5000,
    epsilon_abc=par.EPSILON_ABC_MMD,
    epsilon_abc_default=0.1,
    c_default=10,
    pool_size=par.POOL_SIZE,
    pool_size_default=10_000,
    thresholds=(0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5),
    temperatures=(0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1),
    distances=("mmd",),
    bandwidth=BANDWIDTH,
    distance_axis=1.0,
    # Numbers that may be released: the sufficient statistic.
    statistics={
        # Replacing a point moves it to another component or changes nothing.
        "counts": Statistic.by_cases(
            ((1, 1, 0, 0, 0),),
            name="counts",
            unit=PROTECTED,
            neighbours="replace",
            names=tuple(f"points from {i} to {i + 1}" for i in range(5)),
            reduce=count,
            low=(0.0,) * 5,
            high=(math.inf,) * 5,
            whole=(1,) * 5,
            combine=added,
        ),
    },
    # The place of a point within its component carries no information about the weights.
    conjugate=DirichletCounts("counts", concentration=(1.0,) * 5),
    prior=prior,
    simulate=simulate,
    distance=distance,
    reduced=reduced,
    from_series=from_series,
    own_parameters=own_parameters,
    own_sizes=(10, 20_000),
    own_model=(
        "For the question *what share of the values lies in each interval?* The range is cut into "
        "five equal intervals. A value on the border of two belongs to the upper one. Within an "
        "interval, all values are assumed equally likely."
    ),
)

if not TYPE_CHECKING:  # Study files of 0.3.0 and before say uniform_mixture.EPSILON_ABC and others.
    __getattr__ = SCENARIO.__getattr__
