"""Your own data: one private release, in earnest."""

import streamlit as st

from ui import asking, blocks, controls, labels, own_data, router, state, uploads, watch

router.guard()

PLAN = "data-needed"


def main() -> None:
    blocks.title(
        "Your own data",
        "Everything else here is a demonstration. This page makes a real private release: one "
        "series of numbers goes in, accepted parameters come out, and the budget is spent.",
    )
    blocks.note(own_data.STAMP)
    if others := labels.who_sees():
        blocks.warning(others)
    blocks.heading("1 · Choose, before you look", "Nothing below reads your data.")
    controls.own("your-data.scenario")
    request = own_data.settings(state.scenario_in_force())
    plan = st.container()
    blocks.heading("2 · Your series")
    series = uploads.ask(state.scenario_in_force())
    # After the uploader: the page ends where it waits, and an uploader not drawn loses its file.
    with plan:
        found = watch.result(PLAN, *asking.ask(PLAN))
        blocks.figure(PLAN, found)
    if request is not None and series is not None:
        blocks.heading("3 · Confirm")
        own_data.confirm(request, series)
    if documents := own_data.released(series):
        blocks.heading("4 · What was released")
        own_data.show(documents)
    else:
        labels.show(found, stamp="")
    blocks.theory(PLAN)


main()
