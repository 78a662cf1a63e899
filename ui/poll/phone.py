"""Ask questions on a telephone; what was typed stays there (``assets/poll.js``)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import streamlit as st

from abcdp_core.adaptive.categories import Choice
from abcdp_core.adaptive.poll import Question, chances
from ui.poll.hall import HALL, LivePoll, PollError
from ui.widgets import component

KEY, TICKET, PROBLEM = "poll", "_poll_ticket", "_poll_problem"

OVER = "This poll is over, or its code is wrong. Ask for the code again."


EVERY = 2.0
"""Seconds between two looks at whether a question is over, or another one came after it."""


@st.fragment(run_every=EVERY)
def show(code: str) -> None:
    """Show the present question of a poll, or that there is none."""
    live = HALL.find(code)
    if live is None:
        st.info(OVER)
        return
    ask = component("poll", "poll.js", "poll.html", "poll.css")
    ask(
        key=KEY,
        data=_data(live),
        on_ask_change=functools.partial(_asked, live),
        on_answer_change=functools.partial(_answered, live),
    )


def _data(live: LivePoll) -> dict[str, Any]:
    """Return what the telephone knows: the questions, its own, and whether its word is here."""
    at, ticket = st.session_state.get(TICKET, (live.at, ""))
    now = live.rounds[at] if at in range(len(live.rounds)) else live.rounds[live.at]
    about, problem = st.session_state.get(PROBLEM, (0, ""))
    design, number = now.item.poll.design, now.numbers.get(ticket)
    found: dict[str, Any] = {
        "code": live.code,
        "budget": live.budget,
        "items": [_item(live, each) for each in live.on_telephones],
        "seats": bool(live.seats),
        "open": not live.is_closed,
        "taken": ticket if now.took(ticket) else "",
        "problem": problem if about in live.on_telephones else "",
    }
    if number is not None:
        question = now.questions[number]
        found["asked"] = {"ticket": ticket, "number": number}
        found["asked"] |= {"chances": chances(design.epsilon, design.many)}
        if isinstance(question, Question):
            found["asked"] |= {"lower": question.lower, "upper": question.upper}
    return found


def _item(live: LivePoll, at: int) -> dict[str, Any]:
    item = live.rounds[at].item
    design = item.poll.design
    found = {"round": at, "text": item.text, "unit": item.unit, "epsilon": design.epsilon}
    if isinstance(design, Choice):
        return found | {"words": design.words}
    return found | {"low": design.low, "high": design.high}


def _sent(name: str) -> dict[str, Any]:
    """Return what the telephone has just sent under a name; of each kind what it should be."""
    found = (st.session_state.get(KEY) or {}).get(name)
    found = found if isinstance(found, dict) else {}
    whole = {key: found.get(key) for key in ("round", "word", "number")}
    numbers = {key: each if type(each) is int else -1 for key, each in whole.items()}
    texts = {key: str(found.get(key, "")) for key in ("ticket", "seat")}
    st.session_state[TICKET] = numbers["round"], texts["ticket"]
    return {**numbers, **texts}


def _asked(live: LivePoll) -> None:
    sent = _sent("ask")
    _said(sent["round"], HALL.ask, live, sent["round"], sent["ticket"], sent["seat"])


def _answered(live: LivePoll) -> None:
    sent = _sent("answer")
    word = sent["word"], sent["number"]
    _said(sent["round"], HALL.take, live, sent["round"], sent["ticket"], *word)


def _said(at: int, do: Callable[..., None], *about: Any) -> None:
    """Do what a telephone asked for, and keep why it could not be done."""
    st.session_state[PROBLEM] = at, ""
    try:
        do(*about)
    except PollError as error:
        st.session_state[PROBLEM] = at, str(error)
