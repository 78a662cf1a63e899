"""What to expect of a release of one's own, said before anything is spent."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from abcdp_core.experiments import error_by_size
from abcdp_core.figures import Drawn
from abcdp_core.results import Result
from abcdp_core.sentences import counted
from ui import asking, charts, drawings, meaning, state, watch


def study() -> str:
    """The study that tells what to expect of the chosen model; empty if none can."""
    known = state.scenario_in_force() in error_by_size.MODELS
    return error_by_size.EXPERIMENT if known else ""


def cost() -> str:
    """What a release costs, before it is made."""
    epsilon = float(state.current("epsilon_total"))
    return (
        f"**What it costs:** ε_total = {epsilon:g} of these data's privacy, once and for good. "
        f"Another value in place of one changes the probability of any result by at most "
        f"{meaning.odds(epsilon)}."
    )


def show(planned: int, width: float | None) -> str:
    """The headline and the figure of what to expect; returns the sentence for the confirmation.

    Args:
        planned: number of values.
        width: of the range that they can lie in, once it was typed.
    """
    if not (name := study()):
        unknown = "Nobody has measured what error to expect with this model."
        st.info(unknown)
        return unknown
    scenario, pool_size = state.scenario_in_force(), int(state.current("pool_size"))
    far = error_by_size.far_enough(scenario, planned, pool_size)
    draw: Callable[[Result], None] = lambda found: _draw(found, planned, width)  # noqa: E731
    job = watch.growing(name, *asking.ask(name, n=far), draw)
    if job.result is None:
        return "What error to expect is still being computed."
    return said(job.result, planned)


def said(found: Result, planned: int) -> str:
    """What to expect with so many values, in a sentence or two."""
    expected = error_by_size.at(found, planned)
    if expected is None:
        return f"What error to expect with {planned:,} values is not known."
    words = error_by_size.in_words(expected, error_by_size.model_of(found))
    return f"**{error_by_size.answer(expected)}.** {words}"


def headline(found: Result, planned: int, width: float | None = None) -> tuple[str, str, str]:
    """A number, the sentence it begins, and how sure that is."""
    expected, model = error_by_size.at(found, planned), error_by_size.model_of(found)
    if expected is None:
        return "?", f"Nothing is known for {planned:,} values.", ""
    points = error_by_size.points
    number, sign = points(expected.error), "% "
    of_range = model.unit.startswith(sign)
    words = (
        f"{model.unit.removeprefix(sign)}: {model.typical} with {planned:,} values. "
        f"**Without noise {points(expected.plain)}, without any data {points(expected.prior)}.**"
    )
    series = counted(expected.series, "simulated series", "simulated series")
    rest = f"Average over noise and {series} that follow the model{error_by_size.spread(expected)}."
    if of_range and width is not None:
        rest = f"With your range that is {_own(width * expected.error)}. {rest}"
    return f"{number} %" if of_range else number, words, rest


def _own(value: float) -> str:
    """A number in the scale of a person's values, without an exponent where that is readable."""
    return f"{value:,.0f}" if 100.0 <= value < 1e9 else f"{value:.2g}"


def _draw(found: Result, planned: int, width: float | None) -> None:
    number, words, rest = headline(found, planned, width)
    with st.container(key="headline", horizontal=True, vertical_alignment="center"):
        st.title(number, anchor=False, width="content")
        with st.container(gap=None):
            st.markdown(words)
            st.caption(rest)
    marked: Drawn = drawings.variant(
        found, ("planned", planned), lambda: error_by_size.marked(found, planned)
    )
    charts.show(found.experiment, marked)
