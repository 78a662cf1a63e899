"""A pool made elsewhere: its two files, and others of its kind."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd

TOML = """
name = "mine"
unit = "one person"
neighbours = "replace"
n = 50
pool = "pool.csv"

[theta.mu]
low = -2.0
high = 2.0
unit = "mm"

[summary.average]
kind = "mean"
lower = -4.0
upper = 4.0

[summary.young]
kind = "count"
group = "age"

[summary.old]
kind = "count"
group = "age"

[summary.spent]
kind = "sum"
lower = 0.0
upper = 10.0
"""

DECLARED = TOML.replace('kind = "mean"\nlower = -4.0\nupper = 4.0\n', "sensitivity = 0.25\n")
ADDED = TOML.replace('"replace"', '"add-remove"').replace('kind = "mean"', 'kind = "sum"')
TOGETHER = re.sub(r"(kind|group|lower|upper) = .*\n", "", TOML).replace(
    "[theta.mu]", "[declared]\nl1 = 3.0\nl2 = 2.0\n\n[theta.mu]"
)
"""The file with a sensitivity declared for all numbers together."""


def table() -> pd.DataFrame:
    rng = np.random.default_rng(4)
    mu = rng.uniform(-2.0, 2.0, 200)
    return pd.DataFrame(
        {
            "theta.mu": mu,
            "summary.average": np.clip(mu + 0.1 * rng.standard_normal(200), -4.0, 4.0),
            "summary.young": rng.integers(0, 20, 200),
            "summary.old": rng.integers(0, 20, 200),
            "summary.spent": rng.uniform(0.0, 500.0, 200),
        }
    )


def made(folder: Path, toml: str = TOML, pool: pd.DataFrame | None = None) -> Path:
    """Write the pool and return its TOML file."""
    (folder / "pool.toml").write_text(toml, encoding="utf-8")
    (table() if pool is None else pool).to_csv(folder / "pool.csv", index=False)
    return folder / "pool.toml"
