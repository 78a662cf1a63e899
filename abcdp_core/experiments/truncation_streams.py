r"""Figure 2 of the adaptive-truncation paper: one stream for each budget and each way of asking.

The same people with the same noise answer at each $\epsilon_{total}$ twice: once in intervals that
follow what is known, once all in the same wide one, $\mu \pm 10\sigma$ (MATH A4, A5, A10). What is
known is shown as a cloud: particles of equal weight every so many people, their mean, the truth,
and for $\mu$ where people were asked.

[Y23] concludes that the spread falls with time, that accuracy rises with $\epsilon_{total}$, and
that the adaptive cloud gathers more and much sooner. For $\mu$ that can be seen here. For $\sigma$
it depends on the budget: at a small one an answer in the best interval for $\mu$ carries next to no
information about $\sigma$, and the cloud is drawn grey until $\log\sigma$ is half as wide as its
prior.

One stream is one draw of chance; the claims are therefore judged over the 30 runs of
``estimation-accuracy``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go

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
from abcdp_core.sentences import budget_name, counted, estimate, exact, listed
from abcdp_core.study.estimates import ASKED, SYMBOL, contrast

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
    tables = {
        name: table.assign(epsilon_total=budget, interval=interval)[list(COLUMNS[name])]
        for name, table in (("main", main), ("particles", particles))
    }
    return here.link(tables, state)


def collect(params: Params, rows: Tables) -> Result:
    """The result so far."""
    privacy = params.promise(params.epsilon_total)
    _, summary = says(params, rows["main"])
    return Result(EXPERIMENT, params, rows, summary, privacy)


def says(params: Params, main: pd.DataFrame) -> tuple[str, str]:
    """Return how the spreads of μ compare at the smallest budget, and what is known of μ there."""
    budget = main.epsilon_total.min()
    streams = dict(list(main[main.epsilon_total == budget].groupby("interval", sort=False)))
    t = min(len(stream) for stream in streams.values())
    ends = {ASKED[way].name: stream.iloc[t - 1] for way, stream in streams.items()}
    spreads = {way: float(end.sd_mu) for way, end in ends.items()}
    title = "What is known of μ and σ, answer by answer"
    if len(spreads) == 2 and min(spreads.values()) > 0.0:
        title = f"At {budget_name(budget)}, {contrast('spread of μ', spreads)}"
    each = [f"{estimate(end.mean_mu, end.sd_mu)} with {way}" for way, end in ends.items()]
    return title, (
        f"After {counted(t, 'person', 'people')} at {budget_name(budget)}, the posterior gives "
        f"μ = {listed(each)}; the truth is {exact(params.mu)}."
    )


# --------------------------------------------------------------------------------------- figures

SHOWN, DRAWN, POINTS, MOST = 15, 50, 150, 5
"""Most particles of a picture, pictures and points of a stream, and budgets that are drawn."""

ENDS = fig.GUIDE.called("ends of the intervals", dash="solid")


def figures(result: Result) -> dict[str, fig.Drawn]:
    """Small multiples: a column for each budget, rows for the ways of asking and the parameters."""
    params, main = cast(Params, result.params), result.tables["main"]
    every = pd.DataFrame({"budget": sorted(params.epsilon_total)})
    budgets = fig.evenly(every, MOST).budget.tolist()
    title, caption = says(params, main)
    rows = [(name, way) for name in SYMBOL for way in params.interval]
    figure = _empty(params, title, budgets, rows)
    clouds = dict(list(result.tables["particles"].groupby(list(KEY))))
    for (budget, interval), stream in main.groupby(list(KEY), sort=False):
        for row, (name, way) in enumerate(rows):
            if budget in budgets and way == interval:
                ids = fig.panel(row * len(budgets) + budgets.index(budget))
                traces = _panel(params, name, stream, clouds[budget, interval], ASKED[interval])
                figure.add_traces([trace.update(**ids) for trace in traces])
    fig.named_once(figure)
    return {"streams": fig.Drawn(figure, caption)}


def _empty(
    params: Params, title: str, budgets: list[float], rows: list[tuple[str, str]]
) -> go.Figure:
    """Panels whose axes follow from the settings."""
    titles = [budget_name(budget) for budget in budgets] + [""] * (len(rows) - 1) * len(budgets)
    height = 160 + 210 * len(rows)
    figure = fig.panels(titles, title, "people asked", "", len(rows), height, gap=0.035)
    every = len(params.epsilon_total)
    left_out = f", {len(budgets)} of {every} budgets" if len(budgets) < every else ""
    settings = f"N = {params.n:,}, {params.sampler}{left_out}"
    figure.update_layout(title={"subtitle": {"text": settings}}, legend={"itemsizing": "constant"})
    # Beyond the fixed interval, if it can.
    reach = float(np.clip(1.1 * params.fixed_width, 8.0, 15.0)) if "fixed" in params.interval else 8
    around = [params.mu - reach * params.sigma, params.mu + reach * params.sigma]
    for row, (name, way) in enumerate(rows):
        for column in range(len(budgets)):
            ids = fig.panel(row * len(budgets) + column)
            figure.layout["yaxis" + ids["yaxis"][1:]].update(
                # Those of a row share their axis.
                matches=fig.panel(row * len(budgets))["yaxis"] if column else None,
                range=around if name == "mu" else [0, 3.2 * params.sigma],
                title={"text": f"{SYMBOL[name]}, {way}"} if column == 0 else None,
                nticks=5,
            )
            figure.layout["xaxis" + ids["xaxis"][1:]].update(
                range=[0, params.n], showticklabels=row == len(rows) - 1, nticks=4
            )
    return figure


def _panel(
    params: Params, name: str, main: pd.DataFrame, particles: pd.DataFrame, style: fig.Style
) -> Iterator[go.Scatter]:
    """What one panel shows of a stream."""
    yield from _clouds(params, name, main, particles, style)
    lines = fig.evenly(main, POINTS)
    t = lines.t.to_numpy(float)
    for edge in ("left", "right") if name == "mu" else ():
        yield fig.line(t, lines[edge].to_numpy(), ENDS).update(line={"width": 1.2})
    mean = fig.line(t, lines[f"mean_{name}"].to_numpy(), style, showlegend=False)
    yield mean.update(name="posterior mean", line={"dash": "solid"})
    ends = np.array([0.0, float(params.n)])
    yield fig.line(ends, np.full(2, getattr(params, name)), fig.TRUTH)


def _clouds(
    params: Params, name: str, main: pd.DataFrame, particles: pd.DataFrame, way: fig.Style
) -> Iterator[go.Scatter]:
    """Particles at some times, spread evenly over each cloud; σ grey while it is not learnt."""
    times = fig.evenly(particles[["t"]].drop_duplicates(), DRAWN).t
    ordered = particles[particles.t.isin(times)].sort_values(["t", name])
    shown = pd.concat([fig.evenly(cloud, SHOWN) for _, cloud in ordered.groupby("t")])
    widths = shown.t.map(main.set_index("t").sigma_width)
    is_grey = (name == "sigma") & (params.narrower(params.sampler, widths) < learnt.LEARNT)
    for style, chosen in ((way, shown[~is_grey]), (fig.UNLEARNT, shown[is_grey])):
        if len(chosen):
            trace = fig.points(chosen.t.to_numpy(float), chosen[name].to_numpy(), style)
            yield trace.update(marker={"size": 4, "opacity": 0.5})
