"""A visitor's own problem on the page of published queries: given, checked, inferred, shown.

What is given is public already, and yet it stays with the session: in memory, in no link and in no
cache. Its text is shown as text, through :mod:`ui.verbatim`.
"""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass, field
from typing import Any, cast

import streamlit as st

from abcdp_core import studies
from abcdp_core.base.parameters import ParameterError
from abcdp_core.figures import CaptionedFigure
from abcdp_core.posterior.fit import REPLICATES, Fit
from abcdp_core.posterior.outcome import WITHHELD, Posterior
from abcdp_core.posterior.published import inference, report, uploaded_problem
from abcdp_core.posterior.published.pools import Pool
from abcdp_core.posterior.published.problems import Problem
from ui.figures import charts, labels
from ui.jobs import progress, work
from ui.jobs.job import Job, RefusedError
from ui.jobs.progress import PrivateJob
from ui.release import release_state, uploads
from ui.server import settings
from ui.verbatim import verbatim
from ui.view.view import View

STATE, TEXT = "_own_query", "own-query-text"

LONGEST_PASTED = uploaded_problem.LARGEST_TEXT // 4
"""Characters of a problem that is pasted: of any kind, they are no more bytes than it may have."""

TABLE_ENDS = ".csv"
"""Of the name of a pool's table; a file of any other name is taken for the problem."""


@dataclass
class ProblemState:
    """What a session gave and what came of it, changed in place as an upload's state.

    `text` and `table` say a `problem`, or are `refused`; `inference` computes what is `found`.
    `count` names the uploader, which is empty after each file.
    """

    text: bytes | None = field(default=None, repr=False)
    table: bytes | None = field(default=None, repr=False)
    count: int = 0
    problem: Problem | None = None
    refused: str = ""
    inference: PrivateJob = field(default_factory=PrivateJob)
    found: Posterior | None = None

    def take(self, name: str, content: bytes) -> None:
        """Take one more file, in place of the one of its kind that was given before."""
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
        """Read the files; what was inferred before is of others."""
        if self.inference.job is not None:
            self.inference.job.cancel()
        self.inference, self.problem, self.refused, self.found = PrivateJob(), None, "", None
        if self.text is not None:
            try:
                self.problem = uploaded_problem.read(self.text, self.table)
            except ParameterError as error:
                self.refused = str(error)

    def begin(self) -> None:
        """Infer when its turn comes."""
        if self.problem is not None and self.inference.job is None:
            self.inference.begin(functools.partial(_infer, self.problem))


def _infer(problem: Problem, job: Job) -> None:
    """Infer the posterior, unless the simulator does not suit the noise."""
    each, seconds = work.simulations(job, problem.draws + REPLICATES), work.seconds_to_simulate(job)
    try:
        job.outcome = inference.infer(problem, each, seconds)
    except ParameterError as error:
        raise RefusedError(str(error)) from error


def current() -> ProblemState:
    """Return this session's, with what has come out by now."""
    found: ProblemState = st.session_state.setdefault(STATE, ProblemState())
    found.found = found.inference.take() or found.found
    return found


def show(view: View, release: str) -> None:
    """Ask for a problem, infer from it, and show what comes out; a published one is an example."""
    here, takes_files = current(), settings.here().own_data
    pool = (
        "Instead of a simulator it may name a pool: a CSV table of your own simulations, with "
        "columns `theta.NAME` and `summary.NAME`."
        if takes_files
        else "This server takes no files, so a pool of your own simulations needs the command."
    )
    st.markdown(
        f"A problem is a short text in TOML: the noisy numbers, the distribution of their noise, "
        f"and one of the simulators of this page. {pool} What you give stays in this session and "
        f"is part of no link."
    )
    st.markdown(
        'Numbers may be suppressed (`"<5"`, or a mark with its interval), before or after the '
        "noise, or clamped (`clamped = 0`). An unknown number of records, and outputs "
        "computed from the parameters, can be columns `theta.NAME` of a pool. For a model of your "
        "own use the command: `abcdp infer problem.toml --plugin FILE`."
    )
    label, file, key = "Example: the release above", "problem.toml", "own-query-example"
    example: Any = studies.load("published-query")
    text = example.text_of(release)
    st.download_button(label, text, file, "application/toml", key, on_click="ignore")
    if takes_files:
        _ask_for_files(here)
    else:
        _ask_for_text(here)
    if here.refused:
        st.error(f"This cannot be used. {verbatim(here.refused)}")
    if here.problem is None:
        return
    st.markdown(f"{_given(here.problem)} {_spent(here.problem)}")
    if here.inference.job is not None:
        words = "Simulating: {:.0%} of what it may at most"
        progress.wait_for(here.inference.job, words.format(0), words, cancel="own-query-cancel")
        return
    if here.inference.failed:
        st.error(f"Nothing could be inferred. {here.inference.failed}")
    if here.found is None:
        st.button("Infer", type="primary", key="own-query-infer", on_click=here.begin)
    else:
        _show(view, here.problem, here.found)


def _ask_for_text(here: ProblemState) -> None:
    """Take the problem alone, where this server takes no files."""
    text = st.text_area(
        # A browser takes nothing of a longer one, and says nothing.
        f"The problem, in TOML, of at most {LONGEST_PASTED:,} characters",
        max_chars=LONGEST_PASTED,
        height=220,
        key=TEXT,
        on_change=_take_text,
    )
    if text.strip() and here.text is None:
        # What a session begins with, as the server forgot the one before, is no change to it.
        _take_text()


def _take_text() -> None:
    here, text = current(), st.session_state[TEXT]
    if text.strip():
        here.take("problem.toml", text.encode())
    else:
        here.forget()


def _ask_for_files(here: ProblemState) -> None:
    """Take the problem, and the table of its pool."""
    key = f"own-query-file-{here.count}"
    st.file_uploader(
        f"The problem, in TOML, of at most {uploaded_problem.LARGEST_TEXT // 2**10} kB; and "
        f"its table, in CSV, of at most {uploaded_problem.LARGEST_TABLE // 2**20} MB, if it names "
        "a pool",
        key=key,
        on_change=_take_file,
        args=(key,),
    )
    contents = {"a problem": here.text, "a table": here.table}
    held = [f"{what} of {len(each):,} bytes" for what, each in contents.items() if each is not None]
    if held:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"Given: {' and '.join(held)}.")
            st.button("Forget", key="own-query-forget", on_click=here.forget)


def _take_file(key: str) -> None:
    here = current()
    if given := uploads.taken(key):
        here.take(*given)


def _given(problem: Problem) -> str:
    """Return what was understood."""
    count = len(problem.query)
    numbers = f"{count} noisy number{'s' if count > 1 else ''}"
    if problem.marks:
        numbers += f", {len(problem.marks)} of them suppressed"
    source = (
        f"a pool of {problem.draws:,} draws"
        if isinstance(problem.source, Pool)
        else f"the simulator {problem.simulator}, at most {problem.draws:,} simulations"
    )
    return f"Read: {numbers}; {problem.noise.in_words()}; {source}."


def _spent(problem: Problem) -> str:
    """Return what the release itself spent, in Markdown."""
    stated = problem.spent
    if stated is not None and stated.unit:
        stated = dataclasses.replace(stated, unit=verbatim(stated.unit))
    return report.spent(dataclasses.replace(problem, spent=stated))


def _show(view: View, problem: Problem, found: Posterior) -> None:
    """Show the posterior: figure, sentence, label, table and file."""
    said, fit = found.summary, found.summary.fit
    # Names come from the file; in Markdown they are shown as text.
    shown = said.renamed(verbatim)
    if fit is not None and fit.is_misfit:
        st.warning(cast(Fit, shown.fit).statement)
    drawn = CaptionedFigure(report.figure(problem, said).figure, report.finding(problem, said))
    charts.show(view, "own-query", drawn, is_kept=False)
    if fit is not None and fit.is_misfit:
        # It stands above.
        shown = dataclasses.replace(shown, fit=None)
    st.markdown(WITHHELD if said.is_withheld else report.finding(problem, shown))
    release_state.say_limit()
    st.dataframe(report.table(said), hide_index=True, width="content")
    charts.show(view, "own-query-fit", report.fit_figure(problem, said), is_kept=False)
    labels.plain(f"{report.NO_COST} {_spent(problem)}")
    label, draws = "Draws as CSV", report.draws(found).to_csv(index=False)
    key = "own-query-draws"
    st.download_button(label, draws, "posterior.csv", "text/csv", key, on_click="ignore")
