"""Show a job on a page: at once if it is quick, else its progress, redrawn until it ends."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from abcdp_core import registry
from abcdp_core.parameters import Params
from abcdp_core.results import Result
from ui import jobs, steps, turns
from ui.job import UNASKED, Job, Preparation, Request
from ui.verbatim import LONGEST_BLAME, verbatim

WAIT_BEFORE_PROGRESS = 0.5
"""Seconds that a page waits for a result before it shows progress instead."""

MOMENTS = 0.1
"""Seconds that it waits for a result without letting others draw."""

POLL = 0.5
"""Seconds between two looks at a job."""

DECLINED = "_declined"
STARTED = "_started"
WATCHED = "_watched"
SHOWN = "_shown"
PREPARING = "_preparing"


def result(experiment: str, params: Params, seed: int) -> Result:
    """The complete result of a quick study; the page ends here with a progress bar until then."""
    job = _job_of(Request(experiment, params, seed), experiment)
    if not job.ended.wait(MOMENTS):
        # Others may draw meanwhile.
        with turns.away():
            job.ended.wait(WAIT_BEFORE_PROGRESS)
    if job.state != "done" or job.result is None:
        _wait_for(job)
        st.stop()
    return job.result


def beside(name: str, request: Request) -> Result | None:
    """The complete result of a further quick study; until then its progress, and the page goes on.

    Args:
        name: tells it from the others of the page; what was asked for by it before is let go.
        request: what is asked for.
    """
    job = _job_of(request, name)
    if not job.ended.wait(MOMENTS):
        with turns.away():
            job.ended.wait(WAIT_BEFORE_PROGRESS)
    if job.state != "done":
        _wait_for(job)
        return None
    return job.result


def scales(place: DeltaGenerator, leave: Callable[[], None], scenario: str) -> None:
    """Wait for the simulations that the knobs of a model of one's own are placed by.

    They are made once for all who wait. Whoever chooses something else meanwhile ends the wait.
    Where nothing comes of it the page ends: its knobs would have the simulations made while all
    others wait.

    Args:
        place: where it is said how far they are.
        leave: called when a person does not want to wait; has another scenario chosen.
        scenario: on screen, or of a pinned figure.
    """
    model = getattr(registry.module_that_added("SCENARIO", scenario), "MODEL", None)
    if model is None:
        return
    # Inside the function: where no model was added nobody has to wait for what models need.
    from abcdp_core.own_model import contract

    if contract.has_pilot(model):
        return

    def cancel() -> None:
        let_go()
        leave()

    key = f"scales-{scenario}"
    asked = Preparation((key, model), functools.partial(contract.pilot, model))
    wait = functools.partial(_wait_for_scales, contract.PILOT, f"cancel-{key}", cancel)
    job = _prepared(asked, place, wait)
    if job.state != "done":
        with place.container():
            _say_why(job)
            st.button("Go on without this model", key=f"leave-{key}", on_click=leave)
        st.stop()
    place.empty()


def own_pool(asked: Preparation) -> bool:
    """Wait for the public pool of a model, which may take minutes; says why if it cannot be had.

    Whoever moves a knob meanwhile ends the wait.
    """
    place = st.empty()
    job = _prepared(asked, place, _wait_for_pool)
    if job.state == "done":
        place.empty()
        return True
    with place.container():
        _say_why(job)
    return False


def _prepared(asked: Preparation, place: DeltaGenerator, wait: Callable[[Job], None]) -> Job:
    """The job of a preparation, waited for while others may draw.

    Who moves a knob that it does not depend on ends the wait, but not the job.
    """
    let_go(but=asked)
    st.session_state[PREPARING] = asked
    job = _tried(asked, place, wait)
    if job.state == "stopped":
        # It was left by all others just before it was asked for here.
        job = _tried(asked, place, wait)
    let_go()
    return job


def _tried(asked: Preparation, place: DeltaGenerator, wait: Callable[[Job], None]) -> Job:
    job = jobs.service().submit(asked, jobs.session_id(), steps.preparation)
    if not job.ended.wait(MOMENTS):
        with place.container(), turns.away(), turns.interruptible():
            wait(job)
    return job


def let_go(but: Preparation | None = None) -> None:
    """Want no more what this session has waited for, unless it is a certain one."""
    former = st.session_state.pop(PREPARING, None)
    if former is not None and former != but and (job := jobs.service().find(former)):
        job.leave(jobs.session_id())


def _say_why(job: Job) -> None:
    """Why nothing came of a preparation."""
    busy = "Many are here at once. Ask again in a moment."
    st.error(verbatim(job.error, LONGEST_BLAME) if job.error else busy)


def _wait_for_pool(job: Job) -> None:
    line = st.empty()
    while not job.ended.wait(POLL):
        job.watch(jobs.session_id())
        with line.container():
            progress(job)


def _wait_for_scales(count: int, key: str, leave: Callable[[], None], job: Job) -> None:
    """Say how far it is until it has ended or somebody moves; called while others may draw."""
    line = st.empty()
    st.button("Cancel", key=key, on_click=leave)
    while not job.ended.wait(POLL):
        job.watch(jobs.session_id())
        done = job.made() or 0.0
        words = (
            f"The model is simulated {count} times to place its thresholds: {done:.0%}. It is done "
            "once and then kept; the command `check` does it beforehand."
        )
        line.progress(done, waits(job) or words)


def _wait_for(job: Job) -> None:
    if job.state == "failed":
        st.error(verbatim(job.error))
        return

    @st.fragment(run_every=POLL)
    def waiting() -> None:
        job.watch(jobs.session_id())
        if not job.active and not _is_refused_again(job):
            st.rerun()
        progress(job)

    waiting()


def _is_refused_again(job: Job) -> bool:
    """Whether there was no room in line, neither then nor now."""
    if job.state != "refused" or not isinstance(job.request, Request):
        return False
    return _submit(job.request, long=job.long, unasked=job.unasked).state == "refused"


def progress(job: Job) -> None:
    """How far a job is that has no result yet."""
    fraction = job.made()
    if fraction is None:
        st.progress(0.0, waits(job) or "Computing")
    else:
        words = f"Simulating the public pool: {fraction:.0%}. It is made once and then kept."
        st.progress(fraction, words)


def waits(job: Job) -> str:
    """Place in line and how long that takes; empty for a job that does not wait."""
    if job.state == "refused":
        return "Many are here at once, and the line is full. This page asks again by itself."
    place = job.wait()
    if place is None:
        return ""
    ahead, seconds = place
    others = "Next in line" if ahead == 0 else f"Waiting in line: {ahead} before you"
    return others if seconds is None or ahead == 0 else f"{others}, {_duration(seconds)}"


DrawOne = Callable[[Result], None]


def growing(experiment: str, params: Params, seed: int, draw: DrawOne) -> Job:
    """A study that grows while it is watched; returns the job, whose result is the latest.

    Where its first parts tell that it takes longer than :data:`ui.job.UNASKED`, they are shown,
    with how long the rest takes and a button that starts it.

    Args:
        experiment: which.
        params: its parameters.
        seed: root seed.
        draw: shows a result; called again whenever there may be a larger one.
    """
    return growing_under(experiment, experiment, params, seed, draw)


def growing_under(name: str, experiment: str, params: Params, seed: int, draw: DrawOne) -> Job:
    """What :func:`growing` does, under a name of its own: a study may be on a page twice."""
    requests = {name: Request(experiment, params, seed)}
    return growing_together(requests, lambda found, _: draw(found[name]))[name]


Draw = Callable[[Mapping[str, Result], bool], None]
Wait = Callable[[], None]


def _ghost() -> None:
    """Stands for a figure that is being computed."""
    st.skeleton(height=440)


def growing_together(
    requests: Mapping[str, Request],
    draw: Draw,
    *,
    former: bool = True,
    waiting: Wait = _ghost,
    main: str = "",
) -> dict[str, Job]:
    """Several studies that grow side by side, with one line of progress and one Cancel.

    Args:
        requests: name -> what is asked for; a name's former request is let go.
        draw: shows the results there are, by name, and is told whether more is to come; called
            again whenever there may be larger ones.
        former: whether the former results of the same names are drawn until there are others.
        waiting: draws what stands there as long as there is no result.
        main: name of the one without which nothing is drawn.
    """
    together = {
        name: _job_of(request, name, long=True, unasked=UNASKED)
        for name, request in requests.items()
    }
    name, group = next(iter(together)), list(together.values())
    polling = _any_going(group)

    @st.fragment(run_every=POLL if polling else None)
    def panel() -> None:
        going = _any_going(group)
        if going:
            for job in group:
                job.watch(jobs.session_id())
        elif polling:
            st.rerun()
        _status(name, group, going)
        if not _draw(together, going, draw, former=former, main=main):
            waiting()

    panel()
    return together


def _any_going(group: Sequence[Job]) -> bool:
    return any(job.active and not _declined(job.request) for job in group)


def _job_of(request: Request, name: str, *, long: bool = False, unasked: float = math.inf) -> Job:
    """This session's job for a request; the former one of the same name is let go."""
    service = jobs.service()
    former: dict[str, Request] = st.session_state.setdefault(WATCHED, {})
    before = former.get(name)
    former[name] = request
    if before is not None and before not in former.values() and (job := service.find(before)):
        job.leave(jobs.session_id())
    if _declined(request) and (job := service.find(request)):
        return job
    return _submit(request, long=long, unasked=unasked)


def _submit(request: Request, *, long: bool, unasked: float = math.inf) -> Job:
    if request in st.session_state.get(STARTED, set()):
        unasked = math.inf
    return jobs.service().submit(
        request, jobs.session_id(), steps.study, long=long, unasked=unasked
    )


def _declined(request: Request | Preparation | None) -> bool:
    return request in st.session_state.get(DECLINED, set())


def _cancel(group: Sequence[Job]) -> None:
    for job in group:
        st.session_state.setdefault(DECLINED, set()).add(job.request)
        job.leave(jobs.session_id())


def _resume(group: Sequence[Job]) -> None:
    """Go on to the end, however long that takes."""
    for job in group:
        st.session_state.setdefault(DECLINED, set()).discard(job.request)
    start(job.request for job in group)


def start(requests: Iterable[Request | Preparation | None]) -> None:
    """A person has asked for these: they go on to the end, however long that takes."""
    st.session_state.setdefault(STARTED, set()).update(requests)


def unfinished(name: str) -> Job | None:
    """What this session watches under a name, as long as its result is not complete."""
    request = st.session_state.get(WATCHED, {}).get(name)
    job = jobs.service().find(request) if request else None
    is_whole = job and job.result and not job.result.is_partial
    return None if is_whole else job


def _status(name: str, group: Sequence[Job], going: bool) -> None:
    """One line: how far it is, how long it takes, and the button that stops or continues it.

    Args:
        name: of the line: a page may have several, and of one study.
        group: the jobs.
        going: whether any of them is.
    """
    if errors := [job.error for job in group if job.state == "failed"]:
        st.error(verbatim(errors[0]))
        return
    found = [job.result for job in group]
    if not going and not any(result is None or result.is_partial for result in found):
        return
    shares = [result.done / result.total if result else 0.0 for result in found]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.progress(sum(shares) / len(shares), _words(group, going))
        if going:
            # By a callback: a script that is ended before it comes here would lose the click.
            st.button("Cancel", key=f"cancel-{name}", on_click=_cancel, args=(group,))
        asks = any(job.state == "asks" for job in group)
        if not going and asks and st.button("Start", key=f"start-{name}", type="primary"):
            _resume(group)
            st.rerun()
        if not going and not asks and st.button("Continue", key=f"continue-{name}"):
            _resume(group)
            st.rerun()


def _words(group: Sequence[Job], going: bool) -> str:
    found = [job.result for job in group if job.result]
    counts = sum(result.done for result in found), sum(result.total for result in found)
    done = f"{counts[0]} of {counts[1]} parts done" if found else "starting"
    if any(job.state == "refused" for job in group):
        return "Many are here at once, and the line is full. Ask again in a moment."
    if not going and (asking := [job for job in group if job.state == "asks"]):
        # One after the other: a session has one job at a time.
        rest = _duration(sum(job.rest for job in asking))
        return (
            f"The first {counts[0]:,} of {counts[1]:,} parts. At this speed the rest takes {rest}."
        )
    if not going:
        return f"Stopped: {done}. What can be shown of it stands below." if found else "Stopped."
    if all(job.state == "waiting" for job in group):
        return f"{waits(group[0])}; {done}" if found else waits(group[0])
    made = [share for job in group if (share := job.made()) is not None]
    if made and not found:
        return f"Simulating the public pool: {min(made):.0%}. It is made once and then kept."
    left = [seconds for job in group if (seconds := job.seconds_left()) is not None]
    return f"{done}, {_duration(max(left))} left" if left else done


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"about {max(1, round(seconds))} s"
    if seconds < 90 * 60:
        return f"about {seconds / 60:.0f} min"
    return f"about {seconds / 3600:.0f} h"


def _draw(
    together: Mapping[str, Job], going: bool, draw: Draw, *, former: bool = True, main: str = ""
) -> bool:
    """The jobs' results; until there are any, the former of the same names, marked stale.

    Returns whether anything was drawn.

    Args:
        together: the jobs, by name.
        going: whether any of them is.
        draw: shows results.
        former: whether former ones may be drawn.
        main: name of the one without which nothing is drawn; any will do if it is empty.
    """
    shown: dict[str, Result] = st.session_state.setdefault(SHOWN, {})
    found = {name: job.result for name, job in together.items() if job.result is not None}
    shown.update(found)
    before = {name: shown[name] for name in together if name in shown}
    if found and (main or next(iter(found))) in found:
        draw(found, going)
        return True
    if former and before and (main or next(iter(before))) in before:
        new = (
            "The new ones are being computed." if going else "Nothing is computed for the new ones."
        )
        st.warning(f"Stale: this is for the former settings. {new}")
        draw(before, False)
        return True
    return False
