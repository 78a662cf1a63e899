"""Do simulated releases have the error that is computed?

The mean squared error of a release less the one that was computed for its data set (MATH E6) has
the mean 0, whatever the data. So the gap of each setting is measured in its own standard errors,
and all gaps are tested together at :data:`LEVEL` (Bonferroni, Student's t). What is computed is
within 1 % of its value (the quadrature over the threshold's noise), and so much is no gap.

Where nearly all releases of a data set are the same, the others are too rare for their spread to
tell a standard error: such a setting is not tested.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from scipy import special

from abcdp_core import sentences

COLUMNS = ("c", "epsilon_total", "releases", "mse", "low", "high", "expected_mse", "gap")

COMPUTED_WITHIN = 0.01
"""Relative error of what is computed."""

FEWEST = 20
"""Fewer releases tell nothing, and neither do fewer that differ from the most common ones."""

LEVEL = 0.01
"""Of the joint test of all gaps."""


def of(main: pd.DataFrame) -> pd.DataFrame:
    """What the releases of each c and budget have for an error, and how far that is off.

    Args:
        main: releases, as columns ``c, epsilon_total, run, mse, expected_mse``.

    Returns:
        A row for each with at least :data:`FEWEST`; ``low`` and ``high`` are the ends of the 95 %
        interval for the noise, with the data sets as they are; ``gap`` is in standard errors,
        beyond what is computed to. These three are NaN where fewer than :data:`FEWEST` releases
        differ from the most common error of their data set.
    """
    rows = []
    for (c, epsilon_total), part in main.groupby(["c", "epsilon_total"], sort=True):
        if len(part) < FEWEST:
            continue
        off = (part.mse - part.expected_mse).to_numpy()
        mse, expected = part.mse.mean(), part.expected_mse.mean()
        tells = _differing(part) >= FEWEST
        error = off.std(ddof=1) / math.sqrt(len(off)) if tells else math.nan
        half = special.stdtrit(len(off) - 1, 0.975) * error
        beyond = max(0.0, abs(off.mean()) - COMPUTED_WITHIN * expected)
        low = float(np.maximum(mse - half, 0.0))
        rows.append((c, epsilon_total, len(off), mse, low, mse + half, expected, beyond / error))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _differing(part: pd.DataFrame) -> int:
    """How many releases have another error than the most common one of their data set."""
    most_common = part.groupby("run").mse.agg(lambda errors: errors.value_counts().iloc[0])
    return len(part) - int(most_common.sum())


def allowed(table: pd.DataFrame) -> float:
    """The largest gap, in standard errors, that the joint test lets pass."""
    freedom = table.releases.min() - 1
    return float(special.stdtrit(freedom, 1.0 - LEVEL / (2 * max(table.gap.count(), 1))))


def agrees(table: pd.DataFrame) -> bool:
    """Whether no gap is too large for chance."""
    return not bool((table.gap > allowed(table)).any())


def in_words(table: pd.DataFrame) -> str:
    """What came of it."""
    each, count, tested = int(table.releases.min()), len(table), int(table.gap.count())
    begins = f"{sentences.counted(each, 'simulated release')} at each of {count} settings; "
    if not tested:
        return f"{begins}they are too alike to test."
    verdict = "agree" if agrees(table) else "do not agree"
    where = f" of {tested}, as the others are too alike," if tested < count else ""
    return f"{begins}they {verdict} (joint test{where} at 1 %)."
