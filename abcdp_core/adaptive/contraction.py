r"""Whether the answers have told anything about σ, or its posterior is still the prior.

At a small $\epsilon_{total}$ an answer tells next to nothing about $\sigma$ (MATH A4), and a
posterior of $1.9 \pm 1.0$ is then the prior's own. So beside each posterior of $\sigma$ stands its
*width*: the standard deviation of $\log\sigma$ as a share of the prior's, which for
$\sigma^2 \sim \mathrm{InvGamma}(a, b)$ is $\tfrac12\sqrt{\psi'(a)}$. On the scale of $\log\sigma$
neither $b$ nor the unit of the values plays a part. N particles tell a standard deviation to about
$1/\sqrt N$ of it, so a narrowing by less than twice that counts as none.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from abcdp_core.adaptive.prior import Prior

Array = NDArray[np.float64]

LEARNT = 0.5
"""σ counts as learnt once the posterior of log σ is narrower than the prior by this share."""


def width(spread: float, prior: Prior) -> float:
    """Standard deviation of log σ as a share of the prior's; 0 for a known σ."""
    return spread / prior.sd_log_sigma if prior.sigma is None else 0.0


def narrower(widths: ArrayLike, particles: int | None) -> Array:
    """By which share each posterior is narrower than the prior ``(k,)``; 0 where that is unclear.

    Args:
        widths: standard deviations of log σ as shares of the prior's, ``(k,)``.
        particles: that they come from; ``None`` where nothing is random, as on the grid.
    """
    gained = 1.0 - np.asarray(widths, dtype=float)
    unclear = 0.0 if particles is None else 2.0 / math.sqrt(particles)
    return np.where(gained > unclear, gained, 0.0)


def words(gained: float) -> str:
    """How much narrower the posterior of log σ is than the prior, to follow "log σ"."""
    percent = math.floor(100.0 * gained + 1e-9)
    if percent < 1:
        return "not clearly narrower than its prior"
    return f"{'only ' if gained < LEARNT else ''}{percent} % narrower than its prior"
