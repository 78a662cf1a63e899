"""Links for a class: locked and hidden knobs, the dialog that makes such links, pinned figures."""

from __future__ import annotations

import json
from types import SimpleNamespace
from urllib.parse import parse_qsl, urlsplit

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from abcdp_core import __version__, figures
from tests.pages.app import gone_to, linked, opened, pictures, pressed, settled, shared, texts
from ui.jobs import progress
from ui.view import page_table, params
from ui.view.view import View
from ui.widgets import class_link, compare

# ------------------------------------------------------------------------------- locked and hidden


def test_a_locked_knob_is_shown_with_its_value_and_a_hidden_one_is_not() -> None:
    app = opened("posterior", c="20", lock="c", hide="epsilon_abc,noise_draw")
    assert not app.exception
    assert not app.warning
    said = texts(app)
    assert "c = **20** :material/lock:" in said
    assert not {"c", "epsilon_abc"} & {slider.key for slider in app.select_slider}
    assert "n" in [slider.key for slider in app.select_slider]
    # Another scenario would have another c.
    assert "Scenario = **Five shares** :material/lock:" in said
    assert not app.button_group(key="posterior.view").disabled
    assert not [button for button in app.button if button.key == "new-noise"]
    assert "*New noise*" not in said, "nothing is said of what cannot be done"
    assert "Some knobs are locked or hidden by this link." in said
    app = gone_to(app, "flip_probability")
    assert "c = **20** :material/lock:" in texts(app)
    assert (app.query_params["lock"], app.query_params["hide"]) == ("c", "epsilon_abc,noise_draw")
    assert {*shared(app).items()} > {("lock", "c"), ("hide", "epsilon_abc,noise_draw")}
    app = pressed(gone_to(app, "posterior"), "unlock")
    assert not app.select_slider(key="c").disabled
    assert app.select_slider(key="c").value == 20
    assert "*New noise*" in texts(app)
    assert "by this link" not in texts(app)


def test_a_locked_knob_of_another_page_is_shared_and_outlives_a_reload() -> None:
    """It was set to another scenario than this page's, and locked there."""
    view = {"posterior.view": "many releases", "lock": "posterior.view,scenario"}
    app = opened("posterior", scenario="covid", n="18", **view)
    app = gone_to(app, "papers")
    assert shared(app)["posterior.view"] == "many releases"
    there = {
        key: value if isinstance(value, str) else value[0]
        for key, value in app.query_params.items()
    }
    assert there["lock"] == view["lock"]
    again = opened("papers", **there)
    assert not again.warning
    again = gone_to(again, "posterior")
    assert again.session_state["posterior.view"] == "many releases"
    assert "Scenario = **COVID-19, by day** :material/lock:" in texts(again)


def test_what_would_move_a_locked_knob_is_locked_with_it() -> None:
    for lock, is_disabled in (("c,noise_draw", True), ("noise_draw,figures.format", False)):
        app = opened("flip_probability", lock=lock)
        assert ("Preset = **my settings** :material/lock:" in texts(app)) == is_disabled, lock
        assert ("preset" in [each.key for each in app.selectbox]) != is_disabled
        assert app.button(key="new-noise").disabled
    app = opened("adaptive_truncation", preset="y23-intervals", lock="preset")
    assert "View = **best interval** :material/lock:" in texts(app)
    assert "Preset = **y23-intervals** :material/lock:" in texts(app)


@pytest.mark.parametrize(("lock", "budget", "mechanism"), [
    ("", 2.0, "noisy-counts"),
    ("epsilon_total", 0.2, "noisy-counts"),
    ("mechanism-posterior.mechanism", 2.0, "sparse-vector"),
])  # fmt: skip
def test_a_click_moves_no_locked_knob(
    monkeypatch: pytest.MonkeyPatch, lock: str, budget: float, mechanism: str
) -> None:
    held = {"epsilon_total": 0.2, "mechanism-posterior.mechanism": "sparse-vector"}
    monkeypatch.setattr(st, "session_state", held)
    view = View(page_table.by_file("mechanisms"), dict(held), {}, locked=(lock,))
    params.choose_mechanism(view, figures.called("noisy-counts"), 2.0)
    assert (held["epsilon_total"], held["mechanism-posterior.mechanism"]) == (budget, mechanism)


def test_a_lesson_sets_its_knobs_and_a_locked_one_is_not_left() -> None:
    app = opened("lessons", lock="c,lesson")
    assert all(button.disabled for button in app.button if button.key.startswith("lesson-begin"))
    app = settled(linked("posterior", lesson="one-person", step="2", lock="c,lesson"))
    assert " :material/lock:" in texts(app)
    assert app.button(key="lesson-leave").disabled
    assert not app.button(key="lesson-next").disabled


# ---------------------------------------------------------------------------------- the class link


def made(app: AppTest) -> dict[str, str]:
    """Query of the link that the dialog shows."""
    (shown,) = [each for each in app.get("bidi_component") if each.key == "class-link-made"]
    data = json.loads(shown.proto.json)
    assert data["code"].startswith("<svg")
    return dict(parse_qsl(urlsplit(data["link"]).query))


def test_the_dialog_makes_a_link_of_this_page_or_of_a_lesson() -> None:
    app = pressed(opened("posterior", c="20", lock="c"), "class-link")
    app.button_group(key="class-posterior-n").set_value("hidden").run()
    app.toggle(key="class-projector").set_value(True).run()
    query = made(app)
    assert (query["lock"], query["hide"], query["projector"]) == ("c", "n", "true")
    assert (query["c"], query["version"]) == ("20", __version__)
    app.button(key="class-all-locked").click().run()
    query = made(app)
    assert "hide" not in query
    here = {*page_table.by_file("posterior").knobs("one release")}
    assert {*query["lock"].split(",")} == here - {"figures.format"}
    # Nothing on the page has changed.
    assert not app.select_slider(key="n").disabled
    # A lesson's step sets its own knobs.
    chosen = next(each for each in app.selectbox(key="class-opens").options if "2, step 2" in each)
    app.toggle(key="class-projector").set_value(False)
    app.selectbox(key="class-opens").set_value(chosen).run()
    app.button(key="class-all-free").click().run()
    app.button_group(key="class-overview-lesson").set_value("locked").run()
    lesson = {"lesson": "large-data", "step": "2"}
    assert made(app) == lesson | {"lock": "lesson", "version": __version__}
    assert "reach abc.org:8501" in class_link.reachable("http://abc.org:8501/posterior?c=1")
    assert "only on this" in class_link.reachable("http://localhost:8501/posterior?c=1")


# ------------------------------------------------------------------------------------------ pinned


def test_a_link_opens_the_pair_and_another_page_lets_go_of_it() -> None:
    app = opened("posterior", c="20", epsilon_total="1", pin="c:10,epsilon_total:0.2", lock="c")
    assert not app.warning
    assert "c = 10 → 20" in texts(app)
    assert "ε_total = 0.2 → 1" in texts(app)
    assert "Privacy label of A: " in texts(app)
    assert shared(app)["pin"] == "epsilon_total:0.2,c:10"
    assert app.button(key="swap").disabled, "it would move a locked knob"
    assert "pin" not in gone_to(app, "papers").query_params


def test_a_pinned_scenario_is_swapped_with_its_knobs_and_the_address_says_all_of_them() -> None:
    """What stands alike is where another scenario begins, and N has no widget there."""
    app = pressed(opened("posterior", scenario="uniform-mixture", n="100", c="100"), "pin")
    app = settled(app.selectbox(key="named-scenario").set_value("tuberculosis-patients").run())
    assert app.select_slider(key="c").value == 100
    assert "Scenario = Five shares → Tuberculosis, by patient" in texts(app)
    app = pressed(app, "swap")
    assert not app.exception
    assert app.selectbox(key="named-scenario").value == "uniform-mixture"
    assert [app.select_slider(key=key).value for key in ("c", "n")] == [100, 100]
    assert {key: dict(app.query_params).get(key) for key in ("c", "n")} == {"c": "100", "n": "100"}
    # Where B's scenario begins with other numbers than A's, A's are within A's own limits.
    app = pressed(opened("posterior", c="20", pin="scenario:covid-people"), "swap")
    assert app.select_slider(key="epsilon_abc").value == 200.0
    assert "epsilon_abc" not in app.query_params


@pytest.mark.parametrize(
    ("page", "pin", "said"),
    [
        ("posterior", "c:100000,no:1,![x](http://y),c:,posterior.view:x", "In pin: "),
        ("posterior", "c:150,pool_size:100", "The pinned settings do not go together"),
        ("papers", "c:10", "this page pins no figure"),
    ],
)
def test_a_hostile_pin_is_survived_and_said(page: str, pin: str, said: str) -> None:
    app = opened(page, pin=pin)
    assert not app.exception
    assert pictures(app)
    assert said in "".join(warning.value for warning in app.warning)


def test_what_is_still_computed_is_neither_the_pinned_one_nor_called_by_the_new_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page = page_table.by_file("posterior")
    seen: list[compare.Pinned] = []

    def grown(b: int) -> None:
        """A is pinned at c = 10; whatever is asked for, there are results for that only."""
        view = View(page, {"c": b, "pool_size": 200}, {})
        then = params.ask(view.at({"c": 10}), "posterior")
        names = "posterior", compare.NAME
        shown = dict.fromkeys(names, SimpleNamespace(params=then.params, seed=then.seed))
        monkeypatch.setattr(
            progress, "growing_together", lambda asked, draw, **_: [draw(shown, False), asked][1]
        )
        compare.growing(
            view, lambda view: params.ask(view, "posterior"), lambda _, each: seen.append(each)
        )

    held = {"c": 10, "pool_size": 200}
    monkeypatch.setattr(st, "session_state", {compare.HELD: (page.file, held)})
    grown(20)
    grown(10)
    assert [each.stale for each in seen] == [True, False]
