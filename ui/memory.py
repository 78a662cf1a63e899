"""How much memory things take, so that what is kept for the next who asks has a bound in bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
from plotly.basedatatypes import BaseFigure

from abcdp_core.figures import Drawn
from abcdp_core.results import Result

SMALL = 64
"""Bytes of what is counted as a whole: a number, a name, an empty container."""

LONG = 32
"""Items of a list from which on the first of them stand for all."""


def of(thing: Any) -> int:
    """Bytes that a result, a figure or what they consist of takes, to within a small factor."""
    if isinstance(thing, np.ndarray):
        return SMALL + thing.nbytes
    if isinstance(thing, str | bytes):
        return SMALL + len(thing)
    if isinstance(thing, dict):
        return SMALL + sum(of(value) for value in thing.values())
    if isinstance(thing, list | tuple):
        counted = thing[:LONG]
        return SMALL + sum(map(of, counted)) * len(thing) // max(1, len(counted))
    if isinstance(thing, Result):
        return sum(int(table.memory_usage(deep=True).sum()) for table in thing.tables.values())
    if isinstance(thing, Drawn):
        return of(thing.figure)
    if isinstance(thing, BaseFigure):
        return of(vars(thing).get("_plain") or [thing._data, thing._layout])
    return SMALL
