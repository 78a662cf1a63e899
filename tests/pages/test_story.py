"""The first page: the story has the program's knobs, and they have what it lets go of."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from tests.pages.app import linked, settled, texts
from ui.parts import story
from ui.view import page_table
from ui.view.view import View


def sent(app: AppTest) -> dict[str, Any]:
    """What the browser is told."""
    (found,) = [each for each in app.get("bidi_component") if each.key == "story"]
    return json.loads(found.proto.json)


def test_it_begins_with_its_first_scene_and_the_programs_knobs() -> None:
    app = settled(linked("overview"))
    assert sent(app)["setting"] == {
        **{"epsilonTotal": 0.2, "epsilonAbc": 0.1, "c": 10, "n": 5000},
        **{"noise": 0, "redrawn": False, "scene": 1},
    }
    # The sidebar has no second copy of them.
    assert not app.sidebar.button or "New noise" not in {each.label for each in app.sidebar.button}
    assert "Posterior, draw by draw" not in texts(app)


def test_a_link_with_settings_opens_the_last_scene_with_them() -> None:
    app = settled(linked("overview", c="20", epsilon_total="1", lock="c"))
    data = sent(app)
    assert (data["setting"]["scene"], data["setting"]["c"], data["held"]) == (8, 20, ["c"])
    assert (
        sent(settled(linked("overview", c="20", **{"overview.scene": "2"})))["setting"]["scene"]
        == 2
    )


@pytest.mark.parametrize(
    ("locked", "asked", "found"),
    [
        ((), {"epsilonTotal": 0.3, "c": 15, "scene": 8}, {"epsilon_total": 0.3, "c": 15}),
        ((), {"n": 1000, "redrawn": True, "noise": 3}, {"n": 1000, "resample": True}),
        (("c",), {"c": 20, "epsilonAbc": 0.2}, {"c": 10, "epsilon_abc": 0.2}),
        # What no slider of it says.
        ((), {"epsilonTotal": -1, "n": 7, "c": 0}, {"epsilon_total": 0.2, "n": 5000, "c": 10}),
    ],
)
def test_knobs_take_what_it_lets_go_of(
    monkeypatch: pytest.MonkeyPatch,
    locked: tuple[str, ...],
    asked: dict[str, Any],
    found: dict[str, Any],
) -> None:
    held = {"epsilon_total": 0.2, "epsilon_abc": 0.1, "c": 10, "n": 5000}
    state = {**held, "story": SimpleNamespace(get={"settled": asked}.get)}
    monkeypatch.setattr(st, "session_state", state)
    story.settle(View(page_table.by_file("overview"), dict(held), {}, locked=locked))
    assert {key: state[key] for key in found} == found
