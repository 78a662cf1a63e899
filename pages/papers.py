"""Show what the papers claim, what we find, and the settings that show it."""

import streamlit as st

from ui import router
from ui.figures import blocks, labels
from ui.parts import papers
from ui.view import locks
from ui.view.view import View
from ui.widgets import controls


def main(view: View) -> None:
    st.markdown(papers.lead())
    papers.at_a_glance(view)
    blocks.small_print(
        "✓ agrees · ◐ the direction agrees, the size does not · ✗ does not agree · ? our interval "
        "is too wide to tell · – none of our runs can judge it"
    )
    controls.page_controls(view, *papers.FILTERS)
    rows = papers.chosen_rows(view)
    papers.table(view, rows)
    read_it = locks.if_free(view, "papers.claim", "Click a row to read it in full below. ")
    st.markdown(f"{read_it}*Family-wise*: the verdict corrected for testing all claims at once.")
    st.header("One claim")
    experiment = papers.claim(view)
    blocks.heading(
        "The papers' numbers beside ours",
        "Each of our numbers is divided by the paper's: 1 means the same number, 0 no effect, a "
        "negative value the opposite effect. A claim can agree without the same number; each claim "
        "states what it needs.",
    )
    papers.numbers(view, rows)
    blocks.heading("How many of these verdicts are false?", papers.by_chance())
    blocks.heading("All claims counted", papers.totals())
    papers.retired()
    labels.plain(
        "No private data are used here. The table was computed from simulated data and published "
        "counts, with a known seed."
    )
    blocks.theory(*filter(None, [experiment]))
    papers.downloads()


router.run(main)
