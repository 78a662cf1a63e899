"""Streamlit's undocumented parts: those that are used are as they were, and there are no others."""

from __future__ import annotations

import ast
import importlib
import inspect
from types import SimpleNamespace
from typing import Any

import pytest

from tests.sources import ROOT, files_of, imports_of
from ui.server import streamlit_internals

INTERNALS = "ui/server/streamlit_internals.py"
RUNTIME, RUNNER = "streamlit.runtime", "streamlit.runtime.scriptrunner_utils"
FILES = f"{RUNTIME}.memory_uploaded_file_manager.MemoryUploadedFileManager"

USED = {
    f"{RUNNER}.script_requests.ScriptRequests": set[str](),
    f"{RUNNER}.script_requests.ScriptRequests._request_rerun_locked": {"self", "new_data"},
    f"{RUNNER}.script_requests.ScriptRequestType.RERUN": None,
    f"{RUNNER}.script_requests._is_full_app_rerun": {"rerun_data"},
    f"{RUNNER}.script_run_context.ScriptRunContext": {"session_id", "uploaded_file_mgr"},
    f"{RUNTIME}.scriptrunner.RerunData": {"is_auto_rerun"},
    f"{RUNTIME}.scriptrunner.get_script_run_ctx": set[str](),
    f"{FILES}.remove_file": {"self", "session_id", "file_id"},
}
"""What is used -> parameters that it has; all others have a default."""


def part(name: str) -> Any:
    """Return a part of Streamlit by its dotted name, or fail with a sentence."""
    module, _, rest = name.rpartition(".")
    if module.rpartition(".")[2][0].isupper():
        return getattr(part(module), rest, None) or pytest.fail(changed(name))
    try:
        return getattr(importlib.import_module(module), rest)
    except (ImportError, AttributeError):
        return pytest.fail(changed(name))


def changed(name: str) -> str:
    return f"Streamlit changed {name}: see {INTERNALS}"


@pytest.mark.parametrize("name", USED)
def test_what_is_used_is_as_it_was(name: str) -> None:
    found, wanted = part(name), USED[name]
    if wanted is not None:
        given = inspect.signature(found).parameters
        needed = {each for each, about in given.items() if about.default is about.empty}
        assert wanted <= given.keys(), changed(name)
        assert needed <= wanted or hasattr(found, "__dataclass_fields__"), changed(name)


@pytest.mark.parametrize("is_fixed", [True, False])
@pytest.mark.parametrize("asked", [("click", "timer"), ("timer", "click"), ("timer", "timer")])
def test_a_timers_request_does_not_undo_a_page_change(
    asked: tuple[str, str], is_fixed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from streamlit.runtime.scriptrunner import RerunData

    requests = part(f"{RUNNER}.script_requests.ScriptRequests")()
    assert {"_state", "_rerun_data"} <= vars(requests).keys(), changed("ScriptRequests")
    # Whatever is patched here or was before is undone at the end.
    monkeypatch.setattr(type(requests), "_request_rerun_locked", streamlit_internals._join)
    if is_fixed:
        streamlit_internals.keep_page_changes()
    timer = RerunData(page_script_hash="old", fragment_id="progress", is_auto_rerun=True)
    data = {"click": RerunData(page_script_hash="new"), "timer": timer}
    assert all(requests.request_rerun(data[name]) for name in asked)
    found = requests.on_scriptrunner_ready().rerun_data
    is_undone = asked == ("click", "timer") and not is_fixed
    assert found.page_script_hash == ("new" if "click" in asked and not is_undone else "old")
    assert found.fragment_id_queue == ([] if "click" in asked else ["progress"])
    requests.request_stop()
    assert not requests.request_rerun(timer)


def test_an_upload_leaves_the_servers_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    from streamlit.proto.Common_pb2 import FileURLs
    from streamlit.runtime.uploaded_file_manager import UploadedFileRec
    from streamlit.typing import UploadedFile

    store = part(FILES)("/upload")
    records = [UploadedFileRec(name, "mine.csv", "text/csv", b"1, 2") for name in ("one", "two")]
    for record in records:
        store.add_file("session", record)
    context = SimpleNamespace(session_id="session", uploaded_file_mgr=store)
    monkeypatch.setattr(streamlit_internals, "get_script_run_ctx", lambda: context)
    file = UploadedFile(records[0], FileURLs())
    streamlit_internals.remove_upload(file)
    assert file.getvalue() == b""
    assert store.get_files("session", ["one", "two"]) == records[1:]


ALLOWED = {
    *("streamlit", "streamlit.delta_generator.DeltaGenerator", "streamlit.typing.UploadedFile"),
    *("streamlit.components.v2.types.ComponentRenderer", "starlette.middleware.Middleware"),
}
"""What is documented, and the wrapper that ``st.App`` asks for."""

SERVER = {"streamlit", "starlette", "google", "uvicorn", "h11", "websockets", "contextvars"}


@pytest.mark.parametrize("place", ["ui", "pages", "app.py"])
def test_no_other_file_uses_undocumented_parts(place: str) -> None:
    for file in files_of(place):
        if file == ROOT / INTERNALS:
            continue
        used = {name for name in imports_of(file) if name.split(".")[0] in SERVER}
        assert used <= ALLOWED, f"{file.name}: only {INTERNALS} may import these"
        text = file.read_text(encoding="utf-8")
        assert "get_script_run_ctx" not in text, file.name
        # Nor by a module that is an attribute of Streamlit.
        read = {
            node.attr
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "st"
        }
        assert not [name for name in read if name.startswith("_")], file.name
        assert read.isdisjoint({"runtime", "config", "proto", "web", "watcher"}), file.name


def test_the_script_that_draws_figures_is_where_it_was() -> None:
    script = streamlit_internals.drawing_script()
    assert script.startswith("/static/js/"), changed("the name of static/js/PlotlyChart.*.js")
