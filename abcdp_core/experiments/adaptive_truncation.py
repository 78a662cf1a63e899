r"""Asking people one after the other, each in the interval that tells most.

Every person answers once, clipped to an interval and with noise in proportion to its width, so that
the answer alone costs $\epsilon_{total}$ (MATH A1):

$$Y_t = \mathrm{clip}(X_t, l_t, r_t) + \mathrm{Lap}\bigl((r_t - l_t)/\epsilon_{total}\bigr),
\qquad X_t \sim N(\mu, \sigma^2).$$

A narrow interval at the right place tells most (MATH A4), but where that is has to be learnt. So
before each person $(\mu, \sigma)$ is drawn from what is known by then, and the best interval for
that draw is used (Thompson sampling, MATH A5). **At the start** the draws are spread over the whole
prior, most people are asked far from where they are, and each answer tells little more than on
which side they lie: that is what exploring costs. A fixed interval that is wide enough to be safe
needs no exploring and pays with noise for ever.

What is known is kept as weighted particles. Ours weights them by the exact density of the response
(MATH A2, A7) and moves them only when too few carry the weight; the paper's particles carry every
person's value (MATH A6); the grid is the reference (MATH A8). All three approximate one posterior.

**Other ways of asking.** With ``channel`` a person can answer by a symbol instead (MATH A14):
*sign*, on which side of a place the value lies, or *optimal*, the table of symbols on fine cells
that tells most for the score asked for. They are placed by the same draw of $(\mu, \sigma)$, and
the particles are weighted by the exact probability of the symbol.

**σ is hardly learnt at a small budget.** The best interval for $\mu$ is then so narrow that an
answer is a noisy sign, which tells next to nothing about $\sigma$. Its posterior then is little
else than its prior. So beside it stands how much narrower it is, by the standard deviation of
$\log\sigma$, and it is drawn grey until that is half. A score that counts $\sigma$ buys it back:
it asks some way off the middle, where the share of people beyond depends on $\sigma$.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import experiments
from abcdp_core import figures as fig
from abcdp_core.experiments import Onward
from abcdp_core.online import best_channel, intervals, learnt, typical
from abcdp_core.online import parameters as online
from abcdp_core.online.channels import Table
from abcdp_core.online.particles import picture
from abcdp_core.online.resampling import evenly
from abcdp_core.online.stream import Answer
from abcdp_core.parameters import ParameterError
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.results import Result, Tables
from abcdp_core.sentences import counted, estimate, interval, plain
from abcdp_core.summaries import weighted_quantile

Array = NDArray[np.float64]

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
        if self.channel in online.TABLES:
            if self.interval == "fixed":
                raise ParameterError(
                    f"channel = {self.channel}: needs interval = adaptive; symbols are placed by "
                    "what is known so far."
                )
            if self.sampler == "smc-latent":
                raise ParameterError(
                    f"channel = {self.channel}: needs sampler = smc or grid; smc-latent knows "
                    "answers with noise only."
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
    stream = params.stream(
        params.epsilon_total, params.sampler, params.interval, seed, 0, params.channel
    )
    values, noises = params.people(seed, 0, params.channel)
    turns = list(stream.ask(here.state, first, values[first:last], noises[first:last]))
    state = turns[-1][0]
    main = pd.DataFrame([asked for _, asked in turns], columns=list(Answer._fields))
    particles = picture(state, params.particles)
    tables = {"main": main, "particles": pd.DataFrame({"t": last, **particles})}
    return here.link(tables, state)


def collect(params: Params, rows: Tables) -> Result:
    """The result so far."""
    event = params.event(params.epsilon_total, params.channel)
    last = rows["main"].iloc[-1]
    return Result(
        EXPERIMENT,
        params,
        rows,
        _summary(params, last),
        params.promise([params.epsilon_total], params.channel),
        event,
    )


def _summary(params: Params, last: pd.Series[Any]) -> str:
    of_sigma = params.sigma_in_words(
        params.sampler, last.mean_sigma, last.sd_sigma, last.sigma_width
    )
    where = f"in {interval(last.left, last.right)}"
    if params.channel in online.TABLES:
        where = (
            f"on which side of {last.left:.4g} the value lies"
            if last.left == last.right
            else f"for the value's place, told apart in {interval(last.left, last.right)}"
        )
    return (
        f"After {int(last.t):,} of {counted(params.n, 'person', 'people')}, {_way(params)}, "
        f"ε_total = {params.epsilon_total:g} each: "
        f"μ = {estimate(last.mean_mu, last.sd_mu)} (true {params.mu:.4g}); "
        f"{of_sigma}; the last person was asked {where}. ± is a posterior standard deviation."
    )


def _way(params: Params) -> str:
    """How people are asked, in words."""
    if params.channel == "truncation":
        if params.interval == "fixed":
            return f"fixed interval μ ± {params.fixed_width:.3g}σ"
        return f"{params.interval} interval"
    return "a sign at an adaptive place" if params.channel == "sign" else "optimal symbols"


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
    """The settings of each way of asking the same people.

    Symbols are those that tell most for the score asked for (MATH A14); they are left out where
    :func:`no_symbols` says why. The interval that is placed right is the symmetric one that is best
    for μ at the true (μ, σ) (MATH A4); no narrower than a fixed one may be.
    """
    best = intervals.best(params.unit_scale(params.epsilon_total), params.noise)
    half = max(best.b, online.FIXED_WIDTH.low or 0.0)
    found = {
        "adaptive": dataclasses.replace(params, interval="adaptive"),
        "fixed": dataclasses.replace(params, interval="fixed", channel="truncation"),
    }
    if not no_symbols(params):
        found[SYMBOLS] = dataclasses.replace(params, interval="adaptive", channel="optimal")
    found[PLACED] = dataclasses.replace(
        params, interval="fixed", channel="truncation", fixed_width=half
    )
    return found


def no_symbols(params: Params) -> str:
    """Why nobody answers by symbols with these settings; empty if people do."""
    if params.noise == "gaussian":
        return (
            "Answers by symbols have no noise and no δ, so with Gaussian noise they are not beside "
            "the others."
        )
    if params.sampler == "smc-latent":
        return "The sampler smc-latent knows answers with noise only, none by symbols."
    return ""


ALIKE = 1.1
"""Times as sharp that counts as no difference."""


def answers(table: Table) -> str:
    """How many symbols a table has, in words; of two the chance of the wrong one."""
    symbols = len(table.weights)
    if symbols > TWO:
        return f"{symbols} symbols"
    return f"{symbols} symbols, {plain(100.0 / (1.0 + math.exp(table.level)), 2)} % wrong"


TWO = 2
"""Symbols of which one is right, whatever the value, and the other wrong."""


def headline(found: Mapping[str, Result]) -> tuple[str, str, str]:
    """How much sharper adaptive intervals tell μ in this run, in a number and a few sentences.

    Args:
        found: way of asking -> its result so far, one of them at least.

    Returns:
        The number; the sentence that it begins; what else there is to say, all Markdown.
    """
    last = min(len(result.tables["main"]) for result in found.values())
    params = cast(Params, next(iter(found.values())).params)
    people = counted(last, "person", "people")
    rows = {way: found[way].tables["main"].iloc[last - 1] for way in WAYS if way in found}
    known = {way: f"±{_size(1.96 * row.sd_mu)}" for way, row in rows.items()}
    if not {"adaptive", "fixed"} <= rows.keys():
        return people, "asked so far, in one way only: nothing to compare yet.", ""
    number, words = _sharper(rows["adaptive"].sd_mu, rows["fixed"].sd_mu)
    so_far = " so far" if last < params.n else ""
    left, right = (_place(params, float(rows["fixed"][end])) for end in ("left", "right"))
    symbols = f", **answers by symbols** to {known[SYMBOLS]}" if SYMBOLS in known else ""
    sentence = (
        f"{words} in this run{so_far}: after {people}, **intervals that follow the answers** give "
        f"the mean to {known['adaptive']} (1.96 standard deviations), one interval for everybody, "
        f"{left} to {right}, to {known['fixed']}{symbols}."
    )
    among = _middle(found[PLACED], last) if PLACED in found else None
    return number, sentence, " ".join(_besides(rows, known, params, among))


def _sharper(adaptive: float, fixed: float) -> tuple[str, str]:
    if not (adaptive > 0.0 and fixed > 0.0):
        return "No spread", "is left of a single particle: nothing can be compared"
    ratio = fixed / adaptive
    if max(ratio, 1.0 / ratio) < ALIKE:
        return "No sharper", "because both ways of asking tell about as much"
    if ratio < 1.0:
        return f"{_size(1.0 / ratio)}× less sharp", "because finding the place has cost more"
    return f"{_size(ratio)}× sharper", "by asking where answers tell most,"


def _middle(result: Result, people: int) -> str | None:
    """Where the middle 95 % of the particles for μ lie; ``None`` if those of then are not kept."""
    particles = result.tables["particles"]
    cloud = particles[particles.t == people]
    if cloud.empty:
        return None
    ends = weighted_quantile(cloud[["mu"]].to_numpy(), cloud.weight.to_numpy(), [0.025, 0.975])
    return interval(*ends[:, 0].tolist())


def _besides(
    rows: Mapping[str, pd.Series[Any]],
    known: Mapping[str, str],
    params: Params,
    among: str | None,
) -> list[str]:
    """Who misses the truth, what a symbol tells, how an interval does that is placed right."""
    missed = [way for way, row in rows.items() if abs(row.mean_mu - params.mu) > 1.96 * row.sd_mu]
    texts = []
    if SYMBOLS in rows and params.score == "mu":
        texts.append(told_by_symbols(params))
    if PLACED in rows:
        row = rows[PLACED]
        # Where σ is left open a few far particles make a deviation that says little.
        told = known[PLACED] if among is None else f"{among} for 95 % of its particles"
        texts.append(
            f"One that is placed right from the start, {interval(row.left, row.right)}, gives "
            f"{told}; only someone who knows μ and σ can place it."
        )
    if missed:
        *others, last = [f"*{way}*" for way in missed]
        names = f"{', '.join(others)} and {last}" if others else last
        texts.append(
            f"More than 1.96 standard deviations from the true mean {params.mu:.4g}: {names}."
        )
    return texts


def told_by_symbols(params: Params) -> str:
    """What an answer by the symbols that are best for μ tells against one in the best interval."""
    told = best_channel.best(params.epsilon_total).score
    best = intervals.best(params.unit_scale(params.epsilon_total), params.noise).score
    percent = 100.0 * (told / best - 1.0)
    how = "more" if percent >= 0.0 else "less"
    return (
        f"Once the place is found, a symbol tells {plain(abs(percent), 2)} % {how} about μ than an "
        "answer in the best interval."
    )


def typical_in_words(params: Params) -> str:
    """What streams with these settings do, whatever one of them did, in Markdown.

    From streams that were run beforehand; for other settings, where it can be found out.
    """
    found = typical.of(params, params.epsilon_total, params.sampler)
    if found is None:
        return f"One run is one draw of chance: *Is this run typical?* below does {OTHERS}."
    return in_words(found, params.n)


def typical_of(found: Result) -> str:
    """The same from runs of the study that has many, as far as they are done."""
    params, course = cast(online.StreamParams, found.params), found.tables["course"]
    both = typical.of_both(course[course.t == params.n])
    if both is None:
        return "No run is done with both ways of asking yet."
    return in_words(both, params.n)


def others(params: Params) -> dict[str, Any]:
    """What that study takes from the settings of a single run."""
    shared = {
        each.name: getattr(params, each.name) for each in dataclasses.fields(online.StreamParams)
    }
    own = {"epsilon_total": (params.epsilon_total,), "sampler": (params.sampler,)}
    return shared | own | {"runs": OTHERS}


OTHERS = 30
"""Runs that tell whether one is typical; as many as in the paper."""


def in_words(found: typical.Typical, people: int) -> str:
    """What streams did with both ways of asking; in Markdown.

    Args:
        found: of the streams.
        people: in each of them.
    """
    of_many = found.runs >= FEWEST
    runs = counted(found.runs, "run")
    lead = f"Typical of {runs}" if of_many else f"In {runs} so far"
    spread = f" (80 %: {_size(found.tenth)} to {_size(found.ninetieth)})" if of_many else ""
    errors = f"{_size(found.adaptive_error)} instead of {_size(found.fixed_error)}"
    return (
        f"**{lead} with {counted(people, 'person', 'people')}:** "
        f"{_size(found.middle)}× as sharp{spread}, and the mean off by {errors}."
    )


FEWEST = 10
"""Runs from which on their middle 80 % say something."""


def _place(params: Params, value: float) -> str:
    """An end of the fixed interval, to a tenth of its width."""
    step = params.fixed_width * params.sigma / 5.0
    digits = max(0, math.ceil(-math.log10(step)))
    return f"{round(value, digits) + 0.0:.{digits}f}"


def _size(value: float) -> str:
    """Two digits of a size, without an exponent where that is readable."""
    return f"{value:.0f}" if 10.0 <= value < 1e6 else f"{value:.2g}"


# --------------------------------------------------------------------------------------- figures

SHOWN = 600
"""Points of a line at most."""

MOMENTS = 6
"""Clouds in the figure of particles."""

DRAWN = 200
"""Particles of such a cloud at most."""

_ANSWER = dataclasses.replace(fig.PRIVATE, name="answers, private", marker="diamond")


def figures(result: Result) -> dict[str, fig.Drawn]:
    """Where people were asked and what was learnt, over time; the particles at a few times."""
    return {
        "stream": fig.Drawn(_stream_figure(result), result.summary),
        "particles": fig.Drawn(_particles_figure(result), _particles_sentence(result)),
    }


def _particles_sentence(result: Result) -> str:
    """Where the particles are after the first and the last of the moments shown."""
    params, main = cast(Params, result.params), result.tables["main"].set_index("t")
    times = result.tables["particles"].t.unique()
    each = [
        f"after {t:,} {'person' if t == 1 else 'people'} "
        f"μ = {estimate(row.mean_mu, row.sd_mu)}, "
        f"σ = {estimate(row.mean_sigma, row.sd_sigma)}"
        for t, row in ((t, main.loc[t]) for t in dict.fromkeys([times.min(), times.max()]))
    ]
    return (
        f"Particles of the posterior, mean ± standard deviation: {'; '.join(each)}. "
        f"True are μ = {params.mu:.4g} and σ = {params.sigma:.3g}."
    )


def _title(params: Params) -> str:
    return (
        f"{_way(params)}, ε_total = {params.epsilon_total:g} per person, "
        f"N = {params.n:,}, {params.sampler}"
    )


def _style(params: Params) -> fig.Style:
    return STYLES[params.interval] if params.channel == "truncation" else STYLES[SYMBOLS]


def _stream_figure(result: Result) -> go.Figure:
    params = cast(Params, result.params)
    main = _thinned(result.tables["main"])
    style = _style(params)
    figure = fig.rows(
        ["μ and answers", "σ"], f"What is learnt, {_title(params)}", "people asked", 280
    )
    t = main.t.to_numpy(float)
    asked = fig.band(t, main.left.to_numpy(), main.right.to_numpy(), _ANSWER)
    asked.update(name="interval asked in", showlegend=True)
    figure.add_trace(asked)
    if params.channel in online.TABLES:
        # The number of a symbol has no place on this axis.
        place = dataclasses.replace(_ANSWER, name="middle of the places asked at")
        middle = fig.points(t, 0.5 * (main.left + main.right).to_numpy(), place)
        asked.update(name="from the first to the last place asked at")
        figure.add_trace(middle.update(marker={"size": 3, "color": place.color, "opacity": 0.5}))
    else:
        answers = fig.points(t, main.response.to_numpy(), _ANSWER)
        answers.update(marker={"size": 3, "color": _ANSWER.color, "opacity": 0.5})
        figure.add_trace(answers)
    unlearnt = params.narrower(params.sampler, main.sigma_width) < learnt.LEARNT
    nothing = np.zeros(len(t), dtype=bool)
    for index, (name, truth, is_grey) in enumerate(
        (("mu", params.mu, nothing), ("sigma", params.sigma, unlearnt))
    ):
        mean, spread = main[f"mean_{name}"].to_numpy(), main[f"sd_{name}"].to_numpy()
        ends = np.array([1.0, float(params.n)])
        traces = _belief(t, mean, spread, is_grey, style)
        traces.append(fig.line(ends, np.full(2, truth), fig.TRUTH))
        figure.add_traces([trace.update(**fig.panel(index)) for trace in traces])
    fig.named_once(figure)
    figure.update_xaxes(range=[0, params.n])
    # Fixed around the truth, so that a knob moves the curves and not the axis.
    figure.update_layout(
        yaxis={"range": [params.mu - 5 * params.sigma, params.mu + 5 * params.sigma]},
        yaxis2={"range": [0, 3 * params.sigma]},
    )
    return figure


def _belief(
    t: Array, mean: Array, spread: Array, is_grey: NDArray[np.bool_], style: fig.Style
) -> list[go.Scatter]:
    """Bands and lines of a posterior over time, grey where it is little else than the prior."""
    named = dataclasses.replace(style, name="posterior mean ± 1.96 standard deviations")
    traces = []
    for part in _stretches(is_grey):
        look = fig.UNLEARNT if is_grey[part][0] else named
        low, high = mean[part] - 1.96 * spread[part], mean[part] + 1.96 * spread[part]
        traces += [fig.band(t[part], low, high, look), fig.line(t[part], mean[part], look)]
    return traces


def _stretches(flags: NDArray[np.bool_]) -> list[slice]:
    """Where flags stay the same; each stretch holds the first row of the next one too."""
    starts = [0, *(np.flatnonzero(np.diff(flags)) + 1).tolist()]
    return [slice(start, end + 1) for start, end in itertools.pairwise([*starts, len(flags)])]


def _thinned(main: pd.DataFrame) -> pd.DataFrame:
    """Evenly spread rows, the first and the last among them."""
    rows = np.linspace(0, len(main) - 1, min(len(main), SHOWN)).round().astype(int)
    return main.iloc[rows]


def _particles_figure(result: Result) -> go.Figure:
    params = cast(Params, result.params)
    particles = result.tables["particles"]
    times = particles.t.unique()
    chosen = times[np.unique(np.geomspace(1, len(times), MOMENTS).round().astype(int)) - 1]
    widths = result.tables["main"].set_index("t").sigma_width.loc[chosen]
    gained = params.narrower(params.sampler, widths)
    figure = fig.panels(
        [
            f"{counted(t, 'person', 'people')}{'' if known else ', ' + fig.UNLEARNT.name}"
            for t, known in zip(chosen, gained >= learnt.LEARNT, strict=True)
        ],
        f"Particles, {_title(params)}",
        "μ",
        "σ",
        rows=2 if len(chosen) > 3 else 1,
        height=640 if len(chosen) > 3 else 440,
    )
    style = dataclasses.replace(_style(params), name="particles")
    for index, t in enumerate(chosen):
        cloud = particles[particles.t == t]
        drawn = evenly(cloud.weight.to_numpy(), min(DRAWN, len(cloud)))
        trace = fig.points(cloud.mu.to_numpy()[drawn], cloud.sigma.to_numpy()[drawn], style)
        trace.update(marker={"size": 4, "opacity": 0.5}, **fig.panel(index))
        truth = fig.points(np.array([params.mu]), np.array([params.sigma]), fig.TRUTH)
        figure.add_traces([trace, truth.update(marker={"size": 11}, **fig.panel(index))])
    fig.named_once(figure)
    reach = 2.5 * params.sigma
    figure.update_xaxes(range=[params.mu - reach, params.mu + reach])
    figure.update_yaxes(range=[0, 3 * params.sigma])
    return figure
