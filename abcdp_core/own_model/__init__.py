"""A model of one's own, in one file: what a person knows of it, and nothing else.

A file that says ``MODEL = Model(...)`` is a scenario for every study that takes any::

    from abcdp_core.own_model import Column, Model, Parameter, mean

    def simulate(rng, theta, n):
        return rng.normal(theta[:, :1, None], 1.0, (len(theta), n, 1))

    MODEL = Model(
        name="my-mean",
        title="Mean of a normal law",
        parameters=(Parameter("μ", -2.0, 2.0),),
        columns=(Column("value", -6.0, 6.0),),
        unit="one measurement",
        simulate=simulate,
        statistics=(mean("value", lambda records: records[..., 0], -3.0, 3.0),),
        sizes=(100, 1000),
    )

| module | what it knows |
|---|---|
| :mod:`.statistics` | counts, means and sums of records, and how far one record moves them |
| :mod:`.parameter` | an unknown and its prior |
| :mod:`.model` | a model: parameters, columns, unit, sizes; its functions, checked at every call |
| :mod:`.pool_file`, :mod:`.reading`, :mod:`.export` | a pool made anywhere, read and written |
| :mod:`.lattice` | exact whole numbers of records, of which a release is made, and the proof |
| :mod:`.model_table`, :mod:`.pool_table` | what is released of records by a model, by a pool |
| :mod:`.contract` | a model as a scenario, with defaults for all that nobody has to know |
| :mod:`.examination`, :mod:`.held_out` | whether a model keeps its promise; how far off a pool is |
| :mod:`.blame` | the line of a person's file at which it went wrong |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from abcdp_core.own_model.model import Column, Model, one_at_a_time
from abcdp_core.own_model.parameter import Parameter, shares
from abcdp_core.own_model.statistics import count, declared, histogram, mean, total

if TYPE_CHECKING:
    # It makes a model a scenario, by its name alone: this line has fingerprints of models reach it.
    from abcdp_core.own_model import contract  # noqa: F401

__all__ = [
    "Column",
    "Model",
    "Parameter",
    "count",
    "declared",
    "histogram",
    "mean",
    "one_at_a_time",
    "shares",
    "total",
]
