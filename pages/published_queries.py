"""Show what noisy numbers that others released say about a model."""

from functools import partial

import streamlit as st

from abcdp_core.run.results import Result
from ui import router
from ui.figures import blocks, downloads, labels
from ui.release import published_problem
from ui.view import params
from ui.view.view import View
from ui.widgets import compare, controls

STUDY = "published-query"


def main(view: View) -> None:
    controls.page_controls(view, "published-query.problem", "published-query.simulations")
    job = compare.growing(view, lambda view: params.ask(view, STUDY), partial(draw, view))
    with blocks.folded("Infer from a release of your own", "own-query") as unfolded:
        if unfolded:
            published_problem.show(view, str(view["published-query.problem"]))
    blocks.theory(STUDY)
    downloads.block(view, "published-queries", job)


def draw(view: View, found: Result, pinned: compare.Pinned) -> None:
    blocks.figure(view, STUDY, found, ("main", "way", "reference", "sample"), pinned=pinned)
    st.markdown(
        "No private data are used here. The page uses the released numbers below, the distribution "
        "of their noise, and a public simulator. Nothing computed from a release can weaken its "
        "privacy, however often you compute."
    )
    labels.show(found, stamp="")
    released = blocks.words(found, "released_in_words", "sample_in_words")
    blocks.heading("What was released", released)
    blocks.table(found, "released")
    st.markdown(
        "To learn from another release, with one of these simulators or your own simulations, use "
        "the form below, or `abcdp infer problem.toml --out DIR` for larger problems. The three "
        "`.toml` files in the folder `examples` are the releases of this page."
    )


router.run(main)
