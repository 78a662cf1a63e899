"""A visitor's own problem on the page of published queries: given, checked, inferred, shown.

What is given is public already, and yet it stays with the session: in memory, in no link and in no
cache. Its text is shown as the text it is, through :mod:`ui.verbatim`.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import streamlit as st

from abcdp_core.figures import Drawn
from abcdp_core.parameters import ParameterError
from abcdp_core.published import given, inference, report
from abcdp_core.published.inference import Draws, Task
from abcdp_core.published.pools import Pool
from abcdp_core.published.posteriors import Posterior
from abcdp_core.published.problems import Problem
from ui import charts, jobs, labels, served, steps, uploads, watch
from ui.job import Job
from ui.verbatim import verbatim

DESK, TEXT = "_own_query", "own-query-text"

LONGEST_PASTED = given.LARGEST_TEXT // 4
"""Characters of a problem that is pasted: of any kind, they are no more bytes than it may have."""

TABLE_ENDS = ".csv"
"""Of the name of a pool's table; a file of any other name is taken for the problem."""


@dataclass
class Desk:
    """What a session gave and what came of it, changed in place as a :class:`~ui.uploads.Tray`.

    Attributes:
        text: of the problem.
        table: of its pool.
        count: files given so far; it names the uploader, which is empty after each of them.
        problem: what they say, if they say one.
        refused: why they say none.
        job: the inference under way.
        found: what it came to.
        failed: why it came to nothing.
    """

    text: bytes | None = field(default=None, repr=False)
    table: bytes | None = field(default=None, repr=False)
    count: int = 0
    problem: Problem | None = None
    refused: str = ""
    job: Job | None = None
    found: Posterior | None = None
    failed: str = ""

    def take(self, name: str, content: bytes) -> None:
        """One more file; it stands for the one of its kind that was given before."""
        self.count += 1
        if name.lower().endswith(TABLE_ENDS):
            self.table = content
        else:
            self.text = content
        self._read()

    def forget(self) -> None:
        """Begin again with nothing."""
        self.text = self.table = None
        self._read()

    def _read(self) -> None:
        """What the files say; what was inferred before is of others."""
        self.leave()
        self.problem, self.refused, self.found, self.failed = None, "", None, ""
        if self.text is None:
            return
        try:
            self.problem = given.read(self.text, self.table)
        except ParameterError as error:
            self.refused = str(error)

    def begin(self, problem: Problem) -> None:
        """Have it inferred when its turn comes."""
        self.found, self.failed = None, ""
        work = steps.own(functools.partial(_infer, problem))
        self.job = jobs.service().submit_own(jobs.session_id(), work, "given")

    def leave(self) -> None:
        """Want no more what is being inferred."""
        if self.job is not None:
            self.job.leave(jobs.session_id())
        self.job = None

    def collect(self) -> None:
        """Keep what has come out."""
        job = self.job
        if job is None or job.active:
            return
        self.job = None
        if job.state == "done" and isinstance(job.outcome, Posterior):
            self.found = job.outcome
        else:
            why = {"stopped": "It was stopped.", "refused": "Too many are waiting just now."}
            self.failed = why.get(job.state) or str(job.outcome or job.error)


def _infer(problem: Problem, progress: Callable[[float], None]) -> Posterior | str:
    """The posterior, or why there is none: what a simulator gives may not suit the noise law."""
    done = 0

    def each(
        name: str,  # noqa: ARG001 - part of the interface
        work: Callable[[Task], Draws],
        tasks: Sequence[Task],
    ) -> Iterable[Draws]:
        nonlocal done
        for draws in steps.in_parts(work, tasks):
            done += len(draws)
            progress(done / problem.draws)
            yield draws

    progress(0.0)
    try:
        return inference.infer(problem, each)
    except ParameterError as error:
        return str(error)


def desk() -> Desk:
    """This session's, with what has come out by now."""
    found: Desk = st.session_state.setdefault(DESK, Desk())
    found.collect()
    return found


def show(example: str) -> None:
    """Ask for a problem, infer from it, and show what comes out.

    Args:
        example: text of a problem to begin with.
    """
    here, takes_files = desk(), served.settings().own_data
    pool = (
        "Instead of a simulator it may name a pool: a CSV table of your own simulations, with "
        "columns `theta.NAME` and `summary.NAME`."
        if takes_files
        else "This server takes no files, so a pool of your own simulations needs the command."
    )
    st.markdown(
        f"A problem is a short text in TOML: the noisy numbers, the law of their noise, and one of "
        f"the simulators of this page. {pool} What you give stays in this session and is part of "
        f"no link."
    )
    st.download_button(
        "Example: the release above",
        data=example.encode(),
        file_name="problem.toml",
        mime="application/toml",
        key="own-query-example",
        on_click="ignore",
    )
    if takes_files:
        _ask_for_files(here)
    else:
        _ask_for_text()
    if here.refused:
        st.error(f"This cannot be used. {verbatim(here.refused)}")
    if here.problem is None:
        return
    st.markdown(f"{_given(here.problem)} {_spent(here.problem)}")
    if here.job is not None:
        _wait_for(here, here.job)
        return
    if here.failed:
        st.error(f"Nothing could be inferred. {verbatim(here.failed)}")
    if here.found is None:
        st.button("Infer", type="primary", key="own-query-infer", on_click=_begin)
    else:
        _show(here.problem, here.found)


def _begin() -> None:
    here = desk()
    if here.problem is not None and here.job is None:
        here.begin(here.problem)


def _ask_for_text() -> None:
    """Take the problem alone, where this server takes no files."""
    text = st.text_area(
        # A browser takes nothing of a longer one, and says nothing.
        f"The problem, in TOML, of at most {LONGEST_PASTED:,} characters",
        max_chars=LONGEST_PASTED,
        height=220,
        key=TEXT,
        on_change=_take_text,
    )
    if text.strip() and desk().text is None:
        # What a session begins with, as the server forgot the one before, is no change to it.
        _take_text()


def _take_text() -> None:
    here, text = desk(), st.session_state[TEXT]
    if text.strip():
        here.take("problem.toml", text.encode())
    else:
        here.forget()


def _ask_for_files(here: Desk) -> None:
    """Take the problem, and the table of its pool."""
    file = st.file_uploader(
        f"The problem, in TOML, of at most {given.LARGEST_TEXT // 2**10} kB; and its table, in "
        f"CSV, of at most {given.LARGEST_TABLE // 2**20} MB, if it names a pool",
        key=f"own-query-file-{here.count}",
    )
    if file is not None:
        # From here to the end nothing is drawn, and the session is not touched.
        here.take(file.name, file.getvalue())
        uploads.remove(file)
        st.rerun()
    held = [
        f"{what} of {len(content):,} bytes"
        for what, content in (("a problem", here.text), ("a table", here.table))
        if content is not None
    ]
    if held:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"Given: {' and '.join(held)}.")
            st.button("Forget", key="own-query-forget", on_click=_forget)


def _forget() -> None:
    desk().forget()


def _given(problem: Problem) -> str:
    """What was understood."""
    count = len(problem.query)
    numbers = f"{count} noisy number{'s' if count > 1 else ''}"
    source = (
        f"a pool of {problem.draws:,} draws"
        if isinstance(problem.source, Pool)
        else f"the simulator {problem.simulator}, at most {problem.draws:,} simulations"
    )
    return f"Read: {numbers}; {problem.noise.in_words()}; {source}."


def _spent(problem: Problem) -> str:
    """What the release itself spent, in Markdown."""
    stated = problem.spent
    if stated is not None and stated.unit:
        stated = dataclasses.replace(stated, unit=verbatim(stated.unit))
    return report.spent(dataclasses.replace(problem, spent=stated))


def _wait_for(here: Desk, job: Job) -> None:
    @st.fragment(run_every=watch.POLL)
    def waiting() -> None:
        job.watch(jobs.session_id())
        if not job.active:
            st.rerun()
        fraction = job.made() or 0.0
        words = watch.waits(job) or f"Simulating: {fraction:.0%} of what it may at most"
        with st.container(horizontal=True, vertical_alignment="center"):
            st.progress(min(1.0, fraction), words)
            st.button("Cancel", key="own-query-cancel", on_click=here.leave)

    waiting()


def _show(problem: Problem, found: Posterior) -> None:
    """The posterior: figure, sentence, label, table and file."""
    drawn = report.figure(problem, found).figure
    # Names come from the file; in Markdown they stand as they are.
    named = dataclasses.replace(
        found,
        parameters=tuple(map(verbatim, found.parameters)),
        beyond=tuple(map(verbatim, found.beyond)),
    )
    sentence = report.finding(problem, named)
    charts.show("own-query", Drawn(drawn, report.finding(problem, found)), kept=False)
    st.markdown(sentence)
    st.dataframe(report.table(found), hide_index=True, width="content")
    labels.plain(f"{report.NO_COST} {_spent(problem)}")
    st.download_button(
        "Weighted draws as CSV",
        data=lambda: report.draws(found).to_csv(index=False).encode(),
        file_name="posterior.csv",
        mime="text/csv",
        key="own-query-draws",
        on_click="ignore",
    )
