"""What a poll shows: the words beside what they tell about the class; and a page of its results.

The hall's screen and the printed page are made of the same parts, as HTML (``assets/stage.css``).
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from abcdp_core import __version__
from abcdp_core import figures as fig
from abcdp_core.adaptive.categories import Choice, ChoicePoll, movers
from abcdp_core.adaptive.poll import CHANCES, Poll, chances
from abcdp_core.adaptive.questionnaire import Item, Questionnaire
from abcdp_core.base.places import ASSETS
from abcdp_core.base.sentences import amount, counted
from abcdp_core.privacy.accounting import in_digits
from abcdp_core.privacy.promise import odds

FEWEST = 5
"""Answers from which on there is a picture: fewer would be read as people."""

SIDES = "below", "inside", "above"
"""Words about a number, in a picture of all: on which side of the interval that was asked about."""

BELL = (
    "The interval assumes values that are roughly bell-shaped, unless it says that it assumes no "
    "shape, and people who follow the rules."
)

UNKNOWN = "Nobody's answer is on the server, so nobody knows the truth about this class."

STYLE = ASSETS / "stage.css"


@dataclass(frozen=True)
class Estimate:
    """What is known of one number of the class, on a scale from 0 to 1.

    Attributes:
        said: its interval in words.
        middle: posterior mean.
        own: 95 % interval for the class.
        wider: 95 % interval for the population.
    """

    said: str
    middle: float
    own: tuple[float, float]
    wider: tuple[float, float]


def estimates(item: Item) -> list[Estimate]:
    """Return what is known of each share, or of the one mean."""
    poll = item.poll
    if isinstance(poll, ChoicePoll):
        known = poll.told
        all_of = zip(
            known.class_share(), known.class_interval(), known.population_interval(), strict=True
        )
        return [
            Estimate(f"{100 * own[0]:.0f} to {100 * own[1]:.0f} %", share, tuple(own), tuple(wider))
            for share, own, wider in all_of
        ]
    low, width = poll.design.low, poll.design.high - poll.design.low
    model = poll.robust if poll.robust.heads else poll
    own, wider = model.class_interval(), model.interval()
    middle = poll.robust.own.mean() if poll.robust.heads else poll.mean()
    on_scale = [((ends[0] - low) / width, (ends[1] - low) / width) for ends in (own, wider)]
    range_in_words = f"{amount(own[0])} to {amount(own[1])}{item.unit and f' {item.unit}'}"
    return [Estimate(range_in_words, (middle - low) / width, on_scale[0], on_scale[1])]


def headline(item: Item) -> str:
    """Return what a poll tells about the class, in a few words."""
    if isinstance(item.poll, ChoicePoll):
        return item.poll.leader()
    return f"The mean of the class is {estimates(item)[0].said}"


def sentence(item: Item) -> str:
    """Return how sure that is, and why."""
    poll = item.poll
    if isinstance(poll, Poll):
        model = poll.robust if poll.robust.heads else poll
        ends = " to ".join(amount(end) for end in model.interval())
        if poll.robust.heads:
            start = "These answers are spread wide; this interval assumes no shape. "
        else:
            start = "The answers do not reveal the mean yet. " if poll.is_vague else ""
        return (
            f"{start}For a wider population it is {ends}{item.unit and f' {item.unit}'}. Without "
            "noise, the mean of this class would be exact."
        )
    known = estimates(item)
    first = max(known, key=lambda each: each.middle)
    leads = f"{100.0 * (likely := poll.told.leading[known.index(first)]):.0f}"
    leads = "more than 99" if likely > 0.99 else leads
    own, wider = (50.0 * (high - low) for low, high in (first.own, first.wider))
    people = poll.told.people + poll.absent
    without = 196.0 * math.sqrt(first.middle * (1.0 - first.middle) / people)
    return (
        f"It leads with a probability of {leads} %. Without noise this class's share would be "
        f"exact; noise makes it ± {own:.0f} points. For a wider population it is ± {wider:.0f}, of "
        f"which ± {without:.0f} would remain without noise."
    )


def explained(item: Item) -> Iterable[str]:
    """Yield what one word reveals, what moves the result, and what it assumes."""
    epsilon, many = item.poll.design.epsilon, item.poll.design.many
    wrong, right = chances(epsilon, many)
    yield (
        f"{100.0 * (right - wrong) / CHANCES:.0f} telephones in 100 answer truthfully, the rest "
        f"send any of the {many} words: {100.0 * right / CHANCES:.0f} words in 100 are true. A "
        "word changes the odds of any statement about its person by at most "
        f"{odds(epsilon)} (ε = {in_digits(epsilon)})."
    )
    if isinstance(item.poll, ChoicePoll) and item.poll.answers:
        own = max(estimates(item), key=lambda each: each.middle).own
        moved = movers(item.poll.told, (own[1] - own[0]) / 2.0)
        yield (
            f"{counted(moved, 'person', 'people')} who always send the same word could move the "
            "result by half the width of its interval."
        )
    yield UNKNOWN if isinstance(item.poll, ChoicePoll) else f"{UNKNOWN} {BELL}"


def picture(item: Item, truth: Sequence[float] = (), fresh: int = 0) -> str:
    """Return the words as they came, one mark each, beside what they tell about the class.

    Args:
        item: a question with at least one answer.
        truth: true share of each category of a simulated class, or its true mean, from 0 to 1.
        fresh: how many of the last words fall into their place.
    """
    poll, known = item.poll, estimates(item)
    design = poll.design
    labels = design.words if isinstance(design, Choice) else SIDES
    marks: list[list[str]] = [[] for _ in labels]
    for place, (_, word) in enumerate(poll.answers, start=1):
        late = place - (len(poll.answers) - fresh) - 1
        marks[word].append(f'<i class="new" style="--n:{late}"></i>' if late >= 0 else "<i></i>")
    # Marks of the longest row fill its cell.
    size = min(0.9, math.sqrt(90.0 / max(map(len, marks))) / 1.3)
    bars = [_bar(each, *truth[n : n + 1]) for n, each in enumerate(known)]
    if not isinstance(design, Choice):
        scale = f"<small><b>{amount(design.low)}</b><b>{amount(design.high)}</b></small>"
        bars = [f'<span class="mean">{bars[0]}{scale}</span>', "", ""]
    rows = "".join(
        f'<span class="word">{html.escape(label)}</span><span class="marks">{"".join(row)}</span>'
        + bar
        for label, row, bar in zip(labels, marks, bars, strict=True)
    )
    about = "the interval asked about" if not isinstance(design, Choice) else ""
    class_head = "What it tells about the class <small>(thin: a wider population)</small>"
    head = f"<b>{about}</b><b>What the server sees</b><b>{class_head}</b>"
    grid = f'<div class="poll-picture" style="--mark:{size:.2f}em">{head}{rows}</div>'
    return f'<div class="poll-frame">{grid}</div>'


def _bar(known: Estimate, truth: float | None = None) -> str:
    def part(name: str, low: float, high: float) -> str:
        return (
            f'<i class="{name}" style="left:{100 * low:.2f}%;width:{100 * (high - low):.2f}%"></i>'
        )

    parts = [part("wider", *known.wider), part("own", *known.own)]
    parts += [part("middle", known.middle, known.middle)]
    parts += [] if truth is None else [part("truth", truth, truth)]
    return f'<span class="bar"><span>{"".join(parts)}</span>{html.escape(known.said)}</span>'


def coin(words: Sequence[str], truth: int, drawn: float, epsilon: float) -> str:
    """Return one telephone step by step: its answer, the number it draws, and the word it sends.

    Args:
        words: the answers that there may be.
        truth: place of the true one.
        drawn: number in [0, 1).
        epsilon: of the answer.
    """
    wrong, right = chances(epsilon, len(words))
    honest = (right - wrong) / CHANCES
    each = (1.0 - honest) / len(words)
    sent = truth if drawn < honest else int((drawn - honest) / each)
    names = [*map(html.escape, words)]
    parts = [(f"the truth: {names[truth]}", honest), *((name, each) for name in names)]
    strip = "".join(f'<b style="width:{100 * width:.2f}%">{name}</b>' for name, width in parts)
    how = "the truth" if drawn < honest else "any word"
    return (
        f'<ol class="poll-coin"><li>True on this telephone: <b>{names[truth]}</b>. It stays there.'
        f"</li><li>It draws a number from 0 to 100: <b>{100 * drawn:.1f}</b>."
        f'<div class="strip">{strip}<i style="left:{100 * drawn:.2f}%"></i></div></li>'
        f"<li>That is in the part for <b>{how}</b>, so it sends: <b>{names[sent]}</b>.</li></ol>"
    )


def style() -> str:
    """Return the style of all parts, with the colors of the figures."""
    colors = {"own": fig.PRIVATE, "truth": fig.TRUTH, "mark": fig.REJECTED}
    roles = "".join(
        f"--poll-{name}: light-dark({role.color}, {fig.ON_DARK[role.color]}); "
        for name, role in colors.items()
    )
    return f":root {{ {roles}}}\n{STYLE.read_text(encoding='utf-8')}"


def page(questionnaire: Questionnaire) -> str:
    """Return the results of a poll as one HTML page, to be read or printed."""
    items = questionnaire.known()
    shared = " Each telephone drew one of the questions." if questionnaire.one_each else ""
    cost = f"Nobody spent more than ε = {in_digits(questionnaire.budget)} on all of it.{shared}"
    sections = "".join(f"<section>{_section(item)}</section>" for item in items)
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>A private poll</title>'
        '<meta name="viewport" content="width=device-width">'
        f'<style>{style()}</style><body class="poll-page">{sections}<p>{cost}</p>'
        f"<footer>ABCDP Explorer {__version__}; "
        "<code>abcdp poll poll.toml</code> computes this page again.</footer></body></html>\n"
    )


def seats(codes: Sequence[str]) -> str:
    """Return seat codes as an HTML page to be cut."""
    each = "".join(f"<li>{code}</li>" for code in codes)
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Seat codes</title>'
        f'<style>{style()}</style><body class="poll-page"><ul class="seats">{each}</ul></html>\n'
    )


def _section(item: Item) -> str:
    count, epsilon = len(item.poll.answers), in_digits(item.poll.design.epsilon)
    head = f"<h1>{html.escape(item.text)}</h1><p>{counted(count, 'answer')}, ε = {epsilon}</p>"
    if count < FEWEST:
        return f"{head}<p>{few(count)}</p>"
    paragraphs = "".join(
        f"<p>{html.escape(each)}</p>" for each in (sentence(item), *explained(item))
    )
    return f"{head}<h2>{html.escape(headline(item))}</h2>{picture(item)}{paragraphs}"


def few(count: int) -> str:
    """Return why so few answers have no picture."""
    return (
        f"{counted(count, 'answer')}: the picture begins with {FEWEST}, fewer tell next to nothing."
    )
