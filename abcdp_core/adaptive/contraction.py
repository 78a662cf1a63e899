r"""How much narrower the posterior of σ is than its prior.

At a small $\epsilon_{total}$ an answer carries almost no information about $\sigma$ (MATH A4), and
its posterior remains the prior. The *width* of a posterior is its standard deviation of
$\log\sigma$ as a share of the prior's, which is $\tfrac12\sqrt{\psi'(a)}$ for
$\sigma^2 \sim \mathrm{InvGamma}(a, b)$, whatever $b$ and the unit of the values. N particles
estimate a standard deviation to about $1/\sqrt N$ of it, so a narrowing by less than twice that
counts as none.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from abcdp_core.adaptive.prior import Prior
from abcdp_core.base.arrays import Array

LEARNT = 0.5
"""σ counts as learned once the posterior of log σ is narrower than the prior by this share."""


def width(spread: float, prior: Prior) -> float:
    """Return the standard deviation of log σ as a share of the prior's; 0 for a known σ."""
    return spread / prior.sd_log_sigma if prior.sigma is None else 0.0


def narrower(widths: ArrayLike, particles: int | None) -> Array:
    """Return by which share each posterior is narrower than its prior ``(k,)``; 0 if unclear.

    Args:
        widths: standard deviations of log σ as shares of the prior's, ``(k,)``.
        particles: number of particles behind them; ``None`` on the grid, which is exact.
    """
    gained = 1.0 - np.asarray(widths, dtype=float)
    unclear = 0.0 if particles is None else 2.0 / math.sqrt(particles)
    return np.where(gained > unclear, gained, 0.0)


def words(gained: float) -> str:
    """Say how much narrower the posterior is than the prior, to follow "is"."""
    percent = math.floor(100.0 * gained + 1e-9)
    if percent < 1:
        return "not clearly narrower than its prior"
    return f"{'only ' if gained < LEARNT else ''}{percent} % narrower than its prior"
