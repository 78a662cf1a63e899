"""Every page, found by glob, runs without a browser: as it opens, and with bad links."""

from __future__ import annotations

import re

import pytest
from streamlit.testing.v1 import AppTest

from abcdp_core import experiments
from tests.pages.app import ROOT, opened, pictures, said_twice, settled, texts
from ui.view import knobs, page_table

PAGES = sorted(path.stem for path in (ROOT / "pages").glob("*.py"))


def test_table_lists_every_page():
    assert sorted(page.file for page in page_table.TABLE) == PAGES


SHOWING = [page for page in PAGES if page != "lessons"]
"""Pages with figures; that of the lessons leads to them."""


@pytest.mark.parametrize("page", SHOWING)
def test_page_as_it_opens_with_its_theory_and_once_more(page):
    """A page is opened once and asked everything that its first look can answer."""
    app = opened(page)
    for unfolded in (False, True, False):
        app.session_state["theory"] = unfolded
        app = settled(app.run()) if unfolded or "MATH" in texts(app) else app
        assert not app.exception
        assert not app.warning
        assert not app.error
        assert app.title
        assert pictures(app)
        assert not said_twice(app)
        assert "Privacy label" in texts(app)
        assert knobs_in_sidebar(app)[: len(used(page))] == used(page)
        assert ("MATH" in texts(app)) == unfolded
        assert any(re.match(r"def \w+\(", code.value) for code in app.code) == unfolded


def used(file: str) -> list[str]:
    """Labels of those of the four knobs that the page's first view uses, in their order."""
    page = page_table.by_file(file)
    unused = page.unused(page.view and knobs.find(page.view, page.every).default)
    called = {"epsilon_total": "ε_total", "epsilon_abc": "ε_abc", "c": "c", "n": "N"}
    return [called[name] for name in knobs.FOUR if name not in unused or name in page.instead]


def knobs_in_sidebar(app: AppTest) -> list[str]:
    # One that has a single value in a scenario is a text and not a slider.
    kinds = ("select_slider", "text_input")
    labels = [element.label for element in app.sidebar if element.type in kinds]
    return [label.split(" ·")[0] for label in labels]


BAD = {
    "seed": "many",
    "no_such_knob": "1",
    "posterior.view": "<b>",
    "mse-curves.runs": "0",
}
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
def test_bad_link_is_said_and_survived_at_an_extreme(number, page):
    """One extreme for each page; each study is tried at all of them by its own tests."""
    asked = BAD | BAD_LINKS[number % len(BAD_LINKS)]
    app = opened(page, **asked)
    assert not app.exception
    assert pictures(app)
    (warning,) = app.warning
    for item in asked.items():
        assert (f"{item[0]} = " in warning.value) == (item not in ALLOWED)


def test_what_is_said_of_a_link_is_dismissed():
    app = opened("overview", c="0", version="0.0.1")
    assert "c = 0" in app.warning[0].value
    (note,) = [each.value for each in app.info if "version" in each.value]
    assert "Numbers may differ." in note
    for _ in ("the note", "the notices"):
        next(button for button in app.button if button.label == "Dismiss").click().run()
    assert not settled(app).warning
    assert not app.info


def test_each_scenario_keeps_the_values_of_its_knobs():
    app = opened("posterior", epsilon_abc="0.2", c="20")
    app.selectbox(key="scenario").set_value("covid").run()
    app = settled(app)
    assert not app.exception
    assert app.sidebar.select_slider(key="c").value == 5
    assert app.sidebar.select_slider(key="epsilon_abc").value == 0.1
    app.sidebar.select_slider(key="c").set_value(10).run()
    app.selectbox(key="scenario").set_value("uniform-mixture").run()
    app = settled(app)
    assert app.sidebar.select_slider(key="c").value == 20
    assert app.sidebar.select_slider(key="epsilon_abc").value == 0.2
    # A page that chooses no scenario shows the first, with the values set for it.
    app = settled(app.switch_page("pages/flip_probability.py").run())
    assert app.sidebar.select_slider(key="c").value == 20


def test_a_link_is_read_by_the_bounds_of_its_scenario():
    app = opened("posterior", scenario="covid", n="18", epsilon_abc="0.1")
    assert not app.warning
    app = opened("posterior", n="18")
    assert [warning for warning in app.warning if "n = 18" in warning.value]


def test_an_old_link_shows_what_it_showed():
    app = opened("posterior", version="0.1.0")
    assert app.sidebar.select_slider(key="epsilon_total").value == 1.0
    assert not app.warning
    assert "Numbers may differ" in app.info[0].value
    assert "ε_total = 1," in texts(app)


def test_the_budget_of_each_person_is_a_knob_of_its_own():
    own = "adaptive-truncation.epsilon_total"
    app = opened("adaptive_truncation", version="0.1.0", epsilon_total="5")
    assert app.sidebar.select_slider(key=own).value == 5.0
    assert "ε_total = 5" in texts(app)
    app = opened("adaptive_truncation", epsilon_total="5")
    assert app.sidebar.select_slider(key=own).value == 1.0
    assert app.sidebar.select_slider(key="epsilon_total").disabled
    app = settled(app.switch_page("pages/posterior.py").run())
    assert app.sidebar.select_slider(key="epsilon_total").value == 5.0
    assert not app.warning


def test_a_retired_preset_leads_to_its_successor(monkeypatch):
    monkeypatch.setitem(experiments.RETIRED, "y23-former", "y23-intervals")
    app = opened("adaptive_truncation", preset="y23-former")
    assert not app.exception
    assert app.selectbox(key="preset").value == "y23-intervals"
    (warning,) = app.warning
    said = warning.value.replace("` ", "").replace(" `", "")
    assert "preset = y23-former: retired. Shown instead: y23-intervals." in said
    assert app.get("plotly_chart")


@pytest.mark.parametrize(
    ("page", "query", "said"),
    [
        *((page, {"n": "20000", "pool_size": "100000"}, "n * pool_size")
          for page in ("posterior", "privacy_and_accuracy", "overview")),
        ("posterior", {"c": "1000"}, "c = 1000"),
    ],
)  # fmt: skip
def test_a_combination_that_is_not_allowed_is_one_sentence(page, query, said):
    app = opened(page, **query)
    assert not app.exception
    (warning,) = app.warning
    assert said in warning.value
    for key in query:
        app.sidebar.select_slider(key=key).set_value(100)
    assert not settled(app.run()).warning
    assert pictures(app)


def test_a_value_between_the_steps_is_kept_also_where_a_page_does_not_show_it():
    app = opened("posterior", epsilon_total="0.7", c="37")
    assert app.sidebar.select_slider(key="epsilon_total").value == 0.7
    assert not app.warning
    app = settled(app.switch_page("pages/papers.py").run())
    assert app.sidebar.select_slider(key="c").disabled
    assert "Not used on this page." in texts(app)
    app = settled(app.switch_page("pages/posterior.py").run())
    assert app.sidebar.select_slider(key="c").value == 37
