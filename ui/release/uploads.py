"""A person's file: taken from the server as soon as it is read, its numbers dropped by a timer.

The end of the session cannot be waited for: the server keeps the session of a closed page, and all
that is in it, at least until another one is closed.
"""

from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import streamlit as st
from numpy.typing import NDArray
from streamlit.typing import UploadedFile

from abcdp_core.base import tabular
from abcdp_core.base.tabular import TableError
from abcdp_core.models import simulators
from abcdp_core.models.own_model.lattice import RECORDS
from abcdp_core.release import columns
from abcdp_core.release.columns import AS_IT_IS, DAYS, LABELS, SIZES, CumulativeError, Reading
from abcdp_core.release.request import SERIES
from ui.server import streamlit_internals
from ui.verbatim import verbatim

T = TypeVar("T")

UPLOADS = "_uploads"

MARKS = {"comma": ",", "point": ".", "apostrophe": "'", "blank": " "}
"""Thousands separators that a file may have."""

MOST_ROWS = 1_000_000
"""Of a file that is looked at for its columns."""

MINUTES = 5
"""Unused for so long, the numbers of a file are dropped."""


class ForMinutes(Generic[T]):
    """Something private, dropped when it was not used for some time, whatever the page does."""

    def __init__(self, what: T, seconds: float = 60.0 * MINUTES) -> None:
        self._what: T | None = what
        self._seconds = seconds
        self._timer = threading.Timer(0.0, self.drop)
        self.use()

    def use(self) -> T | None:
        """Return it and hold it for as long again; ``None`` once dropped."""
        self._timer.cancel()
        what = self._what
        if what is not None:
            self._timer = threading.Timer(self._seconds, self.drop)
            self._timer.daemon = True
            self._timer.start()
        return what

    @property
    def is_dropped(self) -> bool:
        """Whether it is forgotten."""
        return self._what is None

    def drop(self) -> None:
        """Forget it."""
        self._timer.cancel()
        self._what = None


class UploadedNumbers(ForMinutes[NDArray[np.float64]]):
    """A person's values ``(n,)``.

    Attributes:
        digest: by which the session knows the numbers again.
        n: how many there are.
        kind: what the file held; of a table of records, with the scenario whose columns it has.
    """

    def __init__(
        self, values: NDArray[np.float64], kind: str = SERIES, seconds: float = 60.0 * MINUTES
    ) -> None:
        self.digest, self.n, self.kind = columns.digest_of(values), len(values), kind
        super().__init__(values, seconds)


@dataclass
class Waiting:
    """A file of which a person has to say how it is read.

    Attributes:
        content: its bytes.
        names: of its columns.
        looks_cumulative: whether it was read, and numbers look like totals so far.
    """

    content: ForMinutes[bytes]
    names: list[str]
    looks_cumulative: bool = False


@dataclass
class UploadState:
    """What a session knows of a person's file.

    It is changed in place: to touch the session may end a script whose page is to be redrawn, and
    between the taking of a file and the keeping of its numbers that would lose both. The number of
    files given so far names the uploader, which is empty after each of them.
    """

    held: UploadedNumbers | None = None
    waiting: Waiting | None = None
    refused: str = ""
    given: int = 0

    def offer(self, content: bytes, scenario: str, kind: str, how: Reading = AS_IT_IS) -> None:
        """Take a file, and read it unless it has several columns to choose from."""
        self.given += 1
        names: list[str] = []
        if kind != RECORDS:
            with contextlib.suppress(TableError):
                names = tabular.parse(content, MOST_ROWS).choices()
        if len(names) > 1:
            self.waiting, self.refused = Waiting(ForMinutes(content), names), ""
        else:
            self.take(content, scenario, kind, how)

    def choose(self, scenario: str, kind: str, how: Reading) -> None:
        """Read the file that waits as a person says; nobody but it holds its bytes."""
        if self.waiting and (content := self.waiting.content.use()):
            self.take(content, scenario, kind, how)

    def take(self, content: bytes, scenario: str, kind: str, how: Reading) -> None:
        """Read a file for a scenario; what is wrong is said without a value."""
        self.refused = ""
        try:
            values = columns.read(content, simulators.load(scenario), kind, how)
            self.held, self.waiting = UploadedNumbers(values, _kind(scenario, kind, how)), None
        except CumulativeError:
            names = self.waiting.names if self.waiting else []
            self.waiting = Waiting(ForMinutes(content), names, looks_cumulative=True)
        except TableError as error:
            # A browser that refuses a file says nothing to the server.
            self.refused = f"This file cannot be used. {verbatim(error)}"
            self.held = None


def _kind(scenario: str, column: str, how: Reading) -> str:
    """What a file holds: the same column of two scenarios is the same, a table of records not."""
    if simulators.load(scenario).own_table is None:
        return column
    return f"{column} of {scenario}, {how.at_most} of each {how.person}"


def upload_state() -> UploadState:
    """This session's."""
    return st.session_state.setdefault(UPLOADS, UploadState())


def ask(scenario: str, how: Reading = AS_IT_IS) -> UploadedNumbers | None:
    """Return the person's values, asked for unless they are held; say what is wrong with a file.

    Args:
        scenario: of the data.
        how: whose records the rows are; a file that was read in another way is forgotten.
    """
    here, column = upload_state(), _column(scenario)
    if column is None:
        st.info("Choose what your file contains. The program does not look inside to find out.")
        return None
    held = here.held
    if held is not None and held.kind != _kind(scenario, column, how):
        # Numbers of another kind, as cases are no sizes of clusters.
        _forget()
        held = None
    if held is None or held.use() is None:
        waiting = here.waiting
        if waiting is None or waiting.content.use() is None:
            _ask(scenario, column, here, how)
        else:
            _choose(scenario, column, here, waiting)
        return None
    source = simulators.load(scenario)
    smallest, largest = source.own_sizes
    what = f"{held.n:,} {source.own_rows} are" if smallest < largest else "Your file is"
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"{what} in memory until {MINUTES} minutes after your last use of this page.")
        st.button("Forget the numbers", key="own-forget", on_click=_forget)
    return held


def _column(scenario: str) -> str | None:
    """What the file holds, asked for where a scenario takes several; ``None`` if nobody says."""
    known = simulators.load(scenario).own_columns
    if len(known) == 1:
        return known[0]
    # Without a first choice: sizes that are read as labels are a file like any other.
    return st.segmented_control(
        "The file contains",
        list(known),
        format_func=columns.WORDS.__getitem__,
        key=f"own-column-{scenario}",
    )


def _choose(scenario: str, kind: str, here: UploadState, waiting: Waiting) -> None:
    """Ask how a file of several columns, or of totals, is read; its values are not shown."""
    names, none = waiting.names, None
    column = date = date_format = missing = count = none
    thousands, alone = "", False
    with st.container(border=True, key="own-columns"):
        if names:
            column = st.selectbox("Column to read", names, index=None, key="own-column-name")
            others = [name for name in names if name != column]
            if kind in (SERIES, DAYS):
                date = st.selectbox("Dates, if any", others, index=None, key="own-date")
            if date is not None:
                asked = "Format of the dates, such as %d/%m/%Y (if not 2020-03-31 or 31.3.2020)"
                date_format = st.text_input(asked, key="own-date-format") or None
                fill = st.checkbox("Days without a row had 0 cases", key="own-missing-days")
                missing = "zero" if fill else None
            if kind == SIZES:
                asked = "How many clusters have this size"
                count = st.selectbox(asked, others, index=None, key="own-count")
            if kind == LABELS and st.checkbox(
                "Leave out patients without a label", key="own-missing-labels"
            ):
                missing = "drop"
            if kind == LABELS:
                alone = st.checkbox("Each row is another patient", key="own-rows-are-patients")
            if kind != LABELS:
                asked = "Thousands separator, if any"
                mark = st.selectbox(asked, MARKS, index=None, key="own-thousands")
                thousands = MARKS[mark] if mark else ""
        totals = None
        if waiting.looks_cumulative:
            st.markdown("These numbers never decrease, so they look cumulative.")
            answers = {"Take each day's difference": True, "Leave them as they are": False}
            totals = answers[str(st.radio("Totals", list(answers), label_visibility="collapsed"))]
        with st.container(horizontal=True):
            if missing == "zero" and totals:
                missing = "carry"
            how = Reading(
                *(column, date, date_format, missing, totals, count, thousands),
                rows_are_people=alone,
            )
            no_column = bool(names) and column is None
            # Not a callback, which would have what was chosen when the button was drawn.
            if st.button("Read", key="own-read", type="primary", disabled=no_column):
                here.choose(scenario, kind, how)
                st.rerun()
            st.button("Forget the file", key="own-forget-file", on_click=_forget)
    if here.refused:
        st.error(here.refused)


def _forget() -> None:
    here = upload_state()
    if here.waiting is not None:
        here.waiting.content.drop()
        here.waiting = None
    if here.held is not None:
        here.held.drop()
        here.held = None


def _ask(scenario: str, column: str, here: UploadState, how: Reading) -> None:
    """Ask for a file, and say what is wrong with the last one."""
    if here.held is not None:
        st.info(
            f"Your numbers were dropped because this page was unused for {MINUTES} minutes. Upload "
            f"the file again to continue."
        )
    # Every kind is taken: what is wrong with it is said here, in one sentence and once.
    key = f"own-file-{here.given}"
    st.file_uploader(
        f"A CSV file of at most {tabular.LARGEST_FILE // 2**20} MB, with "
        f"{columns.content(simulators.load(scenario), column)}",
        key=key,
        on_change=take_file,
        args=(key, scenario, column, how),
    )
    if simulators.load(scenario).own_table is not None:
        st.caption(
            f"For a larger table, up to {columns.LARGEST_TABLE // 2**20} MB, use the command "
            f"`abcdp release`."
        )
    if here.refused:
        st.error(here.refused)


def take_file(key: str, scenario: str, column: str, how: Reading) -> None:
    """Keep the numbers of a file that an uploader has just got."""
    here = upload_state()
    if given := taken(key):
        here.offer(given[1], scenario, column, how)


def taken(key: str) -> tuple[str, bytes] | None:
    """Return name and content of a file that an uploader has just got; the server keeps neither.

    Until they are kept elsewhere, the session must not be touched, which may end a run.
    """
    file = st.session_state.get(key)
    # Once taken, a message that was late still names it.
    if not isinstance(file, UploadedFile):
        return None
    name, content = file.name, file.getvalue()
    streamlit_internals.remove_upload(file)
    return name, content
