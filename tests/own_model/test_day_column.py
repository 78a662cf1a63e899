"""A column that is called like the day of a series is a number of each record all the same."""

from __future__ import annotations

import numpy as np
import pandas as pd

from abcdp_core.own_model import Column, Model, Parameter, contract
from abcdp_core.studies import synthetic_data

NAMES = ("day", "age", "minutes")
MODEL = Model(
    name="visits",
    title="Visits",
    parameters=(Parameter("typical", 0.0, 60.0),),
    columns=tuple(Column(name, 0.0, 100.0) for name in NAMES),
    unit="one patient",
    simulate=lambda rng, theta, n: rng.uniform(0.0, 100.0, (len(theta), n, 3)),
    sizes=(10,),
)


def test_every_column_is_drawn() -> None:
    rows = [
        {"source": source, "data_set": 0, "point": point, "coordinate": name, "value": value}
        for source in ("observed", "private")
        for name in NAMES
        for point, value in enumerate(np.linspace(1.0, 99.0, 10))
    ]
    source = contract.scenario(MODEL, "visits", "visits.py")
    drawn = synthetic_data.panels(source, pd.DataFrame(rows))
    assert tuple(drawn) == NAMES
