"""Show a poll to the hall, and let its lecturer close it, run it again, and take its results."""

from __future__ import annotations

import base64
import functools
import html
from collections.abc import Mapping
from decimal import Decimal

import pandas as pd
import streamlit as st

from abcdp_core import __version__
from abcdp_core.adaptive.categories import ChoicePoll, movers
from abcdp_core.adaptive.poll import CHANCES, Poll, Question, chances
from abcdp_core.privacy.promise import odds
from abcdp_core.sentences import amount, counted
from abcdp_core.studies.poll import (
    draw_posterior,
    draw_shares,
    posterior_of,
    tables_of,
    written,
)
from ui.figures import charts
from ui.figures.verbatim import verbatim
from ui.poll.hall import HALL, Held, PollError
from ui.server import settings
from ui.view import page_table
from ui.view.view import View
from ui.widgets import controls, share

EVERY = 1.0
"""Seconds between two looks at the answers."""

CODE, SECRET = "poll", "host"
"""Keys of a poll's link, and of the link of its lecturer."""

BELL = (
    "The interval assumes values that are roughly bell-shaped, and people who follow the rules. "
    "With skewed values, or many who lie, it contains the mean less often: 72 instead of 95 times "
    "in 100 at ε = 2, and less often at ε = 4."
)

UNKNOWN = (
    "Nobody's answer is on this server, so nobody knows the truth about the class. Anyone who "
    "answers a second time from a cleared telephone counts as two people."
)


def show(view: View, code: str, secret: str) -> None:
    """Show a poll to its lecturer, or that there is none."""
    held = HALL.hosted(code, secret)
    if held is None:
        st.info("This poll is over, or this link is not its lecturer's.")
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.html(f"<h1>{html.escape(held.text)}</h1>")
        controls.widget(view, "projector")
    _watch(view, held)


def _watch(view: View, held: Held) -> None:
    @st.fragment(run_every=None if held.is_closed else EVERY)
    def looks() -> None:
        poll = held.poll
        left, right = st.columns((2, 5), gap="large")
        with left:
            _address(held)
        with right:
            _result(view, held, poll)
        _explain(held, poll)

    looks()
    _buttons(held)


def _address(held: Held) -> None:
    """Show where telephones go."""
    if held.is_closed:
        st.markdown("**This poll is closed.**")
        return
    here, first = page_table.by_file("live_poll"), page_table.TABLE[0]
    page = share.for_visitors(st.context.url or "", settings.current())
    address = f"{share.elsewhere(page, here, first).partition('?')[0]}?{CODE}={held.code}"
    if picture := share.code(address):
        # A picture of its own needs its namespace.
        named = picture.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
        data = base64.b64encode(named.encode()).decode()
        source = f"data:image/svg+xml;base64,{data}"
        st.html(f'<img width="300" alt="QR code of the address below" src="{source}">')
    st.markdown(f"{address}  \nCode **{held.code}**")


FEWEST = 5
"""Answers from which on a picture is shown: fewer would be read as people."""


def _result(view: View, held: Held, poll: Poll | ChoicePoll) -> None:
    """Show how many have answered and what their words tell."""
    count = len(poll.answers)
    waiting = f" ({held.waiting} more asked)" if held.waiting else ""
    numbers = {"Answered": f"{count}{waiting}"}
    if count < FEWEST:
        _numbers(numbers, f"The picture begins with {FEWEST} answers: fewer tell next to nothing.")
    elif isinstance(poll, ChoicePoll):
        _shares(view, numbers, poll)
    else:
        _mean(view, held, numbers, poll)


def _numbers(numbers: Mapping[str, str], said: str) -> None:
    """Show numbers in large type, and a sentence."""
    shown = "".join(
        f"<dt>{name}</dt><dd>{html.escape(text)}</dd>" for name, text in numbers.items()
    )
    st.html(f'<dl class="poll-numbers">{shown}</dl><p>{html.escape(said)}</p>')


def _mean(view: View, held: Held, numbers: dict[str, str], poll: Poll) -> None:
    """Show the interval of the mean in large type, and the posterior."""
    unit, (low, high) = held.unit and f" {held.unit}", poll.interval()
    said = f"For a wider population it is {amount(low)} to {amount(high)}{unit}."
    said = f"The answers do not reveal the mean yet. {said}" if poll.is_vague else said
    own = " to ".join(amount(end) for end in poll.class_interval())
    numbers["Mean of the class, 95 % interval"] = f"{own}{unit}"
    _numbers(numbers, f"{said} Without noise, the mean of this class would be exact.")
    drawn = draw_posterior(poll.design, posterior_of(poll), (low, high), unit=held.unit)
    charts.show(view, "poll", drawn, is_kept=False)


def _shares(view: View, numbers: dict[str, str], poll: ChoicePoll) -> None:
    """Show the words as they came beside what they tell about the class."""
    told = poll.told
    first = int(told.class_share().argmax())
    own, wider = (
        50.0 * float(ends[first, 1] - ends[first, 0])
        for ends in (told.class_interval(), told.population_interval())
    )
    numbers["The class, 95 % interval"] = poll.leader().removesuffix(" of the class")
    many = movers(told, own / 100.0)
    _numbers(
        numbers,
        f"Without noise this class's shares would be exact; noise makes this one ± {own:.0f} "
        f"points. For a wider population it is ± {wider:.0f}. "
        f"{counted(many, 'person', 'people')} who always send the same word could move it as far.",
    )
    charts.show(view, "poll", draw_shares(poll), is_kept=False)


def _explain(held: Held, poll: Poll | ChoicePoll) -> None:
    """Show what one answer reveals, and for a number the table of the next question."""
    epsilon, many = poll.design.epsilon, poll.design.many
    true, other = in_hundred(epsilon, many)
    wrong, right = chances(epsilon, many)
    honest = 100.0 * (right - wrong) / CHANCES
    st.markdown(
        f"**One answer reveals little.** {honest:.0f} telephones in 100 answer truthfully, and the "
        f"others send any of the {many} words: a word is true {true} times in 100, and each other "
        f"word comes {other} times in 100. So it changes the odds of any statement about the "
        f"person by at most {odds(epsilon)} (ε = {epsilon:g})."
    )
    if held.questions and isinstance(question := held.questions[-1], Question):
        st.markdown("The latest question, and how often each word is sent:")
        st.table(_table(question, true, other).set_index("value"))
    st.caption(UNKNOWN if isinstance(poll, ChoicePoll) else f"{UNKNOWN} {BELL}")


def in_hundred(epsilon: float, many: int) -> tuple[str, str]:
    """Return how often of 100 times the true word is sent, and each other; they add up."""
    other, true = (Decimal(100 * each) / CHANCES for each in chances(epsilon, many))
    each = ((f"{true:.{places}f}", f"{other:.{places}f}") for places in range(1, 35))
    return next((t, o) for t, o in each if Decimal(t) + (many - 1) * Decimal(o) == 100)


def _table(question: Question, true: str, other: str) -> pd.DataFrame:
    words = question.words()
    rows = [
        {"value": word} | {each: f"{true if each == word else other} %" for each in words}
        for word in words
    ]
    return pd.DataFrame(rows)


def _buttons(held: Held) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if not held.is_closed:
            st.button("Close the poll", on_click=HALL.close, args=(held,))
        now = held.poll.design.epsilon
        budgets = sorted({0.5, 1.0, 2.0, 4.0, now})
        epsilon = st.segmented_control(
            "ε of the next run", budgets, default=now, required=True, format_func="{:g}".format
        )
        again = functools.partial(_again, held, float(epsilon or now))
        st.button("Run it again", on_click=again, help="Telephones go on to it by themselves.")
        st.button("Leave", on_click=st.query_params.clear, type="tertiary")
    st.header("Results")
    with st.container(horizontal=True):
        for name in ("poll.toml", *tables_of(held.poll)):
            # What has come by the time of the click, as the page above shows it.
            text = functools.partial(_saved, held, name)
            mime = "application/toml" if name.endswith(".toml") else "text/csv"
            st.download_button(f"Save {name}", text, name, mime, on_click="ignore")
    st.markdown("This command computes the tables again from `poll.toml`, byte for byte:")
    st.code("abcdp poll poll.toml --out results", language="bash")


def _saved(held: Held, name: str) -> str:
    if name.endswith(".toml"):
        return written(held.poll, held.text, held.unit, __version__)
    return tables_of(held.poll)[name].to_csv(index=False)


def _again(held: Held, epsilon: float) -> None:
    try:
        following = HALL.again(held, epsilon)
    except PollError as error:
        st.toast(verbatim(error))
    else:
        st.query_params.update({CODE: following.code, SECRET: following.secret})
