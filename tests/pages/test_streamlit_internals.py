"""Streamlit's undocumented parts: those that are used do what they did, and there are no others."""

from __future__ import annotations

import ast
from types import SimpleNamespace

import pytest
from streamlit.proto.Common_pb2 import FileURLs
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import RerunData
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequests
from streamlit.runtime.state.common import WidgetMetadata
from streamlit.runtime.state.session_state import SessionState
from streamlit.runtime.uploaded_file_manager import UploadedFileRec
from streamlit.typing import UploadedFile

from tests.pages.app import take_messages
from tests.sources import ROOT, files_of, imports_of
from ui.server import streamlit_internals

INTERNALS = "ui/server/streamlit_internals.py"


@pytest.mark.parametrize("is_fixed", [True, False])
@pytest.mark.parametrize("asked", [("click", "timer"), ("timer", "click"), ("timer", "timer")])
def test_a_timers_request_does_not_undo_a_page_change(
    asked: tuple[str, str], is_fixed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = ScriptRequests()
    take_messages(monkeypatch, as_served=is_fixed)
    timer = RerunData(page_script_hash="old", fragment_id="progress", is_auto_rerun=True)
    data = {"click": RerunData(page_script_hash="new"), "timer": timer}
    assert all(requests.request_rerun(data[name]) for name in asked)
    found = requests.on_scriptrunner_ready().rerun_data
    is_undone = asked == ("click", "timer") and not is_fixed
    assert found.page_script_hash == ("new" if "click" in asked and not is_undone else "old")
    assert found.fragment_id_queue == ([] if "click" in asked else ["progress"])
    requests.request_stop()
    assert not requests.request_rerun(timer)


@pytest.mark.parametrize("is_fixed", [True, False])
def test_a_timer_changes_no_widget(is_fixed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    take_messages(monkeypatch, as_served=is_fixed)
    requests, session = ScriptRequests(), SessionState()
    widget = WidgetMetadata(
        NAME,
        deserializer=lambda value: value or "",
        serializer=str,
        value_type="string_value",
    )

    def run(value: str, *, timer: bool = False) -> str:
        """Have the browser say what the widget is set to; return what the script reads."""
        states = WidgetStates(widgets=[WidgetState(id=NAME, string_value=value)])
        requests.request_rerun(RerunData(widget_states=states, is_auto_rerun=timer))
        session.on_script_will_rerun(requests.on_scriptrunner_ready().rerun_data.widget_states)
        return str(session.register_widget(widget, "view").value)

    assert [run("one", timer=True), run("one", timer=True)] == ["one", "one"]
    # A timer that is due between a click and its message, and one before the browser is told.
    assert run("two", timer=True) == ("one" if is_fixed else "two")
    assert run("two") == "two"
    session["view"] = "three"
    assert run("two", timer=True) == ("three" if is_fixed else "two")


NAME = "$$ID-0-view"
"""Streamlit's name of a widget with the key ``view``."""


def test_an_upload_leaves_the_servers_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryUploadedFileManager("/upload")
    records = [UploadedFileRec(name, "mine.csv", "text/csv", b"1, 2") for name in ("one", "two")]
    for record in records:
        store.add_file("session", record)
    context = SimpleNamespace(session_id="session", uploaded_file_mgr=store)
    monkeypatch.setattr(streamlit_internals, "get_script_run_ctx", lambda: context)
    file = UploadedFile(records[0], FileURLs())
    streamlit_internals.remove_upload(file)
    assert file.getvalue() == b""
    assert store.get_files("session", ["one", "two"]) == records[1:]


def test_the_script_that_draws_figures_is_where_it_was() -> None:
    assert streamlit_internals.drawing_script().startswith("/static/js/"), f"see {INTERNALS}"


ALLOWED = {
    *("streamlit", "streamlit.delta_generator.DeltaGenerator", "streamlit.typing.UploadedFile"),
    *("streamlit.components.v2.types.ComponentRenderer", "starlette.middleware.Middleware"),
    *("starlette.requests.Request", "starlette.responses.FileResponse", "starlette.routing.Route"),
}
"""What is documented, and the wrapper and routes that ``st.App`` asks for."""

SERVER = {"streamlit", "starlette", "google", "uvicorn", "h11", "websockets", "contextvars"}


def misused(source: str, imported: list[str]) -> set[str]:
    """Return the undocumented parts that a file uses."""
    used = {name for name in imported if name.split(".")[0] in SERVER} - ALLOWED
    # Nor by a module that is an attribute of Streamlit.
    read = {
        node.attr
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "st"
    }
    hidden = {"runtime", "config", "proto", "web", "watcher"}
    return used | {name for name in read if name.startswith("_") or name in hidden}


def test_no_other_file_uses_undocumented_parts() -> None:
    assert misused("st.runtime.exists()", ["streamlit.proto"]) == {"runtime", "streamlit.proto"}
    for file in [each for place in ("ui", "pages", "app.py") for each in files_of(place)]:
        if file != ROOT / INTERNALS:
            found = misused(file.read_text(encoding="utf-8"), imports_of(file))
            assert not found, f"{file.name}: only {INTERNALS} may use {found}"
