"""Release mode on a page: a file, a domain, a confirmation, and one document that comes out.

Nothing here goes through the background jobs, whose results all sessions share and whose tasks are
kept on disk. A release is made while the page waits, and what comes out is held by the session. No
widget here is bound to the link.

A file is taken from the server as soon as it is read, and its numbers are dropped by a timer. The
end of the session cannot be waited for: the server keeps the session of a closed page, and all that
is in it, at least until another one is closed.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.typing import UploadedFile

from abcdp_core.figures import Drawn
from abcdp_core.own_data import release, series
from abcdp_core.own_data.release import Document, ReleaseRequest
from abcdp_core.parameters import ParameterError
from ui import charts, state

RELEASED = "_released"
HELD = "_held"
REFUSED = "_refused"
GIVEN = "_files_given"

MINUTES = 5
"""Unused for so long, the numbers of a file are dropped."""

SETS = 5
"""Synthetic series offered."""

STAMP = (
    "**Release mode.** The noise comes from the operating system and no seed is kept. There is no "
    "non-private result to compare with. Your file is read and not kept. Its numbers stay in the "
    "memory of the server, in no cache, no log and no link, until you press *Forget the numbers* "
    f"or have not used this page for {MINUTES} minutes, be it open or closed."
)


@dataclass(frozen=True)
class Upload:
    """A person's series, and a digest by which the session knows its file again."""

    name: str
    values: NDArray[np.float64]


class Held:
    """A series that is dropped when it was not used for some time, whatever becomes of the page."""

    def __init__(self, series_of: Upload, seconds: float = 60.0 * MINUTES) -> None:
        self._series: Upload | None = series_of
        self._seconds = seconds
        self._timer = threading.Timer(0.0, self.drop)
        self.use()

    def use(self) -> Upload | None:
        """The series, which is then held for as long again; ``None`` once it is dropped."""
        self._timer.cancel()
        series_of = self._series
        if series_of is not None:
            self._timer = threading.Timer(self._seconds, self.drop)
            self._timer.daemon = True
            self._timer.start()
        return series_of

    def drop(self) -> None:
        """Forget the series."""
        self._timer.cancel()
        self._series = None


def settings(scenario: str) -> ReleaseRequest | None:
    """What is public and chosen before looking; ``None`` as long as something is missing."""
    st.markdown(release.model(scenario))
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
        st.warning(f"These settings do not go together: {error}", icon="⚠️")
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


def upload(scenario: str) -> Upload | None:
    """The person's series, asked for unless it is held; what is wrong is said without a value."""
    held: Held | None = st.session_state.get(HELD)
    series_of = held.use() if held else None
    if series_of is None:
        _ask(scenario, dropped=held is not None)
        return None
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(
            f"{len(series_of.values):,} values are held, for {MINUTES} minutes after your last use "
            f"of this page."
        )
        st.button("Forget the numbers", key="own-forget", on_click=_forget)
    return series_of


def _forget() -> None:
    held: Held | None = st.session_state.pop(HELD, None)
    if held is not None:
        held.drop()


def _ask(scenario: str, *, dropped: bool) -> None:
    """Take a file, read it, and begin again with what was read."""
    if dropped:
        st.info(
            f"Your numbers were dropped, as this page was not used for {MINUTES} minutes. Give the "
            f"file again to go on."
        )
    smallest, largest = release.own_sizes(scenario)
    given = st.session_state.setdefault(GIVEN, 0)
    file = st.file_uploader(
        f"Your series: a CSV of one column, {smallest} to {largest:,} numbers",
        type=["csv", "txt"],
        key=f"own-file-{given}",
    )
    if file is None:
        if refused := st.session_state.get(REFUSED):
            st.error(refused)
        return
    content = _taken(file)
    st.session_state.pop(REFUSED, None)
    try:
        values = series.read(content, largest)
        st.session_state[HELD] = Held(Upload(hashlib.sha256(content).hexdigest(), values))
    except series.SeriesError as error:
        st.session_state[REFUSED] = f"This file cannot be used. {error}"
    # The browser still names the file in this uploader; the next one is empty.
    st.session_state[GIVEN] = given + 1
    st.rerun()


def _taken(file: UploadedFile) -> bytes:
    """What is in a file, of which the server keeps nothing."""
    content = file.getvalue()
    file.seek(0)
    file.truncate()
    context = get_script_run_ctx()
    if context is not None and isinstance(context.uploaded_file_mgr, MemoryUploadedFileManager):
        context.uploaded_file_mgr.remove_file(context.session_id, file.file_id)
    return content


def confirm(request: ReleaseRequest, series_of: Upload) -> None:
    """Say what will be spent, ask, and release."""
    n = len(series_of.values)
    try:
        release.check_size(request, n)
    except ParameterError as error:
        st.error(f"This file cannot be used. {error}")
        return
    st.markdown(release.question(request, n))
    noise = release.noise_scale(request, n)
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
    charts.show("released", Drawn(release.figure(last), last.summary))
    st.markdown(last.summary)
    with st.container(border=True, key="privacy-label"):
        st.markdown(f"**Privacy label.** {last.statement}")
        st.markdown("\n".join(f"- {text}" for text in release.remains(last.n)))
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
    return release.synthetic(document, SETS, rng).to_csv(index=False).encode()
