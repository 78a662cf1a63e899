"""What to expect of a release of one's own, said before anything is spent."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import streamlit as st

from abcdp_core.experiments import data_needed, error_by_size
from abcdp_core.figures import Drawn
from abcdp_core.results import Result
from abcdp_core.sentences import counted
from ui import asking, charts, drawings, meaning, state, watch


def study() -> str:
    """The study that tells what to expect of the chosen model; empty if none can."""
    shown = state.on_screen().shown(state.view())
    return shown[0] if len(shown) == 1 else ""


def cost() -> str:
    """What a release costs, before it is made."""
    epsilon = float(state.current("epsilon_total"))
    return (
        f"**What it costs:** ε_total = {epsilon:g} of these data's privacy, once and for good. "
        f"Another value in place of one changes the probability of any result by at most "
        f"{meaning.odds(epsilon)}."
    )


def show(planned: int) -> str:
    """The headline and the figure of what to expect; returns the sentence for the confirmation."""
    if not (name := study()):
        unknown = "Nobody has measured what error to expect with this model."
        st.info(unknown)
        return unknown
    fixed = {}
    if name == error_by_size.EXPERIMENT:
        fixed = {"n": error_by_size.far_enough(planned, int(state.current("pool_size")))}
    draw: Callable[[Result], None] = lambda found: _draw(found, planned)  # noqa: E731
    job = watch.growing(name, *asking.ask(name, **fixed), draw)
    if job.result is None:
        return "What error to expect is still being computed."
    return said(job.result, planned)


def said(found: Result, planned: int) -> str:
    """What to expect with so many values, in a sentence or two."""
    if found.experiment == data_needed.EXPERIMENT:
        params = cast(data_needed.Params, found.params)
        return f"**{data_needed.answer(params, planned)}.** {UNKNOWN}"
    expected = error_by_size.at(found, planned)
    if expected is None:
        return f"What error to expect with {planned:,} values is not known."
    return f"**{error_by_size.answer(expected)}.** {error_by_size.in_words(expected)}"


UNKNOWN = "How far off the curve will then be is not known: nobody has simulated it."


def headline(found: Result, planned: int) -> tuple[str, str, str]:
    """A number, the sentence it begins, and how sure that is."""
    if found.experiment == data_needed.EXPERIMENT:
        params = cast(data_needed.Params, found.params)
        times = 100.0 * data_needed.wrong(params, planned)
        number = f"{times:.0f} of 100" if times >= 1.0 else "Under 1 of 100"
        words = f"clear cases would be decided wrongly because of noise, with {planned:,} values."
        clear = "Clear is a simulated series just like yours, or one twice as far off as allowed."
        return number, words, f"{clear} {UNKNOWN}"
    expected = error_by_size.at(found, planned)
    if expected is None:
        return "?", f"Nothing is known for {planned:,} values.", ""
    points = error_by_size.points
    words = (
        f"percentage points: the typical error of each share with {planned:,} values. "
        f"**Without noise {points(expected.plain)}, without any data {points(expected.prior)}.**"
    )
    series = counted(expected.series, "simulated series", "simulated series")
    rest = f"Average over noise and {series} that follow the model{error_by_size.spread(expected)}."
    return points(expected.error), words, rest


def _draw(found: Result, planned: int) -> None:
    number, words, rest = headline(found, planned)
    with st.container(key="headline", horizontal=True, vertical_alignment="center"):
        st.title(number, anchor=False, width="content")
        with st.container(gap=None):
            st.markdown(words)
            st.caption(rest)
    study_of = {each.EXPERIMENT: each for each in (data_needed, error_by_size)}[found.experiment]
    marked: Drawn = drawings.variant(
        found, ("planned", planned), lambda: study_of.marked(found, planned)
    )
    charts.show(found.experiment, marked)
