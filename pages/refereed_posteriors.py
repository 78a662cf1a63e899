"""Show published posteriors beside exact ones."""

from functools import partial

import streamlit as st

from abcdp_core.run.results import Result
from ui import router
from ui.figures import blocks, downloads, labels
from ui.jobs import progress
from ui.view import params
from ui.view.view import View
from ui.widgets import controls

STUDY = "refereed-posteriors"


def main(view: View) -> None:
    controls.page_controls(view, f"{STUDY}.family")
    job = progress.growing(params.ask(view, STUDY), partial(draw, view))
    blocks.theory(STUDY)
    downloads.block(view, STUDY, job)


def draw(view: View, found: Result) -> None:
    blocks.figure(view, STUDY, found, ("main", "published"))
    labels.show(found, stamp="")
    blocks.heading("All cells", "Cells of each family, and what was found.")
    blocks.table(found, "families")
    st.markdown(
        "A cell is a release and a model. The released numbers and the means are those in the "
        "authors' own repositories, and parameters are theirs. To *differ* judges nobody's code: "
        "the derivation under *Theory and code* can be checked in ten minutes."
    )


router.run(main)
