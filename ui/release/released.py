"""Show a session's releases: figure, privacy label, and files to keep."""

from __future__ import annotations

import functools
import secrets
from typing import Any

import numpy as np
import streamlit as st

from abcdp_core.figures import CaptionedFigure
from abcdp_core.publish.output import images, paper, single
from abcdp_core.release import report
from abcdp_core.release.document import ReleaseRecord, figure, remains, synthetic, verifying
from abcdp_core.release.request import SeriesRequest
from ui.figures import charts, downloads, labels
from ui.jobs import progress
from ui.release import release_state
from ui.release.release_state import Released
from ui.view.view import View
from ui.widgets import component

SETS = 5
"""Synthetic series offered."""


def show(view: View) -> bool:
    """Show the last release of this session and the files of all; return whether there is any."""
    made = release_state.current().made
    if not made:
        return False
    st.header("4 · Released in this session")
    last = made[-1].document
    for words in last.misfit:
        st.warning(words)
    if last.is_complete:
        text = f"{last.marks_in_words} {last.remarks}".rstrip()
        charts.show(view, "released", CaptionedFigure(figure(last), text), is_kept=False)
        st.caption(text)
        release_state.say_limit()
    st.markdown(last.summary)
    st.dataframe(last.table(), hide_index=True, width="content")
    if last.is_complete:
        for name, drawn in last.pictures().items():
            charts.show(view, name, drawn, is_kept=False)
            st.caption(drawn.sentence)
    else:
        _ask_for_the_rest()
    labels.plain(f"{last.statement}\n\n" + "\n".join(f"- {text}" for text in remains(last)))
    with st.container(horizontal=True):
        for number, each in enumerate(made, start=1):
            label, mime, key = f"Release {number} as JSON", "application/json", f"own-json-{number}"
            how: Any = {"type": "primary"} if each is made[-1] else {}
            file = _file(each, number)
            st.download_button(label, each.text, file, mime, key, on_click="ignore", **how)
        if last.is_complete:
            _other_files(made[-1], len(made))
    st.caption(
        "Your browser has saved the JSON file. Keep it: it is the only copy. "
        f"`{verifying('FILE', last)}` checks it by computing everything again. The report is for "
        "readers." + " Synthetic series cost no further privacy." * _offers_series(last)
    )
    return True


def _file(released: Released, number: int) -> str:
    """Its name; what is saved before all follows from it has another one."""
    return f"release-{number}{'' if released.document.is_complete else '-numbers'}.json"


def _ask_for_the_rest() -> None:
    """Wait for the posterior of the numbers, or offer to compute it."""
    here = release_state.current()
    if here.inference.job is not None:
        words = "Computing the posterior from these numbers, at no privacy cost: {:.0%} at most"
        progress.wait_for(here.inference.job, words.format(0), words, cancel="own-inference-cancel")
        return
    st.warning(
        f"The posterior was not computed. {here.inference.failed} Computing it costs no "
        "privacy: try again here, or with the command, which continues from the file."
    )
    st.button("Compute the posterior", key="own-inference", on_click=here.infer)


def _other_files(released: Released, number: int) -> None:
    """Offer a release as a page to read, in HTML and PDF, and series simulated from it."""
    document, source = released.document, f"release-{number}.json"
    page = functools.partial(report.page, document, released.text.encode(), source)
    files = {
        "report as HTML": (f"report-{number}.html", lambda: page().encode(), None),
        "report as PDF": (f"report-{number}.pdf", lambda: paper.pdf(page()), images.obstacle()),
    }
    if _offers_series(document):
        rng = np.random.default_rng(secrets.randbits(128))

        def series() -> bytes:
            return synthetic(document, SETS, rng).to_csv(index=False).encode()

        files[f"{SETS} synthetic series as CSV"] = "synthetic.csv", series, None
    for label, (name, make, why_not) in files.items():
        suffix = name.rpartition(".")[2]
        mime = {**single.MIME, "csv": "text/csv"}[suffix]
        downloads.prepare(f"own-{suffix}", label, name, mime, (document,), make, why_not)


def _offers_series(document: ReleaseRecord) -> bool:
    return isinstance(document.request, SeriesRequest) and len(document.sample) > 0


def keep_in_browser() -> None:
    """Have the browser save the last release, and ask before leaving while one is made."""
    here = release_state.current()
    if not here.digest:
        # Nothing was begun, so there is nothing to save or to wait for.
        return
    data = {
        "session": progress.session_id(),
        "making": here.release.job is not None,
        "file": _file(here.made[-1], len(here.made)) if here.made else "",
        "text": here.made[-1].text if here.made else "",
    }
    component("leaving", "leaving.js")(key="leaving", data=data, height=0)
