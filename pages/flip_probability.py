"""Show how often the noise changes a decision, and how large c may be."""

from functools import partial

import streamlit as st

from abcdp_core.run.results import Result
from ui import router
from ui.figures import blocks, captions, downloads, labels
from ui.jobs import progress
from ui.view import params
from ui.view.view import View
from ui.widgets import compare, controls


def main(view: View) -> None:
    blocks.choosers(view)
    if view.has_preset:
        preset(view)
    else:
        one_setting(view)


def preset(view: View) -> None:
    controls.page_controls(view, "flip-probability.script")
    job = compare.growing(view, params.ask_flips, partial(draw, view))
    blocks.verdicts(view, "flip-probability", job.result)
    blocks.theory("flip-probability")
    downloads.block(view, "flip-probability", job)


def draw(view: View, found: Result, pinned: compare.Pinned) -> None:
    blocks.figure(view, "flip-probability", found, pinned=pinned)
    labels.show(found)


def one_setting(view: View) -> None:
    found, pinned = compare.result(view, params.ask_flips)
    blocks.figure(view, "flip-probability", found, ("base_rates", "main"), pinned=pinned)
    controls.page_controls(
        view, "flip-probability.distances", "flip-probability.draws", "flip-probability.script"
    )
    with blocks.folded("How well simulation and formula agree", "agreement") as unfolded:
        if unfolded:
            agreement(found)
    labels.show(found)
    guideline(view, found)


def agreement(found: Result) -> None:
    st.markdown(found.summary)
    st.markdown(
        "*Fresh threshold*: the threshold's noise is drawn for this decision alone, as the formula "
        "assumes. *In a run*: given that the run got as far as this draw. Runs with a low "
        "threshold last longer, so inside a run draws are wrongly kept less often and wrongly "
        "rejected more often than the formula predicts."
    )


def guideline(view: View, found: Result) -> None:
    blocks.heading(
        "Guideline: how large may c be?",
        "A kept draw is *false* if it is farther from the data than ε_abc. Choose the largest "
        "share you accept. The expected share comes from public simulations, so it costs no "
        "privacy.",
    )
    controls.page_controls(view, "flip-guideline.false_level")
    guide = progress.result(params.ask(view, "flip-guideline"))
    blocks.figure(view, "flip-guideline", guide, ("guideline", "main"))
    blocks.heading("The paper's guideline: the median flip probability")
    st.markdown(captions.median_warning(guide))
    controls.page_controls(view, "flip-guideline.level")
    blocks.figure(view, "median", guide, ("main",))
    blocks.theory("flip-probability", "flip-guideline")
    downloads.block(view, "flip-probability", found, guide)


router.run(main)
