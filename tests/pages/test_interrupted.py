"""What comes while a page is drawn: a press counts, and nothing that was said before undoes it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from streamlit.proto.ClientState_pb2 import ContextInfo
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.runtime.scriptrunner import RerunData, get_script_run_ctx

from abcdp_core.publish import lessons
from tests.pages.app import SMALL, linked, settled, take_messages
from ui import router
from ui.figures import labels
from ui.parts import lesson
from ui.view import session
from ui.view.page import Page
from ui.view.view import View

LAST = str(len(lessons.load()["one-person"].steps))
"""Step from which *Next lesson* leads to another page."""


class Browser:
    """A browser that shows the last step of the first lesson, and what it sends from there."""

    def __init__(self) -> None:
        self.app = settled(linked("posterior", **SMALL, lesson="one-person", step=LAST))
        stand = self.app._tree.get_widget_states().widgets
        self.stand = [each for each in stand if each.WhichOneof("value") != "trigger_value"]
        self.query = urlencode({**self.app.query_params, "lesson": "one-person", "step": LAST})

    def message(self, page: str, shown: str, *more: WidgetState, full: bool = True) -> RerunData:
        """All that its widgets stand at, or those of all pages, and where it is."""
        known = self.app._registered_pages.items()
        (asked,) = [name for name, about in known if about["script_path"].endswith(f"/{page}.py")]
        kept = [each for each in self.stand if each.id not in {new.id for new in more}]
        states = WidgetStates(
            widgets=[*(each for each in kept if full or "." not in each.id), *more]
        )
        info = ContextInfo(url=f"http://localhost/{'' if shown == 'overview' else shown}")
        return RerunData(self.query, states, page_script_hash=asked, context_info=info)

    def next(self) -> RerunData:
        """*Next lesson*, which leads to the overview."""
        button = self.app.button(key=lesson.NEXT).proto.id
        return self.message("posterior", "posterior", WidgetState(id=button, trigger_value=True))

    def link(self) -> RerunData:
        """A link to the papers."""
        return self.message("papers", "posterior", full=False)

    def knob(self, shown: str = "posterior") -> RerunData:
        """A knob that was moved a moment ago."""
        slider = self.app.select_slider(key="c").set_value(50)
        return self.message(shown, shown, slider._widget_state)

    def knob_there(self) -> RerunData:
        """The same, when the browser had been told already that the overview comes."""
        return self.knob("overview")


Say = Callable[[Browser], RerunData]
PLACES = {"_focus": lesson, "move_to": session, "_navigation": router, "plain": labels}
"""Where a run is interrupted: as a button is taken in, as a lesson's step moves the knobs, as the
sidebar is drawn, and at its end."""

PRESSED, SET, DRAWN, ENDED = PLACES


@pytest.mark.parametrize(
    ("first", "then", "page"),
    [
        (Browser.next, [("overview", DRAWN, Browser.knob)], "overview"),
        (Browser.next, [("overview", DRAWN, Browser.next), ("", ENDED, Browser.knob_there)],
         "overview"),
        (Browser.next, [("", PRESSED, Browser.knob)], "overview"),
        (Browser.next, [("posterior", SET, Browser.knob)], "overview"),
        (Browser.next, [("posterior", SET, Browser.next)], "overview"),
        (Browser.next, [("posterior", SET, Browser.link)], "papers"),
        (Browser.knob, [("posterior", DRAWN, Browser.link), ("papers", DRAWN, Browser.knob)],
         "papers"),
        (Browser.link, [("papers", DRAWN, Browser.next)], "overview"),
    ],
)  # fmt: skip
def test_the_last_press_leads_to_the_page_asked_for(
    first: Say, then: list[tuple[str, str, Say]], page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    take_messages(monkeypatch)
    browser, due = Browser(), list(then)

    def interrupted(name: str, do: Callable[..., Any]) -> Callable[..., Any]:
        def done(*given: Any) -> Any:
            pages = [each.page if isinstance(each, View) else each for each in given][:1]
            pages = [each.file for each in pages if isinstance(each, Page)]
            if due and due[0][1] == name and due[0][0] in ("", *pages):
                context = get_script_run_ctx()
                assert context is not None
                assert context.script_requests is not None
                context.script_requests.request_rerun(due.pop(0)[2](browser))
            return do(*given)

        return done

    for name, module in PLACES.items():
        monkeypatch.setattr(module, name, interrupted(name, getattr(module, name)))
    message = first(browser)
    browser.app._page_hash = message.page_script_hash
    assert message.context_info is not None
    browser.app.context = {"url": message.context_info.url}
    app = browser.app._run(message.widget_states)
    assert not due
    assert not app.exception
    found = app._registered_pages[app._finished_page_script_hash]["script_path"]
    assert Path(found).stem == page
    if page == "overview":
        # The step has set it, whatever number the browser said.
        assert app.session_state["n"] == 5000
