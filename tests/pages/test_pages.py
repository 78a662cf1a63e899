"""Every page, found by glob, runs without a browser: as it opens, and with bad links."""

from __future__ import annotations

import re

import pytest
from streamlit.testing.v1 import AppTest

from abcdp_core import studies
from abcdp_core.own_model.user_errors import OwnError
from abcdp_core.parameters import ParameterError
from tests.pages.app import (
    ROOT,
    gone_to,
    linked,
    opened,
    pictures,
    said_twice,
    settled,
    texts,
    translated,
)
from ui.figures import labels
from ui.parts import overview
from ui.view import controls_spec, page_table, session

PAGES = sorted(path.stem for path in (ROOT / "pages").glob("*.py"))

SHOWING = [page for page in PAGES if page != "lessons"]
"""Pages with figures; that of the lessons leads to them."""

UNSTAMPED = {"distances", "papers", "published_queries", "your_own_data"}
"""Pages that are no demonstration with a seed to show."""


def test_table_lists_every_page() -> None:
    assert sorted(page.file for page in page_table.TABLE) == PAGES


@pytest.mark.parametrize("page", SHOWING)
def test_page_as_it_opens_with_its_theory_and_once_more(page: str) -> None:
    """A page is opened once and asked everything that its first look can answer."""
    app = opened(page)
    for unfolded in (False, True, False):
        app.session_state["theory"] = unfolded
        app = settled(app.run()) if unfolded or "MATH" in texts(app) else app
        assert not app.exception
        assert not [*app.warning, *app.error]
        assert app.title
        assert pictures(app)
        assert not said_twice(app)
        assert not translated(app)
        assert "Privacy label" in texts(app)
        assert (labels.STAMP in texts(app)) == (page not in UNSTAMPED)
        assert knobs_in_sidebar(app)[: len(used(page))] == used(page)
        assert ("MATH" in texts(app)) == unfolded
        assert any(re.match(r"def \w+\(", code.value) for code in app.code) == unfolded


def used(file: str) -> list[str]:
    """Labels of those of the four knobs that the page's first view uses, in their order."""
    page = page_table.by_file(file)
    unused = page.unused(page.view and controls_spec.find(page.view, page.every).default)
    called = {"epsilon_total": "ε_total", "epsilon_abc": "ε_abc", "c": "c", "n": "N"}
    return [
        called[name] for name in controls_spec.FOUR if name not in unused or name in page.instead
    ]


def knobs_in_sidebar(app: AppTest) -> list[str]:
    # One that has a single value in a scenario is a text and not a slider.
    kinds = ("select_slider", "text_input")
    found = [element.label for element in app.sidebar if element.type in kinds]
    return [label.split(" ·")[0] for label in found]


BAD = {"seed": "many", "no_such_knob": "1", "posterior.view": "<b>", "mse-curves.runs": "0"}
"""What no link may hold; the values that take its place leave the work as small as it is."""

BAD_LINKS = [
    {"epsilon_total": "0", "c": "200", "resample": "perhaps", "sensitivity": "published"},
    {"epsilon_total": "1e9", "epsilon_abc": "-inf", "c": "nan", "noise_draw": "1000000"},
    {"epsilon_abc": "1e9", "n": "10", "c": "0", "sensitivity": "blunt", "resample": "true"},
]
"""Each is brought to an extreme where it goes beyond one."""

ALLOWED = {("c", "200"), ("sensitivity", "published"), ("noise_draw", "1000000"), ("n", "10")}
ALLOWED |= {("resample", "true")}


@pytest.mark.parametrize(("number", "page"), list(enumerate(SHOWING)))
def test_bad_link_is_said_and_survived_at_an_extreme_with_everything_hidden(
    number: int, page: str
) -> None:
    """One extreme for each page; each study is tried at all of them by its own tests."""
    asked = BAD | BAD_LINKS[number % len(BAD_LINKS)]
    hidden = {*page_table.known_keys()} - {*controls_spec.EVERYWHERE}
    app = opened(page, **asked, hide=",".join(sorted(hidden)))
    assert not app.exception
    assert pictures(app)
    assert "Privacy label" in texts(app)
    (warning,) = app.warning
    for item in asked.items():
        assert (f"{item[0]} = " in warning.value) == (item not in ALLOWED)


def test_what_is_said_of_an_old_link_that_shows_what_it_showed_is_dismissed() -> None:
    app = opened("posterior", c="0", version="0.1.0")
    assert app.sidebar.select_slider(key="epsilon_total").value == 1.0
    assert "ε_total = 1," in texts(app)
    assert "c = 0" in app.warning[0].value
    assert "Numbers may differ." in app.info[0].value
    for _ in ("the note", "the notices"):
        next(button for button in app.button if button.label == "Dismiss").click().run()
    assert not settled(app).warning
    assert not app.info


def test_each_scenario_keeps_the_values_of_its_knobs() -> None:
    def at(app: AppTest) -> list[object]:
        return [app.sidebar.select_slider(key=key).value for key in ("c", "epsilon_abc")]

    app = opened("posterior", epsilon_abc="0.2", c="20")
    app = settled(app.selectbox(key="named-scenario").set_value("covid").run())
    assert not app.exception
    assert at(app) == [5, 0.1]
    app.sidebar.select_slider(key="c").set_value(10).run()
    app = settled(app.selectbox(key="named-scenario").set_value("uniform-mixture").run())
    assert at(app) == [20, 0.2]
    # A page that chooses no scenario shows the first, with the values set for it.
    app = gone_to(app, "flip_probability")
    assert at(app) == [20, 0.2]


def test_a_link_is_read_by_the_bounds_of_its_scenario() -> None:
    assert not opened("posterior", scenario="covid", n="18", epsilon_abc="0.1").warning
    assert "n = 18" in opened("posterior", n="18").warning[0].value


def test_the_budget_of_each_person_is_a_knob_of_its_own() -> None:
    own = "adaptive-truncation.epsilon_total"
    app = opened("adaptive_truncation", version="0.1.0", epsilon_total="5")
    assert app.sidebar.select_slider(key=own).value == 5.0
    app = opened("adaptive_truncation", epsilon_total="5")
    assert app.sidebar.select_slider(key=own).value == 1.0
    assert app.sidebar.select_slider(key="epsilon_total").disabled
    app = gone_to(app, "posterior")
    assert app.sidebar.select_slider(key="epsilon_total").value == 5.0
    assert not app.warning


def test_a_retired_preset_leads_to_its_successor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(studies.RETIRED, "y23-former", "y23-intervals")
    app = opened("adaptive_truncation", preset="y23-former")
    assert not app.exception
    assert app.selectbox(key="preset").value == "y23-intervals"
    said = app.warning[0].value.replace("` ", "").replace(" `", "")
    assert "preset = y23-former: retired. Shown instead: y23-intervals." in said
    assert app.get("plotly_chart")


@pytest.mark.parametrize("page", ["posterior", "privacy_and_accuracy", "overview"])
def test_a_combination_that_is_not_allowed_is_one_sentence(page: str) -> None:
    query = {"n": "20000", "pool_size": "100000"}
    app = opened(page, **query)
    assert not app.exception
    (warning,) = app.warning
    assert "n * pool_size" in warning.value
    for key in query:
        app.sidebar.select_slider(key=key).set_value(100)
    assert not settled(app.run()).warning
    assert pictures(app)


def test_a_value_between_the_steps_is_kept_also_where_a_page_does_not_show_it() -> None:
    app = opened("posterior", epsilon_total="0.7", c="37")
    assert app.sidebar.select_slider(key="epsilon_total").value == 0.7
    app = gone_to(app, "papers")
    assert app.sidebar.select_slider(key="c").disabled
    assert "Not used on this page." in texts(app)
    app = gone_to(app, "posterior")
    assert app.sidebar.select_slider(key="c").value == 37


def test_new_noise_is_counted_until_something_public_changes() -> None:
    app = opened("overview", noise_draw="7")
    assert "Try *New noise*" in texts(app)
    app = settled(app.button(key="new-noise").click().run())
    runs = app.session_state[overview.SEEN][1]
    assert [*runs] == [7, 8]
    assert overview.in_words([*runs.values()]) in texts(app)
    # The same noise again is no further draw, and seen last.
    app.session_state["noise_draw"] = 7
    app = settled(app.run())
    assert [*app.session_state[overview.SEEN][1]] == [8, 7]
    app = settled(app.select_slider(key="c").set_value(20).run())
    assert [*app.session_state[overview.SEEN][1]] == [7]
    assert "draws of noise, kept" not in texts(app)


@pytest.mark.parametrize("kind", [OwnError, ParameterError])
def test_a_model_that_cannot_be_used_is_told_as_it_stands_and_no_other_error_is(
    kind: type[ParameterError], monkeypatch: pytest.MonkeyPatch
) -> None:
    def begin(*_: object) -> None:
        raise kind("mine.py: simulate cannot be computed (line 3: *boom*).")

    monkeypatch.setattr(session, "begin", begin)
    app = linked("overview")
    assert bool(app.exception) == (kind is ParameterError)
    assert ["` mine.py: simulate cannot be computed (line 3: *boom*). `" in each.value
            for each in app.error] == [True] * (kind is OwnError)  # fmt: skip


EXTREMES = (
    ("overview", {"epsilon_total": "0.001", "epsilon_abc": "0.35", "c": "200", "n": "100"}),
    ("overview", {"epsilon_total": "100", "c": "1", "epsilon_abc": "0.001"}),
    ("flip_probability", {"epsilon_total": "0.001", "c": "200"}),
    ("flip_probability", {"epsilon_total": "100", "epsilon_abc": "1.4", "c": "1"}),
    ("posterior", {"scenario": "covid", "n": "18", "c": "1", "epsilon_total": "0.001"}),
    ("posterior", {"posterior.view": "change one person", "n": "10", "c": "1"}),
    ("privacy_and_accuracy", {"n": "10", "epsilon_total": "0.001"}),
    ("case_studies", {"case-studies.view": "tuberculosis", "epsilon_total": "0.001"}),
    ("mechanisms", {"compare-mechanisms.scenario": "covid", "n": "18", "epsilon_total": "100"}),
    ("plan", {"plan.goal": "error-below", "n": "10", "epsilon_total": "0.01"}),
)


@pytest.mark.slow
@pytest.mark.parametrize(("page", "settings"), EXTREMES)
def test_a_page_reads_as_written_in_english_at_the_ends_of_its_knobs(
    page: str, settings: dict[str, str]
) -> None:
    assert translated(opened(page, **settings)) == []
