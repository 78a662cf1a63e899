"""A page that is being drawn is finished, and pages are drawn a few at a time."""

from __future__ import annotations

import threading
import tomllib
import weakref
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit import runtime
from streamlit.commands import execution_control
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.runtime.scriptrunner import RerunData, StopException
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequests, ScriptRequestType

from ui import router, turns
from ui.turns import Turns

SOON = 20.0


def nobody(*_: float) -> None:
    """Is told and does nothing."""


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptRequests]:
    """Streamlit's own list of what is asked of the script in this thread."""
    found = ScriptRequests()
    found.on_scriptrunner_ready()
    found._state = ScriptRequestType.CONTINUE
    context = SimpleNamespace(script_requests=found)
    monkeypatch.setattr(turns, "get_script_run_ctx", lambda: context)
    monkeypatch.setattr(turns, "_turns", Turns())
    yield found
    assert "request_rerun" not in vars(found)


def move(requests: ScriptRequests, name: str) -> None:
    """A visitor moves a knob: it comes from another thread."""
    data = RerunData(query_string=name)
    thread = threading.Thread(target=requests.request_rerun, args=(data,))
    thread.start()
    thread.join()


def test_a_move_ends_no_page_that_is_being_drawn_and_the_latest_is_drawn_next(
    requests: ScriptRequests,
) -> None:
    move(requests, "before")
    assert requests.on_scriptrunner_yield() is not None
    with turns.turn(nobody):
        move(requests, "first")
        assert requests.on_scriptrunner_yield() is None
        with turns.away():
            move(requests, "second")
        with turns.turn(nobody):
            assert requests.on_scriptrunner_yield() is None
    assert requests.on_scriptrunner_ready().rerun_data.query_string == "second"


def test_a_page_that_waits_is_ended_by_a_move_also_by_one_from_before(
    requests: ScriptRequests,
) -> None:
    with turns.turn(nobody):
        move(requests, "before")
        with turns.interruptible():
            asked = requests.on_scriptrunner_yield()
            assert asked is not None
            assert asked.rerun_data.query_string == "before"
            move(requests, "meanwhile")
            assert requests.on_scriptrunner_yield() is not None
        move(requests, "later")
        assert requests.on_scriptrunner_yield() is None
    assert requests.on_scriptrunner_ready().rerun_data.query_string == "later"
    with turns.interruptible():
        pass


def test_no_move_is_heard_before_what_was_drawn_is_on_its_way(
    requests: ScriptRequests, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next run of the script would drop it."""
    heard: list[bool] = []
    left = [3]

    class Queue:
        def is_empty(self) -> bool:
            heard.append(requests._state != ScriptRequestType.CONTINUE)
            left[0] -= 1
            return left[0] == 0

    loop = SimpleNamespace(call_soon_threadsafe=lambda call: call())
    session = SimpleNamespace(_event_loop=loop, _browser_queue=Queue())
    of = {"visitor": SimpleNamespace(session=session)}
    there = SimpleNamespace(
        _session_mgr=SimpleNamespace(get_active_session_info=of.get), get_client={}.get
    )
    monkeypatch.setattr(runtime, "exists", lambda: True)
    monkeypatch.setattr(runtime, "get_instance", lambda: there)
    context = SimpleNamespace(script_requests=requests, session_id="visitor")
    monkeypatch.setattr(turns, "get_script_run_ctx", lambda: context)
    with turns.turn(nobody):
        move(requests, "meanwhile")
    assert heard == [False, False, False]
    assert requests.on_scriptrunner_ready().rerun_data.query_string == "meanwhile"
    # Who is gone has no queue.
    context.session_id = "gone"
    requests._state = ScriptRequestType.CONTINUE
    with turns.turn(nobody):
        pass


def drawn_and_stopped(requests: ScriptRequests, *, by_the_server: bool) -> None:
    """A visitor clicks while a page is drawn, which then ends early."""
    with turns.turn(nobody):
        move(requests, "click")
        if by_the_server:
            thread = threading.Thread(target=requests.request_stop)
            thread.start()
            thread.join()
        else:
            requests.request_stop()
        raise StopException


def test_a_page_that_ends_early_loses_no_move_that_came_before(requests: ScriptRequests) -> None:
    with pytest.raises(StopException):
        drawn_and_stopped(requests, by_the_server=False)
    assert requests.on_scriptrunner_ready().rerun_data.query_string == "click"


def test_a_page_that_streamlit_runs_by_itself_loses_no_move(
    requests: ScriptRequests, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So it does with the first of all pages that a server draws."""
    context = SimpleNamespace(script_requests=requests)
    monkeypatch.setattr(execution_control, "get_script_run_ctx", lambda: context)
    monkeypatch.setattr(router, "main", lambda: move(requests, "click"))
    with pytest.raises(StopException):
        router.guard()
    assert requests.on_scriptrunner_ready().rerun_data.query_string == "click"


def test_a_page_that_the_server_ends_is_not_drawn_again(requests: ScriptRequests) -> None:
    with pytest.raises(StopException):
        drawn_and_stopped(requests, by_the_server=True)
    assert requests.on_scriptrunner_ready().type == ScriptRequestType.STOP


def test_a_move_after_the_page_was_stopped_is_for_another_script(requests: ScriptRequests) -> None:
    """Streamlit begins one where this says that it cannot take the move."""
    taken: list[bool] = []

    def stop_and_move() -> None:
        requests.request_stop()
        taken.append(requests.request_rerun(RerunData(query_string="move")))

    with turns.turn(nobody):
        move(requests, "before")
        thread = threading.Thread(target=stop_and_move)
        thread.start()
        thread.join()
    assert taken == [False]
    assert requests.on_scriptrunner_ready().type == ScriptRequestType.STOP


def test_a_timer_of_a_page_does_not_take_back_that_another_one_was_asked_for(
    requests: ScriptRequests,
) -> None:
    timer = RerunData(page_script_hash="old", fragment_id="progress", is_auto_rerun=True)
    click = RerunData(page_script_hash="new")
    for first, second in ((click, timer), (timer, click)):
        requests._state = ScriptRequestType.CONTINUE
        requests.request_rerun(first)
        requests.request_rerun(second)
        asked = requests.on_scriptrunner_ready().rerun_data
        assert asked.page_script_hash == "new"
        assert not asked.fragment_id_queue
    requests._state = ScriptRequestType.CONTINUE
    requests.request_rerun(timer)
    requests.request_rerun(timer)
    assert requests.on_scriptrunner_ready().rerun_data.fragment_id_queue == ["progress"]


def click(name: str, size: int = 1) -> RerunData:
    """A visitor clicks on something that says so much."""
    states = WidgetStates()
    states.widgets.add(id=name).string_trigger_value.data = "x" * size
    return RerunData(query_string=name, widget_states=states)


def test_what_is_asked_of_a_page_that_is_being_drawn_does_not_fill_the_memory(
    requests: ScriptRequests,
) -> None:
    """Neither moves, of which the latest counts, nor clicks, of which all do."""
    held: list[weakref.ref[RerunData]] = []
    with turns.turn(nobody):
        for number in range(9):
            data = RerunData(query_string=str(number))
            held.append(weakref.ref(data))
            thread = threading.Thread(target=requests.request_rerun, args=(data,))
            thread.start()
            thread.join()
            del data, thread
        assert sum(each() is not None for each in held) <= 2
    assert requests.on_scriptrunner_ready().rerun_data.query_string == "8"
    for size, kept in ((1, 9), (turns.LARGEST_HELD // 4, 3)):
        requests._state = ScriptRequestType.CONTINUE
        for number in range(9):
            requests.request_rerun(click(str(number), size))
        asked = requests.on_scriptrunner_ready().rerun_data
        assert asked.query_string == "8"
        assert asked.widget_states is not None
        assert len(asked.widget_states.widgets) == kept


def test_of_clicks_on_more_than_a_page_has_the_latest_are_kept(requests: ScriptRequests) -> None:
    """All that wait are gone through for each one more: eight pages held everybody for 23 s."""
    for number in range(5):
        clicks = WidgetStates()
        for each in range(400):
            clicks.widgets.add(id=f"{number}-{each}").trigger_value = True
        requests.request_rerun(RerunData(query_string=str(number), widget_states=clicks))
    asked = requests.on_scriptrunner_ready().rerun_data
    assert asked.query_string == "4"
    assert asked.widget_states is not None
    assert len(asked.widget_states.widgets) <= turns.MOST_HELD


def test_what_a_page_itself_asks_for_is_done_at_once(requests: ScriptRequests) -> None:
    with turns.turn(nobody):
        move(requests, "move")
        requests.request_rerun(RerunData(query_string="own"))
        request = requests.on_scriptrunner_yield()
        assert request is not None
        assert request.rerun_data.query_string == "own"
        requests.request_stop()
        assert requests.on_scriptrunner_yield() is not None


def test_a_page_that_fails_lets_the_next_have_its_turn(requests: ScriptRequests) -> None:
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), turns.turn(nobody):
            raise ZeroDivisionError
    assert turns._turns._free == 1


def test_the_server_brings_moves_to_the_script_and_no_run_of_it_holds_up_the_others() -> None:
    """A full collection after every run, polls for progress among them, stopped the server."""
    config = tomllib.loads((Path(__file__).parents[2] / ".streamlit/config.toml").read_text())
    assert config["runner"]["fastReruns"] is False
    assert config["runner"]["postScriptGC"] is False


def test_who_waits_for_long_is_told_and_who_is_gone_leaves_the_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(turns, "MOMENTS", 0.0)
    line, told = Turns(), list[tuple[int, float]]()
    line.begin()
    another = threading.Event()
    line._new.join("another", another)

    def tell(*words: float) -> None:
        told.append(words)  # type: ignore[arg-type]
        raise StopException

    with pytest.raises(StopException):
        line.begin(tell=tell)
    assert told == [(1, pytest.approx(0.1))]
    assert list(line._new) == [another]
    line.end()
    assert another.is_set()


def test_addresses_take_turns_but_who_comes_back_is_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """By page, who opens a hundred keeps a stranger waiting for as many."""
    monkeypatch.setattr(turns.addresses, "of_session", lambda who: who[:1])
    line, order = Turns(), list[str]()
    line.begin()

    def draw(name: str, *, again: bool = False) -> None:
        line.begin(name, again=again)
        order.append(name)
        line.end()

    threads = []
    for name in ("a1", "a2", "a3", "b1", "a4 back", "a5 back", "b2 back"):
        again = name.endswith("back")
        threads.append(threading.Thread(target=draw, args=(name,), kwargs={"again": again}))
        waiting = line.waiting
        threads[-1].start()
        while line.waiting == waiting:
            threads[-1].join(0.001)
    told = [line._ahead(called) for called in (*line._back, *line._new)]
    line.end()
    for thread in threads:
        thread.join(SOON)
    assert order == ["a4 back", "b2 back", "a5 back", "a1", "b1", "a2", "a3"]
    assert sorted(told) == list(range(7))
