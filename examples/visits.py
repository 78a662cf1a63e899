"""Visits to a practice: minutes of each, and the result of a test that was not always done."""

from __future__ import annotations

import numpy as np

from abcdp_core.models.own_model import Column, Model, Parameter, count, total


def simulate(rng, theta, n):
    """Records ``(k, n, 2)`` of some visits at parameters ``(k, 2)``; the others are absent."""
    minutes = rng.gamma(4.0, theta[:, :1] / 4.0, (len(theta), n))
    is_positive = rng.random((len(theta), n)) < theta[:, 1:]
    test = np.where(rng.random((len(theta), n)) < 0.1, 2.0, is_positive)
    records = np.stack([minutes, test], axis=-1)
    visits = rng.integers(n // 10, n, len(theta), endpoint=True)
    records[np.arange(n) >= visits[:, None]] = np.nan
    return records


MODEL = Model(
    name="visits",
    title="Visits to a practice",
    parameters=(
        Parameter("mean time", 5.0, 60.0, unit="min"),
        Parameter("share of positive tests", 0.0, 1.0),
    ),
    columns=(
        Column("minutes", 0.0, 120.0),
        Column("test", levels=("negative", "positive"), missing=True),
    ),
    unit="one visit",
    simulate=simulate,
    statistics=(
        total("minutes", lambda records: records[..., 0], 0.0, 120.0),
        count("visits", lambda records: records[..., 0] >= 0.0),
        count("positive tests", lambda records: records[..., 1] == 1.0),
        count("tests", lambda records: records[..., 1] < 2.0),
    ),
    neighbours="add-remove",
    sizes=(2000,),
)
