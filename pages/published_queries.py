"""Published queries: what noisy numbers that somebody else released say of their model."""

from functools import partial

import streamlit as st

from abcdp_core.results import Result
from ui.figures import blocks, captions, downloads, labels
from ui.release import published_problem
from ui.view import params, router
from ui.view.view import View
from ui.widgets import compare, controls

STUDY = "published-query"


def main(view: View) -> None:
    blocks.titled(view, "Published queries", "published-query.problem")
    controls.own(view, "published-query.simulations")
    job = compare.growing(view, lambda view: params.ask(view, STUDY), partial(draw, view))
    with blocks.folded("Infer from a release of your own", "own-query") as unfolded:
        if unfolded:
            published_problem.show(view, captions.problem_of(str(view["published-query.problem"])))
    blocks.theory(STUDY)
    downloads.block(view, "published-queries", job)


def draw(view: View, found: Result, pinned: compare.Pinned) -> None:
    blocks.main_figure(view, STUDY, found, pinned, ("main", "way", "reference", "sample"))
    st.markdown(
        "Nothing private is read here. The page uses the released numbers below, the distribution "
        "of their noise, and a public simulator. What follows from a release cannot weaken its "
        "privacy, however often you compute with it."
    )
    labels.show(found, stamp="")
    blocks.heading("What was released", captions.released(found))
    blocks.table(found, "released")
    st.markdown(
        "A release of your own, with one of these simulators or with simulations of yours: below, "
        "or, larger and longer, by `abcdp infer problem.toml --out DIR`. The three "
        "files of the folder `examples` that end in `.toml` are the queries of this page."
    )


router.run(main)
