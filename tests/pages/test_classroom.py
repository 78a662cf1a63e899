"""Links for a class: locked and hidden knobs, the dialog that makes such links, pinned figures."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from abcdp_core import __version__, figures
from tests.pages.app import ROOT, opened, pictures, said_twice, settled, texts
from ui.jobs import progress
from ui.view import knobs, link, page_table, params
from ui.view.view import View
from ui.widgets import class_link, compare

KNOWN = {*page_table.known_keys()} - {*knobs.EVERYWHERE}


def shared(app: AppTest) -> dict[str, str]:
    """What the link that Share copies says."""
    (button,) = [each for each in app.get("bidi_component") if each.key == "share"]
    return dict(parse_qsl(urlsplit(json.loads(button.proto.json)["link"]).query))


# ------------------------------------------------------------------------------------------- links


@pytest.mark.parametrize(
    ("text", "names", "in_vain"),
    [
        ("", (), ()),
        (" c , n,,c", ("c", "n"), ()),
        ("c,no_such", ("c",), ("no_such",)),
        ("posterior.view,preset,scenario", ("posterior.view", "preset", "scenario"), ()),
        ("![x](http://y),lock", (), ("![x](http://y)", "lock")),
        (",".join(["c"] * 3000 + ["k"] * 3000), ("c",), ("k",)),
    ],
)
def test_a_list_of_knobs_keeps_names_that_exist(
    text: str, names: tuple[str, ...], in_vain: tuple[str, ...]
) -> None:
    found, notices = link.read_names("lock", text, KNOWN)
    assert found == names
    assert [f"` lock = {name} `: unknown, so left out." for name in in_vain] == [*notices]


def test_pairs_read_back_what_was_written_and_are_brought_into_their_range() -> None:
    known = {key: knobs.find(key) for key in knobs.SHARED}
    values = {"c": 10, "epsilon_total": 0.2, "resample": True, "sensitivity": "published"}
    assert link.read_pairs("pin", link.pairs(values), known) == (values, ())
    found, notices = link.read_pairs("pin", "c:0,c:9999,no:1,<b>,n:x,epsilon_abc:0.3,,", known)
    assert found == {"c": 1000, "n": knobs.find("n").default, "epsilon_abc": 0.3}
    assert len(notices) == 5
    assert all(notice.startswith("In pin: ") for notice in notices)
    for page in page_table.TABLE:
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
    assert [app.select_slider(key=key).disabled for key in ("c", "epsilon_abc", "n")] == [1, 1, 0]
    assert not [button for button in app.button if button.key == "new-noise"]
    assert "*New noise*" not in said, "nothing is said of what cannot be done"
    titles = "".join(str(each.proto) for each in app.get("html"))
    assert all(f"{name}&nbsp;=&nbsp;{value}" in titles for name, value in (("c", 20), ("N", 100)))
    assert "_abc&nbsp;=&nbsp;0.1" in titles
    assert "Some knobs are locked or hidden by this link." in said
    app = settled(app.switch_page("pages/flip_probability.py").run())
    assert app.select_slider(key="c").disabled
    assert (app.query_params["lock"], app.query_params["hide"]) == ("c", "epsilon_abc,noise_draw")
    assert {*shared(app).items()} > {("lock", "c"), ("hide", "epsilon_abc,noise_draw")}
    app = settled(app.switch_page("pages/posterior.py").run())
    app = settled(app.button(key="unlock").click().run())
    assert not app.select_slider(key="c").disabled
    assert app.select_slider(key="c").value == 20
    assert app.button(key="new-noise")
    assert "*New noise*" in texts(app)
    assert "by this link" not in texts(app)


@pytest.mark.parametrize(
    ("page", "query", "said"),
    [
        ("overview", {"mse-curves.runs": "20", "lock": "mse-curves.runs"}, "mse-curves.runs"),
        # It was set to another scenario, and locked there.
        (
            "mechanisms",
            {
                "compare-mechanisms.scenario": "covid-people",
                "posterior.view": "change one person",
                "lock": "posterior.view",
            },
            "posterior.view",
        ),
    ],
)
def test_what_is_shared_says_where_a_locked_knob_of_another_page_stands(
    page: str, query: dict[str, str], said: str
) -> None:
    app = opened(page, **query)
    assert not any(said in str(each.value) for each in app.warning)
    assert (shared(app)[said], shared(app)["lock"]) == (query[said], said)


def test_another_pages_scenario_moves_no_locked_choice() -> None:
    app = opened("posterior", **{"posterior.view": "change one person"}, lock="posterior.view")
    app = settled(app.switch_page("pages/mechanisms.py").run())
    app.session_state["compare-mechanisms.scenario"] = "covid-people"
    app = settled(app.run())
    assert app.session_state["posterior.view"] == "change one person"


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


@pytest.mark.parametrize("page", [page.file for page in page_table.TABLE if page.experiment])
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
    app = opened("adaptive_truncation", preset="y23-intervals", lock="preset")
    assert app.button_group(key="adaptive-truncation.view").disabled
    assert "Settings = **y23-intervals** :material/lock:" in texts(app)
    app = opened("privacy_and_accuracy", lock="noise_draw,figures.format")
    assert not app.selectbox(key="preset").disabled, "no preset moves these"


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
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    asked = {"lesson": "one-person", "step": "3", "lock": "c,lesson", "version": __version__}
    for key, text in asked.items():
        app.query_params[key] = text
    app = settled(app.run())
    assert "c = **1** :material/lock:" in texts(app)
    assert app.button(key="lesson-leave").disabled
    assert not app.button(key="lesson-next").disabled


# ---------------------------------------------------------------------------------- the class link


def made(app: AppTest) -> dict[str, str]:
    """Query of the link that the dialog shows."""
    (shown,) = [each for each in app.get("bidi_component") if each.key == "class-link-made"]
    data = json.loads(shown.proto.json)
    assert data["code"].startswith("<svg")
    return dict(parse_qsl(urlsplit(data["link"]).query))


def test_the_dialog_makes_a_link_of_this_page() -> None:
    app = settled(opened("posterior", c="20", lock="c").button(key="class-link").click().run())
    query = made(app)
    assert (query["lock"], query["c"], query["version"]) == ("c", "20", __version__)
    assert "projector" not in query
    app.button_group(key="class-posterior-n").set_value("hidden").run()
    app.toggle(key="class-projector").set_value(True).run()
    query = made(app)
    assert (query["lock"], query["hide"], query["projector"]) == ("c", "n", "true")
    app.button(key="class-all-locked").click().run()
    query = made(app)
    assert "hide" not in query
    knobs_here = {*page_table.by_file("posterior").knobs(None)}
    assert {*query["lock"].split(",")} == knobs_here - {"figures.format"}
    # Nothing on the page has changed.
    assert not app.select_slider(key="n").disabled
    # A lesson's step sets its own knobs.
    chosen = next(each for each in app.selectbox(key="class-opens").options if "2, step 2" in each)
    app.toggle(key="class-projector").set_value(False)
    app.selectbox(key="class-opens").set_value(chosen).run()
    app.button(key="class-all-free").click().run()
    app.button_group(key="class-overview-lesson").set_value("locked").run()
    assert made(app) == {
        "lesson": "large-data", "step": "2", "lock": "lesson", "version": __version__,
    }  # fmt: skip


def test_a_class_link_says_who_can_open_it() -> None:
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
    assert "<b>A</b> c = 10" in titles(app)
    assert "<b>B</b> c = 20" in titles(app)
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
    app = opened("posterior", c="20", epsilon_total="1", pin="c:10,epsilon_total:0.2", lock="c")
    assert not app.warning
    assert "c = **20**" in texts(app)
    assert "c = 10 → 20" in texts(app)
    assert "ε_total = 0.2 → 1" in texts(app)
    assert "Privacy label of A: " in texts(app)
    assert shared(app)["pin"] == "epsilon_total:0.2,c:10"
    assert app.button(key="swap").disabled, "it would move a locked knob"
    assert not app.button(key="unpin").disabled
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


INTERVAL = {"adaptive-truncation.view": "best interval"}
PINS: dict[str, tuple[str, dict[str, str]]] = {
    "distances": ("distance-forms.pairs:12", {}),
    "published_queries": ("published-query.simulations:5000", {}),
    "adaptive_truncation": ("adaptive-truncation.epsilon_total:2", INTERVAL),
}
"""Pages whose main figure no budget moves, or in one view only."""

PINNED_VIEWS = [
    ("posterior", "posterior.view", ["many releases", "change one person", "synthetic data"]),
    ("case_studies", "case-studies.view", ["tuberculosis"]),
    ("gaussian_noise", "gaussian-noise.view", ["rejection", "what it costs"]),
    ("mechanisms", "mechanisms.view", ["what a budget buys", "coverage"]),
]


@pytest.mark.parametrize(
    ("page", "pin", "query"),
    [
        *((page.file, *PINS.get(page.file, ("epsilon_total:2", {})))
          for page in page_table.TABLE if page.pins),
        *((page, "epsilon_total:2", {key: view})
          for page, key, views in PINNED_VIEWS for view in views),
    ],
)  # fmt: skip
def test_every_view_that_pins_shows_both(page: str, pin: str, query: dict[str, str]) -> None:
    few = {"coverage.runs": "2", "synthetic-data.data_sets": "1"}
    app = opened(page, pin=pin, **few, **query)
    assert not app.exception
    both = len([key for key in charts(app) if key.startswith("pinned-")])
    same = "the same for both" in texts(app)
    assert both == ("A → B" in texts(app))
    assert both or same or "change one person" in query.values()


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


def test_what_is_still_computed_is_neither_the_pinned_one_nor_called_by_the_new_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page = page_table.by_file("posterior")
    seen: list[compare.Pinned] = []

    def grown(b: int) -> None:
        """A is pinned at c = 10; whatever is asked for, there are results for that only."""
        view = View(page, {"c": b, "pool_size": 200}, {})
        then = params.ask(view.at({"c": 10}), "posterior")
        shown = dict.fromkeys(
            ("posterior", compare.NAME), SimpleNamespace(params=then.params, seed=then.seed)
        )
        monkeypatch.setattr(
            progress,
            "growing_together",
            lambda asked, draw, **_: [draw(shown, False), asked][1],
        )
        compare.growing(
            view, lambda view: params.ask(view, "posterior"), lambda _, each: seen.append(each)
        )

    held = {"c": 10, "pool_size": 200}
    monkeypatch.setattr(st, "session_state", {compare.HELD: (page.file, held)})
    grown(20)
    grown(10)
    assert [each.stale for each in seen] == [True, False]


def test_a_pinned_figure_of_a_slow_model_is_waited_for_as_the_page_itself_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waited_for: list[str] = []

    def scales(place: object, leave: object, scenario: str) -> None:
        waited_for.append(scenario)
        if scenario == "covid":
            st.stop()

    monkeypatch.setattr(progress, "prepare_scales", scales)
    app = opened("posterior", pin="scenario:covid")
    assert waited_for == ["uniform-mixture", "covid"]
    assert not pictures(app)
    # Asked for again by whoever moves meanwhile.
    monkeypatch.setattr(progress, "prepare_scales", lambda *_: None)
    app = settled(app.run())
    assert not app.exception
    assert pictures(app)
    assert app.session_state[compare.HELD][1]["scenario"] == "covid"
