"""A person's file: taken from the server as soon as it is read, its numbers dropped by a timer.

The end of the session cannot be waited for: the server keeps the session of a closed page, and all
that is in it, at least until another one is closed.
"""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass

import numpy as np
import streamlit as st
from numpy.typing import NDArray
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.typing import UploadedFile

from abcdp_core.own_data import series
from abcdp_core.own_data.request import own_sizes
from ui.verbatim import verbatim

HELD = "_held"
REFUSED = "_refused"
GIVEN = "_files_given"

MINUTES = 5
"""Unused for so long, the numbers of a file are dropped."""


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


def ask(scenario: str) -> Upload | None:
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
    smallest, largest = own_sizes(scenario)
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
        st.session_state[REFUSED] = f"This file cannot be used. {verbatim(error)}"
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
