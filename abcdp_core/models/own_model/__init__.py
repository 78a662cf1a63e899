"""A model of your own in one file, as a scenario for every study.

For example::

    from abcdp_core.models.own_model import Column, Model, Parameter, mean

    def simulate(rng, theta, n):
        return rng.normal(theta[:, :1, None], 1.0, (len(theta), n, 1))

    MODEL = Model(
        name="my-mean",
        title="Mean of a normal distribution",
        parameters=(Parameter("μ", -2.0, 2.0),),
        columns=(Column("value", -6.0, 6.0),),
        unit="one measurement",
        simulate=simulate,
        statistics=(mean("value", lambda records: records[..., 0], -3.0, 3.0),),
        sizes=(100, 1000),
    )

| module | content |
|---|---|
| :mod:`.statistics` | counts, means and sums of records, and their sensitivities |
| :mod:`.parameter` | a parameter and its prior |
| :mod:`.model` | a model, whose functions are checked at every call |
| :mod:`.pool_file`, :mod:`.reading`, :mod:`.export` | a pool made elsewhere, read and written |
| :mod:`.lattice` | exact whole numbers of records for a release, with the proof |
| :mod:`.model_table`, :mod:`.pool_table` | the numbers that a model or a pool releases |
| :mod:`.contract` | a model as a scenario, with defaults |
| :mod:`.examination` | checks of a model's claims |
| :mod:`.user_errors` | errors that name a line of the user's file |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from abcdp_core.models.own_model.model import Column, Model, one_at_a_time
from abcdp_core.models.own_model.parameter import Parameter, shares
from abcdp_core.models.own_model.statistics import count, declared, histogram, mean, of_table, total

if TYPE_CHECKING:
    # A model names this module, so fingerprints of models must include it.
    from abcdp_core.models.own_model import contract  # noqa: F401

__all__ = [
    "Column",
    "Model",
    "Parameter",
    "count",
    "declared",
    "histogram",
    "mean",
    "of_table",
    "one_at_a_time",
    "shares",
    "total",
]
