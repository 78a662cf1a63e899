"""A person's file: taken from the server as soon as it is read, its numbers dropped by a timer.

The end of the session cannot be waited for: the server keeps the session of a closed page, and all
that is in it, at least until another one is closed.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from abcdp_core.own_data import columns, series
from abcdp_core.own_data.request import SERIES, columns_of, own_sizes, rows_of
from abcdp_core.own_data.simulated import table_for
from ui.figures.verbatim import verbatim
from ui.server import streamlit_internals

TRAY = "_tray"

MINUTES = 5
"""Unused for so long, the numbers of a file are dropped."""


class Held:
    """A person's values, dropped when they were not used for some time, whatever the page does.

    Attributes:
        digest: by which the session knows the numbers again.
        n: how many there are.
        kind: what the file held; of a table of records, with the scenario whose columns it has.
    """

    def __init__(
        self, values: NDArray[np.float64], kind: str = SERIES, seconds: float = 60.0 * MINUTES
    ) -> None:
        self.digest, self.n, self.kind = series.digest_of(values), len(values), kind
        self._values: NDArray[np.float64] | None = values
        self._seconds = seconds
        self._timer = threading.Timer(0.0, self.drop)
        self.use()

    def use(self) -> NDArray[np.float64] | None:
        """Return the values ``(n,)`` and hold them for as long again; ``None`` once dropped."""
        self._timer.cancel()
        values = self._values
        if values is not None:
            self._timer = threading.Timer(self._seconds, self.drop)
            self._timer.daemon = True
            self._timer.start()
        return values

    @property
    def is_dropped(self) -> bool:
        """Whether the values are forgotten."""
        return self._values is None

    def drop(self) -> None:
        """Forget the values."""
        self._timer.cancel()
        self._values = None


@dataclass
class Tray:
    """What a session knows of a person's file.

    It is changed in place: to touch the session may end a script whose page is to be redrawn, and
    between the taking of a file and the keeping of its numbers that would lose both. The number of
    files given so far names the uploader, which is empty after each of them.
    """

    held: Held | None = None
    refused: str = ""
    given: int = 0

    def take(self, content: bytes, scenario: str, column: str) -> None:
        """Read a file for a scenario; what is wrong is said without a value."""
        self.given += 1
        self.refused = ""
        try:
            values = columns.read(content, scenario, column)
            self.held = Held(values, _kind(scenario, column))
        except series.SeriesError as error:
            # A browser that refuses a file says nothing to the server.
            self.refused = f"The file that was read last cannot be used. {verbatim(error)}"
            self.held = None


def _kind(scenario: str, column: str) -> str:
    """What a file holds: the same column of two scenarios is the same, a table of records not."""
    return column if table_for(scenario) is None else f"{column} of {scenario}"


def tray() -> Tray:
    """This session's."""
    found: Tray = st.session_state.setdefault(TRAY, Tray())
    return found


def ask(scenario: str) -> Held | None:
    """Return the person's values, asked for unless they are held; say what is wrong with a file."""
    here, column = tray(), _column(scenario)
    if column is None:
        st.info("Say what your file holds: what stands in it is not looked at for that.")
        return None
    held = here.held
    if held is not None and held.kind != _kind(scenario, column):
        # Numbers of another kind, as cases are no sizes of clusters.
        _forget()
        held = None
    if held is None or held.use() is None:
        _ask(scenario, column, here)
        return None
    smallest, largest = own_sizes(scenario)
    what = f"{held.n:,} {rows_of(scenario)} are" if smallest < largest else "Your file is"
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"{what} held, for {MINUTES} minutes after your last use of this page.")
        st.button("Forget the numbers", key="own-forget", on_click=_forget)
    return held


def _column(scenario: str) -> str | None:
    """What the file holds, asked for where a scenario takes several; ``None`` if nobody says."""
    known = columns_of(scenario)
    if len(known) == 1:
        return known[0]
    # Without a first choice: sizes that are read as labels are a file like any other.
    return st.segmented_control(
        "What the file holds",
        list(known),
        format_func=columns.WORDS.__getitem__,
        key=f"own-column-{scenario}",
    )


def _forget() -> None:
    here = tray()
    if here.held is not None:
        here.held.drop()
        here.held = None


def _ask(scenario: str, column: str, here: Tray) -> None:
    """Take a file, read it, and begin again with what was read."""
    if here.held is not None:
        st.info(
            f"Your numbers were dropped, as this page was not used for {MINUTES} minutes. Give the "
            f"file again to go on."
        )
    # Every kind is taken: what is wrong with it is said here, in one sentence and once.
    file = st.file_uploader(
        f"A CSV file of at most {series.LARGEST_FILE // 2**20} MB, with "
        f"{columns.content(scenario, column)}",
        key=f"own-file-{here.given}",
    )
    if table_for(scenario) is not None:
        st.caption(
            f"A larger table, of up to {columns.LARGEST_TABLE // 2**20} MB, is read by the command "
            f"`abcdp release`."
        )
    if file is None:
        if here.refused:
            st.error(here.refused)
        return
    # From here to the end nothing is drawn, and the session is not touched.
    content = file.getvalue()
    here.take(content, scenario, column)
    streamlit_internals.remove_upload(file)
    st.rerun()
