"""A toy study, also a plug-in file: squares of whole numbers, one task each."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from abcdp_core import figures as fig
from abcdp_core.base.parameters import Parameter
from abcdp_core.base.parameters import Params as BaseParams
from abcdp_core.figures import CaptionedFigure
from abcdp_core.run.results import Result, Tables

EXPERIMENT = "toy"
TITLE = "Squares of whole numbers"
COLUMNS = {
    "main": ("index", "square", "half", "even", "word"),
    "limits": ("index", "edge"),
}


@dataclass(frozen=True)
class Params(BaseParams):
    """How many numbers, how slow, and which task fails."""

    size: int = Parameter("integer", "Size", low=1, high=1000).field(5)
    pause: float = Parameter("real", "Seconds per task", low=0.0, high=10.0).field(0.0)
    fails: int = Parameter("integer", "Task that fails", low=-1, high=1000).field(-1)


PRESETS = {"three": Params(size=3)}


@dataclass(frozen=True)
class Task:
    """One number."""

    index: int
    pause: float
    fails: int
    seed: int


def tasks(params: Params, seed: int) -> list[Task]:
    """Return one task per number."""
    return [Task(i, params.pause, params.fails, seed) for i in range(params.size)]


def work(task: Task) -> Tables:
    """Square the number."""
    time.sleep(task.pause)
    if task.index == task.fails:
        raise ArithmeticError(f"task {task.index} was told to fail")
    k = task.index
    main = pd.DataFrame(
        [(k, k**2, k / 3, k % 2 == 0, "nan" if k == 1 else f"number {k}")],
        columns=list(COLUMNS["main"]),
    )
    edges = np.array([math.nan, math.inf, -math.inf, 5e-324, 0.1 + 0.2])
    return {"main": main, "limits": pd.DataFrame({"index": k, "edge": edges})}


def collect(params: Params, rows: Tables) -> Result:
    """Return the rows unchanged."""
    return Result(EXPERIMENT, params, rows, f"{len(rows['main'])} squares.", "Nothing private.")


def figures(result: Result) -> dict[str, CaptionedFigure]:
    """Plot squares against numbers."""
    main = result.tables["main"]
    trace = go.Scatter(x=main["index"].to_numpy(), y=main["square"].to_numpy(), name="square")
    chart = fig.figure(TITLE, "index", "square").add_trace(trace)
    return {"squares": fig.CaptionedFigure(chart, f"The largest square is {main.square.max()}.")}
