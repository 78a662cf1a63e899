"""Release mode on a page: a file, a domain, a confirmation, and one document that comes out.

Nothing here goes through the background jobs, whose results all sessions share and whose tasks are
kept on disk. A release is made while the page waits, and what comes out is held by the session. No
widget here is bound to the link.
"""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from abcdp_core.figures import Drawn
from abcdp_core.own_data import release
from abcdp_core.own_data.document import Document, figure, remains, synthetic
from abcdp_core.own_data.request import (
    ReleaseRequest,
    check_size,
    model,
    noise_scale,
    question,
)
from abcdp_core.parameters import ParameterError
from ui import charts, state
from ui.uploads import MINUTES, Upload
from ui.verbatim import verbatim

RELEASED = "_released"

SETS = 5
"""Synthetic series offered."""

STAMP = (
    "**Release mode.** The noise comes from the operating system and no seed is kept. There is no "
    "non-private result to compare with. Your file is read and not kept. Its numbers stay in the "
    "memory of the server, in no cache, no log and no link, until you press *Forget the numbers* "
    f"or have not used this page for {MINUTES} minutes, be it open or closed."
)


def settings(scenario: str) -> ReleaseRequest | None:
    """What is public and chosen before looking; ``None`` as long as something is missing."""
    st.markdown(model(scenario))
    with st.container(horizontal=True, gap="large"):
        bounds = [
            st.number_input(label, value=None, format="%g", key=f"own-{label[:3]}", width=230)
            for label in ("Lowest possible value", "Highest possible value")
        ]
    st.caption(
        "The domain has to be known without looking at the data, as 0 to 100 for a percentage. "
        "Values beyond it are moved to its ends; how many is not said, because that would tell "
        "about them."
    )
    chosen = _more(scenario)
    low, high = bounds
    if low is None or high is None:
        st.info("Type the domain of your values: the lowest and the highest one possible.")
        return None
    knobs = ("epsilon_total", "epsilon_abc", "c", "resample", "pool_size")
    values: dict[str, Any] = {name: state.current(name) for name in knobs}
    try:
        return ReleaseRequest(
            scenario=scenario,
            low=low,
            high=high,
            pool_seed=int(state.current("seed")),
            **values,
            **chosen,
        )
    except ParameterError as error:
        st.warning(f"These settings do not go together: {verbatim(error)}", icon="⚠️")
        return None


def _more(scenario: str) -> dict[str, Any]:
    """Distance and bandwidth, which few need."""
    known, starts = ReleaseRequest.specification(scenario), ReleaseRequest.defaults(scenario)
    distances, bandwidth = known["distance"], known["bandwidth"]
    chosen = {name: starts[name] for name in ("distance", "bandwidth")}
    with st.expander("More settings"):
        if len(distances.options) > 1:
            chosen["distance"] = st.segmented_control(
                distances.label,
                list(distances.options),
                default=chosen["distance"],
                required=True,
                key=f"own-distance-{scenario}",
                help="values: the set of values. pairs: each value with its place in the series.",
            )
        chosen["bandwidth"] = st.number_input(
            f"{bandwidth.label} (after your domain is brought to the scenario's)",
            min_value=bandwidth.low,
            max_value=bandwidth.high,
            value=chosen["bandwidth"],
            key=f"own-bandwidth-{scenario}",
        )
    return chosen


def confirm(request: ReleaseRequest, series_of: Upload) -> None:
    """Say what will be spent, ask, and release."""
    n = len(series_of.values)
    try:
        check_size(request, n)
    except ParameterError as error:
        st.error(f"This file cannot be used. {verbatim(error)}")
        return
    st.markdown(question(request, n))
    noise = noise_scale(request, n)
    if noise > request.epsilon_abc:
        st.warning(
            f"The noise (scale {noise:.3g}) is larger than the threshold "
            f"ε_abc = {request.epsilon_abc:g}: what comes out will be little more than the prior. "
            f"A larger ε_total, a smaller c or more data help.",
            icon="⚠️",
        )
    made = released(series_of)
    if made:
        spent = sum(document.request.epsilon_total for document in made)
        times = "once" if len(made) == 1 else f"{len(made)} times, together"
        st.markdown(
            f"This file was released {times} in this session, for ε_total = {spent:g}. One more "
            f"release makes it {spent + request.epsilon_total:g}."
        )
    # Another request, or one more of the same, needs a confirmation of its own.
    sure = st.checkbox(
        f"I want to spend ε_total = {request.epsilon_total:g} of these data's privacy",
        key=f"own-confirmed-{len(made)}-{hash(request)}",
    )
    if st.button("Release", type="primary", disabled=not sure, key=f"own-release-{len(made)}"):
        _release(request, series_of)


def _release(request: ReleaseRequest, series_of: Upload) -> None:
    bar = st.progress(0.0)
    try:
        document = release.make(
            request, series_of.values, progress=lambda done: _advance(bar, done)
        )
    except Exception as error:  # noqa: BLE001 - its text or traceback may hold private data
        bar.empty()
        st.error(f"The release failed ({type(error).__name__}); nothing was spent.")
        return
    every: dict[str, list[Document]] = st.session_state.setdefault(RELEASED, {})
    every.setdefault(series_of.name, []).append(document)
    st.rerun()


def _advance(bar: DeltaGenerator, done: float) -> None:
    bar.progress(done, "Simulating the public pool")


def released(series_of: Upload | None) -> list[Document]:
    """What was released in this session from a file; from the last one if it is gone."""
    every: dict[str, list[Document]] = st.session_state.get(RELEASED, {})
    if series_of is None:
        return list(every.values())[-1] if every else []
    return every.get(series_of.name, [])


def show(documents: list[Document]) -> None:
    """What came out last, and the files of all."""
    last = documents[-1]
    charts.show("released", Drawn(figure(last), last.summary), kept=False)
    st.markdown(last.summary)
    with st.container(border=True, key="privacy-label"):
        st.markdown(f"**Privacy label.** {last.statement}")
        st.markdown("\n".join(f"- {text}" for text in remains(last.n)))
    with st.container(horizontal=True):
        for number, document in enumerate(documents, start=1):
            st.download_button(
                f"Release {number} as JSON",
                data=document.to_json(),
                file_name=f"release-{number}.json",
                mime="application/json",
                key=f"own-json-{number}",
                type="primary" if document is last else "secondary",
                on_click="ignore",
            )
        if len(last.theta):
            st.download_button(
                f"{SETS} synthetic series as CSV",
                data=lambda: _synthetic(last),
                file_name="synthetic.csv",
                mime="text/csv",
                key="own-synthetic",
                on_click="ignore",
            )
    st.caption(
        "Keep the JSON: it is the only copy. The synthetic series are simulated from what was "
        "released, which costs no further privacy."
    )


def _synthetic(document: Document) -> bytes:
    rng = np.random.default_rng(secrets.randbits(128))
    return synthetic(document, SETS, rng).to_csv(index=False).encode()
