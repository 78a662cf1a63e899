"""Events with part of their noise missing, for checks that must notice it; equality of releases."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from abcdp_core.mechanisms import Release

SCALES = ("scale", "threshold_scale", "query_scale")


def quieter(event: Any, factor: float = 0.5, scales: tuple[str, ...] = SCALES) -> Any:
    """Return the same event with all of its noise scales, or some, multiplied by a factor."""
    changed = {name: factor * getattr(event, name) for name in scales if hasattr(event, name)}
    return dataclasses.replace(event, **changed)


def same(first: Release, second: Release) -> bool:
    """Return whether two releases hold the same."""
    return all(
        np.array_equal(getattr(first, each.name), getattr(second, each.name))
        for each in dataclasses.fields(Release)
    )
