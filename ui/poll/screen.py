"""Show a poll to the hall, and let its lecturer close it, run it again, and take its results."""

from __future__ import annotations

import functools
import html
import math
from decimal import Decimal

import pandas as pd
import streamlit as st

from abcdp_core import __version__
from abcdp_core.adaptive.poll import CHANCES, Poll, Question, chances
from abcdp_core.privacy.promise import odds
from abcdp_core.sentences import amount, counted
from abcdp_core.studies.poll import NORMAL, answers_of, draw_posterior, posterior_of, written
from ui.figures import charts
from ui.poll.hall import HALL, Held
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
    "Nobody's value is on this server, so nobody knows the true mean of the class. Anyone who "
    "answers a second time from a cleared telephone counts as two people."
)


def show(view: View, code: str, secret: str) -> None:
    """Show a poll to its lecturer, or that there is none."""
    held = HALL.hosted(code, secret)
    if held is None:
        st.info("This poll is over, or this link is not its lecturer's.")
        return
    st.html(f"<h1>{html.escape(held.text)}</h1>")
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
    _buttons(view, held)


def _address(held: Held) -> None:
    """Show where telephones go."""
    if held.is_closed:
        st.markdown("**This poll is closed.**")
        return
    here, first = page_table.by_file("live_poll"), page_table.TABLE[0]
    page = share.for_visitors(st.context.url or "", settings.current())
    address = f"{share.elsewhere(page, here, first).partition('?')[0]}?{CODE}={held.code}"
    if picture := share.code(address):
        # The code has no size of its own.
        st.image(picture.replace("<svg ", '<svg width="300" height="300" ', 1), width=300)
    st.markdown(f"{address}  \nCode **{held.code}**")


def _result(view: View, held: Held, poll: Poll) -> None:
    """Show how many have answered, the interval in large type, and the posterior."""
    unit, count = held.unit and f" {held.unit}", len(poll.answers)
    low, high = poll.interval()
    before = " to ".join(amount(end) for end in Poll(poll.design).interval())
    said = f"Before anyone answered, it was {before}{unit}."
    if poll.is_vague:
        said = f"The answers do not reveal the mean yet. {said}"
    else:
        without = amount(NORMAL * poll.spread() / math.sqrt(count), 2)
        people = counted(count, "person", "people")
        said += f" Without privacy, {people} would give the mean to within ± {without}{unit}."
    waiting = f" ({held.waiting} more asked)" if held.waiting else ""
    numbers = {
        "Answered": f"{count}{waiting}",
        "Mean of the class, 95 % interval": f"{amount(low)} to {amount(high)}{unit}",
    }
    shown = "".join(
        f"<dt>{name}</dt><dd>{html.escape(text)}</dd>" for name, text in numbers.items()
    )
    st.html(f'<dl class="poll-numbers">{shown}</dl><p>{html.escape(said)}</p>')
    drawn = draw_posterior(poll.design, posterior_of(poll), (low, high), unit=held.unit)
    charts.show(view, "poll", drawn, is_kept=False)


def _explain(held: Held, poll: Poll) -> None:
    """Show what one answer reveals, and the table of the next question."""
    true, other = in_hundred(poll.design.epsilon)
    st.markdown(
        f"**One answer reveals little.** It is true {true} times in 100, and each other word "
        f"comes {other} times in 100. So it changes the odds of any statement about the person "
        f"by at most {odds(poll.design.epsilon)} (ε = {poll.design.epsilon:g})."
    )
    question = next(reversed(held.asked.values()), None)
    if question is not None:
        st.markdown("The latest question, and how often each word is sent:")
        st.table(_table(question, true, other).set_index("value"))
    st.caption(f"{UNKNOWN} {BELL}")


def in_hundred(epsilon: float) -> tuple[str, str]:
    """Return how often of 100 times the true word is sent, and each other; they add up."""
    other, true = (Decimal(100 * each) / CHANCES for each in chances(epsilon))
    each = ((f"{true:.{places}f}", f"{other:.{places}f}") for places in range(1, 25))
    return next((t, o) for t, o in each if Decimal(t) + 2 * Decimal(o) == 100)


def _table(question: Question, true: str, other: str) -> pd.DataFrame:
    words = question.words()
    rows = [
        {"value": word} | {each: f"{true if each == word else other} %" for each in words}
        for word in words
    ]
    return pd.DataFrame(rows)


def _buttons(view: View, held: Held) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        if not held.is_closed:
            st.button("Close the poll", on_click=HALL.close, args=(held,))
        st.button("Run it again", on_click=functools.partial(_again, held))
        st.button("Leave", on_click=st.query_params.clear, type="tertiary")
        controls.widget(view, "projector")
    st.header("Results")
    poll = held.poll
    files = {
        "poll.toml": (written(poll, held.text, held.unit, __version__), "application/toml"),
        "poll.csv": (answers_of(poll).to_csv(index=False), "text/csv"),
        "poll.posterior.csv": (posterior_of(poll).to_csv(index=False), "text/csv"),
    }
    with st.container(horizontal=True):
        for name, (text, mime) in files.items():
            st.download_button(f"Save {name}", text, name, mime, on_click="ignore")
    st.markdown("This command computes both tables again from `poll.toml`, byte for byte:")
    st.code("abcdp poll poll.toml --out results", language="bash")


def _again(held: Held) -> None:
    following = HALL.again(held)
    st.query_params.update({CODE: following.code, SECRET: following.secret})
