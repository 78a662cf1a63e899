"""Papers: what they claim, what we find, and the settings that show it."""

import streamlit as st

from ui.figures import blocks, labels
from ui.parts import papers
from ui.view import locks, router
from ui.view.view import View
from ui.widgets import controls


def main(view: View) -> None:
    blocks.title("Papers", papers.lead())
    papers.at_a_glance(view)
    blocks.small_print(
        "✓ agrees · ◐ only the direction agrees, not the size · ✗ does not agree · ? our interval "
        "is too wide to tell · – no run of ours can judge it"
    )
    controls.own(view, *papers.FILTERS)
    rows = papers.chosen_rows(view)
    papers.table(view, rows)
    read_it = locks.if_free(view, "papers.claim", "Click a row to read it below. ")
    st.markdown(f"{read_it}*Family-wise*: the verdict if all verdicts together are to be right.")
    st.header("One claim")
    experiment = papers.claim(view)
    blocks.heading(
        "The papers' numbers beside ours",
        "Units differ, so our number is divided by the paper's: 1 is the same number, 0 no effect, "
        "below 0 the opposite effect. A claim can agree without the same number: each claim says "
        "what it needs.",
    )
    papers.numbers(view, rows)
    blocks.heading("How many of these verdicts are false?", papers.by_chance())
    blocks.heading("All claims counted", papers.totals())
    papers.retired()
    labels.plain(
        "Nothing private is read here: the table was computed from simulated data and from "
        "published counts, with a known seed."
    )
    blocks.theory(*filter(None, [experiment]))
    papers.downloads()


router.run(main)
