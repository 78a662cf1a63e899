"""All of Streamlit's undocumented parts that the pages rely on, each with its reason.

================================================  ==================================================
``ScriptRequests``, ``RerunData``,                Streamlit joins a rerun that waits with the next
``ScriptRequestType``, ``_request_rerun_locked``, and takes the page from the later one, so a timer
``_state``, ``_rerun_data``, ``context_info``,    or a knob on the old page undid a change of page.
``calc_hash``
``on_scriptrunner_ready``, ``script_requests``,   A request that came while a click was taken in had
``on_scriptrunner_yield``, ``ScriptRequest``      the click forgotten.
``SessionState``, ``on_script_will_rerun``,       Each message has the values of all widgets. It
``set_widgets_from_proto``, ``WidgetStates``,     undid a click if it came just before the click's
``_new_widget_state``, ``WidgetState``,           message, or before the browser knew what the click
``_new_session_state``,                           had set besides.
``_query_param_bound_widget_ids``
``query_params``, ``_bindings_by_param``,         Such a message also kept widgets of the old page
``unbind_widget``, ``page_script_hash``,          bound to the address, which the new one then could
``pages_manager``                                 not write.
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
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

import streamlit as st
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import RerunData, get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_requests import (
    ScriptRequest,
    ScriptRequests,
    ScriptRequestType,
)
from streamlit.runtime.state.session_state import SessionState
from streamlit.typing import UploadedFile
from streamlit.util import calc_hash

_join, _look = ScriptRequests._request_rerun_locked, ScriptRequests.on_scriptrunner_yield
_ready = ScriptRequests.on_scriptrunner_ready
_prepare = SessionState.on_script_will_rerun


@dataclasses.dataclass(frozen=True)
class Echo:
    """The values of a browser's widgets, and those that a person moved since it last said them."""

    states: WidgetStates
    moved: frozenset[str]

    @property
    def widgets(self) -> Iterable[WidgetState]:
        """What Streamlit asks for where it joins two requests."""
        return self.states.widgets


@dataclasses.dataclass
class Heard:
    """What was asked for since a session last had nothing to do.

    Attributes:
        asked: the last request that says which page to show.
        said: name of a widget -> what the browser said of it last.
        by_link: whether a link to a page was pressed after all buttons.
        begins: whether what a request says has not all been taken in.
    """

    asked: RerunData = dataclasses.field(default_factory=RerunData)
    said: dict[str, bytes] = dataclasses.field(default_factory=dict)
    by_link: bool = False
    begins: bool = False

    def moved(self, data: RerunData) -> frozenset[str] | None:
        """Return what a person moved or pressed, by a request; ``None`` if all it says counts."""
        states = data.widget_states
        if not isinstance(states, WidgetStates) or data.is_history_navigation:
            return None
        if data.is_auto_rerun:
            return frozenset()
        said = {each.id: each.SerializeToString() for each in states.widgets}
        changed = {name for name, text in said.items() if self.said.get(name) != text}
        self.said |= said
        return frozenset(_pressed(states) | changed)


def _key(name: str) -> str:
    """Return the key of a widget from Streamlit's name for it, ``$$ID-hash-key``."""
    return name.split("-", 2)[-1]


def _pressed(states: WidgetStates | None) -> set[str]:
    kinds = ((each, each.WhichOneof("value") or "") for each in (states.widgets if states else ()))
    return {
        each.id for each, kind in kinds if kind.endswith("trigger_value") and getattr(each, kind)
    }


_sessions: WeakKeyDictionary[ScriptRequests, Heard] = WeakKeyDictionary()


def _heard(requests: ScriptRequests | None) -> Heard:
    return Heard() if requests is None else _sessions.setdefault(requests, Heard())


def _begun(requests: ScriptRequests, found: ScriptRequest) -> ScriptRequest:
    """Note that a request begins; a press that another one interrupted then would be lost."""
    if found.type == ScriptRequestType.RERUN:
        _heard(requests).begins = found.rerun_data.widget_states is not None
    return found


def came_by_link() -> bool:
    """Whether what a person pressed last was a link to a page."""
    context = get_script_run_ctx()
    return context is not None and _heard(context.script_requests).by_link


def goes_back() -> bool:
    """Whether the browser went back or forward, so that the address says what is shown."""
    context = get_script_run_ctx()
    return context is not None and context.is_history_navigation


def bound_keys() -> set[str]:
    """Return the keys of the widgets that hold a part of the address, which nobody else may set."""
    context = get_script_run_ctx()
    if context is None:
        return set()
    with context.session_state.query_params() as params:
        return {*params._bindings_by_param}


def keep_clicks(pages: Sequence[str]) -> None:
    """Let no message that was sent before a press was known undo it; called as the server starts.

    Args:
        pages: names of all pages in addresses, first the one that needs none.
    """

    def shown_with(data: RerunData) -> str:
        """Return the page in the address of the browser when it sent this; empty if unknown."""
        url = data.context_info.url if data.context_info else ""
        name = urlsplit(url).path.rpartition("/")[2]
        return calc_hash(name if name in pages else pages[0]) if url else ""

    def request(self: ScriptRequests, new_data: RerunData) -> bool:
        is_timer, states, heard = new_data.is_auto_rerun, new_data.widget_states, _heard(self)
        waits = self._rerun_data if self._state == ScriptRequestType.RERUN else None
        if is_timer and waits is not None and not waits.is_auto_rerun:
            return True
        if states is None and waits is not None and heard.by_link:
            # The page's own request for another one, which a visitor's link came before.
            return True
        known, asked, moved = {*heard.said}, heard.asked, heard.moved(new_data)
        shown, page, pressed = shown_with(new_data), new_data.page_script_hash, _pressed(states)
        # A link says nothing new of what was there before.
        is_link = not (is_timer or pressed or known.intersection(moved or ()))
        if shown == page != asked.page_script_hash != "" and not is_link:
            # The browser did not know yet that this page was left.
            if new_data.fragment_id:
                return True
            query, page = asked.query_string, asked.page_script_hash
            new_data = dataclasses.replace(new_data, query_string=query, page_script_hash=page)
        elif not is_timer:
            heard.asked = new_data
            heard.by_link |= states is not None and "" not in (shown, page) and page != shown
        if pressed:
            heard.by_link = False
        before = None if waits is None else waits.widget_states
        if isinstance(before, WidgetStates):
            moved = None
        elif isinstance(before, Echo) and moved is not None:
            moved |= before.moved
        is_taken, joined = _join(self, new_data), self._rerun_data.widget_states
        if is_taken and moved is not None and isinstance(joined, WidgetStates):
            echo: Any = Echo(joined, moved)
            self._rerun_data = dataclasses.replace(self._rerun_data, widget_states=echo)
        return is_taken

    def ready(self: ScriptRequests) -> ScriptRequest:
        return _begun(self, _ready(self))

    def look(self: ScriptRequests) -> ScriptRequest | None:
        found = None if _heard(self).begins else _look(self)
        return found and _begun(self, found)

    def prepare(self: SessionState, states: WidgetStates | Echo | None, **more: Any) -> None:
        context = get_script_run_ctx()
        if context is not None:
            here = {context.page_script_hash, context.pages_manager.main_script_hash}
            for bound in [*self.query_params._bindings_by_param.values()]:
                if bound.script_hash not in here:
                    self.query_params.unbind_widget(bound.widget_id)
        try:
            take_in(self, states, **more)
        finally:
            _heard(None if context is None else context.script_requests).begins = False

    def take_in(self: SessionState, states: WidgetStates | Echo | None, **more: Any) -> None:
        if not isinstance(states, Echo):
            _prepare(self, states, **more)
            return
        news, rest = WidgetStates(), WidgetStates()
        for each in states.widgets:
            is_new = each.id in states.moved or each.id not in self
            (news if is_new else rest).widgets.append(each)
        _prepare(self, news, **more)
        stands = {each.id: self[each.id] for each in rest.widgets}
        self.set_widgets_from_proto(rest)
        for name, value in stands.items():
            if self._new_widget_state.get(name) != value:
                self._new_widget_state.set_from_value(name, value)
                if name in self._query_param_bound_widget_ids:
                    # Told again: the run that would have told it may have been interrupted.
                    self._new_session_state.setdefault(_key(name), value)

    ScriptRequests._request_rerun_locked = request  # type: ignore[method-assign]
    ScriptRequests.on_scriptrunner_ready = ready  # type: ignore[method-assign]
    ScriptRequests.on_scriptrunner_yield = look  # type: ignore[method-assign]
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
