"""Pieces of sentences that studies, reports and commands share."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def counted(count: int, one: str, several: str | None = None) -> str:
    """A number of things, in the singular where it is one.

    Args:
        count: how many, at least 0.
        one: what one is called.
        several: what several are called; ``one`` with an s if not given.
    """
    return f"{count:,} {one if count == 1 else several or f'{one}s'}"


def runs_in_words(table: pd.DataFrame) -> str:
    """How many runs a table has rows of."""
    return counted(table.run.nunique(), "run")


def sizes_in_words(n: int, points: int, pool_size: int) -> str:
    """How large the data, each simulated data set and the pool are."""
    against = f" against {points:,} simulated points" if points != n else ""
    return f"N = {n:,}{against}, T = {pool_size:,}"


def budget_name(epsilon_total: float) -> str:
    """A budget, of which infinity stands for no noise."""
    return "no noise" if math.isinf(epsilon_total) else f"ε_total = {epsilon_total:g}"


def overpaid(epsilon_total: float, accountant: str) -> str:
    """What an accountant that asks for more noise than needed did, after a space; else nothing."""
    if accountant == "exact":
        return ""
    return (
        f" The noise was made for ε_total = {epsilon_total:g} by the accountant {accountant}, "
        f"which asks for more than that needs."
    )
