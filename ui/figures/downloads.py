"""Offer downloads: a zip for each page, and each figure as a file.

The first press prepares a file in its own queue, the second saves it. The code that writes files
is loaded when it is first needed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st

from abcdp_core.figures import CaptionedFigure
from abcdp_core.run.results import Result
from ui.figures import charts
from ui.jobs import progress, queue
from ui.jobs.job import Job, RefusedError
from ui.verbatim import verbatim
from ui.view.view import View
from ui.widgets import controls

PREPARED = "_prepared"


@dataclass(frozen=True)
class Prepared:
    """The file that a session last asked for, what it is made from, and the job that makes it."""

    key: str
    sources: tuple[object, ...]
    job: Job

    def is_of(self, key: str, sources: Sequence[object]) -> bool:
        """Whether it is a certain file, made from the same things."""
        # Tables have no equality: the same things, each by its identity.
        return self.key == key and [*map(id, sources)] == [*map(id, self.sources)]


def prepare(
    key: str,
    label: str,
    file_name: str,
    mime: str,
    sources: Sequence[object],
    make: Callable[[], bytes],
    why_not: str | None = None,
) -> None:
    """Show a button that has a file made in the background and, once it is there, one to save it.

    Args:
        sources: what it is made from; with others, it has to be prepared again.
        why_not: why it cannot be made here, if so.
    """
    last: Prepared | None = st.session_state.get(PREPARED)
    job = last.job if last is not None and last.is_of(key, sources) else None
    if job is not None and job.active:
        progress.wait_for(job, "Making the file; this takes a few seconds", cancel=f"cancel-{key}")
    elif job is not None and job.state == "done":
        st.download_button(
            f"Save {file_name}", job.outcome, file_name, mime, f"save-{key}", on_click="ignore"
        )
    else:
        if job is not None and job.state == "failed":
            st.error(verbatim(job.error))
        disabled, begin = why_not is not None, functools.partial(_begin, key, tuple(sources), make)
        name = f"prepare-{key}"
        st.button(f"Prepare {label}", name, why_not, begin, disabled=disabled)


def _begin(key: str, sources: tuple[object, ...], make: Callable[[], bytes]) -> None:
    from abcdp_core.publish.output.formats import ExportError

    def work(job: Job) -> None:
        try:
            job.outcome = make()
        except ExportError as error:
            raise RefusedError(str(error)) from error
        job.check()

    if (last := st.session_state.get(PREPARED)) is not None:
        last.job.cancel()
    job = queue.current().submit_private(progress.session_id(), work, "files")
    st.session_state[PREPARED] = Prepared(key, sources, job)


def block(view: View, name: str, *found: Result | Job) -> None:
    """Show the download of a page, and the format that the cameras save."""
    latest = [item.result if isinstance(item, Job) else item for item in found]
    results = [result for result in latest if result is not None]
    st.header("Download")
    with st.container(horizontal=True, vertical_alignment="bottom", gap="large"):
        make = functools.partial(page_zip, results)
        prepare("zip", "this page as a zip", f"{name}.zip", "application/zip", results, make)
        with st.container(width="content"):
            controls.widget(view, "figures.format")
    st.caption(
        "The zip contains each figure as SVG, PNG, PDF and HTML with its caption, the data as CSV, "
        "the settings as JSON, how to cite it, and the command that reproduces every number byte "
        "for byte. Pictures take a few seconds and need a browser on the server; without one, a "
        "note in the zip says so, and the camera buttons still work. For a single figure, open "
        "*Data and downloads* below it."
    )
    label = "Commands that reproduce these figures"
    with st.expander(label, key="commands", on_change="rerun") as folded:
        if folded.open:
            from abcdp_core.publish.output import bundle

            for line in bundle.commands(results):
                st.code(line, language="bash", wrap_lines=True)


def page_zip(results: Sequence[Result]) -> bytes:
    """Return the zip; where pictures cannot be drawn it holds the rest and a note that says why."""
    from abcdp_core.publish.output import bundle, formats

    return bundle.zip_bytes([(result, charts.drawn(result)) for result in results], formats.FORMATS)


def figure(
    key: str, found: Result, name: str, drawn: CaptionedFigure, tables: Sequence[str]
) -> None:
    """Show how to save a figure as a file with its caption, and the caption to copy."""
    from abcdp_core.publish.output import citation, images, single
    from abcdp_core.publish.output.formats import STATIC

    why_not = images.obstacle()
    suffixes = [each for each in single.MIME if each not in STATIC or why_not is None]
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        chosen = st.segmented_control(
            "File", suffixes, default=suffixes[0], required=True, key=f"file-{key}"
        )
        suffix = str(chosen or suffixes[0])
        prepare(
            f"{suffix}-{key}",
            suffix.upper(),
            f"{found.experiment}.{name}.{suffix}",
            single.MIME[suffix],
            (found, drawn),
            functools.partial(single.file_of, found, name, drawn, tables, suffix),
        )
    st.caption(
        "The HTML file needs no network and no other file. The tables below are CSV."
        + (f" {why_not}" if why_not else "")
    )
    title = images.title_of(found, drawn.figure)
    text = f"{title}. {images.caption(found, drawn)} {citation.TEXT}"
    st.code(text, language=None, wrap_lines=True)
