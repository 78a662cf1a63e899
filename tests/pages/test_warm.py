"""The server visits its own pages, gives way to everybody, and goes on whatever they do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from ui import jobs, router, served, steps, turns, warm
from ui.served import Served
from ui.turns import Turns
from ui.warm import Browser, Visits

PAGES = ["", *(page.file for page in router.TABLE[1:])]


class Runtime:
    """Streamlit's, as far as visits need it: what is asked for goes to the test."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.open: dict[str, Browser] = {}
        self.answer: Callable[[str, Browser], None] = lambda _, browser: end(browser)

    def connect_session(self, client: Browser, _: object) -> str:
        """Begin a session."""
        self.open[f"session {len(self.asked)}"] = client
        return f"session {len(self.asked)}"

    def handle_backmsg(self, who: str, request: BackMsg) -> None:
        """A page, or a part of it, is asked for."""
        self.asked.append(request.rerun_script.page_name + request.rerun_script.fragment_id)
        self.answer(self.asked[-1], self.open[who])

    def close_session(self, who: str) -> None:
        """End a session."""
        del self.open[who]


def end(browser: Browser) -> None:
    """The script comes to its end."""
    browser.write_forward_msg(ForwardMsg(script_finished=0))


def ask_again(browser: Browser, fragment: str) -> None:
    """A part of the page asks to be drawn again at once."""
    message = ForwardMsg()
    message.auto_rerun.fragment_id = fragment
    browser.write_forward_msg(message)


def picture() -> ForwardMsg:
    """A figure on its way to the browser."""
    message = ForwardMsg()
    message.delta.new_element.plotly_chart.spec = "{}"
    return message


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Runtime:
    """Runs no script; nobody else is there, and nobody is waited for."""
    found = Runtime()
    monkeypatch.setattr(warm.runtime, "get_instance", lambda: found)
    monkeypatch.setattr(turns, "_turns", Turns())
    monkeypatch.setattr(served, "settings", Served)
    service = SimpleNamespace(
        leave=lambda _: None, works_for_others=lambda _: False, close=lambda: None
    )
    monkeypatch.setattr(jobs, "service", lambda: service)
    monkeypatch.setattr(steps, "_started", None)
    for seconds in ("LOOK", "PAUSE", "QUIET"):
        monkeypatch.setattr(warm, seconds, 0.0)
    return found


def visited(server: Runtime, visits: Visits | None = None) -> list[str]:
    """What is asked for until all pages were visited."""

    async def going() -> None:
        made = visits or Visits()
        async with made.beside_the_server(None):
            while made._left or not server.asked or server.open:
                await asyncio.sleep(0)

    asyncio.run(asyncio.wait_for(going(), 20))
    return server.asked


def test_each_page_is_visited_once_and_left(server: Runtime) -> None:
    assert visited(server) == PAGES
    assert not server.open


def test_a_page_that_this_server_has_not_is_not_visited(
    server: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served, "settings", lambda: Served(own_data=False))
    assert visited(server) == [page for page in PAGES if page != "your_own_data"]


def test_a_server_may_visit_none_and_one_that_ends_at_once_waits_for_none(
    server: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def briefly() -> None:
        async with Visits().beside_the_server(None):
            await asyncio.sleep(0)

    server.answer = lambda *_: None
    asyncio.run(briefly())
    assert server.asked == [""]
    assert not server.open
    monkeypatch.setattr(served, "settings", lambda: Served(visits=False))
    asyncio.run(briefly())
    assert server.asked == [""]


def test_a_visit_that_fails_stops_neither_the_others_nor_the_server(
    server: Runtime, caplog: pytest.LogCaptureFixture
) -> None:
    def fail_at_first(asked: str, browser: Browser) -> None:
        if not asked:
            raise RuntimeError("secret")
        end(browser)

    server.answer = fail_at_first
    assert visited(server) == PAGES
    assert "secret" not in caplog.text
    assert "a page was not drawn beforehand (RuntimeError)" in caplog.text


def test_a_part_that_waits_is_asked_for_again_until_there_is_a_picture(server: Runtime) -> None:
    def grow(asked: str, browser: Browser) -> None:
        if not asked:
            ask_again(browser, "part")
        if server.asked == ["", "part", "part"]:
            browser.write_forward_msg(picture())
        end(browser)

    server.answer = grow
    assert visited(server) == ["", "part", "part", *PAGES[1:]]


def test_who_waits_for_a_turn_has_it_and_the_page_is_visited_again(server: Runtime) -> None:
    def somebody_comes(_: str, browser: Browser) -> None:
        if len(server.asked) == 1:
            turns._turns.begin()
            asyncio.get_running_loop().run_in_executor(None, turns._turns.begin)
            asyncio.get_running_loop().call_soon(leave)
        else:
            end(browser)

    def leave() -> None:
        if server.open:
            # Still there; it looks whether anybody waits whenever it has slept.
            asyncio.get_running_loop().call_soon(leave)
        else:
            turns._turns.end()
            turns._turns.end()

    server.answer = somebody_comes
    assert visited(server) == ["", *PAGES]


def test_a_study_of_somebody_else_ends_a_visit(
    server: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers, left = iter([True]), list[str]()
    service = SimpleNamespace(
        leave=left.append, works_for_others=lambda _: next(answers, False), close=lambda: None
    )
    monkeypatch.setattr(jobs, "service", lambda: service)
    server.answer = lambda _, browser: end(browser) if len(server.asked) > 1 else None
    assert visited(server) == ["", *PAGES]
    assert len(left) == len(PAGES) + 1


def test_the_page_that_a_browser_is_opening_is_the_next_one(server: Runtime) -> None:
    visits = Visits()

    def open_one(asked: str, browser: Browser) -> None:
        if asked:
            end(browser)
        elif len(server.asked) == 1:
            for path in ("/mechanisms", "/static/js/x.js", "/_stcore/health"):
                visits.expect(path)
        else:
            # Who opens what is being drawn does not end it, nor has it drawn twice.
            visits.expect("/")
            end(browser)

    server.answer = open_one
    others = [page for page in PAGES if page not in ("", "mechanisms")]
    assert visited(server, visits) == ["", "mechanisms", "", *others]


def test_at_the_end_all_work_is_let_go(server: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[str] = []
    monkeypatch.setattr(jobs.service(), "close", lambda: ended.append("jobs"))
    monkeypatch.setattr(steps, "_started", Future())
    pool = SimpleNamespace(shutdown=lambda: ended.append("workers"))
    monkeypatch.setattr(steps.workers, "processes", lambda: pool)
    visited(server)
    assert ended == ["jobs", "workers"]


def test_visits_draw_pages_with_nothing_moved_as_most_see_them() -> None:
    request = warm._asking_for("posterior").rerun_script
    assert (request.page_name, request.query_string) == ("posterior", "")
    assert request.context_info.color_scheme == "light"
    assert not request.is_auto_rerun
    again: Any = warm._asking_for("posterior", "part").rerun_script
    assert again.is_auto_rerun
