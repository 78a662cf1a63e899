r"""What do the randomized answers of a class reveal about its mean?

A device asks whether its owner's value is below, between or above two edges, and sends one of three
words, drawn so that no value makes a word more than $e^{\epsilon}$ times as likely as another value
does (:mod:`abcdp_core.adaptive.poll`, MATH A15). The class here is simulated, so its mean is known.
In a lecture hall nobody knows it.

People answer one after the other, each with a question based on the earlier answers, or all at
once, each with a question based on none.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd

from abcdp_core import figures as fig
from abcdp_core.adaptive.categories import Choice, ChoicePoll
from abcdp_core.adaptive.poll import EPSILON, Design, Poll, answered, sent
from abcdp_core.adaptive.questionnaire import Item
from abcdp_core.base.parameters import Parameter
from abcdp_core.base.sentences import amount, settings_line
from abcdp_core.base.streams import generator
from abcdp_core.privacy import statement
from abcdp_core.studies.engine import BaseParams, Result, Run, RunTable, Study, scale

EXPERIMENT = "poll"
TITLE = "A private poll of a simulated class"


def _real(label: str, text: str, low: float = -1e6) -> Parameter:
    return Parameter(kind="real", label=label, help=text, low=low, high=1e6)


@dataclass(frozen=True)
class Params(BaseParams):
    """A simulated class, and what is public of its poll."""

    low: float = _real("Lowest value", "Smaller values are clipped to it. Public.").field(0.0)
    high: float = _real("Highest value", "Larger values are clipped to it. Public.").field(24.0)
    epsilon_total: float = Parameter(
        kind="real",
        label="ε_total · budget of each person",
        help="How much one answer may reveal about its person. Use 4 for 20 people, 2 for 40, and "
        "1 for 80 or more.",
        low=EPSILON.low,
        high=EPSILON.high,
        steps=(0.25, 0.5, 1.0, 2.0, 4.0),
    ).field(2.0)
    n: int = scale("N · people", "Each answers once.", (10, 20, 40, 80, 200, 500), high=500).field(
        80
    )
    mean: float = _real("True mean", "Of the simulated class.").field(7.2)
    spread: float = _real("True spread", "Standard deviation of the class.", 1e-6).field(1.3)
    at_once: bool = Parameter(
        kind="switch",
        label="All at once",
        help="Everyone gets a question before anyone has answered.",
    ).field(False)

    def __post_init__(self) -> None:
        """Check the bounds as a poll does."""
        super().__post_init__()
        _ = self.design

    @property
    def design(self) -> Design:
        """What is public of the poll."""
        return Design(self.low, self.high, self.epsilon_total)


PRESETS: dict[str, BaseParams] = {}


def held(run: Run[Params]) -> Poll:
    """Hold a poll of a simulated class and return it after the last answer."""
    params, rng = run.params, generator(run.seed, "poll")
    values = params.mean + params.spread * rng.standard_normal(params.n)
    poll = first = Poll(params.design)
    for number, value in enumerate(np.clip(values, params.low, params.high)):
        question = first.ask(rng, number, number) if params.at_once else poll.ask(rng, number)
        word = answered(question, float(value), params.epsilon_total, rng)
        poll = poll.take(question, word)
    return poll


def course(_: None, run: Run[Params]) -> pd.DataFrame:
    """Return each question with its answer, and the interval of the mean after it."""
    return answers_of(held(run))


def answers_of(poll: Poll) -> pd.DataFrame:
    """Return a row for each answer of a poll: question, word, and the interval after it."""
    then, rows = Poll(poll.design), []
    for question, word in poll.answers:
        then = then.take(question, word)
        edges = question.number, question.lower, question.upper
        known = *then.interval(), then.mean(), then.spread(), *then.class_interval()
        rows.append((*edges, word, *known))
    return pd.DataFrame(rows, columns=list(MAIN.split()))


MAIN = "question lower upper word low high mean spread class_low class_high"


def results_of(poll: Poll) -> pd.DataFrame:
    """Return the four 95 % intervals of a number: of class and population, by two models.

    ``heads`` are those by the model that answers of such a spread ask for.
    """
    rows = [
        ("normal", "class", *poll.class_interval(), not poll.robust.heads),
        ("normal", "population", *poll.interval(), not poll.robust.heads),
        ("no shape", "class", *poll.robust.class_interval(), poll.robust.heads),
        ("no shape", "population", *poll.robust.interval(), poll.robust.heads),
    ]
    return pd.DataFrame(rows, columns=["model", "of", "low", "high", "heads"])


def posterior_of(poll: Poll) -> pd.DataFrame:
    """Return the posterior probability of each mean on the grid."""
    return pd.DataFrame({"mean": poll.design.means(), "probability": poll.of_mean()})


def tables_of(items: Sequence[Item]) -> dict[str, pd.DataFrame]:
    """Return the tables of questions by the names of their files; the first has no number."""
    tables = {}
    for number, item in enumerate(items, start=1):
        stem, poll = "poll" if number == 1 else f"poll-{number}", item.poll
        if isinstance(poll, ChoicePoll):
            tables[f"{stem}.csv"] = shares_of(poll)
        else:
            tables |= {f"{stem}.csv": answers_of(poll), f"{stem}.posterior.csv": posterior_of(poll)}
            tables[f"{stem}.result.csv"] = results_of(poll)
    return tables


def shares_of(poll: ChoicePoll) -> pd.DataFrame:
    """Return a row for each category: words, 95 % intervals of class and population, the leader."""
    known = poll.told
    low, high = known.class_interval().T
    wide_low, wide_high = known.population_interval().T
    return pd.DataFrame(
        {
            **{"category": poll.design.words, "words": known.counts},
            **{"share": known.class_share(), "low": low, "high": high},
            **{"population_low": wide_low, "population_high": wide_high, "leads": known.leading},
        }
    )


@functools.lru_cache(maxsize=32)
def rehearsed(design: Design | Choice, people: int) -> tuple[Poll | ChoicePoll, tuple[float, ...]]:
    """Return the poll of a simulated class, and the truth about that class.

    Numbers are bell-shaped around a third of the range; categories get fewer, one after the other.

    Returns:
        The poll after its last answer; the class's share of each category, or its mean on a scale
        from 0 to 1 between the bounds.
    """
    rng = generator(1, "rehearsal", people)
    if isinstance(design, Choice):
        weights = 1.0 / np.arange(1.0, design.many + 1.0)
        true = rng.choice(design.many, people, p=weights / weights.sum())
        words = [sent(int(each), design.many, design.epsilon, rng) for each in true]
        poll = ChoicePoll(design, tuple((design, word) for word in words))
        return poll, tuple(np.bincount(true, minlength=design.many) / people)
    on_scale = np.clip(rng.normal(1 / 3, 1 / 12, people), 0.0, 1.0)
    asked = Poll(design)
    for number, value in enumerate(design.low + (design.high - design.low) * on_scale):
        question = asked.ask(rng, number)
        asked = asked.take(question, answered(question, float(value), design.epsilon, rng))
    return asked, (float(on_scale.mean()),)


def says(result: Result) -> str:
    """Report the interval after the last answer beside the one before the first."""
    params, last = cast(Params, result.params), result.tables["main"].iloc[-1]
    low, high = Poll(params.design).interval()
    return (
        f"The 95 % interval of the mean was {amount(low, 2)} to {amount(high, 2)} before the first "
        f"answer and is {amount(last.low)} to {amount(last.high)} after the last. Without noise, "
        "the mean of this class would be known exactly."
    )


def interval_figure(result: Result) -> fig.CaptionedFigure:
    """Draw the interval of the mean after each answer."""
    params, main = cast(Params, result.params), result.tables["main"]
    last = main.iloc[-1]
    title = f"After {len(main):,} answers the mean is {amount(last.low)} to {amount(last.high)}"
    settings = settings_line(params, ("epsilon_total", "n"))
    drawn = fig.figure(title, "answers", "mean of the population", settings=settings)
    count = np.arange(1.0, len(main) + 1.0)
    asked = fig.PRIVATE.called("95 % interval, private")
    band = fig.band(count, main.low.to_numpy(), main.high.to_numpy(), asked)
    drawn.add_trace(band.update(name="95 % interval, private", showlegend=True))
    drawn.add_trace(fig.line(count, main["mean"].to_numpy(), asked.called("private mean")))
    truth = fig.TRUTH.called("true mean")
    drawn.add_trace(fig.line(count[[0, -1]], np.full(2, params.mean), truth))
    drawn.update_yaxes(range=[params.low, params.high])
    return fig.CaptionedFigure(drawn, says(result))


def posterior_figure(result: Result) -> fig.CaptionedFigure:
    """Draw the posterior of the mean from bound to bound, beside the true mean of the class."""
    params, last = cast(Params, result.params), result.tables["main"].iloc[-1]
    posterior, interval = result.tables["posterior"], (last.low, last.high)
    low, high = (amount(end) for end in interval)
    title = f"The population's mean is {low} to {high} (95 % interval)"
    drawn = fig.figure(title, "mean of the population", "probability", height=330)
    style, known = fig.PRIVATE.called("private posterior"), fig.TRUTH.called("true mean")
    drawn.add_bar(
        x=posterior["mean"], y=posterior.probability, name=style.name,
        width=(params.high - params.low) / len(posterior),
        marker={"color": style.color, "line": {"width": 0}},
    )  # fmt: skip
    top = float(posterior.probability.max())
    upright = np.array([0.0, top])
    for end in interval:
        dotted = style.called("95 % interval, private", dash="dot")
        drawn.add_trace(fig.line(np.full(2, end), upright, dotted))
    drawn.add_trace(fig.line(np.full(2, params.mean), upright, known))
    fig.key(drawn, [("▮ private posterior", style.color), ("│ true mean", known.color)])
    drawn.update_xaxes(range=[params.low, params.high])
    drawn.update_yaxes(range=[0.0, 1.05 * top], showticklabels=False)
    return fig.CaptionedFigure(drawn.update_layout(showlegend=False, bargap=0), f"{title}.")


STUDY = Study(
    EXPERIMENT,
    Params,
    tables={
        "main": RunTable(MAIN, course),
        "posterior": RunTable("mean probability", lambda _, run: posterior_of(held(run))),
    },
    says=says,
    privacy=lambda params: statement(params.design.event, "each person's answer"),
    views={"posterior": posterior_figure, "interval": interval_figure},
)
COLUMNS, tasks, work, collect, figures = STUDY.contract()
