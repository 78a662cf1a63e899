"""Every page, found by glob, runs without a browser: twice, with bad links, at extreme settings."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from abcdp_core import experiments
from abcdp_core.experiments import change_one_person
from abcdp_core.parameters import text_of
from ui import jobs, knobs, link, router

ROOT = Path(__file__).parents[2]
PAGES = sorted(path.stem for path in (ROOT / "pages").glob("*.py"))
SMALL = {
    "n": "100",
    "pool_size": "200",
    "mse-curves.runs": "1",
    "flip-probability.draws": "20",
    "adaptive-truncation.particles": "100",
    "estimation-accuracy.runs": "1",
    "compare-mechanisms.runs": "1",
    "distance-forms.pairs": "6",
    "soft-abc.runs": "1",
    "gaussian-rejection.runs": "1",
    "tuberculosis-soft.runs": "2",
}


def opened(page: str, **query: str) -> AppTest:
    """The app with a page open and its work done."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    for key, text in (SMALL | query).items():
        app.query_params[key] = text
    return settled(app.switch_page(f"pages/{page}.py").run())


def settled(app: AppTest) -> AppTest:
    """The app once no progress bar is left."""
    deadline = time.monotonic() + 120
    while app.get("progress") and not app.exception and time.monotonic() < deadline:
        app.run()
    return app


def pictures(app: AppTest) -> list[object]:
    """Figures, and the player of the adaptive half."""
    return [*app.get("plotly_chart"), *app.get("bidi_component")]


def texts(app: AppTest) -> str:
    return "\n".join(str(element.value) for element in [*app.markdown, *app.caption])


def test_table_lists_every_page():
    assert sorted(page.file for page in router.TABLE) == PAGES


@pytest.mark.parametrize("page", PAGES)
def test_page_as_it_opens_and_once_more(page):
    """A page is opened once and asked everything that its first look can answer."""
    app = opened(page)
    for _ in range(2):
        assert not app.exception
        assert not app.warning
        assert not app.error
        assert app.title
        assert pictures(app)
        assert "Privacy label" in texts(app)
        assert knobs_in_sidebar(app)[:4] == ["ε_total", "ε_abc", "c", "N"]
        assert "MATH" not in texts(app)
        app.session_state["theory"] = True
        app = settled(app.run())
        assert "MATH" in texts(app)
        assert any(code.value.startswith("def work(") for code in app.code)
        app.session_state["theory"] = False
        app = settled(app.run())


def knobs_in_sidebar(app: AppTest) -> list[str]:
    # One that has a single value in a scenario is a text and not a slider.
    kinds = ("select_slider", "text_input")
    labels = [element.label for element in app.sidebar if element.type in kinds]
    return [label.split(" ·")[0] for label in labels]


BAD_LINK = {
    "epsilon_total": "1e9",
    "epsilon_abc": "-inf",
    "c": "nan",
    "n": "9",
    "seed": "many",
    "resample": "perhaps",
    "sensitivity": "blunt",
    "no_such_knob": "1",
    "posterior.view": "<b>",
    "mse-curves.runs": "0",
}


@pytest.mark.parametrize("page", PAGES)
def test_bad_link_is_said_and_survived(page):
    app = opened(page, **BAD_LINK)
    assert not app.exception
    assert pictures(app)
    (warning,) = app.warning
    for key in BAD_LINK:
        assert f"{key} = " in warning.value


def test_dismissed_notice_stays_away():
    app = opened("start", c="0")
    next(button for button in app.button if button.label == "Dismiss").click().run()
    assert not settled(app).warning


EXTREMES = [
    {"epsilon_total": "0.001", "c": "200", "resample": "true", "sensitivity": "published"},
    {"epsilon_total": "1000", "c": "1", "epsilon_abc": "0.001", "noise_draw": "1000000"},
    {"epsilon_abc": text_of(knobs.find("epsilon_abc").parameter.high), "n": "10"},
]


@pytest.mark.parametrize(("number", "page"), list(enumerate(PAGES)))
def test_extreme_settings_give_a_figure(number, page):
    """One extreme for each page; each study is tried at all of them by its own tests."""
    app = opened(page, **EXTREMES[number % len(EXTREMES)])
    assert not app.exception
    assert not app.warning
    assert pictures(app)


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
    if view == "change one person" and not change_one_person.serves(scenario):
        (warning,) = app.warning
        assert "posterior.view = change one person: must be one of" in warning.value
        assert pictures(app)
    else:
        assert not app.warning
        assert pictures(app)
        assert "Privacy label" in texts(app)


def test_a_scenario_without_a_pool_does_not_offer_to_change_one_person():
    app = opened("posterior", **{"posterior.view": "change one person"})
    assert "compatible with the bound" in texts(app)
    chooser = next(group for group in app.button_group if group.key == "scenario")
    app = settled(chooser.set_value("tuberculosis").run())
    assert not app.exception
    assert not app.warning
    views = next(group for group in app.button_group if group.key == "posterior.view")
    assert "change one person" not in views.options
    assert views.value == "one release"
    assert pictures(app)


@pytest.mark.parametrize("view", knobs.find("gaussian-noise.view").parameter.options)
def test_every_view_of_gaussian_noise(view):
    threshold = "150" if view == "San Francisco" else "0.1"
    app = opened("gaussian_noise", epsilon_abc=threshold, **{"gaussian-noise.view": view})
    assert not app.exception
    assert not app.warning
    assert len(pictures(app)) >= 2
    assert "Privacy label" in texts(app)


def test_what_a_budget_buys_is_a_view_of_its_own():
    app = opened("mechanisms", **{"mechanisms.view": "what a budget buys"})
    assert not app.exception
    assert len(pictures(app)) == 2
    assert "a guess misses 90 times" in texts(app)


def test_coverage_is_a_view_of_its_own():
    app = opened("mechanisms", **{"mechanisms.view": "coverage", "coverage.runs": "2"})
    assert not app.exception
    assert len(pictures(app)) == 2
    assert "Privacy label" in texts(app)
    assert "that hold the truth (their mean width), 2 data sets" in texts(app)
    assert "Mean width of the intervals, 2 data sets" in texts(app)


def test_coverage_along_an_edge_from_a_small_pool_says_so():
    settings = {"mechanisms.view": "coverage", "coverage.runs": "2", "coverage.truths": "edge"}
    app = opened("mechanisms", pool_size="100", **settings)
    assert not app.exception
    assert "that hold a weight of at most 0.02" in texts(app)
    (said,) = (warning.value for warning in app.warning)
    assert "not along an edge" in said
    assert "A pool of 100 is too small" in said


@pytest.mark.parametrize("view", knobs.find("case-studies.view").parameter.options)
def test_every_case_study(view):
    app = opened(
        "case_studies",
        epsilon_abc="0.1" if view == "COVID-19" else "150",
        n="18" if view == "COVID-19" else "100",
        **{"case-studies.view": view, "tuberculosis-posterior.runs": "2"},
    )
    assert not app.exception
    assert not app.warning
    assert len(pictures(app)) >= 2
    assert "Privacy label" in texts(app)
    assert "Protected is" in texts(app)


def test_each_scenario_keeps_the_values_of_its_knobs():
    app = opened("posterior", epsilon_abc="0.2", c="20")
    chooser = [knob for knob in app.get("button_group") if knob.key == "scenario"]
    chooser[0].set_value("covid").run()
    app = settled(app)
    assert not app.exception
    assert app.sidebar.select_slider(key="c").value == 5
    assert app.sidebar.select_slider(key="epsilon_abc").value == 0.1
    app.sidebar.select_slider(key="c").set_value(10).run()
    chooser = [knob for knob in app.get("button_group") if knob.key == "scenario"]
    chooser[0].set_value("uniform-mixture").run()
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


@pytest.mark.parametrize("view", knobs.find("adaptive-truncation.view").parameter.options)
def test_every_view_of_adaptive_truncation(view):
    app = opened("adaptive_truncation", **{"adaptive-truncation.view": view})
    assert not app.exception
    assert not app.error
    assert pictures(app)
    assert "Privacy label" in texts(app)


def test_a_preset_brings_its_view_with_it():
    app = opened("adaptive_truncation", preset="y23-intervals")
    assert not app.exception
    assert app.get("plotly_chart")
    assert app.sidebar.select_slider(key="epsilon_total").disabled


def test_a_retired_preset_leads_to_its_successor(monkeypatch):
    monkeypatch.setitem(experiments.RETIRED, "y23-former", "y23-intervals")
    app = opened("adaptive_truncation", preset="y23-former")
    assert not app.exception
    assert app.selectbox(key="preset").value == "y23-intervals"
    (warning,) = app.warning
    assert "preset = y23-former: retired. Shown instead: y23-intervals." in warning.value
    assert app.get("plotly_chart")


@pytest.mark.parametrize("page", ["posterior", "privacy_and_accuracy", "start"])
def test_combination_that_is_not_allowed_is_one_sentence(page):
    app = opened(page, n="20000", pool_size="100000")
    assert not app.exception
    assert [w for w in app.warning if "n * pool_size" in w.value]
    app.sidebar.select_slider(key="n").set_value(100).run()
    assert not app.exception


def test_more_acceptances_than_draws_is_one_sentence():
    app = opened("posterior", c="1000")
    assert [w for w in app.warning if "c = 1000" in w.value and "200" in w.value]


def test_value_between_the_steps_is_kept():
    app = opened("posterior", epsilon_total="0.7", c="37")
    assert app.sidebar.select_slider(key="epsilon_total").value == 0.7
    assert app.sidebar.select_slider(key="c").value == 37
    assert not app.warning


def test_unused_knobs_are_disabled_and_say_why():
    app = opened("papers")
    slider = app.sidebar.select_slider(key="pool_size")
    assert slider.disabled
    assert "Not used on this page." in texts(app)


def test_preset_disables_what_it_sets_and_shows_claims():
    app = opened("case_studies", preset="p21-figure-4")
    assert not app.exception
    assert app.sidebar.select_slider(key="epsilon_total").disabled
    assert "[P21] Figure 4: ✓ agrees" in texts(app)


def test_script_sensitivity_is_labelled_not_private():
    app = opened("flip_probability", **{"flip-probability.script": "true"})
    assert "Not private" in texts(app)


def test_new_noise_counts_on():
    app = opened("posterior")
    app.button(key="new-noise").click().run()
    assert app.number_input(key="noise_draw").value == 1
    assert not app.warning


def test_link_to_one_page_also_sets_the_others():
    app = opened("posterior", **{"mse-curves.runs": "2", "figures.format": "png"})
    settled(app.switch_page("pages/privacy_and_accuracy.py").run())
    assert app.select_slider(key="mse-curves.runs").value == 2
    assert not app.warning


# ------------------------------------------------------------------------------------------ link


def test_link_reads_back_what_address_wrote():
    values = {key: knobs.find(key).default for key in knobs.SHARED}
    query = dict(
        pair.split("=") for pair in link.address("http://x/y", values).split("?")[1].split("&")
    )
    reading = link.read(query, {key: knobs.find(key) for key in knobs.SHARED})
    assert not reading.notices
    assert reading.query == {key: text_of(value) for key, value in values.items()}


@pytest.mark.parametrize(
    ("text", "used"),
    [("1e9", "1000"), ("0", "0.001"), ("-inf", "0.001"), ("inf", "1000"), ("0.30", "0.3")],
)
def test_numbers_are_brought_into_their_range(text, used):
    reading = link.read({"epsilon_total": text}, {"epsilon_total": knobs.find("epsilon_total")})
    assert reading.query == {"epsilon_total": used}
    assert bool(reading.notices) == (text != "0.30")


@pytest.mark.parametrize(("old", "new"), experiments.RETIRED.items())
def test_retired_presets_have_successors_that_exist(old, new):
    every = [preset for name in experiments.names() for preset in experiments.load(name).PRESETS]
    assert old not in every
    assert new in every


def test_a_retired_preset_of_another_page_is_said_like_any_unknown_one():
    reading = link.read({"preset": "y23-figure-1"}, {"preset": knobs.find("preset")})
    assert not reading.query
    (notice,) = reading.notices
    assert "preset = y23-figure-1: must be one of my settings" in notice


def test_notice_names_parameter_value_and_range():
    reading = link.read({"c": "2000"}, {"c": knobs.find("c")})
    (notice,) = reading.notices
    assert "c = 2000" in notice
    assert "1 to 1000" in notice
    assert "1000." in notice


def test_link_of_another_version_is_said():
    reading = link.read({"version": "0.0.0"}, {})
    assert "0.0.0" in reading.notices[0]


# ------------------------------------------------------------------------------------------ jobs


def request_of(experiment: str, **values: object) -> jobs.Request:
    params = experiments.load(experiment).Params(**values)  # type: ignore[arg-type]
    return jobs.Request(experiment, params, seed=1)


@contextlib.contextmanager
def serving() -> Iterator[jobs.Service]:
    service = jobs.Service()
    try:
        yield service
    finally:
        service.close()


def test_equal_requests_share_a_job():
    with serving() as service:
        request = request_of("posterior", n=10, pool_size=50)
        first = service.submit(request, "a")
        assert service.submit(request_of("posterior", n=10, pool_size=50), "b") is first
        assert first.ended.wait(60)
        assert first.state == "done"
        assert first.result is not None


def test_job_stops_when_the_last_watcher_leaves_and_keeps_what_is_done():
    with serving() as service:
        request = request_of("mse-curves", n=10, pool_size=50, c=1, runs=500)
        job = service.submit(request, "a", long=True)
        service.submit(request, "b")
        job.leave("a")
        assert job.wanted
        while job.result is None:
            assert not job.ended.wait(0.01)
        job.leave("b")
        assert job.ended.wait(60)
        assert job.state == "stopped"
        assert 0 < job.result.done < job.result.total
        again = service.submit(request, "a")
        assert again is not job
        assert again.result is job.result
        again.leave("a")


def test_bad_combination_is_an_error_in_a_sentence(monkeypatch):
    def fail(*_args: object) -> list[object]:
        raise ZeroDivisionError

    study = experiments.load("posterior")
    with serving() as service:
        monkeypatch.setattr(study, "work", fail)
        job = service.submit(request_of("posterior", n=10, pool_size=60), "a")
        assert job.ended.wait(60)
        assert job.state == "failed"
        assert "ZeroDivisionError" in job.error
