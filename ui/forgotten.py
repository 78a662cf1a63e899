"""A page of which the server no longer knows anything is loaded again, by its address.

A laptop that slept for long, or a server that was started again: the browser connects by itself and
shows the page as it was. What is pressed then comes as the first request of a new session. It knows
neither what stood there before, so that another scenario would get the values of the former one,
nor what a button does.
"""

from __future__ import annotations

import functools
from pathlib import Path

import streamlit as st
from streamlit.components.v2.types import ComponentRenderer
from streamlit.proto.BackMsg_pb2 import BackendOperationRequest
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.scriptrunner import get_script_run_ctx

from ui import state

FORGOTTEN = "_forgotten"
SCRIPT = Path(__file__).parents[1] / "assets" / "forgotten.js"

CSS = """
button {
  margin: 0 0.5rem 0.5rem 0; padding: 0.5rem 0.8rem; font: inherit; cursor: pointer;
  color: inherit; background: transparent; border: 1px solid; border-radius: 0.5rem;
}
.saved { opacity: 0.5; }
"""


def is_so() -> bool:
    """Whether a session begins with widgets that stand at something: a loaded page has none."""
    if FORGOTTEN in st.session_state:
        return True
    context = get_script_run_ctx()
    if context is None or state.LINK_READ in st.session_state:
        return False
    # There is no public way to what a browser says before widgets are made.
    states = context.session_state._state._new_widget_state.states.values()
    texts = [getattr(each.value, "string_value", "") for each in states]
    # A text in lines is somebody's work, and nowhere else.
    return bool(texts) and not any("\n" in text for text in texts)


def load_again() -> None:
    """Have the browser save releases that were not, and load the page as its address says."""
    # Until it is, whatever is pressed meanwhile: it may have releases to save.
    st.session_state[FORGOTTEN] = True
    st.info("The server does not know this page any more, so it is loaded again.")
    _component()(key="load-again", height="content")


@functools.cache
def _component() -> ComponentRenderer:
    js = SCRIPT.read_text(encoding="utf-8")
    return st.components.v2.component("load-again", html="<div></div>", css=CSS, js=js)


def _take_parts_for_pages() -> None:
    """Have a press in a part of a page that is drawn by itself heard, too, as one on its page.

    Streamlit passes over parts that it does not know, and of a new session it knows none.
    """
    handle = AppSession._handle_rerun_script_request

    def whole(self: AppSession, client_state: ClientState | None = None) -> None:
        if client_state is not None and state.LINK_READ not in self.session_state:
            client_state.fragment_id = ""
        handle(self, client_state)

    AppSession._handle_rerun_script_request = whole  # type: ignore[method-assign]


def _take_downloads_for_presses() -> None:
    """Have a press on a download heard, too.

    Streamlit refuses it, in silence, as another session's. It says nothing of the page, so the
    browser is asked for what it would say at any other press.
    """
    handle = AppSession._handle_backend_operation_request

    async def asked(self: AppSession, request: BackendOperationRequest) -> None:
        if state.LINK_READ not in self.session_state:
            again = ForwardMsg()
            again.auto_rerun.fragment_id = "forgotten"
            again.auto_rerun.interval = UNTIL_ASKED
            self._enqueue_forward_msg(again)
        await handle(self, request)

    AppSession._handle_backend_operation_request = asked  # type: ignore[method-assign]


UNTIL_ASKED = 0.5
"""Seconds; again and again until the page is loaded, so not at once."""

_take_parts_for_pages()
_take_downloads_for_presses()
