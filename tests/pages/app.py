"""The app without a browser, with a page open; small settings make it quick."""

from __future__ import annotations

import functools
import html
import json
import re
import time
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequests
from streamlit.runtime.state.session_state import SessionState
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Button

from abcdp_core import __version__
from abcdp_core.release.document import ReleaseRecord
from tests.english import EXCEPTIONS, habits
from ui.jobs import queue
from ui.release import release_state
from ui.server import streamlit_internals
from ui.view import page_table

# Each app looks for components in the metadata of all packages; they stay what they are.
pytest.MonkeyPatch().setattr(
    manifest_scanner,
    "scan_component_manifests",
    functools.cache(manifest_scanner.scan_component_manifests),
)

ROOT = Path(__file__).parents[2]
SMALL = {
    "n": "100",
    "pool_size": "200",
    "mse-curves.runs": "1",
    "flip-probability.draws": "20",
    "adaptive-truncation.n": "10",
    "adaptive-truncation.particles": "10",
    "estimation-accuracy.runs": "1",
    "compare-mechanisms.runs": "1",
    "distance-forms.pairs": "6",
    "plan.runs": "2",
    "covid-fit.runs": "1",
    "soft-abc.runs": "1",
    "gaussian-rejection.runs": "1",
    "tuberculosis-soft.runs": "2",
    "tuberculosis-posterior.runs": "2",
    "coverage.runs": "2",
    "synthetic-data.data_sets": "1",
    "published-query.simulations": "2000",
}

POLL = 2.0
"""Seconds until a look at work that goes on: much longer, and it would pass for unwatched."""

LONG = 40
"""Characters from which on a text is a sentence."""


def linked(page: str, at: str = "http://localhost:8501", **query: str) -> AppTest:
    """A page by a link of this version that sets nothing but what is given, as it is first seen."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    app.context["url"] = at
    app.query_params.update({"version": __version__} | query)
    return app.switch_page(f"pages/{page}.py").run()


def opened(page: str, **query: str) -> AppTest:
    """The app with a page open at small settings and its work done."""
    return settled(linked(page, **(SMALL | query)))


def settled(app: AppTest) -> AppTest:
    """The app once no progress bar is left.

    It looks again when the work is done: every look is a run of the page, on the same processors.
    """
    deadline = time.monotonic() + 120
    while app.get("progress") and not app.exception and time.monotonic() < deadline:
        for job in list(queue.current()._jobs.values()):
            job.ended.wait(POLL if job.active and job.wanted else 0.0)
        app.run()
    return app


def gone_to(app: AppTest, page: str) -> AppTest:
    """The app on another page."""
    return settled(app.switch_page(f"pages/{page}.py").run())


def pressed(app: AppTest, key: str) -> AppTest:
    """The app once a button was pressed."""
    return settled(app.button(key=key).click().run())


def moved(app: AppTest, key: str, value: object) -> AppTest:
    """The app once a knob was moved."""
    return settled(app.select_slider(key=key).set_value(value).run())


def button(app: AppTest, label: str) -> Button:
    """The one button with a label."""
    (found,) = [button for button in app.button if button.label == label]
    return found


def shared(app: AppTest) -> dict[str, str]:
    """What the link that Share copies says."""
    (button,) = [each for each in app.get("bidi_component") if each.key == "share"]
    return dict(parse_qsl(urlsplit(json.loads(button.proto.json)["link"]).query))


def pictures(app: AppTest) -> list[object]:
    """Figures, and the player of the adaptive half; what is in the sidebar is neither."""
    others = [each for each in app.get("bidi_component") if each.key not in ("share", "knobs")]
    players = [each for each in others if not str(each.key).startswith("motion-")]
    return [*app.get("plotly_chart"), *players]


def charts(app: AppTest) -> dict[str, dict[str, Any]]:
    """Key of a chart -> its layout."""
    return {
        chart.proto.id.rpartition("-chart-")[2]: json.loads(chart.proto.spec)["layout"]
        for chart in app.get("plotly_chart")
    }


def texts(app: AppTest) -> str:
    """All that a page says outside its figures."""
    plain = [each.proto.body for each in app.get("html") if each.proto.body.startswith("<p>")]
    marked = (html.unescape(re.sub("<[^>]+>", "", each)) for each in plain)
    folded = (each.label for each in app.expander)
    return "\n".join(
        [*(str(each.value) for each in [*app.markdown, *app.caption]), *marked, *folded]
    )


def said_twice(app: AppTest) -> list[str]:
    """What a page says twice: a text, a figure's sentence, a label, that it demonstrates."""
    texts = [str(each.value).strip() for each in app.markdown]
    long = [text for text in texts if len(text) >= LONG]
    labels = [text for text in texts if text.startswith("**Privacy label.**")]
    stamped = [text[:30] for text in labels if "Demonstration" in text]
    alternatives = [chart.proto.alt for chart in app.get("plotly_chart")]
    groups = long, stamped, alternatives
    return [text for each in groups for text in sorted({*each}) if each.count(text) > 1]


def translated(app: AppTest) -> list[str]:
    """Return the habits in all that a page shows: texts, titles, help, labels and alternatives."""
    assert not app.exception
    widgets = [*app.select_slider, *app.selectbox, *app.toggle, *app.button, *app.number_input]
    said = [each.label for each in widgets] + [str(each.proto.help) for each in widgets]
    drawn = [chart.proto.alt for chart in app.get("plotly_chart")]
    notices = [str(each.value) for each in (*app.warning, *app.info, *app.error)]
    found = habits("\n".join([texts(app), *said, *drawn, *notices]))
    return [each for each in found if not any(part in each for part in EXCEPTIONS)]


def take_messages(monkeypatch: pytest.MonkeyPatch, *, as_served: bool = True) -> None:
    """Take a browser's messages as this server does, else as Streamlit does; undone at the end."""
    monkeypatch.setattr(ScriptRequests, "_request_rerun_locked", streamlit_internals._join)
    monkeypatch.setattr(ScriptRequests, "on_scriptrunner_ready", streamlit_internals._ready)
    monkeypatch.setattr(ScriptRequests, "on_scriptrunner_yield", streamlit_internals._look)
    monkeypatch.setattr(SessionState, "on_script_will_rerun", streamlit_internals._prepare)
    if as_served:
        pages = [page.file for page in page_table.shown()]
        streamlit_internals.keep_clicks(pages)


# ------------------------------------------------------------------------ a release of one's own


def give(app: AppTest, content: bytes) -> AppTest:
    """The app once a file was given on its page."""
    app.file_uploader[0].set_value(("mine.csv", content, "text/csv"))
    return settled(app.run())


def documents(app: AppTest) -> list[ReleaseRecord]:
    """The releases of a session."""
    if release_state.STATE not in app.session_state:
        return []
    return [each.document for each in app.session_state[release_state.STATE].made]
