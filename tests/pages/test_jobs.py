"""Jobs: shared by equal requests, stopped when nobody looks, and ended by a sentence."""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Block

from abcdp_core import studies
from abcdp_core.base.parameters import ParameterError, Params
from abcdp_core.models import pool
from abcdp_core.models.pool import making
from abcdp_core.run import workers
from abcdp_core.run.results import Result
from abcdp_core.run.workers import LostWorkersError
from tests.pages.app import settled
from ui.jobs import job as one_job
from ui.jobs import queue, work
from ui.jobs.job import Job, Preparation, RefusedError, Request
from ui.jobs.queue import Queue

SOON = 60.0
"""Seconds within which anything here happens; nothing takes that long."""

Log, Patch = pytest.LogCaptureFixture, pytest.MonkeyPatch

seeds = itertools.count(1000)


@pytest.fixture(scope="module")
def jobs() -> Queue:
    """One queue for all tests, as its threads stay."""
    return Queue()


def request_of(experiment: str, **values: object) -> Request:
    """Return a request like no other."""
    params = studies.load(experiment).Params(**values)  # type: ignore[arg-type]
    return Request(experiment, params, next(seeds))


def state_of(job: Job) -> str:
    """Return how a job ended."""
    assert job.ended.wait(SOON)
    return job.state


def part(done: int, kept: int = 0) -> Result:
    return Result("toy", Params(), {}, "", "", done=done, total=100, kept=kept)


def grows(patch: Patch, *results: Result, then: Callable[[Job], None] = lambda _: None) -> None:
    """Have every study come to these results."""

    def grow(job: Job) -> None:
        for result in results:
            job.grow(result)
            then(job)

    patch.setattr(work, "of", lambda *_, **__: grow)


class Steps:
    """Work that begins, waits until it is told to go on, and then looks whether it is wanted."""

    def __init__(self) -> None:
        self.begun, self.go, self.times = threading.Event(), threading.Event(), 0

    def __call__(self, progress: Callable[[float], None]) -> None:
        self.begun.set()
        assert self.go.wait(SOON)
        progress(0.5)
        self.times += 1

    def in_files(self, jobs: Queue, who: str) -> Job:
        return jobs.submit_private(who, lambda job: self(job.progress), "files")


def test_a_study_stops_when_the_last_watcher_leaves_and_keeps_its_parts_for_the_next(
    jobs: Queue, empty_cache: Path, every_result: None
) -> None:
    request = request_of("mse-curves", n=10, pool_size=50, c=1, runs=500)
    job = jobs.submit(request, "a", long=True)
    assert jobs.submit(request, "b", long=True) is job
    job.leave("a")
    assert job.wanted
    while job.result is None:
        assert not job.ended.wait(0.01)
    job.leave("b")
    assert state_of(job) == "stopped"
    assert job.result.is_partial
    again = jobs.submit(request, "a", long=True)
    assert again is not job
    while again.result is None or again.result is job.result:
        assert not again.ended.wait(0.01)
    assert again.result.kept
    again.cancel()
    assert state_of(again) == "stopped"


@pytest.mark.parametrize(
    ("done", "kept", "seconds", "rest"),
    [
        # Parts done, of these stored, seconds since the first one, estimate of the rest.
        (10, 0, 3.0, 30.0),
        # Too near to tell so early.
        (10, 0, 2.0, None),
        (60, 50, 6.0, 26.666667),
        # Few parts in all the time there is; nearly done.
        (2, 0, 11.0, 539.0),
        (97, 0, 60.0, None),
    ],
)
def test_a_study_that_takes_long_asks_and_goes_on_when_it_is_started(
    done: int, kept: int, seconds: float, rest: float | None, jobs: Queue, monkeypatch: Patch
) -> None:
    now = [1000.0]
    results = part(kept + 1, kept=kept), part(done, kept=kept)
    grows(monkeypatch, *results, then=lambda _: now.append(1000.0 + seconds))
    monkeypatch.setattr(workers, "processor_count", lambda: 1)
    monkeypatch.setattr(one_job.time, "monotonic", lambda: now[-1])
    request = request_of("mse-curves")
    job = jobs.submit(request, "a", unasked=10.0)
    assert state_of(job) == ("asks" if rest else "done")
    assert job.rest == pytest.approx(rest or 0.0)
    # To look again starts nothing; to start it does, unless it is done.
    assert jobs.submit(request, "a", unasked=10.0) is job
    started = jobs.submit(request, "a")
    assert (started is job) == (rest is None)
    assert state_of(started) == "done"


def test_what_lacks_its_pool_moves_to_the_heavy_lane_and_quick_jobs_go_on(
    jobs: Queue, empty_cache: Path, monkeypatch: Patch
) -> None:
    begun, go, build = threading.Event(), threading.Event(), making.build

    def slow_build(key: pool.PoolKey, progress: pool.Progress | None = None) -> pool.Pool:
        built = build(key, progress)
        begun.set()
        assert go.wait(SOON)
        return built

    monkeypatch.setattr(making, "build", slow_build)
    lacking = [jobs.submit(request_of("posterior", n=10, pool_size=70 + n), "a") for n in range(4)]
    assert begun.wait(SOON)
    assert state_of(jobs.submit(request_of("gaussian-loss"), "b")) == "done"
    assert not any(job.ended.is_set() for job in lacking)
    go.set()
    assert {state_of(job) for job in lacking} == {"done"}


def test_heavy_jobs_hold_up_no_quick_one_and_wait_for_each_other(jobs: Queue) -> None:
    heavy = [Steps() for _ in range(queue.THREADS["heavy"] + 2)]
    asked = [jobs.submit(Preparation(id(each), each), "a") for each in heavy]
    assert all(each.begun.wait(SOON) for each in heavy[:-2])
    assert [jobs.ahead(job) for job in asked[-3:]] == [None, 0, 1]
    assert state_of(jobs.submit_private("b", lambda _: None, "quick")) == "done"
    # One that nobody wants is no longer in line.
    asked[-2].leave("a")
    assert jobs.ahead(asked[-1]) == 0
    for each in heavy:
        each.go.set()
    assert [state_of(job) for job in asked[-3:]] == ["done", "stopped", "done"]


@pytest.mark.parametrize("way", ["cancel", "leave", "unwatched", "wanted"])
def test_files_are_made_one_at_a_time_and_what_nobody_wants_stops_at_its_next_part(
    way: str, jobs: Queue, monkeypatch: Patch
) -> None:
    steps, following = Steps(), Steps()
    job, later = steps.in_files(jobs, "a"), following.in_files(jobs, "b")
    assert steps.begun.wait(SOON)
    assert not following.begun.is_set()
    # Browsers let hidden tabs look once a minute.
    assert one_job.UNWATCHED > 60.0
    if way == "unwatched":
        monkeypatch.setattr(one_job, "UNWATCHED", 0.0)
    elif way != "wanted":
        {"cancel": job.cancel, "leave": lambda: job.leave("a")}[way]()
    steps.go.set()
    assert state_of(job) == ("done" if way == "wanted" else "stopped")
    assert steps.times == (way == "wanted")
    following.go.set()
    assert state_of(later) == ("stopped" if way == "unwatched" else "done")


def test_a_preparation_is_made_once_for_all_who_wait_and_again_for_the_next(jobs: Queue) -> None:
    steps = Steps()
    job = jobs.submit(Preparation("pilot", steps), "a")
    assert {jobs.submit(Preparation("pilot", steps), who) for who in "bc"} == {job}
    job.leave("a")
    steps.go.set()
    assert (state_of(job), steps.times) == ("done", 1)
    # Nothing of it is kept here: who asks again lacks it.
    assert state_of(jobs.submit(Preparation("pilot", steps), "a")) == "done"
    assert steps.times == 2


def test_private_work_is_found_by_nobody_and_let_go(jobs: Queue) -> None:
    job = jobs.submit_private("a", lambda job: setattr(job, "outcome", "secret"), "files")
    assert (state_of(job), job.outcome, job.request) == ("done", "secret", None)
    held, following = weakref.ref(job), Steps()
    del job
    following.in_files(jobs, "a")
    assert following.begun.wait(SOON)
    assert held() is None
    following.go.set()


@pytest.mark.parametrize(
    ("error", "in_public", "in_private"),
    [
        (ArithmeticError("1 2 3"), False, False),
        (ParameterError("n is 3."), True, False),
        (LostWorkersError("No worker is left."), True, False),
        (RefusedError("No browser."), True, True),
    ],
)
def test_errors_become_sentences_and_those_of_private_work_say_no_text(
    error: Exception, in_public: bool, in_private: bool, jobs: Queue, caplog: Log
) -> None:
    def fail(_: object) -> None:
        raise error

    usual = f"This could not be computed ({type(error).__name__})."
    job = jobs.submit_private("a", fail)
    assert (state_of(job), job.error) == ("failed", str(error) if in_private else usual)
    assert str(error) not in caplog.text
    job = jobs.submit(Preparation(str(error), fail), "a")
    assert (state_of(job), job.error) == ("failed", str(error) if in_public else usual)
    # What has no sentence of its own is in the log, with its traceback.
    assert any(record.exc_info for record in caplog.records) != in_public


def test_a_job_gets_no_more_work_than_the_server_gives(jobs: Queue, monkeypatch: Patch) -> None:
    monkeypatch.setattr(jobs, "limit", -1.0)
    job = jobs.submit(Preparation("long", lambda progress: progress(0.5)), "a")
    assert state_of(job) == "failed"
    assert job.error.startswith("This server works at most -1 s on one request. Your own computer")
    # Only of a study, what is done is kept.
    grows(monkeypatch, part(1), then=Job.check)
    job = jobs.submit(request_of("mse-curves"), "a", long=True)
    assert state_of(job) == "failed"
    assert "What is done is kept" in job.error


def page(grows: bool) -> None:
    import streamlit as st

    from abcdp_core import studies
    from ui.jobs import progress
    from ui.jobs.job import Request

    params = studies.load("mse-curves").Params(runs=st.session_state["runs"])
    request = Request("mse-curves", params, 77 + grows)
    if grows:
        job = progress.growing(request, lambda found: st.text(f"{found.done} of 100"))
        st.session_state["job"] = job
    else:
        st.text(f"{progress.result(request).done} of 100")


def shown(grows: bool) -> AppTest:
    app = AppTest.from_function(page, args=(grows,), default_timeout=60)
    app.session_state["runs"] = 1
    return app.run()


def test_a_study_is_cancelled_and_continued_on_its_page(monkeypatch: Patch) -> None:
    def until_cancelled(job: Job) -> None:
        while True:
            job.check()
            threading.Event().wait(0.01)

    grows(monkeypatch, part(1), then=until_cancelled)
    app = shown(grows=True)
    for pressed, state, then, text in (
        ("Cancel", "stopped", ["Continue"], "1 of 100"),
        ("Continue", "done", [], "100 of 100"),
    ):
        (button,) = app.button
        assert button.label == pressed
        button.click().run()
        assert state_of(app.session_state["job"]) == state
        app.run()
        assert [each.label for each in app.button] == then
        assert [each.value for each in app.text] == [text]
        grows(monkeypatch, part(100))


def test_a_former_result_is_shown_as_such_until_that_of_the_settings_is_there(
    monkeypatch: Patch,
) -> None:
    def seen(app: AppTest) -> tuple[str, list[str]]:
        """What is shown, and the box of its progress: one "over" a former result dims it."""
        boxes = [each for each in app.main.children.values() if isinstance(each, Block)]
        return app.text[0].value, [box.proto.id.split("-", 2)[-1] for box in boxes]

    goes_on = threading.Event()
    grows(monkeypatch, part(10))
    app = shown(grows=False)
    assert seen(app) == ("10 of 100", [])
    app.session_state["runs"] = 2
    grows(monkeypatch, part(20), then=lambda _: goes_on.wait(SOON))
    assert seen(app.run()) == ("10 of 100", ["over-mse-curves"])
    goes_on.set()
    assert seen(settled(app)) == ("20 of 100", [])
