r"""Figure 2 of the adaptive-truncation paper: one stream for each budget and each way of asking.

The same people with the same noise answer at each $\epsilon_{total}$ twice: once in intervals that
follow what is known, once all in the same wide one, $\mu \pm 10\sigma$ (MATH A4, A5, A10). What is
known is shown as a cloud: particles of equal weight every so many people, their mean, the truth,
and for $\mu$ where people were asked.

[Y23] concludes that the spread falls with time, that accuracy rises with $\epsilon_{total}$, and
that the adaptive cloud gathers more and much sooner. For $\mu$ that can be seen here. For $\sigma$
it depends on the budget: at a small one an answer in the best interval for $\mu$ tells next to
nothing about $\sigma$, and the cloud is drawn grey until $\log\sigma$ is half as wide as its prior.

One stream is one draw of chance; the claims are therefore judged over the 30 runs of
``estimation-accuracy``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import experiments
from abcdp_core import figures as fig
from abcdp_core import parameters as par
from abcdp_core.experiments import Onward
from abcdp_core.online import learnt
from abcdp_core.online import parameters as online
from abcdp_core.online.particles import picture
from abcdp_core.online.stream import Answer
from abcdp_core.parameters import Parameter
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.results import Result, Tables
from abcdp_core.sentences import amount, counted, estimate

Array = NDArray[np.float64]

EXPERIMENT = "truncation-streams"
TITLE = "The same people at several budgets, with moving and with fixed intervals"
KEY = ("epsilon_total", "interval")
COLUMNS = {
    "main": (*KEY, *Answer._fields),
    "particles": (*KEY, "t", "particle", "mu", "sigma"),
}

EVERY = Parameter(
    kind="integer",
    label="People between two pictures",
    help="The particles are kept after every so many people; the paper takes 20.",
    low=1,
    high=100_000,
    steps=(1, 2, 5, 10, 20, 50, 100, 1000),
)

KEPT = 100
"""Particles of a picture that are kept at most, of equal weight."""

PICTURES = 100
"""Pictures of a stream at most."""


@dataclass(frozen=True)
class Params(online.StreamParams):
    """Every budget with each way of asking, on the same people."""

    epsilon_total: tuple[float, ...] = par.EPSILON_TOTAL.field((1.0, 2.0, 5.0, 10.0), many=True)
    sampler: str = online.SAMPLER.field("smc")
    interval: tuple[str, ...] = online.INTERVAL.field(("adaptive", "fixed"), many=True)
    every: int = EVERY.field(20)

    def check_together(self) -> None:
        """Refuse what the sampler cannot do."""
        self.check_sampler(self.sampler)


PRESETS: dict[str, BaseParams] = {
    "y23-figure-2": Params(sampler="smc-latent", start="paper", resampling="multinomial")
}


@dataclass(frozen=True)
class Task(experiments.SingleTask[Params]):
    """One stream; ``params`` hold one budget and one way of asking."""

    @property
    def links(self) -> int:
        """Parts it is done in, each with a picture of the particles at its end."""
        return min(PICTURES, -(-self.params.n // self.params.every))

    def last(self, part: int) -> int:
        """People asked up to the end of a part: a multiple of ``every``, or all of them."""
        whole = -(-self.params.n // self.params.every)
        return min(self.params.n, (part + 1) * whole // self.links * self.params.every)


def tasks(params: Params, seed: int) -> list[Task]:
    """One stream for each budget and way of asking."""
    singles = experiments.per_value(params, seed, "epsilon_total", "interval")
    return [Task(single.params, seed) for single in singles]


def work(task: Task | Onward[Task]) -> experiments.Link:
    """Ask the next people, and keep a picture of the particles."""
    here = Onward.of(task)
    params, seed = here.task.params, here.task.seed
    first = here.task.last(here.done - 1) if here.done else 0
    last = here.task.last(here.done)
    (budget,), (interval,) = params.epsilon_total, params.interval
    stream = params.stream(budget, params.sampler, interval, seed, run=0)
    values, noises = params.people(seed, run=0)
    turns = list(stream.ask(here.state, first, values[first:last], noises[first:last]))
    state = turns[-1][0]
    main = pd.DataFrame([asked for _, asked in turns], columns=list(Answer._fields))
    particles = pd.DataFrame({"t": last, **picture(state, min(KEPT, params.particles))})
    tables = {"main": main, "particles": particles}
    for name, table in tables.items():
        table.insert(0, "epsilon_total", budget)
        table.insert(1, "interval", interval)
        tables[name] = table[list(COLUMNS[name])]
    return here.link(tables, state)


def collect(params: Params, rows: Tables) -> Result:
    """The result so far."""
    privacy = params.promise(params.epsilon_total)
    return Result(EXPERIMENT, params, rows, _summary(params, rows["main"]), privacy)


def _streams(params: Params, table: pd.DataFrame) -> Iterator[tuple[float, str, pd.DataFrame]]:
    """Budget, way of asking and rows of each stream that has begun, in the order of settings."""
    groups = dict(list(table.groupby(list(KEY), sort=False)))
    for budget in params.epsilon_total:
        for interval in params.interval:
            if (budget, interval) in groups:
                yield budget, interval, groups[budget, interval]


def _summary(params: Params, main: pd.DataFrame) -> str:
    """What is known at the smallest and the largest budget."""
    ends = {min(params.epsilon_total), max(params.epsilon_total)}
    parts = []
    for budget, interval, rows in _streams(params, main):
        if budget in ends:
            last = rows.iloc[-1]
            gained = params.narrower(params.sampler, last.sigma_width).item()
            narrow = "σ known" if params.known_sigma else f"log σ {learnt.words(gained)}"
            after = "" if last.t == params.n else f" after {int(last.t):,} people"
            parts.append(
                f"at ε_total = {budget:g} {interval}{after} μ = "
                f"{estimate(last.mean_mu, last.sd_mu)}, {narrow}"
            )
    return (
        f"Streams of {counted(params.n, 'person', 'people')}, one for each budget and way of "
        f"asking, true μ = {params.mu:.4g}: {'; '.join(parts)}. ± is a posterior standard "
        "deviation."
    )


# --------------------------------------------------------------------------------------- figures

SHOWN = 15
"""Particles of a picture that are drawn."""

MOST = 5
"""Budgets that are drawn side by side at most, evenly spread over all; the tables have the rest."""

DRAWN = 50
"""Pictures of a stream that are drawn at most."""

POINTS = 150
"""Points of a line at most."""

ROW_HEIGHT = 210
"""Of a row of panels, in pixels."""

_WAYS = {style.name: style for style in fig.styles(["adaptive", "fixed"])}
_ASKED = dataclasses.replace(fig.GUIDE, name="ends of the intervals", dash="solid")
_SYMBOL = {"mu": "μ", "sigma": "σ"}


def figures(result: Result) -> dict[str, fig.Drawn]:
    """Small multiples: a column for each budget, rows for the ways of asking and the parameters."""
    params = cast(Params, result.params)
    budgets = sorted(params.epsilon_total)
    budgets = [budgets[index] for index in _spread(len(budgets), MOST)]
    ways = [(name, interval) for name in _SYMBOL for interval in params.interval]
    figure = _empty(params, budgets, ways)
    particles = {
        (budget, interval): rows
        for budget, interval, rows in _streams(params, result.tables["particles"])
    }
    for budget, interval, main in _streams(params, result.tables["main"]):
        for row, (name, way) in enumerate(ways):
            if budget in budgets and way == interval:
                panel = fig.panel(row * len(budgets) + budgets.index(budget))
                style = _WAYS[interval]
                traces = _panel(params, name, main, particles[budget, interval], style)
                figure.add_traces([trace.update(**panel) for trace in traces])
    fig.named_once(figure)
    figure.update_layout(title={"text": finding(params, result.tables["main"])})
    return {"streams": fig.Drawn(figure, result.summary)}


def finding(params: Params, main: pd.DataFrame) -> str:
    """How much sharper adaptive intervals tell μ than fixed ones, at both ends, in a line."""
    streams = {(budget, way): rows for budget, way, rows in _streams(params, main)}
    times = {
        budget: _times_sharper(streams[budget, "adaptive"], streams[budget, "fixed"])
        for budget in sorted(params.epsilon_total)
        if {(budget, "adaptive"), (budget, "fixed")} <= streams.keys()
    }
    known = {budget: ratio for budget, ratio in times.items() if np.isfinite(ratio)}
    if not known:
        return "What is known of μ and σ, answer by answer"
    ends = dict.fromkeys([min(known), max(known)])
    each = " and ".join(
        f"{amount(known[budget], 2)} times at ε_total = {budget:g}" for budget in ends
    )
    return f"Adaptive against fixed intervals, sharpness about μ: {each}"


def _times_sharper(adaptive: pd.DataFrame, fixed: pd.DataFrame) -> float:
    """Ratio of the spreads of μ after as many people as both have; NaN without spread."""
    last = min(len(adaptive), len(fixed)) - 1
    spreads = float(fixed.sd_mu.iloc[last]), float(adaptive.sd_mu.iloc[last])
    return spreads[0] / spreads[1] if min(spreads) > 0.0 else np.nan


def _empty(params: Params, budgets: list[float], ways: list[tuple[str, str]]) -> go.Figure:
    titles = [
        f"ε_total = {budget:g}" if row == 0 else ""
        for row in range(len(ways))
        for budget in budgets
    ]
    every = len(params.epsilon_total)
    left_out = f", {len(budgets)} of {every} budgets" if len(budgets) < every else ""
    figure = fig.panels(
        titles,
        "",
        "people asked",
        "",
        len(ways),
        height=160 + ROW_HEIGHT * len(ways),
    )
    settings = f"particles over time, N = {params.n:,}, {params.sampler}{left_out}"
    figure.update_layout(title={"subtitle": {"text": settings}})
    gap = 0.035
    height = (1.0 - gap * (len(ways) - 1)) / len(ways)
    for row, (name, interval) in enumerate(ways):
        top = 1.0 - row * (height + gap)
        reach = _reach(params) * params.sigma
        span = [params.mu - reach, params.mu + reach] if name == "mu" else [0, 3.2 * params.sigma]
        first = row * len(budgets)
        for column in range(len(budgets)):
            ids = fig.panel(first + column)
            figure.layout["yaxis" + ids["yaxis"][1:]].update(
                domain=[max(0.0, top - height), top],
                # Those of a row share their axis; the rows of one parameter have the same range.
                matches=fig.panel(first)["yaxis"] if column else None,
                range=span,
                title={"text": f"{_SYMBOL[name]}, {interval}"} if column == 0 else None,
                nticks=5,
            )
            figure.layout["xaxis" + ids["xaxis"][1:]].update(
                range=[0, params.n], showticklabels=row == len(ways) - 1, nticks=4
            )
    figure.update_layout(legend={"itemsizing": "constant"})
    figure.for_each_annotation(lambda note: note.update(y=1.0))
    return figure


def _reach(params: Params) -> float:
    """Of the axis of μ on either side of the truth, in σ: beyond the fixed interval if it can."""
    if "fixed" not in params.interval:
        return 8.0
    return float(np.clip(1.1 * params.fixed_width, 8.0, 15.0))


def _panel(
    params: Params, name: str, main: pd.DataFrame, particles: pd.DataFrame, style: fig.Style
) -> list[go.Scatter]:
    """What one panel shows of a stream."""
    lines = main.iloc[_spread(len(main), POINTS)]
    t = lines.t.to_numpy(float)
    traces = list(_clouds(params, name, main, particles, style))
    if name == "mu":
        for edge in ("left", "right"):
            trace = fig.line(t, lines[edge].to_numpy(), _ASKED)
            traces.append(trace.update(line={"width": 1.2}))
    mean = fig.line(t, lines[f"mean_{name}"].to_numpy(), style, showlegend=False)
    traces.append(mean.update(name="posterior mean", line={"dash": "solid"}))
    ends = np.array([0.0, float(params.n)])
    traces.append(fig.line(ends, np.full(2, getattr(params, name)), fig.TRUTH))
    return traces


def _clouds(
    params: Params, name: str, main: pd.DataFrame, particles: pd.DataFrame, way: fig.Style
) -> Iterator[go.Scatter]:
    """Particles at some times, spread evenly over each cloud; σ grey while it is not learnt."""
    times = particles.t.unique()
    times = times[_spread(len(times), DRAWN)]
    widths = main.set_index("t").sigma_width.loc[times]
    is_grey = np.zeros(len(times), dtype=bool)
    if name == "sigma":
        is_grey = params.narrower(params.sampler, widths) < learnt.LEARNT
    for style, chosen in ((way, times[~is_grey]), (fig.UNLEARNT, times[is_grey])):
        if len(chosen):
            here = [np.sort(particles[particles.t == t][name].to_numpy()) for t in chosen]
            drawn = [cloud[_spread(len(cloud), SHOWN)] for cloud in here]
            x = np.repeat(chosen.astype(float), [len(cloud) for cloud in drawn])
            trace = fig.points(x, np.concatenate(drawn), style)
            yield trace.update(marker={"size": 4, "opacity": 0.5})


def _spread(count: int, most: int) -> NDArray[np.intp]:
    """Indices of so many of a row of things at most, evenly spread, first and last among them."""
    return np.linspace(0, count - 1, min(count, most)).round().astype(np.intp)
