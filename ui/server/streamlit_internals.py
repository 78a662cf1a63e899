"""All of Streamlit's undocumented parts that the pages rely on, each with its reason.

================================================  ==================================================
``ScriptRequests``, ``RerunData``,                Streamlit joins a rerun that waits with the next
``ScriptRequestType``, ``_request_rerun_locked``, and takes the page from the later one, so a timer
``_state``, ``_rerun_data``,                      on the old page undid a change of page.
``_is_full_app_rerun``
``get_script_run_ctx``, ``session_id``,           A private file must leave the server's memory when
``uploaded_file_mgr``, ``file_id``,               it was read; Streamlit keeps it with the session.
``MemoryUploadedFileManager.remove_file``
``static/static/js/PlotlyChart.*.js``             The largest script: asked for with the page, it is
                                                  there when the first figure is.
================================================  ==================================================

``tests/pages/test_streamlit_internals.py`` fails with a sentence when one of them changes.
"""

from __future__ import annotations

from pathlib import Path

import streamlit as st
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import RerunData, get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_requests import (
    ScriptRequests,
    ScriptRequestType,
    _is_full_app_rerun,
)
from streamlit.typing import UploadedFile

_join = ScriptRequests._request_rerun_locked


def keep_page_changes() -> None:
    """Drop a timer's request while a visitor's waits; called once, as the server starts."""

    def request(self: ScriptRequests, new_data: RerunData) -> bool:
        waits = self._state == ScriptRequestType.RERUN and _is_full_app_rerun(self._rerun_data)
        return True if new_data.is_auto_rerun and waits else _join(self, new_data)

    ScriptRequests._request_rerun_locked = request  # type: ignore[method-assign]


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
