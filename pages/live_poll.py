"""Ask a class, privately; or rehearse it with simulated people."""

import streamlit as st

from ui import router
from ui.figures import blocks, downloads, labels
from ui.poll import opening
from ui.server import settings
from ui.view import params
from ui.view.view import View
from ui.widgets import compare, controls

STUDY = "poll"


def main(view: View) -> None:
    if view.lesson is None:
        begin()
    blocks.heading(
        "Rehearse it",
        "A simulated class answers, so here its mean is known. Every person is asked whether their "
        "value is below, between or above two edges, and sends one of these three words, often a "
        "false one on purpose.",
    )
    found, pinned = compare.result(view, lambda view: params.ask(view, STUDY))
    blocks.figure(view, "interval", found, ("main",), pinned=pinned)
    controls.page_controls(view, "poll.mean", "poll.spread", "poll.at_once")
    blocks.figure(view, "posterior", found, ("posterior",))
    if view.lesson is not None:
        # In a lesson the rehearsal comes first.
        begin()
    labels.show(found)
    blocks.theory(STUDY)
    downloads.block(view, "live-poll", found)


def begin() -> None:
    if settings.here().poll:
        opening.show()
    elif settings.is_framed():
        st.info("In a frame there are no live polls, but you can rehearse one here.")
    else:
        st.info("This server does not hold live polls, but you can rehearse one here.")


router.run(main)
