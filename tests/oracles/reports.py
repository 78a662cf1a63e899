"""Reports of clusters of patients, and their neighbors: one patient more, in any cluster."""

from __future__ import annotations

from collections.abc import Iterator

Report = tuple[int, ...]
"""Sizes of clusters."""


def partitions(total: int, largest: int) -> Iterator[Report]:
    """All partitions of a number of patients into clusters, in descending order."""
    if total == 0:
        yield ()
    for first in range(min(total, largest), 0, -1):
        for rest in partitions(total - first, first):
            yield first, *rest


def with_one_more(sizes: Report) -> Iterator[Report]:
    """All reports with one more patient."""
    for place in range(len(sizes)):
        yield *sizes[:place], sizes[place] + 1, *sizes[place + 1 :]
    yield *sizes, 1
