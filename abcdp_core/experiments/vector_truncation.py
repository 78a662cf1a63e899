r"""People with several values: should the budget be split, or fewer of the values be asked for?

[Y23] §7 names vectors as future work: every coordinate is truncated by itself and the budget is
split publicly (MATH A13). Of the $d$ coordinates of a person $k$ are asked, drawn at random, each
with $\epsilon_{total}/k$; what the answers cost adds up to $\epsilon_{total}$. With $k = d$ the
budget is split among all, with $k = 1$ one coordinate has all of it.

If an answer at $\epsilon$ tells $I(\epsilon)$ about the mean of its coordinate (MATH A3, A14), a
person tells

$$\frac{k}{d}\, I\!\left(\frac{\epsilon_{total}}{k}\right)$$

about each mean. Information is proportional to $\epsilon^2$ at first and bounded in the end, so
$I(s)/s$ is largest at some share $s$ between: about 2.5 for truncation, 2.2 for a sign, 2.7 for the
best table. Small budgets should go to one coordinate, large ones to about $\epsilon_{total}/s$.

The dotted lines are the mean absolute error of an estimate that uses all of this,
$\sqrt{2/\pi}\,\sigma \big/ \sqrt{N\,\tfrac{k}{d}\,I(\epsilon_{total}/k)}$. They hold for many
people and leave out the prior and the cost of finding the place to ask at, which is high where each
answer tells little: the prior of each mean is as vague as the paper's, normal around 0 with a
standard deviation of 100.

The values of a person are normal with equal means, spreads and correlations; whoever asks does not
know that they are equal. What is known of a coordinate comes from its own answers alone, whose law
has no correlation in it; so a correlation moves the errors of a run together, and not their mean.
As all coordinates are alike, two of them are followed, and what the others answer is not needed.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import experiments, summaries
from abcdp_core import figures as fig
from abcdp_core import parameters as par
from abcdp_core.experiments import Link, Onward
from abcdp_core.online import parameters as online
from abcdp_core.online import vectors
from abcdp_core.online.channels import Channel
from abcdp_core.online.families import NORMAL
from abcdp_core.parameters import Parameter
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.privacy import statement
from abcdp_core.results import Result, Tables
from abcdp_core.sentences import plain, runs_in_words
from abcdp_core.streams import generator

Array = NDArray[np.float64]

EXPERIMENT = "vector-truncation"
TITLE = "Several values of each person: split the budget, or ask for fewer"
COLUMNS = {
    "main": ("dimension", "asked", "run", "coordinate", "answers", "mean_mu", "error_mu"),
    "told": ("dimension", "asked", "epsilon_each", "information"),
}

DIMENSION = Parameter(
    kind="integer",
    label="d · values of each person",
    help="All of them are protected by one budget.",
    low=1,
    high=10,
    steps=(1, 2, 3, 5, 10),
)
CORRELATION = Parameter(
    kind="real",
    label="Correlation of a person's values",
    help="The same between any two of them.",
    low=0.0,
    high=0.99,
    steps=(0.0, 0.2, 0.5, 0.8, 0.9),
)
SAMPLER = dataclasses.replace(
    online.SAMPLER,
    help="smc: the posterior of each mean by particles. grid: computed on a grid, the reference.",
    options=("smc", "grid"),
)

FOLLOWED = 2
"""Most coordinates that are followed of those of a person."""

LINK = 5000
"""People in a part of a task, which takes about a second."""


@dataclass(frozen=True)
class Params(BaseParams):
    """People, one budget, and numbers of values."""

    n: int = online.PEOPLE.field(500)
    dimension: tuple[int, ...] = DIMENSION.field((1, 2, 5, 10), many=True)
    epsilon_total: float = dataclasses.replace(
        online.EPSILON_TOTAL,
        help="What all answers of a person may cost together. Smaller = more private, noisier "
        "answers.",
    ).field(2.0)
    channel: str = online.CHANNEL.field("truncation")
    correlation: float = CORRELATION.field(0.0)
    mu: float = online.MU.field(50.0)
    sigma: float = online.SIGMA.field(math.sqrt(10.0))
    known_sigma: bool = online.KNOWN_SIGMA.field(True)
    sampler: str = SAMPLER.field("smc")
    particles: int = dataclasses.replace(online.PARTICLES, high=1000).field(100)
    runs: int = dataclasses.replace(par.RUNS, high=200).field(8)

    def stream(self) -> online.StreamParams:
        """The same for one stream of people."""
        names = ("n", "mu", "sigma", "particles", "known_sigma")
        return online.StreamParams(**{name: getattr(self, name) for name in names})

    def make(self, epsilon: float) -> Channel:
        """How one value is asked for with a share of the budget."""
        return online.channel(self.channel, epsilon)

    def plan(self, dimension: int, asked: int) -> vectors.Plan:
        """How people with so many values are asked for some of them."""
        return vectors.some(self.make, self.epsilon_total, dimension, asked)

    def told(self, dimension: int) -> Array:
        """What a person tells about each mean, in 1/σ², by how many are asked for, ``(d,)``."""
        return vectors.told(self.make, self.epsilon_total, dimension, NORMAL)

    def asked(self, dimension: int) -> list[int]:
        """Numbers of values that people are asked for: one, the best number, and all."""
        return sorted({1, int(self.told(dimension).argmax()) + 1, dimension})


PRESETS: dict[str, BaseParams] = {}


@dataclass(frozen=True)
class Task(experiments.Run[Params]):
    """One coordinate of the people of one run; ``params`` hold one dimension.

    Attributes:
        asked: how many of its coordinates each person is asked for.
        coordinate: the one whose answers are followed, from 0.
    """

    asked: int
    coordinate: int

    @property
    def links(self) -> int:
        """Parts it is done in."""
        return -(-self.params.n // LINK)


def tasks(params: Params, seed: int) -> list[Task]:
    """All ways of asking in a run, each coordinate that is followed, then the next run."""
    single = {d: dataclasses.replace(params, dimension=(d,), runs=1) for d in params.dimension}
    asked = {d: params.asked(d) for d in single}
    return [
        Task(single[d], run, seed, k, coordinate)
        for run in range(params.runs)
        for d in single
        for k in asked[d]
        for coordinate in range(min(d, FOLLOWED))
    ]


def work(task: Task | Onward[Task]) -> Link:
    """Ask one coordinate of the next people whose turn it is; the last link has the row."""
    here = Onward.of(task, (None, 0, None))
    whole, (state, answers, mean) = here.task, here.state
    params, (d,) = whole.params, whole.params.dimension
    if mean is None:
        # Who was never asked leaves the prior as it was.
        mean = params.stream().prior().mean
    plan = params.plan(d, whole.asked)
    values = params.mu + params.sigma * people(whole)
    chances = plan.channels[0].draw(generator(whole.seed, "noise", whole.run, 0), params.n * d)
    chosen = plan.chosen(generator(whole.seed, "asked", whole.run), params.n)
    sampler = params.stream().sampler_of(params.sampler, params.channel)
    part = slice(here.done * LINK, (here.done + 1) * LINK)
    chances = chances.reshape(params.n, d)[part]
    turns = plan.follow(
        *(whole.coordinate, sampler, values[part], chances, chosen[part]),
        *(whole.seed, whole.run, state, answers),
    )
    if turns:
        state, answer = turns[-1]
        answers, mean = answer.t, answer.mean_mu
    row = (d, whole.asked, whole.run, whole.coordinate, answers, mean, abs(mean - params.mu))
    main = pd.DataFrame([row], columns=list(COLUMNS["main"]))
    is_last = here.done + 1 == whole.links
    return here.link({"main": main if is_last else main.head(0)}, (state, answers, mean))


def people(task: Task) -> Array:
    """Values ``(n, d)`` with mean 0 and variance 1, any two of a person correlated alike."""
    params, (d,) = task.params, task.params.dimension
    rng = generator(task.seed, "people", task.run)
    own = rng.standard_normal((params.n, d))
    if d == 1:
        return own
    common = rng.standard_normal((params.n, 1))
    return math.sqrt(1.0 - params.correlation) * own + math.sqrt(params.correlation) * common


def collect(params: Params, rows: Tables) -> Result:
    """The result so far."""
    plans = (params.plan(d, k) for d in params.dimension for k in params.asked(d))
    dearest = max((plan.event() for plan in plans), key=lambda event: event.epsilon)
    privacy = statement(dearest, "all values of a person together")
    tables = {"main": rows["main"], "told": _told(params)}
    return Result(EXPERIMENT, params, tables, _summary(params, rows["main"]), privacy)


def _told(params: Params) -> pd.DataFrame:
    """What people tell by how many values they are asked for, from the formula alone."""
    table = [
        (d, k, params.epsilon_total / k, information)
        for d in sorted(set(params.dimension))
        for k, information in enumerate(params.told(d).tolist(), 1)
    ]
    return pd.DataFrame(table, columns=list(COLUMNS["told"]))


def errors(params: Params, main: pd.DataFrame) -> pd.DataFrame:
    """Mean error of the means in σ with 95 % intervals over runs, by ``dimension`` and ``asked``.

    A run counts once all coordinates that are followed are done.
    """
    key = ["dimension", "asked", "run"]
    of_runs = main.groupby(key).error_mu.agg(["mean", "size"]).reset_index()
    done = of_runs[of_runs["size"] == np.minimum(of_runs.dimension, FOLLOWED)]
    done = done.assign(error=done["mean"] / params.sigma).drop(columns=["mean", "size"])
    if done.empty:
        columns = ["dimension", "asked", "mean", "low", "high", "empty_share"]
        return pd.DataFrame(columns=columns, dtype=float)
    return summaries.over_runs(done, "error", ["dimension", "asked"])


def bound(params: Params, told: Array) -> Array:
    """Mean absolute errors in σ of an estimate that uses all of what people tell, ``(k,)``."""
    least: Array = np.sqrt(2.0 / np.pi / (params.n * told))
    return least


def _summary(params: Params, main: pd.DataFrame) -> str:
    table = errors(params, main)
    if table.empty:
        return f"No way of asking {params.n:,} people is finished yet."
    d = int(table.dimension.max())
    largest = table[table.dimension == d]
    each = "; ".join(
        f"{_asked(d, int(row['asked']))} {plain(row['mean'])}"
        + (f" ({plain(row['low'])} to {plain(row['high'])})" if math.isfinite(row["low"]) else "")
        for row in largest.to_dict("records")
    )
    interval = " (95 % interval)" if largest.low.notna().any() else ""
    return (
        f"Over {runs_in_words(main)} with N = {params.n:,} and ε_total = {params.epsilon_total:g}, "
        f"mean absolute error of μ in σ{interval}: asked for {each}."
    )


def _asked(dimension: int, asked: int) -> str:
    """How many values are asked for, in words."""
    if dimension == 1:
        return "the only value"
    return f"all {dimension} values" if asked == dimension else f"{asked} of {dimension} values"


# --------------------------------------------------------------------------------------- figures

ONE, BEST, ALL = "one value", "the best number", "all values"


def figures(result: Result) -> dict[str, fig.Drawn]:
    """Errors against the number of values, and what is told by how many are asked for."""
    return {
        "error": fig.Drawn(_errors_figure(result), _errors_sentence(result)),
        "told": fig.Drawn(_told_figure(result), _told_sentence(result)),
    }


def finding(result: Result) -> str:
    """The title: whether splitting or asking for one value has the smaller error."""
    params = cast(Params, result.params)
    table = errors(params, result.tables["main"])
    for d in sorted({int(d) for d in table.dimension if d > 1}, reverse=True):
        rows = table[table.dimension == d].set_index("asked").to_dict("index")
        if not {1, d} <= set(rows):
            continue
        one, split = rows[1], rows[d]
        if not (one["low"] > split["high"] or split["low"] > one["high"]):
            return f"For {d} values no clear difference between splitting and asking for one"
        small, large = sorted((one["mean"], split["mean"]))
        ratio = large / max(small, 1e-300)
        better = "asking for one" if one["mean"] < split["mean"] else "splitting"
        times = plain(ratio, 2 if ratio >= 2.0 else 3)
        return f"For {d} values {better} makes the error {times} times smaller"
    return "Error of the means of a person's values"


def _ways(told: pd.DataFrame) -> dict[str, dict[int, int]]:
    """Name of a way of asking -> dimension -> how many values are asked for."""
    sizes = sorted(told.dimension.unique().tolist())
    best = {d: _best(told, d) for d in sizes}
    ways = {ONE: dict.fromkeys(sizes, 1), ALL: {d: d for d in sizes}}
    return ways if best in ways.values() else {ONE: ways[ONE], BEST: best, ALL: ways[ALL]}


def _best(told: pd.DataFrame, dimension: int) -> int:
    """How many values should be asked for; rows are in the order of that number, from 1 on."""
    return int(told.information[told.dimension == dimension].to_numpy().argmax()) + 1


def _settings(params: Params) -> str:
    with_correlation = f", correlation {params.correlation:g}" if params.correlation else ""
    return f"ε_total = {params.epsilon_total:g}, {params.channel}{with_correlation}"


def _errors_figure(result: Result) -> go.Figure:
    params, main, told = cast(Params, result.params), *(result.tables[n] for n in COLUMNS)
    figure = fig.figure(
        finding(result),
        "d, values of each person",
        "mean |posterior mean − true μ|, in σ",
        settings=f"dotted by formula; {runs_in_words(main)}, N = {params.n:,}, {_settings(params)}",
    )
    table, known = (
        errors(params, main),
        told.set_index(["dimension", "asked"]).information.to_dict(),
    )
    labels, shown = [], []
    ways, styles = _ways(told), {style.name: style for style in fig.styles([ONE, ALL, BEST])}
    for place, (name, asked) in enumerate(ways.items()):
        style = styles[name]
        least = bound(params, np.array([known[pair] for pair in asked.items()]))
        theory = dataclasses.replace(style, dash="dot", name=f"{name}, by formula")
        figure.add_trace(fig.line(np.array(list(asked), dtype=float), least, theory))
        labels.append((float(least[-1]), name, style.color))
        part = table[table.asked == table.dimension.map(asked)]
        # Beside each other, so that intervals can be told apart.
        x = part.dimension.to_numpy(float) * APART ** (place - (len(ways) - 1) / 2.0)
        ends = (part[end].to_numpy(float) for end in ("low", "high"))
        figure.add_trace(fig.points(x, part["mean"].to_numpy(float), style, *ends))
        shown += [*least.tolist(), *part[["mean", "low", "high"]].to_numpy(float).ravel().tolist()]
    seen = [value for value in shown if value > 0.0]
    low, high = 0.8 * min(seen), 1.25 * max(seen)
    sizes = sorted(set(params.dimension))
    figure.update_xaxes(
        type="log",
        range=[-0.06, math.log10(sizes[-1]) + 0.06],
        tickvals=sizes,
        ticktext=[str(d) for d in sizes],
    )
    figure.update_yaxes(
        type="log",
        range=[math.log10(low), math.log10(high)],
        tickvals=LEVELS,
        ticktext=[f"{level:g}" for level in LEVELS],
    )
    fig.end_labels(figure, labels, (low, high))
    return figure.update_layout(showlegend=False)


APART = 1.06
"""Factor between marks of one size."""

LEVELS = tuple(digit * 10.0**power for power in range(-4, 4) for digit in (1, 2, 5))
"""Errors with a tick."""


def _told_figure(result: Result) -> go.Figure:
    """One curve: by how many are asked for, all sizes tell in the same proportion."""
    params, told = cast(Params, result.params), result.tables["told"]
    d = int(told.dimension.max())
    best = _best(told, d)
    title = (
        f"With {d} values of each person most is told by asking for {best}"
        if d > 1
        else "With one value of each person there is nothing to split"
    )
    figure = fig.figure(
        title,
        "values that a person is asked for",
        "told about each mean, as a share of the most",
        settings=f"by formula, {_settings(params)}",
    )
    part = told[told.dimension == d]
    share = (part.information / part.information.max()).to_numpy()
    trace = fig.line(part.asked.to_numpy(float), share, fig.THEORY)
    trace.update(mode="lines+markers", marker={"symbol": fig.THEORY.marker, "size": 8})
    figure.add_trace(trace)
    figure.update_xaxes(range=[0.7, d + 0.3], dtick=1)
    figure.update_yaxes(range=[0.0, 1.05])
    return figure.update_layout(showlegend=False)


def _errors_sentence(result: Result) -> str:
    """The errors of the most values, and what they would be were the place to ask at known."""
    params, told = cast(Params, result.params), result.tables["told"]
    part = told[told.dimension == told.dimension.max()]
    least = bound(params, part.information.to_numpy())
    d = len(part)
    each = "; ".join(f"{_asked(d, k)} {plain(least[k - 1])}" for k in params.asked(d))
    return f"{result.summary} By formula, with the place to ask at known: {each}."


def _told_sentence(result: Result) -> str:
    """The best number for each size, and what splitting and one value tell against it."""
    told = result.tables["told"]
    each = []
    for d in sorted(told.dimension.unique().tolist()):
        if d == 1:
            continue
        part = told.information[told.dimension == d].to_numpy()
        one, every = 100.0 * part[[0, -1]] / part.max()
        each.append(
            f"of {d} values {_best(told, d)} (one tells {one:.3g} % of that, "
            f"all of them {every:.3g} %)"
        )
    if not each:
        return "With one value of each person there is nothing to split."
    return f"Most is told about each mean by asking for: {'; '.join(each)}."
