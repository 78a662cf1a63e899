"""A mixture of five uniforms with unknown weights ([P21] Section 6.1, [P22] Section 4.1).

θ ~ Dirichlet(1, 1, 1, 1, 1); each data point is drawn from Σ_i θ_i Uniform[i − 1, i), i = 1..5.
The observed data are synthetic: drawn from θ* = (0.25, 0.04, 0.33, 0.04, 0.34).
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math

import numba
import numpy as np
from numpy.typing import NDArray

from abcdp_core import parameters as par
from abcdp_core import transforms
from abcdp_core.distances import Distance, maximum_mean_discrepancy
from abcdp_core.distances.fourier import FourierMMD
from abcdp_core.parameters import Parameter
from abcdp_core.statistic import DirichletCounts, Statistic, added

Array = NDArray[np.float64]

SCENARIO = "uniform-mixture"
TITLE = "Mixture of five uniforms"
PROTECTED = "one of the N points"
COORDINATES = ("value",)
AXES = {f"θ{i}": (0.0, 1.0) for i in range(1, 6)}
UNITS = dict.fromkeys(AXES, "")
TRUTH = np.array([0.25, 0.04, 0.33, 0.04, 0.34])
PRIOR_MEAN = np.full(5, 0.2)
SUPPORT = transforms.SIMPLEX
DOMAIN = (0.0, 5.0)
OBSERVED = None
N = Parameter(
    kind="integer",
    label="N · points in the private data",
    help="More people: one of them matters less, so the same privacy needs less noise.",
    low=10,
    high=20_000,
    options=(10, 30, 100, 300, 1000, 3000, 5000, 10_000, 20_000),
)
N_DEFAULT = 5000
PSEUDO_N = dataclasses.replace(
    N,
    label="Points in each simulated data set",
    help="same: as many as the data have. Noise follows the size of the data, whatever this is.",
    special=("same",),
)
EPSILON_ABC = par.EPSILON_ABC_MMD
EPSILON_ABC_DEFAULT = 0.1
THRESHOLDS = (0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5)
TEMPERATURES = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)
C_DEFAULT = 10
POOL_SIZE = par.POOL_SIZE
POOL_SIZE_DEFAULT = 10_000
DISTANCES = ("mmd",)
BANDWIDTH = 0.6
DISTANCE_AXIS = 1.0
OWN_SIZES = (10, 20_000)
OWN_MODEL = (
    "For the question *what share of the values lies where?* The range is cut into five equal "
    "intervals, and a value where two of them meet belongs to the upper one; within each, all "
    "values are taken for equally likely."
)


def simulated_points(n: int, pseudo_n: int | str) -> int:
    """Points in each simulated data set, for data of ``n`` points and a choice of PSEUDO_N."""
    return n if pseudo_n == "same" else int(pseudo_n)


def prior(rng: np.random.Generator, size: int) -> Array:
    """Weights ``(size, 5)`` from the flat Dirichlet distribution."""
    return rng.dirichlet(np.ones(5), size)


def prior_near_edge(rng: np.random.Generator, which: int, most: float) -> Array:
    """Draw weights ``(5,)`` from the prior given that one of them is at most ``most``.

    A weight of the flat Dirichlet distribution has the distribution function 1 − (1 − x)⁴, and the
    others are a flat Dirichlet draw of the rest.
    """
    others = len(AXES) - 1
    below = rng.random() * (1.0 - (1.0 - most) ** others)
    weight = 1.0 - (1.0 - below) ** (1.0 / others)
    return np.insert((1.0 - weight) * rng.dirichlet(np.ones(others)), which, weight)


def simulate(rng: np.random.Generator, theta: Array, size: int) -> Array:
    """Points in [0, 5]: ``(k, size, 1)`` for weights ``(k, 5)``."""
    points = rng.random((len(theta), size))
    _invert(points, np.cumsum(theta, axis=1), theta)
    return points[..., None]


@numba.njit(cache=True, nogil=True)
def _invert(points: Array, cumulative: Array, theta: Array) -> None:
    """Turn uniform numbers into draws of the mixture, in place, by inversion.

    Where a uniform number falls among the cumulative weights tells the component, and how far into
    it tells the place: one random number per point.
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
    """Points in each component ``(..., 5)`` of data sets ``(..., n, 1)``.

    Every point is in exactly one, whatever it is: below 0 in the first, above 5 in the last.
    """
    points = np.ascontiguousarray(data[..., 0])
    sets = math.prod(points.shape[:-1])
    counts = np.empty((sets, 5))
    _count(points.reshape(sets, points.shape[-1]), counts)
    return counts.reshape(*points.shape[:-1], 5)


@numba.njit(cache=True, nogil=True)
def _count(points: Array, counts: Array) -> None:
    """Fill counts ``(k, 5)`` of points ``(k, n)``: without branches, a quarter of a ns a point."""
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


STATISTICS = {
    # A point that is replaced is one more here and one less there, or none.
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
}
"""What may be released: the sufficient statistic."""

CONJUGATE = DirichletCounts("counts", concentration=(1.0,) * 5)
"""Where a point lies within its component says nothing of the weights."""


FEW = 100
"""Points up to which data sets are simulated: few in a component are no normal sum."""

NEGLIGIBLE = 1e-14
"""Part of the largest variance below which a direction of a component's features has none."""


def reduced(rng: np.random.Generator, theta: Array, n: int) -> tuple[Array, dict[str, Array]]:
    """Statistics of data sets of ``n`` points, drawn without their points.

    How many points fall into each component is multinomial. Given that, the statistic of the
    default distance, a mean over all points, is a sum of five means over independent points whose
    mean and covariance are known (:meth:`.FourierMMD.moments`): normal but for a difference that
    falls with the number of points. Up to :data:`FEW` points they are simulated.

    Args:
        rng: source of all chance.
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
    """Mean ``(5, D)`` of a point's features in each component, and roots of their covariance.

    The roots ``(5, r, D)`` have one row for each of r directions in which the features vary.
    """
    metric = maximum_mean_discrepancy(*DOMAIN, BANDWIDTH)
    assert isinstance(metric, FourierMMD)
    found = [metric.moments(float(i), i + 1.0) for i in range(5)]
    variances, axes = np.linalg.eigh(np.array([covariance for _, covariance in found]))
    kept = (variances > NEGLIGIBLE * variances.max()).any(axis=0)
    lengths = np.sqrt(np.maximum(variances[:, kept], 0.0))
    return np.array([mean for mean, _ in found]), lengths[..., None] * axes.swapaxes(1, 2)[:, kept]


def distance(bandwidth: float | None = None, name: str | None = None) -> Distance:  # noqa: ARG001
    """The MMD on [0, 5], exact to rounding."""
    return maximum_mean_discrepancy(*DOMAIN, BANDWIDTH if bandwidth is None else bandwidth)


def own_parameters(low: float, high: float, n: int) -> list[tuple[str, str, float, float]]:  # noqa: ARG001
    """Shares in per cent, each called by its interval of a domain from ``low`` to ``high``."""
    edges = (low + np.arange(6) / 5.0 * (high - low)).tolist()
    width = edges[1] - edges[0]
    digits = next((d for d in range(3, 17) if _rounding(edges, d) <= NO_MORE * width), 17)
    said = [_edge(edge, digits) for edge in edges]
    return [(f"{a} to {b}", "%", 0.0, 100.0) for a, b in itertools.pairwise(said)]


NO_MORE = 1e-6
"""Part of an interval by which its ends may be rounded where it is named by them."""


def _rounding(values: list[float], digits: int) -> float:
    """The most by which so many digits are off."""
    return max(abs(float(f"{value:.{digits}g}") - value) for value in values)


def _edge(value: float, digits: int) -> str:
    """A number with so many digits; without an exponent where people write none."""
    rounded = float(f"{value:.{digits}g}")
    whole = 1000.0 <= abs(rounded) < 1e15 and rounded.is_integer()
    text = f"{rounded:.0f}" if whole else f"{value:.{digits}g}"
    return text.replace("-", "\u2212")


def from_series(values: Array) -> Array:
    """Numbers ``(n,)`` in the domain as data points ``(n, 1)``."""
    return values[:, None]
