"""Read exact answers for the shipped problems, from slow computations that do not adapt.

``python -m tools.exact_answers`` makes them in minutes, in ``assets/published``: means and standard
deviations by importance weights of draws from the prior or, if too few of these carry weight, from
a fixed normal distribution about twice as wide as the posterior. They share only the simulators and
the noise distributions with :mod:`.inference`; tests check both separately.

A second file has moments of samples that were published as references for the same queries: of the
first 250 draws, rounded to hundredths for the regression and to thousandths for the epidemic, of
``reference_theta/Da+1_eps1.csv`` and ``Da+0_eps1.csv`` in the code of Xiong, Ju & Zhang
(github.com/Yifei-Xiong/Simulation-based-Bayesian-Inference-from-Privacy-Protected-Data at ff0401d).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from abcdp_core.base.places import ASSETS

FILE = ASSETS / "published" / "reference.csv"

SAMPLES = ASSETS / "published" / "samples.csv"
"""Moments of the published samples."""


def read(file: Path = FILE) -> pd.DataFrame:
    """Return the shipped table."""
    return pd.read_csv(file)


def against(exact: pd.DataFrame, sample: pd.DataFrame) -> pd.DataFrame:
    """Compare a published sample with the exact answer.

    Args:
        exact: rows of the table of answers for a problem.
        sample: rows of :data:`SAMPLES` for the same parameters; may be empty.

    Returns:
        The sample with ``mean_off`` in exact standard deviations, ``sd_ratio``, and how many
        standard errors these are from 0 and 1, for independent draws from a normal distribution.
    """
    both = sample.merge(exact, on=["problem", "parameter"], suffixes=("", "_exact"))
    size, ratio = both["effective_sample_size"], both["sd"] / both["sd_exact"]
    off = (both["mean"] - both["mean_exact"]) / both["sd_exact"]
    return both[["problem", "parameter", "mean", "sd", "draws"]].assign(
        mean_off=off,
        mean_standard_errors=off / np.sqrt(ratio**2 / both["draws"] + 1.0 / size),
        sd_ratio=ratio,
        sd_standard_errors=(ratio - 1.0) / (ratio * np.sqrt(0.5 / both["draws"] + 0.5 / size)),
    )
