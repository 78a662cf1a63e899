"""The engine of studies: tasks, seeds, repeats, grids and tables.

    Params --tasks--> Runs --work--> tables --collect--> Result --figures--> CaptionedFigures

A study is a module of :mod:`abcdp_core.studies`. It defines

* ``Params`` and ``PRESETS``: the settings;
* ``world(run)``: what all cells of a run share, such as its data and their distances to the pool;
* tables: mostly :class:`CellTable`, with one row for each combination of listed parameter values,
  computed by ``cell(world, at)``;
* a summary, the privacy event of a release, and views: functions from a result to a figure with a
  caption, such as :class:`~abcdp_core.figures.lines.Lines`.

:class:`Study` turns these into the five parts of :class:`abcdp_core.studies.Experiment`. A study
can also define its own ``work`` and use the rest.
"""

from abcdp_core.base.arrays import Array
from abcdp_core.base.parameters import Parameter, choice, scale
from abcdp_core.base.parameters import Params as BaseParams
from abcdp_core.run.results import Result, Tables
from abcdp_core.run.tasks import Chain, Continuation, Run
from abcdp_core.studies.engine.study import Study
from abcdp_core.studies.engine.tables import CellTable, DerivedTable, RunTable, Settings, columns

# As studies of 0.3.0 import them.
At, Cells, Rows, Total = Settings, CellTable, RunTable, DerivedTable
