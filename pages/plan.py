"""Recommend a mechanism for a number of people and a budget."""

from functools import partial

import streamlit as st

from abcdp_core.run.results import Result
from ui import router
from ui.figures import blocks, downloads, labels
from ui.view import params
from ui.view.view import View
from ui.widgets import compare, controls

STUDY = "plan"
GOAL = "plan.goal"


def main(view: View) -> None:
    blocks.choosers(view, "plan.scenario", GOAL)
    if view[GOAL] != "smallest-error":
        controls.page_controls(view, "plan.wanted", "plan.probability")
    job = compare.growing(view, lambda view: params.ask(view, STUDY), partial(draw, view))
    controls.advanced_controls(view, "plan.metric", "plan.runs")
    blocks.theory(STUDY)
    downloads.block(view, "plan", job)


def draw(view: View, found: Result, pinned: compare.Pinned) -> None:
    blocks.figure(view, "plan", found, ("main", "goal", "intervals"), pinned=pinned)
    for name in blocks.names(found, without=["plan"]):
        blocks.figure(view, name, found, ("enough", "curve"))
    st.markdown(
        "The error to expect from each mechanism with your number of people and your budget. "
        "Planning uses only simulated data, so it costs no privacy, and you may use the suggested "
        "settings for a release."
    )
    labels.show(found)


router.run(main)
