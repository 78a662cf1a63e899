"""Core of ABCDP Explorer: approximate Bayesian computation with differential privacy.

The data flow in one line::

    Simulator -> Pool -> Comparison -> mechanism -> Release -> Result

* a *simulator* (public) has a prior, a function that simulates data, and distances of data sets;
* a *pool* (public) holds ``pool_size`` draws, each with statistics of its simulated data;
* a *comparison* has the distances of one data set from a pool; only it holds private data;
* a *mechanism* turns a comparison into a *release*, which may be published;
* a *study* makes many releases and reports tables: a *result*.

Nothing in this package imports the web framework. The rooms, each with its map:

| room | what is there |
|---|---|
| :mod:`.models` | what is simulated, and by how much one record moves its numbers |
| :mod:`.privacy` | the ε and δ of what was done; noise that several mechanisms share |
| :mod:`.mechanisms` | the private step of a study, one file each |
| :mod:`.release` | the same from a person's own data, once: budget, noise, record, report |
| :mod:`.posterior` | from released numbers to parameters |
| :mod:`.adaptive` | people asked one by one, and polls |
| :mod:`.evaluation` | the error to expect, and settings chosen by it, such as a threshold |
| :mod:`.studies` | one question each, with its tables, figures and captions |
| :mod:`.run` | runs tasks here, in processes, or on a cluster |
| :mod:`.figures` | how figures look |
| :mod:`.publish` | files, claims of papers, lessons |
| :mod:`.cli` | the commands |
| :mod:`.base` | what every room uses: parameters, files, numbers in words |
"""

import importlib
import os
from pathlib import Path
from typing import Any

from abcdp_core.base import former, libraries

__version__ = "0.4.0"

# Before anything imports numba.
libraries.choose(os.environ, Path(__file__).parent)
# Before anything imports numpy: the last bits of a matrix product depend on the number of threads,
# and there is one worker for each processor already.
os.environ.update(libraries.ONE_THREAD | os.environ)


former.provide()


def __getattr__(name: str) -> Any:
    """Import :func:`.inference_data.to_inference_data` once it is asked for.

    An import statement would make every cached pool depend on the code behind it. Modules are found
    by their former names, too.
    """
    if name in former.NAMES:
        return importlib.import_module(former.now(f"{__name__}.{name}"))
    if name == "to_inference_data":
        return importlib.import_module("abcdp_core.release.inference_data").to_inference_data
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
