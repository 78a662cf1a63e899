"""Plan: with so many people and such a budget, what is to be run?"""

from functools import partial

import streamlit as st

from abcdp_core.results import Result
from ui.figures import blocks, downloads, labels
from ui.view import params, router
from ui.view.view import View
from ui.widgets import compare, controls

STUDY = "plan"
GOAL = "plan.goal"


def main(view: View) -> None:
    blocks.titled(view, "Plan", "plan.scenario", GOAL)
    if view[GOAL] != "smallest-error":
        controls.own(view, "plan.wanted", "plan.probability")
    job = compare.growing(view, lambda view: params.ask(view, STUDY), partial(draw, view))
    controls.more(view, "plan.metric", "plan.runs")
    blocks.theory(STUDY)
    downloads.block(view, "plan", job)


def draw(view: View, found: Result, pinned: compare.Pinned) -> None:
    blocks.main_figure(view, "plan", found, pinned, ("main", "goal", "intervals"))
    for name in blocks.names(found, without=["plan"]):
        blocks.figure(view, name, found, ("enough", "curve"))
    st.markdown(
        "The error to expect from each mechanism with your number of people and your budget. "
        "Only simulated data are looked at, so planning costs no privacy, and you may use the "
        "settings it names for a release."
    )
    labels.show(found)


router.run(main)
