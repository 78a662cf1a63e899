"""Tables of weighted samples, with a row for each parameter of each draw."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from abcdp_core.base.arrays import Array

SHOWN = 2000  # Largest number of draws in a table


def table(parameters: Collection[str], sample: Array, weights: Array, **of: object) -> pd.DataFrame:
    """Tabulate a sample: the columns of ``of``, then sample, parameter, value and weight.

    Args:
        parameters: names of the ``d`` parameters.
        sample: draws ``(k, d)``.
        weights: weights of the draws ``(k,)``.
        of: columns with the same value in all rows, such as the release.
    """
    columns = {
        "sample": np.repeat(np.arange(len(sample)), len(parameters)),
        "parameter": np.tile(np.array(list(parameters)), len(sample)),
        "value": sample.ravel(),
        "weight": np.repeat(weights, len(parameters)),
    }
    return pd.DataFrame({**of, **columns})


def thinned(weights: Array) -> tuple[NDArray[np.int64], Array]:
    """Return draws that represent the whole sample in a table or a histogram, and their shares.

    Up to :data:`SHOWN` draws, all are returned. Of more, a systematic sample is returned: evenly
    spaced points on the summed weights select draws, and their number is the weight. Histograms
    stay nearly the same, which the draws with the largest weights would not achieve.
    """
    if len(weights) <= SHOWN:
        return np.arange(len(weights)), weights
    points = (np.arange(SHOWN) + 0.5) / SHOWN
    places = np.searchsorted(np.cumsum(weights) / weights.sum(), points)
    chosen, counts = np.unique(places, return_counts=True)
    return chosen, counts / SHOWN
