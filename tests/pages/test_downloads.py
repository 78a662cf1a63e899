"""Downloads: prepared at a press, saved at a second one."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from abcdp_core.publish.output import citation, images
from abcdp_core.publish.output.formats import ExportError
from tests.pages.app import opened
from ui.figures import downloads

SOON = 20.0

Saved = dict[str, bytes]


@pytest.fixture
def saved(monkeypatch: pytest.MonkeyPatch) -> Saved:
    """What the buttons save: file -> bytes."""
    found: Saved = {}
    button = st.download_button

    def noted(label: str, data: bytes, name: str, *more: str, **named: str) -> bool:
        found[name] = data
        return button(label, data, name, *more, **named)

    monkeypatch.setattr(st, "download_button", noted)
    return found


def page() -> None:
    import streamlit as st

    from ui.figures import downloads

    asked = st.session_state
    downloads.prepare("x", "it", "x.txt", "text/plain", asked["sources"], asked["make"])


def shown(make: Callable[[], bytes]) -> AppTest:
    app = AppTest.from_function(page, default_timeout=60)
    app.session_state["sources"], app.session_state["make"] = (object(),), make
    return app.run()


def labels(app: AppTest) -> list[str]:
    return [each.proto.label for each in (*app.button, *app.get("download_button"))]


def press(app: AppTest, label: str) -> AppTest:
    return next(each for each in app.button if each.label.startswith(label)).click().run()


def ended(app: AppTest) -> AppTest:
    """Run the page again once its file is there."""
    assert app.session_state[downloads.PREPARED].job.ended.wait(SOON)
    return app.run()


def test_a_file_is_prepared_and_then_saved_and_others_have_to_be_prepared(saved: Saved) -> None:
    def fail() -> bytes:
        raise ExportError("No browser.")

    app = ended(press(shown(fail), "Prepare"))
    assert "No browser." in app.error[0].value
    assert labels(app) == ["Prepare it"]
    app = ended(press(shown(lambda: b"content"), "Prepare"))
    assert labels(app) == ["Save x.txt"]
    assert saved == {"x.txt": b"content"}
    app.session_state["sources"] = (object(),)
    assert labels(app.run()) == ["Prepare it"]


def test_a_page_has_a_zip_and_each_figure_files(
    saved: Saved, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROWSER_PATH", "nowhere")
    app = ended(press(opened("posterior"), "Prepare this page"))
    with zipfile.ZipFile(io.BytesIO(saved["posterior.zip"])) as archive:
        names = archive.namelist()
    assert {"note.txt", "command.txt", "posterior.json", "posterior.decisions.html"} <= {*names}
    # There are pictures only where a browser draws them.
    app.session_state["numbers-posterior-decisions"] = True
    (files,) = [each for each in app.run().button_group if each.label == "File"]
    assert files.options == ["html", "json"]
    assert images.obstacle() in "".join(caption.value for caption in app.caption)
    app = ended(press(app, "Prepare HTML"))
    assert saved["posterior.decisions.html"].startswith(b"<!")
    assert any(code.value.endswith(citation.TEXT) for code in app.code)
