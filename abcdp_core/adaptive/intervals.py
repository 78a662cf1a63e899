r"""The interval whose responses tell most about location and scale (MATH A4).

For a location-scale family the best interval $[a, b]$ of the base distribution serves every $\mu$
and $\sigma$: $l = \mu + \sigma a$, $r = \mu + \sigma b$. What "most" means is a score of the
information $F$ about $(\mu, \sigma)$ at $(0, 1)$:

$$F_{11}, \quad F_{22}, \quad F_{11} + F_{22}, \quad \det F, \quad (1 - w) F_{11} + w F_{22}.
\tag{A4}$$

The information is exact, so its maximiser is found by looking at a coarse grid and then closer and
closer around the best point. Families are symmetric, so every interval has a mirror image that
tells the same; the one whose centre is not negative is taken.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from abcdp_core.adaptive.families import FAMILIES
from abcdp_core.adaptive.information import NOISES, monte_carlo
from abcdp_core.streams import generator

Array = NDArray[np.float64]

NARROWEST = 5e-5
"""Smallest half-width. A score that only grows as the interval closes has its maximum here, where
it differs from the limit by less than 1e-4 of it."""

WIDEST = 20.0
"""Largest half-width."""

FARTHEST = 6.0
"""Largest centre that is looked at."""

PRECISION = 1e-7
"""The search ends when it knows centre and logarithm of the half-width to this."""

TIE = 1e-12
"""Relative difference of scores that counts as none; the symmetric interval wins such a tie."""

PAPER_HALF_WIDTHS = {1.0: 0.06, 2.0: 0.12, 5.0: 0.54, 10.0: 0.96}
"""ε_total -> half-width that [Y23] reports as best for F₁₁, the normal family and Laplace noise."""

PAPER_STEP, PAPER_COUNT = 0.06, 51
"""The half-widths that the paper's script searches: multiples of 0.06."""

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
    """The best interval and what it tells.

    Attributes:
        a, b: its ends, in units of σ from μ.
        information: Fisher information ``(2, 2)`` about (μ, σ) at (0, 1), per person.
        score: what was maximised.
    """

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
    """The interval with the largest score (MATH A4).

    Args:
        unit_scale: scale of the noise per unit of width, above 0.
        noise: name in :data:`abcdp_core.adaptive.information.NOISES`.
        family: name in :data:`abcdp_core.adaptive.families.FAMILIES`.
        score: name in :data:`SCORES`.
        symmetric: look at [-h, h] only.
        weight: of σ in the score ``weights``, in [0, 1].
    """

    def value(centre: Array, log_half: Array) -> Array:
        half = np.exp(log_half)
        F = NOISES[noise].information(FAMILIES[family], centre - half, centre + half, unit_scale)
        return SCORES[score](F, weight)

    limits = np.array([[0.0, 0.0 if symmetric else FARTHEST], np.log([NARROWEST, WIDEST])])
    centre, log_half = _closer(value, *_coarse(value, limits), limits)
    half = math.exp(log_half)
    F = NOISES[noise].information(FAMILIES[family], centre - half, centre + half, unit_scale)
    F.flags.writeable = False
    return Best(centre - half, centre + half, F, float(SCORES[score](F, weight)))


def searched(
    seed: int, draws: int, unit_scale: float, noise: str, family: str, score: str, weight: float
) -> tuple[float, float]:
    """The paper's search: half-width and score of the best of 51 noisy estimates.

    Args:
        seed: root seed.
        draws: responses per interval, and values weighted for each.
        unit_scale, noise, family, score, weight: as in :func:`best`.
    """
    halves = PAPER_STEP * np.arange(1, PAPER_COUNT + 1)
    estimates = [
        monte_carlo(
            generator(seed, "information", number),
            NOISES[noise],
            FAMILIES[family],
            (-half, half),
            unit_scale,
            draws,
            2 * (draws // 2),
        ).information
        for number, half in enumerate(halves.tolist())
    ]
    values = SCORES[score](np.array(estimates), weight)
    return float(halves[values.argmax()]), float(values.max())


Value = Callable[[Array, Array], Array]


def _coarse(value: Value, limits: Array) -> tuple[Array, Array]:
    """Best point of a grid over the limits ``(2, 2)``, and the grid's steps."""
    centres = np.unique(np.linspace(limits[0, 0], limits[0, 1], 25))
    log_halves = np.linspace(limits[1, 0], limits[1, 1], 25)
    # One width at a time: wide intervals need many more panels than narrow ones.
    values = np.stack([value(centres, np.full_like(centres, w)) for w in log_halves], axis=1)
    row, column = np.unravel_index(np.argmax(values), values.shape)
    return np.array([centres[row], log_halves[column]]), np.array(limits[:, 1] - limits[:, 0]) / 24


def _closer(value: Value, point: Array, reach: Array, limits: Array) -> tuple[float, float]:
    """Look around the point on finer and finer grids, more slowly while the best is at an edge."""
    while reach.max() > PRECISION:
        axes = [
            np.unique(np.clip(p + r * np.linspace(-1.0, 1.0, 9), *limit))
            for p, r, limit in zip(point, reach, limits, strict=True)
        ]
        grid = np.meshgrid(*axes, indexing="ij")
        values = value(*grid)
        found = np.array([g.flat[np.argmax(values)] for g in grid])
        at_edge = np.abs(found - point) > 0.99 * reach
        # Some refinement at an edge too: where all is flat to rounding the best wanders for ever.
        reach = (0.8 if at_edge.any() else 0.4) * reach
        point = found
    on_axis = point * [0.0, 1.0]
    if value(*on_axis) >= (1.0 - TIE) * value(*point):
        point = on_axis
    return float(point[0]), float(point[1])
