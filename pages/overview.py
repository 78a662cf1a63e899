"""Show what the four knobs do, in one headline and four pictures."""

import streamlit as st

from ui.figures import blocks, downloads, labels
from ui.jobs import progress
from ui.parts import overview
from ui.view import params, router
from ui.view.view import View

ESTIMATE = "Each dot is a kept draw: with noise above its line, without noise below."


def main(view: View) -> None:
    found = progress.result(params.ask(view, "posterior"))
    runs = overview.gather(found)
    with st.container(key="overview"):
        top = st.container()
        promise, decisions = st.columns(2, gap="xsmall", border=True)
        estimate, error = st.columns(2, gap="xsmall", border=True)
        with promise:
            overview.promise(view, found.params)
        with decisions:
            overview.decisions(view, found, runs)
        with estimate:
            overview.of_result(view, "posterior", found, ESTIMATE, "posterior", "This run")
        with error:
            job = progress.growing(
                params.ask(view, "expected-error"),
                lambda grown: overview.error(view, grown, found, runs),
            )
        with top:
            overview.headline(found, job.result)
    labels.show(found)
    blocks.heading(
        "What this is",
        "Approximate Bayesian computation (ABC) learns by simulation: draw parameters, simulate "
        "data, and keep the draws whose data look like yours. ABCDP adds *noise* to each decision, "
        "which limits how much any one person's record can change which draws are kept.",
    )
    st.header("What ε_total promises")
    blocks.promise(view, found.params)
    st.header("The four knobs")
    blocks.knob_table()
    blocks.theory("posterior", "expected-error")
    downloads.block(view, "overview", found, job)


router.run(main)
