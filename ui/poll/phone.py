"""Ask one question on a telephone; what was typed stays there (``assets/poll.js``)."""

from __future__ import annotations

import functools
from typing import Any

import streamlit as st

from abcdp_core.adaptive.poll import chances
from ui.poll.hall import HALL, Held, PollError
from ui.widgets import component

KEY, TICKET, PROBLEM = "poll", "_poll_ticket", "_poll_problem"

OVER = "This poll is over, or its code is wrong. Ask for the code again."


def show(code: str) -> None:
    """Show the question of a poll, or that there is none."""
    held = HALL.find(code)
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
    question = held.asked.get(ticket)
    found = {
        "code": held.code,
        "text": held.text,
        "unit": held.unit,
        "low": design.low,
        "high": design.high,
        "epsilon": design.epsilon,
        "open": not held.is_closed,
        "taken": ticket if ticket in held.words else "",
        "problem": st.session_state.get(PROBLEM, ""),
    }
    if question is not None:
        edges = {"lower": question.lower, "upper": question.upper}
        found["asked"] = {"ticket": ticket, "chances": chances(design.epsilon), **edges}
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
    ticket, word = str(sent.get("ticket", "")), sent.get("word")
    st.session_state[TICKET], st.session_state[PROBLEM] = ticket, ""
    try:
        HALL.take(held, ticket, word if type(word) is int else -1)
    except PollError as error:
        st.session_state[PROBLEM] = str(error)
