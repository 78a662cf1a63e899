"""A page of which the server no longer knows anything draws nothing but is loaded again."""

from __future__ import annotations

import asyncio
from unittest.mock import Mock

import pytest
from streamlit.proto.BackMsg_pb2 import BackendOperationRequest
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.runtime.app_session import AppSession
from streamlit.testing.v1 import AppTest

from abcdp_core import __version__
from tests.pages.app import ROOT, opened
from ui import state


def test_a_session_that_begins_with_widgets_is_loaded_again() -> None:
    """They are of a session that is gone, which knew what they meant."""
    before = opened("posterior", scenario="tuberculosis")
    after = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    after.query_params["version"] = __version__
    after._page_hash = before._page_hash
    after._run(before._tree.get_widget_states())
    assert not after.exception
    assert "loaded again" in after.info[0].value
    assert [each.key for each in after.get("bidi_component")] == ["load-again"]
    assert not after.get("plotly_chart")
    assert state.LINK_READ not in after.session_state
    # Nor is it drawn when the browser goes back: what was released may be saved until it is loaded.
    after.run()
    assert [each.key for each in after.get("bidi_component")] == ["load-again"]


def test_a_text_that_somebody_wrote_is_not_thrown_away() -> None:
    """A problem that was not sent yet is nowhere but in its field."""
    before = opened("published_queries")
    states = before._tree.get_widget_states()
    (chosen,) = [each for each in states.widgets if each.id.endswith("-lesson")]
    chosen.string_value = "title = 1\nnames = 2"
    after = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    after.query_params["version"] = __version__
    after._page_hash = before._page_hash
    after._run(states)
    assert state.LINK_READ in after.session_state


@pytest.mark.parametrize("known", [False, True])
def test_a_part_of_a_page_that_was_forgotten_is_its_page(known: bool) -> None:
    """Streamlit passes over a part that it does not know, so nothing that was pressed was heard."""
    session = Mock(session_state={state.LINK_READ: True} if known else {})
    asked = ClientState(fragment_id="a dialog")
    AppSession._handle_rerun_script_request(session, asked)
    (given,) = session.request_rerun.call_args.args
    assert given.fragment_id == ("a dialog" if known else "")


@pytest.mark.parametrize("known", [False, True])
def test_a_download_of_a_page_that_was_forgotten_has_the_browser_say_what_it_shows(
    known: bool,
) -> None:
    """Streamlit refuses it as another session's, and the browser says nothing of that."""
    session = Mock(session_state={state.LINK_READ: True} if known else {}, id="new")
    request = BackendOperationRequest(request_id="1", session_id="gone")
    asyncio.run(AppSession._handle_backend_operation_request(session, request))
    sent = [call.args[0] for call in session._enqueue_forward_msg.call_args_list]
    kinds = [message.WhichOneof("type") for message in sent]
    # A browser passes over one that names no part of a page; `_handle_rerun_script_request` above.
    assert kinds == ["auto_rerun"] * (not known) + ["backend_operation_response"]
    assert known or sent[0].auto_rerun.fragment_id
