r"""Figure 2 of the adaptive-truncation paper: one stream for each budget and each way of asking.

The same people with the same noise answer twice at each $\epsilon_{total}$: in intervals that
follow the current posterior, and in one wide fixed interval, $\mu \pm 10\sigma$ (MATH A4, A5,
A10). The posterior is shown as a cloud of particles of equal weight, with its mean, the truth and,
for $\mu$, the interval asked.

[Y23] concludes that the spread falls over time, that accuracy rises with $\epsilon_{total}$, and
that the adaptive cloud concentrates more and much sooner. For $\mu$ this can be seen here. For
$\sigma$ it depends on the budget: at a small one, an answer in the best interval for $\mu$ carries
next to no information about $\sigma$. The cloud is gray until $\log\sigma$ is half as wide as its
prior.

One stream is one draw of chance; the claims are judged on the 30 runs of ``estimation-accuracy``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from abcdp_core import figures as fig
from abcdp_core.adaptive import contraction
from abcdp_core.adaptive import parameters as stream_params
from abcdp_core.adaptive.particles import picture
from abcdp_core.adaptive.stream import Answer
from abcdp_core.base import parameters as par
from abcdp_core.base.sentences import budget_name, counted, estimate, exact, listed
from abcdp_core.run.tasks import per_value
from abcdp_core.studies.engine import BaseParams, Chain, Continuation, Result, Study, scale
from abcdp_core.studies.engine.estimates import ASKED, SYMBOL, ask, contrast

EXPERIMENT = "truncation-streams"
TITLE = "The same people asked at several budgets, in adaptive and fixed intervals"

EVERY = scale(
    "People between snapshots",
    "Particles are kept each time this many more people have answered; 20 in the paper.",
    (1, 2, 5, 10, 20, 50, 100, 1000),
    high=100_000,
)

PICTURES, KEPT = 100, 100
"""Most snapshots of a stream, and particles of each, which have equal weight."""


@dataclass(frozen=True)
class Params(stream_params.StreamParams):
    """Budgets and ways of asking, all with the same people."""

    epsilon_total: tuple[float, ...] = par.EPSILON_TOTAL.field((1.0, 2.0, 5.0, 10.0))
    sampler: str = stream_params.SAMPLER.field("smc")
    interval: tuple[str, ...] = stream_params.INTERVAL.field(("adaptive", "fixed"))
    every: int = EVERY.field(20)

    def check_together(self) -> None:
        """Refuse what the sampler cannot do."""
        self.check_sampler(self.sampler)

    def pictures(self) -> list[int]:
        """Return after how many people a snapshot is kept: multiples of ``every``, and all."""
        whole = -(-self.n // self.every)
        count = min(PICTURES, whole)
        return [min(self.n, part * whole // count * self.every) for part in range(1, count + 1)]


AS_PUBLISHED = Params(sampler="smc-latent", start="paper", resampling="multinomial")
PRESETS: dict[str, BaseParams] = {"y23-figure-2": AS_PUBLISHED}


def streams(params: Params, seed: int) -> list[Chain[Params]]:
    """Return a stream for each budget and way of asking."""
    links = len(params.pictures())
    singles = per_value(params, seed, "epsilon_total", "interval")
    return [Chain(single.params, 0, seed, links) for single in singles]


def follow(chain: Continuation[Chain[Params]]) -> tuple[dict[str, Any], Any]:
    """Ask the next people of a stream, and keep a snapshot of the particles."""
    params = chain.task.params
    first, last = [0, *params.pictures()][chain.done : chain.done + 2]
    state, answers = ask(chain.task, chain.state, slice(first, last))
    particles = pd.DataFrame({"t": last, **picture(state, min(KEPT, params.particles))})
    return {"main": [each._asdict() for each in answers], "particles": particles}, state


def says(result: Result) -> tuple[str, str]:
    """Compare the spreads of μ at the smallest budget, and report its posteriors there."""
    params, main = cast(Params, result.params), result.tables["main"]
    budget = main.epsilon_total.min()
    each = dict(list(main[main.epsilon_total == budget].groupby("interval", sort=False)))
    t = min(len(stream) for stream in each.values())
    ends = {ASKED[way].name: stream.iloc[t - 1] for way, stream in each.items()}
    spreads = {way: float(end.sd_mu) for way, end in ends.items()}
    title = "Posterior of μ and σ, answer by answer"
    if len(spreads) == 2 and min(spreads.values()) > 0.0:
        title = f"At {budget_name(budget)}, {contrast('spread of μ', spreads)}"
    means = [f"{estimate(end.mean_mu, end.sd_mu)} with {way}" for way, end in ends.items()]
    return title, (
        f"After {counted(t, 'person', 'people')} at {budget_name(budget)}, the posterior gives "
        f"μ = {listed(means)}; the truth is {exact(params.mu)}."
    )


SHOWN, DRAWN, POINTS, MOST = 15, 50, 150, 5
"""Most particles of a snapshot, snapshots and points of a stream, and budgets drawn."""

REACH = 11.0
"""Ends of the axis of μ, in σ from the truth: just beyond the paper's fixed interval."""

ENDS = fig.GUIDE.called("ends of the intervals", dash="solid")


def drawn(result: Result) -> fig.CaptionedFigure:
    """Draw a panel for each budget (columns), parameter and way of asking (rows)."""
    params, (title, caption) = cast(Params, result.params), says(result)
    every = pd.DataFrame({"budget": sorted(params.epsilon_total)})
    budgets = fig.evenly(every, MOST).budget.tolist()
    rows = list(itertools.product(SYMBOL, params.interval))
    titles = [budget_name(budget) for budget in budgets] + [""] * (len(rows) - 1) * len(budgets)
    size = len(rows), 160 + 210 * len(rows)
    settings = f"N = {params.n:,}, {params.sampler}"
    settings += f", {MOST} of {len(every)} budgets" * (len(every) > MOST)
    figure = fig.panels(titles, title, "people who have answered", "", *size, 0.035, settings)
    figure.update_layout(legend={"itemsizing": "constant"})
    for index, ((name, way), budget) in enumerate(itertools.product(rows, budgets)):
        row, column = divmod(index, len(budgets))
        x, y = (fig.panel(index)[axis].replace(axis[0], axis) for axis in ("xaxis", "yaxis"))
        around = [params.mu - REACH * params.sigma, params.mu + REACH * params.sigma]
        figure.layout[y].update(
            # Panels of a row share an axis.
            matches=fig.panel(row * len(budgets))["yaxis"] if column else None,
            range=around if name == "mu" else [0, 3.2 * params.sigma],
            title={"text": f"{SYMBOL[name]}, {way}"} if column == 0 else None,
        )
        last = row == len(rows) - 1
        figure.layout[x].update(range=[0, params.n], showticklabels=last, nticks=4)
        both = result.tables["main"], result.tables["particles"]
        chosen = ((each.epsilon_total == budget) & (each.interval == way) for each in both)
        main, particles = (each[mine] for each, mine in zip(both, chosen, strict=True))
        if len(main):
            traces = _panel(params, name, main, particles, ASKED[way])
            figure.add_traces([trace.update(**fig.panel(index)) for trace in traces])
    fig.named_once(figure)
    return fig.CaptionedFigure(figure, caption)


def _panel(
    params: Params, name: str, main: pd.DataFrame, particles: pd.DataFrame, way: fig.Style
) -> Iterator[go.Scatter]:
    """Return the traces of one panel; σ is gray until it is learned."""
    times = fig.evenly(particles[["t"]].drop_duplicates(), DRAWN).t
    ordered = particles[particles.t.isin(times)].sort_values(["t", name])
    shown = pd.concat([fig.evenly(cloud, SHOWN) for _, cloud in ordered.groupby("t")])
    widths = shown.t.map(main.set_index("t").sigma_width)
    is_grey = (name == "sigma") & (params.narrower(params.sampler, widths) < contraction.LEARNT)
    for style, chosen in ((way, shown[~is_grey]), (fig.UNLEARNT, shown[is_grey])):
        if len(chosen):
            trace = fig.points(chosen.t.to_numpy(float), chosen[name].to_numpy(), style)
            yield trace.update(marker={"size": 4, "opacity": 0.5})
    lines = fig.evenly(main, POINTS)
    t = lines.t.to_numpy(float)
    for edge in ("left", "right") if name == "mu" else ():
        yield fig.line(t, lines[edge].to_numpy(), ENDS).update(line={"width": 1.2})
    yield fig.line(t, lines[f"mean_{name}"].to_numpy(), way.called("posterior mean", dash="solid"))
    yield fig.line(np.array([0.0, params.n]), np.full(2, getattr(params, name)), fig.TRUTH)


STUDY: Study[Params, None] = Study(
    EXPERIMENT,
    Params,
    chains=streams,
    link=follow,
    tables={
        "main": f"epsilon_total interval {' '.join(Answer._fields)}",
        "particles": "epsilon_total interval t particle mu sigma",
    },
    says=lambda result: says(result)[1],
    privacy=lambda params: params.promise(params.epsilon_total),
    views={"streams": drawn},
)
COLUMNS, tasks, work, collect, figures = STUDY.contract()
