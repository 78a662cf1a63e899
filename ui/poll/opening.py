"""Begin a poll: the question, public bounds, and the budget of each person."""

from __future__ import annotations

import itertools

import streamlit as st

from abcdp_core.adaptive.categories import Choice, standard_deviation
from abcdp_core.adaptive.poll import Design
from abcdp_core.parameters import ParameterError
from abcdp_core.privacy.promise import odds
from ui.figures.verbatim import verbatim
from ui.poll.hall import HALL, PollError
from ui.poll.screen import CODE, SECRET

QUESTIONS = {
    "number": "How many hours did you sleep last night?",
    "yes or no": "Have you ever pretended to have read a paper?",
    "categories": "Which lecture would you skip first?",
}
WORDS = "Monday", "Wednesday", "Friday"

BUDGETS = {1.0: "80 people or more", 2.0: "40 people", 4.0: "20 people"}
"""ε per person -> the size of a class that it suits."""


KINDS = ("number", "yes or no", "categories")


def show() -> None:
    """Show the form that begins a poll."""
    st.markdown(
        "Your students open a link on their telephones and answer; the answer never leaves the "
        "telephone. It sends a word, drawn at random. From all the words the class's mean, or its "
        "shares, emerge on your screen."
    )
    kind = st.segmented_control("Answers", KINDS, default=KINDS[0], required=True)
    each = "; ".join(f"ε = {budget:g}: {odds(budget)}" for budget in BUDGETS)
    bounds = "Public: choose it without knowing anyone's value. Values outside are clipped to it."
    unit, low, high = "", 0.0, 1.0
    words: tuple[str, ...] = ("yes", "no")
    if kind != "number":
        st.caption(_known(2 if kind == "yes or no" else len(WORDS)))
    with st.form("poll-opening"):
        with st.container(horizontal=True, gap="medium"):
            text = st.text_input("Question", QUESTIONS[kind], max_chars=120, width="stretch")
            if kind == "number":
                unit = st.text_input("Unit", "hours", max_chars=20, width=110)
                low = st.number_input(
                    "Lowest value", value=0.0, format="%g", width=150, help=bounds
                )
                high = st.number_input(
                    "Highest value", value=24.0, format="%g", width=150, help=bounds
                )
        if kind == "categories":
            lines = st.text_area("Answers, one in each line (2 to 8)", "\n".join(WORDS), height=150)
            words = tuple(each.strip() for each in lines.splitlines() if each.strip())
        with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
            epsilon = st.segmented_control(
                "ε · budget of each person, and the class that it suits",
                [*BUDGETS],
                default=2.0,
                required=True,
                format_func=lambda each: f"{each:g} · {BUDGETS[each]}",
                help=f"The odds of any statement about a person change by at most {each}.",
            )
            if not st.form_submit_button("Start the poll", type="primary"):
                return
    try:
        design = _design(str(kind), low, high, words, float(epsilon or 2.0))
        held = HALL.open(text.strip() or "?", unit.strip(), design)
    except (ParameterError, PollError) as error:
        st.error(verbatim(error))
        return
    st.query_params.update({CODE: held.code, SECRET: held.secret})
    st.rerun()


def _known(words: int) -> str:
    """Return what classes will know of a share, at each budget."""
    classes = itertools.product(BUDGETS, (20, 80))
    each = (
        f"± {196 * standard_deviation(budget, words, people, 1 / words):.0f} points from {people} "
        f"people at ε = {budget:g}"
        for budget, people in classes
    )
    few = " Five words or more need ε = 2 or more." if words > 4 else ""
    return f"What a class will know of an answer that one in {words} gives: {'; '.join(each)}.{few}"


def _design(
    kind: str, low: float, high: float, words: tuple[str, ...], epsilon: float
) -> Design | Choice:
    """Return what is public of a poll.

    Raises:
        ParameterError: the bounds or the words are not allowed.
    """
    return Design(low, high, epsilon) if kind == "number" else Choice(words, epsilon)
