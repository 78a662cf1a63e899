"""The first screen: a headline in large type, and pictures in cards that lead to their pages."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import streamlit as st

from abcdp_core import figures as fig
from abcdp_core.demonstration import ReleaseParams
from abcdp_core.figures import CaptionedFigure, belief
from abcdp_core.parameters import Params
from abcdp_core.privacy.promise import promise_in_short
from abcdp_core.results import Result
from abcdp_core.studies import expected_error, posterior
from ui.figures import blocks, charts
from ui.view import locks, page_table
from ui.view.view import View
from ui.widgets import component

HEIGHT = 246
"""Pixels of a picture: two rows of cards and a headline fit into 900."""

LEAD = (
    "The data: simulated people, each with a number from 0 to 5. What share is in each fifth of "
    "that range? Draws of five shares whose simulated data are *close to the data* are kept and "
    "averaged. Noise hides each person, but it also keeps wrong draws."
)
"""What the data are and what the method does, for a newcomer."""

DECISIONS = "Each mark is a draw, kept if it lies below the noisy threshold."

SEEN = "_noises_seen"

LISTED = 8
"""Draws of noise that are told one by one."""


@dataclass(frozen=True)
class Run:
    """What one draw of noise did: draws kept, those kept only because of it, and the error."""

    kept: int
    false: int
    error: float


def gather(found: Result) -> tuple[Run, ...]:
    """Return this session's runs that differ in nothing but the noise, that of `found` last."""
    params = cast(ReleaseParams, found.params)
    public = dataclasses.replace(params, noise_draw=0), found.seed
    before: tuple[Any, dict[int, Run]] = st.session_state.get(SEEN, (public, {}))
    runs = dict(before[1]) if before[0] == public else {}
    runs.pop(params.noise_draw, None)
    runs[params.noise_draw] = Run(*posterior.counts(found), posterior.error(found))
    st.session_state[SEEN] = public, runs
    return tuple(runs.values())


def in_words(runs: Sequence[Run]) -> str:
    """Return how many draws were kept only because of noise; empty for a single run."""
    if len(runs) < 2:
        return ""
    over = f"Over {len(runs)} draws of noise"
    kept, false = (sum(getattr(run, name) for run in runs) for name in ("kept", "false"))
    if kept == 0:
        return f"{over} nothing was kept."
    shown = runs[-LISTED:]
    lately = f"the last {LISTED}: " if len(runs) > LISTED else ""
    sizes = {run.kept for run in runs}
    if len(sizes) == 1:
        each = f"{', '.join(f'{run.false:,}' for run in shown)} of {max(sizes):,}"
        total = f"mean {'of all ' if lately else ''}{false / len(runs):,.1f}"
    else:
        each = ", ".join(f"{run.false:,} of {run.kept:,}" if run.kept else "none" for run in shown)
        total = f"in all {false:,} of {kept:,}"
    return f"{over}, kept only because of noise: {lately}{each}; {total}."


def headline(found: Result, grown: Result | None) -> None:
    """Show the number that says most of this run, and what is typical of many, if they are done."""
    number, words = posterior.headline(found)
    typical = expected_error.typical_in_words(grown) if grown else ""
    blocks.headline(number, [words], f"{typical}  \n{LEAD}" if typical else LEAD)


def of_result(view: View, name: str, found: Result, lead: str, page: str, of: str = "") -> None:
    """Show a figure of a result in a card."""
    _card(view, name, charts.drawn(found)[name], lead, page, of)


def decisions(view: View, found: Result, runs: Sequence[Run]) -> None:
    """Show the decisions, whose marks move with each new noise, and what earlier noise decided."""
    try_it = locks.if_free(view, "noise_draw", " Try *New noise*.")
    lead = in_words(runs) or DECISIONS + try_it
    of_result(view, "decisions", found, lead, "flip_probability")
    # The browser moves each mark from where the former noise had it.
    motion = component("motion", "motion.js", '<div class="motion" hidden></div>')
    motion(key="motion-overview-decisions", data={"chart": "overview-decisions"}, height=0)


def error(view: View, grown: Result, found: Result, runs: Sequence[Run]) -> None:
    """Show the error against the budget with this run on it, and smaller those before."""
    *earlier, this = (run.error for run in runs)
    marked = charts.with_run(grown, found, tuple(earlier))
    average = expected_error.averaged_in_words(grown.tables["main"])
    marks = expected_error.marks_in_words(grown, this, earlier)
    _card(view, "error", marked, f"{average} {marks}", "privacy_and_accuracy", "On average")


def promise(view: View, params: Params) -> None:
    """Show what the budget promises one person."""
    epsilon = cast(ReleaseParams, params).epsilon_total
    _card(
        view,
        "promise",
        belief.icons(epsilon),
        promise_in_short(epsilon),
        "posterior",
        query={"posterior.view": "change one person"},
    )


def _card(
    view: View,
    name: str,
    drawn: CaptionedFigure,
    lead: str,
    page: str,
    of: str = "",
    query: dict[str, str] | None = None,
) -> None:
    """Show a figure in a card, whose title leads to a page, after what the title is about."""
    words = fig.one_line(drawn.figure)
    title = f"**{of}: {words[0].lower()}{words[1:]}** →" if of else f"**{words}** →"
    with st.container(key=f"card-{name}"):
        st.page_link(
            page_table.path_of(page),
            label=title,
            width="stretch",
            query_params=query,
            help=f"Opens the page {page_table.by_file(page).title}.",
        )
    st.caption(lead)
    charts.show(view, f"overview-{name}", drawn, in_card=HEIGHT)
