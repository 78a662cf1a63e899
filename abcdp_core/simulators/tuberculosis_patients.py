r"""Tuberculosis with *patients* as units: one genotype report, released once with noise (MATH M9).

Model, parameters and prior are those of :mod:`.tuberculosis`. What differs is whose privacy is
protected. There a data point is a whole outbreak, and of a single one nothing can be learnt. Here
the data are one report, the sizes of its clusters (patients with the same strain), and one patient
is added or removed. Six numbers are kept of it: patients observed, clusters, clusters of one and of
two patients, the largest cluster, and the mean difference between successive sizes of the four
largest, $g = (s_{(1)} - s_{(4)}) / 3$, with clusters that are not there of size 0.

A data set is a table with one row per cluster. Its number of rows says how many clusters there are,
which is private, so rows of size 0 may follow and are ignored; simulated reports have
:data:`ROWS` rows. The numbers of :mod:`.tuberculosis` leave clusters above 80 out of the
differences. Here they must not: at the edge of such a cut one patient would move g by 27.

Two of its summaries, the months of the largest cluster, are not here: nothing bounds what a single
patient changes of them.

The pool in ``assets`` is made again by ``python -m abcdp_core.simulators.tuberculosis_patients``
in about a minute.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from abcdp_core import parameters as par
from abcdp_core import supports
from abcdp_core.distances import Distance
from abcdp_core.distances.summaries import ClippedSummaries
from abcdp_core.parameters import Parameter
from abcdp_core.simulators import outbreak, tuberculosis
from abcdp_core.statistic import Statistic, largest_length, largest_sum
from abcdp_core.streams import generator

Array = NDArray[np.float64]

SCENARIO = "tuberculosis-patients"
