"""Jobs: shared by equal requests, in turn, stopped when nobody looks, and ended by a sentence."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from abcdp_core import experiments, pool, workers
from abcdp_core.parameters import Params
from abcdp_core.results import Result
from ui import job as one_job
from ui import jobs, steps, watch
from ui.job import Job, Lane, LimitError, Request, Steps
from ui.jobs import Service

SOON = 20.0
"""Seconds within which anything here happens; nothing takes that long."""


def request_of(experiment: str, **values: object) -> Request:
    params = experiments.load(experiment).Params(**values)  # type: ignore[arg-type]
    return Request(experiment, params, seed=1)


@contextlib.contextmanager
def serving(
    work_limit: float | None = None, is_there: Callable[[str], bool] = lambda _: True
) -> Iterator[Service]:
    service = Service(work_limit, is_there)
    try:
        yield service
    finally:
        service.close()


# ------------------------------------------------------------------------------- studies, for real


def test_equal_requests_share_a_job():
    with serving() as service:
        request = request_of("posterior", n=10, pool_size=50)
        first = service.submit(request, "a", steps.study)
        again = request_of("posterior", n=10, pool_size=50)
        assert service.submit(again, "b", steps.study) is first
        assert first.ended.wait(60)
        assert first.state == "done"
        assert first.result is not None


def test_results_are_kept_up_to_a_number_and_a_size_and_the_last_one_always(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(jobs, "KEPT", 4)
    monkeypatch.setattr(jobs, "KEPT_BYTES", 50_000)

    def kept_after(service: Service, seed: int, rows: int) -> list[int]:
        def work(job: Job) -> Steps:
            table = pd.DataFrame({"x": np.zeros(rows)})
            job.grow(Result("toy", Params(), {"main": table}, "", ""))
            yield from ()

        job = service.submit(Request("toy", Params(), seed), "a", work)
        assert job.ended.wait(SOON)
        # Asked for again, it makes room for itself.
        assert service.submit(Request("toy", Params(), seed), "a", work) is job
        return [request.seed for request in service._jobs]

    with serving() as service:
        for seed in range(6):
            kept = kept_after(service, seed, rows=1)
        assert kept == [2, 3, 4, 5]
        assert kept_after(service, 6, rows=6000) == [3, 4, 5, 6]
        assert kept_after(service, 7, rows=6000) == [7]
        assert kept_after(service, 8, rows=60_000) == [8]
        assert kept_after(service, 9, rows=1) == [9]


def test_job_stops_when_the_last_watcher_leaves_and_keeps_what_is_done():
    with serving() as service:
        request = request_of("mse-curves", n=10, pool_size=50, c=1, runs=500)
        job = service.submit(request, "a", steps.study, long=True)
        service.submit(request, "b", steps.study)
        job.leave("a")
        assert job.wanted
        while job.result is None:
            assert not job.ended.wait(0.01)
        job.leave("b")
        assert job.ended.wait(60)
        assert job.state == "stopped"
        assert 0 < job.result.done < job.result.total
        again = service.submit(request, "a", steps.study)
        assert again is not job
        assert again.result is job.result
        again.leave("a")


def test_a_long_study_shows_its_first_parts_and_asks(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(one_job, "PROBE", 0.0)
    monkeypatch.setattr(one_job, "BRIEF", 0.0)
    request = request_of("mse-curves", n=10, pool_size=50, c=1, runs=500)
    with serving() as service:
        job = service.submit(request, "a", steps.study, long=True, unasked=0.0)
        assert job.ended.wait(60)
        assert job.state == "asks"
        assert job.result is not None
        assert 0 < job.result.done < job.result.total
        assert job.rest > 0.0
        words = watch._words([job], going=False)
        assert words.startswith(
            f"The first {job.result.done} of 500 parts. At this speed the rest takes about "
        )
        # To look again starts nothing; to ask for it does, and what is done is not done again.
        assert service.submit(request, "a", steps.study, long=True, unasked=0.0) is job
        started = service.submit(request, "a", steps.study, long=True)
        assert started is not job
        assert started.result is job.result
        while started.result is job.result:
            assert not started.ended.wait(0.01)
        assert started.state != "asks"
        assert started.result.kept
        started.leave("a")
        assert started.ended.wait(60)


def test_a_study_that_is_kept_asks_nothing(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = request_of("mse-curves", n=10, pool_size=50, c=1, runs=3)
    for unasked in (math.inf, 0.0):
        with serving() as service:
            job = service.submit(request, "a", steps.study, long=True, unasked=unasked)
            assert job.ended.wait(60)
            assert job.state == "done"
            for name in ("PROBE", "BRIEF"):
                monkeypatch.setattr(one_job, name, 0.0)


@pytest.mark.parametrize(
    ("done", "kept", "seconds", "rest"),
    [
        # Three seconds for nine parts, the first not counted.
        (10, 0, 3.0, 30.0),
        (10, 0, 1.0, None),
        # Too near to tell so early.
        (10, 0, 2.0, None),
        (10, 0, 5.0, 50.0),
        # What was stored tells nothing.
        (60, 50, 6.0, 26.666667),
        (60, 58, 2.0, None),
        # Few parts in all the time there is.
        (2, 0, 11.0, 539.0),
        (95, 0, 9.0, None),
        # Long already, and nearly done.
        (97, 0, 60.0, None),
    ],
)
def test_the_first_computed_parts_tell_how_long_the_rest_takes(
    monkeypatch: pytest.MonkeyPatch, done: int, kept: int, seconds: float, rest: float | None
) -> None:
    monkeypatch.setattr(workers, "processor_count", lambda: 1)
    now = [1000.0]
    with serving() as service:
        monkeypatch.setattr(one_job.time, "monotonic", lambda: now[0])
        job = Job(service, fake(1), None, unasked=10.0)
        for parts in (kept + 1, done):
            job.grow(Result("fake", Params(), {}, "", "", done=parts, total=100, kept=kept))
            now[0] += seconds if parts < done else 0.0
        with pytest.raises(one_job.UnaskedError) if rest else contextlib.nullcontext():
            job.check_asked(seconds)
        assert job.rest == pytest.approx(rest or 0.0)


def test_what_a_study_waited_in_line_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fourth stream of a page waited for the first three, and asked for two minutes."""
    now = [1000.0]

    def work(job: Job) -> Steps:
        for done in (1, 20, 100):
            job.grow(Result("fake", Params(), {}, "", "", done=done, total=100))
            job.check_asked(job.worked)
            now[0] += 2.0
            yield "long"

    with serving() as service:
        monkeypatch.setattr(one_job.time, "monotonic", lambda: now[0])
        job = Job(service, fake(1), None, unasked=10.0)
        job.begin(work(job))
        for _ in range(2):
            assert job.step() == "long"
            now[0] += 500.0
        # The last 19 parts took the two seconds that it went on.
        assert job.seconds_left() == pytest.approx(80 * 2.0 / 19)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.2, "about 1 s"), (89, "about 89 s"), (91, "about 2 min"), (5500, "about 2 h")],
)
def test_durations_are_round(seconds: float, words: str) -> None:
    assert watch._duration(seconds) == words


def test_bad_combination_is_an_error_in_a_sentence(monkeypatch):
    def fail(*_args: object) -> list[object]:
        raise ZeroDivisionError

    study = experiments.load("posterior")
    with serving() as service:
        monkeypatch.setattr(study, "work", fail)
        job = service.submit(request_of("posterior", n=10, pool_size=60), "a", steps.study)
        assert job.ended.wait(60)
        assert job.state == "failed"
        assert "ZeroDivisionError" in job.error


def test_what_lacks_its_pool_changes_lanes_and_pools_are_made_nowhere_else(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = request_of("posterior", n=10, pool_size=70)
    seen: list[Lane] = []
    build = pool.build

    def seen_build(key: pool.PoolKey, progress: pool.Progress | None = None) -> pool.Pool:
        seen.append(job.lane)
        return build(key, progress)

    monkeypatch.setattr(pool, "build", seen_build)
    with serving() as service:
        job = Job(service, request, None)
        job.watch("a")
        walk = steps.study(job)
        assert next(walk) == "slow"
        assert job.pool is not None
        job.lane = "slow"
        assert next(walk) == "quick"
        assert job.pool is None
        job.lane = "quick"
        assert list(walk) == []
    assert seen == ["slow"]
    assert job.result is not None


# ------------------------------------------------------------------------------------ fake work


@dataclass
class Work:
    """Work that goes on until it is told to end, and says what it does."""

    lane: Lane = "quick"
    pool_of: object = None
    begun: threading.Event = field(default_factory=threading.Event)
    go: threading.Event = field(default_factory=threading.Event)
    log: list[str] = field(default_factory=list)

    def __call__(self, job: Job) -> Steps:
        if job.lane != self.lane:
            job.pool = self.pool_of  # type: ignore[assignment]
            yield self.lane
        self.begun.set()
        assert self.go.wait(SOON)
        job.progress(0.5)
        self.log.append("done")


def fake(number: int) -> Request:
    return Request("fake", Params(), number)


class Desk:
    """Asks for fake work, numbered in the order in which it was asked for."""

    def __init__(self, service: Service, lane: Lane = "quick") -> None:
        self.service, self.lane, self.jobs = service, lane, list[Job]()
        self.work: list[Work] = []

    def ask(self, who: str, pool_of: object = None) -> Job:
        self.work.append(Work(self.lane, pool_of))
        number = fake(len(self.jobs))
        self.jobs.append(self.service.submit(number, who, self.work[-1], long=self.lane == "long"))
        return self.jobs[-1]

    def finish(self) -> None:
        for work in self.work:
            work.go.set()


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    """One job at a time in the quick lane, two in the slow one."""
    monkeypatch.setattr(jobs, "AT_ONCE", {"quick": 1, "slow": 2, "long": 1})
    with serving() as service:
        desk = Desk(service)
        try:
            yield desk
        finally:
            desk.finish()


def test_sessions_take_turns_and_know_their_place(quick: Desk) -> None:
    first = quick.ask("a")
    assert quick.work[0].begun.wait(SOON)
    assert first.wait() is None
    others = [quick.ask(who) for who in "aaabc"]
    assert [job.wait()[0] for job in others] == [0, 3, 4, 1, 2]  # type: ignore[index]
    ended = []
    for job, work in [(first, quick.work[0]), *((quick.jobs[n], quick.work[n]) for n in (1, 4, 5))]:
        assert work.begun.wait(SOON)
        work.go.set()
        assert job.ended.wait(SOON)
        ended.append(job.state)
    assert ended == ["done"] * 4
    # A turn was seen by now, so there is an estimate.
    assert others[2].wait()[1] is not None  # type: ignore[index]


def test_a_job_that_another_asked_for_first_waits_for_each_in_their_own_row(quick: Desk) -> None:
    """Who asks first for what a link shows, behind much of their own, holds nobody else up."""
    quick.ask("a")
    assert quick.work[0].begun.wait(SOON)
    quick.ask("a")
    quick.ask("a")
    shared = quick.ask("a")
    assert shared.wait()[0] == 2  # type: ignore[index]
    again = quick.service.submit(fake(3), "b", quick.work[3])
    assert again is shared
    # After what stood there before, as if nobody had asked for it.
    assert shared.wait()[0] == 1  # type: ignore[index]
    shared.leave("b")
    assert shared.wait()[0] == 2  # type: ignore[index]
    quick.service.submit(fake(3), "b", quick.work[3])
    shared.leave("a")
    assert shared.wait()[0] == 1  # type: ignore[index]
    quick.work[0].go.set()
    assert quick.work[1].begun.wait(SOON)
    quick.work[1].go.set()
    assert quick.work[3].begun.wait(SOON)


@pytest.mark.parametrize("is_closed", [False, True], ids=["open", "closed"])
@pytest.mark.parametrize("addresses", ["aa", "ab"])
def test_where_another_address_was_seen_one_leaves_room(
    addresses: str, is_closed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job of a minute in each of both places had everybody else wait as long.

    Of a page that is closed nobody tells where it came from.
    """
    closed: set[str] = set()
    with serving() as service:
        monkeypatch.setattr(
            jobs.addresses, "of_session", lambda who: "" if who in closed else who[0]
        )
        desk = Desk(service, "slow")
        try:
            desk.ask(f"{addresses[1]}0")
            assert desk.work[0].begun.wait(SOON)
            desk.work[0].go.set()
            assert desk.jobs[0].ended.wait(SOON)
            for who in ("a1", "a2", "a3"):
                desk.ask(who)
                if is_closed:
                    closed.add(who)
            while sum(job.lane == "slow" for job in desk.jobs) < 4:
                time.sleep(0.001)
            allowed, others = 2 if addresses == "aa" else 1, desk.work[1:]
            end = time.monotonic() + SOON
            while sum(work.begun.is_set() for work in others) < allowed and time.monotonic() < end:
                time.sleep(0.001)
            # Nor do more begin.
            time.sleep(0.05)
            assert sum(work.begun.is_set() for work in others) == allowed
            if addresses == "ab":
                desk.ask("b1")
                assert desk.work[-1].begun.wait(SOON)
        finally:
            desk.finish()


def test_who_waits_for_a_pool_has_a_place_of_their_own_in_the_next_lane() -> None:
    with serving() as service:
        desk = Desk(service, "slow")
        try:
            for who in "aaaaa":
                desk.ask(who)
            while len(service.lines["slow"]) < 2:
                time.sleep(0.001)
            shared = desk.jobs[-1]
            service.submit(fake(4), "b", desk.work[4])
            assert desk.work[4].begun.wait(SOON)
            assert shared.state == "running"
        finally:
            desk.finish()


def test_who_has_a_hundred_pages_keeps_no_other_out_of_the_line(
    quick: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs.addresses, "of_session", lambda who: who[:4])
    quick.ask("many")
    assert quick.work[0].begun.wait(SOON)
    waiting = [quick.ask(f"many {number}") for number in range(jobs.ROOM)]
    assert quick.ask("many more").state == "refused"
    stranger = quick.ask("few")
    assert stranger.wait()[0] == 0  # type: ignore[index]
    # Asked for again by its page, as what found no room.
    assert [job.state for job in waiting] == ["waiting"] * (jobs.ROOM - 1) + ["refused"]


def test_older_moves_are_dropped_and_the_one_under_way_is_finished(quick: Desk) -> None:
    """What a page does on a move of a knob: let go the former request, ask for the next."""
    moves = []
    for _ in range(6):
        if moves:
            moves[-1].leave("a")
        moves.append(quick.ask("a"))
        assert quick.work[0].begun.wait(SOON)
    assert [job.state for job in moves] == ["running", *["stopped"] * 4, "waiting"]
    quick.finish()
    assert moves[-1].ended.wait(SOON)
    assert moves[-1].state == "done"
    assert not any(work.begun.is_set() for work in quick.work[1:5])


def test_work_under_way_stops_at_its_next_part_when_nobody_wants_it(quick: Desk) -> None:
    job = quick.ask("a")
    assert quick.work[0].begun.wait(SOON)
    job.leave("a")
    assert not job.ended.is_set()
    quick.finish()
    assert job.ended.wait(SOON)
    assert job.state == "stopped"
    assert not quick.work[0].log


def test_a_session_that_leaves_wants_nothing_and_others_go_on(quick: Desk) -> None:
    shared, own = quick.ask("a"), quick.ask("a")
    shared.watch("b")
    assert quick.service.works_for_others("a")
    assert quick.service.works_for_others("b")
    quick.service.leave("a")
    assert own.state == "stopped"
    assert quick.service.works_for_others("a")
    assert not quick.service.works_for_others("b")
    quick.finish()
    assert shared.ended.wait(SOON)
    assert shared.state == "done"
    assert not quick.service.works_for_others("a")


def test_a_job_that_has_ended_knows_nobody_who_looked_at_it(quick: Desk) -> None:
    """Thousands look at what a page shows at first."""
    job = quick.ask("a")
    quick.finish()
    assert job.ended.wait(SOON)
    for who in "bcd":
        assert quick.service.submit(fake(0), who, quick.work[0]) is job
    assert not job._watchers


def test_what_is_prepared_again_has_all_the_time_there_is() -> None:
    """No part of it is kept."""
    asked = one_job.Preparation("pool", lambda _: time.sleep(0.05))
    with serving() as service:
        for _ in range(2):
            job = service.submit(asked, "a", steps.preparation)
            assert job.spent == 0.0
            assert job.ended.wait(SOON)
            assert job.spent >= 0.05


def test_jobs_of_a_session_are_limited_to_the_latest(quick: Desk) -> None:
    quick.ask("b")
    assert quick.work[0].begun.wait(SOON)
    asked = [quick.ask("a") for _ in range(jobs.ROOM_OF_ONE + 2)]
    assert [job.state for job in asked] == ["stopped"] * 2 + ["waiting"] * jobs.ROOM_OF_ONE


def test_a_full_line_refuses_and_takes_the_same_request_later(
    quick: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick.service.lines["quick"]._room = 2
    quick.ask("a")
    assert quick.work[0].begun.wait(SOON)
    waiting = [quick.ask(who) for who in "bc"]
    refused = quick.ask("d")
    assert refused.state == "refused"
    assert refused.ended.is_set()
    waiting[0].leave("b")
    again = quick.service.submit(refused.request, "d", Work())  # type: ignore[arg-type]
    assert again.state == "waiting"


def test_a_lost_connection_ends_its_jobs_and_a_hidden_tab_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lost = {"lost"}
    with serving(is_there=lambda who: who not in lost) as service:
        now = [1000.0]
        monkeypatch.setattr(one_job.time, "monotonic", lambda: now[0])
        job, hidden = Job(service, fake(1), None), Job(service, fake(2), None)
        job.watch("lost")
        hidden.watch("hidden")
        now[0] += 19.0
        assert job.wanted
        now[0] += 3.0
        assert not job.wanted
        assert hidden.wanted
        # It wakes up.
        lost.clear()
        assert job.wanted
        now[0] += 60.0
        assert not hidden.wanted
    assert one_job.LOST < 30.0
    # Browsers let hidden tabs look once a minute.
    assert one_job.UNWATCHED > 60.0


@pytest.fixture
def slow(quick: Desk) -> Desk:
    quick.lane = "slow"
    return quick


def test_a_pool_is_made_once_for_all_who_lack_it(slow: Desk) -> None:
    """Its second and third do not take the threads that others need."""
    first = slow.ask("a", "pool 1")
    assert slow.work[0].begun.wait(SOON)
    same = [slow.ask(who, "pool 1") for who in "bcd"]
    other = slow.ask("e", "pool 2")
    assert slow.work[4].begun.wait(SOON)
    assert not any(work.begun.is_set() for work in slow.work[1:4])
    first.fraction = 0.25
    assert [job.made() for job in same] == [0.25] * 3
    assert other.made() is None
    slow.work[0].go.set()
    assert slow.work[1].begun.wait(SOON)


def test_a_pool_that_the_next_move_needs_too_is_finished(slow: Desk) -> None:
    first = slow.ask("a", "pool 1")
    assert slow.work[0].begun.wait(SOON)
    first.leave("a")
    # It waits in the slow lane once the quick one has found that it lacks the pool.
    second = slow.ask("a", "pool 1")
    while second.lane != "slow":
        assert not second.ended.wait(0.001)
    slow.work[0].go.set()
    assert first.ended.wait(SOON)
    assert first.state == "done"
    assert slow.work[1].begun.wait(SOON)


def test_long_studies_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "AT_ONCE", {"quick": 1, "slow": 1, "long": 1})
    monkeypatch.setattr(one_job, "STRETCH", -1.0)
    parts: list[str] = []
    begin = threading.Event()

    def study(name: str) -> Callable[[Job], Steps]:
        def walk(job: Job) -> Steps:
            for part in range(3):
                assert begin.wait(SOON)
                parts.append(f"{name}{part}")
                if job.stretch_is_over:
                    yield "long"

        return walk

    with serving() as service:
        asked = [
            service.submit(fake(number), name, study(name), long=True)
            for number, name in enumerate("ab")
        ]
        begin.set()
        assert all(job.ended.wait(SOON) for job in asked)
    assert parts == ["a0", "b0", "a1", "b1", "a2", "b2"]


def test_a_paused_study_that_is_cancelled_ends_at_once_and_lets_its_work_go(quick: Desk) -> None:
    closed = threading.Event()

    def walk(_: Job) -> Steps:
        try:
            yield "quick"
        finally:
            closed.set()

    job = quick.service.submit(fake(99), "a", walk, long=True)
    quick.ask("b")
    while job.lane != "quick":
        assert not job.ended.wait(0.001)
    assert job.state == "waiting"
    job.leave("a")
    assert job.ended.is_set()
    assert job.state == "stopped"
    assert closed.is_set()


def test_a_job_has_no_more_work_than_the_server_gives() -> None:
    with serving(work_limit=0.0) as service:
        work = Work()
        work.go.set()
        job = service.submit(fake(1), "a", work)
        assert job.ended.wait(SOON)
    assert job.state == "failed"
    assert job.error.startswith("This server works for at most 0 s on one request")


def test_what_took_too_long_while_much_went_on_is_tried_again_for_who_asks_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Lessons that students had opened together could not be printed until the server's end."""
    work = Work()
    work.go.set()
    with serving(work_limit=0.0) as service:
        failed = service.submit(fake(1), "a", work)
        assert failed.ended.wait(SOON)
        assert service.submit(fake(1), "b", work) is failed
        service.work_limit, failed.spent = SOON, 2.0 * SOON
        monkeypatch.setattr(one_job, "AGAIN", 0.0)
        again = service.submit(fake(1), "b", work)
        assert again.ended.wait(SOON)
    assert (failed.state, again.state) == ("failed", "done")


@pytest.mark.parametrize(
    ("name", "limit", "lane"),
    [
        ("flip-guideline", 60.0, "slow"),
        ("distance-forms", 60.0, "slow"),
        ("flip-guideline", None, "quick"),
        ("gaussian-loss", 60.0, "quick"),
    ],
)
def test_with_a_limit_the_server_itself_does_no_task_that_it_could_not_stop(
    name: str, limit: float | None, lane: Lane, quick: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of ``flip-guideline`` takes 30 seconds at settings that are allowed."""
    did: list[str] = []
    monkeypatch.setattr(steps, "_picture", lambda *_: did.append("quick"))
    monkeypatch.setattr(steps, "_growing", lambda job, _: iter(did.append(job.lane) or ()))
    monkeypatch.setattr(steps, "_with_pools", lambda _, act: act() or ())
    monkeypatch.setattr(experiments.load(name), "prepare", lambda *_: None, raising=False)
    quick.service.work_limit = limit
    job = Job(quick.service, Request(name, Params(), 1), None)
    for goes_on_in in steps.study(job):
        job.lane = goes_on_in
    assert did == [lane]


@pytest.mark.parametrize("lane", ["quick", "slow", "long"])
def test_the_limit_holds_while_a_part_is_made_and_a_picture_under_way_is_finished(
    lane: Lane, quick: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks: list[Callable[[], None]] = []

    def run(*_: Any, check: Callable[[], None], **__: Any) -> Iterator[Any]:
        checks.append(check)
        yield SimpleNamespace(is_partial=False, done=1, total=1, kept=0)

    monkeypatch.setattr(steps.runner, "run", run)
    monkeypatch.setattr(steps, "_is_slow", lambda _: lane == "slow")
    request = Request("gaussian-loss", Params(), 1)
    job = Job(quick.service, request, None, long=lane == "long")
    job.watch("a")
    for _ in steps.study(job):
        pass
    (check,) = checks
    check()
    job.abandon()
    with pytest.raises(one_job.UnwantedError) if lane == "long" else contextlib.nullcontext():
        check()
    job.watch("a")
    quick.service.work_limit = -1.0
    with pytest.raises(LimitError):
        check()


def test_of_what_is_over_the_limit_only_is_said_to_be_kept_what_is(quick: Desk) -> None:
    """Parts of a pool are not, and a page that waits for one ends above its downloads."""
    quick.service.work_limit = -1.0
    part = cast(Result, object())
    for long, result, kept in ((False, None, False), (True, None, False), (True, part, True)):
        job = Job(quick.service, fake(1), None, long=long)
        job.result = result
        with pytest.raises(LimitError) as over:
            job.check_limit()
        assert ("What is done is kept" in str(over.value)) == kept
        assert ("Download" in str(over.value)) == kept


def test_no_browser_can_have_the_service_thrown_away() -> None:
    """Its message goes for the caches of all."""
    before = jobs.service()
    st.cache_data.clear()
    st.cache_resource.clear()
    assert jobs.service() is before


def test_what_a_session_has_made_for_itself_is_found_by_nobody_and_let_go() -> None:
    with serving() as service:
        job = service.submit_own("a", steps.own(lambda progress: progress(1.0) or "secret"))
        assert job.ended.wait(SOON)
        assert job.outcome == "secret"
        assert job._steps is None
        assert not service._jobs


def test_problems_that_visitors_give_keep_no_release_waiting() -> None:
    go_on = threading.Event()
    with serving() as service:
        given = [
            service.submit_own(who, steps.own(lambda _: go_on.wait(SOON)), "given") for who in "abc"
        ]
        release = service.submit_own("d", steps.own(lambda _: "released"))
        assert release.ended.wait(SOON)
        assert release.outcome == "released"
        go_on.set()
        assert all(job.ended.wait(SOON) for job in given)


def test_a_problem_of_one_address_keeps_none_of_another_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It may go on for as long as the limit."""
    monkeypatch.setattr(jobs.addresses, "of_session", lambda who: who[0])
    go_on = threading.Event()
    with serving() as service:
        service.submit_own("b", steps.own(lambda _: "seen")).ended.wait(SOON)
        held = [
            service.submit_own(who, steps.own(lambda _: go_on.wait(SOON)), "given")
            for who in ("a1", "a2", "a3")
        ]
        other = service.submit_own("b", steps.own(lambda _: "inferred"), "given")
        assert other.ended.wait(SOON / 2)
        assert other.outcome == "inferred"
        go_on.set()
        assert all(job.ended.wait(SOON) for job in held)


def test_of_sessions_that_nothing_is_done_for_no_address_is_known(
    quick: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "MANY", 8)
    monkeypatch.setattr(jobs.addresses, "of_session", lambda who: f"of {who}")
    quick.ask("first")
    assert quick.work[0].begun.wait(SOON)
    waiting = [f"{number}" for number in range(4)]
    for who in waiting:
        quick.ask(who)
    for number in range(20):
        quick.service._address(f"gone {number}")
    known = quick.service._from
    assert len(known) <= 8
    assert {"first", *waiting} <= known.keys()


def test_a_closed_service_lets_go_of_everything(quick: Desk) -> None:
    under_way = quick.ask("a")
    assert quick.work[0].begun.wait(SOON)
    waiting = quick.ask("b")
    quick.service.close()
    assert waiting.state == "stopped"
    quick.finish()
    assert under_way.ended.wait(SOON)
    assert under_way.state == "stopped"
    assert isinstance(under_way.result, Result | None)


@pytest.mark.parametrize("is_open", [True, False])
def test_what_fails_because_the_server_ends_is_not_told(
    is_open: bool, caplog: pytest.LogCaptureFixture
) -> None:
    go_on = threading.Event()

    def work(_: Job) -> Steps:
        assert go_on.wait(SOON)
        raise RuntimeError("shut down")
        yield "long"

    with serving() as service:
        job = service.submit(fake(1), "a", work)
        while job.state == "waiting":
            time.sleep(0.01)
        if not is_open:
            service.close()
        go_on.set()
        assert job.ended.wait(SOON)
    assert job.state == ("failed" if is_open else "stopped")
    assert ("a job failed" in caplog.text) == is_open


def test_long_work_goes_to_processes_as_soon_as_they_have_loaded_a_study() -> None:
    steps._processes()
    assert steps._started is not None
    assert steps._started.result(120).EXPERIMENT == "posterior"
    assert steps._processes() is workers.processes()


def test_two_lines_of_one_study_have_buttons_of_their_own() -> None:
    def page() -> None:
        from abcdp_core import experiments
        from ui import jobs, watch
        from ui.job import Job, Request

        request = Request("mse-curves", experiments.load("mse-curves").Params(), 1)
        for name in ("mse-curves", "at-budgets"):
            watch._status(name, [Job(jobs.service(), request, None)], True)

    app = AppTest.from_function(page, default_timeout=60).run()
    assert not app.exception
    assert [button.key for button in app.button] == ["cancel-mse-curves", "cancel-at-budgets"]
