"""An epidemic in a closed group of people: on which day each was infected, and for how long."""

from __future__ import annotations

import numpy as np

from abcdp_core.models.own_model import Column, Model, Parameter, histogram, mean

PEOPLE, DAYS, WEEK = 500, 63, 7
"""The day after the last, 63, stands for those who were never infected."""


def simulate(rng, theta, n):
    """Day of infection and days infectious ``(k, n, 2)`` at parameters ``(k, 3)``."""
    reproduction, period, first = theta.T
    people = np.arange(n)
    seen = np.rint(first).astype(int)
    ends = rng.geometric(1.0 / period[:, None], (len(theta), n))
    lasting, infected = ends.copy(), np.where(people < seen[:, None], 0, DAYS)
    for day in range(1, DAYS):
        infectious = ((people < seen[:, None]) & (day <= ends)).sum(axis=1)
        risk = -np.expm1(-reproduction / period * infectious / n)
        after = seen + rng.binomial(n - seen, risk)
        new = (seen[:, None] <= people) & (people < after[:, None])
        infected[new], seen = day, after
        ends[new] += day
    return np.stack([infected, np.where(infected < DAYS, lasting, 0)], axis=-1)


MODEL = Model(
    name="sir",
    title="Epidemic in a closed group",
    parameters=(
        Parameter("R", 0.5, 4.0),
        Parameter("infectious period", 2.0, 10.0, unit="days"),
        Parameter("infected at first", 1.0, 10.0, unit="people"),
    ),
    columns=(Column("day infected", 0, DAYS, whole=True), Column("days", 0, 40, whole=True)),
    unit="one person",
    simulate=simulate,
    statistics=(
        histogram("infected, day", lambda records: records[..., 0], range(0, DAYS + 8, WEEK)),
        mean("days infectious", lambda records: records[..., 1], 0.0, 20.0),
    ),
    sizes=(PEOPLE,),
    independent=False,
    truth=(2.0, 5.0, 3.0),
)
