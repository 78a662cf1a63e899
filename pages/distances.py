"""Compare forms and bandwidths of a distance, and how much one person can change it."""

import streamlit as st

from ui import router
from ui.figures import blocks, captions, downloads, labels
from ui.view import params
from ui.view.view import View
from ui.widgets import compare, controls

FORMS = "distance-forms"


def main(view: View) -> None:
    controls.page_controls(view, "distance-forms.bandwidth", "distance-forms.pairs")
    found, pinned = compare.result(view, lambda view: params.ask(view, FORMS))
    blocks.figure(view, "error", found, pinned=pinned)
    blocks.small_print(captions.fewer_points(found))
    st.markdown(
        "ABC measures how far simulated data are from the real data. This distance is the maximum "
        "mean discrepancy, which can be computed in several ways. *Exact* has no error beyond "
        "rounding. Random features are only needed for many dimensions or wide ranges; the "
        "published code uses 50. Times are measured on this computer, now."
    )
    blocks.heading(
        "How much one person can change",
        "The change falls like 1/N. For the linear-time form the table shows the squared distance, "
        "so the distance itself falls more slowly, like 1/√N. The sharp bound of the exact form is "
        "the paper's divided by √2, and so is the noise for the same privacy.",
    )
    st.markdown(captions.sensitivities(found))
    blocks.numbers("sensitivity", found, ("sensitivity",))
    blocks.heading(
        "How to choose the bandwidth",
        "Public simulations are enough. If the bandwidth is too small, all data sets look far "
        "apart; if it is too large, all look alike. The noise is the same for every bandwidth, so "
        "privacy calls for a large spread: the difference between the distances of typical draws "
        "and of good draws. The error is the error of the mean of the nearest draws.",
    )
    blocks.figure(view, "bandwidth", found, ("bandwidth",))
    labels.show(found, stamp="")
    blocks.theory(FORMS)
    downloads.block(view, "distances", found)


router.run(main)
