"""A lesson on the pages: what a step sets, the guess, the way through, the print view."""

from __future__ import annotations

import dataclasses
import html
import re
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from abcdp_core import __version__, lessons
from abcdp_core.lessons import Step, printed
from abcdp_core.lessons.guessed import guessed
from abcdp_core.output import images
from abcdp_core.output.formats import ExportError
from abcdp_core.parameters import ParameterError, text_of
from tests.pages.app import ROOT, opened, settled, texts
from ui.figures import charts
from ui.jobs import progress
from ui.jobs.job import Request
from ui.parts import lesson, lesson_print
from ui.view import knobs, page_table, steps

STEPS = [
    pytest.param(step, id=f"{each.name}-{place}")
    for each in lessons.load().values()
    for place, step in enumerate(each.steps, 1)
]
MOVED = "do not stand as this step sets them"


def a_step(name: str, number: int) -> Step:
    return lessons.load()[name].steps[number - 1]


def linked(page: str, **query: str) -> AppTest:
    """A page by a link that sets nothing but what is given."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    app.query_params.update({"version": __version__} | query)
    return app.switch_page(f"pages/{page}.py").run()


# -------------------------------------------------------------------------------- what a step sets


@pytest.mark.parametrize("step", STEPS)
def test_a_step_opens_a_page_that_has_its_knobs_and_shows_what_its_text_is_about(
    step: Step,
) -> None:
    page = page_table.by_file(step.page)
    values, scenario = steps.knobs_of(step, page), steps.scenario_of(step, page)
    shown = values.get(page.view)
    for key in step.knobs:
        page.check_knob(key, shown)
    assert values["seed"] == steps.SEED
    if page.chooser:
        assert scenario == page.scenario(values.get(page.chooser, knobs.find(page.chooser).default))
    for key in knobs.BY_SCENARIO:
        knob = knobs.find(key, page.every, scenario)
        assert values[key] == step.knobs.get(key, knob.default)
        assert knob.parameter.check(key, values[key]) == values[key]
    studies = {run.experiment for run in step.runs.values()} & {*page.shown(shown)}
    if step.look and not step.look.startswith("chart-overview-"):
        assert any(step.look.startswith(f"chart-{study}-") for study in studies)
    if step.question is None:
        # A question may be about what the page would show after the guess, a text may not.
        assert studies == {run.experiment for run in step.runs.values()}


def test_what_a_step_may_not_set_is_an_error_of_its_lesson() -> None:
    step = next(each.values[0] for each in STEPS if each.values[0].page == "posterior")
    assert isinstance(step, Step)
    page = page_table.by_file("posterior")
    wrong = dataclasses.replace(step, knobs={"n": 123456789012})
    with pytest.raises(ParameterError, match="n = 123456789012"):
        steps.knobs_of(wrong, page)
    only_here = dataclasses.replace(step, knobs={"scenario": "covid", "n": 18})
    assert steps.knobs_of(only_here, page)["n"] == 18


def test_where_a_class_link_holds_a_scenario_a_step_sets_what_that_one_has() -> None:
    held = {"scenario": "covid-people", "lock": "scenario", "n": "18"}
    app = opened("posterior", lesson="one-person", step="3", **held)
    app = settled(app.button(key="lesson-next").click().run())
    assert not app.exception
    assert app.session_state["scenario"] == "covid-people"
    assert app.session_state["epsilon_total"] == 1.0
    assert app.session_state["epsilon_abc"] == 200.0
    assert "epsilon_abc" not in app.query_params
    assert MOVED in texts(app)


@pytest.mark.parametrize(
    ("page", "name", "number", "moved"),
    [
        ("flip_probability", "every-yes", 2, {"n": "100"}),
        ("flip_probability", "every-yes", 2, {"flip-guideline.level": "0.2"}),
        ("mechanisms", "say-what-is-noise", 3, {"coverage.truths": "edge"}),
        ("adaptive_truncation", "ask-narrow", 1, {"truncation-interval.score": "sigma"}),
        ("adaptive_truncation", "ask-narrow", 1, {"adaptive-truncation.view": "gradient"}),
        # A knob had one value in the scenario before: its widget is new in the step's.
        ("posterior", "one-person", 3, {"scenario": "covid", "n": "100"}),
        ("posterior", "one-person", 3, {"scenario": "tuberculosis-patients", "n": "100"}),
    ],
)
def test_a_link_with_knobs_of_its_own_keeps_them_until_they_are_set_as_the_step_has_them(
    page: str, name: str, number: int, moved: dict[str, str]
) -> None:
    place = {"lesson": name, "step": str(number)}
    values = {key: text_of(value) for key, value in a_step(name, number).knobs.items()}
    app = settled(linked(page, **place, **values))
    assert not app.exception
    assert f"step {number} of" in texts(app)
    assert MOVED not in texts(app)
    app = settled(linked(page, **place, **(values | moved)))
    assert MOVED in texts(app)
    # No browser is here that would take a knob out of the address while the page waits.
    app.query_params.clear()
    app = settled(app.button(key="lesson-set").click().run())
    assert not app.exception
    assert MOVED not in texts(app)
    for key, value in a_step(name, number).knobs.items():
        assert app.session_state[key] == value


def test_the_address_says_what_a_step_has_set_where_it_was_opened() -> None:
    """Opened again after a move, a link that names the step alone would show other numbers."""
    app = linked("posterior", lesson="say-what-is-noise", step="2")
    sets = a_step("say-what-is-noise", 2).knobs
    moved = {key: text_of(each) for key, each in sets.items() if each != knobs.find(key).default}
    assert len(moved) == 3
    assert {key: app.query_params[key] for key in moved} == moved


@pytest.mark.parametrize("step", ["9", "0", "x"])
def test_a_step_that_is_not_there_is_the_nearest(step: str) -> None:
    app = opened("flip_probability", lesson="every-yes", step=step)
    assert not app.exception
    assert f"step {3 if step == '9' else 1} of 3" in texts(app)


# -------------------------------------------------------------------------------- the way through


def test_the_way_through_a_lesson() -> None:
    app = opened("lessons")
    app.button(key="lesson-begin-large-data").click().run()
    assert not app.exception
    # A test follows no page by itself.
    app = settled(app.switch_page("pages/overview.py").run())
    assert not app.exception
    assert "Learning by simulation" in texts(app)
    assert app.select_slider(key="epsilon_total").value == 1
    app = settled(app.button(key=lesson.NEXT).click().run())
    assert "Privacy for nothing?" in texts(app)
    app = settled(app.button(key=lesson.NEXT).click().run())
    # The page tells nothing of the hundred draws that the question is about.
    assert app.select_slider(key="c").value == 10
    key = "lesson-guess-large-data-3"
    answer = re.compile(r"\d+ in a typical run, and \d+ to \d+ in four runs of five")
    assert not answer.search(texts(app))
    app.slider(key=key).set_value(2.0).run()
    app = settled(app.button(key=f"{key}-show").click().run())
    assert answer.search(texts(app))
    assert app.session_state[lesson.GUESSES] == {("large-data", 3): 2.0}
    assert "2.0" not in str(dict(app.query_params)).replace(".2.0", "")
    app = settled(app.button(key="lesson-leave").click().run())
    assert "Large data hide the cost" not in texts(app)
    assert app.select_slider(key="c").value == 10


def test_a_person_elsewhere_returns_to_the_page_of_the_step() -> None:
    app = opened("papers", lesson="every-yes", step="2")
    app.button(key="lesson-return").click().run()
    assert not app.exception
    app = settled(app.switch_page("pages/flip_probability.py").run())
    assert "step 2 of 3" in texts(app)
    assert app.query_params["step"] == "2"


def test_a_step_on_another_page_is_opened_there_with_what_it_sets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = opened("posterior", lesson="say-what-is-noise", step="2")
    asked: list[dict[str, str]] = []
    monkeypatch.setattr(
        st, "switch_page", lambda _, query_params: asked.append(query_params) or st.stop()
    )
    app.button(key=lesson.NEXT).click().run()
    # What was drawn before is bound: Streamlit refuses to set it here.
    assert asked.pop() == {"version": __version__, "mechanisms.view": "coverage"}
    linked("overview", lesson="a-release-is-a-draw")
    assert {*asked[0].items()} > {("lesson", "a-release-is-a-draw"), ("step", "1")}


def test_the_last_step_leads_to_the_next_lesson_and_the_last_lesson_ends() -> None:
    names = list(lessons.load())
    for name in ("every-yes", names[-1]):
        last = lessons.load()[name].steps[-1]
        app = opened(last.page, lesson=name, step=str(len(lessons.load()[name].steps)))
        button = app.button(key=lesson.NEXT)
        ends = name == names[-1]
        assert (button.label, button.disabled) == ("Next" if ends else "Next lesson", ends)


# ------------------------------------------------------------------------------------- the question


@pytest.mark.parametrize(("guess", "end"), [(None, ""), (50.0, ", with its answer")])
def test_a_question_whose_runs_have_no_result_tells_no_number_of_others(
    guess: float | None, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who cannot see is told the step, and keeps the focus."""
    asked: dict[str, Request] = {}

    def waits(requests: Mapping[str, Request], _: object, **how: Any) -> None:
        asked.update(requests)
        assert how["former"] is False, "former results of these names are another step's"
        how["waiting"]()

    monkeypatch.setattr(progress, "growing_together", waits)
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    app.query_params.update({"lesson": "every-yes", "step": "2", "version": __version__})
    app.session_state[lesson.GUESSES] = {} if guess is None else {("every-yes", 2): guess}
    app.session_state[lesson.VISITS] = (4, lesson.BACK)
    app = app.switch_page("pages/flip_probability.py").run()
    assert not app.exception
    told = str(next(each for each in app.get("bidi_component") if each.key == "lesson-place").proto)
    assert f"step 2 of 3: A hundred draws{end}" in told
    assert re.search(r"visit\W+4\W+buttons\W+lesson-back\W+lesson-next", told)
    waiting = (
        "**If a hundred draws are kept instead of 10, how many of them are false?** "
        "*The answer stands here when it is computed.*"
    )
    assert (waiting in [each.value for each in app.markdown]) == (guess is not None)
    # Who asks for the answer has asked for its runs.
    started = app.session_state[progress.STARTED] if guess is not None else set()
    assert ({*started} >= {*asked.values()} != set()) == (guess is not None)


@pytest.mark.parametrize(
    ("active", "is_partial", "said"),
    [
        (True, True, "it grows as you read"),
        (False, True, "the button above it computes the rest"),
        (False, False, ""),
    ],
)
def test_a_step_says_that_the_figure_below_is_not_complete(
    active: bool, is_partial: bool, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = SimpleNamespace(active=active, result=SimpleNamespace(is_partial=is_partial))
    monkeypatch.setattr(progress, "unfinished", lambda _: job if is_partial else None)
    app = opened("flip_probability", lesson="every-yes", step="2")
    assert not app.exception
    told = [each.value for each in app.caption if "is not complete yet" in each.value]
    assert [said in each for each in told] == [True] * bool(said)


# -------------------------------------------------------------------------------------- print view


def test_a_print_view_is_offered_when_all_its_numbers_are_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    partial = True

    def grown(
        requests: Mapping[str, Request], draw: Callable[[Any, bool], None], **_: object
    ) -> None:
        draw({name: SimpleNamespace(is_partial=partial) for name in requests}, False)

    monkeypatch.setattr(progress, "growing_together", grown)
    app = opened("lessons")
    app.button(key="lesson-print-large-data").click().run()
    assert not app.exception
    prepare = "prepare-lesson-file-large-data"
    assert prepare not in [each.key for each in app.button]
    partial = False
    app.run()
    assert app.button(key=prepare).label == "Prepare the print view"


def test_a_lesson_without_runs_is_printed_at_once_with_links_and_settings() -> None:
    number, chosen = 1, lessons.load()["one-person"]
    chosen = dataclasses.replace(chosen, steps=chosen.steps[:2])
    assert not lesson_print.requests_of(chosen)
    here = page_table.by_file("lessons")
    page = lesson_print.page(number, chosen, here, "http://192.168.1.5:8501/lessons", {}, {})
    typed = html.unescape(page.replace("<wbr>", ""))
    for step in (1, 2):
        assert f"http://192.168.1.5:8501/?lesson=one-person&step={step}&version=" in typed
    assert page.count("<path") > 2 * 11
    assert "Page <em>Overview</em>: ε_total\u00a0=\u00a00.2, ε_abc\u00a0=\u00a00.1, " in page
    assert "c\u00a0=\u00a010, N\u00a0=\u00a05,000<" in page


@pytest.mark.parametrize(
    ("name", "step", "settings"),
    [
        ("a-release-is-a-draw", 1, "Show: many releases"),
        ("every-yes", 3, "T = 10,000"),
        ("ask-narrow", 1, "N = 1,000"),
        ("ask-narrow", 3, "Show: tuberculosis"),
    ],
)
def test_a_step_says_what_its_knobs_stand_at(name: str, step: int, settings: str) -> None:
    chosen = a_step(name, step)
    opens = page_table.by_file(chosen.page)
    assert any(text.startswith(settings) for text in lesson_print.settings_of(chosen, opens))


def test_equal_runs_of_a_lesson_are_asked_for_once() -> None:
    chosen = lessons.load()["people-buy-privacy"]
    runs = [
        (run.experiment, step.params(name))
        for step in chosen.steps
        for name, run in step.runs.items()
    ]
    asked = [(each.experiment, each.params) for each in lesson_print.requests_of(chosen)]
    assert len(asked) < len(runs)
    assert {*asked} == {*runs}
    assert len({*asked}) == len(asked)


def test_a_print_view_has_the_figures_that_can_be_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    large, noise = (lessons.load()[name] for name in ("large-data", "say-what-is-noise"))
    drawn = guessed(large.steps[2], 2.0, 3.0)
    monkeypatch.setattr(
        charts, "drawn", lambda _: dict.fromkeys(("decisions", "posterior", "x"), drawn)
    )
    result = SimpleNamespace(experiment="posterior")
    # The last step asks nothing; the two of the other lesson are about one figure.
    for chosen, place in ((large, 3), (noise, 1)):
        found: Any = dict.fromkeys(lesson_print.requests_of(chosen), result)
        assert lesson_print.figures_of(chosen, found) == {place: (result, drawn)}

    def fails(_: object) -> None:
        raise ExportError("no browser")

    monkeypatch.setattr(images, "obstacle", lambda: None)
    monkeypatch.setattr(images, "draw", fails)
    monkeypatch.setattr(images, "images_of", lambda *_: [SimpleNamespace()])
    shown: Any = {2: (result, drawn)}
    assert printed.pictures(shown) == {}
