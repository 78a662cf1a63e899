r"""People with several values: should the budget be split, or fewer values be asked for?

[Y23] §7 suggests vectors as future work: every coordinate is truncated separately and the budget is
split publicly (MATH A13). Of a person's $d$ coordinates, $k$ drawn at random are asked for, each
with $\epsilon_{total}/k$, so all answers together use $\epsilon_{total}$. With $k = d$ the budget
is split among all; with $k = 1$ one coordinate gets all of it.

If an answer at $\epsilon$ carries information $I(\epsilon)$ about the mean of its coordinate (MATH
A3, A14), a person's answers carry

$$\frac{k}{d}\, I\!\left(\frac{\epsilon_{total}}{k}\right)$$

about each mean. Information is proportional to $\epsilon^2$ at first and bounded in the end, so
$I(s)/s$ is largest at some share $s$ in between: about 2.5 for truncation, 2.2 for a sign, 2.7 for
the best symbols. A small budget should go to one coordinate, a large one to about
$\epsilon_{total}/s$.

The dotted lines are the mean absolute error of an estimate that uses all of this information,
$\sqrt{2/\pi}\,\sigma \big/ \sqrt{N\,\tfrac{k}{d}\,I(\epsilon_{total}/k)}$. They hold for many
people and ignore the vague prior and the cost of finding where to ask.

A person's values are normal with equal means, spreads and correlations, which the method does not
know. The estimate for a coordinate uses only its own answers, so a correlation moves the errors of
a run together but not their mean. As all coordinates are alike, two of them are followed.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np
import pandas as pd

from abcdp_core import figures as fig
from abcdp_core.adaptive import parameters as stream_params
from abcdp_core.adaptive import vectors
from abcdp_core.adaptive.families import NORMAL
from abcdp_core.base import parameters as par
from abcdp_core.base.sentences import budget_name, counted, listed, percent
from abcdp_core.base.streams import generator
from abcdp_core.figures.lines import Curve, Lines
from abcdp_core.privacy import statement
from abcdp_core.studies.engine import Array, Chain, Continuation, DerivedTable, Result, Study, scale
from abcdp_core.studies.engine.estimates import ErrorCurves, least_error

EXPERIMENT = "vector-truncation"
TITLE = "Several values per person: split the budget, or ask for fewer"
DIMENSION = scale("d · values per person", "One budget protects all of them.", (1, 2, 3, 5, 10))
CORRELATION = scale(
    "Correlation of a person's values",
    "The same for any two values.",
    (0.0, 0.2, 0.5, 0.8, 0.9),
    high=0.99,
)
SAMPLER = dataclasses.replace(
    stream_params.SAMPLER,
    help="smc: the posterior of each mean by particles. grid: computed on a grid, the reference.",
    options=("smc", "grid"),
)
BUDGET = dataclasses.replace(
    stream_params.EPSILON_TOTAL,
    help="How much a person's answers may reveal together. Smaller is more private, and noisier.",
)

ONE, ALL, BEST = "one asked", "all asked", "the best number asked"
"""How many of a person's values are asked for."""

FOLLOWED = 2  # Most coordinates of a person that are followed
LINK = 5000  # People in a link of a task, which takes about a second


@dataclass(frozen=True)
class Params(stream_params.OneWayParams):
    """People, one budget, and numbers of values per person."""

    n: int = stream_params.PEOPLE.field(500)
    epsilon_total: float = BUDGET.field(2.0)
    runs: int = dataclasses.replace(par.RUNS, high=200).field(8)
    dimension: tuple[int, ...] = DIMENSION.field((1, 2, 5, 10))
    correlation: float = CORRELATION.field(0.0)
    sampler: str = SAMPLER.field("smc")

    def plan(self, dimension: int, asked: int) -> vectors.Plan:
        """Return the plan that asks people with ``dimension`` values for ``asked`` of them."""
        make = partial(stream_params.channel, self.channel)
        return vectors.some(make, self.epsilon_total, dimension, asked)

    def told(self, dimension: int) -> Array:
        """Return the information about each mean by how many values are asked, 1/σ² ``(d,)``."""
        return _told(self.channel, self.epsilon_total, dimension)

    def ways(self) -> dict[str, dict[int, int]]:
        """Return way -> values per person -> how many of them are asked for."""
        best = {d: int(self.told(d).argmax()) + 1 for d in self.dimension}
        ways = {ONE: dict.fromkeys(best, 1)}
        for way, asked in ((ALL, {d: d for d in best}), (BEST, best)):
            if asked not in ways.values():
                ways[way] = asked
        return ways

    def asked(self, dimension: int) -> list[int]:
        """Return the numbers of values that people are asked for."""
        return sorted({asked[dimension] for asked in self.ways().values()})


@functools.lru_cache(maxsize=64)
def _told(channel: str, epsilon_total: float, dimension: int) -> Array:
    return vectors.told(partial(stream_params.channel, channel), epsilon_total, dimension, NORMAL)


@dataclass(frozen=True)
class Task(Chain[Params]):
    """One coordinate of the people of one run; ``params`` have one dimension.

    Attributes:
        asked: how many values each person is asked for.
        coordinate: whose answers are followed, from 0.
    """

    asked: int
    coordinate: int


def chains(params: Params, seed: int) -> list[Task]:
    """Return a task for each run, dimension, number of values asked and coordinate."""
    single = {d: dataclasses.replace(params, dimension=(d,), runs=1) for d in params.dimension}
    links = -(-params.n // LINK)
    return [
        Task(single[d], run, seed, links, asked, coordinate)
        for run in range(params.runs)
        for d in single
        for asked in params.asked(d)
        for coordinate in range(min(d, FOLLOWED))
    ]


def follow(chain: Continuation[Task]) -> tuple[dict[str, Any], Any]:
    """Ask the next people for one coordinate; the last link has the row."""
    task, params, part = chain.task, chain.task.params, chain.part(chain.task.params.n)
    (d,) = params.dimension
    # Without any answer the prior stays as it is.
    state, answers, mean = chain.state or (None, 0, params.stream().prior().mean)
    plan = params.plan(d, task.asked)
    values = params.mu + params.sigma * people(task)
    chances = plan.channels[0].draw(generator(task.seed, "noise", task.run, 0), params.n * d)
    chosen = plan.chosen(generator(task.seed, "asked", task.run), params.n)
    sampler = params.stream().sampler_of(params.sampler, params.channel)
    drawn = values[part], chances.reshape(params.n, d)[part], chosen[part]
    turns = plan.follow(task.coordinate, sampler, *drawn, task.seed, task.run, state, answers)
    if turns:
        state, answer = turns[-1]
        answers, mean = answer.t, answer.mean_mu
    row = {"answers": answers, "mean_mu": mean, "error_mu": abs(mean - params.mu)}
    return {"main": [row] if chain.is_last else None}, (state, answers, mean)


def people(task: Task) -> Array:
    """Return values ``(n, d)`` with mean 0, variance 1 and equal correlations."""
    params, (d,) = task.params, task.params.dimension
    rng = generator(task.seed, "people", task.run)
    own = rng.standard_normal((params.n, d))
    if d == 1:
        return own
    common = rng.standard_normal((params.n, 1))
    return math.sqrt(1.0 - params.correlation) * own + math.sqrt(params.correlation) * common


def information(params: Params, _: Any) -> list[tuple[float, ...]]:
    """Return the information about each mean, by how many values are asked for."""
    return [
        (d, k, params.epsilon_total / k, informed)
        for d in sorted(params.dimension)
        for k, informed in enumerate(params.told(d).tolist(), 1)
    ]


def promise(params: Params) -> str:
    """State the guarantee of the way of asking that spends most."""
    plans = (params.plan(d, k) for d in params.dimension for k in params.asked(d))
    dearest = max((plan.event() for plan in plans), key=lambda event: event.epsilon)
    return statement(dearest, "all values of a person together")


def by_way(result: Result) -> Result:
    """Return the result with a table ``ways`` of errors, from runs that are complete."""
    params, main = cast(Params, result.params), result.tables["main"]
    runs = main.groupby(["dimension", "asked", "run"]).error_mu.agg(["mean", "size"]).reset_index()
    done = runs[runs["size"] == np.minimum(runs.dimension, FOLLOWED)]
    done = done.rename(columns={"mean": "error_mu"})
    known = params.ways().items()
    ways = [done[done.asked == done.dimension.map(k)].assign(way=way) for way, k in known]
    return dataclasses.replace(result, tables={**result.tables, "ways": pd.concat(ways)})


def bound(params: Params, informed: Array) -> Array:
    """Return mean absolute errors of estimates that use all of the information ``told (k,)``."""
    return params.sigma * least_error(1.0 / (params.n * informed))


def _theory(result: Result, _: pd.DataFrame) -> list[Curve]:
    params = cast(Params, result.params)
    curves = []
    for way, asked in params.ways().items():
        informed = [params.told(d)[k - 1] for d, k in sorted(asked.items())]
        style = LOOKS[way].called(f"{way}, theory", dash="dot")
        curves.append((style, np.array(sorted(asked), float), bound(params, np.array(informed))))
    return curves


def _largest(result: Result) -> tuple[float, str]:
    d = max(vars(result.params)["dimension"])
    return d, f"With {counted(d, 'value')} per person"


def _best_number(result: Result) -> tuple[str, str]:
    """Say how many of the most values to ask for, and what other numbers give."""
    params = cast(Params, result.params)
    informed = params.told(max(params.dimension))
    d, best, (_, what) = len(informed), int(informed.argmax()) + 1, _largest(result)
    finding = f"{what}, asking for {best} gives the most information about each mean"
    others = [
        f"{k} gives {percent(informed[k - 1] / informed.max())}" for k in sorted({1, d} - {best})
    ]
    more = f"; asking for {listed(others)} of that" if others else ""
    at = budget_name(params.epsilon_total)
    return finding, f"{finding}{more} (in theory, with {at})."


LOOKS = dict(zip((ONE, ALL, BEST), fig.styles((ONE, ALL, BEST)), strict=True))
ERRORS = ErrorCurves(
    *("error_mu", "μ", "dimension", ("way",), _largest, _theory, LOOKS),
    table="ways",
    averaged=True,
)
ERROR = ERRORS.view(settings=("n", "epsilon_total", "channel", "correlation"))
TOLD = Lines(
    "information",
    "asked",
    says=_best_number,
    by=("dimension",),
    settings=("epsilon_total", "channel"),
    table="told",
    y_title="information about each mean, in 1/σ²",
    linear=True,
)

STUDY: Study[Params, None] = Study(
    EXPERIMENT,
    Params,
    chains=chains,
    link=follow,
    tables={"main": "dimension asked run coordinate answers mean_mu error_mu"},
    totals={"told": DerivedTable("dimension asked epsilon_each information", information)},
    says=lambda result: ERRORS.says(by_way(result))[1],
    privacy=promise,
    views={"error": lambda result: ERROR(by_way(result)), "told": TOLD},
)
COLUMNS, tasks, work, collect, figures = STUDY.contract()
