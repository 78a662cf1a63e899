"""Links for a class: locked and hidden knobs, the dialog that makes such links, pinned figures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from abcdp_core import __version__, experiments, figures
from tests.pages.app import ROOT, opened, pictures, said_twice, settled, texts
from ui import asking, class_link, knobs, link, locks, pin, router, state, watch
from ui.job import Request

KNOWN = {*router.known_keys()} - {*knobs.EVERYWHERE}


# ------------------------------------------------------------------------------------------- links


@pytest.mark.parametrize(
    ("text", "names", "in_vain"),
    [
        ("", (), ()),
        (" c , n,,c", ("c", "n"), ()),
        ("c,no_such", ("c",), ("no_such",)),
        ("posterior.view,preset,scenario", ("posterior.view", "preset", "scenario"), ()),
        ("![x](http://y),lock", (), ("![x](http://y)", "lock")),
    ],
)
def test_a_list_of_knobs_keeps_names_that_exist(
    text: str, names: tuple[str, ...], in_vain: tuple[str, ...]
) -> None:
    found, notices = link.read_names("lock", text, KNOWN)
    assert found == names
    assert [f"` lock = {name} `: unknown, so left out." for name in in_vain] == [*notices]


def test_a_long_list_is_read_at_once_and_each_name_said_once() -> None:
    text = ",".join(["c"] * 3000 + [f"k{number}" for number in range(3000)] * 2)
    names, notices = link.read_names("hide", text, KNOWN)
    assert names == ("c",)
    assert len(notices) == 3000


def test_pairs_read_back_what_was_written_and_are_brought_into_their_range() -> None:
    known = {key: knobs.find(key) for key in knobs.SHARED}
    values = {"c": 10, "epsilon_total": 0.2, "resample": True, "sensitivity": "published"}
    assert link.read_pairs("pin", link.pairs(values), known) == (values, ())
    found, notices = link.read_pairs("pin", "c:0,c:9999,no:1,<b>,n:x,epsilon_abc:0.3,,", known)
    assert found == {"c": 1000, "n": knobs.find("n").default, "epsilon_abc": 0.3}
    assert len(notices) == 5
    assert all(notice.startswith("In pin: ") for notice in notices)


def test_no_choice_of_a_knob_has_the_signs_between_pairs() -> None:
    for page in router.TABLE:
        for key in page.knobs(None):
            for option in knobs.find(key, page.every).parameter.options:
                assert not {*",:"} & {*str(option)}, key


# ------------------------------------------------------------------------------- locked and hidden


def test_a_locked_knob_is_shown_with_its_value_and_a_hidden_one_is_not() -> None:
    app = opened("posterior", c="20", lock="c", hide="epsilon_abc,noise_draw")
    assert not app.exception
    assert not app.warning
    said = texts(app)
    assert "c = **20** :material/lock:" in said
    assert "Noise draw number" not in said
    assert app.select_slider(key="c").disabled
    assert app.select_slider(key="epsilon_abc").disabled
    assert not app.select_slider(key="n").disabled
    assert not [button for button in app.button if button.key == "new-noise"]
    assert locks.REASON not in said
    titles = "".join(str(each.proto) for each in app.get("html"))
    assert all(f"{name}&nbsp;=&nbsp;{value}" in titles for name, value in (("c", 20), ("N", 100)))
    assert "_abc&nbsp;=&nbsp;0.1" in titles
    assert "Some knobs are locked or hidden by this link." in said
    app = settled(app.button(key="unlock").click().run())
    assert not app.select_slider(key="c").disabled
    assert app.select_slider(key="c").value == 20
    assert app.button(key="new-noise")
    assert "by this link" not in texts(app)


def test_what_is_shared_says_where_a_locked_knob_of_another_page_stands() -> None:
    """Who got the link found it locked at its default."""
    app = opened("overview", **{"mse-curves.runs": "20", "lock": "mse-curves.runs"})
    (share,) = [each for each in app.get("bidi_component") if each.key == "share"]
    assert "mse-curves.runs=20" in str(share.proto)
    assert "lock=mse-curves.runs" in str(share.proto)


def test_a_locked_choice_of_another_page_need_not_suit_the_scenario_here() -> None:
    """It was set to another one, and locked there."""
    asked = {"compare-mechanisms.scenario": "covid-people", "posterior.view": "change one person"}
    app = opened("mechanisms", **asked, lock="posterior.view")
    assert not any("posterior.view" in str(each.value) for each in app.warning)
    (share,) = [each for each in app.get("bidi_component") if each.key == "share"]
    assert "posterior.view=change+one+person" in str(share.proto)


def test_another_pages_scenario_moves_no_locked_choice() -> None:
    app = opened("posterior", **{"posterior.view": "change one person"}, lock="posterior.view")
    app = settled(app.switch_page("pages/mechanisms.py").run())
    app.session_state["compare-mechanisms.scenario"] = "covid-people"
    app = settled(app.run())
    assert app.session_state["posterior.view"] == "change one person"


def test_it_stays_from_page_to_page_and_in_the_address() -> None:
    app = opened("posterior", lock="c,n", hide="seed")
    app = settled(app.switch_page("pages/flip_probability.py").run())
    assert app.select_slider(key="c").disabled
    assert app.query_params["lock"] == "c,n"
    assert app.query_params["hide"] == "seed"
    (share,) = [each for each in app.get("bidi_component") if each.key == "share"]
    assert "lock=c%2Cn" in str(share.proto)
    assert "hide=seed" in str(share.proto)


@pytest.mark.parametrize(
    "query",
    [
        {"lock": "no_such,<b>,![](http://x.y/z.png)", "hide": "lesson,step,lock,hide,pin"},
        {"lock": ",".join(f"k{number}" for number in range(1000))},
    ],
)
def test_what_a_list_cannot_have_is_said_as_text(query: dict[str, str]) -> None:
    app = opened("posterior", **query)
    (warning,) = app.warning
    assert "Not everything in the link could be used" in warning.value
    assert "`: " in warning.value
    assert pictures(app)
    assert "by this link" not in texts(app)


@pytest.mark.parametrize("page", [page.file for page in router.TABLE if page.file != "lessons"])
def test_everything_hidden_leaves_what_comes_of_it(page: str) -> None:
    app = opened(page, hide=",".join(sorted(KNOWN)))
    assert not app.exception
    assert not app.warning
    assert pictures(app)
    assert "Privacy label" in texts(app)


def test_what_would_move_a_locked_knob_is_locked_with_it() -> None:
    app = opened("posterior", lock="c")
    assert app.selectbox(key="scenario").disabled, "another scenario has another c"
    assert not app.button_group(key="posterior.view").disabled
    app = opened("gaussian_noise", lock="epsilon_abc")
    view = app.button_group(key="gaussian-noise.view")
    assert view.options == ["soft weights", "rejection", "what it costs"]
    app = opened("privacy_and_accuracy", lock="c,noise_draw")
    assert app.selectbox(key="preset").disabled
    assert app.button(key="new-noise").disabled


def test_what_another_page_has_locked_outlives_a_reload_of_a_page_without_it() -> None:
    app = opened("posterior", scenario="covid-people", lock="scenario")
    settled(app.switch_page("pages/overview.py").run())
    there = {
        key: value if isinstance(value, str) else value[0]
        for key, value in app.query_params.items()
    }
    assert there["lock"] == "scenario"
    again = opened("overview", **there)
    assert not again.warning
    settled(again.switch_page("pages/posterior.py").run())
    assert again.session_state["scenario"] == "covid-people"
    assert "Scenario = **covid-people** :material/lock:" in texts(again)


def test_a_locked_preset_stays_and_a_locked_seed_moves_no_preset() -> None:
    app = opened("adaptive_truncation", preset="y23-intervals", lock="preset")
    assert app.button_group(key="adaptive-truncation.view").disabled
    assert "Settings = **y23-intervals** :material/lock:" in texts(app)
    app = opened("privacy_and_accuracy", lock="noise_draw,figures.format")
    assert not app.selectbox(key="preset").disabled


@pytest.mark.parametrize(("lock", "budget", "mechanism"), [
    ("", 2.0, "noisy-counts"),
    ("epsilon_total", 0.2, "noisy-counts"),
    ("mechanism-posterior.mechanism", 2.0, "sparse-vector"),
])  # fmt: skip
def test_a_click_moves_no_locked_knob(
    monkeypatch: pytest.MonkeyPatch, lock: str, budget: float, mechanism: str
) -> None:
    held: dict[str, object] = {
        "epsilon_total": 0.2, "mechanism-posterior.mechanism": "sparse-vector", "lock": (lock,),
    }  # fmt: skip
    monkeypatch.setattr(state.st, "session_state", held)
    asking.choose_release(figures.called("noisy-counts"), 2.0)
    assert (held["epsilon_total"], held["mechanism-posterior.mechanism"]) == (budget, mechanism)


def test_a_lesson_sets_its_knobs_and_a_locked_one_is_not_left() -> None:
    app = opened("lessons", lock="c,lesson")
    assert all(button.disabled for button in app.button if button.key.startswith("lesson-begin"))
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    asked = {"lesson": "one-person", "step": "3", "lock": "c,lesson", "version": __version__}
    for key, text in asked.items():
        app.query_params[key] = text
    app = settled(app.run())
    assert "c = **1** :material/lock:" in texts(app)
    assert app.button(key="lesson-leave").disabled
    assert not app.button(key="lesson-next").disabled


def test_nothing_is_said_of_what_cannot_be_done() -> None:
    for query in ({}, {"posterior.view": "many releases"}):
        assert "*New noise*" in texts(opened("posterior", **query))
        assert "*New noise*" not in texts(opened("posterior", hide="noise_draw", **query))


# ---------------------------------------------------------------------------------- the class link


def made(app: AppTest) -> tuple[str, Mapping[str, str]]:
    """Page and query of the link that the dialog shows, and what stands below it."""
    (shown,) = [each for each in app.get("bidi_component") if each.key == "class-link-made"]
    data = json.loads(shown.proto.json)
    parts = urlsplit(data["link"])
    assert data["code"].startswith("<svg")
    assert "Only this computer can open this link" in data["note"] or not parts.hostname
    return parts.path, dict(parse_qsl(parts.query))


def test_the_dialog_makes_a_link_of_this_page() -> None:
    app = settled(opened("posterior", c="20", lock="c").button(key="class-link").click().run())
    _, query = made(app)
    assert (query["lock"], query["c"], query["version"]) == ("c", "20", __version__)
    assert "projector" not in query
    app.button_group(key="class-posterior-n").set_value("hidden").run()
    app.toggle(key="class-projector").set_value(True).run()
    _, query = made(app)
    assert (query["lock"], query["hide"], query["projector"]) == ("c", "n", "true")
    app.button(key="class-all-locked").click().run()
    _, query = made(app)
    assert "hide" not in query
    assert {*query["lock"].split(",")} == {*state_of(app)} - {"figures.format"}
    # Nothing on the page has changed.
    assert not app.select_slider(key="n").disabled


def state_of(app: AppTest) -> tuple[str, ...]:
    (page,) = (page for page in router.TABLE if page.file == "posterior")
    return page.knobs(None)


def test_the_dialog_makes_a_link_of_a_lesson_whose_knobs_are_its_own() -> None:
    app = settled(opened("posterior").button(key="class-link").click().run())
    chosen = next(each for each in app.selectbox(key="class-opens").options if "2, step 2" in each)
    app.selectbox(key="class-opens").set_value(chosen).run()
    app.button_group(key="class-overview-lesson").set_value("locked").run()
    _, query = made(app)
    assert query == {
        "lesson": "large-data", "step": "2", "lock": "lesson", "version": __version__,
    }  # fmt: skip


def test_an_address_of_another_page_keeps_what_is_before_it() -> None:
    pages = {page.file: page for page in router.TABLE}
    first, other, third = pages["overview"], pages["posterior"], pages["distances"]
    assert router.TABLE[0].file == class_link.FIRST
    for base in ("http://abc.org:8501", "http://abc.org/some/where"):
        assert class_link.elsewhere(f"{base}/posterior", other, third) == f"{base}/distances"
        assert class_link.elsewhere(f"{base}/posterior", other, first) == f"{base}/"
        assert class_link.elsewhere(f"{base}/", first, other) == f"{base}/posterior"
    assert "reach abc.org:8501" in class_link.reachable("http://abc.org:8501/posterior?c=1")
    assert "nobody else" in class_link.reachable("http://localhost:8501/posterior?c=1")


# ------------------------------------------------------------------------------------------ pinned


def titles(app: AppTest) -> str:
    return "".join(str(each.proto.body) for each in app.get("html")).replace("&nbsp;", " ")


def charts(app: AppTest) -> dict[str, dict[str, Any]]:
    """Key of a chart -> its layout."""
    return {
        chart.proto.id.rpartition("-chart-")[2]: json.loads(chart.proto.spec)["layout"]
        for chart in app.get("plotly_chart")
    }


def test_a_pinned_figure_stands_beside_the_next_on_the_same_axes() -> None:
    app = opened("posterior", c="10")
    app = settled(app.button(key="pin").click().run())
    assert "Pinned as A" in texts(app)
    assert not said_twice(app)
    before = charts(app)
    app = settled(app.select_slider(key="c").set_value(20).run())
    assert not app.exception
    assert "**A → B:** c = 10 → 20" in texts(app)
    assert ("<b>A</b> c = 10" in titles(app), "<b>B</b> c = 20" in titles(app)) == (True, True)
    assert app.query_params["pin"] == "c:10"
    found = charts(app)
    assert found.keys() == before.keys() | {"pinned-posterior-posterior"}
    first, second = found["pinned-posterior-posterior"], found["posterior-posterior"]
    assert first["height"] == second["height"]
    for name in ("xaxis", "yaxis"):
        assert first[name]["range"] == second[name]["range"]
    app = settled(app.button(key="swap").click().run())
    assert app.select_slider(key="c").value == 10
    assert "c = 20 → 10" in texts(app)
    app = settled(app.button(key="unpin").click().run())
    assert charts(app).keys() == before.keys()
    assert "pin" not in app.query_params


def test_a_link_opens_the_pair_and_another_page_lets_go_of_it() -> None:
    app = opened("posterior", c="20", epsilon_total="1", pin="c:10,epsilon_total:0.2")
    assert not app.warning
    assert "c = 10 → 20" in texts(app)
    assert "ε_total = 0.2 → 1" in texts(app)
    assert "Privacy label of A: " in texts(app)
    (share,) = [each for each in app.get("bidi_component") if each.key == "share"]
    assert "pin=epsilon_total%3A0.2%2Cc%3A10" in str(share.proto)
    app = settled(app.switch_page("pages/flip_probability.py").run())
    assert "pin" not in app.query_params
    assert app.button(key="pin")


def test_a_pinned_scenario_is_swapped_with_its_knobs() -> None:
    app = opened("posterior", scenario="covid", n="18", epsilon_abc="0.1", c="5")
    app = settled(app.button(key="pin").click().run())
    app = settled(app.selectbox(key="scenario").set_value("uniform-mixture").run())
    app = settled(app.select_slider(key="c").set_value(20).run())
    assert "Scenario = covid → uniform-mixture" in texts(app)
    app = settled(app.button(key="swap").click().run())
    assert not app.exception
    assert app.selectbox(key="scenario").value == "covid"
    assert app.select_slider(key="c").value == 5
    app = settled(app.button(key="swap").click().run())
    assert app.select_slider(key="c").value == 20


def test_the_address_says_all_that_was_swapped() -> None:
    """What stands alike is where another scenario begins, and N has no widget there."""
    app = opened("posterior", scenario="uniform-mixture", n="100", c="100")
    app = settled(app.button(key="pin").click().run())
    app = settled(app.selectbox(key="scenario").set_value("tuberculosis-patients").run())
    assert app.select_slider(key="c").value == 100
    app = settled(app.button(key="swap").click().run())
    assert not app.exception
    assert [app.select_slider(key=key).value for key in ("c", "n")] == [100, 100]
    assert {key: dict(app.query_params).get(key) for key in ("c", "n")} == {"c": "100", "n": "100"}


def test_of_what_is_swapped_the_address_says_what_the_scenario_has_room_for() -> None:
    """Where B's scenario begins with other numbers than A's, A's stand within A's own limits."""
    app = opened("posterior", c="20", pin="scenario:covid-people")
    app = settled(app.button(key="swap").click().run())
    assert not app.exception
    assert app.select_slider(key="epsilon_abc").value == 200.0
    assert "epsilon_abc" not in app.query_params


@pytest.mark.parametrize("page", [page.file for page in router.TABLE if page.pins])
def test_every_page_that_pins_shows_both(page: str) -> None:
    view = {"adaptive-truncation.view": "best interval"} if page == "adaptive_truncation" else {}
    key = "adaptive-truncation.epsilon_total" if view else "epsilon_total"
    others = {
        "distances": "distance-forms.pairs:12",
        "published_queries": "published-query.simulations:5000",
    }
    knob = others.get(page, f"{key}:2")
    app = opened(page, pin=knob, **view)
    assert not app.exception
    assert not app.warning
    assert "A → B" in texts(app) or "the same for both" in texts(app)
    assert len([key for key in charts(app) if key.startswith("pinned-")]) == ("A → B" in texts(app))


def test_each_view_with_a_pinned_figure() -> None:
    views = {
        "posterior": ("posterior.view", ["many releases", "change one person", "synthetic data"]),
        "case_studies": ("case-studies.view", ["tuberculosis"]),
        "gaussian_noise": ("gaussian-noise.view", ["rejection", "what it costs"]),
        "mechanisms": ("mechanisms.view", ["what a budget buys", "coverage"]),
    }
    for page, (key, values) in views.items():
        for value in values:
            few = {"coverage.runs": "2", "synthetic-data.data_sets": "1"}
            app = opened(page, pin="epsilon_total:2", **few, **{key: value})
            assert not app.exception, value
            pinned = [each for each in charts(app) if each.startswith("pinned-")]
            assert len(pinned) == (value != "change one person"), value


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("c:100000,no:1,![x](http://y)", "In pin: "),
        ("posterior.view:many releases", "In pin: "),
        (",".join(f"c:{number}" for number in range(1000)), "In pin: "),
        ("c:", "In pin: "),
        ("c:150,pool_size:100", "The pinned settings do not go together"),
        ("scenario:covid,c:5", ""),
        ("scenario:tuberculosis,n:10000000", "In pin: "),
    ],
)
def test_a_hostile_pin_is_survived_and_said(asked: str, said: str) -> None:
    app = opened("posterior", pin=asked)
    assert not app.exception
    assert pictures(app)
    assert said in "".join(warning.value for warning in app.warning)
    assert bool(said) == bool(app.warning)


def test_where_nothing_is_pinned_a_link_is_told_so() -> None:
    app = opened("overview", pin="c:10")
    assert "this page pins no figure" in app.warning[0].value
    pinned = "adaptive-truncation.epsilon_total:2"
    app = opened("adaptive_truncation", preset="y23-intervals", pin=pinned)
    assert "Nothing stands beside it while a preset is in force." in texts(app)


def test_what_would_move_a_locked_knob_is_not_swapped() -> None:
    app = opened("posterior", c="20", pin="c:10", lock="c")
    assert app.button(key="swap").disabled
    assert not app.button(key="unpin").disabled


def test_a_figure_of_former_settings_is_not_called_by_the_new_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pin, "_differences", lambda: {"c": (10, 20)})
    drawn = figures.Drawn(figures.figure("A finding", "", ""), "")
    assert "<b>A</b> c&nbsp;=&nbsp;10" in pin._title("A", 0, drawn)
    assert "<b>B</b> c&nbsp;=&nbsp;20" in pin._title("B", 1, drawn)
    told = pin._title("B", 1, drawn, stale=True)
    assert "former settings" in told
    assert "20" not in told


def test_what_is_still_computed_is_not_the_pinned_one(monkeypatch: pytest.MonkeyPatch) -> None:
    study = experiments.load("posterior").Params
    now, then = study(c=20), study(c=10)
    seen: list[pin.Pinned] = []
    monkeypatch.setattr(pin, "_request", lambda *_: (Request("posterior", then, 1), ""))
    shown = {name: SimpleNamespace(params=then, seed=1) for name in ("posterior", pin.NAME)}
    monkeypatch.setattr(
        pin.watch, "growing_together", lambda asked, draw, **_: [draw(shown, False), asked][1]
    )
    pin.growing("posterior", lambda: (now, 1), lambda _, each: seen.append(each))
    assert seen[0].stale
    pin.growing("posterior", lambda: (then, 1), lambda _, each: seen.append(each))
    assert not seen[1].stale
    assert seen[1].result is shown["posterior"]


def test_a_pinned_figure_of_a_slow_model_is_waited_for_as_the_page_itself_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waited_for: list[str] = []

    def scales(place: object, leave: object, scenario: str) -> None:
        waited_for.append(scenario)
        if scenario == "covid":
            st.stop()

    monkeypatch.setattr(watch, "scales", scales)
    app = opened("posterior", pin="scenario:covid")
    assert waited_for == ["uniform-mixture", "covid"]
    assert not pictures(app)
    # Asked for again by whoever moves meanwhile.
    monkeypatch.setattr(watch, "scales", lambda place, leave, scenario: None)  # noqa: ARG005
    app = settled(app.run())
    assert not app.exception
    assert pictures(app)
    assert app.session_state["_pin"][1]["scenario"] == "covid"
