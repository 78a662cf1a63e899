"""All of Streamlit's undocumented parts that the pages rely on, each with its reason.

================================================  ==================================================
``ScriptRequests``, ``RerunData``,                Streamlit joins a rerun that waits with the next
``ScriptRequestType``, ``_request_rerun_locked``, and takes the page from the later one, so a timer
``_state``, ``_rerun_data``                       on the old page undid a change of page.
``SessionState``, ``on_script_will_rerun``,       A timer also sends the values of all widgets. It
``set_widgets_from_proto``, ``_widget_changed``,  undid a click if it came just before the click's
``_new_widget_state``, ``_old_state``,            message, or before the browser knew what the click
``WidgetStates``, ``WidgetState``                 had set besides.
``get_script_run_ctx``, ``session_id``,           A private file must leave the server's memory when
``uploaded_file_mgr``, ``file_id``,               it was read; Streamlit keeps it with the session.
``MemoryUploadedFileManager.remove_file``
``static/static/js/PlotlyChart.*.js``             The largest script: asked for with the page, it is
                                                  there when the first figure is.
================================================  ==================================================

``tests/pages/test_streamlit_internals.py`` fails with a sentence when one of them changes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import RerunData, get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_requests import (
    ScriptRequests,
    ScriptRequestType,
)
from streamlit.runtime.state.session_state import SessionState
from streamlit.typing import UploadedFile

_join = ScriptRequests._request_rerun_locked
_prepare = SessionState.on_script_will_rerun


@dataclasses.dataclass(frozen=True)
class Echo:
    """The values of a browser's widgets, sent by a timer: a change comes in its own message."""

    states: WidgetStates

    @property
    def widgets(self) -> Iterable[WidgetState]:
        """What Streamlit asks for where it joins two requests."""
        return self.states.widgets


def keep_clicks() -> None:
    """Let a timer undo no visitor's request and change no widget; called as the server starts."""

    def request(self: ScriptRequests, new_data: RerunData) -> bool:
        waits = self._state == ScriptRequestType.RERUN and not self._rerun_data.is_auto_rerun
        if new_data.is_auto_rerun and waits:
            return True
        is_taken, states = _join(self, new_data), self._rerun_data.widget_states
        if is_taken and new_data.is_auto_rerun and isinstance(states, WidgetStates):
            echo: Any = Echo(states)
            self._rerun_data = dataclasses.replace(self._rerun_data, widget_states=echo)
        return is_taken

    def prepare(self: SessionState, states: WidgetStates | Echo | None, **more: Any) -> None:
        if not isinstance(states, Echo):
            _prepare(self, states, **more)
            return
        _prepare(self, None, **more)
        self.set_widgets_from_proto(states.states)
        for name in list(self._new_widget_state):
            if name in self._old_state and self._widget_changed(name):
                self._new_widget_state.set_from_value(name, self._old_state[name])

    ScriptRequests._request_rerun_locked = request  # type: ignore[method-assign]
    SessionState.on_script_will_rerun = prepare  # type: ignore[assignment]


def drawing_script() -> str:
    """Return the address of the script that draws figures; empty where there is none."""
    static = Path(st.__file__).parent / "static"
    found = next(static.glob("static/js/PlotlyChart.*.js"), None)
    return f"/{found.relative_to(static).as_posix()}" if found else ""


def remove_upload(file: UploadedFile) -> None:
    """Remove an uploaded file from Streamlit's store once it was read."""
    file.seek(0)
    file.truncate()
    context = get_script_run_ctx()
    if context is not None and isinstance(context.uploaded_file_mgr, MemoryUploadedFileManager):
        context.uploaded_file_mgr.remove_file(context.session_id, file.file_id)
