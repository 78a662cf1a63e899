"""Every view of the pages that have several, but for the one that a page opens with."""

from __future__ import annotations

import pytest

from abcdp_core.experiments import accounting, change_one_person
from abcdp_core.parameters import text_of
from tests.pages.app import opened, pictures, said_twice, settled, texts
from ui.figures import captions
from ui.view import knobs, page_table


@pytest.mark.parametrize("scenario", knobs.find("scenario").parameter.options)
@pytest.mark.parametrize("view", knobs.find("posterior.view").parameter.options)
def test_every_view_of_the_posterior_with_every_scenario(view, scenario):
    usual = knobs.find("n", scenario=scenario).default
    n = {"uniform-mixture": 100, "tuberculosis": 100}.get(scenario, usual)
    threshold = knobs.find("epsilon_abc", scenario=scenario).default
    app = opened(
        "posterior",
        scenario=scenario,
        n=text_of(n),
        epsilon_abc=text_of(threshold),
        **{"posterior.view": view, "synthetic-data.data_sets": "1"},
    )
    assert not app.exception
    assert pictures(app)
    if view == "change one person" and not change_one_person.serves(scenario):
        (warning,) = app.warning
        assert "posterior.view = change one person: must be one of" in warning.value
    else:
        assert not app.warning
        assert "Privacy label" in texts(app)
        assert not said_twice(app)


def test_a_scenario_without_a_pool_does_not_offer_to_change_one_person():
    app = opened("posterior", **{"posterior.view": "change one person"})
    assert "The bound holds for every data set" in texts(app)
    app = settled(app.selectbox(key="scenario").set_value("tuberculosis").run())
    assert not app.exception
    assert not app.warning
    views = next(group for group in app.button_group if group.key == "posterior.view")
    assert "change one person" not in views.options
    assert views.value == "one release"
    assert pictures(app)


SMALL = {
    "San Francisco": {"epsilon_abc": "150"},
    "tuberculosis": {"epsilon_abc": "150", "tuberculosis-posterior.runs": "2"},
    "COVID-19": {"epsilon_abc": "0.1", "n": "18"},
    "coverage": {"coverage.runs": "2"},
}
"""Settings that make a view quick, or that it alone allows."""

SAID = {
    "what a budget buys": "a guess misses 90 in 100",
    "coverage": "Over 2 data sets, the lowest share",
    "tuberculosis": "What is protected is",
    "COVID-19": "What is protected is",
}

VIEWS = [
    (page.file, page.view, view)
    for page in page_table.TABLE
    if page.view
    for view in page.views
    if page.file == "case_studies" or view != knobs.find(page.view).default
]


@pytest.mark.parametrize(("page", "key", "view"), VIEWS)
def test_every_view_is_shown_whole(page, key, view):
    app = opened(page, **SMALL.get(view, {}), **{key: view})
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


def test_coverage_along_an_edge_from_a_small_pool_says_so():
    settings = {"mechanisms.view": "coverage", "coverage.runs": "2", "coverage.truths": "edge"}
    app = opened("mechanisms", pool_size="100", **settings)
    assert not app.exception
    assert "that hold a weight of at most 0.02" in texts(app)
    (said,) = (warning.value for warning in app.warning)
    assert "not along an edge" in said
    assert "A pool of 100 is too small" in said


def test_the_best_interval_is_called_narrow_at_a_small_budget_only():
    view = {"adaptive-truncation.view": "best interval"}
    app = opened("adaptive_truncation", **view, **{"adaptive-truncation.epsilon_total": "1000"})
    (first, *_) = app.get("plotly_chart")
    assert "μ ± 3.7 σ" in first.proto.alt
    assert "So at a small ε_total the best interval for μ is narrow" in texts(app)


def test_ways_of_asking_show_the_knobs_that_act_and_say_why_symbols_win():
    view = {"adaptive-truncation.view": "ways of asking"}
    app = opened("adaptive_truncation", **view, **{"adaptive-truncation.epsilon_total": "5"})
    assert "**Why symbols win:** noise on a number has to hide *how far*" in texts(app)
    assert len(pictures(app)) == 3
    # Nobody answers here: N does nothing, but keeps its value for the other views.
    assert app.sidebar.select_slider(key="adaptive-truncation.n").disabled
    page = page_table.by_file("adaptive_truncation")
    assert "adaptive-truncation.n" not in page.knobs("ways of asking")
    assert "adaptive-truncation.n" in page.knobs("live")
    assert "ways-of-asking.weight" not in [slider.key for slider in app.select_slider]


@pytest.mark.parametrize(
    ("page", "preset", "view"),
    [
        ("gaussian_noise", "p22-figure-4", {"gaussian-noise.view": "rejection"}),
        ("adaptive_truncation", "y23-intervals", {"adaptive-truncation.view": "live"}),
        ("adaptive_truncation", "y23-intervals", {}),
    ],
)
def test_a_preset_brings_its_view_also_where_a_link_asks_for_another(
    page: str, preset: str, view: dict[str, str]
) -> None:
    app = opened(page, preset=preset, **view)
    assert not app.exception
    assert app.get("plotly_chart")
    assert app.sidebar.select_slider(key="epsilon_total").disabled
    for key, asked in view.items():
        assert app.session_state[key] != asked
        assert key not in app.query_params or app.query_params[key] != asked
    assert "do not go together" not in texts(app)
