"""Who opens and closes many pages takes nothing from those whose connection was lost."""

from __future__ import annotations

from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from streamlit import config
from streamlit.runtime.memory_session_storage import MemorySessionStorage
from streamlit.runtime.session_manager import SessionInfo
from streamlit.runtime.websocket_session_manager import WebsocketSessionManager

from ui import lost
from ui.lost import Lost


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lost, "MOST", 4)


def leave(sessions: Lost, who: str, address: str, runs: int = 1) -> None:
    lost.caller.set(address)
    sessions.save(SessionInfo(None, SimpleNamespace(id=who), runs))  # type: ignore[arg-type]


def kept(sessions: Lost) -> set[str]:
    return {each.session.id for each in sessions.list()}


def test_the_address_that_has_most_gives_one_up() -> None:
    sessions = Lost(600)
    leave(sessions, "victim", "a")
    for number in range(9):
        leave(sessions, f"other {number}", "b", runs=50)
    assert kept(sessions) == {"victim", "other 6", "other 7", "other 8"}
    assert set(sessions._from) == kept(sessions)


def test_of_one_address_who_did_least_is_given_up_be_it_the_one_that_comes() -> None:
    sessions = Lost(600)
    for number, runs in enumerate((7, 2, 9, 5)):
        leave(sessions, f"{number}", "a", runs)
    for number in range(9):
        leave(sessions, f"other {number}", "a")
    assert kept(sessions) == {"0", "1", "2", "3"}
    leave(sessions, "6", "a", 6)
    assert kept(sessions) == {"0", "2", "3", "6"}


def test_who_came_back_is_not_counted() -> None:
    sessions = Lost(600)
    for number in range(3):
        leave(sessions, f"{number}", "a")
    sessions.delete("0")
    for who in ("b", "c"):
        leave(sessions, who, who)
    assert kept(sessions) == {"1", "2", "b", "c"}


def test_nobody_is_kept_for_ever() -> None:
    sessions = Lost(0)
    leave(sessions, "a", "a")
    assert not kept(sessions)
    leave(sessions, "b", "b")
    assert set(sessions._from) == {"b"}


def test_a_server_keeps_them_so(monkeypatch: pytest.MonkeyPatch) -> None:
    manager = WebsocketSessionManager(MemorySessionStorage(), Mock(), Mock(), Mock())
    assert isinstance(vars(manager)["_session_storage"], MemorySessionStorage)
    monkeypatch.setattr(lost.runtime, "get_instance", lambda: SimpleNamespace(_session_mgr=manager))
    lost.keep()
    assert isinstance(manager._session_storage, Lost)
    assert manager._session_storage._cache.ttl == config.get_option("server.disconnectedSessionTTL")
