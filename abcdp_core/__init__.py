"""ABCDP Explorer's core: how differential privacy and approximate Bayesian computation trade off.

The data flow in one line::

    Simulator -> Pool -> Comparison -> mechanism -> (Release, Trace) -> Result

* a *simulator* (public) is a prior, a way to simulate data, and a distance between data sets;
* a *pool* (public) holds ``pool_size`` prior draws, each with a statistic of its simulated data;
* a *comparison* is one data set measured against one pool: the only object that knows private data;
* a *mechanism* turns a comparison into a *release* (may be published) and a *trace* (may not);
* an *experiment* asks a question of many releases and answers with tables: a *result*.

Nothing in this package imports the web framework.
"""

import os
from pathlib import Path

from abcdp_core import libraries

__version__ = "0.3.0"

# Before anything imports numba.
libraries.choose(os.environ, Path(__file__).parent)
# Before anything imports numpy: the last bits of a matrix product depend on how many threads share
# it, and workers, one for each processor, would wait for each other's.
os.environ.update(libraries.ONE_THREAD | os.environ)
