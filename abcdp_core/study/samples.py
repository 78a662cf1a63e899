"""Tables of weighted samples: a row for each parameter of each draw."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from abcdp_core.study.tables import Array

SHOWN = 2000  # Most draws of a sample in a table


def table(parameters: Collection[str], sample: Array, weights: Array, **of: object) -> pd.DataFrame:
    """Return a sample with the columns of ``of``, then sample, parameter, value and weight.

    Args:
        parameters: names of the ``d`` parameters.
        sample: draws ``(k, d)``.
        weights: of the draws ``(k,)``.
        of: columns that are the same in all rows, such as the release.
    """
    columns = {
        "sample": np.repeat(np.arange(len(sample)), len(parameters)),
        "parameter": np.tile(np.array(list(parameters)), len(sample)),
        "value": sample.ravel(),
        "weight": np.repeat(weights, len(parameters)),
    }
    return pd.DataFrame({**of, **columns})


def thinned(weights: Array) -> tuple[NDArray[np.int64], Array]:
    """Return draws that represent all in a table and a histogram, and their shares.

    Up to :data:`SHOWN` draws are all returned. Of more, those in whose part of the summed weights
    one of that many evenly spaced points falls, with the number of points as their weight: every
    histogram is nearly that of the whole sample, unlike that of the largest weights alone.
    """
    if len(weights) <= SHOWN:
        return np.arange(len(weights)), weights
    points = (np.arange(SHOWN) + 0.5) / SHOWN
    found = np.searchsorted(np.cumsum(weights) / weights.sum(), points)
    chosen, counts = np.unique(found, return_counts=True)
    return chosen, counts / SHOWN
