r"""The most informative interval about location and scale (MATH A4).

For a location-scale family the best interval $[a, b]$ of the base distribution serves every $\mu$
and $\sigma$: $l = \mu + \sigma a$, $r = \mu + \sigma b$. It maximizes a score of the information
$F$ about $(\mu, \sigma)$ at $(0, 1)$:

$$F_{11}, \quad F_{22}, \quad F_{11} + F_{22}, \quad \det F, \quad (1 - w) F_{11} + w F_{22}.
\tag{A4}$$

The search evaluates the exact information on a coarse grid, then on finer and finer grids around
the best point. Families are symmetric, so every interval has an equally informative mirror image;
the result is the one whose center is not negative.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from abcdp_core.adaptive.families import FAMILIES
from abcdp_core.adaptive.information import NOISES, monte_carlo
from abcdp_core.base.arrays import Array
from abcdp_core.base.streams import generator

NARROWEST = 5e-5
"""Smallest half-width; a score that grows as the interval closes is within 1e-4 of its limit."""

WIDEST = 20.0
"""Largest half-width."""

FARTHEST = 6.0
"""Largest center searched."""

PRECISION = 1e-7
"""Precision of the search, for the center and the log half-width."""

TIE = 1e-12
"""Relative difference of scores that counts as a tie, which the symmetric interval wins."""

PAPER_HALF_WIDTHS = {1.0: 0.06, 2.0: 0.12, 5.0: 0.54, 10.0: 0.96}
"""ε_total -> best half-width for F₁₁, the normal family and Laplace noise according to [Y23]."""

PAPER_STEP, PAPER_COUNT = 0.06, 51
"""Half-widths that the paper's script searches: multiples of 0.06."""

SCORES: dict[str, Callable[[Array, float], Array]] = {
    "mu": lambda F, _: F[..., 0, 0],
    "sigma": lambda F, _: F[..., 1, 1],
    "trace": lambda F, _: F[..., 0, 0] + F[..., 1, 1],
    "determinant": lambda F, _: F[..., 0, 0] * F[..., 1, 1] - F[..., 0, 1] ** 2,
    "weights": lambda F, w: (1.0 - w) * F[..., 0, 0] + w * F[..., 1, 1],
}
"""Name -> score ``(...)`` of an information ``(..., 2, 2)`` and the weight w of σ, in [0, 1]."""


@dataclass(frozen=True, eq=False)
class Best:
    """The best interval [a, b] in σ from μ, its information ``(2, 2)`` at (0, 1) and score."""

    a: float
    b: float
    information: Array
    score: float


@functools.lru_cache(maxsize=1024)
def best(
    unit_scale: float,
    noise: str = "laplace",
    family: str = "normal",
    score: str = "mu",
    symmetric: bool = True,
    weight: float = 0.5,
) -> Best:
    """Find the interval with the largest score (MATH A4).

    Args:
        unit_scale: scale of the noise per unit of width, above 0.
        noise: name in :data:`abcdp_core.adaptive.information.NOISES`.
        family: name in :data:`abcdp_core.adaptive.families.FAMILIES`.
        score: name in :data:`SCORES`.
        symmetric: whether to search only [-h, h].
        weight: of σ in the score ``weights``, in [0, 1].
    """

    def information(center: Array | float, half: Array | float) -> Array:
        return NOISES[noise].information(FAMILIES[family], center - half, center + half, unit_scale)

    def value(center: Array, log_half: Array) -> Array:
        return SCORES[score](information(center, np.exp(log_half)), weight)

    limits = np.array([[0.0, 0.0 if symmetric else FARTHEST], np.log([NARROWEST, WIDEST])])
    center, log_half = _closer(value, *_coarse(value, limits), limits)
    half = math.exp(log_half)
    F = information(center, half)
    F.flags.writeable = False
    return Best(center - half, center + half, F, float(SCORES[score](F, weight)))


def searched(
    seed: int, draws: int, unit_scale: float, noise: str, family: str, score: str, weight: float
) -> tuple[float, float]:
    """Repeat the paper's search; return half-width and score of the best of 51 noisy estimates.

    Args:
        seed: root seed.
        draws: responses per interval, and values weighted for each.
        unit_scale, noise, family, score, weight: as in :func:`best`.
    """
    halves = PAPER_STEP * np.arange(1, PAPER_COUNT + 1)
    drawn, estimates = (NOISES[noise], FAMILIES[family]), []
    for number, half in enumerate(halves.tolist()):
        rng, inner = generator(seed, "information", number), 2 * (draws // 2)
        estimate = monte_carlo(rng, *drawn, (-half, half), unit_scale, draws, inner)
        estimates.append(estimate.information)
    values = SCORES[score](np.array(estimates), weight)
    return float(halves[values.argmax()]), float(values.max())


Value = Callable[[Array, Array], Array]


def _coarse(value: Value, limits: Array) -> tuple[Array, Array]:
    """Return the best point of a grid over the limits ``(2, 2)``, and the grid's steps."""
    centers = np.unique(np.linspace(limits[0, 0], limits[0, 1], 25))
    log_halves = np.linspace(limits[1, 0], limits[1, 1], 25)
    # One width at a time: wide intervals need many more panels than narrow ones.
    values = np.stack([value(centers, np.full_like(centers, w)) for w in log_halves], axis=1)
    row, column = np.unravel_index(np.argmax(values), values.shape)
    return np.array([centers[row], log_halves[column]]), np.array(limits[:, 1] - limits[:, 0]) / 24


def _closer(value: Value, point: Array, reach: Array, limits: Array) -> tuple[float, float]:
    """Search around a point on finer and finer grids, more slowly while the best is at an edge."""
    while reach.max() > PRECISION:
        axes = [
            np.unique(np.clip(p + r * np.linspace(-1.0, 1.0, 9), *limit))
            for p, r, limit in zip(point, reach, limits, strict=True)
        ]
        grid = np.meshgrid(*axes, indexing="ij")
        values = value(*grid)
        best = np.array([g.flat[np.argmax(values)] for g in grid])
        at_edge = np.abs(best - point) > 0.99 * reach
        # Refined at an edge too, or the best would wander forever where all is flat to rounding.
        reach = (0.8 if at_edge.any() else 0.4) * reach
        point = best
    on_axis = point * [0.0, 1.0]
    if value(*on_axis) >= (1.0 - TIE) * value(*point):
        point = on_axis
    return float(point[0]), float(point[1])
