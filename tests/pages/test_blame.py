"""What a model of whoever runs the server does wrong is a sentence on the page."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from abcdp_core.own_model.blame import OwnError
from abcdp_core.parameters import ParameterError
from tests.pages.app import ROOT
from ui.view import session


@pytest.mark.parametrize("kind", [OwnError, ParameterError])
def test_a_model_that_cannot_be_used_is_told_as_it_stands_and_no_other_error_is(
    kind: type[ParameterError], monkeypatch: pytest.MonkeyPatch
) -> None:
    def begin(*_: object) -> None:
        raise kind("mine.py: simulate cannot be computed (line 3: *boom*).")

    monkeypatch.setattr(session, "begin", begin)
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    assert bool(app.exception) == (kind is ParameterError)
    assert [each.value for each in app.error] == [
        "A model that was added to this server cannot be used. "
        "` mine.py: simulate cannot be computed (line 3: *boom*). ` "
        "Open the page again without what follows `?` in its address."
    ] * (kind is OwnError)
