"""Two measurements of a person from a normal law: two means, two spreads and a correlation."""

from __future__ import annotations

import numpy as np

from abcdp_core.models.own_model import Column, Model, Parameter, mean


def simulate(rng, theta, n):
    """Pairs ``(k, n, 2)`` at parameters ``(k, 5)``."""
    mean_x, mean_y, spread_x, spread_y, correlation = theta.T[..., None]
    x, other = rng.standard_normal((2, len(theta), n))
    y = correlation * x + np.sqrt(1.0 - correlation**2) * other
    return np.stack([mean_x + spread_x * x, mean_y + spread_y * y], axis=-1)


MODEL = Model(
    name="gaussian-2d",
    title="Two measurements, normal",
    parameters=(
        Parameter("mean of x", -2.0, 2.0),
        Parameter("mean of y", -2.0, 2.0),
        Parameter("spread of x", 0.3, 2.0),
        Parameter("spread of y", 0.3, 2.0),
        Parameter("correlation", -0.9, 0.9),
    ),
    columns=(Column("x", -6.0, 6.0), Column("y", -6.0, 6.0)),
    unit="one person",
    simulate=simulate,
    statistics=(
        mean("x", lambda records: records[..., 0], -4.0, 4.0),
        mean("y", lambda records: records[..., 1], -4.0, 4.0),
        mean("x²", lambda records: records[..., 0] ** 2, 0.0, 16.0),
        mean("y²", lambda records: records[..., 1] ** 2, 0.0, 16.0),
        mean("xy", lambda records: records[..., 0] * records[..., 1], -8.0, 8.0),
    ),
    sizes=(100, 300, 1000, 3000, 10_000),
    truth=(0.5, -1.0, 1.0, 0.6, 0.5),
)
