"""Show a job on a page: at once if it is quick, else its progress, redrawn until it ends."""

from __future__ import annotations

import dataclasses
import functools
import math
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from abcdp_core.base.sentences import duration
from abcdp_core.run.results import Result
from ui.jobs import queue
from ui.jobs.job import UNASKED, Job, Preparation, Request
from ui.server import render_lock
from ui.verbatim import LONGEST_BLAME, verbatim

MOMENTS, WAIT_BEFORE_PROGRESS, POLL = 0.1, 0.5, 0.5
"""Seconds that a page waits for a result with its turn to draw, then without it, then between two
looks."""

STATUS = 36
"""Pixels of the line that says how far a study is; it is there or empty, and no picture moves."""

JOBS = "_jobs"

POOL = "Simulating the public pool: {:.0%}. This is done once."


def wait_a_moment(job: Job) -> None:
    """Wait for what is there in a moment, so that no progress is shown."""
    if not job.ended.wait(MOMENTS):
        with render_lock.released():
            job.ended.wait(WAIT_BEFORE_PROGRESS)


@dataclasses.dataclass
class PrivateJob:
    """Work of one session alone: the job under way; in Markdown, why the last came to nothing."""

    job: Job | None = None
    failed: str = ""

    def begin(self, what: Callable[[Job], object]) -> None:
        """Do a piece of work when its turn comes."""
        self.failed = ""
        self.job = queue.current().submit_private(session_id(), what)

    def take(self) -> Any:
        """Return once what came of it; ``None`` if there is nothing, or not yet."""
        job = self.job
        if job is None or job.active:
            return None
        self.job = None
        if job.state == "done":
            return job.outcome
        self.failed = verbatim(job.error) if job.error else "It was stopped."
        return None


@dataclasses.dataclass
class Watch:
    """What a session asks for, and a name for it.

    Attributes:
        asked: name on the page -> what is asked for.
        shown: name -> the latest result there was.
        declined, started: what a person has stopped, and what one has started.
    """

    session: str = dataclasses.field(default_factory=lambda: uuid.uuid4().hex)
    asked: dict[str, Request | Preparation] = dataclasses.field(default_factory=dict)
    shown: dict[str, Result] = dataclasses.field(default_factory=dict)
    declined: set[Request | Preparation | None] = dataclasses.field(default_factory=set)
    started: set[Request | Preparation | None] = dataclasses.field(default_factory=set)


def _watch() -> Watch:
    return st.session_state.setdefault(JOBS, Watch())


def session_id() -> str:
    """Return a name for this session."""
    return _watch().session


def for_whole_page(act: Callable[..., object]) -> Callable[..., None]:
    """Return what a press does that concerns more than the part of the page that it is in."""

    @functools.wraps(act)
    def then_all(*given: Any) -> None:
        act(*given)
        st.rerun()

    return then_all


def _until_done(group: Sequence[Job], draw: Callable[[bool], None]) -> None:
    """Draw again and again while any of some jobs goes on, then run the page again.

    Args:
        draw: is told whether any goes on.
    """
    polling = _any_going(group)

    @st.fragment(run_every=POLL if polling else None)
    def part() -> None:
        going = _any_going(group)
        for job in group if going else ():
            job.watch(session_id())
        if polling and not going:
            st.rerun()
        draw(going)

    part()


def result(request: Request) -> Result:
    """Return the result of a quick study, or the former one, dimmed, until it is there.

    Where there is no former one, the page ends with the progress.
    """
    found = result_or_former(request.experiment, request)
    if found is None:
        st.skeleton(height=440)
        st.stop()
    return found


def result_or_former(name: str, request: Request) -> Result | None:
    """Return the result of a quick study, or the former one, dimmed; else show the progress."""
    job = _job_of(request, name)
    wait_a_moment(job)
    shown = _watch().shown
    if job.state == "done" and job.result is not None:
        shown[name] = job.result
        return job.result
    if job.state == "failed":
        st.error(verbatim(job.error))
        return None
    former = shown.get(name)
    # Over a former picture the progress takes no room, and the page is dimmed (style.css).
    with st.container(key=f"over-{name}" if former else f"waiting-{name}"):
        wait_for(job)
    return former


def wait_for(
    job: Job,
    words: str = "Computing",
    simulating: str = POOL,
    cancel: str = "",
    before: Callable[[], object] = lambda: None,
) -> None:
    """Show how far a job is until it ends, and then run the page again.

    Args:
        words: what it does while nothing is simulated.
        simulating: what it does while something is, with a place for the part that is done.
        cancel: key of the button that cancels it; there is none if empty.
        before: called at each look.
    """

    def waiting(_: bool) -> None:
        before()
        done = job.fraction
        text = "Cancelling" if job.is_cancelled else waits(job)
        text = text or (words if done is None else simulating.format(done))
        with st.container(horizontal=True, vertical_alignment="center"):
            st.progress(min(done or 0.0, 1.0), text)
            if cancel:
                st.button("Cancel", key=cancel, on_click=job.cancel)

    _until_done([job], waiting)


def waits(job: Job) -> str:
    """Return a job's place in line; empty if it does not wait."""
    ahead = queue.current().ahead(job)
    if ahead is None:
        return ""
    return "Next in line" if ahead == 0 else f"Waiting in line, {ahead} ahead of you"


def is_prepared(asked: Preparation, words: str = POOL) -> bool:
    """Make something public, which may take minutes; show how far it is or why it cannot be made.

    Args:
        words: what is done, with a place for the part that is done.
    """
    job = _job_of(asked, "preparation")
    wait_a_moment(job)
    if job.state == "failed":
        st.error(verbatim(job.error, LONGEST_BLAME))
    elif job.state != "done":
        wait_for(job, words.format(0.0), words)
    return job.state == "done"


Draw = Callable[[Mapping[str, Result], bool], None]
DrawOne = Callable[[Result], None]


def growing(request: Request, draw: DrawOne, name: str = "") -> Job:
    """Show a study that grows while it is watched; return its job, with the latest result."""
    name = name or request.experiment
    return growing_together({name: request}, lambda found, _: draw(found[name]))[name]


def growing_together(
    requests: Mapping[str, Request],
    draw: Draw,
    *,
    main: str = "",
) -> dict[str, Job]:
    """Show studies that grow side by side, with one line of progress and one Cancel.

    Args:
        requests: name -> what is asked for; a name's former request is let go.
        draw: shows the results there are, by name, and is told whether more are to come.
        main: name of the study without which nothing is drawn.
    """
    jobs = {
        name: _job_of(request, name, long=True, unasked=UNASKED)
        for name, request in requests.items()
    }
    group = list(jobs.values())
    # What takes a moment is drawn with the page.
    group[0].ended.wait(MOMENTS)

    def panel(going: bool) -> None:
        shown = _watch().shown
        found = {name: job.result for name, job in jobs.items() if job.result is not None}
        shown.update(found)
        before = {name: shown[name] for name in jobs if name in shown}
        has_new = bool(found) and (not main or main in found)
        has_former = bool(before) and (not main or main in before)
        name, is_former = next(iter(jobs)), has_former and not has_new
        _status(name, group, going, is_former=is_former)
        with st.container(key=f"{'former' if is_former else 'shown'}-{name}"):
            if has_new:
                draw(found, going)
            elif is_former:
                draw(before, False)
            else:
                st.skeleton(height=440)

    _until_done(group, panel)
    return jobs


def _any_going(group: Sequence[Job]) -> bool:
    declined = _watch().declined
    return any(job.active and job.request not in declined for job in group)


def _job_of(
    request: Request | Preparation, name: str, *, long: bool = False, unasked: float = math.inf
) -> Job:
    """Return this session's job for a request; let the former one of the same name go."""
    jobs, here = queue.current(), _watch()
    former, here.asked[name] = here.asked.get(name), request
    if former is not None and former not in here.asked.values() and (job := jobs.find(former)):
        job.leave(here.session)
    if request in here.declined and (job := jobs.find(request)):
        return job
    if request in here.started:
        unasked = math.inf
    return jobs.submit(request, here.session, long=long, unasked=unasked)


def _status(name: str, group: Sequence[Job], going: bool, *, is_former: bool) -> None:
    """Show how far the jobs are, with the button that stops or resumes; keep the place of both."""
    with st.container(
        key=f"status-{name}",
        height=STATUS,
        border=False,
        horizontal=True,
        vertical_alignment="center",
        wrap=False,
    ):
        _status_line(name, group, going, is_former)


def _status_line(name: str, group: Sequence[Job], going: bool, is_former: bool) -> None:
    if errors := [job.error for job in group if job.state == "failed"]:
        st.error(verbatim(errors[0]))
        return
    found = [job.result for job in group]
    if not going and not any(result is None or result.is_partial for result in found):
        return

    here, asked = _watch(), [job.request for job in group]

    def cancel() -> None:
        here.declined.update(asked)
        for job in group:
            job.leave(here.session)

    def go_on() -> None:
        here.declined.difference_update(asked)
        # A person has started these: they go on to the end, however long that takes.
        here.started.update(asked)

    shares = [result.done / result.total if result else 0.0 for result in found]
    words = _words(group, going)
    if is_former:
        words = f"{words}. Until then, your previous settings are shown."
    st.progress(sum(shares) / len(shares), words)
    if going:
        st.button("Cancel", key=f"cancel-{name}", on_click=cancel)
        return
    asks = any(job.state == "asks" for job in group)
    label, kind = (
        ("Finish" if any(found) else "Start", "start") if asks else ("Continue", "continue")
    )
    how: Any = {"type": "primary"} if asks else {}
    st.button(label, f"{kind}-{name}", on_click=for_whole_page(go_on), **how)


def _words(group: Sequence[Job], going: bool) -> str:
    found = [job.result for job in group if job.result]
    parts = sum(result.done for result in found), sum(result.total for result in found)
    done = f"{parts[0]} of {parts[1]} parts done" if found else "starting"
    if not going and (asking := [job.rest for job in group if job.state == "asks"]):
        return f"{done}; about {duration(sum(asking))} left at this speed"
    if not going:
        return f"Stopped: {done}" if found else "Stopped"
    if all(job.state == "waiting" for job in group):
        return f"{waits(group[0])}; {done}" if found else waits(group[0])
    made = [job.fraction for job in group if job.fraction is not None]
    if made and not found:
        return POOL.format(min(made))
    left = [seconds for job in group if (seconds := job.seconds_left()) is not None]
    return f"{done}, about {duration(max(1.0, *left))} left" if left else done
