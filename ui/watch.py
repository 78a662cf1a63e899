"""Show a job on a page: at once if it is quick, else its progress, redrawn until it ends."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

import plotly.graph_objects as go
import streamlit as st

from abcdp_core import experiments
from abcdp_core.parameters import Params
from abcdp_core.results import Result
from ui import jobs
from ui.jobs import Job, Request

PATIENCE = 1.0
"""Seconds that a page waits for a result before it shows progress instead."""

POLL = 0.5
"""Seconds between two looks at a job."""

DECLINED = "_declined"
SHOWN = "_shown"


def figures(found: Result) -> dict[str, go.Figure]:
    """The figures of a result, the main one first; drawn once, however often they are shown."""
    key = id(found)
    with _drawing:
        if key not in _drawn:
            # The result is kept beside its figures, so that its id stays its own.
            _drawn[key] = found, experiments.load(found.experiment).figures(found)
            while len(_drawn) > DRAWN:
                _drawn.popitem(last=False)
        _drawn.move_to_end(key)
        return _drawn[key][1]


DRAWN = 32
"""Results whose figures are kept in memory."""

_drawn: OrderedDict[int, tuple[Result, dict[str, go.Figure]]] = OrderedDict()
_drawing = threading.Lock()


def result(experiment: str, params: Params, seed: int) -> Result:
    """The complete result of a quick study; the page ends here with a progress bar until then."""
    job = _job_of(Request(experiment, params, seed))
    job.ended.wait(PATIENCE)
    if job.state != "done" or job.result is None:
        _wait_for(job)
        st.stop()
    return job.result


def _wait_for(job: Job) -> None:
    if job.state == "failed":
        st.error(job.error)
        return

    @st.fragment(run_every=POLL)
    def waiting() -> None:
        job.watch(jobs.who())
        if not job.active:
            st.rerun()
        st.progress(job.fraction or 0.0, _preparing(job))

    waiting()


def _preparing(job: Job) -> str:
    if job.state == "waiting":
        return "Waiting in line behind other work"
    if job.fraction is None:
        return "Computing"
    return f"Simulating the public pool: {job.fraction:.0%}. It is made once and then kept."


def growing(experiment: str, params: Params, seed: int, draw: Callable[[Result], None]) -> Job:
    """A study that grows while it is watched; returns the job, whose result is the latest.

    Args:
        experiment: which.
        params: its parameters.
        seed: root seed.
        draw: shows a result; called again whenever there may be a larger one.
    """
    job = _job_of(Request(experiment, params, seed), long=True)
    polling = job.active and not _declined(job.request)

    @st.fragment(run_every=POLL if polling else None)
    def panel() -> None:
        going = job.active and not _declined(job.request)
        if going:
            job.watch(jobs.who())
        elif polling:
            st.rerun()
        _status(job, going)
        _draw(job, draw)

    panel()
    return job


def _job_of(request: Request, *, long: bool = False) -> Job:
    """This session's job for a request; a former one of the same study is let go."""
    service, who = jobs.service(), jobs.who()
    former: dict[str, Request] = st.session_state.setdefault("_watched", {})
    before = former.get(request.experiment)
    if before is not None and before != request and (job := service.find(before)):
        job.leave(who)
    former[request.experiment] = request
    if _declined(request) and (job := service.find(request)):
        return job
    return service.submit(request, who, long=long)


def _declined(request: Request) -> bool:
    return request in st.session_state.get(DECLINED, set())


def _cancel(job: Job) -> None:
    st.session_state.setdefault(DECLINED, set()).add(job.request)
    job.leave(jobs.who())


def _resume(job: Job) -> None:
    st.session_state[DECLINED].discard(job.request)


def _status(job: Job, going: bool) -> None:
    """One line: how far it is, how long it takes, and the button that stops or continues it."""
    if job.state == "failed":
        st.error(job.error)
        return
    found = job.result
    if not going and (found is None or not found.is_partial):
        return
    share = found.done / found.total if found else 0.0
    with st.container(horizontal=True, vertical_alignment="center"):
        st.progress(share, _words(job, going))
        if going and st.button("Cancel", key="cancel"):
            _cancel(job)
            st.rerun()
        if not going and st.button("Continue", key="continue"):
            _resume(job)
            st.rerun()


def _words(job: Job, going: bool) -> str:
    found = job.result
    done = f"{found.done} of {found.total} parts done" if found else "starting"
    if not going:
        return f"Stopped: {done}. What is done is shown below."
    if job.state == "waiting":
        return "Waiting in line behind other work"
    left = job.seconds_left()
    return f"{done}, {_duration(left)} left" if left is not None else done


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"about {max(1, round(seconds))} s"
    return f"about {seconds / 60:.0f} min"


def _draw(job: Job, draw: Callable[[Result], None]) -> None:
    """The job's result; until there is one, the former of the same study, marked stale."""
    shown: dict[str, Result] = st.session_state.setdefault(SHOWN, {})
    if job.result is not None:
        shown[job.request.experiment] = job.result
        draw(job.result)
    elif (former := shown.get(job.request.experiment)) is not None:
        st.warning("Stale: this is for the former settings. The new ones are being computed.")
        draw(former)
    else:
        st.skeleton(height=440)
