"""Exact answers for the shipped problems, slow and without anything that adapts.

Made by ``python -m tools.exact_answers``, in minutes, into ``assets/published``: means
and standard deviations by importance weights of draws from the prior, or, where these are hopeless,
from a fixed normal distribution about twice as wide as the posterior. They have nothing in common
with :mod:`.inference` but the simulators and the noise laws, which tests check by themselves.

Beside them lie moments of samples that were published as references for the same queries: of the
first 250 draws, rounded to hundredths for the regression and to thousandths for the epidemic, of
``reference_theta/Da+1_eps1.csv`` and ``Da+0_eps1.csv`` in the code of Xiong, Ju & Zhang
(github.com/Yifei-Xiong/Simulation-based-Bayesian-Inference-from-Privacy-Protected-Data at ff0401d).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from abcdp_core.places import ASSETS

FILE = ASSETS / "published" / "reference.csv"

SAMPLES = ASSETS / "published" / "samples.csv"
"""Moments of the published samples."""


def read(file: Path = FILE) -> pd.DataFrame:
    """The shipped table."""
    return pd.read_csv(file)


def against(exact: pd.DataFrame, sample: pd.DataFrame) -> pd.DataFrame:
    """A published sample beside the exact answer, in exact standard deviations.

    Args:
        exact: rows of the table of answers for a problem.
        sample: rows of :data:`SAMPLES` for it, with the same parameters; or none.

    Returns:
        The sample with ``mean_off``, ``sd_ratio``, and how many standard errors these are from 0
        and 1, for independent draws from a normal distribution.
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
