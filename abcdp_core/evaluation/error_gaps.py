"""Test whether simulated releases have the computed error.

The squared error of a release minus the one computed for its data set (MATH E6) has mean 0. The gap
of each setting is measured in standard errors, and all gaps are tested together at :data:`LEVEL`
(Bonferroni, Student's t). The computed error is within 1 % of its value (a quadrature over the
threshold's noise), so a gap of that size does not count.

If nearly all releases of a data set are equal, the others are too rare to estimate a standard
error, and the setting is not tested.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from scipy import special

from abcdp_core.base import sentences

COLUMNS = ("c", "epsilon_total", "releases", "mse", "low", "high", "expected_mse", "gap")

COMPUTED_WITHIN = 0.01
"""Relative accuracy of the computed error."""

FEWEST = 20
"""Least number of releases, and of releases that differ from the most common ones, for a test."""

LEVEL = 0.01
"""Level of the joint test of all gaps."""


def of(main: pd.DataFrame) -> pd.DataFrame:
    """Return the error of simulated releases for each c and budget, and its gap.

    Args:
        main: releases, with columns ``c, epsilon_total, run, mse, expected_mse``.

    Returns:
        One row for each setting with at least :data:`FEWEST` releases. ``low`` and ``high`` are the
        95 % interval over the noise for these data sets; ``gap`` is in standard errors, beyond the
        accuracy of the computed error. These three are NaN if fewer than :data:`FEWEST` releases
        differ from the most common error of their data set.
    """
    rows = []
    for (c, epsilon_total), part in main.groupby(["c", "epsilon_total"], sort=True):
        if len(part) < FEWEST:
            continue
        off = (part.mse - part.expected_mse).to_numpy()
        mse, expected = part.mse.mean(), part.expected_mse.mean()
        enough = _differing(part) >= FEWEST
        error = off.std(ddof=1) / math.sqrt(len(off)) if enough else math.nan
        half = special.stdtrit(len(off) - 1, 0.975) * error
        beyond = max(0.0, abs(off.mean()) - COMPUTED_WITHIN * expected)
        low = float(np.maximum(mse - half, 0.0))
        rows.append((c, epsilon_total, len(off), mse, low, mse + half, expected, beyond / error))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _differing(part: pd.DataFrame) -> int:
    """Count releases whose error differs from the most common one of their data set."""
    most_common = part.groupby("run").mse.agg(lambda errors: errors.value_counts().iloc[0])
    return len(part) - int(most_common.sum())


def allowed(table: pd.DataFrame) -> float:
    """Return the largest gap, in standard errors, that passes the joint test."""
    freedom = table.releases.min() - 1
    return float(special.stdtrit(freedom, 1.0 - LEVEL / (2 * max(table.gap.count(), 1))))


def agrees(table: pd.DataFrame) -> bool:
    """Return whether all gaps pass the joint test."""
    return not bool((table.gap > allowed(table)).any())


def in_words(table: pd.DataFrame) -> str:
    """Return the outcome of the test in one sentence."""
    each, count, tested = int(table.releases.min()), len(table), int(table.gap.count())
    where = f"each of {count} settings" if count > 1 else "one setting"
    begins = f"{sentences.counted(each, 'simulated release')} at {where}; "
    if not tested:
        return f"{begins}they are too alike to test."
    agreement = "no difference from the curves was found"
    verdict = agreement if agrees(table) else "they differ from the curves"
    which = f" of {tested}, as the others are too alike," if tested < count else ""
    return f"{begins}{verdict} (joint test{which} at the 1 % level)."
