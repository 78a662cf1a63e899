r"""Asking people one after the other, each in the interval that tells most.

Every person answers once, clipped to an interval and with noise in proportion to its width, so that
the answer alone costs $\epsilon_{total}$ (MATH A1):

$$Y_t = \mathrm{clip}(X_t, l_t, r_t) + \mathrm{Lap}\bigl((r_t - l_t)/\epsilon_{total}\bigr),
\qquad X_t \sim N(\mu, \sigma^2).$$

A narrow interval at the right place tells most (MATH A4), but that place has to be found first. So
before each person $(\mu, \sigma)$ is drawn from the posterior so far, and the best interval for
that draw is used (Thompson sampling, MATH A5). **At the start** the draws are spread over the whole
prior, most people are asked far from where they are, and each answer tells little more than which
side they are on: that is the cost of exploring. A fixed interval that is wide enough to be safe
needs no exploring and pays with noise for ever.

The posterior is kept as weighted particles. Ours weights them by the exact density of the response
or, of a symbol, by its probability (MATH A2, A7) and moves them only when too few carry the weight;
the paper's particles carry every person's value (MATH A6); the grid is the reference (MATH A8).

**Other ways of asking.** With ``channel`` a person can answer by a symbol instead (MATH A14):
*sign*, on which side of a place the value lies, or *optimal*, the table of symbols on fine cells
that tells most for the score asked for. They are placed by the same draw of $(\mu, \sigma)$.

**σ is hardly learned at a small budget.** The best interval for $\mu$ is then so narrow that an
answer is a noisy sign, which tells next to nothing about $\sigma$: its posterior is little else
than its prior. So we report how much narrower the posterior of $\log\sigma$ is, and draw it grey
until that is half. A score that counts $\sigma$ asks some way off the middle, where the share of
people beyond depends on $\sigma$.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from abcdp_core import experiments
from abcdp_core import figures as fig
from abcdp_core.experiments import Onward, with_values
from abcdp_core.online import best_channel, intervals, learnt, typical
from abcdp_core.online import parameters as online
from abcdp_core.online.channels import Table
from abcdp_core.online.particles import picture
from abcdp_core.online.resampling import evenly
from abcdp_core.online.stream import Answer
from abcdp_core.parameters import ParameterError
from abcdp_core.sentences import (
    ALIKE,
    amount,
    compared,
    counted,
    estimate,
    interval,
    listed,
    percent,
)
from abcdp_core.study import BaseParams, Result, Tables
from abcdp_core.summaries import weighted_quantile

EXPERIMENT = "adaptive-truncation"
TITLE = "Intervals that follow the answers, person by person"
COLUMNS = {
    "main": Answer._fields,
    "particles": ("t", "particle", "mu", "sigma", "weight"),
}

LINKS = 100
"""Parts a stream is done in, with a picture of the particles after each."""


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
        if self.channel in online.TABLES and self.interval == "fixed":
            raise ParameterError(
                f"channel = {self.channel}: needs interval = adaptive; symbols are placed by what "
                "is known so far."
            )
        if self.channel in online.TABLES and self.sampler == "smc-latent":
            raise ParameterError(
                f"channel = {self.channel}: needs sampler = smc or grid; smc-latent knows answers "
                "with noise only."
            )


PRESETS: dict[str, BaseParams] = {}


@dataclass(frozen=True)
class Task(experiments.SingleTask[Params]):
    """One stream, from its first person on."""

    @property
    def links(self) -> int:
        """Parts it is done in."""
        return min(LINKS, self.params.n)


def tasks(params: Params, seed: int) -> list[Task]:
    """A single stream."""
    return [Task(params, seed)]


def work(task: Task | Onward[Task]) -> experiments.Link:
    """Ask the next people, and say what is known then."""
    here = Onward.of(task)
    params, seed = here.task.params, here.task.seed
    first, last = (part * params.n // here.task.links for part in (here.done, here.done + 1))
    settings = params.epsilon_total, params.sampler, params.interval, seed, 0, params.channel
    values, noises = params.people(seed, 0, params.channel)
    people = first, values[first:last], noises[first:last]
    turns = list(params.stream(*settings).ask(here.state, *people))
    state = turns[-1][0]
    main = pd.DataFrame([asked for _, asked in turns], columns=list(Answer._fields))
    particles = pd.DataFrame({"t": last, **picture(state, params.particles)})
    return here.link({"main": main, "particles": particles}, state)


def collect(params: Params, rows: Tables) -> Result:
    """The result so far."""
    last, people = rows["main"].iloc[-1], counted(params.n, "person", "people")
    mu, sigma = estimate(last.mean_mu, last.sd_mu), (last.mean_sigma, last.sd_sigma)
    summary = (
        f"After {int(last.t):,} of {people}, {_way(params)}, μ = {mu} (true {params.mu:.4g}); "
        f"{params.sigma_in_words(params.sampler, *sigma, last.sigma_width)}. "
        "± is a posterior standard deviation."
    )
    event = params.event(params.epsilon_total, params.channel)
    privacy = params.promise([params.epsilon_total], params.channel)
    return Result(EXPERIMENT, params, rows, summary, privacy, event)


def _way(params: Params) -> str:
    if params.channel == "truncation":
        around = f" μ ± {params.fixed_width:.3g}σ" if params.interval == "fixed" else ""
        return f"{params.interval} interval{around}"
    return "sign at an adaptive place" if params.channel == "sign" else "optimal symbols"


# -------------------------------------------------------------------------------- ways of asking

SYMBOLS, PLACED = "symbols", "placed right"
WAYS = {
    "adaptive": "its prior only",
    "fixed": "about where μ is",
    SYMBOLS: "its prior only",
    PLACED: "μ and σ themselves",
}
"""Way of asking -> what it knows before the first answer."""

STYLES = {
    "adaptive": fig.way_of_asking("truncation"),
    "fixed": fig.way_of_asking("fixed"),
    SYMBOLS: fig.way_of_asking("optimal"),
    PLACED: fig.way_of_asking(PLACED),
}
"""How each looks, on every page."""


def ways(params: Params) -> dict[str, Params]:
    """Return the settings of each way of asking the same people.

    Symbols are those that tell most for the score asked for (MATH A14); they are left out where
    :func:`no_symbols` says why. The interval that is placed right is the symmetric one that is best
    for μ at the true (μ, σ) (MATH A4); no narrower than a fixed one may be.
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


def answers(table: Table) -> str:
    """How many symbols a table has, in words; of two the chance of the wrong one."""
    symbols = len(table.weights)
    wrong = percent(1.0 / (1.0 + math.exp(table.level)))
    return f"{symbols} symbols, {wrong} wrong" if symbols == 2 else f"{symbols} symbols"


def headline(found: Mapping[str, Result]) -> tuple[str, str, str]:
    """Say how much sharper adaptive intervals tell μ in this run.

    Args:
        found: way of asking -> its result so far, one of them at least.

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
        f"{words} in this run{' so far' if last < params.n else ''}: after {people}, **intervals "
        f"that follow the answers** give the mean to {known['adaptive']} (1.96 standard "
        f"deviations), the fixed interval {interval(rows['fixed'].left, rows['fixed'].right)} to "
        f"{known['fixed']}{symbols}."
    )
    texts = []
    if SYMBOLS in rows and params.score == "mu":
        texts.append(symbols_against_interval(params))
    if PLACED in found:
        texts.append(_ideal(found[PLACED], last))
    far = [way for way, row in rows.items() if abs(row.mean_mu - params.mu) > 1.96 * row.sd_mu]
    if far:
        names = listed([f"*{way}*" for way in far])
        texts.append(f"More than 1.96 standard deviations from the true mean: {names}.")
    return number, sentence, " ".join(texts)


def _sharper(adaptive: float, fixed: float) -> tuple[str, str]:
    if not (adaptive > 0.0 and fixed > 0.0):
        return "No spread", "is left of a single particle: nothing can be compared"
    ratio = fixed / adaptive
    if max(ratio, 1.0 / ratio) < ALIKE:
        return "No sharper", "because both ways of asking tell about as much"
    if ratio < 1.0:
        return f"{amount(1.0 / ratio, 2)}× less sharp", "because finding the place has cost more"
    return f"{amount(ratio, 2)}× sharper", "by asking where answers tell most,"


def _ideal(result: Result, people: int) -> str:
    """What the interval leaves open that is right from the start; nothing if that is not kept."""
    row, particles = result.tables["main"].iloc[people - 1], result.tables["particles"]
    cloud = particles[particles.t == people]
    if cloud.empty:
        return ""
    # Where σ is left open a few far particles make a deviation that says little.
    ends = weighted_quantile(cloud[["mu"]].to_numpy(), cloud.weight.to_numpy(), [0.025, 0.975])
    return (
        f"The ideal interval, {interval(row.left, row.right)} from the start, leaves a 95 % range "
        f"of {interval(*ends[:, 0].tolist())}; only someone who knows μ and σ can choose it."
    )


def symbols_against_interval(params: Params) -> str:
    """What an answer by the symbols that are best for μ tells against one in the best interval."""
    symbol = best_channel.best(params.epsilon_total).score
    best = intervals.best(params.unit_scale(params.epsilon_total), params.noise).score
    more = compared(symbol, best)
    return f"About μ, a symbol near the mean tells {more} an answer in the best interval."


def typical_in_words(params: Params) -> str:
    """What streams with these settings do, whatever one of them did, in Markdown.

    From streams that were run beforehand; for other settings, where it can be found out.
    """
    found = typical.of(params, params.epsilon_total, params.sampler)
    if found is not None:
        return found.in_words(params.n)
    return f"One run is one draw of chance: *Is this run typical?* below does {OTHERS}."


def typical_of(found: Result) -> str:
    """The same from runs of the study that has many, as far as they are done."""
    params, course = cast(online.StreamParams, found.params), found.tables["course"]
    both = typical.of_both(course[course.t == params.n])
    return both.in_words(params.n) if both else "No run is done with both ways of asking yet."


def others(params: Params) -> dict[str, Any]:
    """What that study takes from the settings of a single run."""
    names = [each.name for each in dataclasses.fields(online.StreamParams)]
    own = {"epsilon_total": (params.epsilon_total,), "sampler": (params.sampler,), "runs": OTHERS}
    return {name: vars(params)[name] for name in names} | own


OTHERS = 30
"""Runs that show whether one is typical; as many as in the paper."""


# --------------------------------------------------------------------------------------- figures
SHOWN, DRAWN, MOMENTS = 600, 200, 6
"""Points of a line and particles of a cloud at most; clouds in the figure of particles."""


def figures(result: Result) -> dict[str, fig.Drawn]:
    """Where people were asked and what was learnt, over time; the particles at a few times."""
    return {"stream": _stream(result), "particles": _particles(result)}


def _settings(params: Params) -> str:
    budget = f"ε_total = {params.epsilon_total:g} per person"
    return f"{_way(params)}, {budget}, N = {params.n:,}, {params.sampler}"


def _style(params: Params, name: str) -> fig.Style:
    way = params.interval if params.channel == "truncation" else SYMBOLS
    return STYLES[way].called(name)


def _stream(result: Result) -> fig.Drawn:
    params = cast(Params, result.params)
    main = fig.evenly(result.tables["main"], SHOWN)
    t, last = main.t.to_numpy(float), main.iloc[-1]
    people = counted(int(last.t), "person", "people")
    title = f"After {people}, μ = {estimate(last.mean_mu, last.sd_mu)}"
    figure = fig.rows(["μ and answers", "σ"], title, "people asked", 280)
    figure.update_layout(title={"subtitle": {"text": _settings(params)}})
    figure.add_traces(_asked(params, main))
    unlearnt = params.narrower(params.sampler, main.sigma_width) < learnt.LEARNT
    belief = _style(params, "posterior mean ± 1.96 standard deviations")
    for index, (name, grey) in enumerate((("mu", np.zeros_like(unlearnt)), ("sigma", unlearnt))):
        mean, spread = main[f"mean_{name}"].to_numpy(), 1.96 * main[f"sd_{name}"].to_numpy()
        traces = [fig.line(np.array([1.0, params.n]), np.full(2, vars(params)[name]), fig.TRUTH)]
        for style, here in ((belief, ~grey), (fig.UNLEARNT, grey)):
            if here.any():
                ends = (mean - spread)[here], (mean + spread)[here]
                traces.append(fig.band(t[here], *ends, style))
                traces.append(fig.line(t, np.where(here, mean, np.nan), style))
        figure.add_traces([trace.update(**fig.panel(index)) for trace in traces])
    fig.named_once(figure)
    figure.update_xaxes(range=[0, params.n])
    # Fixed around the truth, so that a knob moves the curves and not the axis.
    figure.update_layout(
        yaxis={"range": [params.mu - 5 * params.sigma, params.mu + 5 * params.sigma]},
        yaxis2={"range": [0, 3 * params.sigma]},
    )
    return fig.Drawn(figure, result.summary)


def _asked(params: Params, main: pd.DataFrame) -> list[go.Scatter]:
    """Where people were asked, and their answers; of symbols, which have no place, its middle."""
    is_number = params.channel == "truncation"
    style = fig.PRIVATE.called("answers, private" if is_number else "middle of the places asked at")
    t, left, right = (main[name].to_numpy(float) for name in ("t", "left", "right"))
    asked = fig.band(t, left, right, style)
    asked.update(name="interval asked in" if is_number else "places asked at", showlegend=True)
    marks = fig.points(t, main.response.to_numpy() if is_number else 0.5 * (left + right), style)
    return [asked, marks.update(marker={"size": 3, "symbol": "diamond", "opacity": 0.5})]


def _particles(result: Result) -> fig.Drawn:
    params, particles = cast(Params, result.params), result.tables["particles"]
    times = particles.t.unique()
    chosen = times[np.unique(np.geomspace(1, len(times), MOMENTS).round().astype(int)) - 1]
    rows = result.tables["main"].set_index("t").loc[chosen]
    people = [counted(t, "person", "people") for t in chosen]
    gained = params.narrower(params.sampler, rows.sigma_width)
    titles = [
        text if gain >= learnt.LEARNT else f"{text}, {fig.UNLEARNT.name}"
        for text, gain in zip(people, gained, strict=True)
    ]
    spreads = [f"{amount(rows.sd_mu.iloc[i], 2)} after {people[i]}" for i in (0, -1)]
    title = f"Standard deviation of μ: {', '.join(dict.fromkeys(spreads))}"
    size = (2, 640) if len(chosen) > 3 else (1, 440)
    figure = fig.panels(titles, title, "μ", "σ", *size)
    figure.update_layout(title={"subtitle": {"text": _settings(params)}})
    truth = fig.points(np.array([params.mu]), np.array([params.sigma]), fig.TRUTH)
    for index, t in enumerate(chosen):
        cloud = particles[particles.t == t]
        drawn = cloud.iloc[evenly(cloud.weight.to_numpy(), min(DRAWN, len(cloud)))]
        trace = fig.points(drawn.mu.to_numpy(), drawn.sigma.to_numpy(), _style(params, "particles"))
        figure.add_trace(trace.update(marker={"size": 4, "opacity": 0.5}, **fig.panel(index)))
        figure.add_trace(go.Scatter(truth).update(marker={"size": 11}, **fig.panel(index)))
    fig.named_once(figure)
    reach, last = 2.5 * params.sigma, rows.iloc[-1]
    figure.update_xaxes(range=[params.mu - reach, params.mu + reach])
    figure.update_yaxes(range=[0, 3 * params.sigma])
    return fig.Drawn(
        figure,
        f"Particles of the posterior. After {people[-1]}, mean ± standard deviation are "
        f"μ = {estimate(last.mean_mu, last.sd_mu)} and "
        f"σ = {estimate(last.mean_sigma, last.sd_sigma)} "
        f"(true {params.mu:.4g} and {params.sigma:.3g}).",
    )
