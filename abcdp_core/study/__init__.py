"""The engine of studies: what they share, so that a study states only what is its own.

    Params --tasks--> a Run each --work--> tables --collect--> Result --figures--> Drawn

A study is a module of :mod:`abcdp_core.studies` that states

* ``Params`` and ``PRESETS``: what may be chosen;
* a ``world(run)``: what all cells of one run stand on, such as its data against its pool;
* tables: mostly :class:`Cells`, one row for each combination of the values that its parameters
  list, computed by ``cell(world, at)``;
* a sentence, the event whose cost is the guarantee, and views: functions from a result to a figure
  with its caption, such as :class:`~abcdp_core.figures.lines.Lines`.

It hands these to :class:`Study`, which gives back the five parts that
:class:`abcdp_core.studies.Experiment` asks for. Seeds, repeats, grids and tables are made here.
A study with real interaction may have a ``work`` of its own and still use the rest.
"""

from abcdp_core.parameters import Parameter, choice, scale
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.results import Result, Tables
from abcdp_core.study.engine import Study
from abcdp_core.study.tables import Array, At, Cells, Rows, Total, columns
from abcdp_core.tasks import Chain, Continuation, Run
