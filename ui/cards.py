"""The first screen: a headline in large type, and pictures in cards that lead to their pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from abcdp_core import figures as fig
from abcdp_core.experiments import expected_error, posterior
from abcdp_core.figures import Drawn
from abcdp_core.parameters import Params
from abcdp_core.privacy.promise import promise_in_short
from abcdp_core.releases import ReleaseParams
from abcdp_core.results import Result
from ui import charts, drawings, locks, meaning, motion, noises, router

HEIGHT = 258
"""Pixels of a picture: two rows of them, a headline and a label fit into 900."""


LEAD = (
    "Data are simulated; simulations *close to the real data* are kept and averaged. Privacy noise "
    "hides each person, and may let wrong ones in."
)
"""What the method does, for who has never seen it."""


def screen() -> DeltaGenerator:
    """What stands in it is laid out so that it can be seen without scrolling."""
    return st.container(key="overview")


def place() -> DeltaGenerator:
    """Where something is drawn that needs what is drawn after it."""
    return st.container()


def headline(found: Result, grown: Result | None) -> None:
    """The number that says most, the sentence that it begins, and what is typical.

    Args:
        found: the run of today.
        grown: many runs, once there are some.
    """
    number, words, rest = posterior.headline(found)
    typical = expected_error.typical_in_words(grown) if grown else ""
    with st.container(key="headline", horizontal=True, vertical_alignment="center"):
        st.title(number, anchor=False, width="content")
        with st.container(gap=None):
            st.markdown(words)
            if typical:
                st.markdown(typical)
            st.caption(f"{LEAD}  \n{rest}")


def pair() -> tuple[DeltaGenerator, DeltaGenerator]:
    """Two cards side by side; one above the other where there is no room."""
    left, right = st.columns(2, gap="xsmall", border=True)
    return left, right


def of_result(name: str, found: Result, lead: str, page: str) -> None:
    """A figure of a result."""
    _card(name, drawings.drawn(found)[name], lead, page)


DECISIONS = (
    "Each mark is a simulation, kept if its distance with noise is at most the noisy threshold."
)


def decisions(found: Result, runs: Sequence[noises.Run]) -> None:
    """The decisions, whose marks move with each new noise, and what those before decided.

    Args:
        found: the run of today.
        runs: it and those before that differ in the noise.
    """
    so_far = noises.in_words(runs)
    try_it = locks.if_free("noise_draw", " Try *New noise*.")
    of_result("decisions", found, so_far or DECISIONS + try_it, "flip_probability")
    motion.of("overview-decisions")


def error(grown: Result, found: Result, runs: Sequence[noises.Run]) -> None:
    """The error against the budget with this run on it, and smaller those before."""
    *earlier, this = (run.error for run in runs)
    marked = drawings.with_run(grown, found, tuple(earlier))
    average, marks = (
        expected_error.averaged_in_words(grown),
        expected_error.marks_in_words(grown, this, earlier),
    )
    _card("error", marked, f"{average} {marks}", "privacy_and_accuracy")


def promise(params: Params) -> None:
    """What the budget promises one person."""
    epsilon = cast(ReleaseParams, params).epsilon_total
    _card("promise", meaning.icons(epsilon), promise_in_short(epsilon))


def _card(name: str, drawn: Drawn, lead: str, page: str = "") -> None:
    with st.container(
        key=f"card-{name}", horizontal=True, vertical_alignment="center", gap="small"
    ):
        st.markdown(f"**{fig.one_line(drawn.figure)}**", width="stretch")
        if page:
            router.link(page)
    st.caption(lead)
    charts.show(f"overview-{name}", drawn, in_card=HEIGHT)
