"""Distances: which form, which bandwidth, and what one point can change."""

import streamlit as st

from ui.figures import blocks, captions, downloads, labels
from ui.view import params, router
from ui.view.view import View
from ui.widgets import compare, controls

FORMS = "distance-forms"


def main(view: View) -> None:
    blocks.title("Distances")
    controls.own(view, "distance-forms.bandwidth", "distance-forms.pairs")
    found, pinned = compare.result(view, lambda view: params.ask(view, FORMS))
    blocks.main_figure(view, "error", found, pinned)
    blocks.small_print(captions.fewer_points(found))
    st.markdown(
        "ABC asks how far simulated data are from the observed ones. The answer is a maximum mean "
        "discrepancy, and there are several ways to compute it. *Exact* has no error "
        "beyond rounding. Random features are only needed for many dimensions or wide ranges; the "
        "published code takes 50 of them. Times are measured on this machine, at this moment."
    )
    blocks.heading(
        "What one point can change",
        "It falls like 1/N. Of the linear-time form the table has the square, so its root, the "
        "distance, falls more slowly, like 1/√N. The "
        "sharp bound of the exact form is the paper's divided by √2, and so is the noise for the "
        "same privacy.",
    )
    st.markdown(captions.sensitivities(found))
    blocks.numbers("sensitivity", found, ("sensitivity",))
    blocks.heading(
        "Choice of the bandwidth",
        "From public simulations only. With too small a bandwidth all data sets look far apart, "
        "with too large a one all look alike. The noise is the same for every bandwidth, so "
        "privacy calls for a large spread: the difference between the distances of typical and of "
        "good draws. The error is that of the mean of the nearest draws.",
    )
    blocks.figure(view, "bandwidth", found, ("bandwidth",))
    labels.show(found, stamp="")
    blocks.theory(FORMS)
    downloads.block(view, "distances", found)


router.run(main)
