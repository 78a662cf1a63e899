"""Every view of the pages that have several, but for the one that a page opens with."""

from __future__ import annotations

import re

import pytest

from abcdp_core import simulators
from abcdp_core.parameters import text_of
from abcdp_core.studies import accounting, change_one_person
from tests.pages.app import opened, pictures, said_twice, settled, texts
from ui.figures import captions
from ui.view import controls_spec, page_table

SCENARIOS, SHOWN = (
    [str(option) for option in controls_spec.find(key).parameter.options]
    for key in ("scenario", "posterior.view")
)
FEW = ("uniform-mixture", "tuberculosis")
"""Scenarios with so many people that fewer are quicker. Of the first, all views are looked at; of
the others one view each."""


@pytest.mark.parametrize(
    ("scenario", "view"),
    [
        (scenario, view)
        for at, scenario in enumerate(SCENARIOS)
        for view in (SHOWN if scenario == FEW[0] else [SHOWN[at % len(SHOWN)]])
    ],
)
def test_views_of_the_posterior_with_every_scenario_have_its_unit(scenario: str, view: str) -> None:
    usual, threshold = (
        text_of(controls_spec.find(key, scenario=scenario).default) for key in ("n", "epsilon_abc")
    )
    n = "100" if scenario in FEW else usual
    kind = {"posterior.view": view}
    app = opened("posterior", scenario=scenario, n=n, epsilon_abc=threshold, **kind)
    assert not app.exception
    assert pictures(app)
    if view == "change one person" and not change_one_person.serves(scenario):
        (warning,) = app.warning
        assert "posterior.view = change one person: must be one of" in warning.value
        return
    assert not app.warning
    assert not said_twice(app)
    label = next(each.value for each in app.markdown if each.value.startswith("**Privacy label"))
    assert f"rotects {simulators.load(scenario).PROTECTED}" in label
    assert scenario == "uniform-mixture" or not re.search(r"\bone point\b", texts(app))


def test_a_scenario_without_a_pool_does_not_offer_to_change_one_person() -> None:
    app = opened("posterior", **{"posterior.view": "change one person"})
    assert "The bound holds for all data sets" in texts(app)
    app = settled(app.selectbox(key="named-scenario").set_value("tuberculosis").run())
    assert not app.exception
    assert not app.warning
    views = next(group for group in app.button_group if group.key == "posterior.view")
    assert "change one person" not in views.options
    assert views.value == "one release"


SMALL = {
    "San Francisco": {"epsilon_abc": "150"},
    "tuberculosis": {"epsilon_abc": "150"},
    "COVID-19": {"epsilon_abc": "0.1", "n": "18"},
}
"""Settings that a view alone allows."""

SAID = {
    "what a budget buys": "guarantee that every attack misses at least",
    "coverage": "Over 2 data sets, coverage is lowest for",
    "tuberculosis": "This protects one of the N outbreaks",
    "COVID-19": "This protects one day",
    "ways of asking": "**Why symbols win:** noise on a number must hide *how far*",
}

VIEWS = [
    (page.file, page.view, view)
    for page in page_table.TABLE
    if page.view
    for view in page.views
    if page.file == "case_studies" or view != controls_spec.find(page.view).default
]


@pytest.mark.parametrize(("page", "key", "view"), VIEWS)
def test_every_view_is_shown_whole(page: str, key: str, view: str) -> None:
    budget = {"adaptive-truncation.epsilon_total": "5"} if view == "ways of asking" else {}
    app = opened(page, **SMALL.get(view, {}), **budget, **{key: view})
    assert not app.exception
    assert not app.error
    # Two data sets say little of coverage, and the page says so.
    assert bool(app.warning) == (view == "coverage")
    assert len(pictures(app)) >= 1 + (page != "adaptive_truncation")
    assert "Privacy label" in texts(app)
    assert not said_twice(app)
    assert SAID.get(view, "") in texts(app)
    if view == "what a budget buys":
        app.session_state["mechanisms-described"] = True
        said = texts(settled(app.run()))
        assert all(captions.mechanism(each.name) in said for each in accounting.compared())
        assert "[P21] Park, Vinaroz and Jitkrittum" in said
    if view == "ways of asking":
        # Nobody answers here: N does nothing, but keeps its value for the other views.
        assert app.sidebar.select_slider(key="adaptive-truncation.n").disabled
        assert "ways-of-asking.weight" not in [slider.key for slider in app.select_slider]


@pytest.mark.parametrize("view", [{"adaptive-truncation.view": "live"}, {}])
def test_a_preset_brings_its_view_also_where_a_link_asks_for_another(view: dict[str, str]) -> None:
    app = opened("adaptive_truncation", preset="y23-intervals", **view)
    assert not app.exception
    assert app.get("plotly_chart")
    assert app.sidebar.select_slider(key="epsilon_total").disabled
    for key, asked in view.items():
        assert app.session_state[key] != asked
        assert key not in app.query_params or app.query_params[key] != asked
    assert "do not go together" not in texts(app)
