"""Make one private release from a visitor's own data."""

import streamlit as st

from ui import router
from ui.figures import blocks, labels
from ui.release import expected_error, own_data, released, uploads
from ui.view.view import View
from ui.widgets import controls


def main(view: View) -> None:
    with st.container(key="own-data"):
        beside = st.grid(2, min_column_width=380, gap="medium")
        asked, expected = beside.container(), beside.container()
        with asked:
            st.header("1 · Choose before you look")
            controls.page_controls(view, "your-data.scenario")
            by = own_data.mechanism(view.scenario)
            request, planned = own_data.chosen(view, by)
            st.markdown(expected_error.cost(view, by, request))
        st.header("2 · Give your file")
        series = uploads.ask(view.scenario, own_data.reading(request))
        # After the uploader: one that is not drawn loses its file, and this may end the page.
        with expected:
            enough = expected_error.show(view, by, planned, request)
        if request is not None and series is not None:
            st.header("3 · Confirm")
            own_data.confirm(request, series, planned, enough)
    if not released.show(view):
        labels.plain(
            "No budget is spent before you press *Release*. The expected error is computed from "
            "public information, not from your data."
        )
    st.markdown(own_data.STAMP)
    st.markdown(own_data.OWN_MODEL)
    if others := labels.who_sees():
        st.warning(others, icon="⚠️")
    blocks.theory(*expected_error.studies(view, by), of=by.draw)
    released.keep_in_browser()


router.run(main)
