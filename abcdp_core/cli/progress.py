"""Show progress bars with the time left, on terminals only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn

from tqdm import tqdm


def of_tasks(total: int, name: str | None = None, *, leave: bool = True) -> tqdm[NoReturn]:
    """Return a progress bar that counts tasks."""
    return tqdm(total=total, desc=name, unit="task", leave=leave, dynamic_ncols=True, disable=None)


@contextmanager
def of_fraction(name: str) -> Iterator[Callable[[float], None]]:
    """Show a progress bar for work that reports the fraction done."""
    with tqdm(total=1.0, desc=name, disable=None, dynamic_ncols=True,
              bar_format="{l_bar}{bar}| {remaining} left") as bar:  # fmt: skip
        yield lambda done: bar.update(done - bar.n)
