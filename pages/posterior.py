"""Show one private release beside the result without noise, draw by draw."""

import streamlit as st

from ui import router
from ui.figures import blocks, captions, downloads, labels
from ui.jobs import progress
from ui.view import locks, params
from ui.view.view import View
from ui.widgets import compare, controls


def main(view: View) -> None:
    show = {
        "one release": one_release,
        "many releases": many_releases,
        "change one person": change_one_person,
        "synthetic data": synthetic_data,
    }
    show[blocks.shown(view, "scenario")](view)


def one_release(view: View) -> None:
    result, pinned = compare.result(view, lambda view: params.ask(view, "posterior"))
    blocks.figure(view, "posterior", result, ("errors", "main"), pinned=pinned)
    blocks.heading(
        "Every decision",
        "Each mark is a draw that the private run looked at. Noise moves it up or down, and near "
        "ε_abc that decides whether it is kept."
        + locks.if_free(view, "noise_draw", " *New noise* draws the noise again."),
    )
    blocks.figure(view, "decisions", result, ("decisions",))
    labels.show(result)
    blocks.theory("posterior")
    downloads.block(view, "posterior", result)


def many_releases(view: View) -> None:
    result, pinned = compare.result(view, params.ask_releases)
    blocks.figure(view, "many-releases", result, ("errors", "references", "main"), pinned=pinned)
    another = locks.if_free(view, "noise_draw", ", and *New noise* adds another")
    st.markdown(
        "Each dot is one release of the same data with its own noise; the large dot is the "
        f"newest{another}. In practice there is only one release."
    )
    labels.show(result)
    blocks.theory("many-releases")
    downloads.block(view, "many-releases", result)


def change_one_person(view: View) -> None:
    result = progress.result(params.ask(view, "change-one-person"))
    headline, lead = captions.largest(result)
    with st.container(key="finding"):
        st.header(headline, anchor=False)
        st.markdown(lead)
    # One above the other on a telephone: knob, point and curves are on its screen together.
    cause, effect = st.columns((2, 3), gap="medium")
    with cause:
        controls.page_controls(view, "change-one-person.moved_to")
        blocks.picture(view, "person", result)
    with effect:
        blocks.picture(view, "outcomes", result)
    blocks.below("outcomes", result, ("main", "ratio", "largest"))
    left, right = st.columns(2, gap="medium")
    with left:
        blocks.figure(view, "movement", result, ("movement", "decisions"))
    with right:
        blocks.below("person", result, ("person", "data"))
        st.markdown(
            "This is the definition of differential privacy: for any two data sets that differ in "
            "one person, the probabilities of any outcome differ by at most the factor e^ε_total. "
            "All probabilities are exact averages over all possible noise. " + result.summary
        )
    labels.show(result)
    blocks.theory("change-one-person")
    downloads.block(view, "change-one-person", result)


def synthetic_data(view: View) -> None:
    result, pinned = compare.result(view, lambda view: params.ask(view, "synthetic-data"))
    blocks.figure(view, "synthetic-data", result, ("compared", "main"), pinned=pinned)
    controls.page_controls(view, "synthetic-data.data_sets")
    st.markdown(
        "A private run releases the draws that it keeps. Simulating from them costs no further "
        "privacy, so such data sets may be published in place of the real data. The real data are "
        "shown here only because they are simulated, or published already."
    )
    blocks.rows_as_csv("Private synthetic data as CSV", result, "main", source="private")
    labels.show(result)
    blocks.theory("synthetic-data")
    downloads.block(view, "synthetic-data", result)


router.run(main)
