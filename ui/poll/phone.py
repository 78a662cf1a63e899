"""Ask one question on a telephone; what was typed stays there (``assets/poll.js``)."""

from __future__ import annotations

import functools
from typing import Any

import streamlit as st

from abcdp_core.adaptive.categories import Choice
from abcdp_core.adaptive.poll import Question, chances
from ui.poll.hall import HALL, Held, PollError
from ui.widgets import component

KEY, TICKET, PROBLEM = "poll", "_poll_ticket", "_poll_problem"

OVER = "This poll is over, or its code is wrong. Ask for the code again."


EVERY = 4.0
"""Seconds between two looks at whether a poll is over, or another one came after it."""


@st.fragment(run_every=EVERY)
def show(code: str) -> None:
    """Show the question of a poll or of the one that came after it, or that there is none."""
    held = HALL.last(code)
    if held is None:
        st.info(OVER)
        return
    ask = component("poll", "poll.js", "poll.html", "poll.css")
    ask(
        key=KEY,
        data=_data(held),
        on_ask_change=functools.partial(_asked, held),
        on_answer_change=functools.partial(_answered, held),
    )


def _data(held: Held) -> dict[str, Any]:
    """Return what the telephone knows: the poll, its own question, and whether its word is here."""
    design, ticket = held.poll.design, str(st.session_state.get(TICKET, ""))
    number = held.numbers.get(ticket)
    question = None if number is None else held.questions[number]
    found: dict[str, Any] = {
        "code": held.code,
        "text": held.text,
        "unit": held.unit,
        "epsilon": design.epsilon,
        "open": not held.is_closed,
        "taken": ticket if held.took(ticket) else "",
        "problem": st.session_state.get(PROBLEM, ""),
    }
    if isinstance(design, Choice):
        found["words"] = design.words
    else:
        found |= {"low": design.low, "high": design.high}
    if question is not None:
        found["asked"] = {"ticket": ticket, "number": number}
        found["asked"] |= {"chances": chances(design.epsilon, design.many)}
    if isinstance(question, Question):
        found["asked"] |= {"lower": question.lower, "upper": question.upper}
    return found


def _sent(name: str) -> dict[str, Any]:
    """Return what the telephone has just sent under a name."""
    found = (st.session_state.get(KEY) or {}).get(name)
    return found if isinstance(found, dict) else {}


def _asked(held: Held) -> None:
    ticket = str(_sent("ask").get("ticket", ""))
    st.session_state[TICKET], st.session_state[PROBLEM] = ticket, ""
    try:
        HALL.ask(held, ticket)
    except PollError as error:
        st.session_state[PROBLEM] = str(error)


def _answered(held: Held) -> None:
    sent = _sent("answer")
    ticket = str(sent.get("ticket", ""))
    word, number = (sent.get(name) for name in ("word", "number"))
    st.session_state[TICKET], st.session_state[PROBLEM] = ticket, ""
    try:
        is_whole = type(word) is int and type(number) is int
        HALL.take(held, ticket, *((word, number) if is_whole else (-1,)))
    except PollError as error:
        st.session_state[PROBLEM] = str(error)
