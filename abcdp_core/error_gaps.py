"""Do simulated releases have the error that is computed?

The mean squared error of a release less the one that was computed for its data set (MATH E6) has
the mean 0, whatever the data. So the gap of each setting is measured in its own standard errors,
and all gaps are tested together at :data:`LEVEL` (Bonferroni, Student's t). What is computed is
within 1 % of its value (the quadrature over the threshold's noise), and so much is no gap.
"""

from __future__ import annotations

import math

import pandas as pd
from scipy import stats

from abcdp_core import sentences

COLUMNS = ("c", "epsilon_total", "releases", "mse", "low", "high", "expected_mse", "gap")

COMPUTED_WITHIN = 0.01
"""Relative error of what is computed."""

FEWEST = 20
"""Fewer releases tell nothing."""

LEVEL = 0.01
"""Of the joint test of all gaps."""


def of(main: pd.DataFrame) -> pd.DataFrame:
    """What the releases of each c and budget have for an error, and how far that is off.

    Args:
        main: releases, as columns ``c, epsilon_total, mse, expected_mse``.

    Returns:
        A row for each with at least :data:`FEWEST`; ``low`` and ``high`` are the ends of the 95 %
        interval for the noise, with the data sets as they are; ``gap`` is in standard errors,
        beyond what is computed to, and 0 where all releases are the same, which tell nothing.
    """
    rows = []
    for (c, epsilon_total), part in main.groupby(["c", "epsilon_total"], sort=True):
        if len(part) < FEWEST:
            continue
        off = (part.mse - part.expected_mse).to_numpy()
        mse, expected = part.mse.mean(), part.expected_mse.mean()
        error = off.std(ddof=1) / math.sqrt(len(off))
        half = stats.t.ppf(0.975, len(off) - 1) * error
        beyond = max(0.0, abs(off.mean()) - COMPUTED_WITHIN * expected)
        gap = beyond / error if error else 0.0
        rows.append(
            (c, epsilon_total, len(off), mse, max(mse - half, 0.0), mse + half, expected, gap)
        )
    return pd.DataFrame(rows, columns=list(COLUMNS))


def allowed(table: pd.DataFrame) -> float:
    """The largest gap, in standard errors, that the joint test lets pass."""
    freedom = table.releases.min() - 1
    return float(stats.t.ppf(1.0 - LEVEL / (2 * len(table)), freedom))


def agrees(table: pd.DataFrame) -> bool:
    """Whether no gap is too large for chance."""
    return bool(table.gap.max() <= allowed(table))


def in_words(table: pd.DataFrame) -> str:
    """What came of it."""
    each, count = int(table.releases.min()), len(table)
    verdict = "agree" if agrees(table) else "do not agree"
    return (
        f"{sentences.counted(each, 'simulated release')} at each of {count} settings; they "
        f"{verdict} (joint test at 1 %)."
    )
