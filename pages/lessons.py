"""List the lessons, which lead through the other pages."""

import streamlit as st

from ui import router
from ui.figures import labels
from ui.parts import lesson_print
from ui.view.view import View


def main(view: View) -> None:
    st.markdown(
        "Each takes about five minutes. *Print view* is the lesson on paper, with its answers on "
        "separate pages."
    )
    lesson_print.show(view)
    labels.plain("The lessons use no private data: all data are simulated or published.")


router.run(main)
