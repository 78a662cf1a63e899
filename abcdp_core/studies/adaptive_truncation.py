r"""Asking people one after the other, each in the interval that tells most.

Every person answers once, clipped to an interval and with noise in proportion to its width, so that
the answer alone costs $\epsilon_{total}$ (MATH A1):

$$Y_t = \mathrm{clip}(X_t, l_t, r_t) + \mathrm{Lap}\bigl((r_t - l_t)/\epsilon_{total}\bigr),
\qquad X_t \sim N(\mu, \sigma^2).$$

A narrow interval at the right place tells most (MATH A4), but that place has to be found first. So
before each person $(\mu, \sigma)$ is drawn from the posterior so far, and the best interval for
that draw is used (Thompson sampling, MATH A5). **At the start** most people are asked far from
where they are, and an answer tells little more than on which side: the cost of exploring. A fixed
interval that is wide enough to be safe needs no exploring and pays with noise for ever.

The posterior is kept as weighted particles. Ours weights them by the exact density of the response
or, of a symbol, by its probability (MATH A2, A7); the paper's particles carry every person's value
(MATH A6); the grid is the reference (MATH A8).

With ``channel`` a person can answer by a symbol instead (MATH A14): *sign*, on which side of a
place the value lies, or *optimal*, the table of symbols that tells most for the score asked for,
placed by the same draw of $(\mu, \sigma)$.

**σ is hardly learned at a small budget.** The best interval for $\mu$ is then so narrow that an
answer is a noisy sign, which tells next to nothing about $\sigma$. So we report how much narrower
the posterior of $\log\sigma$ is than its prior, and draw it grey until that is half.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from abcdp_core import figures as fig
from abcdp_core.adaptive import contraction, intervals, typical
from abcdp_core.adaptive import parameters as online
from abcdp_core.adaptive.particles import picture
from abcdp_core.adaptive.resampling import evenly
from abcdp_core.adaptive.stream import Answer
from abcdp_core.sentences import ALIKE, amount, counted, estimate, interval, listed, settings_line
from abcdp_core.study import Chain, Continuation, Result, Study, Tables
from abcdp_core.study.estimates import SYMBOL, ask
from abcdp_core.tasks import with_values

EXPERIMENT = "adaptive-truncation"
TITLE = "Intervals that follow the answers, person by person"

LINKS = 100  # Parts of a stream, with a picture of the particles after each


@dataclass(frozen=True)
class Params(online.StreamParams):
    """One stream of people."""

    epsilon_total: float = online.EPSILON_TOTAL.field(1.0)
    sampler: str = online.SAMPLER.field("smc")
    interval: str = online.INTERVAL.field("adaptive")
    channel: str = online.CHANNEL.field("truncation")

    def check_together(self) -> None:
        """Refuse what the sampler or the way of asking cannot do."""
        self.check_sampler(self.sampler)
        online.check_noise([self.channel], self.noise)
        online.check_tables([self.channel], [self.interval], [self.sampler])


def follow(here: Continuation[Chain[Params]]) -> tuple[dict[str, Any], Any]:
    """Ask the next people, and say what is known then."""
    params, part = here.task.params, here.part(here.task.params.n)
    state, answers = ask(here.task, here.state, part)
    particles = pd.DataFrame({"t": part.stop, **picture(state, params.particles)})
    return {"main": [each._asdict() for each in answers], "particles": particles}, state


def summary(result: Result) -> str:
    """What is known after the last answer."""
    params, last = cast(Params, result.params), result.tables["main"].iloc[-1]
    people = counted(params.n, "person", "people")
    mu, sigma = estimate(last.mean_mu, last.sd_mu), (last.mean_sigma, last.sd_sigma)
    return (
        f"After {int(last.t):,} of {people}, {_way(params)}, μ = {mu} (true {params.mu:.4g}); "
        f"{params.sigma_in_words(params.sampler, *sigma, last.sigma_width)}. "
        "± is a posterior standard deviation."
    )


def _way(params: Params) -> str:
    if params.channel == "truncation":
        return f"{params.interval} interval"
    return "sign at an adaptive place" if params.channel == "sign" else "optimal symbols"


SYMBOLS, PLACED = "symbols", "placed right"
WAYS = {
    "adaptive": "its prior only",
    "fixed": "about where μ is",
    SYMBOLS: "its prior only",
    PLACED: "μ and σ themselves",
}
"""Way of asking -> what it knows before the first answer."""

CHANNELS = "truncation", "fixed", "optimal", PLACED
STYLES = dict(zip(WAYS, map(fig.way_of_asking, CHANNELS), strict=True))
"""How each looks, on every page."""


def ways(params: Params) -> dict[str, Params]:
    """Return the settings of each way of asking the same people (MATH A4, A14).

    The interval that is placed right is the symmetric one that is best for μ at the true (μ, σ), no
    narrower than a fixed one may be.
    """
    best = intervals.best(params.unit_scale(params.epsilon_total), params.noise)
    half = max(best.b, online.FIXED_WIDTH.low or 0.0)
    fixed = with_values(params, interval="fixed", channel="truncation")
    adaptive = with_values(params, interval="adaptive")
    symbols = {} if no_symbols(params) else {SYMBOLS: with_values(adaptive, channel="optimal")}
    placed = with_values(fixed, fixed_width=half)
    return {"adaptive": adaptive, "fixed": fixed, **symbols, PLACED: placed}


def no_symbols(params: Params) -> str:
    """Return why nobody answers by symbols with these settings; empty if people do."""
    if params.noise == "gaussian":
        return "Symbols are not shown with Gaussian noise: they have no noise and no δ."
    if params.sampler == "smc-latent":
        return "Symbols are not shown with the sampler smc-latent: it needs answers with noise."
    return ""


def headline(found: Mapping[str, Result]) -> tuple[str, str, str]:
    """Say how much sharper adaptive intervals tell μ in this run: way of asking -> result so far.

    Returns:
        A number; the sentence that it begins; what else there is to say, all Markdown.
    """
    params = cast(Params, next(iter(found.values())).params)
    last = min(len(result.tables["main"]) for result in found.values())
    people = counted(last, "person", "people")
    rows = {way: found[way].tables["main"].iloc[last - 1] for way in WAYS if way in found}
    if not {"adaptive", "fixed"} <= rows.keys():
        return people, "asked so far, in one way only: nothing to compare yet.", ""
    number, words = _sharper(rows["adaptive"].sd_mu, rows["fixed"].sd_mu)
    known = {way: f"±{amount(1.96 * row.sd_mu, 2)}" for way, row in rows.items()}
    symbols = f", **answers by symbols** to {known[SYMBOLS]}" if SYMBOLS in known else ""
    sentence = (
        f"{words} in this run: after {people}, **intervals that follow the answers** give the mean "
        f"to {known['adaptive']} (1.96 standard deviations), the fixed interval "
        f"{interval(rows['fixed'].left, rows['fixed'].right)} to {known['fixed']}{symbols}."
    )
    off = {way: abs(row.mean_mu - params.mu) for way, row in rows.items()}
    far = [f"*{way}*" for way, row in rows.items() if off[way] > 1.96 * row.sd_mu]
    rest = f"More than 1.96 standard deviations from the true mean: {listed(far)}." if far else ""
    return number, sentence, rest


def _sharper(adaptive: float, fixed: float) -> tuple[str, str]:
    if not (adaptive > 0.0 and fixed > 0.0):
        return "No spread", "is left of a single particle: nothing can be compared"
    ratio = fixed / adaptive
    if 1.0 / ALIKE < ratio < ALIKE:
        return "No sharper", "because both ways of asking tell about as much"
    if ratio < 1.0:
        return f"{amount(1.0 / ratio, 2)}× less sharp", "because finding the place has cost more"
    return f"{amount(ratio, 2)}× sharper", "by asking where answers tell most,"


def typical_in_words(params: Params) -> str:
    """What such streams typically do, by those run beforehand, or where to find out; Markdown."""
    found = typical.of(params, params.epsilon_total, params.sampler)
    if found is not None:
        return found.in_words(params.n)
    return f"One run is one draw of chance: *Is this run typical?* below does {OTHERS}."


def typical_of(found: Result) -> str:
    """The same by the runs so far of the study that has many."""
    params, course = cast(online.StreamParams, found.params), found.tables["course"]
    both = typical.of_both(course[course.t == params.n])
    return both.in_words(params.n) if both else "No run is done with both ways of asking yet."


def others(params: Params) -> dict[str, Any]:
    """What that study takes from the settings of a single run."""
    names = [each.name for each in dataclasses.fields(online.StreamParams)]
    own = {"epsilon_total": (params.epsilon_total,), "sampler": (params.sampler,), "runs": OTHERS}
    return {name: vars(params)[name] for name in names} | own


OTHERS = 30  # Runs that show whether one is typical; as many as in the paper

SHOWN, DRAWN, MOMENTS = 600, 200, 6
"""Points of a line and particles of a cloud at most; clouds in the figure of particles."""


def _dressed(params: Params, figure: go.Figure) -> fig.Style:
    """Say the settings below the title; how the way of asking looks."""
    settings = settings_line(params, ("epsilon_total", "n", "sampler"))
    figure.layout.title.subtitle.text = f"{_way(params)}, {settings}"
    return STYLES[params.interval if params.channel == "truncation" else SYMBOLS]


def stream(result: Result) -> fig.CaptionedFigure:
    """Draw where people were asked and what was learnt, over time; σ grey until it is learnt."""
    params = cast(Params, result.params)
    main = fig.evenly(result.tables["main"], SHOWN)
    t, last = main.t.to_numpy(float), main.iloc[-1]
    people = counted(int(last.t), "person", "people")
    title = f"After {people}, μ = {estimate(last.mean_mu, last.sd_mu)}"
    figure = fig.rows(["μ and answers", "σ"], title, "people asked", 280)
    style = _dressed(params, figure)
    is_number = params.channel == "truncation"
    # Symbols have no place: the middle of where they are asked stands for them.
    what = ["interval asked in", "answers, private"] if is_number else ["places asked at"] * 2
    left, right = main.left.to_numpy(), main.right.to_numpy()
    asked = fig.band(t, left, right, fig.PRIVATE).update(name=what[0], showlegend=True)
    given = main.response.to_numpy() if is_number else 0.5 * (left + right)
    marks = fig.points(t, given, fig.PRIVATE.called(what[1], marker="diamond"))
    figure.add_traces([asked, marks.update(marker={"size": 3, "opacity": 0.5})])
    unlearnt = params.narrower(params.sampler, main.sigma_width) < contraction.LEARNT
    belief = style.called("posterior mean ± 1.96 standard deviations")
    for index, name in enumerate(SYMBOL):
        grey = unlearnt & (name == "sigma")
        mean, spread = main[f"mean_{name}"].to_numpy(), 1.96 * main[f"sd_{name}"].to_numpy()
        traces = [fig.line(np.array([1.0, params.n]), np.full(2, vars(params)[name]), fig.TRUTH)]
        for look, here in ((belief, ~grey), (fig.UNLEARNT, grey)):
            if here.any():
                ends = (mean - spread)[here], (mean + spread)[here]
                traces.append(fig.band(t[here], *ends, look))
                traces.append(fig.line(t, np.where(here, mean, np.nan), look))
        figure.add_traces([trace.update(**fig.panel(index)) for trace in traces])
    fig.named_once(figure)
    figure.update_xaxes(range=[0, params.n])
    # Fixed around the truth, so that a knob moves the curves and not the axis.
    figure.layout.yaxis.range = [params.mu - 5 * params.sigma, params.mu + 5 * params.sigma]
    figure.layout.yaxis2.range = [0, 3 * params.sigma]
    return fig.CaptionedFigure(figure, result.summary)


def clouds(result: Result) -> fig.CaptionedFigure:
    """Draw the particles of the posterior at a few times."""
    params, particles = cast(Params, result.params), result.tables["particles"]
    times = particles.t.unique()
    chosen = times[np.unique(np.geomspace(1, len(times), MOMENTS).round().astype(int)) - 1]
    people = [counted(t, "person", "people") for t in chosen]
    last = result.tables["main"].set_index("t").loc[chosen[-1]]
    mu, sigma = estimate(last.mean_mu, last.sd_mu), estimate(last.mean_sigma, last.sd_sigma)
    title = f"After {people[-1]}, μ = {mu} and σ = {sigma}"
    figure = fig.panels(people, title, "μ", "σ", 2, 640)
    style = _dressed(params, figure).called("particles")
    truth = np.array([params.mu]), np.array([params.sigma])
    for index, t in enumerate(chosen):
        cloud = particles[particles.t == t]
        drawn = cloud.iloc[evenly(cloud.weight.to_numpy(), min(DRAWN, len(cloud)))]
        trace = fig.points(drawn.mu.to_numpy(), drawn.sigma.to_numpy(), style)
        figure.add_trace(fig.in_panel(trace.update(marker={"size": 4, "opacity": 0.5}), index))
        figure.add_trace(fig.in_panel(fig.points(*truth, fig.TRUTH), index))
    reach = 2.5 * params.sigma
    figure.update_xaxes(range=[params.mu - reach, params.mu + reach])
    figure.update_yaxes(range=[0, 3 * params.sigma])
    return fig.CaptionedFigure(figure, f"{title}: mean ± standard deviation of the particles.")


STUDY: Study[Params, None] = Study(
    EXPERIMENT,
    Params,
    links=lambda params: min(LINKS, params.n),
    link=follow,
    tables={
        "main": " ".join(Answer._fields),
        "particles": "t particle mu sigma weight",
    },
    says=summary,
    privacy=lambda params: params.promise([params.epsilon_total], params.channel),
    views={"stream": stream, "particles": clouds},
)
COLUMNS, tasks, work, _, figures = STUDY.contract()


def collect(params: Params, rows: Tables) -> Result:
    """Return the result so far, with what happens to one answer."""
    event = params.event(params.epsilon_total, params.channel)
    return dataclasses.replace(STUDY.collect(params, rows), event=event)
