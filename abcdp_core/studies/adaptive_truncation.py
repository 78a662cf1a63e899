r"""Ask people one by one, each in the most informative interval.

Every person answers once. The value is clipped to an interval, and noise in proportion to the width
is added, so that the answer satisfies $\epsilon_{total}$ (MATH A1):

$$Y_t = \mathrm{clip}(X_t, l_t, r_t) + \mathrm{Lap}\bigl((r_t - l_t)/\epsilon_{total}\bigr),
\qquad X_t \sim N(\mu, \sigma^2).$$

A narrow interval in the right place carries the most information (MATH A4), but that place has to
be found first. So before each person, $(\mu, \sigma)$ is drawn from the current posterior and the
best interval for that draw is used (Thompson sampling, MATH A5). **At the start,** most people are
asked far from their values, and an answer shows little more than on which side the value lies. This
is the price of exploring. A fixed interval, wide enough to be safe, needs no exploring but has more
noise throughout.

The posterior is represented by weighted particles. Our sampler weights them by the exact density of
the answer, or by the probability of a symbol (MATH A2, A7). The paper's particles carry every
person's value (MATH A6). The grid is the reference (MATH A8).

With ``channel``, a person can answer with a symbol instead (MATH A14). *sign* reports on which side
of a point the value lies. *optimal* uses the most informative table of symbols for the chosen
score, placed by the same draw of $(\mu, \sigma)$.

**With a small budget, σ is hardly learned.** The best interval for $\mu$ is then so narrow that an
answer is a noisy sign, with almost no information about $\sigma$. So we report how much narrower
the posterior of $\log\sigma$ is than its prior, and draw it in gray until it is half as wide.
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
from abcdp_core.adaptive import parameters as stream_params
from abcdp_core.adaptive.particles import picture
from abcdp_core.adaptive.resampling import evenly
from abcdp_core.adaptive.stream import Answer
from abcdp_core.base.sentences import (
    ALIKE,
    amount,
    counted,
    estimate,
    interval,
    listed,
    settings_line,
)
from abcdp_core.run.tasks import with_values
from abcdp_core.studies.engine import Chain, Continuation, Result, Study
from abcdp_core.studies.engine.estimates import SYMBOL, ask

EXPERIMENT = "adaptive-truncation"
TITLE = "Intervals that follow the answers, person by person"

LINKS = 100  # Parts of a stream; the particles are recorded after each


@dataclass(frozen=True)
class Params(stream_params.StreamParams):
    """The settings of one stream of people."""

    epsilon_total: float = stream_params.EPSILON_TOTAL.field(1.0)
    sampler: str = stream_params.SAMPLER.field("smc")
    interval: str = stream_params.INTERVAL.field("adaptive")
    channel: str = stream_params.CHANNEL.field("truncation")

    def check_together(self) -> None:
        """Check that the sampler supports the way of asking."""
        self.check_sampler(self.sampler)
        stream_params.check_noise([self.channel], self.noise)
        stream_params.check_tables([self.channel], [self.interval], [self.sampler])


def follow(chain: Continuation[Chain[Params]]) -> tuple[dict[str, Any], Any]:
    """Ask the next people; return their answers and the particles after them."""
    params, part = chain.task.params, chain.part(chain.task.params.n)
    state, answers = ask(chain.task, chain.state, part)
    particles = pd.DataFrame({"t": part.stop, **picture(state, params.particles)})
    return {"main": [each._asdict() for each in answers], "particles": particles}, state


def summary(result: Result) -> str:
    """Report the posterior of μ and σ after the last answer."""
    params, last = cast(Params, result.params), result.tables["main"].iloc[-1]
    people = counted(params.n, "person", "people")
    mu, sigma = estimate(last.mean_mu, last.sd_mu), (last.mean_sigma, last.sd_sigma)
    return (
        f"After {int(last.t):,} of {people} ({_way(params)}), μ = {mu} (true {params.mu:.4g}); "
        f"{params.sigma_in_words(params.sampler, *sigma, last.sigma_width)}. "
        "± is one posterior standard deviation."
    )


def _way(params: Params) -> str:
    if params.channel == "truncation":
        return f"{params.interval} interval"
    return "sign at an adaptive point" if params.channel == "sign" else "optimal symbols"


SYMBOLS, PLACED = "symbols", "placed right"
WAYS = {
    "adaptive": "the prior only",
    "fixed": "roughly where μ is",
    SYMBOLS: "the prior only",
    PLACED: "the exact μ and σ",
}
"""Way of asking -> what it knows before the first answer."""

CHANNELS = "truncation", "fixed", "optimal", PLACED
STYLES = dict(zip(WAYS, map(fig.way_of_asking, CHANNELS), strict=True))
"""Way of asking -> its style on every page."""


def ways(params: Params) -> dict[str, Params]:
    """Return the settings of each way of asking the same people (MATH A4, A14).

    The interval "placed right" is the best symmetric one for μ at the true (μ, σ), but at least as
    wide as a fixed interval has to be.
    """
    best = intervals.best(params.unit_scale(params.epsilon_total), params.noise)
    half = max(best.b, stream_params.FIXED_WIDTH.low or 0.0)
    fixed = with_values(params, interval="fixed", channel="truncation")
    adaptive = with_values(params, interval="adaptive")
    symbols = {} if no_symbols(params) else {SYMBOLS: with_values(adaptive, channel="optimal")}
    placed = with_values(fixed, fixed_width=half)
    return {"adaptive": adaptive, "fixed": fixed, **symbols, PLACED: placed}


def no_symbols(params: Params) -> str:
    """Return why symbols are not shown with these settings; empty if they are."""
    if params.noise == "gaussian":
        return "Symbols are not shown with Gaussian noise, because they have no δ."
    if params.sampler == "smc-latent":
        return "Symbols are not shown with the sampler smc-latent, which needs noisy answers."
    return ""


def headline(results: Mapping[str, Result]) -> tuple[str, str, str]:
    """Compare the precision of adaptive and fixed intervals in this run.

    Args:
        results: way of asking -> result so far.

    Returns:
        A number; the sentence that it begins; a further remark. All are Markdown.
    """
    params = cast(Params, next(iter(results.values())).params)
    last = min(len(result.tables["main"]) for result in results.values())
    people = counted(last, "person", "people")
    rows = {way: results[way].tables["main"].iloc[last - 1] for way in WAYS if way in results}
    if not {"adaptive", "fixed"} <= rows.keys():
        return people, "asked so far, in one way only. There is nothing to compare yet.", ""
    number, words = _sharper(rows["adaptive"].sd_mu, rows["fixed"].sd_mu)
    known = {way: f"±{amount(1.96 * row.sd_mu, 2)}" for way, row in rows.items()}
    fixed = interval(rows["fixed"].left, rows["fixed"].right)
    found_by = [
        f"**adaptive intervals** give the mean to within {known['adaptive']} (1.96 standard "
        "deviations)",
        f"the fixed interval {fixed} to within {known['fixed']}",
        *([f"**symbols** to within {known[SYMBOLS]}"] if SYMBOLS in known else []),
    ]
    off = {way: abs(row.mean_mu - params.mu) for way, row in rows.items()}
    far = [f"*{way}*" for way, row in rows.items() if off[way] > 1.96 * row.sd_mu]
    rest = f"More than 1.96 standard deviations from the true mean: {listed(far)}." if far else ""
    return number, f"{words} After {people}, {listed(found_by)}.", rest


def _sharper(adaptive: float, fixed: float) -> tuple[str, str]:
    if not (adaptive > 0.0 and fixed > 0.0):
        return "No spread", "remains with a single particle, so there is nothing to compare."
    ratio, than = fixed / adaptive, "in this run than with one fixed interval"
    if 1.0 / ALIKE < ratio < ALIKE:
        return "No sharper", f"{than}: both are about equally informative."
    if ratio < 1.0:
        return f"{amount(1.0 / ratio, 2)}× less sharp", f"{than}: exploring has not paid off."
    return f"{amount(ratio, 2)}× sharper", f"{than}, by asking where answers say most."


def typical_in_words(params: Params) -> str:
    """Report what such streams typically do, if known from earlier runs; Markdown."""
    usual = typical.of(params, params.epsilon_total, params.sampler)
    if usual is not None:
        return usual.in_words(params.n)
    return f"This is a single run. *Is this run typical?* below simulates {OTHERS}."


def typical_of(result: Result) -> str:
    """Report what streams typically do, from the runs so far of ``estimation-accuracy``."""
    params, course = cast(stream_params.StreamParams, result.params), result.tables["course"]
    both = typical.of_both(course[course.t == params.n])
    return both.in_words(params.n) if both else "No run with both ways of asking is finished yet."


def others(params: Params) -> dict[str, Any]:
    """Return the parameters of ``estimation-accuracy`` that repeat this stream."""
    names = [each.name for each in dataclasses.fields(stream_params.StreamParams)]
    own = {"epsilon_total": (params.epsilon_total,), "sampler": (params.sampler,), "runs": OTHERS}
    return {name: vars(params)[name] for name in names} | own


OTHERS = 30  # Runs that show whether one run is typical; as in the paper

SHOWN, DRAWN, MOMENTS = 600, 200, 6
"""Most points of a line, most particles of a cloud, and clouds in the figure of particles."""


def _dressed(params: Params, figure: go.Figure) -> fig.Style:
    """Add the settings below the title; return the style of the way of asking."""
    settings = settings_line(params, ("epsilon_total", "n", "sampler"))
    figure.layout.title.subtitle.text = f"{_way(params)}, {settings}"
    return STYLES[params.interval if params.channel == "truncation" else SYMBOLS]


def stream(result: Result) -> fig.CaptionedFigure:
    """Draw the intervals and the posterior over time; σ in gray until it is learned."""
    params = cast(Params, result.params)
    main = fig.evenly(result.tables["main"], SHOWN)
    t, last = main.t.to_numpy(float), main.iloc[-1]
    people = counted(int(last.t), "person", "people")
    title = f"After {people}, μ = {estimate(last.mean_mu, last.sd_mu)}"
    figure = fig.rows(["μ and answers", "σ"], title, "people asked", 280)
    style = _dressed(params, figure)
    is_number = params.channel == "truncation"
    # A symbol has no value, so it is drawn in the middle of the points asked about.
    what = ["interval", "private answers"] if is_number else ["points asked about"] * 2
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
        for look, where in ((belief, ~grey), (fig.UNLEARNT, grey)):
            if where.any():
                traces.append(
                    fig.band(t[where], (mean - spread)[where], (mean + spread)[where], look)
                )
                traces.append(fig.line(t, np.where(where, mean, np.nan), look))
        figure.add_traces([trace.update(**fig.panel(index)) for trace in traces])
    fig.named_once(figure)
    figure.update_xaxes(range=[0, params.n])
    # Axes fixed around the truth, so that a knob moves the curves and not the axis.
    figure.layout.yaxis.range = [params.mu - 5 * params.sigma, params.mu + 5 * params.sigma]
    figure.layout.yaxis2.range = [0, 3 * params.sigma]
    return fig.CaptionedFigure(figure, result.summary)


def clouds(result: Result) -> fig.CaptionedFigure:
    """Draw the posterior particles at a few times."""
    params, particles = cast(Params, result.params), result.tables["particles"]
    times = particles.t.unique()
    chosen = times[np.unique(np.geomspace(1, len(times), MOMENTS).round().astype(int)) - 1]
    people = [counted(t, "person", "people") for t in chosen]
    last = result.tables["main"].set_index("t").loc[chosen[-1]]
    title = f"After {people[-1]}, μ = {estimate(last.mean_mu, last.sd_mu)}"
    if not params.known_sigma:
        title += f" and σ = {estimate(last.mean_sigma, last.sd_sigma)}"
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
    return fig.CaptionedFigure(figure, f"{title} (mean ± standard deviation of the particles).")


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
    release=lambda params: params.event(params.epsilon_total, params.channel),
    views={"stream": stream, "particles": clouds},
)
COLUMNS, tasks, work, collect, figures = STUDY.contract()
