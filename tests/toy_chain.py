"""A toy study in chains, also a plug-in file: sums of 1, 2, 3, ..., one row per link."""

from __future__ import annotations

import time
from dataclasses import dataclass

import pandas as pd
import plotly.graph_objects as go

from abcdp_core import figures as fig
from abcdp_core.base.parameters import Parameter
from abcdp_core.base.parameters import Params as BaseParams
from abcdp_core.figures import CaptionedFigure
from abcdp_core.run.results import Result, Tables
from abcdp_core.run.tasks import Chunk

EXPERIMENT = "toy-chain"
TITLE = "Sums of whole numbers, one after the other"
COLUMNS = {"main": ("chain", "link", "total"), "ends": ("chain", "total")}


@dataclass(frozen=True)
class Params(BaseParams):
    """How many chains, how long, and how slow."""

    size: int = Parameter("integer", "Chains", low=1, high=1000).field(3)
    length: int = Parameter("integer", "Links of a chain", low=1, high=1000).field(4)
    pause: float = Parameter("real", "Seconds per link", low=0.0, high=10.0).field(0.0)


PRESETS: dict[str, BaseParams] = {"two": Params(size=2)}


@dataclass(frozen=True)
class Task:
    """One chain, a link longer than the chain before it."""

    chain: int
    length: int
    pause: float
    seed: int

    @property
    def links(self) -> int:
        """Number of links."""
        return self.length + self.chain


@dataclass(frozen=True)
class Continuation:
    """The rest of a chain after some links, with the sum so far."""

    task: Task
    done: int
    total: int


def tasks(params: Params, seed: int) -> list[Task]:
    """Return one task per chain."""
    return [Task(chain, params.length, params.pause, seed) for chain in range(params.size)]


def work(task: Task | Continuation) -> Chunk:
    """Add the next number; only the last link has a row of ``ends``."""
    here = task if isinstance(task, Continuation) else Continuation(task, 0, task.seed)
    whole, done = here.task, here.done + 1
    time.sleep(whole.pause)
    total = here.total + done
    row = {"chain": [whole.chain], "total": [total]}
    ends = pd.DataFrame(row)
    main = pd.DataFrame({**row, "link": [done]})[list(COLUMNS["main"])]
    if done < whole.links:
        return Chunk({"main": main, "ends": ends.head(0)}, Continuation(whole, done, total))
    return Chunk({"main": main, "ends": ends}, None)


def collect(params: Params, rows: Tables) -> Result:
    """Return the rows unchanged."""
    return Result(EXPERIMENT, params, rows, f"{len(rows['main'])} links.", "Nothing private.")


def figures(result: Result) -> dict[str, CaptionedFigure]:
    """Plot sums against links."""
    main = result.tables["main"]
    trace = go.Scatter(x=main["link"].to_numpy(), y=main["total"].to_numpy(), name="total")
    chart = fig.figure(TITLE, "link", "total").add_trace(trace)
    return {"sums": fig.CaptionedFigure(chart, f"The last sum is {main.total.iloc[-1]:g}.")}
