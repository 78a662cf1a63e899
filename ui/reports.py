"""Downloads of a released document as a page for people to read."""

from __future__ import annotations

import functools

import streamlit as st

from abcdp_core.output import images, paper, single
from abcdp_core.output.formats import STATIC
from abcdp_core.own_data import report
from abcdp_core.own_data.document import Document
from ui import export, jobs


def downloads(document: Document, number: int) -> None:
    """A released document as a page to read, in HTML and PDF.

    Args:
        document: what was released.
        number: of the release, as its file has it.
    """
    who, why_not = jobs.session_id(), images.obstacle()
    for suffix in ("html", "pdf"):
        st.download_button(
            f"Report as {suffix.upper()}",
            data=functools.partial(file_for, who, document, f"release-{number}.json", suffix),
            file_name=f"report-{number}.{suffix}",
            mime=single.MIME[suffix],
            key=f"own-report-{suffix}",
            on_click="ignore",
            disabled=suffix in STATIC and why_not is not None,
            help=why_not if suffix in STATIC else None,
        )


def file_for(who: str, document: Document, name: str, suffix: str) -> bytes:
    """A report as a file for a session; what needs a browser is made when its turn comes.

    Raises:
        RefusedError: the session has left meanwhile.
        ExportError: it could not be printed.
    """
    page = report.page(document, document.to_json().encode(), name)
    if suffix not in STATIC:
        return page.encode()
    with export.turn_of(who):
        return paper.pdf(page)
