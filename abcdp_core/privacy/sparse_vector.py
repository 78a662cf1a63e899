"""Sparse vector technique: what its noise costs, and the noise a budget asks for (MATH S2, S3).

[P21] Theorem 1 with any split of the noise, threshold scale b₁ and query scale b₂:

    ε_total = Δ/b₁ + 2cΔ/b₂        threshold noise kept,
    ε_total = c (Δ/b₁ + 2Δ/b₂)     redrawn after each acceptance.

The paper takes b₁ = b and b₂ = 2b, so b = (c+1)Δ/ε_total or 2cΔ/ε_total.
"""

from __future__ import annotations

import math
from fractions import Fraction

from abcdp_core.privacy.calibration import round_up
from abcdp_core.privacy.events import SparseVector


def pure_epsilon(event: SparseVector) -> float:
    """ε_total of a run (MATH S3), rounded up; ``inf`` if a noise scale is 0."""
    if event.threshold_scale == 0 or event.query_scale == 0:
        return math.inf
    return round_up(_exact_epsilon(event))


def _exact_epsilon(event: SparseVector) -> Fraction:
    """Rational arithmetic: the scales are what they are, nothing is lost in the sum."""
    delta = Fraction(event.sensitivity)
    threshold = delta / Fraction(event.threshold_scale)
    queries = 2 * event.c * delta / Fraction(event.query_scale)
    return (event.c * threshold if event.resample else threshold) + queries


def calibrate(
    epsilon_total: float,
    sensitivity: float,
    c: int,
    *,
    resample: bool,
    threshold_share: float | None = None,
) -> SparseVector:
    """The least noise whose cost is at most ``epsilon_total``, rounded to the safe side.

    Args:
        epsilon_total: privacy budget, above 0.
        sensitivity: Δ of every query, above 0.
        c: acceptances, at least 1.
        resample: whether the threshold's noise is redrawn after each acceptance.
        threshold_share: part of the budget spent on the threshold, in (0, 1); ``None`` for the
            paper's split b₂ = 2 b₁.

    Raises:
        ValueError: an argument is out of range.
    """
    if not (0 < epsilon_total < math.inf and 0 < sensitivity < math.inf and c >= 1):
        raise ValueError("calibration needs a positive finite budget and sensitivity, and c >= 1.")
    if threshold_share is None:
        threshold_share = 0.5 if resample else 1.0 / (c + 1)
    if not 0.0 < threshold_share < 1.0:
        raise ValueError(f"threshold_share = {threshold_share}: must lie between 0 and 1.")
    redraws = c if resample else 1
    threshold_scale = redraws * sensitivity / (threshold_share * epsilon_total)
    query_scale = 2 * c * sensitivity / ((1.0 - threshold_share) * epsilon_total)
    event = SparseVector(sensitivity, threshold_scale, query_scale, c, resample)
    while _exact_epsilon(event) > Fraction(epsilon_total):
        threshold_scale = math.nextafter(threshold_scale, math.inf)
        query_scale = math.nextafter(query_scale, math.inf)
        event = SparseVector(sensitivity, threshold_scale, query_scale, c, resample)
    return event


def best_threshold_share(c: int, *, resample: bool) -> float:
    """The split with the least variance of noisy query minus noisy threshold ([LSL17]; MATH S3)."""
    queries = 2.0 ** (2 / 3) if resample else (2.0 * c) ** (2 / 3)
    return 1.0 / (1.0 + queries)
